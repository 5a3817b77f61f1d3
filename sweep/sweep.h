/* Sweeps: many designs of a plan (JSON), each a job of `ming compile` in a folder of its own, which an
 * engine that users have runs: GNU parallel, or Slurm's job arrays.
 *
 *   FILE ─▶ plan ─▶ DIR/jobs/ID/job.json ─▶ list of jobs that are not finished ─▶ engine
 *   engine ─▶ sweep_run_job ─▶ DIR/jobs/ID/{design/, log, status}
 *   status, report.json ─▶ DIR/results.csv, DIR/index.html
 *
 * A job is named by what it does: its arguments and the bytes of its model. So a sweep that was stopped
 * goes on where it was, also with a longer plan, and jobs of another plan stay as they are. A job that
 * runs holds a lock, which the processes that it starts hold, too; of two that are started one waits
 * and finds the work done. What is printed depends on the plan and the designs alone.
 * Tests: test/e2e/sweep_check.py, lit/tools/ming-sweep-invalid.test */
#ifndef MING_SWEEP_SWEEP_H
#define MING_SWEEP_SWEEP_H

#include "driver/driver.h"
#include "ir/support/support.h"

typedef enum SweepEngine {
    SWEEP_NONE, /* only collects what is there */
    SWEEP_PARALLEL,
    SWEEP_SLURM,
} SweepEngine;

typedef struct SweepOptions {
    const char *file, *folder; /* the plan; where jobs and results are */
    const char *program;       /* absolute path of ming, where jobs run */
    SweepEngine engine;
    int64_t jobs;         /* at a time; 0: as the engine chooses */
    Texts ssh;            /* GNU parallel's login names; none: this machine */
    Texts engine_options; /* handed to parallel or sbatch as they are */
    bool retries;         /* jobs that failed */
} SweepOptions;

typedef struct SweepCounts {
    size_t jobs, started; /* of the plan; that were not finished before */
    size_t done, failed, missing;
} SweepCounts;

/* Plans, runs, collects. False: appended to *why; jobs that failed are no reason. */
bool sweep_run(const SweepOptions *options, SweepCounts *counts, StrBuf *why) MUST_CHECK;

/* Runs the job in a folder, unless it is finished. False: appended to *why; a design that fails is none
 * of that. */
bool sweep_run_job(const char *folder, const char *program, StrBuf *why) MUST_CHECK;
/* The same for a line, from 1, of a list of jobs in the sweep's folder. */
bool sweep_run_line(const char *list, int64_t line, const char *program, StrBuf *why) MUST_CHECK;

#endif
