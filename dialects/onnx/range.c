/* Ranges of activations as attributes; dialects/onnx/onnx.h describes their form.
 * Tests: lit/passes/onnx/onnx-quantize.mir, lit/passes/onnx/onnx-quantize-invalid.mir */
#include <math.h>

#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"

static const Attr *ranges_attr(Context *ctx, const ValueRange *ranges, uint32_t count)
{
    const Type *f64 = type_float(ctx, TYPE_F64);
    const Attr **items = xcalloc(2 * (size_t)count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[2 * i] = attr_float(f64, ranges[i].low);
        items[2 * i + 1] = attr_float(f64, ranges[i].high);
    }
    const Attr *attr = attr_array(ctx, items, 2 * (size_t)count);
    free_ptr((void **)&items);
    return attr;
}

void onnx_set_result_ranges(Op *op, const ValueRange *ranges)
{
    op_set_attr(op, ONNX_ATTR_RANGE, ranges_attr(op->ctx, ranges, op->result_count));
}

/* Sets an attribute of each argument; where a value is NULL, it is removed. */
static void set_arg_attrs(Op *func, const char *key, const Attr *const *values)
{
    uint32_t count = func_type(func)->u.function.input_count;
    const Ident *name = ident_get_c(func->ctx, key);
    const Attr **attrs = xcalloc(count, sizeof *attrs);
    for (uint32_t i = 0; i < count; i++) {
        const Attr *old = func_arg_attrs(func, i);
        attrs[i] = attr_dict_set(old ? old : attr_dict(func->ctx, NULL, 0), name, values[i]);
    }
    op_set_attr(func, "arg_attrs", attr_array(func->ctx, attrs, count));
    free_ptr((void **)&attrs);
}

void onnx_set_arg_width(Op *func, uint32_t index, int64_t bits)
{
    uint32_t count = func_type(func)->u.function.input_count;
    const Attr **values = xcalloc(count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        const Attr *old = func_arg_attrs(func, i);
        values[i] = i == index ? attr_i64(func->ctx, bits)
                    : old      ? attr_dict_get_c(old, ONNX_ATTR_WIDTH)
                               : NULL;
    }
    set_arg_attrs(func, ONNX_ATTR_WIDTH, values);
    free_ptr((void **)&values);
}

void onnx_set_arg_ranges(Op *func, const ValueRange *ranges)
{
    uint32_t count = func_type(func)->u.function.input_count;
    const Attr **values = xcalloc(count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) values[i] = ranges_attr(func->ctx, &ranges[i], 1);
    set_arg_attrs(func, ONNX_ATTR_RANGE, values);
    free_ptr((void **)&values);
}

void onnx_clear_ranges(Op *func)
{
    const Attr **none = xcalloc(func_type(func)->u.function.input_count, sizeof *none);
    if (op_attr(func, "arg_attrs")) {
        set_arg_attrs(func, ONNX_ATTR_RANGE, none);
        set_arg_attrs(func, ONNX_ATTR_WIDTH, none);
    }
    free_ptr((void **)&none);
    FOR_EACH_BLOCK(block, op_region(func, 0)) {
        FOR_EACH_OP(op, block) {
            if (op_attr(op, ONNX_ATTR_RANGE)) op_set_attr(op, ONNX_ATTR_RANGE, NULL);
            if (op_attr(op, ONNX_ATTR_WIDTH)) op_set_attr(op, ONNX_ATTR_WIDTH, NULL);
        }
    }
}

/* Range number `index` of `count`. */
static bool read_range(const Attr *attr, uint32_t index, uint32_t count, ValueRange *out)
{
    if (!attr || attr->kind != ATTR_ARRAY || attr->u.array.count != 2 * (size_t)count) return false;
    const Attr *low = attr->u.array.items[2 * index], *high = attr->u.array.items[2 * index + 1];
    if (low->kind != ATTR_FLOAT || high->kind != ATTR_FLOAT) return false;
    *out = (ValueRange){attr_float_value(low), attr_float_value(high)};
    return isfinite(out->low) && isfinite(out->high) && out->low <= out->high;
}

bool onnx_range(const Op *func, const Value *value, ValueRange *out)
{
    const Op *op = value_def(value);
    if (op) return read_range(op_attr(op, ONNX_ATTR_RANGE), value->index, op->result_count, out);
    const Attr *attrs = func_arg_attrs(func, value->index);
    return attrs && read_range(attr_dict_get_c(attrs, ONNX_ATTR_RANGE), 0, 1, out);
}
