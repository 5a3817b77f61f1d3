/* Quantizer nodes: what their integers mean, and the ways to compute them. In the order of
 * preference these are shifts where the units are equal, exact fixed-point arithmetic or
 * thresholds, and floating point.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-shift.mir,
 * lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "lowering/onnx_to_linalg/requant/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

static bool not_supported(OnnxLowering *lw, const char *why)
{
    strbuf_clear(&lw->why);
    strbuf_add_c(&lw->why, why);
    return false;
}

/* A constant that has the same value everywhere. */
static bool uniform(OnnxLowering *lw, uint32_t index, double *out)
{
    const Array *array = lower_array(lw, op_operand(lw->node, index));
    if (!array || array->count == 0)
        return not_supported(lw, "has a scale or zero point that is computed for each frame: "
                                 "dynamic quantization is not supported");
    *out = array_get_f64(array, 0);
    for (int64_t i = 1; i < array->count; i++)
        if (array_get_f64(array, i) != *out)
            return not_supported(lw, "has a scale per channel, which is supported for constants "
                                     "only");
    return true;
}

static bool set_scale(OnnxLowering *lw, double scale, QuantizerSpec *out)
{
    if (!(scale > 0.0) || isinf(scale))
        return not_supported(lw, "has a scale that is not positive");
    out->scale = scale;
    out->real.divisor = 1;
    fixed_split_scale(scale, &out->real.unit, &out->real.exponent);
    return true;
}

static bool quant_spec(OnnxLowering *lw, QuantizerSpec *out)
{
    double scale;
    strbuf_clear(&lw->why);
    if (!onnx_quantizer(lw->node, &out->quant, &lw->why)) return false;
    if (!onnx_dense_uniform(out->quant.scales, &scale))
        return not_supported(lw, "has a scale per channel, which is supported for constants only");
    out->has_grid = true;
    out->real.is_unsigned = out->quant.zero == 0 && !out->quant.is_signed;
    return set_scale(lw, scale, out);
}

static bool bipolar_spec(OnnxLowering *lw, QuantizerSpec *out)
{
    double scale;
    out->quant = (Quantizer){.is_bipolar = true, .is_signed = true, .bits = 1};
    out->quant.low = -1;
    out->quant.high = 1;
    out->has_grid = true;
    return uniform(lw, 1, &scale) && set_scale(lw, scale, out);
}

/* Rounds before it adds the zero point, so its integers are those of a zero point of 0. */
static bool linear_spec(OnnxLowering *lw, QuantizerSpec *out)
{
    const Type *elem = type_elem(op_result(lw->node, 0)->type);
    double scale, zero = 0.0;
    if (!uniform(lw, 1, &scale) || (onnx_operand(lw->node, 2) && !uniform(lw, 2, &zero)))
        return false;
    if (!type_is_integer(elem) || type_width(elem) > 32)
        return not_supported(lw, "quantizes to a type that is not supported");
    uint32_t width = type_width(elem);
    bool is_unsigned = lower_is_unsigned_elem(elem);
    int64_t low = is_unsigned ? 0 : -(INT64_C(1) << (width - 1));
    int64_t high = low + (INT64_C(1) << width) - 1;
    out->zero = (int64_t)zero;
    out->quant = (Quantizer){.is_signed = !is_unsigned || zero != 0.0,
                             .rounding = ROUND_HALF_EVEN,
                             .low = low - out->zero,
                             .high = high - out->zero};
    out->quant.bits = zero == 0.0 ? width : 0;
    out->has_grid = true;
    out->real.is_unsigned = is_unsigned && zero == 0.0;
    return set_scale(lw, scale, out);
}

/* scale * count + bias lies on a grid of the scale, or of half of it; the attributes are rounded to
 * f32. */
static bool threshold_spec(OnnxLowering *lw, QuantizerSpec *out)
{
    double scale = onnx_float(lw->node, "out_scale", 1.0);
    double bias = onnx_float(lw->node, "out_bias", 0.0),
           steps = nearbyint(2.0 * bias / scale) / 2.0;
    bool is_half = steps != floor(steps);
    if (!(fabs(steps) < 0x1p52))
        return not_supported(lw, "has an out_bias of 2^52 times its out_scale or more");
    if ((float)(steps * scale) != (float)bias)
        return not_supported(lw, "has an out_bias that is no multiple of half its out_scale");
    out->real.is_unsigned = steps >= 0.0;
    return set_scale(lw, is_half ? scale / 2.0 : scale, out);
}

static bool trunc_spec(OnnxLowering *lw, QuantizerSpec *out)
{
    double scale, bits;
    bool is_v1 = !onnx_operand(lw->node, 4);
    return uniform(lw, is_v1 ? 1 : 4, &scale) && uniform(lw, 3, &bits) && set_scale(lw, scale, out);
}

bool quantizer_spec_of(OnnxLowering *lw, QuantizerSpec *out)
{
    *out = (QuantizerSpec){.real = {.unit = 1.0, .divisor = 1}};
    switch (lw->node->def - onnx_ops) {
    case ONNX_QUANT:
    case ONNX_INT_QUANT: return quant_spec(lw, out);
    case ONNX_BIPOLAR_QUANT: return bipolar_spec(lw, out);
    case ONNX_QUANTIZE_LINEAR: return linear_spec(lw, out);
    case ONNX_MULTI_THRESHOLD: return threshold_spec(lw, out);
    default: return trunc_spec(lw, out);
    }
}

/* Integers of the same grid and within the range stay as they are. */
static bool is_on_grid(const Fixed *v, const QuantizerSpec *spec)
{
    const Quantizer *quant = &spec->quant;
    return spec->has_grid && !quant->is_bipolar && !v->epilogue && v->unit == spec->real.unit &&
           v->exponent == spec->real.exponent && v->divisor == 1 && v->zero == 0 &&
           v->low >= quant->low - quant->zero && v->high <= quant->high - quant->zero;
}

static bool build_in_form(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                          bool *exact)
{
    *exact = true;
    if (is_on_grid(v, spec)) {
        *out = *v;
        return true;
    }
    if (spec->quant.is_bipolar && !v->epilogue) {
        requant_build_bipolar(lw, v, spec, out);
        return true;
    }
    if (spec->has_grid && !spec->quant.is_bipolar && !v->epilogue && v->unit == spec->real.unit)
        return requant_build_shift(lw, v, spec, out);
    return requant_build(lw, v, spec, out, exact);
}

bool quantizer_build(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                     bool *exact)
{
    const EpilogueOp *last = v->epilogue ? v->epilogue->last : NULL;
    lw->is_monotone = false;
    if (!build_in_form(lw, v, spec, out, exact)) return false;
    const RequantOrigin origin = {lw->node, last, NULL, lw->is_monotone ? v : NULL};
    if (*exact && out->value != v->value) requant_describe(lw, &origin, spec, out);
    return true;
}

static bool holds_number(const Type *real, double number)
{
    return array_round(real, number) == number;
}

/* Whether the grid's arithmetic is exact in a type of floats: it has the bounds, and for ties that
 * go down, which are found by the number less a half, that number. */
static bool holds_grid(const Type *real, const Quantizer *quant)
{
    double half = quant->rounding == ROUND_HALF_DOWN ? 0.5 : 0.0;
    double low = (double)quant->low, high = (double)quant->high;
    return quant->zero == 0 && holds_number(real, low) && holds_number(real, high) &&
           holds_number(real, fabs(low) - half) && holds_number(real, fabs(high) - half);
}

/* The quotient is of x's type, as in the network; what follows is exact. */
static Value *grid_integer(Builder *b, const QuantizerSpec *spec, Value *x, const Type *elem)
{
    const Quantizer *quant = &spec->quant;
    const Type *real = x->type, *f64 = type_float(b->ctx, TYPE_F64);
    int exponent;
    if (onnx_exact_log2(spec->scale, &exponent) && holds_number(real, 1.0 / spec->scale))
        x = build_binary(b, ARITH(MULF), real, x, lower_build_float(b, real, 1.0 / spec->scale));
    else
        x = build_binary(b, ARITH(DIVF), real, x, lower_build_float(b, real, spec->scale));
    if (real != f64 && !holds_grid(real, quant)) {
        real = f64;
        x = build_unary(b, ARITH(EXTF), f64, x);
    }
    if (quant->zero != 0)
        x = build_binary(b, ARITH(ADDF), real, x, lower_build_float(b, real, (double)quant->zero));
    x = lower_build_rounding(b, quant->rounding, x);
    x = build_binary(b, ARITH(MAXIMUMF), real, x, lower_build_float(b, real, (double)quant->low));
    x = build_binary(b, ARITH(MINIMUMF), real, x, lower_build_float(b, real, (double)quant->high));
    if (quant->zero != 0)
        x = build_binary(b, ARITH(SUBF), real, x, lower_build_float(b, real, (double)quant->zero));
    return build_unary(b, spec->real.is_unsigned ? ARITH(FPTOUI) : ARITH(FPTOSI), elem, x);
}

static Value *sign_integer(Builder *b, Value *x, const Type *elem)
{
    Value *is_positive = arith_cmpf(b, CMPF_OGE, x, lower_build_float(b, x->type, 0.0));
    Value *one = arith_constant_int(b, elem, 1), *minus = arith_constant_int(b, elem, -1);
    return arith_select(b, is_positive, one, minus);
}

/* The thresholds in the elements of x: a row per channel, or one for all. NULL: diagnosed. */
static Value *plain_thresholds(OnnxLowering *lw, const Type *elem, int64_t *count)
{
    const Array *given = lower_array(lw, op_operand(lw->node, 1));
    if (!given) {
        onnx_error(lw->node, "needs constant thresholds");
        return NULL;
    }
    const int64_t *dims = given->type->u.shaped.dims;
    uint32_t first = dims[0] == 1;
    *count = dims[1];
    Array *rows = array_new(type_tensor(elem, dims + first, 2 - first, NULL));
    for (int64_t i = 0; i < given->count; i++) array_set_f64(rows, i, array_get_f64(given, i));
    Value *value = arith_constant(&lw->b, array_to_attr(rows));
    array_unref(rows);
    return value;
}

/* A MultiThreshold of floats: counts the thresholds that are at or below x, from the integer of its
 * bias on. False: diagnosed. */
static bool count_thresholds(OnnxLowering *lw, Value *x, const QuantizerSpec *spec, Fixed *out)
{
    double scale = onnx_float(lw->node, "out_scale", 1.0);
    int64_t step = llround(scale / spec->scale), count;
    const Type *real = type_elem(x->type);
    uint32_t rank = x->type->u.shaped.rank, axis;
    Value *rows = type_is_float(real) ? plain_thresholds(lw, real, &count) : NULL;
    if (!rows && type_is_float(real)) return false;
    if (!rows || !onnx_multi_threshold_axis(lw->node, &axis))
        return onnx_error(lw->node, "has no arithmetic for operands of these types");
    *out = spec->real;
    out->low = llround(onnx_float(lw->node, "out_bias", 0.0) / spec->scale);
    out->high = out->low + step * count;
    out->is_unsigned = out->low >= 0;
    uint32_t width = fixed_signed_width(out->low, out->high);
    const Type *elem = type_i(lw->ctx, width - (out->is_unsigned && width > 2));
    const AffineExpr *index[] = {affine_dim(lw->ctx, axis), affine_dim(lw->ctx, rank)};
    bool is_common = rows->type->u.shaped.rank == 1;
    Generic g = {.loops = rank + 1, .inputs = 2, .input = {x, rows}};
    const AffineExpr *own[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) own[i] = affine_dim(lw->ctx, i);
    g.is_reduction[rank] = true;
    g.map[0] = g.map[2] = map_get(lw->ctx, rank + 1, 0, rank, own);
    g.map[1] = map_get(lw->ctx, rank + 1, 0, 2 - is_common, index + is_common);
    generic_open(lw, &g, lower_build_filled(lw, type_with_elem(x->type, elem), out->low));
    Builder *b = &g.body;
    Value *reached = arith_cmpf(b, CMPF_OGE, generic_arg(&g, 0), generic_arg(&g, 1));
    Value *rise =
        arith_select(b, reached, arith_constant_int(b, elem, step), arith_constant_int(b, elem, 0));
    out->value = generic_close(&g, build_binary(b, ARITH(ADDI), elem, generic_arg(&g, 2), rise));
    return true;
}

/* The same on floats; false: diagnosed. */
static bool quantize_plain(OnnxLowering *lw, Value *x, const QuantizerSpec *spec, Fixed *out)
{
    const Quantizer *quant = &spec->quant;
    if (lw->node->def == ONNX(MULTI_THRESHOLD)) return count_thresholds(lw, x, spec, out);
    if (!spec->has_grid)
        return onnx_error(lw->node, "quantizes a floating-point value, which is not supported");
    if (!type_is_float(type_elem(x->type)))
        return onnx_error(lw->node, "quantizes integers of %u bits, which are too many to try",
                          type_width(type_elem(x->type)));
    *out = spec->real;
    out->low = quant->is_bipolar ? -1 : quant->low - quant->zero;
    out->high = quant->is_bipolar ? 1 : quant->high - quant->zero;
    uint32_t width = fixed_signed_width(out->low, out->high);
    const Type *elem = type_i(lw->ctx, width - (out->is_unsigned && width > 2));
    Generic g;
    generic_elementwise(lw, &g, &x, 1);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->type, elem)));
    Value *arg = generic_arg(&g, 0);
    out->value = generic_close(&g, quant->is_bipolar ? sign_integer(&g.body, arg, elem)
                                                     : grid_integer(&g.body, spec, arg, elem));
    return true;
}

void quantizer_record(OnnxLowering *lw, const QuantizerSpec *spec, const Fixed *real)
{
    Fixed result = *real;
    if (lw->node->def == ONNX(QUANTIZE_LINEAR)) {
        result.unit = 1.0;
        result.exponent = 0;
        result.zero = spec->zero;
    }
    lower_result(lw, &result);
}

bool quantizer_lower(OnnxLowering *lw)
{
    QuantizerSpec spec;
    Fixed result;
    bool exact = false;
    if (!quantizer_spec_of(lw, &spec)) return onnx_error(lw->node, "%s", lw->why.data);
    const Fixed *v = lower_fixed(lw, 0);
    if (v && !quantizer_build(lw, v, &spec, &result, &exact)) return false;
    if (v && !exact) lower_warn_plain(lw, "the integers before it are too many to try");
    if (!exact) {
        Value *x = lower_plain(lw, 0);
        if (!x || !quantize_plain(lw, x, &spec, &result)) return false;
    }
    quantizer_record(lw, &spec, &result);
    return true;
}

/* The integers less another zero point than they were stored with. */
static Fixed shift_zero(OnnxLowering *lw, const Fixed *x, int64_t zero)
{
    Fixed result = *x;
    int64_t change = x->zero - zero;
    result.zero = 0;
    if (change == 0) return result;
    result.low += change;
    result.high += change;
    uint32_t width = fixed_signed_width(result.low, result.high);
    uint32_t own = type_width(type_elem(x->value->type)) + x->is_unsigned;
    const Type *elem = type_i(lw->ctx, width > own ? width : own);
    Generic g;
    generic_elementwise(lw, &g, &x->value, 1);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->value->type, elem)));
    Value *q = lower_build_extend(&g.body, generic_arg(&g, 0), elem, x->is_unsigned);
    result.value = generic_close(
        &g, build_binary(&g.body, ARITH(ADDI), elem, q, arith_constant_int(&g.body, elem, change)));
    result.is_unsigned = false;
    return result;
}

/* A type of floats in which integers of the type are exact with and without their zero point: the
 * result's where it holds the largest odd number, which takes the most bits. */
static const Type *centered_type(const Type *elem, bool is_unsigned, double zero,
                                 const Type *result)
{
    if (!type_is_integer(elem)) return result;
    double count = onnx_exact_pow2((int)type_width(elem));
    double low = is_unsigned ? 0.0 : -count / 2, high = low + count - 1.0;
    double most = fmax(fmax(-low, high), fmax(zero - low, high - zero));
    double odd = fmod(most, 2.0) == 0.0 ? most - 1.0 : most;
    return holds_number(result, odd) ? result : type_float(elem->ctx, TYPE_F64);
}

/* (x - zero_point) * scale on plain integers, or floats of 8 bits. */
static bool dequantize_plain(OnnxLowering *lw, double zero, double scale)
{
    Value *x = lower_plain(lw, 0);
    const Type *type = op_result(lw->node, 0)->type, *elem = type_elem(type);
    if (!x) return false;
    bool is_unsigned = lower_is_unsigned_elem(op_operand(lw->node, 0)->type);
    const Type *real = centered_type(type_elem(x->type), is_unsigned, zero, elem);
    Generic g;
    generic_elementwise(lw, &g, &x, 1);
    generic_open(lw, &g, lower_build_empty(lw, type));
    const OpDef *convert = type_is_float(type_elem(x->type)) ? ARITH(EXTF)
                           : is_unsigned                     ? ARITH(UITOFP)
                                                             : ARITH(SITOFP);
    Value *y = build_unary(&g.body, convert, real, generic_arg(&g, 0));
    if (zero != 0.0)
        y = build_binary(&g.body, ARITH(SUBF), real, y, lower_build_float(&g.body, real, zero));
    y = build_binary(&g.body, ARITH(MULF), real, y, lower_build_float(&g.body, real, scale));
    if (real != elem) y = build_unary(&g.body, ARITH(TRUNCF), elem, y);
    lower_plain_result(lw, 0, generic_close(&g, y));
    return true;
}

/* Reports why. A part of a node that was decomposed, as MatMulInteger is, is no node of the file. */
static bool refuse(OnnxLowering *lw)
{
    const Attr *own = op_attr(lw->node, ONNX_ATTR_NAME);
    FOR_EACH_USE(use, op_result(lw->node, 0)) {
        StrBuf name = {0};
        if (!own || op_attr(use->owner, ONNX_ATTR_NAME) != own) continue;
        strbuf_add_quoted(&name, own->u.string);
        diag_error(lw->ctx, lw->node->loc, "node %s: %s", name.data, lw->why.data);
        strbuf_free(&name);
        return false;
    }
    return onnx_error(lw->node, "%s", lw->why.data);
}

bool quantizer_lower_dequantize(OnnxLowering *lw)
{
    double scale, zero = 0.0;
    if (!uniform(lw, 1, &scale) || (onnx_operand(lw->node, 2) && !uniform(lw, 2, &zero)))
        return refuse(lw);
    if (!(scale > 0.0) || isinf(scale))
        return onnx_error(lw->node, "has a scale that is not positive");
    const Fixed *x = lower_fixed_bare(lw, 0);
    if (!x) return dequantize_plain(lw, zero, scale);
    Fixed result = shift_zero(lw, x, (int64_t)zero);
    fixed_split_scale(scale, &result.unit, &result.exponent);
    lower_result(lw, &result);
    return true;
}
