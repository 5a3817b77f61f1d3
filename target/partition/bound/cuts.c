/* What the tables say of single cuts: all those by a link that are light enough, the lightest ones by
 * where the first and the last unit are, and by where any other unit is.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/bound/internal.h"

/* All cuts by a link, by the sides of the units in their order. */

/* Tables know one window of sizes of the first side. By asking twice, for that window moved to either
 * end of a narrower one, they say what is known of that. */
typedef struct Window {
    uint32_t up, down; /* from its ends to those of the table's, in buckets */
} Window;

typedef struct Listing {
    const PartitionBound *b;
    Window window; /* of the first measure */
    const PartitionCutQuery *query;
    const Cut *cut;
    const Table *tables; /* per measure, two each */
    uint32_t filled[PARTITION_MOST_MEASURES];
    uint64_t *first; /* a bit per unit that is on the first side */
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

static Window find_window(const PartitionBound *b, const Table *table, int64_t least, int64_t most)
{
    int64_t total = 0;
    for (uint32_t u = 0; u < b->count; u++)
        total += partition_unit_size(b->state, &b->measures[0], u);
    int64_t low = table->base + table->need[0] - i64_max(total - least, 0) / table->divisor;
    int64_t high = table->base + i64_max(most, 0) / table->divisor;
    return (Window){(uint32_t)i64_max(0, table->high - high),
                    (uint32_t)i64_max(0, low - table->low)};
}

static void look_at(const PartitionBound *b, const Table *tables, size_t row, int64_t filled,
                    uint32_t rest[2])
{
    filled = i64_max(filled, 0);
    for (int last = 0; last < 2; last++) {
        uint32_t entry = filled > b->buckets
                             ? NOT_FITTING
                             : tables[last].entries[row * (b->buckets + 1) + (size_t)filled];
        if (entry > rest[last]) rest[last] = entry;
    }
}

/* What the tables of a cut say by the side of the last unit. filled: per measure. */
static void look_ahead(const PartitionBound *b, const Table *tables, const Window *window,
                       const uint32_t *filled, uint32_t at, uint32_t sides, uint32_t rest[2])
{
    size_t row = b->places[at].entries + sides;
    rest[0] = rest[1] = 0;
    look_at(b, tables, row, (int64_t)filled[0] + window->up, rest);
    look_at(b, tables, row, (int64_t)filled[0] - window->down, rest);
    for (uint32_t m = 1; m < b->measure_count; m++)
        look_at(b, tables + 2 * (size_t)m, row, filled[m], rest);
}

/* Whether some cut that goes on like this is light enough. */
static bool can_go_on(const Listing *g, const Step *step)
{
    uint32_t rest[2];
    look_ahead(g->b, g->tables, &g->window, g->filled, step->at, step->sides, rest);
    for (int ends = 0; ends < PARTITION_ENDS; ends++)
        if (rest[ends & 1] != NOT_FITTING &&
            step->weight + ((int64_t)rest[ends & 1] << g->b->shift) <= step->most[ends])
            return true;
    return false;
}

/* The sides of the open units behind a place. */
static uint32_t next_sides(const Place *place, uint32_t sides, uint32_t side)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i <= place->count; i++) {
        uint32_t bit = i < place->count ? sides >> i & 1 : side;
        if (place->next_bit[i] != PARTITION_NONE) next |= bit << place->next_bit[i];
    }
    return next;
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
        next.sides = next_sides(&b->places[step->at], step->sides, side);
        next.at++;
        for (uint32_t m = 0; m < b->measure_count; m++)
            g->filled[m] += side ? g->tables[2 * m].size[step->at] : 0;
        if (can_go_on(g, &next)) {
            g->is_over = ++*g->query->steps >= g->query->max_steps;
            g->first[unit / 64] |= (uint64_t)side << unit % 64;
            list_from(g, &next);
            g->first[unit / 64] &= ~((uint64_t)side << unit % 64);
        }
        for (uint32_t m = 0; m < b->measure_count; m++)
            g->filled[m] -= side ? g->tables[2 * m].size[step->at] : 0;
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
    g.window = find_window(b, g.tables, query->least_size, query->most_size);
    for (uint32_t m = 0; m < b->measure_count; m++) g.filled[m] = g.tables[2 * m].base;
    for (uint32_t t = 0; t < b->count; t++) g.place_of[b->order[t]] = t;
    for (int ends = 0; ends < PARTITION_ENDS; ends++) begin.most[ends] = INT64_MAX;
    list_from(&g, &begin);
    free(g.first);
    free(g.place_of);
    return !g.is_over;
}

void partition_bound_ends(const PartitionBound *b, uint32_t link, int64_t least_size,
                          int64_t most_size, int64_t least[PARTITION_ENDS])
{
    const Cut *cut = cut_of(b, link);
    const Table *tables = &b->tables[(size_t)(cut - b->cuts) * b->measure_count * 2];
    uint64_t dies = b->state->units.dies[b->order[0]] & b->dies;
    Window window = find_window(b, tables, least_size, most_size);
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rest[2], filled[PARTITION_MOST_MEASURES] = {0};
        for (uint32_t m = 0; m < b->measure_count; m++)
            filled[m] = tables[2 * m].base + (side ? tables[2 * m].size[0] : 0);
        look_ahead(b, tables, &window, filled, 1, next_sides(&b->places[0], 0, side), rest);
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

/* The weight of the edges of a place's unit that tables know. */
static uint32_t known_weight(const Front *f, uint32_t at, uint32_t sides, uint32_t side)
{
    const PartitionBound *b = f->b;
    const PartitionState *s = b->state;
    const Place *place = &b->places[at];
    uint32_t unit = b->order[at];
    int64_t weight = 0;
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
        uint32_t edge = s->edges[i], other = partition_other_unit(s, edge, unit);
        for (uint32_t j = 0; !b->is_left_out[edge] && j < place->count; j++)
            if (b->order[place->open[j]] == other && (sides >> j & 1) != side)
                weight += f->weights[f->cut->link * s->model->edges.len + edge];
    }
    return (uint32_t)(weight >> b->shift);
}

static void pass_row(Front *f, uint32_t at, uint32_t sides, uint32_t side)
{
    const PartitionBound *b = f->b;
    uint32_t width = b->buckets + 1, step = side ? f->tables[0].size[at] : 0, least[2];
    uint32_t more = known_weight(f, at, sides, side),
             next = next_sides(&b->places[at], sides, side);
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
