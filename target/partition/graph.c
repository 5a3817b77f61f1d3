/* Facts about the graph and the platform that come before the search: paths between dies, nodes
 * that stay together, orders.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

void partition_model_free(PartitionModel *model)
{
    vec_free(&model->nodes);
    vec_free(&model->versions);
    vec_free(&model->edges);
    vec_free(&model->pairs);
}

/* Paths. */

typedef struct Reach {
    uint32_t hops, link, from; /* the last link of the path, with its direction, and its start */
    int64_t least;             /* capacity */
} Reach;

/* Extends the paths of one length by a link each. */
static bool extend_paths(const PartitionPlatform *platform, uint32_t hops, Reach *reach)
{
    bool is_changed = false;
    for (uint32_t i = 0; i < platform->links.len; i++) {
        const PartitionLink *link = &platform->links.data[i];
        for (uint32_t end = 0; end < 2; end++) {
            const Reach *from = &reach[link->dies[end]];
            Reach *to = &reach[link->dies[!end]];
            int64_t least = i64_min(from->least, link->capacity);
            if (from->hops != hops || to->hops <= hops) continue;
            if (to->hops == hops + 1 && to->least >= least) continue;
            *to = (Reach){hops + 1, 2 * i + end, link->dies[end], least};
            is_changed = true;
        }
    }
    return is_changed;
}

static void add_path(PartitionPaths *paths, uint32_t from, uint32_t to, const Reach *reach)
{
    PartitionPath *path = &paths->between[from][to];
    *path = (PartitionPath){reach[to].hops, (uint32_t)paths->steps.len};
    if (path->hops == PARTITION_NONE) return;
    for (uint32_t i = 0; i < path->hops; i++) *vec_push(&paths->steps) = 0;
    for (uint32_t die = to, i = path->hops; i-- > 0; die = reach[die].from)
        paths->steps.data[path->first + i] = reach[die].link;
}

void partition_find_paths(const PartitionPlatform *platform, int64_t max_hops, PartitionPaths *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < platform->die_count; i++) {
        Reach reach[PARTITION_MAX_DIES];
        for (uint32_t j = 0; j < platform->die_count; j++)
            reach[j] = (Reach){PARTITION_NONE, 0, 0, 0};
        reach[i] = (Reach){0, 0, 0, INT64_MAX};
        for (uint32_t hops = 0; hops < max_hops && extend_paths(platform, hops, reach); hops++)
            continue;
        for (uint32_t j = 0; j < platform->die_count; j++) add_path(out, i, j, reach);
    }
}

void partition_paths_free(PartitionPaths *paths)
{
    vec_free(&paths->steps);
}

uint64_t partition_side_of(const PartitionPlatform *platform, uint32_t link)
{
    const uint32_t *own = platform->links.data[link].dies;
    uint64_t side = UINT64_C(1) << own[0], before;
    do {
        before = side;
        for (uint32_t i = 0; i < platform->links.len; i++) {
            const uint32_t *ends = platform->links.data[i].dies;
            if (i != link && ((side >> ends[0] | side >> ends[1]) & 1))
                side |= UINT64_C(1) << ends[0] | UINT64_C(1) << ends[1];
        }
    } while (side != before);
    return side >> own[1] & 1 ? 0 : side;
}

int64_t partition_goal_weight(PartitionGoal goal, const PartitionLink *link,
                              const PartitionEdge *edge)
{
    enum { ETHERNET_COST = 10 };
    switch (goal) {
    case PARTITION_ETHERNET: return link->is_ethernet;
    case PARTITION_GBPS: return link->is_ethernet ? edge->mbps : 0;
    case PARTITION_CROSSINGS: return !link->is_ethernet;
    case PARTITION_WIRES: return link->is_ethernet ? 0 : edge->wires;
    case PARTITION_COST: return link->is_ethernet ? ETHERNET_COST : 1;
    default: return 0;
    }
}

/* Orders. */

bool partition_topological_order(const PartitionModel *model, uint32_t *order, uint32_t *node)
{
    uint32_t count = (uint32_t)model->nodes.len, done = 0;
    uint32_t *missing = xcalloc(count, sizeof *missing); /* predecessors; NONE: in the order */
    for (size_t k = 0; k < model->edges.len; k++) missing[model->edges.data[k].to]++;
    for (*node = 0; *node < count;) {
        for (*node = 0; *node < count && missing[*node] != 0; ++*node) continue;
        if (*node == count) break;
        order[done++] = *node;
        missing[*node] = PARTITION_NONE;
        for (size_t k = 0; k < model->edges.len; k++)
            if (model->edges.data[k].from == *node) missing[model->edges.data[k].to]--;
    }
    /* The first node left has a predecessor that is left, and so on back into a circle. */
    for (*node = 0; *node < count && missing[*node] == PARTITION_NONE;) ++*node;
    for (uint32_t i = 0; done < count && i < count; i++) {
        size_t k = 0;
        while (model->edges.data[k].to != *node ||
               missing[model->edges.data[k].from] == PARTITION_NONE)
            k++;
        *node = model->edges.data[k].from;
    }
    free(missing);
    return done == count;
}

/* Edges by node, in both directions. */
typedef struct Neighbours {
    uint32_t *first, *edges;
} Neighbours;

static Neighbours find_neighbours(const PartitionModel *model)
{
    size_t count = model->nodes.len;
    Neighbours n = {xcalloc(count + 2, sizeof(uint32_t)),
                    xcalloc(2 * model->edges.len + 1, sizeof(uint32_t))};
    for (size_t k = 0; k < model->edges.len; k++) {
        n.first[model->edges.data[k].from + 2]++;
        n.first[model->edges.data[k].to + 2]++;
    }
    for (size_t i = 2; i <= count; i++) n.first[i] += n.first[i - 1];
    for (uint32_t k = 0; k < model->edges.len; k++) {
        n.edges[n.first[model->edges.data[k].from + 1]++] = k;
        n.edges[n.first[model->edges.data[k].to + 1]++] = k;
    }
    return n;
}

/* Tarjan's algorithm with a stack of its own: graphs may be long chains. */
typedef struct BridgeVisit {
    uint32_t node, edge, next; /* by which edge it came; the next one to look at */
} BridgeVisit;

static void visit_bridges(const PartitionModel *model, const Neighbours *n, uint32_t root,
                          uint32_t *number, uint32_t *low, uint32_t *clock, BridgeVisit *stack,
                          bool *is_bridge)
{
    uint32_t depth = 1;
    stack[0] = (BridgeVisit){root, PARTITION_NONE, n->first[root]};
    number[root] = low[root] = ++*clock;
    while (depth > 0) {
        BridgeVisit *top = &stack[depth - 1];
        if (top->next == n->first[top->node + 1]) {
            depth--;
            if (depth == 0) break;
            uint32_t parent = stack[depth - 1].node;
            if (low[top->node] > number[parent]) is_bridge[top->edge] = true;
            if (low[top->node] < low[parent]) low[parent] = low[top->node];
            continue;
        }
        uint32_t edge = n->edges[top->next++];
        const PartitionEdge *e = &model->edges.data[edge];
        uint32_t other = e->from == top->node ? e->to : e->from;
        if (edge == top->edge) continue;
        if (number[other] == 0) {
            number[other] = low[other] = ++*clock;
            stack[depth++] = (BridgeVisit){other, edge, n->first[other]};
        } else if (number[other] < low[top->node]) {
            low[top->node] = number[other];
        }
    }
}

void partition_find_bridges(const PartitionModel *model, bool *is_bridge)
{
    size_t count = model->nodes.len;
    Neighbours n = find_neighbours(model);
    uint32_t *number = xcalloc(count, sizeof *number), *low = xcalloc(count, sizeof *low);
    BridgeVisit *stack = xcalloc(count, sizeof *stack);
    uint32_t clock = 0;
    memset(is_bridge, 0, model->edges.len * sizeof *is_bridge);
    for (uint32_t i = 0; i < count; i++)
        if (number[i] == 0) visit_bridges(model, &n, i, number, low, &clock, stack, is_bridge);
    free(n.first);
    free(n.edges);
    free(number);
    free(low);
    free(stack);
}

/* Units. */

static uint32_t root_of(uint32_t *parts, uint32_t node)
{
    while (parts[node] != node) node = parts[node] = parts[parts[node]];
    return node;
}

static void join(uint32_t *parts, uint32_t a, uint32_t b)
{
    a = root_of(parts, a);
    b = root_of(parts, b);
    if (a < b) parts[b] = a;
    if (b < a) parts[a] = b;
}

static void join_nodes(const PartitionModel *model, const PartitionOptions *options,
                       uint32_t *parts)
{
    bool *is_bridge = xcalloc(model->edges.len, sizeof *is_bridge);
    for (uint32_t i = 0; i < model->nodes.len; i++) parts[i] = i;
    for (size_t i = 0; i < model->pairs.len; i++)
        if (!model->pairs.data[i].same_card)
            join(parts, model->pairs.data[i].nodes[0], model->pairs.data[i].nodes[1]);
    if (options->is_linear) partition_find_bridges(model, is_bridge);
    for (size_t k = 0; options->is_linear && k < model->edges.len; k++)
        if (!is_bridge[k]) join(parts, model->edges.data[k].from, model->edges.data[k].to);
    free(is_bridge);
}

/* Where a version may be. */
static uint64_t controller_dies(const PartitionPlatform *platform, int32_t controller)
{
    uint64_t dies = 0;
    for (uint32_t i = 0; i < platform->die_count; i++)
        if (partition_has_controller(&platform->dies[i], controller)) dies |= UINT64_C(1) << i;
    return dies;
}

static uint64_t node_dies(const PartitionModel *model, const PartitionNode *node)
{
    uint64_t dies = 0;
    for (uint32_t v = 0; v < node->version_count; v++)
        dies |=
            controller_dies(model->platform, model->versions.data[node->version + v].controller);
    return dies & node->dies;
}

void partition_find_units(const PartitionModel *model, const PartitionOptions *options,
                          PartitionUnits *out)
{
    uint32_t count = (uint32_t)model->nodes.len, done = 0;
    uint32_t *parts = xcalloc(count, sizeof *parts);
    join_nodes(model, options, parts);
    *out = (PartitionUnits){.of = xcalloc(count, sizeof(uint32_t)),
                            .nodes = xcalloc(count, sizeof(uint32_t)),
                            .first = xcalloc(count + 1, sizeof(uint32_t)),
                            .dies = xcalloc(count, sizeof(uint64_t))};
    for (uint32_t i = 0; i < count; i++) {
        if (root_of(parts, i) != i) continue;
        out->dies[out->count] = UINT64_MAX;
        out->first[out->count] = done;
        for (uint32_t j = i; j < count; j++) {
            if (root_of(parts, j) != i) continue;
            out->of[j] = out->count;
            out->nodes[done++] = j;
            out->dies[out->count] &= node_dies(model, &model->nodes.data[j]);
        }
        out->first[++out->count] = done;
    }
    free(parts);
}

void partition_units_free(PartitionUnits *units)
{
    free(units->of);
    free(units->nodes);
    free(units->first);
    free(units->dies);
}
