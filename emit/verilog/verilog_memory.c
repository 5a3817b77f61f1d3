/* Memories and their ports. A word is written at the edge; a port that reads meets the old word. A
 * port without a register reads like logic. What a memory is built of is said to the tools by the
 * attributes that Vivado and Yosys know.
 * Tests: lit/emit/verilog/memories.mir */
#include <string.h>

#include "emit/verilog/internal.h"

Str verilog_init_file(const Op *firmem)
{
    return op_attr(firmem, "init")->u.dialect.params[0]->u.string;
}

static bool is_plain_file(Str name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return name.len > 0 && name.data[0] != '.' && strspn(name.data, plain) == name.len;
}

static bool check_memory(Op *op)
{
    enum { RUW_NEW = 2, WUW_PORT_ORDER = 1 };
    const Attr *init = op_attr(op, "init");
    if (attr_int_value(op_attr(op, "ruw")) == RUW_NEW)
        return op_error(op, "has no Verilog form where reads meet the new word");
    if (attr_int_value(op_attr(op, "wuw")) == WUW_PORT_ORDER)
        return op_error(op, "has no Verilog form where writes keep the order of ports");
    if (!init) return true;
    if (attr_is_true(init->u.dialect.params[1]))
        return op_error(op, "has no Verilog form with contents in binary");
    return is_plain_file(verilog_init_file(op)) ||
           op_error(op, "contents must be in a file of letters, digits and any of '_.-'");
}

static bool is_written(const Value *memory)
{
    FOR_EACH_USE(use, memory)
        if (use->owner->def == SEQ(FIRMEM_WRITE_PORT)) return true;
    return false;
}

/* Yosys calls a ROM of LUTs by another word than Vivado does. */
static void add_style(StrBuf *out, Str style, bool is_ram)
{
    static const char attribute[] = "    (* %s_style = \"%s\" *)\n";
    if (!is_ram && str_eq_c(style, "distributed")) {
        strbuf_add_c(out, "`ifdef YOSYS\n");
        strbuf_printf(out, attribute, "rom", "logic");
        strbuf_add_c(out, "`else\n");
        strbuf_printf(out, attribute, "rom", style.data);
        strbuf_add_c(out, "`endif\n");
    } else {
        strbuf_printf(out, attribute, is_ram ? "ram" : "rom", style.data);
    }
}

bool verilog_declare_memory(VerilogModule *m, Op *op)
{
    const Value *memory = op_result(op, 0);
    const Attr *name_attr = op_attr(op, "name"), *style = op_attr(op, SEQ_ATTR_STYLE);
    if (!check_memory(op)) return false;
    const char *name =
        verilog_fresh_name(&m->names, name_attr ? name_attr->u.string : STR("memory"));
    StrBuf *out = &m->declarations;
    if (style) add_style(out, style->u.string, is_written(memory));
    strbuf_add_c(out, "    ");
    verilog_add_type(out, "reg", seq_firmem_width(memory->type));
    strbuf_printf(out, " %s [0:%llu];\n", name,
                  (unsigned long long)seq_firmem_depth(memory->type) - 1);
    if (op_attr(op, "init"))
        strbuf_printf(out, "    initial $readmemh(\"%s\", %s);\n", verilog_init_file(op).data,
                      name);
    verilog_set_name(m, memory, name);
    return true;
}

void verilog_declare_read(VerilogModule *m, Op *op)
{
    Value *data = op_result(op, 0), *memory = seq_port(op).memory;
    const VerilogText *array = ptrmap_get(&m->texts, memory);
    bool is_late = seq_read_latency(value_def(memory)) == 1;
    const char *name =
        verilog_fresh_name(&m->names, str_from(verilog_printf(m, "%s_word", array->text)));
    strbuf_add_c(&m->declarations, "    ");
    verilog_add_type(&m->declarations, is_late ? "reg" : "wire", type_width(data->type));
    strbuf_printf(&m->declarations, " %s;\n", name);
    verilog_set_name(m, data, name);
}

static bool print_read(VerilogModule *m, Op *op, const SeqPort *port, const char *place)
{
    const char *name = verilog_text(m, op_result(op, 0))->text;
    if (seq_read_latency(value_def(port->memory)) == 0) {
        strbuf_printf(&m->body, "    assign %s = %s;\n", name, place);
        return true;
    }
    const VerilogText *enable = port->enable ? verilog_text(m, port->enable) : NULL;
    if (port->enable && !enable) return false;
    strbuf_printf(&m->body, "    always @(posedge %s)\n        ",
                  verilog_text(m, port->clock)->text);
    if (enable) strbuf_printf(&m->body, "if (%s) ", enable->text);
    strbuf_printf(&m->body, "%s <= %s;\n", name, place);
    return true;
}

/* A statement for each part of the word that the mask lets be written. */
static bool add_masked(VerilogModule *m, const SeqPort *port, const char *place)
{
    Value *data = port->data;
    const VerilogText *word = verilog_text(m, data), *mask = verilog_text(m, port->mask);
    if (!word || !mask) return false;
    uint32_t parts = type_width(port->mask->type), size = type_width(data->type) / parts;
    const char *bits = verilog_selectable(m, data), *flags = verilog_selectable(m, port->mask);
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t low = i * size, high = low + size - 1;
        strbuf_add_c(&m->body, "            ");
        if (parts > 1)
            strbuf_printf(&m->body, "if (%s[%u]) %s[%u:%u] <= %s[%u:%u];\n", flags, i, place, high,
                          low, bits, high, low);
        else
            strbuf_printf(&m->body, "if (%s) %s <= %s;\n", flags, place, bits);
    }
    return true;
}

static bool print_write(VerilogModule *m, const SeqPort *port, const char *place)
{
    const VerilogText *enable = port->enable ? verilog_text(m, port->enable) : NULL;
    const VerilogText *word = verilog_text(m, port->data);
    if (!word || (port->enable && !enable)) return false;
    StrBuf *out = &m->body;
    strbuf_printf(out, "    always @(posedge %s)\n        ", verilog_text(m, port->clock)->text);
    if (enable) strbuf_printf(out, "if (%s) ", enable->text);
    if (!port->mask) {
        strbuf_printf(out, "%s <=", place);
        verilog_add_wrapped(out, verilog_printf(m, " %s;\n", word->text));
        return true;
    }
    strbuf_add_c(out, "begin\n");
    if (!add_masked(m, port, place)) return false;
    strbuf_add_c(out, "        end\n");
    return true;
}

bool verilog_print_port(VerilogModule *m, Op *op)
{
    SeqPort port = seq_port(op);
    const VerilogText *array = ptrmap_get(&m->texts, port.memory);
    const VerilogText *address = verilog_text(m, port.address);
    if (!address) return false;
    const char *place = verilog_printf(m, "%s[%s]", array->text, address->text);
    return port.data ? print_write(m, &port, place) : print_read(m, op, &port, place);
}

/* Digits of one word, the highest first. */
static void add_word(StrBuf *out, const DenseView *view, uint32_t width, int64_t index)
{
    static const char digits[] = "0123456789abcdef";
    if (view->is_packed) {
        strbuf_add_char(out, dense_view_bit(view, index) ? '1' : '0');
        return;
    }
    const uint8_t *bytes = dense_view_at(view, index);
    for (uint32_t digit = (width + 3) / 4; digit-- > 0;) {
        unsigned value = (unsigned)bytes[digit / 2] >> (digit % 2 * 4) & 15u;
        uint32_t rest = width - digit * 4;
        strbuf_add_char(out, digits[rest < 4 ? value & ((1u << rest) - 1) : value]);
    }
}

bool verilog_print_contents(const VerilogFiles *files, const char *name, const Op *firmem)
{
    const Type *memory = op_result(firmem, 0)->type;
    uint64_t words = seq_firmem_depth(memory);
    uint32_t width = seq_firmem_width(memory);
    StrBuf *out = files->new_file(files->user, name);
    size_t bytes;
    if (!size_mul(words, (width + 3) / 4 + 1, &bytes)) bytes = SIZE_MAX;
    if (!files->has_room(files->user, firmem, bytes)) return false;
    DenseView view = dense_view(op_attr(firmem, SEQ_ATTR_CONTENTS));
    for (uint64_t i = 0; i < words; i++) {
        add_word(out, &view, width, (int64_t)i);
        strbuf_add_char(out, '\n');
    }
    return true;
}
