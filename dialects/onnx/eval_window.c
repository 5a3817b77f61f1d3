/* Evaluators of onnx operators with sliding windows: convolutions, transposed ones, poolings; any
 * number of spatial dimensions.
 * Tests: test/e2e/onnx_cases.py */
#include "dialects/onnx/eval_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- geometry --------------------------------------------------------------------------------- */

static void fill_list(const Eval *e, const char *name, uint32_t count, int64_t fallback,
                      int64_t *out)
{
    int64_t list[EVAL_MAX_LIST];
    size_t given = eval_list(e, NO_OPERAND, name, list);
    for (uint32_t i = 0; i < count; i++)
        out[i] = i < given ? list[i] : fallback;
}

static void resolve_padding(const Eval *e, Window *w)
{
    bool upper = eval_is(e, "auto_pad", "SAME_UPPER"), lower = eval_is(e, "auto_pad", "SAME_LOWER");
    int64_t pads[EVAL_MAX_LIST] = {0};
    if (!eval_is(e, "auto_pad", "VALID"))
        fill_list(e, "pads", 2 * w->spatial, 0, pads);
    for (uint32_t i = 0; i < w->spatial; i++) {
        int64_t span = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t total = span > w->in[i] ? span - w->in[i] : 0;
        w->low[i] = upper ? total / 2 : lower ? total - total / 2 : pads[i];
        w->high[i] = upper || lower ? total - w->low[i] : pads[w->spatial + i];
    }
}

void window_init(const Eval *e, Window *w, const int64_t *in, const int64_t *out,
                 const int64_t *kernel, uint32_t spatial)
{
    w->spatial = spatial;
    memcpy(w->in, in, spatial * sizeof *in);
    memcpy(w->out, out, spatial * sizeof *out);
    memcpy(w->kernel, kernel, spatial * sizeof *kernel);
    fill_list(e, "strides", spatial, 1, w->stride);
    fill_list(e, "dilations", spatial, 1, w->dilation);
    resolve_padding(e, w);
    w->in_count = dims_product(in, 0, spatial);
    w->out_count = dims_product(out, 0, spatial);
    w->taps = dims_product(kernel, 0, spatial);
}

int64_t window_offset(const Window *w, int64_t position, int64_t tap)
{
    int64_t offset = 0, stride = 1;
    for (uint32_t i = w->spatial; i-- > 0;) {
        int64_t x = position % w->out[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] -
                    w->low[i];
        if (x < 0 || x >= w->in[i])
            return -1;
        offset += x * stride;
        stride *= w->in[i];
        position /= w->out[i];
        tap /= w->kernel[i];
    }
    return offset;
}

/* --- convolution ------------------------------------------------------------------------------ */

/* One row of outputs along the last dimension, for one tap: where it reads and which positions
 * of it lie inside the input. */
typedef struct RowPart {
    int64_t begin, end; /* positions */
    int64_t offset;     /* in the input, of position 0 (it may lie in the padding) */
    int64_t step;
} RowPart;

static RowPart row_part(const Window *w, int64_t row, int64_t tap)
{
    uint32_t last = w->spatial - 1;
    RowPart part = {.step = w->stride[last]};
    int64_t stride = w->in[last], shift = tap % w->kernel[last] * w->dilation[last] - w->low[last];
    part.offset = shift;
    part.begin = shift < 0 ? (-shift + part.step - 1) / part.step : 0;
    part.end = shift < w->in[last] ? (w->in[last] - 1 - shift) / part.step + 1 : 0;
    part.end = part.end < w->out[last] ? part.end : w->out[last];
    tap /= w->kernel[last];
    for (uint32_t i = last; i-- > 0; tap /= w->kernel[i], row /= w->out[i], stride *= w->in[i]) {
        int64_t x = row % w->out[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->low[i];
        if (x < 0 || x >= w->in[i])
            part.end = 0;
        part.offset += x * stride;
    }
    return part;
}

static void add_row(double *y, const double *x, const RowPart *part, double weight)
{
    if (part->step == 1) {
        for (int64_t i = part->begin; i < part->end; i++)
            y[i] += weight * x[part->offset + i];
        return;
    }
    for (int64_t i = part->begin; i < part->end; i++)
        y[i] += weight * x[part->offset + i * part->step];
}

/* Adds one input channel, under one filter's weights for it, to one output channel. */
static void conv_channel(const Window *w, const double *x, const double *weights, double *y)
{
    int64_t width = w->out[w->spatial - 1], rows = w->out_count / width;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t tap = 0; tap < w->taps; tap++) {
            if (weights[tap] == 0.0)
                continue;
            RowPart part = row_part(w, row, tap);
            add_row(y + row * width, x, &part, weights[tap]);
        }
    }
}

void conv_sums(const Eval *e, const double *x, const Array *x_like, const double *w,
               const Array *w_like, const Array *y_like, double *y)
{
    const int64_t *in = array_dims(x_like), *filters = array_dims(w_like);
    const int64_t *out = array_dims(y_like);
    int64_t group = onnx_int(e->op, "group", 1), per_group = filters[1], outs = out[1] / group;
    Window window;
    window_init(e, &window, in + 2, out + 2, filters + 2, array_rank(x_like) - 2);
    memset(y, 0, (size_t)y_like->count * sizeof *y);
    if (y_like->count == 0)
        return;
    for (int64_t n = 0; n < out[0]; n++) {
        for (int64_t oc = 0; oc < out[1]; oc++) {
            int64_t first = n * in[1] + oc / outs * per_group;
            for (int64_t ic = 0; ic < per_group; ic++)
                conv_channel(&window, x + (first + ic) * window.in_count,
                             w + (oc * per_group + ic) * window.taps,
                             y + (n * out[1] + oc) * window.out_count);
        }
    }
}

/* y[n][c][..] + bias[c], rounded to the result. */
static void store_with_bias(Array *y, const double *sums, const Array *bias)
{
    const int64_t *dims = array_dims(y);
    int64_t inner = dims_product(dims, 2, array_rank(y));
    for (int64_t i = 0; i < y->count; i++) {
        double b = bias ? array_get_f64(bias, i / inner % dims[1]) : 0.0;
        array_set_f64(y, i, sums[i] + b);
    }
}

bool eval_conv(const Eval *e)
{
    const Array *x = eval_input(e, 0), *w = eval_input(e, 1);
    double *inputs = array_doubles(x), *weights = array_doubles(w);
    double *sums = xmalloc((size_t)e->results[0]->count * sizeof *sums);
    conv_sums(e, inputs, x, weights, w, e->results[0], sums);
    store_with_bias(e->results[0], sums, eval_input(e, 2));
    free(sums);
    free(weights);
    free(inputs);
    return true;
}

/* --- transposed convolution ------------------------------------------------------------------- */

/* The convolution whose transpose this is: its outputs are our inputs. */
static void transposed_window(const Eval *e, const Array *x, const Array *w, Window *window)
{
    const int64_t *in = array_dims(x) + 2, *out = array_dims(e->results[0]) + 2;
    uint32_t spatial = array_rank(x) - 2;
    int64_t extra[EVAL_MAX_LIST], shape[EVAL_MAX_LIST];
    bool by_shape = eval_list(e, NO_OPERAND, "output_shape", shape) > 0;
    bool upper = eval_is(e, "auto_pad", "SAME_UPPER"), lower = eval_is(e, "auto_pad", "SAME_LOWER");
    window_init(e, window, out, in, array_dims(w) + 2, spatial);
    fill_list(e, "output_padding", spatial, 0, extra);
    for (uint32_t i = 0; i < spatial && (by_shape || upper || lower); i++) {
        int64_t total = (in[i] - 1) * window->stride[i] + extra[i] +
                        (window->kernel[i] - 1) * window->dilation[i] + 1 - out[i];
        total = total > 0 ? total : 0;
        window->low[i] = upper ? total / 2 : total - total / 2;
    }
}

/* Spreads one input channel under one filter over one output channel. */
static void spread_channel(const Window *w, const double *x, const double *weights, double *y)
{
    for (int64_t position = 0; position < w->out_count; position++) {
        for (int64_t tap = 0; tap < w->taps; tap++) {
            int64_t at = window_offset(w, position, tap);
            if (at >= 0)
                y[at] += x[position] * weights[tap];
        }
    }
}

bool eval_conv_transpose(const Eval *e)
{
    const Array *x = eval_input(e, 0), *w = eval_input(e, 1);
    Array *y = e->results[0];
    const int64_t *in = array_dims(x), *out = array_dims(y);
    int64_t group = onnx_int(e->op, "group", 1), outs = array_dims(w)[1], ins = in[1] / group;
    Window window;
    transposed_window(e, x, w, &window);
    double *inputs = array_doubles(x), *weights = array_doubles(w);
    double *sums = xcalloc((size_t)y->count, sizeof *sums);
    for (int64_t i = 0; i < in[0] * in[1] * outs; i++) {
        int64_t n = i / outs / in[1], ic = i / outs % in[1], oc = i % outs;
        spread_channel(&window, inputs + (n * in[1] + ic) * window.out_count,
                       weights + (ic * outs + oc) * window.taps,
                       sums + (n * out[1] + ic / ins * outs + oc) * window.in_count);
    }
    store_with_bias(y, sums, eval_input(e, 2));
    free(sums);
    free(weights);
    free(inputs);
    return true;
}

/* --- pooling ---------------------------------------------------------------------------------- */

static void pool_window(const Eval *e, Window *w)
{
    const Array *x = eval_input(e, 0);
    int64_t kernel[EVAL_MAX_LIST];
    eval_list(e, NO_OPERAND, "kernel_shape", kernel);
    window_init(e, w, array_dims(x) + 2, array_dims(e->results[0]) + 2, kernel, array_rank(x) - 2);
}

static bool is_greater(const Array *x, int64_t a, int64_t b)
{
    if (array_is_float(x))
        return array_get_f64(x, a) > array_get_f64(x, b) || isnan(array_get_f64(x, a));
    return array_get_i64(x, a) > array_get_i64(x, b);
}

/* Where the maximum of a window is, relative to the channel; the first if several. -1: the window
 * lies in the padding. */
static int64_t window_max(const Window *w, const Array *x, int64_t channel, int64_t position)
{
    int64_t best = -1;
    for (int64_t tap = 0; tap < w->taps; tap++) {
        int64_t at = window_offset(w, position, tap);
        if (at >= 0 && (best < 0 || is_greater(x, channel + at, channel + best)))
            best = at;
    }
    return best;
}

/* Number of an element when the last dimensions are stored column by column. */
static int64_t column_major(const Window *w, int64_t at)
{
    int64_t out = 0, stride = w->in_count;
    for (uint32_t i = w->spatial; i-- > 0; at /= w->in[i]) {
        stride /= w->in[i];
        out += at % w->in[i] * stride;
    }
    return out;
}

bool eval_max_pool(const Eval *e)
{
    const Array *x = eval_input(e, 0);
    bool by_column = onnx_int(e->op, "storage_order", 0) == 1;
    Window w;
    pool_window(e, &w);
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        int64_t channel = i / w.out_count * w.in_count;
        int64_t at = window_max(&w, x, channel, i % w.out_count);
        if (at < 0)
            return onnx_why(e->why, "a window lies wholly in the padding");
        array_copy(e->results[0], i, x, channel + at);
        if (e->op->result_count > 1)
            array_set_i64(e->results[1], i, channel + (by_column ? column_major(&w, at) : at));
    }
    return true;
}

/* Taps of a window that lie in the padded input: with ceil_mode the last may reach past it. */
static int64_t taps_in_padded(const Window *w, int64_t position)
{
    int64_t count = 1;
    for (uint32_t i = w->spatial; i-- > 0; position /= w->out[i]) {
        int64_t start = position % w->out[i] * w->stride[i] - w->low[i], inside = 0;
        for (int64_t k = 0; k < w->kernel[i]; k++)
            inside += start + k * w->dilation[i] < w->in[i] + w->high[i];
        count *= inside;
    }
    return count;
}

bool eval_average_pool(const Eval *e)
{
    const Array *x = eval_input(e, 0);
    bool with_padding = onnx_int(e->op, "count_include_pad", 0) != 0;
    Window w;
    pool_window(e, &w);
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        double sum = 0.0;
        int64_t inside = 0;
        for (int64_t tap = 0; tap < w.taps; tap++) {
            int64_t at = window_offset(&w, i % w.out_count, tap);
            inside += at >= 0;
            sum += at >= 0 ? array_get_f64(x, i / w.out_count * w.in_count + at) : 0.0;
        }
        int64_t count = with_padding ? taps_in_padded(&w, i % w.out_count) : inside;
        array_set_f64(e->results[0], i, sum / (double)count);
    }
    return true;
}

bool eval_global_pool(const Eval *e)
{
    const Array *x = eval_input(e, 0);
    Array *y = e->results[0];
    int64_t inner = dims_product(array_dims(x), 2, array_rank(x));
    bool is_max = e->op->def == ONNX(GLOBAL_MAX_POOL);
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0.0;
        int64_t best = i * inner;
        for (int64_t k = i * inner; k < (i + 1) * inner; k++) {
            best = is_max && is_greater(x, k, best) ? k : best;
            sum += is_max ? 0.0 : array_get_f64(x, k);
        }
        if (is_max)
            array_copy(y, i, x, best);
        else
            array_set_f64(y, i, sum / (double)inner);
    }
    return true;
}
