/* Evaluators of quantized onnx operators and of QONNX's quantizers.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/onnx/internal.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"

/* Bits of the integer nearest to x, which has no fraction. */
static int64_t saturate(double x, const Type *type)
{
    bool is_unsigned = type->kind == TYPE_INTEGER && type->u.integer.sign == UNSIGNED;
    uint32_t bits = type_width(type) - !is_unsigned; /* 1 to 64 */
    double low = is_unsigned ? 0.0 : -onnx_exact_pow2((int)bits);
    if (x >= onnx_exact_pow2((int)bits)) return (int64_t)(UINT64_MAX >> (64 - bits));
    return x < low ? (int64_t)low : is_unsigned ? (int64_t)(uint64_t)x : (int64_t)x;
}

/* A quotient rounded half to even, plus zero, saturated to the integer type. */
static int64_t quantize_linear(double quotient, int64_t zero, const Type *type)
{
    return isnan(quotient) ? zero : saturate(onnx_round_half_even(quotient) + (double)zero, type);
}

/* Scale and zero point of each element: one for all, one per index of `axis`, or one per block. */
typedef struct LinearParams {
    const Array *scale, *zero;
    int64_t inner, extent, block; /* along the axis */
    bool is_blocked;
} LinearParams;

static bool linear_params(const Eval *e, const Array *x, LinearParams *p)
{
    uint32_t axis = 0;
    const Array *quantized = e->op->def == ONNX(QUANTIZE_LINEAR) ? e->results[0] : x;
    if (array_is_float(quantized))
        return onnx_why(e->why, "quantized values of type '%s' are not evaluated",
                        type_str(e->op->ctx, quantized->elem));
    *p = (LinearParams){.scale = onnx_eval_input(e, 1),
                        .zero = onnx_eval_input(e, 2),
                        .inner = 1,
                        .extent = 1,
                        .block = onnx_int(e->op, "block_size", 0)};
    if (p->scale->count == 1) return true;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 1), onnx_array_rank(x), &axis)) return false;
    p->is_blocked = p->block > 0 || onnx_array_rank(p->scale) > 1;
    p->inner = onnx_dims_product(onnx_array_dims(x), axis + 1, onnx_array_rank(x));
    p->extent = onnx_array_dims(x)[axis];
    if (p->is_blocked && p->block == 0) p->block = p->extent / onnx_array_dims(p->scale)[axis];
    return true;
}

static int64_t param_index(const LinearParams *p, int64_t i)
{
    int64_t row = i / p->inner;
    if (!p->is_blocked) return row % p->extent;
    int64_t blocks = (p->extent - 1) / p->block + 1; /* the last one may be shorter */
    return (row / p->extent * blocks + row % p->extent / p->block) * p->inner + i % p->inner;
}

static int64_t zero_at(const Array *zero, int64_t index)
{
    return zero ? array_get_i64(zero, zero->count == 1 ? 0 : index) : 0;
}

bool onnx_eval_quantize(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    LinearParams p;
    if (!linear_params(e, x, &p)) return false;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t k = param_index(&p, i);
        double quotient = array_get_f64(x, i) / array_get_f64(p.scale, k);
        quotient = array_round(p.scale->elem, quotient);
        array_set_i64(e->results[0], i,
                      quantize_linear(quotient, zero_at(p.zero, k), e->results[0]->elem));
    }
    return true;
}

/* Of 64 bits each, too. */
static double steps_above(int64_t x, int64_t zero)
{
    int64_t steps;
    bool fits = zero != INT64_MIN && i64_add(x, -zero, &steps);
    return fits ? (double)steps : (double)x - (double)zero;
}

bool onnx_eval_dequantize(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    LinearParams p;
    if (!linear_params(e, x, &p)) return false;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t k = param_index(&p, i);
        double steps = steps_above(array_get_i64(x, i), zero_at(p.zero, k));
        array_set_f64(e->results[0], i, steps * array_get_f64(p.scale, k));
    }
    return true;
}

bool onnx_eval_dynamic_quantize(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    const Type *elem = e->results[0]->elem, *real = x->elem;
    double low = 0.0, high = 0.0;
    for (int64_t i = 0; i < x->count; i++) {
        double value = array_get_f64(x, i);
        low = value < low || isnan(value) ? value : low;
        high = value > high || isnan(value) ? value : high;
    }
    double scale = array_round(real, array_round(real, high - low) / 255.0);
    double quotient = scale > 0 ? array_round(real, -low / scale) : 0.0;
    int64_t zero = quantize_linear(quotient, 0, elem);
    array_set_f64(e->results[1], 0, scale);
    array_set_i64(e->results[2], 0, zero);
    for (int64_t i = 0; i < x->count; i++) {
        double steps = scale > 0 ? array_round(real, array_get_f64(x, i) / scale) : 0.0;
        array_set_i64(e->results[0], i, quantize_linear(steps, zero, elem));
    }
    return true;
}

/* Elements less their zero point. It may differ along a dimension whose stride is `inner`. */
static double *centered(const Array *x, const Array *zero, int64_t inner)
{
    double *out = onnx_array_doubles(x);
    for (int64_t i = 0; zero && i < x->count; i++)
        out[i] -= (double)zero_at(zero, i / inner % zero->count);
    return out;
}

static int64_t filter_size(const Array *w)
{
    return onnx_dims_product(onnx_array_dims(w), 1, onnx_array_rank(w));
}

bool onnx_eval_conv_integer(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *w = onnx_eval_input(e, 1);
    Array *y = e->results[0];
    double *inputs = centered(x, onnx_eval_input(e, 2), 1);
    double *weights = centered(w, onnx_eval_input(e, 3), filter_size(w));
    double *sums = xmalloc((size_t)y->count * sizeof *sums);
    bool done = onnx_conv_sums(e, inputs, weights, sums);
    for (int64_t i = 0; done && i < y->count; i++) array_set_i64(y, i, (int64_t)sums[i]);
    free(sums);
    free(weights);
    free(inputs);
    return done;
}

/* Zero point of the left operand: one per row if several. */
static int64_t row_size(const Array *a)
{
    return onnx_array_dims(a)[onnx_array_rank(a) - 1];
}

/* Sums of products of operands a and b less their zero points; the caller frees them. */
static double *centered_product(const Eval *e, uint32_t a, uint32_t a_zero, uint32_t b,
                                uint32_t b_zero)
{
    const Array *left = onnx_eval_input(e, a), *right = onnx_eval_input(e, b), *y = e->results[0];
    double *rows = centered(left, onnx_eval_input(e, a_zero), row_size(left));
    double *columns = centered(right, onnx_eval_input(e, b_zero), 1);
    double *sums = xmalloc((size_t)y->count * sizeof *sums);
    onnx_matmul_sums(rows, left, columns, right, y, sums);
    free(columns);
    free(rows);
    return sums;
}

bool onnx_eval_matmul_integer(const Eval *e)
{
    double *sums = centered_product(e, 0, 2, 1, 3);
    for (int64_t i = 0; i < e->results[0]->count; i++)
        array_set_i64(e->results[0], i, (int64_t)sums[i]);
    free(sums);
    return true;
}

/* y = round(sums * x_scale * w_scale / y_scale) + y_zero. The real sum and the quotient are rounded to
 * the scales' type as those of Conv and QuantizeLinear are, of which the operator is put together;
 * so ties are the same. The scales of rows (or filters) and columns may be lists; `row` and `column`
 * are their strides in y. */
static void requantize(const Eval *e, const double *sums, const Array *rows, const Array *columns,
                       int64_t row, int64_t column)
{
    const Array *scale = onnx_eval_input(e, 6), *zero = onnx_eval_input(e, 7);
    Array *y = e->results[0];
    for (int64_t i = 0; i < y->count; i++) {
        double real = sums[i] * (array_get_f64(rows, i / row % rows->count) *
                                 array_get_f64(columns, i / column % columns->count));
        double quotient = array_round(scale->elem, real) / array_get_f64(scale, 0);
        array_set_i64(
            y, i, quantize_linear(array_round(scale->elem, quotient), zero_at(zero, 0), y->elem));
    }
}

bool onnx_eval_qlinear_conv(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *w = onnx_eval_input(e, 3),
                *bias = onnx_eval_input(e, 8);
    Array *y = e->results[0];
    int64_t inner = onnx_dims_product(onnx_array_dims(y), 2, onnx_array_rank(y)),
            channels = onnx_array_dims(y)[1];
    double *inputs = centered(x, onnx_eval_input(e, 2), 1);
    double *weights = centered(w, onnx_eval_input(e, 5), filter_size(w));
    double *sums = xmalloc((size_t)y->count * sizeof *sums);
    bool done = onnx_conv_sums(e, inputs, weights, sums);
    for (int64_t i = 0; done && bias && i < y->count; i++)
        sums[i] += (double)array_get_i64(bias, i / inner % channels);
    if (done) requantize(e, sums, onnx_eval_input(e, 1), onnx_eval_input(e, 4), 1, inner);
    free(sums);
    free(weights);
    free(inputs);
    return done;
}

bool onnx_eval_qlinear_matmul(const Eval *e)
{
    double *sums = centered_product(e, 0, 2, 3, 5);
    bool has_columns = onnx_array_rank(onnx_eval_input(e, 3)) > 1;
    requantize(e, sums, onnx_eval_input(e, 1), onnx_eval_input(e, 4),
               has_columns ? row_size(e->results[0]) : 1, 1);
    free(sums);
    return true;
}

static Rounding rounding_mode(const Eval *e, Rounding fallback)
{
    const Attr *name = op_attr(e->op, "rounding_mode");
    Rounding mode;
    return name && onnx_rounding_parse(name->u.string, &mode) ? mode : fallback;
}

/* Range of integers of `bits`, as doubles. */
static void quant_range(const Eval *e, double bits, double *low, double *high)
{
    bool is_signed = onnx_int(e->op, "signed", 1) != 0;
    bool is_narrow = onnx_int(e->op, "narrow", 0) != 0;
    *low = is_signed ? -exp2(bits - 1.0) + is_narrow : 0.0;
    *high = is_signed ? exp2(bits - 1.0) - 1.0 : exp2(bits) - 1.0 - is_narrow;
}

static double clip(double x, double low, double high)
{
    return isnan(x) ? 0.0 : fmin(fmax(x, low), high);
}

/* To an integer, for any double. */
static double round_by(Rounding mode, double x)
{
    const double largest = 9007199254740992.0; /* from here on every double is an integer */
    return fabs(x) < largest ? (double)onnx_rounding_apply(mode, x) : x;
}

bool onnx_eval_quant(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *bits = onnx_eval_input(e, 3);
    Rounding mode = rounding_mode(e, ROUND_HALF_EVEN);
    bool is_signed = onnx_int(e->op, "signed", 1) != 0;
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(x), onnx_array_rank(x));
    for (uint32_t i = 1; i <= 3; i++)
        onnx_walk_broadcast(&walk, onnx_array_dims(onnx_eval_input(e, i)),
                            onnx_array_rank(onnx_eval_input(e, i)));
    double known = NAN, low = 0.0, high = 0.0; /* the width of the range */
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk)) {
        double value = array_get_f64(x, i);
        double scale = array_get_f64(onnx_eval_input(e, 1), walk.offset[0]);
        double zero = array_get_f64(onnx_eval_input(e, 2), walk.offset[1]);
        double width = array_get_f64(bits, walk.offset[2]);
        if (width != known) quant_range(e, width, &low, &high);
        known = width;
        double steps = array_round(e->results[0]->elem, value / scale) + zero;
        double q = round_by(mode, clip(steps, low, high)) - zero;
        if (is_signed && width == 1.0) q = value >= 0.0 ? 1.0 : -1.0;
        array_set_f64(e->results[0], i, q * scale);
    }
    return true;
}

bool onnx_eval_bipolar_quant(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(x), onnx_array_rank(x));
    onnx_walk_broadcast(&walk, onnx_array_dims(scale), onnx_array_rank(scale));
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk)) {
        double s = array_get_f64(scale, walk.offset[0]);
        array_set_f64(e->results[0], i, array_get_f64(x, i) >= 0.0 ? s : -s);
    }
    return true;
}

/* Without out_scale, as in version 1, the scale stays; version 2 gives another. */
static double truncate_v1(const Eval *e, double x, double scale, double zero)
{
    double shift =
        array_get_f64(onnx_eval_input(e, 3), 0) - array_get_f64(onnx_eval_input(e, 5), 0);
    double q = onnx_round_half_even(x / scale + zero);
    return (round_by(rounding_mode(e, ROUND_FLOOR), q / exp2(shift)) - zero) * scale;
}

static double truncate_v2(const Eval *e, double x, double scale, double zero)
{
    double out_scale = array_get_f64(onnx_eval_input(e, 4), 0), low, high;
    double factor = exp2(onnx_round_half_even(log2(out_scale / scale)));
    quant_range(e, array_get_f64(onnx_eval_input(e, 5), 0), &low, &high);
    double q = clip(onnx_round_half_even(x / scale + zero) / factor, low, high);
    return (round_by(rounding_mode(e, ROUND_FLOOR), q) - zero / factor) * out_scale;
}

bool onnx_eval_trunc(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    bool is_v1 = !onnx_eval_input(e, 4);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(x), onnx_array_rank(x));
    for (uint32_t i = 1; i <= 2; i++)
        onnx_walk_broadcast(&walk, onnx_array_dims(onnx_eval_input(e, i)),
                            onnx_array_rank(onnx_eval_input(e, i)));
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk)) {
        double scale = array_get_f64(onnx_eval_input(e, 1), walk.offset[0]);
        double zero = array_get_f64(onnx_eval_input(e, 2), walk.offset[1]),
               value = array_get_f64(x, i);
        array_set_f64(e->results[0], i,
                      is_v1 ? truncate_v1(e, value, scale, zero)
                            : truncate_v2(e, value, scale, zero));
    }
    return true;
}

bool onnx_eval_multi_threshold(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *thresholds = onnx_eval_input(e, 1);
    uint32_t channel;
    if (!onnx_multi_threshold_axis(e->op, &channel))
        return onnx_why(e->why, "the input has no dimension of channels");
    if (!array_is_float(e->results[0]))
        return onnx_why(e->why, "thresholds of integers that are no quantized values are not "
                                "evaluated");
    int64_t inner = onnx_dims_product(onnx_array_dims(x), channel + 1, onnx_array_rank(x));
    int64_t rows = onnx_array_dims(thresholds)[0], steps = onnx_array_dims(thresholds)[1];
    double scale = onnx_float(e->op, "out_scale", 1.0), bias = onnx_float(e->op, "out_bias", 0.0);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t row = rows == 1 ? 0 : i / inner % onnx_array_dims(x)[channel], count = 0;
        for (int64_t k = 0; k < steps; k++)
            count += array_get_f64(x, i) >= array_get_f64(thresholds, row * steps + k);
        array_set_f64(e->results[0], i, scale * (double)count + bias);
    }
    return true;
}
