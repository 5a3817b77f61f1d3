/* Presolve: drops configurations that a problem's limits exclude, then words that the other end of
 * an edge does not have, until all have a partner, then dominated configurations. A limit that even
 * the largest configurations together keep is lifted first, because a kind of cost without a limit
 * cannot keep one configuration from dominating another.
 * Tests: test/unit/target/dse/solve_test.c */
#include "target/dse/solve/internal.h"

typedef struct Presolve {
    const DseSpace *space;
    const DseProblem *problem;
    bool **alive;           /* per node and configuration */
    uint32_t *sent, *taken; /* per word: the last edge, counted from 1, of which an end has it */
    uint32_t stamp;
    uint32_t *losses;  /* per node: of configurations */
    uint32_t *seen[2]; /* per edge: those of its ends when their words were matched */
    Cost limits;       /* that a design might exceed */
} Presolve;

static bool is_excluded(const DseProblem *problem, uint32_t node, const Config *config)
{
    if (problem->longest && config->interval > problem->longest[node]) return true;
    for (int k = 0; k < COST_KINDS; k++)
        if (problem->limits.items[k] >= 0 && config->cost.items[k] > problem->limits.items[k])
            return true;
    return false;
}

static void mark_words(const Presolve *r, uint32_t number, uint32_t port, uint32_t *marks)
{
    const DseNode *node = &r->space->nodes.data[number];
    for (size_t c = 0; c < node->configs.len; c++)
        if (r->alive[number][c]) marks[node->configs.data[c].word[port]] = r->stamp;
}

static bool drop_unmarked(Presolve *r, uint32_t number, uint32_t port, const uint32_t *marks)
{
    const DseNode *node = &r->space->nodes.data[number];
    bool changed = false;
    for (size_t c = 0; c < node->configs.len; c++) {
        if (r->alive[number][c] && marks[node->configs.data[c].word[port]] != r->stamp) {
            r->alive[number][c] = false;
            r->losses[number]++;
            changed = true;
        }
    }
    return changed;
}

/* Words that only one end of an edge has cannot be chosen. True: some were dropped. */
static bool match_words(Presolve *r)
{
    bool changed = false;
    for (size_t e = 0; e < r->space->edges.len; e++) {
        const DseEdge *edge = &r->space->edges.data[e];
        if (r->seen[0][e] == r->losses[edge->from] && r->seen[1][e] == r->losses[edge->to])
            continue;
        r->seen[0][e] = r->losses[edge->from];
        r->seen[1][e] = r->losses[edge->to];
        r->stamp++;
        mark_words(r, edge->from, edge->from_port, r->sent);
        mark_words(r, edge->to, edge->to_port, r->taken);
        changed |= drop_unmarked(r, edge->from, edge->from_port, r->taken);
        changed |= drop_unmarked(r, edge->to, edge->to_port, r->sent);
    }
    return changed;
}

/* An edge is matched again where an end has lost configurations since. */
static void match_all_words(Presolve *r)
{
    for (size_t e = 0; e < r->space->edges.len; e++) r->seen[0][e] = UINT32_MAX;
    while (match_words(r)) {
    }
}

static void find_alive(Presolve *r, Arena *arena)
{
    size_t nodes = r->space->nodes.len;
    r->alive = ARENA_ARRAY(arena, bool *, nodes + 1);
    r->sent = ARENA_ARRAY(arena, uint32_t, r->space->words.len + 1);
    r->taken = ARENA_ARRAY(arena, uint32_t, r->space->words.len + 1);
    r->losses = ARENA_ARRAY(arena, uint32_t, nodes + 1);
    for (int end = 0; end < 2; end++)
        r->seen[end] = ARENA_ARRAY(arena, uint32_t, r->space->edges.len + 1);
    for (uint32_t n = 0; n < nodes; n++) {
        const DseNode *node = &r->space->nodes.data[n];
        r->alive[n] = ARENA_ARRAY(arena, bool, node->configs.len + 1);
        for (size_t c = 0; c < node->configs.len; c++)
            r->alive[n][c] = !is_excluded(r->problem, n, &node->configs.data[c]);
    }
    match_all_words(r);
}

static bool may_exceed(const Presolve *r, CostKind kind, int64_t limit)
{
    int64_t sum = 0;
    for (size_t n = 0; n < r->space->nodes.len; n++) {
        const DseNode *node = &r->space->nodes.data[n];
        int64_t most = 0;
        for (size_t c = 0; c < node->configs.len; c++)
            if (r->alive[n][c] && node->configs.data[c].cost.items[kind] > most)
                most = node->configs.data[c].cost.items[kind];
        sum += most;
    }
    return sum > limit;
}

static void lift_limits(Presolve *r)
{
    r->limits = r->problem->limits;
    for (CostKind k = 0; k < COST_KINDS; k++)
        if (r->limits.items[k] >= 0 && !may_exceed(r, k, r->limits.items[k]))
            r->limits.items[k] = -1;
}

static int64_t goal_of(const DseProblem *problem, uint32_t node, uint32_t number,
                       const Config *config)
{
    return dse_measure(&config->cost, &problem->weights) +
           (problem->extra ? problem->extra[node][number] : 0);
}

/* What the problem minimises and limits, of one configuration. */
static uint32_t measure(const void *user, uint32_t node, uint32_t number, int64_t *out)
{
    const Presolve *r = user;
    const Config *config = &r->space->nodes.data[node].configs.data[number];
    uint32_t count = 0;
    if (r->problem->keeps_intervals) out[count++] = config->interval;
    out[count++] = goal_of(r->problem, node, number, config);
    for (int k = 0; k < COST_KINDS; k++)
        if (r->limits.items[k] >= 0) out[count++] = config->cost.items[k];
    return count;
}

static void copy_alive(const Presolve *r, uint32_t number, DseReduced *out)
{
    const DseNode *node = &r->space->nodes.data[number];
    DseNode *copy = vec_push(&out->space.nodes);
    *copy = *node;
    copy->configs.data = NULL;
    copy->configs.len = copy->configs.cap = 0;
    out->origin[number] = ARENA_ARRAY(out->space.arena, uint32_t, node->configs.len + 1);
    out->goal[number] = ARENA_ARRAY(out->space.arena, int64_t, node->configs.len + 1);
    for (uint32_t c = 0; c < node->configs.len; c++) {
        if (!r->alive[number][c]) continue;
        const Config *config = &node->configs.data[c];
        out->origin[number][copy->configs.len] = c;
        out->goal[number][copy->configs.len] = goal_of(r->problem, number, c, config);
        *vec_push(&copy->configs) = *config;
    }
}

bool dse_presolve(const DseSpace *space, const DseProblem *problem, Arena *arena, DseReduced *out)
{
    Presolve r = {.space = space, .problem = problem};
    bool ok = true;
    *out = (DseReduced){.space = {.arena = arena, .region = space->region},
                        .origin = ARENA_ARRAY(arena, uint32_t *, space->nodes.len + 1),
                        .goal = ARENA_ARRAY(arena, int64_t *, space->nodes.len + 1)};
    find_alive(&r, arena);
    lift_limits(&r);
    out->limits = r.limits;
    dse_drop_dominated(space, measure, &r, problem->keeps_intervals, r.alive);
    match_all_words(&r);
    for (size_t w = 0; w < space->words.len; w++)
        *vec_push(&out->space.words) = space->words.data[w];
    for (size_t e = 0; e < space->edges.len; e++)
        *vec_push(&out->space.edges) = space->edges.data[e];
    for (uint32_t n = 0; n < space->nodes.len; n++) {
        copy_alive(&r, n, out);
        ok &= out->space.nodes.data[n].configs.len > 0;
    }
    return ok;
}

void dse_reduced_free(DseReduced *reduced)
{
    dse_free(&reduced->space);
}
