/* Evaluators of onnx operators that compare or follow positions: CumSum, Trilu, GatherElements,
 * OneHot.
 * Tests: test/e2e/onnx_cases.py */
#include "dialects/onnx/internal.h"

/* The sums of one line of `count` elements from `first` on, `step` apart. */
static void sum_line(const Eval *e, const Array *x, int64_t first, int64_t step, int64_t count)
{
    bool exclusive = onnx_int(e->op, "exclusive", 0) != 0;
    bool reverse = onnx_int(e->op, "reverse", 0) != 0;
    Array *y = e->results[0];
    double real = 0.0;
    uint64_t whole = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first + (reverse ? count - 1 - i : i) * step;
        double own = array_is_float(x) ? array_get_f64(x, at) : 0.0;
        uint64_t integer = array_is_float(x) ? 0 : (uint64_t)array_get_i64(x, at);
        double sum = exclusive ? real : real + own;
        if (array_is_float(x))
            array_set_f64(y, at, sum);
        else
            array_set_i64(y, at, (int64_t)(exclusive ? whole : whole + integer));
        real += own;
        whole += integer;
    }
}

bool onnx_eval_cum_sum(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    const int64_t *dims = onnx_array_dims(x);
    uint32_t axis, rank = onnx_array_rank(x);
    if (!onnx_eval_axis(e, array_get_i64(onnx_eval_input(e, 1), 0), rank, &axis)) return false;
    int64_t step = onnx_dims_product(dims, axis + 1, rank), count = dims[axis];
    for (int64_t i = 0; count > 0 && i < x->count / count; i++)
        sum_line(e, x, i / step * step * count + i % step, step, count);
    return true;
}

bool onnx_eval_trilu(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *diagonal = onnx_eval_input(e, 1);
    const int64_t *dims = onnx_array_dims(x);
    uint32_t rank = onnx_array_rank(x);
    int64_t rows = dims[rank - 2], columns = dims[rank - 1];
    int64_t k = diagonal ? array_get_i64(diagonal, 0) : 0;
    bool upper = onnx_int(e->op, "upper", 1) != 0;
    k = k < -rows ? -rows : k > columns ? columns : k; /* beyond these nothing changes */
    for (int64_t i = 0; i < x->count; i++) {
        int64_t off = i % columns - i / columns % rows;
        if (upper ? off >= k : off <= k) array_copy(e->results[0], i, x, i);
    }
    return true;
}

bool onnx_eval_gather_elements(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *indices = onnx_eval_input(e, 1);
    uint32_t axis, rank = onnx_array_rank(x);
    int64_t strides[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
    OnnxWalk walk;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 0), rank, &axis)) return false;
    onnx_dims_strides(onnx_array_dims(x), rank, strides);
    for (uint32_t d = 0; d < rank; d++) steps[d] = d == axis ? 0 : strides[d];
    onnx_walk_init(&walk, onnx_array_dims(indices), rank);
    onnx_walk_strided(&walk, steps, 0);
    int64_t extent = onnx_array_dims(x)[axis];
    for (int64_t i = 0; i < indices->count; i++, onnx_walk_next(&walk)) {
        int64_t index = array_get_i64(indices, i);
        index = index < 0 ? index + extent : index;
        if (index < 0 || index >= extent) return onnx_why(e->why, "an index is out of range");
        array_copy(e->results[0], i, x, walk.offset[0] + index * strides[axis]);
    }
    return true;
}

/* An index that is none of 0 to depth - 1, counted from the end where negative, gives no 1. */
bool onnx_eval_one_hot(const Eval *e)
{
    const Array *indices = onnx_eval_input(e, 0), *values = onnx_eval_input(e, 2);
    Array *y = e->results[0];
    uint32_t axis, rank = onnx_array_rank(y);
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", -1), rank, &axis)) return false;
    int64_t inner = onnx_dims_product(onnx_array_dims(y), axis + 1, rank);
    int64_t depth = onnx_array_dims(y)[axis];
    for (int64_t i = 0; i < y->count; i++) {
        int64_t at = i / inner / depth * inner + i % inner;
        int64_t index = array_is_float(indices) ? onnx_to_integer(array_get_f64(indices, at))
                                                : array_get_i64(indices, at);
        bool is_negative = index < 0 && indices->kind != ARRAY_U64;
        bool is_hot = (is_negative ? index + depth : index) == i / inner % depth;
        array_copy(y, i, values, is_hot);
    }
    return true;
}
