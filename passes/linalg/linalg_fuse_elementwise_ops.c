/* linalg-fuse-elementwise-ops: structured ops on tensors that hand elements to one reader are
 * fused into it, in the order and with the patterns of upstream's pass.
 *
 * Requires: verified IR.
 * Changes: structured ops on tensors, reshapes, pads and casts beside them; folds on the way.
 * Preserves: the values computed.
 * Tests: lit/passes/linalg-fuse-elementwise-*.mir */
#include "dialects/affine/affine.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/fuse_elementwise.h"
#include "passes/common/passes.h"

static bool run(Pass *pass, Op *op)
{
    PatternSet set;
    patterns_init(&set, pass->ctx);
    add_fuse_elementwise(&set);
    add_fuse_constants(&set);
    add_drop_operands(&set);
    add_fuse_reshapes(&set);
    AFFINE(APPLY)->canonicalize(&set);
    LINALG(GENERIC)->canonicalize(&set);
    TENSOR(EXPAND_SHAPE)->canonicalize(&set);
    TENSOR(COLLAPSE_SHAPE)->canonicalize(&set);
    dialect_linalg.canonicalize(&set);
    add_transpose_constants(&set);
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
