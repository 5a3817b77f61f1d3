/* Patterns by which a structured op beside a reshape runs on the larger shape, so that the reshape
 * disappears or moves to the op's other operands:
 *   op(collapse(x), y) -> collapse(op'(x, expand(y)))
 *   expand(op(x, y))   -> op'(expand(x), expand(y))
 * Each loop that indexes a dimension of the smaller shape becomes the loops of that dimension's
 * group, outermost first; the other loops stay. op' is a linalg.generic.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-reshape.mir */
#include "dialects/affine/affine.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/internal.h"

typedef VEC(uint32_t) Counts;

/* Loop i becomes the loops first[i] … first[i] + count[i] - 1 of those extents. */
typedef struct Expansion {
    Op *op;
    uint32_t *first, *count; /* per old loop */
    int64_t *extents;        /* per new loop */
    uint32_t loops;          /* new ones */
} Expansion;

static void expansion_free(Expansion *e)
{
    free_ptr((void **)&e->first);
    free_ptr((void **)&e->count);
    free_ptr((void **)&e->extents);
}

static bool is_expandable(const Op *op, uint32_t operand)
{
    const Attr *maps = linalg_indexing_maps(op);
    const AffineMap *map = maps->u.array.items[operand]->u.map;
    if (!linalg_has_tensor_semantics(op) || map->result_count == 0) return false;
    for (uint32_t i = 0; i < maps->u.array.count; i++)
        if (!map_is_projected_permutation(maps->u.array.items[i]->u.map, false)) return false;
    for (uint32_t i = 0; i < map->result_count; i++)
        if (linalg_is_reduction(op, (uint32_t)map->results[i]->value)) return false;
    return true;
}

static uint32_t group_size(const Attr *groups, uint32_t group)
{
    return groups->u.array.items[group]->u.array.count;
}

/* The loops that a reshape of that operand asks for; false if a trip count is not known. */
static bool expansion_init(Expansion *e, Op *op, uint32_t operand, const Op *reshape)
{
    uint32_t loops = linalg_loop_count(op), next = 0;
    const AffineMap *map = linalg_operand_map(op, operand);
    const Attr *groups = op_attr(reshape, "reassociation");
    const Type *in = op_operand(reshape, 0)->type, *out = op_result(reshape, 0)->type;
    const Type *wide = in->u.shaped.rank > out->u.shaped.rank ? in : out;
    int64_t *old = xcalloc(loops, sizeof *old);
    bool known = linalg_loop_extents(op, old);
    *e = (Expansion){.op = op};
    e->first = xcalloc(loops, sizeof *e->first);
    e->count = xcalloc(loops, sizeof *e->count);
    e->extents = xcalloc(loops + wide->u.shaped.rank, sizeof *e->extents);
    for (uint32_t i = 0; i < loops; i++) {
        int group = map_result_of_dim(map, i);
        e->first[i] = e->loops;
        e->count[i] = group < 0 ? 1 : group_size(groups, (uint32_t)group);
        e->extents[e->loops] = old[i];
        e->loops += e->count[i];
    }
    for (uint32_t g = 0; g < map->result_count; g++)
        for (uint32_t k = 0; k < group_size(groups, g); k++)
            e->extents[e->first[map->results[g]->value] + k] = wide->u.shaped.dims[next++];
    free_ptr((void **)&old);
    return known && groups->u.array.count > 0;
}

/* A loop is split into at most one loop of unknown trip count, and into none but the outermost
 * if the body reads its index. */
static bool splits_are_known(const Expansion *e)
{
    bool has_index = region_entry(op_region(e->op, 0)) && parts_body_has_index(e->op);
    for (uint32_t i = 0; i < linalg_loop_count(e->op); i++) {
        uint32_t unknown = 0;
        for (uint32_t k = 0; e->count[i] > 1 && k < e->count[i]; k++) {
            bool is_unknown = e->extents[e->first[i] + k] == DIM_DYNAMIC;
            if (is_unknown && has_index && k > 0) return false;
            unknown += is_unknown;
        }
        if (unknown > 1) return false;
    }
    return true;
}

static const AffineMap *expanded_map(const Expansion *e, const AffineMap *map)
{
    VEC(const AffineExpr *) results = {0};
    for (uint32_t i = 0; i < map->result_count; i++) {
        int64_t loop = map->results[i]->value;
        for (uint32_t k = 0; k < e->count[loop]; k++)
            *vec_push(&results) = affine_dim(map->ctx, e->first[loop] + k);
    }
    const AffineMap *expanded = map_get(map->ctx, e->loops, 0, (uint32_t)results.len, results.data);
    vec_free(&results);
    return expanded;
}

static const Type *expanded_type(const Expansion *e, const AffineMap *map, const Type *type)
{
    IntList dims = {0};
    if (type->kind != TYPE_RANKED_TENSOR) return type;
    for (uint32_t i = 0; i < map->result_count; i++) {
        int64_t loop = map->results[i]->value;
        for (uint32_t k = 0; k < e->count[loop]; k++)
            *vec_push(&dims) = e->extents[e->first[loop] + k];
    }
    const Type *expanded = type_tensor(type_elem(type), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return expanded;
}

static const Attr *expanded_groups(const Expansion *e, const AffineMap *map)
{
    Counts sizes = {0};
    for (uint32_t i = 0; i < map->result_count; i++)
        *vec_push(&sizes) = e->count[map->results[i]->value];
    const Attr *groups = tensor_groups_attr(map->ctx, sizes.data, sizes.len);
    vec_free(&sizes);
    return groups;
}

/* The type, indexed by the map, has the extents that its expansion says. */
static bool expansion_fits(const Expansion *e, const AffineMap *map, const Type *type)
{
    for (uint32_t i = 0; i < map->result_count; i++) {
        int64_t loop = map->results[i]->value, product = 1;
        for (uint32_t k = 0; k < e->count[loop]; k++) {
            int64_t extent = e->extents[e->first[loop] + k];
            product =
                extent == DIM_DYNAMIC || product == DIM_DYNAMIC ? DIM_DYNAMIC : product * extent;
        }
        if (type->u.shaped.dims[i] != product) return false;
    }
    return true;
}

static bool all_fit(const Expansion *e, uint32_t reshaped)
{
    for (uint32_t i = 0; i < e->op->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(e->op, i);
        const Type *type = op_operand(e->op, i)->type;
        bool is_source = i == reshaped && i < linalg_input_count(e->op);
        if (!is_source && expanded_type(e, map, type) != type && !expansion_fits(e, map, type))
            return false;
    }
    return true;
}

static Value *expand_operand(Builder *b, const Expansion *e, uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(e->op, operand);
    Value *value = op_operand(e->op, operand);
    const Type *type = expanded_type(e, map, value->type);
    return type == value->type ? value
                               : tensor_expand_shape(b, value, type, expanded_groups(e, map));
}

static const Attr *expanded_iterators(const Expansion *e)
{
    VEC(bool) reductions = {0};
    for (uint32_t i = 0; i < linalg_loop_count(e->op); i++)
        for (uint32_t k = 0; k < e->count[i]; k++)
            *vec_push(&reductions) = linalg_is_reduction(e->op, i);
    const Attr *iterators = linalg_iterators_attr(e->op->ctx, reductions.data, reductions.len);
    vec_free(&reductions);
    return iterators;
}

/* index(i) -> (index(i0) * n1 + index(i1)) * n2 + index(i2), for extents n1, n2 */
static void split_index(Rewriter *rw, const Expansion *e, Op *index)
{
    Context *ctx = rw->b.ctx;
    uint32_t loop = (uint32_t)attr_int_value(op_attr(index, "dim"));
    ValueList inner = {0};
    if (e->count[loop] == 1 && e->first[loop] == loop) return;
    rw->b.block = index->block;
    rw->b.before = index->next;
    rw->b.loc = e->op->loc;
    for (uint32_t k = 1; k < e->count[loop]; k++)
        *vec_push(&inner) = linalg_index(&rw->b, e->first[loop] + k);
    Value *value = linalg_index(&rw->b, e->first[loop]);
    rw->b.loc = index->loc;
    for (uint32_t k = 1; k < e->count[loop]; k++) {
        const AffineExpr *scaled = affine_mul_c(affine_dim(ctx, 1), e->extents[e->first[loop] + k]);
        const AffineExpr *sum = affine_add(affine_dim(ctx, 0), scaled);
        Value *operands[] = {inner.data[k - 1], value};
        value = affine_apply(&rw->b, map_get(ctx, 2, 0, 1, &sum), operands, 2);
    }
    rewriter_replace_one(rw, index, value);
    vec_free(&inner);
}

static void copy_expanded_body(Rewriter *rw, const Expansion *e, Op *made)
{
    PtrMap values = {0};
    Block *from = linalg_body(e->op), *to = linalg_body(made);
    Builder saved = rw->b;
    for (uint32_t i = 0; i < from->arg_count; i++) {
        to->args[i]->loc = from->args[i]->loc;
        ptrmap_put(&values, from->args[i], to->args[i]);
    }
    parts_body_copy(rw, to, from, NULL, &values);
    FOR_EACH_OP_SAFE(op, to)
        if (op->def == LINALG(INDEX)) split_index(rw, e, op);
    rw->b = saved;
    ptrmap_free(&values);
}

static Op *build_expanded(Rewriter *rw, const Expansion *e, uint32_t reshaped, const Op *reshape)
{
    GenericParts parts = {0};
    uint32_t inputs = linalg_input_count(e->op);
    for (uint32_t i = 0; i < e->op->operand_count; i++) {
        const AffineMap *map = expanded_map(e, linalg_operand_map(e->op, i));
        if (i >= inputs)
            parts_add_init(&parts, expand_operand(&rw->b, e, i), map);
        else
            parts_add_input(
                &parts, i == reshaped ? op_operand(reshape, 0) : expand_operand(&rw->b, e, i), map);
    }
    Op *made = parts_build(&rw->b, &parts, expanded_iterators(e));
    copy_expanded_body(rw, e, made);
    parts_free(&parts);
    return made;
}

/* The values that replace the op's results: those of the expanded op, collapsed to the old
 * shapes. */
static void collapse_results(Rewriter *rw, const Expansion *e, Op *made, ValueList *out)
{
    for (uint32_t i = 0; i < made->result_count; i++) {
        Value *value = op_result(made, i);
        const Type *type = op_result(e->op, i)->type;
        const AffineMap *map = linalg_operand_map(e->op, linalg_input_count(e->op) + i);
        if (value->type != type)
            value = tensor_collapse_shape(&rw->b, value, type, expanded_groups(e, map));
        *vec_push(out) = value;
    }
}

/* The op on the larger shape of a reshape of its operand, input or init; its results in the old
 * shapes go to `out`. False: nothing changed. */
static bool expand_op(Rewriter *rw, Op *op, uint32_t operand, const Op *reshape, ValueList *out)
{
    Expansion e;
    builder_set_before(&rw->b, op);
    rw->b.loc = op->loc;
    bool ok =
        expansion_init(&e, op, operand, reshape) && splits_are_known(&e) && all_fit(&e, operand);
    if (ok) collapse_results(rw, &e, build_expanded(rw, &e, operand, reshape), out);
    expansion_free(&e);
    return ok;
}

/* op(collapse(x)) -> collapse(op'(x)) when nobody else reads the collapse */
static bool op_of_collapse(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        Op *collapse = rewrite_def_of(op_operand(op, i), TENSOR(COLLAPSE_SHAPE));
        if (!collapse || !is_expandable(op, i) || !parts_op_has_one_use(collapse)) continue;
        ValueList values = {0};
        bool ok = expand_op(rw, op, i, collapse, &values);
        if (ok) rewriter_replace(rw, op, values.data, op->result_count);
        vec_free(&values);
        return ok;
    }
    return false;
}

/* expand(op(x)) -> op'(expand(x)) when nobody else reads the op */
static bool expand_of_op(Rewriter *rw, Op *reshape, void *user)
{
    (void)user;
    Value *source = op_operand(reshape, 0);
    Op *op = value_def(source);
    if (!op || !linalg_is_structured(op)) return false;
    uint32_t operand = linalg_input_count(op) + source->index;
    ValueList values = {0};
    if (!is_expandable(op, operand) || !parts_op_has_one_use(op) ||
        !expand_op(rw, op, operand, reshape, &values))
        return false;
    Value *result = values.data[source->index];
    Op *collapse = rewrite_def_of(result, TENSOR(COLLAPSE_SHAPE));
    rewriter_replace_one(rw, reshape, collapse ? op_operand(collapse, 0) : result);
    rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
    return true;
}

static bool statically_zero(const Op *pad, const char *list, uint32_t dim)
{
    return dense_array_i64(op_attr(pad, list), dim) == 0;
}

/* The borders of a pad on the larger shape of the collapse it pads; only dimensions that are a
 * group alone may have any. */
static bool expand_borders(const Op *pad, const Op *collapse, PadBorders *out, IntList *dims)
{
    const Attr *groups = op_attr(collapse, "reassociation");
    const Type *wide = op_operand(collapse, 0)->type, *padded = op_result(pad, 0)->type;
    PadBorders old;
    bool ok = true;
    uint32_t next = 0;
    tensor_pad_read_folded(pad, &old);
    for (uint32_t g = 0; ok && g < groups->u.array.count; g++) {
        uint32_t size = group_size(groups, g);
        MixedIndex low = old.low.data[g], high = old.high.data[g];
        ok = size == 1 ||
             (statically_zero(pad, "static_low", g) && statically_zero(pad, "static_high", g));
        for (uint32_t k = 0; k < size; k++, next++) {
            *vec_push(&out->low) = low;
            *vec_push(&out->high) = high;
            *vec_push(dims) = size == 1 ? padded->u.shaped.dims[g] : wide->u.shaped.dims[next];
        }
    }
    tensor_pad_free(&old);
    return ok;
}

/* pad(collapse(x)) -> collapse(pad(x)) */
static bool pad_of_collapse(Rewriter *rw, Op *pad, void *user)
{
    (void)user;
    Op *collapse = rewrite_def_of(op_operand(pad, 0), TENSOR(COLLAPSE_SHAPE));
    Value *padding = tensor_padding(pad);
    PadBorders borders = {0};
    IntList dims = {0};
    if (!collapse || !padding || !parts_op_has_one_use(collapse)) return false;
    bool ok = expand_borders(pad, collapse, &borders, &dims);
    if (ok) {
        const Type *type = type_with_shape(op_result(pad, 0)->type, dims.data, (uint32_t)dims.len);
        Op *made = tensor_build_pad(&rw->b, op_operand(collapse, 0), type, &borders,
                                    op_attr(pad, "nofold") != NULL);
        tensor_fill_pad(made, padding);
        rewriter_replace_one(rw, pad,
                             tensor_collapse_shape(&rw->b, op_result(made, 0),
                                                   op_result(pad, 0)->type,
                                                   op_attr(collapse, "reassociation")));
    }
    tensor_pad_free(&borders);
    vec_free(&dims);
    return ok;
}

void fuse_add_reshapes(PatternSet *set)
{
    pattern_add(set, "expand-of-op", TENSOR(EXPAND_SHAPE), 1, expand_of_op);
    pattern_add(set, "pad-of-collapse", TENSOR(PAD), 1, pad_of_collapse);
    linalg_add_structured(set, "op-of-collapse", op_of_collapse);
}
