/* Registers. Those with the same clock, reset and enable share an always block.
 * Tests: lit/emit/verilog/registers.mir */
#include "emit/verilog/internal.h"

static const Attr *number_of(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == HW(CONSTANT) ? op_attr(def, "value") : NULL;
}

/* The constant that a register holds at first, in *out; NULL for none. False: diagnosed. */
static bool initial_value(Op *op, const Value *value, const Attr **out)
{
    *out = NULL;
    if (!value) return true;
    const Op *initial = value_def(value);
    if (op->def == SEQ(SHIFTREG))
        *out = number_of(value);
    else if (initial && initial->def == SEQ(INITIAL))
        *out = number_of(op_operand(region_entry(op_region(initial, 0))->last, value->index));
    return *out || op_error(op, "has no Verilog form: what it holds at first is no constant");
}

static uint32_t elements_of(const Op *op)
{
    return op->def == SEQ(SHIFTREG) ? (uint32_t)attr_int_value(op_attr(op, "numElements")) : 1;
}

bool verilog_declare_register(VerilogModule *m, Op *op)
{
    Value *value = op_result(op, 0);
    const Attr *name_attr = op_attr(op, "name"), *initial;
    uint32_t width = type_width(value->type), count = elements_of(op);
    if ((uint64_t)width * count > BIGINT_MAX_WIDTH)
        return op_error(op, "has no Verilog form: it holds more than %u bits", BIGINT_MAX_WIDTH);
    if (!initial_value(op, seq_register(op).initial, &initial)) return false;
    Str hint = name_attr && name_attr->u.string.len ? name_attr->u.string : STR("r");
    const char *name = verilog_fresh_name(&m->names, hint);
    StrBuf *out = &m->declarations;
    strbuf_add_c(out, "    ");
    verilog_add_type(out, "reg", width * count);
    strbuf_printf(out, " %s", name);
    if (initial) {
        strbuf_printf(out, count > 1 ? " = {%u{" : " = ", count);
        verilog_add_literal(out, &initial->u.integer);
        strbuf_add_c(out, count > 1 ? "}}" : "");
    }
    strbuf_add_c(out, ";\n");
    if (count == 1) {
        verilog_set_name(m, value, name);
        return true;
    }
    /* The last element of the row is the register's value. */
    const char *last = verilog_fresh_name(&m->names, str_from(verilog_printf(m, "%s_out", name)));
    strbuf_add_c(out, "    ");
    verilog_add_type(out, "wire", width);
    strbuf_printf(out, " %s = %s[%u:%u];\n", last, name, width * count - 1, width * (count - 1));
    verilog_set_name(m, value, last);
    ptrmap_put(&m->rows, op, (void *)(uintptr_t)name);
    return true;
}

/* Two registers that one always block holds. */
static bool is_alike(const Op *a, const Op *b)
{
    SeqRegister left = seq_register(a), right = seq_register(b);
    return left.clock == right.clock && left.reset == right.reset && left.enable == right.enable;
}

static bool is_register(const Op *op)
{
    return op->def == SEQ(COMPREG) || op->def == SEQ(COMPREG_CE) || op->def == SEQ(SHIFTREG);
}

/* "name <= {name, input};" of a row, where the bits that leave are cut off. */
static bool add_next(VerilogModule *m, Op *op, const char *indent)
{
    SeqRegister reg = seq_register(op);
    const VerilogText *input = verilog_text(m, reg.input);
    const char *row = ptrmap_get(&m->rows, op);
    if (!input) return false;
    strbuf_printf(&m->body, "%s%s <=", indent, row ? row : verilog_text(m, op_result(op, 0))->text);
    if (row) {
        uint32_t width = type_width(reg.input->type);
        verilog_add_wrapped(&m->body,
                            verilog_printf(m, " {%s[%u:0], %s};\n", row,
                                           width * (elements_of(op) - 1) - 1, input->text));
    } else {
        verilog_add_wrapped(&m->body, verilog_printf(m, " %s;\n", input->text));
    }
    return true;
}

static bool add_reset(VerilogModule *m, Op *op)
{
    const VerilogText *value = verilog_text(m, seq_register(op).reset_value);
    const char *row = ptrmap_get(&m->rows, op);
    if (!value) return false;
    if (row)
        strbuf_printf(&m->body, "            %s <= {%u{%s}};\n", row, elements_of(op), value->text);
    else
        strbuf_printf(&m->body, "            %s <= %s;\n", verilog_text(m, op_result(op, 0))->text,
                      value->text);
    return true;
}

/* Calls visit for `first` and the registers behind it that are alike. */
static bool each_alike(VerilogModule *m, Op *first, bool (*visit)(VerilogModule *m, Op *op))
{
    for (Op *op = first; op; op = op->next)
        if (is_register(op) && is_alike(first, op) && !visit(m, op)) return false;
    return true;
}

static bool add_plain(VerilogModule *m, Op *op)
{
    return add_next(m, op, "        ");
}

static bool add_inner(VerilogModule *m, Op *op)
{
    return add_next(m, op, "            ");
}

/* The values that all registers of a block need are declared before the block. */
static bool prepare(VerilogModule *m, Op *op)
{
    SeqRegister reg = seq_register(op);
    Value *const values[] = {reg.input, reg.clock, reg.enable, reg.reset, reg.reset_value};
    ptrmap_put(&m->visited, op, m);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (values[i] && !verilog_text(m, values[i])) return false;
    return true;
}

static bool print_block(VerilogModule *m, Op *first)
{
    SeqRegister reg = seq_register(first);
    StrBuf *out = &m->body;
    if (!each_alike(m, first, prepare)) return false;
    strbuf_printf(out, "    always @(posedge %s)", verilog_text(m, reg.clock)->text);
    if (!reg.reset && !reg.enable) {
        strbuf_add_c(out, " begin\n");
        if (!each_alike(m, first, add_plain)) return false;
        strbuf_add_c(out, "    end\n");
        return true;
    }
    strbuf_add_c(out, "\n        ");
    if (reg.reset) {
        strbuf_printf(out, "if (%s) begin\n", verilog_text(m, reg.reset)->text);
        if (!each_alike(m, first, add_reset)) return false;
        strbuf_add_c(out, "        end else ");
    }
    if (reg.enable) strbuf_printf(out, "if (%s) ", verilog_text(m, reg.enable)->text);
    strbuf_add_c(out, "begin\n");
    if (!each_alike(m, first, add_inner)) return false;
    strbuf_add_c(out, "        end\n");
    return true;
}

bool verilog_print_registers(VerilogModule *m)
{
    FOR_EACH_OP(op, region_entry(op_region(m->op, 0)))
        if (is_register(op) && !ptrmap_has(&m->visited, op) && !print_block(m, op)) return false;
    return true;
}
