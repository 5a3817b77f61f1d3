/* Places in the order of units: which units in front still have neighbours, and what edges to come
 * weigh and carry.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/layers/internal.h"

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

void partition_layers_find_stages(Layers *l)
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
