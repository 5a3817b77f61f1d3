/* Between the sources of the search card by card: the part of a placement that is on one card. */
#ifndef MING_TARGET_PARTITION_CARDS_INTERNAL_H
#define MING_TARGET_PARTITION_CARDS_INTERNAL_H

#include "target/partition/internal.h"

/* How many links an edge between cards may use on the card where it begins, up to the Ethernet link,
 * and on the card where it ends. */
typedef uint32_t CardHops[2];

/* What a card gets: nodes, in front of the ports of its Ethernet links, which are nodes with a place;
 * edges to other cards end there. */
typedef struct CardTask {
    PartitionPlatform *platform;
    PartitionModel model;
    uint32_t die_of[PARTITION_MAX_DIES]; /* of the whole */
    VEC(uint32_t) node_of;               /* of the whole; ports: PARTITION_NONE */
    VEC(uint64_t) key;                   /* equal tasks have equal ones */
    bool is_impossible;                  /* a node may be nowhere */
} CardTask;

/* paths: of any length, on a tree of dies. cards: of each node. hops: per edge. */
CardTask *partition_card_task_new(const PartitionState *state, const PartitionPaths *paths,
                                  uint64_t dies, const uint32_t *cards, CardHops *hops,
                                  uint32_t card);
void partition_card_task_free(CardTask *task);
/* Leaves the key, and what nodes and dies are in the whole. */
void partition_card_task_trim(CardTask *task);

#endif
