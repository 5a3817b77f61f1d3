/* How long a frame takes from its first word in to its last word out, when nothing else is in the
 * pipeline: docs/cost-model.md has the model.
 * Tests: test/unit/dse_objective_test.c, lit/target/choose-unroll-objective.mir */
#ifndef MING_TARGET_DSE_FRAME_H
#define MING_TARGET_DSE_FRAME_H

#include "target/dse/dse.h"

/* How a process hands on what it takes, whatever its configuration. */
typedef struct DsePace {
    double wait; /* share of its input that the first word out needs */
    double rest; /* share of its work behind the last word in */
} DsePace;

/* Per node, in the space's arena. NULL: diagnosed. */
DsePace *dse_paces(const DseSpace *space);

/* A bound from below of any design's latency: constant sums of fill, interval and hand-over of its
 * configurations, with weights per node. */
typedef struct DseCut {
    double *fill, *interval, *handover;
} DseCut;

DseCut dse_cut(const DseSpace *space);
/* Latency of the chosen design in cycles; sets the cut to weights under which it is that sum. */
double dse_frame(const DseSpace *space, const DsePace *paces, DseCut *cut);
/* What a configuration adds to the sum. */
double dse_cut_value(const DseCut *cut, uint32_t node, const Config *config);

#endif
