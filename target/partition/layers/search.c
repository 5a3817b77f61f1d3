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

#include "target/partition/layers/internal.h"

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
        if (partition_layers_dominates(l, other, label, open, at)) return false;
        if (partition_layers_dominates(l, label, other, open, at)) other->total = INT64_MAX;
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
    if (!partition_layers_put_unit(l, label, t, die)) return;
    l->state->die[l->s->order[t]] = die;
    partition_layers_move_open(l, label, t, die);
    if (partition_layers_weigh(l, label, t + 1)) (void)insert(l, t + 1, t + 1);
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
    partition_layers_find_stages(l);
    partition_layers_lay_out(l);
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
