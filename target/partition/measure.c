/* Sizes of units and dies. With weights per kind that are not negative, the sizes of the units on a
 * die add up to at most the size of the die: a unit's size is the least among its versions, a die's
 * the most that its limits let in.
 * Tests: test/e2e/place_check.py */
#include <string.h>

#include "target/partition/internal.h"

/* Sizes of dies in a mixed measure are about this, so that sums and products stay in 64 bits. */
#define MIXED_SIZE (INT64_C(1) << 34)

int64_t partition_unit_size(const PartitionState *state, const PartitionMeasure *measure,
                            uint32_t unit)
{
    const PartitionModel *model = state->model;
    int64_t size = 0;
    for (uint32_t i = state->units.first[unit]; i < state->units.first[unit + 1]; i++) {
        const PartitionNode *node = &model->nodes.data[state->units.nodes[i]];
        int64_t least = INT64_MAX;
        for (uint32_t v = 0; v < node->version_count; v++) {
            int64_t sum = 0;
            for (int k = 0; k < PARTITION_KINDS; k++)
                sum += measure->weight[k] * model->versions.data[node->version + v].use[k];
            least = i64_min(least, sum);
        }
        size += least;
    }
    return size;
}

/* The greatest size of a use that keeps the limits of the kinds and one more row: what has the most
 * size for its part of the row goes first (the fractional knapsack). Rounded up. */
static int64_t knapsack(const PartitionRow *rows, const PartitionRow *row, const int64_t *weight)
{
    int64_t left = row->limit, size = 0;
    bool is_done[PARTITION_KINDS] = {false};
    for (int round = 0; round < PARTITION_KINDS; round++) {
        int best = -1;
        for (int k = 0; k < PARTITION_KINDS; k++)
            if (!is_done[k] && (best < 0 || (double)weight[k] * (double)row->coefficient[best] >
                                                (double)weight[best] * (double)row->coefficient[k]))
                best = k;
        int64_t most = rows[best].limit, coefficient = row->coefficient[best];
        is_done[best] = true;
        if (coefficient > 0) most = i64_min(most, (left + coefficient - 1) / coefficient);
        left = i64_max(0, left - most * coefficient);
        size += most * weight[best];
    }
    return size;
}

int64_t partition_die_size(const PartitionState *state, const PartitionMeasure *measure,
                           uint32_t die)
{
    const PartitionRows *rows = &state->rows[die];
    int64_t size = 0;
    for (int k = 0; k < PARTITION_KINDS; k++) size += measure->weight[k] * rows->data[k].limit;
    for (size_t r = PARTITION_KINDS; r < rows->len; r++)
        size = i64_min(size, knapsack(rows->data, &rows->data[r], measure->weight));
    return size;
}

/* Whether a unit can be on no other dies. */
static bool is_within(const PartitionState *state, uint32_t unit, uint64_t dies)
{
    return !(state->units.dies[unit] & state->used & ~dies);
}

/* The sizes of dies, and of the units that must be there. */
static void sum_sizes(const PartitionState *state, uint64_t dies, const PartitionMeasure *measure,
                      int64_t *need, int64_t *room)
{
    *need = *room = 0;
    for (uint32_t u = 0; u < state->units.count; u++)
        if (is_within(state, u, dies)) *need += partition_unit_size(state, measure, u);
    for (uint32_t i = 0; i < state->model->platform->die_count; i++)
        if (dies >> i & 1) *room += partition_die_size(state, measure, i);
}

/* Kinds, and averages, of all dies together. */
typedef struct Pool {
    double part[PARTITION_MOST_ROWS][PARTITION_KINDS]; /* of the room that a unit of a kind takes */
    uint32_t count;
} Pool;

static void find_pool(const PartitionState *state, uint64_t dies, Pool *out)
{
    out->count = PARTITION_MOST_ROWS;
    for (uint64_t left = dies; left; left &= left - 1) {
        const PartitionRows *rows = &state->rows[__builtin_ctzll(left)];
        if (rows->len < out->count) out->count = (uint32_t)rows->len;
        for (size_t r = 0; r < out->count; r++)
            for (int k = 0; k < PARTITION_KINDS; k++)
                if (rows->data[r].coefficient[k] > 0)
                    out->part[r][k] += (double)i64_max(0, rows->data[r].limit) /
                                       (double)rows->data[r].coefficient[k];
    }
    for (uint32_t r = 0; r < out->count; r++)
        for (int k = 0; k < PARTITION_KINDS; k++)
            if (out->part[r][k] > 0) out->part[r][k] = 1 / out->part[r][k];
}

/* Adds what a node takes of the rows in its cheapest version. */
static void add_cheapest(const PartitionState *state, const PartitionNode *node, const Pool *pool,
                         const double *cost, double *load)
{
    const PartitionVersion *versions = &state->model->versions.data[node->version], *best = NULL;
    double least = 0;
    for (uint32_t v = 0; v < node->version_count; v++) {
        double sum = 0;
        for (int k = 0; k < PARTITION_KINDS; k++) sum += cost[k] * (double)versions[v].use[k];
        if (best && sum >= least) continue;
        best = &versions[v];
        least = sum;
    }
    for (uint32_t r = 0; r < pool->count; r++)
        for (int k = 0; k < PARTITION_KINDS; k++)
            load[r] += pool->part[r][k] * (double)best->use[k];
}

/* Weights by which the versions' freedom helps least. Prices of the rows, 1 in all, are haggled about
 * (pack.c): rows of which the cheapest versions take much get dearer, and the prices by which all nodes
 * cost most are kept. */
static PartitionMeasure mix_measure(const PartitionState *state, uint64_t dies)
{
    enum { ROUNDS = 100 };
    Pool pool = {.part = {{0}}};
    double price[PARTITION_MOST_ROWS], most = -1;
    PartitionMeasure best = {{0}};
    find_pool(state, dies, &pool);
    for (uint32_t r = 0; r < pool.count; r++) price[r] = 1.0 / pool.count;
    for (int round = 0; round < ROUNDS && most <= 1; round++) {
        double cost[PARTITION_KINDS] = {0}, load[PARTITION_MOST_ROWS] = {0}, share = 0, sum = 0;
        for (uint32_t r = 0; r < pool.count; r++)
            for (int k = 0; k < PARTITION_KINDS; k++) cost[k] += price[r] * pool.part[r][k];
        for (size_t i = 0; i < state->model->nodes.len; i++)
            if (is_within(state, state->units.of[i], dies))
                add_cheapest(state, &state->model->nodes.data[i], &pool, cost, load);
        for (uint32_t r = 0; r < pool.count; r++) share += price[r] * load[r];
        for (int k = 0; share > most && k < PARTITION_KINDS; k++)
            best.weight[k] = (int64_t)(cost[k] * (double)MIXED_SIZE);
        if (share > most) most = share;
        for (uint32_t r = 0; r < pool.count; r++) {
            double change = 1 + 16.0 / (4 + round) * (load[r] - share);
            price[r] *= change < .25 ? .25 : change > 4 ? 4 : change;
            sum += price[r];
        }
        for (uint32_t r = 0; r < pool.count; r++) price[r] /= sum;
    }
    return best;
}

typedef struct Candidate {
    PartitionMeasure measure;
    int64_t share;
} Candidate;

static void add_candidate(const PartitionState *state, uint64_t dies, PartitionMeasure measure,
                          Candidate *list, uint32_t *count)
{
    int64_t need, room;
    sum_sizes(state, dies, &measure, &need, &room);
    if (need == 0) return;
    int64_t share = room > 0 ? (int64_t)((double)need * 1e6 / (double)room) : INT64_MAX;
    uint32_t at = *count;
    for (; at > 0 && list[at - 1].share < share; at--) list[at] = list[at - 1];
    list[at] = (Candidate){measure, share};
    ++*count;
}

/* The weights of an average, scaled down to small ones. */
static PartitionMeasure average_measure(const PartitionRow *row)
{
    PartitionMeasure measure;
    int64_t divisor = row->limit / MIXED_SIZE + 1;
    for (int k = 0; k < PARTITION_KINDS; k++) measure.weight[k] = row->coefficient[k] / divisor;
    return measure;
}

uint32_t partition_choose_measures(const PartitionState *state, uint64_t dies,
                                   PartitionMeasure *out, uint32_t most)
{
    enum { MOST_AVERAGES = 4 };
    Candidate list[PARTITION_KINDS + MOST_AVERAGES + 1];
    uint32_t count = 0, first = 0;
    while (!(dies >> first & 1)) first++;
    for (int k = 0; k < PARTITION_KINDS; k++) {
        PartitionMeasure single = {{0}};
        single.weight[k] = 1;
        add_candidate(state, dies, single, list, &count);
    }
    const PartitionRows *rows = &state->rows[first];
    for (size_t r = PARTITION_KINDS; r < rows->len && r < PARTITION_KINDS + MOST_AVERAGES; r++)
        add_candidate(state, dies, average_measure(&rows->data[r]), list, &count);
    if (state->model->versions.len > state->model->nodes.len)
        add_candidate(state, dies, mix_measure(state, dies), list, &count);
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++) out[i] = list[i].measure;
    return count;
}
