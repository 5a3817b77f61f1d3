/* Removal of a collapse_shape whose source does not stream in the order that it needs, as when an
 * image with its channels innermost is flattened channel by channel. The kernels that read it loop
 * over the merged dimensions instead:
 *   generic(collapse(x)) -> collapse(generic(x)), the loops of merged dimensions split
 * This goes on until a reduction, such as a fully connected layer, whose result no longer has these
 * loops. Constants are given the shape of the loops; other operands are expanded.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/layout/internal.h"

typedef VEC(Op *) OpList;

/* The way in which the loops of a generic are split. */
typedef struct SinkSplit {
    Op *generic;
    const Attr *loc;                   /* of the collapse_shape */
    uint32_t old_count, count;         /* loops before and after */
    uint32_t first[KERNEL_MAX_LOOPS];  /* of an old loop: its outermost new loop */
    uint32_t parts[KERNEL_MAX_LOOPS];  /* of an old loop: new loops that it becomes */
    uint32_t group[KERNEL_MAX_LOOPS];  /* of an old loop that is split: dimension that it walks */
    int64_t extents[KERNEL_MAX_LOOPS]; /* of new loops */
} SinkSplit;

static bool is_split(const SinkSplit *s, const AffineExpr *expr)
{
    return expr->kind == AFFINE_DIM && s->parts[expr->value] > 1;
}

static uint32_t group_size(const Reshape *r, uint32_t group)
{
    uint32_t size = 0;
    for (uint32_t d = 0; d < r->wide->u.shaped.rank; d++) size += r->group[d] == group;
    return size;
}

/* The loops that walk merged dimensions one element at a time, each for one dimension. */
static bool find_split_loops(SinkSplit *s, const Reshape *r, const AffineMap *map)
{
    for (uint32_t i = 0; i < s->old_count; i++) s->parts[i] = 1;
    for (uint32_t g = 0; g < map->result_count; g++) {
        const AffineExpr *index = map->results[g];
        uint32_t size = group_size(r, g);
        if (size == 1) continue;
        if (index->kind != AFFINE_DIM || is_split(s, index)) return false;
        s->parts[index->value] = size;
        s->group[index->value] = g;
    }
    return true;
}

static bool number_loops(SinkSplit *s, const Reshape *r)
{
    int64_t old[KERNEL_MAX_LOOPS];
    if (!linalg_loop_extents(s->generic, old)) return false;
    for (uint32_t i = 0; i < s->old_count; i++) {
        s->first[i] = s->count;
        if (s->count + s->parts[i] > KERNEL_MAX_LOOPS) return false;
        if (s->parts[i] == 1) s->extents[s->count++] = old[i];
        for (uint32_t d = 0; s->parts[i] > 1 && d < r->wide->u.shaped.rank; d++)
            if (r->group[d] == s->group[i]) s->extents[s->count++] = r->wide->u.shaped.dims[d];
    }
    return s->count > s->old_count;
}

/* Every operand must walk split loops one element at a time, too. */
static bool operand_can_split(const SinkSplit *s, uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(s->generic, operand);
    const Type *type = op_operand(s->generic, operand)->type;
    uint32_t rank = 0;
    bool splits = false;
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *index = map->results[r];
        for (uint32_t loop = 0; loop < s->old_count; loop++)
            if (s->parts[loop] > 1 && !is_split(s, index) && affine_uses_dim(index, loop))
                return false;
        rank += is_split(s, index) ? s->parts[index->value] : 1;
        splits |= is_split(s, index);
    }
    return rank <= RESHAPE_MAX_RANK && (!splits || type->kind == TYPE_RANKED_TENSOR);
}

static bool plan_split(const Op *collapse, Op *generic, uint32_t operand, SinkSplit *out)
{
    Reshape r;
    if (generic->def != LINALG(GENERIC) || generic->result_count != 1 ||
        linalg_loop_count(generic) > KERNEL_MAX_LOOPS || !reshape_read(collapse, &r))
        return false;
    *out = (SinkSplit){
        .generic = generic, .loc = collapse->loc, .old_count = linalg_loop_count(generic)};
    const AffineMap *map = linalg_operand_map(generic, operand);
    if (!find_split_loops(out, &r, map) || !number_loops(out, &r)) return false;
    for (uint32_t i = 0; i < generic->operand_count; i++)
        if (!operand_can_split(out, i)) return false;
    FOR_EACH_OP(op, linalg_body(generic))
        if (op->def == LINALG(INDEX)) return false;
    return true;
}

/* A tensor indexed by the old loops as one indexed by the new loops: its type and the groups of its
 * dimensions. */
static const Type *split_type(const SinkSplit *s, const Type *type, const AffineMap *map,
                              const Attr **groups)
{
    int64_t dims[RESHAPE_MAX_RANK];
    const Attr *lists[RESHAPE_MAX_RANK], *members[RESHAPE_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *index = map->results[r];
        uint32_t parts = is_split(s, index) ? s->parts[index->value] : 1;
        for (uint32_t i = 0; i < parts; i++) {
            members[i] = attr_i64(type->ctx, rank);
            dims[rank++] =
                parts > 1 ? s->extents[s->first[index->value] + i] : type->u.shaped.dims[r];
        }
        lists[r] = attr_array(type->ctx, members, parts);
    }
    *groups = attr_array(type->ctx, lists, map->result_count);
    return type_with_shape(type, dims, rank);
}

static const AffineMap *split_map(const SinkSplit *s, const AffineMap *map)
{
    const AffineExpr *loops[KERNEL_MAX_LOOPS], *results[RESHAPE_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->old_count; i++) loops[i] = affine_dim(map->ctx, s->first[i]);
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *index = map->results[r];
        uint32_t parts = is_split(s, index) ? s->parts[index->value] : 1;
        if (parts == 1) results[n++] = affine_replace(index, loops, s->old_count, NULL, 0);
        for (uint32_t i = 0; parts > 1 && i < parts; i++)
            results[n++] = affine_dim(map->ctx, s->first[index->value] + i);
    }
    return map_get(map->ctx, s->count, 0, n, results);
}

/* The value in its new shape: constants and initial values anew, others by undoing a collapse. */
static Value *split_value(Builder *b, Value *value, const Type *type, const Attr *groups)
{
    const Op *def = value_def(value);
    const Attr *constant = fold_constant_of(value);
    if (value->type == type) return value;
    if (constant && constant->kind == ATTR_DENSE)
        return arith_constant(b,
                              attr_dense_raw(type, constant->u.dense.data, constant->u.dense.size,
                                             constant->u.dense.is_splat));
    if (def && def->def == TENSOR(EMPTY))
        return op_result(build(b, TENSOR(EMPTY), NULL, 0, &type, 1, NULL, 0), 0);
    if (def && kernel_fill_value(def)) {
        Value *scalar = kernel_fill_value(def);
        const Attr *number = fold_constant_of(scalar);
        return linalg_fill(b, number ? arith_constant(b, number) : scalar,
                           split_value(b, op_operand(def, def->operand_count - 1), type, groups));
    }
    if (def && def->def == TENSOR(COLLAPSE_SHAPE) && op_operand(def, 0)->type == type)
        return op_operand(def, 0);
    return tensor_expand_shape(b, value, type, groups);
}

static void split_iterators(const SinkSplit *s)
{
    bool is_reduction[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < s->old_count; i++)
        for (uint32_t k = 0; k < s->parts[i]; k++)
            is_reduction[s->first[i] + k] = linalg_is_reduction(s->generic, i);
    op_set_attr(s->generic, "iterator_types",
                linalg_iterators_attr(s->generic->ctx, is_reduction, s->count));
}

/* Gives readers the result in its old shape; the new collapse, or NULL if none is needed. */
static Op *collapse_result(const SinkSplit *s, const Type *type, const Attr *groups)
{
    Value *result = op_result(s->generic, 0);
    const Type *old = result->type;
    if (type == old) return NULL;
    Builder b = builder_after(s->generic);
    b.loc = s->loc;
    Value *collapsed = tensor_collapse_shape(&b, result, old, groups);
    value_replace_all(result, collapsed);
    op_set_operand(value_def(collapsed), 0, result);
    result->type = type;
    return value_def(collapsed);
}

static Op *apply_split(const SinkSplit *s)
{
    Op *generic = s->generic;
    Builder b = builder_before(generic);
    VEC(const AffineMap *) maps = {0};
    const Type *type = NULL;
    const Attr *groups = NULL;
    for (uint32_t i = 0; i < generic->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(generic, i);
        Value *value = op_operand(generic, i);
        *vec_push(&maps) = split_map(s, map);
        if (!type_is_shaped(value->type)) continue;
        type = split_type(s, value->type, map, &groups);
        op_set_operand(generic, i, split_value(&b, value, type, groups));
    }
    split_iterators(s);
    op_set_attr(generic, "indexing_maps", linalg_maps_attr(generic->ctx, maps.data, maps.len));
    op_set_attr(generic, DFG_ATTR_KERNEL, NULL);
    vec_free(&maps);
    return collapse_result(s, type, groups); /* those of the last operand, the initial value */
}

/* One reader that loops over the merged dimensions from now on; false if no other can. */
static bool sink_into_reader(Op *collapse, OpList *more)
{
    FOR_EACH_USE(use, op_result(collapse, 0)) {
        SinkSplit split;
        if (!plan_split(collapse, use->owner, use_index(use), &split)) continue;
        Op *below = apply_split(&split);
        if (below) *vec_push(more) = below;
        return true;
    }
    return false;
}

bool layout_sink_collapse(Op *collapse)
{
    OpList work = {0};
    bool any = false;
    *vec_push(&work) = collapse;
    while (work.len) {
        Op *op = work.data[--work.len];
        while (sink_into_reader(op, &work)) any = true;
        if (!value_has_uses(op_result(op, 0))) op_erase(op);
    }
    vec_free(&work);
    return any;
}
