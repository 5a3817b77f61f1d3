/* Configurations that another one of the same process can stand for, in whatever design they are:
 * with the converters beside it, which then convert other words, it takes no more of anything.
 * Tests: test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_SOLVE_INTERNAL_H
#define MING_TARGET_DSE_SOLVE_INTERNAL_H

#include "target/dse/dse.h"
#include "target/dse/solve/solve.h"

enum { DSE_MAX_MEASURES = COST_KINDS + 2 };

/* Numbers of a configuration that are added up over a design, less is better; gives how many. */
typedef uint32_t DseMeasure(const void *user, uint32_t node, uint32_t config, int64_t *out);

/* has_pace: the first number is not added up, it must not grow anywhere. Clears `alive`, per node
 * and configuration, of those that are not needed: at least one design of those that cannot be
 * beaten is left. Dead configurations count as absent. */
void dse_drop_replaceable(const DseSpace *space, DseMeasure *measure, const void *user,
                          bool has_pace, bool **alive);

/* A design space as layers: nodes in topological order, between two of them the states in which the
 * words of the open edges (those with one end decided) can be, and a transition per state and
 * configuration that agrees with it. Every path through the layers is a design in which all edges
 * agree, so bounds and shortest paths are dynamic programs.
 * Tests: test/unit/target/dse/solve_test.c */

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
    uint32_t
        state_count; /* state 0 is the first layer's only one, state_count - 1 the last's, to which
                           * no transition leads if no words agree */
} DseLayers;

/* Words that a far edge, one that stays open over many layers, may have: all of them, or at most so
 * many; with none, the edge is left out, and paths through the layers need not agree there. */
enum { DSE_ALL_WORDS = -1, DSE_NO_WORDS = 0 };

/* False: the layers would have more than max_transitions, or the graph has a cycle; then out is
 * empty. No diagnostic. */
bool dse_layers(const DseSpace *space, size_t max_transitions, int far_words, DseLayers *out);
void dse_layers_free(DseLayers *layers);

/* Shortest paths under limits: labels (goal and uses so far) walk through the layers of a design
 * space. Per state only labels are kept that no other dominates, whose bound is below the ceiling,
 * and of these the `width` best: those of the least bounds, or, if designs only have to fit, those
 * that exceed the limits least when the cheapest way completes them. If none had to be given up for
 * that, the answer is exact. A label that the cheapest way completes to a design within the limits
 * is a design.
 * Tests: test/unit/target/dse/solve_test.c */

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
    const double *mix; /* per kind of cost: prices at which designs within the limits are cheap */
    const double *behind;      /* per state: least goal plus prices from there to the end */
    const uint32_t *departure; /* per state: the first transition of that way */
    const int64_t
        *sums_behind; /* per state: goal of that way, then its uses: limit_count + 1 numbers */
    double ceiling;   /* of a design's goal plus prices */
    bool only_fits;   /* nothing adds up: any design will do */
    uint32_t width;   /* labels per state */
    /* Labels tried in all, or comparisons of them that take as long; when they run out, the search
     * is incomplete. */
    size_t max_labels;
    double deadline; /* of dse_seconds(), or 0; behind it, too */
    /* Results. */
    size_t tried;  /* labels */
    bool complete; /* no design below the ceiling was overlooked */
    bool found;
    int64_t value;    /* goal of the best design found */
    uint32_t *chosen; /* its configurations; given by the caller, an entry per node */
} LabelSearch;

void dse_labels(LabelSearch *search);

/* Lagrangian bounds of a design space: limits become prices, the cheapest design at given prices is
 * a shortest path through the layers (dse_layers.h), and what cannot be part of a design better
 * than the best one known is left out. What remains is small enough for an exact program.
 * Tests: test/unit/target/dse/solve_test.c */

/* Labels that a problem without a limit of its own may try. The count does not depend on the
 * machine, so neither does the answer. */
enum { DSE_MOST_LABELS = 20000000 };

typedef struct DsePruned {
    bool **keep;      /* per node and configuration: may be in a design better than the one found */
    size_t kept;      /* how many */
    bool has_design;  /* one within the limits is known: */
    uint32_t *chosen; /* its configurations, unless its value is that of problem->known */
    int64_t value;    /* its weighted sum */
    int64_t bound;    /* no design within the limits has a lesser one; INT64_MAX: there is none */
    double prices[COST_KINDS]; /* per unit of cost, at the best bound */
    bool is_thinned; /* the space was too large: `keep` lacks designs that may be better */
} DsePruned;

/* Labels that the problem's search may try. */
size_t dse_effort(const DseProblem *problem);
/* Of a reduced space. Arrays live in its arena. */
void dse_prune(const DseSpace *space, const DseProblem *problem, DsePruned *out);

/* What of a design space one problem is about: configurations that no limit excludes, whose words
 * some configuration at the other end of each edge has too, and that no other can stand for in what
 * the problem adds up and limits (dse_swap.h).
 * Tests: test/unit/target/dse/solve_test.c */

/* The reduced space: configurations know their origin and their goal. limits: those of the problem
 * that some design might exceed. False: nothing is left of a node. To be freed in either case;
 * arrays live in `arena`. */
bool dse_reduce(const DseSpace *space, const DseProblem *problem, Arena *arena, DseSpace *out,
                Cost *limits) MUST_CHECK;

#endif
