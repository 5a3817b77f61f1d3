/* The inside of convert-dfg-to-emithls, for its sources only. dfg_to_emithls.c lowers the graph and
 * forks and calls one function per other kind of process; each of them builds the loop nest that
 * the process's schedule (schedule/) describes, and must build no other, because the cost model
 * predicts from the same schedule.
 *
 * A lowering borrows the process and appends to its function. Functions that return NULL or false
 * under MUST_CHECK have diagnosed at the op that cannot be lowered.
 * Tests: lit/lowering/dfg_to_emithls */
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

/* The function's stream argument for a port. */
Value *to_emithls_port_stream(const EmithlsLowering *l, uint32_t port);
/* Storage chosen for an op's memory (attribute dfg.storage), "auto" if none. A window has one
 * memory per level, other ops have level 0 only. */
Str to_emithls_storage_of(const Op *op, uint32_t level);
/* Has the elements along a dimension of a RAM read and written at once: as banks of LUTRAM, or as
 * parts of one word of blocks, which have wide ports. */
void to_emithls_join_dim(EmithlsNest *nest, Value *array, int64_t dim, Str storage);

/* Declares a table of the module, named after the function and a role, and binds it in the
 * function. kind: its ports, as "rom_1p"; type: of the array; has_lanes: its last dimension is the
 * elements of a word. */
Value *to_emithls_declare_table(EmithlsLowering *l, const Attr *elements, const Type *type,
                                Str role, const char *kind, Str storage, bool has_lanes);
/* The array with a dimension for each of the elements'. */
const Type *to_emithls_table_type(const Attr *elements);

/* The kinds of processes. Each function builds the body of l->func. False: diagnosed. */
bool to_emithls_window(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_compute(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_reorder(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_merge(EmithlsLowering *l) MUST_CHECK;
bool to_emithls_converter(EmithlsLowering *l) MUST_CHECK;

/* Emits remarks on loops and arrays of a lowered function that are too large for synthesis. */
void to_emithls_remark_size(Op *func);

/* Compute processes. dfg_to_emithls_compute.c builds the nest, _source.c loads operands, _word.c those of streams, _payload.c
 * inlines scalar code, _reduce.c keeps accumulators, _packed.c replaces them for products that
 * share multiplications and _popcount.c for products that are counts of bits.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */

/* Where an operand of main or of a stage comes from, for one lane: a word of a stream, a table, a
 * scalar constant, or the value that flows from the stage before. */
typedef enum SourceKind {
    SOURCE_STREAM,
    SOURCE_JOIN, /* of the epilogue */
    SOURCE_TABLE,
    SOURCE_CONSTANT,
    SOURCE_FLOW
} SourceKind;

typedef struct OperandSource {
    SourceKind kind;
    uint32_t stream;      /* number of the stream, or of the joined one */
    Value *array;         /* table */
    TableLayout layout;   /* of a table */
    const Attr *constant; /* a scalar */
} OperandSource;

/* A table that a payload reads at indices it computes. */
typedef struct Lookup {
    Value *array; /* [counters of rows ...][lane, if several have rows][places ...] */
    LookupLayout layout;
} Lookup;

typedef struct ComputeLowering {
    EmithlsLowering *l;
    Context *ctx;
    ComputeSchedule sched;
    uint32_t nest_first;                      /* counter of schedule.loops[0] */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* per kernel loop, its unrolled counter or 0 */
    Value *words[SCHED_MAX_STREAMS];
    Value *joined[SCHED_MAX_STREAMS]; /* words of joined streams, where the epilogue runs */
    Value *kept[SCHED_MAX_STREAMS];   /* memories of words that are wanted again, or NULL */
    int64_t word[SCHED_MAX_STREAMS][2 * DFG_MAX_RANK];
    /* Accumulators (dfg_to_emithls_reduce.c). Per result of main: this iteration's, and those that
     * wait for other iterations, or NULL. turns: the partial sums of a single accumulator, which
     * are used in turn, or NULL. */
    Value *sum[SCHED_MAX_RESULTS], *partial[SCHED_MAX_RESULTS], *turns;
    OperandSource *sources[SCHED_MAX_STAGES + 1]; /* per generic (main first), per input operand */
    PtrMap looked_up;                             /* tensor.extract of a constant -> Lookup* */
    Arena arena;
} ComputeLowering;

/* Declares what holds a stream's word; gives the variable that a new word is stored in; takes it
 * over from there; and gives the operand that an iteration takes of it in the current lane. */
void to_emithls_declare_word(ComputeLowering *c, uint32_t stream);
Value *to_emithls_open_word(ComputeLowering *c, uint32_t stream);
void to_emithls_hold_word(ComputeLowering *c, uint32_t stream, Value *whole);
Value *to_emithls_load_word(ComputeLowering *c, uint32_t stream);
/* Whether what an iteration takes of a word is what the reduction's lanes take, in their order; and
 * all that it takes. */
bool to_emithls_takes_whole_word(ComputeLowering *c, uint32_t stream);
Value *to_emithls_load_whole_word(ComputeLowering *c, uint32_t stream);

/* Whether the main kernel has reduction loops, so that accumulators are kept. */
bool to_emithls_reduces(const ComputeLowering *c);
/* Counter of schedule.loops[i] in the nest. */
const AffineExpr *to_emithls_counter(const ComputeLowering *c, uint32_t i);
/* Index of the current lane in an output word. */
const AffineExpr *to_emithls_output_lane(const ComputeLowering *c);

/* Opens unrolled loops over the lanes of the parallel or of the reduction loops. c->lane has their
 * counters until to_emithls_close_lanes. */
NestMark to_emithls_open_lanes(ComputeLowering *c, bool reduction, const char *name);
void to_emithls_close_lanes(ComputeLowering *c, bool reduction, NestMark mark);

/* A condition that every one of some counters is at its first (or last) value. */
typedef struct Edge {
    const AffineExpr *exprs[SCHED_MAX_LOOPS];
    bool is_eq[SCHED_MAX_LOOPS];
    uint32_t count;
} Edge;

/* The condition on schedule.loops from `first` on: on all, or on those that reduce. */
Edge to_emithls_edge(const ComputeLowering *c, uint32_t first, bool reductions_only, bool last);
NestMark to_emithls_open_edge(ComputeLowering *c, const Edge *edge);

/* Fill c->sources and c->looked_up for main and for a stage. Constants become tables of the module,
 * laid out as the nest reads them. False: diagnosed. */
bool to_emithls_main_sources(ComputeLowering *c) MUST_CHECK;
bool to_emithls_stage_sources(ComputeLowering *c, uint32_t stage) MUST_CHECK;
/* The loops of generic `which` (0: main) as functions of main's. */
const AffineMap *to_emithls_payload_loops(const ComputeLowering *c, uint32_t which);
/* The indices of a table in the current lane, by counters and lanes; returns their number. */
uint32_t to_emithls_table_index(const ComputeLowering *c, const TableLayout *layout,
                                const AffineExpr **index);
/* Word of a plane of a popcount's operand that a table holds, in the current lane of the outputs. */
Value *to_emithls_load_plane(ComputeLowering *c, const PopcountOperand *x, int64_t plane);
/* Value of an operand in the current lane. */
Value *to_emithls_load_source(ComputeLowering *c, const OperandSource *s);

/* Inlines the payload of element-wise generic `which` (0: main); flow: the value that the stage
 * before gives. NULL: diagnosed. */
Value *to_emithls_run_generic(ComputeLowering *c, uint32_t which, Value *flow) MUST_CHECK;
/* Inlines the payload of a main kernel that reduces: from its accumulators' values, one per result,
 * to the next ones. False: diagnosed. */
bool to_emithls_run_update(ComputeLowering *c, Value *const *so_far, Value **next) MUST_CHECK;
/* Inlines what a value of main's payload depends on, which must not be its accumulators. NULL:
 * diagnosed. */
Value *to_emithls_run_value(ComputeLowering *c, Value *value) MUST_CHECK;
/* Inlines the epilogue on a value of main. NULL: diagnosed, or value is NULL. */
Value *to_emithls_run_stages(ComputeLowering *c, Value *value) MUST_CHECK;

/* Declares what a reduction keeps from iteration to iteration. */
void to_emithls_declare_accumulators(ComputeLowering *c);
/* Adds this iteration's terms to every lane's accumulators. False: diagnosed. */
bool to_emithls_accumulate(ComputeLowering *c) MUST_CHECK;
/* The same, the current lane's terms joined by `join`, which gives NULL after a diagnostic. */
typedef Value *ToEmithlsTerm(ComputeLowering *c, void *data);
bool to_emithls_accumulate_terms(ComputeLowering *c, ToEmithlsTerm *join, void *data) MUST_CHECK;
/* A local sum of integers: starts it from 0, and adds to it. */
Value *to_emithls_open_total(ComputeLowering *c);
void to_emithls_add_to_total(ComputeLowering *c, Value *total, Value *term);
/* Does the same as to_emithls_accumulate for products that share multiplications, by
 * schedule.packing. False: diagnosed. */
bool to_emithls_accumulate_packed(ComputeLowering *c) MUST_CHECK;
/* The same for products as counts of bits, by schedule.popcount. */
bool to_emithls_accumulate_popcount(ComputeLowering *c) MUST_CHECK;
/* What a sum starts from if its products are counts of bits, else the value itself. */
Value *to_emithls_add_offset(ComputeLowering *c, Value *value);
/* Position of the current lane among those of the reduction loops. */
const AffineExpr *to_emithls_term_lane(const ComputeLowering *c);
/* The current lane's result, in the last iteration of its reduction. */
Value *to_emithls_total(ComputeLowering *c);

/* Expansion of scalar ops that neither C++ nor hls_math.h has, into ops that they have.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-expand.mir */

enum { EXPAND_MAX_RESULTS = 2 };

/* Builds what `op` of arith or math does to the values `x`, one per operand; `out` takes one value
 * per result, EXPAND_MAX_RESULTS at most. False: the op is printed as it is, and nothing is
 * built. */
bool to_emithls_expand_scalar(Builder *b, const Op *op, Value *const *x, Value **out) MUST_CHECK;

/* Documentation: names and text about processes, for people who read the emitted code.
 * Tests: lit/lowering/dfg_to_emithls/process-doc.mir */

/* Name of a loop of the schedule's kernel: n, y, x, c of the output (oc where the input has no such
 * dimension, g for groups), ic, ky, kx of what is reduced. Two loops may share a name. */
const char *to_emithls_loop_name(const ComputeSchedule *sched, uint32_t loop);
/* Appends what a process computes, in lines without "//": shapes, then for kernels the formula. */
void to_emithls_process_doc(StrBuf *out, const Op *process, ProcessKind kind);

#endif
