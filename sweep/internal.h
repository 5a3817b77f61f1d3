/* Between the sources of sweep/. */
#ifndef MING_SWEEP_INTERNAL_H
#define MING_SWEEP_INTERNAL_H

#include <jansson.h>

#include "sweep/sweep.h"

typedef struct SweepJob {
    StrBuf id, limits;                      /* name of its folder; "dsp=100 bram=50" */
    const char *model, *device, *objective; /* of the plan */
    int64_t clock;                          /* MHz; 0: the device's */
    json_t *arguments;                      /* of ming compile, but for -o */
} SweepJob;

typedef struct SweepPlan {
    json_t *json;
    StrBuf folder; /* of the plan's file, absolute; the folder in which jobs run */
    VEC(SweepJob) jobs;
    bool synthesizes;
} SweepPlan;

/* Reads and checks a plan. False: appended to *why. Free it either way. */
bool sweep_plan_read(SweepPlan *plan, const char *file, StrBuf *why) MUST_CHECK;
void sweep_plan_free(SweepPlan *plan);

typedef enum SweepState { SWEEP_MISSING, SWEEP_DONE, SWEEP_FAILED } SweepState;
typedef struct SweepStatus {
    SweepState state;
    StrBuf synthesis; /* "done", "failed"; empty: none was asked for, or it did not come to that */
} SweepStatus;
/* What a job's folder says. */
void sweep_status_read(const char *job, SweepStatus *out);
void sweep_status_free(SweepStatus *status);

/* DIR/jobs/ID, in the buffer. */
const char *sweep_job_path(StrBuf *path, const char *folder, const SweepJob *job);
/* Makes folders and job.json. False: appended to *why. */
bool sweep_write_job(const SweepPlan *plan, const char *folder, const SweepJob *job, StrBuf *why)
    MUST_CHECK;

/* Runs the jobs in the list, which has a line with an ID for each. False: appended to *why. */
bool sweep_start(const SweepOptions *options, const char *list, size_t count, StrBuf *why)
    MUST_CHECK;

/* Writes results.csv and index.html. False: appended to *why. */
bool sweep_collect(const SweepPlan *plan, const SweepOptions *options, SweepCounts *counts,
                   StrBuf *why) MUST_CHECK;

/* Words of a command, the last one NULL. */
typedef VEC(char *) SweepWords;
void sweep_add_word(SweepWords *words, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sweep_free_words(SweepWords *words);
/* Starts a command in a folder (NULL: this one); its output goes to the file, if one is given, at its
 * end. The number of the process; -1: appended to *why. */
int sweep_spawn(SweepWords *words, const char *folder, const char *log, StrBuf *why);
/* Waits for it: its exit status, or 128 and the signal that ended it. */
int sweep_wait(int process);

#endif
