/* Types and attributes of the hw dialect: the ports of a module, and parameters. A port is three
 * parameters of its type: name, type, and whether it is an output.
 * Tests: lit/dialects/hw/ops.mir, lit/dialects/hw/invalid.mir */
#include "dialects/hw/internal.h"

enum { PARTS = 3 };

const Type *hw_module_type(Context *ctx, const HwPort *ports, size_t count)
{
    VEC(const Attr *) parts = {0};
    for (size_t i = 0; i < count; i++) {
        *vec_push(&parts) = attr_string(ctx, ports[i].name);
        *vec_push(&parts) = attr_type(ports[i].type);
        *vec_push(&parts) = attr_bool(ctx, ports[i].is_output);
    }
    const Type *type = type_dialect(ctx, &hw_type_module, parts.data, parts.len);
    vec_free(&parts);
    return type;
}

uint32_t hw_type_port_count(const Type *module_type)
{
    return module_type->u.dialect.param_count / PARTS;
}

HwPort hw_type_port(const Type *module_type, uint32_t index)
{
    const Attr *const *parts = module_type->u.dialect.params + (size_t)index * PARTS;
    return (HwPort){parts[0]->u.string, parts[1]->u.type_value, attr_is_true(parts[2])};
}

/* name ::= keyword | string */
bool hw_parse_name(OpParser *p, Str *out)
{
    if (parser_at(p, "\"")) return parser_string(p, out);
    return parser_keyword(p, out);
}

typedef VEC(HwPort) PortList;

/* port ::= ("input" | "output") name ":" type */
static bool parse_port(OpParser *p, PortList *ports)
{
    HwPort port = {.is_output = parser_try(p, "output")};
    if (!port.is_output && !parser_try(p, "input"))
        return parser_error(p, "expected 'input' or 'output'");
    if (!hw_parse_name(p, &port.name) || !parser_expect(p, ":")) return false;
    port.type = parser_type(p);
    *vec_push(ports) = port;
    return port.type != NULL;
}

/* "<" (port ("," port)*)? ">" */
static bool parse_ports(OpParser *p, PortList *ports)
{
    if (!parser_expect(p, "<")) return false;
    if (parser_try(p, ">")) return true;
    do {
        if (!parse_port(p, ports)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, ">");
}

static const Type *parse_module_type(OpParser *p)
{
    PortList ports = {0};
    bool ok = parse_ports(p, &ports);
    const Type *type = ok ? hw_module_type(parser_ctx(p), ports.data, ports.len) : NULL;
    vec_free(&ports);
    return type;
}

static void print_module_type(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    for (uint32_t i = 0; i < hw_type_port_count(type); i++) {
        HwPort port = hw_type_port(type, i);
        strbuf_add_c(out, i ? ", " : "");
        strbuf_add_c(out, port.is_output ? "output " : "input ");
        write_attr_name(out, port.name);
        strbuf_add_c(out, " : ");
        type_print(out, port.type);
    }
    strbuf_add_char(out, '>');
}

const TypeDef hw_type_module = {.name = "modty",
                                .dialect = &hw_dialect,
                                .summary = "Ports of a module.",
                                .parse = parse_module_type,
                                .print = print_module_type};

const Attr *hw_param(Context *ctx, Str name, const Type *type, const Attr *value)
{
    const Attr *parts[PARTS] = {attr_string(ctx, name), attr_type(type), value};
    const Type *own = type->kind == TYPE_NONE ? NULL : type;
    return attr_dialect_typed(ctx, &hw_attr_param, own, parts, value ? 3 : 2);
}

Str hw_param_name(const Attr *param)
{
    return param->u.dialect.params[0]->u.string;
}

const Type *hw_param_type(const Attr *param)
{
    return param->u.dialect.params[1]->u.type_value;
}

const Attr *hw_param_value(const Attr *param)
{
    return param->u.dialect.param_count == PARTS ? param->u.dialect.params[2] : NULL;
}

/* type ("=" attribute)? */
static const Attr *parse_param_rest(OpParser *p, Str name)
{
    const Type *type = parser_type(p);
    if (!type) return NULL;
    if (!parser_try(p, "=")) return hw_param(parser_ctx(p), name, type, NULL);
    SrcPos at = parser_pos(p);
    bool is_string = type->kind == TYPE_NONE;
    const Attr *value = parser_attr(p, is_string ? NULL : type);
    if (!value) return NULL;
    if (value->kind != (is_string ? ATTR_STRING : ATTR_INTEGER)) {
        parser_error_at(p, at, "a parameter must be an integer, or a string of type none");
        return NULL;
    }
    return hw_param(parser_ctx(p), name, type, value);
}

/* "<" string ":" type ("=" attribute)? ">" */
static const Attr *parse_param_attr(OpParser *p, const Type *type)
{
    (void)type;
    Str name;
    if (!parser_expect(p, "<") || !parser_string(p, &name) || !parser_expect(p, ":")) return NULL;
    const Attr *param = parse_param_rest(p, name);
    return param && parser_expect(p, ">") ? param : NULL;
}

/* type ("=" value)? */
static void print_param_rest(StrBuf *out, const Attr *param)
{
    const Attr *value = hw_param_value(param);
    strbuf_add_c(out, ": ");
    type_print(out, hw_param_type(param));
    if (!value) return;
    strbuf_add_c(out, " = ");
    if (value->kind == ATTR_STRING)
        attr_print(out, value);
    else if (type_is_int_width(value->type, 1))
        strbuf_add_c(out, attr_is_true(value) ? "true" : "false");
    else
        bigint_print(out, &value->u.integer, value->type->u.integer.sign != UNSIGNED);
}

static void print_param_attr(StrBuf *out, const Attr *param)
{
    strbuf_add_char(out, '<');
    attr_print(out, param->u.dialect.params[0]);
    print_param_rest(out, param);
    strbuf_add_char(out, '>');
}

const AttrDef hw_attr_param = {.name = "param.decl",
                               .dialect = &hw_dialect,
                               .summary = "A parameter of a module, or its value.",
                               .parse = parse_param_attr,
                               .print = print_param_attr};

/* params ::= ("<" name ":" type ("=" attribute)? ("," …)* ">")? */
bool hw_parse_params(OpParser *p)
{
    VEC(const Attr *) params = {0};
    bool ok = true;
    if (parser_try(p, "<")) {
        do {
            Str name;
            ok = hw_parse_name(p, &name) && parser_expect(p, ":");
            const Attr *param = ok ? parse_param_rest(p, name) : NULL;
            ok = param != NULL;
            *vec_push(&params) = param;
        } while (ok && parser_try(p, ","));
        ok = ok && parser_expect(p, ">");
    }
    if (ok) parser_set_attr(p, "parameters", attr_array(parser_ctx(p), params.data, params.len));
    vec_free(&params);
    return ok;
}

void hw_print_params(OpPrinter *p, const Op *op)
{
    const Attr *params = op_attr(op, "parameters");
    if (params->u.array.count == 0) return;
    for (uint32_t i = 0; i < params->u.array.count; i++) {
        printer_text(p, i ? ", " : "<");
        write_attr_name(printer_out(p), hw_param_name(params->u.array.items[i]));
        print_param_rest(printer_out(p), params->u.array.items[i]);
    }
    printer_text(p, ">");
}
