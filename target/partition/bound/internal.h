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
    Cut cuts[PARTITION_MAX_DIES];
    uint32_t cut_count, measure_count, table_count, buckets;
    int shift;     /* of weights in the tables */
    Table *tables; /* by cut, measure, and the side of the last unit */
};

#endif
