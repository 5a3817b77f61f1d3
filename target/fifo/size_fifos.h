/* FIFO depths of a dataflow graph. A channel between processes that wait for nothing else needs two
 * words. Where a fork's branches meet again, the branch that delays its data most runs through; every
 * other branch starts with a FIFO that holds a whole frame, so the fork never waits for it. Where a
 * process behind moves words, and so may take them unevenly, all branches do, that one out of mere
 * caution (attribute `cautious`). fit-fifos then finds out how much of that is used. docs/streaming.md says why that cannot deadlock.
 * Tests: lit/target/size-fifos.mir */
#ifndef MING_TARGET_FIFO_H
#define MING_TARGET_FIFO_H

#include "dialects/dfg/dfg.h"

enum { FIFO_MIN_DEPTH = 2 };

/* For each operand of an instantiated fork, in `words`: 0 where its channel needs no more than
 * FIFO_MIN_DEPTH words, else an estimate of the words that it will hold, of `frame` words. Inputs are
 * 0. False: diagnosed. */
bool fork_estimate(const Op *instantiate, int64_t frame, int64_t *words) MUST_CHECK;

#endif
