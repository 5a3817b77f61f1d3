/* Result types of ops that work element by element, or along one axis without changing the shape.
 * Tests: lit/dialects/onnx/invalid-elementwise.mir,
 * lit/passes/onnx/onnx-infer-shapes-elementwise.mir */
#include "dialects/onnx/internal.h"

bool onnx_infer_same(const Op *op, const Type **results, StrBuf *why)
{
    (void)why;
    results[0] = onnx_type(op, 0);
    return true;
}

static bool infer_class(const Op *op, ElemClass want, const Type **results, StrBuf *why)
{
    return onnx_check_elem(op, 0, want, why) && onnx_infer_same(op, results, why);
}

bool onnx_infer_numeric(const Op *op, const Type **results, StrBuf *why)
{
    return infer_class(op, ELEM_NUMERIC, results, why);
}

bool onnx_infer_float(const Op *op, const Type **results, StrBuf *why)
{
    return infer_class(op, ELEM_FLOAT, results, why);
}

bool onnx_infer_not(const Op *op, const Type **results, StrBuf *why)
{
    return infer_class(op, ELEM_BOOL, results, why);
}

bool onnx_infer_gelu(const Op *op, const Type **results, StrBuf *why)
{
    static const char *const modes[] = {"none", "tanh"};
    size_t mode;
    return onnx_check_choice(op, "approximate", modes, COUNT_OF(modes), &mode, why) &&
           infer_class(op, ELEM_FLOAT, results, why);
}

bool onnx_infer_along_axis(const Op *op, const Type **results, StrBuf *why)
{
    uint32_t axis;
    if (!infer_class(op, ELEM_FLOAT, results, why)) return false;
    return !type_is_static(results[0]) ||
           onnx_read_axis(op, -1, results[0]->u.shaped.rank, &axis, why);
}

bool onnx_infer_cast(const Op *op, const Type **results, StrBuf *why)
{
    int64_t to = onnx_int(op, "to", 0);
    const Type *elem = onnx_elem_type(op->ctx, to);
    if (!elem || elem->kind == TYPE_COMPLEX)
        return onnx_why(why, "casts to the element type %lld, which is not supported",
                        (long long)to);
    results[0] = type_with_elem(onnx_type(op, 0), elem);
    return onnx_check_flag(op, "saturate", why);
}

bool onnx_infer_dropout(const Op *op, const Type **results, StrBuf *why)
{
    if (!onnx_check_scalar(op, 1, why) || !onnx_check_scalar(op, 2, why) ||
        !onnx_check_elem(op, 1, ELEM_FLOAT, why) || !onnx_check_elem(op, 2, ELEM_BOOL, why))
        return false;
    if (op->result_count > 1) results[1] = type_with_elem(onnx_type(op, 0), type_i(op->ctx, 1));
    return infer_class(op, ELEM_FLOAT, results, why);
}

/* The shape of all operands together with that element type; unranked if one is not static. */
static bool infer_broadcast(const Op *op, const Type *elem, const Type **results, StrBuf *why)
{
    results[0] = type_unranked_tensor(elem);
    if (!onnx_all_static(op)) return true;
    OnnxShape shape = {.rank = 0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!onnx_broadcast(&shape, onnx_type(op, i), why)) return false;
    return onnx_make_tensor(elem, &shape, &results[0], why);
}

/* Checks that all operands from `first` on have one element type, which is of that class. */
static bool check_alike(const Op *op, uint32_t first, ElemClass want, StrBuf *why)
{
    if (!onnx_check_elem(op, first, want, why)) return false;
    for (uint32_t i = first + 1; i < op->operand_count; i++)
        if (!onnx_check_elem_is(op, i, type_elem(onnx_type(op, first)), why)) return false;
    return true;
}

bool onnx_infer_arithmetic(const Op *op, const Type **results, StrBuf *why)
{
    return check_alike(op, 0, ELEM_NUMERIC, why) &&
           infer_broadcast(op, type_elem(onnx_type(op, 0)), results, why);
}

bool onnx_infer_variadic(const Op *op, const Type **results, StrBuf *why)
{
    if (op->operand_count == 0) return onnx_why(why, "needs at least one operand");
    bool needs_floats = op->def == ONNX(SUM) || op->def == ONNX(MEAN);
    if (needs_floats && !type_is_float(type_elem(onnx_type(op, 0))))
        return onnx_why(why, "takes floating-point numbers only");
    return onnx_infer_arithmetic(op, results, why);
}

bool onnx_infer_mod(const Op *op, const Type **results, StrBuf *why)
{
    if (type_is_float(type_elem(onnx_type(op, 0))) && onnx_int(op, "fmod", 0) != 1)
        return onnx_why(why, "floats need the attribute 'fmod' to be 1");
    return onnx_check_flag(op, "fmod", why) && onnx_infer_arithmetic(op, results, why);
}

bool onnx_infer_pow(const Op *op, const Type **results, StrBuf *why)
{
    return onnx_check_elem(op, 0, ELEM_NUMERIC, why) && onnx_check_elem(op, 1, ELEM_NUMERIC, why) &&
           infer_broadcast(op, type_elem(onnx_type(op, 0)), results, why);
}

bool onnx_infer_equal(const Op *op, const Type **results, StrBuf *why)
{
    return onnx_check_elem_is(op, 1, type_elem(onnx_type(op, 0)), why) &&
           infer_broadcast(op, type_i(op->ctx, 1), results, why);
}

bool onnx_infer_compare(const Op *op, const Type **results, StrBuf *why)
{
    return check_alike(op, 0, ELEM_NUMERIC, why) &&
           infer_broadcast(op, type_i(op->ctx, 1), results, why);
}

bool onnx_infer_logical(const Op *op, const Type **results, StrBuf *why)
{
    return check_alike(op, 0, ELEM_BOOL, why) &&
           infer_broadcast(op, type_i(op->ctx, 1), results, why);
}

bool onnx_infer_where(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 1));
    return onnx_check_elem(op, 0, ELEM_BOOL, why) && onnx_check_elem_is(op, 2, elem, why) &&
           infer_broadcast(op, elem, results, why);
}

bool onnx_infer_clip(const Op *op, const Type **results, StrBuf *why)
{
    for (uint32_t i = 1; i <= 2; i++)
        if (!onnx_check_elem_is(op, i, type_elem(onnx_type(op, 0)), why) ||
            !onnx_check_scalar(op, i, why))
            return false;
    return infer_class(op, ELEM_NUMERIC, results, why);
}

bool onnx_infer_prelu(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    if (!check_alike(op, 0, ELEM_NUMERIC, why)) return false;
    results[0] = input;
    return !type_is_static(input) || onnx_check_broadcast(op, 1, input, why);
}
