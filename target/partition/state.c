/* A partial placement: what is on each die and link, and which versions of the nodes fit together.
 * Versions concern one die each. When a node comes, its first version that fits beside the others is
 * taken; if there is none, all versions on the die are chosen anew, by a search of their own (pack.c). What
 * fits still does when something is taken away, so nothing has to be put back.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

/* Takes the ports of a link off the rows of the dies at its ends. */
static void reserve_link(PartitionState *state, const PartitionLink *link)
{
    for (int end = 0; end < 2; end++) {
        PartitionRows *rows = &state->rows[link->dies[end]];
        for (size_t r = 0; r < rows->len; r++)
            for (int k = 0; k < PARTITION_KINDS; k++)
                rows->data[r].limit -= rows->data[r].coefficient[k] * link->charge[end][k];
    }
}

static void set_rows(PartitionState *state)
{
    const PartitionPlatform *platform = state->model->platform;
    for (uint32_t i = 0; i < platform->die_count; i++) {
        state->rows[i].len = 0;
        partition_die_rows(platform, i, &state->rows[i]);
        for (int k = 0; k < PARTITION_KINDS; k++) {
            int64_t share = platform->dies[i].capacity[k] * state->per_mille / 1000;
            state->rows[i].data[k].limit = i64_min(state->rows[i].data[k].limit, share);
        }
    }
    for (size_t i = 0; i < platform->links.len; i++)
        if (state->is_reserved[i]) reserve_link(state, &platform->links.data[i]);
}

void partition_state_limit(PartitionState *state, int64_t per_mille)
{
    state->per_mille = per_mille;
    set_rows(state);
}

/* Whether the dies of some side do not suffice for what all nodes take of a kind. */
static bool is_too_small(const PartitionState *state, const int64_t *need, uint64_t dies)
{
    for (int k = 0; k < PARTITION_KINDS; k++) {
        int64_t room = 0;
        for (uint32_t i = 0; i < state->model->platform->die_count; i++)
            if (dies >> i & 1) room += state->rows[i].data[k].limit;
        if (need[k] > room) return true;
    }
    return false;
}

static void find_need(const PartitionModel *model, int64_t *need)
{
    for (size_t i = 0; i < model->nodes.len; i++)
        for (int k = 0; k < PARTITION_KINDS; k++) {
            const PartitionNode *node = &model->nodes.data[i];
            int64_t least = INT64_MAX;
            for (uint32_t v = 0; v < node->version_count; v++)
                least = i64_min(least, model->versions.data[node->version + v].use[k]);
            need[k] += least;
        }
}

void partition_state_reserve(PartitionState *state, uint64_t dies)
{
    const PartitionPlatform *platform = state->model->platform;
    int64_t need[PARTITION_KINDS] = {0};
    bool is_changed = state->is_connected;
    find_need(state->model, need);
    memset(state->is_reserved, 0, platform->links.len * sizeof *state->is_reserved);
    set_rows(state);
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = 0; i < platform->links.len; i++) {
            uint64_t side = state->is_reserved[i] ? 0 : partition_side_of(platform, i);
            if (!side || !is_too_small(state, need, dies & side) ||
                !is_too_small(state, need, dies & ~side))
                continue;
            state->is_reserved[i] = is_changed = true;
            set_rows(state);
        }
    }
}

/* Whether edges join all units. */
static bool find_connected(const PartitionState *state)
{
    uint32_t count = state->units.count, done = 0, found = count > 0;
    uint32_t *queue = xcalloc(count, sizeof *queue);
    bool *is_found = xcalloc(count, sizeof *is_found);
    if (count > 0) is_found[0] = true;
    for (; done < found; done++)
        for (uint32_t i = state->first_edge[queue[done]]; i < state->first_edge[queue[done] + 1];
             i++) {
            uint32_t other = partition_other_unit(state, state->edges[i], queue[done]);
            if (!is_found[other]) queue[found++] = other;
            is_found[other] = true;
        }
    free(queue);
    free(is_found);
    return found == count;
}

static void list_edges(PartitionState *state)
{
    const PartitionModel *model = state->model;
    const uint32_t *of = state->units.of;
    uint32_t done = 0;
    state->first_edge = xcalloc(state->units.count + 2, sizeof(uint32_t));
    state->edges = xcalloc(2 * model->edges.len + 1, sizeof(uint32_t));
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *e = &model->edges.data[k];
        if (of[e->from] == of[e->to]) continue;
        state->first_edge[of[e->from] + 2]++;
        state->first_edge[of[e->to] + 2]++;
    }
    for (uint32_t i = 2; i < state->units.count + 2; i++) {
        uint32_t count = state->first_edge[i];
        state->first_edge[i] = done + count;
        done += count;
    }
    for (uint32_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *e = &model->edges.data[k];
        if (of[e->from] == of[e->to]) continue;
        state->edges[state->first_edge[of[e->from] + 1]++] = k;
        state->edges[state->first_edge[of[e->to] + 1]++] = k;
    }
}

static void list_pairs(PartitionState *state)
{
    const PartitionModel *model = state->model;
    uint32_t done = 0;
    state->first_pair = xcalloc(state->units.count + 1, sizeof(uint32_t));
    state->pairs = xcalloc(2 * model->pairs.len + 1, sizeof(uint32_t));
    for (uint32_t u = 0; u < state->units.count; u++) {
        state->first_pair[u] = done;
        for (size_t i = 0; i < model->pairs.len; i++) {
            const PartitionPair *pair = &model->pairs.data[i];
            uint32_t a = state->units.of[pair->nodes[0]], b = state->units.of[pair->nodes[1]];
            if (!pair->same_card || a == b || (a != u && b != u)) continue;
            state->pairs[done++] = a == u ? b : a;
        }
    }
    state->first_pair[state->units.count] = done;
}

void partition_state_init(PartitionState *state, const PartitionModel *model,
                          const PartitionOptions *options)
{
    size_t links = model->platform->links.len;
    memset(state, 0, sizeof *state);
    state->model = model;
    state->options = options;
    state->max_steps = options->max_steps;
    partition_find_units(model, options, &state->units);
    partition_find_paths(model->platform, options->max_hops, &state->paths);
    state->per_mille = 1000;
    state->used = UINT64_MAX;
    state->is_reserved = xcalloc(links, sizeof(bool));
    set_rows(state);
    list_edges(state);
    list_pairs(state);
    state->is_connected = find_connected(state);
    state->die = xcalloc(state->units.count, sizeof(uint32_t));
    state->version = xcalloc(model->nodes.len, sizeof(uint32_t));
    state->link_use = xcalloc(2 * links, sizeof(int64_t));
    state->link_edges = xcalloc(links, sizeof(uint32_t));
    for (uint32_t i = 0; i < state->units.count; i++) state->die[i] = PARTITION_NONE;
}

void partition_state_free(PartitionState *state)
{
    for (uint32_t i = 0; i < PARTITION_MAX_DIES; i++) {
        vec_free(&state->rows[i]);
        vec_free(&state->dies[i].nodes);
    }
    partition_units_free(&state->units);
    partition_paths_free(&state->paths);
    free(state->first_edge);
    free(state->edges);
    free(state->first_pair);
    free(state->pairs);
    free(state->die);
    free(state->version);
    free(state->link_use);
    free(state->link_edges);
    free(state->is_reserved);
}

uint32_t partition_other_unit(const PartitionState *state, uint32_t edge, uint32_t unit)
{
    const PartitionEdge *e = &state->model->edges.data[edge];
    uint32_t from = state->units.of[e->from];
    return from == unit ? state->units.of[e->to] : from;
}

int64_t partition_edge_weight(const PartitionState *state, const int64_t *weights, uint32_t unit,
                              uint32_t die)
{
    size_t edges = state->model->edges.len;
    int64_t weight = 0;
    for (uint32_t i = state->first_edge[unit]; i < state->first_edge[unit + 1]; i++) {
        uint32_t edge = state->edges[i];
        uint32_t other = state->die[partition_other_unit(state, edge, unit)];
        if (other == PARTITION_NONE) continue;
        bool is_from = state->units.of[state->model->edges.data[edge].from] == unit;
        const PartitionPath *path =
            &state->paths.between[is_from ? die : other][is_from ? other : die];
        if (path->hops == PARTITION_NONE) return INT64_MAX;
        for (uint32_t j = 0; j < path->hops; j++)
            weight += weights[state->paths.steps.data[path->first + j] / 2 * edges + edge];
    }
    return weight;
}

const PartitionVersion *partition_version_of(const PartitionState *state, uint32_t node,
                                             uint32_t version)
{
    return &state->model->versions.data[state->model->nodes.data[node].version + version];
}

void partition_add_version(const PartitionState *state, uint32_t die,
                           const PartitionVersion *version, int64_t sign, int64_t *use,
                           uint32_t *controllers)
{
    int32_t c = version->controller;
    for (int k = 0; k < PARTITION_KINDS; k++) use[k] += sign * version->use[k];
    if (c < 0) return;
    if (sign < 0) controllers[c]--;
    if (controllers[c] == 0)
        for (int k = 0; k < PARTITION_KINDS; k++)
            use[k] += sign * state->model->platform->dies[die].charge[c][k];
    if (sign > 0) controllers[c]++;
}

bool partition_rows_hold(const PartitionState *state, uint32_t die, const int64_t *use)
{
    const PartitionRows *rows = &state->rows[die];
    for (size_t r = 0; r < rows->len; r++)
        if (!partition_row_holds(&rows->data[r], use)) return false;
    return true;
}

static bool is_available(const PartitionState *state, uint32_t die, const PartitionVersion *version)
{
    return partition_has_controller(&state->model->platform->dies[die], version->controller);
}

/* Chooses all versions on a die anew. False: none fit, and nothing has changed. */
static bool pack(PartitionState *state, uint32_t die)
{
    PartitionDieState *d = &state->dies[die];
    uint32_t count = (uint32_t)d->nodes.len;
    PartitionPacking p = {.state = state, .die = die, .nodes = d->nodes.data, .count = count};
    uint32_t *before = xcalloc(count, sizeof *before);
    memcpy(p.use, d->ports, sizeof p.use);
    for (uint32_t i = 0; i < count; i++) before[i] = state->version[d->nodes.data[i]];
    bool ok = partition_pack_nodes(&p);
    if (ok) {
        memcpy(d->use, p.use, sizeof p.use);
        memcpy(d->controllers, p.controllers, sizeof p.controllers);
    }
    for (uint32_t i = 0; !ok && i < count; i++) state->version[d->nodes.data[i]] = before[i];
    free(before);
    return ok;
}

bool partition_pack(PartitionState *state, uint32_t die, const uint32_t *nodes, uint32_t count,
                    const int64_t *ports, int64_t *use, uint32_t *controllers)
{
    PartitionPacking p = {.state = state, .die = die, .nodes = nodes, .count = count};
    memcpy(p.use, ports, sizeof p.use);
    bool ok = partition_pack_nodes(&p);
    memcpy(use, p.use, sizeof p.use);
    *controllers = 0;
    for (uint32_t c = 0; c < PARTITION_MAX_CONTROLLERS; c++)
        *controllers |= (uint32_t)(p.controllers[c] > 0) << c;
    return ok;
}

static void drop_node(PartitionState *state, uint32_t die)
{
    PartitionDieState *d = &state->dies[die];
    uint32_t node = d->nodes.data[--d->nodes.len];
    partition_add_version(state, die, partition_version_of(state, node, state->version[node]), -1,
                          d->use, d->controllers);
}

/* Puts a node on a die with the first version that fits, else with the first one there is. False:
 * the latter. */
static bool put_node(PartitionState *state, uint32_t die, uint32_t node)
{
    PartitionDieState *d = &state->dies[die];
    uint32_t count = state->model->nodes.data[node].version_count, any = 0;
    *vec_push(&d->nodes) = node;
    for (uint32_t v = count; v-- > 0;)
        if (is_available(state, die, partition_version_of(state, node, v))) any = v;
    for (uint32_t v = 0; v < count; v++) {
        const PartitionVersion *version = partition_version_of(state, node, v);
        if (!is_available(state, die, version)) continue;
        state->version[node] = v;
        partition_add_version(state, die, version, 1, d->use, d->controllers);
        if (partition_rows_hold(state, die, d->use)) return true;
        partition_add_version(state, die, version, -1, d->use, d->controllers);
    }
    state->version[node] = any;
    partition_add_version(state, die, partition_version_of(state, node, any), 1, d->use,
                          d->controllers);
    return false;
}

/* Edges to units that are placed. */

static void use_link(PartitionState *state, uint32_t step, const PartitionEdge *edge, int64_t sign)
{
    const PartitionLink *link = &state->model->platform->links.data[step / 2];
    state->link_use[step] += sign * (link->is_ethernet ? edge->mbps : edge->wires);
    if (sign < 0) state->link_edges[step / 2]--;
    bool is_charged = state->link_edges[step / 2] == 0 && !state->is_reserved[step / 2];
    for (int end = 0; is_charged && end < 2; end++)
        for (int k = 0; k < PARTITION_KINDS; k++) {
            state->dies[link->dies[end]].use[k] += sign * link->charge[end][k];
            state->dies[link->dies[end]].ports[k] += sign * link->charge[end][k];
        }
    if (sign > 0) state->link_edges[step / 2]++;
}

/* Lets an edge between placed units use its links, or no longer. */
static void use_path(PartitionState *state, uint32_t number, int64_t sign)
{
    const PartitionEdge *edge = &state->model->edges.data[number];
    uint32_t from = state->die[state->units.of[edge->from]];
    uint32_t to = state->die[state->units.of[edge->to]];
    const PartitionPath *path = &state->paths.between[from][to];
    for (uint32_t i = 0; i < path->hops; i++)
        use_link(state, state->paths.steps.data[path->first + i], edge, sign);
    if (from != to) state->arcs[from][to] += (uint32_t)sign;
}

static void use_edges(PartitionState *state, uint32_t unit, int64_t sign)
{
    for (uint32_t i = state->first_edge[unit]; i < state->first_edge[unit + 1]; i++)
        if (state->die[partition_other_unit(state, state->edges[i], unit)] != PARTITION_NONE)
            use_path(state, state->edges[i], sign);
}

static bool can_reach(const PartitionState *state, uint32_t unit, uint32_t die)
{
    const PartitionPlatform *platform = state->model->platform;
    for (uint32_t i = state->first_edge[unit]; i < state->first_edge[unit + 1]; i++) {
        uint32_t other = state->die[partition_other_unit(state, state->edges[i], unit)];
        if (other != PARTITION_NONE && state->paths.between[die][other].hops == PARTITION_NONE)
            return false;
    }
    for (uint32_t i = state->first_pair[unit]; i < state->first_pair[unit + 1]; i++) {
        uint32_t other = state->die[state->pairs[i]];
        if (other != PARTITION_NONE && platform->dies[other].card != platform->dies[die].card)
            return false;
    }
    return true;
}

static bool links_hold(const PartitionState *state)
{
    const PartitionPlatform *platform = state->model->platform;
    for (size_t i = 0; i < 2 * platform->links.len; i++)
        if (state->link_use[i] > platform->links.data[i / 2].capacity) return false;
    return true;
}

/* Whether the edges between dies have no circle: dies without an edge from others are taken away
 * until none is left. */
static bool is_acyclic(const PartitionState *state)
{
    uint32_t count = state->model->platform->die_count;
    uint64_t left = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1, before;
    do {
        before = left;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t arcs = 0;
            for (uint32_t j = 0; j < count; j++)
                if (left >> j & 1) arcs += state->arcs[j][i];
            if (arcs == 0) left &= ~(UINT64_C(1) << i);
        }
    } while (left != before);
    return left == 0;
}

/* Whether all dies hold what they have; versions are chosen anew where they do not fit. The dies at
 * the ends of Ethernet links may have got ports. */
static bool dies_hold(PartitionState *state)
{
    for (uint32_t i = 0; i < state->model->platform->die_count; i++)
        if (!partition_rows_hold(state, i, state->dies[i].use) && !pack(state, i)) return false;
    return true;
}

void partition_remove(PartitionState *state, uint32_t unit)
{
    uint32_t count = state->units.first[unit + 1] - state->units.first[unit];
    for (uint32_t i = 0; i < count; i++) drop_node(state, state->die[unit]);
    use_edges(state, unit, -1);
    state->die[unit] = PARTITION_NONE;
}

bool partition_place(PartitionState *state, uint32_t unit, uint32_t die)
{
    if (!can_reach(state, unit, die)) return false;
    state->die[unit] = die;
    use_edges(state, unit, 1);
    for (uint32_t i = state->units.first[unit]; i < state->units.first[unit + 1]; i++)
        (void)put_node(state, die, state->units.nodes[i]);
    if (links_hold(state) && (!state->options->is_convex || is_acyclic(state)) && dies_hold(state))
        return true;
    partition_remove(state, unit);
    return false;
}
