/* Goals one after the other: the weight of each edge is that for the goals before, times more than the
 * present goal can amount to, plus that for the present one. The greatest utilization is found by
 * bisection with limits that fall.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include "target/partition/search/internal.h"

int64_t partition_run_sets(Solver *solver, int64_t upper, bool rises)
{
    int64_t least = INT64_MAX;
    Search *s = &solver->search;
    size_t ways = solver->masks.len / s->state.units.count;
    size_t count = ways > 0 ? ways : solver->sets.len;
    for (size_t i = 0; i < count && !(s->stops && s->is_found); i++) {
        if (ways > 0) partition_take_way(solver, i);
        Outcome outcome = partition_run(s, solver->sets.data[ways > 0 ? 0 : i], upper, rises);
        if (s->is_found) upper = solver->weight = s->upper + 1;
        if (s->is_found) upper--;
        solver->is_over |= outcome.is_over;
        least = i64_min(least, outcome.bound);
        /* A set whose search was cut short counts with its bound; one that was done, with what it
         * found. */
        if (s->is_found && !outcome.is_over) least = i64_min(least, solver->weight);
    }
    return least;
}

bool partition_add_goal(Solver *solver, uint32_t goal)
{
    const PartitionModel *model = solver->model;
    int64_t factor = solver->out->is_placed ? solver->out->values[goal] + 1 : 1;
    size_t edges = model->edges.len;
    double sum = 0;
    for (size_t i = 0; i < model->platform->links.len * edges; i++)
        sum += (double)solver->search.weights[i] * (double)factor +
               (double)partition_goal_weight(solver->options->goals[goal],
                                             &model->platform->links.data[i / edges],
                                             &model->edges.data[i % edges]);
    if (sum > (double)MOST_WEIGHT) return false;
    for (size_t i = 0; i < model->platform->links.len * edges; i++)
        solver->search.weights[i] = solver->search.weights[i] * factor +
                                    partition_goal_weight(solver->options->goals[goal],
                                                          &model->platform->links.data[i / edges],
                                                          &model->edges.data[i % edges]);
    solver->weight =
        solver->weight * factor + (solver->out->is_placed ? solver->out->values[goal] : 0);
    return true;
}

/* Improves a goal that is a sum over edges. */
static void solve_sum(Solver *solver, uint32_t goal)
{
    PartitionPlacement *out = solver->out;
    if (!partition_add_goal(solver, goal)) solver->is_over = true;
    if (solver->is_over) return;
    int64_t base = solver->weight - out->values[goal];
    solver->search.is_tight = solver->search.by_cuts;
    solver->search.known = base;
    int64_t bound = partition_run_sets(solver, solver->weight - 1, true);
    partition_values(solver->model, solver->options, out);
    out->bounds[goal] =
        solver->is_over ? i64_max(0, i64_min(bound, solver->weight) - base) : out->values[goal];
}

/* The least greatest share by bisection; placements keep the weight. */
static void solve_utilization(Solver *solver, uint32_t goal)
{
    PartitionPlacement *out = solver->out;
    int64_t low = 0;
    solver->search.stops = true;
    solver->search.is_tight = solver->search.by_cuts;
    solver->search.known = solver->weight;
    while (low < out->values[goal] && !solver->is_over) {
        int64_t middle = low + (out->values[goal] - low) / 2, weight = solver->weight;
        partition_state_limit(&solver->search.state, middle);
        solver->search.is_found = false;
        (void)partition_run_sets(solver, weight, false);
        solver->weight = weight;
        solver->is_over &= !solver->search.is_found;
        if (solver->search.is_found)
            partition_values(solver->model, solver->options, out);
        else if (!solver->is_over)
            low = middle + 1;
    }
    out->bounds[goal] = low;
}

/* Finds a placement that is best in the first sum, if any. Gives the bound of it. */
static int64_t solve_first(Solver *solver, uint32_t goal)
{
    if (goal < solver->options->goal_count && !partition_add_goal(solver, goal))
        solver->is_over = true;
    int64_t bound = solver->is_over ? 0 : partition_run_sets(solver, MOST_WEIGHT, true);
    if (solver->out->is_placed) partition_values(solver->model, solver->options, solver->out);
    return bound;
}

bool partition_is_sum(const PartitionOptions *options, uint32_t goal)
{
    return goal < options->goal_count && options->goals[goal] != PARTITION_CARDS &&
           options->goals[goal] != PARTITION_UTILIZATION;
}
/* Leaves the sets that may hold all. */
static void keep_sets(Solver *solver)
{
    size_t kept = 0;
    PartitionState *state = &solver->search.state;
    for (size_t i = 0; i < solver->sets.len; i++) {
        state->used = solver->sets.data[i];
        partition_state_reserve(state, solver->sets.data[i]);
        if (partition_fits_pooled(state, solver->sets.data[i]))
            solver->sets.data[kept++] = solver->sets.data[i];
    }
    solver->sets.len = kept;
}

void partition_solve_rest(Solver *solver, uint32_t goal)
{
    for (; goal < solver->options->goal_count && !solver->is_over; goal++) {
        if (partition_is_sum(solver->options, goal))
            solve_sum(solver, goal);
        else
            solve_utilization(solver, goal);
    }
}

void partition_solve_sets(Solver *solver)
{
    const PartitionOptions *options = solver->options;
    PartitionPlacement *out = solver->out;
    uint32_t goal = options->goal_count > 0 && options->goals[0] == PARTITION_CARDS;
    bool has_sum = partition_is_sum(options, goal);
    size_t weights = solver->model->platform->links.len * solver->model->edges.len;
    keep_sets(solver);
    solver->weight = 0;
    solver->search.known = 0;
    solver->search.is_tight = solver->search.stops = false;
    if (partition_solve_by_cards(solver, goal)) return;
    for (size_t i = 0; i < weights; i++) solver->search.weights[i] = 0;
    solver->is_over = false;
    int64_t bound = solve_first(solver, has_sum ? goal : options->goal_count);
    if (has_sum && bound < INT64_MAX)
        out->bounds[goal] = solver->is_over ? bound : out->values[goal];
    if (out->is_placed) partition_solve_rest(solver, goal + has_sum);
}
