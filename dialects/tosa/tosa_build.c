/* Builders and rank adjustment for rewrites within tosa.
 * Tests: lit/passes/tosa/tosa-make-broadcastable.mir,
 * lit/passes/tosa/tosa-optional-decompositions.mir */
#include "dialects/tosa/internal.h"
#include "ir/attr/attr.h"

Value *tosa_const(Builder *b, const Attr *value)
{
    NamedAttr attr = build_named_attr(b->ctx, "value", value);
    return op_result(build(b, TOSA(CONST), NULL, 0, &value->type, 1, &attr, 1), 0);
}

static Value *build_reshape(Builder *b, Value *value, const Type *type, const int64_t *new_shape)
{
    const Attr *shape = attr_i64_array(b->ctx, new_shape, type->u.shaped.rank);
    NamedAttr attr = build_named_attr(b->ctx, "new_shape", shape);
    return op_result(build(b, TOSA(RESHAPE), &value, 1, &type, 1, &attr, 1), 0);
}

Value *tosa_reshape(Builder *b, Value *value, const int64_t *dims, uint32_t rank, const Type *type)
{
    Dims shape = {0};
    for (uint32_t i = 0; i < rank; i++) *vec_push(&shape) = dims[i] == DIM_DYNAMIC ? -1 : dims[i];
    if (!type) type = type_tensor(type_elem(value->type), dims, rank, NULL);
    Value *result = build_reshape(b, value, type, shape.data);
    vec_free(&shape);
    return result;
}

static const Type *padded_type(const Type *type, const int64_t *widths)
{
    Dims dims = {0};
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        int64_t extent = type->u.shaped.dims[i];
        *vec_push(&dims) =
            extent == DIM_DYNAMIC ? extent : extent + widths[2 * i] + widths[2 * i + 1];
    }
    const Type *padded = type_with_shape(type, dims.data, (uint32_t)dims.len);
    vec_free(&dims);
    return padded;
}

Value *tosa_pad(Builder *b, Value *value, const TosaBorder *border)
{
    Context *ctx = b->ctx;
    const uint32_t rank = value->type->u.shaped.rank;
    const int64_t shape[] = {rank, 2};
    const Type *widths_type = type_tensor(type_i(ctx, border->width_bits), shape, 2, NULL);
    const Type *type = padded_type(value->type, border->widths);
    Value *operands[3] = {value};
    operands[1] = tosa_const(b, attr_dense_i64(widths_type, border->widths, 2 * (size_t)rank));
    if (border->value)
        operands[2] = tosa_const(
            b, attr_dense_splat(type_tensor(type_elem(type), NULL, 0, NULL), border->value));
    NamedAttr attr = build_named_attr(ctx, "quantization_info", border->quant);
    return op_result(build(b, TOSA(PAD), operands, border->value ? 3 : 2, &type, 1, &attr,
                           border->quant ? 1 : 0),
                     0);
}

/* The extents of `low`, the last ones aligned with those of `high`, ones before. False if they do
 * not broadcast: unknown extents do with ones and themselves. */
static bool align_shape(const Type *low, const Type *high, Dims *out)
{
    uint32_t lead = high->u.shaped.rank - low->u.shaped.rank;
    for (uint32_t i = 0; i < high->u.shaped.rank; i++) {
        int64_t to = high->u.shaped.dims[i];
        int64_t from = i < lead ? 1 : low->u.shaped.dims[i - lead];
        bool agrees = i < lead || from == to || (from == 1 && to > 1) || (from > 1 && to == 1);
        if (!agrees) return false;
        *vec_push(out) = from;
    }
    return true;
}

bool tosa_equalize_ranks(Builder *b, Value **lhs, Value **rhs)
{
    const Type *left = (*lhs)->type, *right = (*rhs)->type;
    if (!type_is_ranked(left) || !type_is_ranked(right)) return false;
    if (left->u.shaped.rank == right->u.shaped.rank) return true;
    bool is_left_lower = left->u.shaped.rank < right->u.shaped.rank;
    Value **low = is_left_lower ? lhs : rhs, **high = is_left_lower ? rhs : lhs;
    Dims dims = {0};
    bool ok = align_shape((*low)->type, (*high)->type, &dims);
    if (ok) {
        const Type *type =
            type_tensor(type_elem((*low)->type), dims.data, (uint32_t)dims.len, NULL);
        *low = build_reshape(b, *low, type, dims.data);
    }
    vec_free(&dims);
    return ok;
}
