/* Solves a problem: reduced to the limits that count, by bounds and labels (dse_prune.c), then what
 * these leave open by lp_solve.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/choose-unroll.mir */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "target/dse/solve/internal.h"
#include "target/dse/solve/solve.h"

/* What lp_solve may still do. */
typedef struct Patience {
    size_t effort, max_effort;
    double deadline;
} Patience;

/* lp_solve may ask once per so many labels of effort whether to go on before the best design so far
 * is taken. The count does not depend on the machine, so neither does the answer. */
enum { LABELS_PER_QUESTION = 200 };

/* Larger programs are not tried: they take lp_solve minutes, without an answer. */
enum { MAX_COLUMNS = 3000 };

static int __WINAPI is_tired(lprec *lp, void *user)
{
    Patience *p = user;
    (void)lp;
    return ++p->effort > p->max_effort || (p->deadline > 0 && dse_seconds() > p->deadline);
}

/* Least value of the goal when configurations may be mixed: no design is below it. */
static REAL relaxed_value(DseProgram *p)
{
    for (int c = 1; c <= p->columns; c++) {
        set_int(p->lp, c, FALSE);
        set_upbo(p->lp, c, 1.0);
    }
    REAL value = solve(p->lp) == OPTIMAL ? get_objective(p->lp) : 0.0;
    return value;
}

static void read_solution(DseProgram *p, DseSpace *space, int64_t *value)
{
    REAL *solution = xcalloc((size_t)p->columns, sizeof(REAL));
    bool ok = get_variables(p->lp, solution);
    assert(ok);
    (void)ok;
    for (size_t n = 0; n < space->nodes.len; n++) {
        DseNode *node = &space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            if (p->column[n][c] && solution[p->column[n][c] - 1] > 0.5) node->chosen = (uint32_t)c;
    }
    *value = (int64_t)llround(get_objective(p->lp));
    free_ptr((void **)&solution);
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

/* The program of what the bounds left; *value is that of the design known, if there is one. */
static DseStatus solve_rest(DseSpace *space, const DseProblem *problem, const DsePruned *pruned,
                            int64_t *value)
{
    DseProgram p;
    Patience patience = {.max_effort = dse_effort(problem) / LABELS_PER_QUESTION,
                         .deadline = problem->deadline};
    DseStatus status = pruned->has_design ? DSE_FEASIBLE : DSE_FAILED;
    if (pruned->kept > MAX_COLUMNS) return status;
    if (dse_program(space, problem, pruned->keep, pruned->has_design ? pruned->value - 1 : -1,
                    &p)) {
        put_abortfunc(p.lp, is_tired, &patience);
        int result = solve(p.lp);
        status = status_of(result, pruned->has_design);
        if (result == OPTIMAL || result == PRESOLVED || result == SUBOPTIMAL)
            read_solution(&p, space, value);
        if (status == DSE_FEASIBLE) space->bound = (int64_t)ceil(relaxed_value(&p) - 0.5);
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
    DseProblem problem = {.effort = 0};
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

/* A deadline counts alone: until then, all may be tried. */
size_t dse_effort(const DseProblem *problem)
{
    if (problem->deadline > 0) return SIZE_MAX;
    return problem->effort ? problem->effort : DSE_MOST_LABELS;
}

/* Whether designs differ in what the problem adds up. */
static bool adds_up(const DseSpace *space)
{
    for (size_t n = 0; n < space->nodes.len; n++)
        for (size_t c = 0; c < space->nodes.data[n].configs.len; c++)
            if (space->nodes.data[n].configs.data[c].goal > 0) return true;
    return false;
}

static DseStatus solve_reduced(DseSpace *space, const DseProblem *problem, int64_t *value)
{
    DsePruned pruned;
    DseStatus status = DSE_OPTIMAL;
    if (space->nodes.len == 0) return DSE_OPTIMAL;
    dse_prune(space, problem, &pruned);
    if (!adds_up(space)) memcpy(space->prices, pruned.prices, sizeof(space->prices));
    if (pruned.bound == INT64_MAX) return DSE_INFEASIBLE;
    for (size_t n = 0; pruned.has_design && n < space->nodes.len; n++)
        space->nodes.data[n].chosen = pruned.chosen[n];
    *value = pruned.value;
    if (!pruned.has_design || pruned.bound < pruned.value)
        status = solve_rest(space, problem, &pruned, value);
    if (pruned.is_thinned && pruned.bound < *value && status == DSE_OPTIMAL) status = DSE_FEASIBLE;
    if (pruned.is_thinned && status == DSE_INFEASIBLE) status = DSE_FAILED;
    if (status != DSE_FEASIBLE)
        space->bound = *value;
    else if (space->bound < pruned.bound)
        space->bound = pruned.bound;
    return status;
}

/* The chosen design's weighted sum if the edges agree and the limits are kept, else -1. */
static int64_t chosen_value(const DseSpace *space, const DseProblem *problem)
{
    int64_t sum = 0;
    Cost total = dse_total(space);
    for (size_t e = 0; e < space->edges.len; e++) {
        const DseEdge *edge = &space->edges.data[e];
        const DseNode *from = &space->nodes.data[edge->from], *to = &space->nodes.data[edge->to];
        if (from->configs.data[from->chosen].factor[edge->from_port] !=
            to->configs.data[to->chosen].factor[edge->to_port])
            return -1;
    }
    for (int k = 0; k < COST_KINDS; k++)
        if (problem->limits.items[k] >= 0 && total.items[k] > problem->limits.items[k]) return -1;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        const Config *config = &node->configs.data[node->chosen];
        if (problem->longest && config->interval > problem->longest[n]) return -1;
        sum += dse_measure(&config->cost, &problem->weights);
        sum += problem->extra ? problem->extra[n][node->chosen] : 0;
    }
    return sum;
}

/* One try, with the limits that count. Changes the space's choices if it finds a better design than
 * the known one. */
static DseStatus solve_under(DseSpace *space, const DseProblem *problem, int64_t *value)
{
    Arena arena;
    DseSpace reduced;
    DseProblem rest = *problem;
    DseStatus status = DSE_INFEASIBLE;
    arena_init(&arena);
    bool any = dse_reduce(space, problem, &arena, &reduced, &rest.limits);
    memcpy(reduced.prices, space->prices, sizeof(space->prices));
    if (any) status = solve_reduced(&reduced, &rest, value);
    space->bound = reduced.bound;
    memcpy(space->prices, reduced.prices, sizeof(space->prices));
    bool is_better = dse_found_design(status) && (problem->known < 0 || *value < problem->known);
    for (size_t n = 0; is_better && n < space->nodes.len; n++) {
        const DseNode *node = &reduced.nodes.data[n];
        space->nodes.data[n].chosen = node->configs.data[node->chosen].origin;
    }
    dse_free(&reduced);
    arena_free(&arena);
    return status;
}

/* Makes the limit count that the chosen design exceeds most. False: it exceeds none. */
static bool add_exceeded(DseSpace *space, const Cost *limits)
{
    Cost total = dse_total(space);
    double most = 0;
    int worst = 0;
    for (int k = 0; k < COST_KINDS; k++) {
        double excess =
            (double)(total.items[k] - limits->items[k]) / ((double)limits->items[k] + 1);
        if (limits->items[k] < 0 || excess <= most) continue;
        most = excess;
        worst = k;
    }
    space->counts[worst] |= most > 0;
    return most > 0;
}

static void choose_all(DseSpace *space, const uint32_t *chosen)
{
    for (size_t n = 0; n < space->nodes.len; n++) space->nodes.data[n].chosen = chosen[n];
}

/* Limits count only once a design exceeds them: the fewer count, the more configurations can stand
 * for others, and the fewer combinations differ. */
DseStatus dse_solve(DseSpace *space, const DseProblem *problem, int64_t *value)
{
    DseProblem now = *problem;
    DseStatus status;
    uint32_t *before = xcalloc(space->nodes.len + 1, sizeof(*before));
    for (size_t n = 0; n < space->nodes.len; n++) before[n] = space->nodes.data[n].chosen;
    now.known = chosen_value(space, problem);
    do {
        for (int k = 0; k < COST_KINDS; k++)
            now.limits.items[k] = space->counts[k] ? problem->limits.items[k] : -1;
        choose_all(space, before);
        *value = space->bound = 0;
        status = solve_under(space, &now, value);
    } while (dse_found_design(status) && add_exceeded(space, &problem->limits));
    if (!dse_found_design(status)) choose_all(space, before);
    free_ptr((void **)&before);
    return status;
}
