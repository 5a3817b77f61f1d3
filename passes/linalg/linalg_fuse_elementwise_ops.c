/* linalg-fuse-elementwise-ops: structured ops on tensors that have one reader are fused into it, in
 * the order and with the patterns of upstream's pass.
 * Requires: verified IR.
 * Changes: structured ops on tensors, and reshapes, pads and casts beside them; ops are folded on
 * the way.
 * Preserves: the values computed.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-*.mir */
#include "dialects/affine/affine.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/internal.h"
#include "passes/linalg/passes.h"

static bool run(Pass *pass, Op *op)
{
    PatternSet set;
    patterns_init(&set, pass->ctx);
    fuse_add_elementwise(&set);
    fuse_add_constants(&set);
    fuse_add_drop_operands(&set);
    fuse_add_reshapes(&set);
    AFFINE(APPLY)->canonicalize(&set);
    LINALG(GENERIC)->canonicalize(&set);
    TENSOR(EXPAND_SHAPE)->canonicalize(&set);
    TENSOR(COLLAPSE_SHAPE)->canonicalize(&set);
    linalg_dialect.canonicalize(&set);
    fuse_add_transpose_constants(&set);
    (void)rewrite_greedy(op, &set, &(GreedyOptions){.regions = REGION_SIMPLIFY_AGGRESSIVE}, NULL);
    patterns_free(&set);
    return true;
}

const PassDef pass_linalg_fuse_elementwise_ops = {
    .name = "linalg-fuse-elementwise-ops",
    .title = "LinalgElementwiseOpFusionPass",
    .summary = "Fuse elementwise operations on tensors",
    .run = run,
};
