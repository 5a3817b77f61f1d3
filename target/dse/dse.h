/* The design space of a dataflow graph (MING Eq. 1): each process has configurations, a configuration
 * fixes its unroll factors, cost and the words at its ports. Words at both ends of a channel are equal,
 * or a converter stands there and is a node with its own costs. dse_space.c enumerates, dse_solve.c
 * picks the best within budgets by integer programming, dse_apply.c writes the choice into the IR.
 * Tests: lit/target/choose-unroll.mir, test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_H
#define MING_TARGET_DSE_H

#include "target/cost/cost.h"

/* One way to build a process. */
typedef struct Config {
    Cost cost;
    int64_t interval; /* cycles from one frame to the next */
    int64_t *factor; /* per port: number of its word in the space */
    int64_t *unroll; /* compute processes: per loop of the main kernel; else NULL */
    Style style;     /* where memories go, what multiplies */
    int64_t middle;  /* converters: number of the word between two of them, -1 for none */
    int64_t goal;    /* in a reduced space (dse_reduce.h): what the problem adds up */
    uint32_t origin; /* in a reduced space: number in the whole one */
} Config;

/* A process, or on a channel between two of them what converts words, if words differ. */
typedef struct DseNode {
    const Op *process; /* NULL for a channel */
    Op *channel;       /* NULL for a process */
    ProcessKind kind;
    uint32_t port_count;
    bool *at_boundary; /* per port of a process: connected to a port of the region */
    VEC(Config) configs;
    uint32_t chosen;
} DseNode;

/* Two ports of nodes that have equal words. channel: that between them, NULL behind a converter. */
typedef struct DseEdge {
    uint32_t from, from_port, to, to_port;
    Op *channel;
} DseEdge;

typedef struct DseSpace {
    Arena *arena;
    const Op *region;
    CostTarget target;
    VEC(DseNode) nodes; /* in order of instantiation */
    VEC(DseEdge) edges;
    VEC(const Type *) words; /* receiving ends; channels may join ends of the same one */
    PtrMap word_numbers;     /* end Type* -> index in words + 1 */
    int64_t bound; /* of the last solve: no design's weighted sum is below it */
    bool counts[COST_KINDS];   /* limits of these were exceeded in a solve: the next ones begin with them */
    double prices[COST_KINDS]; /* per unit of cost, of the last solve that had nothing to add up */
} DseSpace;

/* DSE_FEASIBLE: a design within the limits, not proven best. DSE_FAILED: none found, none excluded. */
typedef enum DseStatus { DSE_OPTIMAL, DSE_FEASIBLE, DSE_INFEASIBLE, DSE_FAILED } DseStatus;

/* What one solve looks for: the least weighted sum, among designs within the limits. */
typedef struct DseProblem {
    Cost weights;           /* >= 0 */
    int64_t *const *extra;  /* per node and configuration: added to its weighted cost, >= 0; or NULL */
    Cost limits;            /* < 0: none */
    const int64_t *longest; /* per node: longest interval; NULL: any */
    bool keeps_intervals;   /* intervals count: a longer one cannot stand for a shorter one */
    int64_t known; /* weighted sum of the design that is chosen, if it keeps the limits; else < 0 */
    size_t effort; /* labels (dse_labels.h) to try before the best design so far is taken; 0: many */
    double deadline; /* of dse_seconds(); 0: none. Not to depend on the machine, use effort instead */
} DseProblem;

/* Without limits: the least of one kind of cost. */
DseProblem dse_least(CostKind kind);
/* Seconds of a clock that never goes back. */
double dse_seconds(void);
/* Weighted sum of a cost. */
int64_t dse_measure(const Cost *cost, const Cost *weights);

/* Enumerates the undominated configurations of the region's processes. False: diagnosed. */
bool dse_space(const Op *region, const CostTarget *target, Arena *arena, DseSpace *out) MUST_CHECK;
void dse_free(DseSpace *space);
/* Sets each node's `chosen` when it found a design, *value to its weighted sum. A chosen design that keeps
 * the limits is improved, and stays if it is the best. problem->known is not read. */
DseStatus dse_solve(DseSpace *space, const DseProblem *problem, int64_t *value);
/* Sum over the chosen configurations. */
Cost dse_total(const DseSpace *space);
/* Writes the chosen factors, words, storage and reports into region and processes. */
void dse_apply(Op *module, Op *region, const DseSpace *space);

#endif
