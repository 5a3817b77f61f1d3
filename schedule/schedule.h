/* Geometry of a dfg.process: which loops run in which order, where words are read and written, what
 * is held in which memory. A pure function of the process, its ports' words and the unroll factors;
 * the cost model (target/) and the lowering to emithls both read it, so they cannot disagree.
 * docs/streaming.md explains the scheme.
 * Tests: lit/lowering/dfg-to-emithls, lit/target */
#ifndef MING_LOWERING_PLAN_H
#define MING_LOWERING_PLAN_H

#include "dialects/dfg/dfg.h"
#include "schedule/packing.h"
#include "analysis/kernel.h"

typedef enum ProcessKind {
    PROCESS_WINDOW,
    PROCESS_COMPUTE,
    PROCESS_REORDER, /* this and the next: plan_move.h */
    PROCESS_MERGE,
    PROCESS_CONVERTER, /* plan_converter.h */
    PROCESS_FORK
} ProcessKind;

/* Kind of a process's body. False: diagnosed (body has no streaming form). */
bool sched_process_kind(const Op *process, ProcessKind *out) MUST_CHECK;
/* Words of a port as they look inside, where the frame may be reshaped: its shape there is that of
 * `tensor`. end: the port's type, or one to try; word: rank of tensor entries. False: diagnosed (the
 * shape splits a word). */
bool sched_port_word(const Op *process, uint32_t port, const Type *end, const Type *tensor,
               int64_t *word) MUST_CHECK;

/* The reverse: the port's type for words that have this shape inside; NULL if the frame's shape has
 * no such words. */
const Type *sched_port_end(const Op *process, uint32_t port, const Type *tensor, const int64_t *word);

/* --- window processes ------------------------------------------------------------- */

/* One window dimension, counted in words. Input words hold `pixels` positions of it, output words the
 * windows of `outputs`; outputs * stride is a multiple of pixels. */
typedef struct WindowDim {
    int64_t pixels, outputs;
    int64_t in, out;   /* words along the dimension */
    int64_t stride;    /* input words from one output word to the next */
    int64_t reach;     /* input word of the last tap of output word 0 */
    int64_t recall;    /* words that an output word takes, `spacing` words apart, the newest last */
    int64_t spacing;
    int64_t origin;    /* of the recalled words' pixels, the one of output 0's first tap */
} WindowDim;

/* The flat scan of a window process. Positions form a box of `box` extents (window dimensions, the
 * outermost first, then the words of the inner dimensions); only positions begin .. end-1 are
 * visited, one word in and at most one word out each. Output word o is written at box coordinates
 * o * stride (+ lead in the outermost). docs/streaming.md derives the formulas. */
typedef struct WindowPlan {
    const Op *process, *window;
    WindowParams params;
    WindowDim dim[DFG_MAX_RANK]; /* params.count entries */
    int64_t outer;       /* frames of dimensions before the first window dimension */
    int64_t inner_words; /* words of the dimensions after the last one, per position */
    int64_t outer_lanes, inner_lanes; /* elements per word of the dimensions before and after */
    int64_t lanes;       /* elements per input word */
    int64_t box[DFG_MAX_RANK]; /* params.count extents; then inner_words */
    int64_t lead;        /* rows scanned before the row of the first output */
    int64_t shift;       /* input position = flat scan position + shift */
    int64_t begin, end;  /* flat range over the whole box, inner words included */
} WindowPlan;

/* ends: types of the two ports to try instead of their own, or NULL. False: diagnosed. */
bool sched_window(const Op *process, const Type *const *ends, WindowPlan *out) MUST_CHECK;
/* Iterations of the scan, all frames. */
int64_t sched_window_trips(const WindowPlan *plan);
/* Iteration that writes the first word of a frame. */
int64_t sched_window_first_write(const WindowPlan *plan);
/* Rows of history that dimension level i keeps per tap: (recall - 1) * spacing. */
int64_t sched_window_history(const WindowPlan *plan, uint32_t level);
/* Words recalled before level i: product of the outer levels' recall. */
int64_t sched_window_taps(const WindowPlan *plan, uint32_t level);
/* Words per history row of level i: positions of the inner dimensions. */
int64_t sched_window_row_words(const WindowPlan *plan, uint32_t level);

/* --- compute processes --------------------------------------------------------------- */

/* One counter of the pipelined nest: contributes counter * scale to loop `loop` of the kernel. */
typedef struct PlanLoop {
    uint32_t loop;
    int64_t trip, scale;
    bool is_reduction;
} PlanLoop;

/* How accumulators are kept (sched_reduction.c; docs/streaming.md). */
typedef struct ReductionPlan {
    const Op *combine; /* body's op that takes a term into the accumulator, if the terms' order is free
                          and it takes more than a cycle; else NULL */
    int64_t steps;     /* iterations that update one accumulator */
    int64_t distance;  /* least iterations between two updates of an accumulator */
    int64_t turns;     /* partial sums per accumulator, used in turn: 1, or at most `steps` */
    int64_t ii;        /* initiation interval of the nest */
    uint32_t run;      /* innermost loops, if they reduce while other accumulators wait */
} ReductionPlan;

enum { PLAN_MAX_LOOPS = 2 * KERNEL_MAX_LOOPS, PLAN_MAX_STREAMS = 8, PLAN_MAX_STAGES = 32,
       PLAN_MAX_RESULTS = 4 };

typedef struct ComputePlan {
    const Op *process, *main;   /* main: the linalg.generic that consumes the streams */
    const Type *const *ends;    /* types of the ports, or NULL for their own */
    Kernel kernel;
    const Op *stages[PLAN_MAX_STAGES]; /* element-wise epilogue, in order */
    uint32_t stage_count;
    uint32_t stream_count;
    uint32_t stream_operand[PLAN_MAX_STREAMS]; /* operand of main */
    uint32_t stream_port[PLAN_MAX_STREAMS];    /* port of the process */
    uint32_t output_port;
    int64_t unroll[KERNEL_MAX_LOOPS];
    PlanLoop loops[PLAN_MAX_LOOPS]; /* outermost first; trips above 1 only */
    uint32_t loop_count;
    uint32_t read_depth;     /* words are read where all counters from here on are 0 */
    uint32_t first_reduction; /* position of the first reduction loop, loop_count if none */
    int64_t lanes;           /* parallel elements computed at once = elements per output word */
    int64_t reduction_lanes; /* reduction elements consumed at once */
    int64_t accumulators;    /* accumulators live at once, per lane */
    ReductionPlan reduction;
    PackingPlan packing;
} ComputePlan;

/* unroll: factors per loop of the main kernel, each dividing its extent; NULL: from the attribute
 * dfg.unroll, or ones. ends: types of the ports to try instead of their own, or NULL; kept. False:
 * diagnosed. */
bool sched_compute(const Op *process, const int64_t *unroll, const Type *const *ends,
                  ComputePlan *out) MUST_CHECK;
/* Without unrolling, whatever the attribute says. False: diagnosed. */
bool sched_compute_base(const Op *process, ComputePlan *out) MUST_CHECK;
/* As the process stands: with its attribute's factors if words hold multiples of them, else, as long as
 * words are still to be chosen, without unrolling. False: diagnosed. */
bool sched_compute_now(const Op *process, ComputePlan *out) MUST_CHECK;
/* Factors of main's loops by its attribute dfg.unroll, ones without. False: diagnosed. */
bool sched_compute_unroll_attr(const ComputePlan *plan, int64_t *unroll) MUST_CHECK;
/* The parts that an unrolled loop is run in: `trip` of them, the next `scale` elements after the one before;
 * less than the factor where parts overlap. */
typedef struct LoopParts {
    int64_t trip, scale;
} LoopParts;
/* False: the loop cannot have the factor (plan_factor.c). No diagnostic. */
bool sched_compute_parts(const ComputePlan *plan, uint32_t loop, int64_t factor, LoopParts *out) MUST_CHECK;
/* The multiplication whose results main adds to its accumulator, extended or as they are; NULL: none. */
const Op *sched_payload_product(const Op *generic);
/* Operand of main that is a table of weights, a factor of that product; -1: none. */
int sched_compute_weights(const ComputePlan *plan);
/* Map of the output: a projected permutation of main's loops. */
const AffineMap *sched_compute_output_map(const ComputePlan *plan);
/* Fills plan->reduction from the rest of the plan. */
void sched_reduction(ComputePlan *plan);
/* Fills plan->packing from the rest of the plan. */
void sched_packing(ComputePlan *plan);
/* Of ReductionPlan.combine: the op that joins two partial sums, the term that is taken in, and the
 * value that a partial sum starts from (NULL: the initial one). */
const OpDef *sched_reduction_join(const Op *combine);
Value *sched_reduction_term(const Op *combine);
const Attr *sched_reduction_neutral(const Op *combine);
/* Trips of the whole nest. */
int64_t sched_compute_trips(const ComputePlan *plan);
/* Iteration that writes the first word: the first in which all reduction counters are at their ends. */
int64_t sched_compute_first_write(const ComputePlan *plan);
/* Word of stream `stream` as main sees it: extents of its operand's rank. False: diagnosed. */
bool sched_compute_input_word(const ComputePlan *plan, uint32_t stream, int64_t *word) MUST_CHECK;
/* Word the output port has with these factors: extents of the output tensor's rank. */
void sched_compute_output_word(const ComputePlan *plan, int64_t *word);

/* A constant operand laid out as the nest reads it: index by the counters in `by_loop` (positions in
 * plan->loops, outermost first), then by the flattened unrolled loops in `by_lane` (kernel loops in
 * order, factors above 1). */
typedef struct TableLayout {
    const AffineMap *map;   /* operand's index as a function of the main kernel's loops */
    uint32_t by_loop[PLAN_MAX_LOOPS], loop_count;
    uint32_t by_lane[KERNEL_MAX_LOOPS], lane_count;
    int64_t depth, lanes;   /* words, elements per word */
} TableLayout;
/* map: from the main kernel's loops to the constant's index. */
void sched_table_layout(const ComputePlan *plan, const AffineMap *map, TableLayout *out);
/* A constant that a payload reads at places it computes (tensor.extract). Indices in front that are
 * numbers of loops (linalg.index) choose a row, which the layout is about: every lane that has rows of
 * its own has a table of its own. loops: the payload's loops as functions of main's. */
typedef struct LookupLayout {
    TableLayout rows;
    uint32_t leading;  /* indices that choose the row */
    int64_t inner;     /* elements of a row */
} LookupLayout;
void sched_lookup_layout(const ComputePlan *plan, const AffineMap *loops, const Op *extract,
                   LookupLayout *out);
/* Whether the weight at a position (counters, then lanes) belongs to an earlier part, too: it is zero then. */
bool sched_table_repeats(const ComputePlan *plan, const TableLayout *layout, const int64_t *position);
/* The loops of a stage as functions of the main kernel's. */
const AffineMap *sched_stage_loops(const ComputePlan *plan, uint32_t stage);
/* Map of operand `operand` of stage `stage`, rewritten over the main kernel's loops. */
const AffineMap *sched_stage_operand_map(const ComputePlan *plan, uint32_t stage, uint32_t operand);

/* --- forks ------------------------------------------------------------------------------ */

/* Words that a fork copies per frame. */
int64_t sched_fork_words(const Op *process);

#endif
