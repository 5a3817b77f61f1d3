/* Which versions of nodes fit a die together. First all are tried, node by node in the order given, as
 * long as each kind may still suffice. Where that takes long, it begins anew with prices of the kinds
 * by which the nodes to come, each in its cheapest version, cost as much of what is left as possible:
 * if they cost more than all of it, none of their versions fit. They are found by haggling, in floating
 * point, and go on from those of the node before; what they exclude is added up in whole numbers.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

enum {
    FIRST_STEPS = 100, /* without prices */
    FIRST_ROUNDS = 60, /* of prices */
    ROUNDS = 5,        /* the same behind each version */
    STEPS_OF_ROUNDS = 5,
    NODES_OF_STEPS = 128, /* that haggle in that time */
    PRICE_BITS = 40,      /* what is left of a kind costs at most */
    MOST_ROWS = PARTITION_KINDS + PARTITION_MAX_DIES
};
__extension__ typedef __int128 Wide;

/* The versions of a node, of which those before `next` have been tried. */
typedef struct Level {
    uint8_t versions[PARTITION_MAX_VERSIONS];
    uint32_t count, next;
} Level;

typedef struct Choice {
    PartitionPacking *p;
    const PartitionRows *rows;
    const uint32_t *nodes;
    int64_t (*rest)[PARTITION_KINDS]; /* per node: the least use of it and those behind, per kind */
    int64_t max_steps;                /* of the state */
    Level *levels;                    /* per node */
    double *use;    /* per node of the order, version and row; less than 0: not on this die */
    double *prices; /* per node and row, when its versions were listed */
} Choice;

/* Prices of the rows, 1 in all, of which 0 stays; and what they are for. */
typedef struct Market {
    const Choice *c;
    uint32_t at; /* the first node to come */
    double price[MOST_ROWS];
    double room[MOST_ROWS]; /* that is left */
    double best[MOST_ROWS], best_share;
} Market;

static const PartitionNode *node_at(const Choice *c, uint32_t at)
{
    return &c->p->state->model->nodes.data[c->nodes[at]];
}

static const PartitionVersion *version_at(const Choice *c, uint32_t at, uint32_t v)
{
    return partition_version_of(c->p->state, c->nodes[at], v);
}

static bool is_available(const Choice *c, const PartitionVersion *version)
{
    return partition_has_controller(&c->p->state->model->platform->dies[c->p->die],
                                    version->controller);
}

static void find_rests(Choice *c)
{
    for (uint32_t i = c->p->count; i-- > 0;)
        for (int k = 0; k < PARTITION_KINDS; k++) {
            int64_t least = INT64_MAX;
            for (uint32_t v = 0; v < node_at(c, i)->version_count; v++) {
                const PartitionVersion *version = version_at(c, i, v);
                if (is_available(c, version)) least = i64_min(least, version->use[k]);
            }
            c->rest[i][k] = c->rest[i + 1][k] + least;
        }
}

static bool can_hold(const Choice *c, uint32_t at)
{
    int64_t use[PARTITION_KINDS];
    for (int k = 0; k < PARTITION_KINDS; k++) use[k] = c->p->use[k] + c->rest[at][k];
    return partition_rows_hold(c->p->state, c->p->die, use);
}

static double *use_of(const Choice *c, uint32_t at, uint32_t v)
{
    return c->use + ((size_t)at * PARTITION_MAX_VERSIONS + v) * c->rows->len;
}

static void find_uses(Choice *c)
{
    for (uint32_t i = 0; i < c->p->count; i++)
        for (uint32_t v = 0; v < node_at(c, i)->version_count; v++) {
            const PartitionVersion *version = version_at(c, i, v);
            bool is_here = is_available(c, version);
            for (size_t r = 0; r < c->rows->len; r++)
                use_of(c, i, v)[r] =
                    is_here ? (double)partition_row_use(&c->rows->data[r], version->use) : -1;
        }
}

/* What a version costs. */
static double cost_of(const double *use, const double *cost, size_t rows)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++) sum += use[r] * cost[r];
    return sum;
}

static const double *cheapest_of(const Market *m, uint32_t at, const double *cost)
{
    const double *best = NULL, *use = use_of(m->c, at, 0);
    double least = 0;
    size_t rows = m->c->rows->len;
    for (uint32_t v = 0; v < node_at(m->c, at)->version_count; v++, use += rows) {
        if (use[0] < 0) continue;
        double sum = cost_of(use, cost, rows);
        if (best && sum >= least) continue;
        best = use;
        least = sum;
    }
    return best;
}

/* What a unit of each row costs. */
static void find_costs(const Market *m, double *out)
{
    for (size_t r = 0; r < m->c->rows->len; r++)
        out[r] = m->price[r] > 0 ? m->price[r] / m->room[r] : 0;
}

/* Rows of which the cheapest versions take much get dearer. */
static void haggle(Market *m, double step)
{
    double load[MOST_ROWS] = {0}, cost[MOST_ROWS], share = 0, sum = 0;
    size_t rows = m->c->rows->len;
    find_costs(m, cost);
    for (uint32_t i = m->at; i < m->c->p->count; i++) {
        const double *use = cheapest_of(m, i, cost);
        for (size_t r = 0; use && r < rows; r++) load[r] += use[r];
    }
    for (size_t r = 0; r < rows; r++) {
        if (m->price[r] > 0) load[r] /= m->room[r];
        share += m->price[r] * load[r];
    }
    if (share > m->best_share) {
        m->best_share = share;
        memcpy(m->best, m->price, sizeof m->best);
    }
    for (size_t r = 0; r < rows; r++) {
        double change = 1 + step * (load[r] - share);
        m->price[r] *= change < .25 ? .25 : change > 4 ? 4 : change;
        if (m->price[r] > 0 && m->price[r] < 1e-6) m->price[r] = 1e-6;
        sum += m->price[r];
    }
    for (size_t r = 0; r < rows; r++) m->price[r] /= sum;
}

/* Whether the nodes to come cost more than all that is left, in whole numbers. */
static bool is_too_dear(const Market *m)
{
    const PartitionRows *rows = m->c->rows;
    int64_t price[MOST_ROWS] = {0};
    Wide left = 0;
    for (size_t r = 0; r < rows->len; r++) {
        if (m->best[r] > 0)
            price[r] = (int64_t)(m->best[r] * (double)(INT64_C(1) << PRICE_BITS) / m->room[r]);
        left += (Wide)price[r] *
                (rows->data[r].limit - partition_row_use(&rows->data[r], m->c->p->use));
    }
    for (uint32_t i = m->at; i < m->c->p->count && left >= 0; i++) {
        Wide least = -1;
        for (uint32_t v = 0; v < node_at(m->c, i)->version_count; v++) {
            const PartitionVersion *version = version_at(m->c, i, v);
            Wide cost = 0;
            if (!is_available(m->c, version)) continue;
            for (size_t r = 0; r < rows->len; r++)
                cost += (Wide)price[r] * partition_row_use(&rows->data[r], version->use);
            if (least < 0 || cost < least) least = cost;
        }
        left -= least < 0 ? 0 : least;
    }
    return left < 0;
}

/* Haggles about the nodes from `at` on. False: they do not fit. */
static bool can_pay(Market *m, uint32_t at, int rounds)
{
    double sum = 0;
    const PartitionRows *rows = m->c->rows;
    m->at = at;
    m->best_share = -1;
    for (size_t r = 0; r < rows->len; r++) {
        m->room[r] =
            (double)(rows->data[r].limit - partition_row_use(&rows->data[r], m->c->p->use));
        if (m->room[r] <= 0) m->price[r] = 0;
        sum += m->price[r];
    }
    if (sum <= 0) return true;
    for (size_t r = 0; r < rows->len; r++) m->price[r] /= sum;
    for (int round = 0; round < rounds && m->best_share <= 1; round++)
        haggle(m, 16.0 / (4 + round + FIRST_ROUNDS - rounds));
    return m->best_share <= 1 || !is_too_dear(m);
}

/* The versions of a node, the cheapest first if there are prices. */
static uint32_t list_versions(const Choice *c, uint32_t at, const Market *m, uint8_t *out)
{
    double sum[PARTITION_MAX_VERSIONS], cost[MOST_ROWS];
    uint32_t count = 0;
    if (m) find_costs(m, cost);
    for (uint32_t v = 0; v < node_at(c, at)->version_count; v++) {
        const PartitionVersion *version = version_at(c, at, v);
        if (!is_available(c, version)) continue;
        sum[v] = m ? cost_of(use_of(c, at, v), cost, c->rows->len) : 0;
        uint32_t i = count++;
        for (; i > 0 && sum[out[i - 1]] > sum[v]; i--) out[i] = out[i - 1];
        out[i] = (uint8_t)v;
    }
    return count;
}

/* A node's versions are listed, the cheapest of them first if there are prices; those of the node before
 * are where the haggling begins. False: the nodes from `at` on do not fit. */
static bool open_level(Choice *c, uint32_t at, Market *m)
{
    Level *level = &c->levels[at];
    const size_t size = c->rows->len * sizeof *m->price;
    level->count = level->next = 0;
    if (!can_hold(c, at)) return false;
    if (m) {
        if (at > 0) memcpy(m->price, c->prices + (at - 1) * c->rows->len, size);
        c->p->state->steps += STEPS_OF_ROUNDS * (1 + (c->p->count - at) / NODES_OF_STEPS);
        if (!can_pay(m, at, at == 0 ? FIRST_ROUNDS : ROUNDS)) return false;
        memcpy(c->prices + at * c->rows->len, m->price, size);
    }
    level->count = list_versions(c, at, m, level->versions);
    return true;
}

static void add_choice(Choice *c, uint32_t at, int64_t sign)
{
    PartitionPacking *p = c->p;
    const Level *level = &c->levels[at];
    uint32_t v = level->versions[level->next - 1];
    partition_add_version(p->state, p->die, version_at(c, at, v), sign, p->use, p->controllers);
}

/* With the next version of a node. False: it has no other, or the steps ran out. */
static bool choose_next(Choice *c, uint32_t at)
{
    PartitionState *state = c->p->state;
    Level *level = &c->levels[at];
    if (level->next > 0) add_choice(c, at, -1);
    if (level->next == level->count || state->steps >= c->max_steps) return false;
    state->steps++;
    state->version[c->nodes[at]] = level->versions[level->next++];
    add_choice(c, at, 1);
    return true;
}

/* Depth first, by hand: a die may have thousands of nodes. m: NULL, without prices. */
static bool choose_all(Choice *c, Market *m)
{
    const uint32_t count = c->p->count;
    if (count == 0) return can_hold(c, 0);
    (void)open_level(c, 0, m);
    for (uint32_t at = 0;;) {
        if (!choose_next(c, at)) {
            if (at-- == 0) return false;
        } else if (at + 1 < count) {
            (void)open_level(c, ++at, m);
        } else if (can_hold(c, count)) {
            return true;
        }
    }
}

/* Chooses again, with prices. */
static bool choose_priced(Choice *c)
{
    const size_t count = c->p->count, rows = c->rows->len;
    Market m = {.c = c};
    c->max_steps = c->p->state->max_steps;
    for (size_t r = 0; r < rows; r++) m.price[r] = 1;
    c->use = xcalloc(count * PARTITION_MAX_VERSIONS * rows, sizeof *c->use);
    c->prices = xcalloc(count * rows, sizeof *c->prices);
    find_uses(c);
    bool ok = choose_all(c, &m);
    free(c->use);
    free(c->prices);
    return ok;
}

bool partition_pack_nodes(PartitionPacking *p)
{
    Choice c = {.p = p, .rows = &p->state->rows[p->die], .nodes = p->nodes};
    c.max_steps = i64_min(p->state->max_steps, p->state->steps + FIRST_STEPS);
    c.rest = xcalloc((size_t)p->count + 1, sizeof *c.rest);
    find_rests(&c);
    c.levels = xcalloc((size_t)p->count + 1, sizeof *c.levels);
    bool ok = choose_all(&c, NULL);
    if (!ok && p->state->steps >= c.max_steps && p->state->steps < p->state->max_steps)
        ok = choose_priced(&c);
    free(c.rest);
    free(c.levels);
    return ok;
}
