/* Resize with linear or cubic interpolation: a product with a matrix along each dimension whose
 * extent changes. Integers stay integers where all weights are multiples of one fraction, which
 * those of integer ratios are.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-resize.mir, test/e2e/onnx_cases.py --lowered */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/internal.h"

enum {
    MAX_DENOMINATOR = 1024, /* of weights that become integers */
    MAX_WEIGHTS = 1 << 26   /* of one dimension */
};

/* The matrix of one dimension. */
typedef struct ResizeWeights {
    uint32_t dim;
    int64_t in, out;
    double *values;      /* [out][in] */
    int64_t denominator; /* of all values; 0: there is none */
} ResizeWeights;

static bool is_identity(const ResizeWeights *w)
{
    if (w->in != w->out) return false;
    for (int64_t i = 0; i < w->in * w->out; i++)
        if (w->values[i] != (i / w->in == i % w->in ? 1.0 : 0.0)) return false;
    return true;
}

/* Whether all values times `count` are integers, but for the rounding of their own computation. */
static bool are_multiples(const ResizeWeights *w, int64_t count)
{
    const double tolerance = 1e-9;
    for (int64_t i = 0; i < w->in * w->out; i++) {
        double product = w->values[i] * (double)count;
        if (fabs(product - nearbyint(product)) > tolerance) return false;
    }
    return true;
}

static void find_denominator(ResizeWeights *w)
{
    for (int64_t count = 1; count <= MAX_DENOMINATOR && w->denominator == 0; count++)
        if (are_multiples(w, count)) w->denominator = count;
}

/* The node's inputs, but for the first; NULL: diagnosed. */
static Array **read_inputs(OnnxLowering *lw)
{
    const Op *op = lw->node;
    Array **inputs = ARENA_ARRAY(&lw->pass->scratch, Array *, op->operand_count);
    for (uint32_t i = 1; i < op->operand_count; i++) {
        inputs[i] = onnx_operand(op, i) ? (Array *)lower_array(lw, op_operand(op, i)) : NULL;
        if (!onnx_operand(op, i) || inputs[i]) continue;
        onnx_error(op, "needs constants for all but its first operand");
        return NULL;
    }
    return inputs;
}

/* The weights of each dimension that changes, in order; false: diagnosed. */
static bool find_weights(OnnxLowering *lw, ResizeWeights *list, uint32_t *count)
{
    const Op *op = lw->node;
    const Type *x = op_operand(op, 0)->type, *y = op_result(op, 0)->type;
    Array **inputs = read_inputs(lw);
    if (!inputs) return false;
    strbuf_clear(&lw->why);
    *count = 0;
    for (uint32_t d = 0; d < x->u.shaped.rank; d++) {
        ResizeWeights w = {.dim = d, .in = x->u.shaped.dims[d], .out = y->u.shaped.dims[d]};
        if (w.in > MAX_WEIGHTS / (w.out > 0 ? w.out : 1))
            return onnx_error(op, "has a dimension that is too large to be interpolated");
        w.values = ARENA_ARRAY(&lw->pass->scratch, double, w.in *w.out);
        if (!onnx_resize_weights(op, inputs, d, w.values, &lw->why))
            return onnx_error(op, "%s", lw->why.data);
        if (is_identity(&w)) continue;
        find_denominator(&w);
        list[(*count)++] = w;
    }
    return true;
}

/* Nearest neighbours only move, so coordinates tell where each element comes from; the
 * extrapolation value of a crop comes from nowhere. */
static bool lower_nearest(OnnxLowering *lw)
{
    const Op *op = lw->node;
    Str mode = onnx_string(op, "coordinate_transformation_mode", "half_pixel");
    if (!str_eq_c(mode, "tf_crop_and_resize")) return onnx_lower_move(lw);
    Array **inputs = read_inputs(lw);
    if (!inputs) return false;
    strbuf_clear(&lw->why);
    for (uint32_t d = 0; d < op_operand(op, 0)->type->u.shaped.rank; d++)
        if (!onnx_resize_weights(op, inputs, d, NULL, &lw->why))
            return onnx_error(op, "%s", lw->why.data);
    return onnx_lower_move(lw);
}

/* y[.., o, ..] = sum over i of x[.., i, ..] * matrix[o, i], with elements of `elem`. */
static Value *multiply(OnnxLowering *lw, const ResizeWeights *w, Value *x, Value *matrix,
                       const Type *elem, bool x_unsigned)
{
    int64_t dims[ONNX_MAX_RANK];
    const AffineExpr *in[ONNX_MAX_RANK], *out[ONNX_MAX_RANK], *row[2];
    uint32_t rank = x->type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = i == w->dim ? w->out : x->type->u.shaped.dims[i];
        out[i] = affine_dim(lw->ctx, i);
        in[i] = affine_dim(lw->ctx, i == w->dim ? rank : i);
    }
    row[0] = out[w->dim];
    row[1] = affine_dim(lw->ctx, rank);
    Generic g = {.loops = rank + 1, .inputs = 2, .input = {x, matrix}};
    g.is_reduction[rank] = true;
    g.map[0] = map_get(lw->ctx, rank + 1, 0, rank, in);
    g.map[1] = map_get(lw->ctx, rank + 1, 0, 2, row);
    g.map[2] = map_get(lw->ctx, rank + 1, 0, rank, out);
    generic_open(lw, &g, lower_build_filled(lw, type_tensor(elem, dims, rank, NULL), 0));
    return generic_close(&g, onnx_lower_multiply_accumulate(&g, x_unsigned, false));
}

static Value *float_matrix(OnnxLowering *lw, const ResizeWeights *w, const Type *elem)
{
    const int64_t dims[] = {w->out, w->in};
    return arith_constant(&lw->b, attr_dense_f64(type_tensor(elem, dims, 2, NULL), w->values,
                                                 (size_t)(w->out * w->in)));
}

/* Range of the sums, and of their parts, of one dimension; false beyond 64 bits. */
static bool widen_range(OnnxLowering *lw, const ResizeWeights *w, const int64_t *weights, Fixed *x)
{
    Fixed all = {0};
    for (int64_t o = 0; o < w->out; o++) {
        Sum sum = sum_create(lw, x, 1, 0);
        for (int64_t i = 0; i < w->in; i++)
            if (!sum_add_product(&sum, x, 0, weights[o * w->in + i])) return false;
        all.low = sum.fixed.low < all.low ? sum.fixed.low : all.low;
        all.high = sum.fixed.high > all.high ? sum.fixed.high : all.high;
    }
    x->low = all.low;
    x->high = all.high;
    return true;
}

/* One dimension on integers: the denominator goes into the scale. */
static bool resize_integers(OnnxLowering *lw, const ResizeWeights *w, Fixed *x)
{
    int64_t *weights = ARENA_ARRAY(&lw->pass->scratch, int64_t, w->out * w->in);
    for (int64_t i = 0; i < w->out * w->in; i++)
        weights[i] = llround(w->values[i] * (double)w->denominator);
    FixedConstant matrix = {.values = weights, .count = w->out * w->in, .axis = -1};
    const int64_t dims[] = {w->out, w->in};
    matrix.type = type_tensor(type_i(lw->ctx, 64), dims, 2, NULL);
    constant_narrow(&matrix);
    if (!widen_range(lw, w, weights, x) || !fixed_divide_scale(x, w->denominator))
        return lower_too_wide(lw);
    uint32_t width =
        onnx_lower_widest(fixed_signed_width(x->low, x->high), x->value->type, matrix.type);
    x->value = multiply(lw, w, x->value, constant_build(lw, &matrix, dims, 2),
                        type_i(lw->ctx, width), x->is_unsigned);
    x->is_unsigned = false;
    return true;
}

static bool all_rational(const ResizeWeights *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].denominator == 0) return false;
    return true;
}

bool onnx_lower_resize(OnnxLowering *lw)
{
    ResizeWeights list[ONNX_MAX_RANK];
    uint32_t count = 0;
    const Type *elem = type_elem(op_result(lw->node, 0)->type);
    if (str_eq_c(onnx_string(lw->node, "mode", "nearest"), "nearest")) return lower_nearest(lw);
    if (!type_is_float(elem)) return onnx_error(lw->node, "is not supported on integers");
    if (!find_weights(lw, list, &count)) return false;
    const Fixed *fixed = lower_fixed_bare(lw, 0);
    if (fixed && all_rational(list, count)) {
        Fixed x = *fixed;
        for (uint32_t i = 0; i < count; i++)
            if (!resize_integers(lw, &list[i], &x)) return false;
        lower_result(lw, &x);
        return true;
    }
    Value *x = lower_plain(lw, 0);
    for (uint32_t i = 0; x && i < count; i++)
        x = multiply(lw, &list[i], x, float_matrix(lw, &list[i], elem), elem, false);
    if (x) lower_plain_result(lw, 0, x);
    return x != NULL;
}
