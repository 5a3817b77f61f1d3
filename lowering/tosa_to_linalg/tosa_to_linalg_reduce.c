/* Reductions along one axis to linalg.reduce, argmax to a linalg.generic with two results.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-reduce.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

typedef struct TosaReduction {
    const OpDef *on_float, *on_int, *on_bool;
    int64_t start; /* where the op starts at neither end of the range */
    bool from_highest, from_lowest;
} TosaReduction;

static const TosaReduction *reduction_of(const OpDef *def)
{
    static const TosaReduction table[TOSA_OP_COUNT] = {
        [TOSA_REDUCE_ALL] = {.on_bool = ARITH(ANDI), .start = 1},
        [TOSA_REDUCE_ANY] = {.on_bool = ARITH(ORI)},
        [TOSA_REDUCE_MAX] = {ARITH(MAXIMUMF), ARITH(MAXSI), .from_lowest = true},
        [TOSA_REDUCE_MIN] = {ARITH(MINIMUMF), ARITH(MINSI), .from_highest = true},
        [TOSA_REDUCE_PROD] = {ARITH(MULF), ARITH(MULI), .start = 1},
        [TOSA_REDUCE_SUM] = {ARITH(ADDF), ARITH(ADDI)},
    };
    return &table[def - tosa_ops];
}

static const OpDef *combiner_of(const TosaReduction *reduction, const Type *elem)
{
    if (reduction->on_bool) return elem == type_i(elem->ctx, 1) ? reduction->on_bool : NULL;
    if (type_is_float(elem)) return reduction->on_float;
    return type_is_integer(elem) ? reduction->on_int : NULL;
}

static const Attr *start_of(const TosaReduction *reduction, const Type *elem)
{
    if (reduction->from_highest) return tosa_build_highest_of(elem);
    if (reduction->from_lowest) return tosa_build_lowest_of(elem);
    return type_is_float(elem) ? attr_float(elem, (double)reduction->start)
                               : attr_int(elem, reduction->start);
}

/* The op's input shape without the axis, and the dynamic extents in it. */
static const Type *reduced_type(Lower *l, uint32_t axis, Values *dims)
{
    Value *input = op_operand(l->op, 0);
    uint32_t rank = rank_of(input->type), kept = 0, count = 0;
    int64_t *shape = ARENA_ARRAY(l->arena, int64_t, rank);
    Value **values = ARENA_ARRAY(l->arena, Value *, rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (i == axis) continue;
        shape[kept++] = extent_of(input->type, i);
        if (is_dynamic(input->type, i)) values[count++] = tensor_dim(l->b, input, i);
    }
    *dims = (Values){values, count};
    return type_tensor(type_elem(result_type(l->op)), shape, kept, NULL);
}

static Value *build_reduce(Lower *l, Value *init, uint32_t axis, const OpDef *combiner)
{
    const int64_t dimension = axis;
    Value *operands[] = {op_operand(l->op, 0), init};
    NamedAttr attr = build_named_attr(l->ctx, "dimensions", attr_i64_array(l->ctx, &dimension, 1));
    Op *op = build(l->b, LINALG(REDUCE), operands, 2, &init->type, 1, &attr, 1);
    Block *body = region_add_block(op_region(op, 0));
    for (uint32_t i = 0; i < 2; i++)
        block_add_arg(body, type_elem(operands[i]->type), value_loc(operands[i]));
    Builder inner = builder_at_end(body, l->b->loc);
    tosa_build_yield(&inner, tosa_build_same(&inner, combiner, body->args[0], body->args[1]));
    return op_result(op, 0);
}

/* The reduced axis comes back as an extent of 1. */
static Value *restore_axis(Lower *l, Value *reduced, uint32_t axis)
{
    uint32_t rank = rank_of(reduced->type);
    uint32_t *groups = ARENA_ARRAY(l->arena, uint32_t, rank + 1);
    for (uint32_t i = 0; i < rank; i++) groups[i] = 1;
    if (rank > 0) groups[axis < rank ? axis : rank - 1] = 2;
    return tensor_expand_shape(l->b, reduced, result_type(l->op),
                               tensor_groups_attr(l->ctx, groups, rank));
}

bool tosa_lower_reduce(Lower *l)
{
    const Type *elem = type_elem(result_type(l->op));
    const TosaReduction *reduction = reduction_of(l->op->def);
    const OpDef *combiner = combiner_of(reduction, elem);
    uint32_t axis = (uint32_t)tosa_build_int_attr(l->op, "axis");
    Values dims;
    if (!tosa_lower_all_ranked(l->op) || !combiner || axis >= rank_of(operand_type(l->op, 0)))
        return false;
    const Type *type = reduced_type(l, axis, &dims);
    Value *empty = tosa_build_empty_tensor(l->b, type, elem, dims);
    Value *start = arith_constant(l->b, start_of(reduction, elem));
    Value *init = linalg_fill(l->b, start, empty);
    Value *reduced = build_reduce(l, init, axis, combiner);
    rewriter_replace_one(l->rw, l->op, restore_axis(l, reduced, axis));
    return true;
}

/* (index, value) = new > value ? (here, new) : (index, value) */
static void build_argmax_body(Builder *b, uint32_t axis)
{
    Value *fresh = b->block->args[0], *index = b->block->args[1], *value = b->block->args[2];
    Value *here = build_unary(b, ARITH(INDEX_CAST), index->type, linalg_index(b, axis));
    Value *exceeds = type_is_float(fresh->type) ? arith_cmpf(b, CMPF_OGT, fresh, value)
                                                : arith_cmpi(b, CMPI_SGT, fresh, value);
    Value *results[2];
    results[1] = arith_select(b, exceeds, fresh, value);
    results[0] = arith_select(b, exceeds, here, index);
    (void)linalg_yield(b, results, 2);
}

static Value *build_argmax(Lower *l, Values inits, uint32_t axis)
{
    Value *input = op_operand(l->op, 0);
    uint32_t rank = rank_of(input->type), kept = 0;
    bool *is_reduction = ARENA_ARRAY(l->arena, bool, rank);
    const AffineExpr **index = ARENA_ARRAY(l->arena, const AffineExpr *, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis) index[kept++] = affine_dim(l->ctx, i);
    is_reduction[axis] = true;
    const AffineMap *out = map_get(l->ctx, rank, 0, kept, index);
    const AffineMap *maps[] = {NULL, out, out};
    GenericDef def = {.inputs = VALUES(input),
                      .inits = inits,
                      .maps = maps,
                      .loops = rank,
                      .is_reduction = is_reduction};
    const Type *types[] = {result_type(l->op),
                           tosa_build_tensor_like(result_type(l->op), type_elem(input->type))};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, types, &body);
    build_argmax_body(&body, axis);
    return op_result(op, 0);
}

bool tosa_lower_argmax(Lower *l)
{
    Value *input = op_operand(l->op, 0), **dims = NULL;
    const Type *type = result_type(l->op), *elem = type_elem(input->type);
    const Type *index = type_elem(type);
    uint32_t axis = (uint32_t)tosa_build_int_attr(l->op, "axis"), count = 0;
    if (!tosa_lower_all_ranked(l->op) || !type_is_integer(index) || !tosa_build_zero_of(elem) ||
        axis >= rank_of(input->type))
        return false;
    dims = ARENA_ARRAY(l->arena, Value *, rank_of(input->type));
    for (uint32_t i = 0; i < rank_of(input->type); i++)
        if (is_dynamic(input->type, i) && i != axis) dims[count++] = tensor_dim(l->b, input, i);
    Values extents = {dims, count};
    Value *empty = tosa_build_empty_tensor(l->b, type, index, extents);
    Value *indices = linalg_fill(l->b, arith_constant(l->b, attr_int(index, 0)), empty);
    empty = tosa_build_empty_tensor(l->b, type, elem, extents);
    Value *maxima = linalg_fill(l->b, arith_constant(l->b, tosa_build_lowest_of(elem)), empty);
    rewriter_replace_one(l->rw, l->op, build_argmax(l, VALUES(indices, maxima), axis));
    return true;
}
