/* Result types of matrix products and of normalizations.
 * Tests: lit/dialects/onnx/invalid-matmul.mir, lit/passes/onnx/onnx-infer-shapes-matmul.mir */
#include "dialects/onnx/internal.h"

static bool inner_differ(int64_t a, int64_t b, StrBuf *why)
{
    return onnx_why(why, "the inner extents %lld and %lld differ", (long long)a, (long long)b);
}

bool onnx_infer_gemm(const Op *op, const Type **results, StrBuf *why)
{
    const Type *a = onnx_type(op, 0), *b = onnx_type(op, 1), *elem = type_elem(a);
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_elem_is(op, 1, elem, why) ||
        !onnx_check_elem_is(op, 2, elem, why) || !onnx_check_flag(op, "transA", why) ||
        !onnx_check_flag(op, "transB", why))
        return false;
    results[0] = type_unranked_tensor(elem);
    if (!onnx_all_static(op)) return true;
    if (a->u.shaped.rank != 2 || b->u.shaped.rank != 2)
        return onnx_why(why, "'A' and 'B' must be matrices");
    int64_t ta = onnx_int(op, "transA", 0), tb = onnx_int(op, "transB", 0);
    if (a->u.shaped.dims[1 - ta] != b->u.shaped.dims[tb])
        return inner_differ(a->u.shaped.dims[1 - ta], b->u.shaped.dims[tb], why);
    OnnxShape shape = {2, {a->u.shaped.dims[ta], b->u.shaped.dims[1 - tb]}};
    if (!onnx_make_tensor(elem, &shape, &results[0], why)) return false;
    const Type *c = onnx_type(op, 2);
    if (!c) return true;
    if (!onnx_broadcast(&shape, c, why)) return false;
    return shape.rank == 2 && shape.dims[0] == results[0]->u.shaped.dims[0] &&
                   shape.dims[1] == results[0]->u.shaped.dims[1]
               ? true
               : onnx_why(why, "the shape of 'C' does not broadcast to that of the result");
}

/* A product of operands `left` and `right` over their last two dimensions; a vector counts as a row
 * on the left and as a column on the right. All dimensions before these broadcast. */
static bool infer_product(const Op *op, uint32_t left, uint32_t right, const Type *elem,
                          const Type **results, StrBuf *why)
{
    OnnxShape a, b;
    results[0] = type_unranked_tensor(elem);
    if (!onnx_all_static(op)) return true;
    if (!onnx_shape(onnx_type(op, left), &a, why) || !onnx_shape(onnx_type(op, right), &b, why))
        return false;
    if (a.rank == 0 || b.rank == 0) return onnx_why(why, "a factor must not be a scalar");
    int64_t inner = a.dims[a.rank - 1], other = b.dims[b.rank > 1 ? b.rank - 2 : 0];
    if (inner != other) return inner_differ(inner, other, why);
    uint32_t outer_a = a.rank > 1 ? a.rank - 2 : 0, outer_b = b.rank > 1 ? b.rank - 2 : 0;
    OnnxShape out = {.rank = outer_a};
    for (uint32_t i = 0; i < outer_a; i++) out.dims[i] = a.dims[i];
    if (!onnx_broadcast(&out, type_tensor(elem, b.dims, outer_b, NULL), why)) return false;
    if (a.rank > 1) out.dims[out.rank++] = a.dims[a.rank - 2];
    if (b.rank > 1) out.dims[out.rank++] = b.dims[b.rank - 1];
    return onnx_make_tensor(elem, &out, &results[0], why);
}

bool onnx_infer_matmul(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 0));
    return onnx_check_elem(op, 0, ELEM_NUMERIC, why) && onnx_check_elem_is(op, 1, elem, why) &&
           infer_product(op, 0, 1, elem, results, why);
}

/* Whether a scale or zero point is one number, or has one for each index of a dimension of operand
 * `of`, the last or the one before, which is no vector. */
static bool check_along(const Op *op, uint32_t index, uint32_t of, uint32_t from_end, StrBuf *why)
{
    const Type *param = onnx_type(op, index), *type = onnx_type(op, of);
    int64_t count;
    if (!param || !type_is_static(param) || !type_is_static(type) ||
        (type_element_count(param, &count) && count == 1))
        return true;
    uint32_t rank = type->u.shaped.rank;
    return rank < 2 ? onnx_check_scalar(op, index, why)
                    : onnx_check_vector(op, index, type->u.shaped.dims[rank - from_end], why);
}

bool onnx_infer_matmul_integer(const Op *op, const Type **results, StrBuf *why)
{
    return onnx_check_elem(op, 0, ELEM_BYTE, why) && onnx_check_elem(op, 1, ELEM_BYTE, why) &&
           onnx_check_elem_is(op, 2, type_elem(onnx_type(op, 0)), why) &&
           onnx_check_elem_is(op, 3, type_elem(onnx_type(op, 1)), why) &&
           check_along(op, 2, 0, 2, why) && check_along(op, 3, 1, 1, why) &&
           infer_product(op, 0, 1, type_i(op->ctx, 32), results, why);
}

bool onnx_infer_qlinear_matmul(const Op *op, const Type **results, StrBuf *why)
{
    for (uint32_t i = 0; i < 2; i++) { /* a, a_scale, a_zero_point; the same for b */
        if (!onnx_check_elem(op, 3 * i, ELEM_BYTE, why) ||
            !onnx_check_elem(op, 3 * i + 1, ELEM_FLOAT, why) ||
            !onnx_check_elem_is(op, 3 * i + 2, type_elem(onnx_type(op, 3 * i)), why) ||
            !check_along(op, 3 * i + 1, 3 * i, 2 - i, why) ||
            !check_along(op, 3 * i + 2, 3 * i, 2 - i, why))
            return false;
    }
    return onnx_check_elem(op, 6, ELEM_FLOAT, why) && onnx_check_elem(op, 7, ELEM_BYTE, why) &&
           onnx_check_scalar(op, 6, why) && onnx_check_scalar(op, 7, why) &&
           infer_product(op, 0, 3, type_elem(onnx_type(op, 7)), results, why);
}

/* Operands 1 to `last` are float vectors with an element per channel of the first. */
static bool check_per_channel(const Op *op, uint32_t last, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    if (!onnx_check_elem(op, 0, ELEM_FLOAT, why)) return false;
    if (type_is_static(input) && input->u.shaped.rank < 2)
        return onnx_why(why, "the input has no dimension of channels");
    for (uint32_t i = 1; i <= last; i++)
        if (!onnx_check_elem(op, i, ELEM_FLOAT, why) ||
            (type_is_static(input) && !onnx_check_vector(op, i, input->u.shaped.dims[1], why)))
            return false;
    return true;
}

bool onnx_infer_batch_normalization(const Op *op, const Type **results, StrBuf *why)
{
    if (!check_per_channel(op, 4, why) || !onnx_check_flag(op, "training_mode", why)) return false;
    if (op->result_count > 1 && onnx_int(op, "training_mode", 0) == 0)
        return onnx_why(why, "has running statistics only in training mode");
    results[0] = onnx_type(op, 0);
    for (uint32_t i = 1; i < op->result_count; i++) results[i] = onnx_type(op, 2 + i);
    return true;
}

bool onnx_infer_instance_normalization(const Op *op, const Type **results, StrBuf *why)
{
    results[0] = onnx_type(op, 0);
    return check_per_channel(op, 2, why);
}

bool onnx_infer_group_normalization(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    int64_t groups = onnx_int(op, "num_groups", 0);
    results[0] = input;
    if (groups < 1) return onnx_why(why, "attribute 'num_groups' must be at least 1");
    if (!check_per_channel(op, 2, why)) return false;
    return !type_is_static(input) || input->u.shaped.dims[1] % groups == 0 ||
           onnx_why(why, "%lld channels do not make %lld groups",
                    (long long)input->u.shaped.dims[1], (long long)groups);
}

bool onnx_infer_lrn(const Op *op, const Type **results, StrBuf *why)
{
    results[0] = onnx_type(op, 0);
    return (onnx_int(op, "size", 0) >= 1 || onnx_why(why, "attribute 'size' must be at least 1")) &&
           check_per_channel(op, 0, why);
}

bool onnx_infer_layer_normalization(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *elem = type_elem(input);
    const Type *stash = onnx_elem_type(op->ctx, onnx_int(op, "stash_type", 1));
    OnnxShape shape;
    uint32_t axis;
    if (!onnx_check_elem(op, 0, ELEM_FLOAT, why) || !onnx_check_elem_is(op, 1, elem, why) ||
        !onnx_check_elem_is(op, 2, elem, why))
        return false;
    if (!stash || !type_is_float(stash))
        return onnx_why(why, "attribute 'stash_type' must be that of a float");
    results[0] = input;
    for (uint32_t i = 1; i < op->result_count; i++) results[i] = type_unranked_tensor(stash);
    if (!type_is_static(input)) return true;
    if (!onnx_shape(input, &shape, why) || !onnx_read_axis(op, -1, shape.rank, &axis, why) ||
        !onnx_check_broadcast(op, 1, input, why) || !onnx_check_broadcast(op, 2, input, why))
        return false;
    for (uint32_t i = axis; i < shape.rank; i++) shape.dims[i] = 1;
    for (uint32_t i = 1; i < op->result_count; i++)
        if (!onnx_make_tensor(stash, &shape, &results[i], why)) return false;
    return true;
}
