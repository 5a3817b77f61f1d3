/* Which sizes the first side of a cut may get from a place of the order on, where many units are known
 * to be on a side. Tables do not know of these; here sizes that can be had are bits, per place, sides of
 * the open units and weight, so that all this takes little time. Weights are counted in the least one,
 * rounded down for each edge.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/bound/internal.h"

enum { WORDS = 16, BUCKETS = 64 * WORDS - 1, MOST_WEIGHTS = 32 };

struct Reach {
    const PartitionBound *b;
    int64_t unit, divisor; /* of weights, and of sizes */
    uint32_t weights;
    uint32_t *size;       /* per place; 0 of units that are on one side */
    int64_t *need;        /* per place: what comes of the sizes */
    int64_t (*forced)[2]; /* per place: what units that are on one side take from there on */
    uint64_t *bits;       /* per place, sides and weight, and less than that */
};

/* 1: the first side, 0: the second, -1: both. */
static int side_at(const PartitionBound *b, const Cut *cut, uint32_t at)
{
    uint64_t dies = b->state->units.dies[b->order[at]] & b->dies;
    return !(dies & ~cut->first) ? 1 : !(dies & cut->first) ? 0 : -1;
}

static void find_sizes(Reach *r, const Cut *cut, const int64_t *sizes)
{
    uint32_t count = r->b->count;
    int64_t all = 0;
    for (uint32_t at = count; at-- > 0;) {
        int side = side_at(r->b, cut, at);
        memcpy(r->forced[at], r->forced[at + 1], sizeof *r->forced);
        if (side < 0)
            all += sizes[at];
        else
            r->forced[at][side] += sizes[at];
    }
    r->divisor = all / BUCKETS + 1;
    for (uint32_t at = count; at-- > 0;) {
        bool is_free = side_at(r->b, cut, at) < 0;
        r->size[at] = is_free ? (uint32_t)(sizes[at] / r->divisor) : 0;
        r->need[at] = r->need[at + 1] + r->size[at];
    }
}

static uint64_t *bits_of(const Reach *r, size_t row, uint32_t weight)
{
    return r->bits + (row * r->weights + weight) * WORDS;
}

/* Adds the sizes of a place to those that come behind it. */
static void add_shifted(uint64_t *to, const uint64_t *from, uint32_t size)
{
    uint32_t words = size / 64, bits = size % 64;
    for (uint32_t i = WORDS; i-- > words;) {
        uint64_t word = from[i - words] << bits;
        if (bits > 0 && i > words) word |= from[i - words - 1] >> (64 - bits);
        to[i] |= word;
    }
}

static void fill_row(Reach *r, const Cut *cut, const int64_t *weights, uint32_t at, uint32_t sides)
{
    const PartitionBound *b = r->b;
    const Place *place = &b->places[at];
    int own = side_at(b, cut, at);
    for (uint32_t side = 0; side < 2; side++) {
        if (own >= 0 && (uint32_t)own != side) continue;
        size_t next = b->places[at + 1].entries + partition_bound_next_sides(place, sides, side);
        int64_t more = partition_bound_known_weight(b, weights, at, sides, side, r->unit);
        for (uint32_t w = 0; w + more < r->weights; w++)
            add_shifted(bits_of(r, place->entries + sides, w + (uint32_t)more), bits_of(r, next, w),
                        side ? r->size[at] : 0);
    }
}

Reach *partition_bound_reach_new(const PartitionBound *b, const Cut *cut, uint32_t measure,
                                 const int64_t *weights, int64_t most)
{
    uint32_t forced = 0;
    int64_t unit = INT64_MAX;
    for (uint32_t at = 0; at < b->count; at++) forced += side_at(b, cut, at) >= 0;
    for (size_t i = 0; i < b->state->model->edges.len; i++)
        if (weights[i] > 0) unit = i64_min(unit, weights[i]);
    if (forced == 0 || most < 0 || most / unit >= MOST_WEIGHTS) return NULL;
    Reach *r = xcalloc(1, sizeof *r);
    *r = (Reach){.b = b, .unit = unit, .weights = (uint32_t)(most / unit) + 1};
    r->size = xcalloc(b->count + 1, sizeof *r->size);
    r->need = xcalloc(b->count + 1, sizeof *r->need);
    r->forced = xcalloc(b->count + 1, sizeof *r->forced);
    size_t end = b->places[b->count].entries;
    r->bits = xcalloc((end + 1) * r->weights * WORDS, sizeof *r->bits);
    find_sizes(r, cut, b->sizes + (size_t)measure * b->count);
    for (uint32_t w = 0; w < r->weights; w++) *bits_of(r, end, w) = 1;
    for (uint32_t at = b->count; at-- > 0;)
        for (uint32_t sides = 0; sides < UINT32_C(1) << b->places[at].count; sides++)
            fill_row(r, cut, weights, at, sides);
    return r;
}

void partition_bound_reach_free(Reach *r)
{
    if (!r) return;
    free(r->size);
    free(r->need);
    free(r->forced);
    free(r->bits);
    free(r);
}

bool partition_bound_can_reach(const Reach *r, uint32_t at, uint32_t sides, const int64_t left[2],
                               int64_t most)
{
    int64_t rooms[2] = {left[0] - r->forced[at][0], left[1] - r->forced[at][1]};
    if (rooms[0] < 0 || rooms[1] < 0 || most < 0) return false;
    int64_t from = i64_max(0, r->need[at] - rooms[0] / r->divisor);
    int64_t to = i64_min(BUCKETS, rooms[1] / r->divisor);
    uint32_t weight = (uint32_t)i64_min(most / r->unit, r->weights - 1);
    const uint64_t *bits = bits_of(r, r->b->places[at].entries + sides, weight);
    for (int64_t i = from / 64; from <= to && i <= to / 64; i++) {
        uint64_t word = bits[i];
        if (i == from / 64) word &= UINT64_MAX << from % 64;
        if (i == to / 64) word &= UINT64_MAX >> (63 - to % 64);
        if (word) return true;
    }
    return false;
}
