/* The design space of a dataflow graph (MING Eq. 1): each process has configurations, a
 * configuration fixes its unroll factors, cost and the words at its ports. Words at both ends of a
 * channel are equal, or a converter stands there and is a node with its own costs. dse_space.c
 * enumerates, dse_solve.c picks the best within budgets by integer programming, dse_apply.c writes
 * the choice into the IR.
 * Tests: lit/target/dse/choose-unroll.mir, test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_DSE_H
#define MING_TARGET_DSE_DSE_H

#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "target/cost/cost.h"
#include "target/device/device.h"

/* One way to build a process. */
typedef struct Config {
    Cost cost;
    int64_t interval; /* cycles from one frame to the next */
    int64_t *factor;  /* per port: number of its word in the space */
    int64_t *unroll;  /* compute processes: per loop of the main kernel; else NULL */
    Style style;      /* where memories go, what multiplies */
    int64_t middle;   /* converters: number of the word between two of them, -1 for none */
    int64_t goal;     /* in a reduced space (dse_reduce.h): what the problem adds up */
    uint32_t origin;  /* in a reduced space: number in the whole one */
} Config;

/* A process, or on a channel between two of them what converts words, if words differ. */
typedef struct DseNode {
    const Op *process; /* NULL for a channel */
    Op *channel;       /* NULL for a process */
    ProcessKind kind;
    uint32_t port_count;
    bool *at_boundary; /* per port of a process: connected to a port of the region */
    VEC(Config) configs;
    uint32_t chosen;
} DseNode;

/* Two ports of nodes that have equal words. channel: that between them, NULL behind a converter. */
typedef struct DseEdge {
    uint32_t from, from_port, to, to_port;
    Op *channel;
} DseEdge;

typedef struct DseSpace {
    Arena *arena;
    const Op *region;
    CostTarget target;
    VEC(DseNode) nodes; /* in order of instantiation */
    VEC(DseEdge) edges;
    VEC(const Type *) words; /* receiving ends; channels may join ends of the same one */
    PtrMap word_numbers;     /* end Type* -> index in words + 1 */
    int64_t bound;           /* of the last solve: no design's weighted sum is below it */
    bool counts
        [COST_KINDS]; /* limits of these were exceeded in a solve: the next ones begin with them */
    double prices[COST_KINDS]; /* per unit of cost, of the last solve that had nothing to add up */
} DseSpace;

/* DSE_FEASIBLE: a design within the limits, not proven best. DSE_FAILED: none found, none
 * excluded. */
typedef enum DseStatus { DSE_OPTIMAL, DSE_FEASIBLE, DSE_INFEASIBLE, DSE_FAILED } DseStatus;

static inline bool dse_found_design(DseStatus status)
{
    return status == DSE_OPTIMAL || status == DSE_FEASIBLE;
}

/* What one solve looks for: the least weighted sum, among designs within the limits. */
typedef struct DseProblem {
    Cost weights; /* >= 0 */
    int64_t *const
        *extra;  /* per node and configuration: added to its weighted cost, >= 0; or NULL */
    Cost limits; /* < 0: none */
    const int64_t *longest; /* per node: longest interval; NULL: any */
    bool keeps_intervals;   /* intervals count: a longer one cannot stand for a shorter one */
    int64_t known; /* weighted sum of the design that is chosen, if it keeps the limits; else < 0 */
    size_t
        effort; /* labels (dse_labels.h) to try before the best design so far is taken; 0: many */
    double
        deadline; /* of dse_seconds(); 0: none. Not to depend on the machine, use effort instead */
} DseProblem;

/* Without limits: the least of one kind of cost. */
DseProblem dse_least(CostKind kind);
/* Seconds of a clock that never goes back. */
double dse_seconds(void);
/* Weighted sum of a cost. */
int64_t dse_measure(const Cost *cost, const Cost *weights);

/* Enumerates the undominated configurations of the region's processes. False: diagnosed. */
bool dse_space(const Op *region, const CostTarget *target, Arena *arena, DseSpace *out) MUST_CHECK;
void dse_free(DseSpace *space);
/* Sets each node's `chosen` when it found a design, *value to its weighted sum. A chosen design
 * that keeps the limits is improved, and stays if it is the best. problem->known is not read. */
DseStatus dse_solve(DseSpace *space, const DseProblem *problem, int64_t *value);
/* Sum over the chosen configurations. */
Cost dse_total(const DseSpace *space);
/* Writes the chosen factors, words, storage and reports into region and processes. */
void dse_apply(Op *module, Op *region, const DseSpace *space);

/* How long a frame takes from its first word in to its last word out, when nothing else is in the
 * pipeline: docs/cost-model.md has the model.
 * Tests: test/unit/target/dse/objective_test.c, lit/target/dse/choose-unroll-objective.mir */

/* How a process hands on what it takes, whatever its configuration. */
typedef struct DsePace {
    double wait; /* share of its input that the first word out needs */
    double rest; /* share of its work behind the last word in */
} DsePace;

/* Per node, in the space's arena. NULL: diagnosed. */
DsePace *dse_paces(const DseSpace *space);

/* A bound from below of any design's latency: constant sums of fill, interval and hand-over of its
 * configurations, with weights per node. */
typedef struct DseCut {
    double *fill, *interval, *handover;
} DseCut;

DseCut dse_cut(const DseSpace *space);
/* Latency of the chosen design in cycles; sets the cut to weights under which it is that sum. */
double dse_frame(const DseSpace *space, const DsePace *paces, DseCut *cut);
/* What a configuration adds to the sum. */
double dse_cut_value(const DseCut *cut, uint32_t node, const Config *config);

/* What a design is to be best at, and the searches that find it: each a few problems of dse.h.
 * Among designs as good, one of least resources is taken: of the least sum of shares of the limits.
 * Tests: test/unit/target/dse/objective_test.c, lit/target/dse/choose-unroll-objective.mir */

typedef enum DseObjective {
    DSE_LATENCY,          /* least sum of cycles (MING Eq. 1) */
    DSE_PIPELINE_LATENCY, /* least time from a frame's first word in to its last word out */
    DSE_THROUGHPUT,       /* least S, the longest interval of a process (NN2FPGA Eq. 11) */
    DSE_FPS               /* least resources at a given S */
} DseObjective;

typedef struct DseTask {
    DseObjective objective;
    Cost limits;          /* < 0: none */
    int64_t interval;     /* S of DSE_FPS, cycles */
    const DsePace *paces; /* per node, of DSE_PIPELINE_LATENCY */
    double deadline;      /* as of a problem */
} DseTask;

typedef struct DseAnswer {
    DseStatus status;     /* of the value */
    int64_t value, bound; /* cycles; of DSE_FPS millionths of the limits, in sum over them */
} DseAnswer;

/* Chooses configurations; when none are found, nothing is chosen. */
DseAnswer dse_optimize(DseSpace *space, const DseTask *task);
/* The first problem of a task, which decides the value: of throughput with S still to be minimised.
 * Not of pipeline latency, which is many. */
DseProblem dse_first_problem(const DseSpace *space, const DseTask *task);
/* Longest interval of the chosen configurations. */
int64_t dse_interval(const DseSpace *space);
/* The same limit for the intervals of all nodes, in the space's arena. */
const int64_t *dse_same_interval(const DseSpace *space, int64_t interval);

/* Why a task has no design: which limit is too small, alone or with others, by how much, and for
 * which processes.
 * Tests: lit/target/dse/choose-unroll-short.mir, lit/target/dse/choose-unroll-memory.mir */

/* Diagnoses the answer to a task if it has no design: false then. */
bool dse_explain(DseSpace *space, const DseTask *task, const DseAnswer *answer) MUST_CHECK;

/* The trade of throughput against resources: the least that designs of ever longer intervals take.
 *
 * The fastest design within the limits gives the first interval, the smallest design of all the
 * last. Between them stand the intervals that some process can have; of these a ladder is taken,
 * spaced evenly in their logarithm. At each step the design of least resources is searched, in
 * shares of the limits. What another design beats in interval, DSP, BRAM18, URAM and LUT is left
 * out.
 * Tests: lit/tools/ming-explore.test, test/unit/target/dse/explore_test.c */

typedef struct ExplorePoint {
    int64_t interval;     /* cycles from frame to frame, as predicted */
    int64_t value, bound; /* millionths of the limits, in sum over them; what no design is below */
    Cost cost;            /* of all processes, FIFOs as estimated */
} ExplorePoint;

typedef VEC(ExplorePoint) ExplorePoints;

/* The points, the fastest first; at most `count` (at least 2) of them. What the answer is about is
 * in *task where there is no design, for dse_explain. */
DseAnswer dse_explore_space(DseSpace *space, const Cost *limits, size_t count, DseTask *task,
                            ExplorePoints *out);

/* Drops what others beat; of equals the first stays. */
void dse_explore_drop_beaten(ExplorePoints *points);

/* The folding file: every choice of a design, by the names of its processes, to be read, changed
 * and given back. apply-folding pins what a file says before choose-unroll, pin-fifos before
 * fit-fifos; choose-unroll leaves what it chose in the processes' reports, from where emit/ writes
 * the file. docs/folding.md describes it.
 * Tests: lit/target/dse/folding.test, lit/target/dse/folding-invalid.test, test/e2e/run.py */

/* A memory of a process, as the file names it. */
typedef struct FoldingMemory {
    Op *op;         /* that has dfg.storage */
    uint32_t level; /* of a window's memories; else 0 */
    const char
        *role; /* "weights", "initial", "params", "levels", "partial", "lines", "buffer", "parts" */
} FoldingMemory;

typedef VEC(FoldingMemory) FoldingMemories;

/* The memories that a process may have, in order of its body; the caller frees the list. False:
 * diagnosed (no streaming form). */
bool folding_memories(Op *process, FoldingMemories *out) MUST_CHECK;

/* Adds `folding` to the report of each process of the module: what was chosen for it. Converters
 * have an empty one. */
void folding_record(Op *module);

/* Reads a folding file. Its sections are objects, or NULL where there is none. False: diagnosed. */
typedef struct FoldingFile {
    JsonFile json;
    json_t *layers, *fifos;
} FoldingFile;
bool folding_read(Context *ctx, Str path, FoldingFile *out) MUST_CHECK;
void folding_free(FoldingFile *file);

/* Where a member of an object stands, by its key, or its value. */
const Attr *folding_key_place(const FoldingFile *file, const char *key);
const Attr *folding_value_place(const FoldingFile *file, const json_t *value, const char *key);

/* Passes of the search. docs/reference describes each from its PassDef. */

extern const PassDef pass_apply_folding;
extern const PassDef pass_choose_unroll;

#endif
