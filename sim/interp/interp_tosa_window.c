/* Evaluators of tosa's convolutions, products and pooling. Channels are the last dimension. Sums of
 * integers are exact modulo 2^64; sums of floats are made in double.
 * Tests: lit/sim/interp/tosa.mir, test/e2e/run_check.py */
#include <math.h>

#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

enum { MAX_SPATIAL = 3 };

/* The geometry of a window: from output positions and taps of a kernel to input positions. */
typedef struct TosaWindow {
    uint32_t spatial;
    bool is_transposed; /* position = (o - pad - k) / stride */
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL], pad[MAX_SPATIAL];
    const int64_t *in, *out; /* spatial extents */
} TosaWindow;

/* Index of the input, or -1 outside. */
static int64_t position(const TosaWindow *w, uint32_t d, int64_t o, int64_t k)
{
    int64_t at =
        w->is_transposed ? o - w->pad[d] - k : o * w->stride[d] + k * w->dilation[d] - w->pad[d];
    if (w->is_transposed && (at < 0 || at % w->stride[d] != 0)) return -1;
    at = w->is_transposed ? at / w->stride[d] : at;
    return at >= 0 && at < w->in[d] ? at : -1;
}

/* Row-major position of a tap's element among the input's, or -1. */
static int64_t tap_position(const TosaWindow *w, const int64_t *out, const int64_t *tap)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < w->spatial; d++) {
        int64_t index = position(w, d, out[d], tap[d]);
        if (index < 0) return -1;
        at = at * w->in[d] + index;
    }
    return at;
}

static int64_t product(const int64_t *extents, uint32_t count)
{
    int64_t total = 1;
    for (uint32_t i = 0; i < count; i++) total *= extents[i];
    return total;
}

/* The factors with their zero points, and the accumulator that products are added to. */
typedef struct WindowSum {
    const Array *a, *b;
    int64_t a_zero, b_zero;
    bool is_float;
    Cell total;
} WindowSum;

static void sum_begin(WindowSum *sum, const Array *bias, int64_t index)
{
    sum->total = (Cell){0};
    if (sum->is_float)
        sum->total.f = bias ? array_get_f64(bias, bias->count == 1 ? 0 : index) : 0;
    else if (bias)
        sum->total.i = array_get_i64(bias, bias->count == 1 ? 0 : index);
}

static void sum_add(WindowSum *sum, int64_t a, int64_t b)
{
    if (sum->is_float) {
        sum->total.f += array_get_f64(sum->a, a) * array_get_f64(sum->b, b);
        return;
    }
    uint64_t x = (uint64_t)array_get_i64(sum->a, a) - (uint64_t)sum->a_zero;
    sum->total.u += x * ((uint64_t)array_get_i64(sum->b, b) - (uint64_t)sum->b_zero);
}

static void sum_end(const WindowSum *sum, Array *out, int64_t index)
{
    if (sum->is_float)
        array_set_f64(out, index, sum->total.f);
    else
        array_set_i64(out, index, sum->total.i);
}

static int64_t item(const Op *op, const char *attr, size_t index)
{
    return dense_array_i64(op_attr(op, attr), index);
}

/* stride, dilation and pad of a convolution; the kernel begins at dimension `first` of weights. */
static void read_window(const Op *op, uint32_t spatial, const Array *in, const Array *weight,
                        uint32_t first, TosaWindow *w)
{
    *w = (TosaWindow){.spatial = spatial,
                      .in = dims_of(in) + 1,
                      .is_transposed = op->def == TOSA(TRANSPOSE_CONV2D)};
    for (uint32_t d = 0; d < spatial; d++) {
        w->kernel[d] = dims_of(weight)[first + d];
        w->stride[d] = item(op, "stride", d);
        w->dilation[d] = w->is_transposed ? 1 : item(op, "dilation", d);
        w->pad[d] = w->is_transposed ? item(op, "out_pad", 2 * d) : item(op, "pad", 2 * d);
    }
}

/* Positions of the window along a dimension, below 1 where it does not fit. False: overflow. */
static bool count_positions(const TosaWindow *w, uint32_t d, int64_t after, int64_t *out)
{
    int64_t padded, reach;
    if (w->is_transposed)
        return i64_mul(w->in[d] - 1, w->stride[d], out) && i64_add(*out, w->pad[d], out) &&
               i64_add(*out, after, out) && i64_add(*out, w->kernel[d], out);
    if (!i64_add(w->in[d], w->pad[d], &padded) || !i64_add(padded, after, &padded) ||
        !i64_mul(w->kernel[d] - 1, w->dilation[d], &reach) || !i64_add(padded, -reach, out))
        return false;
    *out = *out > 0 ? (*out - 1) / w->stride[d] + 1 : 0;
    return true;
}

static bool is_extent(const Type *type, uint32_t dim, int64_t extent)
{
    if (type->kind != TYPE_RANKED_TENSOR || dim >= type->u.shaped.rank) return true;
    return type->u.shaped.dims[dim] == extent || type->u.shaped.dims[dim] == DIM_DYNAMIC;
}

/* The result's shape: [batch, window positions, channels]. False: the window does not fit, or the shape is
 * none of the result's type. */
static bool make_output(Interp *interp, const Op *op, TosaWindow *w, int64_t batch,
                        int64_t channels, Array **out)
{
    int64_t *dims = ARENA_ARRAY(&interp->scratch, int64_t, w->spatial + 2);
    dims[0] = batch;
    dims[w->spatial + 1] = channels;
    for (uint32_t d = 0; d < w->spatial; d++) {
        int64_t after = item(op, w->is_transposed ? "out_pad" : "pad", 2 * d + 1);
        if (w->stride[d] < 1 || w->dilation[d] < 1)
            return op_error(op, "has a stride or a dilation below 1");
        if (w->kernel[d] < 0) return op_error(op, "has a kernel of a negative extent");
        if (!count_positions(w, d, after, &dims[d + 1]) || dims[d + 1] < 1)
            return op_error(op, "has a kernel larger than the padded input");
        if (!is_extent(op_result(op, 0)->type, d + 1, dims[d + 1]))
            return op_error(op,
                            "has windows at %lld places in dimension #%u, which its result has not",
                            (long long)dims[d + 1], d + 1);
    }
    w->out = dims + 1;
    *out = interp_new_array(
        interp, op, type_tensor(type_elem(op_result(op, 0)->type), dims, w->spatial + 2, NULL));
    return *out != NULL;
}

/* Adds the products of one output element; depthwise: of channel `channel` only. */
static void convolve(const TosaWindow *w, WindowSum *sum, int64_t batch, const int64_t *at,
                     int64_t channel, int64_t in_channels, bool is_depthwise, int64_t out_channels)
{
    int64_t tap[MAX_SPATIAL] = {0}, number = 0;
    int64_t positions = product(w->in, w->spatial), taps = product(w->kernel, w->spatial);
    for (; number < taps; number++, vm_next_index(tap, w->kernel, w->spatial)) {
        int64_t place = tap_position(w, at, tap);
        if (place < 0) continue;
        int64_t from = (batch * positions + place) * in_channels;
        if (is_depthwise) {
            int64_t source = channel / (out_channels / in_channels);
            sum_add(sum, from + source, number * out_channels + channel);
            continue;
        }
        for (int64_t c = 0; c < in_channels; c++)
            sum_add(sum, from + c, (channel * taps + number) * in_channels + c);
    }
}

static bool eval_conv(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Op *op = step->op;
    bool is_depthwise = op->def == TOSA(DEPTHWISE_CONV2D);
    const Array *in = inputs[0], *weight = inputs[1];
    const Attr *quant = op_attr(op, "quantization_info");
    uint32_t spatial = rank_of(in) - 2;
    int64_t in_channels = dims_of(in)[spatial + 1], at[MAX_SPATIAL] = {0};
    int64_t channels = is_depthwise ? dims_of(weight)[2] * dims_of(weight)[3] : dims_of(weight)[0];
    TosaWindow w;
    read_window(op, spatial, in, weight, is_depthwise ? 0 : 1, &w);
    if (!make_output(interp, op, &w, dims_of(in)[0], channels, &results[0])) return false;
    WindowSum sum = {
        in, weight, tosa_zero_point(quant, 0), tosa_zero_point(quant, 1), type_is_float(in->elem),
        {0}};
    int64_t positions = product(w.out, spatial);
    for (int64_t i = 0; i < results[0]->count; i++) {
        int64_t channel = i % channels, batch = i / channels / positions;
        sum_begin(&sum, inputs[2], channel);
        convolve(&w, &sum, batch, at, channel, in_channels, is_depthwise, channels);
        sum_end(&sum, results[0], i);
        if (channel == channels - 1) vm_next_index(at, w.out, spatial);
    }
    return true;
}

static bool eval_fully_connected(Interp *interp, const InterpStep *step, Array **inputs,
                                 Array **results)
{
    const Array *in = inputs[0], *weight = inputs[1];
    const Attr *quant = op_attr(step->op, "quantization_info");
    int64_t depth = dims_of(in)[1], dims[] = {dims_of(in)[0], dims_of(weight)[0]};
    results[0] = interp_new_array(
        interp, step->op, type_tensor(type_elem(op_result(step->op, 0)->type), dims, 2, NULL));
    if (!results[0]) return false;
    WindowSum sum = {
        in, weight, tosa_zero_point(quant, 0), tosa_zero_point(quant, 1), type_is_float(in->elem),
        {0}};
    for (int64_t i = 0; i < results[0]->count; i++) {
        int64_t row = i / dims[1], column = i % dims[1];
        sum_begin(&sum, inputs[2], column);
        for (int64_t k = 0; k < depth; k++) sum_add(&sum, row * depth + k, column * depth + k);
        sum_end(&sum, results[0], i);
    }
    return true;
}

static bool eval_matmul(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *a = inputs[0], *b = inputs[1];
    const Attr *quant = op_attr(step->op, "quantization_info");
    int64_t depth = dims_of(a)[2], dims[] = {dims_of(a)[0], dims_of(a)[1], dims_of(b)[2]};
    if (dims_of(b)[0] != dims[0] || dims_of(b)[1] != depth)
        return op_error(step->op, "has factors whose shapes do not fit");
    results[0] = interp_new_array(
        interp, step->op, type_tensor(type_elem(op_result(step->op, 0)->type), dims, 3, NULL));
    if (!results[0]) return false;
    WindowSum sum = {
        a, b, tosa_zero_point(quant, 0), tosa_zero_point(quant, 1), type_is_float(a->elem), {0}};
    for (int64_t i = 0; i < results[0]->count; i++) {
        int64_t column = i % dims[2], row = i / dims[2], batch = row / dims[1];
        sum_begin(&sum, NULL, 0);
        for (int64_t k = 0; k < depth; k++)
            sum_add(&sum, row * depth + k, (batch * depth + k) * dims[2] + column);
        sum_end(&sum, results[0], i);
    }
    return true;
}

/* The contents of a window of one channel. */
typedef struct Pooled {
    int64_t count; /* elements inside the image */
    Cell sum, largest;
} Pooled;

static Pooled pool(const TosaWindow *w, const Array *in, int64_t batch, const int64_t *at,
                   int64_t channel, int64_t channels, int64_t zero)
{
    Pooled out = {0};
    int64_t tap[MAX_SPATIAL] = {0}, taps = product(w->kernel, w->spatial);
    bool is_float = type_is_float(in->elem);
    for (int64_t k = 0; k < taps; k++, vm_next_index(tap, w->kernel, w->spatial)) {
        int64_t place = tap_position(w, at, tap);
        if (place < 0) continue;
        int64_t index = (batch * product(w->in, w->spatial) + place) * channels + channel;
        double x = array_get_f64(in, index);
        int64_t q = is_float ? 0 : array_get_i64(in, index);
        if (is_float && (out.count == 0 || isnan(x) || x > out.largest.f))
            out.largest.f = out.count > 0 && isnan(out.largest.f) ? out.largest.f : x;
        if (!is_float && (out.count == 0 || q > out.largest.i)) out.largest.i = q;
        if (is_float)
            out.sum.f += x;
        else
            out.sum.i = (int64_t)((uint64_t)out.sum.i + (uint64_t)q - (uint64_t)zero);
        out.count++;
    }
    return out;
}

static void set_pooled(const Op *op, const Pooled *pooled, int64_t zero, Array *out, int64_t index)
{
    bool is_mean = op->def == TOSA(AVG_POOL2D);
    if (type_is_float(out->elem))
        array_set_f64(out, index,
                      is_mean ? pooled->sum.f / (double)pooled->count : pooled->largest.f);
    else
        array_set_i64(out, index,
                      is_mean ? vm_tosa_mean(out->elem, pooled->sum.i, pooled->count, zero)
                              : pooled->largest.i);
}

static bool eval_pool(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Op *op = step->op;
    const Array *in = inputs[0];
    const Attr *quant = op->def == TOSA(AVG_POOL2D) ? op_attr(op, "quantization_info") : NULL;
    int64_t channels = dims_of(in)[3], at[MAX_SPATIAL] = {0};
    TosaWindow w = {.spatial = 2, .in = dims_of(in) + 1};
    for (uint32_t d = 0; d < w.spatial; d++) {
        w.kernel[d] = item(op, "kernel", d);
        w.stride[d] = item(op, "stride", d);
        w.pad[d] = item(op, "pad", 2 * d);
        w.dilation[d] = 1;
    }
    if (!make_output(interp, op, &w, dims_of(in)[0], channels, &results[0])) return false;
    int64_t positions = product(w.out, w.spatial);
    for (int64_t i = 0; i < results[0]->count; i++) {
        int64_t channel = i % channels;
        Pooled pooled = pool(&w, in, i / channels / positions, at, channel, channels,
                             tosa_zero_point(quant, 0));
        if (pooled.count == 0) return op_error(op, "has a window outside of the image");
        set_pooled(op, &pooled, tosa_zero_point(quant, 1), results[0], i);
        if (channel == channels - 1) vm_next_index(at, w.out, w.spatial);
    }
    return true;
}

const Evaluator *interp_tosa_window_evaluator(const OpDef *def)
{
    static const Evaluator table[TOSA_OP_COUNT] = {
        [TOSA_AVG_POOL2D] = {.eval = eval_pool},
        [TOSA_CONV2D] = {.eval = eval_conv},
        [TOSA_CONV3D] = {.eval = eval_conv},
        [TOSA_DEPTHWISE_CONV2D] = {.eval = eval_conv},
        [TOSA_FULLY_CONNECTED] = {.eval = eval_fully_connected},
        [TOSA_MATMUL] = {.eval = eval_matmul},
        [TOSA_MAX_POOL2D] = {.eval = eval_pool},
        [TOSA_TRANSPOSE_CONV2D] = {.eval = eval_conv},
    };
    return table[def - tosa_ops].eval ? &table[def - tosa_ops] : NULL;
}
