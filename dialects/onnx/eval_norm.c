/* Evaluators of onnx normalizations and softmax.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/onnx/internal.h"

/* Mean and variance (of the population) of `count` elements from `first` on, `step` apart. */
static void moments(const Array *x, int64_t first, int64_t step, int64_t count, double *mean,
                    double *variance)
{
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) {
        sum += array_get_f64(x, first + i * step);
        onnx_round_partials(x, &sum, 1);
    }
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double d = array_get_f64(x, first + i * step) - *mean;
        squares += d * d;
        onnx_round_partials(x, &squares, 1);
    }
    *variance = squares / (double)count;
}

/* Statistics of one channel over the batch and all positions. */
static void channel_moments(const Array *x, int64_t channel, double *mean, double *variance)
{
    const int64_t *dims = onnx_array_dims(x);
    int64_t inner = onnx_dims_product(dims, 2, onnx_array_rank(x)), count = dims[0] * inner;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) {
        sum += array_get_f64(x, (i / inner * dims[1] + channel) * inner + i % inner);
        onnx_round_partials(x, &sum, 1);
    }
    *mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        double d = array_get_f64(x, (i / inner * dims[1] + channel) * inner + i % inner) - *mean;
        squares += d * d;
        onnx_round_partials(x, &squares, 1);
    }
    *variance = squares / (double)count;
}

static void running(const Eval *e, uint32_t result, int64_t channel, double old, double now)
{
    double momentum = onnx_float(e->op, "momentum", 0.9);
    if (result < e->op->result_count)
        array_set_f64(e->results[result], channel, old * momentum + now * (1.0 - momentum));
}

bool onnx_eval_batch_norm(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1),
                *bias = onnx_eval_input(e, 2);
    const int64_t *dims = onnx_array_dims(x);
    int64_t inner = onnx_dims_product(dims, 2, onnx_array_rank(x));
    int64_t channels = onnx_array_rank(x) > 1 ? dims[1] : 1;
    double epsilon = onnx_float(e->op, "epsilon", 1e-5);
    bool trains = onnx_int(e->op, "training_mode", 0) != 0;
    for (int64_t c = 0; c < channels; c++) {
        double mean = array_get_f64(onnx_eval_input(e, 3), c), now = mean;
        double variance = array_get_f64(onnx_eval_input(e, 4), c), spread = variance;
        if (trains) channel_moments(x, c, &now, &spread);
        running(e, 1, c, mean, now);
        running(e, 2, c, variance, spread);
        double factor = array_get_f64(scale, c), deviation = sqrt(spread + epsilon);
        for (int64_t i = 0; i < x->count / channels; i++) {
            int64_t at = (i / inner * channels + c) * inner + i % inner;
            double centered = array_get_f64(x, at) - now;
            array_set_f64(e->results[0], at,
                          factor * centered / deviation + array_get_f64(bias, c));
        }
    }
    return true;
}

bool onnx_eval_instance_norm(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1),
                *bias = onnx_eval_input(e, 2);
    int64_t inner = onnx_dims_product(onnx_array_dims(x), 2, onnx_array_rank(x)),
            channels = onnx_array_dims(x)[1];
    double epsilon = onnx_float(e->op, "epsilon", 1e-5);
    for (int64_t i = 0; i < onnx_array_dims(x)[0] * channels; i++) {
        double mean, variance;
        moments(x, i * inner, 1, inner, &mean, &variance);
        double factor = array_get_f64(scale, i % channels) / sqrt(variance + epsilon);
        for (int64_t k = i * inner; k < (i + 1) * inner; k++)
            array_set_f64(e->results[0], k,
                          factor * (array_get_f64(x, k) - mean) +
                              array_get_f64(bias, i % channels));
    }
    return true;
}

/* The groups of channels are rows of a matrix, each with a mean and variance of its own. */
bool onnx_eval_group_norm(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1),
                *bias = onnx_eval_input(e, 2);
    const int64_t *dims = onnx_array_dims(x);
    int64_t inner = onnx_dims_product(dims, 2, onnx_array_rank(x));
    int64_t rows; /* where it overflows there are no channels */
    if (!i64_mul(dims[0], onnx_int(e->op, "num_groups", 1), &rows)) rows = 0;
    int64_t length = rows > 0 ? x->count / rows : 0;
    double epsilon = onnx_float(e->op, "epsilon", 1e-5);
    for (int64_t row = 0; row < rows && length > 0; row++) {
        double mean, variance;
        moments(x, row * length, 1, length, &mean, &variance);
        double inverse = 1.0 / sqrt(variance + epsilon);
        for (int64_t k = row * length; k < (row + 1) * length; k++) {
            int64_t channel = k / inner % dims[1];
            double y = (array_get_f64(x, k) - mean) * inverse;
            array_set_f64(e->results[0], k,
                          y * array_get_f64(scale, channel) + array_get_f64(bias, channel));
        }
    }
    return true;
}

/* x / (bias + alpha / size * sum of squares of `size` neighbouring channels)^beta */
bool onnx_eval_lrn(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    const int64_t *dims = onnx_array_dims(x);
    int64_t inner = onnx_dims_product(dims, 2, onnx_array_rank(x));
    int64_t size = onnx_int(e->op, "size", 1), low = (size - 1) / 2, high = size - 1 - low;
    double alpha = onnx_float(e->op, "alpha", 1e-4), beta = onnx_float(e->op, "beta", 0.75);
    double bias = onnx_float(e->op, "bias", 1.0);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t channel = i / inner % dims[1];
        int64_t first = channel > low ? channel - low : 0;
        int64_t last = channel + high < dims[1] ? channel + high : dims[1] - 1;
        double squares = 0.0, own = array_get_f64(x, i);
        for (int64_t c = first; c <= last; c++) {
            double other = array_get_f64(x, i + (c - channel) * inner);
            squares = array_round(x->elem, squares + array_round(x->elem, other * other));
        }
        array_set_f64(e->results[0], i, own / pow(bias + alpha / (double)size * squares, beta));
    }
    return true;
}

/* Elements first to first + count of the result; the walk is there. */
static void normalize_row(const Eval *e, OnnxWalk *walk, int64_t first, int64_t count, double mean,
                          double inverse)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1),
                *bias = onnx_eval_input(e, 2);
    for (int64_t k = first; k < first + count; k++, onnx_walk_next(walk)) {
        double y = (array_get_f64(x, k) - mean) * inverse * array_get_f64(scale, walk->offset[0]);
        array_set_f64(e->results[0], k, bias ? y + array_get_f64(bias, walk->offset[1]) : y);
    }
}

bool onnx_eval_layer_norm(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *scale = onnx_eval_input(e, 1),
                *bias = onnx_eval_input(e, 2);
    double epsilon = onnx_float(e->op, "epsilon", 1e-5);
    bool is_rms = e->op->def == ONNX(RMS_NORMALIZATION); /* the mean is not subtracted */
    uint32_t axis, rank = onnx_array_rank(x);
    const int64_t *dims = onnx_array_dims(x);
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", -1), rank, &axis)) return false;
    int64_t rows = onnx_dims_product(dims, 0, axis), inner = onnx_dims_product(dims, axis, rank);
    OnnxWalk walk;
    onnx_walk_init(&walk, dims, rank);
    onnx_walk_broadcast(&walk, onnx_array_dims(scale), onnx_array_rank(scale));
    if (bias) onnx_walk_broadcast(&walk, onnx_array_dims(bias), onnx_array_rank(bias));
    for (int64_t row = 0; row < rows; row++) {
        double mean, variance;
        moments(x, row * inner, 1, inner, &mean, &variance);
        if (is_rms) {
            variance += mean * mean;
            mean = 0.0;
        }
        double inverse = 1.0 / sqrt(variance + epsilon);
        normalize_row(e, &walk, row * inner, inner, mean, inverse);
        if (e->op->result_count > 1) array_set_f64(e->results[1], row, mean);
        if (e->op->result_count > 2) array_set_f64(e->results[2], row, inverse);
    }
    return true;
}

static void softmax_line(const Eval *e, const Array *x, int64_t first, int64_t step, int64_t count)
{
    bool is_log = e->op->def == ONNX(LOG_SOFTMAX);
    double top = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < count; i++) top = fmax(top, array_get_f64(x, first + i * step));
    for (int64_t i = 0; i < count; i++) {
        sum += exp(array_get_f64(x, first + i * step) - top);
        onnx_round_partials(e->results[0], &sum, 1);
    }
    for (int64_t i = 0; i < count; i++) {
        double d = array_get_f64(x, first + i * step) - top;
        array_set_f64(e->results[0], first + i * step, is_log ? d - log(sum) : exp(d) / sum);
    }
}

bool onnx_eval_softmax(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    const int64_t *dims = onnx_array_dims(x);
    uint32_t axis, rank = onnx_array_rank(x);
    if (rank == 0) {
        softmax_line(e, x, 0, 1, 1);
        return true;
    }
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", -1), rank, &axis)) return false;
    int64_t step = onnx_dims_product(dims, axis + 1, rank), count = dims[axis];
    for (int64_t i = 0; count > 0 && i < x->count / count; i++)
        softmax_line(e, x, i / step * step * count + i % step, step, count);
    return true;
}
