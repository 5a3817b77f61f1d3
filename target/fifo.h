/* FIFO depths of a dataflow graph. A channel between processes that wait for nothing else needs two
 * words. Where a fork's branches meet again, the branch that delays its data most runs through; every
 * other branch starts with a FIFO that holds a whole frame, so the fork never waits for it.
 * docs/streaming.md says why that cannot deadlock.
 * Tests: lit/target/size-fifos.mir */
#ifndef MING_TARGET_FIFO_H
#define MING_TARGET_FIFO_H

#include "dialects/dfg/dfg.h"

enum { FIFO_MIN_DEPTH = 2 };

/* For each operand of an instantiated fork: whether its channel must hold a frame. `deep` has one
 * entry per operand; inputs are false. False: diagnosed. */
bool fork_deep_outputs(const Op *instantiate, bool *deep) MUST_CHECK;

#endif
