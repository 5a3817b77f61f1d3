/* Accumulation: sums of products on integers, with exact ranges, scales per channel, and biases.
 * The output channels of a convolution or matrix product go along one dimension. Power-of-two
 * scales, and biases that are multiples of a unit not much finer than the sum's, stay integers;
 * everything else becomes a deferred epilogue, which the next quantizer takes in.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-conv.mir,
 * lit/lowering/onnx_to_linalg/onnx-to-linalg-matmul.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "lowering/onnx_to_linalg/internal.h"

/* Scales of channels, and units of biases, further apart than this are not shifted together. */
enum { MAX_ALIGN_SHIFT = 16 };

const Type *onnx_lower_int_tensor(OnnxLowering *lw, const Type *shape, uint32_t width)
{
    return type_with_elem(shape, type_i(lw->ctx, width));
}

uint32_t onnx_lower_widest(uint32_t width, const Type *a, const Type *b)
{
    uint32_t wa = type_width(type_elem(a)), wb = type_width(type_elem(b));
    width = wa > width ? wa : width;
    return wb > width ? wb : width;
}

Value *onnx_lower_multiply_accumulate(Generic *generic, bool x_unsigned, bool w_unsigned)
{
    Builder *b = &generic->body;
    const Type *type = generic_arg(generic, 2)->type;
    bool is_float = type_is_float(type);
    Value *x = generic_arg(generic, 0), *w = generic_arg(generic, 1);
    if (!is_float) {
        x = lower_build_extend(b, x, type, x_unsigned);
        w = lower_build_extend(b, w, type, w_unsigned);
    }
    Value *product = build_binary(b, is_float ? ARITH(MULF) : ARITH(MULI), type, x, w);
    return build_binary(b, is_float ? ARITH(ADDF) : ARITH(ADDI), type, generic_arg(generic, 2),
                        product);
}

Sum sum_create(OnnxLowering *lw, const Fixed *x, int64_t channels, uint32_t axis)
{
    Sum sum = {.lw = lw, .channels = channels, .axis = axis};
    sum.fixed = (Fixed){.unit = 1.0, .divisor = x->divisor};
    sum.ranges = ARENA_ARRAY(&lw->pass->scratch, SumRange, channels);
    return sum;
}

/* Widens the range of all channels to hold another. */
static void include(Fixed *fixed, SumRange other)
{
    fixed->low = other.low < fixed->low ? other.low : fixed->low;
    fixed->high = other.high > fixed->high ? other.high : fixed->high;
}

/* The sum so far counts too, so 0 belongs to each term. */
bool sum_add_product(Sum *sum, const Fixed *x, int64_t channel, int64_t weight)
{
    SumRange *range = &sum->ranges[channel];
    int64_t a, b;
    if (!i64_mul(weight, x->low, &a) || !i64_mul(weight, x->high, &b))
        return lower_too_wide(sum->lw);
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    if (!i64_add(range->low, low < 0 ? low : 0, &range->low) ||
        !i64_add(range->high, high > 0 ? high : 0, &range->high))
        return lower_too_wide(sum->lw);
    include(&sum->fixed, *range);
    return true;
}

uint32_t sum_width(const Sum *sum, const Type *a, const Type *b)
{
    return onnx_lower_widest(fixed_signed_width(sum->fixed.low, sum->fixed.high), a, b);
}

/* A constant with one value per output channel, as narrow as they allow. */
static Value *channel_constant(OnnxLowering *lw, const int64_t *values, int64_t count)
{
    FixedConstant constant = {.type = type_tensor(type_i(lw->ctx, 64), &count, 1, NULL),
                              .values = (int64_t *)values,
                              .count = count,
                              .axis = -1};
    constant_narrow(&constant);
    return constant_build(lw, &constant, &count, 1);
}

/* Opens an element-wise kernel on the sum and a constant per channel whose results have the ranges
 * in sum->ranges; gives the sum's element in the new width. */
static void widen(Sum *sum, Value *operand, Generic *generic, Value **element, const Type **type)
{
    OnnxLowering *lw = sum->lw;
    Value *inputs[] = {sum->fixed.value, operand};
    sum->fixed.low = sum->ranges[0].low;
    sum->fixed.high = sum->ranges[0].high;
    for (int64_t i = 1; i < sum->channels; i++) include(&sum->fixed, sum->ranges[i]);
    uint32_t width = sum_width(sum, sum->fixed.value->type, operand->type);
    const Type *tensor = onnx_lower_int_tensor(lw, sum->fixed.value->type, width);
    generic_along(lw, generic, inputs, 2, sum->axis);
    generic_open(lw, generic, lower_build_empty(lw, tensor));
    *type = type_elem(tensor);
    *element =
        lower_build_extend(&generic->body, generic_arg(generic, 0), *type, sum->fixed.is_unsigned);
    sum->fixed.is_unsigned = false;
}

/* A sum that is always 0 has any unit; shifting it could exceed the width. */
static bool is_zero_range(SumRange range)
{
    return range.low == 0 && range.high == 0;
}

static int spread_of(const int *exponents, int64_t count, int *least)
{
    int most = exponents[0];
    *least = exponents[0];
    for (int64_t i = 1; i < count; i++) {
        *least = exponents[i] < *least ? exponents[i] : *least;
        most = exponents[i] > most ? exponents[i] : most;
    }
    return most - *least;
}

/* sum << shift[channel], which makes one exponent of many. */
static bool align_channels(Sum *sum, const int *exponents, int least)
{
    int64_t *shifts = ARENA_ARRAY(&sum->lw->pass->scratch, int64_t, sum->channels);
    for (int64_t i = 0; i < sum->channels; i++) {
        SumRange *range = &sum->ranges[i];
        shifts[i] = is_zero_range(*range) ? 0 : exponents[i] - least;
        if (!fixed_shift_i64(range->low, shifts[i], &range->low) ||
            !fixed_shift_i64(range->high, shifts[i], &range->high))
            return lower_too_wide(sum->lw);
    }
    Generic generic;
    Value *element, *operand = channel_constant(sum->lw, shifts, sum->channels);
    const Type *type;
    widen(sum, operand, &generic, &element, &type);
    Value *shift = lower_build_extend(&generic.body, generic_arg(&generic, 1), type, false);
    sum->fixed.value =
        generic_close(&generic, build_binary(&generic.body, ARITH(SHLI), type, element, shift));
    return true;
}

bool sum_set_scale(Sum *sum, const Fixed *x, const FixedConstant *weight)
{
    int least = weight->exponents[0];
    int64_t count = weight->axis < 0 ? 1 : sum->channels;
    int spread = spread_of(weight->exponents, count, &least);
    bool one_unit = constant_has_one_unit(weight);
    sum->fixed.unit = x->unit;
    sum->fixed.exponent = x->exponent + least;
    if (one_unit) fixed_scale_by(&sum->fixed, weight->units[0]);
    if (one_unit && spread == 0) return true;
    if (one_unit && spread <= MAX_ALIGN_SHIFT) return align_channels(sum, weight->exponents, least);
    double *factors = ARENA_ARRAY(&sum->lw->pass->scratch, double, count);
    for (int64_t i = 0; i < count; i++)
        factors[i] = ldexp(one_unit ? 1.0 : weight->units[i], weight->exponents[i] - least);
    return epilogue_affine(sum->lw, &sum->fixed, (int)sum->axis, factors, NULL);
}

bool onnx_lower_scale_channels(OnnxLowering *lw, Fixed *x, uint32_t axis, int64_t channels,
                               const int *exponents, bool *done)
{
    Sum sum = sum_create(lw, x, channels, axis);
    int least;
    *done = spread_of(exponents, channels, &least) <= MAX_ALIGN_SHIFT;
    if (!*done) return true;
    sum.fixed = *x;
    for (int64_t i = 0; i < channels; i++) sum.ranges[i] = (SumRange){x->low, x->high};
    if (!align_channels(&sum, exponents, least)) return false;
    *x = sum.fixed;
    x->exponent += least;
    return true;
}

/* Coarsest unit, as an exponent, that all values are multiples of. */
static int coarsest_unit(const FixedConstant *constant)
{
    int common = 62;
    for (int64_t i = 0; i < constant->count; i++) {
        int zeros = 0;
        for (int64_t v = constant->values[i]; v != 0 && v % 2 == 0; v /= 2) zeros++;
        if (constant->values[i] != 0 && zeros < common) common = zeros;
    }
    return constant->exponents[0] + common;
}

/* The bias in units of 2^exponent / divisor, of which all its values are multiples. */
static bool bias_values(Sum *sum, FixedConstant *bias, int exponent)
{
    int down = exponent - bias->exponents[0];
    for (int64_t i = 0; i < bias->count; i++) {
        int64_t *value = &bias->values[i];
        if (down >= 0)
            *value /= INT64_C(1) << down; /* exact; down is at most the trailing zeros */
        else if (!fixed_shift_i64(*value, -down, value))
            return lower_too_wide(sum->lw);
        if (!i64_mul(*value, sum->fixed.divisor, value)) return lower_too_wide(sum->lw);
    }
    return true;
}

/* (sum << shift) + bias[channel] */
static bool add_integers(Sum *sum, FixedConstant *bias, int exponent)
{
    OnnxLowering *lw = sum->lw;
    if (!bias_values(sum, bias, exponent)) return false;
    bool is_zero_sum = is_zero_range((SumRange){sum->fixed.low, sum->fixed.high});
    int shift = is_zero_sum ? 0 : sum->fixed.exponent - exponent;
    int64_t *values = ARENA_ARRAY(&lw->pass->scratch, int64_t, sum->channels);
    for (int64_t i = 0; i < sum->channels; i++) {
        SumRange *range = &sum->ranges[i];
        values[i] = bias->values[bias->count == 1 ? 0 : i];
        if (!fixed_shift_i64(range->low, shift, &range->low) ||
            !fixed_shift_i64(range->high, shift, &range->high) ||
            !i64_add(range->low, values[i], &range->low) ||
            !i64_add(range->high, values[i], &range->high))
            return lower_too_wide(lw);
    }
    Generic generic;
    Value *element, *operand = channel_constant(lw, values, sum->channels);
    const Type *type;
    widen(sum, operand, &generic, &element, &type);
    Builder *b = &generic.body;
    if (shift > 0)
        element = build_binary(b, ARITH(SHLI), type, element, arith_constant_int(b, type, shift));
    Value *addend = lower_build_extend(b, generic_arg(&generic, 1), type, false);
    sum->fixed.value = generic_close(&generic, build_binary(b, ARITH(ADDI), type, element, addend));
    sum->fixed.exponent = exponent;
    return true;
}

/* Whether the bias is added as integers; then *exponent is the unit of the result. */
static bool stays_integer(Sum *sum, uint32_t index, double beta, FixedConstant *bias, int *exponent)
{
    int shift;
    if (sum->fixed.epilogue || sum->fixed.unit != 1.0 || !onnx_exact_log2(beta, &shift))
        return false;
    if (!lower_constant(sum->lw, index, bias) || !constant_align(bias) || bias->units[0] != 1.0)
        return false;
    bias->exponents[0] += shift;
    *exponent = coarsest_unit(bias);
    if (*exponent > sum->fixed.exponent) *exponent = sum->fixed.exponent;
    bool is_zero_sum = is_zero_range((SumRange){sum->fixed.low, sum->fixed.high});
    return is_zero_sum || sum->fixed.exponent - *exponent <= MAX_ALIGN_SHIFT;
}

static bool is_zero(const Array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        if (array_get_f64(array, i) != 0.0) return false;
    return true;
}

bool onnx_lower_is_channel_constant(OnnxLowering *lw, uint32_t index, int64_t channels,
                                    uint32_t rank, uint32_t axis)
{
    const Array *array = lower_array(lw, op_operand(lw->node, index));
    if (!array) return false;
    const Type *type = array->type;
    uint32_t own = type->u.shaped.rank, from_right = rank - axis;
    if (array->count == 1) return own <= rank;
    return array->count == channels && own <= rank && own >= from_right &&
           type->u.shaped.dims[own - from_right] == channels;
}

bool sum_add_bias(Sum *sum, uint32_t index, double beta)
{
    const Array *array = lower_array(sum->lw, op_operand(sum->lw->node, index));
    FixedConstant bias;
    int exponent;
    if (is_zero(array) || beta == 0.0) return true;
    if (stays_integer(sum, index, beta, &bias, &exponent))
        return add_integers(sum, &bias, exponent);
    double *biases = ARENA_ARRAY(&sum->lw->pass->scratch, double, sum->channels);
    for (int64_t i = 0; i < sum->channels; i++)
        biases[i] = beta * array_get_f64(array, array->count == 1 ? 0 : i);
    return epilogue_affine(sum->lw, &sum->fixed, (int)sum->axis, NULL, biases);
}
