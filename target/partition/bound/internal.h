/* Between the sources of the bounds: tables (tables.c). */
#ifndef MING_TARGET_PARTITION_BOUND_INTERNAL_H
#define MING_TARGET_PARTITION_BOUND_INTERNAL_H

#include "target/partition/internal.h"

enum {
    MOST_OPEN = 6,       /* units whose side a table knows */
    MOST_BUCKETS = 4096, /* of sizes */
    LEAST_BUCKETS = 64,
    MOST_ENTRIES = 24 << 20, /* of all tables */
    STEP_ENTRIES = 1024      /* per step that the search may take */
};
#define NOT_FITTING UINT32_MAX

/* A place in the order: the open units in front of it, and where their bits go behind it. */
typedef struct Place {
    uint32_t open[MOST_OPEN], count;
    uint32_t next_bit[MOST_OPEN + 1]; /* of each and of the unit here; PARTITION_NONE: closed */
    size_t entries;                   /* of the tables for the places in front */
} Place;

typedef struct Cut {
    uint32_t link;
    uint64_t first; /* dies on the side of the link's first one */
} Cut;

typedef struct Table {
    int64_t low, high; /* what the first side holds in the end, beyond `base` */
    uint32_t base; /* what it holds in front of the first unit, so that it can seem to hold less */
    int64_t divisor; /* size of a bucket */
    int64_t room[2]; /* of the second side, and of the first */
    int64_t *need;   /* per place, in buckets: of the units from there on */
    uint32_t *size;  /* per place, in buckets */
    uint32_t *entries;
    uint32_t filled; /* of the first side now */
} Table;

struct PartitionBound {
    const PartitionState *state;
    const uint32_t *order;
    uint64_t dies;
    Place *places; /* and one behind the last unit */
    uint32_t count;
    bool *is_left_out; /* edges */
    PartitionMeasure measures[PARTITION_MOST_MEASURES];
    int64_t *sizes; /* per measure and place */
    Cut cuts[PARTITION_MAX_DIES];
    uint32_t cut_count, measure_count, table_count, buckets;
    int shift;     /* of weights in the tables */
    Table *tables; /* by cut, measure, and the side of the last unit */
};

/* Raises what the tables of a cut and a measure say, by the side of the last unit, where the two sides
 * have so much left. */
void partition_bound_look_up(const PartitionBound *b, const Table *tables, size_t row, uint32_t at,
                             const int64_t left[2], uint32_t most_of[2]);

/* The sides of the open units behind a place, with the unit there on a side. */
uint32_t partition_bound_next_sides(const Place *place, uint32_t sides, uint32_t side);
/* The weight of the edges of a place's unit that tables know, each divided and rounded down. weights:
 * of the cut's link. */
int64_t partition_bound_known_weight(const PartitionBound *b, const int64_t *weights, uint32_t at,
                                     uint32_t sides, uint32_t side, int64_t divisor);

/* Which sizes can be had by a measure (reach.c), of cuts that weigh at most so much. NULL: no unit is
 * known to be on a side, or there are too many weights. */
typedef struct Reach Reach;
Reach *partition_bound_reach_new(const PartitionBound *b, const Cut *cut, uint32_t measure,
                                 const int64_t *weights, int64_t most);
void partition_bound_reach_free(Reach *reach);
/* Whether the units from a place on can be had with so much room left on the second side and on the
 * first, for such a weight. */
bool partition_bound_can_reach(const Reach *reach, uint32_t at, uint32_t sides,
                               const int64_t left[2], int64_t most);

#endif
