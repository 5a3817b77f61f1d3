/* Configurations of compute processes whose epilogue is a process of its own. A sum is complete
 * once in many iterations, so an epilogue needs fewer lanes than there are accumulators: as many as
 * keep pace with them. It holds a word of sums and finishes the word in several iterations. On the
 * other hand the word waits in a FIFO and is wider than that of the results, and its elements have
 * to be chosen. So both forms are configurations, and the search takes what is better for the
 * design.
 * Tests: lit/target/dse/epilogue.mir */
#include "dialects/dfg/dfg.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

/* The configurations of an epilogue that reads these words, as those of a node. */
typedef struct EpilogueWord {
    const Type *sums;
    DseNode node;
} EpilogueWord;

struct DseEpilogue {
    DseSpace *space;
    Op *process; /* owned */
    ComputeSchedule base;
    const ComputeSchedule *split;            /* of the process that it is split off; borrowed */
    uint32_t from;                           /* its first stage */
    bool at_boundary[SCHED_MAX_STREAMS + 2]; /* of its ports */
    int64_t port_bits;
    VEC(EpilogueWord) words;
};

uint32_t dse_epilogue_from(const DseEpilogue *epilogue)
{
    return epilogue->from;
}

DseEpilogue *dse_epilogue_create(DseSpace *space, const DseNode *node, const ComputeSchedule *base,
                                 uint32_t from)
{
    if (space->target.fuses_epilogues || !dse_has_epilogue(base)) return NULL;
    DseEpilogue *e = xcalloc(1, sizeof(*e));
    e->space = space;
    e->from = from;
    e->split = base;
    e->process = dse_epilogue_process(node->process, base, from);
    uint32_t port = 1;
    for (uint32_t j = 0; j < base->join_count; j++)
        if (base->joins[j].stage >= from)
            e->at_boundary[port++] = node->at_boundary[base->joins[j].port];
    e->at_boundary[port] = node->at_boundary[base->output_port];
    e->port_bits = node->port_bits;
    if (sched_compute_base(e->process, &e->base)) return e;
    dse_epilogue_free(e);
    return NULL;
}

void dse_epilogue_free(DseEpilogue *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->words.len; i++) vec_free(&e->words.data[i].node.configs);
    vec_free(&e->words);
    op_erase(e->process);
    free_ptr((void **)&e);
}

/* All bindings of an epilogue with these factors that takes parts of such words, if it can. */
static bool add_factors(DseEpilogue *e, EpilogueWord *w, const int64_t *unroll)
{
    ComputeSchedule sched;
    Binding binding, choices;
    Cost cost;
    const Type *ends[SCHED_MAX_STREAMS + 1];
    if (!dse_compute_ends(&e->base, unroll, ends) || ends[0] == w->sums ||
        !sched_can_convert(w->sums, ends[0]))
        return true;
    ends[0] = w->sums;
    ComputeSchedule probe = e->base;
    probe.ends = ends;
    if (!dse_words_fit(&w->node, ends) || !sched_words_hold(&probe, unroll)) return true;
    if (!sched_compute(e->process, unroll, ends, &sched)) return false;
    cost_compute_choices(&sched, &e->space->target, &choices);
    for (uint32_t n = 0; n < BINDING_COUNT; n++) {
        if (!dse_binding_variant(&choices, n, &binding)) continue;
        cost_compute(&sched, &binding, &e->space->target, &cost);
        dse_add_config(e->space, &w->node, &cost, ends, unroll, &binding);
    }
    return true;
}

/* All factors of the two innermost dimensions with fewer lanes than the word has. */
static bool enumerate(DseEpilogue *e, EpilogueWord *w)
{
    int64_t unroll[KERNEL_MAX_LOOPS], lanes = dfg_word_elems(w->sums);
    int inner = dse_output_loop(&e->base, 0), outer = dse_output_loop(&e->base, 1);
    bool ok = true;
    for (uint32_t i = 0; i < e->base.kernel.loop_count; i++) unroll[i] = 1;
    for (int64_t p = 1; ok && p < (outer < 0 ? 2 : lanes); p++) {
        if (lanes % p != 0) continue;
        if (outer >= 0) unroll[outer] = p;
        for (int64_t c = 1; ok && c * p < lanes; c++) {
            if (lanes % (c * p) != 0) continue;
            unroll[inner] = c;
            ok = add_factors(e, w, unroll);
        }
    }
    return ok;
}

/* NULL: diagnosed. */
static const DseNode *configs_of_word(DseEpilogue *e, const Type *sums)
{
    for (size_t i = 0; i < e->words.len; i++)
        if (e->words.data[i].sums == sums) return &e->words.data[i].node;
    EpilogueWord *word = vec_push(&e->words);
    *word = (EpilogueWord){sums,
                           {.process = e->process,
                            .kind = PROCESS_COMPUTE,
                            .port_count = e->base.output_port + 1,
                            .at_boundary = e->at_boundary,
                            .port_bits = e->port_bits}};
    if (!enumerate(e, word)) return NULL;
    dse_keep_best(&word->node);
    return &word->node;
}

static int64_t output_lanes(const DseEpilogue *e, const Config *epilogue)
{
    return dfg_word_elems(e->space->words.data[epilogue->word[e->base.output_port]]);
}

/* The words of the ports of both: joined streams and the result are the epilogue's. main's own are
 * those of its ports once it is split. */
static void add_split(const DseEpilogue *e, DseNode *node, const Config *main,
                      const Config *epilogue, const Type *sums, int64_t burst)
{
    DseSpace *space = e->space;
    const size_t bytes = node->port_count * sizeof(*main->word);
    Split *split = ARENA_NEW(space->arena, Split);
    *split = (Split){*main, *epilogue, e->from,
                     burst * (dfg_word_elems(sums) / output_lanes(e, epilogue) - 1)};
    Config config = *main;
    config.word = arena_copy(space->arena, main->word, bytes);
    split->main.word = arena_copy(space->arena, main->word, bytes);
    uint32_t kept = 0, moved = 1;
    for (uint32_t i = 0; i < node->port_count; i++) {
        if (dse_split_takes(e->split, e->from, i))
            config.word[i] = epilogue->word[moved++];
        else
            split->main.word[kept++] = main->word[i];
    }
    config.word[node->port_count - 1] = epilogue->word[moved];
    config.split = split;
    cost_add(&config.cost, &epilogue->cost);
    dse_add_fifo(sums, burst, &space->target, &config.cost);
    *vec_push(&node->configs) = config;
}

/* Of the epilogues that take no longer than their sums, those of fewest lanes. */
bool dse_add_splits(DseEpilogue *e, DseNode *node, const Config *main, const Type *sums,
                    int64_t burst)
{
    int64_t fewest = INT64_MAX;
    const DseNode *epilogue = configs_of_word(e, sums);
    if (!epilogue) return false;
    for (size_t i = 0; i < epilogue->configs.len; i++) {
        const Config *config = &epilogue->configs.data[i];
        int64_t lanes = output_lanes(e, config);
        if (config->interval <= main->interval && lanes < fewest) fewest = lanes;
    }
    for (size_t i = 0; i < epilogue->configs.len; i++) {
        const Config *config = &epilogue->configs.data[i];
        if (config->interval <= main->interval && output_lanes(e, config) == fewest)
            add_split(e, node, main, config, sums, burst);
    }
    return true;
}
