/* Labels of the search by layers: what a unit more takes of dies and links, what the rest weighs and
 * needs at least, and which of two labels is as good as the other.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <string.h>

#include "target/partition/layers/internal.h"

void partition_layers_lay_out(Layers *l)
{
    size_t at = sizeof(Label);
    l->use_at = at;
    at += (size_t)l->die_count * PARTITION_KINDS * sizeof(int64_t);
    l->set_at = at;
    at += (size_t)l->die_count * l->words * sizeof(uint64_t);
    l->left_at = at;
    at += (size_t)l->die_count * l->measure_count * sizeof(int64_t);
    l->link_at = at;
    at += (size_t)2 * l->link_count * sizeof(int64_t);
    l->arcs_at = at;
    at += ((size_t)l->die_count + (l->link_count + 63) / 64) * sizeof(uint64_t);
    l->controllers_at = at;
    at += (size_t)l->die_count * sizeof(uint32_t);
    l->edges_at = at;
    at += (size_t)l->link_count * sizeof(uint32_t);
    l->open_at = at;
    l->size = (at + l->open_count + 1 + 7) / 8 * 8;
}

/* Lets an edge from die to die use its links. False: one would carry too much. */
static bool use_path(const Layers *l, Label *label, const PartitionEdge *edge, uint32_t from,
                     uint32_t to, uint64_t *charged)
{
    const PartitionState *s = l->state;
    const PartitionPath *path = &s->paths.between[from][to];
    if (from == to) return true;
    uint64_t *flags = arcs_of(l, label) + l->die_count;
    arcs_of(l, label)[from] |= UINT64_C(1) << to;
    for (uint32_t i = 0; i < path->hops; i++) {
        uint32_t step = s->paths.steps.data[path->first + i], number = step / 2;
        const PartitionLink *link = &s->model->platform->links.data[number];
        int64_t *carried = &links_of(l, label)[step];
        *carried += link->is_ethernet ? edge->mbps : edge->wires;
        if (*carried > link->capacity) return false;
        bool is_new = !(flags[number / 64] >> (number % 64) & 1) && !s->is_reserved[number];
        flags[number / 64] |= UINT64_C(1) << number % 64;
        for (int end = 0; is_new && end < 2; end++) {
            for (int k = 0; k < PARTITION_KINDS; k++)
                use_of(l, label, link->dies[end])[k] += link->charge[end][k];
            for (uint32_t m = 0; m < l->measure_count; m++)
                for (int k = 0; k < PARTITION_KINDS; k++)
                    left_of(l, label)[link->dies[end] * l->measure_count + m] -=
                        l->measures[m].weight[k] * link->charge[end][k];
            *charged |= UINT64_C(1) << link->dies[end];
        }
    }
    return true;
}

/* What the ports on a die take. */
static void ports_of(const Layers *l, const Label *label, uint32_t die, int64_t *ports)
{
    const PartitionState *s = l->state;
    const uint64_t *flags = arcs_of(l, label) + l->die_count;
    memset(ports, 0, PARTITION_KINDS * sizeof *ports);
    for (uint32_t i = 0; i < l->link_count; i++) {
        const PartitionLink *link = &s->model->platform->links.data[i];
        if (s->is_reserved[i] || !(flags[i / 64] >> (i % 64) & 1)) continue;
        for (int end = 0; end < 2; end++)
            for (int k = 0; link->dies[end] == die && k < PARTITION_KINDS; k++)
                ports[k] += link->charge[end][k];
    }
}

/* Chooses all versions on a die anew. */
static bool pack_again(const Layers *l, Label *label, uint32_t die)
{
    const PartitionState *s = l->state;
    uint32_t count = 0;
    int64_t ports[PARTITION_KINDS];
    ports_of(l, label, die, ports);
    for (uint32_t u = 0; u < l->count; u++) {
        if (!(set_of(l, label, die)[u / 64] >> (u % 64) & 1)) continue;
        for (uint32_t i = s->units.first[u]; i < s->units.first[u + 1]; i++)
            l->packed[count++] = s->units.nodes[i];
    }
    return partition_pack(l->state, die, l->packed, count, ports, use_of(l, label, die),
                          &controllers_of(l, label)[die]);
}

/* Adds a node with its first version that fits; false: there is none. */
static bool put_node(const Layers *l, Label *label, uint32_t die, uint32_t number)
{
    const PartitionModel *model = l->state->model;
    const PartitionNode *node = &model->nodes.data[number];
    int64_t *use = use_of(l, label, die);
    uint32_t *controllers = &controllers_of(l, label)[die];
    for (uint32_t v = 0; v < node->version_count; v++) {
        const PartitionVersion *version = &model->versions.data[node->version + v];
        int64_t sum[PARTITION_KINDS];
        int32_t c = version->controller;
        bool is_new = c >= 0 && !(*controllers >> c & 1);
        if (!partition_has_controller(&model->platform->dies[die], c)) continue;
        for (int k = 0; k < PARTITION_KINDS; k++)
            sum[k] =
                use[k] + version->use[k] + (is_new ? model->platform->dies[die].charge[c][k] : 0);
        if (!partition_rows_hold(l->state, die, sum)) continue;
        memcpy(use, sum, sizeof sum);
        if (is_new) *controllers |= UINT32_C(1) << c;
        return true;
    }
    return false;
}

/* Whether the edges between dies have no circle. */
static bool is_acyclic(const Layers *l, const Label *label)
{
    const uint64_t *arcs = arcs_of(l, label);
    uint64_t left = l->die_count == 64 ? UINT64_MAX : (UINT64_C(1) << l->die_count) - 1, before;
    do {
        before = left;
        for (uint32_t i = 0; i < l->die_count; i++)
            if ((left >> i & 1) && !(arcs[i] & left)) left &= ~(UINT64_C(1) << i);
    } while (left != before);
    return left == 0;
}

bool partition_layers_put_unit(const Layers *l, Label *label, uint32_t t, uint32_t die)
{
    const PartitionState *s = l->state;
    const Stage *stage = &l->stages[t];
    const PartitionPlatform *platform = s->model->platform;
    uint32_t unit = l->s->order[t];
    uint64_t again = 0;
    const uint8_t *open = open_of(l, label);
    for (size_t i = 0; i < stage->backs.len; i++) {
        const Back *back = &stage->backs.data[i];
        uint32_t other = open[back->slot];
        if (back->edge == PARTITION_NONE) {
            if (platform->dies[other].card != platform->dies[die].card) return false;
            continue;
        }
        uint32_t from = back->is_from ? die : other, to = back->is_from ? other : die;
        if (!use_path(l, label, &s->model->edges.data[back->edge], from, to, &again)) return false;
    }
    if (s->options->is_convex && !is_acyclic(l, label)) return false;
    set_of(l, label, die)[unit / 64] |= UINT64_C(1) << unit % 64;
    for (uint32_t m = 0; m < l->measure_count; m++) {
        int64_t *left = &left_of(l, label)[die * l->measure_count + m];
        *left -= l->sizes[unit * l->measure_count + m];
        if (*left < 0) return false;
    }
    bool fits = true;
    for (uint32_t i = s->units.first[unit]; fits && i < s->units.first[unit + 1]; i++)
        fits = put_node(l, label, die, s->units.nodes[i]);
    if (!fits && !l->has_versions) return false;
    if (!fits && !pack_again(l, label, die)) return false;
    for (uint32_t i = 0; again && i < l->die_count; i++)
        if ((again >> i & 1) && !partition_rows_hold(s, i, use_of(l, label, i)) &&
            (!l->has_versions || !pack_again(l, label, i)))
            return false;
    return true;
}

void partition_layers_move_open(const Layers *l, Label *label, uint32_t t, uint32_t die)
{
    const Stage *stage = &l->stages[t];
    uint8_t *open = open_of(l, label);
    /* Slots keep their order, so none is written before it is read. */
    for (uint32_t i = 0; i < stage->count; i++)
        if (stage->next_slot[i] != PARTITION_NONE) open[stage->next_slot[i]] = open[i];
    if (stage->next_slot[stage->count] != PARTITION_NONE)
        open[stage->next_slot[stage->count]] = (uint8_t)die;
    for (uint32_t i = 0; i < stage[1].count; i++) l->state->die[stage[1].open[i]] = open[i];
}

/* Whether some unit from a place on may still fit a die. */
static bool has_guest(const Layers *l, const Label *label, uint32_t from, uint32_t die)
{
    const PartitionState *s = l->state;
    const int64_t *left = left_of(l, label) + (size_t)die * l->measure_count;
    for (uint32_t t = from; t < l->count; t++) {
        uint32_t unit = l->s->order[t];
        bool ok = s->units.dies[unit] >> die & 1;
        for (uint32_t m = 0; ok && m < l->measure_count; m++)
            ok = l->sizes[unit * l->measure_count + m] <= left[m];
        if (!ok) continue;
        if (l->has_versions || s->units.first[unit + 1] - s->units.first[unit] > 1) return true;
        const PartitionVersion *version =
            &s->model->versions
                 .data[s->model->nodes.data[s->units.nodes[s->units.first[unit]]].version];
        int64_t sum[PARTITION_KINDS];
        for (int k = 0; k < PARTITION_KINDS; k++)
            sum[k] = use_of(l, label, die)[k] + version->use[k];
        if (partition_rows_hold(s, die, sum)) return true;
    }
    return false;
}

/* Adds two weights of which each may be INT64_MAX. */
static int64_t add(int64_t a, int64_t b)
{
    return a == INT64_MAX || b == INT64_MAX ? INT64_MAX : a + b;
}

/* What the label weighs at least if some unit comes to a die: on each link that parts it from all
 * open units there is an edge, and another one if the last unit is on their side and no single edge
 * separates units from those. ends: where the last unit may be; sums: the weight by its die. */
static int64_t weight_with(const Layers *l, uint32_t at, uint32_t die, uint64_t open, uint64_t ends,
                           const int64_t *sums, PartitionLinkBounds *by_link)
{
    const Stage *stage = &l->stages[at];
    int64_t least = INT64_MAX;
    for (; ends; ends &= ends - 1) {
        uint32_t end = (uint32_t)__builtin_ctzll(ends);
        int64_t sum = sums[end];
        for (uint32_t k = 0; k < l->link_count; k++) {
            uint64_t first = l->first_side[k], side = first >> die & 1 ? first : ~first;
            if (!first || open & side) continue;
            int64_t weight = stage->least_weight[k];
            if (weight == INT64_MAX) continue;
            if (!(side >> end & 1) && stage->is_twofold) weight *= 2;
            sum += i64_max(0, weight - (*by_link)[k][first >> end & 1]);
        }
        least = i64_min(least, sum);
    }
    return least;
}

/* Takes dies off those that the label can use which weigh too much to come to. */
static void limit_live(const Layers *l, Label *label, uint32_t at, PartitionLinkBounds *by_link)
{
    uint64_t open = 0, ends = l->state->units.dies[l->s->order[l->count - 1]] & l->s->dies;
    int64_t sums[PARTITION_MAX_DIES];
    for (uint64_t left = ends; left; left &= left - 1) {
        uint32_t end = (uint32_t)__builtin_ctzll(left);
        sums[end] = label->cost;
        for (uint32_t k = 0; k < l->link_count; k++)
            if (l->first_side[k])
                sums[end] = add(sums[end], (*by_link)[k][l->first_side[k] >> end & 1]);
        if (sums[end] > l->s->upper) ends &= ~(UINT64_C(1) << end);
        if (sums[end] > l->s->upper) l->s->next = i64_min(l->s->next, sums[end]);
    }
    for (uint32_t i = 0; i < l->stages[at].count; i++) open |= UINT64_C(1) << open_of(l, label)[i];
    for (uint64_t dies = label->live & ~open; dies; dies &= dies - 1) {
        uint32_t die = (uint32_t)__builtin_ctzll(dies);
        int64_t total = weight_with(l, at, die, open, ends, sums, by_link);
        if (total <= l->s->upper) continue;
        label->live &= ~(UINT64_C(1) << die);
        l->s->next = i64_min(l->s->next, total);
    }
}

/* How many edges the rest may have on each link. */
static void limit_edges(const Layers *l, Label *label, uint32_t at, PartitionLinkBounds *by_link)
{
    int64_t sum = label->cost;
    for (uint32_t k = 0; k < l->link_count; k++)
        if (l->first_side[k]) sum = add(sum, i64_min((*by_link)[k][0], (*by_link)[k][1]));
    for (uint32_t k = 0; k < l->link_count; k++) {
        int64_t least = l->stages[at].least_weight[k];
        int64_t most = l->s->upper - sum;
        if (l->first_side[k]) most += i64_min((*by_link)[k][0], (*by_link)[k][1]);
        edges_of(l, label)[k] = least > 0 && sum < INT64_MAX
                                    ? (uint32_t)i64_min(most / least, PARTITION_MAX_EDGES)
                                    : PARTITION_MAX_EDGES;
    }
}

/* What is left of the dies that can take more units, and how much of it is more than needed. */
static bool find_left(const Layers *l, Label *label, uint32_t at, int64_t *left)
{
    uint32_t measures = l->measure_count;
    label->live = 0;
    for (uint32_t die = 0; die < l->die_count; die++) {
        if (!(l->s->dies >> die & 1) || !has_guest(l, label, at, die)) continue;
        label->live |= UINT64_C(1) << die;
        memcpy(&left[die * measures], left_of(l, label) + (size_t)die * measures,
               measures * sizeof *left);
    }
    label->room = INT64_MAX;
    for (uint32_t m = 0; m < measures; m++) {
        int64_t room = -l->rest[at * measures + m];
        for (uint32_t die = 0; die < l->die_count; die++) room += left[die * measures + m];
        label->room = i64_min(label->room, room);
    }
    return label->room >= 0;
}

bool partition_layers_weigh(Layers *l, Label *label, uint32_t at)
{
    int64_t left[PARTITION_MAX_DIES * PARTITION_MOST_MEASURES] = {0};
    PartitionLinkBounds by_link;
    label->total = label->cost;
    label->live = 0;
    label->room = 0;
    if (at == l->count) return true;
    if (!find_left(l, label, at, left)) return false;
    label->total = add(label->cost, partition_bound_left(l->s->bound, at, left, &by_link));
    if (label->total > l->s->upper) {
        l->s->next = i64_min(l->s->next, label->total);
        return false;
    }
    limit_edges(l, label, at, &by_link);
    if (l->state->is_connected) limit_live(l, label, at, &by_link);
    return true;
}
static bool holds_no_more(const Layers *l, const Label *a, const Label *b, uint32_t die)
{
    if (l->has_versions) {
        const uint64_t *x = set_of(l, a, die), *y = set_of(l, b, die);
        for (uint32_t i = 0; i < l->words; i++)
            if (x[i] & ~y[i]) return false;
        return true;
    }
    const int64_t *x = use_of(l, a, die), *y = use_of(l, b, die);
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (x[k] > y[k]) return false;
    return controllers_of(l, a)[die] == controllers_of(l, b)[die];
}

/* Whether edges that complete b may use a link of a. */
static bool carries_no_more(const Layers *l, const Label *a, const Label *b, uint32_t link,
                            uint32_t at)
{
    const PartitionLink *x = &l->state->model->platform->links.data[link];
    int64_t more = edges_of(l, b)[link] * l->stages[at].most[x->is_ethernet];
    for (uint32_t way = 2 * link; way < 2 * link + 2; way++) {
        int64_t carried = links_of(l, a)[way];
        if (carried > links_of(l, b)[way] && carried + more > x->capacity) return false;
    }
    return true;
}

bool partition_layers_dominates(const Layers *l, const Label *a, const Label *b, uint64_t open,
                                uint32_t at)
{
    if (a->cost > b->cost) return false;
    if (l->s->symmetry->count > 0 && a->used != b->used) return false;
    for (uint64_t dies = b->live; dies; dies &= dies - 1)
        if (!holds_no_more(l, a, b, (uint32_t)__builtin_ctzll(dies))) return false;
    for (uint32_t k = 0; k < l->link_count; k++) {
        uint64_t side = l->first_side[k], near = open | b->live;
        if (side && (!(near & side) || !(near & ~side))) continue;
        if (!carries_no_more(l, a, b, k, at)) return false;
        uint64_t x = arcs_of(l, a)[l->die_count + k / 64], y = arcs_of(l, b)[l->die_count + k / 64];
        if (l->has_ports && ((x ^ y) >> (k % 64) & 1)) return false;
    }
    for (uint32_t i = 0; l->state->options->is_convex && i < l->die_count; i++)
        if (arcs_of(l, a)[i] & ~arcs_of(l, b)[i]) return false;
    return true;
}
