/* Kernel analysis of linalg.generic (MING, Algorithms 1 and 2): the kernel's class, its windows and
 * the iterator sets that decide streams and line buffers. Computed from the op alone; the pass
 * analyze-kernels writes the same facts as the attribute dfg.kernel.
 * Tests: lit/passes/analyze-kernels.mir */
#ifndef MING_PASSES_KERNEL_H
#define MING_PASSES_KERNEL_H

#include "ir/core/op.h"

enum { KERNEL_MAX_LOOPS = 16 };

typedef enum KernelClass {
    KERNEL_PURE_PARALLEL,
    KERNEL_REGULAR_REDUCTION,
    KERNEL_SLIDING_WINDOW
} KernelClass;

/* One result of an indexing map as stride * parallel + dilation * reduction + offset.
 * A loop that does not occur is -1 and its coefficient 0; a bare loop has coefficient 1. */
typedef struct KernelIndex {
    int parallel, reduction;
    int64_t stride, dilation, offset;
} KernelIndex;

typedef struct Kernel {
    const Op *op;
    KernelClass class;
    uint32_t loop_count;
    int64_t extents[KERNEL_MAX_LOOPS]; /* trip counts */
    bool is_reduction[KERNEL_MAX_LOOPS];
    /* Algorithm 1, one entry per window dimension of the first windowed input. */
    uint32_t window_count;
    int64_t strides[KERNEL_MAX_LOOPS], dilations[KERNEL_MAX_LOOPS];
    /* Algorithm 2: sets of loops as bit masks, and the set O of expressions. */
    uint32_t parallel_set, reduction_set, window_set;
    uint32_t original_count;
    const AffineExpr *originals[KERNEL_MAX_LOOPS];
} Kernel;

const char *kernel_class_name(KernelClass class); /* "pure-parallel", … */

/* Fills the kernel of a linalg.generic with static shapes. False: diagnosed. */
bool kernel_analyze(const Op *generic, Kernel *out) MUST_CHECK;
/* Decomposes one map result of an operand; false (no diagnostic) when it has another form. */
bool kernel_index(const Kernel *kernel, const AffineExpr *expr, KernelIndex *out) MUST_CHECK;

/* Whether nothing reads a generic's results but the first. The others may accumulate what that one
 * depends on. */
bool kernel_has_one_output(const Op *generic);
/* The scalar that a linalg.fill, or a generic that does the same, writes everywhere; else NULL. */
Value *kernel_fill_value(const Op *op);

#endif
