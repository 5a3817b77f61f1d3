/* Shortest paths under limits: labels (goal and uses so far) walk through the layers of a design space.
 * Per state only labels are kept that no other dominates, whose bound is below the ceiling, and of these
 * the `width` of the least bounds. If none had to be given up for that, the answer is exact.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_LABELS_H
#define MING_TARGET_DSE_LABELS_H

#include "target/dse_layers.h"

enum { DSE_MAX_LIMITS = COST_KINDS };

/* A limited quantity and the price of using it, per `unit`. */
typedef struct DseLimit {
    CostKind kind;
    double limit, unit, price;
} DseLimit;

typedef struct LabelSearch {
    const DseSpace *space;
    const DseLayers *layers;
    const DseLimit *limits;
    uint32_t limit_count;
    const double *behind; /* per state: least goal plus prices from there to the end */
    double ceiling;       /* of a design's goal plus prices */
    uint32_t width;       /* labels per state */
    size_t max_labels;    /* tried in all; when they run out, the search is incomplete */
    double deadline;      /* of dse_seconds(), or 0; behind it, too */
    /* Results. */
    size_t tried;     /* labels */
    bool complete;    /* no design below the ceiling was overlooked */
    bool found;
    int64_t value;    /* goal of the best design found */
    uint32_t *chosen; /* its configurations; given by the caller, an entry per node */
} LabelSearch;

void dse_labels(LabelSearch *search);

#endif
