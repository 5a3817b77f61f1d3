/* Checks of casts and selects that their rows and traits do not make.
 * Tests: lit/dialects/arith/invalid.mir */
#include "dialects/arith/internal.h"
#include "ir/asm/print/print.h"

static bool same_dims(const Type *a, const Type *b)
{
    if (a->u.shaped.rank != b->u.shaped.rank) return false;
    for (uint32_t i = 0; i < a->u.shaped.rank; i++)
        if (a->u.shaped.dims[i] != b->u.shaped.dims[i]) return false;
    return true;
}

/* Extents of ranked tensors, unknown ones included, are the same on both sides. */
bool arith_verify_cast_dims(Op *op)
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    bool in_tensor = type_is_tensor(in) && type_is_ranked(in);
    bool out_tensor = type_is_tensor(out) && type_is_ranked(out);
    uint32_t in_rank = in_tensor ? in->u.shaped.rank : 0;
    uint32_t out_rank = out_tensor ? out->u.shaped.rank : 0;
    if (in_rank == out_rank && (!in_tensor || !out_tensor || same_dims(in, out))) return true;
    return op_error(op, "failed to verify that input and output have the same tensor dimensions");
}

static bool same_encoding(const Type *a, const Type *b)
{
    return a->kind != TYPE_RANKED_TENSOR || b->kind != TYPE_RANKED_TENSOR ||
           a->u.shaped.extra == b->u.shaped.extra;
}

/* `converts` says whether the element types convert; the shapes fit already. */
static bool verify_cast(Op *op, bool (*converts)(const Type *from, const Type *to))
{
    const Type *in = op_operand(op, 0)->type, *out = op_result(op, 0)->type;
    if (same_encoding(in, out) && converts(type_elem(in), type_elem(out))) return true;
    return op_error(op, "operand type '%s' and result type '%s' are cast incompatible",
                    type_str(op->ctx, in), type_str(op->ctx, out));
}

static bool is_wider(const Type *from, const Type *to)
{
    return type_width(to) > type_width(from);
}

static bool is_narrower(const Type *from, const Type *to)
{
    return type_width(to) < type_width(from);
}

static bool always_converts(const Type *from, const Type *to)
{
    (void)from;
    (void)to;
    return true;
}

static bool exactly_one_is_index(const Type *from, const Type *to)
{
    return (from->kind == TYPE_INDEX) != (to->kind == TYPE_INDEX);
}

static bool same_width(const Type *from, const Type *to)
{
    return from->kind != TYPE_INDEX && to->kind != TYPE_INDEX && type_width(from) == type_width(to);
}

bool arith_verify_ext(Op *op)
{
    return verify_cast(op, is_wider);
}

bool arith_verify_trunc(Op *op)
{
    return verify_cast(op, is_narrower);
}

bool arith_verify_int_float(Op *op)
{
    return verify_cast(op, always_converts);
}

bool arith_verify_index_cast(Op *op)
{
    return verify_cast(op, exactly_one_is_index);
}

bool arith_verify_bitcast(Op *op)
{
    return verify_cast(op, same_width);
}

bool arith_verify_select_types(Op *op)
{
    const Type *condition = op_operand(op, 0)->type, *type = op_result(op, 0)->type;
    if (op_operand(op, 1)->type != type || op_operand(op, 2)->type != type)
        return op_error(
            op, "failed to verify that all of {true_value, false_value, result} have same type");
    if (!type_is_shaped(condition) || (type_is_shaped(type) && same_dims(condition, type)))
        return true;
    return op_error(op, "failed to verify that condition is signless i1 or has matching shape");
}

bool arith_verify_select(Op *op)
{
    const Type *condition = op_operand(op, 0)->type, *type = op_result(op, 0)->type;
    if (!type_is_shaped(condition)) return true;
    const Type *want = arith_i1_like(type);
    if (condition != want)
        return op_error(op,
                        "expected condition type to have the same shape as the result type, "
                        "expected '%s', but got '%s'",
                        type_str(op->ctx, want), type_str(op->ctx, condition));
    return true;
}
