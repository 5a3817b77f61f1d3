/* Evaluators of onnx operators that move elements or compute shapes.
 * Tests: test/e2e/onnx_cases.py */
#include <string.h>

#include "dialects/onnx/internal.h"

static bool copy_all(const Eval *e, const Array *x, Array *y)
{
    if (x->count != y->count)
        return onnx_why(e->why, "the result has another number of elements than the input");
    memcpy(y->data, x->data, (size_t)x->count * array_kind_bytes(x->kind));
    return true;
}

bool onnx_eval_copy(const Eval *e)
{
    return copy_all(e, onnx_eval_input(e, 0), e->results[0]);
}

bool onnx_eval_dropout(const Eval *e)
{
    const Array *ratio = onnx_eval_input(e, 1), *training = onnx_eval_input(e, 2);
    bool trains = training && array_get_i64(training, 0) != 0;
    if (trains && (!ratio || array_get_f64(ratio, 0) != 0.0))
        return onnx_why(e->why, "drops elements at random, which only training does");
    for (int64_t i = 0; e->op->result_count > 1 && i < e->results[1]->count; i++)
        array_set_i64(e->results[1], i, 1);
    return onnx_eval_copy(e);
}

bool onnx_eval_constant(const Eval *e)
{
    Array *value = array_from_attr(onnx_constant(op_result(e->op, 0)));
    bool done = value && copy_all(e, value, e->results[0]);
    array_unref(value);
    return done;
}

bool onnx_eval_constant_of_shape(const Eval *e)
{
    const Attr *attr = op_attr(e->op, "value");
    Array *value = attr ? array_from_attr(attr) : NULL;
    for (int64_t i = 0; value && i < e->results[0]->count; i++)
        array_copy(e->results[0], i, value, 0);
    array_unref(value);
    return true;
}

bool onnx_eval_range(const Eval *e)
{
    const Array *start = onnx_eval_input(e, 0), *step = onnx_eval_input(e, 2);
    Array *y = e->results[0];
    for (int64_t i = 0; i < y->count; i++) {
        if (array_is_float(y))
            array_set_f64(y, i, array_get_f64(start, 0) + (double)i * array_get_f64(step, 0));
        else
            array_set_i64(y, i, array_get_i64(start, 0) + i * array_get_i64(step, 0));
    }
    return true;
}

bool onnx_eval_shape(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    int64_t rank = onnx_array_rank(x), start = onnx_int(e->op, "start", 0);
    start = start < 0 ? start + rank : start;
    start = start < 0 ? 0 : start;
    for (int64_t i = 0; i < e->results[0]->count && start + i < rank; i++)
        array_set_i64(e->results[0], i, onnx_array_dims(x)[start + i]);
    return true;
}

bool onnx_eval_size(const Eval *e)
{
    array_set_i64(e->results[0], 0, onnx_eval_input(e, 0)->count);
    return true;
}

/* result[i0, i1, ..] = x at the sum of i_k times the stride of dimension perm[k] of a view of x. */
static void permute(const Array *x, const int64_t *view, const uint32_t *perm, uint32_t rank,
                    Array *y)
{
    int64_t strides[ONNX_MAX_RANK], dims[ONNX_MAX_RANK], moved[ONNX_MAX_RANK];
    OnnxWalk walk;
    onnx_dims_strides(view, rank, strides);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = view[perm[i]];
        moved[i] = strides[perm[i]];
    }
    onnx_walk_init(&walk, dims, rank);
    onnx_walk_strided(&walk, moved, 0);
    onnx_eval_gather(y, x, &walk);
}

bool onnx_eval_transpose(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    uint32_t rank = onnx_array_rank(x), perm[ONNX_MAX_RANK];
    int64_t list[EVAL_MAX_LIST];
    bool given = onnx_eval_list(e, NO_OPERAND, "perm", list) > 0;
    for (uint32_t i = 0; i < rank; i++) perm[i] = given ? (uint32_t)list[i] : rank - 1 - i;
    permute(x, onnx_array_dims(x), perm, rank, e->results[0]);
    return true;
}

bool onnx_eval_depth_to_space(const Eval *e)
{
    static const uint32_t depth_first[] = {0, 3, 4, 1, 5, 2}, columns_first[] = {0, 1, 4, 2, 5, 3};
    const Array *x = onnx_eval_input(e, 0);
    const int64_t *d = onnx_array_dims(x);
    int64_t block = onnx_int(e->op, "blocksize", 1), depth = d[1] / block / block;
    const int64_t by_depth[] = {d[0], block, block, depth, d[2], d[3]};
    const int64_t by_column[] = {d[0], depth, block, block, d[2], d[3]};
    bool is_crd = onnx_eval_is(e, "mode", "CRD");
    permute(x, is_crd ? by_column : by_depth, is_crd ? columns_first : depth_first, 6,
            e->results[0]);
    return true;
}

bool onnx_eval_space_to_depth(const Eval *e)
{
    static const uint32_t perm[] = {0, 3, 5, 1, 2, 4};
    const Array *x = onnx_eval_input(e, 0);
    const int64_t *d = onnx_array_dims(x);
    int64_t block = onnx_int(e->op, "blocksize", 1);
    const int64_t view[] = {d[0], d[1], d[2] / block, block, d[3] / block, block};
    permute(x, view, perm, 6, e->results[0]);
    return true;
}

/* Copies a box between x, from `offset` on along `axis`, and y; `into` says which way. */
static void copy_part(const Array *part, Array *whole, uint32_t axis, int64_t offset, bool into)
{
    const Array *big = whole;
    int64_t inner = onnx_dims_product(onnx_array_dims(big), axis + 1, onnx_array_rank(big));
    int64_t run = onnx_array_dims(part)[axis] * inner, period = onnx_array_dims(big)[axis] * inner;
    size_t size = array_kind_bytes(part->kind);
    for (int64_t i = 0; run > 0 && i < part->count / run; i++) {
        char *in_part = (char *)part->data + (size_t)(i * run) * size;
        char *in_whole = (char *)whole->data + (size_t)(i * period + offset * inner) * size;
        memcpy(into ? in_whole : in_part, into ? in_part : in_whole, (size_t)run * size);
    }
}

bool onnx_eval_concat(const Eval *e)
{
    uint32_t axis;
    int64_t offset = 0;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 0), onnx_array_rank(e->results[0]), &axis))
        return false;
    for (uint32_t i = 0; i < e->op->operand_count; i++) {
        copy_part(e->inputs[i], e->results[0], axis, offset, true);
        offset += onnx_array_dims(e->inputs[i])[axis];
    }
    return true;
}

bool onnx_eval_split(const Eval *e)
{
    Array *x = onnx_eval_input(e, 0);
    uint32_t axis;
    int64_t offset = 0;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 0), onnx_array_rank(x), &axis)) return false;
    for (uint32_t i = 0; i < e->op->result_count; i++) {
        copy_part(e->results[i], x, axis, offset, false);
        offset += onnx_array_dims(e->results[i])[axis];
    }
    return offset == onnx_array_dims(x)[axis] || onnx_why(e->why, "the parts do not add up");
}

/* A step within the dimension, or one that leaves it at once. */
static int64_t slice_step(int64_t step, int64_t dim)
{
    return step > dim ? dim : step < -dim ? -dim : step;
}

/* First index along one dimension; one that a negative step begins with is in it. */
static int64_t slice_start(int64_t start, int64_t step, int64_t dim)
{
    start = start < 0 ? start + dim : start;
    int64_t high = step < 0 ? dim - 1 : dim;
    return start < 0 ? 0 : start > high ? high : start;
}

bool onnx_eval_slice(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    uint32_t rank = onnx_array_rank(x);
    int64_t starts[EVAL_MAX_LIST], axes[EVAL_MAX_LIST], steps[EVAL_MAX_LIST];
    int64_t strides[ONNX_MAX_RANK], offset = 0;
    size_t count = onnx_eval_list(e, 1, NULL, starts);
    size_t axis_count = onnx_eval_list(e, 3, NULL, axes),
           step_count = onnx_eval_list(e, 4, NULL, steps);
    onnx_dims_strides(onnx_array_dims(x), rank, strides);
    for (size_t i = 0; i < count; i++) {
        uint32_t axis;
        if (!onnx_eval_axis(e, i < axis_count ? axes[i] : (int64_t)i, rank, &axis)) return false;
        int64_t step = i < step_count ? steps[i] : 1;
        offset += slice_start(starts[i], step, onnx_array_dims(x)[axis]) * strides[axis];
        strides[axis] *= slice_step(step, onnx_array_dims(x)[axis]);
    }
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(e->results[0]), rank);
    onnx_walk_strided(&walk, strides, offset);
    onnx_eval_gather(e->results[0], x, &walk);
    return true;
}

bool onnx_eval_gather_op(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *indices = onnx_eval_input(e, 1);
    uint32_t axis;
    if (!onnx_eval_axis(e, onnx_int(e->op, "axis", 0), onnx_array_rank(x), &axis)) return false;
    int64_t extent = onnx_array_dims(x)[axis];
    int64_t inner = onnx_dims_product(onnx_array_dims(x), axis + 1, onnx_array_rank(x));
    for (int64_t i = 0; i < e->results[0]->count; i++) {
        int64_t row = i / inner, outer = row / indices->count;
        int64_t index = array_get_i64(indices, row % indices->count);
        index = index < 0 ? index + extent : index;
        if (index < 0 || index >= extent) return onnx_why(e->why, "an index is out of range");
        array_copy(e->results[0], i, x, (outer * extent + index) * inner + i % inner);
    }
    return true;
}

bool onnx_eval_expand(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    OnnxWalk walk;
    onnx_walk_init(&walk, onnx_array_dims(e->results[0]), onnx_array_rank(e->results[0]));
    onnx_walk_broadcast(&walk, onnx_array_dims(x), onnx_array_rank(x));
    onnx_eval_gather(e->results[0], x, &walk);
    return true;
}

bool onnx_eval_tile(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0);
    uint32_t rank = onnx_array_rank(x);
    int64_t strides[ONNX_MAX_RANK];
    OnnxWalk walk;
    onnx_dims_strides(onnx_array_dims(x), rank, strides);
    onnx_walk_init(&walk, onnx_array_dims(e->results[0]), rank);
    for (int64_t i = 0; i < e->results[0]->count; i++, onnx_walk_next(&walk)) {
        int64_t from = 0;
        for (uint32_t k = 0; k < rank; k++)
            from += walk.index[k] % onnx_array_dims(x)[k] * strides[k];
        array_copy(e->results[0], i, x, from);
    }
    return true;
}

typedef enum PadMode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } PadMode;

/* Index inside [0, extent) that an index of the padded dimension shows; -1 for the constant. */
static int64_t padded_index(PadMode mode, int64_t index, int64_t extent)
{
    if (index >= 0 && index < extent) return index;
    if (mode == PAD_CONSTANT || extent == 0) return -1;
    if (mode == PAD_EDGE) return index < 0 ? 0 : extent - 1;
    int64_t period = mode == PAD_WRAP || extent == 1 ? extent : 2 * (extent - 1);
    index = (index % period + period) % period;
    return index < extent ? index : period - index;
}

static PadMode pad_mode(const Eval *e)
{
    return onnx_eval_is(e, "mode", "edge")      ? PAD_EDGE
           : onnx_eval_is(e, "mode", "reflect") ? PAD_REFLECT
           : onnx_eval_is(e, "mode", "wrap")    ? PAD_WRAP
                                                : PAD_CONSTANT;
}

bool onnx_eval_pad(const Eval *e)
{
    const Array *x = onnx_eval_input(e, 0), *value = onnx_eval_input(e, 2);
    uint32_t rank = onnx_array_rank(x), axis;
    int64_t pads[EVAL_MAX_LIST] = {0}, axes[EVAL_MAX_LIST];
    int64_t low[ONNX_MAX_RANK] = {0}, strides[ONNX_MAX_RANK];
    size_t count = onnx_eval_list(e, 1, NULL, pads) / 2,
           axis_count = onnx_eval_list(e, 3, NULL, axes);
    for (size_t i = 0; i < count; i++) {
        if (!onnx_eval_axis(e, i < axis_count ? axes[i] : (int64_t)i, rank, &axis)) return false;
        low[axis] = pads[i];
    }
    OnnxWalk walk;
    onnx_dims_strides(onnx_array_dims(x), rank, strides);
    onnx_walk_init(&walk, onnx_array_dims(e->results[0]), rank);
    for (int64_t i = 0; i < e->results[0]->count; i++, onnx_walk_next(&walk)) {
        int64_t from = 0;
        for (uint32_t k = 0; k < rank && from >= 0; k++) {
            int64_t at = padded_index(pad_mode(e), walk.index[k] - low[k], onnx_array_dims(x)[k]);
            from = at < 0 ? -1 : from + at * strides[k];
        }
        if (from >= 0)
            array_copy(e->results[0], i, x, from);
        else if (value)
            array_copy(e->results[0], i, value, 0);
    }
    return true;
}
