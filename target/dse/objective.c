/* Searches for the objectives. The least S, the one of the best throughput, is among the intervals
 * that configurations have. Up to some of them no design fits even if all nodes could choose
 * independently, which is quick to see. From there on single S are tested for a design, in wider
 * and wider steps until one has a design, then by bisection between the last two.
 * Tests: test/unit/target/dse/objective_test.c */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target/dse/dse.h"
#include "target/dse/internal.h"
#include "target/dse/solve/solve.h"

/* Labels to try: for the least resources of a design, and for the feasibility of one S. */
enum { SAVING_LABELS = 250000, FEASIBILITY_LABELS = 300000 };
/* Unit of resources: millionths of a limit. */
enum { MILLIONTHS = 1000000 };

int64_t dse_interval(const DseSpace *space, const uint32_t *chosen)
{
    int64_t longest = 0, traffic = 0;
    for (size_t n = 0; n < space->nodes.len; n++) {
        int64_t interval = space->nodes.data[n].configs.data[chosen[n]].interval;
        if (interval > longest) longest = interval;
        traffic += space->nodes.data[n].configs.data[chosen[n]].cost.traffic;
    }
    return i64_max(longest, cost_traffic_cycles(traffic, &space->target));
}

/* The limits with what memory brings in a frame of so many cycles. */
static Cost limits_at(const DseSpace *space, const Cost *limits, int64_t interval)
{
    Cost at = *limits;
    if (space->target.stream_rate > 0) at.traffic = dse_supply(&space->target, interval);
    return at;
}

int64_t dse_supply(const CostTarget *target, int64_t interval)
{
    enum { PER_RATE = 1000 };
    return interval > INT64_MAX / target->stream_rate ? INT64_MAX
                                                      : interval * target->stream_rate / PER_RATE;
}

const int64_t *dse_equal_intervals(const DseSpace *space, int64_t interval)
{
    int64_t *longest = ARENA_ARRAY(space->arena, int64_t, space->nodes.len + 1);
    for (size_t n = 0; n < space->nodes.len; n++) longest[n] = interval;
    return longest;
}

/* What memory brings is a limit that nothing is saved by keeping away from; a frame's billions of
 * bits would also be too small a share each. */
Cost dse_share_weights(const Cost *limits)
{
    Cost weights = {.cycles = 0};
    for (int k = 0; k < COST_KINDS; k++)
        if (k != COST_CYCLES && k != COST_TRAFFIC && limits->items[k] > 0)
            weights.items[k] = (MILLIONTHS - 1) / limits->items[k] + 1;
    return weights;
}

/* Least resources within the limits; the state's design stays if none is found. */
static DseAnswer save_resources(const DseSpace *space, const DseTask *task, DseState *state,
                                const Cost *limits, const int64_t *longest, size_t max_labels)
{
    const DseProblem problem = {.weights = dse_share_weights(&task->limits),
                                .limits = *limits,
                                .longest = longest,
                                .deadline = task->deadline,
                                .max_labels = max_labels};
    DseAnswer answer = {.status = DSE_OPTIMAL};
    answer.status = dse_solve(space, &problem, state, &answer.value);
    answer.bound = state->bound;
    return answer;
}

DseProblem dse_first_problem(const DseSpace *space, const DseTask *task)
{
    DseProblem problem = {.limits = task->limits, .deadline = task->deadline};
    if (task->objective == DSE_LATENCY) problem.weights.cycles = 1;
    if (task->objective == DSE_THROUGHPUT) problem.keeps_intervals = true;
    if (task->objective == DSE_FPS) {
        problem.weights = dse_share_weights(&task->limits);
        problem.longest = dse_equal_intervals(space, task->interval);
    }
    return problem;
}

static DseAnswer least_cycles(const DseSpace *space, const DseTask *task, DseState *state)
{
    const DseProblem problem = dse_first_problem(space, task);
    DseAnswer answer = {.status = DSE_OPTIMAL};
    Cost limits = task->limits;
    answer.status = dse_solve(space, &problem, state, &answer.value);
    answer.bound = state->bound;
    if (!dse_found_design(answer.status)) return answer;
    limits.cycles = answer.value;
    save_resources(space, task, state, &limits, NULL, SAVING_LABELS);
    return answer;
}

static int compare_numbers(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* The intervals of all configurations, each once, the shortest first. */
void dse_list_intervals(const DseSpace *space, DseIntervals *out)
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

/* Sums over the nodes of the least cost of any configuration, of each kind and at prices. */
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

/* What a node would choose from if words did not matter. */
typedef struct Choice {
    int64_t interval;
    Cost cost;
} Choice;

typedef VEC(Choice) Choices;

static bool is_no_worse(const Choice *a, const Choice *b)
{
    if (a->interval > b->interval) return false;
    for (int k = 0; k < COST_KINDS; k++)
        if (a->cost.items[k] > b->cost.items[k]) return false;
    return true;
}

/* Without those that an earlier one is no worse than: none of them is the first of the least price, nor
 * has it less of any kind. None of a converter. */
static void list_choices(const DseNode *node, Choices *out)
{
    for (size_t c = 0; node->kind != PROCESS_CONVERTER && c < node->configs.len; c++) {
        const Choice choice = {node->configs.data[c].interval, node->configs.data[c].cost};
        size_t i = 0;
        while (i < out->len && !is_no_worse(&out->data[i], &choice)) i++;
        if (i == out->len) *vec_push(out) = choice;
    }
}

/* Adds a node's least at intervals up to S. False: it has no configuration there. */
static bool add_least(const Choices *choices, int64_t interval, const double *prices, Least *sum)
{
    Least least = {.price = INFINITY};
    for (int k = 0; k < COST_KINDS; k++) least.costs.items[k] = INT64_MAX;
    for (size_t i = 0; i < choices->len; i++) {
        const Choice *choice = &choices->data[i];
        if (choice->interval > interval) continue;
        least.price = fmin(least.price, price_of(&choice->cost, prices));
        for (int k = 0; k < COST_KINDS; k++)
            if (choice->cost.items[k] < least.costs.items[k])
                least.costs.items[k] = choice->cost.items[k];
    }
    if (isinf(least.price)) return false;
    cost_add(&sum->costs, &least.costs);
    sum->price += least.price;
    return true;
}

/* A necessary condition: whether the limits suffice if the processes choose independently, for each
 * kind of cost on its own, and for all of them together in the surrogate constraint. */
static bool may_fit(const DseSpace *space, const Choices *choices, const DseState *state,
                    const Cost *limits, int64_t interval)
{
    Least sum = {.price = 0};
    double affordable = 1e-6 + price_of(limits, state->multipliers);
    for (size_t n = 0; n < space->nodes.len; n++)
        if (space->nodes.data[n].kind != PROCESS_CONVERTER &&
            !add_least(&choices[n], interval, state->multipliers, &sum))
            return false;
    for (int k = 0; k < COST_KINDS; k++)
        if (limits->items[k] >= 0 && sum.costs.items[k] > limits->items[k]) return false;
    return sum.price <= affordable;
}

/* Cost of the configurations that are cheapest at intervals up to S, chosen independently. */
static Cost cheapest_cost(size_t nodes, const Choices *choices, int64_t interval,
                          const double *prices)
{
    Cost sum = {.cycles = 0};
    for (size_t n = 0; n < nodes; n++) {
        const Choice *best = NULL;
        double least = INFINITY;
        for (size_t i = 0; i < choices[n].len; i++) {
            const Choice *choice = &choices[n].data[i];
            double price = choice->interval > interval ? INFINITY : price_of(&choice->cost, prices);
            if (price < least) {
                least = price;
                best = choice;
            }
        }
        if (best) cost_add(&sum, &best->cost);
    }
    return sum;
}

/* A stronger necessary condition, by Lagrangian duality: whether there are no prices at which even
 * the cheapest configurations cost more than the limits. If there are, the limits that have a price
 * become active. */
static bool fits_at_all_prices(const DseSpace *space, const Choices *choices, DseState *state,
                               const Cost *limits, int64_t interval)
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
    DseCuttingPlanes *planes = dse_cutting_plane_create(count, 1, 1);
    for (uint32_t i = 0; i < count; i++) next[i] = 1.0 / count;
    bool may_fail = true;
    for (int round = 0; round < ROUNDS && may_fail && over <= 1e-9; round++) {
        for (uint32_t i = 0; i < count; i++)
            prices[kinds[i]] = next[i] / (double)limits->items[kinds[i]];
        Cost sum = cheapest_cost(space->nodes.len, choices, interval, prices);
        over = 0;
        for (uint32_t i = 0; i < count; i++) {
            int64_t limit = limits->items[kinds[i]];
            excess[i] = (double)(sum.items[kinds[i]] - limit) / (double)limit;
            over += next[i] * excess[i];
            shares[i] = next[i];
        }
        dse_cutting_plane_add(planes, 0, excess);
        may_fail = dse_cutting_plane_solve(planes, next) > 1e-9;
    }
    dse_cutting_plane_free(planes);
    for (uint32_t i = 0; over > 1e-9 && i < count; i++)
        state->is_active[kinds[i]] |= shares[i] > small_share;
    return over <= 1e-9;
}

typedef struct Bisection {
    const DseSpace *space;
    const DseTask *task;
    DseState *state;
    DseIntervals intervals;
    Choices *choices; /* per node */
    int64_t *longest; /* per node, all the same */
    size_t excluded;  /* so many of the shortest intervals have no design */
    size_t best;      /* index of the best design's S; their number if there is none */
} Bisection;

/* First index from `low` on that the necessary conditions do not exclude. */
static size_t first_possible(const Bisection *b, size_t low)
{
    size_t high = b->intervals.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t interval = b->intervals.data[middle];
        const Cost limits = limits_at(b->space, &b->task->limits, interval);
        if (may_fit(b->space, b->choices, b->state, &limits, interval) &&
            fits_at_all_prices(b->space, b->choices, b->state, &limits, interval))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Whether there is a design at an S: a problem with limits and nothing to minimise. The design's
 * own S may be shorter. */
static bool is_feasible_at(Bisection *b, size_t index)
{
    const DseProblem problem = {.limits =
                                    limits_at(b->space, &b->task->limits, b->intervals.data[index]),
                                .longest = b->longest,
                                .max_labels = FEASIBILITY_LABELS,
                                .deadline = b->task->deadline};
    int64_t value;
    for (size_t n = 0; n < b->space->nodes.len; n++) b->longest[n] = b->intervals.data[index];
    DseStatus status = dse_solve(b->space, &problem, b->state, &value);
    if (status == DSE_INFEASIBLE) b->excluded = first_possible(b, index + 1);
    if (!dse_found_design(status)) return false;
    int64_t interval = dse_interval(b->space, b->state->chosen);
    b->best = index;
    while (b->best > 0 && b->intervals.data[b->best - 1] >= interval) b->best--;
    return true;
}

static void bisect(Bisection *b)
{
    size_t low = first_possible(b, 0), step = 1;
    b->best = b->intervals.len;
    b->excluded = low;
    for (size_t next = low; low < b->intervals.len && !is_feasible_at(b, next); step *= 2) {
        low = next + 1 > b->excluded ? next + 1 : b->excluded;
        next = step < b->intervals.len - low ? low + step - 1 : b->intervals.len - 1;
    }
    while (low < b->best) {
        size_t middle = low + (b->best - low) / 2;
        if (!is_feasible_at(b, middle)) low = middle + 1 > b->excluded ? middle + 1 : b->excluded;
    }
}

DseAnswer dse_least_interval(const DseSpace *space, const DseTask *task, DseState *state)
{
    Bisection b = {.space = space,
                   .task = task,
                   .state = state,
                   .choices = ARENA_ARRAY(space->arena, Choices, space->nodes.len + 1),
                   .longest = ARENA_ARRAY(space->arena, int64_t, space->nodes.len + 1)};
    DseAnswer answer = {.status = DSE_OPTIMAL};
    if (space->nodes.len == 0) return answer;
    dse_list_intervals(space, &b.intervals);
    for (size_t n = 0; n < space->nodes.len; n++)
        list_choices(&space->nodes.data[n], &b.choices[n]);
    bisect(&b);
    for (size_t n = 0; n < space->nodes.len; n++) vec_free(&b.choices[n]);
    if (b.best == b.intervals.len) {
        answer.status = b.excluded < b.best ? DSE_FAILED : DSE_INFEASIBLE;
    } else {
        answer.status = b.excluded < b.best ? DSE_FEASIBLE : DSE_OPTIMAL;
        answer.value = b.intervals.data[b.best];
        answer.bound = b.intervals.data[b.excluded < b.best ? b.excluded : b.best];
        const Cost limits = limits_at(space, &task->limits, answer.value);
        save_resources(space, task, state, &limits, dse_equal_intervals(space, answer.value),
                       SAVING_LABELS);
    }
    vec_free(&b.intervals);
    return answer;
}

int64_t dse_value(const DseSpace *space, const DseTask *task, const uint32_t *chosen)
{
    const Cost total = dse_total(space, chosen), weights = dse_share_weights(&task->limits);
    DseCut cut;
    switch (task->objective) {
    case DSE_LATENCY: return total.cycles;
    case DSE_THROUGHPUT: return dse_interval(space, chosen);
    case DSE_FPS: return dse_measure(&total, &weights);
    case DSE_PIPELINE_LATENCY:
        cut = dse_cut(space);
        return (int64_t)ceil(dse_pipeline_latency(space, chosen, task->overlaps, &cut, NULL));
    }
    return 0;
}

DseAnswer dse_optimize(const DseSpace *space, const DseTask *task, DseState *state)
{
    switch (task->objective) {
    case DSE_LATENCY: return least_cycles(space, task, state);
    case DSE_PIPELINE_LATENCY: return dse_least_pipeline_latency(space, task, state);
    case DSE_THROUGHPUT: return dse_least_interval(space, task, state);
    case DSE_FPS:
        return save_resources(space, task, state, &task->limits,
                              dse_equal_intervals(space, task->interval), task->max_labels);
    }
    return (DseAnswer){.status = DSE_FAILED};
}
