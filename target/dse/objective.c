/* Searches for the objectives. The least S of a throughput is one of the intervals that
 * configurations have. Below some of them no design fits even if all nodes could choose apart,
 * which is quick to see; from there on it is asked for single S whether there is a design at all,
 * in wider and wider steps, then between the last two.
 * Tests: test/unit/target/dse/objective_test.c */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target/dse/dse.h"
#include "target/dse/solve/solve.h"

/* Labels to try: for saving resources, and for one S. */
enum { SAVING_EFFORT = 250000, ASKING_EFFORT = 300000 };
/* Of a limit. */
enum { MILLIONTHS = 1000000 };

int64_t dse_interval(const DseSpace *space)
{
    int64_t longest = 0;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        if (node->configs.data[node->chosen].interval > longest)
            longest = node->configs.data[node->chosen].interval;
    }
    return longest;
}

const int64_t *dse_same_interval(const DseSpace *space, int64_t interval)
{
    int64_t *longest = ARENA_ARRAY(space->arena, int64_t, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++) longest[n] = interval;
    return longest;
}

/* Shares of the limits, rounded up; what has no limit is free. */
static Cost share_weights(const Cost *limits)
{
    Cost weights = {.cycles = 0};
    for (int k = 0; k < COST_KINDS; k++)
        if (k != COST_CYCLES && limits->items[k] > 0)
            weights.items[k] = (MILLIONTHS + limits->items[k] - 1) / limits->items[k];
    return weights;
}

/* Least resources within the limits; the design that was chosen before stays if none is found. */
static DseAnswer save_resources(DseSpace *space, const DseTask *task, const Cost *limits,
                                const int64_t *longest, size_t effort)
{
    const DseProblem problem = {.weights = share_weights(&task->limits),
                                .limits = *limits,
                                .longest = longest,
                                .deadline = task->deadline,
                                .effort = effort};
    DseAnswer answer = {.status = DSE_OPTIMAL};
    answer.status = dse_solve(space, &problem, &answer.value);
    answer.bound = space->bound;
    return answer;
}

DseProblem dse_first_problem(const DseSpace *space, const DseTask *task)
{
    DseProblem problem = {.limits = task->limits, .deadline = task->deadline};
    if (task->objective == DSE_LATENCY) problem.weights.cycles = 1;
    if (task->objective == DSE_THROUGHPUT) problem.keeps_intervals = true;
    if (task->objective == DSE_FPS) {
        problem.weights = share_weights(&task->limits);
        problem.longest = dse_same_interval(space, task->interval);
    }
    return problem;
}

static DseAnswer least_cycles(DseSpace *space, const DseTask *task)
{
    const DseProblem problem = dse_first_problem(space, task);
    DseAnswer answer = {.status = DSE_OPTIMAL};
    Cost limits = task->limits;
    answer.status = dse_solve(space, &problem, &answer.value);
    answer.bound = space->bound;
    if (!dse_found_design(answer.status)) return answer;
    limits.cycles = answer.value;
    save_resources(space, task, &limits, NULL, SAVING_EFFORT);
    return answer;
}

typedef VEC(int64_t) Intervals;

static int compare_numbers(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* All that configurations have, each once, the shortest first. */
static void list_intervals(const DseSpace *space, Intervals *out)
{
    size_t left = 0;
    for (size_t n = 0; n < space->nodes.len; n++)
        for (size_t c = 0; c < space->nodes.data[n].configs.len; c++)
            *vec_push(out) = space->nodes.data[n].configs.data[c].interval;
    qsort(out->data, out->len, sizeof(int64_t), compare_numbers);
    for (size_t i = 0; i < out->len; i++)
        if (left == 0 || out->data[i] != out->data[left - 1]) out->data[left++] = out->data[i];
    out->len = left;
}

/* Sums over the nodes of the least that any configuration takes, of each kind and at prices. */
typedef struct Least {
    Cost costs;
    double price;
} Least;

static double price_of(const Cost *cost, const double *prices)
{
    double sum = 0;
    for (int k = 0; k < COST_KINDS; k++) sum += prices[k] * (double)cost->items[k];
    return sum;
}

/* Adds a node's least at intervals up to S. False: it has no configuration there. */
static bool add_least(const DseNode *node, int64_t interval, const double *prices, Least *sum)
{
    Least least = {.price = INFINITY};
    for (int k = 0; k < COST_KINDS; k++) least.costs.items[k] = INT64_MAX;
    for (size_t c = 0; c < node->configs.len; c++) {
        const Config *config = &node->configs.data[c];
        if (config->interval > interval) continue;
        least.price = fmin(least.price, price_of(&config->cost, prices));
        for (int k = 0; k < COST_KINDS; k++)
            if (config->cost.items[k] < least.costs.items[k])
                least.costs.items[k] = config->cost.items[k];
    }
    if (isinf(least.price)) return false;
    cost_add(&sum->costs, &least.costs);
    sum->price += least.price;
    return true;
}

/* Whether the limits would do if each process could choose without the others: for each kind apart,
 * and together at the prices of the last question. */
static bool fits_apart(const DseSpace *space, const Cost *limits, int64_t interval)
{
    Least sum = {.price = 0};
    double affordable = 1e-6 + price_of(limits, space->prices);
    for (size_t n = 0; n < space->nodes.len; n++)
        if (space->nodes.data[n].kind != PROCESS_CONVERTER &&
            !add_least(&space->nodes.data[n], interval, space->prices, &sum))
            return false;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0 && sum.costs.items[k] > limits->items[k]) return false;
    return sum.price <= affordable;
}

/* What the configurations take that are cheapest at intervals up to S, each process for itself. */
static Cost cheapest_apart(const DseSpace *space, int64_t interval, const double *prices)
{
    Cost sum = {.cycles = 0};
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        const Config *best = NULL;
        double least = INFINITY;
        for (size_t c = 0; node->kind != PROCESS_CONVERTER && c < node->configs.len; c++) {
            const Config *config = &node->configs.data[c];
            double price = config->interval > interval ? INFINITY : price_of(&config->cost, prices);
            if (price < least) {
                least = price;
                best = config;
            }
        }
        if (best) cost_add(&sum, &best->cost);
    }
    return sum;
}

/* Whether there are no prices at which even the cheapest configurations cost more than the limits.
 * If there are, the limits that they are about count from now on. */
static bool fits_at_any_prices(DseSpace *space, const Cost *limits, int64_t interval)
{
    enum { ROUNDS = 10 };
    const double small_share = 0.02;
    double prices[COST_KINDS] = {0}, next[COST_KINDS], shares[COST_KINDS];
    double excess[COST_KINDS], over = 0;
    uint32_t count = 0;
    CostKind kinds[COST_KINDS];
    for (CostKind k = 0; k < COST_KINDS; k++)
        if (limits->items[k] > 0) kinds[count++] = k;
    if (count == 0) return true;
    DseMaster *master = dse_cutting_plane_create(count, 1, 1);
    for (uint32_t i = 0; i < count; i++) next[i] = 1.0 / count;
    bool may_fail = true;
    for (int round = 0; round < ROUNDS && may_fail && over <= 1e-9; round++) {
        for (uint32_t i = 0; i < count; i++)
            prices[kinds[i]] = next[i] / (double)limits->items[kinds[i]];
        Cost sum = cheapest_apart(space, interval, prices);
        over = 0;
        for (uint32_t i = 0; i < count; i++) {
            int64_t limit = limits->items[kinds[i]];
            excess[i] = (double)(sum.items[kinds[i]] - limit) / (double)limit;
            over += next[i] * excess[i];
            shares[i] = next[i];
        }
        dse_cutting_plane_add(master, 0, excess);
        may_fail = dse_cutting_plane_solve(master, next) > 1e-9;
    }
    dse_cutting_plane_free(master);
    for (uint32_t i = 0; over > 1e-9 && i < count; i++)
        space->counts[kinds[i]] |= shares[i] > small_share;
    return over <= 1e-9;
}

typedef struct Bisection {
    DseSpace *space;
    const DseTask *task;
    Intervals intervals;
    int64_t *longest; /* per node, all the same */
    size_t excluded;  /* so many of the shortest have no design */
    size_t best;      /* index of the best design's S; their number if there is none */
} Bisection;

/* First index of those from `low` on that is not excluded when processes choose apart. */
static size_t first_possible(const Bisection *b, size_t low)
{
    size_t high = b->intervals.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fits_apart(b->space, &b->task->limits, b->intervals.data[middle]) &&
            fits_at_any_prices(b->space, &b->task->limits, b->intervals.data[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Whether there is a design at an S, which is a problem with nothing to add up. Its own S may be
 * shorter. */
static bool ask(Bisection *b, size_t index)
{
    const DseProblem problem = {.limits = b->task->limits,
                                .longest = b->longest,
                                .effort = ASKING_EFFORT,
                                .deadline = b->task->deadline};
    int64_t value;
    for (size_t n = 0; n < b->space->nodes.len; n++) b->longest[n] = b->intervals.data[index];
    DseStatus status = dse_solve(b->space, &problem, &value);
    if (status == DSE_INFEASIBLE) b->excluded = first_possible(b, index + 1);
    if (!dse_found_design(status)) return false;
    int64_t interval = dse_interval(b->space);
    b->best = index;
    while (b->best > 0 && b->intervals.data[b->best - 1] >= interval) b->best--;
    return true;
}

static void bisect(Bisection *b)
{
    size_t low = first_possible(b, 0), step = 1;
    b->best = b->intervals.len;
    b->excluded = low;
    for (size_t next = low; low < b->intervals.len && !ask(b, next); step *= 2) {
        low = next + 1 > b->excluded ? next + 1 : b->excluded;
        next = step < b->intervals.len - low ? low + step - 1 : b->intervals.len - 1;
    }
    while (low < b->best) {
        size_t middle = low + (b->best - low) / 2;
        if (!ask(b, middle)) low = middle + 1 > b->excluded ? middle + 1 : b->excluded;
    }
}

static DseAnswer least_interval(DseSpace *space, const DseTask *task)
{
    Bisection b = {.space = space,
                   .task = task,
                   .longest = ARENA_ARRAY(space->arena, int64_t, space->nodes.len + 1)};
    DseAnswer answer = {.status = DSE_OPTIMAL};
    if (space->nodes.len == 0) return answer;
    list_intervals(space, &b.intervals);
    bisect(&b);
    if (b.best == b.intervals.len) {
        answer.status = b.excluded < b.best ? DSE_FAILED : DSE_INFEASIBLE;
    } else {
        answer.status = b.excluded < b.best ? DSE_FEASIBLE : DSE_OPTIMAL;
        answer.value = b.intervals.data[b.best];
        answer.bound = b.intervals.data[b.excluded < b.best ? b.excluded : b.best];
        save_resources(space, task, &task->limits, dse_same_interval(space, answer.value),
                       SAVING_EFFORT);
    }
    vec_free(&b.intervals);
    return answer;
}

/* Rounds, labels for each, and the unit of sums: rounded down, they stay bounds. */
enum { FRAME_ROUNDS = 16, FRAME_EFFORT = 100000, FRAME_UNIT = 256 };

/* No design's latency is below any mix of the cuts of designs seen, so the best design under a mix
 * gives a bound. Mixes are in turn that under which all designs seen are as long as can be, for the
 * bound, and equal parts of all cuts, which leads to good designs. */
typedef struct FrameSearch {
    DseSpace *space;
    const DseTask *task;
    DseCut cuts[FRAME_ROUNDS + 1], mix;
    double sums[FRAME_ROUNDS + 1][FRAME_ROUNDS + 1]; /* of a design under a cut */
    uint32_t *designs[FRAME_ROUNDS + 1];
    uint32_t count;  /* of both */
    int64_t **extra; /* what the mix gives for each configuration */
    uint32_t best;   /* design */
    double latency, bound;
} FrameSearch;

static double sum_under(const FrameSearch *f, const DseCut *cut, const uint32_t *design)
{
    double sum = 0;
    for (uint32_t n = 0; n < f->space->nodes.len; n++)
        sum += dse_cut_value(cut, n, &f->space->nodes.data[n].configs.data[design[n]]);
    return sum;
}

/* Of the chosen design. */
static void add_design(FrameSearch *f)
{
    uint32_t last = f->count++;
    size_t nodes = f->space->nodes.len;
    f->cuts[last] = dse_cut(f->space);
    double latency = dse_frame(f->space, f->task->paces, &f->cuts[last]);
    f->designs[last] = ARENA_ARRAY(f->space->arena, uint32_t, nodes + 1);
    for (size_t n = 0; n < nodes; n++) f->designs[last][n] = f->space->nodes.data[n].chosen;
    for (uint32_t i = 0; i <= last; i++) {
        f->sums[i][last] = sum_under(f, &f->cuts[last], f->designs[i]);
        f->sums[last][i] = sum_under(f, &f->cuts[i], f->designs[last]);
    }
    if (latency < f->latency) {
        f->latency = latency;
        f->best = last;
    }
}

static void add_cut(FrameSearch *f, const DseCut *cut, double share)
{
    for (size_t n = 0; n < f->space->nodes.len; n++) {
        f->mix.fill[n] += share * cut->fill[n];
        f->mix.interval[n] += share * cut->interval[n];
        f->mix.handover[n] += share * cut->handover[n];
    }
}

static void find_shares(const FrameSearch *f, double *shares)
{
    for (uint32_t i = 0; i < f->count; i++) shares[i] = 1.0 / f->count;
    if (f->count % 2 == 0) return;
    DseMaster *master = dse_cutting_plane_create(f->count, 1, 1);
    for (uint32_t i = 0; i < f->count; i++) dse_cutting_plane_add(master, 0, f->sums[i]);
    (void)dse_cutting_plane_solve(master, shares);
    dse_cutting_plane_free(master);
}

static void mix_cuts(FrameSearch *f)
{
    double shares[FRAME_ROUNDS + 1];
    find_shares(f, shares);
    f->mix = dse_cut(f->space);
    for (uint32_t i = 0; i < f->count; i++) add_cut(f, &f->cuts[i], shares[i]);
    for (uint32_t n = 0; n < f->space->nodes.len; n++) {
        const DseNode *node = &f->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            f->extra[n][c] =
                (int64_t)(FRAME_UNIT * dse_cut_value(&f->mix, n, &node->configs.data[c]));
    }
}

static void choose_best(FrameSearch *f)
{
    for (size_t n = 0; n < f->space->nodes.len; n++)
        f->space->nodes.data[n].chosen = f->designs[f->best][n];
}

/* Among designs all of whose intervals are below the best latency, as those of a better one are.
 * False: there is nothing more to gain. */
static bool search_frame(FrameSearch *f)
{
    const DseProblem problem = {.extra = f->extra,
                                .limits = f->task->limits,
                                .longest =
                                    dse_same_interval(f->space, (int64_t)ceil(f->latency) - 1),
                                .effort = FRAME_EFFORT,
                                .deadline = f->task->deadline};
    int64_t value;
    mix_cuts(f);
    DseStatus status = dse_solve(f->space, &problem, &value);
    if (status == DSE_INFEASIBLE) f->bound = f->latency;
    if (!dse_found_design(status)) return false;
    f->bound = fmax(f->bound, (double)f->space->bound / FRAME_UNIT);
    add_design(f);
    return ceil(f->bound) < ceil(f->latency);
}

/* Designs to begin with: of the least sum of cycles at a pace, the best one and somewhat longer
 * ones. */
static void add_first_designs(FrameSearch *f, int64_t interval)
{
    static const int64_t eighths[] = {8, 9, 10, 12, 16};
    DseProblem problem = {.weights.cycles = 1,
                          .limits = f->task->limits,
                          .effort = FRAME_EFFORT,
                          .deadline = f->task->deadline};
    int64_t value;
    add_design(f);
    for (size_t i = 0; i < COUNT_OF(eighths); i++) {
        problem.longest = dse_same_interval(f->space, interval * eighths[i] / 8);
        if (dse_found_design(dse_solve(f->space, &problem, &value))) add_design(f);
    }
}

/* Least resources at intervals that are no longer, as long as the latency stays. */
static void save_in_frame(FrameSearch *f)
{
    int64_t *longest = ARENA_ARRAY(f->space->arena, int64_t, f->space->nodes.len + 1);
    choose_best(f);
    for (size_t n = 0; n < f->space->nodes.len; n++) {
        const DseNode *node = &f->space->nodes.data[n];
        longest[n] = node->configs.data[node->chosen].interval;
    }
    save_resources(f->space, f->task, &f->task->limits, longest, SAVING_EFFORT);
    if (ceil(dse_frame(f->space, f->task->paces, &f->mix)) > ceil(f->latency)) choose_best(f);
}

/* A frame takes at least the longest interval, which the first design has as short as can be. */
static DseAnswer least_frame(DseSpace *space, const DseTask *task)
{
    DseAnswer answer = least_interval(space, task);
    if (!dse_found_design(answer.status) || space->nodes.len == 0) return answer;
    FrameSearch *f = ARENA_NEW(space->arena, FrameSearch);
    *f = (FrameSearch){.space = space,
                       .task = task,
                       .latency = INFINITY,
                       .bound = (double)answer.bound,
                       .extra = ARENA_ARRAY(space->arena, int64_t *, space->nodes.len + 1)};
    for (size_t n = 0; n < space->nodes.len; n++)
        f->extra[n] = ARENA_ARRAY(space->arena, int64_t, space->nodes.data[n].configs.len + 1);
    add_first_designs(f, answer.value);
    for (bool more = true; more && f->count <= FRAME_ROUNDS;) more = search_frame(f);
    save_in_frame(f);
    answer.value = (int64_t)ceil(f->latency);
    answer.bound = (int64_t)fmin(ceil(f->bound), ceil(f->latency));
    answer.status = answer.bound < answer.value ? DSE_FEASIBLE : DSE_OPTIMAL;
    return answer;
}

DseAnswer dse_optimize(DseSpace *space, const DseTask *task)
{
    switch (task->objective) {
    case DSE_LATENCY: return least_cycles(space, task);
    case DSE_PIPELINE_LATENCY: return least_frame(space, task);
    case DSE_THROUGHPUT: return least_interval(space, task);
    case DSE_FPS:
        return save_resources(space, task, &task->limits, dse_same_interval(space, task->interval),
                              0);
    }
    return (DseAnswer){.status = DSE_FAILED};
}
