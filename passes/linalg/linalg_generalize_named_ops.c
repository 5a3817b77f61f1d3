/* linalg-generalize-named-ops: every structured op with a name of its own, except linalg.map,
 * becomes a linalg.generic with the same operands, maps, iterator types, body and name of a layer.
 * Requires: verified IR.
 * Changes: named structured ops; ops are folded on the way and dead ones dropped.
 * Preserves: the values computed; everything outside of the ops.
 * Tests: lit/passes/linalg/linalg-generalize-named-ops.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/passes.h"

static bool generalize(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    /* linalg.map stays, because its body does not have the init as an argument, as a generic's
     * has. */
    if (!linalg_is_structured(op) || op->def == LINALG(GENERIC) || op->def == LINALG(MAP))
        return false;
    uint32_t inputs = linalg_input_count(op), count = op->operand_count;
    Value **values = xcalloc(count + op->result_count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) values[i] = op_operand(op, i);
    Op *generic = linalg_build_generic(&rw->b, values, inputs, values + inputs, count - inputs,
                                       linalg_indexing_maps(op), linalg_iterator_types(op));
    block_erase(linalg_body(generic));
    region_take(op_region(generic, 0), op_region(op, 0));
    const Attr *name = op_attr(op, DFG_ATTR_NAME);
    if (name) op_set_attr(generic, DFG_ATTR_NAME, name);
    op_set_attr(generic, DFG_ATTR_TENSORS, op_attr(op, DFG_ATTR_TENSORS));
    for (uint32_t i = 0; i < op->result_count; i++) values[i] = op_result(generic, i);
    rewriter_replace(rw, op, values, op->result_count);
    free_ptr((void **)&values);
    return true;
}

static bool run(Pass *pass, Op *op)
{
    PatternSet patterns;
    patterns_init(&patterns, pass->ctx);
    pattern_add(&patterns, "generalize", NULL, 1, generalize);
    const GreedyOptions options = {.bottom_up = true, .regions = REGION_SIMPLIFY_AGGRESSIVE};
    (void)rewrite_greedy(op, &patterns, &options, NULL);
    patterns_free(&patterns);
    return true;
}

const PassDef pass_linalg_generalize_named_ops = {
    .name = "linalg-generalize-named-ops",
    .summary = "Turn named structured ops into linalg.generic",
    .run = run,
};
