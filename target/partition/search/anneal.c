/* Where no search has found a placement: one that goes from placements that break limits to others that
 * break them less, by simulated annealing. Dies that are nearly full are what a search that only ever
 * adds units spends its steps on; here they change places. Proves nothing.
 * Costs are whole numbers and random ones always the same, so the result is, too.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/search/internal.h"

enum {
    MOVES = 1000000, /* of a run, at most */
    STAGES = 256,    /* of a run, with a temperature each */
    MOST_MOVES = 4 * MOVES,
    HOTTEST = 50000, /* parts per million of a limit */
    COOLING = 1002,  /* what stays from stage to stage, in 1/1024 */
    NO_PATH = 50000, /* what an edge between dies without a way costs, as parts of a limit */
    PER_LINK = 500   /* a mean edge on a link: so much more in each run, in the first nothing */
};

typedef struct DieUse {
    int64_t use[PARTITION_KINDS];
    uint32_t controllers[PARTITION_MAX_CONTROLLERS];
} DieUse;

typedef struct Annealing {
    Search *s;
    DieUse dies[PARTITION_MAX_DIES];
    uint32_t *link_edges;
    uint32_t *best;                   /* per place of the order: the die */
    int64_t mean;                     /* weight of an edge on a link */
    int64_t best_weight, best_of_run; /* the latter is a cost */
    int64_t moves;                    /* of a run */
    int64_t heat;                     /* 1024 times the temperature */
    int64_t per_link;                 /* what a mean edge costs on a link, in this run */
    uint64_t random;
} Annealing;

/* xorshift64 (Marsaglia 2003). */
static uint64_t next_random(Annealing *a)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 7;
    return a->random ^= a->random << 17;
}

static uint32_t random_below(Annealing *a, uint32_t count)
{
    return (uint32_t)((next_random(a) >> 32) * count >> 32);
}

static uint32_t random_die(Annealing *a, uint32_t unit)
{
    uint64_t dies = a->s->state.units.dies[unit] & a->s->dies;
    uint32_t skip = random_below(a, (uint32_t)__builtin_popcountll(dies));
    for (; skip > 0; skip--) dies &= dies - 1;
    return (uint32_t)__builtin_ctzll(dies);
}

/* Versions that the die has no controller for count as if it were full. */
static int64_t excess_of(const Annealing *a, uint32_t die)
{
    const PartitionState *state = &a->s->state;
    const PartitionRows *rows = &state->rows[die];
    int64_t sum = 0;
    for (size_t r = 0; r < rows->len; r++) {
        int64_t limit = i64_max(1, rows->data[r].limit);
        int64_t over = partition_row_use(&rows->data[r], a->dies[die].use) - rows->data[r].limit;
        if (over > 0) sum += 1 + (int64_t)(1e6 * (double)over / (double)limit);
    }
    for (uint32_t c = 0; c < PARTITION_MAX_CONTROLLERS; c++)
        if (a->dies[die].controllers[c] > 0 &&
            !partition_has_controller(&state->model->platform->dies[die], (int32_t)c))
            sum += 1000000;
    return sum;
}

static int64_t excess_of_all(const Annealing *a)
{
    int64_t sum = 0;
    for (uint64_t left = a->s->dies; left; left &= left - 1)
        sum += excess_of(a, (uint32_t)__builtin_ctzll(left));
    return sum;
}

static const PartitionPath *path_of(const Annealing *a, uint32_t number)
{
    const PartitionState *state = &a->s->state;
    const PartitionEdge *edge = &state->model->edges.data[number];
    return &state->paths.between[state->die[state->units.of[edge->from]]]
                                [state->die[state->units.of[edge->to]]];
}

static int64_t weight_on(const Annealing *a, uint32_t number, const PartitionPath *path)
{
    const PartitionState *state = &a->s->state;
    int64_t weight = 0;
    for (uint32_t i = 0; i < path->hops; i++) {
        uint32_t link = state->paths.steps.data[path->first + i] / 2;
        weight += a->s->weights[link * state->model->edges.len + number];
    }
    return weight;
}

static int64_t cost_of_edge(const Annealing *a, uint32_t number)
{
    const PartitionPath *path = path_of(a, number);
    if (path->hops == PARTITION_NONE) return NO_PATH;
    return (int64_t)((double)weight_on(a, number, path) / (double)a->mean * (double)a->per_link);
}

/* Of the edges of a unit. */
static int64_t cost_of_edges(const Annealing *a, uint32_t unit)
{
    const PartitionState *state = &a->s->state;
    int64_t sum = 0;
    for (uint32_t i = state->first_edge[unit]; i < state->first_edge[unit + 1]; i++)
        sum += cost_of_edge(a, state->edges[i]);
    return sum;
}

/* Puts an edge on its links, or takes it off (sign -1), with the ports where it is the only one. */
static void use_links(Annealing *a, uint32_t number, int sign)
{
    const PartitionState *state = &a->s->state;
    const PartitionPath *path = path_of(a, number);
    for (uint32_t i = 0; path->hops != PARTITION_NONE && i < path->hops; i++) {
        uint32_t link = state->paths.steps.data[path->first + i] / 2;
        const PartitionLink *l = &state->model->platform->links.data[link];
        if (sign < 0) a->link_edges[link]--;
        bool is_charged = a->link_edges[link] == 0 && !state->is_reserved[link];
        for (int end = 0; is_charged && end < 2; end++)
            for (int k = 0; k < PARTITION_KINDS; k++)
                a->dies[l->dies[end]].use[k] += sign * l->charge[end][k];
        if (sign > 0) a->link_edges[link]++;
    }
}

static void use_edges(Annealing *a, uint32_t unit, int sign)
{
    const PartitionState *state = &a->s->state;
    for (uint32_t i = state->first_edge[unit]; i < state->first_edge[unit + 1]; i++)
        use_links(a, state->edges[i], sign);
}

static void use_nodes(Annealing *a, uint32_t unit, int sign)
{
    const PartitionState *state = &a->s->state;
    uint32_t die = state->die[unit];
    for (uint32_t i = state->units.first[unit]; i < state->units.first[unit + 1]; i++) {
        uint32_t node = state->units.nodes[i];
        partition_add_version(state, die, partition_version_of(state, node, state->version[node]),
                              sign, a->dies[die].use, a->dies[die].controllers);
    }
}

static void choose_versions(Annealing *a, uint32_t unit)
{
    PartitionState *state = &a->s->state;
    for (uint32_t i = state->units.first[unit]; i < state->units.first[unit + 1]; i++) {
        uint32_t node = state->units.nodes[i];
        state->version[node] = random_below(a, state->model->nodes.data[node].version_count);
    }
}

/* Moves a unit to a die. The versions of its nodes are drawn, or, where there are some, put back. */
static void move(Annealing *a, uint32_t unit, uint32_t die, const uint32_t *versions)
{
    PartitionState *state = &a->s->state;
    use_nodes(a, unit, -1);
    use_edges(a, unit, -1);
    state->die[unit] = die;
    for (uint32_t i = state->units.first[unit]; versions && i < state->units.first[unit + 1]; i++)
        state->version[state->units.nodes[i]] = versions[state->units.nodes[i]];
    if (!versions) choose_versions(a, unit);
    use_nodes(a, unit, 1);
    use_edges(a, unit, 1);
}

static void keep_versions(const Annealing *a, uint32_t unit, uint32_t *versions)
{
    const PartitionState *state = &a->s->state;
    for (uint32_t i = state->units.first[unit]; i < state->units.first[unit + 1]; i++)
        versions[state->units.nodes[i]] = state->version[state->units.nodes[i]];
}

/* Whether a change for the worse is taken: with a probability that halves for each part of the heat,
 * which the zeros in front of a random number have, too. */
static bool is_taken(Annealing *a, int64_t change)
{
    if (change <= 0) return true;
    uint64_t random = next_random(a);
    int64_t zeros = __builtin_clzll(random | 1) * 1024 + (int64_t)(next_random(a) >> 54);
    return change < a->heat / 1024 * zeros / 1024;
}

/* Moves a unit. Gives by how much what its edges cost changes. */
static int64_t try_move(Annealing *a, uint32_t unit, uint32_t die, const uint32_t *versions)
{
    int64_t before = cost_of_edges(a, unit);
    move(a, unit, die, versions);
    return cost_of_edges(a, unit) - before;
}

/* What all edges weigh; INT64_MAX: one has no way. */
static int64_t weight_of_all(const Annealing *a)
{
    const PartitionState *state = &a->s->state;
    int64_t sum = 0;
    for (uint32_t k = 0; k < state->model->edges.len; k++) {
        const PartitionPath *path = path_of(a, k);
        if (path->hops == PARTITION_NONE) return INT64_MAX;
        sum += weight_on(a, k, path);
    }
    return sum;
}

/* cost: of the edges. */
static void keep_best(Annealing *a, int64_t cost)
{
    if (cost >= a->best_of_run) return;
    int64_t weight = weight_of_all(a);
    if (weight == INT64_MAX) return;
    a->best_of_run = cost;
    if (weight >= a->best_weight) return;
    a->best_weight = weight;
    for (uint32_t i = 0; i < a->s->state.units.count; i++)
        a->best[i] = a->s->state.die[a->s->order[i]];
}

/* Starts from units on any dies. Gives what the edges cost. */
static int64_t scatter(Annealing *a)
{
    PartitionState *state = &a->s->state;
    int64_t sum = 0;
    memset(a->dies, 0, sizeof a->dies);
    memset(a->link_edges, 0, state->model->platform->links.len * sizeof *a->link_edges);
    for (uint32_t u = 0; u < state->units.count; u++) {
        state->die[u] = random_die(a, u);
        choose_versions(a, u);
        use_nodes(a, u, 1);
    }
    for (uint32_t k = 0; k < state->model->edges.len; k++) {
        use_links(a, k, 1);
        sum += cost_of_edge(a, k);
    }
    return sum;
}

/* Moves one unit, or lets two change places. versions: room for those of all nodes. */
static void run(Annealing *a, uint32_t *versions)
{
    PartitionState *state = &a->s->state;
    int64_t cost = scatter(a), excess = excess_of_all(a);
    a->heat = (int64_t)HOTTEST * 1024;
    a->best_of_run = INT64_MAX;
    for (int64_t i = 1; i <= a->moves && state->steps < state->max_steps; i++, state->steps++) {
        if (i % i64_max(1, a->moves / STAGES) == 0) a->heat = a->heat * COOLING / 1024;
        uint32_t one = random_below(a, state->units.count), die = random_die(a, one), from;
        uint32_t two = random_below(a, 2) ? random_below(a, state->units.count) : one;
        from = state->die[one];
        if (two != one) die = state->die[two];
        if (two != one && (!(state->units.dies[one] >> die & 1) ||
                           !(state->units.dies[two] >> from & 1) || die == from))
            continue;
        keep_versions(a, one, versions);
        keep_versions(a, two, versions);
        int64_t change = try_move(a, one, die, NULL);
        if (two != one) change += try_move(a, two, from, NULL);
        int64_t now = excess_of_all(a);
        if (is_taken(a, change + now - excess)) {
            cost += change;
            excess = now;
            if (excess == 0) keep_best(a, cost);
            continue;
        }
        if (two != one) move(a, two, die, versions);
        move(a, one, from, versions);
    }
}

static bool begin(Annealing *a)
{
    const PartitionState *state = &a->s->state;
    size_t weights = state->model->platform->links.len * state->model->edges.len;
    double sum = 0;
    for (size_t i = 0; i < weights; i++) sum += (double)a->s->weights[i];
    a->mean = i64_max(1, weights > 0 ? (int64_t)(sum / (double)weights) : 1);
    a->best_weight = INT64_MAX;
    a->random = UINT64_C(88172645463325252);
    for (uint32_t u = 0; u < state->units.count; u++)
        if (!(state->units.dies[u] & a->s->dies)) return false;
    return state->units.count > 0;
}

bool partition_anneal(Search *s, int64_t moves, uint32_t *dies)
{
    PartitionState *state = &s->state;
    int64_t steps = state->max_steps;
    Annealing *a = xcalloc(1, sizeof *a);
    a->s = s;
    a->best = dies;
    a->link_edges = xcalloc(state->model->platform->links.len + 1, sizeof *a->link_edges);
    uint32_t *versions = xcalloc(state->model->nodes.len + 1, sizeof *versions);
    a->moves = i64_min(moves, MOVES);
    state->max_steps = state->steps + i64_min(moves, MOST_MOVES);
    for (bool ok = begin(a); ok && state->steps < state->max_steps; a->per_link += PER_LINK)
        run(a, versions);
    state->max_steps = steps;
    for (uint32_t u = 0; u < state->units.count; u++) state->die[u] = PARTITION_NONE;
    bool is_found = a->best_weight < INT64_MAX;
    free(versions);
    free(a->link_edges);
    free(a);
    return is_found;
}
