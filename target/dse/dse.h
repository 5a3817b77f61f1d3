/* Design space exploration: chooses a configuration for every process of a dataflow graph.
 *
 * The model (DseSpace) and the solver (dse_solve) are in target/dse/solve/solve.h. Here are the
 * space's construction, the writing of a choice into the IR, and the searches: objectives, pipeline
 * latency, explanations, exploration and the folding file, each of which asks the solver one problem
 * or several.
 *
 * The problem is MING Eq. 1: each process has configurations; a configuration fixes its unroll
 * factors, its cost and the words at its ports. The words at both ends of a channel must be equal,
 * or a converter stands between them, which is a node with costs of its own. The space is
 * enumerated by space.c and configs_*.c; the choice is written by apply.c.
 * Tests: lit/target/dse/choose-unroll.mir, test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_DSE_H
#define MING_TARGET_DSE_DSE_H

#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "target/cost/cost.h"
#include "target/device/device.h"
#include "target/dse/solve/solve.h"
#include "target/partition/partition.h"

/* Notes on the module what schedules need to know of the device: the kind of its DSP slices and the
 * delays of its speed grade, in percent of those of UltraScale+ -2. */
void dse_record_device(Op *module, Str dsp_kind, int64_t delay_percent);

/* Enumerates the Pareto-optimal configurations of the region's processes. False: diagnosed. */
bool dse_space(const Op *region, const CostTarget *target, Arena *arena, DseSpace *out) MUST_CHECK;
/* The longest interval of the chosen configurations. */
int64_t dse_interval(const DseSpace *space, const uint32_t *chosen);
/* Bits of weights that memory brings in so many cycles; the target has a rate. */
int64_t dse_supply(const CostTarget *target, int64_t interval);
/* Writes the chosen factors, words, storage and reports into region and processes. */
void dse_apply(Op *module, Op *region, const DseSpace *space, const uint32_t *chosen);

/* The searches. */

/* Pipeline latency: how long a frame takes from its first word in to its last word out when nothing
 * else is in the pipeline. docs/cost-model.md has the model.
 * Tests: test/unit/target/dse/objective_test.c, lit/target/dse/choose-unroll-objective.mir */

/* What a window gives from a word in on, and how much of the time of all words in is left then. */
typedef struct DseBacklog {
    double share, lead;
} DseBacklog;

/* How far a process overlaps with those before and behind it. */
typedef struct DseOverlap {
    double wait; /* share of its input that it must have before its first word out, at least */
    const double *waits;        /* the same of each configuration; NULL: it is that of all */
    double wait_of_result;      /* the least of configurations by results; 1: there are none */
    double rest;                /* share of its work that is left when its last word is in */
    double burst;               /* of a window: share of its words that it gives then, at least */
    const double *bursts;       /* the same of each configuration; NULL: it is that of all */
    const DseBacklog *backlogs; /* of each configuration: of the word that most is left behind */
    bool is_window;             /* gives a burst of words as soon as its last word is in */
    bool hands_on;              /* gives words as they come, so bursts as well */
} DseOverlap;

/* Per node, in the space's arena. NULL: diagnosed. */
DseOverlap *dse_overlaps(const DseSpace *space);

/* A linear function of the chosen configurations, as a rule a lower bound of every design's pipeline
 * latency: weights, per node, of a configuration's fill, interval, hand-over, wait and rest, and of
 * its tail and absorb, which count down. */
typedef struct DseCut {
    double *fill, *interval, *handover, *wait, *rest, *tail, *absorb;
    const DseOverlap *overlaps; /* that waits and rests are taken from */
} DseCut;

DseCut dse_cut(const DseSpace *space);
/* Pipeline latency of a design in cycles. cut: gets a bound that is tight at this design, but where
 * other configurations wait for less of their input. estimate: gets a function that is equal at this
 * design and near it elsewhere, which is no bound; or NULL. */
double dse_pipeline_latency(const DseSpace *space, const uint32_t *chosen,
                            const DseOverlap *overlaps, DseCut *cut, DseCut *estimate);
/* What configuration number `config` of a node adds to the cut's sum. */
double dse_cut_value(const DseCut *cut, const DseSpace *space, uint32_t node, uint32_t config);
/* Whether a configuration makes no time later than another one of the node. */
bool dse_is_no_later(const DseSpace *space, const DseOverlap *overlaps, uint32_t node,
                     uint32_t config, uint32_t other);

/* Objectives: what a design is to be best at. Each is searched by a few problems. Among designs
 * that are equally good, one of least resources is taken: of the least sum of shares of the limits.
 * Tests: test/unit/target/dse/objective_test.c, lit/target/dse/choose-unroll-objective.mir */

typedef enum DseObjective {
    DSE_LATENCY,          /* least sum of cycles (MING Eq. 1) */
    DSE_PIPELINE_LATENCY, /* least time from a frame's first word in to its last word out */
    DSE_THROUGHPUT,       /* least S, the longest interval of a process (NN2FPGA Eq. 11) */
    DSE_FPS               /* least resources at a given S */
} DseObjective;

typedef struct DseTask {
    DseObjective objective;
    Cost limits;                /* < 0: none */
    int64_t interval;           /* S of DSE_FPS, cycles; of DSE_PIPELINE_LATENCY the most, 0: any */
    int64_t clock;              /* MHz, for messages; 0: they tell cycles only */
    const DseOverlap *overlaps; /* per node, of DSE_PIPELINE_LATENCY */
    double deadline;            /* as of a problem */
    size_t max_labels;          /* of DSE_FPS, the same */
} DseTask;

typedef struct DseAnswer {
    DseStatus status;     /* of the value */
    int64_t value, bound; /* cycles; of DSE_FPS millionths of the limits, in sum over them */
} DseAnswer;

/* The value of a design that is chosen, as the answer's. */
int64_t dse_value(const DseSpace *space, const DseTask *task, const uint32_t *chosen);
/* The intervals of all configurations, each once, the shortest first; the caller frees the list. */
typedef VEC(int64_t) DseIntervals;
void dse_list_intervals(const DseSpace *space, DseIntervals *out);
/* Sets state->chosen to the best design found; when none is found, it stays as it is. */
DseAnswer dse_optimize(const DseSpace *space, const DseTask *task, DseState *state);
/* The first problem of a task, the one that decides the value; for throughput, S is still to be
 * minimised. Pipeline latency has no such problem, since it is decided by many. */
DseProblem dse_first_problem(const DseSpace *space, const DseTask *task);
/* The same longest interval for all nodes, in the space's arena. */
const int64_t *dse_equal_intervals(const DseSpace *space, int64_t interval);

/* Explanation: why a task has no design. It says which limit is too small, alone or together with
 * others, by how much, and which processes use most of it.
 * Tests: lit/target/dse/choose-unroll-short.mir, lit/target/dse/choose-unroll-memory.mir */

/* The least that a design takes of the kind of cost that is short; 0: no kind is. */
typedef struct DseNeed {
    CostKind kind;
    int64_t least;
} DseNeed;

/* False: the answer has no design, and why is diagnosed. need: NULL, or gets what is short. */
bool dse_explain(const DseSpace *space, const DseTask *task, const DseAnswer *answer,
                 DseState *state, DseNeed *need) MUST_CHECK;

/* Exploration: the Pareto front of throughput against resources.
 *
 * The fastest design within the limits gives the first interval, the smallest design of all the
 * last. Between them are the intervals that some process can have; a sample of these is taken,
 * spaced evenly in their logarithm. For each interval of the sample the design of least resources
 * is searched, in shares of the limits. Where there are dies, the designs are those that are found to
 * have places there, at an interval for which none is found there is no point; bounds stay those of
 * the dies as one pool. A design that another one dominates in interval, DSP, BRAM18, URAM and LUT is
 * left out.
 * Tests: lit/tools/ming-explore.test, test/unit/target/dse/explore_test.c */

typedef struct ExplorePoint {
    int64_t interval;     /* cycles from frame to frame, as predicted */
    int64_t value, bound; /* millionths of the limits, in sum over them; its lower bound */
    uint32_t dies;        /* that have processes; 0: they are not looked at */
    Cost cost;            /* of all processes, FIFOs as estimated */
} ExplorePoint;

typedef VEC(ExplorePoint) ExplorePoints;

/* The points, the fastest first; at most `count` (at least 2) of them. dies: NULL, or a platform of
 * one card. Where there is no design, *task is what the answer is about, for dse_explain. */
DseAnswer dse_explore_space(const DseSpace *space, const Cost *limits, size_t count,
                            const PartitionPlatform *dies, DseState *state, DseTask *task,
                            ExplorePoints *out);

/* Drops the points that another one dominates; of equal ones the first stays. */
void dse_explore_drop_dominated(ExplorePoints *points);

/* The folding file: every choice of a design, by the names of its processes. A user can read it,
 * change it and give it back. apply-folding pins what a file says before choose-unroll runs,
 * pin-fifos before fit-fifos does. choose-unroll leaves what it chose in the processes' reports,
 * from which emit/ writes the file. docs/folding.md describes it.
 * Tests: lit/target/dse/folding.test, lit/target/dse/folding-invalid.test, test/e2e/run.py */

/* A memory of a process, as the file names it. */
typedef struct FoldingMemory {
    Op *op;         /* that has dfg.storage */
    uint32_t level; /* of a window's memories; else 0 */
    const char
        *role; /* "weights", "initial", "params", "levels", "partial", "lines", "buffer", "parts" */
} FoldingMemory;

typedef VEC(FoldingMemory) FoldingMemories;

/* The memories that a process may have, in the order of its body; the caller frees the list. False:
 * diagnosed (no streaming form). */
bool folding_memories(Op *process, FoldingMemories *out) MUST_CHECK;

/* Adds `folding`, what was chosen for a process, to the report of each process of the region, which
 * dse_apply has written. That of a converter is empty. */
void folding_record(Op *module, const Op *region);

/* The chosen forms of a process's requantizers as a folding file has them: a name, or a list of
 * several; NULL: none was a choice. */
const Attr *dse_chosen_forms(const Op *process);

/* Reads a folding file. A section is an object, or NULL if the file has none. False: diagnosed. */
typedef struct FoldingFile {
    JsonFile json;
    json_t *layers, *fifos, *places;
} FoldingFile;
bool folding_read(Context *ctx, Str path, FoldingFile *out) MUST_CHECK;
void folding_free(FoldingFile *file);

/* The place in the file of an object's member, by its key or by its value. */
const Attr *folding_key_place(const FoldingFile *file, const char *key);
const Attr *folding_value_place(const FoldingFile *file, const json_t *value, const char *key);

/* Dies. Where a device has several, a design is placed on them: every process has a sys.place, and no
 * die takes more than its limit, nor does a border carry more wires than it has. target/partition
 * finds the places of a design that the search has chosen. If there are none, designs of less
 * resources and then slower ones are tried; the best design of the dies as one pool is the bound.
 * docs/partition.md.
 * Tests: lit/target/dse/place-invalid.test, test/e2e/dies_check.py */

/* A design that is placed, as target/partition sees it: nodes are the functions of an emithls
 * design, edges its streams. */
typedef struct DsePlaced {
    PartitionPlatform platform;
    PartitionModel model;
    PartitionPlacement placement;
    PartitionUse use;
    VEC(const Op *) functions; /* per node */
    VEC(const Op *) streams;   /* per edge */
} DsePlaced;

/* What a design takes of its dies. NULL: it is not placed. The caller frees it. */
DsePlaced *dse_placed(const Op *module);
void dse_placed_free(DsePlaced *placed);
/* Notes the dies on the module, as the options of choose-unroll give them. False: diagnosed. */
bool dse_record_dies(Op *module, Str dies, Str links, int64_t mean) MUST_CHECK;
/* The dies of a placed module, their limits and links. False: it has none. The caller frees the
 * platform either way. */
bool dse_platform(const Op *module, PartitionPlatform *out) MUST_CHECK;
/* The same of such attributes, as cards have the first one; NULL: none. */
bool dse_platform_of(const Attr *dies, const Attr *links, PartitionPlatform *out) MUST_CHECK;
CostKind dse_cost_kind(PartitionKind kind);
/* Wires of a stream whose words have so many bits, with valid, ready and last. */
int64_t dse_wires(int64_t bits);

/* Passes of the search. docs/reference describes each from its PassDef. */

extern const PassDef pass_apply_folding;
extern const PassDef pass_choose_unroll;

#endif
