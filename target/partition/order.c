/* The order in which the search places units. A bound is the better, and its tables are the smaller,
 * the fewer units have neighbours on both sides, so each unit is the one that leaves the fewest.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>

#include "target/partition/internal.h"

typedef struct Ordering {
    const PartitionState *state;
    bool *is_placed;
    uint32_t *left; /* per unit: edges to units that are not placed */
} Ordering;

/* How many more units are open when this one has been placed. */
static int64_t growth(const Ordering *o, uint32_t unit)
{
    const PartitionState *s = o->state;
    int64_t more = o->left[unit] > 0;
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        uint32_t other = partition_other_unit(s, s->edges[i], unit), edges = 0;
        bool is_counted = false;
        for (uint32_t j = s->first_edge[unit]; j < s->first_edge[unit + 1]; j++) {
            bool is_same = partition_other_unit(s, s->edges[j], unit) == other;
            is_counted |= is_same && j < i;
            edges += is_same;
        }
        if (!is_counted && o->is_placed[other] && o->left[other] == edges) more--;
    }
    return more;
}

static bool is_touched(const Ordering *o, uint32_t unit)
{
    const PartitionState *s = o->state;
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++)
        if (o->is_placed[partition_other_unit(s, s->edges[i], unit)]) return true;
    return false;
}

/* A neighbour of what is placed, that with the least growth; else the unit with the fewest edges,
 * as an end of a chain has. */
static uint32_t next_unit(const Ordering *o)
{
    uint32_t best = PARTITION_NONE;
    bool best_touched = false;
    int64_t best_value = 0;
    for (uint32_t u = 0; u < o->state->units.count; u++) {
        if (o->is_placed[u]) continue;
        bool touched = is_touched(o, u);
        int64_t value = touched ? growth(o, u) : o->left[u];
        if (best != PARTITION_NONE && best_touched > touched) continue;
        if (best != PARTITION_NONE && best_touched == touched && best_value <= value) continue;
        best = u;
        best_touched = touched;
        best_value = value;
    }
    return best;
}

void partition_search_order(const PartitionState *state, uint32_t *order)
{
    uint32_t count = state->units.count;
    Ordering o = {state, xcalloc(count, sizeof(bool)), xcalloc(count, sizeof(uint32_t))};
    for (uint32_t u = 0; u < count; u++)
        o.left[u] = state->first_edge[u + 1] - state->first_edge[u];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t unit = order[i] = next_unit(&o);
        o.is_placed[unit] = true;
        for (uint32_t j = state->first_edge[unit]; j < state->first_edge[unit + 1]; j++)
            o.left[partition_other_unit(state, state->edges[j], unit)]--;
    }
    free(o.is_placed);
    free(o.left);
}
