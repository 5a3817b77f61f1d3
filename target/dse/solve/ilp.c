/* The integer program of a problem, built row by row, which lp_solve's row mode makes fast.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/dump-lp.mir */
#include "target/dse/solve/internal.h"
#include "target/dse/solve/solve.h"

static void number_columns(DseProgram *p, bool *const *keep)
{
    size_t nodes = p->reduced->space.nodes.len;
    p->column = ARENA_ARRAY(p->reduced->space.arena, int *, nodes);
    for (size_t n = 0; n < nodes; n++) {
        size_t count = p->reduced->space.nodes.data[n].configs.len;
        p->column[n] = ARENA_ARRAY(p->reduced->space.arena, int, count);
        for (size_t c = 0; c < count; c++) p->column[n][c] = !keep || keep[n][c] ? ++p->columns : 0;
    }
    p->index = ARENA_ARRAY(p->reduced->space.arena, int, p->columns + 2);
    p->value = ARENA_ARRAY(p->reduced->space.arena, REAL, p->columns + 2);
}

static void clear_row(DseProgram *p)
{
    p->used = 0;
}

static void add_term(DseProgram *p, int column, int64_t coefficient)
{
    if (column == 0) return;
    p->index[p->used] = column;
    p->value[p->used++] = (REAL)coefficient;
}

static bool end_row(DseProgram *p, int type, int64_t right)
{
    return add_constraintex(p->lp, p->used, p->value, p->index, type, (REAL)right);
}

/* Terms of the sum over all chosen configurations: of their goals, or of a kind of cost. */
static void add_goals(DseProgram *p)
{
    clear_row(p);
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        const DseNode *node = &p->reduced->space.nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->column[n][c], p->reduced->goal[n][c]);
    }
}

static void add_costs(DseProgram *p, CostKind kind)
{
    clear_row(p);
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        const DseNode *node = &p->reduced->space.nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->column[n][c], node->configs.data[c].cost.items[kind]);
    }
}

static bool one_config_each(DseProgram *p)
{
    bool ok = true;
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        clear_row(p);
        for (size_t c = 0; c < p->reduced->space.nodes.data[n].configs.len; c++)
            add_term(p, p->column[n][c], 1);
        ok &= end_row(p, EQ, 1);
    }
    return ok;
}

static void add_ends(DseProgram *p, uint32_t node_index, uint32_t port, int64_t word, int sign)
{
    const DseNode *node = &p->reduced->space.nodes.data[node_index];
    for (size_t c = 0; c < node->configs.len; c++)
        if (node->configs.data[c].word[port] == word) add_term(p, p->column[node_index][c], sign);
}

/* Whether one of a node's first `before` configurations has the word at the port. */
static bool has_word(const DseProgram *p, uint32_t node_index, uint32_t port, int64_t word,
                     size_t before)
{
    const DseNode *node = &p->reduced->space.nodes.data[node_index];
    for (size_t c = 0; c < before; c++)
        if (p->column[node_index][c] && node->configs.data[c].word[port] == word) return true;
    return false;
}

/* A row per word of one end; words that only the other end has must not be chosen there. */
static bool equal_words(DseProgram *p, const DseEdge *edge, bool of_reader)
{
    bool ok = true;
    uint32_t end = of_reader ? edge->to : edge->from,
             port = of_reader ? edge->to_port : edge->from_port;
    const DseNode *node = &p->reduced->space.nodes.data[end];
    const DseNode *sender = &p->reduced->space.nodes.data[edge->from];
    for (size_t c = 0; c < node->configs.len; c++) {
        int64_t word = node->configs.data[c].word[port];
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

static bool within_limits(DseProgram *p, const Cost *limits)
{
    bool ok = true;
    for (CostKind k = 0; k < COST_KINDS; k++) {
        if (limits->items[k] < 0) continue;
        add_costs(p, k);
        ok &= end_row(p, LE, limits->items[k]);
    }
    return ok;
}

/* S, the last column, is no shorter than the interval of any node. */
static bool limit_intervals(DseProgram *p)
{
    bool ok = true;
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        const DseNode *node = &p->reduced->space.nodes.data[n];
        clear_row(p);
        for (size_t c = 0; c < node->configs.len; c++)
            add_term(p, p->column[n][c], node->configs.data[c].interval);
        add_term(p, p->columns + 1, -1);
        ok &= end_row(p, LE, 0);
    }
    return ok;
}

static bool minimise(DseProgram *p, bool longest)
{
    clear_row(p);
    if (longest)
        add_term(p, p->columns + 1, 1);
    else
        add_goals(p);
    set_minim(p->lp);
    return set_obj_fnex(p->lp, p->used, p->value, p->index);
}

bool dse_program(const DseReduced *reduced, const DseProblem *problem, bool *const *keep,
                 int64_t most, DseProgram *out)
{
    bool longest = problem->keeps_intervals;
    const DseSpace *space = &reduced->space;
    *out = (DseProgram){.reduced = reduced};
    number_columns(out, keep);
    out->lp = make_lp(0, out->columns + longest);
    if (!out->lp) return false;
    set_verbose(out->lp, NEUTRAL);
    bool ok = set_add_rowmode(out->lp, TRUE) && minimise(out, longest) && one_config_each(out);
    for (size_t e = 0; e < space->edges.len; e++)
        ok &= equal_words(out, &space->edges.data[e], false) &&
              equal_words(out, &space->edges.data[e], true);
    ok &= within_limits(out, &reduced->limits) && (!longest || limit_intervals(out));
    add_goals(out);
    ok &= most < 0 || end_row(out, LE, most);
    ok &= set_add_rowmode(out->lp, FALSE);
    for (int c = 1; c <= out->columns; c++) ok &= set_binary(out->lp, c, TRUE);
    return ok;
}

void dse_program_free(DseProgram *program)
{
    if (program->lp) delete_lp(program->lp);
    program->lp = NULL;
}

/* lp_solve wants names that it could change, so the path is copied. */
static bool write_program(lprec *lp, const char *path)
{
    StrBuf name = {0};
    strbuf_add_c(&name, path);
    bool is_mps = str_ends_with(strbuf_str(&name), ".mps");
    bool ok = is_mps ? write_mps(lp, name.data) : write_lp(lp, name.data);
    strbuf_free(&name);
    return ok;
}

bool dse_dump(const DseSpace *space, const DseProblem *problem, const char *path)
{
    Arena arena;
    DseReduced reduced;
    DseProgram program = {.lp = NULL};
    arena_init(&arena);
    (void)!dse_presolve(space, problem, &arena, &reduced);
    bool ok = dse_program(&reduced, problem, NULL, -1, &program) && write_program(program.lp, path);
    dse_program_free(&program);
    dse_reduced_free(&reduced);
    arena_free(&arena);
    return ok;
}
