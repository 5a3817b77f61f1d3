/* What the tables say of single cuts: all those by a link that are light enough, the lightest ones by
 * where the first and the last unit are, and by where any other unit is.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/bound/internal.h"

/* All cuts by a link, by the sides of the units in their order. */

enum { STEPS_BEFORE_REACH = 30 };

typedef struct Listing {
    const PartitionBound *b;
    const PartitionCutQuery *query;
    const Cut *cut;
    const Table *tables;   /* per measure, two each */
    PartitionCutRoom left; /* of the query's room */
    uint64_t *first;       /* a bit per unit that is on the first side */
    int64_t *forced;       /* what comes at least, see find_forced */
    Reach *reach[PARTITION_MOST_MEASURES];
    uint32_t taken; /* steps */
    uint32_t *place_of;
    bool is_over;
} Listing;

/* A place on the way. */
typedef struct Step {
    uint32_t at, sides;
    int64_t weight, most[PARTITION_ENDS];
} Step;

static const Cut *cut_of(const PartitionBound *b, uint32_t link)
{
    const Cut *cut = b->cuts;
    while (cut->link != link) cut++;
    return cut;
}

/* The weight of the edges from the unit of a place to those in front on the other side. */
static int64_t cut_weight(const Listing *g, uint32_t at, uint32_t side)
{
    const PartitionState *s = g->b->state;
    uint32_t unit = g->b->order[at];
    int64_t weight = 0;
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        uint32_t other = partition_other_unit(s, s->edges[i], unit);
        if (g->place_of[other] < at && (g->first[other / 64] >> other % 64 & 1) != side)
            weight += g->query->weights[g->cut->link * s->model->edges.len + s->edges[i]];
    }
    return weight;
}

/* What the tables of a cut say by the side of the last unit. */
static void look_ahead(const PartitionBound *b, const Table *tables, const PartitionCutRoom *left,
                       uint32_t at, uint32_t sides, uint32_t rest[2])
{
    size_t row = b->places[at].entries + sides;
    rest[0] = rest[1] = 0;
    for (uint32_t m = 0; m < b->measure_count; m++)
        partition_bound_look_up(b, tables + 2 * (size_t)m, row, at, left->of[m], rest);
}

void partition_bound_room(const PartitionBound *b, uint32_t link, PartitionCutRoom *out)
{
    const Table *tables = &b->tables[(size_t)(cut_of(b, link) - b->cuts) * b->measure_count * 2];
    for (uint32_t m = 0; m < b->measure_count; m++)
        memcpy(out->of[m], tables[2 * (size_t)m].room, sizeof out->of[m]);
}

uint32_t partition_bound_next_sides(const Place *place, uint32_t sides, uint32_t side)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i <= place->count; i++) {
        uint32_t bit = i < place->count ? sides >> i & 1 : side;
        if (place->next_bit[i] != PARTITION_NONE) next |= bit << place->next_bit[i];
    }
    return next;
}

int64_t partition_bound_known_weight(const PartitionBound *b, const int64_t *weights, uint32_t at,
                                     uint32_t sides, uint32_t side, int64_t divisor)
{
    const PartitionState *s = b->state;
    const Place *place = &b->places[at];
    uint32_t unit = b->order[at];
    int64_t weight = 0;
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        uint32_t edge = s->edges[i], other = partition_other_unit(s, edge, unit);
        for (uint32_t j = 0; !b->is_left_out[edge] && j < place->count; j++)
            if (b->order[place->open[j]] == other && (sides >> j & 1) != side)
                weight += weights[edge] / divisor;
    }
    return weight;
}

/* Since the tables were made, units may have lost dies. What comes at least from each place on, by the
 * sides of the open units, follows in the same way, but without sizes. weights: of the cut's link. */
static int64_t *find_forced(const PartitionBound *b, const Cut *cut, const int64_t *weights)
{
    int64_t *least = xcalloc(b->places[b->count].entries + 1, sizeof *least);
    for (uint32_t at = b->count; at-- > 0;) {
        const Place *place = &b->places[at];
        uint64_t dies = b->state->units.dies[b->order[at]] & b->dies;
        for (uint32_t sides = 0; sides < UINT32_C(1) << place->count; sides++) {
            int64_t *own = &least[place->entries + sides];
            *own = INT64_MAX;
            for (uint32_t side = 0; side < 2; side++) {
                int64_t rest = least[b->places[at + 1].entries +
                                     partition_bound_next_sides(place, sides, side)];
                if (rest == INT64_MAX || !(dies & (side ? cut->first : ~cut->first))) continue;
                *own = i64_min(*own,
                               rest + partition_bound_known_weight(b, weights, at, sides, side, 1));
            }
        }
    }
    return least;
}

int64_t partition_bound_forced(const PartitionBound *b, uint32_t link, const int64_t *weights)
{
    int64_t *forced = find_forced(b, cut_of(b, link), weights + link * b->state->model->edges.len);
    int64_t least = forced[0];
    free(forced);
    return least;
}

/* Whether some cut that goes on like this is light enough. */
static bool can_go_on(const Listing *g, const Step *step)
{
    const PartitionBound *b = g->b;
    size_t row = b->places[step->at].entries + step->sides;
    int64_t forced = g->forced[row], most[2];
    for (int last = 0; last < 2; last++)
        most[last] = i64_max(step->most[last], step->most[last + 2]) - step->weight;
    if (forced == INT64_MAX || i64_max(most[0], most[1]) < forced) return false;
    uint32_t rest[2] = {0, 0};
    for (uint32_t m = 0; m < b->measure_count; m++) {
        if (g->reach[m]) {
            if (!partition_bound_can_reach(g->reach[m], step->at, step->sides, g->left.of[m],
                                           i64_max(most[0], most[1])))
                return false;
            continue;
        }
        partition_bound_look_up(b, g->tables + 2 * (size_t)m, row, step->at, g->left.of[m], rest);
        bool is_light = false;
        for (int last = 0; last < 2; last++)
            is_light |= rest[last] != NOT_FITTING && (int64_t)rest[last] << b->shift <= most[last];
        if (!is_light) return false;
    }
    return true;
}

/* When a list takes long. */
static void find_reach(Listing *g)
{
    const PartitionBound *b = g->b;
    const PartitionCutQuery *query = g->query;
    int64_t most = 0;
    for (uint32_t i = 0; i < PARTITION_ENDS * b->count; i++)
        most = i64_max(most, i64_max(query->most[0][i], query->most[1][i]));
    for (uint32_t m = 0; m < b->measure_count; m++)
        g->reach[m] = partition_bound_reach_new(
            b, g->cut, m, query->weights + g->cut->link * b->state->model->edges.len, most);
}

static void limit_step(const Listing *g, uint32_t unit, uint32_t side, Step *step)
{
    uint32_t count = g->b->count;
    for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++) {
        bool is_ruled_out =
            (step->at == 0 && ends >> 1 != side) || (step->at + 1 == count && (ends & 1) != side);
        int64_t most = is_ruled_out ? -1 : g->query->most[side][ends * count + unit];
        step->most[ends] = i64_min(step->most[ends], most);
    }
}

static void list_from(Listing *g, const Step *step)
{
    const PartitionBound *b = g->b;
    if (step->at == b->count) g->query->visit(g->query->data, g->first, step->weight);
    if (step->at == b->count) return;
    uint32_t unit = b->order[step->at];
    uint64_t dies = b->state->units.dies[unit] & b->dies;
    for (uint32_t side = 0; side < 2 && !g->is_over; side++) {
        Step next = *step;
        if (!(dies & (side ? g->cut->first : ~g->cut->first))) continue;
        limit_step(g, unit, side, &next);
        next.weight += cut_weight(g, step->at, side);
        next.sides = partition_bound_next_sides(&b->places[step->at], step->sides, side);
        next.at++;
        for (uint32_t m = 0; m < b->measure_count; m++)
            g->left.of[m][side] -= b->sizes[m * b->count + step->at];
        if (can_go_on(g, &next)) {
            g->is_over = ++*g->query->steps >= g->query->max_steps;
            if (++g->taken == STEPS_BEFORE_REACH) find_reach(g);
            g->first[unit / 64] |= (uint64_t)side << unit % 64;
            list_from(g, &next);
            g->first[unit / 64] &= ~((uint64_t)side << unit % 64);
        }
        for (uint32_t m = 0; m < b->measure_count; m++)
            g->left.of[m][side] += b->sizes[m * b->count + step->at];
    }
}

bool partition_bound_list_cuts(const PartitionBound *b, const PartitionCutQuery *query)
{
    const Cut *cut = cut_of(b, query->link);
    Listing g = {.b = b,
                 .query = query,
                 .cut = cut,
                 .tables = &b->tables[(size_t)(cut - b->cuts) * b->measure_count * 2],
                 .first = xcalloc((b->count + 63) / 64, sizeof(uint64_t)),
                 .place_of = xcalloc(b->count, sizeof(uint32_t))};
    Step begin = {.at = 0};
    g.left = query->room;
    g.forced = find_forced(b, cut, query->weights + cut->link * b->state->model->edges.len);
    for (uint32_t t = 0; t < b->count; t++) g.place_of[b->order[t]] = t;
    for (int ends = 0; ends < PARTITION_ENDS; ends++) begin.most[ends] = INT64_MAX;
    list_from(&g, &begin);
    free(g.first);
    free(g.place_of);
    free(g.forced);
    for (uint32_t m = 0; m < b->measure_count; m++) partition_bound_reach_free(g.reach[m]);
    return !g.is_over;
}

void partition_bound_ends(const PartitionBound *b, uint32_t link, const PartitionCutRoom *room,
                          int64_t least[PARTITION_ENDS])
{
    const Cut *cut = cut_of(b, link);
    const Table *tables = &b->tables[(size_t)(cut - b->cuts) * b->measure_count * 2];
    uint64_t dies = b->state->units.dies[b->order[0]] & b->dies;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rest[2];
        PartitionCutRoom left = *room;
        for (uint32_t m = 0; m < b->measure_count; m++) left.of[m][side] -= b->sizes[m * b->count];
        look_ahead(b, tables, &left, 1, partition_bound_next_sides(&b->places[0], 0, side), rest);
        for (uint32_t last = 0; last < 2; last++) {
            bool ok = rest[last] != NOT_FITTING && (b->count > 1 || last == side) &&
                      (dies & (side ? cut->first : ~cut->first));
            least[2 * side + last] = ok ? (int64_t)rest[last] << b->shift : INT64_MAX;
        }
    }
}

/* Least weights by unit: what comes in front of a place, and what the table has from there on. */

typedef struct Front {
    const PartitionBound *b;
    const Cut *cut;
    const Table *tables;
    const int64_t *weights;
    uint32_t *now, *next; /* by the sides of the open units, and by how much is filled */
    uint32_t first;       /* side of the first unit */
    int64_t **with;
} Front;

static void pass_row(Front *f, uint32_t at, uint32_t sides, uint32_t side)
{
    const PartitionBound *b = f->b;
    uint32_t width = b->buckets + 1, step = side ? f->tables[0].size[at] : 0, least[2];
    const int64_t *weights = f->weights + f->cut->link * b->state->model->edges.len;
    uint32_t more = (uint32_t)(partition_bound_known_weight(b, weights, at, sides, side, 1) >>
                               b->shift),
             next = partition_bound_next_sides(&b->places[at], sides, side);
    const uint32_t *from = f->now + (size_t)sides * width;
    uint32_t *to = f->next + (size_t)next * width;
    size_t row = (b->places[at + 1].entries + next) * width;
    least[0] = least[1] = NOT_FITTING;
    for (uint32_t x = 0; x + step < width; x++) {
        if (from[x] == NOT_FITTING) continue;
        uint32_t weight = from[x] + more;
        if (weight < to[x + step]) to[x + step] = weight;
        for (int last = 0; last < 2; last++) {
            uint32_t rest = f->tables[last].entries[row + x + step];
            if (rest != NOT_FITTING && weight + rest < least[last]) least[last] = weight + rest;
        }
    }
    for (uint32_t last = 0; last < 2; last++) {
        uint32_t ends = 2 * f->first + last;
        int64_t *out = &f->with[side][ends * b->count + b->order[at]];
        bool ok = least[last] != NOT_FITTING && (at + 1 < b->count || side == last);
        if (ok) *out = i64_min(*out, (int64_t)least[last] << b->shift);
    }
}

static void pass_front(Front *f)
{
    const PartitionBound *b = f->b;
    size_t width = b->buckets + 1, all = (size_t)1 << MOST_OPEN;
    memset(f->now, 0xff, all * width * sizeof *f->now);
    f->now[f->tables[0].base] = 0;
    for (uint32_t at = 0; at < b->count; at++) {
        uint64_t dies = b->state->units.dies[b->order[at]] & b->dies;
        memset(f->next, 0xff, (width << b->places[at + 1].count) * sizeof *f->next);
        for (uint32_t side = 0; side < 2; side++) {
            if (!(dies & (side ? f->cut->first : ~f->cut->first))) continue;
            for (uint32_t sides = 0; sides < UINT32_C(1) << b->places[at].count; sides++)
                if (at > 0 || side == f->first) pass_row(f, at, sides, side);
        }
        uint32_t *swap = f->now;
        f->now = f->next;
        f->next = swap;
    }
}

void partition_bound_units(const PartitionBound *b, uint32_t link, const int64_t *weights,
                           int64_t *with[2])
{
    const Cut *cut = cut_of(b, link);
    size_t room = ((size_t)b->buckets + 1) << MOST_OPEN;
    Front f = {.b = b,
               .cut = cut,
               .tables = &b->tables[(size_t)(cut - b->cuts) * b->measure_count * 2],
               .weights = weights,
               .now = xmalloc(room * sizeof(uint32_t)),
               .next = xmalloc(room * sizeof(uint32_t)),
               .with = with};
    for (uint32_t i = 0; i < PARTITION_ENDS * b->count; i++) with[0][i] = with[1][i] = INT64_MAX;
    for (f.first = 0; f.first < 2; f.first++) pass_front(&f);
    free(f.now);
    free(f.next);
}
