/* split-results: a linalg.generic with several results becomes one generic per result, because a
 * streaming kernel has one output. Computations that several results share are done for each; dead
 * code is dropped.
 *   a, b = generic(x) { yield f(x), g(x) }
 *     ->  a = generic(x) { yield f(x) }, b = generic(x) { yield g(x) }
 * If a result accumulates with others, these stay beside it as results that nothing reads: the
 * position of a maximum keeps the maximum.
 * Tests: lit/passes/linalg/split-results.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/passes.h"

/* Values of the body that a yielded value depends on. */
static void collect_used(const Block *body, const Value *value, PtrMap *used)
{
    Op *def = value_def(value);
    if (ptrmap_has(used, value)) return;
    ptrmap_put(used, value, used);
    if (value_block(value) != body) return;
    for (uint32_t i = 0; def && i < def->operand_count; i++)
        collect_used(body, op_operand(def, i), used);
}

/* Results of a generic that are kept together, the first of them the one that is read. */
typedef struct Kept {
    uint32_t *results, count;
} Kept;

/* Marks result `first` and the results that it accumulates with, directly or through others. */
static Kept keep_result(Arena *scratch, const Op *generic, uint32_t first, PtrMap *used)
{
    Block *body = linalg_body(generic);
    uint32_t inputs = linalg_input_count(generic);
    Kept kept = {ARENA_ARRAY(scratch, uint32_t, generic->result_count), 1};
    bool *is_kept = ARENA_ARRAY(scratch, bool, generic->result_count);
    kept.results[0] = first;
    is_kept[first] = true;
    for (uint32_t k = 0; k < kept.count; k++) {
        collect_used(body, op_operand(body->last, kept.results[k]), used);
        for (uint32_t i = 0; i < generic->result_count; i++)
            if (!is_kept[i] && ptrmap_has(used, body->args[inputs + i])) {
                is_kept[i] = true;
                kept.results[kept.count++] = i;
            }
    }
    return kept;
}

/* Copies the ops that the yielded values depend on. */
static void copy_body(Builder *b, const Op *generic, Kept kept, const PtrMap *used, Block *to)
{
    Block *body = linalg_body(generic);
    uint32_t inputs = linalg_input_count(generic);
    VEC(Value *) yielded = {0};
    PtrMap copies = {0};
    for (uint32_t i = 0; i < inputs; i++) ptrmap_put(&copies, body->args[i], to->args[i]);
    for (uint32_t k = 0; k < kept.count; k++)
        ptrmap_put(&copies, body->args[inputs + kept.results[k]], to->args[inputs + k]);
    FOR_EACH_OP(op, body)
        for (uint32_t r = 0; r < op->result_count; r++)
            if (ptrmap_has(used, op_result(op, r))) {
                op_append(op_clone(op, &copies), to);
                break;
            }
    for (uint32_t k = 0; k < kept.count; k++) {
        Value *value = op_operand(body->last, kept.results[k]), *copy = ptrmap_get(&copies, value);
        *vec_push(&yielded) = copy ? copy : value;
    }
    builder_set_end(b, to);
    linalg_yield(b, yielded.data, kept.count);
    vec_free(&yielded);
    ptrmap_free(&copies);
}

/* The generic for one result, which it has as its first. */
static Value *build_one(Arena *scratch, Op *generic, uint32_t result)
{
    uint32_t inputs = linalg_input_count(generic);
    PtrMap used = {0};
    Kept kept = keep_result(scratch, generic, result, &used);
    VEC(Value *) operands = {0};
    VEC(Value *) inits = {0};
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < inputs; i++) {
        *vec_push(&operands) = op_operand(generic, i);
        *vec_push(&maps) = linalg_operand_map(generic, i);
    }
    for (uint32_t k = 0; k < kept.count; k++) {
        *vec_push(&inits) = op_operand(generic, inputs + kept.results[k]);
        *vec_push(&maps) = linalg_operand_map(generic, inputs + kept.results[k]);
    }
    Builder b = builder_before(generic);
    Op *one = linalg_build_generic(&b, operands.data, inputs, inits.data, kept.count,
                                   linalg_maps_attr(b.ctx, maps.data, maps.len),
                                   linalg_iterator_types(generic));
    if (op_attr(generic, DFG_ATTR_NAME))
        op_set_attr(one, DFG_ATTR_NAME, op_attr(generic, DFG_ATTR_NAME));
    if (generic->result_count == 1)
        op_set_attr(one, DFG_ATTR_TENSORS, op_attr(generic, DFG_ATTR_TENSORS));
    copy_body(&b, generic, kept, &used, linalg_body(one));
    vec_free(&operands);
    vec_free(&inits);
    vec_free(&maps);
    ptrmap_free(&used);
    return op_result(one, 0);
}

static void split(Arena *scratch, Op *generic)
{
    if (linalg_body_has_regions(generic)) return;
    for (uint32_t i = 0; i < generic->result_count; i++)
        if (value_has_uses(op_result(generic, i)))
            value_replace_all(op_result(generic, i), build_one(scratch, generic, i));
    op_erase(generic);
}

static bool split_results(Pass *pass, Op *func)
{
    for (Block *block = op_region(func, 0)->first; block; block = block->next)
        FOR_EACH_OP_SAFE(op, block)
            if (op->def == LINALG(GENERIC) && op->result_count > 1) split(&pass->scratch, op);
    return true;
}

const PassDef pass_split_results = {
    .name = "split-results",
    .summary = "Give every result of a linalg.generic a kernel of its own",
    .anchor = "func.func",
    .run = split_results,
};
