/* Between the sources of target/partition: the problem that the search sees, its bounds and its
 * state. */
#ifndef MING_TARGET_PARTITION_INTERNAL_H
#define MING_TARGET_PARTITION_INTERNAL_H

#include "target/partition/partition.h"

#define PARTITION_NONE UINT32_MAX /* no enumerator: it does not fit an int */

/* What limits the use of a die: sum of coefficients times use <= limit. The kinds come first, then
 * averages that hold on the die. */
typedef struct PartitionRow {
    int64_t coefficient[PARTITION_KINDS], limit;
} PartitionRow;

enum { PARTITION_MOST_ROWS = PARTITION_KINDS + PARTITION_MAX_DIES };
typedef VEC(PartitionRow) PartitionRows;

/* Appends the rows of a die. Averages are multiplied by the capacities' least common multiple; above
 * AVERAGE_UNITS they are multiplied by that, and each share is rounded up. */
void partition_die_rows(const PartitionPlatform *platform, uint32_t die, PartitionRows *out);
int64_t partition_row_use(const PartitionRow *row, const int64_t use[PARTITION_KINDS]);
bool partition_row_holds(const PartitionRow *row, const int64_t use[PARTITION_KINDS]);
/* Whether a controller, or none (-1), may be on a die. */
static inline bool partition_has_controller(const PartitionDie *die, int32_t controller)
{
    return controller < 0 || die->controllers >> controller & 1;
}

/* The way that edges take from one die to another: of those with the fewest links the one whose
 * least capacity is greatest, of these the first. */
typedef struct PartitionPath {
    uint32_t hops;  /* PARTITION_NONE: too many, or none */
    uint32_t first; /* in PartitionPaths.steps */
} PartitionPath;

/* A link with a direction: 2 * link, plus 1 from its second die to the first. */
typedef struct PartitionPaths {
    PartitionPath between[PARTITION_MAX_DIES][PARTITION_MAX_DIES];
    VEC(uint32_t) steps;
} PartitionPaths;

void partition_find_paths(const PartitionPlatform *platform, int64_t max_hops, PartitionPaths *out);
void partition_paths_free(PartitionPaths *paths);

/* What an edge adds to a goal for each link that it uses. */
int64_t partition_goal_weight(PartitionGoal goal, const PartitionLink *link,
                              const PartitionEdge *edge);

/* Nodes of one die are one unit of the search. */
typedef struct PartitionUnits {
    uint32_t *of; /* per node: its unit, numbered by their first nodes */
    uint32_t count;
    uint32_t *nodes; /* of all units, one after the other */
    uint32_t *first; /* per unit, and the end */
    uint64_t *dies;  /* per unit: where it may be */
} PartitionUnits;

void partition_find_units(const PartitionModel *model, const PartitionOptions *options,
                          PartitionUnits *out);
void partition_units_free(PartitionUnits *units);
/* Marks edges without a parallel path, those whose removal separates their ends. */
void partition_find_bridges(const PartitionModel *model, bool *is_bridge);
/* Nodes in topological order, of several the first one first. False: a circle, and *node is on it. */
bool partition_topological_order(const PartitionModel *model, uint32_t *order, uint32_t *node);

/* A partial placement, and what it takes. Versions are chosen as nodes come, and anew for a die
 * that they fill up; they are valid at any time. */

typedef struct PartitionDieState {
    int64_t use[PARTITION_KINDS];                    /* controllers and ports included */
    int64_t ports[PARTITION_KINDS];                  /* of that the ports */
    uint32_t controllers[PARTITION_MAX_CONTROLLERS]; /* nodes that need each */
    VEC(uint32_t) nodes;
} PartitionDieState;

typedef struct PartitionState {
    const PartitionModel *model;
    const PartitionOptions *options;
    PartitionUnits units;
    PartitionPaths paths;
    PartitionRows rows[PARTITION_MAX_DIES];
    uint32_t *first_edge, *edges; /* per unit, and the end: edges to other units, by number */
    uint32_t *first_pair, *pairs; /* the same of pairs on one card */
    uint32_t *die;                /* per unit; PARTITION_NONE: not placed */
    uint32_t *version;            /* per node */
    PartitionDieState dies[PARTITION_MAX_DIES];
    int64_t *link_use;                                     /* per link and direction */
    uint32_t *link_edges;                                  /* per link */
    uint32_t arcs[PARTITION_MAX_DIES][PARTITION_MAX_DIES]; /* edges from die to die */
    bool is_connected;                                     /* the task graph */
    bool *is_reserved; /* per link: its ports have been taken off the rows */
    int64_t per_mille; /* of the capacities that rows let in */
    uint64_t used;     /* dies that are */
    int64_t steps, max_steps;
} PartitionState;

void partition_state_init(PartitionState *state, const PartitionModel *model,
                          const PartitionOptions *options);
void partition_state_free(PartitionState *state);
/* Limits every kind to a share of the capacities, too, in 1/1000; 1000: no such limit. */
void partition_state_limit(PartitionState *state, int64_t per_mille);
/* Takes the ports of links that every placement on these dies uses off their rows. The state is
 * empty. */
void partition_state_reserve(PartitionState *state, uint64_t dies);
/* The unit at the other end of an edge. */
uint32_t partition_other_unit(const PartitionState *state, uint32_t edge, uint32_t unit);
/* The weight of the edges from a unit on a die to those that are placed, weights per link and edge;
 * INT64_MAX: there is no way. */
int64_t partition_edge_weight(const PartitionState *state, const int64_t *weights, uint32_t unit,
                              uint32_t die);
/* Places a unit. False: it does not fit there, and nothing has changed. */
bool partition_place(PartitionState *state, uint32_t unit, uint32_t die);
/* Takes the unit that was placed last away. */
void partition_remove(PartitionState *state, uint32_t unit);
/* Whether a use keeps the limits of a die. */
bool partition_rows_hold(const PartitionState *state, uint32_t die, const int64_t *use);
const PartitionVersion *partition_version_of(const PartitionState *state, uint32_t node,
                                             uint32_t version);
/* Adds a version to the use of a die, or takes it off (sign -1), with its controller if no other
 * node needs that. */
void partition_add_version(const PartitionState *state, uint32_t die,
                           const PartitionVersion *version, int64_t sign, int64_t *use,
                           uint32_t *controllers);
/* The choice of versions on a die (pack.c). */
typedef struct PartitionPacking {
    PartitionState *state; /* gets the versions */
    uint32_t die, count;
    const uint32_t *nodes;
    int64_t use[PARTITION_KINDS]; /* what the ports take; gets the nodes', too */
    uint32_t controllers[PARTITION_MAX_CONTROLLERS];
} PartitionPacking;

/* False: no versions fit, or the steps ran out, and only the versions have changed. */
bool partition_pack_nodes(PartitionPacking *p);
/* Chooses versions of nodes that together fit a die beside the ports. False: there are none.
 * use: gets what they take, ports included; controllers: a bit for each. */
bool partition_pack(PartitionState *state, uint32_t die, const uint32_t *nodes, uint32_t count,
                    const int64_t *ports, int64_t *use, uint32_t *controllers);
/* The dies on the side of a link's first one; 0: without the link, too, its ends are joined. */
uint64_t partition_side_of(const PartitionPlatform *platform, uint32_t link);

/* What sizes of units and dies are measured by: a weight per kind. */
typedef struct PartitionMeasure {
    int64_t weight[PARTITION_KINDS];
} PartitionMeasure;

enum { PARTITION_MOST_MEASURES = 3 };

/* Lower bounds. What a goal adds is a weight per link and edge, so it is the sum over the links of
 * those of the edges across it. A link that alone joins two sets of dies parts the units in two: the
 * least weight of such a cut, where either side holds what its dies can, follows by dynamic
 * programming over the units in the order of the search (docs/partition.md). */
typedef struct PartitionBound PartitionBound;

/* order: of the units. weights: per link and edge, not negative; edges within units have none.
 * dies: those that may be used. The state is empty. */
PartitionBound *partition_bound_new(const PartitionState *state, const uint32_t *order,
                                    const int64_t *weights, uint64_t dies);
void partition_bound_free(PartitionBound *bound);
/* When the unit at `at` of the order comes to a die, or is taken off it. */
void partition_bound_place(PartitionBound *bound, uint32_t at, uint32_t die);
void partition_bound_remove(PartitionBound *bound, uint32_t at, uint32_t die);
/* What the units from `at` on add at least; INT64_MAX: they do not fit. Those in front are placed. */
int64_t partition_bound_rest(const PartitionBound *bound, uint32_t at);
/* The measures that a bound uses; gives how many. */
uint32_t partition_bound_measures(const PartitionBound *bound, const PartitionMeasure **measures);
/* Per link that parts the dies: its part where the last unit is on the side of its second die, and
 * of its first; INT64_MAX: it cannot be there. */
typedef int64_t PartitionLinkBounds[PARTITION_MAX_DIES * 2][2];
/* The rest where the dies (of the open units in the state) have so much left, per die and measure; 0
 * for dies that take no more. at: not behind the last unit. */
int64_t partition_bound_left(const PartitionBound *bound, uint32_t at, const int64_t *left,
                             PartitionLinkBounds *by_link);
/* Cuts of the units by a link that parts the dies, as far as the measures let each side hold its part.
 * They are told apart by where the first and the last unit of the order are: 2 * first + last, with 1
 * for the side of the link's first die. */
enum { PARTITION_ENDS = 4 };
/* What the side of the second die may hold, and that of the first one, by the measures. */
typedef struct PartitionCutRoom {
    int64_t of[PARTITION_MOST_MEASURES][2];
} PartitionCutRoom;
typedef struct PartitionCutQuery {
    uint32_t link;
    const int64_t *weights;
    PartitionCutRoom room;
    /* What a cut may weigh that has unit u on the side: most[side][ends * units + u]. */
    const int64_t *most[2];
    int64_t *steps, max_steps; /* the first is counted up */
    void (*visit)(void *data, const uint64_t *first,
                  int64_t weight); /* first: a bit per unit on the
                                                                         side of the first die */
    void *data;
} PartitionCutQuery;

/* False: the steps did not suffice. The state is empty. */
bool partition_bound_list_cuts(const PartitionBound *bound, const PartitionCutQuery *query);
/* What a link weighs at least where the units may be now; INT64_MAX: there is no cut. */
int64_t partition_bound_forced(const PartitionBound *bound, uint32_t link, const int64_t *weights);
/* What the dies on both sides of a link have. */
void partition_bound_room(const PartitionBound *bound, uint32_t link, PartitionCutRoom *out);
/* The least weights where the sides have so much room; INT64_MAX: there is no such cut. */
void partition_bound_ends(const PartitionBound *bound, uint32_t link, const PartitionCutRoom *room,
                          int64_t least[PARTITION_ENDS]);
/* The least weights of cuts that have a unit on one side, by the first measure: with[side][ends *
 * units + unit]. */
void partition_bound_units(const PartitionBound *bound, uint32_t link, const int64_t *weights,
                           int64_t *with[2]);
/* An order of the units in which few have neighbours both in front and behind. */
void partition_search_order(const PartitionState *state, uint32_t *order);

/* The measures by which dies are filled most by the units that must be on them, of those that are
 * used, the most filled first. Gives how many, 1 to
 * `most`. */
uint32_t partition_choose_measures(const PartitionState *state, uint64_t dies,
                                   PartitionMeasure *out, uint32_t most);
/* Whether the dies together hold what the units that must be there take at least, by each measure. */
bool partition_fits_pooled(const PartitionState *state, uint64_t dies);
/* The least size of a unit; the greatest size of what a die can hold. */
int64_t partition_unit_size(const PartitionState *state, const PartitionMeasure *measure,
                            uint32_t unit);
int64_t partition_die_size(const PartitionState *state, const PartitionMeasure *measure,
                           uint32_t die);

/* Symmetry: permutations of the dies that change nothing. */
enum { PARTITION_MAX_PERMUTATIONS = 128 };
typedef struct PartitionSymmetry {
    uint8_t image[PARTITION_MAX_PERMUTATIONS][PARTITION_MAX_DIES];
    uint32_t count; /* the identity is not one of them */
} PartitionSymmetry;

/* Of those dies. There may be more than it finds. */
void partition_find_symmetry(const PartitionState *state, uint64_t dies, PartitionSymmetry *out);
/* Whether a die is the first among those that look like it as long as only the used ones have
 * anything placed. */
bool partition_is_first(const PartitionSymmetry *symmetry, uint64_t used, uint32_t die);

/* A search layer by layer (layers/search.c). */
typedef struct PartitionLayerSearch {
    PartitionState *state; /* empty */
    const uint32_t *order;
    const PartitionBound *bound;
    const PartitionSymmetry *symmetry;
    const int64_t *weights;
    uint64_t dies;
    int64_t upper;  /* the most that a placement may weigh */
    uint32_t width; /* labels of a layer that are kept */
    bool is_cut;    /* set: labels were given up, or steps ran out */
    bool is_found;
    int64_t cost, next; /* of the best one found; the least total that was too heavy */
} PartitionLayerSearch;

/* The lightest placement; not is_cut: there is no lighter one, or none. dies: gets the die per place
 * of the order. */
void partition_search_layers(PartitionLayerSearch *s, uint32_t *dies);

/* A search die by die (cuts/search.c). */
typedef struct PartitionCutSearch {
    PartitionState *state; /* empty */
    const uint32_t *order;
    const PartitionBound *bound;
    const int64_t *weights;
    uint64_t dies;
    int64_t known, upper; /* no placement weighs less; the most that one may weigh */
    bool is_over;         /* set: steps or room ran out */
    bool is_found;
    int64_t cost, next; /* of the best one found; if there is none, nothing weighs less */
} PartitionCutSearch;

/* What one search may leave to the next one, with another `upper`. */
typedef struct PartitionCuts PartitionCuts;
PartitionCuts *partition_cuts_new(PartitionCutSearch *s);
void partition_cuts_free(PartitionCuts *cuts);

/* Whether it knows all that limits placements. */
bool partition_can_search_cuts(const PartitionState *state);
/* The lightest placement; not is_over: there is no lighter one, or none. dies: gets the die per place
 * of the order. */
void partition_search_cuts(PartitionCuts *cuts, uint32_t *dies);

/* The same search link by link (split.c), where partition_can_search_cuts. */
typedef struct PartitionSplits PartitionSplits;
PartitionSplits *partition_splits_new(PartitionCutSearch *s);
void partition_splits_free(PartitionSplits *splits);
/* The lightest placement; not is_over: there is no lighter one, or none. dies: gets the die per place
 * of the order. */
void partition_search_splits(PartitionSplits *splits, uint32_t *dies);

/* Ways to give the nodes to cards (cards/list.c), by goals that only Ethernet links weigh for. */
typedef struct PartitionCardWays PartitionCardWays;
typedef struct PartitionCardWay {
    int64_t weight; /* by the goals */
    uint32_t first; /* in the list of cards */
} PartitionCardWay;

/* Of the dies of whole cards; symmetry: of these. goals: one or two, whose weights are small enough
 * (partition_can_list_card_ways). */
bool partition_can_list_card_ways(const PartitionModel *model);
PartitionCardWays *partition_card_ways_new(const PartitionState *state,
                                           const PartitionSymmetry *symmetry,
                                           const PartitionGoal *goals, uint32_t goal_count,
                                           uint64_t dies);
void partition_card_ways_free(PartitionCardWays *ways);
/* No way weighs less, or none more; the first INT64_MAX: there is none. */
int64_t partition_card_ways_most(const PartitionCardWays *ways);
int64_t partition_card_ways_bound(const PartitionCardWays *ways);
/* Lists all ways of such a weight, the lightest first. False: too many, or the steps ran out. */
bool partition_list_card_ways(PartitionCardWays *ways, int64_t least, int64_t most);
/* What a weight says of two goals. */
void partition_card_ways_values(const PartitionCardWays *ways, int64_t weight, int64_t *values);
size_t partition_card_ways_count(const PartitionCardWays *ways);
/* The card per node. */
const uint32_t *partition_card_way(const PartitionCardWays *ways, size_t number, int64_t *weight);

/* The goals behind those, card by card (cards/solve.c). With the nodes given to cards, what is on one
 * has to do with the others only by the edges between them. */
typedef struct PartitionCardSearch PartitionCardSearch;

/* Whether dies are a tree and no rule joins cards but the limit of links that an edge may use. */
bool partition_can_solve_cards(const PartitionState *state);
/* Of the dies of whole cards. goals: sums over edges, the greatest share behind them at most. The
 * state's steps are counted up. */
PartitionCardSearch *partition_card_search_new(PartitionState *state, const PartitionGoal *goals,
                                               uint32_t goal_count, uint64_t dies);
void partition_card_search_free(PartitionCardSearch *search);
/* Begins to look for the best placement of several ways. Its values and bounds are those of the goals;
 * it is proven until steps do not suffice for a way that may be better. */
void partition_card_search_begin(PartitionCardSearch *search, PartitionPlacement *best);
/* cards: per node. */
void partition_search_card_way(PartitionCardSearch *search, const uint32_t *cards);

/* Whether the linear program of what units take of dies has a solution (bound/relax.c). False: they do
 * not fit. */
bool partition_may_fit(const PartitionState *state, uint64_t dies);

/* The model's values of goals. */
void partition_values(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *placement);

#endif
