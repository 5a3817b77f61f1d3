/* Windows: padding, run-time extents, biases, kernel layouts.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-named*.mir */
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

static bool is_between(const Op *op, const char *name, int64_t least)
{
    const Attr *list = op_attr(op, name);
    for (size_t i = 0; list && i < list->u.dense_array.count; i++)
        if (dense_array_i64(list, i) < least || dense_array_i64(list, i) > INT32_MAX) return false;
    return true;
}

bool tosa_lower_has_window(const Op *op)
{
    return is_between(op, "kernel", 1) && is_between(op, "stride", 1) &&
           is_between(op, "dilation", 1) && is_between(op, "pad", 0);
}

Value *tosa_build_window_extent(Builder *b, Value *size, Value *kernel, const TosaWindowDim *dim)
{
    Value *one = arith_constant_index(b, 1);
    Value *padded = tosa_build_same(b, ARITH(ADDI), size, arith_constant_index(b, dim->pad_before));
    padded = tosa_build_same(b, ARITH(ADDI), padded, arith_constant_index(b, dim->pad_after));
    Value *steps = tosa_build_same(b, ARITH(SUBI), kernel, one);
    Value *span = tosa_build_same(b, ARITH(MULI), arith_constant_index(b, dim->dilation), steps);
    span = tosa_build_same(b, ARITH(ADDI), span, one);
    Value *room = tosa_build_same(b, ARITH(SUBI), padded, span);
    Value *stride = arith_constant_index(b, dim->stride);
    return tosa_build_same(b, ARITH(ADDI), tosa_build_same(b, ARITH(DIVUI), room, stride), one);
}

Value *tosa_build_window_pad(Lower *l, Value *input, const IntList *pad, const Attr *value)
{
    uint32_t rank = rank_of(input->type);
    int64_t *low = ARENA_ARRAY(l->arena, int64_t, rank);
    int64_t *high = ARENA_ARRAY(l->arena, int64_t, rank);
    bool is_padded = false;
    for (size_t i = 0; i < pad->len; i++) {
        (i % 2 ? high : low)[i / 2 + 1] = pad->data[i];
        is_padded |= pad->data[i] != 0;
    }
    return is_padded ? tensor_pad(l->b, input, low, high, arith_constant(l->b, value)) : input;
}

Value *tosa_build_broadcast_bias(Lower *l, Value *bias, Value *empty)
{
    uint32_t rank = rank_of(empty->type), bias_rank = rank_of(bias->type);
    const AffineExpr **index = ARENA_ARRAY(l->arena, const AffineExpr *, bias_rank);
    for (uint32_t i = 0; i < bias_rank; i++) index[i] = affine_dim(l->ctx, i + rank - bias_rank);
    if (bias_rank == 1 && extent_of(bias->type, 0) == 1) index[0] = affine_const(l->ctx, 0);
    const AffineMap *maps[] = {map_get(l->ctx, rank, 0, bias_rank, index), NULL};
    GenericDef def = {.inputs = VALUES(bias), .inits = VALUES(empty), .maps = maps, .loops = rank};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, NULL, &body);
    Value *element = body.block->args[0];
    const Type *type = body.block->args[1]->type;
    tosa_build_yield(
        &body, element->type == type ? element : build_unary(&body, ARITH(EXTSI), type, element));
    return op_result(op, 0);
}

Value *tosa_build_transposed(Lower *l, Value *input, const int64_t *order)
{
    uint32_t rank = rank_of(input->type);
    int64_t count = rank, *dims = ARENA_ARRAY(l->arena, int64_t, rank);
    for (uint32_t i = 0; i < rank; i++) dims[i] = extent_of(input->type, (uint32_t)order[i]);
    const Type *perms = type_tensor(type_i(l->ctx, 64), &count, 1, NULL);
    Value *perm = arith_constant(l->b, attr_dense_i64(perms, order, rank));
    const Type *type = type_tensor(type_elem(input->type), dims, rank, NULL);
    return build_binary(l->b, TOSA(TRANSPOSE), type, input, perm);
}

const Attr *tosa_lower_window_attr(Context *ctx, const int64_t *values, size_t count,
                                   bool is_vector)
{
    const int64_t dims[] = {(int64_t)count};
    const Type *i64 = type_i(ctx, 64);
    return attr_dense_i64(is_vector ? type_vector(i64, dims, 1, NULL)
                                    : type_tensor(i64, dims, 1, NULL),
                          values, count);
}
