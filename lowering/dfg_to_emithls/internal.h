/* Between dfg_to_emithls.c (graph, forks) and dfg_to_emithls_window.c, _compute.c and _move.c. */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_INTERNAL_H
#define MING_LOWERING_DFG_TO_EMITHLS_INTERNAL_H

#include "dialects/emithls/emithls.h"
#include "ir/core/core.h"
#include "lowering/dfg_to_emithls/dfg_to_emithls.h"
#include "schedule/schedule.h"

/* A process being lowered: its function, open for building. */
typedef struct EmithlsLowering {
    Op *process, *func;
    SymbolTable *symbols; /* of the module: tables are added to it */
    EmithlsNest nest;
} EmithlsLowering;

/* Word of a channel end: the element type, or a vector of the word's elements. */
const Type *to_emithls_word_type(const Type *end);
/* Stream argument of a port. */
Value *to_emithls_port_stream(const EmithlsLowering *l, uint32_t port);
/* Storage chosen for an op's memory (attribute dfg.storage), "auto" if none. A window has one
 * memory per level, other ops have level 0 only. */
Str to_emithls_storage_of(const Op *op, uint32_t level);

/* Declares a table of the module, named after the function and a role, and binds it in the
 * function. kind: its ports, as "rom_1p"; has_lanes: its last dimension is the elements of a
 * word. */
Value *to_emithls_declare_table(EmithlsLowering *l, const Attr *elements, Str role,
                                const char *kind, Str storage, bool has_lanes);

bool to_emithls_window(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_compute(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_reorder(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_merge(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_converter(EmithlsLowering *l) MUST_CHECK;

/* Remarks on loops and arrays of a lowered function that are too large for synthesis. */
void to_emithls_remark_size(Op *func);

/* A compute process being lowered. Between dfg_to_emithls_compute.c (the nest),
 * dfg_to_emithls_source.c (where operands come from), dfg_to_emithls_payload.c (scalar code),
 * dfg_to_emithls_reduce.c (accumulators) and dfg_to_emithls_packed.c (products that share
 * multiplications).
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */

/* How an operand of main or of a stage is obtained for one lane. */
typedef enum SourceKind { SOURCE_STREAM, SOURCE_TABLE, SOURCE_CONSTANT, SOURCE_FLOW } SourceKind;

typedef struct OperandSource {
    SourceKind kind;
    Value *array;         /* word variable or table */
    const AffineMap *map; /* of a stream: its map */
    const int64_t *word;  /* of a stream: extents of a word, one per map result */
    TableLayout layout;   /* of a table */
    const Attr *constant; /* a scalar */
} OperandSource;

/* A table that a payload reads at places it computes. */
typedef struct Lookup {
    Value *array; /* [counters of rows ...][lane, if several have rows][places ...] */
    LookupLayout layout;
} Lookup;

typedef struct ComputeLowering {
    EmithlsLowering *l;
    Context *ctx;
    ComputeSchedule sched;
    uint32_t nest_first;                      /* counter of schedule.loops[0] */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* of each kernel loop: its unrolled counter, or 0 */
    Value *words[SCHED_MAX_STREAMS];
    int64_t word[SCHED_MAX_STREAMS][2 * DFG_MAX_RANK];
    /* Accumulators, per result of main (dfg_to_emithls_reduce.c): this iteration's, those of others
     * or NULL; and the partial sums in turn of a single one, or NULL. */
    Value *sum[SCHED_MAX_RESULTS], *partial[SCHED_MAX_RESULTS], *turns;
    OperandSource *sources[SCHED_MAX_STAGES + 1]; /* per generic (main first), per input operand */
    PtrMap looked_up;                             /* tensor.extract of a constant -> Lookup* */
    Arena arena;
} ComputeLowering;
/* Whether the main kernel has reduction loops, so that sums are kept. */
bool to_emithls_reduces(const ComputeLowering *c);
/* Counter of schedule.loops[i] in the nest. */
const AffineExpr *to_emithls_counter(const ComputeLowering *c, uint32_t i);
/* Position of the current lane in an output word. */
const AffineExpr *to_emithls_output_lane(const ComputeLowering *c);

/* Opens unrolled loops over the factors of the parallel or the reduction loops; c->lane has their
 * counters until the lanes are closed. */
NestMark to_emithls_open_lanes(ComputeLowering *c, bool reduction, const char *name);
void to_emithls_close_lanes(ComputeLowering *c, bool reduction, NestMark mark);

/* Conditions "every such counter is at its first (last) value". */
typedef struct Edge {
    const AffineExpr *exprs[SCHED_MAX_LOOPS];
    bool is_eq[SCHED_MAX_LOOPS];
    uint32_t count;
} Edge;

/* Of schedule.loops from `first` on: all, or those that reduce. */
Edge to_emithls_edge(const ComputeLowering *c, uint32_t first, bool reductions_only, bool last);
NestMark to_emithls_open_edge(ComputeLowering *c, const Edge *edge);

/* Fill c->sources and c->looked_up: the constants become tables of the module, laid out as the nest
 * reads them.
 * False: diagnosed. */
bool to_emithls_main_sources(ComputeLowering *c) MUST_CHECK;
bool to_emithls_stage_sources(ComputeLowering *c, uint32_t stage) MUST_CHECK;
/* The loops of generic `which` (0: main) as functions of main's. */
const AffineMap *to_emithls_payload_loops(const ComputeLowering *c, uint32_t which);
/* Number of a table's indices by counters and lanes, and the indices in the current lane. */
uint32_t to_emithls_table_index(const ComputeLowering *c, const TableLayout *layout,
                                const AffineExpr **index);
/* Value of an operand in the current lane. */
Value *to_emithls_load_source(ComputeLowering *c, const OperandSource *s);

/* Payload of element-wise generic `which` (0: main) with `flow` for what the stage before delivers.
 * NULL: diagnosed. */
Value *to_emithls_run_generic(ComputeLowering *c, uint32_t which, Value *flow) MUST_CHECK;
/* Payload of a main kernel that reduces: from its accumulators, one per result, to their next
 * values. False: diagnosed. */
bool to_emithls_run_update(ComputeLowering *c, Value *const *so_far, Value **next) MUST_CHECK;
/* A value of main's payload that does not depend on its accumulators. NULL: diagnosed. */
Value *to_emithls_run_value(ComputeLowering *c, Value *value) MUST_CHECK;
/* The epilogue on a value of main. NULL: diagnosed, or value is NULL. */
Value *to_emithls_run_stages(ComputeLowering *c, Value *value) MUST_CHECK;

/* Declares the memories of a reduction. */
void to_emithls_declare_sums(ComputeLowering *c);
/* Brings every lane's sum up to this iteration. False: diagnosed. */
bool to_emithls_accumulate(ComputeLowering *c) MUST_CHECK;
/* Brings the current lane's sum to where this iteration begins, and puts it away behind it if it
 * waits for its next iteration elsewhere. */
void to_emithls_start_sum(ComputeLowering *c);
void to_emithls_keep_sum(ComputeLowering *c);
Value *to_emithls_load_sum(ComputeLowering *c);
void to_emithls_store_sum(ComputeLowering *c, Value *value);
/* to_emithls_accumulate for products that share multiplications by schedule.packing. False:
 * diagnosed. */
bool to_emithls_accumulate_packed(ComputeLowering *c) MUST_CHECK;
/* A lane's result in the last iteration of its reduction. */
Value *to_emithls_total(ComputeLowering *c);

/* Scalar ops that C++ and hls_math.h have no form for, in terms of ops that they have one for. */

enum { EXPAND_MAX_RESULTS = 2 };

/* Builds what `op` of arith or math does to the values `x`, one per operand; `out` takes one value
 * per result, EXPAND_MAX_RESULTS at most. False: the op is printed as it is, and nothing is
 * built. */
bool to_emithls_expand_scalar(Builder *b, const Op *op, Value *const *x, Value **out) MUST_CHECK;

/* Names and text about processes, for people who read the emitted code.
 * Tests: lit/lowering/dfg_to_emithls/process-doc.mir */

/* Name of a loop of the schedule's kernel: n, y, x, c of the output (oc where the input has no such
 * dimension, g for groups), ic, ky, kx of what is reduced. Two loops may share a name. */
const char *to_emithls_loop_name(const ComputeSchedule *sched, uint32_t loop);
/* Appends what a process computes, in lines without "//": shapes, then for kernels the formula. */
void to_emithls_process_doc(StrBuf *out, const Op *process, ProcessKind kind);

#endif
