/* Solves a problem under the limits that are active: presolve, then bounds and labels
 * (lagrangian.c), then lp_solve for what these leave open.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/choose-unroll.mir */
#include <math.h>
#include <string.h>
#include <time.h>

#include "target/dse/solve/internal.h"
#include "target/dse/solve/solve.h"

/* When lp_solve is to stop. */
typedef struct AbortLimit {
    size_t checks, max_checks; /* calls of the abort function */
    double deadline;
} AbortLimit;

/* lp_solve calls its abort function now and then; each call counts as much as so many labels. The
 * number of calls does not depend on the machine, so neither does the answer. */
enum { LABELS_PER_ABORT_CHECK = 200 };

/* Larger programs are not tried, because they take lp_solve minutes without an answer. */
enum { MAX_COLUMNS = 3000 };

static int __WINAPI must_abort(lprec *lp, void *user)
{
    AbortLimit *p = user;
    (void)lp;
    return ++p->checks > p->max_checks || (p->deadline > 0 && dse_seconds() > p->deadline);
}

/* Optimum of the linear relaxation, where configurations may be mixed: no design is below it. */
static REAL relaxed_value(DseProgram *p)
{
    for (int c = 1; c <= p->columns; c++) {
        set_int(p->lp, c, FALSE);
        set_upbo(p->lp, c, 1.0);
    }
    REAL value = solve(p->lp) == OPTIMAL ? get_objective(p->lp) : 0.0;
    return value;
}

/* False: lp_solve has none to give. */
static bool read_solution(DseProgram *p, uint32_t *chosen, int64_t *value)
{
    REAL *solution = xcalloc((size_t)p->columns, sizeof(REAL));
    bool ok = get_variables(p->lp, solution);
    for (size_t n = 0; ok && n < p->reduced->space.nodes.len; n++) {
        size_t count = p->reduced->space.nodes.data[n].configs.len;
        for (size_t c = 0; c < count; c++)
            if (p->column[n][c] && solution[p->column[n][c] - 1] > 0.5) chosen[n] = (uint32_t)c;
    }
    if (ok) *value = (int64_t)llround(get_objective(p->lp));
    free_ptr((void **)&solution);
    return ok;
}

static DseStatus status_of(int result, bool has_design)
{
    switch (result) {
    case OPTIMAL:
    case PRESOLVED: return DSE_OPTIMAL;
    case SUBOPTIMAL: return DSE_FEASIBLE;
    case INFEASIBLE: return has_design ? DSE_OPTIMAL : DSE_INFEASIBLE;
    default: return has_design ? DSE_FEASIBLE : DSE_FAILED;
    }
}

/* Solves the integer program of what the relaxation left; *value is that of the design known, if
 * there is one. */
static DseStatus solve_rest(const DseReduced *reduced, const DseProblem *problem,
                            const DseRelaxation *relaxation, DseState *state, int64_t *value)
{
    DseProgram p;
    AbortLimit abort_limit = {.max_checks = dse_max_labels(problem) / LABELS_PER_ABORT_CHECK,
                              .deadline = problem->deadline};
    DseStatus status = relaxation->has_design ? DSE_FEASIBLE : DSE_FAILED;
    if (relaxation->kept > MAX_COLUMNS) return status;
    if (dse_program(reduced, problem, relaxation->keep,
                    relaxation->has_design ? relaxation->value - 1 : -1, &p)) {
        put_abortfunc(p.lp, must_abort, &abort_limit);
        int result = solve(p.lp);
        bool is_solved = result == OPTIMAL || result == PRESOLVED || result == SUBOPTIMAL;
        if (!is_solved || read_solution(&p, state->chosen, value))
            status = status_of(result, relaxation->has_design);
        if (status == DSE_FEASIBLE) state->bound = (int64_t)ceil(relaxed_value(&p) - 0.5);
    }
    dse_program_free(&p);
    return status;
}

int64_t dse_measure(const Cost *cost, const Cost *weights)
{
    int64_t sum = 0;
    for (int k = 0; k < COST_KINDS; k++) sum += cost->items[k] * weights->items[k];
    return sum;
}

DseProblem dse_least(CostKind kind)
{
    DseProblem problem = {.max_labels = 0};
    for (int k = 0; k < COST_KINDS; k++) problem.limits.items[k] = -1;
    problem.weights.items[kind] = 1;
    return problem;
}

double dse_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* With a deadline there is no other limit: until then, all labels may be tried. */
size_t dse_max_labels(const DseProblem *problem)
{
    if (problem->deadline > 0) return SIZE_MAX;
    return problem->max_labels ? problem->max_labels : DSE_MAX_LABELS;
}

/* Whether there is anything to minimise. */
static bool has_goals(const DseReduced *reduced)
{
    for (size_t n = 0; n < reduced->space.nodes.len; n++)
        for (size_t c = 0; c < reduced->space.nodes.data[n].configs.len; c++)
            if (reduced->goal[n][c] > 0) return true;
    return false;
}

/* The state is one of the reduced space. */
static DseStatus solve_reduced(const DseReduced *reduced, const DseProblem *problem,
                               DseState *state, int64_t *value)
{
    DseRelaxation relaxation;
    DseStatus status = DSE_OPTIMAL;
    size_t nodes = reduced->space.nodes.len;
    if (nodes == 0) return DSE_OPTIMAL;
    dse_relax(reduced, problem, state->multipliers, &relaxation);
    if (!has_goals(reduced))
        memcpy(state->multipliers, relaxation.multipliers, sizeof(state->multipliers));
    if (relaxation.bound == INT64_MAX) return DSE_INFEASIBLE;
    if (relaxation.has_design)
        memcpy(state->chosen, relaxation.chosen, nodes * sizeof(*state->chosen));
    *value = relaxation.value;
    if (!relaxation.has_design || relaxation.bound < relaxation.value)
        status = solve_rest(reduced, problem, &relaxation, state, value);
    if (relaxation.is_restricted && relaxation.bound < *value && status == DSE_OPTIMAL)
        status = DSE_FEASIBLE;
    if (relaxation.is_restricted && status == DSE_INFEASIBLE) status = DSE_FAILED;
    if (status != DSE_FEASIBLE)
        state->bound = *value;
    else if (state->bound < relaxation.bound)
        state->bound = relaxation.bound;
    return status;
}

static bool found_design(DseStatus status)
{
    return status == DSE_OPTIMAL || status == DSE_FEASIBLE;
}

/* A design's weighted sum if its edges agree and it keeps the limits, else -1. */
static int64_t design_value(const DseSpace *space, const DseProblem *problem,
                            const uint32_t *chosen)
{
    int64_t sum = 0;
    Cost total = dse_total(space, chosen);
    for (size_t e = 0; e < space->edges.len; e++) {
        const DseEdge *edge = &space->edges.data[e];
        const DseNode *from = &space->nodes.data[edge->from], *to = &space->nodes.data[edge->to];
        if (from->configs.data[chosen[edge->from]].word[edge->from_port] !=
            to->configs.data[chosen[edge->to]].word[edge->to_port])
            return -1;
    }
    for (int k = 0; k < COST_KINDS; k++)
        if (problem->limits.items[k] >= 0 && total.items[k] > problem->limits.items[k]) return -1;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const Config *config = &space->nodes.data[n].configs.data[chosen[n]];
        if (problem->longest && config->interval > problem->longest[n]) return -1;
        sum += dse_measure(&config->cost, &problem->weights);
        sum += problem->extra ? problem->extra[n][chosen[n]] : 0;
    }
    return sum;
}

/* One attempt, under the active limits. Changes state->chosen if it finds a better design than the
 * known one. */
static DseStatus solve_active(const DseSpace *space, const DseProblem *problem, DseState *state,
                              int64_t *value)
{
    Arena arena;
    DseReduced reduced;
    DseStatus status = DSE_INFEASIBLE;
    arena_init(&arena);
    bool any = dse_presolve(space, problem, &arena, &reduced);
    DseState inner = dse_state(&reduced.space);
    memcpy(inner.multipliers, state->multipliers, sizeof(inner.multipliers));
    if (any) status = solve_reduced(&reduced, problem, &inner, value);
    state->bound = inner.bound;
    memcpy(state->multipliers, inner.multipliers, sizeof(inner.multipliers));
    bool is_better = found_design(status) && (problem->known < 0 || *value < problem->known);
    for (size_t n = 0; is_better && n < space->nodes.len; n++)
        state->chosen[n] = reduced.origin[n][inner.chosen[n]];
    dse_reduced_free(&reduced);
    arena_free(&arena);
    return status;
}

/* Activates the limit that the chosen design exceeds most. False: it exceeds none. */
static bool activate_exceeded(const DseSpace *space, const Cost *limits, DseState *state)
{
    Cost total = dse_total(space, state->chosen);
    double most = 0;
    int worst = 0;
    for (int k = 0; k < COST_KINDS; k++) {
        double excess =
            (double)(total.items[k] - limits->items[k]) / ((double)limits->items[k] + 1);
        if (limits->items[k] < 0 || excess <= most) continue;
        most = excess;
        worst = k;
    }
    state->is_active[worst] |= most > 0;
    return most > 0;
}

/* A limit becomes active only once a design exceeds it: the fewer are active, the more
 * configurations are dominated, and the fewer combinations differ. */
DseStatus dse_solve(const DseSpace *space, const DseProblem *problem, DseState *state,
                    int64_t *value)
{
    DseProblem now = *problem;
    DseStatus status;
    size_t bytes = space->nodes.len * sizeof(*state->chosen);
    uint32_t *before = xcalloc(space->nodes.len + 1, sizeof(*before));
    memcpy(before, state->chosen, bytes);
    now.known = design_value(space, problem, state->chosen);
    do {
        for (int k = 0; k < COST_KINDS; k++)
            now.limits.items[k] = state->is_active[k] ? problem->limits.items[k] : -1;
        memcpy(state->chosen, before, bytes);
        *value = state->bound = 0;
        status = solve_active(space, &now, state, value);
    } while (found_design(status) && activate_exceeded(space, &problem->limits, state));
    if (!found_design(status)) memcpy(state->chosen, before, bytes);
    free_ptr((void **)&before);
    return status;
}
