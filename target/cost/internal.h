/* Pipelines of processes, predicted from their schedules: how many iterations a frame takes, how
 * many cycles an iteration, and when the first word leaves. For the sources of target/cost and
 * their test. A prediction follows the ops that the lowering builds (lowering/dfg_to_emithls), one
 * lane of each unrolled loop and trees by their depth, so that it costs no more than a walk over
 * the payload.
 * Tests: test/unit/target/cost/pipeline_test.c, test/e2e/cost_check.py */
#ifndef MING_TARGET_COST_INTERNAL_H
#define MING_TARGET_COST_INTERNAL_H

#include "schedule/schedule.h"
#include "target/cost/cost.h"

typedef struct CostPipeline {
    int64_t executions; /* of the loop, in a frame */
    int64_t trips, ii;  /* of each of them */
    int64_t depth;      /* cycles of an iteration */
    int64_t first;      /* iteration that writes the first word */
    int64_t write;      /* cycle of an iteration in which it writes */
    bool rewinds;       /* frames follow each other without a gap */
} CostPipeline;

/* Cycles from frame to frame of a process that never waits; cycles from its first iteration until its first word has
 * left. The latter leave the loop's start-up out, because the loop has started by the time the
 * first word comes in. */
int64_t cost_pipeline_cycles(const CostPipeline *pipeline);
int64_t cost_pipeline_fill(const CostPipeline *pipeline);

/* The op by which a payload takes a term into its accumulator, if HLS tools join the terms of an
 * unrolled loop by a tree: sums, extremes, products and logic of integers. NULL: one by one. */
const Op *cost_balanced_update(const Op *generic, uint32_t result, const Value **term);

/* The pipeline of a process, by kind. memories: the list of memory_of_compute and its like;
 * multiplier: one of DFG_MULTIPLIER. */
CostPipeline cost_pipeline_compute(const ComputeSchedule *sched, const MemoryList *memories,
                                   const char *multiplier, Clock clock);
CostPipeline cost_pipeline_window(const WindowSchedule *sched, const MemoryList *memories,
                                  Clock clock);
CostPipeline cost_pipeline_reorder(const ReorderSchedule *sched, const MemoryList *memories,
                                   Clock clock);
CostPipeline cost_pipeline_merge(const MergeSchedule *sched, const MemoryList *memories,
                                 Clock clock);
CostPipeline cost_pipeline_fork(int64_t words, Clock clock);
/* words: large words of a frame. parts: small words in each. */
CostPipeline cost_pipeline_converter(int64_t words, int64_t parts, bool joins, Clock clock);

/* How long processes hold data back, as the share of a frame that they take before their first
 * output, in a unit that cost_part_of_frame turns into a fraction. Of one process; the largest sum
 * from an instantiated process to the region's end, with the sums that are known already. False:
 * diagnosed. Tests: lit/target/fifo/size-fifos.mir */
bool cost_process_delay(const Op *process, int64_t *out) MUST_CHECK;
bool cost_delay_behind(const Op *instantiate, PtrMap *known, int64_t *out) MUST_CHECK;
double cost_part_of_frame(int64_t delay);

#endif
