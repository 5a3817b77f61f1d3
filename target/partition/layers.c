/* Branch and bound layer by layer. Labels are placements of the first units of the order; all of one
 * layer are extended by the next unit before any of them is. Of two labels with the same dies of the
 * units that still have neighbours ahead, one is dropped if it weighs no less and no die that it can
 * still use holds less: whatever completes it completes the other (dominance). Which dies those are
 * follows from what the remaining units need and from what coming back to a die weighs at least. So
 * what is on dies that the graph has left for good does not count, and long chains have few labels.
 * Where a layer gets too wide the worst labels are given up, and what is found is not proven.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

/* An edge, or a pair on one card, from the unit of a place back to an open unit. */
typedef struct Back {
    uint32_t edge, slot; /* edge: PARTITION_NONE for a pair */
    bool is_from;        /* the edge comes from the unit here */
} Back;

/* A place in the order. */
typedef struct Stage {
    uint32_t *open, count; /* units in front with neighbours here or behind; slots are indices */
    uint32_t *next_slot;   /* of each and of the unit here, behind it; PARTITION_NONE: closed */
    VEC(Back) backs;
    int64_t least_weight[PARTITION_MAX_DIES * 2]; /* by link: of an edge that comes here or later */
    int64_t most[2];                              /* of those: wires, and Mb/s, of one */
    bool is_twofold; /* no single edge parts units from all of the open ones and the last one */
} Stage;

/* What a label knows. Arrays follow it in memory. */
typedef struct Label {
    int64_t cost, total; /* of the edges so far; with the bound of the rest */
    int64_t room;        /* that usable dies have beyond what the rest needs, to compare labels */
    uint64_t used, live; /* dies with units; that may get more */
    uint32_t parent, next;
    uint8_t die; /* of the last unit */
} Label;

typedef struct Parent {
    uint32_t label;
    uint8_t die;
} Parent;

typedef VEC(Parent) Parents;

typedef struct Layers {
    PartitionLayerSearch *s;
    PartitionState *state;
    const PartitionMeasure *measures;
    uint32_t measure_count, die_count, link_count, count; /* count: units */
    uint32_t words, open_count;                           /* of sets of units; most open units */
    int64_t *sizes;                                       /* per unit and measure */
    bool has_versions, has_ports;
    Stage *stages;
    int64_t *rest;      /* per place and measure: what the units from there on need */
    uint32_t *place_of; /* per unit */
    size_t edges_at, use_at, set_at, left_at, link_at, controllers_at, arcs_at, open_at, size;
    char *labels[2]; /* this layer and the next */
    uint32_t label_count[2], room;
    uint32_t *heads, head_mask; /* chains of labels of the next layer, by what they must agree in */
    Parents *parents;           /* per place */
    uint64_t first_side[PARTITION_MAX_DIES * 2]; /* per link; 0: parts nothing */
    uint32_t *packed;
} Layers;

static Label *label_at(const Layers *l, uint32_t layer, uint32_t i)
{
    return (Label *)(l->labels[layer & 1] + (size_t)i * l->size);
}

static int64_t *use_of(const Layers *l, const Label *label, uint32_t die)
{
    return (int64_t *)((char *)label + l->use_at) + (size_t)die * PARTITION_KINDS;
}

static uint64_t *set_of(const Layers *l, const Label *label, uint32_t die)
{
    return (uint64_t *)((char *)label + l->set_at) + (size_t)die * l->words;
}

static int64_t *left_of(const Layers *l, const Label *label)
{
    return (int64_t *)((char *)label + l->left_at);
}

/* What links carry, per direction. */
static int64_t *links_of(const Layers *l, const Label *label)
{
    return (int64_t *)((char *)label + l->link_at);
}

/* How many edges the rest may have on each link at most. */
static uint32_t *edges_of(const Layers *l, const Label *label)
{
    return (uint32_t *)((char *)label + l->edges_at);
}

static uint32_t *controllers_of(const Layers *l, const Label *label)
{
    return (uint32_t *)((char *)label + l->controllers_at);
}

/* Per die: those that edges lead to; then a bit per link that is used. */
static uint64_t *arcs_of(const Layers *l, const Label *label)
{
    return (uint64_t *)((char *)label + l->arcs_at);
}

static uint8_t *open_of(const Layers *l, const Label *label)
{
    return (uint8_t *)label + l->open_at;
}

/* Stages. */

/* Where each unit has its last neighbour, as a place. */
static void find_last(const Layers *l, uint32_t *last)
{
    const PartitionState *s = l->state;
    for (uint32_t t = 0; t < l->count; t++) {
        uint32_t unit = l->s->order[t];
        last[t] = t;
        for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
            uint32_t other = l->place_of[partition_other_unit(s, s->edges[i], unit)];
            last[t] = other > last[t] ? other : last[t];
        }
        for (uint32_t i = s->first_pair[unit]; i < s->first_pair[unit + 1]; i++) {
            uint32_t other = l->place_of[s->pairs[i]];
            last[t] = other > last[t] ? other : last[t];
        }
    }
}

static uint32_t slot_of(const Stage *stage, uint32_t unit)
{
    for (uint32_t i = 0; i < stage->count; i++)
        if (stage->open[i] == unit) return i;
    return PARTITION_NONE;
}

static void list_backs(const Layers *l, uint32_t t)
{
    const PartitionState *s = l->state;
    Stage *stage = &l->stages[t];
    uint32_t unit = l->s->order[t];
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        uint32_t edge = s->edges[i];
        uint32_t slot = slot_of(stage, partition_other_unit(s, edge, unit));
        bool is_from = s->units.of[s->model->edges.data[edge].from] == unit;
        if (slot != PARTITION_NONE) *vec_push(&stage->backs) = (Back){edge, slot, is_from};
    }
    for (uint32_t i = s->first_pair[unit]; i < s->first_pair[unit + 1]; i++) {
        uint32_t slot = slot_of(stage, s->pairs[i]);
        if (slot != PARTITION_NONE) *vec_push(&stage->backs) = (Back){PARTITION_NONE, slot, false};
    }
}

/* The least weight on each link of the edges that come at a place or later. */
static void find_least_weights(const Layers *l)
{
    size_t edges = l->state->model->edges.len;
    for (uint32_t t = l->count; t-- > 0;) {
        Stage *stage = &l->stages[t];
        for (uint32_t k = 0; k < l->link_count; k++) {
            int64_t least = t + 1 < l->count ? stage[1].least_weight[k] : INT64_MAX;
            for (size_t i = 0; i < stage->backs.len; i++)
                if (stage->backs.data[i].edge != PARTITION_NONE)
                    least = i64_min(least, l->s->weights[k * edges + stage->backs.data[i].edge]);
            stage->least_weight[k] = least;
        }
        memcpy(stage->most, stage[1].most, sizeof stage->most);
        for (size_t i = 0; i < stage->backs.len; i++) {
            if (stage->backs.data[i].edge == PARTITION_NONE) continue;
            const PartitionEdge *edge = &l->state->model->edges.data[stage->backs.data[i].edge];
            stage->most[0] = i64_max(stage->most[0], edge->wires);
            stage->most[1] = i64_max(stage->most[1], edge->mbps);
        }
    }
}

/* Whether some edge from a place on parts units from the open ones and the last one: it does if it is
 * a bridge when those are one node. */
static bool is_twofold(const Layers *l, uint32_t t)
{
    const PartitionState *s = l->state;
    PartitionModel rest = {0};
    bool ok = true;
    for (uint32_t u = 0; u < l->count; u++) *vec_push(&rest.nodes) = (PartitionNode){0};
    for (size_t k = 0; k < s->model->edges.len; k++) {
        uint32_t ends[2] = {s->units.of[s->model->edges.data[k].from],
                            s->units.of[s->model->edges.data[k].to]};
        uint32_t root = l->s->order[l->count - 1];
        if (l->place_of[ends[0]] < t && l->place_of[ends[1]] < t) continue;
        for (int i = 0; i < 2; i++) ends[i] = l->place_of[ends[i]] < t ? root : ends[i];
        if (ends[0] != ends[1]) *vec_push(&rest.edges) = (PartitionEdge){ends[0], ends[1], 0, 0};
    }
    bool *is_bridge = xcalloc(rest.edges.len, sizeof *is_bridge);
    partition_find_bridges(&rest, is_bridge);
    for (size_t k = 0; k < rest.edges.len; k++) ok &= !is_bridge[k];
    free(is_bridge);
    partition_model_free(&rest);
    return ok;
}

static void find_stages(Layers *l)
{
    uint32_t *last = xcalloc(l->count, sizeof *last);
    find_last(l, last);
    l->stages = xcalloc((size_t)l->count + 1, sizeof *l->stages);
    for (uint32_t t = 0; t <= l->count; t++) {
        Stage *stage = &l->stages[t];
        for (uint32_t i = 0; i < t; i++) stage->count += last[i] >= t;
        stage->open = xcalloc(stage->count, sizeof(uint32_t));
        stage->next_slot = xcalloc((size_t)stage->count + 1, sizeof(uint32_t));
        for (uint32_t i = 0, n = 0; i < t; i++)
            if (last[i] >= t) stage->open[n++] = l->s->order[i];
        l->open_count = stage->count > l->open_count ? stage->count : l->open_count;
    }
    for (uint32_t t = 0; t < l->count; t++) {
        Stage *stage = &l->stages[t];
        for (uint32_t i = 0; i < stage->count; i++)
            stage->next_slot[i] = slot_of(stage + 1, stage->open[i]);
        stage->next_slot[stage->count] = slot_of(stage + 1, l->s->order[t]);
        list_backs(l, t);
        stage->is_twofold = is_twofold(l, t);
    }
    find_least_weights(l);
    free(last);
}

/* Labels. */

static void lay_out(Layers *l)
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
        if (c >= 0 && !(model->platform->dies[die].controllers >> c & 1)) continue;
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

/* Puts the unit of a place on a die as far as dies and links hold. The label has the dies of the
 * open units in front. */
static bool put_unit(const Layers *l, Label *label, uint32_t t, uint32_t die)
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

/* The dies of the open units behind the place, in the label and in the state. */
static void move_open(const Layers *l, Label *label, uint32_t t, uint32_t die)
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

/* What the rest weighs at least; sets the label's total, and which dies it can use. False: it does
 * not fit, or not within the weight. */
static bool weigh(Layers *l, Label *label, uint32_t at)
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

/* Dominance. */

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

/* Whether whatever completes b completes a at no more weight. They have the same open dies. */
static bool dominates(const Layers *l, const Label *a, const Label *b, uint64_t open, uint32_t at)
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

/* Puts a label at the end of the next layer into its chain, unless another one there is as good;
 * those that it is as good as are given up. */
static bool insert(Layers *l, uint32_t layer, uint32_t at)
{
    enum { MOST_COMPARED = 200 };
    uint32_t mine = l->label_count[layer & 1], compared = 0;
    Label *label = label_at(l, layer, mine);
    const uint8_t *dies = open_of(l, label);
    uint64_t open = 0;
    for (uint32_t i = 0; i < l->stages[at].count; i++) open |= UINT64_C(1) << dies[i];
    uint32_t head = (uint32_t)hash_bytes(dies, l->stages[at].count, at) & l->head_mask;
    for (uint32_t i = l->heads[head]; i != PARTITION_NONE && compared < MOST_COMPARED;) {
        Label *other = label_at(l, layer, i);
        i = other->next;
        if (other->total == INT64_MAX || memcmp(open_of(l, other), dies, l->stages[at].count) != 0)
            continue;
        compared++;
        if (dominates(l, other, label, open, at)) return false;
        if (dominates(l, label, other, open, at)) other->total = INT64_MAX;
    }
    label->next = l->heads[head];
    l->heads[head] = mine;
    l->label_count[layer & 1]++;
    return true;
}

/* A layer is done: the labels that stay move to its front. */

typedef struct Rank {
    int64_t total, room;
    uint32_t label;
} Rank;

/* Light ones first, of these those that leave more room. */
static int compare_ranks(const void *a, const void *b)
{
    const Rank *x = a, *y = b;
    if (x->total != y->total) return x->total < y->total ? -1 : 1;
    if (x->room != y->room) return x->room > y->room ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

static int compare_labels(const void *a, const void *b)
{
    const Rank *x = a, *y = b;
    return x->label < y->label ? -1 : x->label > y->label;
}

static void close_layer(Layers *l, uint32_t layer)
{
    uint32_t count = 0;
    Rank *ranks = xcalloc(l->label_count[layer & 1], sizeof *ranks);
    for (uint32_t i = 0; i < l->label_count[layer & 1]; i++) {
        const Label *label = label_at(l, layer, i);
        if (label->total < INT64_MAX) ranks[count++] = (Rank){label->total, label->room, i};
    }
    if (count > l->s->width) {
        qsort(ranks, count, sizeof *ranks, compare_ranks);
        count = l->s->width;
        qsort(ranks, count, sizeof *ranks, compare_labels);
        l->s->is_cut = true;
    }
    Parents *parents = &l->parents[layer];
    parents->len = 0;
    for (uint32_t i = 0; i < count; i++) {
        Label *label = label_at(l, layer, i);
        if (ranks[i].label != i) memcpy(label, label_at(l, layer, ranks[i].label), l->size);
        *vec_push(parents) = (Parent){label->parent, label->die};
    }
    l->label_count[layer & 1] = count;
    free(ranks);
}

/* The weight of the edges that the unit of a place has to those in front; INT64_MAX: no way. */
static int64_t edge_weight(const Layers *l, const Label *label, uint32_t t, uint32_t die)
{
    const PartitionState *s = l->state;
    const Stage *stage = &l->stages[t];
    const uint8_t *open = open_of(l, label);
    size_t edges = s->model->edges.len;
    int64_t weight = 0;
    for (size_t i = 0; i < stage->backs.len; i++) {
        const Back *back = &stage->backs.data[i];
        uint32_t other = open[back->slot];
        if (back->edge == PARTITION_NONE || other == die) continue;
        const PartitionPath *path =
            &s->paths.between[back->is_from ? die : other][back->is_from ? other : die];
        if (path->hops == PARTITION_NONE) return INT64_MAX;
        for (uint32_t j = 0; j < path->hops; j++)
            weight += l->s->weights[s->paths.steps.data[path->first + j] / 2 * edges + back->edge];
    }
    return weight;
}

/* Room for one more label of a layer. */
static Label *new_label(Layers *l, uint32_t layer)
{
    if (l->label_count[0] == l->room || l->label_count[1] == l->room) {
        l->room *= 2;
        for (int i = 0; i < 2; i++)
            l->labels[i] = xrealloc(l->labels[i], (size_t)l->room * l->size);
    }
    return label_at(l, layer, l->label_count[layer & 1]);
}

/* Extends a label by the unit of place t on a die. */
static void extend(Layers *l, uint32_t t, uint32_t number, uint32_t die)
{
    Label *label = new_label(l, t + 1);
    const Label *parent = label_at(l, t, number);
    int64_t added = edge_weight(l, parent, t, die);
    if (added == INT64_MAX) return;
    int64_t total = i64_max(parent->total, parent->cost + added);
    if (total > l->s->upper) l->s->next = i64_min(l->s->next, total);
    if (total > l->s->upper) return;
    l->state->steps++;
    memcpy(label, parent, l->size);
    label->cost += added;
    label->parent = number;
    label->die = (uint8_t)die;
    label->used |= UINT64_C(1) << die;
    if (!put_unit(l, label, t, die)) return;
    l->state->die[l->s->order[t]] = die;
    move_open(l, label, t, die);
    if (weigh(l, label, t + 1)) (void)insert(l, t + 1, t + 1);
}

static void extend_layer(Layers *l, uint32_t t)
{
    const PartitionState *s = l->state;
    uint64_t dies = s->units.dies[l->s->order[t]] & l->s->dies;
    l->label_count[(t + 1) & 1] = 0;
    memset(l->heads, 0xff, ((size_t)l->head_mask + 1) * sizeof *l->heads);
    for (uint32_t i = 0; i < l->label_count[t & 1]; i++) {
        for (uint32_t j = 0; j < l->stages[t].count; j++)
            s->die[l->stages[t].open[j]] = open_of(l, label_at(l, t, i))[j];
        for (uint32_t die = 0; die < l->die_count && s->steps < s->max_steps; die++)
            if (dies >> die & 1 && label_at(l, t, i)->live >> die & 1 &&
                partition_is_first(l->s->symmetry, label_at(l, t, i)->used, die))
                extend(l, t, i, die);
    }
    l->s->is_cut |= s->steps >= s->max_steps;
    close_layer(l, t + 1);
}

/* The label of no units. */
static void begin(Layers *l)
{
    Label *label = new_label(l, 0);
    memset(label, 0, l->size);
    for (uint32_t die = 0; die < l->die_count; die++)
        for (uint32_t m = 0; m < l->measure_count; m++)
            left_of(l, label)[die * l->measure_count + m] =
                l->s->dies >> die & 1 ? partition_die_size(l->state, &l->measures[m], die) : 0;
    label->live = l->s->dies;
    l->label_count[0] = 1;
}

static void init(Layers *l, PartitionLayerSearch *s)
{
    const PartitionModel *model = s->state->model;
    *l = (Layers){.s = s, .state = s->state, .count = s->state->units.count, .room = 1024};
    l->die_count = model->platform->die_count;
    l->link_count = (uint32_t)model->platform->links.len;
    l->words = (l->count + 63) / 64;
    l->measure_count = partition_bound_measures(s->bound, &l->measures);
    l->has_versions = model->versions.len > model->nodes.len;
    for (uint32_t k = 0; k < l->link_count; k++) {
        const PartitionLink *link = &model->platform->links.data[k];
        l->first_side[k] = partition_side_of(model->platform, k);
        for (int i = 0; i < 2 * PARTITION_KINDS && !s->state->is_reserved[k]; i++)
            l->has_ports |= link->charge[i / PARTITION_KINDS][i % PARTITION_KINDS] > 0;
    }
    l->place_of = xcalloc(l->count, sizeof(uint32_t));
    for (uint32_t t = 0; t < l->count; t++) l->place_of[s->order[t]] = t;
    l->sizes = xcalloc((size_t)l->count * l->measure_count, sizeof(int64_t));
    l->rest = xcalloc(((size_t)l->count + 1) * l->measure_count, sizeof(int64_t));
    for (uint32_t t = l->count; t-- > 0;)
        for (uint32_t m = 0; m < l->measure_count; m++) {
            uint32_t at = s->order[t] * l->measure_count + m;
            l->sizes[at] = partition_unit_size(s->state, &l->measures[m], s->order[t]);
            l->rest[t * l->measure_count + m] =
                l->rest[(t + 1) * l->measure_count + m] + l->sizes[at];
        }
    find_stages(l);
    lay_out(l);
    l->head_mask = (1U << 14) - 1;
    l->heads = xcalloc((size_t)l->head_mask + 1, sizeof *l->heads);
    l->parents = xcalloc((size_t)l->count + 1, sizeof *l->parents);
    l->packed = xcalloc(model->nodes.len, sizeof *l->packed);
    for (int i = 0; i < 2; i++) l->labels[i] = xmalloc((size_t)l->room * l->size);
}

static void dispose(Layers *l)
{
    for (uint32_t t = 0; t <= l->count; t++) {
        free(l->stages[t].open);
        free(l->stages[t].next_slot);
        vec_free(&l->stages[t].backs);
        vec_free(&l->parents[t]);
    }
    for (int i = 0; i < 2; i++) free(l->labels[i]);
    free(l->stages);
    free(l->place_of);
    free(l->sizes);
    free(l->rest);
    free(l->heads);
    free(l->parents);
    free(l->packed);
}

/* The lightest label of the last layer, back to the first one. */
static void take_best(const Layers *l, uint32_t *dies)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < l->label_count[l->count & 1]; i++)
        if (label_at(l, l->count, i)->cost < label_at(l, l->count, best)->cost) best = i;
    l->s->cost = label_at(l, l->count, best)->cost;
    for (uint32_t t = l->count; t > 0; t--) {
        dies[t - 1] = l->parents[t].data[best].die;
        best = l->parents[t].data[best].label;
    }
}

void partition_search_layers(PartitionLayerSearch *s, uint32_t *dies)
{
    Layers *l = xcalloc(1, sizeof *l);
    init(l, s);
    s->is_cut = s->is_found = false;
    s->next = INT64_MAX;
    begin(l);
    for (uint32_t t = 0; t < l->count && l->label_count[t & 1] > 0; t++) {
        extend_layer(l, t);
        if (l->label_count[(t + 1) & 1] == 0) break;
        s->is_found = t + 1 == l->count;
    }
    if (s->is_found) take_best(l, dies);
    for (uint32_t i = 0; i < l->count; i++) s->state->die[i] = PARTITION_NONE;
    dispose(l);
    free(l);
}
