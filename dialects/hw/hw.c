/* The hw dialect: rows, checks, names of values. Text is in hw_syntax.c, types and parameters in
 * hw_type.c, builders in hw_build.c.
 * Tests: lit/dialects/hw */
#include "dialects/common/common.h"
#include "dialects/hw/internal.h"

static bool is_integer(const Type *type)
{
    return type_is_integer(type) && type_is_signless(type) && type_width(type) > 0;
}

const TypeConstraint HW_IS_INTEGER = {.test = is_integer,
                                      .what = "a signless integer of one bit or more"};

static bool is_module_type(const Attr *attr)
{
    return attr->kind == ATTR_TYPE && type_is_a(attr->u.type_value, &hw_type_module);
}

static bool is_integer_attr(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER;
}

static bool is_array_of(const Attr *attr, bool (*test)(const Attr *item))
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++)
        if (!test(attr->u.array.items[i])) return false;
    return true;
}

static bool is_param(const Attr *attr)
{
    return attr_is_a(attr, &hw_attr_param);
}

static bool is_params(const Attr *attr)
{
    return is_array_of(attr, is_param);
}

static bool is_strings(const Attr *attr)
{
    return is_array_of(attr, constraint_is_string);
}

static const AttrConstraint ATTR_IS_MODULE_TYPE = {.test = is_module_type,
                                                   .stores = constraint_is_type,
                                                   .what = "type attribute of hw module type"};
static const AttrConstraint ATTR_IS_PARAMS = {
    .test = is_params, .stores = constraint_is_array, .what = "parameter array"};
static const AttrConstraint ATTR_IS_STRING_ARRAY = {
    .test = is_strings, .stores = constraint_is_array, .what = "string array attribute"};
static const AttrConstraint ATTR_IS_INTEGER = {.test = is_integer_attr,
                                               .what = "arbitrary integer attribute"};

bool hw_is_module(const Op *op)
{
    return op->def == HW(MODULE) || op->def == HW(MODULE_EXTERN);
}

static const Type *module_type(const Op *module)
{
    return op_attr(module, "module_type")->u.type_value;
}

uint32_t hw_port_count(const Op *module)
{
    return hw_type_port_count(module_type(module));
}

HwPort hw_port(const Op *module, uint32_t index)
{
    return hw_type_port(module_type(module), index);
}

Str hw_verilog_name(const Op *module)
{
    const Attr *name = op_attr(module, HW_ATTR_VERILOG_NAME);
    return name ? name->u.string : op_attr(module, "sym_name")->u.string;
}

/* The `nth` port of one direction, and its number among all; false: there are not so many. */
static bool find_port(const Op *module, bool is_output, uint32_t nth, HwPort *out)
{
    for (uint32_t i = 0; i < hw_port_count(module); i++) {
        *out = hw_port(module, i);
        if (out->is_output == is_output && nth-- == 0) return true;
    }
    return false;
}

static uint32_t count_ports(const Op *module, bool is_output)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hw_port_count(module); i++)
        count += hw_port(module, i).is_output == is_output;
    return count;
}

static bool verify_port_names(Op *op)
{
    PtrMap seen = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < hw_port_count(op); i++) {
        const Ident *name = ident_get(op->ctx, hw_port(op, i).name);
        if (ptrmap_put(&seen, name, (void *)(uintptr_t)name))
            ok = op_error(op, "has two ports called '%s'", name->str.data);
    }
    ptrmap_free(&seen);
    return ok;
}

static bool verify_module(Op *op)
{
    const Block *body = region_entry(op_region(op, 0));
    if (!verify_port_names(op)) return false;
    if (op->def == HW(MODULE_EXTERN))
        return !body || op_error(op, "is defined elsewhere and must not have a body");
    uint32_t count = count_ports(op, false);
    if (body->arg_count != count)
        return op_error(op, "has %u input ports, but its body takes %u arguments", count,
                        body->arg_count);
    for (uint32_t i = 0; i < count; i++) {
        HwPort port;
        if (find_port(op, false, i, &port) && body->args[i]->type != port.type)
            return op_error(op, "input port #%u has type '%s', but the body's argument '%s'", i,
                            type_str(op->ctx, port.type), type_str(op->ctx, body->args[i]->type));
    }
    return true;
}

static bool verify_output(Op *op)
{
    const Op *module = op_parent(op);
    uint32_t count = count_ports(module, true);
    if (op->operand_count != count)
        return op_error(op, "has %u operands, but the module has %u output ports",
                        op->operand_count, count);
    for (uint32_t i = 0; i < count; i++) {
        HwPort port;
        if (find_port(module, true, i, &port) && op_operand(op, i)->type != port.type)
            return op_error(op, "output port #%u has type '%s', but the operand '%s'", i,
                            type_str(op->ctx, port.type),
                            type_str(op->ctx, op_operand(op, i)->type));
    }
    return true;
}

static bool declared_here(const Op *module)
{
    return diag_note(module->ctx, module->loc, "module declared here");
}

/* Compares the operands or the results of an instance with the module's ports of one direction. */
static bool verify_side(Op *op, const Op *module, bool is_output)
{
    const Attr *names = op_attr(op, is_output ? "resultNames" : "argNames");
    uint32_t got = is_output ? op->result_count : op->operand_count;
    uint32_t want = count_ports(module, is_output);
    const char *what = is_output ? "result" : "operand";
    if (got != want || names->u.array.count != want) {
        op_error(op, "has %u %ss with %u names, but the module has %u %s ports", got, what,
                 names->u.array.count, want, is_output ? "output" : "input");
        return declared_here(module);
    }
    for (uint32_t i = 0; i < want; i++) {
        const Type *type = is_output ? op_result(op, i)->type : op_operand(op, i)->type;
        HwPort port;
        if (!find_port(module, is_output, i, &port)) continue;
        Str name = names->u.array.items[i]->u.string;
        if (type == port.type && str_eq(name, port.name)) continue;
        op_error(op, "%s #%u must be '%.*s' of type '%s', but got '%.*s' of type '%s'", what, i,
                 STR_ARG(port.name), type_str(op->ctx, port.type), STR_ARG(name),
                 type_str(op->ctx, type));
        return declared_here(module);
    }
    return true;
}

static bool verify_params(Op *op, const Op *module)
{
    const Attr *given = op_attr(op, "parameters"), *declared = op_attr(module, "parameters");
    if (given->u.array.count != declared->u.array.count) {
        op_error(op, "has %u parameters, but the module has %u", given->u.array.count,
                 declared->u.array.count);
        return declared_here(module);
    }
    for (uint32_t i = 0; i < given->u.array.count; i++) {
        const Attr *got = given->u.array.items[i], *want = declared->u.array.items[i];
        Str name = hw_param_name(want);
        if (!str_eq(hw_param_name(got), name) || hw_param_type(got) != hw_param_type(want)) {
            op_error(op, "parameter #%u must be '%.*s' of type '%s'", i, STR_ARG(name),
                     type_str(op->ctx, hw_param_type(want)));
            return declared_here(module);
        }
        if (!hw_param_value(got))
            return op_error(op, "parameter '%.*s' must have a value", STR_ARG(name));
    }
    return true;
}

static bool verify_instance(Op *op, SymbolTables *tables)
{
    const Attr *ref = op_attr(op, "moduleName");
    const Op *module = symtabs_lookup(tables, op, ref);
    if (!module || !hw_is_module(module))
        return op_error(op, "'%.*s' does not reference a module",
                        STR_ARG(ref->u.symbol.names[0]->str));
    return verify_side(op, module, false) && verify_side(op, module, true) &&
           verify_params(op, module);
}

static bool verify_constant(Op *op)
{
    return op_attr(op, "value")->type == op_result(op, 0)->type ||
           op_error(op, "value must have the result's type '%s'",
                    type_str(op->ctx, op_result(op, 0)->type));
}

static bool fold_constant(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    results[0].attr = op_attr(op, "value");
    return true;
}

static const char *name_port(const Op *op, const Value *arg, StrBuf *scratch)
{
    HwPort port;
    (void)scratch;
    return find_port(op, false, arg->index, &port) ? port.name.data : NULL;
}

/* instance.port */
static const char *name_instance_result(const Op *op, uint32_t index, StrBuf *scratch)
{
    const Attr *names = op_attr(op, "resultNames");
    if (index >= names->u.array.count) return NULL;
    strbuf_printf(scratch, "%s.%s", op_attr(op, "instanceName")->u.string.data,
                  names->u.array.items[index]->u.string.data);
    return scratch->data;
}

static const char *name_constant(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)index;
    const Attr *value = op_attr(op, "value");
    if (type_is_int_width(value->type, 1)) return attr_is_true(value) ? "true" : "false";
    strbuf_add_char(scratch, 'c');
    bigint_print(scratch, &value->u.integer, true);
    strbuf_add_char(scratch, '_');
    type_print(scratch, value->type);
    return scratch->data;
}

static Op *materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    if (value->kind != ATTR_INTEGER || value->type != type || !is_integer(type)) return NULL;
    NamedAttr attr = build_named_attr(ctx, "value", value);
    Builder b = {.ctx = ctx, .loc = loc};
    return build(&b, HW(CONSTANT), NULL, 0, &type, 1, &attr, 1);
}

#define OP(ID, NAME, ...)                                                                          \
    [HW_##ID] = {.id = #ID, .name = NAME, .dialect = &hw_dialect, __VA_ARGS__},
const OpDef hw_ops[] = {
#include "dialects/hw/hw_ops.def"
};
#undef OP

static const TypeDef *const hw_types[] = {&hw_type_module, NULL};
static const AttrDef *const hw_attrs[] = {&hw_attr_param, NULL};

const DialectDef hw_dialect = {
    .name = "hw",
    .summary = "Hardware: modules, ports, instances.",
    .ops = hw_ops,
    .op_count = HW_OP_COUNT,
    .types = hw_types,
    .attrs = hw_attrs,
    .materialize = materialize,
};
