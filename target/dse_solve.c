/* MING Eq. 1 as a 0-1 program for lp_solve: one variable per configuration that the bounds of
 * dse_prune.c leave, one configuration per process or converter; for every edge and word, as many ends
 * of that word at one side as at the other (the stream constraint); budgets; the goal, better than the
 * best design that the bounds came across.
 * Tests: test/unit/dse_test.c, lit/target/choose-unroll.mir */
#include "target/dse_labels.h"
#include "target/dse_prune.h"
#include "target/dse_reduce.h"

#include <assert.h>
#include <lpsolve/lp_lib.h>
#include <math.h>
#include <time.h>

/* lp_solve may ask once per so many labels of effort whether to go on before the best design so far is
 * taken. The count does not depend on the machine, so neither does the answer. */
enum { LABELS_PER_QUESTION = 200 };

/* Larger programs are not tried: they take lp_solve minutes, without an answer. */
enum { MAX_COLUMNS = 3000 };

typedef struct Program {
    DseSpace *space;
    size_t effort, max_effort;
    double deadline;
    lprec *lp;
    int **column;  /* of each node's configurations, from 1; 0: left out */
    int columns;
    int *index;    /* scratch row */
    REAL *value;
    int used;
} Program;

static void clear_row(Program *p) { p->used = 0; }

static void add_term(Program *p, int column, int64_t coefficient)
{
    if (column == 0)
        return;
    p->index[p->used] = column;
    p->value[p->used++] = (REAL)coefficient;
}

static bool end_row(Program *p, int type, int64_t right)
{
    return add_constraintex(p->lp, p->used, p->value, p->index, type, (REAL)right);
}

/* Terms of the sum over all chosen configurations: of their goals, or of a kind of cost. */
static void add_goals(Program *p)
{
    clear_row(p);
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        const DseNode *node = &p->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->column[n][c], node->configs.data[c].goal);
    }
}

static void add_costs(Program *p, CostKind kind)
{
    clear_row(p);
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        const DseNode *node = &p->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->column[n][c], node->configs.data[c].cost.items[kind]);
    }
}

static bool one_config_each(Program *p)
{
    bool ok = true;
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        clear_row(p);
        for (size_t c = 0; c < p->space->nodes.data[n].configs.len; c++)
            add_term(p, p->column[n][c], 1);
        ok &= end_row(p, EQ, 1);
    }
    return ok;
}

static void add_ends(Program *p, uint32_t node_index, uint32_t port, int64_t factor, int sign)
{
    const DseNode *node = &p->space->nodes.data[node_index];
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].factor[port] == factor)
            add_term(p, p->column[node_index][c], sign);
}

/* Whether one of a node's first `before` configurations has the word at the port. */
static bool has_word(const Program *p, uint32_t node_index, uint32_t port, int64_t word, size_t before)
{
    const DseNode *node = &p->space->nodes.data[node_index];
    for (size_t c = 0; c < before; c++)
        if (p->column[node_index][c] && node->configs.data[c].factor[port] == word)
            return true;
    return false;
}

/* A row per word of one end; words that only the other end has must not be chosen there. */
static bool equal_words(Program *p, const DseEdge *edge, bool of_reader)
{
    bool ok = true;
    uint32_t end = of_reader ? edge->to : edge->from, port = of_reader ? edge->to_port : edge->from_port;
    const DseNode *node = &p->space->nodes.data[end];
    const DseNode *sender = &p->space->nodes.data[edge->from];
    for (size_t c = 0; c < node->configs.len; c++) {
        int64_t word = node->configs.data[c].factor[port];
        if (!p->column[end][c] || has_word(p, end, port, word, c) ||
            (of_reader && has_word(p, edge->from, edge->from_port, word, sender->configs.len)))
            continue;
        clear_row(p);
        add_ends(p, edge->from, edge->from_port, word, 1);
        add_ends(p, edge->to, edge->to_port, word, -1);
        ok &= end_row(p, EQ, 0);
    }
    return ok;
}

static bool within_limits(Program *p, const Cost *limits)
{
    bool ok = true;
    for (CostKind k = 0; k < COST_KINDS; k++) {
        if (limits->items[k] < 0)
            continue;
        add_costs(p, k);
        ok &= end_row(p, LE, limits->items[k]);
    }
    return ok;
}

/* most: of the goal, the value that a better design may have; < 0: any. */
static bool build_program(Program *p, const DseProblem *problem, int64_t most)
{
    bool ok = set_add_rowmode(p->lp, TRUE);
    add_goals(p);
    ok &= set_obj_fnex(p->lp, p->used, p->value, p->index);
    ok &= one_config_each(p);
    for (size_t e = 0; e < p->space->edges.len; e++)
        ok &= equal_words(p, &p->space->edges.data[e], false) &&
              equal_words(p, &p->space->edges.data[e], true);
    ok &= within_limits(p, &problem->limits);
    add_goals(p);
    ok &= most < 0 || end_row(p, LE, most);
    ok &= set_add_rowmode(p->lp, FALSE);
    for (int c = 1; c <= p->columns; c++)
        ok &= set_binary(p->lp, c, TRUE);
    set_minim(p->lp);
    set_verbose(p->lp, NEUTRAL);
    return ok;
}

static int __WINAPI is_tired(lprec *lp, void *user)
{
    Program *p = user;
    (void)lp;
    return ++p->effort > p->max_effort || (p->deadline > 0 && dse_seconds() > p->deadline);
}

/* Least value of the goal when configurations may be mixed: no design is below it. */
static REAL relaxed_value(Program *p)
{
    for (int c = 1; c <= p->columns; c++) {
        set_int(p->lp, c, FALSE);
        set_upbo(p->lp, c, 1.0);
    }
    REAL value = solve(p->lp) == OPTIMAL ? get_objective(p->lp) : 0.0;
    return value;
}

static void read_solution(Program *p, int64_t *value)
{
    REAL *solution = xcalloc((size_t)p->columns, sizeof(REAL));
    bool ok = get_variables(p->lp, solution);
    assert(ok);
    (void)ok;
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        DseNode *node = &p->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            if (p->column[n][c] && solution[p->column[n][c] - 1] > 0.5)
                node->chosen = (uint32_t)c;
    }
    *value = (int64_t)llround(get_objective(p->lp));
    free_ptr((void **)&solution);
}

static void number_columns(Program *p, const DsePruned *pruned)
{
    size_t nodes = p->space->nodes.len;
    p->column = ARENA_ARRAY(p->space->arena, int *, nodes);
    for (size_t n = 0; n < nodes; n++) {
        size_t count = p->space->nodes.data[n].configs.len;
        p->column[n] = ARENA_ARRAY(p->space->arena, int, count);
        for (size_t c = 0; c < count; c++)
            p->column[n][c] = pruned->keep[n][c] ? ++p->columns : 0;
    }
    p->index = ARENA_ARRAY(p->space->arena, int, p->columns + 1);
    p->value = ARENA_ARRAY(p->space->arena, REAL, p->columns + 1);
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
    Program p = {.space = space, .max_effort = dse_effort(problem) / LABELS_PER_QUESTION,
                 .deadline = problem->deadline};
    DseStatus status = pruned->has_design ? DSE_FEASIBLE : DSE_FAILED;
    number_columns(&p, pruned);
    if (p.columns > MAX_COLUMNS)
        return status;
    p.lp = make_lp(0, p.columns);
    if (p.lp && build_program(&p, problem, pruned->has_design ? pruned->value - 1 : -1)) {
        put_abortfunc(p.lp, is_tired, &p);
        int result = solve(p.lp);
        status = status_of(result, pruned->has_design);
        if (result == OPTIMAL || result == PRESOLVED || result == SUBOPTIMAL)
            read_solution(&p, value);
        if (status == DSE_FEASIBLE)
            space->bound = (int64_t)ceil(relaxed_value(&p) - 0.5);
    }
    if (p.lp)
        delete_lp(p.lp);
    return status;
}

/* --- solving ------------------------------------------------------------------------------------- */

int64_t dse_measure(const Cost *cost, const Cost *weights)
{
    int64_t sum = 0;
    for (int k = 0; k < COST_KINDS; k++)
        sum += cost->items[k] * weights->items[k];
    return sum;
}

DseProblem dse_least(CostKind kind)
{
    DseProblem problem = {.effort = 0};
    for (int k = 0; k < COST_KINDS; k++)
        problem.limits.items[k] = -1;
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
    if (problem->deadline > 0)
        return SIZE_MAX;
    return problem->effort ? problem->effort : DSE_MOST_LABELS;
}

static DseStatus solve_reduced(DseSpace *space, const DseProblem *problem, int64_t *value)
{
    DsePruned pruned;
    DseStatus status = DSE_OPTIMAL;
    dse_prune(space, problem, &pruned);
    if (pruned.bound == INT64_MAX)
        return DSE_INFEASIBLE;
    for (size_t n = 0; pruned.has_design && n < space->nodes.len; n++)
        space->nodes.data[n].chosen = pruned.chosen[n];
    *value = pruned.value;
    if (!pruned.has_design || pruned.bound < pruned.value)
        status = solve_rest(space, problem, &pruned, value);
    if (pruned.is_thinned && pruned.bound < *value && status == DSE_OPTIMAL)
        status = DSE_FEASIBLE;
    if (pruned.is_thinned && status == DSE_INFEASIBLE)
        status = DSE_FAILED;
    if (status != DSE_FEASIBLE)
        space->bound = *value;
    else if (space->bound < pruned.bound)
        space->bound = pruned.bound;
    return status;
}

DseStatus dse_solve(DseSpace *space, const DseProblem *problem, int64_t *value)
{
    Arena arena;
    DseSpace reduced;
    DseProblem rest = *problem;
    DseStatus status = DSE_INFEASIBLE;
    *value = space->bound = 0;
    if (space->nodes.len == 0)
        return DSE_OPTIMAL;
    arena_init(&arena);
    if (dse_reduce(space, problem, false, &arena, &reduced, &rest.limits))
        status = solve_reduced(&reduced, &rest, value);
    space->bound = reduced.bound;
    for (size_t n = 0; (status == DSE_OPTIMAL || status == DSE_FEASIBLE) && n < space->nodes.len; n++) {
        const DseNode *node = &reduced.nodes.data[n];
        space->nodes.data[n].chosen = node->configs.data[node->chosen].origin;
    }
    dse_free(&reduced);
    arena_free(&arena);
    return status;
}
