/* Functions on frames in the reference interpreter, as users ask for it: one after the other, or on
 * several processors at once, with the same results.
 *
 *   run_begin ─▶ arrays of the arguments ─▶ run_frames: enter, interpret, leave ─▶ arrays of results
 *
 * `ming run` and libming build on it.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-jobs.mir, test/e2e/run_check.py */
#ifndef MING_DRIVER_RUN_RUN_H
#define MING_DRIVER_RUN_RUN_H

#include "driver/driver.h"
#include "driver/trace/trace.h"

/* The caller sets the members in front of args, and zeroes the others. */
typedef struct FunctionRun {
    Op *func; /* stays as it is until run_free */
    DriverErrors errors;
    int64_t max_steps; /* ops of a frame; 0: no limit */
    int64_t jobs;      /* processes at a time, each with a copy of this one's memory; 1: this one */
    bool traces;
    InterpWatch watch; /* told of each op, in place of a trace, with one job; seen may be NULL */
    void (*progress)(void *user, int64_t frame, int64_t frames); /* or NULL */
    void *user;
    PortFiles args, results; /* the frames of args are set with their arrays */
    Boundary *levels;        /* of args; run_begin's */
    Trace *trace;            /* NULL: not asked for */
} FunctionRun;

/* Makes the ports. False: diagnosed; run_free is right then, too. */
bool run_begin(FunctionRun *run) MUST_CHECK;
/* Results, and the trace, depend on nothing but the frames, and so does what is diagnosed or reported
 * where it is false: of the first frame that fails. */
bool run_frames(FunctionRun *run) MUST_CHECK;
void run_free(FunctionRun *run);

#endif
