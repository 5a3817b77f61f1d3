/* The scalar code of a compute process: payloads of its kernels, inlined at one lane.
 * Tests: lit/lowering/dfg-to-emithls-compute.mir */
#include "lowering/dfg_to_emithls_compute.h"

#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "ir/diag.h"
#include "lowering/expand_scalar.h"

static bool is_scalar_op(const Op *op)
{
    Str dialect = op->def ? str_from(op->def->dialect->name) : (Str){"", 0};
    return (str_eq_c(dialect, "arith") || str_eq_c(dialect, "math")) && op->region_count == 0;
}

/* A constant from outside the kernel. */
static Value *outer_constant(ComputeLowering *c, const Value *value)
{
    return nest_constant(&c->l->nest, op_attr(value_def(value), "value"));
}

/* The op's operands from number `first` on in the nest; constants from outside the kernel are made
 * here. */
static Value **payload_operands(ComputeLowering *c, const Op *op, uint32_t first, PtrMap *values)
{
    Value **operands = ARENA_ARRAY(&c->arena, Value *, op->operand_count);
    for (uint32_t i = first; i < op->operand_count; i++) {
        Value *operand = op_operand(op, i);
        if (!ptrmap_has(values, operand))
            ptrmap_put(values, operand, outer_constant(c, operand));
        operands[i] = ptrmap_get(values, operand);
    }
    return operands;
}

/* tensor.extract of a constant: a read of its table. */
static void look_up(ComputeLowering *c, const Op *extract, Value *table, PtrMap *values)
{
    uint32_t rank = extract->operand_count - 1;
    Value **operands = payload_operands(c, extract, 1, values);
    const Type *type = op_result(extract, 0)->type;
    NamedAttr map = named_attr(c->ctx, "map", attr_map(map_identity(c->ctx, rank)));
    operands[0] = table;
    Op *load = build(&c->l->nest.b, EMITHLS(LOAD), operands, rank + 1, &type, 1, &map, 1);
    ptrmap_put(values, op_result(extract, 0), op_result(load, 0));
}

static bool copy_payload_op(ComputeLowering *c, Op *op, PtrMap *values)
{
    Value *results[EXPAND_MAX_RESULTS], *table = ptrmap_get(&c->looked_up, op);
    if (table) {
        look_up(c, op, table, values);
        return true;
    }
    if (!is_scalar_op(op))
        return op_error(op, "cannot run in a streaming process: only arith and math ops on scalars "
                            "can");
    Value **operands = payload_operands(c, op, 0, values);
    if (expand_scalar(&c->l->nest.b, op, operands, results)) {
        for (uint32_t i = 0; i < op->result_count; i++)
            ptrmap_put(values, op_result(op, i), results[i]);
        return true;
    }
    op_append(op_clone(op, values), c->l->nest.b.block);
    return true;
}

/* A payload to copy into the nest, of main or of a stage. */
typedef struct Payload {
    const Op *generic, *without; /* without: an op that is left out, or NULL */
    Value **args;                /* of the body; NULL where it does not use one */
    const AffineMap *loops;      /* main's loops -> the generic's */
} Payload;

static Payload payload_of(ComputeLowering *c, uint32_t which, Value *flow)
{
    const Op *generic = which ? c->plan.stages[which - 1] : c->plan.main;
    uint32_t loops = c->plan.kernel.loop_count;
    Payload p = {.generic = generic,
                 .args = ARENA_ARRAY(&c->arena, Value *, generic->operand_count),
                 .loops = which ? stage_loops(&c->plan, which - 1) : map_identity(c->ctx, loops)};
    const Block *body = linalg_body(generic);
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        const Source *s = &c->sources[which][i];
        if (value_has_uses(body->args[i]))
            p.args[i] = s->kind == SOURCE_FLOW ? flow : compute_load_source(c, s);
    }
    return p;
}

/* linalg.index: the counters and lanes of the loop. */
static void copy_index(ComputeLowering *c, const Payload *p, const Op *op, PtrMap *values)
{
    const AffineExpr *loops[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < c->plan.kernel.loop_count; i++)
        loops[i] = c->lane[i];
    for (uint32_t i = 0; i < c->plan.loop_count; i++) {
        const PlanLoop *loop = &c->plan.loops[i];
        loops[loop->loop] = affine_add(loops[loop->loop],
                                       affine_mul_c(compute_counter(c, i), loop->scale));
    }
    const AffineExpr *loop = p->loops->results[attr_int_value(op_attr(op, "dim"))];
    const AffineExpr *expr = affine_replace(loop, loops, c->plan.kernel.loop_count, NULL, 0);
    ptrmap_put(values, op_result(op, 0), nest_index(&c->l->nest, expr));
}

/* Copies the payload and gives what the `count` values `wanted` became. False: diagnosed. */
static bool run_payload(ComputeLowering *c, const Payload *p, Value *const *wanted, uint32_t count,
                        Value **out)
{
    Block *body = linalg_body(p->generic);
    PtrMap values = {0};
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (p->args[i])
            ptrmap_put(&values, body->args[i], p->args[i]);
    bool ok = true;
    for (Op *op = body->first; ok && op != body->last; op = op->next) {
        if (op->def == LINALG(INDEX))
            copy_index(c, p, op, &values);
        else
            ok = op == p->without || copy_payload_op(c, op, &values);
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        out[i] = ptrmap_get(&values, wanted[i]);
        if (!out[i])
            out[i] = outer_constant(c, wanted[i]);
    }
    ptrmap_free(&values);
    return ok;
}

Value *compute_run_generic(ComputeLowering *c, uint32_t which, Value *flow)
{
    const Op *generic = which ? c->plan.stages[which - 1] : c->plan.main;
    const Block *body = linalg_body(generic);
    for (uint32_t i = linalg_input_count(generic); i < body->arg_count; i++)
        if (value_has_uses(body->args[i])) {
            op_error(generic, "reads its initial output, which an element-wise stream does not have");
            return NULL;
        }
    Payload p = payload_of(c, which, flow);
    Value *result = NULL, *wanted = op_operand(body->last, 0);
    return run_payload(c, &p, &wanted, 1, &result) ? result : NULL;
}

bool compute_run_update(ComputeLowering *c, Value *const *so_far, Value **next)
{
    const Op *main = c->plan.main;
    Payload p = payload_of(c, 0, NULL);
    Value *wanted[PLAN_MAX_RESULTS];
    for (uint32_t i = 0; i < main->result_count; i++) {
        p.args[linalg_input_count(main) + i] = so_far[i];
        wanted[i] = op_operand(linalg_body(main)->last, i);
    }
    return run_payload(c, &p, wanted, main->result_count, next);
}

Value *compute_run_term(ComputeLowering *c)
{
    Payload p = payload_of(c, 0, NULL);
    p.without = c->plan.reduction.combine;
    Value *result = NULL, *wanted = reduction_term(p.without);
    return run_payload(c, &p, &wanted, 1, &result) ? result : NULL;
}

Value *compute_run_stages(ComputeLowering *c, Value *value)
{
    for (uint32_t s = 0; value && s < c->plan.stage_count; s++)
        value = compute_run_generic(c, s + 1, value);
    return value;
}
