/* Branch and bound link by link. Where the links make a tree of the dies, a placement is known by how
 * each link parts the units, and what it weighs is the sum of what the links weigh. If that is to be at
 * most so much, there is a link that weighs at most its part of what the sum may exceed the least
 * weights by. So of one link only those cuts are listed that weigh little; with each, the units on both
 * sides of it are split in the same way; then those of the next link are, for the placements in which
 * the link before weighs more, and so on. What is known of the units on some dies alone (sizes, and
 * versions on a single die) is asked as soon as a cut parts them from the others.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

/* As long as a step of the other searches takes. */
enum { WORK_PER_STEP = 8, PACKINGS_PER_STEP = 4 };
#define MOST_LEAST (INT64_MAX / PARTITION_MAX_DIES / 2)

struct PartitionSplits {
    PartitionCutSearch *s;
    PartitionState *state;
    uint32_t link_count, measure_count;
    uint64_t side[PARTITION_MAX_DIES];      /* per link: the dies on that of its first one */
    int64_t least[PARTITION_MAX_DIES];      /* per link: it never weighs less */
    int64_t *size[PARTITION_MOST_MEASURES]; /* per unit */
    int64_t capacity[PARTITION_MOST_MEASURES][PARTITION_MAX_DIES];
    uint32_t *nodes; /* of a die, to be packed */
    uint64_t *dies;  /* per number of links that have parted the units, and unit: where it may be */
    int64_t work, max_steps;
    uint32_t *best; /* per place of the order */
};

typedef struct PartitionSplits Splits;

/* What is left to be split. */
typedef struct Part {
    uint64_t open;                     /* links that have not parted the units */
    uint32_t depth;                    /* how many have */
    int64_t weight;                    /* of these */
    int64_t least[PARTITION_MAX_DIES]; /* of the open ones */
} Part;

/* The cuts of a link. */
typedef struct Listing {
    Splits *c;
    const Part *part;
    uint32_t link;
    int64_t lightest; /* that may do */
} Listing;

static bool is_done(const Splits *c)
{
    return c->s->is_over || c->s->upper < c->s->known;
}

/* Dies that open links join with one. */
static uint64_t find_dies(const Splits *c, uint64_t open, uint32_t die)
{
    const PartitionLink *links = c->state->model->platform->links.data;
    uint64_t dies = UINT64_C(1) << die, before;
    do {
        before = dies;
        for (uint64_t left = open; left; left &= left - 1) {
            const uint32_t *ends = links[__builtin_ctzll(left)].dies;
            uint64_t both = UINT64_C(1) << ends[0] | UINT64_C(1) << ends[1];
            if (dies & both) dies |= both;
        }
    } while (dies != before);
    return dies;
}

/* What the ports on a die take, of links that have parted the units. */
static void find_ports(const Splits *c, uint32_t die, int64_t *ports)
{
    const PartitionModel *model = c->state->model;
    const uint64_t *dies = c->state->units.dies;
    memset(ports, 0, PARTITION_KINDS * sizeof *ports);
    for (uint32_t i = 0; i < c->link_count; i++) {
        const PartitionLink *link = &model->platform->links.data[i];
        bool is_used = false;
        if ((link->dies[0] != die && link->dies[1] != die) || c->state->is_reserved[i]) continue;
        for (size_t k = 0; k < model->edges.len && !is_used; k++) {
            const PartitionEdge *edge = &model->edges.data[k];
            is_used = !(dies[c->state->units.of[edge->from]] & c->side[i]) !=
                      !(dies[c->state->units.of[edge->to]] & c->side[i]);
        }
        for (int k = 0; is_used && k < PARTITION_KINDS; k++)
            ports[k] += link->charge[link->dies[1] == die][k];
    }
}

static bool can_pack(const Splits *c, uint32_t die)
{
    const PartitionUnits *units = &c->state->units;
    int64_t ports[PARTITION_KINDS], use[PARTITION_KINDS];
    uint32_t count = 0, controllers;
    for (uint32_t u = 0; u < units->count; u++)
        for (uint32_t n = units->first[u]; units->dies[u] >> die & 1 && n < units->first[u + 1];
             n++)
            c->nodes[count++] = units->nodes[n];
    find_ports(c, die, ports);
    int64_t before = c->state->steps;
    bool ok = partition_pack(c->state, die, c->nodes, count, ports, use, &controllers);
    c->s->is_over |= c->state->steps >= c->state->max_steps;
    c->state->steps = before + (c->state->steps - before) / PACKINGS_PER_STEP;
    return ok;
}

/* Whether dies that no open link joins with others may hold their units. */
static bool may_hold(const Splits *c, uint64_t dies)
{
    const PartitionUnits *units = &c->state->units;
    dies &= c->s->dies;
    for (uint32_t m = 0; m < c->measure_count; m++) {
        int64_t left = 0;
        for (uint64_t x = dies; x; x &= x - 1) left += c->capacity[m][__builtin_ctzll(x)];
        for (uint32_t u = 0; u < units->count; u++)
            if (units->dies[u] & dies) left -= c->size[m][u];
        if (left < 0) return false;
    }
    if (!dies) return true;
    return dies & (dies - 1) ? partition_fits_pooled(c->state, dies)
                             : can_pack(c, (uint32_t)__builtin_ctzll(dies));
}

/* Whether edges between units that have only one die left use few enough links. */
static bool edges_hold(const Splits *c)
{
    const PartitionState *s = c->state;
    for (size_t k = 0; k < s->model->edges.len; k++) {
        const PartitionEdge *edge = &s->model->edges.data[k];
        uint64_t from = s->units.dies[s->units.of[edge->from]],
                 to = s->units.dies[s->units.of[edge->to]];
        bool is_known = !(from & (from - 1)) && !(to & (to - 1));
        if (is_known &&
            s->paths.between[__builtin_ctzll(from)][__builtin_ctzll(to)].hops == PARTITION_NONE)
            return false;
    }
    return true;
}

/* All units have a die: the state says whether that is a placement. */
static void try_dies(Splits *c, int64_t weight)
{
    PartitionState *state = c->state;
    uint32_t count = state->units.count, done = 0;
    for (; done < count; done++) {
        uint32_t unit = c->s->order[done];
        if (!partition_place(state, unit, (uint32_t)__builtin_ctzll(state->units.dies[unit])))
            break;
    }
    if (done == count) {
        for (uint32_t t = 0; t < count; t++) c->best[t] = state->die[c->s->order[t]];
        c->s->is_found = true;
        c->s->cost = weight;
        c->s->upper = weight - 1;
    }
    while (done > 0) partition_remove(state, c->s->order[--done]);
}

static void split(Splits *c, const Part *part);

/* What the open links weigh at least now. False: that is too much. */
static bool raise_least(const Splits *c, Part *part)
{
    int64_t sum = part->weight;
    for (uint64_t left = part->open; left; left &= left - 1) {
        uint32_t link = (uint32_t)__builtin_ctzll(left);
        int64_t forced = partition_bound_forced(c->s->bound, link, c->s->weights);
        part->least[link] = i64_max(part->least[link], i64_min(forced, MOST_LEAST));
        sum += part->least[link];
    }
    return sum <= c->s->upper;
}

/* Parts the units by a cut. */
static void take_cut(void *data, const uint64_t *first, int64_t weight)
{
    Listing *l = data;
    Splits *c = l->c;
    PartitionUnits *units = &c->state->units;
    const uint32_t *ends = c->state->model->platform->links.data[l->link].dies;
    uint64_t *before = c->dies + (size_t)l->part->depth * units->count;
    Part part = *l->part;
    int64_t more = 0;
    part.open &= ~(UINT64_C(1) << l->link);
    for (uint64_t left = part.open; left; left &= left - 1)
        more += part.least[__builtin_ctzll(left)];
    if (is_done(c) || part.weight + weight + more > c->s->upper) return;
    part.weight += weight;
    part.depth++;
    memcpy(before, units->dies, units->count * sizeof *before);
    for (uint32_t u = 0; u < units->count; u++)
        units->dies[u] &= first[u / 64] >> u % 64 & 1 ? c->side[l->link] : ~c->side[l->link];
    if (edges_hold(c) && raise_least(c, &part) && may_hold(c, find_dies(c, part.open, ends[0])) &&
        may_hold(c, find_dies(c, part.open, ends[1]))) {
        l->lightest = i64_min(l->lightest, weight);
        split(c, &part);
    }
    memcpy(units->dies, before, units->count * sizeof *before);
    c->s->is_over |= c->state->steps + c->work / WORK_PER_STEP >= c->max_steps;
}

/* What the sides of a link may hold beside the units that are known to be on other dies. */
static void limit_room(const Splits *c, const Part *part, PartitionCutQuery *query)
{
    const PartitionState *s = c->state;
    uint64_t first = c->side[query->link];
    uint64_t dies =
        find_dies(c, part->open, s->model->platform->links.data[query->link].dies[0]) & c->s->dies;
    for (uint32_t m = 0; m < c->measure_count; m++) {
        int64_t *room = query->room.of[m];
        room[0] = room[1] = 0;
        for (uint32_t u = 0; u < s->units.count; u++)
            if (!(s->units.dies[u] & dies)) room[(s->units.dies[u] & first) != 0] += c->size[m][u];
        for (uint64_t left = dies; left; left &= left - 1) {
            uint32_t die = (uint32_t)__builtin_ctzll(left);
            room[first >> die & 1] += c->capacity[m][die];
        }
    }
}

/* Goes through the cuts of a link that weigh at most so much. Gives the least weight of those that
 * may do, or more than that. */
static int64_t list_cuts(Splits *c, const Part *part, uint32_t link, int64_t most)
{
    uint32_t count = c->state->units.count;
    int64_t *all = xcalloc((size_t)PARTITION_ENDS * count, sizeof *all);
    Listing l = {.c = c, .part = part, .link = link, .lightest = most + 1};
    for (uint32_t i = 0; i < PARTITION_ENDS * count; i++) all[i] = most;
    PartitionCutQuery query = {.link = link,
                               .weights = c->s->weights,
                               .most = {all, all},
                               .steps = &c->work,
                               .max_steps = (c->max_steps - c->state->steps) * WORK_PER_STEP,
                               .visit = take_cut,
                               .data = &l};
    limit_room(c, part, &query);
    if (!partition_bound_list_cuts(c->s->bound, &query) && !is_done(c)) c->s->is_over = true;
    free(all);
    return l.lightest;
}

static void split(Splits *c, const Part *part)
{
    Part now = *part;
    int64_t spare = c->s->upper - part->weight, count = 0, number = 0;
    for (uint64_t left = part->open; left; left &= left - 1, count++)
        spare -= part->least[__builtin_ctzll(left)];
    if (spare < 0) return;
    if (count == 0) try_dies(c, part->weight);
    for (uint64_t left = part->open; left && !is_done(c); left &= left - 1, number++) {
        uint32_t link = (uint32_t)__builtin_ctzll(left);
        int64_t share = (spare + 1) / count - 1 + (number < (spare + 1) % count);
        if (share < 0) break;
        int64_t lightest = list_cuts(c, &now, link, now.least[link] + share);
        if (part->depth == 0 && !is_done(c)) c->least[link] = i64_max(c->least[link], lightest);
        now.least[link] += share + 1;
    }
}

PartitionSplits *partition_splits_new(PartitionCutSearch *s)
{
    Splits *c = xcalloc(1, sizeof *c);
    PartitionState *state = s->state;
    const PartitionPlatform *platform = state->model->platform;
    const PartitionMeasure *measures;
    uint32_t count = state->units.count;
    c->s = s;
    c->state = state;
    c->link_count = (uint32_t)platform->links.len;
    c->measure_count = partition_bound_measures(s->bound, &measures);
    for (uint32_t m = 0; m < c->measure_count; m++) {
        c->size[m] = xcalloc(count, sizeof **c->size);
        for (uint32_t u = 0; u < count; u++)
            c->size[m][u] = partition_unit_size(state, &measures[m], u);
        for (uint32_t d = 0; d < platform->die_count; d++)
            c->capacity[m][d] = partition_die_size(state, &measures[m], d);
    }
    for (uint32_t i = 0; i < c->link_count; i++) {
        int64_t ends[PARTITION_ENDS];
        PartitionCutRoom room;
        c->side[i] = partition_side_of(platform, i);
        partition_bound_room(s->bound, i, &room);
        partition_bound_ends(s->bound, i, &room, ends);
        c->least[i] = MOST_LEAST;
        for (int e = 0; e < PARTITION_ENDS; e++) c->least[i] = i64_min(c->least[i], ends[e]);
    }
    c->nodes = xcalloc(state->model->nodes.len, sizeof *c->nodes);
    c->dies = xcalloc((size_t)(c->link_count + 1) * count, sizeof *c->dies);
    c->best = xcalloc(count, sizeof *c->best);
    c->max_steps = state->steps + (state->max_steps - state->steps) / 2;
    return c;
}

void partition_splits_free(PartitionSplits *c)
{
    for (uint32_t m = 0; m < c->measure_count; m++) free(c->size[m]);
    free(c->nodes);
    free(c->dies);
    free(c->best);
    free(c);
}

void partition_search_splits(PartitionSplits *c, uint32_t *dies)
{
    PartitionCutSearch *s = c->s;
    PartitionUnits *units = &c->state->units;
    Part all = {.open = (UINT64_C(1) << c->link_count) - 1};
    int64_t sum = 0, upper = s->upper;
    memcpy(all.least, c->least, sizeof all.least);
    uint64_t *before = c->dies + (size_t)c->link_count * units->count;
    s->is_over = s->is_found = false;
    c->work = 0;
    memcpy(before, units->dies, units->count * sizeof *before);
    for (uint32_t u = 0; u < units->count; u++) units->dies[u] &= s->dies;
    split(c, &all);
    memcpy(units->dies, before, units->count * sizeof *before);
    if (s->is_found) memcpy(dies, c->best, units->count * sizeof *dies);
    for (uint32_t i = 0; i < c->link_count; i++) sum += c->least[i];
    s->next = i64_max(upper + 1, sum);
    c->state->steps += c->work / WORK_PER_STEP;
}
