/* Removal of operands and results of linalg.generic that are not needed or occur twice. An operand
 * is needed if the body reads it or if a loop's trip count can only be told from its shape; a
 * result is needed if it has uses.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-operands.mir */
#include "dialects/linalg/linalg.h"
#include "passes/linalg/internal.h"

#define GONE UINT32_MAX

/* The new position of each operand of a generic. */
typedef struct Survey {
    const Op *op;
    bool *dropped;          /* per operand */
    uint32_t *target;       /* per operand: its position among the new inputs or inits, or GONE */
    uint32_t *origin;       /* per new input, then per new init: the operand it was */
    uint32_t inputs, inits; /* new ones */
} Survey;

static Value *yielded(const Op *op, uint32_t init)
{
    return op_operand(linalg_body(op)->last, init);
}

/* Neither read nor needed for a trip count beside those dropped already. Marks it if so. */
static bool try_drop(Survey *s, uint32_t operand)
{
    s->dropped[operand] = true;
    s->dropped[operand] = parts_operands_cover_loops(s->op, s->dropped);
    return s->dropped[operand];
}

static bool same_operand(const Op *op, uint32_t a, uint32_t b)
{
    return op_operand(op, a) == op_operand(op, b) &&
           linalg_operand_map(op, a) == linalg_operand_map(op, b);
}

static void survey_inputs(Survey *s)
{
    for (uint32_t i = 0; i < linalg_input_count(s->op); i++) {
        uint32_t same = 0;
        if (!linalg_reads_operand(s->op, i) && try_drop(s, i)) continue;
        while (same < s->inputs && !same_operand(s->op, s->origin[same], i)) same++;
        s->target[i] = same;
        if (same < s->inputs)
            s->dropped[i] = true;
        else
            s->origin[s->inputs++] = i;
    }
}

/* The body does nothing with the init but hand it back as the same result. */
static bool only_yields_itself(const Op *op, uint32_t init)
{
    const Value *arg = linalg_body(op)->args[linalg_input_count(op) + init];
    return value_has_one_use(arg) && arg->uses->owner->def == LINALG(YIELD) &&
           use_index(arg->uses) == init;
}

static bool is_dead_result(const Op *op, uint32_t init)
{
    return !value_has_uses(op_result(op, init)) &&
           (!linalg_reads_operand(op, linalg_input_count(op) + init) ||
            only_yields_itself(op, init));
}

/* The last new init that has the same operand and gets the same elements; s->inits if there is
 * none. */
static uint32_t find_same_init(const Survey *s, uint32_t init)
{
    uint32_t first = linalg_input_count(s->op);
    for (uint32_t i = s->inits; i-- > 0;) {
        uint32_t origin = s->origin[s->inputs + i];
        if (same_operand(s->op, origin, first + init) &&
            yielded(s->op, origin - first) == yielded(s->op, init))
            return i;
    }
    return s->inits;
}

static void survey_inits(Survey *s)
{
    uint32_t first = linalg_input_count(s->op);
    bool keeps_all = !linalg_has_tensor_semantics(s->op);
    for (uint32_t i = 0; i < linalg_init_count(s->op); i++) {
        uint32_t same = s->inits;
        if (!keeps_all && is_dead_result(s->op, i) && try_drop(s, first + i)) continue;
        if (!keeps_all && !linalg_reads_operand(s->op, first + i)) same = find_same_init(s, i);
        s->target[first + i] = same;
        if (same < s->inits)
            s->dropped[first + i] = true;
        else
            s->origin[s->inputs + s->inits++] = first + i;
    }
}

static void survey_init(Survey *s, const Op *op)
{
    *s = (Survey){.op = op};
    s->dropped = xcalloc(op->operand_count, sizeof *s->dropped);
    s->target = xcalloc(op->operand_count, sizeof *s->target);
    s->origin = xcalloc(op->operand_count, sizeof *s->origin);
    for (uint32_t i = 0; i < op->operand_count; i++) s->target[i] = GONE;
    survey_inputs(s);
    survey_inits(s);
}

static void survey_free(Survey *s)
{
    free_ptr((void **)&s->dropped);
    free_ptr((void **)&s->target);
    free_ptr((void **)&s->origin);
}

static Op *build_without(Rewriter *rw, const Survey *s)
{
    GenericParts parts = {0};
    for (uint32_t i = 0; i < s->inputs + s->inits; i++) {
        uint32_t origin = s->origin[i];
        const AffineMap *map = linalg_operand_map(s->op, origin);
        if (i < s->inputs)
            parts_add_input(&parts, op_operand(s->op, origin), map);
        else
            parts_add_init(&parts, op_operand(s->op, origin), map);
    }
    Op *made = parts_build(&rw->b, &parts, op_attr(s->op, "iterator_types"));
    op_set_attr(made, "doc", op_attr(s->op, "doc"));
    op_set_attr(made, "library_call", op_attr(s->op, "library_call"));
    made->attrs = s->op->attrs;
    parts_free(&parts);
    return made;
}

/* Leaves the yield with the values of the new inits. */
static void shrink_yield(Rewriter *rw, const Survey *s)
{
    Op *yield = linalg_body(s->op)->last;
    uint32_t first = linalg_input_count(s->op);
    ValueList values = {0};
    for (uint32_t i = 0; i < s->inits; i++)
        *vec_push(&values) = op_operand(yield, s->origin[s->inputs + i] - first);
    op_set_operands(yield, values.data, (uint32_t)values.len);
    rewriter_modified(rw, yield);
    vec_free(&values);
}

/* Moves the body over; the op to go keeps an empty block. */
static void move_body(Rewriter *rw, const Survey *s, Op *made)
{
    Block *from = linalg_body(s->op), *to = linalg_body(made);
    uint32_t inputs = linalg_input_count(s->op);
    if (s->inits != s->op->operand_count - inputs) shrink_yield(rw, s);
    for (uint32_t i = 0; i < s->op->operand_count; i++)
        if (s->target[i] != GONE && value_has_uses(from->args[i]))
            rewriter_replace_value(rw, from->args[i],
                                   to->args[i < inputs ? s->target[i] : s->inputs + s->target[i]]);
    block_splice(to, from);
    FOR_EACH_OP(op, to) rw->inserted(rw, op);
}

static void replace_results(Rewriter *rw, const Survey *s, Op *op, Op *made)
{
    ValueList values = {0};
    uint32_t first = linalg_input_count(op);
    for (uint32_t i = 0; i < op->result_count; i++) {
        uint32_t target = s->target[first + i];
        *vec_push(&values) = target == GONE ? NULL : op_result(made, target);
    }
    rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
}

static bool drop_operands(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Survey s;
    survey_init(&s, op);
    bool changes = s.inputs + s.inits != op->operand_count;
    if (changes) {
        Op *made = build_without(rw, &s);
        move_body(rw, &s, made);
        replace_results(rw, &s, op, made);
    }
    survey_free(&s);
    return changes;
}

/* The op between an init's argument and its yield, when both it and the argument have no other
 * use; NULL if there is none. */
static Op *find_cycle(const Op *op, uint32_t init)
{
    const Value *arg = linalg_body(op)->args[linalg_input_count(op) + init];
    if (value_has_uses(op_result(op, init)) || !value_has_one_use(arg)) return NULL;
    Op *cycle = arg->uses->owner;
    if (cycle->result_count != 1 || !parts_op_has_one_use(cycle)) return NULL;
    const Op *user = op_result(cycle, 0)->uses->owner;
    bool closes = user->def == LINALG(YIELD) && op_operand(user, init) == op_result(cycle, 0);
    return closes ? cycle : NULL;
}

/* o' = f(o, x) with o' unused -> o' = o, which the pattern above drops */
static bool break_cycles(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool changed = false;
    if (!linalg_has_tensor_semantics(op)) return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        Op *cycle = find_cycle(op, i);
        if (!cycle) continue;
        rewriter_replace_one(rw, cycle, linalg_body(op)->args[linalg_input_count(op) + i]);
        rewriter_modified(rw, op);
        changed = true;
    }
    return changed;
}

void fuse_add_drop_operands(PatternSet *set)
{
    pattern_add(set, "drop-operands", LINALG(GENERIC), 1, drop_operands);
    pattern_add(set, "break-cycles", LINALG(GENERIC), 1, break_cycles);
}
