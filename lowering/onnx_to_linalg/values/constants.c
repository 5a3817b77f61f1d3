/* Constants of the network as integers. A quantized constant is a DequantizeLinear of an integer
 * constant, as onnx-fold-constants leaves it. Any other float constant is finite, so its elements
 * are multiples of one number; it counts as integers if the multiples are small.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-constants.mir */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/values/values.h"

static const Type *narrow_type(const Type *shape, int64_t low, int64_t high, bool is_unsigned)
{
    uint32_t width = fixed_signed_width(low, high);
    if (is_unsigned && width > 2) width--; /* no sign bit */
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

static bool split_scales(const Attr *scales, FixedConstant *out)
{
    for (int64_t i = 0; i < dense_count(scales); i++) {
        double scale = onnx_dense_number(scales, i);
        if (!(scale > 0.0) || scale - scale != 0.0) return false;
        fixed_split_scale(scale, &out->units[i], &out->exponents[i]);
    }
    return true;
}

/* The dimension the scales go along. */
static int scale_axis(const Op *dequantize, const Type *type, int64_t scale_count)
{
    if (scale_count == 1) return -1;
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
static bool subtract_zero_points(const Attr *zeros, FixedConstant *constant)
{
    int64_t zero_count = dense_count(zeros);
    int64_t stride = constant->axis < 0 ? constant->count : axis_stride(constant);
    bool is_zero = zeros->kind == ATTR_DENSE && zeros->u.dense.is_splat && dense_i64(zeros, 0) == 0;
    for (int64_t i = 0; i < constant->count && !is_zero; i++) {
        int64_t zero = dense_i64(zeros, i / stride % zero_count);
        if (!i64_add(constant->values[i], -zero, &constant->values[i])) return false;
    }
    constant->is_unsigned = false;
    constant_narrow(constant);
    return true;
}

static bool from_dequantize(OnnxLowering *lw, const Op *dequantize, FixedConstant *out)
{
    const Attr *values = onnx_constant(op_operand(dequantize, 0));
    const Attr *scales = onnx_constant(op_operand(dequantize, 1));
    bool has_zeros = onnx_operand(dequantize, 2) != NULL;
    const Attr *zeros = has_zeros ? onnx_constant(op_operand(dequantize, 2)) : NULL;
    if (!values || !scales || (has_zeros && !zeros)) return false;
    const Type *elem = type_elem(values->type);
    bool has_blocks = onnx_int(dequantize, "block_size", 0) != 0;
    if (!type_is_integer(elem) || type_width(elem) > 62 || has_blocks) return false;
    int64_t scale_count = dense_count(scales);
    out->count = dense_count(values);
    out->values = ARENA_ARRAY(&lw->pass->scratch, int64_t, out->count);
    if (out->count > 0) dense_i64_row(values, 0, (size_t)out->count, out->values);
    out->is_unsigned = elem->u.integer.sign == UNSIGNED;
    out->type = type_with_elem(values->type, type_i(lw->ctx, type_width(elem)));
    out->axis = scale_axis(dequantize, values->type, scale_count);
    out->exponents = ARENA_ARRAY(&lw->pass->scratch, int, scale_count);
    out->units = ARENA_ARRAY(&lw->pass->scratch, double, scale_count);
    if (!split_scales(scales, out) || (zeros && !subtract_zero_points(zeros, out))) return false;
    if (scales->u.dense.is_splat) out->axis = -1;
    return true;
}

enum { NO_EXPONENT = 4096, MAX_BITS = 16 };

/* Largest power of two that divides all elements; false when one is not finite. */
static bool common_exponent(const Array *values, int *out)
{
    *out = NO_EXPONENT;
    for (int64_t i = 0; i < values->count; i++) {
        double x = array_get_f64(values, i);
        int64_t mantissa;
        int exponent;
        if (x - x != 0) return false;
        onnx_split_float(x, &mantissa, &exponent);
        if (mantissa != 0 && exponent < *out) *out = exponent;
    }
    if (*out == NO_EXPONENT) *out = 0;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static bool is_narrow(const FixedConstant *constant)
{
    return type_width(type_elem(constant->type)) <= MAX_BITS;
}

/* Takes a common factor out of the values. */
static void divide_values(FixedConstant *out)
{
    int64_t divisor = 0;
    for (int64_t i = 0; i < out->count; i++) divisor = common_divisor(divisor, out->values[i]);
    if (divisor <= 1) return;
    for (int64_t i = 0; i < out->count; i++) out->values[i] /= divisor;
    int exponent;
    fixed_split_scale((double)divisor, &out->units[0], &exponent);
    out->exponents[0] += exponent;
    constant_narrow(out);
}

static bool from_floats(OnnxLowering *lw, const Array *values, FixedConstant *out)
{
    out->axis = -1;
    out->exponents = ARENA_ARRAY(&lw->pass->scratch, int, 1);
    out->units = ARENA_ARRAY(&lw->pass->scratch, double, 1);
    out->units[0] = 1.0;
    if (!common_exponent(values, out->exponents)) return false;
    out->count = values->count;
    out->values = ARENA_ARRAY(&lw->pass->scratch, int64_t, out->count);
    for (int64_t i = 0; i < out->count; i++) {
        int64_t mantissa;
        int exponent;
        onnx_split_float(array_get_f64(values, i), &mantissa, &exponent);
        if (!fixed_shift_i64(mantissa, exponent - out->exponents[0], &out->values[i])) return false;
    }
    out->type = values->type;
    constant_narrow(out);
    if (!is_narrow(out)) divide_values(out);
    return is_narrow(out);
}

bool lower_constant(OnnxLowering *lw, uint32_t index, FixedConstant *out)
{
    Value *value = op_operand(lw->node, index);
    const Op *op = value_def(value);
    *out = (FixedConstant){0};
    if (op && op->def == ONNX(DEQUANTIZE_LINEAR)) return from_dequantize(lw, op, out);
    const Array *array = lower_array(lw, value);
    return array && array_is_float(array) && from_floats(lw, array, out);
}

bool constant_has_one_unit(const FixedConstant *constant)
{
    int64_t channels = constant->axis < 0 ? 1 : constant->type->u.shaped.dims[constant->axis];
    for (int64_t i = 1; i < channels; i++)
        if (constant->units[i] != constant->units[0]) return false;
    return true;
}

bool constant_align(FixedConstant *constant)
{
    if (constant->axis < 0) return true;
    if (!constant_has_one_unit(constant)) return false;
    int64_t channels = constant->type->u.shaped.dims[constant->axis];
    int64_t stride = axis_stride(constant);
    int least = constant->exponents[0];
    for (int64_t i = 1; i < channels; i++)
        least = constant->exponents[i] < least ? constant->exponents[i] : least;
    for (int64_t i = 0; i < constant->count; i++) {
        int shift = constant->exponents[i / stride % channels] - least;
        if (!fixed_shift_i64(constant->values[i], shift, &constant->values[i])) return false;
    }
    constant->axis = -1;
    constant->exponents[0] = least;
    constant_narrow(constant);
    return true;
}

Value *constant_build(OnnxLowering *lw, const FixedConstant *constant, const int64_t *dims,
                      uint32_t rank)
{
    const Type *type = type_tensor(type_elem(constant->type), dims, rank, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, constant->values, (size_t)constant->count));
}
