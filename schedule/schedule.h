/* The static schedule of each dfg.process: which loops run in which order, in which iteration each
 * word is read and written, and which memory holds it meanwhile.
 *
 * A schedule is a pure function of the process, the words at its ports and the unroll factors. Both
 * the cost model (target/cost) and the lowering (lowering/dfg_to_emithls) read it, so that a
 * prediction and the design that is built cannot disagree. target/dse and target/fifo build on it
 * too. Schedules are plain structs that own no memory; they borrow the ops of the process and are
 * stale once the process changes. docs/streaming.md explains the scheme.
 *
 * Errors: a function marked MUST_CHECK returns false after a diagnostic at the process, unless its
 * comment says "no diagnostic". Units: cycles, words and elements as each field says; times within
 * a cycle are picoseconds.
 * Tests: test/unit/schedule, lit/lowering/dfg_to_emithls, lit/target/dse */
#ifndef MING_SCHEDULE_SCHEDULE_H
#define MING_SCHEDULE_SCHEDULE_H

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "ir/core/core.h"

/* Kinds of processes, and the words at their ports.
 * Tests: lit/lowering/dfg_to_emithls */

typedef enum ProcessKind {
    PROCESS_WINDOW,    /* gathers windows of a stream: WindowSchedule */
    PROCESS_COMPUTE,   /* runs a kernel and its epilogue: ComputeSchedule */
    PROCESS_REORDER,   /* permutes or repeats words: ReorderSchedule */
    PROCESS_MERGE,     /* puts several sources together: MergeSchedule */
    PROCESS_CONVERTER, /* regroups a frame into other words: ConverterSchedule */
    PROCESS_FORK       /* copies its input to every output */
} ProcessKind;

/* The kind of a process, from the ops in its body. False: diagnosed, the body has no streaming
 * form. */
bool sched_process_kind(const Op *process, ProcessKind *out) MUST_CHECK;

/* The word of a port as the body sees it. Inside the process the frame may have another shape, that
 * of `tensor`. end: the port's type, or a type to try in its place; word: gets one extent per
 * dimension of tensor. False: diagnosed, the reshape splits a word. */
bool sched_port_word(const Op *process, uint32_t port, const Type *end, const Type *tensor,
                     int64_t *word) MUST_CHECK;

/* The inverse of sched_port_word: the port's type for a word of this shape inside. NULL: the frame
 * outside has no such words; no diagnostic. */
const Type *sched_port_end(const Op *process, uint32_t port, const Type *tensor,
                           const int64_t *word);

/* Words that a fork copies per frame. */
int64_t sched_fork_words(const Op *process);

/* Window processes: a flat scan over the positions of the input.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-window.mir */

/* One window dimension, counted in words. An input word holds `pixels` positions of the dimension,
 * an output word the windows of `outputs` results; outputs * stride is a multiple of pixels. */
typedef struct WindowDim {
    int64_t pixels, outputs;
    int64_t in, out; /* words along the dimension */
    int64_t stride;  /* input words from one output word to the next */
    int64_t reach;   /* input word of the last tap of output word 0 */
    int64_t recall;  /* words that an output word takes, `spacing` words apart, the newest last */
    int64_t spacing;
    int64_t origin; /* position, among those of the recalled words, of output 0's first tap */
} WindowDim;

/* Streams of a window process. */
enum { SCHED_MAX_PARTS = 8 };

/* The flat scan of a window process. Positions form a box of `box` extents: the window dimensions,
 * outermost first, then the words of the inner dimensions. The scan visits only the positions
 * begin .. end-1; at each one it reads one word and writes at most one to each output. It writes
 * output word o at box coordinates o * stride (+ lead in the outermost). docs/streaming.md derives
 * the formulas. */
typedef struct WindowSchedule {
    const Op *process, *window;
    WindowParams params;
    WindowDim dim[DFG_MAX_RANK];      /* params.count entries */
    int64_t outer;                    /* frames of dimensions before the first window dimension */
    int64_t inner_words;              /* words of the dimensions after the last one, per position */
    int64_t outer_lanes, inner_lanes; /* elements per word of the dimensions before and after */
    int64_t lanes;                    /* elements per input word */
    int64_t box[DFG_MAX_RANK];        /* params.count extents; then inner_words */
    int64_t lead;                     /* rows scanned before the row of the first output */
    int64_t shift;                    /* input position = flat scan position + shift */
    int64_t begin, end;               /* flat range over the whole box, inner words included */
    WindowPart parts[SCHED_MAX_PARTS]; /* part_count entries: what output i has of each window */
    uint32_t part_count;
} WindowSchedule;

/* ends: types of the ports to try instead of their own, or NULL. False: diagnosed. */
bool sched_window(const Op *process, const Type *const *ends, WindowSchedule *out) MUST_CHECK;
/* Iteration that writes the first word of a frame. */
int64_t sched_window_first_write(const WindowSchedule *sched);
/* Rows of history that dimension level i keeps per tap: (recall - 1) * spacing. */
int64_t sched_window_history(const WindowSchedule *sched, uint32_t level);
/* Words recalled before level i: product of the outer levels' recall. */
int64_t sched_window_taps(const WindowSchedule *sched, uint32_t level);
/* Words per history row of level i: positions of the inner dimensions. */
int64_t sched_window_row_words(const WindowSchedule *sched, uint32_t level);
/* The share of the time from its first word in to its last one that a window waits before its first
 * word out. The words of a position come together, when its reduction is complete. */
double sched_window_wait(const WindowSchedule *sched);
/* The share of a window's words out that it gives from when so many words in are to come: those whose
 * last tap is the word before them, or comes later, or is padding behind the input. */
double sched_window_share_behind(const WindowSchedule *sched, int64_t to_come);
/* Elements of a word of output `part`. */
int64_t sched_window_lanes(const WindowSchedule *sched, uint32_t part);

/* Packed products of a compute process: an operand holds the values of several lanes side by side,
 * so that one DSP slice multiplies for all of them, and chains of products are added up before the
 * lanes' sums are taken apart. docs/packing.md derives the conditions.
 * Tests: test/unit/schedule/packing_test.c, lit/lowering/dfg_to_emithls/packing.mir */

/* Bits of a DSP slice's signed multiplier and of its accumulator. */
typedef struct DspShape {
    int64_t wide, narrow, accumulator;
} DspShape;
/* Of a device's dspKind; of another word, or none, that of a DSP48E2. */
DspShape sched_dsp_shape(Str kind);

/* Fields of both operands of a product: field k of an operand lies `stride` bits above field k - 1.
 * The product of fields i and j begins at bit i * stride[0] + j * stride[1] of the result. */
typedef struct PackingGrid {
    int64_t fields[2], stride[2], bits[2]; /* of the operands; bits: packed, signed */
    int64_t spacing;                       /* bits from one product to the next */
    int64_t chain; /* products that may be added up, at most PACKING_MAX_CHAIN */
} PackingGrid;

/* Chains are limited because longer ones add more to the pipeline's depth than they save in
 * adders. */
enum { PACKING_MAX_FIELDS = 6, PACKING_MAX_CHAIN = 16 };

/* Arranges fields[0] x fields[1] products of such operands in the way that allows the longest
 * chain. False, no diagnostic: they do not fit one multiplication. */
bool sched_packing_grid(const DspShape *dsp, const PayloadRange *operands, const int64_t *fields,
                        PackingGrid *out) MUST_CHECK;

/* Whether a kernel came with this dfg.multiplier: DFG_MULTIPLIER_LUT has its integer products made
 * of LUTs. */
bool sched_multiplier_is(const Op *main, const char *multiplier);
/* Whether a kernel came with this dfg.order. */
bool sched_order_is(const Op *main, const char *order);
/* Whether a product that is extended for its sum, which it would reach cut to its width, is
 * whole. */
bool sched_product_is_whole(const Op *main, const Op *product);

/* How a kernel multiplies, given its unroll factors; sched_packing fills it. */
typedef struct PackingSchedule {
    const Op *product;   /* main's arith.muli for DSP slices, whose result is added to the
                            accumulator, or NULL */
    int64_t bits[2];     /* of its operands, signed */
    int64_t elements[2]; /* values that an operand has in the lanes of an iteration */
    bool is_used;        /* products are chained or packed; else each lane runs main's payload */
    uint32_t loop[2];    /* whose lanes are the fields of an operand; KERNEL_MAX_LOOPS: none */
    PackingGrid grid;
    int64_t chain[KERNEL_MAX_LOOPS]; /* per reduction loop, its lanes that are neighbours in a
                                        chain */
    int64_t chain_length;            /* their product */
    int64_t accumulator;             /* bits of a chain's sum */
    int64_t multiplications;         /* per iteration */
} PackingSchedule;

/* Products as counts of bits (schedule/popcount.c).
 * Tests: test/unit/schedule/popcount_test.c */

/* An operand of such a product, as planes of one bit. */
typedef struct PopcountOperand {
    Value *value; /* of main's payload: the integer, or the bit of a bipolar */
    bool is_bipolar, is_signed;
    int64_t planes;
    uint32_t loops; /* of main that it depends on, a bit mask */
    int table; /* input of main whose table has the planes of a lane's elements as words, or -1:
                       words are gathered element by element */
} PopcountOperand;

/* A sum is offset + sum over planes i of operand 0, j of operand 1 and, if one is shared, its
 * planes k:
 *   scale weight(i) weight(j) pc(i op j) + shared_scale weight(k) pc(k)
 * with op == if it compares, else &. The weight of a bipolar's plane is 1. */
typedef struct PopcountSchedule {
    const Op *product; /* NULL: the kernel cannot have this form */
    PopcountOperand operands[2];
    bool compares, is_used;
    int shared; /* operand whose bits are counted alone as well; -1: none */
    int64_t scale, shared_scale, offset;
} PopcountSchedule;

/* 2^plane, negative for the top plane of a signed operand. */
int64_t sched_popcount_weight(const PopcountOperand *operand, int64_t plane);

/* The tree that counts `count` bits: leaves of POPCOUNT_LEAF bits, then sums of two parts, of which
 * the lower has sched_popcount_low_half bits. Bits of the result; LUTs of the adders. A kernel has
 * POPCOUNT_MOST_PAIRS pairs of planes at most. */
enum { POPCOUNT_LEAF = 3, POPCOUNT_MOST_PAIRS = 9 };
int64_t sched_popcount_bits(int64_t count);
int64_t sched_popcount_low_half(int64_t count);
int64_t sched_popcount_adder_luts(int64_t count);

/* Compute processes: one pipelined loop nest around the main kernel, then its epilogue.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir,
 * lit/lowering/dfg_to_emithls/dfg-to-emithls-reduction.mir */

/* One counter of the pipelined nest: contributes counter * scale to loop `loop` of the kernel. */
typedef struct ScheduleLoop {
    uint32_t loop;
    int64_t trip, scale;
    bool is_reduction;
} ScheduleLoop;

/* How accumulators are kept (schedule/reduction.c; docs/streaming.md). */
typedef struct ReductionSchedule {
    const Op *combine; /* the body's op that takes a term into the accumulator, if the terms of an
                          iteration are joined before they meet it; NULL: one after the other */
    int64_t steps;     /* iterations that update one accumulator */
    int64_t distance;  /* least iterations between two updates of an accumulator */
    int64_t turns;     /* partial sums per accumulator, used in turn: 1, or at most `steps` */
    int64_t ii;        /* initiation interval of the nest, cycles */
    uint32_t run;      /* innermost loops, if they reduce while other accumulators wait */
} ReductionSchedule;

enum {
    SCHED_MAX_LOOPS = 2 * KERNEL_MAX_LOOPS,
    SCHED_MAX_STREAMS = 8,
    SCHED_MAX_STAGES = 32,
    SCHED_MAX_RESULTS = 4
};

/* A stream that a stage of the epilogue takes beside what flows to it, element by element, as the
 * skip of a residual block. Its words are those of the output, and one is read for each that is
 * written: when it is, or with starts_from_join when its sums begin. */
typedef struct JoinedStream {
    uint32_t stage, operand; /* of sched->stages, of that stage */
    uint32_t port;           /* of the process */
} JoinedStream;

typedef struct ComputeSchedule {
    const Op *process, *main; /* main: the linalg.generic that consumes the streams */
    const Type *const *ends;  /* types of the ports, or NULL for their own; borrowed */
    Kernel kernel;
    const Op *stages[SCHED_MAX_STAGES]; /* element-wise epilogue, in order */
    uint32_t stage_count;
    uint32_t stream_count;
    uint32_t stream_operand[SCHED_MAX_STREAMS]; /* operand of main */
    uint32_t stream_port[SCHED_MAX_STREAMS];    /* port of the process */
    JoinedStream joins[SCHED_MAX_STREAMS];      /* in the order of stages and operands */
    uint32_t join_count;
    bool starts_from_join; /* stage 0 is done to the initial value of the sums in place of their
                              total: it adds joins[0], or subtracts it, and nothing else, so the
                              word is read in the first step of a reduction */
    uint32_t output_port;
    int64_t unroll[KERNEL_MAX_LOOPS];    /* factor per kernel loop */
    ScheduleLoop loops[SCHED_MAX_LOOPS]; /* outermost first; trips above 1 only */
    uint32_t loop_count;
    uint32_t moves[SCHED_MAX_STREAMS]; /* per stream a bit mask of `loops`: the counters that choose
                                          its word. It is read where all others are 0 */
    uint32_t first_reduction; /* position of the first reduction loop, loop_count if none */
    int64_t lanes;            /* parallel elements computed at once = elements per output word */
    int64_t reduction_lanes;  /* reduction elements consumed at once */
    int64_t accumulators;     /* accumulators live at once, per lane */
    ReductionSchedule reduction;
    PackingSchedule packing;
    PopcountSchedule popcount;
} ComputeSchedule;

/* unroll: a factor per loop of the main kernel, each one that sched_compute_parts allows; NULL:
 * from the attribute dfg.unroll, or ones. ends: types of the ports to try instead of their own, or
 * NULL; the schedule keeps the pointer. False: diagnosed. */
bool sched_compute(const Op *process, const int64_t *unroll, const Type *const *ends,
                   ComputeSchedule *out) MUST_CHECK;
/* The schedule without unrolling; the attribute is ignored. False: diagnosed. */
bool sched_compute_base(const Op *process, ComputeSchedule *out) MUST_CHECK;
/* The schedule of the process as it is now: with its attribute's factors if the words of its first
 * stream hold multiples of them, else without unrolling, because then the words are still to be
 * chosen. False: diagnosed. */
bool sched_compute_now(const Op *process, ComputeSchedule *out) MUST_CHECK;
/* Whether the words of all streams hold multiples of the factors. False also where a port's words
 * are none of the tensor inside; no diagnostic. */
bool sched_words_hold(const ComputeSchedule *sched, const int64_t *unroll);
/* Factors of main's loops by its attribute dfg.unroll, ones without. False: diagnosed. */
bool sched_compute_unroll_attr(const ComputeSchedule *sched, int64_t *unroll) MUST_CHECK;

/* Whether counter `loop` of the nest chooses a stream's word; whether it runs inside all that do, so
 * that the word is held meanwhile. */
bool sched_chooses_word(const ComputeSchedule *sched, uint32_t stream, uint32_t loop);
bool sched_is_held(const ComputeSchedule *sched, uint32_t stream, uint32_t loop);
/* The words of a stream that are kept because a counter outside brings them back. */
typedef struct KeptWords {
    uint32_t loops[SCHED_MAX_LOOPS], loop_count; /* counters that address them, outermost first */
    int64_t depth;    /* words; 1: none is kept but the one that is held */
    int64_t distance; /* least iterations between two accesses to one of them */
} KeptWords;
void sched_kept_words(const ComputeSchedule *sched, uint32_t stream, KeptWords *out);

/* How the elements of a stream's word are taken: so many in each of so many turns. */
typedef struct WordTurns {
    uint32_t loops[SCHED_MAX_LOOPS],
        loop_count; /* counters that choose the turn, outermost first */
    int64_t turns, lanes;
} WordTurns;
void sched_word_turns(const ComputeSchedule *sched, uint32_t stream, WordTurns *out);

/* Loops, outermost first, each once. */
typedef struct LoopOrder {
    uint32_t loops[KERNEL_MAX_LOOPS], count;
} LoopOrder;
/* The loops of all orders in an order that agrees with each. Where that leaves a choice, the loop of
 * the earlier order comes first. False, no diagnostic: the orders contradict each other. */
bool sched_merge_orders(const LoopOrder *orders, uint32_t count, LoopOrder *out) MUST_CHECK;

/* The tiles in which an unrolled loop runs: `trip` of them, each `scale` elements after the one
 * before. scale is the factor where the factor divides the extent, less where tiles overlap. */
typedef struct LoopParts {
    int64_t trip, scale;
} LoopParts;
/* The tiles of a loop with an unroll factor. A factor need not divide the extent: in a reduction
 * that adds up products with a table of weights, tiles may overlap, because the weights of what
 * they share are made zero (schedule/tiling.c). False, no diagnostic: the loop cannot have the
 * factor. */
bool sched_compute_parts(const ComputeSchedule *sched, uint32_t loop, int64_t factor,
                         LoopParts *out) MUST_CHECK;

/* The multiplication whose results main adds to its accumulator, extended or as they are; NULL:
 * none. */
const Op *sched_payload_product(const Op *generic);
/* The input of a generic that a value of its payload is an element of, extended or as it is; -1: it
 * is something else. */
int sched_element_input(const Op *generic, const Value *value);
/* Operand of main that is a table of weights, a factor of that product; -1: none. */
int sched_compute_weights(const ComputeSchedule *sched);
/* Map of the output: a projected permutation of main's loops. */
const AffineMap *sched_compute_output_map(const ComputeSchedule *sched);
/* Iterations of the whole nest for one frame. */
int64_t sched_compute_trips(const ComputeSchedule *sched);
/* Iteration that writes the first word: the first in which all reduction counters are at their
 * ends. */
int64_t sched_compute_first_write(const ComputeSchedule *sched);
/* Iterations from the first word of the last pixel to its last word, out and in: words of a pixel
 * follow each other along the innermost dimension of the result, or of stream 0. */
int64_t sched_compute_tail(const ComputeSchedule *sched);
int64_t sched_compute_pitch(const ComputeSchedule *sched); /* from word out to word out */
int64_t sched_compute_pixel(const ComputeSchedule *sched); /* from pixel to pixel */
int64_t sched_compute_pixel_words(const ComputeSchedule *sched);
int64_t sched_compute_absorb(const ComputeSchedule *sched);
/* Iterations behind the last one that reads a word of stream 0. */
int64_t sched_compute_rest(const ComputeSchedule *sched);
/* Word of stream `stream` as main sees it: extents of its operand's rank. False: diagnosed. */
bool sched_compute_input_word(const ComputeSchedule *sched, uint32_t stream, int64_t *word)
    MUST_CHECK;
/* The stream that operand `operand` of stage `stage` is, as a number of sched->joins; -1: none. */
int sched_find_join(const ComputeSchedule *sched, uint32_t stage, uint32_t operand);
/* Whether a port of the process is that of a joined stream that is read where words are written. */
bool sched_port_joins(const ComputeSchedule *sched, uint32_t port);
/* The first stage that is done to complete sums. */
uint32_t sched_first_stage(const ComputeSchedule *sched);
/* Word the output port has with these factors: extents of the output tensor's rank. */
void sched_compute_output_word(const ComputeSchedule *sched, int64_t *word);

/* The last steps of sched_compute: they fill schedule->reduction, schedule->starts_from_join,
 * schedule->packing and schedule->popcount from the rest of the schedule. */
void sched_reduction(ComputeSchedule *sched);
void sched_start(ComputeSchedule *sched);
void sched_packing(ComputeSchedule *sched);
void sched_popcount(ComputeSchedule *sched);
/* Lanes of the output, of those that change an operand. */
int64_t sched_popcount_lanes(const ComputeSchedule *sched, const PopcountOperand *operand);
/* Bits that an iteration gathers one by one into words, for the operand that has most of them. */
int64_t sched_popcount_gathered(const ComputeSchedule *sched);
/* Whether words of that many bits, which an iteration takes at once from a table, are in a memory
 * each: one memory would have too wide a row. */
bool sched_popcount_splits_rows(int64_t words, int64_t bits);
/* The operand whose words are rows of the table of main's input, or NULL. */
const PopcountOperand *sched_popcount_table(const ComputeSchedule *sched, uint32_t input);
/* Whether accumulators that take turns wait in registers: the next but one iteration may need one
 * again, and a memory that is read, added to and written takes a cycle more where delays are long.
 * False also where none wait. */
bool sched_sums_in_registers(const ComputeSchedule *sched);
/* About ReductionSchedule.combine: the op that joins two partial sums, the term that it takes in,
 * and the value that a partial sum starts from (NULL: the initial one). */
const OpDef *sched_reduction_join(const Op *combine);
Value *sched_reduction_term(const Op *combine);
const Attr *sched_reduction_neutral(const Op *combine);
/* Whether every iteration makes whole sums that start from 0, so that the sum of its terms is the
 * result. */
bool sched_is_done_at_once(const ComputeSchedule *sched);

/* The loops of a stage as functions of the main kernel's. */
const AffineMap *sched_stage_loops(const ComputeSchedule *sched, uint32_t stage);
/* Map of operand `operand` of stage `stage`, rewritten over the main kernel's loops. */
const AffineMap *sched_stage_operand_map(const ComputeSchedule *sched, uint32_t stage,
                                         uint32_t operand);

/* Tables: constant operands of a compute process, laid out in the order in which its nest reads
 * them. Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */

/* A constant operand laid out as the nest reads it: index by the counters in `by_loop` (positions
 * in schedule->loops, outermost first), then by the flattened unrolled loops in `by_lane` (kernel
 * loops in order, factors above 1). */
typedef struct TableLayout {
    const AffineMap *map; /* operand's index as a function of the main kernel's loops */
    uint32_t by_loop[SCHED_MAX_LOOPS], loop_count;
    uint32_t by_lane[KERNEL_MAX_LOOPS], lane_count;
    int64_t depth,
        lanes; /* words, elements per word: lanes of the output, in each those that reduce */
} TableLayout;
/* map: from the main kernel's loops to the constant's index; the layout keeps it. */
void sched_table_layout(const ComputeSchedule *sched, const AffineMap *map, TableLayout *out);
/* Whether the weight at a position (counters, then lanes) belongs to an earlier tile, too: it is
 * zero then, because it would count twice. */
bool sched_table_repeats(const ComputeSchedule *sched, const TableLayout *layout,
                         const int64_t *position);

/* A constant that a payload reads at indices it computes (tensor.extract). The leading indices that
 * are numbers of loops (linalg.index) choose a row; `rows` lays the rows out. Every lane that has
 * rows of its own has a table of its own. */
typedef struct LookupLayout {
    TableLayout rows;
    uint32_t leading; /* indices that choose the row */
    int64_t inner;    /* elements of a row */
} LookupLayout;
/* loops: the payload's loops as functions of main's. */
void sched_lookup_layout(const ComputeSchedule *sched, const AffineMap *loops, const Op *extract,
                         LookupLayout *out);

/* Processes that only move words: dfg.reorder and dfg.merge. docs/streaming.md derives their
 * schedules.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir,
 * lit/target/dse/choose-unroll-move.mir */

enum {
    MOVE_MAX_DIGITS = 24,
    /* A slot of a reorder's buffer is read at least this many iterations after it was written, and
     * written as many after it was read. */
    REORDER_SLOT_DISTANCE = 2,
    REORDER_MAX_PARTS = 128 /* memories of a reorder by tiles */
};

/* Frames are cut into blocks: the source into in_blocks of in_burst words, the result into
 * out_blocks of out_burst words. A step of the outer loop reads one block of the source and writes
 * the block of the result that is `delay` steps behind; the inner loops walk the result's digits
 * from `level` on. Digits are the result's dimensions, split where the map divides and joined where
 * it does not tell them apart (schedule/delinearize.c).
 *
 * With is_tiled the words of both ends may be any boxes. The buffer then holds tiles of the source
 * in place of its words; a tile is `parts` words, each in a memory of its own, and the fields of
 * tiles say where an element is (schedule/reorder_tiles.c). */
typedef struct ReorderSchedule {
    const Op *process, *reorder;
    int64_t lanes; /* elements per word of the result */
    uint32_t digit_count, level;
    int64_t digits[MOVE_MAX_DIGITS]; /* extents, outermost first */
    int64_t inner[MOVE_MAX_DIGITS];  /* extents of the inner loops, of digits from `level` on; the
                                        first may be wider, and there is at least one */
    uint32_t inner_count;
    const AffineExpr *address; /* source word of a result word, over the digits */
    uint32_t bound_count;      /* it exists where all bounds are >= 0 */
    const AffineExpr *bounds[2 * DFG_MAX_RANK];
    int64_t in_blocks, in_burst, out_blocks, out_burst;
    int64_t delay;             /* steps */
    int64_t steps, step_trips; /* of the outer loop; iterations of the inner loops */
    int64_t depth; /* words (tiles) of the circular buffer: those that are alive at once,
                                  or a quarter more if that makes addresses simpler */
    int64_t tiles; /* words (tiles) of the source */
    bool is_tiled;
    int64_t parts, in_lanes; /* words of the source per tile; elements per such word */
    uint32_t source_rank, result_rank;
    int64_t in_word[DFG_MAX_RANK], out_word[DFG_MAX_RANK]; /* extents of the words */
    int64_t grid[DFG_MAX_RANK];                            /* words of the source, per dimension */
    int64_t tile[DFG_MAX_RANK];             /* elements of a tile, per dimension of the source */
    int lane_of[DFG_MAX_RANK];              /* the result's dimension that it is; -1: none */
    const AffineExpr *inside[DFG_MAX_RANK]; /* where a word of the result begins in its tile, over
                                               the digits */
} ReorderSchedule;

/* False: diagnosed. */
bool sched_reorder(const Op *process, ReorderSchedule *out) MUST_CHECK;
/* The same at `lanes` elements per word in place of those of the ports. False, no diagnostic: words
 * of that many elements do not stay together. */
bool sched_reorder_packed(const Op *process, int64_t lanes, ReorderSchedule *out) MUST_CHECK;
/* The same with words of these extents, of the source and of the result inside the process, which
 * divide theirs. */
bool sched_reorder_tiled(const Op *process, const int64_t *in_word, const int64_t *out_word,
                         ReorderSchedule *out) MUST_CHECK;
/* Places of a tile among which the elements of a word of the result are chosen. */
int64_t sched_reorder_choices(const ReorderSchedule *sched);
/* Iterations for one frame. */
int64_t sched_reorder_trips(const ReorderSchedule *sched);

/* One iteration per word of the result; a source is read in the iterations of its part. */
typedef struct MergeSchedule {
    const Op *process, *merge;
    int64_t lanes; /* elements per word */
    uint32_t rank;
    int64_t extents[DFG_MAX_RANK];      /* of the result's word grid */
    int port[SCHED_MAX_STREAMS];        /* of each source; -1: a constant */
    MergePart parts[SCHED_MAX_STREAMS]; /* in words */
    uint32_t source_count;
} MergeSchedule;

/* False: diagnosed. */
bool sched_merge(const Op *process, MergeSchedule *out) MUST_CHECK;
/* The same at `lanes` elements per word in place of those of the ports. */
bool sched_merge_packed(const Op *process, int64_t lanes, MergeSchedule *out) MUST_CHECK;
/* Iterations for one frame. */
int64_t sched_merge_trips(const MergeSchedule *sched);
/* Whether it reads streams, each of them in one place. */
bool sched_merge_reads_once(const MergeSchedule *sched);
/* The elements of a constant source. */
const Attr *sched_merge_constant(const MergeSchedule *sched, uint32_t source);
/* Words of a source per frame. */
int64_t sched_merge_words(const MergeSchedule *sched, uint32_t source);

/* Width converters: processes that regroup the words of a frame. A converter joins words to larger
 * ones or splits them, without changing the order of elements beyond one large word; other words
 * are converted by way of a third.
 * Tests: lit/lowering/dfg_to_emithls/converter.mir, test/unit/schedule/converter_test.c */

typedef struct ConverterSchedule {
    const Op *process;
    uint32_t rank;
    int64_t small[2 * DFG_MAX_RANK], large[2 * DFG_MAX_RANK]; /* word shapes */
    int64_t parts;                                            /* small words per large one */
    int64_t words;                                            /* large words per frame */
    bool joins; /* the input's words are the small ones */
} ConverterSchedule;

/* Whether one converter can regroup a frame from the words of `from` to those of `to`: one is a
 * multiple of the other, and the small words of each large one follow each other. No diagnostic. */
bool sched_can_convert(const Type *from, const Type *to);
/* How a channel turns the words of one end into those of the other. */
typedef enum WordConversion {
    CONVERSION_NONE,     /* not at all: the elements arrive in another order */
    CONVERSION_DIRECT,   /* one converter */
    CONVERSION_BY_WAY_OF /* two converters, with words of type *middle between them */
} WordConversion;
/* The middle is the least common multiple of both words as long as it has at most max_bits, because
 * that keeps the throughput of both; else it is their greatest common divisor. */
WordConversion sched_conversion(const Type *from, const Type *to, int64_t max_bits,
                                const Type **middle);

/* False: diagnosed. */
bool sched_converter(const Op *process, ConverterSchedule *out) MUST_CHECK;
/* Iterations for one frame: one per small word. */
int64_t sched_converter_trips(const ConverterSchedule *sched);

/* Resources of an integer product: DSP slices, or LUTs in their place. docs/cost-model.md has the
 * sources. Tests: test/unit/target/cost/cost_test.c */

/* arith.muli or one of the extended products. */
bool product_is(const Op *op);
/* DSP48E2 slices (27 x 18 signed) of a product of two signed operands of these widths in bits; LUTs
 * of the same product without DSPs. */
int64_t product_dsp(int64_t a_bits, int64_t b_bits);
int64_t product_luts(int64_t a_bits, int64_t b_bits);
/* The same figures of such an op. */
int64_t product_dsp_of(const Op *op);
int64_t product_luts_of(const Op *op);
/* Signed bits that an integer needs, seen through extensions, products and constants. */
int64_t product_effective_bits(const Value *value);
/* Whether the op multiplies by a constant of several signed digits, but few, so that it is built of
 * shifts and additions. */
bool product_is_sum_of_shifts(const Op *op);
/* Exponent of an integer constant that is a power of two, its bits read without a sign; -1: it is none. */
int product_power_of_two(const Value *value);
/* math.ipowi is written out as products of its width: how many, and how many behind each other. A
 * constant exponent takes a square for each bit and a factor for each that is set; of any other each bit
 * may be set. */
int64_t product_power_count(const Op *op);
int64_t product_power_depth(const Op *op);

/* Latency model: how many registers an operator has inside and how long its signals travel, per op,
 * width and clock. docs/simulation.md has the table; the numbers are typical of HLS operators on
 * UltraScale+ (-2), rounded up.
 * Tests: test/unit/schedule/latency_test.c, lit/sim/design/schedule.mir */

/* A clock, as the time that operators can use in a cycle. A time in a pipeline is counted in such
 * picoseconds: cycle * usable_ps + delay in the cycle. */
typedef struct Clock {
    int64_t usable_ps; /* the period less the tool's margin of 27 % for routing */
} Clock;

/* At speed grade -2 of UltraScale+; at that of the module's device (dfg.delay_percent). */
Clock clock_of_period(int64_t period_ps);
Clock clock_of_module(const Op *module, int64_t mhz);

/* MHz where neither the user nor a budget gives a clock. It is here, at the bottom of all that take
 * one (schedules, costs, FIFO sizing, simulation, build files), and a macro, since choose-unroll
 * has it as an option's text. */
#define CLOCK_DEFAULT_MHZ 250

typedef struct OpTiming {
    int64_t stages; /* cycles from operands to result, because of registers inside */
    int64_t delay;  /* picoseconds before the first register, and again behind the last one */
} OpTiming;

/* The timing of a scalar op of arith or math, or of a condition, read or write of emithls. Ops that
 * are wires (extensions, constants, shifts by constants) take {0, 0}. The timing of a load depends
 * on its memory: latency_memory_load. */
OpTiming latency_op(const Op *op, Clock clock);
/* A DSP slice's product; the sum of a product and what comes before it in a slice, as in each slice
 * of a cascade; an integer sum in the fabric; a function of a few bits. */
OpTiming latency_dsp(void);
OpTiming latency_cascade(void);
OpTiming latency_sum(int64_t bits);
OpTiming latency_logic(void);
/* Integer quotients and rests; those by a power of two, without signs, that are shifts and masks. */
bool latency_is_division(const Op *op);
bool latency_divides_by_shift(const Op *op);
/* An integer product bound to LUTs, and the registers inside that it is asked to have, because
 * one without any is combinational whatever its width. */
OpTiming latency_lut_product(const Op *op);
int64_t latency_lut_product_stages(const Op *op);
/* A count of so many bits. */
OpTiming latency_popcount(int64_t count);
/* A load from `impl` ("bram", "uram", "lutram", "auto", or "external"); a load from registers whose
 * index moves, which chooses among `choices` of them. */
OpTiming latency_memory_load(Str impl);
OpTiming latency_register_load(int64_t choices);
/* A store to a memory, with `impl` as for loads. One to registers takes no time. */
OpTiming latency_memory_store(Str impl);
/* A read or write of a stream. */
OpTiming latency_stream(void);
/* A condition of `count` constraints, computed side by side, the slowest by this delay. */
OpTiming latency_constraints(int64_t count, int64_t delay);
/* Picoseconds of the operands of constraints: a sum or multiple of counters; a quotient or
 * remainder. */
int64_t latency_counter_sum(void);
int64_t latency_counter_quotient(int64_t divisor);

/* The time at which an operator has its result if its operands come at `start`. An operator that
 * does not fit the rest of a cycle begins in the next one. */
int64_t clock_after(Clock clock, int64_t start, OpTiming timing);
/* The cycle in which an operator has the result that is done at `done`. Logic that takes a cycle up to
 * its end is of that one, what comes out of a register then of the next. */
int64_t clock_result_cycle(Clock clock, int64_t done, OpTiming timing);
/* The time of a result that is done at `done` or, where that is before the cycle, in the cycle: the
 * operator has begun no earlier than it must, and gives nothing that the cycle before has left in a
 * register. */
int64_t clock_put_off(Clock clock, int64_t done, OpTiming timing, int64_t cycle);
/* The cycle a time lies in, and the cycles that pass until it is over. */
int64_t clock_cycle(Clock clock, int64_t time);
int64_t clock_cycles_until(Clock clock, int64_t time);

/* The depth of a pipelined iteration, predicted op by op: operators begin as soon as their operands
 * are there and follow each other while they fit the cycle, as in the schedule of the simulation
 * (docs/simulation.md). All times are those of Clock, from the iteration's start.
 * Tests: test/unit/target/cost/pipeline_test.c */

typedef struct Iteration {
    Clock clock;
    int64_t end;       /* time of the latest result so far */
    int64_t last_read; /* cycles of the last read and write */
    int64_t write;
} Iteration;

/* Each returns the time at which it is done: an operator whose operands come at `ready`; a
 * condition of so many constraints on the counters, which take `delay` to compute (without
 * constraints: 0); a read whose condition was known at `entered`. */
int64_t iteration_op(Iteration *it, int64_t ready, OpTiming timing);
int64_t iteration_condition(Iteration *it, int64_t constraints, int64_t delay);
int64_t iteration_read(Iteration *it, int64_t entered);
/* A write of a word that is there at `ready`. */
void iteration_write(Iteration *it, int64_t ready);
/* Cycles from the first to the last stage. */
int64_t iteration_depth(const Iteration *it);
/* Cycle of the write; words leave no earlier than the last read. */
int64_t iteration_write_cycle(const Iteration *it);

#endif
