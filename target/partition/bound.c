/* Lower bounds by tables. For each link that alone joins two sets of dies, each measure of size and
 * each place in the order of the units there is a table: by the sides of the units that have
 * neighbours both in front and behind (a bit each), and by how much of the first side is filled, it
 * has the least weight that edges across the link add from there on. Sizes are rounded down and those
 * of dies, too, after they have been added up, so no cut that is possible is left out.
 * Where too many units have neighbours on both sides, edges are left out, which add nothing then.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

enum {
    MOST_MEASURES = 3,
    MOST_OPEN = 6,       /* units whose side a table knows */
    MOST_BUCKETS = 4096, /* of sizes */
    LEAST_BUCKETS = 64,
    MOST_ENTRIES = 24 << 20 /* of all tables */
};
#define NOT_FITTING UINT32_MAX

/* A place in the order: the open units in front of it, and where their bits go behind it. */
typedef struct Place {
    uint32_t open[MOST_OPEN], count;
    uint32_t next_bit[MOST_OPEN + 1]; /* of each and of the unit here; PARTITION_NONE: closed */
    size_t entries;                   /* of the tables for the places in front */
} Place;

typedef struct Cut {
    uint32_t link;
    uint64_t first; /* dies on the side of the link's first one */
} Cut;

typedef struct Table {
    int64_t low, high; /* what the first side holds in the end */
    uint32_t *size;    /* per place, in buckets */
    uint32_t *entries;
    uint32_t filled; /* of the first side now */
} Table;

struct PartitionBound {
    const PartitionState *state;
    const uint32_t *order;
    uint64_t dies;
    Place *places; /* and one behind the last unit */
    uint32_t count;
    bool *is_left_out; /* edges */
    Cut cuts[PARTITION_MAX_DIES];
    uint32_t cut_count, measure_count, buckets;
    int shift;     /* of weights in the tables */
    Table *tables; /* by cut and measure */
};

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

/* The dies that are joined with one without that link. */
static uint64_t side_of(const PartitionPlatform *platform, uint32_t without, uint32_t die)
{
    uint64_t side = UINT64_C(1) << die, before;
    do {
        before = side;
        for (uint32_t i = 0; i < platform->links.len; i++) {
            const uint32_t *ends = platform->links.data[i].dies;
            if (i != without && ((side >> ends[0] | side >> ends[1]) & 1))
                side |= UINT64_C(1) << ends[0] | UINT64_C(1) << ends[1];
        }
    } while (side != before);
    return side;
}

static void find_cuts(PartitionBound *b)
{
    const PartitionPlatform *platform = b->state->model->platform;
    for (uint32_t i = 0; i < platform->links.len; i++) {
        const uint32_t *ends = platform->links.data[i].dies;
        uint64_t first = side_of(platform, i, ends[0]);
        if (!(first >> ends[1] & 1)) b->cuts[b->cut_count++] = (Cut){i, first};
    }
}

/* Tables. */

static void fill_place(const PartitionBound *b, const Cut *cut, Table *table,
                       const int64_t *weights, uint32_t t)
{
    const PartitionState *s = b->state;
    const Place *place = &b->places[t];
    uint32_t unit = b->order[t], size = table->size[t];
    uint64_t dies = s->units.dies[unit] & b->dies;
    for (uint32_t sides = 0; sides < UINT32_C(1) << place->count; sides++) {
        uint32_t *out = table->entries + (place->entries + sides) * (b->buckets + 1);
        for (uint32_t x = 0; x <= b->buckets; x++) out[x] = NOT_FITTING;
        for (uint32_t side = 0; side < 2; side++) { /* 1: the first one */
            int64_t weight = 0;
            uint32_t next = 0, step = side ? size : 0;
            if (!(dies & (side ? cut->first : ~cut->first))) continue;
            for (uint32_t i = 0; i <= place->count; i++) {
                uint32_t bit = i < place->count ? sides >> i & 1 : side;
                if (place->next_bit[i] != PARTITION_NONE) next |= bit << place->next_bit[i];
            }
            for (uint32_t i = s->first_edge[unit]; i < s->first_edge[unit + 1]; i++) {
                uint32_t edge = s->edges[i], other = partition_other_unit(s, edge, unit);
                for (uint32_t j = 0; !b->is_left_out[edge] && j < place->count; j++)
                    if (b->order[place->open[j]] == other && (sides >> j & 1) != side)
                        weight += weights[cut->link * s->model->edges.len + edge];
            }
            uint32_t more = (uint32_t)(weight >> b->shift);
            const uint32_t *from =
                table->entries + (b->places[t + 1].entries + next) * (b->buckets + 1);
            for (uint32_t x = 0; x + step <= b->buckets; x++)
                if (from[x + step] != NOT_FITTING && from[x + step] + more < out[x])
                    out[x] = from[x + step] + more;
        }
    }
}

static void fill_table(const PartitionBound *b, const Cut *cut, Table *table,
                       const int64_t *weights)
{
    size_t end = b->places[b->count].entries;
    for (uint32_t x = 0; x <= b->buckets; x++)
        table->entries[end * (b->buckets + 1) + x] =
            (int64_t)x >= table->low && (int64_t)x <= table->high ? 0 : NOT_FITTING;
    for (uint32_t t = b->count; t-- > 0;) fill_place(b, cut, table, weights, t);
}

static void size_table(const PartitionBound *b, const Cut *cut, const PartitionMeasure *measure,
                       Table *table)
{
    const PartitionState *s = b->state;
    int64_t room[2] = {0, 0}, total = 0, need = 0;
    for (uint32_t i = 0; i < s->model->platform->die_count; i++)
        if (b->dies >> i & 1) room[cut->first >> i & 1] += partition_die_size(s, measure, i);
    total = i64_max(room[0] + room[1], 1);
    int64_t divisor = total / b->buckets + 1;
    table->size = xcalloc(b->count, sizeof(uint32_t));
    for (uint32_t t = 0; t < b->count; t++) {
        int64_t size = partition_unit_size(s, measure, b->order[t]) / divisor;
        table->size[t] = (uint32_t)i64_min(size, (int64_t)b->buckets + 1);
        need += table->size[t];
    }
    table->low = need - room[0] / divisor;
    table->high = room[1] / divisor;
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

PartitionBound *partition_bound_new(const PartitionState *state, const uint32_t *order,
                                    const int64_t *weights, uint64_t dies)
{
    PartitionBound *b = xcalloc(1, sizeof *b);
    PartitionMeasure measures[MOST_MEASURES];
    b->state = state;
    b->order = order;
    b->dies = dies;
    b->count = state->units.count;
    b->places = xcalloc(b->count + 1, sizeof *b->places);
    b->is_left_out = xcalloc(state->model->edges.len, sizeof(bool));
    find_places(b);
    find_cuts(b);
    b->measure_count = partition_choose_measures(state, dies, measures, MOST_MEASURES);
    b->shift = weight_shift(state, weights);
    b->tables = xcalloc((size_t)b->cut_count * b->measure_count, sizeof *b->tables);
    size_t rows = b->places[b->count].entries + 1, all = rows * b->cut_count * b->measure_count;
    b->buckets =
        (uint32_t)i64_max(LEAST_BUCKETS, i64_min(MOST_BUCKETS, MOST_ENTRIES / (int64_t)(all + 1)));
    for (uint32_t c = 0; c < b->cut_count; c++)
        for (uint32_t m = 0; m < b->measure_count; m++) {
            Table *table = &b->tables[c * b->measure_count + m];
            size_table(b, &b->cuts[c], &measures[m], table);
            table->entries = xmalloc(rows * (b->buckets + 1) * sizeof(uint32_t));
            fill_table(b, &b->cuts[c], table, weights);
        }
    return b;
}

void partition_bound_free(PartitionBound *b)
{
    for (uint32_t i = 0; i < b->cut_count * b->measure_count; i++) {
        free(b->tables[i].size);
        free(b->tables[i].entries);
    }
    free(b->tables);
    free(b->places);
    free(b->is_left_out);
    free(b);
}

static void fill(PartitionBound *b, uint32_t at, uint32_t die, bool adds)
{
    for (uint32_t c = 0; c < b->cut_count; c++)
        for (uint32_t m = 0; (b->cuts[c].first >> die & 1) && m < b->measure_count; m++) {
            Table *table = &b->tables[c * b->measure_count + m];
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

int64_t partition_bound_rest(const PartitionBound *b, uint32_t at)
{
    const Place *place = &b->places[at];
    int64_t sum = 0;
    for (uint32_t c = 0; c < b->cut_count; c++) {
        uint32_t sides = 0, most = 0;
        for (uint32_t i = 0; i < place->count; i++) {
            uint32_t die = b->state->die[b->order[place->open[i]]];
            sides |= (uint32_t)(b->cuts[c].first >> die & 1) << i;
        }
        for (uint32_t m = 0; m < b->measure_count; m++) {
            const Table *table = &b->tables[c * b->measure_count + m];
            if (table->filled > b->buckets) return INT64_MAX;
            uint32_t rest =
                table->entries[(place->entries + sides) * (b->buckets + 1) + table->filled];
            if (rest == NOT_FITTING) return INT64_MAX;
            most = rest > most ? rest : most;
        }
        sum += (int64_t)most << b->shift;
    }
    return sum;
}
