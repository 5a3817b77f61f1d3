/* Elementwise ops to linalg.generic. Operands are expanded to the rank of the result; extents of 1
 * are broadcast by the maps where static, by a copy at run time where dynamic.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-elementwise.mir,
 * tosa-to-linalg-broadcast.mir */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/scf/scf.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/tosa_to_linalg/internal.h"

/* Index constants that exist already. */
typedef struct IndexPool {
    VEC(struct IndexConstant {
        int64_t number;
        Value *value;
    })
    items;
} IndexPool;

/* An extent of the result, and the operand it is known to come from. */
typedef struct Extent {
    MixedIndex size;
    const Value *master; /* NULL: from several */
} Extent;

typedef struct Broadcast {
    Lower *l;
    IndexPool pool;
    Value **operands;
    uint32_t operand_count, rank;
    Extent *extents;
} Broadcast;

static Value *pool_index(Builder *b, IndexPool *pool, int64_t number)
{
    for (size_t i = 0; i < pool->items.len; i++)
        if (pool->items.data[i].number == number) return pool->items.data[i].value;
    struct IndexConstant item = {number, arith_constant_index(b, number)};
    *vec_push(&pool->items) = item;
    return item.value;
}

static Value *pool_dim(Builder *b, IndexPool *pool, Value *tensor, uint32_t dim)
{
    Value *operands[] = {tensor, pool_index(b, pool, dim)};
    const Type *type = type_index(b->ctx);
    return op_result(build(b, TENSOR(DIM), operands, 2, &type, 1, NULL, 0), 0);
}

/* 4 x 4 -> 1 x 4 x 4: leading extents of 1. */
static Value *expand_rank(Lower *l, Value *tensor, uint32_t rank)
{
    uint32_t own = rank_of(tensor->type), extra = rank - own;
    if (extra == 0) return tensor;
    int64_t *dims = ARENA_ARRAY(l->arena, int64_t, rank);
    uint32_t *groups = ARENA_ARRAY(l->arena, uint32_t, own + 1);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < extra ? 1 : extent_of(tensor->type, i - extra);
    for (uint32_t i = 0; i < own; i++) groups[i] = i == 0 ? extra + 1 : 1;
    return tensor_expand_shape(l->b, tensor, type_tensor(type_elem(tensor->type), dims, rank, NULL),
                               tensor_groups_attr(l->ctx, groups, own));
}

/* The extent is a static one above 1 if there is one, otherwise the greatest of the dynamic ones,
 * otherwise 1. */
static Extent target_extent(Broadcast *bc, uint32_t dim)
{
    Extent extent = {mixed_constant(1), bc->operands[0]};
    uint32_t found = 0;
    for (uint32_t i = 0; i < bc->operand_count; i++) {
        int64_t size = extent_of(bc->operands[i]->type, dim);
        if (size != DIM_DYNAMIC && size > 1) return (Extent){mixed_constant(size), bc->operands[i]};
    }
    for (uint32_t i = 0; i < bc->operand_count; i++) {
        if (!is_dynamic(bc->operands[i]->type, dim)) continue;
        Value *size = pool_dim(bc->l->b, &bc->pool, bc->operands[i], dim);
        if (found++ == 0)
            extent = (Extent){mixed_value(size), bc->operands[i]};
        else
            extent = (Extent){
                mixed_value(tosa_build_same(bc->l->b, ARITH(MAXUI), extent.size.value, size)),
                NULL};
    }
    return extent;
}

/* The operand with its only element along `dim` repeated. */
static Value *build_repeated(Builder *b, const Broadcast *bc, Value *operand, uint32_t dim)
{
    IndexPool pool = {0};
    Context *ctx = b->ctx;
    const AffineExpr **index = ARENA_ARRAY(bc->l->arena, const AffineExpr *, bc->rank);
    MixedIndex *sizes = ARENA_ARRAY(bc->l->arena, MixedIndex, bc->rank);
    for (uint32_t i = 0; i < bc->rank; i++) {
        index[i] = i == dim ? affine_const(ctx, 0) : affine_dim(ctx, i);
        if (i == dim)
            sizes[i] = bc->extents[dim].size;
        else if (is_dynamic(operand->type, i))
            sizes[i] = mixed_value(pool_dim(b, &pool, operand, i));
        else
            sizes[i] = mixed_constant(extent_of(operand->type, i));
    }
    vec_free(&pool.items);
    Value *empty = tensor_empty(b, sizes, bc->rank, type_elem(operand->type));
    const AffineMap *maps[] = {map_get(ctx, bc->rank, 0, bc->rank, index), NULL};
    GenericDef def = {
        .inputs = VALUES(operand), .inits = VALUES(empty), .maps = maps, .loops = bc->rank};
    Builder body;
    Op *op = tosa_build_generic(b, &def, NULL, &body);
    tosa_build_yield(&body, body.block->args[0]);
    return op_result(op, 0);
}

/* The operand, repeated if its size is 1. */
static Value *broadcast_dim(Broadcast *bc, Value *operand, uint32_t dim)
{
    Builder *b = bc->l->b;
    if (!is_dynamic(operand->type, dim) || bc->extents[dim].master == operand) return operand;
    Value *one = pool_index(b, &bc->pool, 1);
    Value *size = pool_dim(b, &bc->pool, operand, dim);
    Value *is_one = arith_cmpi(b, CMPI_EQ, size, one);
    Builder then_b, else_b;
    Op *op = scf_build_if(b, is_one, operand->type, &then_b, &else_b);
    Value *repeated = build_repeated(&then_b, bc, operand, dim);
    scf_build_yield(&then_b, tensor_cast(&then_b, repeated, operand->type));
    scf_build_yield(&else_b, operand);
    return op_result(op, 0);
}

/* Each operand has the result's extents, but for static ones of 1. */
static void broadcast(Broadcast *bc)
{
    for (uint32_t dim = 0; dim < bc->rank; dim++) bc->extents[dim] = target_extent(bc, dim);
    for (uint32_t i = 0; bc->operand_count > 1 && i < bc->operand_count; i++)
        for (uint32_t dim = 0; dim < bc->rank; dim++)
            bc->operands[i] = broadcast_dim(bc, bc->operands[i], dim);
}

/* Extents of 1 are read at index 0 for the whole loop. */
static const AffineMap *operand_map(Lower *l, const Type *type)
{
    uint32_t rank = rank_of(type);
    const AffineExpr **index = ARENA_ARRAY(l->arena, const AffineExpr *, rank);
    for (uint32_t i = 0; i < rank; i++)
        index[i] = extent_of(type, i) == 1 ? affine_const(l->ctx, 0) : affine_dim(l->ctx, i);
    return map_get(l->ctx, rank, 0, rank, index);
}

static bool build_elementwise(Broadcast *bc, const Type *type)
{
    Lower *l = bc->l;
    MixedIndex *sizes = ARENA_ARRAY(l->arena, MixedIndex, bc->rank);
    const AffineMap **maps = ARENA_ARRAY(l->arena, const AffineMap *, bc->operand_count + 1);
    for (uint32_t i = 0; i < bc->rank; i++) sizes[i] = bc->extents[i].size;
    for (uint32_t i = 0; i < bc->operand_count; i++)
        maps[i] = operand_map(l, bc->operands[i]->type);
    Value *empty = tensor_empty(l->b, sizes, bc->rank, type_elem(type));
    GenericDef def = {.inputs = {bc->operands, bc->operand_count},
                      .inits = VALUES(empty),
                      .maps = maps,
                      .loops = bc->rank};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, NULL, &body);
    TosaScalar scalar = {&body, l->op, body.block->args, type_elem(operand_type(l->op, 0)),
                         type_elem(type)};
    Value *element = tosa_build_scalar(&scalar);
    if (!element) return false;
    tosa_build_yield(&body, element);
    Value *result = op_result(op, 0);
    if (result->type != type) result = rewrite_build_or_fold(l->b, TENSOR(CAST), &result, 1, type);
    rewriter_replace_one(l->rw, l->op, result);
    return true;
}

bool tosa_lower_elementwise(Lower *l)
{
    if (!tosa_lower_all_ranked(l->op)) return false;
    const Type *type = tosa_lower_signless(result_type(l->op));
    Broadcast bc = {.l = l, .operand_count = l->op->operand_count, .rank = rank_of(type)};
    bc.operands = ARENA_ARRAY(l->arena, Value *, bc.operand_count);
    bc.extents = ARENA_ARRAY(l->arena, Extent, bc.rank);
    for (uint32_t i = 0; i < bc.operand_count; i++)
        bc.operands[i] = tosa_lower_remap(l->rw, op_operand(l->op, i));
    for (uint32_t i = 0; i < bc.operand_count; i++)
        bc.operands[i] = expand_rank(l, bc.operands[i], bc.rank);
    broadcast(&bc);
    vec_free(&bc.pool.items);
    return build_elementwise(&bc, type);
}
