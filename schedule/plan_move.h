/* Geometry of the processes that only move words: dfg.reorder and dfg.merge. Like the plans of
 * plan.h, pure functions of the process and its ports' words, for the cost model and the lowering.
 * docs/streaming.md derives the schedules.
 * Tests: lit/lowering/dfg-to-emithls-move.mir, lit/target/choose-unroll-move.mir */
#ifndef MING_LOWERING_PLAN_MOVE_H
#define MING_LOWERING_PLAN_MOVE_H

#include "schedule/schedule.h"

enum {
    MOVE_MAX_DIGITS = 24,
    /* A slot of a reorder's buffer is read at least this many iterations after it was written, and
     * written as many after it was read. */
    REORDER_SLOT_DISTANCE = 2
};

/* --- reorder processes ------------------------------------------------------------------ */

/* Frames are cut into blocks: the source into in_blocks of in_burst words, the result into
 * out_blocks of out_burst words. A step of the outer loop reads one block of the source and writes
 * the block of the result that is `delay` steps behind; the inner loops walk the result's digits
 * from `level` on. Digits are the result's dimensions, split where the map divides and joined where
 * it does not tell them apart. */
typedef struct ReorderPlan {
    const Op *process, *reorder;
    int64_t lanes;                     /* elements per word */
    uint32_t digit_count, level;
    int64_t digits[MOVE_MAX_DIGITS];   /* extents, outermost first */
    int64_t inner[MOVE_MAX_DIGITS];    /* extents of the inner loops, of digits from `level` on; the
                                          first may be wider, and there is at least one */
    uint32_t inner_count;
    const AffineExpr *address;         /* source word of a result word, over the digits */
    uint32_t bound_count;              /* it exists where all bounds are >= 0 */
    const AffineExpr *bounds[2 * DFG_MAX_RANK];
    int64_t in_blocks, in_burst, out_blocks, out_burst;
    int64_t delay;                     /* steps */
    int64_t steps, step_trips;         /* of the outer loop; iterations of the inner loops */
    int64_t depth;                     /* words of the circular buffer: those that are alive at once, or
                                          a quarter more if that makes addresses simpler */
} ReorderPlan;

/* False: diagnosed. */
bool sched_reorder(const Op *process, ReorderPlan *out) MUST_CHECK;
/* The same at `lanes` elements per word, whatever the ports have. False without diagnostic: words
 * of that many elements do not stay together. */
bool sched_reorder_packed(const Op *process, int64_t lanes, ReorderPlan *out) MUST_CHECK;
int64_t sched_reorder_trips(const ReorderPlan *plan);

/* --- merge processes -------------------------------------------------------------------- */

/* One step per word of the result; a source is read where its part is. */
typedef struct MergePlan {
    const Op *process, *merge;
    int64_t lanes;
    uint32_t rank;
    int64_t extents[DFG_MAX_RANK];  /* of the result's word grid */
    int port[PLAN_MAX_STREAMS];      /* of each source; -1: a constant */
    MergePart parts[PLAN_MAX_STREAMS]; /* in words */
    uint32_t source_count;
} MergePlan;

/* False: diagnosed. */
bool sched_merge(const Op *process, MergePlan *out) MUST_CHECK;
bool sched_merge_packed(const Op *process, int64_t lanes, MergePlan *out) MUST_CHECK;
int64_t sched_merge_trips(const MergePlan *plan);
/* The elements of a constant source. */
const Attr *sched_merge_constant(const MergePlan *plan, uint32_t source);
/* Words of a source. */
int64_t sched_merge_words(const MergePlan *plan, uint32_t source);

#endif
