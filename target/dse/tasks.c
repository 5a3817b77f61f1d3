/* A chosen design as the task graph that target/partition places.
 * Tests: lit/emit/dies.test, test/e2e/dies_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

/* valid, ready and last of a stream. */
enum { HANDSHAKE_WIRES = 3 };

int64_t dse_wires(int64_t bits)
{
    return bits + HANDSHAKE_WIRES;
}

bool dse_converts_at_writer(const Type *from, const Type *to)
{
    return dse_word_bits(to) <= dse_word_bits(from);
}

/* The two ends of every channel: the node in front of a converter, and that behind it. */
typedef struct Channel {
    uint32_t from, to, converter;
} Channel;

typedef VEC(Channel) Channels;

static void list_channels(const DseSpace *space, Channels *out)
{
    uint32_t *from = xcalloc(space->nodes.len + 1, sizeof *from);
    for (size_t i = 0; i < space->edges.len; i++)
        if (space->edges.data[i].channel) from[space->edges.data[i].to] = space->edges.data[i].from;
    for (size_t i = 0; i < space->edges.len; i++) {
        const DseEdge *edge = &space->edges.data[i];
        if (!edge->channel) *vec_push(out) = (Channel){from[edge->from], edge->to, edge->from};
    }
    free_ptr((void **)&from);
}

static bool is_dominated(const int64_t *a, const int64_t *b)
{
    bool is_worse = true;
    for (int k = 0; k < PARTITION_KINDS; k++) is_worse &= a[k] >= b[k];
    return is_worse;
}

static void get_use(const Cost *cost, const Cost *converters, int64_t use[PARTITION_KINDS])
{
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        use[k] = i64_min(PARTITION_MAX_AMOUNT,
                         cost->items[dse_cost_kind(k)] + converters->items[dse_cost_kind(k)]);
}

/* Whether a configuration can stand for the chosen one without slowing the design down. */
static bool is_version(const DseNode *node, const Config *config, const Config *chosen,
                       const DseTask *task, int64_t slowest)
{
    bool is_rate = task->objective == DSE_THROUGHPUT || task->objective == DSE_FPS;
    if (memcmp(config->word, chosen->word, node->port_count * sizeof *chosen->word) != 0)
        return false;
    if (is_rate) return config->interval <= slowest;
    return config->interval <= chosen->interval && config->cost.cycles <= chosen->cost.cycles &&
           config->cost.items[COST_FILL] <= chosen->cost.items[COST_FILL];
}

/* Adds a version unless one that is there is as good in all kinds. */
static void add_version(DseTasks *tasks, const PartitionNode *node, uint32_t config,
                        const Cost *cost, const Cost *converters)
{
    PartitionVersion version = {.name = STR(""), .controller = -1};
    get_use(cost, converters, version.use);
    for (size_t v = node->version; v < tasks->model.versions.len; v++)
        if (is_dominated(version.use, tasks->model.versions.data[v].use)) return;
    if (tasks->model.versions.len - node->version == PARTITION_MAX_VERSIONS) return;
    *vec_push(&tasks->model.versions) = version;
    *vec_push(&tasks->configs) = config;
}

static void add_node(const DseSpace *space, const uint32_t *chosen, uint32_t number,
                     const DseAnchors *anchors, const DseTask *task, const Cost *converters,
                     DseTasks *tasks)
{
    const DseNode *from = &space->nodes.data[number];
    const Config *config = &from->configs.data[chosen[number]];
    int64_t slowest = task->objective == DSE_FPS ? task->interval : dse_interval(space, chosen);
    PartitionNode node = {.name = symbol_name(from->process)->str,
                          .version = (uint32_t)tasks->model.versions.len,
                          .dies = anchors->dies[number]};
    add_version(tasks, &node, chosen[number], &config->cost, converters);
    for (uint32_t c = 0; c < from->configs.len; c++)
        if (is_version(from, &from->configs.data[c], config, task, slowest))
            add_version(tasks, &node, c, &from->configs.data[c].cost, converters);
    node.version_count = (uint32_t)tasks->model.versions.len - node.version;
    tasks->node_of[number] = (uint32_t)tasks->model.nodes.len;
    *vec_push(&tasks->model.nodes) = node;
    *vec_push(&tasks->nodes) = number;
}

static const Type *word_of(const DseSpace *space, const Config *config, uint32_t port)
{
    return space->words.data[config->word[port]];
}

static void add_edge(const DseSpace *space, const uint32_t *chosen, const Channel *channel,
                     DseTasks *tasks)
{
    const Config *config =
        &space->nodes.data[channel->converter].configs.data[chosen[channel->converter]];
    int64_t bits =
        i64_min(dse_word_bits(word_of(space, config, 0)), dse_word_bits(word_of(space, config, 1)));
    *vec_push(&tasks->model.edges) = (PartitionEdge){
        tasks->node_of[channel->from], tasks->node_of[channel->to], dse_wires(bits), 0};
}

static void add_pair(DseTasks *tasks, uint32_t a, uint32_t b)
{
    *vec_push(&tasks->model.pairs) = (PartitionPair){{tasks->node_of[a], tasks->node_of[b]}, false};
}

static bool has_table(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op_has_trait(op, TRAIT_CONSTANT_LIKE) && type_is_shaped(op_result(op, 0)->type))
            return true;
    return false;
}

/* Tables that are loaded at start-up take their words from a chain of processes in the module's
 * order. A process that load-weights leaves out only shortens it. */
static void add_chain(const DseSpace *space, DseTasks *tasks)
{
    enum { CHAIN_BITS = 64 };
    PtrMap numbers = {0};
    uint32_t last = 0;
    for (size_t i = 0; i < tasks->nodes.len; i++)
        ptrmap_put(&numbers, space->nodes.data[tasks->nodes.data[i]].process,
                   (void *)(uintptr_t)(i + 1));
    FOR_EACH_OP(op, space->region->block) {
        uint32_t number = (uint32_t)(uintptr_t)ptrmap_get(&numbers, op);
        if (number == 0 || !has_table(op)) continue;
        if (last > 0)
            *vec_push(&tasks->model.edges) =
                (PartitionEdge){last - 1, number - 1, dse_wires(CHAIN_BITS), 0};
        last = number;
    }
    ptrmap_free(&numbers);
}

/* What of each node's cost belongs to converters and FIFOs at its channels. */
static Cost *converter_costs(const DseSpace *space, const uint32_t *chosen,
                             const Channels *channels)
{
    Cost *costs = xcalloc(space->nodes.len + 1, sizeof *costs);
    for (size_t i = 0; i < channels->len; i++) {
        const Channel *c = &channels->data[i];
        const Config *config = &space->nodes.data[c->converter].configs.data[chosen[c->converter]];
        bool is_at_writer =
            dse_converts_at_writer(word_of(space, config, 0), word_of(space, config, 1));
        cost_add(&costs[is_at_writer ? c->from : c->to], &config->cost);
    }
    return costs;
}

void dse_tasks(const DseSpace *space, const uint32_t *chosen, const PartitionPlatform *platform,
               const DseAnchors *anchors, const DseTask *task, bool joins, DseTasks *out)
{
    Channels channels = {0};
    *out = (DseTasks){.model = {.platform = platform, .name = STR("design")}};
    out->node_of = xcalloc(space->nodes.len + 1, sizeof *out->node_of);
    list_channels(space, &channels);
    Cost *costs = converter_costs(space, chosen, &channels);
    for (uint32_t n = 0; n < space->nodes.len; n++)
        if (space->nodes.data[n].process) add_node(space, chosen, n, anchors, task, &costs[n], out);
    for (size_t i = 0; i < channels.len; i++) {
        const Channel *c = &channels.data[i];
        add_edge(space, chosen, c, out);
        if (joins && (space->nodes.data[c->from].kind == PROCESS_WINDOW ||
                      space->nodes.data[c->to].kind == PROCESS_FORK))
            add_pair(out, c->from, c->to);
    }
    if (space->target.loads_tables) add_chain(space, out);
    for (size_t i = 0; i < anchors->pairs.len; i++)
        add_pair(out, anchors->pairs.data[i].nodes[0], anchors->pairs.data[i].nodes[1]);
    free_ptr((void **)&costs);
    vec_free(&channels);
}

void dse_tasks_free(DseTasks *tasks)
{
    partition_model_free(&tasks->model);
    free_ptr((void **)&tasks->node_of);
    vec_free(&tasks->nodes);
    vec_free(&tasks->configs);
}
