/* Evaluator of Resize and of its predecessor Upsample: nearest, linear and cubic interpolation in
 * any number of dimensions, as a product of one-dimensional weights.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/onnx/internal.h"

enum { MAX_TAPS = 4 };

/* Input positions that one output position of a dimension is made of. */
typedef struct Taps {
    int64_t index[MAX_TAPS];
    double weight[MAX_TAPS];
    int count;
    bool is_outside; /* takes the extrapolation value */
} Taps;

typedef struct OnnxResize {
    const Eval *e;
    bool is_nearest, is_linear, is_cubic, is_crop, excludes_outside;
    double cubic_a;
} OnnxResize;

/* One dimension: its extents, scale and region of interest. */
typedef struct ResizeAxis {
    int64_t in, out;
    double scale, roi_start, roi_end;
    double length; /* of the output, in * scale, without being rounded to an integer */
} ResizeAxis;

/* Which neighbour is nearest hangs on the last bit of a position, so that is computed as ONNX Runtime
 * does: each operation is rounded to single precision. */
static double rounded(const OnnxResize *r, double x)
{
    return r->is_nearest ? (double)(float)x : x;
}

static double half_pixel(const OnnxResize *r, const ResizeAxis *a, double x)
{
    return rounded(r, rounded(r, (x + 0.5) / a->scale) - 0.5);
}

/* The first and the last position are the ends of the region, whatever the scale. */
static double cropped(const OnnxResize *r, const ResizeAxis *a, double x)
{
    double start = a->roi_start, end = a->roi_end, last = (double)a->in - 1.0;
    if (a->out == 1) return rounded(r, 0.5 * rounded(r, start + end) * last);
    double span = rounded(r, rounded(r, x * rounded(r, end - start)) * last);
    return rounded(r, rounded(r, start * last) + rounded(r, span / ((double)a->out - 1.0)));
}

/* The position in the input that output position x corresponds to. */
static double source(const OnnxResize *r, const ResizeAxis *a, int64_t position)
{
    const char *mode = "coordinate_transformation_mode";
    const Eval *e = r->e;
    double x = (double)position, in = (double)a->in;
    if (e->op->def == ONNX(UPSAMPLE) || onnx_eval_is(e, mode, "asymmetric"))
        return rounded(r, x / a->scale);
    if (onnx_eval_is(e, mode, "align_corners"))
        return a->out == 1 ? 0.0
                           : rounded(r, rounded(r, x * (in - 1.0)) / rounded(r, a->length - 1.0));
    if (onnx_eval_is(e, mode, "pytorch_half_pixel")) return a->out > 1 ? half_pixel(r, a, x) : 0.0;
    if (onnx_eval_is(e, mode, "tf_half_pixel_for_nn")) return rounded(r, (x + 0.5) / a->scale);
    if (onnx_eval_is(e, mode, "half_pixel_symmetric")) {
        double adjusted = (double)a->out / a->length;
        return rounded(r, rounded(r, in / 2.0 * (1.0 - adjusted)) + half_pixel(r, a, x));
    }
    return r->is_crop ? cropped(r, a, x) : half_pixel(r, a, x);
}

static double nearest(const Eval *e, double x)
{
    if (e->op->def == ONNX(UPSAMPLE) || onnx_eval_is(e, "nearest_mode", "floor")) return floor(x);
    if (onnx_eval_is(e, "nearest_mode", "ceil")) return ceil(x);
    if (onnx_eval_is(e, "nearest_mode", "round_prefer_ceil")) return floor(x + 0.5);
    return ceil(x - 0.5);
}

/* A region of interest may have no number as its end. */
static int64_t clamp_index(double x, int64_t extent)
{
    return !(x > 0) ? 0 : x > (double)(extent - 1) ? extent - 1 : (int64_t)x;
}

static void linear_weights(Taps *taps, double rest)
{
    taps->weight[0] = 1.0 - rest;
    taps->weight[1] = rest;
}

/* Keys' cubic convolution with parameter a. */
static void cubic_weights(Taps *taps, double a, double rest)
{
    for (int i = 0; i < MAX_TAPS; i++) {
        double d = fabs(rest - (i - 1));
        taps->weight[i] = d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                                   : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    }
}

/* Drops the taps outside the input and scales the others to a sum of 1. */
static void exclude_outside(Taps *taps, double first, int64_t extent)
{
    double sum = 0.0;
    for (int i = 0; i < taps->count; i++) {
        if (first + i < 0 || first + i > (double)(extent - 1)) taps->weight[i] = 0.0;
        sum += taps->weight[i];
    }
    for (int i = 0; i < taps->count; i++) taps->weight[i] /= sum;
}

static Taps make_taps(const OnnxResize *r, const ResizeAxis *axis, int64_t position)
{
    double x = source(r, axis, position), first = floor(x);
    Taps taps = {.count = 1, .weight = {1.0}};
    taps.is_outside = r->is_crop && (x < 0 || x > (double)(axis->in - 1));
    if (r->is_nearest) {
        taps.index[0] = clamp_index(nearest(r->e, x), axis->in);
        return taps;
    }
    taps.count = r->is_cubic ? 4 : 2;
    if (r->is_cubic)
        cubic_weights(&taps, r->cubic_a, x - first);
    else
        linear_weights(&taps, x - first);
    first -= r->is_cubic;
    if (r->excludes_outside) exclude_outside(&taps, first, axis->in);
    for (int i = 0; i < taps.count; i++) taps.index[i] = clamp_index(first + i, axis->in);
    return taps;
}

/* Sum over all combinations of taps of the dimensions from `dim` on. */
static double interpolate(const Array *x, const Taps *const *taps, const int64_t *strides,
                          uint32_t dim, uint32_t rank, int64_t offset)
{
    if (dim == rank) return array_get_f64(x, offset);
    double sum = 0.0;
    for (int i = 0; i < taps[dim]->count; i++)
        if (taps[dim]->weight[i] != 0.0)
            sum += taps[dim]->weight[i] * interpolate(x, taps, strides, dim + 1, rank,
                                                      offset + taps[dim]->index[i] * strides[dim]);
    return sum;
}

static void set_element(Array *y, int64_t i, double value)
{
    if (array_is_float(y))
        array_set_f64(y, i, value);
    else
        array_set_i64(y, i, onnx_to_integer(value));
}

static void resize(const OnnxResize *r, Taps *const *tables)
{
    const Array *x = onnx_eval_input(r->e, 0);
    Array *y = r->e->results[0];
    uint32_t rank = onnx_array_rank(x);
    double outside = onnx_float(r->e->op, "extrapolation_value", 0.0);
    int64_t strides[ONNX_MAX_RANK];
    const Taps *taps[ONNX_MAX_RANK];
    OnnxWalk walk;
    onnx_dims_strides(onnx_array_dims(x), rank, strides);
    onnx_walk_init(&walk, onnx_array_dims(y), rank);
    for (int64_t i = 0; i < y->count; i++, onnx_walk_next(&walk)) {
        bool is_outside = false, is_copy = true;
        int64_t offset = 0;
        for (uint32_t d = 0; d < rank; d++) {
            taps[d] = &tables[d][walk.index[d]];
            is_outside |= taps[d]->is_outside;
            is_copy &= taps[d]->count == 1;
            offset += taps[d]->index[0] * strides[d];
        }
        if (is_outside)
            set_element(y, i, outside);
        else if (is_copy)
            array_copy(y, i, x, offset);
        else
            set_element(y, i, interpolate(x, taps, strides, 0, rank, 0));
    }
}

/* Where dimension d is in the lists, which cover the dimensions in `axes`, or all; -1: nowhere. */
static int64_t find_listed(const Eval *e, uint32_t d, uint32_t rank)
{
    int64_t axes[EVAL_MAX_LIST];
    size_t count = onnx_eval_list(e, NO_OPERAND, "axes", axes);
    int64_t listed = count == 0 ? (int64_t)d : -1;
    for (size_t i = 0; i < count; i++)
        if (axes[i] == d || axes[i] + rank == d) listed = (int64_t)i;
    return listed;
}

/* The scale that keep_aspect_ratio_policy has for all listed dimensions, or else the own one. */
static double policy_scale(const Eval *e, const Type *x, double own)
{
    const char *policy = "keep_aspect_ratio_policy";
    bool is_least = onnx_eval_is(e, policy, "not_larger");
    const Array *sizes = onnx_eval_input(e, 3);
    int64_t in[ONNX_MAX_RANK], asked[ONNX_MAX_RANK];
    uint32_t count = 0;
    if (!sizes || (!is_least && !onnx_eval_is(e, policy, "not_smaller"))) return own;
    for (uint32_t d = 0; d < x->u.shaped.rank; d++) {
        int64_t listed = find_listed(e, d, x->u.shaped.rank);
        if (listed < 0 || listed >= sizes->count) continue;
        in[count] = x->u.shaped.dims[d];
        asked[count++] = array_get_i64(sizes, listed);
    }
    return onnx_common_scale(in, asked, count, is_least);
}

/* Extents and scale of dimension d of x and y. */
static ResizeAxis read_axis(const Eval *e, uint32_t d, const Type *x, const Type *y)
{
    const Array *roi = onnx_eval_input(e, 1), *scales = onnx_eval_input(e, 2);
    bool is_upsample = e->op->def == ONNX(UPSAMPLE);
    ResizeAxis axis = {.in = x->u.shaped.dims[d], .out = y->u.shaped.dims[d], .roi_end = 1.0};
    int64_t listed = find_listed(e, d, x->u.shaped.rank);
    axis.scale = (double)axis.out / (double)axis.in;
    if (is_upsample) {
        scales = roi;
        roi = NULL;
    }
    if (listed < 0) return axis;
    axis.scale = policy_scale(e, x, axis.scale);
    if (scales && listed < scales->count) axis.scale = array_get_f64(scales, listed);
    if (roi && listed + roi->count / 2 < roi->count) {
        axis.roi_start = array_get_f64(roi, listed);
        axis.roi_end = array_get_f64(roi, listed + roi->count / 2);
    }
    return axis;
}

/* A file holds scales in single precision: one that is an output's length over an input's but for
 * this rounding means their ratio, with weights that are fractions. */
static ResizeAxis find_axis(const OnnxResize *r, uint32_t d, const Type *x, const Type *y)
{
    ResizeAxis axis = read_axis(r->e, d, x, y);
    double ratio = (double)axis.out / (double)axis.in;
    bool is_ratio = (float)axis.scale == (float)ratio;
    axis.scale = rounded(r, is_ratio ? ratio : axis.scale);
    axis.length = is_ratio ? (double)axis.out : rounded(r, axis.scale * (double)axis.in);
    return axis;
}

static bool resize_create(const Eval *e, OnnxResize *out)
{
    bool is_linear = onnx_eval_is(e, "mode", "linear"), is_cubic = onnx_eval_is(e, "mode", "cubic");
    *out = (OnnxResize){.e = e,
                        .is_nearest = !is_linear && !is_cubic,
                        .is_linear = is_linear,
                        .is_cubic = is_cubic,
                        .is_crop =
                            onnx_eval_is(e, "coordinate_transformation_mode", "tf_crop_and_resize"),
                        .excludes_outside = onnx_int(e->op, "exclude_outside", 0) != 0,
                        .cubic_a = onnx_float(e->op, "cubic_coeff_a", -0.75)};
    return onnx_int(e->op, "antialias", 0) == 0 ||
           onnx_why(e->why, "antialiasing is not supported");
}

/* Taps of position i of dimension d. */
static Taps taps_at(const OnnxResize *r, const ResizeAxis *axis, int64_t i)
{
    bool stays = axis->in == axis->out && axis->scale == 1.0 && !r->is_crop;
    return stays ? (Taps){.index = {i}, .weight = {1.0}, .count = 1} : make_taps(r, axis, i);
}

bool onnx_eval_resize(const Eval *e)
{
    uint32_t rank = onnx_array_rank(onnx_eval_input(e, 0));
    Taps *tables[ONNX_MAX_RANK];
    OnnxResize r;
    if (!resize_create(e, &r)) return false;
    for (uint32_t d = 0; d < rank; d++)
        if (!onnx_check_resized(onnx_array_dims(onnx_eval_input(e, 0))[d],
                                onnx_array_dims(e->results[0])[d], e->why))
            return false;
    for (uint32_t d = 0; d < rank; d++) {
        ResizeAxis axis = find_axis(&r, d, onnx_eval_input(e, 0)->type, e->results[0]->type);
        tables[d] = xmalloc((size_t)axis.out * sizeof *tables[d]);
        for (int64_t i = 0; i < axis.out; i++) tables[d][i] = taps_at(&r, &axis, i);
    }
    resize(&r, tables);
    for (uint32_t d = 0; d < rank; d++) free(tables[d]);
    return true;
}

bool onnx_resize_weights(const Op *op, Array *const *inputs, uint32_t dim, double *weights,
                         StrBuf *why)
{
    const Eval e = {.op = op, .inputs = inputs, .why = why};
    OnnxResize r;
    if (!resize_create(&e, &r)) return false;
    ResizeAxis axis = find_axis(&r, dim, op_operand(op, 0)->type, op_result(op, 0)->type);
    if (!onnx_check_resized(axis.in, axis.out, why)) return false;
    for (int64_t i = 0; weights && i < axis.out * axis.in; i++) weights[i] = 0.0;
    for (int64_t i = 0; i < axis.out; i++) {
        Taps taps = taps_at(&r, &axis, i);
        if (taps.is_outside) return onnx_why(why, "an extrapolation value is not supported");
        for (int k = 0; weights && k < taps.count; k++)
            weights[i * axis.in + taps.index[k]] += taps.weight[k];
    }
    return true;
}
