/* Lower bounds by tables. For each link that alone joins two sets of dies, each measure of size and
 * each place in the order of the units there is a table: by the sides of the units that have
 * neighbours both in front and behind (a bit each), and by how much of the first side is filled, it
 * has the least weight that edges across the link add from there on. Sizes are rounded down and those
 * of dies, too, after they have been added up, so no cut that is possible is left out.
 * Where too many units have neighbours on both sides, edges are left out, which add nothing then.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/bound/internal.h"

/* Where each unit has its last neighbour, as a place; edges that are left out do not count. */
static void find_last(const PartitionBound *b, const uint32_t *place_of, uint32_t *last)
{
    const PartitionState *s = b->state;
    for (uint32_t t = 0; t < b->count; t++) {
        uint32_t unit = b->order[t];
        last[t] = t;
        for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
            uint32_t other = place_of[partition_other_unit(s, s->edges[i], unit)];
            if (!b->is_left_out[s->edges[i]] && other > last[t]) last[t] = other;
        }
    }
}

static void leave_out(PartitionBound *b, const uint32_t *place_of, uint32_t at, uint32_t from)
{
    const PartitionState *s = b->state;
    uint32_t unit = b->order[at];
    for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++)
        if (place_of[partition_other_unit(s, s->edges[i], unit)] >= from)
            b->is_left_out[s->edges[i]] = true;
}

/* Lists the open units in front of place t. False: too many, and edges of the one that stays open
 * longest have been left out. */
static bool list_open(PartitionBound *b, const uint32_t *place_of, const uint32_t *last, uint32_t t)
{
    Place *place = &b->places[t];
    uint32_t count = 0, longest = PARTITION_NONE;
    for (uint32_t i = 0; i < t; i++) {
        if (last[i] < t) continue;
        if (count < MOST_OPEN) place->open[count] = i;
        count++;
        if (longest == PARTITION_NONE || last[i] > last[longest]) longest = i;
    }
    place->count = count;
    if (count <= MOST_OPEN) return true;
    leave_out(b, place_of, longest, t);
    return false;
}

static void find_places(PartitionBound *b)
{
    uint32_t *place_of = xcalloc(b->count, sizeof(uint32_t)),
             *last = xcalloc(b->count, sizeof *last);
    size_t entries = 0;
    for (uint32_t t = 0; t < b->count; t++) place_of[b->order[t]] = t;
    find_last(b, place_of, last);
    for (uint32_t t = 0; t <= b->count; t++)
        while (!list_open(b, place_of, last, t)) find_last(b, place_of, last);
    for (uint32_t t = 0; t <= b->count; t++) {
        Place *place = &b->places[t];
        (void)list_open(b, place_of, last, t); /* edges left out behind may close units here */
        place->entries = entries;
        entries += (size_t)1 << place->count;
        for (uint32_t i = 0; t < b->count && i <= place->count; i++)
            place->next_bit[i] = PARTITION_NONE;
    }
    for (uint32_t t = 0; t < b->count; t++)
        for (uint32_t j = 0; j < b->places[t + 1].count; j++)
            for (uint32_t i = 0; i <= b->places[t].count; i++)
                if ((i < b->places[t].count ? b->places[t].open[i] : t) == b->places[t + 1].open[j])
                    b->places[t].next_bit[i] = j;
    free(place_of);
    free(last);
}

static void find_cuts(PartitionBound *b)
{
    const PartitionPlatform *platform = b->state->model->platform;
    for (uint32_t i = 0; i < platform->links.len; i++) {
        uint64_t first = partition_side_of(platform, i);
        if (first) b->cuts[b->cut_count++] = (Cut){i, first};
    }
}

/* Tables. */

static void fill_place(const PartitionBound *b, const Cut *cut, Table *table,
                       const int64_t *weights, uint32_t t, uint32_t last)
{
    const PartitionState *s = b->state;
    const Place *place = &b->places[t];
    const int64_t *own = weights + cut->link * s->model->edges.len;
    uint32_t size = table->size[t];
    uint64_t dies = s->units.dies[b->order[t]] & b->dies;
    for (uint32_t sides = 0; sides < UINT32_C(1) << place->count; sides++) {
        uint32_t *out = table->entries + (place->entries + sides) * (b->buckets + 1);
        for (uint32_t x = 0; x <= b->buckets; x++) out[x] = NOT_FITTING;
        for (uint32_t side = 0; side < 2; side++) { /* 1: the first one */
            if (!(dies & (side ? cut->first : ~cut->first))) continue;
            if (t + 1 == b->count && side != last) continue;
            uint32_t next = partition_bound_next_sides(place, sides, side), step = side ? size : 0;
            int64_t weight = partition_bound_known_weight(b, own, t, sides, side, 1);
            uint32_t more = (uint32_t)(weight >> b->shift);
            const uint32_t *from =
                table->entries + (b->places[t + 1].entries + next) * (b->buckets + 1);
            for (uint32_t x = 0; x + step <= b->buckets; x++)
                if (from[x + step] != NOT_FITTING && from[x + step] + more < out[x])
                    out[x] = from[x + step] + more;
        }
    }
}

/* last: the side of the last unit. */
static void fill_table(const PartitionBound *b, const Cut *cut, Table *table,
                       const int64_t *weights, uint32_t last)
{
    size_t end = b->places[b->count].entries;
    for (uint32_t x = 0; x <= b->buckets; x++)
        table->entries[end * (b->buckets + 1) + x] =
            (int64_t)x >= table->low && (int64_t)x <= table->high ? 0 : NOT_FITTING;
    for (uint32_t t = b->count; t-- > 0;) fill_place(b, cut, table, weights, t, last);
}

static void size_table(const PartitionBound *b, const Cut *cut, const PartitionMeasure *measure,
                       Table *table)
{
    const PartitionState *s = b->state;
    int64_t room[2] = {0, 0}, total = 0, need = 0;
    for (uint32_t i = 0; i < s->model->platform->die_count; i++)
        if (b->dies >> i & 1) room[cut->first >> i & 1] += partition_die_size(s, measure, i);
    for (uint32_t u = 0; u < b->count; u++) need += partition_unit_size(s, measure, u);
    total = i64_max(room[0] + room[1], 1);
    memcpy(table->room, room, sizeof room);
    int64_t divisor = (total + i64_max(total - need, 0)) / b->buckets + 1;
    need = 0;
    table->divisor = divisor;
    table->size = xcalloc(b->count, sizeof(uint32_t));
    table->need = xcalloc(b->count + 1, sizeof(int64_t));
    for (uint32_t t = b->count; t-- > 0;) {
        int64_t size = partition_unit_size(s, measure, b->order[t]) / divisor;
        table->size[t] = (uint32_t)i64_min(size, (int64_t)b->buckets + 1);
        table->need[t] = need += table->size[t];
    }
    table->low = need - room[0] / divisor;
    table->high = room[1] / divisor;
    table->base = (uint32_t)i64_max(table->high - table->low, 0);
    table->low += table->base;
    table->high += table->base;
    table->filled = table->base;
}

/* Weights are kept below 2^31 in all, rounded down. */
static int weight_shift(const PartitionState *state, const int64_t *weights)
{
    enum { BITS = 30 };
    size_t count = state->model->edges.len * state->model->platform->links.len;
    double sum = 0;
    int shift = 0;
    for (size_t i = 0; i < count; i++) sum += (double)weights[i];
    for (; sum >= (double)(1 << BITS); sum /= 2) shift++;
    return shift;
}

/* A search of few steps is not to spend its time on tables. */
static uint32_t choose_buckets(const PartitionState *state, size_t rows)
{
    int64_t steps = i64_min(state->options->max_steps, MOST_ENTRIES / STEP_ENTRIES);
    int64_t most = steps * STEP_ENTRIES / (int64_t)(rows + 1);
    return (uint32_t)i64_max(LEAST_BUCKETS, i64_min(MOST_BUCKETS, most));
}

PartitionBound *partition_bound_new(const PartitionState *state, const uint32_t *order,
                                    const int64_t *weights, uint64_t dies)
{
    PartitionBound *b = xcalloc(1, sizeof *b);
    PartitionMeasure *measures = b->measures;
    b->state = state;
    b->order = order;
    b->dies = dies;
    b->count = state->units.count;
    b->places = xcalloc(b->count + 1, sizeof *b->places);
    b->is_left_out = xcalloc(state->model->edges.len, sizeof(bool));
    find_places(b);
    find_cuts(b);
    b->measure_count = partition_choose_measures(state, dies, measures, PARTITION_MOST_MEASURES);
    b->sizes = xcalloc((size_t)b->measure_count * b->count + 1, sizeof *b->sizes);
    for (uint32_t i = 0; i < b->measure_count * b->count; i++)
        b->sizes[i] = partition_unit_size(state, &measures[i / b->count], order[i % b->count]);
    b->shift = weight_shift(state, weights);
    b->table_count = b->cut_count * b->measure_count * 2;
    b->tables = xcalloc(b->table_count, sizeof *b->tables);
    size_t rows = b->places[b->count].entries + 1;
    b->buckets = choose_buckets(state, rows * b->table_count);
    for (uint32_t i = 0; i < b->table_count; i++) {
        const Cut *cut = &b->cuts[i / 2 / b->measure_count];
        size_table(b, cut, &b->measures[i / 2 % b->measure_count], &b->tables[i]);
        b->tables[i].entries = xmalloc(rows * (b->buckets + 1) * sizeof(uint32_t));
        fill_table(b, cut, &b->tables[i], weights, i % 2);
    }
    return b;
}

void partition_bound_free(PartitionBound *b)
{
    for (uint32_t i = 0; i < b->table_count; i++) {
        free(b->tables[i].size);
        free(b->tables[i].need);
        free(b->tables[i].entries);
    }
    free(b->tables);
    free(b->sizes);
    free(b->places);
    free(b->is_left_out);
    free(b);
}

static void fill(PartitionBound *b, uint32_t at, uint32_t die, bool adds)
{
    for (uint32_t i = 0; i < b->table_count; i++) {
        Table *table = &b->tables[i];
        if (b->cuts[i / 2 / b->measure_count].first >> die & 1)
            table->filled += adds ? table->size[at] : 0 - table->size[at];
    }
}

void partition_bound_place(PartitionBound *b, uint32_t at, uint32_t die)
{
    fill(b, at, die, true);
}

void partition_bound_remove(PartitionBound *b, uint32_t at, uint32_t die)
{
    fill(b, at, die, false);
}

/* The sides of the open units of a cut, a bit each. */
static uint32_t sides_of(const PartitionBound *b, const Place *place, uint64_t first)
{
    uint32_t sides = 0;
    for (uint32_t i = 0; i < place->count; i++)
        sides |= (uint32_t)(first >> b->state->die[b->order[place->open[i]]] & 1) << i;
    return sides;
}

/* The least sum over the cuts, each by the side that the die of the last unit is on: the cuts alone
 * would let the graph end on different dies. by_cut: per cut and side of the last unit. */
static int64_t least_sum(const PartitionBound *b, uint32_t (*by_cut)[2])
{
    uint64_t dies = b->state->units.dies[b->order[b->count - 1]] & b->dies;
    int64_t least = INT64_MAX;
    for (; dies; dies &= dies - 1) {
        uint32_t die = (uint32_t)__builtin_ctzll(dies);
        int64_t sum = 0;
        for (uint32_t c = 0; c < b->cut_count && sum < INT64_MAX; c++) {
            uint32_t rest = by_cut[c][b->cuts[c].first >> die & 1];
            sum = rest == NOT_FITTING ? INT64_MAX : sum + ((int64_t)rest << b->shift);
        }
        least = i64_min(least, sum);
    }
    return least;
}

int64_t partition_bound_rest(const PartitionBound *b, uint32_t at)
{
    const Place *place = &b->places[at];
    uint32_t by_cut[PARTITION_MAX_DIES][2] = {{0}};
    if (at == b->count) return 0;
    for (uint32_t i = 0; i < b->table_count; i++) {
        const Table *table = &b->tables[i];
        uint32_t c = i / 2 / b->measure_count, sides = sides_of(b, place, b->cuts[c].first);
        if (table->filled > b->buckets) return INT64_MAX;
        uint32_t rest = table->entries[(place->entries + sides) * (b->buckets + 1) + table->filled];
        if (rest > by_cut[c][i % 2]) by_cut[c][i % 2] = rest;
    }
    return least_sum(b, by_cut);
}

uint32_t partition_bound_measures(const PartitionBound *bound, const PartitionMeasure **measures)
{
    *measures = bound->measures;
    return bound->measure_count;
}

/* What the tables of a cut and a measure say where the two sides have so much left. Of the window for
 * what the first side gets, a table keeps the width that it has at the beginning; so it is asked
 * twice, with either end in its place. */
void partition_bound_look_up(const PartitionBound *b, const Table *tables, size_t row, uint32_t at,
                             const int64_t left[2], uint32_t most_of[2])
{
    const Table *table = &tables[0]; /* both have the same sizes */
    int64_t most = left[1] / table->divisor, least = table->need[at] - left[0] / table->divisor;
    if (left[0] < 0 || left[1] < 0 || least > most) {
        most_of[0] = most_of[1] = NOT_FITTING;
        return;
    }
    int64_t x = i64_max(0, table->high - most), y = i64_max(0, table->low - least);
    for (int side = 0; side < 2; side++) {
        const uint32_t *entries = tables[side].entries + row * (b->buckets + 1);
        uint32_t first = x <= b->buckets ? entries[x] : 0,
                 second = y <= b->buckets ? entries[y] : 0;
        if (first < second) first = second;
        if (most_of[side] < first) most_of[side] = first;
    }
}

int64_t partition_bound_left(const PartitionBound *b, uint32_t at, const int64_t *left,
                             PartitionLinkBounds *by_link)
{
    const Place *place = &b->places[at];
    uint32_t dies = b->state->model->platform->die_count, measures = b->measure_count;
    uint32_t by_cut[PARTITION_MAX_DIES][2] = {{0}};
    for (uint32_t c = 0; c < b->cut_count; c++) {
        uint64_t first = b->cuts[c].first;
        size_t row = place->entries + sides_of(b, place, first);
        for (uint32_t m = 0; m < measures; m++) {
            int64_t room[2] = {0, 0};
            for (uint32_t i = 0; i < dies; i++) room[first >> i & 1] += left[i * measures + m];
            partition_bound_look_up(b, &b->tables[(c * measures + m) * 2], row, at, room,
                                    by_cut[c]);
        }
        for (uint32_t side = 0; side < 2; side++)
            (*by_link)[b->cuts[c].link][side] =
                by_cut[c][side] == NOT_FITTING ? INT64_MAX : (int64_t)by_cut[c][side] << b->shift;
    }
    return least_sum(b, by_cut);
}
