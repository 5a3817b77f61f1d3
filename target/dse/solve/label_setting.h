/* Shortest paths under limits: labels (goal and uses so far) walk through the layers of a design space.
 * Per state only labels are kept that no other dominates, whose bound is below the ceiling, and of these
 * the `width` best: those of the least bounds, or, if designs only have to fit, those that exceed the
 * limits least when the cheapest way completes them. If none had to be given up for that, the answer is
 * exact. A label that the cheapest way completes to a design within the limits is a design.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_LABELS_H
#define MING_TARGET_DSE_LABELS_H

#include "target/dse/solve/layered_graph.h"

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
    const double *mix;    /* per kind of cost: prices at which designs within the limits are cheap */
    const double *behind; /* per state: least goal plus prices from there to the end */
    const uint32_t *departure;  /* per state: the first transition of that way */
    const int64_t *sums_behind; /* per state: goal of that way, then its uses: limit_count + 1 numbers */
    double ceiling;       /* of a design's goal plus prices */
    bool only_fits;       /* nothing adds up: any design will do */
    uint32_t width;       /* labels per state */
    size_t max_labels;    /* tried in all, or comparisons of them that take as long; when they run out, the search is incomplete */
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
