/* Analyses: facts about IR that several passes, schedules and lowerings need. About linalg: the
 * class of a kernel, reshapes, names of layers, ranges of integers, fixed-point approximation of
 * step functions; about functions: the call graph and the uses of functions.
 *
 * An analysis never changes the IR and is not updated when the IR changes, except where a function
 * says so. Results hold pointers into the IR but do not own it. Unless a function says that it
 * diagnoses, a false or NULL result reports nothing. passes, schedule, lowering, target and emit
 * build on this module.
 * Tests: test/unit/analysis, lit/passes/linalg, lit/passes/common */
#ifndef MING_ANALYSIS_ANALYSIS_H
#define MING_ANALYSIS_ANALYSIS_H

#include "ir/core/core.h"
#include "ir/support/support.h"

/* Kernel analysis of linalg.generic (MING, Algorithms 1 and 2): the kernel's class, its windows,
 * and the sets of iterators that decide streams and line buffers. It is computed from the op alone;
 * the pass analyze-kernels writes the same facts as the attribute dfg.kernel.
 * Tests: lit/passes/linalg/analyze-kernels.mir */

enum { KERNEL_MAX_LOOPS = 16 };

typedef enum KernelClass {
    KERNEL_PURE_PARALLEL,
    KERNEL_REGULAR_REDUCTION,
    KERNEL_SLIDING_WINDOW
} KernelClass;

/* One result of an indexing map, written as stride * parallel + dilation * reduction + offset. A
 * loop that does not occur is -1 and has the coefficient 0; a loop alone has the coefficient 1. */
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
    /* Algorithm 1: one entry per window dimension of the first windowed input. */
    uint32_t window_count;
    int64_t strides[KERNEL_MAX_LOOPS], dilations[KERNEL_MAX_LOOPS];
    /* Algorithm 2: sets of loops as bit masks, and the set O of expressions. */
    uint32_t parallel_set, reduction_set, window_set;
    uint32_t original_count;
    const AffineExpr *originals[KERNEL_MAX_LOOPS];
} Kernel;

const char *kernel_class_name(KernelClass class); /* "pure-parallel", … */

/* Analyses a linalg.generic with static shapes. False: diagnosed. */
bool kernel_analyze(const Op *generic, Kernel *out) MUST_CHECK;
/* Decomposes one result of an operand's map; false if it has another form. */
bool kernel_index(const Kernel *kernel, const AffineExpr *expr, KernelIndex *out) MUST_CHECK;

/* Whether only the first result of a generic is read. The others may accumulate what the first
 * depends on. */
bool kernel_has_one_output(const Op *generic);
/* Multiply-accumulate operations of a linalg.generic that adds up products, one for each iteration;
 * 0: it does not, -1: their number is not known. */
int64_t kernel_macs(const Op *generic);
/* The scalar that a linalg.fill, or a generic that does the same, writes everywhere as it is; NULL for
 * other ops. */
Value *kernel_fill_value(const Op *op);

/* Reshapes: tensor.expand_shape and tensor.collapse_shape between static shapes. Both keep the
 * row-major order of the elements, so as streams source and result are the same.
 * Tests: lit/passes/linalg/normalize-layout-reshape.mir,
 * lit/lowering/linalg_to_dfg/linalg-to-dfg-reshape.mir */

enum { RESHAPE_MAX_RANK = 16 };

typedef struct Reshape {
    bool expands;                     /* from narrow to wide, else from wide to narrow */
    const Type *wide, *narrow;        /* of the larger and the smaller rank */
    uint32_t group[RESHAPE_MAX_RANK]; /* by wide dimension: the narrow one it is part of */
} Reshape;

/* Reads a reshape. False: another op, dynamic or empty shapes, or a rank of 0 or above
 * RESHAPE_MAX_RANK. */
bool reshape_read(const Op *op, Reshape *out) MUST_CHECK;
bool reshape_is(const Op *op); /* whether reshape_read can read it */
/* The value that a chain of reshapes starts from; the value itself if it is not the result of a
 * reshape. */
Value *reshape_source(const Value *value);

/* The number of elements of its group that one step of a wide dimension spans. */
int64_t reshape_step(const Reshape *reshape, uint32_t wide_dim);
/* The first wide dimension of a narrow dimension's group whose extent is above 1, or -1. */
int reshape_outermost(const Reshape *reshape, uint32_t narrow_dim);
/* The map from the source's index to the result's. */
const AffineMap *reshape_map(const Op *op);
/* The reassociation between two shapes of the same row-major order, as an array attribute; NULL if
 * there is none. */
const Attr *reshape_reassociation(const Type *wide, const Type *narrow);

/* Names: identifiers for processes, ports and streams, derived from the names of layers. Whatever a
 * model calls its layers, the result is a C++ identifier that is not a keyword.
 * Tests: test/unit/analysis/layer_name_test.c */

enum { NAME_MAX_LENGTH = 64 };

/* Appends raw as an identifier of lower-case letters, digits and single underscores. */
void identifier_append(StrBuf *out, Str raw);
/* Whether the word is a C++ keyword or a name that the headers of the emitted code need. */
bool identifier_is_reserved(Str word);
/* The name that the model gives to a kernel (attribute dfg.name), or an empty Str. */
Str layer_name_source(const Op *op);
/* Appends an identifier for a linalg.generic, dfg.reorder or dfg.merge: from the model's name, else
 * the kind of op: conv, pool, matmul, reduce, map, reorder or merge. */
void layer_name_append(StrBuf *out, const Op *generic);

/* Names of what the ops of a function's first block give, but for constants: the node's or layer's,
 * else the op's; " result 1" and so on behind them for further results, and " 2" and so on where
 * those before have the name, too. Calls `give` for each, in order; the name is valid during the
 * call.
 * Tests: lit/tools/ming-compare.mir */
typedef void TensorNamed(void *user, Op *op, uint32_t result, Str name);
void tensor_names_each(const Op *func, TensorNamed *give, void *user);

/* Ranges of integers: the numbers, read as signed, that a value can be.
 * Tests: lit/passes/linalg/narrow-integers.mir */

/* lo <= number <= hi */
typedef struct IntRange {
    int64_t lo, hi;
} IntRange;

/* Ranges of the values that were asked about; of tensors, one for all their elements. The ranges
 * live in `arena`. A user who changes the IR keeps them up to date by int_range_set and
 * int_range_forget. */
typedef struct IntRanges {
    Arena *arena;
    PtrMap known; /* Value* -> IntRange* */
} IntRanges;

void int_range_init(IntRanges *ranges, Arena *arena);
void int_range_free(IntRanges *ranges);
/* Whether numbers of a type, or elements of a tensor type, have ranges: integers of up to 64
 * bits. */
bool int_range_is_known_for(const Type *type);
/* The range of all numbers of such a type. */
IntRange int_range_of_type(const Type *type);
/* The range of a value of such a type; that of its type if nothing better is known. */
IntRange int_range_of_value(IntRanges *ranges, const Value *value);
void int_range_set(IntRanges *ranges, const Value *value, IntRange range);
/* Forgets the results of an op and the values in its body; must be called before the op is erased,
 * because its memory may be reused. */
void int_range_forget(IntRanges *ranges, const Op *op);
/* Computes the ranges of a linalg.generic's arguments, payload and results. */
void int_range_of_generic(IntRanges *ranges, const Op *generic);
/* Width in bits of the narrowest signed type that holds the range, at least 2. */
uint32_t int_range_bits(IntRange range);

/* Ranges inside one payload, without context: the numbers that a value may be and the loops that it
 * changes with. Extensions, sums and constants are seen through; every other op may give what its
 * type holds.
 * Tests: lit/lowering/dfg_to_emithls/packing.mir */

typedef struct PayloadRange {
    int64_t low, high; /* read as signed */
    uint32_t loops;    /* bit mask of the kernel's loops */
} PayloadRange;

/* The range of an integer used in the body of a linalg.generic. False: the value is not an integer,
 * or it has more than 62 bits. */
bool payload_range(const Op *generic, const Value *value, PayloadRange *out) MUST_CHECK;
/* Width in bits of the narrowest signed integer type that holds both bounds. */
int64_t payload_range_bits(int64_t low, int64_t high);

/* Fixed-point approximation: monotone step functions of integers as a multiplication, an addition
 * and a shift.
 * Tests: test/unit/analysis/fixed_point_fit_test.c */

/* level(q) >= level for q >= at, and level(q) < level for q < at, for all q of the domain. */
typedef struct Threshold {
    int64_t level, at;
} Threshold;

/* A rising function, given by its thresholds in ascending order and its levels at the ends of its
 * domain. An approximation may reach a level up to `late` integers after its threshold, or up to
 * `early` before it. */
typedef struct StepFunction {
    const Threshold *thresholds;
    int64_t count;
    int64_t late, early;                  /* at least one of them is 0 */
    int64_t low_q, high_q;                /* the domain */
    int64_t low_level, high_level;        /* the levels at its ends */
    bool low_is_clamped, high_is_clamped; /* a lower (higher) level there is clamped anyway */
} StepFunction;

/* floor((multiplier * q + addend) / 2^shift) */
typedef struct FixedPoint {
    int64_t multiplier, addend;
    int shift;
} FixedPoint;

enum { FIT_MAX_SHIFT = 46 };

/* The fixed-point form with the smallest shift that gives level(q) for every q of the domain, apart
 * from clamping and within the tolerance of f. False: there is none up to FIT_MAX_SHIFT. */
bool fixed_point_fit(const StepFunction *f, FixedPoint *out) MUST_CHECK;
/* The corrections of a form that is late or early: errors[i] becomes the number of integers by
 * which it misses threshold i, such that for every q of the domain, apart from clamping,
 *   level(q) = form(q + e), e that of the threshold to level form(q) + 1, if f allows late ones,
 *   level(q) = form(q - e), e that of the threshold to level form(q),     if f allows early ones,
 * and e is 0 if there is no such threshold. False: an error is as long as the distance of
 * thresholds, so that such corrections do not exist. */
bool fixed_point_errors(const StepFunction *f, const FixedPoint *form, int64_t *errors) MUST_CHECK;
/* Rewrites the form with a larger shift; false on overflow. */
bool fixed_point_widen(FixedPoint *form, int shift) MUST_CHECK;

/* An expression of dimension 0 that is at[i] for each i below count: d * a + b, d floordiv f, d mod f
 * or (d * a + b) floordiv 2^s; NULL: none of these. The dimension stands alone only where the indexed
 * one has as many elements (`extent`), as linalg asks.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-move.mir,
 * lit/passes/linalg/simplify-kernels-indices.mir */
const AffineExpr *index_fit(Context *ctx, const int64_t *at, int64_t count, int64_t extent);

/* The call graph: a node for each function with a body, an edge for each call of one and for each
 * function inside another.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-recursion.mir */

typedef struct CallNode CallNode;

typedef struct CallEdge {
    CallNode *target;
    bool is_child; /* the target is nested inside, it is not called */
} CallEdge;

struct CallNode {
    Op *op;                   /* the function */
    Region *region;           /* its body */
    CallNode *parent;         /* the function around it, or NULL */
    VEC(CallEdge) edges;      /* each once, in order */
    PtrMap called;            /* the targets of the edges that are calls */
    uint32_t visited, lowest; /* for the search for components; 0: not seen, UINT32_MAX: done */
    void *data;               /* belongs to the user of the graph */
};

typedef VEC(CallNode *) CallNodes;

typedef struct CallGraph {
    CallNodes nodes;  /* in order of the functions */
    PtrMap by_region; /* Region* -> CallNode* */
} CallGraph;

/* Builds the graph of all functions in root; the caller frees it. `tables` resolves the names of
 * callees. */
void call_graph_init(CallGraph *graph, Op *root, SymbolTables *tables);
void call_graph_free(CallGraph *graph);
/* The node of the function whose body the region is, or NULL. */
CallNode *call_graph_node(const CallGraph *graph, const Region *region);
/* The node of the innermost function whose body holds the region, the body itself included; NULL if
 * there is none. */
CallNode *call_graph_around(const CallGraph *graph, const Region *region);
/* The function that a call calls; NULL if it is not known or has no body. */
CallNode *call_graph_callee(const CallGraph *graph, const Op *call, SymbolTables *tables);
/* Visits the strongly connected components, callees before callers, each with its members from the
 * last found to the first. `visit` returns false to stop; the result is false if it did. */
bool call_graph_each_component(CallGraph *graph, bool (*visit)(void *user, CallNodes *members),
                               void *user);

/* Uses of functions: how often functions that may be dropped are referred to, kept up to date while
 * calls are inlined. A function without uses is dead; a call that is the last use may take over the
 * body instead of copying it.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-dce.mir */

typedef struct CallUses {
    const CallGraph *graph;
    SymbolTables *tables;
} CallUses;

/* Counts the uses. The numbers are kept in the nodes' data until call_uses_free. */
void call_uses_init(CallUses *uses, Op *root, const CallGraph *graph, SymbolTables *tables);
void call_uses_free(CallUses *uses);
/* Recounts the references that the node's function makes. */
void call_uses_recompute(CallUses *uses, CallNode *node);
/* To be called when a call in that function is removed. */
void call_uses_drop_call(CallUses *uses, CallNode *node, Op *call);
/* To be called when a copy of the body of `from` was put into `to`. */
void call_uses_merge(CallNode *from, CallNode *to);
/* To be called when the function is removed, with all references that it makes. */
void call_uses_erase(CallNode *node);
bool call_uses_is_dead(const CallNode *node);
/* Whether one use is left, which may take over the body. */
bool call_uses_is_last(const CallNode *node);

#endif
