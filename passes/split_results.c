/* split-results: a linalg.generic with several results becomes one per result, since a streaming kernel
 * has one output. What several results compute in common is computed for each; dead code goes.
 *   a, b = generic(x) { yield f(x), g(x) }  ->  a = generic(x) { yield f(x) }, b = generic(x) { yield g(x) }
 * A generic stays if a result depends on what another one has accumulated.
 * Tests: lit/passes/split-results.mir */
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "ir/builder.h"
#include "ir/pass.h"
#include "ir/rewrite.h"
#include "passes/passes.h"

/* Values of the body that a yielded value depends on. */
static void collect_used(const Block *body, const Value *value, PtrMap *used)
{
    Op *def = value_def(value);
    if (ptrmap_has(used, value))
        return;
    ptrmap_put(used, value, used);
    if (value_block(value) != body)
        return;
    for (uint32_t i = 0; def && i < def->operand_count; i++)
        collect_used(body, op_operand(def, i), used);
}

/* Whether result `result` uses no accumulator but its own, and ops without regions only. */
static bool stands_alone(const Op *generic, uint32_t result)
{
    Block *body = linalg_body(generic);
    uint32_t inputs = linalg_input_count(generic);
    PtrMap used = {0};
    bool ok = true;
    collect_used(body, op_operand(body->last, result), &used);
    for (uint32_t i = 0; i < linalg_init_count(generic); i++)
        ok &= i == result || !ptrmap_has(&used, body->args[inputs + i]);
    FOR_EACH_OP(op, body)
    ok &= op->region_count == 0;
    ptrmap_free(&used);
    return ok;
}

/* Copies what the yielded value depends on. */
static void copy_body(Builder *b, const Op *generic, uint32_t result, Block *to)
{
    Block *body = linalg_body(generic);
    uint32_t inputs = linalg_input_count(generic);
    Value *yielded = op_operand(body->last, result);
    PtrMap used = {0}, copies = {0};
    collect_used(body, yielded, &used);
    for (uint32_t i = 0; i < inputs; i++)
        ptrmap_put(&copies, body->args[i], to->args[i]);
    ptrmap_put(&copies, body->args[inputs + result], to->args[inputs]);
    FOR_EACH_OP(op, body)
    for (uint32_t r = 0; r < op->result_count; r++)
        if (ptrmap_has(&used, op_result(op, r))) {
            op_append(op_clone(op, &copies), to);
            break;
        }
    Value *copy = ptrmap_get(&copies, yielded);
    yielded = copy ? copy : yielded;
    builder_set_end(b, to);
    linalg_yield(b, &yielded, 1);
    ptrmap_free(&used);
    ptrmap_free(&copies);
}

static Value *build_one(Op *generic, uint32_t result)
{
    uint32_t inputs = linalg_input_count(generic);
    VEC(Value *) operands = {0};
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < inputs; i++) {
        *vec_push(&operands) = op_operand(generic, i);
        *vec_push(&maps) = linalg_operand_map(generic, i);
    }
    *vec_push(&maps) = linalg_operand_map(generic, inputs + result);
    Builder b = builder_before(generic);
    Value *init = op_operand(generic, inputs + result);
    Op *one = linalg_build_generic(&b, operands.data, inputs, &init, 1,
                                   linalg_maps_attr(b.ctx, maps.data, maps.len),
                                   linalg_iterator_types(generic));
    if (op_attr(generic, "dfg.name"))
        op_set_attr(one, "dfg.name", op_attr(generic, "dfg.name"));
    copy_body(&b, generic, result, linalg_body(one));
    vec_free(&operands);
    vec_free(&maps);
    return op_result(one, 0);
}

static void split(Op *generic)
{
    for (uint32_t i = 0; i < generic->result_count; i++)
        if (!stands_alone(generic, i))
            return;
    for (uint32_t i = 0; i < generic->result_count; i++)
        if (value_has_uses(op_result(generic, i)))
            value_replace_all(op_result(generic, i), build_one(generic, i));
    op_erase(generic);
}

static bool split_results(Pass *pass, Op *func)
{
    (void)pass;
    for (Block *block = op_region(func, 0)->first; block; block = block->next)
        FOR_EACH_OP_SAFE(op, block)
        if (op->def == LINALG(GENERIC) && op->result_count > 1)
            split(op);
    return true;
}

const PassDef pass_split_results = {
    .name = "split-results",
    .summary = "Give every result of a linalg.generic a kernel of its own",
    .anchor = "func.func",
    .run = split_results,
};
