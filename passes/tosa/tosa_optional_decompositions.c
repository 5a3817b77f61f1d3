/* tosa-optional-decompositions: turns convolutions with kernels of one pixel into products, and
 * transposed convolutions into plain ones.
 * Requires: verified IR.
 * Changes: conv2d, depthwise_conv2d, transpose_conv2d.
 * Preserves: results.
 * Tests: lit/passes/tosa/tosa-optional-decompositions*.mir */
#include "dialects/tosa/tosa.h"
#include "passes/tosa/internal.h"
#include "passes/tosa/passes.h"

static bool run(Pass *pass, Op *func)
{
    PatternSet patterns;
    patterns_init(&patterns, pass->ctx);
    pattern_add(&patterns, "tosa-conv2d-to-product", TOSA(CONV2D), 1, tosa_decompose_conv2d);
    pattern_add(&patterns, "tosa-transpose-conv2d", TOSA(TRANSPOSE_CONV2D), 1,
                tosa_decompose_transpose);
    pattern_add(&patterns, "tosa-strided-transpose-conv2d", TOSA(TRANSPOSE_CONV2D), 1,
                tosa_decompose_strided_transpose);
    pattern_add(&patterns, "tosa-depthwise-to-mul", TOSA(DEPTHWISE_CONV2D), 1,
                tosa_decompose_depthwise);
    const GreedyOptions options = {.bottom_up = true, .regions = REGION_SIMPLIFY_AGGRESSIVE};
    (void)rewrite_greedy(func, &patterns, &options, NULL);
    patterns_free(&patterns);
    return true;
}

const PassDef pass_tosa_optional_decompositions = {
    .name = "tosa-optional-decompositions",
    .summary = "Applies Tosa operations optional decompositions",
    .description = "Turns convolutions with kernels of one pixel into products and transposed "
                   "convolutions into plain ones.",
    .title = "TosaOptionalDecompositions",
    .anchor = "func.func",
    .run = run,
};
