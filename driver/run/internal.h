/* The inside of driver/run.
 * Tests: lit/tools/ming-run-jobs.mir */
#ifndef MING_DRIVER_RUN_INTERNAL_H
#define MING_DRIVER_RUN_INTERNAL_H

#include "driver/run/run.h"

/* Sets the levels of arguments of floats that a quantizer of the network reads, and nothing else. */
void run_find_levels(FunctionRun *run);
/* Runs a frame and puts its results into the run's arrays, which are of `frames` frames, as number
 * `at`. False: diagnosed or reported. */
bool run_frame(FunctionRun *run, Interp *interp, int64_t frame, int64_t at, int64_t frames)
    MUST_CHECK;
/* All frames in that many processes, 2 or more. False: as run_frames. */
bool run_parallel(FunctionRun *run, Interp *interp, int64_t workers) MUST_CHECK;

#endif
