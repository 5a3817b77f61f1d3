/* What a design is to be best at, and the searches that find it: each a few problems of dse.h. Among
 * designs as good, one of least resources is taken: of the least sum of shares of the limits.
 * Tests: test/unit/dse_objective_test.c, lit/target/choose-unroll-objective.mir */
#ifndef MING_TARGET_DSE_OBJECTIVE_H
#define MING_TARGET_DSE_OBJECTIVE_H

#include "target/dse/pipeline_latency.h"

typedef enum DseObjective {
    DSE_LATENCY,          /* least sum of cycles (MING Eq. 1) */
    DSE_PIPELINE_LATENCY, /* least time from a frame's first word in to its last word out */
    DSE_THROUGHPUT,       /* least S, the longest interval of a process (NN2FPGA Eq. 11) */
    DSE_FPS               /* least resources at a given S */
} DseObjective;

typedef struct DseTask {
    DseObjective objective;
    Cost limits;      /* < 0: none */
    int64_t interval; /* S of DSE_FPS, cycles */
    const DsePace *paces; /* per node, of DSE_PIPELINE_LATENCY */
    double deadline;  /* as of a problem */
} DseTask;

typedef struct DseAnswer {
    DseStatus status;     /* of the value */
    int64_t value, bound; /* cycles; of DSE_FPS millionths of the limits, in sum over them */
} DseAnswer;

/* Chooses configurations; when none are found, nothing is chosen. */
DseAnswer dse_optimize(DseSpace *space, const DseTask *task);
/* The first problem of a task, which decides the value: of throughput with S still to be minimised. Not
 * of pipeline latency, which is many. */
DseProblem dse_first_problem(const DseSpace *space, const DseTask *task);
/* Longest interval of the chosen configurations. */
int64_t dse_interval(const DseSpace *space);
/* The same limit for the intervals of all nodes, in the space's arena. */
const int64_t *dse_same_interval(const DseSpace *space, int64_t interval);

#endif
