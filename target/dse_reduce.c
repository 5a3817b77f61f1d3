/* Drops what a problem's limits exclude, then words without a partner until all have one, then what is
 * beaten. Limits that even the largest configurations together keep are lifted, and their kinds count no
 * longer.
 * Tests: test/unit/dse_test.c */
#include "target/dse_reduce.h"

#include "target/dse_pareto.h"

enum { MAX_MEASURES = COST_KINDS + 2 };

typedef struct Reduction {
    const DseSpace *space;
    const DseProblem *problem;
    bool **alive; /* per node and configuration */
    uint32_t *sent, *taken; /* per word: the last edge, counted from 1, of which an end has it */
    uint32_t stamp;
} Reduction;

/* --- excluded configurations ------------------------------------------------------------------ */

static bool is_excluded(const DseProblem *problem, uint32_t node, const Config *config)
{
    if (problem->longest && config->interval > problem->longest[node])
        return true;
    for (int k = 0; k < COST_KINDS; k++)
        if (problem->limits.items[k] >= 0 && config->cost.items[k] > problem->limits.items[k])
            return true;
    return false;
}

static void mark_words(const Reduction *r, uint32_t number, uint32_t port, uint32_t *marks)
{
    const DseNode *node = &r->space->nodes.data[number];
    for (size_t c = 0; c < node->configs.len; c++)
        if (r->alive[number][c])
            marks[node->configs.data[c].factor[port]] = r->stamp;
}

static bool drop_unmarked(Reduction *r, uint32_t number, uint32_t port, const uint32_t *marks)
{
    const DseNode *node = &r->space->nodes.data[number];
    bool changed = false;
    for (size_t c = 0; c < node->configs.len; c++) {
        if (r->alive[number][c] && marks[node->configs.data[c].factor[port]] != r->stamp) {
            r->alive[number][c] = false;
            changed = true;
        }
    }
    return changed;
}

/* Words that only one end of an edge has cannot be chosen. True: some were dropped. */
static bool match_words(Reduction *r)
{
    bool changed = false;
    for (size_t e = 0; e < r->space->edges.len; e++) {
        const DseEdge *edge = &r->space->edges.data[e];
        r->stamp++;
        mark_words(r, edge->from, edge->from_port, r->sent);
        mark_words(r, edge->to, edge->to_port, r->taken);
        changed |= drop_unmarked(r, edge->from, edge->from_port, r->taken);
        changed |= drop_unmarked(r, edge->to, edge->to_port, r->sent);
    }
    return changed;
}

static void find_alive(Reduction *r, Arena *arena)
{
    size_t nodes = r->space->nodes.len;
    r->alive = ARENA_ARRAY(arena, bool *, nodes + 1);
    r->sent = ARENA_ARRAY(arena, uint32_t, r->space->words.len + 1);
    r->taken = ARENA_ARRAY(arena, uint32_t, r->space->words.len + 1);
    for (uint32_t n = 0; n < nodes; n++) {
        const DseNode *node = &r->space->nodes.data[n];
        r->alive[n] = ARENA_ARRAY(arena, bool, node->configs.len + 1);
        for (size_t c = 0; c < node->configs.len; c++)
            r->alive[n][c] = !is_excluded(r->problem, n, &node->configs.data[c]);
    }
    while (match_words(r)) {
    }
}

/* --- limits ------------------------------------------------------------------------------------ */

static bool may_exceed(const Reduction *r, CostKind kind, int64_t limit)
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

static void lift_limits(const Reduction *r, Cost *limits)
{
    *limits = r->problem->limits;
    for (CostKind k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0 && !may_exceed(r, k, limits->items[k]))
            limits->items[k] = -1;
}

/* --- the reduced space --------------------------------------------------------------------------- */

/* What the problem is about, of one configuration; gives how many numbers. */
static uint32_t measure(const Config *config, const Cost *limits, bool with_intervals, int64_t *out)
{
    uint32_t count = 0;
    out[count++] = config->goal;
    if (with_intervals)
        out[count++] = config->interval;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0)
            out[count++] = config->cost.items[k];
    return count;
}

static void drop_beaten(DseNode *node, const Cost *limits, bool with_intervals, Arena *arena)
{
    uint32_t count = 0;
    int64_t *measures = ARENA_ARRAY(arena, int64_t, node->configs.len * MAX_MEASURES + 1);
    for (size_t c = 0; c < node->configs.len; c++)
        count = measure(&node->configs.data[c], limits, with_intervals, measures + c * count);
    dse_drop_beaten(node, measures, count);
}

static bool is_as_good(const Config *a, const Config *b, uint32_t port_count, const Cost *limits)
{
    for (uint32_t p = 0; p < port_count; p++)
        if (a->factor[p] != b->factor[p])
            return false;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0 && a->cost.items[k] > b->cost.items[k])
            return false;
    return true;
}

/* Number of a node's configuration that stands for one of the whole space, 0 if there is none. */
static uint32_t find_stand_in(const DseNode *node, const Config *config, const Cost *limits)
{
    for (uint32_t c = 0; c < node->configs.len; c++)
        if (is_as_good(&node->configs.data[c], config, node->port_count, limits))
            return c;
    return 0;
}

static void copy_alive(const Reduction *r, uint32_t number, DseNode *out)
{
    const DseNode *node = &r->space->nodes.data[number];
    *out = *node;
    out->configs.data = NULL;
    out->configs.len = out->configs.cap = 0;
    for (uint32_t c = 0; c < node->configs.len; c++) {
        if (!r->alive[number][c])
            continue;
        Config config = node->configs.data[c];
        config.goal = dse_measure(&config.cost, &r->problem->weights);
        config.goal += r->problem->extra ? r->problem->extra[number][c] : 0;
        config.origin = c;
        *vec_push(&out->configs) = config;
    }
}

bool dse_reduce(const DseSpace *space, const DseProblem *problem, bool with_intervals, Arena *arena,
                DseSpace *out, Cost *limits)
{
    Reduction r = {.space = space, .problem = problem};
    bool ok = true;
    *out = (DseSpace){.arena = arena, .region = space->region};
    find_alive(&r, arena);
    lift_limits(&r, limits);
    for (size_t w = 0; w < space->words.len; w++)
        *vec_push(&out->words) = space->words.data[w];
    for (size_t e = 0; e < space->edges.len; e++)
        *vec_push(&out->edges) = space->edges.data[e];
    for (uint32_t n = 0; n < space->nodes.len; n++) {
        const DseNode *whole = &space->nodes.data[n];
        DseNode *node = vec_push(&out->nodes);
        copy_alive(&r, n, node);
        drop_beaten(node, limits, with_intervals, arena);
        ok &= node->configs.len > 0;
        node->chosen = find_stand_in(node, &whole->configs.data[whole->chosen], limits);
    }
    return ok;
}
