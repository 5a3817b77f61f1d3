/* Result types of ops that compare or follow positions: CumSum, Trilu, GatherElements, OneHot.
 * Tests: lit/dialects/onnx/invalid-index.mir, lit/passes/onnx/onnx-infer-shapes-index.mir */
#include "dialects/onnx/internal.h"

bool onnx_infer_cum_sum(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    OnnxShape axis;
    results[0] = input;
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_flag(op, "exclusive", why) ||
        !onnx_check_flag(op, "reverse", why) || !onnx_check_scalar(op, 1, why))
        return false;
    if (!type_is_static(input)) return onnx_check_elem(op, 1, ELEM_INDEX, why);
    return onnx_read_axes(op, 1, input->u.shaped.rank, &axis, why) != WRONG;
}

bool onnx_infer_trilu(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    results[0] = input;
    if (!onnx_check_flag(op, "upper", why) || !onnx_check_elem(op, 1, ELEM_INDEX, why) ||
        !onnx_check_scalar(op, 1, why))
        return false;
    return !type_is_static(input) || input->u.shaped.rank >= 2 ||
           onnx_why(why, "'input' must have at least two dimensions");
}

bool onnx_infer_gather_elements(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, out;
    uint32_t axis;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    if (!onnx_check_elem(op, 1, ELEM_INDEX, why) || known == WRONG) return false;
    if (!onnx_all_static(op)) return true;
    if (!onnx_shape(onnx_type(op, 1), &out, why) || !onnx_read_axis(op, 0, in.rank, &axis, why))
        return false;
    if (out.rank != in.rank)
        return onnx_why(why, "'indices' has rank %u, 'data' has rank %u", out.rank, in.rank);
    for (uint32_t i = 0; i < in.rank; i++)
        if (i != axis && out.dims[i] > in.dims[i])
            return onnx_why(why, "'indices' has the extent %lld in dimension %u, 'data' has %lld",
                            (long long)out.dims[i], i, (long long)in.dims[i]);
    return onnx_make_tensor(type_elem(results[0]), &out, &results[0], why);
}

/* The number of classes, which may be a float. */
static OnnxKnown read_depth(const Op *op, int64_t *out, StrBuf *why)
{
    const Attr *depth = onnx_constant(onnx_operand(op, 1));
    if (!depth) return UNKNOWN;
    double value = onnx_dense_number(depth, 0);
    *out = onnx_to_integer(value);
    if (value >= 1.0 && value < (double)ONNX_MAX_ELEMENTS) return KNOWN;
    onnx_why(why, "'depth' must be at least 1");
    return WRONG;
}

bool onnx_infer_one_hot(const Op *op, const Type **results, StrBuf *why)
{
    OnnxShape in, out;
    uint32_t axis;
    int64_t depth = 0;
    OnnxKnown known = onnx_begin(op, results, &in, why);
    const Type *elem = type_elem(onnx_type(op, 2));
    results[0] = type_unranked_tensor(elem);
    if (known == WRONG || !onnx_check_elem(op, 0, ELEM_NUMERIC, why) ||
        !onnx_check_elem(op, 1, ELEM_NUMERIC, why) || !onnx_check_scalar(op, 1, why) ||
        !onnx_check_vector(op, 2, 2, why))
        return false;
    OnnxKnown counted = read_depth(op, &depth, why);
    if (known == UNKNOWN || counted != KNOWN) return counted != WRONG;
    if (in.rank == ONNX_MAX_RANK) return onnx_why(why, "the result has too many dimensions");
    if (!onnx_read_axis(op, -1, in.rank + 1, &axis, why)) return false;
    out.rank = in.rank + 1;
    for (uint32_t i = 0; i < out.rank; i++)
        out.dims[i] = i == axis ? depth : in.dims[i - (i > axis)];
    return onnx_make_tensor(elem, &out, &results[0], why);
}
