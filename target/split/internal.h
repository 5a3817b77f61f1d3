/* Inside of target/split: the graph of a design's processes.
 * Tests: lit/target/split */
#ifndef MING_TARGET_SPLIT_INTERNAL_H
#define MING_TARGET_SPLIT_INTERNAL_H

#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"
#include "target/partition/partition.h"
#include "target/split/split.h"

/* A call of the top function, in order of the data. */
typedef struct SplitProcess {
    Op *call, *func;
    SysPlace place;
    bool has_place;
    bool has_memory; /* some argument is a memory */
} SplitProcess;

/* A stream between two processes, both by number; or a port, one of which is SPLIT_NOBODY. */
#define SPLIT_NOBODY UINT32_MAX
typedef struct SplitEdge {
    Value *stream;
    uint32_t from, to;
} SplitEdge;

typedef struct SplitGraph {
    Op *top;
    VEC(SplitProcess) processes;
    VEC(SplitEdge) edges; /* ports, then streams, each in order */
} SplitGraph;

/* False: diagnosed, the calls do not stand in the order of the data, or a stream has not two ends.
 * The caller frees the graph either way. */
bool split_graph(Op *top, SplitGraph *out) MUST_CHECK;
void split_graph_free(SplitGraph *graph);
/* Words of a frame that go through a stream between processes; 0: none. Linear in the streams. */
int64_t split_stream_words(const HlsDesign *design, const Value *stream);

/* A design, or a tile of several instances of it, on cards: place-cards. */
typedef struct SplitPlan {
    Op *module;
    SplitGraph graph; /* of one instance */
    int64_t cards, instances;
    bool returns;                    /* data comes back to the card that it came from */
    bool has_own_tables;             /* each instance, which else share them */
    int64_t (*use)[PARTITION_KINDS]; /* of the processes before one */
    int64_t limit[PARTITION_KINDS];  /* of a card */
    PartitionPlatform platform;      /* its dies */
    SysPlace *places;                /* see split_place */
} SplitPlan;

/* Where a process of an instance is. */
static inline SysPlace *split_place(const SplitPlan *plan, int64_t instance, uint32_t process)
{
    return &plan->places[(size_t)instance * plan->graph.processes.len + process];
}
/* Finds the card of each, where cards are cut into so many groups of neighbours and no instance goes from
 * one group to another. False: there is no such way. */
bool split_cut_cards(SplitPlan *plan, const HlsDesign *design, int64_t groups);
/* Makes the instances of the design, and says the place of each process. False: diagnosed. */
bool split_replicate(SplitPlan *plan) MUST_CHECK;

/* Between two cards, in both directions. */
typedef struct SplitLink {
    int64_t cards[2], dies[2], ports[2];
    int64_t gbps, latency_ns, payload, overhead; /* payload, overhead: bytes of a packet */
    Str protocol;                                /* of the text that was read */
} SplitLink;
typedef VEC(SplitLink) SplitLinks;

/* Reads a pass's option. False: diagnosed at the op. The caller frees the list either way. */
bool split_links(const Op *at, Str text, SplitLinks *out) MUST_CHECK;

/* Adapters between kernels and the network (docs/partition.md): bytes of a beat, and of the head of a
 * packet, which comes in front of its data. */
enum { SPLIT_BEAT_BYTES = 64, SPLIT_HEAD_BYTES = 64 };
/* What those of an end of a link take. depth, packet: words of the link. */
Cost split_adapter_cost(bool is_sender, bool is_credit, int64_t bits, int64_t depth,
                        int64_t packet);

/* A link without back-pressure: its stream, words of a packet, cycles for one at least. */
typedef struct SplitRoom {
    uint32_t stream;
    int64_t packet, pace;
} SplitRoom;
/* Words that such a link holds at most on any hardware that there is slack for (not exact); -1: there is
 * no bound, or none was found within so many events. depths: 0 for links without back-pressure. The design
 * is perturbed meanwhile, and as predicted afterwards. */
int64_t split_room_with_slack(HlsDesign *design, FifoSlack slack, const SplitRoom *room,
                              const int64_t *depths, int64_t events);

#endif
