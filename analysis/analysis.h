/* Who calls whom: a node for each function with a body, an edge for each call to one and for each
 * function inside another.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-recursion.mir */
#ifndef MING_ANALYSIS_ANALYSIS_H
#define MING_ANALYSIS_ANALYSIS_H

#include "ir/core/core.h"
#include "ir/support/support.h"

typedef struct CallNode CallNode;

typedef struct CallEdge {
    CallNode *target;
    bool is_child; /* the target is inside, not called */
} CallEdge;

struct CallNode {
    Op *op;                   /* the function */
    Region *region;           /* its body */
    CallNode *parent;         /* around it, or NULL */
    VEC(CallEdge) edges;      /* each once, in order */
    PtrMap called;            /* the targets of those that are calls */
    uint32_t visited, lowest; /* of the search for components; 0: not seen, UINT32_MAX: done */
    void *data;               /* the user's; freed by it */
};

typedef VEC(CallNode *) CallNodes;

typedef struct CallGraph {
    CallNodes nodes;  /* in order of the functions */
    PtrMap by_region; /* Region* -> CallNode* */
} CallGraph;

void call_graph_init(CallGraph *graph, Op *root, SymbolTables *tables);
void call_graph_free(CallGraph *graph);
/* The function whose body the region is; NULL: none. */
CallNode *call_graph_node(const CallGraph *graph, const Region *region);
/* Called by its body or by a body inside that; NULL: in no function. */
CallNode *call_graph_around(const CallGraph *graph, const Region *region);
/* What a call calls; NULL: unknown, or without a body. */
CallNode *call_graph_callee(const CallGraph *graph, const Op *call, SymbolTables *tables);
/* Strongly connected components, callees before callers, each with its members from the last
 * found to the first. `visit` returns false to stop; the result says whether it did not. */
bool call_graph_each_component(CallGraph *graph, bool (*visit)(void *user, CallNodes *members),
                               void *user);

/* How often functions that may be dropped are referred to, kept up to date while calls are
 * inlined: who has no use is dead, the last use may take the body itself.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-dce.mir */

typedef struct CallUses {
    const CallGraph *graph;
    SymbolTables *tables;
} CallUses;

/* Keeps its numbers in the nodes' data. */
void call_uses_init(CallUses *uses, Op *root, const CallGraph *graph, SymbolTables *tables);
void call_uses_free(CallUses *uses);
/* Counts anew what the node's function refers to. */
void call_uses_recompute(CallUses *uses, CallNode *node);
/* A call in that function goes. */
void call_uses_drop_call(CallUses *uses, CallNode *node, Op *call);
/* A copy of the body of `from` was put into `to`. */
void call_uses_merge(CallNode *from, CallNode *to);
/* The function goes, with what it refers to. */
void call_uses_erase(CallNode *node);
bool call_uses_is_dead(const CallNode *node);
bool call_uses_is_last(const CallNode *node); /* one use is left, and it may take the body */

/* Monotone step functions of integers as fixed-point arithmetic. */

/* level(q) >= level where q >= at; level(q) < level where q < at, both for the q that occur. */
typedef struct Threshold {
    int64_t level, at;
} Threshold;

/* A rising function by its thresholds in ascending order, and what it must not leave at the ends
 * of its domain. A form may reach its levels up to `late` integers after the thresholds or up to
 * `early` before them. */
typedef struct StepFunction {
    const Threshold *thresholds;
    int64_t count;
    int64_t late, early;                  /* one of them is 0 */
    int64_t low_q, high_q;                /* the domain */
    int64_t low_level, high_level;        /* at its ends */
    bool low_is_clamped, high_is_clamped; /* a lower, higher value there is clamped anyway */
} StepFunction;

/* floor((multiplier * q + addend) / 2^shift) */
typedef struct FixedPoint {
    int64_t multiplier, addend;
    int shift;
} FixedPoint;

enum { FIT_MAX_SHIFT = 46 };

/* The coarsest fixed-point form that gives level(q) for every q of the domain, clamping aside and
 * as late or early as f allows. False: there is none up to FIT_MAX_SHIFT. */
bool fixed_point_fit(const StepFunction *f, FixedPoint *out) MUST_CHECK;
/* What makes up for a form that is late or early: errors[i] becomes the number of integers by which
 * it misses threshold i, such that for every q of the domain, clamping aside,
 *   level(q) = form(q + e), e that of the threshold to level form(q) + 1, if f allows late ones,
 *   level(q) = form(q - e), e that of the threshold to level form(q),     if f allows early ones,
 * and 0 where there is no such threshold. False: errors are as long as steps. */
bool fixed_point_errors(const StepFunction *f, const FixedPoint *form, int64_t *errors) MUST_CHECK;
/* The same form with a larger shift; false on overflow. */
bool fixed_point_widen(FixedPoint *form, int shift) MUST_CHECK;

/* Ranges of integers: which numbers, read as signed, a value can be. */

/* lo <= number <= hi */
typedef struct IntRange {
    int64_t lo, hi;
} IntRange;

/* Ranges of the values looked at so far: of tensors, those of all their elements. */
typedef struct IntRanges {
    Arena *arena;
    PtrMap known; /* Value* -> IntRange* */
} IntRanges;

void int_range_init(IntRanges *ranges, Arena *arena);
void int_range_free(IntRanges *ranges);
/* Whether numbers of a type, or a tensor's elements, have ranges: integers of up to 64 bits. */
bool int_range_is_known_for(const Type *type);
/* All numbers of such a type. */
IntRange int_range_of_type(const Type *type);
/* Of a value of such a type: its type's, where nothing better is known. */
IntRange int_range_of_value(IntRanges *ranges, const Value *value);
void int_range_set(IntRanges *ranges, const Value *value, IntRange range);
/* Before an op is erased: its results, and what its body computes. */
void int_range_forget(IntRanges *ranges, const Op *op);
/* Computes the ranges of a linalg.generic's arguments, payload and results. */
void int_range_of_generic(IntRanges *ranges, const Op *generic);
/* Bits of the narrowest signed type that holds the range, at least 2. */
uint32_t int_range_bits(IntRange range);

/* Kernel analysis of linalg.generic (MING, Algorithms 1 and 2): the kernel's class, its windows and
 * the iterator sets that decide streams and line buffers. Computed from the op alone; the pass
 * analyze-kernels writes the same facts as the attribute dfg.kernel.
 * Tests: lit/passes/linalg/analyze-kernels.mir */

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

/* Identifiers for processes, ports and streams, derived from layer names. Whatever a model calls
 * its layers, the result is a C++ identifier that is no keyword.
 * Tests: test/unit/analysis/layer_name_test.c */

enum { NAME_MAX_LENGTH = 64 };

/* Appends raw as an identifier: lower-case letters, digits and single underscores. */
void identifier_append(StrBuf *out, Str raw);
/* C++ keywords, and names that the headers of the emitted code need. */
bool identifier_is_reserved(Str word);
/* The model's name of a kernel (attribute dfg.name), or an empty Str. */
Str layer_name_source(const Op *op);
/* Identifier of a linalg.generic, dfg.reorder or dfg.merge: from the model's name, else from what
 * it is: conv, pool, matmul, reduce, map, reorder, merge. */
void layer_name_append(StrBuf *out, const Op *generic);

/* What can be told of a value in a kernel's payload: the numbers it may be, and the loops it
 * changes with. Extensions, sums and constants are seen through; all else may be what its type
 * holds. */

typedef struct PayloadRange {
    int64_t low, high; /* read as signed */
    uint32_t loops;    /* bit mask of the kernel's loops */
} PayloadRange;

/* Of an integer used in the body of a linalg.generic. False: the value is none, or wider than 62
 * bits. */
bool payload_range(const Op *generic, const Value *value, PayloadRange *out) MUST_CHECK;
/* Bits of a signed integer type that holds both bounds. */
int64_t payload_range_bits(int64_t low, int64_t high);

/* tensor.expand_shape and tensor.collapse_shape between static shapes. Both keep the row-major
 * order of the elements: the same stream has another shape.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir,
 * lit/lowering/linalg_to_dfg/linalg-to-dfg-reshape.mir */

enum { RESHAPE_MAX_RANK = 16 };

typedef struct Reshape {
    bool expands;                     /* from narrow to wide, else from wide to narrow */
    const Type *wide, *narrow;        /* of the larger and the smaller rank */
    uint32_t group[RESHAPE_MAX_RANK]; /* per wide dimension: narrow dimension it is part of */
} Reshape;

/* False, without diagnostic, for other ops, dynamic or empty shapes, and ranks of 0 or above
 * RESHAPE_MAX_RANK. */
bool reshape_read(const Op *op, Reshape *out) MUST_CHECK;
bool reshape_is(const Op *op); /* that reshape_read can read */
/* What a chain of reshapes starts from; the value itself if no reshape makes it. */
Value *reshape_source(const Value *value);

/* Elements that one step of a wide dimension spans within its group. */
int64_t reshape_step(const Reshape *reshape, uint32_t wide_dim);
/* First dimension of the narrow dimension's group that has an extent above 1, or -1. */
int reshape_outermost(const Reshape *reshape, uint32_t narrow_dim);
/* From the source's index to the result's. */
const AffineMap *reshape_map(const Op *op);
/* The reassociation between two shapes of the same row-major order; NULL if there is none. */
const Attr *reshape_reassociation(const Type *wide, const Type *narrow);

#endif
