/* Result types of ops that give the same elements another shape or another order, and of ops that
 * create tensors.
 * Tests: lit/dialects/onnx/invalid-shape.mir, lit/passes/onnx/onnx-infer-shapes-shape.mir */
#include "dialects/onnx/internal.h"

bool onnx_infer_constant(const Op *op, const Type **results, StrBuf *why)
{
    static const char *const forms[] = {"value", "value_float", "value_floats", "value_int",
                                        "value_ints"};
    size_t given = 0;
    for (size_t i = 0; i < COUNT_OF(forms); i++) given += op_attr(op, forms[i]) != NULL;
    if (given != 1) return onnx_why(why, "needs exactly one attribute that gives its value");
    results[0] = onnx_constant(op_result(op, 0))->type;
    return true;
}

bool onnx_infer_no_value(const Op *op, const Type **results, StrBuf *why)
{
    (void)why;
    results[0] = type_none(op->ctx);
    return true;
}

/* A tensor whose shape operand `index` holds; unranked while that is unknown. */
static bool infer_of_extents(const Op *op, uint32_t index, const Type *elem, const Type **results,
                             StrBuf *why)
{
    OnnxShape shape;
    OnnxKnown known = onnx_read_ints(op, index, &shape, why);
    results[0] = type_unranked_tensor(elem);
    if (known != KNOWN) return known == UNKNOWN;
    for (uint32_t i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0)
            return onnx_why(why, "'%s' has the extent %lld", onnx_operand_name(op, index),
                            (long long)shape.dims[i]);
    return onnx_make_tensor(elem, &shape, &results[0], why);
}

bool onnx_infer_constant_of_shape(const Op *op, const Type **results, StrBuf *why)
{
    const Attr *value = op_attr(op, "value");
    int64_t count;
    if (value && (!type_element_count(value->type, &count) || count != 1))
        return onnx_why(why, "attribute 'value' must have one element");
    return infer_of_extents(op, 0, value ? type_elem(value->type) : type_float(op->ctx, TYPE_F32),
                            results, why);
}

/* max(0, ceil((limit - start) / delta)) of constants; false: not representable. */
static bool range_count(const Attr *start, const Attr *limit, const Attr *delta, int64_t *out)
{
    if (type_is_float(type_elem(start->type))) {
        double steps = (dense_f64(limit, 0) - dense_f64(start, 0)) / dense_f64(delta, 0);
        if (!(steps < (double)ONNX_MAX_ELEMENTS)) /* NaN too */
            return false;
        *out = steps > 0 ? (int64_t)steps : 0;
        *out += steps > (double)*out;
        return true;
    }
    int64_t from = dense_i64(start, 0), to = dense_i64(limit, 0), span;
    *out = 0;
    if (dense_i64(delta, 0) > 0 ? to <= from : to >= from) return true;
    return i64_add(to, ~from, &span) && i64_add(span, 1, &span) && /* ~x is -x - 1 */
           i64_ceildiv(span, dense_i64(delta, 0), out);
}

bool onnx_infer_range(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 0));
    const Attr *values[3];
    bool known = true;
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why)) return false;
    for (uint32_t i = 0; i < 3; i++) {
        if (!onnx_check_elem_is(op, i, elem, why) || !onnx_check_scalar(op, i, why)) return false;
        values[i] = onnx_constant(onnx_operand(op, i));
        known = known && values[i];
    }
    results[0] = type_unranked_tensor(elem);
    if (!known) return true;
    if (type_is_float(elem) ? dense_f64(values[2], 0) == 0 : dense_i64(values[2], 0) == 0)
        return onnx_why(why, "'delta' must not be 0");
    OnnxShape shape = {.rank = 1};
    if (!range_count(values[0], values[1], values[2], &shape.dims[0]))
        return onnx_why(why, "the result has too many elements");
    return onnx_make_tensor(elem, &shape, &results[0], why);
}

/* Clamps a bound of Shape to 0 .. rank. */
static int64_t clamp_bound(int64_t bound, int64_t rank)
{
    bound = bound < 0 ? bound + rank : bound;
    return bound < 0 ? 0 : bound > rank ? rank : bound;
}

void onnx_shape_bounds(const Op *op, uint32_t *start, uint32_t *end)
{
    int64_t rank = onnx_type(op, 0)->u.shaped.rank;
    *start = (uint32_t)clamp_bound(onnx_int(op, "start", 0), rank);
    *end = (uint32_t)clamp_bound(onnx_int(op, "end", rank), rank);
    if (*end < *start) *end = *start;
}

bool onnx_infer_shape_op(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_i(op->ctx, 64);
    uint32_t start, end;
    results[0] = type_unranked_tensor(elem);
    if (!type_is_static(onnx_type(op, 0))) return true;
    onnx_shape_bounds(op, &start, &end);
    OnnxShape shape = {1, {end - start}};
    return onnx_make_tensor(elem, &shape, &results[0], why);
}

bool onnx_infer_size(const Op *op, const Type **results, StrBuf *why)
{
    (void)why;
    results[0] = type_tensor(type_i(op->ctx, 64), NULL, 0, NULL);
    return true;
}

bool onnx_infer_flatten(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, out = {2, {1, 1}};
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    int64_t axis = onnx_int(op, "axis", 1);
    if (axis < -(int64_t)in.rank || axis > in.rank)
        return onnx_why(why, "attribute 'axis' is %lld, out of range for rank %u", (long long)axis,
                        in.rank);
    axis = axis < 0 ? axis + in.rank : axis;
    for (uint32_t i = 0; i < in.rank; i++) out.dims[i >= axis] *= in.dims[i];
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

/* Replaces 0 and -1 by the extents that they mean. */
static bool resolve_shape(const OnnxShape *in, bool allow_zero, OnnxShape *io, StrBuf *why)
{
    uint32_t open = UINT32_MAX;
    int64_t rest = 1, total = 1;
    for (uint32_t i = 0; i < in->rank; i++) total *= in->dims[i]; /* the input's type was checked */
    for (uint32_t i = 0; i < io->rank; i++) {
        int64_t dim = io->dims[i];
        if (dim < -1 || (dim == -1 && open != UINT32_MAX))
            return onnx_why(why, "'shape' has %s", dim < -1 ? "a negative extent" : "-1 twice");
        if (dim == 0 && !allow_zero && i >= in->rank)
            return onnx_why(why, "'shape' has 0 for dimension %u, which the input has not", i);
        if (dim == 0 && !allow_zero) io->dims[i] = in->dims[i];
        if (dim == -1)
            open = i;
        else if (!i64_mul(rest, io->dims[i], &rest))
            return onnx_why(why, "the result has too many elements");
    }
    if (open != UINT32_MAX) io->dims[open] = rest ? total / rest : 0;
    if (rest * (open == UINT32_MAX ? 1 : io->dims[open]) == total) return true;
    return onnx_why(why, "%lld elements do not fit the new shape", (long long)total);
}

bool onnx_infer_reshape(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, out;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known == WRONG || !onnx_check_flag(op, "allowzero", why)) return false;
    OnnxKnown values = onnx_read_ints(op, 1, &out, why);
    if (known == UNKNOWN || values != KNOWN) return values != WRONG;
    return resolve_shape(&in, onnx_int(op, "allowzero", 0) == 1, &out, why) &&
           onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

bool onnx_infer_squeeze(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, axes, out = {.rank = 0};
    bool drop[ONNX_MAX_RANK] = {false};
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    OnnxKnown values = KNOWN;
    if (onnx_operand(op, 1))
        values = onnx_read_axes(op, 1, in.rank, &axes, why);
    else
        axes.rank = 0;
    if (values != KNOWN) return values == UNKNOWN;
    for (uint32_t i = 0; i < axes.rank; i++) drop[axes.dims[i]] = true;
    for (uint32_t i = 0; i < in.rank; i++) {
        if (drop[i] && in.dims[i] != 1)
            return onnx_why(why, "dimension %u has extent %lld and cannot be squeezed", i,
                            (long long)in.dims[i]);
        if (!drop[i] && (onnx_operand(op, 1) || in.dims[i] != 1)) out.dims[out.rank++] = in.dims[i];
    }
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

bool onnx_infer_unsqueeze(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, axes, out = {.rank = 0};
    bool added[ONNX_MAX_RANK] = {false};
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    OnnxKnown values = onnx_read_ints(op, 1, &axes, why); /* how many there are */
    if (values != KNOWN) return values == UNKNOWN;
    out.rank = in.rank + axes.rank;
    if (out.rank > ONNX_MAX_RANK)
        return onnx_why(why, "the result has rank %u; up to %d is supported", out.rank,
                        ONNX_MAX_RANK);
    if (onnx_read_axes(op, 1, out.rank, &axes, why) != KNOWN) return false;
    for (uint32_t i = 0; i < axes.rank; i++) added[axes.dims[i]] = true;
    for (uint32_t i = 0, from = 0; i < out.rank; i++) out.dims[i] = added[i] ? 1 : in.dims[from++];
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

bool onnx_transpose_perm(const Op *op, int64_t *perm, StrBuf *why)
{
    uint32_t rank = onnx_type(op, 0)->u.shaped.rank;
    bool seen[ONNX_MAX_RANK] = {false};
    if (!op_attr(op, "perm")) {
        for (uint32_t i = 0; i < rank; i++) perm[i] = rank - 1 - i;
        return true;
    }
    if (!onnx_read_list(op, "perm", rank, 0, 0, perm, why)) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (perm[i] >= rank || seen[perm[i]])
            return onnx_why(why, "attribute 'perm' is no permutation of the dimensions");
        seen[perm[i]] = true;
    }
    return true;
}

bool onnx_infer_transpose(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, out;
    int64_t perm[ONNX_MAX_RANK];
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    if (!onnx_transpose_perm(op, perm, why)) return false;
    out.rank = in.rank;
    for (uint32_t i = 0; i < in.rank; i++) out.dims[i] = in.dims[perm[i]];
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

/* The input of either block op: (N, C, H, W), and the block's extent. */
static bool begin_blocks(const Op *op, const OnnxShape *in, int64_t *block, StrBuf *why)
{
    *block = onnx_int(op, "blocksize", 0);
    if (in->rank != 4) return onnx_why(why, "the input must be (N, C, H, W)");
    if (*block < 1 || *block > INT32_MAX)
        return onnx_why(why, "attribute 'blocksize' is out of range");
    return true;
}

bool onnx_infer_depth_to_space(const Op *op, const Type **results, StrBuf *why)
{
    static const char *const modes[] = {"DCR", "CRD"};
    OnnxShape in;
    int64_t block;
    size_t mode;
    if (!onnx_check_choice(op, "mode", modes, COUNT_OF(modes), &mode, why)) return false;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    if (!begin_blocks(op, &in, &block, why)) return false;
    if (in.dims[1] % (block * block) != 0)
        return onnx_why(why, "%lld channels are no multiple of a block's %lld",
                        (long long)in.dims[1], (long long)(block * block));
    in.dims[1] /= block * block;
    if (!i64_mul(in.dims[2], block, &in.dims[2]) || !i64_mul(in.dims[3], block, &in.dims[3]))
        return onnx_why(why, "the result has too many elements");
    return onnx_make_tensor(type_elem(results[0]), &in, &results[0], why);
}

bool onnx_infer_space_to_depth(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in;
    int64_t block;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (known != KNOWN) return known == UNKNOWN;
    if (!begin_blocks(op, &in, &block, why)) return false;
    if (in.dims[2] % block != 0 || in.dims[3] % block != 0)
        return onnx_why(why, "the extents %lld and %lld are no multiples of %lld",
                        (long long)in.dims[2], (long long)in.dims[3], (long long)block);
    if (!i64_mul(in.dims[1], block * block, &in.dims[1]))
        return onnx_why(why, "the result has too many elements");
    in.dims[2] /= block;
    in.dims[3] /= block;
    return onnx_make_tensor(type_elem(results[0]), &in, &results[0], why);
}
