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

/* Runs a generic's payload but for the op `without` on given argument values, and gives what `wanted`
 * became. NULL: diagnosed. */
static Value *run_payload(ComputeLowering *c, const Op *generic, Value *const *args,
                          const Op *without, const Value *wanted)
{
    Block *body = linalg_body(generic);
    PtrMap values = {0};
    Value *result = NULL;
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (args[i])
            ptrmap_put(&values, body->args[i], args[i]);
    bool ok = true;
    for (Op *op = body->first; ok && op != body->last; op = op->next)
        ok = op == without || copy_payload_op(c, op, &values);
    if (ok) {
        result = ptrmap_get(&values, wanted);
        if (!result)
            result = outer_constant(c, wanted);
    }
    ptrmap_free(&values);
    return result;
}

/* Values of the input arguments that the payload uses; one more is left for the output's. */
static Value **payload_arguments(ComputeLowering *c, uint32_t which, Value *flow)
{
    const Op *generic = which ? c->plan.stages[which - 1] : c->plan.main;
    uint32_t inputs = linalg_input_count(generic);
    Value **args = ARENA_ARRAY(&c->arena, Value *, inputs + 1);
    const Block *body = linalg_body(generic);
    for (uint32_t i = 0; i < inputs; i++) {
        const Source *s = &c->sources[which][i];
        if (value_has_uses(body->args[i]))
            args[i] = s->kind == SOURCE_FLOW ? flow : compute_load_source(c, s);
    }
    return args;
}

Value *compute_run_generic(ComputeLowering *c, uint32_t which, Value *flow, Value *init)
{
    const Op *generic = which ? c->plan.stages[which - 1] : c->plan.main;
    uint32_t inputs = linalg_input_count(generic);
    const Block *body = linalg_body(generic);
    if (!init && value_has_uses(body->args[inputs])) {
        op_error(generic, "reads its initial output, which an element-wise stream does not have");
        return NULL;
    }
    Value **args = payload_arguments(c, which, flow);
    args[inputs] = init;
    return run_payload(c, generic, args, NULL, op_operand(body->last, 0));
}

Value *compute_run_term(ComputeLowering *c)
{
    const Op *combine = c->plan.reduction.combine;
    Value **args = payload_arguments(c, 0, NULL);
    return run_payload(c, c->plan.main, args, combine, reduction_term(combine));
}

Value *compute_run_stages(ComputeLowering *c, Value *value)
{
    for (uint32_t s = 0; value && s < c->plan.stage_count; s++)
        value = compute_run_generic(c, s + 1, value, NULL);
    return value;
}
