/* Whether units fit dies if they may be cut to pieces: the linear program of fractions of nodes, in
 * their versions, on dies. It has no solution if rows of dies have prices by which all units, each on
 * the die and in the versions where that is cheapest, cost more than all limits (Farkas). lp_solve
 * finds prices; they are rounded, and what they prove is added up in whole numbers, so its rounding
 * can hide a proof but not make one.
 * Tests: test/e2e/place_check.py */
#include <lpsolve/lp_lib.h>
#include <stdlib.h>

#include "target/partition/internal.h"

enum {
    MOST_ROWS = 6000, /* of the program: it is to take milliseconds */
    PRICE_BITS = 60   /* what a limit costs at most */
};
__extension__ typedef __int128 Wide;

typedef struct Relaxation {
    const PartitionState *state;
    uint64_t dies;
    uint32_t first[PARTITION_MAX_DIES], row_count; /* per die: the number of its first row */
    int64_t *price;                                /* per row */
} Relaxation;

static bool can_be(const PartitionState *state, const PartitionVersion *version, uint32_t die)
{
    return partition_has_controller(&state->model->platform->dies[die], version->controller) &&
           partition_rows_hold(state, die, version->use);
}

static const PartitionVersion *version_at(const PartitionState *state, size_t node, uint32_t v)
{
    return &state->model->versions.data[state->model->nodes.data[node].version + v];
}

static uint64_t dies_of_node(const Relaxation *r, size_t node)
{
    return r->state->units.dies[r->state->units.of[node]] & r->dies;
}

/* A node costs at most what a version on a die does, in parts of the limits. */
static bool add_version(const Relaxation *r, lprec *lp, size_t node, uint32_t v, uint32_t die)
{
    REAL value[PARTITION_KINDS + PARTITION_MAX_DIES + 1];
    int index[PARTITION_KINDS + PARTITION_MAX_DIES + 1], count = 0;
    const PartitionRows *rows = &r->state->rows[die];
    const PartitionVersion *version = version_at(r->state, node, v);
    for (uint32_t i = 0; i < rows->len && i < PARTITION_KINDS + PARTITION_MAX_DIES; i++) {
        int64_t use = partition_row_use(&rows->data[i], version->use);
        if (use == 0 || rows->data[i].limit <= 0) continue;
        value[count] = -(REAL)use / (REAL)rows->data[i].limit;
        index[count++] = (int)(r->first[die] + i + 1);
    }
    value[count] = 1;
    index[count++] = (int)(r->row_count + node + 1);
    return add_constraintex(lp, count, value, index, LE, 0);
}

/* Adds what prices must keep, for all nodes. Gives how many rows there are. */
static size_t add_nodes(const Relaxation *r, lprec *lp)
{
    size_t added = 0;
    for (size_t n = 0; n < r->state->model->nodes.len; n++)
        for (uint32_t v = 0; v < r->state->model->nodes.data[n].version_count; v++)
            for (uint64_t left = dies_of_node(r, n); left; left &= left - 1) {
                uint32_t die = (uint32_t)__builtin_ctzll(left);
                if (!can_be(r->state, version_at(r->state, n, v), die)) continue;
                if (lp && !add_version(r, lp, n, v, die)) return 0;
                added++;
            }
    return added;
}

static bool add_objective(const Relaxation *r, lprec *lp)
{
    size_t nodes = r->state->model->nodes.len, most = nodes > r->row_count ? nodes : r->row_count;
    REAL *value = xcalloc(most, sizeof *value);
    int *index = xcalloc(most, sizeof *index);
    for (size_t i = 0; i < most; i++) {
        value[i] = 1;
        index[i] = (int)i + 1;
    }
    bool ok = add_constraintex(lp, (int)r->row_count, value, index, EQ, 1);
    for (size_t n = 0; n < nodes; n++) index[n] = (int)(r->row_count + n + 1);
    ok = ok && set_obj_fnex(lp, (int)nodes, value, index);
    free(value);
    free(index);
    return ok;
}

/* Prices of parts of the limits, 1 in all, by which the nodes cost most. */
static bool find_prices(const Relaxation *r, REAL *out)
{
    size_t nodes = r->state->model->nodes.len;
    lprec *lp = make_lp(0, (int)(r->row_count + nodes));
    if (!lp) out_of_memory("making a linear program");
    set_verbose(lp, NEUTRAL);
    set_maxim(lp);
    bool ok = add_objective(r, lp);
    set_add_rowmode(lp, TRUE);
    ok = ok && add_nodes(r, lp) > 0;
    set_add_rowmode(lp, FALSE);
    ok = ok && solve(lp) == OPTIMAL;
    REAL *all = xcalloc(r->row_count + nodes, sizeof *all);
    if (ok) get_variables(lp, all);
    for (uint32_t i = 0; i < r->row_count; i++) out[i] = all[i];
    free(all);
    delete_lp(lp);
    return ok;
}

static void round_prices(const Relaxation *r, const REAL *prices)
{
    for (uint32_t die = 0; die < r->state->model->platform->die_count; die++)
        for (uint32_t i = 0; r->dies >> die & 1 && i < r->state->rows[die].len; i++) {
            int64_t limit = r->state->rows[die].data[i].limit;
            REAL price = prices[r->first[die] + i];
            bool is_priced = limit > 0 && price > 0;
            r->price[r->first[die] + i] =
                is_priced ? (int64_t)(price * (REAL)(INT64_C(1) << PRICE_BITS) / (REAL)limit) : 0;
        }
}

/* What a unit costs at least on a die; -1: it cannot be there. */
static Wide cost_on(const Relaxation *r, uint32_t unit, uint32_t die)
{
    const PartitionState *s = r->state;
    Wide sum = 0;
    for (uint32_t i = s->units.first[unit]; i < s->units.first[unit + 1]; i++) {
        uint32_t node = s->units.nodes[i];
        Wide least = -1;
        for (uint32_t v = 0; v < s->model->nodes.data[node].version_count; v++) {
            const PartitionVersion *version = version_at(s, node, v);
            Wide cost = 0;
            if (!can_be(s, version, die)) continue;
            for (uint32_t k = 0; k < s->rows[die].len; k++)
                cost += (Wide)partition_row_use(&s->rows[die].data[k], version->use) *
                        r->price[r->first[die] + k];
            if (least < 0 || cost < least) least = cost;
        }
        if (least < 0) return -1;
        sum += least;
    }
    return sum;
}

/* Whether all units cost more than all limits, or one has no die at all. */
static bool is_proven(const Relaxation *r)
{
    Wide excess = 0;
    for (uint32_t u = 0; u < r->state->units.count; u++) {
        Wide least = -1;
        for (uint64_t left = r->state->units.dies[u] & r->dies; left; left &= left - 1) {
            Wide cost = cost_on(r, u, (uint32_t)__builtin_ctzll(left));
            if (cost >= 0 && (least < 0 || cost < least)) least = cost;
        }
        if (least < 0) return true;
        excess += least;
    }
    for (uint32_t die = 0; die < r->state->model->platform->die_count; die++)
        for (uint32_t i = 0; r->dies >> die & 1 && i < r->state->rows[die].len; i++)
            excess -= (Wide)r->state->rows[die].data[i].limit * r->price[r->first[die] + i];
    return excess > 0;
}

bool partition_may_fit(const PartitionState *state, uint64_t dies)
{
    Relaxation r = {.state = state, .dies = dies};
    for (uint32_t die = 0; die < state->model->platform->die_count; die++) {
        r.first[die] = r.row_count;
        if (dies >> die & 1) r.row_count += (uint32_t)state->rows[die].len;
    }
    if (add_nodes(&r, NULL) > MOST_ROWS) return true;
    REAL *prices = xcalloc(r.row_count, sizeof *prices);
    r.price = xcalloc(r.row_count, sizeof *r.price);
    bool is_found = find_prices(&r, prices);
    if (is_found) round_prices(&r, prices);
    bool may = !is_found || !is_proven(&r);
    free(prices);
    free(r.price);
    return may;
}
