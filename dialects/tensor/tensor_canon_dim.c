/* Canonicalization patterns of tensor.dim, which express an extent of an op's result by the op's
 * operands.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/affine/affine.h"
#include "dialects/arith/arith.h"
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

/* The constant index of a tensor.dim within the source's rank; false otherwise. */
static bool constant_dim(Op *op, uint32_t *out)
{
    const Attr *index = fold_constant_of(op_operand(op, 1));
    const Type *type = op_operand(op, 0)->type;
    if (!index || index->kind != ATTR_INTEGER || !type_is_ranked(type)) return false;
    int64_t dim = attr_int_value(index);
    *out = (uint32_t)dim;
    return dim >= 0 && dim < type->u.shaped.rank;
}

/* dim(cast(x)) -> dim(x) */
static bool dim_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *cast = rewrite_def_of(op_operand(op, 0), TENSOR(CAST));
    if (!cast) return false;
    op_set_operand(op, 0, op_operand(cast, 0));
    rewriter_modified(rw, op);
    return true;
}

/* dim(empty(…, n, …)) -> n */
static bool dim_of_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *empty = rewrite_def_of(op_operand(op, 0), TENSOR(EMPTY));
    uint32_t dim, next = 0;
    if (!empty || !constant_dim(op, &dim)) return false;
    const int64_t *dims = op_result(empty, 0)->type->u.shaped.dims;
    if (dims[dim] != DIM_DYNAMIC) return false;
    for (uint32_t i = 0; i < dim; i++) next += dims[i] == DIM_DYNAMIC;
    rewriter_replace_one(rw, op, op_operand(empty, next));
    return true;
}

/* dim(op(… into x)) -> dim(x) for ops whose result has the shape of a destination */
static bool dim_of_destination(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *destination = value_destination(op_operand(op, 0));
    if (!destination) return false;
    op_set_operand(op, 0, destination);
    rewriter_modified(rw, op);
    return true;
}

/* dim(reshape(x, shape), i) -> shape[i] */
static bool dim_of_reshape(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *reshape = rewrite_def_of(op_operand(op, 0), TENSOR(RESHAPE));
    if (!reshape) return false;
    Value *operands[] = {op_operand(reshape, 1), op_operand(op, 1)};
    const Type *type = type_elem(operands[0]->type);
    Value *extent = op_result(build(&rw->b, TENSOR(EXTRACT), operands, 2, &type, 1, NULL, 0), 0);
    if (type->kind != TYPE_INDEX)
        extent = build_unary(&rw->b, ARITH(INDEX_CAST), type_index(op->ctx), extent);
    rewriter_replace_one(rw, op, extent);
    return true;
}

void tensor_canonicalize_dim(PatternSet *set)
{
    pattern_add(set, "dim-of-cast", TENSOR(DIM), 1, dim_of_cast);
    pattern_add(set, "dim-of-destination", TENSOR(DIM), 1, dim_of_destination);
    pattern_add(set, "dim-of-reshape", TENSOR(DIM), 1, dim_of_reshape);
}

bool tensor_find_group(const Op *expand, uint32_t dim, uint32_t *group, int64_t *product)
{
    const Attr *groups = op_attr(expand, "reassociation");
    const int64_t *dims = op_result(expand, 0)->type->u.shaped.dims;
    uint32_t next = 0, begin = 0;
    for (*group = 0; next <= dim; ++*group) {
        begin = next;
        next += groups->u.array.items[*group]->u.array.count;
    }
    --*group;
    *product = 1;
    for (uint32_t i = begin; i < next; i++)
        if (i != dim && (dims[i] == DIM_DYNAMIC || !i64_mul(*product, dims[i], product)))
            return false;
    return *product > 0;
}

/* dim(expand(x), i) -> dim(x, group of i) / the group's other extents */
static bool dim_of_expand(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *expand = rewrite_def_of(op_operand(op, 0), TENSOR(EXPAND_SHAPE));
    uint32_t dim, group;
    int64_t product;
    if (!expand || !constant_dim(op, &dim) ||
        op_result(expand, 0)->type->u.shaped.dims[dim] != DIM_DYNAMIC ||
        !tensor_find_group(expand, dim, &group, &product))
        return false;
    Context *ctx = rw->b.ctx;
    Value *whole = tensor_dim(&rw->b, op_operand(expand, 0), group);
    const AffineExpr *quotient = affine_floordiv(affine_symbol(ctx, 0), affine_const(ctx, product));
    rewriter_replace_one(rw, op, affine_apply(&rw->b, map_get(ctx, 0, 1, 1, &quotient), &whole, 1));
    return true;
}

/* dim(collapse(x), i) -> the product of x's extents in group i */
static bool dim_of_collapse(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *collapse = rewrite_def_of(op_operand(op, 0), TENSOR(COLLAPSE_SHAPE));
    uint32_t dim;
    if (!collapse || !constant_dim(op, &dim) ||
        op_result(collapse, 0)->type->u.shaped.dims[dim] != DIM_DYNAMIC)
        return false;
    const Attr *group = op_attr(collapse, "reassociation")->u.array.items[dim];
    ValueList sizes = {0};
    const AffineExpr *product = NULL;
    for (uint32_t i = 0; i < group->u.array.count; i++) {
        uint32_t inner = (uint32_t)attr_int_value(group->u.array.items[i]);
        const AffineExpr *symbol = affine_symbol(rw->b.ctx, i);
        *vec_push(&sizes) = tensor_dim(&rw->b, op_operand(collapse, 0), inner);
        product = product ? affine_mul(product, symbol) : symbol;
    }
    const AffineMap *map = map_get(rw->b.ctx, 0, (uint32_t)sizes.len, 1, &product);
    rewriter_replace_one(rw, op, affine_apply(&rw->b, map, sizes.data, (uint32_t)sizes.len));
    vec_free(&sizes);
    return true;
}

void tensor_add_dim_of_reshapes(PatternSet *set)
{
    pattern_add(set, "dim-of-expand", TENSOR(DIM), 1, dim_of_expand);
    pattern_add(set, "dim-of-collapse", TENSOR(DIM), 1, dim_of_collapse);
}

void tensor_add_dim_of_empty(PatternSet *set)
{
    pattern_add(set, "dim-of-empty", TENSOR(DIM), 1, dim_of_empty);
}
