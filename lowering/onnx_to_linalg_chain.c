/* Chains: what the network does to integers before it quantizes them again. A chain is not computed
 * where it arises; a quantizer takes it in whole, and only where a plain tensor is needed it is
 * built as floating-point arithmetic.
 * Tests: lit/lowering/onnx-to-linalg-chain.mir, test/e2e/import_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg.h"
#include "lowering/onnx_to_linalg_plain.h"
#include "lowering/onnx_to_linalg_quant.h"

/* --- which nodes may join --------------------------------------------------------------------- */

static bool all_at_least_zero(const Array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        if (!(array_get_f64(array, i) >= 0.0))
            return false;
    return true;
}

/* Whether the node never turns around as operand `index` grows, the others being constant. Whether
 * it rises or falls may differ from channel to channel. */
static bool is_monotone(Lowering *lw, uint32_t index)
{
    const Op *op = lw->node;
    switch (op->def - onnx_ops) {
    case ONNX_BATCH_NORMALIZATION:
    case ONNX_CEIL:
    case ONNX_CLIP:
    case ONNX_DIV:
    case ONNX_ERF:
    case ONNX_EXP:
    case ONNX_FLOOR:
    case ONNX_HARD_SIGMOID:
    case ONNX_NEG:
    case ONNX_RELU:
    case ONNX_ROUND:
    case ONNX_SELU:
    case ONNX_SIGMOID:
    case ONNX_SOFTPLUS:
    case ONNX_SOFTSIGN:
    case ONNX_TANH:
    case ONNX_QUANT:
    case ONNX_INT_QUANT:
    case ONNX_BIPOLAR_QUANT: return index == 0;
    case ONNX_ADD:
    case ONNX_MUL:
    case ONNX_MAX:
    case ONNX_MIN:
    case ONNX_SUB: return true;
    case ONNX_ELU: return onnx_float(op, "alpha", 1.0) >= 0.0;
    case ONNX_LEAKY_RELU: return onnx_float(op, "alpha", 0.01) >= 0.0;
    case ONNX_PRELU: return index == 0 && all_at_least_zero(lower_array(lw, op_operand(op, 1)));
    default: return false;
    }
}

/* The dimension of a result of that rank along which a constant differs: -1 if it is the same
 * everywhere, -2 if it differs along several. */
static int varying_axis(const Array *constant, uint32_t rank)
{
    int axis = -1;
    uint32_t own = constant->type->u.shaped.rank;
    for (uint32_t i = 0; i < own; i++) {
        if (constant->type->u.shaped.dims[i] == 1)
            continue;
        if (axis != -1 || own > rank)
            return -2;
        axis = (int)(rank - own + i);
    }
    return axis;
}

/* Joins the axis of one more constant; false when two differ. */
static bool join_axis(int *axis, int other)
{
    if (other == -1 || other == *axis)
        return true;
    bool first = *axis == -1 && other >= 0;
    *axis = first ? other : *axis;
    return first;
}

/* The axis that the node's constants and the chain share. */
static bool find_axis(Lowering *lw, uint32_t index, int *axis)
{
    const Op *op = lw->node;
    uint32_t rank = op_result(op, 0)->type->u.shaped.rank;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i == index || !onnx_operand(op, i))
            continue;
        const Array *constant = lower_array(lw, op_operand(op, i));
        if (!constant)
            return false;
        bool is_batch_norm = op->def == ONNX(BATCH_NORMALIZATION);
        if (!join_axis(axis, is_batch_norm ? 1 : varying_axis(constant, rank)))
            return false;
    }
    return true;
}

static bool results_are_used(const Op *op)
{
    for (uint32_t i = 1; i < op->result_count; i++)
        if (value_has_uses(op_result(op, i)))
            return true;
    return false;
}

bool chain_append(Lowering *lw, uint32_t index)
{
    const Fixed *operand = lower_fixed(lw, index);
    const Type *type = op_result(lw->node, 0)->type;
    if (!operand || type_elem(type) != type_elem(op_operand(lw->node, index)->type))
        return false;
    int axis = operand->chain ? operand->chain->axis : -1;
    bool same_shape = op_operand(lw->node, index)->type == type;
    if (!same_shape || !type_is_float(type_elem(type)) || results_are_used(lw->node) ||
        !find_axis(lw, index, &axis) || !is_monotone(lw, index))
        return false;
    Arena *scratch = &lw->pass->scratch;
    Fixed result = *operand;
    Chain *chain = ARENA_NEW(scratch, Chain);
    *chain = operand->chain ? *operand->chain : (Chain){.axis = -1};
    Step *step = ARENA_NEW(scratch, Step);
    *step = (Step){.before = chain->last, .node = lw->node, .operand = index};
    chain->last = step;
    chain->axis = axis;
    chain->channels = axis < 0 ? 1 : type->u.shaped.dims[axis];
    result.chain = chain;
    lower_result(lw, &result);
    return true;
}

bool chain_affine(Lowering *lw, Fixed *fixed, int axis, const double *factors,
                  const double *biases)
{
    const Chain *old = fixed->chain;
    if (old && (old->last || old->biases || (factors && old->factors) || old->axis != axis))
        return false;
    Chain *chain = ARENA_NEW(&lw->pass->scratch, Chain);
    chain->axis = axis;
    chain->channels = fixed->value->type->u.shaped.dims[axis];
    chain->factors = factors ? factors : old ? old->factors : NULL;
    chain->biases = biases;
    fixed->chain = chain;
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

/* (1, channels, count) */
static const Type *candidate_type(const Type *elem, int64_t channels, int64_t count)
{
    const int64_t dims[] = {1, channels, count};
    return type_tensor(elem, dims, 3, NULL);
}

Array *chain_first(const Fixed *fixed, const Type *elem, const Array *q)
{
    const Chain *chain = fixed->chain;
    int64_t channels = q->type->u.shaped.dims[1], count = q->type->u.shaped.dims[2];
    Array *out = array_new(candidate_type(elem, channels, count));
    double scale = fixed_scale(fixed);
    for (int64_t i = 0; i < q->count; i++) {
        int64_t c = i / count;
        if (!type_is_float(elem)) {
            array_set_i64(out, i, array_get_i64(q, i) + fixed->zero);
            continue;
        }
        double factor = chain && chain->factors ? chain->factors[c] : 1.0;
        double bias = chain && chain->biases ? chain->biases[c] : 0.0;
        array_set_f64(out, i, (double)array_get_i64(q, i) * scale * factor + bias);
    }
    return out;
}

/* A step's constant as its evaluator wants it beside candidates. */
static Array *beside_candidates(const Op *node, const Array *constant)
{
    Array *copy = array_new(constant->type);
    for (int64_t i = 0; i < constant->count; i++) {
        if (type_is_float(constant->elem))
            array_set_f64(copy, i, array_get_f64(constant, i));
        else
            array_set_i64(copy, i, array_get_i64(constant, i));
    }
    if (constant->count == 1 || node->def == ONNX(BATCH_NORMALIZATION) || is_quantizer(node))
        return copy;
    return array_reshape(copy, candidate_type(constant->elem, constant->count, 1));
}

/* Applies one step; takes the reference to x. */
static Array *apply_step(Lowering *lw, const Step *step, Array *x)
{
    const Op *node = step->node;
    Array **inputs = xcalloc(node->operand_count, sizeof *inputs);
    Array **results = xcalloc(node->result_count, sizeof *results);
    for (uint32_t i = 0; i < node->operand_count; i++) {
        if (i == step->operand)
            inputs[i] = x;
        else if (onnx_operand(node, i))
            inputs[i] = beside_candidates(node, lower_array(lw, op_operand(node, i)));
    }
    strbuf_clear(&lw->why);
    bool done = onnx_eval(node, inputs, results, &lw->why);
    Array *result = done ? results[0] : NULL;
    for (uint32_t i = 1; done && i < node->result_count; i++)
        array_unref(results[i]);
    for (uint32_t i = 0; i < node->operand_count; i++)
        array_unref(inputs[i]);
    free(results);
    free(inputs);
    return result;
}

/* Steps from the first on: the list runs backwards. */
static const Step **sorted_steps(Lowering *lw, const Step *last, uint32_t *count)
{
    *count = 0;
    for (const Step *step = last; step; step = step->before)
        ++*count;
    const Step **steps = ARENA_ARRAY(&lw->pass->scratch, const Step *, *count);
    uint32_t left = *count;
    for (const Step *step = last; step; step = step->before)
        steps[--left] = step;
    return steps;
}

Array *chain_apply(Lowering *lw, const Step *last, Array *x)
{
    uint32_t count;
    const Step **steps = sorted_steps(lw, last, &count);
    for (uint32_t i = 0; x && i < count; i++)
        x = apply_step(lw, steps[i], x);
    return x;
}

Array *chain_values(Lowering *lw, const Fixed *fixed, const Type *like, const Array *q)
{
    const Step *last = fixed->chain ? fixed->chain->last : NULL;
    return chain_apply(lw, last, chain_first(fixed, type_elem(like), q));
}

/* --- in floating point ------------------------------------------------------------------------ */

/* One f64 per channel. */
static Value *channel_doubles(Lowering *lw, const double *values, int64_t count)
{
    const Type *type = type_tensor(type_float(lw->ctx, TYPE_F64), &count, 1, NULL);
    return arith_constant(&lw->b, attr_dense_f64(type, values, (size_t)count));
}

/* q * scale * factor + bias, computed in f64 and rounded once. */
static Value *build_first(Lowering *lw, const Fixed *fixed, const Type *like)
{
    const Chain *chain = fixed->chain;
    const Type *elem = type_elem(like), *f64 = type_float(lw->ctx, TYPE_F64);
    Value *inputs[3] = {fixed->value};
    uint32_t count = 1, factor = 0, bias = 0;
    if (chain && chain->factors)
        inputs[factor = count++] = channel_doubles(lw, chain->factors, chain->channels);
    if (chain && chain->biases)
        inputs[bias = count++] = channel_doubles(lw, chain->biases, chain->channels);
    Generic generic;
    uint32_t axis = chain && chain->axis >= 0 ? (uint32_t)chain->axis : 0;
    generic_along(lw, &generic, inputs, count, axis);
    generic_open(lw, &generic, build_empty(lw, like));
    Builder *b = &generic.body;
    Value *x = build_unary(b, fixed->is_unsigned ? ARITH(UITOFP) : ARITH(SITOFP), f64,
                           generic_arg(&generic, 0));
    x = build_binary(b, ARITH(MULF), f64, x,
                     build_number(b, f64, ldexp(fixed->unit, fixed->exponent)));
    if (fixed->divisor != 1)
        x = build_binary(b, ARITH(DIVF), f64, x, build_number(b, f64, (double)fixed->divisor));
    if (factor)
        x = build_binary(b, ARITH(MULF), f64, x, generic_arg(&generic, factor));
    if (bias)
        x = build_binary(b, ARITH(ADDF), f64, x, generic_arg(&generic, bias));
    if (elem != f64)
        x = build_unary(b, ARITH(TRUNCF), elem, x);
    return generic_close(&generic, x);
}

Value *chain_build(Lowering *lw, const Fixed *fixed, const Type *like)
{
    uint32_t count;
    const Step **steps = sorted_steps(lw, fixed->chain ? fixed->chain->last : NULL, &count);
    Op *node = lw->node;
    Value *x = build_first(lw, fixed, like);
    for (uint32_t i = 0; x && i < count; i++) {
        lw->node = (Op *)steps[i]->node;
        x = build_plain_node(lw, steps[i]->operand, x);
    }
    lw->node = node;
    return x;
}
