/* Reshapes: reassociations expressed as indices and extents.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir,
 * lit/lowering/linalg_to_dfg/linalg-to-dfg-reshape.mir */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/tensor/tensor.h"

/* Every product of extents is then below the number of elements, which fits 64 bits. */
static bool can_read(const Type *type)
{
    int64_t count;
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > 0 &&
           type->u.shaped.rank <= RESHAPE_MAX_RANK && type_element_count(type, &count) && count > 0;
}

bool reshape_read(const Op *op, Reshape *out)
{
    if (op->def != TENSOR(EXPAND_SHAPE) && op->def != TENSOR(COLLAPSE_SHAPE)) return false;
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (!can_read(from) || !can_read(to)) return false;
    bool expands = op->def == TENSOR(EXPAND_SHAPE);
    *out =
        (Reshape){.expands = expands, .wide = expands ? to : from, .narrow = expands ? from : to};
    const Attr *groups = op_attr(op, "reassociation");
    uint32_t dim = 0;
    for (uint32_t g = 0; g < groups->u.array.count; g++)
        for (uint32_t i = 0; i < groups->u.array.items[g]->u.array.count; i++)
            out->group[dim++] = g;
    return true;
}

bool reshape_is(const Op *op)
{
    Reshape reshape;
    return reshape_read(op, &reshape);
}

Value *reshape_source(const Value *value)
{
    Op *def = value_def(value);
    while (def && reshape_is(def)) {
        value = op_operand(def, 0);
        def = value_def(value);
    }
    return (Value *)value;
}

int64_t reshape_step(const Reshape *reshape, uint32_t wide_dim)
{
    int64_t step = 1;
    for (uint32_t d = wide_dim + 1; d < reshape->wide->u.shaped.rank; d++)
        if (reshape->group[d] == reshape->group[wide_dim]) step *= reshape->wide->u.shaped.dims[d];
    return step;
}

int reshape_outermost(const Reshape *reshape, uint32_t narrow_dim)
{
    for (uint32_t d = 0; d < reshape->wide->u.shaped.rank; d++)
        if (reshape->group[d] == narrow_dim && reshape->wide->u.shaped.dims[d] != 1) return (int)d;
    return -1;
}

/* (narrow floordiv step) mod extent; the outermost dimension of a group needs no mod. */
static const AffineExpr *wide_index(Context *ctx, const Reshape *r, uint32_t dim)
{
    int64_t extent = r->wide->u.shaped.dims[dim];
    if (extent == 1) return affine_const(ctx, 0);
    const AffineExpr *index =
        affine_floordiv(affine_dim(ctx, r->group[dim]), affine_const(ctx, reshape_step(r, dim)));
    bool is_outermost = reshape_outermost(r, r->group[dim]) == (int)dim;
    return is_outermost ? index : affine_mod(index, affine_const(ctx, extent));
}

/* sum of wide * step over a group */
static const AffineExpr *narrow_index(Context *ctx, const Reshape *r, uint32_t dim)
{
    const AffineExpr *index = affine_const(ctx, 0);
    for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++)
        if (r->group[d] == dim && r->wide->u.shaped.dims[d] != 1)
            index = affine_add(index, affine_mul_c(affine_dim(ctx, d), reshape_step(r, d)));
    return index;
}

const AffineMap *reshape_map(const Op *op)
{
    Reshape r = {.expands = false};
    const AffineExpr *results[RESHAPE_MAX_RANK];
    bool ok = reshape_read(op, &r);
    assert(ok);
    (void)ok;
    uint32_t from = op_operand(op, 0)->type->u.shaped.rank;
    uint32_t to = op_result(op, 0)->type->u.shaped.rank;
    for (uint32_t i = 0; i < to; i++)
        results[i] = (r.expands ? wide_index : narrow_index)(op->ctx, &r, i);
    return map_get(op->ctx, from, 0, to, results);
}

/* Each group takes as few dimensions as make up its extent, the last one all that are left. */
const Attr *reshape_reassociation(const Type *wide, const Type *narrow)
{
    Context *ctx = wide->ctx;
    const Attr *groups[RESHAPE_MAX_RANK], *members[RESHAPE_MAX_RANK];
    uint32_t next = 0, rank = wide->u.shaped.rank;
    for (uint32_t g = 0; g < narrow->u.shaped.rank; g++) {
        int64_t extent = narrow->u.shaped.dims[g], product = 1;
        bool is_last = g + 1 == narrow->u.shaped.rank;
        uint32_t count = 0;
        while (next < rank && (count == 0 || product != extent || is_last)) {
            product *= wide->u.shaped.dims[next];
            members[count++] = attr_i64(ctx, next++);
        }
        if (count == 0 || product != extent) return NULL;
        groups[g] = attr_array(ctx, members, count);
    }
    return next == rank ? attr_array(ctx, groups, narrow->u.shaped.rank) : NULL;
}
