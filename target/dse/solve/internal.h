/* Between the sources of the solver, in the order in which one solve runs them:
 *
 *   presolve ─▶ layered graph ─▶ Lagrangian bound ─▶ label setting ─▶ integer program
 *   (with dominance)             (by cutting planes)
 *
 * Each stage leaves out what cannot be part of a better design, so that the next one has less to
 * look at. The first that closes the gap between bound and design ends the solve.
 * Tests: test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_SOLVE_INTERNAL_H
#define MING_TARGET_DSE_SOLVE_INTERNAL_H

#include "target/dse/solve/solve.h"

/* Dominance: configurations that another one of the same process can replace in whatever design
 * they are. With the converters beside it, which then convert other words, the other one takes no
 * more of anything. */

enum { DSE_MAX_MEASURES = COST_KINDS + 2 };

/* Numbers of a configuration that are added up over a design, less is better; gives how many. */
typedef uint32_t DseMeasure(const void *user, uint32_t node, uint32_t config, int64_t *out);

/* Clears `alive`, which has a flag per node and configuration, for configurations that are
 * dominated. Of all Pareto-optimal designs with the same sums at least one is left. Configurations
 * that are not alive at the start count as absent. has_interval: the first number is an interval,
 * which is not added up and must not grow anywhere. */
void dse_drop_dominated(const DseSpace *space, DseMeasure *measure, const void *user,
                        bool has_interval, bool **alive);

/* Presolve: the part of a design space that one problem is about. It has the configurations that no
 * limit excludes, each of whose words some configuration at the other end of the edge has too, and
 * that none dominates in what the problem minimises and limits. */

typedef struct DseReduced {
    DseSpace space;    /* the same nodes, edges and words, fewer configurations */
    uint32_t **origin; /* per node and configuration: its number in the whole space */
    int64_t **goal;    /* per node and configuration: its objective coefficient */
    Cost limits;       /* of the problem, without those that no design can exceed */
} DseReduced;

/* False: a node has no configuration left. To be freed in either case; arrays are in `arena`. */
bool dse_presolve(const DseSpace *space, const DseProblem *problem, Arena *arena, DseReduced *out)
    MUST_CHECK;
void dse_reduced_free(DseReduced *reduced);

/* Layered graph: the nodes of a design space in topological order, one layer each. An edge is open
 * at a layer if only one of its ends has been decided. A state stands between two layers for the
 * words of the open edges; a transition leads from a state to the next by a configuration that
 * agrees with it. Every path through the layers is a design in which all edges agree, so bounds and
 * shortest paths are dynamic programs. */

typedef struct Transition {
    uint32_t from, to; /* states */
    uint32_t config;   /* of the layer's node */
} Transition;

typedef struct GraphLayer {
    uint32_t node;
    size_t first, count; /* transitions */
} GraphLayer;

typedef struct DseLayers {
    VEC(GraphLayer) layers;
    VEC(Transition) transitions;
    /* State 0 is the first layer's only one, state_count - 1 the last layer's. No transition leads
     * to the last one if no words agree. */
    uint32_t state_count;
} DseLayers;

/* How many words a long edge, one that stays open over many layers, may have: all of them, or at
 * most a given number. With none the edge is left out, and paths need not agree there. */
enum { DSE_ALL_WORDS = -1, DSE_NO_WORDS = 0 };

/* False: the layers would have more than max_transitions, or the graph has a cycle; then out is
 * empty. No diagnostic. */
bool dse_layers(const DseSpace *space, size_t max_transitions, int long_edge_words, DseLayers *out);
void dse_layers_free(DseLayers *layers);

/* Label setting for the shortest path under resource limits. A label is a partial path with its
 * goal and uses so far. Per state only labels are kept that no other dominates and whose bound is
 * below the ceiling, and of these the `width` best: those of the least bound or, if any design will
 * do, those whose cheapest completion exceeds the limits least. If none had to be given up for the
 * width, the answer is exact. A label whose cheapest completion keeps the limits is a design. */

enum { DSE_MAX_LIMITS = COST_KINDS };

/* A limited quantity and its Lagrange multiplier, the price of using one `unit`. */
typedef struct DseLimit {
    CostKind kind;
    double limit, unit, price;
} DseLimit;

typedef struct LabelSearch {
    const DseReduced *reduced;
    const DseLayers *layers;
    const DseLimit *limits;
    uint32_t limit_count;
    const double *surrogate;   /* per kind of cost: weights of the surrogate constraint */
    const double *behind;      /* per state: least goal plus prices from there to the end */
    const uint32_t *departure; /* per state: the first transition of that path */
    /* Per state: goal of that path, then its uses: limit_count + 1 numbers. */
    const int64_t *sums_behind;
    double ceiling; /* of a design's goal plus prices */
    bool only_fits; /* there is nothing to minimise: any design will do */
    uint32_t width; /* labels per state */
    /* Labels to try in all, where comparisons that take as long count as labels. When they run out,
     * the search is incomplete. */
    size_t max_labels;
    double deadline; /* of dse_seconds(), or 0; past it the search is incomplete, too */
    /* Results. */
    size_t tried;  /* labels */
    bool complete; /* no design below the ceiling was overlooked */
    bool found;
    int64_t value;    /* goal of the best design found */
    uint32_t *chosen; /* its configurations; given by the caller, an entry per node */
} LabelSearch;

void dse_labels(LabelSearch *search);

/* Lagrangian relaxation: the limits become prices, and the cheapest design at given prices is a
 * shortest path through the layers. Configurations that cannot be part of a design better than the
 * best one known are left out. What remains is small enough for an exact program. */

/* Labels that a problem without a number of its own may try. The count does not depend on the
 * machine, so neither does the answer. */
enum { DSE_MAX_LABELS = 20000000 };

typedef struct DseRelaxation {
    bool **keep;      /* per node and configuration: may be in a design better than the one found */
    size_t kept;      /* how many */
    bool has_design;  /* one within the limits is known: */
    uint32_t *chosen; /* its configurations, unless its value is that of problem->known */
    int64_t value;    /* its weighted sum */
    int64_t bound;    /* no design within the limits has a lesser one; INT64_MAX: there is none */
    double multipliers[COST_KINDS]; /* per unit of cost, at the best bound */
    /* The space was too large: `keep` lacks configurations of designs that may be better. */
    bool is_restricted;
} DseRelaxation;

/* Labels that the search of a problem may try. */
size_t dse_max_labels(const DseProblem *problem);
/* surrogate: weights of the surrogate constraint, per unit of cost. Arrays are in the reduced
 * space's arena. */
void dse_relax(const DseReduced *reduced, const DseProblem *problem, const double *surrogate,
               DseRelaxation *out);

/* The integer program of what the relaxation leaves (solve.h). */

typedef struct DseProgram {
    const DseReduced *reduced;
    lprec *lp;
    int **column; /* of each node's configurations, from 1; 0: left out */
    int columns;  /* of configurations */
    int *index;   /* the row being built: columns, */
    REAL *value;  /* their coefficients, */
    int used;     /* and how many there are */
} DseProgram;

/* Of the configurations in `keep`, NULL: all; with goals of at most `most`, < 0: any. False:
 * lp_solve had no memory. To be freed in either case. */
bool dse_program(const DseReduced *reduced, const DseProblem *problem, bool *const *keep,
                 int64_t most, DseProgram *out) MUST_CHECK;
void dse_program_free(DseProgram *program);

#endif
