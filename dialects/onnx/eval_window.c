/* Evaluators of onnx operators with sliding windows (convolution, transposed convolution, pooling)
 * in any number of spatial dimensions.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/onnx/internal.h"

typedef struct OnnxWindow {
    ConvGeometry g;
    int64_t in_count, out_count, taps; /* elements of the spatial dimensions */
    bool skips_zeros;                  /* among weights, since all inputs are finite */
} OnnxWindow;

typedef bool Geometry(const Op *op, ConvGeometry *out, StrBuf *why);

/* Of a channel; a kernel of pooling may be far larger than its input. */
enum { MOST_TAPS = 1 << 30 };

static bool window_init(const Eval *e, OnnxWindow *w, Geometry *geometry)
{
    if (!geometry(e->op, &w->g, e->why)) return false;
    w->in_count = onnx_dims_product(w->g.in, 0, w->g.spatial);
    w->out_count = onnx_dims_product(w->g.out, 0, w->g.spatial);
    int64_t all = w->out_count;
    for (uint32_t i = 0; i < w->g.spatial; i++)
        if (!i64_mul(all, w->g.kernel[i], &all) || all > MOST_TAPS)
            return onnx_why(e->why, "the windows have more than %d elements in all", MOST_TAPS);
    w->taps = onnx_dims_product(w->g.kernel, 0, w->g.spatial);
    return true;
}

/* Offset in the input of a tap at an output position, both as flat numbers; -1 in the padding. */
static int64_t window_offset(const ConvGeometry *g, int64_t position, int64_t tap)
{
    int64_t offset = 0, stride = 1;
    for (uint32_t i = g->spatial; i-- > 0;) {
        int64_t x =
            position % g->out[i] * g->stride[i] + tap % g->kernel[i] * g->dilation[i] - g->low[i];
        if (x < 0 || x >= g->in[i]) return -1;
        offset += x * stride;
        stride *= g->in[i];
        position /= g->out[i];
        tap /= g->kernel[i];
    }
    return offset;
}

/* One row of outputs along the last dimension, for one tap: where it reads and which positions
 * of it lie inside the input. */
typedef struct RowPart {
    int64_t begin, end; /* positions */
    int64_t offset;     /* in the input, of position 0 (it may lie in the padding) */
} RowPart;

static RowPart row_part(const ConvGeometry *g, int64_t row, int64_t tap)
{
    uint32_t last = g->spatial - 1;
    RowPart part;
    int64_t step = g->stride[last], stride = g->in[last];
    int64_t shift = tap % g->kernel[last] * g->dilation[last] - g->low[last];
    part.offset = shift;
    part.begin = shift < 0 ? (-shift + step - 1) / step : 0;
    part.end = shift < g->in[last] ? (g->in[last] - 1 - shift) / step + 1 : 0;
    part.end = part.end < g->out[last] ? part.end : g->out[last];
    tap /= g->kernel[last];
    for (uint32_t i = last; i-- > 0; tap /= g->kernel[i], row /= g->out[i], stride *= g->in[i]) {
        int64_t x = row % g->out[i] * g->stride[i] - g->low[i];
        x += tap % g->kernel[i] * g->dilation[i];
        if (x < 0 || x >= g->in[i]) part.end = 0;
        part.offset += x * stride;
    }
    return part;
}

/* The parts of all rows for all taps: [row][tap]. The caller frees them. */
static RowPart *row_parts(const OnnxWindow *w, int64_t rows)
{
    RowPart *parts = xmalloc((size_t)(rows * w->taps) * sizeof *parts);
    for (int64_t i = 0; i < rows * w->taps; i++)
        parts[i] = row_part(&w->g, i / w->taps, i % w->taps);
    return parts;
}

static void add_row(double *y, const double *x, const RowPart *part, int64_t step, double weight)
{
    if (step == 1) {
        for (int64_t i = part->begin; i < part->end; i++) y[i] += weight * x[part->offset + i];
        return;
    }
    for (int64_t i = part->begin; i < part->end; i++) y[i] += weight * x[part->offset + i * step];
}

/* Adds one input channel, under one filter's weights for it, to one output channel `y` of `result`. */
static void conv_channel(const OnnxWindow *w, const RowPart *parts, const double *x,
                         const double *weights, double *y, const Array *result)
{
    int64_t width = w->g.out[w->g.spatial - 1], rows = w->out_count / width;
    int64_t step = w->g.stride[w->g.spatial - 1];
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t tap = 0; tap < w->taps; tap++) {
            if (weights[tap] == 0.0 && w->skips_zeros) continue;
            add_row(y + row * width, x, &parts[row * w->taps + tap], step, weights[tap]);
            onnx_round_partials(result, y + row * width, width);
        }
    }
}

bool onnx_conv_sums(const Eval *e, const double *x, const double *w, double *y)
{
    OnnxWindow window;
    if (!window_init(e, &window, onnx_conv_geometry)) return false;
    const ConvGeometry *g = &window.g;
    int64_t per_group = g->in_channels / g->group, outs = g->out_channels / g->group;
    memset(y, 0, (size_t)(g->batch * g->out_channels * window.out_count) * sizeof *y);
    window.skips_zeros = onnx_all_finite(x, g->batch * g->in_channels * window.in_count);
    RowPart *parts = row_parts(&window, window.out_count / g->out[g->spatial - 1]);
    for (int64_t i = 0; i < g->batch * g->out_channels; i++) {
        int64_t n = i / g->out_channels, oc = i % g->out_channels;
        int64_t first = n * g->in_channels + oc / outs * per_group;
        for (int64_t ic = 0; ic < per_group; ic++)
            conv_channel(&window, parts, x + (first + ic) * window.in_count,
                         w + (oc * per_group + ic) * window.taps, y + i * window.out_count,
                         e->results[0]);
    }
    free(parts);
    return true;
}

/* y[n][c][..] + bias[c], rounded to the result. */
static void store_with_bias(Array *y, const double *sums, const Array *bias)
{
    const int64_t *dims = onnx_array_dims(y);
    int64_t inner = onnx_dims_product(dims, 2, onnx_array_rank(y));
    for (int64_t i = 0; i < y->count; i++) {
        double b = bias ? array_get_f64(bias, i / inner % dims[1]) : 0.0;
        array_set_f64(y, i, sums[i] + b);
    }
}

bool onnx_eval_conv(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *w = onnx_eval_input(e, 1);
    double *inputs = onnx_array_doubles(x), *weights = onnx_array_doubles(w);
    double *sums = xmalloc((size_t)e->results[0]->count * sizeof *sums);
    bool done = onnx_conv_sums(e, inputs, weights, sums);
    if (done) store_with_bias(e->results[0], sums, onnx_eval_input(e, 2));
    free(sums);
    free(weights);
    free(inputs);
    return done;
}

/* The convolution whose transpose this is: its outputs are our inputs. */
static bool transposed_window(const Eval *e, OnnxWindow *w)
{
    if (!window_init(e, w, onnx_conv_transpose_geometry)) return false;
    for (uint32_t i = 0; i < w->g.spatial; i++) {
        int64_t in = w->g.in[i];
        w->g.in[i] = w->g.out[i];
        w->g.out[i] = in;
    }
    int64_t count = w->in_count;
    w->in_count = w->out_count;
    w->out_count = count;
    return true;
}

/* Spreads one input channel under one filter over one output channel `y` of `result`. */
static void spread_channel(const OnnxWindow *w, const double *x, const double *weights, double *y,
                           const Array *result)
{
    for (int64_t position = 0; position < w->out_count; position++) {
        for (int64_t tap = 0; tap < w->taps; tap++) {
            int64_t at = window_offset(&w->g, position, tap);
            if (at < 0) continue;
            y[at] += x[position] * weights[tap];
            onnx_round_partials(result, &y[at], 1);
        }
    }
}

bool onnx_eval_conv_transpose(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *w = onnx_eval_input(e, 1);
    Array *y = e->results[0];
    OnnxWindow window;
    if (!transposed_window(e, &window)) return false;
    const ConvGeometry *g = &window.g;
    int64_t outs = g->out_channels / g->group, ins = g->in_channels / g->group;
    double *inputs = onnx_array_doubles(x), *weights = onnx_array_doubles(w);
    double *sums = xcalloc((size_t)y->count, sizeof *sums);
    for (int64_t i = 0; i < g->batch * g->in_channels * outs; i++) {
        int64_t n = i / outs / g->in_channels, ic = i / outs % g->in_channels, oc = i % outs;
        spread_channel(&window, inputs + (n * g->in_channels + ic) * window.out_count,
                       weights + (ic * outs + oc) * window.taps,
                       sums + (n * g->out_channels + ic / ins * outs + oc) * window.in_count, y);
    }
    store_with_bias(y, sums, onnx_eval_input(e, 2));
    free(sums);
    free(weights);
    free(inputs);
    return true;
}

static bool is_greater(const Array *x, int64_t a, int64_t b)
{
    if (array_is_float(x))
        return array_get_f64(x, a) > array_get_f64(x, b) || isnan(array_get_f64(x, a));
    if (x->kind == ARRAY_U64) return (uint64_t)array_get_i64(x, a) > (uint64_t)array_get_i64(x, b);
    return array_get_i64(x, a) > array_get_i64(x, b);
}

/* The offset of the maximum of a window relative to the channel, the first one if there are
 * several; -1 if the whole window is on padding. */
static int64_t window_max(const OnnxWindow *w, const Array *x, int64_t channel, int64_t position)
{
    int64_t best = -1;
    for (int64_t tap = 0; tap < w->taps; tap++) {
        int64_t at = window_offset(&w->g, position, tap);
        if (at >= 0 && (best < 0 || is_greater(x, channel + at, channel + best))) best = at;
    }
    return best;
}

/* Number of an element when the last dimensions are stored column by column. */
static int64_t column_major(const OnnxWindow *w, int64_t at)
{
    int64_t out = 0, stride = w->in_count;
    for (uint32_t i = w->g.spatial; i-- > 0; at /= w->g.in[i]) {
        stride /= w->g.in[i];
        out += at % w->g.in[i] * stride;
    }
    return out;
}

bool onnx_eval_max_pool(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    bool by_column = onnx_int(e->op, "storage_order", 0) == 1;
    bool has_places = e->op->result_count > 1;
    OnnxWindow w;
    if (!window_init(e, &w, onnx_pool_geometry)) return false;
    bool orders = has_places && value_has_uses(op_result(e->op, 1)) && array_is_float(x);
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        int64_t channel = i / w.out_count * w.in_count;
        int64_t at = window_max(&w, x, channel, i % w.out_count);
        if (at < 0) return onnx_why(e->why, "a window lies wholly in the padding");
        if (orders && isnan(array_get_f64(x, channel + at))) return onnx_why(e->why, "orders NaN");
        array_copy(e->results[0], i, x, channel + at);
        if (has_places)
            array_set_i64(e->results[1], i, channel + (by_column ? column_major(&w, at) : at));
    }
    return true;
}

/* Taps of a window that lie in the padded input: with ceil_mode the last may reach past it. */
static int64_t taps_in_padded(const ConvGeometry *g, int64_t position)
{
    int64_t count = 1;
    for (uint32_t i = g->spatial; i-- > 0; position /= g->out[i]) {
        int64_t start = position % g->out[i] * g->stride[i] - g->low[i], inside = 0;
        for (int64_t k = 0; k < g->kernel[i]; k++)
            inside += start + k * g->dilation[i] < g->in[i] + g->high[i];
        count *= inside;
    }
    return count;
}

bool onnx_eval_average_pool(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    bool with_padding = onnx_int(e->op, "count_include_pad", 0) != 0;
    OnnxWindow w;
    if (!window_init(e, &w, onnx_pool_geometry)) return false;
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        double sum = 0.0;
        int64_t inside = 0;
        for (int64_t tap = 0; tap < w.taps; tap++) {
            int64_t at = window_offset(&w.g, i % w.out_count, tap);
            inside += at >= 0;
            sum += at >= 0 ? array_get_f64(x, i / w.out_count * w.in_count + at) : 0.0;
            onnx_round_partials(e->results[0], &sum, 1);
        }
        int64_t count = with_padding ? taps_in_padded(&w.g, i % w.out_count) : inside;
        array_set_f64(e->results[0], i, sum / (double)count);
    }
    return true;
}

bool onnx_eval_global_pool(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    Array *y = e->results[0];
    int64_t inner = onnx_dims_product(onnx_array_dims(x), 2, onnx_array_rank(x));
    bool is_max = e->op->def == ONNX(GLOBAL_MAX_POOL);
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0.0;
        int64_t best = i * inner;
        for (int64_t k = i * inner; k < (i + 1) * inner; k++) {
            best = is_max && is_greater(x, k, best) ? k : best;
            sum += is_max ? 0.0 : array_get_f64(x, k);
            onnx_round_partials(y, &sum, 1);
        }
        if (is_max)
            array_copy(y, i, x, best);
        else
            array_set_f64(y, i, sum / (double)inner);
    }
    return true;
}
