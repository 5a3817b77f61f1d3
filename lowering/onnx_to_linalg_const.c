/* Constants of the network as integers. A quantized constant is a DequantizeLinear of an integer
 * constant, as onnx-fold-constants leaves it; any other float constant is finite, so a multiple of
 * a power of two, and exact as such.
 * Tests: lit/lowering/onnx-to-linalg-constants.mir */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg.h"

bool is_fixed_constant(const Value *value)
{
    const Op *op = value_def(value);
    if (op && op->def == ONNX(DEQUANTIZE_LINEAR))
        return onnx_constant(op_operand(op, 0)) != NULL;
    return onnx_constant(value) != NULL;
}

static const Type *narrow_type(const Type *shape, int64_t low, int64_t high, bool is_unsigned)
{
    uint32_t width = signed_width(low, high);
    if (is_unsigned && width > 2)
        width--; /* no sign bit */
    return type_with_elem(shape, type_i(shape->ctx, width));
}

void constant_narrow(FixedConstant *constant)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < constant->count; i++) {
        low = constant->values[i] < low ? constant->values[i] : low;
        high = constant->values[i] > high ? constant->values[i] : high;
    }
    constant->is_unsigned &= low >= 0;
    constant->type = narrow_type(constant->type, low, high, constant->is_unsigned);
}

/* --- quantized ----------------------------------------------------------------------------- */

static bool scale_exponents(Lowering *lw, const Attr *scales, int *out)
{
    for (int64_t i = 0; i < dense_count(scales); i++) {
        double scale = dense_number(scales, i);
        if (!exact_log2(scale, &out[i]))
            return lower_bad_scale(lw, scale);
    }
    return true;
}

/* The dimension the scales go along. */
static int scale_axis(const Op *dequantize, const Type *type, int64_t scale_count)
{
    if (scale_count == 1)
        return -1;
    const Attr *attr = op_attr(dequantize, "axis");
    int64_t axis = attr ? attr_int_value(attr) : 1;
    return (int)(axis < 0 ? axis + type->u.shaped.rank : axis);
}

/* Elements that follow each other under one index of the axis. */
static int64_t axis_stride(const FixedConstant *constant)
{
    int64_t stride = 1;
    for (uint32_t i = (uint32_t)constant->axis + 1; i < constant->type->u.shaped.rank; i++)
        stride *= constant->type->u.shaped.dims[i];
    return stride;
}

/* zeros: one, or one per index of the axis. */
static bool subtract_zero_points(Lowering *lw, const Attr *zeros, FixedConstant *constant)
{
    int64_t zero_count = dense_count(zeros);
    int64_t stride = constant->axis < 0 ? constant->count : axis_stride(constant);
    for (int64_t i = 0; i < constant->count; i++) {
        int64_t zero = dense_i64(zeros, i / stride % zero_count);
        if (!add_i64(constant->values[i], -zero, &constant->values[i]))
            return lower_too_wide(lw);
    }
    constant->is_unsigned = false;
    constant_narrow(constant);
    return true;
}

static bool from_dequantize(Lowering *lw, const Op *dequantize, FixedConstant *out)
{
    const Attr *values = onnx_constant(op_operand(dequantize, 0));
    const Attr *scales = onnx_constant(op_operand(dequantize, 1));
    bool has_zeros = onnx_operand(dequantize, 2) != NULL;
    const Attr *zeros = has_zeros ? onnx_constant(op_operand(dequantize, 2)) : NULL;
    if (!values || !scales || (has_zeros && !zeros))
        return onnx_error(lw->node, "has a scale or zero point that is no constant");
    const Type *elem = type_elem(values->type);
    if (onnx_int(dequantize, "block_size", 0) != 0 || !type_is_integer(elem))
        return onnx_error(lw->node, "has a constant with a scale per block or of small floats, "
                          "which is not supported");
    if (type_width(elem) > 62)
        return lower_too_wide(lw);
    int64_t scale_count = dense_count(scales);
    out->count = dense_count(values);
    out->values = ARENA_ARRAY(&lw->pass->scratch, int64_t, out->count);
    for (int64_t i = 0; i < out->count; i++)
        out->values[i] = dense_i64(values, i);
    out->is_unsigned = elem->u.integer.sign == UNSIGNED;
    out->type = type_with_elem(values->type, type_i(lw->ctx, type_width(elem)));
    out->axis = scale_axis(dequantize, values->type, scale_count);
    out->exponents = ARENA_ARRAY(&lw->pass->scratch, int, scale_count);
    if (!scale_exponents(lw, scales, out->exponents) ||
        (zeros && !subtract_zero_points(lw, zeros, out)))
        return false;
    if (scales->u.dense.is_splat)
        out->axis = -1;
    return true;
}

/* --- any other ----------------------------------------------------------------------------- */

enum { NO_EXPONENT = 4096 };

/* Largest power of two that divides all elements; false when one is not finite. */
static bool common_exponent(Lowering *lw, const Attr *values, int *out)
{
    *out = NO_EXPONENT;
    for (int64_t i = 0; i < dense_count(values); i++) {
        double x = dense_number(values, i);
        int64_t mantissa;
        int exponent;
        if (x - x != 0)
            return onnx_error(lw->node, "has a constant that is not finite");
        split_float(x, &mantissa, &exponent);
        if (mantissa != 0 && exponent < *out)
            *out = exponent;
    }
    if (*out == NO_EXPONENT)
        *out = 0;
    return true;
}

static bool from_floats(Lowering *lw, const Attr *values, FixedConstant *out)
{
    out->axis = -1;
    out->exponents = ARENA_ARRAY(&lw->pass->scratch, int, 1);
    if (!common_exponent(lw, values, out->exponents))
        return false;
    out->count = dense_count(values);
    out->values = ARENA_ARRAY(&lw->pass->scratch, int64_t, out->count);
    for (int64_t i = 0; i < out->count; i++) {
        int64_t mantissa;
        int exponent;
        split_float(dense_number(values, i), &mantissa, &exponent);
        if (!shift_i64(mantissa, exponent - out->exponents[0], &out->values[i]))
            return onnx_error(lw->node, "has a constant that no Quant node quantizes, with values "
                              "too far apart for 64-bit integers");
    }
    out->type = values->type;
    constant_narrow(out);
    return true;
}

bool lower_constant(Lowering *lw, uint32_t index, FixedConstant *out)
{
    Value *value = op_operand(lw->node, index);
    const Op *op = value_def(value);
    *out = (FixedConstant){0};
    if (op && op->def == ONNX(DEQUANTIZE_LINEAR))
        return from_dequantize(lw, op, out);
    const Attr *values = onnx_constant(value);
    if (values && type_is_float(type_elem(values->type)))
        return from_floats(lw, values, out);
    return onnx_error(lw->node, "needs a constant as '%s'", lw->node->def->operands[index].name);
}

/* --- use ----------------------------------------------------------------------------------- */

bool constant_align(Lowering *lw, FixedConstant *constant)
{
    if (constant->axis < 0)
        return true;
    int64_t channels = constant->type->u.shaped.dims[constant->axis];
    int64_t stride = axis_stride(constant);
    int least = constant->exponents[0];
    for (int64_t i = 1; i < channels; i++)
        least = constant->exponents[i] < least ? constant->exponents[i] : least;
    for (int64_t i = 0; i < constant->count; i++) {
        int shift = constant->exponents[i / stride % channels] - least;
        if (!shift_i64(constant->values[i], shift, &constant->values[i]))
            return lower_too_wide(lw);
    }
    constant->axis = -1;
    constant->exponents[0] = least;
    constant_narrow(constant);
    return true;
}

Value *constant_build(Lowering *lw, const FixedConstant *constant, const int64_t *dims,
                      uint32_t rank)
{
    const Type *type = type_tensor(type_elem(constant->type), dims, rank, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, constant->values, (size_t)constant->count));
}
