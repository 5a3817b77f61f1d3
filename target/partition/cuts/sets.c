/* The sets of units that may be behind a link: all cuts that are light enough with what the other
 * links weigh at least, and whose two sides have room.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/cuts/internal.h"

typedef struct Taking {
    Cuts *c;
    Behind *b;
    uint32_t levels[2]; /* of room that are asked for: from, to */
} Taking;

static int64_t room_of(const Cuts *c, const Behind *b, const uint64_t *set)
{
    int64_t room = b->capacity;
    for (uint32_t u = 0; u < c->state->units.count; u++)
        if (has_bit(set, u)) room -= partition_unit_size(c->state, &c->measure, u);
    return room;
}

static bool crosses(const Cuts *c, const uint64_t *set, const PartitionEdge *edge)
{
    const uint32_t *of = c->state->units.of;
    return has_bit(set, of[edge->from]) != has_bit(set, of[edge->to]);
}

/* Whether the dies on both sides have so much of each kind, and the link carries the edges. */
static bool is_possible(const Cuts *c, const Behind *b, const uint64_t *set)
{
    const PartitionState *s = c->state;
    int64_t need[2][PARTITION_KINDS] = {{0}}, carried[2] = {0, 0};
    const PartitionLink *link = &s->model->platform->links.data[b->link];
    for (uint32_t u = 0; u < s->units.count; u++)
        for (int k = 0; k < PARTITION_KINDS; k++) need[has_bit(set, u)][k] += c->least_use[u][k];
    for (uint32_t i = 0; i < s->model->platform->die_count; i++)
        for (int k = 0; k < PARTITION_KINDS && c->s->dies >> i & 1; k++)
            need[b->side >> i & 1][k] -= s->rows[i].data[k].limit;
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (need[0][k] > 0 || need[1][k] > 0) return false;
    for (size_t i = 0; i < s->model->edges.len; i++) {
        const PartitionEdge *edge = &s->model->edges.data[i];
        if (crosses(c, set, edge))
            carried[has_bit(set, s->units.of[edge->from])] +=
                link->is_ethernet ? edge->mbps : edge->wires;
    }
    return carried[0] <= link->capacity && carried[1] <= link->capacity;
}

static void take_set(void *data, const uint64_t *first, int64_t weight)
{
    Taking *t = data;
    Cuts *c = t->c;
    Behind *b = t->b;
    uint32_t count = c->state->units.count;
    if (b->sets.len >= c->most_sets) c->s->is_over = true;
    if (c->s->is_over) return;
    size_t at = b->words.len;
    for (uint32_t i = 0; i < c->words; i++)
        *vec_push(&b->words) = b->is_first ? first[i] : ~first[i];
    if (count % 64 > 0) b->words.data[b->words.len - 1] &= (UINT64_C(1) << count % 64) - 1;
    const uint64_t *set = b->words.data + at;
    int64_t room = room_of(c, b, set);
    uint32_t level = room < 0 ? LEVELS + 1 : level_of(c, room);
    if (level < t->levels[0] || level > t->levels[1] || !is_possible(c, b, set)) {
        b->words.len = at;
        return;
    }
    Set *new = vec_push(&b->sets);
    *new = (Set){.weight = weight, .first_edge = (uint32_t)b->edges.len, .room = room};
    new->ends = (has_bit(set, c->s->order[0]) ? 2U : 0U) + has_bit(set, c->s->order[count - 1]);
    for (uint32_t i = 0; i < c->state->model->edges.len; i++)
        if (crosses(c, set, &c->state->model->edges.data[i])) *vec_push(&b->edges) = i;
    new->edge_count = (uint32_t)b->edges.len - new->first_edge;
}

/* What limits the sets of a level, by ends. */
static void find_most(const Cuts *c, const Levels *behind, uint32_t level, int64_t *out)
{
    for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++) {
        out[2 * ends] = c->outside[ends].at[LEVELS - level];
        out[2 * ends + 1] = behind[ends].at[level];
    }
}

/* What is known of a unit if it is behind a link, and if it is not, by ends. */
typedef struct UnitBound {
    int64_t outside[PARTITION_ENDS], behind[PARTITION_ENDS];
} UnitBound;

static int64_t limit_of(const Cuts *c, int64_t outside, int64_t behind)
{
    return outside == INT64_MAX || behind == INT64_MAX ? -1
                                                       : i64_max(c->limit - outside - behind, -1);
}

/* Sets query->most for a level. */
static void limit_query(const Cuts *c, const Behind *b, const Levels *behind, uint32_t level,
                        const UnitBound *units, int64_t *most[2])
{
    uint32_t count = c->state->units.count;
    for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++) {
        int64_t outside = c->outside[ends].at[LEVELS - level], inside = behind[ends].at[level];
        int64_t limit = limit_of(c, outside, inside);
        uint32_t own = b->is_first ? ends : 3 - ends;
        for (uint32_t u = 0; u < count; u++) {
            most[b->is_first][own * count + u] =
                i64_min(limit, limit_of(c, units[u].outside[ends], behind[ends].at[LEVELS]));
            most[!b->is_first][own * count + u] =
                i64_min(limit, limit_of(c, outside, units[u].behind[ends]));
        }
    }
}

/* The sizes of the first side that leave so much room behind. */
void partition_cuts_limit_size(const Cuts *c, const Behind *b, const uint32_t *levels,
                               PartitionCutQuery *query)
{
    int64_t total = 0, size[2];
    for (uint32_t u = 0; u < c->state->units.count; u++)
        total += partition_unit_size(c->state, &c->measure, u);
    /* A unit of room more on either side: levels are rounded. */
    size[0] = b->capacity - (int64_t)((double)c->room * (levels[1] + 1) / LEVELS) - 1;
    size[1] = b->capacity - (int64_t)((double)c->room * levels[0] / LEVELS) + 1;
    partition_bound_room(c->s->bound, b->link, &query->room);
    query->room.of[0][b->is_first] = i64_min(query->room.of[0][b->is_first], size[1]);
    query->room.of[0][!b->is_first] = i64_min(query->room.of[0][!b->is_first], total - size[0]);
}

/* Lists the sets of a link, those of levels with the same limits at once. */
static void list_sets(Cuts *c, Behind *b, const Levels *arm)
{
    Taking taking = {.c = c, .b = b};
    Levels behind[PARTITION_ENDS];
    uint32_t count = c->state->units.count;
    UnitBound *units = xcalloc(count, sizeof *units);
    int64_t *most[2], now[2 * PARTITION_ENDS], next[2 * PARTITION_ENDS];
    for (int i = 0; i < 2; i++) most[i] = xcalloc((size_t)PARTITION_ENDS * count, sizeof(int64_t));
    PartitionCutQuery query = {.link = b->link,
                               .weights = c->s->weights,
                               .most = {most[0], most[1]},
                               .steps = &c->work,
                               .max_steps = c->max_work,
                               .visit = take_set,
                               .data = &taking};
    partition_cuts_find_behind(c, b, behind);
    for (uint32_t u = 0; u < count; u++) {
        partition_cuts_find_with(c, b, u, arm, units[u].outside);
        partition_cuts_find_without(c, b->die, u, units[u].behind);
    }
    for (uint32_t from = 0; from <= LEVELS && !c->s->is_over;) {
        uint32_t to = from;
        find_most(c, behind, from, now);
        for (; to < LEVELS; to++) {
            find_most(c, behind, to + 1, next);
            if (memcmp(now, next, sizeof now) != 0) break;
        }
        taking.levels[0] = from;
        taking.levels[1] = to;
        limit_query(c, b, behind, from, units, most);
        partition_cuts_limit_size(c, b, taking.levels, &query);
        if (!partition_bound_list_cuts(c->s->bound, &query)) c->s->is_over = true;
        from = to + 1;
    }
    for (int i = 0; i < 2; i++) free(most[i]);
    free(units);
}

/* Begins to gather what is known of a link. */
void partition_cuts_forget(const Cuts *c, Behind *b)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < PARTITION_ENDS * c->state->units.count; i++)
            b->unit[side][i] = INT64_MAX;
    partition_cuts_fill_levels(b->least, INT64_MAX);
    partition_cuts_fill_levels(b->above, INT64_MAX);
}

/* There is a set with such a value, or weight. */
void partition_cuts_learn(const Cuts *c, Behind *b, uint32_t number, int64_t value)
{
    uint32_t count = c->state->units.count;
    const Set *set = &b->sets.data[number];
    const uint64_t *words = words_of(c, b, number);
    uint32_t level = level_of(c, set->room);
    for (uint32_t j = 0; j <= LEVELS; j++) {
        if (j >= level) b->least[set->ends].at[j] = i64_min(b->least[set->ends].at[j], value);
        if (j <= level) b->above[set->ends].at[j] = i64_min(b->above[set->ends].at[j], value);
    }
    for (uint32_t u = 0; u < count; u++) {
        int64_t *least = &b->unit[has_bit(words, u)][set->ends * count + u];
        *least = i64_min(*least, value);
    }
}

/* Lists the sets of a link. False: there are none, or the steps ran out. arm: as above. */
bool partition_cuts_list(Cuts *c, Behind *b, const Levels *arm)
{
    partition_cuts_find_outside(c, b->link, arm);
    list_sets(c, b, arm);
    if (c->s->is_over || b->sets.len == 0) return false;
    partition_cuts_forget(c, b);
    for (uint32_t i = 0; i < b->sets.len; i++)
        partition_cuts_learn(c, b, i, b->sets.data[i].weight);
    return true;
}
