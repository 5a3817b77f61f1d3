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

/* A FIFO's own: its handshake, and what it takes per bit of its address. */
typedef struct FifoCosts {
    int64_t control_lut, control_ff, counter_lut, counter_ff;
} FifoCosts;

/* What a structure adds to what both have; LUTs and flip-flops (structure.c). */
typedef struct StructureCosts {
    int64_t process_lut, process_ff; /* state machine and handshakes */
    bool has_wait_counter;           /* of the cycles in which a pipeline runs empty */
    int64_t counter_halves;          /* half LUTs per bit of a loop's counter */
    bool has_word_registers;         /* for every word that is read or written */
    int64_t pair_halves;             /* half LUTs per bit of a choice between two */
    bool shares_conditions;          /* a comparison of a coordinate is there once */
    int64_t bound_lut;               /* of a reorder: whether its digits keep a bound */
    int64_t wrap_lut;                /* per bit of an address that goes around a buffer */
    int64_t source_lut;              /* of a merge: whether it is its turn, and its handshake */
    bool has_free_wires; /* of packed operands: bits that nothing is added to, waits in slices */
    FifoCosts srl, fifo; /* of shift registers; of memories */
    bool has_lutram_register; /* behind a FIFO's LUTRAM */
    bool has_bypass;          /* a word for an empty FIFO of blocks passes beside them */
    bool has_bank_choice;     /* LUTRAM of more than 64 words is banks, one of which is chosen */
} StructureCosts;
const StructureCosts *cost_structure(CostStructure structure);

typedef struct CostPipeline {
    int64_t executions; /* of the loop, in a frame */
    int64_t trips, ii;  /* of each of them */
    int64_t depth;      /* cycles of an iteration */
    int64_t first;      /* iteration that writes the first word */
    int64_t read;       /* cycle of an iteration in which it reads, of processes that move words */
    int64_t write;      /* cycle of an iteration in which it writes */
    bool rewinds;       /* frames follow each other without a gap */
} CostPipeline;

/* Cycles from frame to frame of a process that never waits; cycles from its first iteration until its first word has
 * left. The latter leave the loop's start-up out, because the loop has started by the time the
 * first word comes in. */
int64_t cost_pipeline_cycles(const CostPipeline *pipeline);
int64_t cost_pipeline_fill(const CostPipeline *pipeline);

/* Parts of processes, added to a sum (structure.c): a loop's counter, which counts and compares; a
 * pipeline; a pipeline and the memories that it was scheduled with, which are freed. */
void cost_add_counter(int64_t trips, CostStructure structure, Cost *sum);
void cost_add_pipeline(CostPipeline *pipeline, bool rewinds, const CostTarget *target, Cost *sum);
void cost_add_schedule(CostPipeline *pipeline, bool rewinds, MemoryList *memories,
                       const CostTarget *target, Cost *sum);
/* Whether a process that may have tables rewinds: not where it fills them in its first frame. */
bool cost_table_rewinds(const CostTarget *target);
/* Bits of a channel end's word. LUTs of a choice of so many bits among so many, four per LUT;
 * between a word and another one. */
int64_t cost_word_bits(const Type *end);
int64_t cost_choice_luts(int64_t bits, int64_t choices);
int64_t cost_pair_luts(int64_t bits, CostStructure structure);

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
 * from what is sent into `end` to the region's end, with the sums that are known already. False:
 * diagnosed. Tests: lit/target/fifo/size-fifos.mir */
bool cost_process_delay(const Op *process, int64_t *out) MUST_CHECK;
bool cost_delay_behind(const Value *end, PtrMap *known, int64_t *out) MUST_CHECK;
double cost_part_of_frame(int64_t delay);

#endif
