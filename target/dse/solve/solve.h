/* The model of a design space, and the solver of its problems.
 *   the model      DseSpace and what is in it. Built once by dse_space() (target/dse/dse.h), constant
 *                  from then on.
 *   the solver     DseProblem, what one solve looks for, and DseState, what solves find and leave
 *                  to the next one. dse_solve() reads the model and writes the state.
 *   the parts      that searches use besides: cutting planes, the program as a file, Pareto filters.
 * Users are the searches of target/dse.
 * Tests: test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_SOLVE_SOLVE_H
#define MING_TARGET_DSE_SOLVE_SOLVE_H

#include <lpsolve/lp_lib.h>

#include "ir/core/core.h"
#include "target/cost/cost.h"

/* The model. */

/* How the words of a pixel, those along the innermost dimension, follow each other, in cycles. */
typedef struct ConfigPace {
    int64_t tail;  /* from the first word out to the last one; 0: one after the other */
    int64_t pitch; /* from word to word */
    int64_t pixel; /* from pixel to pixel */
    int64_t words; /* of a pixel out */
    int64_t
        gathered;   /* of a converter: words in that one of its words holds, if they are several */
    int64_t absorb; /* from the first word in to the last one, if none is waited for */
    int64_t rest;   /* of work behind the last word of a frame in; of those by_results */
    double wait;    /* share of its pixels in that it must have before its first word out, the first
                       one left out; of those by_results */
} ConfigPace;

/* One way to build a process. */
typedef struct Config {
    Cost cost;
    int64_t interval; /* initiation interval of the process: cycles from one frame to the next */
    int64_t *word;    /* per port: number of its word in DseSpace.words */
    int64_t *unroll;  /* compute processes: factor per loop of the main kernel; else NULL */
    Binding binding;  /* where memories go, what multiplies */
    int64_t middle;   /* converters: number of the word between two of them, -1 for none */
    uint32_t forms;   /* compute processes: which of dse_form_variants(), 0: as it came */
    bool by_results;  /* compute processes: results are completed one after another (dfg.order) */
    ConfigPace pace;  /* of compute processes */
    const struct Split *split; /* compute processes: the two that it becomes; NULL: it stays one */
} Config;

/* A compute process without its epilogue, and the epilogue. Between them are words of sums: the
 * last word of `main`, the first one of `epilogue`. */
typedef struct Split {
    Config main, epilogue;
    uint32_t from; /* the stage that the epilogue begins with */
    int64_t
        drain; /* cycles that the epilogue takes longer for the sums of a pixel than they come in */
} Split;

/* A process, or the conversion of words on a channel between two processes. */
typedef struct DseNode {
    const Op *process; /* NULL for a channel */
    Op *channel;       /* NULL for a process */
    ProcessKind kind;
    uint32_t port_count;
    bool *at_boundary; /* per port of a process: connected to a port of the region */
    int64_t port_bits; /* as CostTarget has it */
    VEC(Config) configs;
    int64_t most_parallel; /* elements, where that limit left configurations out; else 0 */
} DseNode;

/* Two ports of nodes that must have equal words. channel: that between them, NULL behind a
 * converter. */
typedef struct DseEdge {
    uint32_t from, from_port, to, to_port;
    Op *channel;
} DseEdge;

typedef struct DseSpace {
    Arena *arena; /* of the configurations' arrays, and of whatever lives as long as the space */
    const Op *region;
    CostTarget target;
    VEC(DseNode) nodes; /* in order of instantiation */
    VEC(DseEdge) edges;
    VEC(const Type *) words; /* receiving ends; channels may join ends of the same one */
    PtrMap word_numbers;     /* end Type* -> index in words + 1 */
} DseSpace;

void dse_free(DseSpace *space);
/* Sum over the configurations that a design has chosen: a number per node. */
Cost dse_total(const DseSpace *space, const uint32_t *chosen);

/* The solver. */

/* DSE_FEASIBLE: a design within the limits that is not proven to be the best. DSE_FAILED: no design
 * was found, but none is excluded either. */
typedef enum DseStatus { DSE_OPTIMAL, DSE_FEASIBLE, DSE_INFEASIBLE, DSE_FAILED } DseStatus;

static inline bool dse_found_design(DseStatus status)
{
    return status == DSE_OPTIMAL || status == DSE_FEASIBLE;
}

/* What one solve looks for: the least weighted sum, among designs within the limits. */
typedef struct DseProblem {
    Cost weights; /* >= 0 */
    /* Per node and configuration: added to its weighted cost, >= 0; or NULL. */
    int64_t *const *extra;
    Cost limits;            /* < 0: none */
    const int64_t *longest; /* per node: the longest interval allowed; NULL: any */
    /* The intervals matter, so that a configuration never dominates one of a shorter interval. */
    bool keeps_intervals;
    /* Weighted sum of the state's design, if that keeps the limits; else < 0. */
    int64_t known;
    /* Labels (label setting) to try before the best design so far is taken; 0: the default. */
    size_t max_labels;
    /* Of dse_seconds(); 0: none. A deadline makes the answer depend on the machine, max_labels does
     * not. */
    double deadline;
} DseProblem;

/* What solves find and leave to the next one in the same space. A search hands one state to all of
 * its solves, since each begins where the last one ended; searches that are to be independent of
 * each other have states of their own. */
typedef struct DseState {
    uint32_t *chosen; /* per node: its configuration in the best design, at the start any */
    int64_t bound;    /* of the last solve: no design's weighted sum is below it */
    /* Limits that solves take into account. One becomes active when a solution exceeds it, or when
     * it is part of a proof that there is no design, and then stays active. The fewer limits are
     * active, the more configurations are dominated. */
    bool is_active[COST_KINDS];
    /* Lagrange multipliers per unit of cost, of the last solve that had nothing to minimise: the
     * weights of the surrogate constraint that excludes infeasible designs early. */
    double multipliers[COST_KINDS];
} DseState;

/* Chooses each node's first configuration. The state lives in the space's arena. */
DseState dse_state(const DseSpace *space);
/* The problem without limits: the least of one kind of cost. */
DseProblem dse_least(CostKind kind);
/* Seconds of a clock that never goes back. */
double dse_seconds(void);
/* Weighted sum of a cost. */
int64_t dse_measure(const Cost *cost, const Cost *weights);
/* Sets state->chosen and *value to the best design and its weighted sum if one is found. A design
 * in the state that keeps the limits is improved, and stays if it is the best. problem->known is
 * not read. */
DseStatus dse_solve(const DseSpace *space, const DseProblem *problem, DseState *state,
                    int64_t *value);

/* Lagrange multipliers by cutting planes (J. E. Kelley, 1960): the Lagrangian bound is a concave
 * function of the prices. Each design seen gives a plane above it. The prices where the lowest of
 * the planes is highest are tried next. A few prices need few planes. */

typedef struct DseCuttingPlanes DseCuttingPlanes;

/* For `count` prices, at least one. total > 0: their sum, else each is at most `most`. */
DseCuttingPlanes *dse_cutting_plane_create(uint32_t count, double total, double most);
void dse_cutting_plane_free(DseCuttingPlanes *planes);
/* Adds the plane of a design of this goal that exceeds the limits by `excess`, in units of the
 * prices. */
void dse_cutting_plane_add(DseCuttingPlanes *planes, double goal, const double *excess);
/* Gives the next prices to try, and what the bound is at most. */
double dse_cutting_plane_solve(DseCuttingPlanes *planes, double *prices);

/* Integer linear program for lp_solve. It has a 0-1 variable per configuration, of which each
 * process or converter has exactly one; for every edge and word, as many ends of that word at one
 * side as at the other (the stream constraint of MING IV.C); the limits; and the weighted sum to
 * minimise. For throughput (NN2FPGA Eq. 11) a last variable S is minimised instead, which no
 * interval exceeds.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/dump-lp.mir */

/* Writes the whole program of a problem to a file that ends in .lp or .mps. With keeps_intervals, S
 * is minimised. False: it cannot be written; no diagnostic. */
bool dse_dump(const DseSpace *space, const DseProblem *problem, const char *path) MUST_CHECK;

/* Pareto filter: of the configurations with equal words at all ports, one dominates another if none
 * of its measures is larger; of equal ones the first stays. */

/* Drops the node's dominated configurations; the others keep their order. measures: `count` numbers
 * per configuration, one configuration after the other; less is better. */
void dse_keep_pareto(DseNode *node, const int64_t *measures, uint32_t count);

#endif
