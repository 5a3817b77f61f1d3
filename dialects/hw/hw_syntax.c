/* Text of modules, instances and constants, as CIRCT writes it.
 * Tests: lit/dialects/hw/ops.mir, lit/dialects/hw/invalid.mir */
#include "dialects/hw/internal.h"

typedef VEC(HwPort) PortList;
typedef VEC(const Attr *) AttrList;

/* "%a", or "%a name" where the port cannot be called like the value */
static bool parse_input(OpParser *p, ArgDecl *arg, HwPort *port)
{
    if (!parser_arg(p, arg, false, false)) return false;
    port->name = (Str){arg->name.data + 1, arg->name.len - 1};
    if (!parser_at(p, ":") && !hw_parse_name(p, &port->name)) return false;
    if (!parser_expect(p, ":") || !(port->type = parser_type(p))) return false;
    arg->type = port->type;
    return true;
}

/* port ::= "in" input ":" type | "out" name ":" type */
static bool parse_port(OpParser *p, PortList *ports, ArgDecls *args)
{
    HwPort port = {.is_output = parser_try(p, "out")};
    if (port.is_output) {
        if (!hw_parse_name(p, &port.name) || !parser_expect(p, ":")) return false;
        port.type = parser_type(p);
    } else {
        if (!parser_try(p, "in")) return parser_error(p, "expected port direction 'in' or 'out'");
        if (!parse_input(p, vec_push(args), &port)) return false;
    }
    *vec_push(ports) = port;
    return port.type != NULL;
}

/* "(" (port ("," port)*)? ")" */
static bool parse_ports(OpParser *p, PortList *ports, ArgDecls *args)
{
    if (!parser_expect(p, "(")) return false;
    if (parser_try(p, ")")) return true;
    do {
        if (!parse_port(p, ports, args)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

/* module ::= "private"? @name params ports ("attributes" dict)? region?
 * A hw.module has the region, a hw.module.extern does not. */
bool hw_parse_module(OpParser *p)
{
    PortList ports = {0};
    ArgDecls args = {0};
    Context *ctx = parser_ctx(p);
    if (parser_try(p, "private"))
        parser_set_attr(p, "sym_visibility", attr_string_c(ctx, "private"));
    const Attr *name = parser_symbol_name(p);
    bool ok = name != NULL;
    if (ok) parser_set_attr(p, "sym_name", name);
    ok = ok && hw_parse_params(p) && parse_ports(p, &ports, &args) && parser_attr_dict(p, true);
    if (ok) {
        const Type *type = hw_module_type(ctx, ports.data, ports.len);
        parser_set_attr(p, "module_type", attr_type(type));
    }
    if (ok && str_eq_c(parser_op_name(p), "hw.module")) {
        ok = parser_region(p, args.data, args.len);
        if (ok) parser_ensure_block(p);
    } else if (ok) {
        parser_add_empty_region(p);
    }
    vec_free(&ports);
    vec_free(&args);
    return ok;
}

static void print_input(OpPrinter *p, const Value *arg, Str name)
{
    StrBuf *out = printer_out(p);
    size_t start = out->len;
    if (arg) {
        printer_value(p, arg);
        Str spelt = {out->data + start + 1, out->len - start - 1};
        if (str_eq(spelt, name)) return;
        strbuf_add_char(out, ' ');
        write_attr_name(out, name);
    } else {
        strbuf_printf(out, "%%%.*s", STR_ARG(name));
    }
}

static void print_ports(OpPrinter *p, const Op *op)
{
    const Block *body = region_entry(op_region(op, 0));
    uint32_t inputs = 0;
    printer_text(p, "(");
    for (uint32_t i = 0; i < hw_port_count(op); i++) {
        HwPort port = hw_port(op, i);
        printer_text(p, i ? ", " : "");
        printer_text(p, port.is_output ? "out " : "in ");
        if (port.is_output)
            write_attr_name(printer_out(p), port.name);
        else
            print_input(p, body ? body->args[inputs++] : NULL, port.name);
        printer_text(p, " : ");
        printer_type(p, port.type);
    }
    printer_text(p, ")");
}

void hw_print_module(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"sym_name", "sym_visibility", "module_type", "parameters",
                                         NULL};
    const Attr *visibility = op_attr(op, "sym_visibility");
    printer_text(p, " ");
    if (visibility) {
        strbuf_add_str(printer_out(p), visibility->u.string);
        printer_text(p, " ");
    }
    printer_symbol_name(p, op_attr(op, "sym_name")->u.string);
    hw_print_params(p, op);
    if (!printer_is_dry(p)) print_ports(p, op);
    printer_attr_dict_keyword(p, op, elided);
    if (region_is_empty(op_region(op, 0))) return;
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, true);
}

/* input ::= name ":" %value ":" type */
static bool parse_instance_input(OpParser *p, AttrList *names)
{
    Str name;
    OperandRef value;
    if (!hw_parse_name(p, &name) || !parser_expect(p, ":") || !parser_operand(p, &value) ||
        !parser_expect(p, ":"))
        return false;
    const Type *type = parser_type(p);
    *vec_push(names) = attr_string(parser_ctx(p), name);
    return type && parser_resolve(p, &value, type);
}

/* output ::= name ":" type */
static bool parse_instance_output(OpParser *p, AttrList *names)
{
    Str name;
    if (!hw_parse_name(p, &name) || !parser_expect(p, ":")) return false;
    const Type *type = parser_type(p);
    if (!type) return false;
    *vec_push(names) = attr_string(parser_ctx(p), name);
    parser_add_result(p, type);
    return true;
}

/* "(" (item ("," item)*)? ")" */
static bool parse_items(OpParser *p, AttrList *names, bool (*item)(OpParser *, AttrList *))
{
    if (!parser_expect(p, "(")) return false;
    if (parser_try(p, ")")) return true;
    do {
        if (!item(p, names)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

/* string @module params "(" inputs ")" "->" "(" outputs ")" attr-dict? */
bool hw_parse_instance(OpParser *p)
{
    AttrList inputs = {0}, outputs = {0};
    Context *ctx = parser_ctx(p);
    Str name;
    bool ok = parser_string(p, &name);
    const Attr *module = ok ? parser_symbol_name(p) : NULL;
    ok = module && hw_parse_params(p) && parse_items(p, &inputs, parse_instance_input) &&
         parser_expect(p, "->") && parse_items(p, &outputs, parse_instance_output);
    if (ok) {
        const Ident *ident = ident_get(ctx, module->u.string);
        parser_set_attr(p, "instanceName", attr_string(ctx, name));
        parser_set_attr(p, "moduleName", attr_symbol(ctx, ident));
        parser_set_attr(p, "argNames", attr_array(ctx, inputs.data, inputs.len));
        parser_set_attr(p, "resultNames", attr_array(ctx, outputs.data, outputs.len));
        ok = parser_attr_dict(p, false);
    }
    vec_free(&inputs);
    vec_free(&outputs);
    return ok;
}

void hw_print_instance(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"instanceName", "moduleName", "argNames",
                                         "resultNames",  "parameters", NULL};
    const Attr *inputs = op_attr(op, "argNames"), *outputs = op_attr(op, "resultNames");
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "instanceName"));
    printer_text(p, " ");
    printer_symbol_name(p, op_attr(op, "moduleName")->u.symbol.names[0]->str);
    hw_print_params(p, op);
    printer_text(p, "(");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        printer_text(p, i ? ", " : "");
        write_attr_name(printer_out(p), inputs->u.array.items[i]->u.string);
        printer_text(p, ": ");
        printer_value(p, op_operand(op, i));
        printer_text(p, ": ");
        printer_type(p, op_operand(op, i)->type);
    }
    printer_text(p, ") -> (");
    for (uint32_t i = 0; i < op->result_count; i++) {
        printer_text(p, i ? ", " : "");
        write_attr_name(printer_out(p), outputs->u.array.items[i]->u.string);
        printer_text(p, ": ");
        printer_type(p, op_result(op, i)->type);
    }
    printer_text(p, ")");
    printer_attr_dict(p, op, elided);
}

/* integer-attribute attr-dict? */
bool hw_parse_constant(OpParser *p)
{
    SrcPos at = parser_pos(p);
    const Attr *value = parser_attr(p, NULL);
    if (!value || !parser_attr_dict(p, false)) return false;
    if (value->kind != ATTR_INTEGER)
        return parser_error_at(p, at, "expected an integer with its type");
    parser_set_attr(p, "value", value);
    parser_add_result(p, value->type);
    return true;
}

void hw_print_constant(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"value", NULL};
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "value"));
    printer_attr_dict(p, op, elided);
}
