/* stream-initials: kernels that start from a tensor which is computed, or which repeats a constant,
 * take that tensor as an operand instead; accumulators start from constants.
 *   generic(x) outs(t) { yield f(t, g(x)) }, reducing, f with neutral element e
 *     ->  r = generic(x) outs(fill e) { yield f(r, g(x)) };  generic(r, t) { yield f(t, r) }
 *   generic(x) outs(t) { h(x, t) }, element-wise  ->  generic(x, t) outs(empty) { h(x, t) }
 * Sums of integers do not change; a floating-point sum adds t as its last term instead of its
 * first.
 * Requires: named ops generalized.
 * Changes: such kernels only.
 * Tests: lit/passes/linalg/stream-initials.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/passes.h"

/* A tensor read by a map. */
typedef struct InitSource {
    Value *value;
    const AffineMap *map; /* from the index of the initial tensor */
} InitSource;

/* What a tensor repeats, if it is a kernel that only spreads a constant; else the tensor itself. */
static InitSource source_of(Value *initial)
{
    const Op *def = value_def(initial);
    InitSource itself = {initial, map_identity(initial->type->ctx, initial->type->u.shaped.rank)};
    if (!def || def->def != LINALG(GENERIC) || def->result_count != 1 || def->operand_count != 2 ||
        linalg_reduces(def) || !map_is_permutation(linalg_operand_map(def, 1)))
        return itself;
    Value *input = op_operand(def, 0), *yielded = op_operand(linalg_body(def)->last, 0);
    bool spreads = value_def(input) && op_has_trait(value_def(input), TRAIT_CONSTANT_LIKE) &&
                   yielded == linalg_body(def)->args[0];
    if (!spreads) return itself;
    const AffineMap *to_loops = map_inverse_permutation(linalg_operand_map(def, 1));
    return (InitSource){input, map_compose(linalg_operand_map(def, 0), to_loops)};
}

/* Constants, fills of one and undefined contents are in a kernel's code or tables. */
static bool is_given(const Value *initial)
{
    const Op *def = value_def(initial);
    const Value *fill = def ? kernel_fill_value(def) : NULL;
    const Op *constant = fill ? value_def(fill) : def;
    return constant &&
           (constant->def == TENSOR(EMPTY) || op_has_trait(constant, TRAIT_CONSTANT_LIKE));
}

static Value *empty_like(Builder *b, const Type *type)
{
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    return tensor_empty(b, sizes, type->u.shaped.rank, type_elem(type));
}

/* e with f(e, x) = x; NULL: f is none of these. */
static const Attr *neutral_element(const Op *f, const Type *elem)
{
    if (f->def == ARITH(ADDI) || f->def == ARITH(ORI) || f->def == ARITH(XORI))
        return attr_int(elem, 0);
    if (f->def == ARITH(MULI)) return attr_int(elem, 1);
    if (f->def == ARITH(ANDI)) return attr_int(elem, -1);
    return f->def == ARITH(ADDF) ? attr_float(elem, 0.0) : NULL;
}

/* The op that takes the accumulator last, and the operand that it is; NULL: the accumulator has
 * other uses. */
static Op *combiner(const Op *generic, uint32_t *operand)
{
    Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic)];
    Op *f = value_def(op_operand(body->last, 0));
    if (!f || !value_has_one_use(acc) || acc->uses->owner != f) return NULL;
    *operand = use_index(acc->uses);
    return f;
}

/* generic(r, t) { yield f(t, r) } */
static Op *build_combination(Builder *b, Value *result, const InitSource *t, Op *f,
                             uint32_t operand)
{
    uint32_t rank = result->type->u.shaped.rank;
    const AffineMap *same = map_identity(b->ctx, rank), *maps[3] = {same, t->map, same};
    bool is_reduction[KERNEL_MAX_LOOPS] = {false};
    Value *inputs[2] = {result, t->value}, *init = empty_like(b, result->type);
    Op *combination =
        linalg_build_generic(b, inputs, 2, &init, 1, linalg_maps_attr(b->ctx, maps, 3),
                             linalg_iterators_attr(b->ctx, is_reduction, rank));
    Block *block = linalg_body(combination);
    Builder body = builder_at_end(block, b->loc);
    Op *copy = builder_insert(&body, op_clone(f, NULL));
    op_set_operand(copy, operand, block->args[1]);
    op_set_operand(copy, 1 - operand, block->args[0]);
    Value *combined = op_result(copy, 0);
    linalg_yield(&body, &combined, 1);
    return combination;
}

static void start_from_neutral(Op *generic)
{
    uint32_t operand, init = linalg_input_count(generic);
    Value *result = op_result(generic, 0);
    Op *f = combiner(generic, &operand);
    const Attr *neutral = f ? neutral_element(f, type_elem(result->type)) : NULL;
    if (!neutral) return; /* convert-linalg-to-dfg diagnoses it */
    InitSource t = source_of(op_operand(generic, init));
    Builder b = builder_before(generic);
    op_set_operand(generic, init,
                   linalg_fill(&b, arith_constant(&b, neutral), empty_like(&b, result->type)));
    b = builder_after(generic);
    Op *combination = build_combination(&b, result, &t, f, operand);
    op_set_attr(combination, DFG_ATTR_TENSORS, op_attr(generic, DFG_ATTR_TENSORS));
    op_set_attr(generic, DFG_ATTR_TENSORS, NULL);
    value_replace_all(result, op_result(combination, 0));
    op_set_operand(combination, 0, result);
}

static void make_input(Op *generic)
{
    uint32_t inputs = linalg_input_count(generic);
    const AffineMap *out = linalg_operand_map(generic, inputs);
    InitSource t = source_of(op_operand(generic, inputs));
    VEC(Value *) operands = {0};
    VEC(const AffineMap *) maps = {0};
    PtrMap copies = {0};
    for (uint32_t i = 0; i < inputs; i++) {
        *vec_push(&operands) = op_operand(generic, i);
        *vec_push(&maps) = linalg_operand_map(generic, i);
    }
    *vec_push(&operands) = t.value;
    *vec_push(&maps) = map_compose(t.map, out);
    *vec_push(&maps) = out;
    Builder b = builder_before(generic);
    Value *init = empty_like(&b, op_result(generic, 0)->type);
    Op *made = linalg_build_generic(&b, operands.data, inputs + 1, &init, 1,
                                    linalg_maps_attr(b.ctx, maps.data, maps.len),
                                    linalg_iterator_types(generic));
    if (op_attr(generic, DFG_ATTR_NAME))
        op_set_attr(made, DFG_ATTR_NAME, op_attr(generic, DFG_ATTR_NAME));
    op_set_attr(made, DFG_ATTR_TENSORS, op_attr(generic, DFG_ATTR_TENSORS));
    for (uint32_t i = 0; i <= inputs; i++)
        ptrmap_put(&copies, linalg_body(generic)->args[i], linalg_body(made)->args[i]);
    FOR_EACH_OP(op, linalg_body(generic)) op_append(op_clone(op, &copies), linalg_body(made));
    value_replace_all(op_result(generic, 0), op_result(made, 0));
    op_erase(generic);
    vec_free(&operands);
    vec_free(&maps);
    ptrmap_free(&copies);
}

static bool takes_initial(const Op *op)
{
    if (op->def != LINALG(GENERIC) || op->result_count != 1 || kernel_fill_value(op)) return false;
    uint32_t init = linalg_input_count(op);
    const Type *type = op_result(op, 0)->type;
    if (!linalg_reduces(op) && !linalg_reaches_all(op, init)) return false; /* diagnosed later */
    return linalg_loop_count(op) <= KERNEL_MAX_LOOPS && type->u.shaped.rank <= KERNEL_MAX_LOOPS &&
           type_is_static(type) && linalg_reads_operand(op, init) &&
           !is_given(op_operand(op, init));
}

static bool stream_initials(Pass *pass, Op *func)
{
    Block *body = func_entry(func);
    (void)pass;
    if (!body) return true;
    FOR_EACH_OP_SAFE(op, body) {
        if (!takes_initial(op)) continue;
        (linalg_reduces(op) ? start_from_neutral : make_input)(op);
    }
    return true;
}

const PassDef pass_stream_initials = {
    .name = "stream-initials",
    .summary = "Start accumulators from constants; read computed initial tensors as operands",
    .anchor = "func.func",
    .run = stream_initials,
};
