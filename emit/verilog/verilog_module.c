/* A module: its head, then declarations, wires and statements, which are gathered apart because
 * Verilog wants names declared before they are used, while ops may stand in any order.
 * Tests: lit/emit/verilog/modules.mir */
#include "emit/verilog/internal.h"

static bool port_width(Op *op, const HwPort *port, uint32_t *out)
{
    bool is_clock = type_is_a(port->type, &seq_type_clock);
    *out = is_clock ? 1 : type_width(port->type);
    return is_clock || HW_IS_INTEGER.test(port->type) ||
           op_error(op, "has no Verilog form: port '%.*s' is of type '%s'", STR_ARG(port->name),
                    type_str(op->ctx, port->type));
}

/* A comment that a line holds; what is not plain text becomes '?'. */
static void add_comment(StrBuf *out, Str text)
{
    strbuf_add_c(out, "// ");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_plain = c >= ' ' && c < 0x7f && c != '\\';
        if (c == '\n' && i + 1 < text.len)
            strbuf_add_c(out, "\n// ");
        else if (c != '\n')
            strbuf_add_char(out, is_plain ? c : '?');
    }
    strbuf_add_char(out, '\n');
}

static bool add_head(VerilogModule *m, StrBuf *out)
{
    const Attr *comment = op_attr(m->op, "comment");
    const Block *body = region_entry(op_region(m->op, 0));
    const VerilogInterface *interface = ptrmap_get(m->symbols, symbol_name(m->op));
    uint32_t count = hw_port_count(m->op), inputs = 0, outputs = 0;
    if (comment) add_comment(out, comment->u.string);
    strbuf_printf(out, "module %s", interface->module);
    for (uint32_t i = 0; i < count; i++) {
        HwPort port = hw_port(m->op, i);
        uint32_t width;
        if (!port_width(m->op, &port, &width)) return false;
        const char *name =
            port.is_output ? interface->outputs[outputs++] : interface->inputs[inputs];
        verilog_take_name(&m->names, ident_get(m->ctx, str_from(name)));
        strbuf_add_c(out, i ? ",\n    " : " (\n    ");
        strbuf_add_c(out, port.is_output ? "output " : "input ");
        verilog_add_type(out, "wire", width);
        strbuf_printf(out, " %s", name);
        if (!port.is_output) verilog_set_name(m, body->args[inputs++], name);
        *vec_push(&m->ports) = name;
    }
    strbuf_add_c(out, count ? "\n);\n" : ";\n");
    return true;
}

static bool declare_instance(VerilogModule *m, Op *op)
{
    const Attr *outputs = op_attr(op, "resultNames");
    const char *name = verilog_fresh_name(&m->names, op_attr(op, "instanceName")->u.string);
    ptrmap_put(&m->rows, op, (void *)(uintptr_t)name);
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Value *result = op_result(op, i);
        HwPort port = {outputs->u.array.items[i]->u.string, result->type, true};
        uint32_t width;
        if (!port_width(op, &port, &width)) return false;
        if (!value_has_uses(result)) continue;
        const char *wire = verilog_fresh_name(
            &m->names, str_from(verilog_printf(m, "%s_%.*s", name, STR_ARG(port.name))));
        strbuf_add_c(&m->declarations, "    ");
        verilog_add_type(&m->declarations, "wire", width);
        strbuf_printf(&m->declarations, " %s;\n", wire);
        verilog_set_name(m, result, wire);
    }
    return true;
}

static bool declare(VerilogModule *m, Op *op)
{
    if (op->def == SEQ(COMPREG) || op->def == SEQ(COMPREG_CE) || op->def == SEQ(SHIFTREG))
        return verilog_declare_register(m, op);
    if (op->def == HW(INSTANCE)) return declare_instance(m, op);
    if (op->def == SEQ(FIRMEM_READ_PORT)) verilog_declare_read(m, op);
    const DialectDef *dialect = op->def ? op->def->dialect : NULL;
    bool is_known = dialect == &hw_dialect || dialect == &comb_dialect || dialect == &seq_dialect;
    return is_known || op_error(op, "has no Verilog form: only ops of hw, comb and seq have one");
}

/* "#(.WIDTH(8), .NAME("x")) " */
static void add_params(StrBuf *out, const Attr *params)
{
    for (uint32_t i = 0; i < params->u.array.count; i++) {
        const Attr *param = params->u.array.items[i], *value = hw_param_value(param);
        Str name = hw_param_name(param);
        strbuf_printf(out, "%s.%.*s(", i ? ", " : "#(", STR_ARG(name));
        if (value->kind == ATTR_STRING)
            strbuf_printf(out, "\"%.*s\"", STR_ARG(value->u.string));
        else if (value->u.integer.width <= 32)
            strbuf_printf(out, "%lld", (long long)attr_int_value(value));
        else
            verilog_add_literal(out, &value->u.integer);
        strbuf_add_char(out, ')');
    }
    if (params->u.array.count) strbuf_add_c(out, ") ");
}

/* Parameters stand in Verilog as they are: names must be identifiers, strings plain. */
static bool check_params(Op *op, const Attr *params)
{
    for (uint32_t i = 0; i < params->u.array.count; i++) {
        const Attr *param = params->u.array.items[i], *value = hw_param_value(param);
        Str name = hw_param_name(param);
        for (size_t k = 0; k < name.len; k++) {
            char c = name.data[k];
            bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
            if (!is_letter && !(k > 0 && c >= '0' && c <= '9'))
                return op_error(op, "has no Verilog form: parameter '%.*s' is no identifier",
                                STR_ARG(name));
        }
        for (size_t k = 0; value->kind == ATTR_STRING && k < value->u.string.len; k++) {
            char c = value->u.string.data[k];
            if (c < ' ' || c > '~' || c == '"' || c == '\\')
                return op_error(op, "has no Verilog form: parameter '%.*s' is no plain text",
                                STR_ARG(name));
        }
    }
    return true;
}

static bool print_instance(VerilogModule *m, Op *op)
{
    const Attr *params = op_attr(op, "parameters");
    const VerilogInterface *of =
        ptrmap_get(m->symbols, op_attr(op, "moduleName")->u.symbol.names[0]);
    const char *separator = "\n";
    if (!check_params(op, params)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!verilog_text(m, op_operand(op, i))) return false;
    StrBuf *out = &m->body;
    strbuf_printf(out, "    %s ", of->module);
    add_params(out, params);
    strbuf_printf(out, "%s (", (const char *)ptrmap_get(&m->rows, op));
    for (uint32_t i = 0; i < op->operand_count; i++, separator = ",\n") {
        strbuf_printf(out, "%s        .%s(", separator, of->inputs[i]);
        verilog_add_wrapped(out, verilog_text(m, op_operand(op, i))->text);
        strbuf_add_char(out, ')');
    }
    for (uint32_t i = 0; i < op->result_count; i++, separator = ",\n") {
        const VerilogText *wire = ptrmap_get(&m->texts, op_result(op, i));
        strbuf_printf(out, "%s        .%s(%s)", separator, of->outputs[i], wire ? wire->text : "");
    }
    strbuf_add_c(out, op->operand_count + op->result_count ? "\n    );\n" : ");\n");
    return true;
}

static bool print_outputs(VerilogModule *m, Op *op)
{
    uint32_t output = 0;
    for (uint32_t i = 0; i < hw_port_count(m->op); i++) {
        if (!hw_port(m->op, i).is_output) continue;
        const VerilogText *text = verilog_text(m, op_operand(op, output++));
        if (!text) return false;
        strbuf_printf(&m->body, "    assign %s =", m->ports.data[i]);
        verilog_add_wrapped(&m->body, verilog_printf(m, " %s;\n", text->text));
    }
    return true;
}

static bool print_statement(VerilogModule *m, Op *op)
{
    if (op->def == SEQ(FIRMEM_READ_PORT) || op->def == SEQ(FIRMEM_WRITE_PORT))
        return verilog_print_port(m, op);
    if (op->def == HW(INSTANCE)) return print_instance(m, op);
    return op->def != HW(OUTPUT) || print_outputs(m, op);
}

static bool print_body(VerilogModule *m)
{
    Block *body = region_entry(op_region(m->op, 0));
    FOR_EACH_OP(op, body)
        if (op->def == SEQ(FIRMEM) && !verilog_declare_memory(m, op)) return false;
    FOR_EACH_OP(op, body)
        if (!declare(m, op)) return false;
    if (!verilog_print_registers(m)) return false;
    FOR_EACH_OP(op, body)
        if (!print_statement(m, op) || !verilog_has_room(m, op)) return false;
    return true;
}

bool verilog_has_room(const VerilogModule *m, const Op *op)
{
    return m->files->has_room(m->files->user, op, m->declarations.len + m->wires.len + m->body.len);
}

static void add_section(StrBuf *out, const StrBuf *section)
{
    if (section->len == 0) return;
    strbuf_add_str(out, strbuf_str(section));
    strbuf_add_char(out, '\n');
}

bool verilog_print_module(Op *op, const PtrMap *symbols, const VerilogFiles *files,
                          const char *name)
{
    VerilogModule m = {
        .ctx = op->ctx, .op = op, .files = files, .symbols = symbols, .names.ctx = op->ctx};
    StrBuf *out = files->new_file(files->user, name);
    arena_init(&m.arena);
    strbuf_add_c(out, "`default_nettype none\n\n");
    bool ok = add_head(&m, out) && print_body(&m);
    add_section(out, &m.declarations);
    add_section(out, &m.wires);
    strbuf_add_str(out, strbuf_str(&m.body));
    strbuf_add_c(out, "endmodule\n\n`default_nettype wire\n");
    arena_free(&m.arena);
    ptrmap_free(&m.names.taken);
    ptrmap_free(&m.texts);
    ptrmap_free(&m.visited);
    ptrmap_free(&m.rows);
    vec_free(&m.ports);
    strbuf_free(&m.declarations);
    strbuf_free(&m.wires);
    strbuf_free(&m.body);
    return ok;
}
