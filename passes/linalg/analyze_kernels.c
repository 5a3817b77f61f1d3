/* analyze-kernels: writes each linalg.generic's kernel analysis as the attribute
 *   dfg.kernel = {class, stride, dilation, P, R, O, W}
 * with the sets of Algorithm 2 as affine maps of the op's loops.
 * Requires: named ops generalized.
 * Changes: attributes only.
 * Tests: lit/passes/linalg/analyze-kernels.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/passes.h"

static const Attr *loop_set(const Kernel *kernel, uint32_t mask)
{
    Context *ctx = kernel->op->ctx;
    const AffineExpr *results[KERNEL_MAX_LOOPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->loop_count; i++)
        if (mask >> i & 1u) results[count++] = affine_dim(ctx, i);
    return attr_map(map_get(ctx, kernel->loop_count, 0, count, results));
}

static const Attr *kernel_attr(const Kernel *kernel)
{
    Context *ctx = kernel->op->ctx;
    const AffineMap *originals =
        map_get(ctx, kernel->loop_count, 0, kernel->original_count, kernel->originals);
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_REPORT_CLASS,
                         attr_string_c(ctx, kernel_class_name(kernel->class))),
        build_named_attr(ctx, "stride", attr_i64_array(ctx, kernel->strides, kernel->window_count)),
        build_named_attr(ctx, "dilation",
                         attr_i64_array(ctx, kernel->dilations, kernel->window_count)),
        build_named_attr(ctx, "P", loop_set(kernel, kernel->parallel_set)),
        build_named_attr(ctx, "R", loop_set(kernel, kernel->reduction_set)),
        build_named_attr(ctx, "O", attr_map(originals)),
        build_named_attr(ctx, "W", loop_set(kernel, kernel->window_set)),
    };
    return attr_dict(ctx, items, COUNT_OF(items));
}

static bool annotate(Op *op, void *user)
{
    bool *ok = user;
    Kernel kernel;
    if (op->def != LINALG(GENERIC)) return true;
    if (kernel_analyze(op, &kernel))
        op_set_attr(op, DFG_ATTR_KERNEL, kernel_attr(&kernel));
    else
        *ok = false;
    return true;
}

static bool analyze_kernels(Pass *pass, Op *root)
{
    (void)pass;
    bool ok = true;
    op_walk(root, annotate, &ok);
    return ok;
}

const PassDef pass_analyze_kernels = {
    .name = "analyze-kernels",
    .summary = "Annotate each linalg.generic with its kernel class and iterator sets",
    .description = "MING's Algorithm 1 (sliding-window detection) and Algorithm 2 (iterator "
                   "classification). All kernels that cannot be analysed are reported.",
    .run = analyze_kernels,
};
