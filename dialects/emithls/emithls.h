/* The emithls dialect: HLS C++ as IR. A process is a function of static loop nests over streams and
 * arrays. Everything that decides timing is an op or an attribute, so that the same IR can be
 * printed as C++, simulated cycle by cycle, and analysed as a cyclo-static dataflow graph.
 *
 * dfg_to_emithls makes it; passes/dfg, sim/design, target/fifo and emit build on it. EMITHLS(ID) is
 * the row of an op, which serves as its identity: op->def == EMITHLS(FOR).
 * Tests: lit/dialects/emithls */
#ifndef MING_DIALECTS_EMITHLS_EMITHLS_H
#define MING_DIALECTS_EMITHLS_EMITHLS_H

#include "ir/core/core.h"

extern const DialectDef emithls_dialect;
extern const OpDef emithls_ops[];
extern const TypeDef emithls_type_stream, emithls_type_array;

#define OP(ID, ...) EMITHLS_##ID,
enum {
#include "dialects/emithls/emithls_ops.def"
    EMITHLS_OP_COUNT
};
#undef OP
#define EMITHLS(ID) (&emithls_ops[EMITHLS_##ID])

/* !emithls.stream<word>, where word is a scalar or a one-dimensional vector. */

/* On scalar ops: the constant of that name that C++ gets for them, a string. Written by
 * dfg_to_emithls and target/dse/binding.c; read by emit. */
#define EMITHLS_ATTR_NAME "emithls.name"
/* The schedule of a design, which schedule-hls writes and sim/design reads for all who ask when
 * something happens (docs/simulation.md). On the ops of a process: the cycle of their iteration, an
 * i64. On the top function: the clock it holds for, in MHz, an i64. On loops, whose own attributes
 * they are: cycles from iteration to iteration, and of one iteration. */
#define EMITHLS_ATTR_CYCLE "emithls.cycle"
#define EMITHLS_ATTR_SCHEDULE_CLOCK "emithls.schedule_clock_mhz"
#define EMITHLS_ATTR_INTERVAL "interval"
#define EMITHLS_ATTR_SCHEDULE_DEPTH "depth"
/* On products: what makes them, "dsp" or "fabric". Written by dfg_to_emithls and
 * target/dse/binding.c; read by schedule/latency.c and emit. */
#define EMITHLS_ATTR_BIND "emithls.bind"
/* Among the port_attrs of the top function: the tensor of a frame, a type; the shape of a word, an
 * i64 array; whether it is a port of loaded weights, a unit; and which of
 * them, the number of its chain, an i64, 0 without it. The first two written by dfg_to_emithls,
 * load-weights has the frame and the others; read by add-memory-ports, sim/design and emit. */
#define EMITHLS_ATTR_FRAME "emithls.frame"
#define EMITHLS_ATTR_WORD "emithls.word"
#define EMITHLS_ATTR_WEIGHTS "emithls.weights"
#define EMITHLS_ATTR_PORT_CHAIN "emithls.chain"
/* Of such a port, too: iterations that loading takes, one process after the other, an i64. Written by
 * load-weights; read by emit. */
#define EMITHLS_ATTR_LOADING "emithls.loading_cycles"
/* Also among them: that the stream comes from a DMA or goes to one, in beats of that many bits with
 * TKEEP, and with TLAST at the end of a frame; an i64. Written by add-dma-ports and load-weights;
 * read by emithls_to_rtl and emit. */
#define EMITHLS_ATTR_BEAT "emithls.beat_bits"
/* On a process: the memory that it reads is the same for all frames, a unit. Written by
 * stream-weights; read by emit. */
#define EMITHLS_ATTR_SAME_MEMORY "emithls.same_memory"
/* On the top function: weights that are read from memory, a dictionary of EMITHLS_STREAMED keys, i64.
 * Written by stream-weights; read by emit and driver. */
#define EMITHLS_ATTR_STREAMED "emithls.streamed"
#define EMITHLS_STREAMED_BITS "memory_bits" /* for a frame */
#define EMITHLS_STREAMED_PORTS "ports"
#define EMITHLS_STREAMED_RATE "memory_bits_per_1000_cycles" /* that memory brings; 0: not known */
/* On the top function: what a simulation proved, a dictionary of EMITHLS_TIMING keys. Written by
 * fit-fifos; read by emit and driver. */
#define EMITHLS_ATTR_TIMING "emithls.timing"
/* On the top function: what the FIFOs of the best interval would take beyond the budget, and what
 * the design does take beyond it, dictionaries of DFG_COST keys. Written by fit-fifos; read by
 * driver, which then searches again. */
#define EMITHLS_ATTR_SHORTAGE "emithls.shortage"
#define EMITHLS_ATTR_EXCESS "emithls.excess"

/* Of EMITHLS_ATTR_TIMING; i64 but for deadlock_free, a unit, and fifo_slack, a string: how much
 * deeper than predicted pipelines may be. With fifo_slack there is the interval that is kept then. */
#define EMITHLS_TIMING_BOUND_INTERVAL "bound_interval_cycles"
#define EMITHLS_TIMING_FIFO_SLACK "fifo_slack"
#define EMITHLS_TIMING_CLOCK_MHZ "clock_mhz"
#define EMITHLS_TIMING_DEADLOCK_FREE "deadlock_free"
#define EMITHLS_TIMING_FIFO_BITS "fifo_bits"
#define EMITHLS_TIMING_INTERVAL "interval_cycles"
#define EMITHLS_TIMING_LATENCY "latency_cycles"

/* Of the ops' own attributes, which emithls_ops.def describes, those that other modules spell. */
#define EMITHLS_ATTR_TOP "top"
#define EMITHLS_ATTR_ARG_NAMES "arg_names"
#define EMITHLS_ATTR_DOC "doc"
#define EMITHLS_ATTR_TEMPORARY "temporary"
#define EMITHLS_ATTR_LOADED "loaded"
#define EMITHLS_ATTR_CHAIN "chain"
#define EMITHLS_ATTR_PER_WORD "per_word"
#define EMITHLS_ATTR_TABLE "table"
#define EMITHLS_ATTR_FIXED "fixed"
#define EMITHLS_ATTR_LEAST "least"
#define EMITHLS_ATTR_IMPL "impl"
#define EMITHLS_ATTR_LATENCY "latency" /* emithls_latency */
#define EMITHLS_ATTR_UNROLL "unroll"
#define EMITHLS_ATTR_ORDERED "ordered"
#define EMITHLS_ATTR_II "ii"
#define EMITHLS_ATTR_REWIND "rewind"
#define EMITHLS_ATTR_FLUSH "flush"
#define EMITHLS_ATTR_CONDITION "condition"
#define EMITHLS_ATTR_CONTROL "control"
#define EMITHLS_ATTR_BUNDLE "bundle"
#define EMITHLS_ATTR_DISTANCE "distance"

/* !emithls.stream<word>: word is a scalar or a one-dimensional vector. */
const Type *emithls_stream(const Type *word);
const Type *emithls_stream_word(const Type *stream);
/* Cycles from a write to an emithls.stream until its word can be read: 1 unless it says more, as
 * cross-dies has streams between dies say, and streams between cards, up to EMITHLS_MAX_LATENCY. */
enum { EMITHLS_MAX_LATENCY = 1 << 20 };
int64_t emithls_latency(const Op *stream);
/* !emithls.array<2x3xT>, where T is a scalar or a one-dimensional vector; rank 0 is a variable. */
const Type *emithls_array(const Type *elem, const int64_t *dims, uint32_t rank);
const Type *emithls_array_elem(const Type *array);
uint32_t emithls_array_rank(const Type *array);
int64_t emithls_array_dim(const Type *array, uint32_t index);
/* Number of elements of a word: 1 for a scalar. */
int64_t emithls_lanes(const Type *word);
/* The scalar type of a word or of an array's element. */
const Type *emithls_scalar(const Type *word);

/* How words lie in memory: bits from one element to the next. A lone element takes whole bytes; in a
 * vector, which is a struct to HLS, each lies as its C++ object does; bits make one integer. */
int64_t emithls_stride_bits(const Type *scalar, int64_t lanes);
/* Bits of a beat that carries a word: a power of two, 8 or more. A DMA's streams have 1024 at most. */
enum { EMITHLS_MAX_BEAT_BITS = 1024 };
int64_t emithls_beat_bits(const Type *scalar, int64_t lanes);

/* The extents of an emithls.for (their number is returned, at most max are written), and the range
 * of flat iterations that it covers, which is the whole box by default. */
size_t emithls_for_extents(const Op *loop, int64_t *extents, size_t max);
void emithls_for_range(const Op *loop, int64_t *begin, int64_t *end);
/* Text of a function, which other ops with arguments, names for them and a body have, too. */
bool emithls_parse_func(OpParser *p);
void emithls_print_func(OpPrinter *p, const Op *op);
Op *emithls_top(const Op *module); /* the func marked `top`, or NULL */
/* Loaded tables: whether per_word is right; how many words of the port of weights they are, the last of
 * which may be filled in part; how many integers such a word is, one or several of 64 bits; and one of
 * them, with elements from its lowest bits up. Tests: lit/passes/dfg/load-weights-packed.mir */
bool emithls_loaded_is_valid(const Op *table);
/* Whether an op is a table that comes through the port of weights with these attributes. */
bool emithls_is_loaded_by(const Op *op, const Attr *port);
int64_t emithls_loaded_per_word(const Op *table);
int64_t emithls_loaded_words(const Op *table);
enum { EMITHLS_MAX_LOADED_UNITS = 8 };
int64_t emithls_loaded_units(const Op *table);
int64_t emithls_loaded_word(const Op *table, int64_t number, int64_t unit);
/* How an emithls.dataflow is started: "chain", "hs" or "none"; NULL if it says anything else. */
const char *emithls_control(const Op *dataflow);
/* Ops that are no work of a process: declarations and pragmas. */
bool emithls_is_declaration(const Op *op);
/* Cycles in which memory brings the weights of a frame; 0: none, or it is not known. */
int64_t emithls_streamed_cycles(const Op *top);
/* Why a loop cannot rewind, as a verb and what follows it; NULL: it can. */
const char *emithls_rewind_obstacle(const Op *loop);
/* Why the pipeline of a loop cannot flush, as a verb and what follows it; NULL: it can. */
const char *emithls_flush_obstacle(const Op *loop);
/* Whether some pipeline of a process, or of all those of a module, flushes. */
bool emithls_flushes(const Op *op);
/* The loop of a process that rewinds; NULL: the process runs empty after each frame. */
Op *emithls_rewound_loop(const Op *func);

/* Building emithls bodies. The counters of the open loops are named by position, so that indices
 * and conditions are affine expressions in which affine_dim(ctx, i) means counter i. Each op gets
 * only the counters that its expressions use. dfg_to_emithls and the passes on emithls build with
 * it.
 * Tests: lit/lowering/dfg_to_emithls */
enum { EMITHLS_MAX_COPIES = 4096, EMITHLS_MAX_PARTS = 1024 };
/* Copies of a loop's body, those of the unrolled loops around it included. */
int64_t emithls_body_copies(const Op *loop);
/* Registers or memories that an array becomes by the dimensions that are partitioned. with_lanes:
 * the lanes of its elements count too, unless they are bits. The remark counts them, since the lanes of a word that is
 * held in registers are as many registers; the warning is about the pragmas that are printed, and
 * those leave an element in one piece. */
int64_t emithls_array_parts(const Value *array, bool with_lanes);

/* Builds emithls bodies: nests of loops whose counters are named by position, so that indices and
 * conditions are affine expressions over "counter i of the nest".
 * Used by dfg_to_emithls; tested through it (lit/lowering/dfg-to-emithls). */

enum { NEST_MAX_COUNTERS = 48 };

/* The insertion point inside nested loops; counters[i] is the value of affine_dim(ctx, i). */
typedef struct EmithlsNest {
    Builder b;
    Value *counters[NEST_MAX_COUNTERS];
    uint32_t count;
} EmithlsNest;

/* One loop of a nest. */
typedef struct LoopSpec {
    const char *counter;
    int64_t extent;
} LoopSpec;

typedef enum LoopKind { LOOP_PLAIN, LOOP_PIPELINED, LOOP_UNROLLED } LoopKind;

/* Opens a loop op over a box and moves inside; its counters are appended. begin < 0 covers the
 * whole box, else flat iterations begin to end - 1. The mark restores the outer state in
 * emithls_nest_close. */
typedef struct NestMark {
    Block *block;
    Op *before;
    uint32_t count;
} NestMark;
NestMark emithls_nest_open(EmithlsNest *nest, const char *name, const LoopSpec *loops,
                           uint32_t count, LoopKind kind, int64_t begin, int64_t end);
/* Opens an emithls.if whose condition is that every constraint is >= 0, or == 0 where is_eq. */
NestMark emithls_nest_open_if(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count);
void emithls_nest_close(EmithlsNest *nest, NestMark mark);
/* Sets the initiation interval, in cycles, of the pipelined loop whose body the insertion point is
 * in. */
void emithls_nest_interval(EmithlsNest *nest, int64_t ii);
/* Marks the unrolled loop whose body the insertion point is in: it must sum up in the order of its
 * iterations. */
void emithls_nest_keep_order(EmithlsNest *nest);

/* The i1 value of a condition, given as for emithls_nest_open_if. */
Value *emithls_nest_condition(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count);
/* The value of an expression over the counters, of type index. */
Value *emithls_nest_index(EmithlsNest *nest, const AffineExpr *expr);
/* An array, or for rank 0 a variable, with undefined contents. */
Value *emithls_nest_variable(EmithlsNest *nest, const char *name, const Type *elem,
                             const int64_t *dims, uint32_t rank);
/* The element at an index; with one index more than the array has dimensions, a scalar of a vector
 * element. */
Value *emithls_nest_load(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                         uint32_t count);
/* The same with `place_count` further indices that the body computes, behind those over the
 * counters. */
Value *emithls_nest_look_up(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                            uint32_t count, Value *const *places, uint32_t place_count);
void emithls_nest_store(EmithlsNest *nest, Value *value, Value *array,
                        const AffineExpr *const *index, uint32_t count);
Value *emithls_nest_read(EmithlsNest *nest, Value *stream);
void emithls_nest_write(EmithlsNest *nest, Value *value, Value *stream);
/* An integer or float constant of a scalar type. */
Value *emithls_nest_constant(EmithlsNest *nest, const Attr *value);
/* Pragmas about an array; dim counts from 1, as in HLS. */
/* Marks a variable as one whose contents need not last from call to call. */
void emithls_nest_temporary(EmithlsNest *nest, Value *array);
void emithls_nest_partition(EmithlsNest *nest, Value *array, int64_t dim);
void emithls_nest_reshape(EmithlsNest *nest, Value *array, int64_t dim);
void emithls_nest_bind(EmithlsNest *nest, Value *array, const char *type, Str impl);
void emithls_nest_dependence(EmithlsNest *nest, Value *array, int64_t distance);

/* The row-major position in a box: ((e0 * x1 + e1) * x2 + e2) …, with ei the expressions and xi the
 * extents. */
const AffineExpr *emithls_affine_flatten(Context *ctx, const AffineExpr *const *exprs,
                                         const int64_t *extents, uint32_t count);

/* Verifies an op with a symbol `callee`, of an emithls.func that takes its operands. */
bool emithls_verify_callee(Op *op, SymbolTables *tables) MUST_CHECK;

#endif
