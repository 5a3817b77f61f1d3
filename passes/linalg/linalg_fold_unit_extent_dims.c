/* linalg-fold-unit-extent-dims: tensors lose their dimensions of extent 1 around linalg.generic,
 * tensor.pad and slices, in the order and with the patterns of upstream's pass.
 * Requires: verified IR.
 * Changes: those ops, fills, reshapes and tensor.empty; extents are read from operands if possible,
 * and ops are folded on the way. Ops on buffers stay as they are.
 * Preserves: the values computed.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims*.mir */
#include "dialects/linalg/linalg.h"
#include "passes/linalg/internal.h"
#include "passes/linalg/passes.h"

/* dim(op(x)) -> in terms of x's extents */
static bool resolve_dim(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = op_operand(op, 0);
    Op *def = value_def(source);
    MixedIndex extent;
    int64_t dim;
    if (!def || !mixed_known(mixed_value(op_operand(op, 1)), &dim) ||
        !type_is_ranked(source->type) || dim < 0 || dim >= source->type->u.shaped.rank)
        return false;
    rw->b.loc = def->loc;
    if (!tensor_reify_dim(&rw->b, def, (uint32_t)dim, &extent) &&
        !linalg_reify_dim(&rw->b, def, source->index, (uint32_t)dim, &extent))
        return false;
    rw->b.loc = op->loc;
    rewriter_replace_one(rw, op, mixed_materialize(&rw->b, extent));
    return true;
}

/* An empty tensor like the value, right after what defines it. */
static Value *empty_beside(Rewriter *rw, Value *value)
{
    Builder saved = rw->b;
    Op *def = value_def(value);
    rw->b.block = value_block(value);
    rw->b.before = def ? def->next : rw->b.block->first;
    Value *empty = parts_empty_like(&rw->b, value);
    rw->b = saved;
    return empty;
}

/* The op's operands with the inits that its body reads as inputs too; false if none is, or if it
 * leaves some of their elements as they are. */
static bool move_inits(Rewriter *rw, const Op *op, GenericParts *parts)
{
    uint32_t inputs = linalg_input_count(op), moved = 0;
    for (uint32_t i = inputs; i < op->operand_count; i++)
        if (!linalg_reaches_all(op, i)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (i < inputs || linalg_reads_operand(op, i)) {
            parts_add_input(parts, op_operand(op, i), linalg_operand_map(op, i));
            moved += i >= inputs;
        }
    for (uint32_t i = inputs; moved > 0 && i < op->operand_count; i++) {
        Value *init = op_operand(op, i);
        parts_add_init(parts, linalg_reads_operand(op, i) ? empty_beside(rw, init) : init,
                       linalg_operand_map(op, i));
    }
    return moved > 0;
}

static void copy_body(Rewriter *rw, Op *made, const Op *op)
{
    PtrMap values = {0};
    Block *from = linalg_body(op), *to = linalg_body(made);
    uint32_t inputs = linalg_input_count(op), next = 0;
    for (uint32_t i = 0; i < from->arg_count; i++)
        if (i < inputs || linalg_reads_operand(op, i))
            ptrmap_put(&values, from->args[i], to->args[next++]);
    parts_body_copy(rw, to, from, NULL, &values);
    ptrmap_free(&values);
}

/* Without reductions an init's elements are one more input: f(x, o) into o -> f(x, o) into empty */
static bool read_inits_as_inputs(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    GenericParts parts = {0};
    bool ok = linalg_has_tensor_semantics(op) && !linalg_reduces(op) && move_inits(rw, op, &parts);
    if (ok) {
        ValueList values = {0};
        Op *made = parts_build(&rw->b, &parts, op_attr(op, "iterator_types"));
        made->attrs = op->attrs;
        copy_body(rw, made, op);
        for (uint32_t i = 0; i < op->result_count; i++) *vec_push(&values) = op_result(made, i);
        rewriter_replace(rw, op, values.data, op->result_count);
        vec_free(&values);
    }
    parts_free(&parts);
    return ok;
}

static bool run(Pass *pass, Op *op)
{
    PatternSet set;
    RankReduction reduction =
        pass_bool(pass, "use-rank-reducing-slices") ? REDUCE_BY_SLICES : REDUCE_BY_RESHAPES;
    patterns_init(&set, pass->ctx);
    fold_unit_add_loops(&set, reduction);
    fold_unit_add_pads(&set, reduction);
    if (reduction == REDUCE_BY_RESHAPES) fold_unit_add_slices(&set);
    LINALG(FILL)->canonicalize(&set);
    if (reduction == REDUCE_BY_RESHAPES) TENSOR(COLLAPSE_SHAPE)->canonicalize(&set);
    TENSOR(EMPTY)->canonicalize(&set);
    if (reduction == REDUCE_BY_RESHAPES) TENSOR(EXPAND_SHAPE)->canonicalize(&set);
    tensor_add_fold_empty(&set);
    pattern_add(&set, "resolve-dim", TENSOR(DIM), 1, resolve_dim);
    pattern_add(&set, "read-inits-as-inputs", LINALG(GENERIC), 1, read_inits_as_inputs);
    const GreedyOptions options = {.bottom_up = true, .regions = REGION_SIMPLIFY_AGGRESSIVE};
    (void)rewrite_greedy(op, &set, &options, NULL);
    patterns_free(&set);
    return true;
}

const PassDef pass_linalg_fold_unit_extent_dims = {
    .name = "linalg-fold-unit-extent-dims",
    .title = "LinalgFoldUnitExtentDimsPass",
    .summary = "Remove unit-extent dimension in Linalg ops on tensors",
    .options = OPTIONS({.name = "use-rank-reducing-slices",
                        .kind = OPTION_BOOL,
                        .help = "Drop dimensions by slices instead of reshapes"}),
    .run = run,
};
