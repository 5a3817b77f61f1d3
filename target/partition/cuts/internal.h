/* Between the sources of the search die by die: sets behind links, ways to fill what is behind them,
 * and what is known of both. */
#ifndef MING_TARGET_PARTITION_CUTS_INTERNAL_H
#define MING_TARGET_PARTITION_CUTS_INTERNAL_H

#include "target/partition/internal.h"

enum {
    MOST_SETS = 1 << 20,
    MOST_PROBED = 1 << 15,
    MOST_PROBE_WORK = 2000000,
    WORK_PER_STEP = 8, /* a step of the other searches takes as long */
    LEVELS = 32        /* of room, see below */
};

/* Units that may be behind a link. */
typedef struct Set {
    int64_t weight;
    uint32_t first_edge, edge_count; /* across the link; in Behind.edges */
    int64_t room;                    /* that is left behind the link, by the first measure */
    uint32_t ends;                   /* 2, if the first unit is one of them, plus 1 for the last */
} Set;

/* A way to place the units of a set. */
typedef struct Way {
    int64_t value;            /* what all links behind and this one weigh */
    uint32_t set, back, hops; /* back: in Behind.backs, the ways of the links behind its die */
} Way;

/* Room. By a measure of sizes, all dies together have a certain room beyond what the units need, and
 * what one die leaves of it the others do not have. A level is a part of all room, rounded down; so
 * levels of dies add up to LEVELS at most. */
typedef struct Levels {
    int64_t at[LEVELS + 1];
} Levels;

/* What is known of a link. */
typedef struct Behind {
    uint32_t link, die; /* die: its end away from the root */
    bool is_first;      /* the units behind are on the side of the first die */
    uint64_t side;      /* dies behind it */
    VEC(uint64_t) words;
    VEC(Set) sets;
    VEC(uint32_t) edges;
    VEC(Way) ways; /* by value, in the end */
    VEC(uint32_t) backs;
    VEC(uint8_t) hops;
    bool is_done;
    int64_t capacity; /* of all dies behind it, by the first measure */
    /* The least value, or weight as long as it is not done, by Set.ends, for so much room and less. */
    Levels least[PARTITION_ENDS], own[PARTITION_ENDS];
    Levels above[PARTITION_ENDS],
        own_above[PARTITION_ENDS]; /* the same for so much room and more */
    Levels floor[PARTITION_ENDS];  /* what it and the links behind weigh at least */
    /* Per ends and unit: the least value, or weight, without it and with it. By the bounds alone; and
     * as far as the sets are known. */
    int64_t *own_unit[2], *unit[2];
    int64_t
        probed[PARTITION_ENDS]; /* how much more than is known of it was probed last; -1: nothing */
    bool is_probed_out;
} Behind;

typedef struct PartitionCuts Cuts;

struct PartitionCuts {
    PartitionCutSearch *s;
    PartitionState *state;
    uint32_t words, root, link_count;
    uint64_t all;                          /* dies */
    Behind *behind;                        /* per link */
    uint32_t parent[PARTITION_MAX_DIES];   /* per die: its link towards the root */
    uint32_t children[PARTITION_MAX_DIES]; /* per die: how many links lead away from the root */
    uint32_t child[PARTITION_MAX_DIES][PARTITION_MAX_DIES];
    uint64_t *allowed;                     /* per die: units that may be there */
    int64_t (*least_use)[PARTITION_KINDS]; /* per unit */
    uint32_t *packed;
    uint32_t best[PARTITION_MAX_DIES]; /* ways of the links at the root */
    int64_t room;                      /* of all dies */
    int64_t unit; /* the least weight, if there is any: known ones are raised by it */
    PartitionMeasure measure;
    int64_t limit;        /* what is at hand may weigh so much more than it does at least */
    const Behind *probed; /* NULL: everything is at hand, else what is behind this link */
    uint32_t most_sets;
    int64_t work, max_work, all_work; /* so far; where what is at hand ends; where all does */
    Levels outside[PARTITION_ENDS]; /* of the link at hand: the least weight of what is not behind,
                                       for so much room there */
};

static inline bool has_bit(const uint64_t *words, uint32_t i)
{
    return words[i / 64] >> i % 64 & 1;
}

static inline const uint64_t *words_of(const Cuts *c, const Behind *b, uint32_t set)
{
    return b->words.data + (size_t)set * c->words;
}

static inline uint32_t ends_at(uint64_t side, uint32_t first, uint32_t last)
{
    return (uint32_t)(2 * (side >> first & 1) + (side >> last & 1));
}

/* Of the room behind a link, 0 or more. */
static inline uint32_t level_of(const Cuts *c, int64_t room)
{
    return c->room > 0 ? (uint32_t)((double)room * LEVELS / (double)c->room) : 0;
}

static inline int64_t min_ends(const Levels *least)
{
    int64_t all = INT64_MAX;
    for (int i = 0; i < PARTITION_ENDS; i++) all = i64_min(all, least[i].at[LEVELS]);
    return all;
}

/* The same value for all levels and ends. */
void partition_cuts_fill_levels(Levels *levels, int64_t value);
/* What is behind a link weighs at least, the link included, by ends. */
void partition_cuts_find_arm(const Cuts *c, const Behind *b, Levels *out);
/* Sets c->outside. link: PARTITION_NONE: of everything. arm: of c->probed, as found before that was
 * set. */
void partition_cuts_find_outside(Cuts *c, uint32_t link, const Levels *arm);
/* The same of a link, for any room, if a unit is behind it. */
void partition_cuts_find_with(const Cuts *c, const Behind *b, uint32_t unit, const Levels *arm,
                              int64_t *out);
/* The least weight of what is behind the die of a link, by the ends that are behind the link. */
void partition_cuts_find_behind(const Cuts *c, const Behind *b, Levels *out);
/* Adds that, for any room, if a unit is not behind a die's link, to sums by ends. */
void partition_cuts_find_without(const Cuts *c, uint32_t die, uint32_t unit, int64_t *out);

/* Begins to gather what is known of a link. */
void partition_cuts_forget(const Cuts *c, Behind *b);
/* There is a set with such a value, or weight. */
void partition_cuts_learn(const Cuts *c, Behind *b, uint32_t set, int64_t value);
/* The sizes of the first side that leave so much room behind, from level to level. */
void partition_cuts_limit_size(const Cuts *c, const Behind *b, const uint32_t *levels,
                               PartitionCutQuery *query);
/* Lists the sets of a link. False: there are none, or too many. */
bool partition_cuts_list(Cuts *c, Behind *b, const Levels *arm);

static inline bool partition_cuts_are_over(const Cuts *c)
{
    return c->work >= c->max_work || c->state->steps >= c->state->max_steps;
}

/* Finds the ways of a link and of those behind it. False: none is light enough, or too many. */
bool partition_cuts_find_ways(Cuts *c, Behind *b, const Levels *arm);
/* Looks for the lightest choice of ways of the links at the root. */
void partition_cuts_fill_root(Cuts *c);

#endif
