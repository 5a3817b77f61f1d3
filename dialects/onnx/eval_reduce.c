/* Evaluators of onnx reductions, ArgMax, ArgMin and TopK.
 * Tests: test/e2e/onnx_cases.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/onnx/internal.h"

static double start_value(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_REDUCE_MAX: return -INFINITY;
    case ONNX_REDUCE_MIN: return INFINITY;
    case ONNX_REDUCE_PROD: return 1.0;
    default: return 0.0;
    }
}

static double combine(const Op *op, double sum, double x)
{
    switch (op->def - onnx_ops) {
    case ONNX_REDUCE_L1: return sum + fabs(x);
    case ONNX_REDUCE_L2:
    case ONNX_REDUCE_SUM_SQUARE: return sum + x * x;
    case ONNX_REDUCE_MAX: return isnan(x) || x > sum ? x : sum;
    case ONNX_REDUCE_MIN: return isnan(x) || x < sum ? x : sum;
    case ONNX_REDUCE_PROD: return sum * x;
    default: return sum + x;
    }
}

static double finish(const Op *op, double sum, double count)
{
    switch (op->def - onnx_ops) {
    case ONNX_REDUCE_L2: return sqrt(sum);
    case ONNX_REDUCE_LOG_SUM: return log(sum);
    case ONNX_REDUCE_MEAN: return sum / count;
    default: return sum;
    }
}

/* Marks the reduced dimensions; all of them without a list, unless the node says none. */
static bool find_reduced(const Eval *e, uint32_t rank, bool *reduced)
{
    int64_t axes[EVAL_MAX_LIST];
    size_t count = onnx_eval_list(e, 1, "axes", axes);
    if (count == 0 && onnx_int(e->op, "noop_with_empty_axes", 0) == 0)
        for (uint32_t i = 0; i < rank; i++) reduced[i] = true;
    return onnx_eval_axes(e, axes, count, rank, reduced);
}

/* A walk over x with the offset in the result: stride 0 where x is reduced. */
static OnnxWalk reduction_walk(const Array *x, const bool *reduced)
{
    int64_t strides[ONNX_MAX_RANK], stride = 1;
    for (uint32_t i = onnx_array_rank(x); i-- > 0;) {
        strides[i] = reduced[i] ? 0 : stride;
        stride *= reduced[i] ? 1 : onnx_array_dims(x)[i];
    }
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(x), onnx_array_rank(x));
    onnx_walk_strided(&walk, strides, 0);
    return walk;
}

/* log(sum(exp(x))) without overflow: the largest of each sum is taken out first. */
static void log_sum_exp(const Array *x, OnnxWalk walk, double *sums, int64_t count, const Array *y)
{
    double *top = xmalloc((size_t)count * sizeof *top);
    OnnxWalk again = walk;
    for (int64_t i = 0; i < count; i++) top[i] = -INFINITY;
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk))
        top[walk.offset[0]] = fmax(top[walk.offset[0]], array_get_f64(x, i));
    for (int64_t i = 0; i < count; i++) top[i] = isinf(top[i]) ? 0.0 : top[i];
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&again))
        sums[again.offset[0]] += exp(array_get_f64(x, i) - top[again.offset[0]]);
    onnx_round_partials(y, sums, count);
    for (int64_t i = 0; i < count; i++) sums[i] = log(sums[i]) + top[i];
    free(top);
}

static void reduce_floats(const Eval *e, const Array *x, OnnxWalk walk)
{
    Array *y = e->results[0];
    double *sums = xmalloc((size_t)y->count * sizeof *sums);
    double terms = y->count > 0 ? (double)(x->count / y->count) : 0.0;
    for (int64_t i = 0; i < y->count; i++) sums[i] = start_value(e->op);
    if (e->op->def == ONNX(REDUCE_LOG_SUM_EXP))
        log_sum_exp(x, walk, sums, y->count, y);
    else
        for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk)) {
            double *sum = &sums[walk.offset[0]];
            *sum = combine(e->op, *sum, array_get_f64(x, i));
            onnx_round_partials(y, sum, 1);
        }
    for (int64_t i = 0; i < y->count; i++) array_set_f64(y, i, finish(e->op, sums[i], terms));
    free(sums);
}

static int64_t combine_int(const Op *op, int64_t sum, int64_t x, bool is_first, bool is_unsigned)
{
    bool less = is_unsigned ? (uint64_t)x < (uint64_t)sum : x < sum;
    switch (op->def - onnx_ops) {
    case ONNX_REDUCE_L1:
        return (int64_t)((uint64_t)sum + (x < 0 && !is_unsigned ? 0 - (uint64_t)x : (uint64_t)x));
    case ONNX_REDUCE_L2:
    case ONNX_REDUCE_SUM_SQUARE: return (int64_t)((uint64_t)sum + (uint64_t)x * (uint64_t)x);
    case ONNX_REDUCE_MAX: return is_first || !less ? x : sum;
    case ONNX_REDUCE_MIN: return is_first || less ? x : sum;
    case ONNX_REDUCE_PROD: return is_first ? x : (int64_t)((uint64_t)sum * (uint64_t)x);
    default: return (int64_t)((uint64_t)sum + (uint64_t)x);
    }
}

/* The quotient of integers, whose fraction is cut off. */
static int64_t int_mean(int64_t sum, int64_t terms, bool is_unsigned)
{
    return is_unsigned ? (int64_t)((uint64_t)sum / (uint64_t)terms) : sum / terms;
}

/* Of no elements. */
static int64_t int_neutral(const Op *op, const Type *elem)
{
    uint32_t width = type_width(elem);
    bool is_unsigned = elem->u.integer.sign == UNSIGNED;
    int64_t least = is_unsigned ? 0 : (int64_t)(UINT64_MAX << (width - 1));
    switch (op->def - onnx_ops) {
    case ONNX_REDUCE_MAX: return least;
    case ONNX_REDUCE_MIN: return is_unsigned ? (int64_t)(UINT64_MAX >> (64 - width)) : ~least;
    case ONNX_REDUCE_PROD: return 1;
    default: return 0;
    }
}

static void reduce_integers(const Eval *e, const Array *x, OnnxWalk walk)
{
    Array *y = e->results[0];
    int64_t *sums = xcalloc((size_t)y->count, sizeof *sums);
    bool *seen = xcalloc((size_t)y->count, sizeof *seen);
    const int64_t none = int_neutral(e->op, y->elem);
    int64_t terms = y->count > 0 && x->count > y->count ? x->count / y->count : 1;
    for (int64_t i = 0; i < x->count; i++, onnx_walk_next(&walk)) {
        int64_t at = walk.offset[0];
        sums[at] =
            combine_int(e->op, sums[at], array_get_i64(x, i), !seen[at], x->kind == ARRAY_U64);
        seen[at] = true;
    }
    for (int64_t i = 0; i < y->count; i++) {
        if (!seen[i]) sums[i] = none;
        double sum = x->kind == ARRAY_U64 ? (double)(uint64_t)sums[i] : (double)sums[i];
        double value = finish(e->op, sum, (double)terms);
        bool is_real = e->op->def == ONNX(REDUCE_L2) || e->op->def == ONNX(REDUCE_LOG_SUM);
        if (e->op->def == ONNX(REDUCE_MEAN))
            array_set_i64(y, i, int_mean(sums[i], terms, x->kind == ARRAY_U64));
        else
            array_set_i64(y, i, is_real ? onnx_to_integer(value) : sums[i]);
    }
    free(seen);
    free(sums);
}

bool onnx_eval_reduce(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    bool reduced[ONNX_MAX_RANK] = {false};
    if (!find_reduced(e, onnx_array_rank(x), reduced)) return false;
    OnnxWalk walk = reduction_walk(x, reduced);
    if (array_is_float(x))
        reduce_floats(e, x, walk);
    else
        reduce_integers(e, x, walk);
    return true;
}

/* A line of elements of x along an axis. */
typedef struct Line {
    const Array *x;
    int64_t first, step, count;
} Line;

static Line line_at(const Array *x, uint32_t axis, int64_t number)
{
    int64_t step = onnx_dims_product(onnx_array_dims(x), axis + 1, onnx_array_rank(x));
    int64_t count = onnx_array_dims(x)[axis];
    return (Line){x, number / step * step * count + number % step, step, count};
}

/* -1, 0 or 1 as element i of the line is less than, equal to, or greater than element j. */
static int line_order(const Line *line, int64_t i, int64_t j)
{
    int64_t at = line->first + i * line->step, other = line->first + j * line->step;
    if (array_is_float(line->x)) {
        double a = array_get_f64(line->x, at), b = array_get_f64(line->x, other);
        return (a > b) - (a < b);
    }
    int64_t a = array_get_i64(line->x, at), b = array_get_i64(line->x, other);
    if (line->x->kind == ARRAY_U64)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

/* NaN has no place in the order, and the operators say nothing of it. False: why tells. */
static bool check_order(const Eval *e, const Array *x)
{
    for (int64_t i = 0; array_is_float(x) && i < x->count; i++)
        if (isnan(array_get_f64(x, i))) return onnx_why(e->why, "orders NaN");
    return true;
}

bool onnx_eval_arg(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    uint32_t axis;
    if (!check_order(e, x)) return false;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 0), onnx_array_rank(x), &axis)) return false;
    int wanted = e->op->def == ONNX(ARG_MAX) ? 1 : -1;
    bool last = onnx_int(e->op, "select_last_index", 0) != 0;
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        Line line = line_at(x, axis, i);
        int64_t best = 0;
        for (int64_t k = 1; k < line.count; k++) {
            int o = line_order(&line, k, best);
            best = o == wanted || (o == 0 && last) ? k : best;
        }
        array_set_i64(e->results[0], i, best);
    }
    return true;
}

/* Sorts the indices of a line, best first, equal ones by index: a merge sort from short runs up. */
static void sort_line(const Line *line, int wanted, int64_t *order, int64_t *spare)
{
    for (int64_t i = 0; i < line->count; i++) order[i] = i;
    for (int64_t run = 1; run < line->count; run *= 2) {
        for (int64_t begin = 0; begin < line->count; begin += 2 * run) {
            int64_t middle = begin + run < line->count ? begin + run : line->count;
            int64_t end = middle + run < line->count ? middle + run : line->count;
            int64_t a = begin, b = middle;
            for (int64_t k = begin; k < end; k++) {
                bool second =
                    a == middle || (b < end && line_order(line, order[b], order[a]) == wanted);
                spare[k] = second ? order[b++] : order[a++];
            }
        }
        for (int64_t i = 0; i < line->count; i++) order[i] = spare[i];
    }
}

bool onnx_eval_top_k(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    Array *values = e->results[0], *indices = e->results[1];
    uint32_t axis;
    if (!check_order(e, x)) return false;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", -1), onnx_array_rank(x), &axis)) return false;
    int64_t count = onnx_array_dims(x)[axis], k = onnx_array_dims(values)[axis];
    int wanted = onnx_int(e->op, "largest", 1) != 0 ? 1 : -1;
    int64_t *order = xmalloc((size_t)count * 2 * sizeof *order);
    for (int64_t i = 0; k > 0 && i < values->count / k; i++) {
        Line from = line_at(x, axis, i), to = line_at(values, axis, i);
        sort_line(&from, wanted, order, order + count);
        for (int64_t j = 0; j < k; j++) {
            int64_t at = to.first + j * to.step;
            array_copy(values, at, x, from.first + order[j] * from.step);
            array_set_i64(indices, at, order[j]);
        }
    }
    free(order);
    return true;
}
