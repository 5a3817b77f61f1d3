/* What a project needs beside its Verilog (emit/verilog): the library's modules, the list of files,
 * the testbench for Verilator, and what drives Yosys and Vivado. The names that go into shell and
 * Tcl are identifiers of Verilog and of the library.
 * Tests: lit/driver/ming-compile-verilog.mir, lit/driver/rtlsim.mir */
#include <assert.h>
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "emit/internal.h"
#include "emit/verilog/verilog.h"
#include "ir/asm/print/print.h"

static const char *const library[] = {"ming_fifo.v", "ming_dsp.v", "ming_primitives.v"};

/* Where verilog_print's files go, below `folder`. */
typedef struct RtlFiles {
    TextBudget *budget;
    EmittedFiles *files;
    const char *folder; /* with a slash, or empty */
    size_t library;     /* number of its first file */
} RtlFiles;

static StrBuf *new_file(void *user, const char *name)
{
    RtlFiles *to = user;
    EmittedFile *file = emit_add_file(to->budget, to->files);
    strbuf_printf(&file->name, "%s%s", to->folder, name);
    return &file->text;
}

static bool has_room(void *user, const Op *op, size_t bytes)
{
    const RtlFiles *to = user;
    return emit_has_room(to->budget, op, bytes);
}

/* The library's modules and files keep their names. */
static bool is_taken(void *user, Str name)
{
    const RtlFiles *to = user;
    StrBuf file = {0}, head = {0};
    bool found = false;
    strbuf_printf(&file, "%s%.*s.v", to->folder, STR_ARG(name));
    strbuf_printf(&head, "\nmodule %.*s ", STR_ARG(name));
    for (size_t i = to->library; !found && i < to->library + COUNT_OF(library); i++) {
        const EmittedFile *of = &to->files->data[i];
        found = str_eq(strbuf_str(&of->name), strbuf_str(&file)) ||
                strstr(of->text.data, head.data) != NULL;
    }
    strbuf_free(&file);
    strbuf_free(&head);
    return found;
}

static bool add_library(Context *ctx, const EmitOptions *options, RtlFiles *to)
{
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(library); i++) {
        StrBuf path = {0};
        strbuf_printf(&path, "%s/%s", options->rtl_dir, library[i]);
        ok = emit_read_text_file(ctx, path.data, new_file(to, library[i]));
        strbuf_free(&path);
    }
    return ok;
}

static bool is_source(Str name)
{
    return str_ends_with(name, ".v");
}

static bool is_memory(Str name)
{
    return str_ends_with(name, ".hex");
}

/* A list of files, relative to it. */
static void add_list(RtlFiles *to, size_t first, const char *name, bool (*is_listed)(Str name))
{
    StrBuf list = {0};
    size_t skip = strlen(to->folder);
    for (size_t i = first; i < to->files->len; i++) {
        Str file = strbuf_str(&to->files->data[i].name);
        if (is_listed(file)) strbuf_printf(&list, "%s\n", file.data + skip);
    }
    strbuf_add_str(new_file(to, name), strbuf_str(&list));
    strbuf_free(&list);
}

bool emit_add_rtl(const EmitOptions *options, TextBudget *budget, Op *rtl, const char *folder,
                  EmittedFiles *files)
{
    size_t first = files->len;
    RtlFiles to = {budget, files, folder, first};
    const VerilogFiles out = {
        .new_file = new_file, .has_room = has_room, .is_taken = is_taken, .user = &to};
    if (!add_library(rtl->ctx, options, &to) || !verilog_print(rtl, &out)) return false;
    add_list(&to, first, RTL_SOURCES, is_source);
    add_list(&to, first, RTL_MEMORIES, is_memory);
    return true;
}

/* The last hw.module: what is instantiated stands in front of it. */
static const Op *find_top(const Op *module)
{
    const Op *top = NULL;
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == HW(MODULE)) top = op;
    return top;
}

bool emit_verilog(Op *module, const EmitOptions *options, EmittedProject *out, StrBuf *why)
{
    const Op *top = find_top(module);
    if (!top) return op_emit_error(module, "there is no hw.module to emit");
    TextBudget budget = {.most = options->max_text};
    if (!emit_add_rtl(options, &budget, module, "", &out->files)) return false;
    RtlFiles to = {&budget, &out->files, "", 0};
    StrBuf *report = new_file(&to, REPORT_NAME);
    strbuf_add_c(report, REPORT_START);
    emit_string_literal(report, symbol_name(top)->str);
    strbuf_add_c(report, "\n}\n");
    return emit_write_project(options->output_dir, &out->files, why);
}

const char *emit_rtl_top(Emitter *e, const EmittedFiles *files)
{
    size_t last = files->len;
    while (last > 0 && !is_source(strbuf_str(&files->data[last - 1].name))) last--;
    assert(last > 0);
    const char *name = strrchr(files->data[last - 1].name.data, '/') + 1;
    return emit_arena_printf(&e->arena, "%.*s", (int)strlen(name) - 2, name);
}

/* Cycles after which a design without a moving word hangs: some frames of the one that waits most,
 * or, of a design that was not simulated, more than any takes. */
static long long patience(const Emitter *e)
{
    enum { FRAMES = 4, LEAST = 10000, UNKNOWN = 100000000 };
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    int64_t latency = attr_dict_int(timing, EMITHLS_TIMING_LATENCY, 0);
    int64_t interval = attr_dict_int(timing, EMITHLS_TIMING_INTERVAL, 0);
    if (latency <= 0 || interval <= 0) return UNKNOWN;
    return FRAMES * (latency + interval) + LEAST;
}

typedef enum PortGroup { PORTS_IN, PORTS_OUT, PORTS_WEIGHTS, PORT_GROUPS } PortGroup;

static PortGroup group_of(const EmitPort *port)
{
    return port->is_weights ? PORTS_WEIGHTS : port->is_input ? PORTS_IN : PORTS_OUT;
}

/* The name of a port of the top function as it begins those of its AXI-Stream: behind clock and
 * reset there are three ports for each. */
static Str stream_name(const Emitter *e, size_t port)
{
    enum { IN_FRONT = 2, EACH = 3 };
    Str name = hw_port(find_top(e->options->rtl), (uint32_t)(IN_FRONT + EACH * port)).name;
    return (Str){name.data, name.len - strlen("_TDATA")};
}

static void add_connections(const Emitter *e, StrBuf *out)
{
    static const char *const kinds[] = {"input", "output", "weights"};
    for (PortGroup group = 0; group < PORT_GROUPS; group++)
        for (size_t i = 0; i < e->ports.len; i++) {
            const EmitPort *port = &e->ports.data[i];
            Str name = stream_name(e, i);
            if (group_of(port) != group) continue;
            strbuf_printf(out,
                          "    tb.%s%s(%s_host::%s(), design.%.*s_TDATA, design.%.*s_TVALID, "
                          "design.%.*s_TREADY",
                          port->beat_bits ? "dma_" : "", kinds[group], e->top_name, port->name,
                          STR_ARG(name), STR_ARG(name), STR_ARG(name));
            if (port->beat_bits && !port->is_input)
                strbuf_printf(out, ", design.%.*s_TKEEP, design.%.*s_TLAST", STR_ARG(name),
                              STR_ARG(name));
            strbuf_add_c(out, ");\n");
        }
}

void emit_rtl_testbench(Emitter *e, StrBuf *out)
{
    strbuf_printf(out,
                  "// Testbench of %s's Verilog: arrays in .npy files, AXI-Streams.\n"
                  "#include \"V%s.h\"\n#include \"%s_host.h\"\n\n#include \"csim/ming_rtl.h\"\n\n"
                  "static void connect(ming::RtlTestbench &tb, V%s &design)\n{\n",
                  e->top_name, e->top_name, e->top_name, e->top_name);
    add_connections(e, out);
    strbuf_printf(
        out,
        "}\n\nint main(int argc, char **argv)\n{\n    return ming::run_rtl<V%s>(argc, argv, \"",
        e->top_name);
    for (PortGroup group = 0; group < PORT_GROUPS; group++)
        for (size_t i = 0; i < e->ports.len; i++)
            if (group_of(&e->ports.data[i]) == group)
                strbuf_printf(out, "%s.npy ", e->ports.data[i].name);
    out->data[--out->len] = '\0';
    strbuf_printf(out, "\", %zu, %lld, connect);\n}\n", e->ports.len, patience(e));
}

void emit_rtl_usage(StrBuf *out)
{
    strbuf_add_c(
        out, "# make rtlsim, with the same files\n"
             "#   simulates the Verilog with Verilator and counts its cycles; INPUT_RATE=0.5 and\n"
             "#   OUTPUT_RATE=0.5 (words per cycle) and SEED=1 let the world pause at random\n"
             "# make synth-yosys\n"
             "#   counts what the Verilog takes, in synth.json\n"
             "# make vivado\n"
             "#   synthesizes the Verilog out of context and reports what it takes\n");
}

/* Yosys's name of the device's family. */
static const char *yosys_family(const Emitter *e)
{
    return str_starts_with(emit_part(e->module), "xc7") ? "xc7" : "xcup";
}

/* Warnings that are off: a file of the library holds several modules; bits that nobody reads, as the
 * padding of a word; outputs that an instance leaves open. */
#define LINT "-Wall -Wno-DECLFILENAME -Wno-UNUSED -Wno-PINCONNECTEMPTY"

void emit_rtl_targets(const Emitter *e, StrBuf *out)
{
    emit_template(e, out,
                  ".PHONY: rtlsim lint synth-yosys vivado\n\n"
                  "VERILATOR ?= verilator\n"
                  "VERILATOR_FLAGS ?= -O3\n"
                  "VERILATOR_CXXFLAGS ?= -O1\n"
                  "YOSYS ?= yosys\n"
                  "VIVADO ?= vivado\n\n"
                  "RTL := $(addprefix rtl/,$(file < rtl/files.f))\n"
                  "export MING_RTL := $(CURDIR)/rtl\n"
                  "export MING_INPUT_RATE := $(value INPUT_RATE)\n"
                  "export MING_OUTPUT_RATE := $(value OUTPUT_RATE)\n"
                  "export MING_SEED := $(value SEED)\n\n"
                  "rtlsim: arguments TOP_rtlsim\n"
                  "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_rtlsim\"");
    emit_file_arguments(e, out);
    emit_template(
        e, out,
        "\n\n"
        "TOP_rtlsim: TOP_rtl_tb.cpp TOP_host.h $(wildcard csim/*.h) $(RTL)\n"
        "\t@$(call installed,$(VERILATOR),VERILATOR)\n"
        "\t$(VERILATOR) --cc --exe --build -j 0 -Wno-fatal $(VERILATOR_FLAGS) -Mdir TOP_rtl \\\n"
        "\t\t-CFLAGS \"-std=c++17 -I.. -I../csim\" -MAKEFLAGS \"OPT_FAST='$(VERILATOR_CXXFLAGS)' "
        "\\\n"
        "\t\tOPT_GLOBAL='$(VERILATOR_CXXFLAGS)' OPT_SLOW=-O0\" -F rtl/files.f \\\n"
        "\t\tTOP_rtl_tb.cpp -o ../$@ --prefix VTOP --top-module ");
    strbuf_add_c(out, e->rtl_top);
    emit_template(e, out,
                  " >TOP_rtl.log || { cat TOP_rtl.log >&2; exit 1; }\n\n"
                  "lint:\n"
                  "\t@$(call installed,$(VERILATOR),VERILATOR)\n"
                  "\t$(VERILATOR) --lint-only " LINT " -F rtl/files.f --top-module ");
    strbuf_printf(out, "%s\n\n", e->rtl_top);
    strbuf_printf(
        out,
        "synth-yosys:\n"
        "\t@$(call installed,$(YOSYS),YOSYS)\n"
        "\tcd rtl && $(YOSYS) -q -l ../synth.log -p \"read_verilog $$(tr '\\n' ' ' <files.f); "
        "hierarchy -top %s; flatten t:*ming_dsp*; synth_xilinx -family %s -noiopad -top %s; tee -q "
        "-o ../synth.txt stat -json\"\n"
        "\t@sed '/^ *[\"{}]/!d' synth.txt >synth.json && rm synth.txt # some versions print a "
        "table into it\n\n",
        e->rtl_top, yosys_family(e), e->rtl_top);
    emit_template(e, out,
                  "vivado:\n"
                  "\t@$(call installed,$(VIVADO),VIVADO)\n"
                  "\tcd rtl && $(VIVADO) -mode batch -source vivado.tcl\n\n");
}

void emit_vivado(Emitter *e, StrBuf *out)
{
    emit_template(
        e, out,
        "# Synthesis out of context, and what it takes: vivado -mode batch -source vivado.tcl\n"
        "set list [open files.f]\n"
        "foreach file [split [string trim [read $list]] \"\\n\"] {\n"
        "    read_verilog $file\n"
        "}\n"
        "close $list\n"
        "read_xdc -mode out_of_context clock.xdc\n"
        "synth_design -top ");
    strbuf_add_c(out, e->rtl_top);
    emit_template(e, out,
                  " -part PART -mode out_of_context -flatten_hierarchy rebuilt\n"
                  "report_utilization -hierarchical -file utilization.rpt\n"
                  "report_timing_summary -file timing.rpt\n"
                  "write_checkpoint -force TOP.dcp\n");
}

void emit_clock_constraint(Emitter *e, StrBuf *out)
{
    emit_template(e, out, "create_clock -period PERIOD -name ap_clk [get_ports ap_clk]\n");
}
