/* Builders of hw ops.
 * Tests: test/unit/dialects/seq/build_test.c */
#include <assert.h>

#include "dialects/hw/hw.h"

static const Attr *params_or_none(Context *ctx, const Attr *params)
{
    return params ? params : attr_array(ctx, NULL, 0);
}

Op *hw_build_module(Builder *b, Str name, const HwPort *ports, size_t count)
{
    Context *ctx = b->ctx;
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, name)),
        build_named_attr(ctx, "module_type", attr_type(hw_module_type(ctx, ports, count))),
        build_named_attr(ctx, "parameters", params_or_none(ctx, NULL)),
    };
    Op *module = build(b, HW(MODULE), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    Block *body = region_add_block(op_region(module, 0));
    for (size_t i = 0; i < count; i++)
        if (!ports[i].is_output) block_add_arg(body, ports[i].type, b->loc);
    return module;
}

Op *hw_build_extern(Builder *b, Str name, const HwPort *ports, size_t count, Str verilog_name,
                    const Attr *params)
{
    Context *ctx = b->ctx;
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, name)),
        build_named_attr(ctx, "module_type", attr_type(hw_module_type(ctx, ports, count))),
        build_named_attr(ctx, "parameters", params_or_none(ctx, params)),
    };
    Op *module = build(b, HW(MODULE_EXTERN), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    if (verilog_name.len) op_set_attr(module, HW_ATTR_VERILOG_NAME, attr_string(ctx, verilog_name));
    return module;
}

Value *hw_input(const Op *module, const char *port)
{
    const Block *body = region_entry(op_region(module, 0));
    uint32_t input = 0;
    for (uint32_t i = 0; i < hw_port_count(module); i++) {
        HwPort found = hw_port(module, i);
        if (found.is_output) continue;
        if (str_eq_c(found.name, port)) return body->args[input];
        input++;
    }
    assert(false && "no such input port");
    return NULL;
}

typedef VEC(const Attr *) AttrList;
typedef VEC(const Type *) TypeVec;

Op *hw_build_instance(Builder *b, const Op *module, Str name, Value *const *inputs,
                      const Attr *params)
{
    Context *ctx = b->ctx;
    AttrList names[2] = {{0}, {0}};
    TypeVec results = {0};
    for (uint32_t i = 0; i < hw_port_count(module); i++) {
        HwPort port = hw_port(module, i);
        *vec_push(&names[port.is_output]) = attr_string(ctx, port.name);
        if (port.is_output) *vec_push(&results) = port.type;
    }
    const Ident *symbol = ident_get(ctx, op_attr(module, "sym_name")->u.string);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "instanceName", attr_string(ctx, name)),
        build_named_attr(ctx, "moduleName", attr_symbol(ctx, symbol)),
        build_named_attr(ctx, "argNames", attr_array(ctx, names[0].data, names[0].len)),
        build_named_attr(ctx, "resultNames", attr_array(ctx, names[1].data, names[1].len)),
        build_named_attr(ctx, "parameters", params_or_none(ctx, params)),
    };
    Op *op = build(b, HW(INSTANCE), inputs, (uint32_t)names[0].len, results.data,
                   (uint32_t)results.len, attrs, COUNT_OF(attrs));
    vec_free(&names[0]);
    vec_free(&names[1]);
    vec_free(&results);
    return op;
}

Value *hw_output(const Op *instance, const char *port)
{
    const Attr *names = op_attr(instance, "resultNames");
    for (uint32_t i = 0; i < names->u.array.count; i++)
        if (str_eq_c(names->u.array.items[i]->u.string, port)) return op_result(instance, i);
    assert(false && "no such output port");
    return NULL;
}

void hw_build_output(Builder *b, Value *const *values, uint32_t count)
{
    build(b, HW(OUTPUT), values, count, NULL, 0, NULL, 0);
}

Value *hw_build_constant(Builder *b, const Attr *value)
{
    const NamedAttr attr = build_named_attr(b->ctx, "value", value);
    return op_result(build(b, HW(CONSTANT), NULL, 0, &value->type, 1, &attr, 1), 0);
}

Value *hw_build_int(Builder *b, uint32_t width, int64_t value)
{
    return hw_build_constant(b, attr_int(type_i(b->ctx, width), value));
}
