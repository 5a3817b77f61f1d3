/* Patterns that drop loops of a linalg.generic that run once, together with the dimensions of
 * extent 1 that only they index or that a constant 0 indexes. Operands lose these dimensions before
 * the op, results regain them after it.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "passes/linalg/internal.h"

typedef struct UnitFold {
    Op *op;
    bool *is_unit;            /* per loop: runs once */
    const AffineExpr **loops; /* per old loop: the new one, or 0 */
    uint32_t loop_count;      /* new ones */
    bool **kept;              /* per operand: which dimensions stay; NULL: all */
    MapList maps;             /* new ones, per operand */
} UnitFold;

/* A loop stays if it only makes a window of another one: d0 + d1 indexes more than d1 runs over, and an
 * operand has as many elements as a loop that alone indexes them. Whether one was found. */
static bool keep_windows(const UnitFold *f, uint32_t operand, const AffineExpr **without,
                         const int64_t *extents)
{
    bool found = false;
    const AffineMap *map = linalg_operand_map(f->op, operand);
    const Type *type = op_operand(f->op, operand)->type;
    for (uint32_t i = 0; i < map->dim_count; i++)
        without[i] = f->is_unit[i] ? affine_const(map->ctx, 0) : affine_dim(map->ctx, i);
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *expr = map->results[r],
                         *alone = affine_replace(expr, without, map->dim_count, NULL, 0);
        if (expr == alone || alone->kind != AFFINE_DIM ||
            type->u.shaped.dims[r] == extents[alone->value])
            continue;
        for (uint32_t i = 0; i < map->dim_count; i++)
            if (affine_uses_dim(expr, i)) f->is_unit[i] = false;
        found = true;
    }
    return found;
}

/* A loop runs once if the first dimension that it alone indexes has extent 1. */
static void find_unit_loops(UnitFold *f)
{
    uint32_t loops = linalg_loop_count(f->op);
    int64_t *extents = xcalloc(loops, sizeof *extents);
    const AffineExpr **without = xcalloc(loops, sizeof *without);
    bool known = linalg_loop_extents(f->op, extents), changes = known;
    for (uint32_t i = 0; i < loops; i++) f->is_unit[i] = known && extents[i] == 1;
    while (changes) {
        changes = false;
        for (uint32_t i = 0; i < f->op->operand_count; i++)
            changes |= keep_windows(f, i, without, extents);
    }
    for (uint32_t i = 0; i < loops; i++)
        f->loops[i] =
            f->is_unit[i] ? affine_const(f->op->ctx, 0) : affine_dim(f->op->ctx, f->loop_count++);
    free_ptr((void **)&without);
    free_ptr((void **)&extents);
}

/* Whether the operand is a plain tensor; buffers are not reduced, because they would have to become
 * memref views. */
static bool is_reducible(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && !type->u.shaped.extra;
}

static bool is_unit_dim(const UnitFold *f, const Type *type, uint32_t dim, const AffineExpr *expr)
{
    if (type->u.shaped.dims[dim] != 1) return false;
    return expr->kind == AFFINE_DIM ? f->is_unit[expr->value]
                                    : affine_is_const(expr) && expr->value == 0;
}

static void fold_operand(UnitFold *f, uint32_t operand)
{
    VEC(const AffineExpr *) results = {0};
    const AffineMap *map = linalg_operand_map(f->op, operand);
    const Type *type = op_operand(f->op, operand)->type;
    bool reduces = is_reducible(type), *kept = xcalloc(map->result_count, sizeof *kept);
    for (uint32_t i = 0; i < map->result_count; i++) {
        kept[i] = !reduces || !is_unit_dim(f, type, i, map->results[i]);
        if (kept[i])
            *vec_push(&results) =
                affine_replace(map->results[i], f->loops, map->dim_count, NULL, 0);
    }
    if (results.len == map->result_count) free_ptr((void **)&kept);
    f->kept[operand] = kept;
    *vec_push(&f->maps) = map_get(map->ctx, f->loop_count, 0, (uint32_t)results.len, results.data);
    vec_free(&results);
}

static bool maps_change(const UnitFold *f)
{
    for (uint32_t i = 0; i < f->op->operand_count; i++)
        if (f->maps.data[i] != linalg_operand_map(f->op, i)) return true;
    return false;
}

static const Attr *remaining_iterators(const UnitFold *f)
{
    VEC(bool) reductions = {0};
    for (uint32_t i = 0; i < linalg_loop_count(f->op); i++)
        if (!f->is_unit[i]) *vec_push(&reductions) = linalg_is_reduction(f->op, i);
    const Attr *iterators = linalg_iterators_attr(f->op->ctx, reductions.data, reductions.len);
    vec_free(&reductions);
    return iterators;
}

/* A linalg.index of a dropped loop becomes 0; that of another loop gets its new number. */
static void renumber_indices(Rewriter *rw, const UnitFold *f, Op *made)
{
    Builder saved = rw->b;
    FOR_EACH_OP_SAFE(op, linalg_body(made)) {
        if (op->def != LINALG(INDEX)) continue;
        int64_t old = attr_int_value(op_attr(op, "dim"));
        builder_set_before(&rw->b, op);
        rw->b.loc = op->loc;
        if (f->is_unit[old])
            rewriter_replace_one(rw, op, arith_constant_index(&rw->b, 0));
        else if (f->loops[old]->value != old)
            rewriter_replace_one(rw, op, linalg_index(&rw->b, (uint32_t)f->loops[old]->value));
    }
    rw->b = saved;
}

static Op *build_reduced(Rewriter *rw, const UnitFold *f, RankReduction reduction)
{
    GenericParts parts = {0};
    for (uint32_t i = 0; i < f->op->operand_count; i++) {
        Value *value = op_operand(f->op, i);
        if (f->kept[i]) value = fold_unit_drop_dims(&rw->b, value, f->kept[i], reduction);
        if (i < linalg_input_count(f->op))
            parts_add_input(&parts, value, f->maps.data[i]);
        else
            parts_add_init(&parts, value, f->maps.data[i]);
    }
    Op *made = parts_build(&rw->b, &parts, remaining_iterators(f));
    block_erase(linalg_body(made));
    region_take(op_region(made, 0), op_region(f->op, 0));
    renumber_indices(rw, f, made);
    parts_free(&parts);
    return made;
}

/* A result in the shape it had. */
static Value *restore(Builder *b, const UnitFold *f, Value *result, uint32_t init,
                      RankReduction reduction)
{
    Value *dest = op_operand(f->op, init);
    if (!f->kept[init]) return result;
    return reduction == REDUCE_BY_SLICES
               ? fold_unit_insert_into(b, result, dest)
               : fold_unit_insert_dims(b, result, f->kept[init], dest->type->u.shaped.rank);
}

static void replace_by_reduced(Rewriter *rw, const UnitFold *f, RankReduction reduction)
{
    ValueList values = {0};
    uint32_t inputs = linalg_input_count(f->op);
    Op *made = build_reduced(rw, f, reduction);
    for (uint32_t i = 0; i < made->result_count; i++)
        *vec_push(&values) = restore(&rw->b, f, op_result(made, i), inputs + i, reduction);
    rewriter_replace(rw, f->op, values.data, f->op->result_count);
    vec_free(&values);
}

static bool fold_unit_loops(Rewriter *rw, Op *op, RankReduction reduction)
{
    uint32_t loops = linalg_loop_count(op), operands = op->operand_count;
    if (loops == 0) return false;
    UnitFold f = {.op = op,
                  .is_unit = xcalloc(loops, sizeof(bool)),
                  .loops = xcalloc(loops, sizeof(const AffineExpr *)),
                  .kept = xcalloc(operands, sizeof(bool *))};
    find_unit_loops(&f);
    for (uint32_t i = 0; i < operands; i++) fold_operand(&f, i);
    bool ok = maps_change(&f) && parts_maps_cover_loops(op->ctx, &f.maps);
    if (ok) replace_by_reduced(rw, &f, reduction);
    for (uint32_t i = 0; i < operands; i++) free_ptr((void **)&f.kept[i]);
    free_ptr((void **)&f.is_unit);
    free_ptr((void **)&f.loops);
    free_ptr((void **)&f.kept);
    vec_free(&f.maps);
    return ok;
}

static bool fold_by_reshapes(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return fold_unit_loops(rw, op, REDUCE_BY_RESHAPES);
}

static bool fold_by_slices(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return fold_unit_loops(rw, op, REDUCE_BY_SLICES);
}

void fold_unit_add_loops(PatternSet *set, RankReduction reduction)
{
    pattern_add(set, "fold-unit-loops", LINALG(GENERIC), 1,
                reduction == REDUCE_BY_SLICES ? fold_by_slices : fold_by_reshapes);
}
