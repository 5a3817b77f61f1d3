/* The trade of throughput against resources: the least that designs of ever longer intervals take.
 *
 * The fastest design within the limits gives the first interval, the smallest design of all the last.
 * Between them stand the intervals that some process can have; of these a ladder is taken, spaced evenly
 * in their logarithm. At each step the design of least resources is searched, in shares of the limits.
 * What another design beats in interval, DSP, BRAM18, URAM and LUT is left out.
 * Tests: lit/tools/ming-explore.test, test/unit/explore_test.c */
#ifndef MING_TARGET_EXPLORE_H
#define MING_TARGET_EXPLORE_H

#include "target/dse/objective.h"

typedef struct ExplorePoint {
    int64_t interval;     /* cycles from frame to frame, as predicted */
    int64_t value, bound; /* millionths of the limits, in sum over them; what no design is below */
    Cost cost;            /* of all processes, FIFOs as estimated */
} ExplorePoint;

typedef VEC(ExplorePoint) ExplorePoints;

/* The points, the fastest first; at most `count` (at least 2) of them. What the answer is about is in
 * *task where there is no design, for dse_explain. */
DseAnswer dse_explore_space(DseSpace *space, const Cost *limits, size_t count, DseTask *task,
                        ExplorePoints *out);

/* Drops what others beat; of equals the first stays. */
void dse_explore_drop_beaten(ExplorePoints *points);

#endif
