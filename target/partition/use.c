/* What a placement takes: of dies and links, and which kernels it makes.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

static const char *const goal_names[PARTITION_GOALS] = {
    [PARTITION_CARDS] = "cards",
    [PARTITION_ETHERNET] = "ethernet",
    [PARTITION_GBPS] = "gbps",
    [PARTITION_CROSSINGS] = "crossings",
    [PARTITION_WIRES] = "wires",
    [PARTITION_COST] = "cost",
    [PARTITION_UTILIZATION] = "utilization",
};

const char *partition_goal_name(PartitionGoal goal)
{
    return goal_names[goal];
}

static void add_node(const PartitionModel *model, uint32_t die, const PartitionVersion *version,
                     PartitionUse *out)
{
    int32_t c = version->controller;
    for (int k = 0; k < PARTITION_KINDS; k++) out->dies[die][k] += version->use[k];
    if (c < 0 || out->controllers[die] >> c & 1) return;
    out->controllers[die] |= UINT32_C(1) << c;
    for (int k = 0; k < PARTITION_KINDS; k++)
        out->dies[die][k] += model->platform->dies[die].charge[c][k];
}

static void add_edges(const PartitionModel *model, const PartitionPaths *paths,
                      const uint32_t *dies, PartitionUse *out)
{
    const PartitionPlatform *platform = model->platform;
    bool *is_used = xcalloc(platform->links.len, sizeof *is_used);
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        const PartitionPath *path = &paths->between[dies[edge->from]][dies[edge->to]];
        for (uint32_t i = 0; i < path->hops; i++) {
            uint32_t step = paths->steps.data[path->first + i];
            const PartitionLink *link = &platform->links.data[step / 2];
            out->links.data[step] += link->is_ethernet ? edge->mbps : edge->wires;
            for (int end = 0; !is_used[step / 2] && end < 2; end++)
                for (int r = 0; r < PARTITION_KINDS; r++)
                    out->dies[link->dies[end]][r] += link->charge[end][r];
            is_used[step / 2] = true;
        }
    }
    free(is_used);
}

/* Kernels: nodes of a die at one level. Along an edge to another die that comes no later in the
 * order of the dies, the level rises; so edges between kernels of a level go one way through that
 * order, and there is no circle. The order is one without edges backwards as far as there is one. */
static void rank_dies(const PartitionModel *model, const uint32_t *dies, uint32_t *rank)
{
    uint32_t count = model->platform->die_count, done = 0;
    bool is_done[PARTITION_MAX_DIES] = {false};
    while (done < count) {
        uint32_t best = PARTITION_NONE, least = PARTITION_NONE;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t arcs = 0;
            for (size_t k = 0; k < model->edges.len; k++) {
                uint32_t from = dies[model->edges.data[k].from];
                arcs += dies[model->edges.data[k].to] == i && from != i && !is_done[from];
            }
            if (is_done[i] || arcs >= least) continue;
            least = arcs;
            best = i;
        }
        is_done[best] = true;
        rank[best] = done++;
    }
}

static void find_kernels(const PartitionModel *model, const uint32_t *dies, PartitionUse *out)
{
    uint32_t count = (uint32_t)model->nodes.len, node, kernels = 0, most = 0;
    uint32_t rank[PARTITION_MAX_DIES];
    uint32_t *order = xcalloc(count, sizeof *order), *level = xcalloc(count, sizeof *level);
    bool ok = partition_topological_order(model, order, &node);
    rank_dies(model, dies, rank);
    for (uint32_t i = 0; ok && i < count; i++)
        for (size_t k = 0; k < model->edges.len; k++) {
            const PartitionEdge *edge = &model->edges.data[k];
            if (edge->from != order[i]) continue;
            uint32_t next = level[edge->from] + (rank[dies[edge->to]] < rank[dies[edge->from]]);
            if (next > level[edge->to]) level[edge->to] = next;
        }
    for (uint32_t i = 0; i < count; i++) most = level[i] > most ? level[i] : most;
    for (uint32_t die = 0; die < model->platform->die_count; die++)
        for (uint32_t l = 0; l <= most; l++) {
            bool is_used = false;
            for (uint32_t i = 0; i < count; i++) {
                if (dies[i] != die || level[i] != l) continue;
                out->kernels.data[i] = kernels;
                is_used = true;
            }
            kernels += is_used;
        }
    free(order);
    free(level);
}

void partition_measure(const PartitionModel *model, const PartitionOptions *options,
                       const PartitionPlacement *placement, PartitionUse *out)
{
    PartitionPaths *paths = xcalloc(1, sizeof *paths);
    const uint32_t *dies = placement->dies.data;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < 2 * model->platform->links.len; i++) *vec_push(&out->links) = 0;
    for (size_t i = 0; i < model->nodes.len; i++) *vec_push(&out->kernels) = 0;
    partition_find_paths(model->platform, options->max_hops, paths);
    for (size_t i = 0; i < model->nodes.len; i++)
        add_node(model, dies[i],
                 &model->versions.data[model->nodes.data[i].version + placement->versions.data[i]],
                 out);
    add_edges(model, paths, dies, out);
    find_kernels(model, dies, out);
    partition_paths_free(paths);
    free(paths);
}

void partition_use_free(PartitionUse *use)
{
    vec_free(&use->links);
    vec_free(&use->kernels);
}

void partition_placement_free(PartitionPlacement *placement)
{
    vec_free(&placement->dies);
    vec_free(&placement->versions);
}

/* Values of goals. */

static int64_t count_cards(const PartitionModel *model, const uint32_t *dies)
{
    uint32_t cards = 0;
    int64_t count = 0;
    for (size_t i = 0; i < model->nodes.len; i++)
        cards |= UINT32_C(1) << model->platform->dies[dies[i]].card;
    for (; cards; cards &= cards - 1) count++;
    return count;
}

static int64_t greatest_share(const PartitionModel *model, const PartitionUse *use)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < model->platform->die_count; i++)
        for (int k = 0; k < PARTITION_KINDS; k++) {
            int64_t capacity = model->platform->dies[i].capacity[k];
            if (use->dies[i][k] > 0)
                most = i64_max(most, (use->dies[i][k] * 1000 + capacity - 1) / capacity);
        }
    return most;
}

static int64_t sum_links(const PartitionModel *model, const PartitionPaths *paths,
                         const uint32_t *dies, PartitionGoal goal)
{
    int64_t sum = 0;
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        const PartitionPath *path = &paths->between[dies[edge->from]][dies[edge->to]];
        for (uint32_t i = 0; i < path->hops; i++)
            sum += partition_goal_weight(
                goal, &model->platform->links.data[paths->steps.data[path->first + i] / 2], edge);
    }
    return sum;
}

void partition_values(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *placement)
{
    PartitionPaths *paths = xcalloc(1, sizeof *paths);
    const uint32_t *dies = placement->dies.data;
    PartitionUse use;
    partition_find_paths(model->platform, options->max_hops, paths);
    partition_measure(model, options, placement, &use);
    for (uint32_t g = 0; g < options->goal_count; g++)
        placement->values[g] = options->goals[g] == PARTITION_CARDS ? count_cards(model, dies)
                               : options->goals[g] == PARTITION_UTILIZATION
                                   ? greatest_share(model, &use)
                                   : sum_links(model, paths, dies, options->goals[g]);
    partition_use_free(&use);
    partition_paths_free(paths);
    free(paths);
}
