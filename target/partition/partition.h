/* Places the tasks of a dataflow graph on the dies of one or several cards: Elastic-DF's integer
 * program (section 4 and appendix A), solved exactly by branch and bound. Model in, placement out:
 * but for partition_read nothing here reads, prints or diagnoses. docs/partition.md.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#ifndef MING_TARGET_PARTITION_PARTITION_H
#define MING_TARGET_PARTITION_PARTITION_H

#include "target/device/device.h"

/* Kinds of resources. */
typedef enum PartitionKind {
    PARTITION_LUT,
    PARTITION_FF,
    PARTITION_BRAM18,
    PARTITION_URAM,
    PARTITION_DSP,
    PARTITION_KINDS
} PartitionKind;

/* "lut" and so on, as files spell it. */
const char *partition_kind_name(PartitionKind kind);

enum {
    PARTITION_MAX_DIES = 64,       /* of all cards: sets of dies are words of 64 bits */
    PARTITION_MAX_CONTROLLERS = 8, /* different names */
    PARTITION_MAX_NODES = 4096,
    PARTITION_MAX_EDGES = 16384,
    PARTITION_MAX_VERSIONS = 64 /* of a node */
};
#define PARTITION_MAX_AMOUNT INT64_C(100000000) /* of a kind, wires, or Mb/s */

/* The platform. */

typedef struct PartitionDie {
    Str name; /* "c0.SLR1" */
    uint32_t card;
    int64_t capacity[PARTITION_KINDS];
    int64_t limit[PARTITION_KINDS]; /* what a design may use of it, controllers included */
    uint32_t controllers;           /* a bit for each that may be on it */
    int64_t charge[PARTITION_MAX_CONTROLLERS][PARTITION_KINDS]; /* what each takes, once */
} PartitionDie;

/* Wires between two dies, or an Ethernet link between those of two cards that have the
 * transceivers. */
typedef struct PartitionLink {
    uint32_t dies[2];
    bool is_ethernet;
    int64_t capacity;                   /* in each direction: wires, or Mb/s of data */
    int64_t charge[2][PARTITION_KINDS]; /* what the ports take of the two dies if it is used */
} PartitionLink;

/* The mean use of some kinds on a die, as shares of its capacities, is at most `percent` (Eq. 9).
 * A die that lacks one of the kinds has no such limit. */
typedef struct PartitionAverage {
    uint32_t kinds; /* a bit for each */
    uint64_t dies;  /* where it holds */
    int64_t percent;
} PartitionAverage;

typedef struct PartitionPlatform {
    PartitionDie dies[PARTITION_MAX_DIES];
    uint32_t die_count;
    VEC(PartitionLink) links;
    Str controllers[PARTITION_MAX_CONTROLLERS]; /* names */
    uint32_t controller_count;
    Str cards[SYSTEM_MAX_CARDS]; /* names */
    uint32_t card_count;
    VEC(PartitionAverage) averages;
} PartitionPlatform;

/* The dies and links of a system, with the shares that its devices recommend as limits. What a link
 * carries is its rate less what surrounds the data of a packet. Names stay those of the system.
 * False: more than PARTITION_MAX_DIES dies or PARTITION_MAX_CONTROLLERS controllers, of which *why
 * says how many. The caller frees the platform either way. */
bool partition_platform(Context *ctx, const System *system, PartitionPlatform *out, StrBuf *why)
    MUST_CHECK;
void partition_platform_free(PartitionPlatform *platform);
/* Sets limits to percentages of the capacities, kinds of 0 % excepted. */
void partition_set_limits(PartitionPlatform *platform, const int64_t percent[PARTITION_KINDS]);

/* The tasks. */

/* A way to build a node. */
typedef struct PartitionVersion {
    Str name;
    int64_t use[PARTITION_KINDS];
    int32_t controller; /* what it needs on its die, by number; -1: none */
} PartitionVersion;

typedef struct PartitionNode {
    Str name;
    uint32_t version, version_count; /* the first one in PartitionModel.versions; at least 1 */
    uint64_t dies;                   /* where it may be: absolute anchors (Eq. 7); not empty */
} PartitionNode;

typedef struct PartitionEdge {
    uint32_t from, to;   /* nodes */
    int64_t wires, mbps; /* what it takes between two dies of a card, and of an Ethernet link */
} PartitionEdge;

/* Two nodes of one die (Eq. 8) or of one card. */
typedef struct PartitionPair {
    uint32_t nodes[2];
    bool same_card;
} PartitionPair;

/* A graph without circles on a platform, which it borrows. */
typedef struct PartitionModel {
    const PartitionPlatform *platform;
    Str name;
    VEC(PartitionNode) nodes;
    VEC(PartitionVersion) versions;
    VEC(PartitionEdge) edges;
    VEC(PartitionPair) pairs;
} PartitionModel;

void partition_model_free(PartitionModel *model);

/* Reads a task graph (docs/partition.md). Limits and averages that it gives replace those of the
 * platform. The model's texts live in the context. False: diagnosed. The caller frees the model
 * either way. */
bool partition_read(Context *ctx, Str path, PartitionPlatform *platform, PartitionModel *out)
    MUST_CHECK;

/* The search. */

/* What is to be least, in the order of importance. */
typedef enum PartitionGoal {
    PARTITION_CARDS,       /* cards with nodes; must be the first */
    PARTITION_ETHERNET,    /* edges on Ethernet links, counted on each */
    PARTITION_GBPS,        /* Mb/s on Ethernet links */
    PARTITION_CROSSINGS,   /* borders between dies of a card that edges cross */
    PARTITION_WIRES,       /* wires there */
    PARTITION_COST,        /* Eq. 1 with costs of 1 per border and 10 per Ethernet link */
    PARTITION_UTILIZATION, /* the greatest share of any kind on any die, in 1/1000, rounded up; must
                              be the last */
    PARTITION_GOALS
} PartitionGoal;

/* "cards" and so on, as --goal takes it. */
const char *partition_goal_name(PartitionGoal goal);

typedef struct PartitionOptions {
    PartitionGoal goals[PARTITION_GOALS];
    uint32_t goal_count;
    int64_t max_hops;  /* links that an edge may use one after the other; 1: as the paper */
    bool is_convex;    /* one kernel per die: no circle of edges between dies */
    bool is_linear;    /* cuts only edges without a parallel path */
    bool is_annealed;  /* where nothing is found, in as many steps again */
    int64_t max_steps; /* of the search, at least 1 */
} PartitionOptions;

/* All goals but the cost, and two hops. */
#define PARTITION_OPTIONS_DEFAULTS                                                                 \
    {                                                                                              \
        .goals = {PARTITION_CARDS,     PARTITION_ETHERNET, PARTITION_GBPS,                         \
                  PARTITION_CROSSINGS, PARTITION_WIRES,    PARTITION_UTILIZATION},                 \
        .goal_count = 6, .max_hops = 2, .max_steps = INT64_C(100000000)                            \
    }

typedef struct PartitionPlacement {
    bool is_placed;                  /* the arrays and values are set */
    bool is_proven;                  /* nothing is better, or, if none is placed, nothing fits */
    VEC(uint32_t) dies, versions;    /* of each node; versions counted from its first one */
    int64_t values[PARTITION_GOALS]; /* in the order of the goals asked for */
    int64_t bounds[PARTITION_GOALS]; /* no placement that is as good in the goals before has less */
    int64_t steps;
} PartitionPlacement;

/* The best placement, unless the steps do not suffice. The same on every machine. The caller frees
 * it. */
void partition_search(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *out);
/* The paper's baseline (section 6.3): nodes in topological order, each with the first version that
 * fits, on the next die when the present one is full. Bounds are 0. The caller frees it. */
void partition_greedy(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *out);
void partition_placement_free(PartitionPlacement *placement);

/* Appends what is short where partition_search has proven that there is no placement. */
void partition_explain(const PartitionModel *model, const PartitionOptions *options, StrBuf *why);

/* The same for diag_because, with a text behind it. Takes the model's arrays over, and copies its
 * platform. */
struct DiagReason *partition_reason(PartitionModel *model, const PartitionOptions *options,
                                    Str after);

/* Appends what is known where so many steps have brought no placement. */
void partition_explain_steps(const PartitionModel *model, int64_t steps, StrBuf *why);

/* What a placement takes. */
typedef struct PartitionUse {
    int64_t dies[PARTITION_MAX_DIES][PARTITION_KINDS]; /* controllers included */
    uint32_t controllers[PARTITION_MAX_DIES];          /* a bit for each that is needed there */
    VEC(int64_t) links; /* per link and direction (first to second die first): wires or Mb/s */
    VEC(uint32_t)
    kernels; /* per node: its kernel, numbered by die and then in order of the data.
                              No circle of edges joins kernels */
} PartitionUse;

/* Requires that is_placed. The caller frees it. */
void partition_measure(const PartitionModel *model, const PartitionOptions *options,
                       const PartitionPlacement *placement, PartitionUse *out);
void partition_use_free(PartitionUse *use);

/* Appends the program as CPLEX LP. Every goal is a variable of its name; the first is minimised. A
 * solver that goes through them in turn keeps each at its least value. */
void partition_print_lp(const PartitionModel *model, const PartitionOptions *options, StrBuf *out);

#endif
