/* One iteration of a pipelined loop as time passes in it: operators begin as soon as their operands
 * are there and follow each other while they fit the cycle, like the schedule of the simulation
 * (docs/simulation.md). Times are those of schedule/latency.h, from the iteration's start.
 * Tests: test/unit/pipeline_test.c */
#ifndef MING_TARGET_ITERATION_H
#define MING_TARGET_ITERATION_H

#include "schedule/latency.h"

typedef struct Iteration {
    Clock clock;
    int64_t end;       /* of all that happened so far */
    int64_t last_read; /* cycles of the last read and write */
    int64_t write;
} Iteration;

/* When an operator is done whose operands come at `ready`. */
int64_t iteration_op(Iteration *it, int64_t ready, OpTiming timing);
/* When a condition of so many constraints on the counters is known, which take `delay` to compute;
 * without constraints at once. */
int64_t iteration_condition(Iteration *it, int64_t constraints, int64_t delay);
/* When a word has come, or gone, whose condition was known at `entered`. */
int64_t iteration_read(Iteration *it, int64_t entered);
void iteration_write(Iteration *it, int64_t ready);
/* Cycles from the first to the last stage; words leave no earlier than the last read. */
int64_t iteration_depth(const Iteration *it);
int64_t iteration_write_cycle(const Iteration *it);

#endif
