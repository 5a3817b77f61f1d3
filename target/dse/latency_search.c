/* The search for the least pipeline latency: designs are found by linear functions that are equal to
 * the latency near other designs, then improved a few processes at a time.
 * Tests: test/unit/target/dse/objective_test.c, lit/target/dse/choose-unroll-objective.mir */
#include <math.h>
#include <string.h>

#include "target/dse/dse.h"
#include "target/dse/internal.h"
#include "target/dse/solve/solve.h"

/* Labels for the least resources of a design. */
enum { SAVING_LABELS = 250000 };
/* Rounds, labels for each, and parts of a cycle that sums are counted in. Sums are rounded down, so
 * they stay lower bounds. */
enum { LATENCY_ROUNDS = 16, LATENCY_LABELS = 1000000, LATENCY_UNIT = 256 };
/* Rounds without a new design until others are searched near the best one, and most of those rounds;
 * the least step and the greatest, in parts of the latency. */
enum { STALE_ROUNDS = 4, STEP_ROUNDS = 16, LEAST_STEP = 4096, MOST_STEP = 128 };
/* Designs that are improved a neighbourhood at a time. */
enum { NEIGHBOUR_STARTS = 4 };
enum { LATENCY_DESIGNS = LATENCY_ROUNDS + STEP_ROUNDS + 2 + 2 * NEIGHBOUR_STARTS };

/* Every cut is a lower bound of the latency, so any convex combination of cuts is one too, and the
 * best design under a combination gives a bound. Two combinations alternate: that of cuts under which
 * the shortest design seen is as long as possible, which raises the bound, and one of the estimates
 * of designs near the best, in equal parts or with half of it from the best, which leads to good
 * designs. Where both only lead to designs that were seen, it is the combination of estimates under
 * which the shortest design is as long as possible, with a step: cycles that each node which differs
 * from the best design costs. Estimates are good near their designs. The step is doubled as long as
 * no better design is found. */
typedef struct LatencySearch {
    const DseSpace *space;
    const DseTask *task;
    DseState *state;
    DseCut cuts[LATENCY_DESIGNS], estimates[LATENCY_DESIGNS], aggregate;
    uint32_t *designs[LATENCY_DESIGNS];
    uint32_t count;  /* of both */
    int64_t **extra; /* what the aggregate cut gives for each configuration */
    double offset;   /* and what it gives besides, since that is not to be negative */
    uint32_t best;   /* design */
    double latencies[LATENCY_DESIGNS];
    double latency, bound;
    uint32_t stale;    /* rounds since the last new design */
    double step;       /* 0: there is none */
    bool raises_bound; /* whatever the round */
} LatencySearch;

static double sum_under(const LatencySearch *f, const DseCut *cut, const uint32_t *design)
{
    double sum = 0;
    for (uint32_t n = 0; n < f->space->nodes.len; n++)
        sum += dse_cut_value(cut, f->space, n, design[n]);
    return sum;
}

static bool was_seen(const LatencySearch *f, uint32_t design)
{
    for (uint32_t i = 0; i < design; i++)
        if (memcmp(f->designs[i], f->designs[design], f->space->nodes.len * sizeof(uint32_t)) == 0)
            return true;
    return false;
}

/* Adds the chosen design and its cut. */
static void add_design(LatencySearch *f)
{
    uint32_t last = f->count++;
    size_t nodes = f->space->nodes.len;
    f->cuts[last] = dse_cut(f->space);
    f->estimates[last] = dse_cut(f->space);
    double latency = dse_pipeline_latency(f->space, f->state->chosen, f->task->overlaps,
                                          &f->cuts[last], &f->estimates[last]);
    f->designs[last] = ARENA_ARRAY(f->space->arena, uint32_t, nodes + 1);
    memcpy(f->designs[last], f->state->chosen, nodes * sizeof(uint32_t));
    f->latencies[last] = latency;
    f->stale++;
    if (!was_seen(f, last)) f->stale = 0;
    if (latency < f->latency) {
        f->latency = latency;
        f->best = last;
    }
}

static void add_cut(LatencySearch *f, const DseCut *cut, double share)
{
    for (size_t n = 0; n < f->space->nodes.len; n++) {
        f->aggregate.fill[n] += share * cut->fill[n];
        f->aggregate.interval[n] += share * cut->interval[n];
        f->aggregate.handover[n] += share * cut->handover[n];
        f->aggregate.wait[n] += share * cut->wait[n];
        f->aggregate.rest[n] += share * cut->rest[n];
        f->aggregate.tail[n] += share * cut->tail[n];
        f->aggregate.absorb[n] += share * cut->absorb[n];
    }
}

/* Whether it is a round of estimates. */
static bool wants_design(const LatencySearch *f)
{
    return !f->raises_bound && (f->count % 2 == 0 || f->step > 0);
}

/* Shares of linear functions under which the shortest of the designs is as long as possible. */
static void find_longest(const LatencySearch *f, const DseCut *functions, double *shares)
{
    double sums[LATENCY_DESIGNS];
    DseCuttingPlanes *planes = dse_cutting_plane_create(f->count, 1, 1);
    for (uint32_t i = 0; i < f->count; i++) {
        for (uint32_t j = 0; j < f->count; j++)
            sums[j] = sum_under(f, &functions[j], f->designs[i]);
        dse_cutting_plane_add(planes, 0, sums);
    }
    (void)dse_cutting_plane_solve(planes, shares);
    dse_cutting_plane_free(planes);
}

static void find_shares(const LatencySearch *f, double *shares)
{
    const double near = 1.02 * f->latency;
    double sum = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        shares[i] = f->latencies[i] <= near ? 1 : 0;
        if (i == f->best && f->count % 4 == 0) shares[i] = f->count;
        sum += shares[i];
    }
    for (uint32_t i = 0; i < f->count; i++) shares[i] /= sum;
    if (f->step > 0)
        find_longest(f, f->estimates, shares);
    else if (!wants_design(f))
        find_longest(f, f->cuts, shares);
}

/* The least that a cut gives for a node; 0: it is never negative. */
static double least_value(const DseCut *cut, const DseSpace *space, uint32_t node)
{
    double least = 0;
    for (uint32_t c = 0; c < space->nodes.data[node].configs.len; c++)
        least = fmin(least, dse_cut_value(cut, space, node, c));
    return least;
}

static void aggregate_cuts(LatencySearch *f)
{
    double shares[LATENCY_DESIGNS];
    find_shares(f, shares);
    f->aggregate = dse_cut(f->space);
    f->aggregate.overlaps = f->task->overlaps;
    for (uint32_t i = 0; i < f->count; i++)
        add_cut(f, wants_design(f) ? &f->estimates[i] : &f->cuts[i], shares[i]);
    f->offset = 0;
    for (uint32_t n = 0; n < f->space->nodes.len; n++) {
        const DseNode *node = &f->space->nodes.data[n];
        double least = least_value(&f->aggregate, f->space, n);
        f->offset += least;
        for (uint32_t c = 0; c < node->configs.len; c++) {
            double step = c == f->designs[f->best][n] ? 0 : f->step;
            double value = dse_cut_value(&f->aggregate, f->space, n, c) - least + step;
            f->extra[n][c] = (int64_t)(LATENCY_UNIT * value);
        }
    }
}

static void choose_best(LatencySearch *f)
{
    memcpy(f->state->chosen, f->designs[f->best], f->space->nodes.len * sizeof(uint32_t));
}

/* Of a better design, or of one that is asked for. */
static int64_t most_interval(const LatencySearch *f)
{
    int64_t most = (int64_t)ceil(f->latency) - 1;
    return f->task->interval > 0 && f->task->interval < most ? f->task->interval : most;
}

/* Searches among designs all of whose intervals are below the best latency, since those of a better
 * design are. False: there is nothing more to gain. */
static bool search_latency(LatencySearch *f)
{
    const bool is_bound = !wants_design(f);
    const DseProblem problem = {.extra = f->extra,
                                .limits = f->task->limits,
                                .longest = dse_equal_intervals(f->space, most_interval(f)),
                                .max_labels = LATENCY_LABELS,
                                .deadline = f->task->deadline};
    int64_t value;
    aggregate_cuts(f);
    DseStatus status = dse_solve(f->space, &problem, f->state, &value);
    if (status == DSE_INFEASIBLE) f->bound = f->latency;
    if (!dse_found_design(status)) return false;
    double bound = (double)f->state->bound / LATENCY_UNIT + f->offset;
    if (is_bound) f->bound = fmax(f->bound, bound);
    add_design(f);
    return ceil(f->bound) < ceil(f->latency);
}

/* Searches near the best design. */
static void search_near(LatencySearch *f)
{
    const double least = f->latency / LEAST_STEP, most = f->latency / MOST_STEP;
    f->step = least;
    for (uint32_t i = 0; i < STEP_ROUNDS && f->step <= most; i++) {
        const double before = f->latency;
        if (!search_latency(f)) break;
        f->step = f->latency < before ? least : 2 * f->step;
    }
}

/* Designs to begin with: those of the least sum of cycles at the best interval and at somewhat
 * longer ones. */
static void add_first_designs(LatencySearch *f, int64_t interval)
{
    static const int64_t eighths[] = {8, 9, 10, 12, 16};
    DseProblem problem = {.weights.cycles = 1,
                          .limits = f->task->limits,
                          .max_labels = LATENCY_LABELS,
                          .deadline = f->task->deadline};
    int64_t value;
    add_design(f);
    for (size_t i = 0; i < COUNT_OF(eighths); i++) {
        int64_t longest = interval * eighths[i] / 8;
        if (f->task->interval > 0 && longest > f->task->interval) break;
        problem.longest = dse_equal_intervals(f->space, longest);
        if (dse_found_design(dse_solve(f->space, &problem, f->state, &value))) add_design(f);
    }
}

/* Least resources of configurations that make no time of the best design later: the times grow with
 * each configuration's fill, work, wait and hand-over. */
static void save_at_latency(LatencySearch *f)
{
    enum { FORBIDDEN = 1000000000 };
    const DseProblem problem = {.weights = dse_share_weights(&f->task->limits),
                                .extra = f->extra,
                                .limits = f->task->limits,
                                .max_labels = SAVING_LABELS,
                                .deadline = f->task->deadline};
    int64_t value;
    choose_best(f);
    for (uint32_t n = 0; n < f->space->nodes.len; n++)
        for (uint32_t c = 0; c < f->space->nodes.data[n].configs.len; c++)
            f->extra[n][c] = dse_is_no_later(f->space, f->task->overlaps, n, c, f->state->chosen[n])
                                 ? 0
                                 : FORBIDDEN;
    if (!dse_found_design(dse_solve(f->space, &problem, f->state, &value)) || value >= FORBIDDEN)
        choose_best(f);
}

/* Improvement of the best design, a neighbourhood at a time: the nodes around two of them may change,
 * all others stay. Less is better of a sum of the latency and, at a price that falls, the resources,
 * since what one process saves another one may spend. A cycle is worth so many millionths of a limit,
 * in the first round and in the last. */
enum { NEIGHBOUR_ROUNDS = 100, NEIGHBOUR_NODES = 10, NEIGHBOUR_LABELS = 20000, NEIGHBOUR_CUTS = 3 };
enum { FIRST_CYCLE = 1000, LAST_CYCLE = 10000 };

typedef struct Neighbourhood {
    LatencySearch *search;
    Arena arena;            /* of a round */
    DseSpace part;          /* all configurations of free nodes, the chosen one of the others */
    bool *is_free;          /* per node */
    uint32_t *best, *tried; /* designs: the one to be improved, the last one tried */
    double latency;         /* of the best */
    int64_t cycle, merit;   /* what a cycle is worth; sum of the best */
    uint64_t random;
} Neighbourhood;

static uint32_t random_node(Neighbourhood *h)
{
    h->random ^= h->random << 13;
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return (uint32_t)((h->random >> 32) * h->search->space->nodes.len >> 32);
}

/* Frees a node and those next to it, those next to these, until so many more are free. */
static void set_free(Neighbourhood *h, uint32_t centre)
{
    const DseSpace *space = h->search->space;
    uint32_t queue[NEIGHBOUR_NODES] = {centre}, count = 1;
    h->is_free[centre] = true;
    for (uint32_t i = 0; i < count; i++)
        for (size_t e = 0; e < space->edges.len && count < NEIGHBOUR_NODES; e++) {
            const DseEdge *edge = &space->edges.data[e];
            if (edge->from != queue[i] && edge->to != queue[i]) continue;
            uint32_t other = edge->from == queue[i] ? edge->to : edge->from;
            if (!h->is_free[other]) queue[count++] = other;
            h->is_free[other] = true;
        }
}

static void restrict_space(Neighbourhood *h)
{
    const DseSpace *space = h->search->space;
    h->part = *space;
    h->part.arena = &h->arena;
    h->part.nodes.data = ARENA_ARRAY(&h->arena, DseNode, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++) {
        DseNode *node = &h->part.nodes.data[n];
        *node = space->nodes.data[n];
        if (h->is_free[n]) continue;
        node->configs.data += h->best[n];
        node->configs.len = 1;
    }
}

static int64_t merit_of(const Neighbourhood *h, const uint32_t *design, double latency)
{
    const Cost total = dse_total(h->search->space, design),
               weights = dse_share_weights(&h->search->task->limits);
    return dse_measure(&total, &weights) + (int64_t)((double)h->cycle * latency);
}

/* The mean of the functions of the designs tried so far in place of the latency. */
static void set_goals(const Neighbourhood *h, const DseCut *cuts, uint32_t count, int64_t **extra)
{
    const DseSpace *space = h->search->space;
    for (uint32_t n = 0; n < h->part.nodes.len; n++) {
        if (!h->is_free[n]) continue;
        double least = 0;
        for (uint32_t i = 0; i < count; i++) least += least_value(&cuts[i], space, n);
        for (uint32_t c = 0; c < h->part.nodes.data[n].configs.len; c++) {
            double sum = -least;
            for (uint32_t i = 0; i < count; i++) sum += dse_cut_value(&cuts[i], space, n, c);
            extra[n][c] = (int64_t)((double)h->cycle * sum / count);
        }
    }
}

/* Takes what was found in the part as the design to try. False: that was tried last. */
static bool take_part(Neighbourhood *h, const DseState *state)
{
    bool is_other = false;
    for (size_t n = 0; n < h->part.nodes.len; n++) {
        uint32_t chosen = h->is_free[n] ? state->chosen[n] : h->best[n];
        is_other |= chosen != h->tried[n];
        h->tried[n] = chosen;
    }
    return is_other;
}

/* Takes the design that was tried if it is better. */
static bool keep_tried(Neighbourhood *h, double latency)
{
    int64_t merit = merit_of(h, h->tried, latency);
    if (merit >= h->merit) return false;
    memcpy(h->best, h->tried, h->part.nodes.len * sizeof(uint32_t));
    h->latency = latency;
    h->merit = merit;
    return true;
}

/* Functions are equal to the latency at their designs only, so one is added for each that is no better
 * after all. */
static void improve_part(Neighbourhood *h, const DseProblem *problem, int64_t **extra)
{
    const LatencySearch *f = h->search;
    DseCut cuts[NEIGHBOUR_CUTS], bound = dse_cut(&h->part);
    DseState state = dse_state(&h->part);
    int64_t value;
    memcpy(state.is_active, f->state->is_active, sizeof state.is_active);
    for (size_t n = 0; n < h->part.nodes.len; n++) state.chosen[n] = h->is_free[n] ? h->best[n] : 0;
    for (uint32_t i = 0; i < NEIGHBOUR_CUTS; i++) {
        cuts[i] = dse_cut(&h->part);
        double latency =
            dse_pipeline_latency(f->space, h->tried, f->task->overlaps, &bound, &cuts[i]);
        if (keep_tried(h, latency)) return;
        set_goals(h, cuts, i + 1, extra);
        if (!dse_found_design(dse_solve(&h->part, problem, &state, &value))) return;
        if (!take_part(h, &state)) return;
    }
}

static void improve_neighbourhood(Neighbourhood *h)
{
    const LatencySearch *f = h->search;
    const size_t count = f->space->nodes.len;
    arena_init(&h->arena);
    h->is_free = ARENA_ARRAY(&h->arena, bool, count + 1);
    h->tried = ARENA_ARRAY(&h->arena, uint32_t, count + 1);
    memcpy(h->tried, h->best, count * sizeof(uint32_t));
    set_free(h, random_node(h));
    set_free(h, random_node(h));
    restrict_space(h);
    int64_t **extra = ARENA_ARRAY(&h->arena, int64_t *, count + 1);
    for (size_t n = 0; n < count; n++)
        extra[n] = ARENA_ARRAY(&h->arena, int64_t, h->part.nodes.data[n].configs.len + 1);
    const DseProblem problem = {.weights = dse_share_weights(&f->task->limits),
                                .extra = extra,
                                .limits = f->task->limits,
                                .longest = dse_equal_intervals(&h->part, most_interval(f)),
                                .max_labels = NEIGHBOUR_LABELS,
                                .deadline = f->task->deadline};
    improve_part(h, &problem, extra);
    arena_free(&h->arena);
}

/* The best design that was not begun with and is no copy of another; the number of designs if there is
 * none. */
static uint32_t next_start(const LatencySearch *f, uint32_t count, const bool *is_begun)
{
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++)
        if (!is_begun[i] && !was_seen(f, i) &&
            (best == count || f->latencies[i] < f->latencies[best]))
            best = i;
    return best;
}

/* Improves a design, and adds the best one found if it is better than any before. */
static void improve_design(LatencySearch *f, Neighbourhood *h, uint32_t start)
{
    const size_t bytes = f->space->nodes.len * sizeof(uint32_t);
    double least = f->latency;
    memcpy(h->best, f->designs[start], bytes);
    h->latency = f->latencies[start];
    for (int64_t i = 0; i < NEIGHBOUR_ROUNDS; i++) {
        h->cycle = FIRST_CYCLE + (LAST_CYCLE - FIRST_CYCLE) * i / NEIGHBOUR_ROUNDS;
        h->merit = merit_of(h, h->best, h->latency);
        improve_neighbourhood(h);
        if (h->latency >= least) continue;
        least = h->latency;
        memcpy(f->state->chosen, h->best, bytes);
    }
    if (least < f->latency) add_design(f);
}

static void search_neighbourhoods(LatencySearch *f)
{
    const uint32_t count = f->count;
    bool is_begun[LATENCY_DESIGNS] = {false};
    Neighbourhood h = {.search = f,
                       .best = ARENA_ARRAY(f->space->arena, uint32_t, f->space->nodes.len + 1),
                       .random = 88172645463325252};
    for (int i = 0; i < NEIGHBOUR_STARTS; i++) {
        uint32_t start = next_start(f, count, is_begun);
        if (start == count) return;
        is_begun[start] = true;
        improve_design(f, &h, start);
    }
}

/* Without the configurations that complete their results one after another, which are behind the
 * others. */
static DseNode plain_node(const DseSpace *space, const DseNode *node)
{
    DseNode plain = *node;
    while (plain.configs.len > 0 && plain.configs.data[plain.configs.len - 1].by_results)
        plain.configs.len--;
    if (plain.configs.len == 0) return *node;
    plain.configs.data = arena_copy(space->arena, node->configs.data,
                                    plain.configs.len * sizeof(*plain.configs.data));
    for (size_t c = 0; c < plain.configs.len; c++) plain.configs.data[c].pace.gathered = 0;
    return plain;
}

/* The same space for linear functions: without those, and without what converters wait for, which
 * depends on two nodes. */
static DseSpace plain_space(const DseSpace *space)
{
    DseSpace plain = *space;
    plain.nodes.data = ARENA_ARRAY(space->arena, DseNode, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++)
        plain.nodes.data[n] = plain_node(space, &space->nodes.data[n]);
    return plain;
}

static bool has_more(const DseSpace *space, const DseSpace *plain)
{
    for (size_t n = 0; n < space->nodes.len; n++)
        if (space->nodes.data[n].configs.len > plain->nodes.data[n].configs.len) return true;
    return false;
}

/* Results that are completed one after another make the space twice as large in each kernel, so they are
 * only tried where neighbourhoods are. The bound becomes one of all designs. */
static void search_orders(LatencySearch *f, const DseSpace *space)
{
    f->space = space;
    f->latency = INFINITY;
    for (uint32_t i = 0; i < f->count; i++) {
        f->cuts[i] = dse_cut(space);
        f->estimates[i] = dse_cut(space);
        f->latencies[i] = dse_pipeline_latency(space, f->designs[i], f->task->overlaps, &f->cuts[i],
                                               &f->estimates[i]);
        if (f->latencies[i] >= f->latency) continue;
        f->latency = f->latencies[i];
        f->best = i;
    }
    f->bound = 0;
    f->step = 0;
    f->raises_bound = true;
    if (search_latency(f)) search_neighbourhoods(f);
}

/* A frame takes at least the longest interval, and the first design has the shortest one possible:
 * its interval is the first bound. */
DseAnswer dse_least_pipeline_latency(const DseSpace *all, const DseTask *task, DseState *state)
{
    const DseSpace plain = plain_space(all), *space = &plain;
    DseAnswer answer = dse_least_interval(space, task, state);
    bool is_short =
        !dse_found_design(answer.status) || (task->interval > 0 && answer.value > task->interval);
    if (is_short && has_more(all, space)) answer = dse_least_interval(space = all, task, state);
    if (!dse_found_design(answer.status) || space->nodes.len == 0) return answer;
    if (task->interval > 0 && answer.value > task->interval) {
        answer.status = answer.bound > task->interval ? DSE_INFEASIBLE : DSE_FAILED;
        return answer;
    }
    LatencySearch *f = ARENA_NEW(space->arena, LatencySearch);
    *f = (LatencySearch){.space = space,
                         .task = task,
                         .state = state,
                         .latency = INFINITY,
                         .bound = (double)answer.bound,
                         .extra = ARENA_ARRAY(space->arena, int64_t *, space->nodes.len + 1)};
    for (size_t n = 0; n < space->nodes.len; n++)
        f->extra[n] = ARENA_ARRAY(space->arena, int64_t, all->nodes.data[n].configs.len + 1);
    add_first_designs(f, answer.value);
    bool more = true;
    while (more && f->count <= LATENCY_ROUNDS && f->stale < STALE_ROUNDS) more = search_latency(f);
    if (more) search_near(f);
    if (more) search_neighbourhoods(f);
    if (has_more(all, space)) search_orders(f, all);
    save_at_latency(f);
    answer.value = (int64_t)ceil(f->latency);
    answer.bound = (int64_t)fmin(ceil(f->bound), ceil(f->latency));
    answer.status = answer.bound < answer.value ? DSE_FEASIBLE : DSE_OPTIMAL;
    return answer;
}
