/* Projects for boards with PYNQ: board/design.tcl, which says what vivado.tcl must know, and the
 * target of the Makefile. Names of the model are not in them but as identifiers; the device's is
 * quoted for Tcl.
 * Tests: lit/driver/ming-compile-platform.mir, test/e2e/board_check.py */
#include <assert.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/board/internal.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"
#include "target/device/device.h"

void emit_pynq_targets(StrBuf *out)
{
    strbuf_add_c(out,
                 ".PHONY: bitstream\n\nVIVADO ?= vivado\n\n"
                 "# board/TOP.bit and board/TOP.hwh, of what synth and export made\n"
                 "bitstream:\n"
                 "\t@command -v $(firstword $(VIVADO)) >/dev/null || \\\n"
                 "\t{ echo \"$(VIVADO) is not installed: set VIVADO to Xilinx's\" >&2; exit 2; }\n"
                 "\t$(VIVADO) -mode batch -source board/vivado.tcl\n\n");
}

/* "zynq" or "zynqmp", by the part; NULL: it has no processing system. */
static const char *family(Str part)
{
    static const char *const rows[][2] = {
        {"xc7z", "zynq"}, {"xczu", "zynqmp"}, {"xck24", "zynqmp"}, {"xck26", "zynqmp"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_starts_with(part, rows[i][0])) return rows[i][1];
    return NULL;
}

bool emit_part_has_ps(Str part)
{
    return family(part) != NULL;
}

/* What Vivado calls the board of a device, as a pattern. Other devices are looked up by name. */
static const char *board_pattern(Emitter *e)
{
    static const char *const rows[][2] = {{"kv260", "xilinx.com:kv260_som:*"},
                                          {"pynq-z1", "*:pynq-z1:*"},
                                          {"pynq-z2", "*:pynq-z2:*"},
                                          {"ultra96", "*:ultra96v2:*"}};
    const Attr *device = attr_dict_get_c(op_attr(e->module, DFG_ATTR_BUDGET), DFG_BUDGET_DEVICE);
    if (!device || device->kind != ATTR_STRING) return "*";
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(device->u.string, rows[i][0])) return rows[i][1];
    return emit_arena_printf(&e->arena, "*:%.*s:*", STR_ARG(device->u.string));
}

/* A word of Tcl, whatever the text holds. */
static void add_tcl_word(StrBuf *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:*";
    strbuf_add_char(out, '"');
    for (; *text; text++) {
        if (strchr(plain, *text))
            strbuf_add_char(out, *text);
        else
            strbuf_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
    }
    strbuf_add_char(out, '"');
}

static const char *start_pins(const Emitter *e)
{
    if (e->has_registers) return "";
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(DATAFLOW)) continue;
        if (strcmp(emithls_control(op), "none") == 0) return "";
        if (strcmp(emithls_control(op), "hs") == 0) return "ap_start";
    }
    return "ap_start ap_continue";
}

/* Interfaces through which the accelerator reads memory itself. */
static void add_memories(const Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "set memories [list");
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(INTERFACE) || !op_attr(op, EMITHLS_ATTR_BUNDLE)) continue;
        strbuf_add_c(out, " m_axi_gmem_");
        identifier_append(out, op_attr(op, EMITHLS_ATTR_BUNDLE)->u.string);
    }
    strbuf_add_c(out, "]\n");
}

/* Every port but a memory behind AXI4-Lite is one that a SmartConnect has to memory, and every port but
 * a memory one that it has to registers, besides those of the accelerator. */
static bool has_room(const Emitter *e)
{
    enum { MAX_PORTS = 16 }; /* of a SmartConnect */
    size_t streams = 0, memories = 0;
    for (size_t i = 0; i < e->ports.len; i++) {
        streams += e->ports.data[i].bus == NULL;
        memories += e->ports.data[i].bus && !e->ports.data[i].is_mapped;
    }
    return (e->has_beats && streams + memories <= MAX_PORTS &&
            streams + e->has_registers <= MAX_PORTS) ||
           op_error(e->top, "needs 1 to %d ports that are streams of DMAs%s", MAX_PORTS,
                    e->has_registers ? ", with its registers and memories" : "");
}

static void add_setting(StrBuf *out, const char *name, const char *value)
{
    strbuf_printf(out, "set %s ", name);
    add_tcl_word(out, value);
    strbuf_add_char(out, '\n');
}

bool emit_pynq_design(Emitter *e, StrBuf *out)
{
    Str part = emit_part(e->module);
    assert(family(part)); /* compile_flags_check_target */
    if (!has_room(e)) return false;
    int64_t mhz =
        attr_dict_int(op_attr(e->module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ, CLOCK_DEFAULT_MHZ);
    strbuf_add_c(
        out, "# What vivado.tcl must know of the design. A port: name, direction, bits of a beat.\n"
             "# Memories: interfaces through which it reads memory itself.\n");
    add_setting(out, "top", e->top_name);
    add_setting(out, "part", emit_arena_printf(&e->arena, "%.*s", STR_ARG(part)));
    add_setting(out, "board_pattern", board_pattern(e));
    add_setting(out, "family", family(part));
    strbuf_printf(out, "set clock_mhz %lld\nset start_pins [list %s]\nset has_registers %d\n",
                  (long long)mhz, start_pins(e), e->has_registers);
    add_memories(e, out);
    strbuf_add_c(out, "set ports [list");
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (port->bus) continue;
        strbuf_printf(out, " \\\n    {%s %s %lld}", port->name, port->is_input ? "in" : "out",
                      (long long)port->beat_bits);
    }
    strbuf_add_c(out, "]\n");
    return true;
}
