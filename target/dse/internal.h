/* Between the sources of the search: space.c builds the graph; configs_*.c enumerate the
 * configurations of one process each; binding.c knows memories and multipliers, pinned.c what was
 * given beforehand.
 * Tests: lit/target/dse/choose-unroll.mir */
#ifndef MING_TARGET_DSE_INTERNAL_H
#define MING_TARGET_DSE_INTERNAL_H

#include "target/dse/dse.h"
#include "target/partition/partition.h"

/* How many elements in parallel synthesis still handles well in one process, and how many pixels
 * per word the search tries, both to be multiplied by dse_scale(); bits of the widest word; bits that
 * a process counts at once. */
enum {
    MAX_PARALLEL_ELEMENTS = 1024,
    MAX_PIXELS = 4,
    MAX_WORD_BITS = 4096,
    MAX_COUNTED_BITS = 65536
};

/* Larger devices get more in parallel: 1 up to 2,520 DSPs to spend, 2 up to twice as many, then
 * 4. */
int64_t dse_scale(const CostTarget *target);

/* Number of an end's word in space->words, to which it is added if it is new. Sending and receiving
 * ends of the same frame and word have the same number. */
int64_t dse_word(DseSpace *space, const Type *end);
/* Adds that of dse_config. */
void dse_add_config(DseSpace *space, DseNode *node, const Cost *cost, const Type *const *ends,
                    const int64_t *unroll, const Binding *binding);
/* Binding number 0 to BINDING_COUNT - 1, of which 0 is the default. False: it is not to be tried,
 * because it differs from the default in a switch that is off in `choices`. */
enum { BINDING_COUNT = 32 };
bool dse_binding_variant(const Binding *choices, uint32_t number, Binding *out);

/* Sorts the nodes topologically, sources first, into order[0..n), and gives n: nodes on a cycle, and
 * those behind one, are left out. */
uint32_t dse_sort_nodes(const DseSpace *space, uint32_t *order);

/* Bits of a word. */
int64_t dse_word_bits(const Type *end);
/* Whether the words of a node's ports are narrow enough, or are those that the port has anyway. At
 * the accelerator's ports they must also be contiguous in the frame's row-major order, because that
 * is how users send them. */
bool dse_words_fit(const DseNode *node, const Type *const *ends);

/* Epilogues that are split off (epilogue.c, configs_epilogue.c). The epilogue of `conv` is the
 * process `conv_epilogue`. */
#define DSE_EPILOGUE_SUFFIX "_epilogue"
/* The same from dse_stage_of_sum on. */
#define DSE_SUM_SUFFIX "_sum"
/* Whether a process does something to sums once they are complete. */
bool dse_has_epilogue(const ComputeSchedule *sched);
/* A detached process that does it from stage `from` on, which the caller erases or inserts. Its inputs
 * are the results of the stage before and the streams that its stages join. */
Op *dse_epilogue_process(const Op *process, const ComputeSchedule *sched, uint32_t from);
/* Whether an input port goes over to that process. */
bool dse_split_takes(const ComputeSchedule *sched, uint32_t from, uint32_t port);
/* Splits the epilogue off the process of an instantiate, both in the module and in the graph.
 * Returns the new process, in words of one element. */
Op *dse_split_epilogue(SymbolTable *symbols, Op *instantiate, uint32_t from);
/* The first stage that joins another stream, or the one behind it if sums start from that stream; 0:
 * none, or the first of all. */
uint32_t dse_stage_of_sum(const ComputeSchedule *sched);
/* Runs a process on the ends of its inputs and outputs. */
void dse_instantiate(Builder *b, const Op *process, Value *const *ends);
/* Of one process, the epilogue by itself and its configurations by the words that it reads. */
typedef struct DseEpilogue DseEpilogue;
/* From stage `from` on. NULL: the process has none to split off. */
DseEpilogue *dse_epilogue_create(DseSpace *space, const DseNode *node, const ComputeSchedule *base,
                                 uint32_t from);
uint32_t dse_epilogue_from(const DseEpilogue *epilogue);
void dse_epilogue_free(DseEpilogue *epilogue);
/* Adds the configurations of a process whose epilogue is split off: `main` with words `sums` at its
 * output. burst: words of sums that follow each other without a pause. False: diagnosed. */
bool dse_add_splits(DseEpilogue *epilogue, DseNode *node, const Config *main, const Type *sums,
                    int64_t burst) MUST_CHECK;
/* The types of a compute process's ports that follow from its factors. False, no diagnostic: the
 * frames outside have no such words. */
bool dse_compute_ends(const ComputeSchedule *base, const int64_t *unroll, const Type **ends)
    MUST_CHECK;
/* Loop of the output's dimension that is number `from_inside` among those of more than one element;
 * -1: it has fewer. */
int dse_output_loop(const ComputeSchedule *sched, uint32_t from_inside);
/* A configuration with these port types; its interval is its cycles. unroll and binding may be
 * NULL. */
Config dse_config(DseSpace *space, const DseNode *node, const Cost *cost, const Type *const *ends,
                  const int64_t *unroll, const Binding *binding);
/* Keeps the configurations that no other one of the same words dominates in costs and interval. */
void dse_keep_best(DseNode *node);

/* Forms of requantizers (forms.c). A process whose requantizers have other forms than the one that
 * they came in, neither worse than it nor than each other by all costs, has a variant for each
 * combination, up to a limit; variant 0 is the process as it came. */
uint32_t dse_form_variants(const Op *process, Clock clock);
/* Builds a variant's forms into a process. module: NULL, or gets what was chosen in its list of
 * requantizers. */
void dse_set_forms(Op *process, uint32_t variant, Clock clock, Op *module);
/* The requantizers of a process whose forms may be chosen, in order. */
enum { DSE_MOST_REQUANTIZERS = 8 };
uint32_t dse_list_requantizers(Op *process, Op **kernels);
/* Builds one of them, by its number, in the form that a folding file names, which is kept from then
 * on. False: it has no such form; nothing is diagnosed. */
bool dse_pin_form(Op *module, Op *process, uint32_t number, const char *name, Clock clock)
    MUST_CHECK;
/* Whether the form of a requantizer is one that was chosen, by the search or by a folding file. */
bool dse_is_form_chosen(const Op *kernel);

/* Add the configurations of one process. False: diagnosed. */
bool dse_compute_configs(DseSpace *space, DseNode *node) MUST_CHECK;
bool dse_window_configs(DseSpace *space, DseNode *node, const Op *instantiate) MUST_CHECK;
bool dse_move_configs(DseSpace *space, DseNode *node) MUST_CHECK;
/* Those of node `number`, once the edges and the other processes' configurations are known. */
bool dse_fork_configs(DseSpace *space, uint32_t number, const Op *instantiate) MUST_CHECK;

/* Whether a reorder moves nothing and has the same words at both ends. Such a process is left out of
 * the design. */
bool dse_is_idle(const Op *process, const Type *from, const Type *to);

/* Puts a node on every channel. Its configurations are the conversions between words of the
 * channel's ends; that between equal words converts nothing. */
bool dse_add_converters(DseSpace *space) MUST_CHECK;
/* The cost of a FIFO on a channel of such words, which holds bursts of so many words. */
void dse_add_fifo(const Type *word, int64_t burst, const CostTarget *target, Cost *sum);
/* Builds the chosen converters into the graph. */
void dse_apply_converters(SymbolTable *symbols, const DseSpace *space, const uint32_t *chosen);

/* A number of a dictionary, from 0 to PARTITION_MAX_AMOUNT. */
int64_t dse_amount(const Attr *dict, const char *name);

/* What a placement is to keep besides limits: anchors and lists of layers as the options of
 * choose-unroll give them. */
typedef struct DsePlaceOptions {
    Str anchors, colocated;
    int64_t reserve[COST_KINDS]; /* of all dies together, left for FIFOs */
} DsePlaceOptions;

/* Where processes may be, of a space and a platform. */
typedef struct DseAnchors {
    uint64_t *dies;           /* per node of the space */
    VEC(PartitionPair) pairs; /* of nodes of the space */
} DseAnchors;

/* Reads them; places that processes have already are anchors, too. False: diagnosed. */
bool dse_read_anchors(const DseSpace *space, const PartitionPlatform *platform,
                      const DsePlaceOptions *options, DseAnchors *out) MUST_CHECK;
void dse_anchors_free(DseAnchors *anchors);

/* A chosen design as tasks: a node per process, whose versions are its undominated configurations
 * with the same words that are no slower, the chosen one first. Converters belong to the process at
 * their wider side, so that it is the narrower words that may cross a border. */
typedef struct DseTasks {
    PartitionModel model;
    uint32_t *node_of;            /* per node of the space: in the model; of processes only */
    VEC(uint32_t) nodes, configs; /* per node and per version of the model: in the space */
} DseTasks;

/* slowest: of DSE_THROUGHPUT and DSE_FPS the longest interval; else INT64_MAX. joins: windows and
 * what computes on them, forks and what they read, are on one die. */
void dse_tasks(const DseSpace *space, const uint32_t *chosen, const PartitionPlatform *platform,
               const DseAnchors *anchors, const DseTask *task, bool joins, DseTasks *out);
void dse_tasks_free(DseTasks *tasks);

/* Whether a converter is on the die of the process in front of it, else on that of the one behind. */
bool dse_converts_at_writer(const Type *from, const Type *to);

/* Finds places for the design in the state, or a design with places that is as good as possible.
 * Sets sys.place of the processes, and the answer's value. False: diagnosed. */
bool dse_place(const DseSpace *space, const DseTask *task, const DsePlaceOptions *options,
               const PartitionPlatform *platform, DseState *state, DseAnswer *answer) MUST_CHECK;
/* The same without anchors, places and diagnostics, from the best design of the pool in the state.
 * Gives how many dies have processes; 0: no places are found. */
uint32_t dse_find_places(const DseSpace *space, const DseTask *task,
                         const PartitionPlatform *platform, DseState *state);

void dse_set_converter_report(Op *process, const Type *from, const Type *to,
                              const CostTarget *target);
/* Checks the attributes of a binding that a process came with. False: diagnosed. */
bool dse_check_given_binding(const Op *process, const CostTarget *target) MUST_CHECK;
/* Writes what the binding decides to the ops of a process whose words and factors are set. */
void dse_apply_binding(Op *process, ProcessKind kind, const Binding *binding);

/* Whether a process was given the words of its ports beforehand (dfg.words), and the type that a
 * port then has. NULL: diagnosed. */
bool dse_has_given_words(const Op *process);
const Type *dse_given_end(const Op *process, uint32_t port);
/* Whether a process has a configuration with what it was given. False: diagnosed. */
bool dse_check_process(const Op *instantiate, const CostTarget *target, Arena *arena) MUST_CHECK;
/* Drops the configurations with other words. False: diagnosed (none is left). */
bool dse_keep_given_words(DseSpace *space, DseNode *node) MUST_CHECK;

/* The type that a process's port must have; *end stays as it is where nothing says so. False:
 * diagnosed. */
bool dse_pinned_end(const Op *process, uint32_t port, const Type **end) MUST_CHECK;

/* Between objectives (objective.c, latency_search.c). Shares of the limits in millionths, rounded up; a
 * kind of cost without a limit is free. */
Cost dse_share_weights(const Cost *limits);
/* Of the best throughput. */
DseAnswer dse_least_interval(const DseSpace *space, const DseTask *task, DseState *state);
DseAnswer dse_least_pipeline_latency(const DseSpace *space, const DseTask *task, DseState *state);

#endif
