/* FIFOs behind forks, as an estimate before anything is simulated. A channel between processes that wait
 * for nothing else needs FIFO_MIN_DEPTH words. Where a fork's branches meet again, the branch that
 * delays its data most runs through, the others hold what it has not taken yet.
 * Tests: lit/target/size-fifos.mir */
#ifndef MING_TARGET_COST_FORK_DELAY_H
#define MING_TARGET_COST_FORK_DELAY_H

#include "dialects/dfg/dfg.h"

enum { FIFO_MIN_DEPTH = 2 };

/* For each operand of an instantiated fork, in `words`: 0 where its channel needs no more than
 * FIFO_MIN_DEPTH words, else an estimate of the words that it will hold, of `frame` words. Inputs are
 * 0. False: diagnosed. */
bool cost_fork_estimate(const Op *instantiate, int64_t frame, int64_t *words) MUST_CHECK;

#endif
