/* Builds the design space: a node per instantiated process with its configurations, an edge per
 * channel between two of them. Of the configurations with the same port words only those are kept
 * that are Pareto-optimal in cycles and resources, among those of the same order of loops.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/choose-unroll.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"
#include "target/dse/solve/solve.h"

int64_t dse_scale(const CostTarget *target)
{
    enum { SMALL_DEVICE = 2520, LARGEST = 4 };
    int64_t scale = 1;
    while (scale < LARGEST && target->dsp > SMALL_DEVICE * scale) scale *= 2;
    return scale;
}

int64_t dse_word(DseSpace *space, const Type *end)
{
    const Type *key =
        type_dialect(end->ctx, &dfg_type_output, end->u.dialect.params, end->u.dialect.param_count);
    uintptr_t number = (uintptr_t)ptrmap_get(&space->word_numbers, key);
    if (number == 0) {
        *vec_push(&space->words) = key;
        number = space->words.len;
        ptrmap_put(&space->word_numbers, key, (void *)number);
    }
    return (int64_t)(number - 1);
}

int64_t dse_word_bits(const Type *end)
{
    return dfg_word_elems(end) * cost_element_bits(type_elem(dfg_payload(end)));
}

/* Whether a word is contiguous in the frame's row-major order. */
static bool is_run(const Type *end)
{
    int64_t word[2 * DFG_MAX_RANK];
    const Type *frame = dfg_payload(end);
    bool whole = true; /* all dimensions inside this one */
    dfg_word(end, word);
    for (uint32_t i = frame->u.shaped.rank; i-- > 0;) {
        if (word[i] > 1 && !whole) return false;
        whole &= word[i] == frame->u.shaped.dims[i];
    }
    return true;
}

/* Whether a word fits in a beat of a DMA, with its padding. */
static bool fits_beat(const DseNode *node, const Type *end)
{
    const Type *elem = type_elem(dfg_payload(end));
    return node->port_bits == 0 || emithls_beat_bits(elem, dfg_word_elems(end)) <= node->port_bits;
}

bool dse_words_fit(const DseNode *node, const Type *const *ends)
{
    for (uint32_t i = 0; i < node->port_count; i++) {
        bool is_given = ends[i] == dfg_port(node->process, i)->type;
        if ((!is_given && dse_word_bits(ends[i]) > MAX_WORD_BITS) ||
            (node->at_boundary[i] && !(is_run(ends[i]) && (is_given || fits_beat(node, ends[i])))))
            return false;
    }
    return true;
}

void dse_keep_best(DseNode *node)
{
    enum { MEASURES = COST_KINDS + 3 };
    int64_t *measures = xcalloc(node->configs.len * MEASURES + 1, sizeof(*measures));
    for (size_t c = 0; c < node->configs.len; c++) {
        const Config *config = &node->configs.data[c];
        memcpy(measures + c * MEASURES, config->cost.items, sizeof(Cost));
        measures[c * MEASURES + COST_KINDS] = config->interval;
        measures[c * MEASURES + COST_KINDS + 1] = config->by_results;
        measures[c * MEASURES + COST_KINDS + 2] = !config->by_results;
    }
    dse_keep_pareto(node, measures, MEASURES);
    free_ptr((void **)&measures);
}

Config dse_config(DseSpace *space, const DseNode *node, const Cost *cost, const Type *const *ends,
                  const int64_t *unroll, const Binding *binding)
{
    Config config = {.cost = *cost,
                     .interval = cost->cycles,
                     .middle = -1,
                     .word = ARENA_ARRAY(space->arena, int64_t, node->port_count)};
    if (binding) config.binding = *binding;
    for (uint32_t i = 0; i < node->port_count; i++) config.word[i] = dse_word(space, ends[i]);
    if (unroll)
        config.unroll = arena_copy(space->arena, unroll, KERNEL_MAX_LOOPS * sizeof(*unroll));
    return config;
}

void dse_add_config(DseSpace *space, DseNode *node, const Cost *cost, const Type *const *ends,
                    const int64_t *unroll, const Binding *binding)
{
    *vec_push(&node->configs) = dse_config(space, node, cost, ends, unroll, binding);
}

/* No default: the compiler says where a new kind is missing. */
static bool configs_of_kind(DseSpace *space, uint32_t number, const Op *instantiate)
{
    DseNode *node = &space->nodes.data[number];
    switch (node->kind) {
    case PROCESS_WINDOW: return dse_window_configs(space, node, instantiate);
    case PROCESS_COMPUTE: return dse_compute_configs(space, node);
    case PROCESS_REORDER:
    case PROCESS_MERGE:
    case PROCESS_CONVERTER: return dse_move_configs(space, node);
    case PROCESS_FORK: return dse_fork_configs(space, number, instantiate);
    }
    return false;
}

static bool node_configs(DseSpace *space, uint32_t number, const Op *instantiate)
{
    DseNode *node = &space->nodes.data[number];
    bool ok = configs_of_kind(space, number, instantiate);
    dse_keep_best(node);
    if (ok && dse_has_given_words(node->process)) return dse_keep_given_words(space, node);
    return ok && (node->configs.len > 0 ||
                  op_error(node->process, "needs words of more than %d bits", MAX_WORD_BITS));
}

/* Forks come last, because they take the words of their neighbours. */
static bool all_configs(DseSpace *space, const Op *const *instantiates)
{
    bool ok = true;
    for (uint32_t n = 0; ok && n < space->nodes.len; n++)
        if (space->nodes.data[n].kind != PROCESS_FORK) ok = node_configs(space, n, instantiates[n]);
    for (uint32_t n = 0; ok && n < space->nodes.len; n++)
        if (space->nodes.data[n].kind == PROCESS_FORK) ok = node_configs(space, n, instantiates[n]);
    return ok;
}

/* A region's port itself, or a channel that is connected to one. */
static bool is_at_boundary(const Value *end)
{
    const Op *channel = value_def(end);
    const Use *use = channel ? op_result(channel, 1 - end->index)->uses : NULL;
    return !use || use->owner->def != DFG(INSTANTIATE);
}

static bool add_node(DseSpace *space, const Op *instantiate)
{
    DseNode node = {.process = symbol_lookup(instantiate, op_attr(instantiate, "callee")),
                    .port_count = instantiate->operand_count,
                    .port_bits = space->target.port_bits};
    for (size_t i = 0; i < space->nodes.len; i++)
        if (space->nodes.data[i].process == node.process)
            return op_error(instantiate, "instantiates a process a second time");
    if (op_attr(node.process, DFG_ATTR_REPORT))
        return op_error(node.process, "has its factors already");
    if (!sched_process_kind(node.process, &node.kind) ||
        !dse_check_given_binding(node.process, &space->target))
        return false;
    node.at_boundary = ARENA_ARRAY(space->arena, bool, node.port_count);
    for (uint32_t i = 0; i < node.port_count; i++)
        node.at_boundary[i] = is_at_boundary(op_operand(instantiate, i));
    *vec_push(&space->nodes) = node;
    return true;
}

bool dse_check_process(const Op *instantiate, const CostTarget *target, Arena *arena)
{
    DseSpace space = {.arena = arena, .target = *target};
    bool ok = add_node(&space, instantiate) && node_configs(&space, 0, instantiate);
    dse_free(&space);
    return ok;
}

/* The node and port at a channel's end; false where the end is connected to a region port. */
static bool end_of(const PtrMap *index, const Value *end, uint32_t *node, uint32_t *port)
{
    const Use *use = end->uses;
    uintptr_t number = (uintptr_t)ptrmap_get(index, use->owner);
    *node = (uint32_t)(number - 1);
    *port = use_index(use);
    return number != 0;
}

static void add_edge(DseSpace *space, const PtrMap *index, Op *channel)
{
    DseEdge edge = {.channel = channel};
    if (end_of(index, op_result(channel, 0), &edge.from, &edge.from_port) &&
        end_of(index, op_result(channel, 1), &edge.to, &edge.to_port))
        *vec_push(&space->edges) = edge;
}

uint32_t dse_sort_nodes(const DseSpace *space, uint32_t *order)
{
    const uint32_t count = (uint32_t)space->nodes.len, edges = (uint32_t)space->edges.len;
    uint32_t *waits = xcalloc(count + 1, sizeof(*waits)), done = 0;
    uint32_t *last = xcalloc(count + 1, sizeof(*last));     /* edge from each node, from 1 on */
    uint32_t *before = xcalloc(edges + 1, sizeof(*before)); /* the edge from the same node */
    for (uint32_t e = 0; e < edges; e++) {
        const DseEdge *edge = &space->edges.data[e];
        waits[edge->to]++;
        before[e] = last[edge->from];
        last[edge->from] = e + 1;
    }
    for (uint32_t n = 0; n < count; n++)
        if (waits[n] == 0) order[done++] = n;
    for (uint32_t i = 0; i < done; i++)
        for (uint32_t e = last[order[i]]; e > 0; e = before[e - 1]) {
            const uint32_t to = space->edges.data[e - 1].to;
            if (--waits[to] == 0) order[done++] = to;
        }
    free_ptr((void **)&waits);
    free_ptr((void **)&last);
    free_ptr((void **)&before);
    return done;
}

/* The searches rely on it: a process that feeds itself would also wait for itself. */
static bool check_acyclic(const DseSpace *space)
{
    uint32_t count = (uint32_t)space->nodes.len;
    uint32_t *order = ARENA_ARRAY(space->arena, uint32_t, count + 1);
    bool *is_sorted = ARENA_ARRAY(space->arena, bool, count + 1);
    uint32_t done = dse_sort_nodes(space, order), first = 0;
    if (done == count) return true;
    for (uint32_t i = 0; i < done; i++) is_sorted[order[i]] = true;
    while (is_sorted[first]) first++;
    return op_error(space->nodes.data[first].process,
                    "is on a cycle of processes that feed each other, or behind one");
}

bool dse_space(const Op *region, const CostTarget *target, Arena *arena, DseSpace *out)
{
    PtrMap index = {0};
    VEC(const Op *) instantiates = {0};
    bool ok = true;
    *out = (DseSpace){.arena = arena, .region = region, .target = *target};
    Block *body = region_entry(op_region(region, 0));
    FOR_EACH_OP(op, body) {
        if (op->def != DFG(INSTANTIATE)) continue;
        ok = ok && add_node(out, op);
        *vec_push(&instantiates) = op;
        ptrmap_put(&index, op, (void *)(uintptr_t)out->nodes.len);
    }
    FOR_EACH_OP(op, body)
        if (ok && op->def == DFG(CHANNEL)) add_edge(out, &index, op);
    ok = ok && check_acyclic(out) && all_configs(out, instantiates.data) && dse_add_converters(out);
    ptrmap_free(&index);
    vec_free(&instantiates);
    if (!ok) dse_free(out);
    return ok;
}
