/* Between the sources of the search: the runs on a set of dies, and the goals that they are for. */
#ifndef MING_TARGET_PARTITION_SEARCH_INTERNAL_H
#define MING_TARGET_PARTITION_SEARCH_INTERNAL_H

#include "target/partition/internal.h"

/* Sums of weights stay below. */
#define MOST_WEIGHT (INT64_C(1) << 60)

typedef struct Search {
    PartitionState state;
    uint32_t *order;
    PartitionBound *bound;
    PartitionSymmetry symmetry;
    int64_t *weights;          /* per link and edge */
    uint64_t dies, used;       /* that may be used; that are */
    int64_t cost, upper, next; /* so far; the most that is of interest; the least above that */
    int64_t found;             /* the weight of what has been found last */
    uint32_t width;            /* labels of a layer that have sufficed last */
    bool stops;                /* at the first placement */
    bool anneals;              /* where nothing is found */
    bool has_cards;            /* each unit is given to a card */
    bool is_tight; /* the goals before had their least weight proven by cuts: so few sets weigh as
                      little that wires and shares can be told apart by them, too */
    bool by_cuts;  /* the last run was ended by them */
    int64_t known, most; /* nothing weighs less, or more */
    bool is_found;
    PartitionPlacement *best;
} Search;

/* What a run found out about its set of dies. */
typedef struct Outcome {
    bool is_over;  /* all steps have been taken before the end */
    int64_t bound; /* no placement weighs less; INT64_MAX: none is as good as `upper` */
} Outcome;

/* The best placement on some dies whose weight is at most `upper`. rises: the threshold begins with
 * the bound. First depth first with few steps, then die by die, then by layers, which do without many
 * repeated searches, and at last depth first with all steps that are left. */
Outcome partition_run(Search *s, uint64_t dies, int64_t upper, bool rises);
/* A placement that breaks no limit of a die, lighter than others if it can be had, in so many moves at
 * most, which are steps. The state is empty. dies: gets the die per place of the order. */
bool partition_anneal(Search *s, int64_t moves, uint32_t *dies);
/* The dies of a set of cards, a bit for each. */
uint64_t partition_dies_of(const PartitionPlatform *platform, uint32_t cards);

/* Goals one after the other. */

typedef struct Solver {
    Search search;
    const PartitionModel *model;
    const PartitionOptions *options;
    PartitionPlacement *out;
    VEC(uint64_t) sets;  /* of dies, of which each is tried */
    VEC(uint64_t) masks; /* per way to give the nodes to cards, and unit: dies; empty: any way */
    uint64_t *dies;      /* per unit: where it may be in any way */
    int64_t weight;      /* of the placement, by the weights */
    bool is_over;
} Solver;

/* Tries all sets for a placement that weighs at most `upper`. Gives the least bound. */
int64_t partition_run_sets(Solver *solver, int64_t upper, bool rises);
/* Puts a goal behind the goals before it: their weights are multiplied by more than it comes to in
 * the present placement. False: the weights become too large. */
bool partition_add_goal(Solver *solver, uint32_t goal);
/* Whether there is a goal of this number that is a sum over edges. */
bool partition_is_sum(const PartitionOptions *options, uint32_t goal);
/* All goals behind the number of cards, on the sets of dies. */
void partition_solve_sets(Solver *solver);

/* Improves the goals from one on, behind those that are solved. */
void partition_solve_rest(Solver *solver, uint32_t goal);

/* Cards first (ways.c): solves the goals from one on where the first of them concern Ethernet links
 * alone. False: that is not possible, and nothing has changed. */
bool partition_solve_by_cards(Solver *solver, uint32_t goal);
/* Lets units be where a way says. */
void partition_take_way(Solver *solver, size_t way);

/* Another search, with room for the ports of all links; else the paper's baseline. */
void partition_fall_back(Solver *solver);

#endif
