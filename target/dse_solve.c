/* MING Eq. 1 as a 0-1 program for lp_solve: one variable per configuration, one configuration per
 * process; for every channel and word size, as many ends of that size at the source as at the
 * destination (the stream constraint); budgets; the goal.
 * Tests: test/unit/dse_test.c, lit/target/choose-unroll.mir */
#include "target/dse.h"

#include <assert.h>
#include <lpsolve/lp_lib.h>
#include <math.h>

/* How often lp_solve may ask whether to go on before the best design so far is taken: for the goal
 * that matters, and for saving resources at that goal. The count does not depend on the machine, so
 * neither does the answer. */
enum { MAX_EFFORT = 100000, SAVING_EFFORT = 10000 };

typedef struct Program {
    DseSpace *space;
    int effort, max_effort;
    lprec *lp;
    int *first;    /* column of each node's first configuration (from 1) */
    int columns;
    int *index;    /* scratch row */
    REAL *value;
    int used;
} Program;

static void clear_row(Program *p) { p->used = 0; }

static void add_term(Program *p, int column, int64_t coefficient)
{
    p->index[p->used] = column;
    p->value[p->used++] = (REAL)coefficient;
}

static bool end_row(Program *p, int type, int64_t right)
{
    return add_constraintex(p->lp, p->used, p->value, p->index, type, (REAL)right);
}

static int64_t measure(const Cost *cost, DseGoal goal)
{
    switch (goal) {
    case DSE_MIN_CYCLES: return cost->cycles;
    case DSE_MIN_DSP: return cost->dsp;
    case DSE_MIN_BRAM: return cost->bram18;
    case DSE_MIN_RESOURCES: return cost->dsp + cost->bram18;
    }
    return 0;
}

/* Terms of a sum of costs over all chosen configurations. */
static void add_costs(Program *p, DseGoal goal)
{
    clear_row(p);
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        const DseNode *node = &p->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->first[n] + (int)c, measure(&node->configs.data[c].cost, goal));
    }
}

static bool one_config_each(Program *p)
{
    bool ok = true;
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        clear_row(p);
        for (size_t c = 0; c < p->space->nodes.data[n].configs.len; c++)
            add_term(p, p->first[n] + (int)c, 1);
        ok &= end_row(p, EQ, 1);
    }
    return ok;
}

static void add_ends(Program *p, uint32_t node_index, uint32_t port, int64_t factor, int sign)
{
    const DseNode *node = &p->space->nodes.data[node_index];
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].factor[port] == factor)
            add_term(p, p->first[node_index] + (int)c, sign);
}

static bool first_of_factor(const DseNode *node, uint32_t port, size_t config)
{
    for (size_t c = 0; c < config; c++)
        if (node->configs.data[c].factor[port] == node->configs.data[config].factor[port])
            return false;
    return true;
}

/* Sizes that only the other end offers must not be chosen there. */
static bool equal_words(Program *p, const DseEdge *edge)
{
    bool ok = true;
    const DseNode *from = &p->space->nodes.data[edge->from];
    const DseNode *to = &p->space->nodes.data[edge->to];
    for (size_t c = 0; c < from->configs.len; c++) {
        if (!first_of_factor(from, edge->from_port, c))
            continue;
        int64_t factor = from->configs.data[c].factor[edge->from_port];
        clear_row(p);
        add_ends(p, edge->from, edge->from_port, factor, 1);
        add_ends(p, edge->to, edge->to_port, factor, -1);
        ok &= end_row(p, EQ, 0);
    }
    for (size_t c = 0; c < to->configs.len; c++) {
        if (!first_of_factor(to, edge->to_port, c))
            continue;
        int64_t factor = to->configs.data[c].factor[edge->to_port];
        bool offered = false;
        for (size_t f = 0; f < from->configs.len; f++)
            offered |= from->configs.data[f].factor[edge->from_port] == factor;
        if (offered)
            continue;
        clear_row(p);
        add_ends(p, edge->to, edge->to_port, factor, 1);
        ok &= end_row(p, EQ, 0);
    }
    return ok;
}

static bool within(Program *p, DseGoal what, int64_t limit)
{
    if (limit < 0)
        return true;
    add_costs(p, what);
    return end_row(p, LE, limit);
}

static bool build_program(Program *p, DseGoal goal, const DseLimits *limits)
{
    bool ok = set_add_rowmode(p->lp, TRUE);
    add_costs(p, goal);
    ok &= set_obj_fnex(p->lp, p->used, p->value, p->index);
    ok &= one_config_each(p);
    for (size_t e = 0; e < p->space->edges.len; e++)
        ok &= equal_words(p, &p->space->edges.data[e]);
    ok &= within(p, DSE_MIN_CYCLES, limits->cycles) && within(p, DSE_MIN_DSP, limits->dsp) &&
          within(p, DSE_MIN_BRAM, limits->bram18);
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
    return ++p->effort > p->max_effort;
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
            if (solution[p->first[n] - 1 + (int)c] > 0.5)
                node->chosen = (uint32_t)c;
    }
    *value = (int64_t)llround(get_objective(p->lp));
    free_ptr((void **)&solution);
}

DseStatus dse_solve(DseSpace *space, DseGoal goal, const DseLimits *limits, int64_t *value)
{
    Program p = {.space = space,
                 .max_effort = goal == DSE_MIN_RESOURCES ? SAVING_EFFORT : MAX_EFFORT};
    DseStatus status = DSE_FAILED;
    *value = space->bound = 0;
    if (space->nodes.len == 0)
        return DSE_OPTIMAL;
    p.first = xcalloc(space->nodes.len + 1, sizeof(int));
    for (size_t n = 0; n < space->nodes.len; n++) {
        p.first[n] = p.columns + 1;
        p.columns += (int)space->nodes.data[n].configs.len;
    }
    p.index = xcalloc((size_t)p.columns + 1, sizeof(int));
    p.value = xcalloc((size_t)p.columns + 1, sizeof(REAL));
    p.lp = make_lp(0, p.columns);
    if (p.lp && build_program(&p, goal, limits)) {
        put_abortfunc(p.lp, is_tired, &p);
        int result = solve(p.lp);
        status = result == OPTIMAL || result == PRESOLVED ? DSE_OPTIMAL
                 : result == SUBOPTIMAL                   ? DSE_FEASIBLE
                 : result == INFEASIBLE                   ? DSE_INFEASIBLE
                                                          : DSE_FAILED;
        if (status == DSE_OPTIMAL || status == DSE_FEASIBLE)
            read_solution(&p, value);
        space->bound = status == DSE_FEASIBLE ? (int64_t)ceil(relaxed_value(&p) - 0.5) : *value;
    }
    if (p.lp)
        delete_lp(p.lp);
    free_ptr((void **)&p.first);
    free_ptr((void **)&p.index);
    free_ptr((void **)&p.value);
    return status;
}
