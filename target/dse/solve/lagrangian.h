/* Lagrangian bounds of a design space: limits become prices, the cheapest design at given prices is a
 * shortest path through the layers (dse_layers.h), and what cannot be part of a design better than the
 * best one known is left out. What remains is small enough for an exact program.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_PRUNE_H
#define MING_TARGET_DSE_PRUNE_H

#include "target/dse/dse.h"

/* Labels that a problem without a limit of its own may try. The count does not depend on the machine,
 * so neither does the answer. */
enum { DSE_MOST_LABELS = 20000000 };

typedef struct DsePruned {
    bool **keep;      /* per node and configuration: may be in a design better than the one found */
    size_t kept;      /* how many */
    bool has_design;  /* one within the limits is known: */
    uint32_t *chosen; /* its configurations, unless its value is that of problem->known */
    int64_t value;    /* its weighted sum */
    int64_t bound;    /* no design within the limits has a lesser one; INT64_MAX: there is none */
    double prices[COST_KINDS]; /* per unit of cost, at the best bound */
    bool is_thinned;  /* the space was too large: `keep` lacks designs that may be better */
} DsePruned;

/* Labels that the problem's search may try. */
size_t dse_effort(const DseProblem *problem);
/* Of a reduced space. Arrays live in its arena. */
void dse_prune(const DseSpace *space, const DseProblem *problem, DsePruned *out);

#endif
