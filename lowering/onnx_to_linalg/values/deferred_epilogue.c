/* Deferred epilogues: what the network does to integers before it quantizes them again. An epilogue
 * is not computed where it arises, because by itself it has no exact integer form. A quantizer
 * takes it in as a whole; only where a plain tensor is needed it is built as floating-point
 * arithmetic.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-deferred-epilogue.mir,
 * test/e2e/import_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/values/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

/* Ops of an epilogue. They are limited because their evaluation recurses. */
enum { MAX_EPILOGUE_OPS = 256 };

/* The dimension of a result of that rank along which a constant differs: -1 if it is the same
 * everywhere, -2 if it differs along several. */
static int varying_axis(const Array *constant, uint32_t rank)
{
    int axis = -1;
    uint32_t own = constant->type->u.shaped.rank;
    for (uint32_t i = 0; i < own; i++) {
        if (constant->type->u.shaped.dims[i] == 1) continue;
        if (axis != -1 || own > rank) return -2;
        axis = (int)(rank - own + i);
    }
    return axis;
}

/* Joins the axis of one more constant; false when two differ. */
static bool join_axis(int *axis, int other)
{
    if (other == -1 || other == *axis) return true;
    bool first = *axis == -1 && other >= 0;
    *axis = first ? other : *axis;
    return first;
}

/* Whether both are the same integers with the same meaning, steps aside. */
static bool same_base(const Fixed *a, const Fixed *b)
{
    const Epilogue *left = a->epilogue, *right = b->epilogue;
    return a->value == b->value && a->unit == b->unit && a->exponent == b->exponent &&
           a->divisor == b->divisor && a->zero == b->zero &&
           (left ? left->factors : NULL) == (right ? right->factors : NULL) &&
           (left ? left->biases : NULL) == (right ? right->biases : NULL);
}

/* The operand beside operand `index`, if it is made of the same integers; NULL: it is not. */
static const Fixed *joined_operand(OnnxLowering *lw, uint32_t index)
{
    const Op *op = lw->node;
    if (op->operand_count != 2 || lower_array(lw, op_operand(op, 1 - index))) return NULL;
    const Fixed *x = lower_fixed(lw, index), *y = lower_fixed(lw, 1 - index);
    bool same_type = op_operand(op, 0)->type == op_operand(op, 1)->type;
    return x && y && same_type && same_base(x, y) ? y : NULL;
}

/* The axis that the node's constants and the epilogue share. */
static bool find_axis(OnnxLowering *lw, uint32_t index, int *axis)
{
    const Op *op = lw->node;
    uint32_t rank = op_result(op, 0)->type->u.shaped.rank;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i == index || !onnx_operand(op, i)) continue;
        const Array *constant = lower_array(lw, op_operand(op, i));
        if (!constant) return false;
        bool is_batch_norm = op->def == ONNX(BATCH_NORMALIZATION);
        if (!join_axis(axis, is_batch_norm ? 1 : varying_axis(constant, rank))) return false;
    }
    return true;
}

static bool results_are_used(const Op *op)
{
    for (uint32_t i = 1; i < op->result_count; i++)
        if (value_has_uses(op_result(op, i))) return true;
    return false;
}

/* Whether the node works index by index on the operand and keeps its type. */
static bool is_scalar_function(const Op *op, uint32_t index)
{
    const Type *type = op_result(op, 0)->type;
    bool is_bound = op->def == ONNX(CLIP) && index > 0; /* of which there is one for all elements */
    return lower_is_elementwise(op) && op_operand(op, index)->type == type && !is_bound &&
           type_is_float(type_elem(type)) && !results_are_used(op);
}

EpilogueOp *epilogue_append_op(OnnxLowering *lw, const EpilogueOp *before, const Op *node,
                               uint32_t operand)
{
    uint32_t size = 1 + (before ? before->size : 0);
    if (size > MAX_EPILOGUE_OPS) return NULL;
    EpilogueOp *step = ARENA_NEW(&lw->pass->scratch, EpilogueOp);
    *step = (EpilogueOp){.before = before, .node = node, .operand = operand, .size = size};
    return step;
}

/* Updates the monotonicity of an epilogue that gets one more op. */
static void set_monotonicity(OnnxLowering *lw, Epilogue *epilogue, const EpilogueOp *step)
{
    Monotonicity monotonicity;
    double extremum = 0.0;
    if (!step->joins)
        monotonicity = monotonicity_of_node(lw, step->operand, &extremum);
    else if (step->node->def == ONNX(MUL))
        monotonicity = monotonicity_of_product(lw, step->before, step->other, &extremum);
    else
        monotonicity = NOT_MONOTONE;
    if (monotonicity == MONOTONE) return;
    if (epilogue->monotonicity != MONOTONE) monotonicity = NOT_MONOTONE;
    epilogue->monotonicity = monotonicity;
    epilogue->extremum_op = step;
    epilogue->extremum = extremum;
}

static Monotonicity monotonicity_of(const Fixed *fixed)
{
    return fixed->epilogue ? fixed->epilogue->monotonicity : MONOTONE;
}

static const EpilogueOp *last_step(const Fixed *fixed)
{
    return fixed->epilogue ? fixed->epilogue->last : NULL;
}

/* x op y for two values of the same integers, of which the one with more steps is y. */
static bool join(OnnxLowering *lw, uint32_t index, const Fixed *x, const Fixed *y)
{
    const EpilogueOp *before = last_step(x), *other = last_step(y);
    int axis = x->epilogue ? x->epilogue->axis : -1;
    if ((y->epilogue && !join_axis(&axis, y->epilogue->axis)) ||
        (other ? other->size : 0) > MAX_EPILOGUE_OPS / 2)
        return false;
    EpilogueOp *step = epilogue_append_op(lw, before, lw->node, index);
    if (!step) return false;
    step->joins = true;
    step->other = other;
    step->size += other ? other->size : 0;
    Epilogue *epilogue = ARENA_NEW(&lw->pass->scratch, Epilogue);
    *epilogue = y->epilogue ? *y->epilogue : (Epilogue){.axis = -1};
    epilogue->monotonicity = monotonicity_of(x);
    set_monotonicity(lw, epilogue, step);
    epilogue->last = step;
    epilogue->axis = axis;
    epilogue->channels = axis < 0 ? 1 : op_result(lw->node, 0)->type->u.shaped.dims[axis];
    Fixed result = *x;
    result.epilogue = epilogue;
    lower_result(lw, &result);
    return true;
}

bool epilogue_takes(OnnxLowering *lw, uint32_t index, int *axis)
{
    *axis = -1;
    return is_scalar_function(lw->node, index) && find_axis(lw, index, axis);
}

bool epilogue_extend(OnnxLowering *lw, const Fixed *x, uint32_t index, Fixed *out)
{
    int axis = x->epilogue ? x->epilogue->axis : -1, old = axis;
    if (!find_axis(lw, index, &axis)) return false;
    EpilogueOp *step = epilogue_append_op(lw, last_step(x), lw->node, index);
    if (!step) return false;
    Epilogue *epilogue = ARENA_NEW(&lw->pass->scratch, Epilogue);
    *epilogue = x->epilogue ? *x->epilogue : (Epilogue){.axis = -1, .channels = 1};
    set_monotonicity(lw, epilogue, step);
    epilogue->last = step;
    epilogue->axis = axis;
    if (axis != old) epilogue->channels = op_result(lw->node, 0)->type->u.shaped.dims[axis];
    *out = *x;
    out->epilogue = epilogue;
    return true;
}

bool epilogue_append(OnnxLowering *lw, uint32_t index)
{
    const Fixed *operand = lower_fixed(lw, index);
    if (!operand || !is_scalar_function(lw->node, index)) return false;
    const Fixed *beside = joined_operand(lw, index);
    const EpilogueOp *last = last_step(operand);
    if (beside) {
        bool is_longer = last && (!last_step(beside) || last->size > last_step(beside)->size);
        return is_longer ? join(lw, 1 - index, beside, operand) : join(lw, index, operand, beside);
    }
    Fixed result;
    if (!epilogue_extend(lw, operand, index, &result)) return false;
    lower_result(lw, &result);
    return true;
}

bool epilogue_affine(OnnxLowering *lw, Fixed *fixed, int axis, const double *factors,
                     const double *biases)
{
    const Epilogue *old = fixed->epilogue;
    if (old && (old->last || old->biases || (factors && old->factors) || old->axis != axis))
        return false;
    Epilogue *epilogue = ARENA_NEW(&lw->pass->scratch, Epilogue);
    epilogue->axis = axis;
    epilogue->channels = fixed->value->type->u.shaped.dims[axis];
    epilogue->factors = factors ? factors : old ? old->factors : NULL;
    epilogue->biases = biases;
    fixed->epilogue = epilogue;
    return true;
}

/* (1, channels, count) */
static const Type *candidate_type(const Type *elem, int64_t channels, int64_t count)
{
    const int64_t dims[] = {1, channels, count};
    return type_tensor(elem, dims, 3, NULL);
}

Array *epilogue_first(const Fixed *fixed, const Type *elem, const Array *q)
{
    const Epilogue *epilogue = fixed->epilogue;
    int64_t channels = q->type->u.shaped.dims[1], count = q->type->u.shaped.dims[2];
    Array *out = array_new(candidate_type(elem, channels, count));
    double scale = fixed_scale(fixed);
    for (int64_t i = 0; i < q->count; i++) {
        int64_t c = i / count;
        if (!type_is_float(elem)) {
            array_set_i64(out, i, array_get_i64(q, i) + fixed->zero);
            continue;
        }
        double factor = epilogue && epilogue->factors ? epilogue->factors[c] : 1.0;
        double bias = epilogue && epilogue->biases ? epilogue->biases[c] : 0.0;
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
    if (node->def == ONNX(BATCH_NORMALIZATION) || lower_is_quantizer(node)) return copy;
    if (constant->count == 1)
        return array_reshape(copy, type_tensor(constant->elem, NULL, 0, NULL));
    return array_reshape(copy, candidate_type(constant->elem, constant->count, 1));
}

/* Thresholds per channel of a tensor with channels last, as in "NC", are compared with such one: x as
 * (1, channels, n) in the shape (1, ..., n, channels), or back. */
static Array *turn_channels(const Op *node, Array *x, bool to_last)
{
    int64_t dims[ONNX_MAX_RANK], channels, count;
    uint32_t rank = to_last ? op_operand(node, 0)->type->u.shaped.rank : 3;
    const int64_t *from = x->type->u.shaped.dims;
    uint32_t own = x->type->u.shaped.rank;
    channels = from[to_last ? 1 : own - 1];
    count = from[to_last ? 2 : own - 2];
    for (uint32_t i = 0; i < rank; i++) dims[i] = 1;
    dims[rank - 2] = to_last ? count : channels;
    dims[rank - 1] = to_last ? channels : count;
    Array *y = array_new(type_tensor(type_elem(x->type), dims, rank, NULL));
    for (int64_t i = 0; i < x->count; i++) {
        int64_t inner = to_last ? count : channels, outer = to_last ? channels : count;
        array_copy(y, i % inner * outer + i / inner, x, i);
    }
    array_unref(x);
    return y;
}

static bool has_channels_last(const Op *node)
{
    uint32_t axis;
    return node->def == ONNX(MULTI_THRESHOLD) && onnx_multi_threshold_axis(node, &axis) &&
           axis + 1 == op_operand(node, 0)->type->u.shaped.rank &&
           op_operand(node, 1)->type->u.shaped.dims[0] != 1;
}

/* Applies one step; takes the references to x and, where the step joins, y. */
static Array *apply_step(OnnxLowering *lw, const EpilogueOp *step, Array *x, Array *y)
{
    const Op *node = step->node;
    bool turns = has_channels_last(node);
    Array **inputs = xcalloc(node->operand_count, sizeof *inputs);
    Array **results = xcalloc(node->result_count, sizeof *results);
    for (uint32_t i = 0; i < node->operand_count; i++) {
        if (i == step->operand)
            inputs[i] = turns ? turn_channels(node, x, true) : x;
        else if (step->joins)
            inputs[i] = y;
        else if (onnx_operand(node, i))
            inputs[i] = beside_candidates(node, lower_array(lw, op_operand(node, i)));
    }
    strbuf_clear(&lw->why);
    bool done = onnx_eval(node, inputs, INT64_MAX, results, &lw->why);
    Array *result = done ? results[0] : NULL;
    for (uint32_t i = 1; done && i < node->result_count; i++) array_unref(results[i]);
    for (uint32_t i = 0; i < node->operand_count; i++) array_unref(inputs[i]);
    free(results);
    free(inputs);
    return result && turns ? turn_channels(node, result, false) : result;
}

Array *epilogue_apply(OnnxLowering *lw, const EpilogueOp *last, Array *x)
{
    if (!last) return x;
    Array *first = array_ref(x);
    Array *before = epilogue_apply(lw, last->before, x);
    Array *other = before && last->joins ? epilogue_apply(lw, last->other, array_ref(first)) : NULL;
    array_unref(first);
    if (!before || (last->joins && !other)) {
        array_unref(before);
        return NULL;
    }
    return apply_step(lw, last, before, other);
}

Array *epilogue_values(OnnxLowering *lw, const Fixed *fixed, const Type *like, const Array *q)
{
    const EpilogueOp *last = fixed->epilogue ? fixed->epilogue->last : NULL;
    return epilogue_apply(lw, last, epilogue_first(fixed, type_elem(like), q));
}

/* One f64 per channel. */
static Value *channel_doubles(OnnxLowering *lw, const double *values, int64_t count)
{
    const Type *type = type_tensor(type_float(lw->ctx, TYPE_F64), &count, 1, NULL);
    return arith_constant(&lw->b, attr_dense_f64(type, values, (size_t)count));
}

/* q * scale * factor + bias, computed in f64 and rounded once. */
static Value *build_first(OnnxLowering *lw, const Fixed *fixed, const Type *like)
{
    const Epilogue *epilogue = fixed->epilogue;
    const Type *elem = type_elem(like), *f64 = type_float(lw->ctx, TYPE_F64);
    Value *inputs[3] = {fixed->value};
    uint32_t count = 1, factor = 0, bias = 0;
    if (epilogue && epilogue->factors)
        inputs[factor = count++] = channel_doubles(lw, epilogue->factors, epilogue->channels);
    if (epilogue && epilogue->biases)
        inputs[bias = count++] = channel_doubles(lw, epilogue->biases, epilogue->channels);
    Generic generic;
    uint32_t axis = epilogue && epilogue->axis >= 0 ? (uint32_t)epilogue->axis : 0;
    generic_along(lw, &generic, inputs, count, axis);
    generic_open(lw, &generic, lower_build_empty(lw, like));
    Builder *b = &generic.body;
    Value *x = build_unary(b, fixed->is_unsigned ? ARITH(UITOFP) : ARITH(SITOFP), f64,
                           generic_arg(&generic, 0));
    x = build_binary(b, ARITH(MULF), f64, x,
                     lower_build_number(b, f64, ldexp(fixed->unit, fixed->exponent)));
    if (fixed->divisor != 1)
        x = build_binary(b, ARITH(DIVF), f64, x,
                         lower_build_number(b, f64, (double)fixed->divisor));
    if (factor) x = build_binary(b, ARITH(MULF), f64, x, generic_arg(&generic, factor));
    if (bias) x = build_binary(b, ARITH(ADDF), f64, x, generic_arg(&generic, bias));
    if (elem != f64) x = build_unary(b, ARITH(TRUNCF), elem, x);
    return generic_close(&generic, x);
}

/* The step's value from that of the integers, in their shape: they may have been moved since the
 * step was deferred. */
static Value *build_step(OnnxLowering *lw, const EpilogueOp *step, Value *first, int axis)
{
    Value *operands[2];
    if (!step) return first;
    Value *before = build_step(lw, step->before, first, axis);
    Value *other = before && step->joins ? build_step(lw, step->other, first, axis) : NULL;
    lw->node = (Op *)step->node;
    if (!before || !step->joins)
        return before ? lower_build_plain_along(lw, step->operand, before, axis) : NULL;
    operands[step->operand] = before;
    operands[1 - step->operand] = other;
    return other ? lower_build_plain_on(lw, operands, 2, first->type) : NULL;
}

Value *epilogue_build(OnnxLowering *lw, const Fixed *fixed, const Type *like)
{
    Op *node = lw->node;
    int axis = fixed->epilogue ? fixed->epilogue->axis : -1;
    Value *x = build_step(lw, last_step(fixed), build_first(lw, fixed, like), axis);
    lw->node = node;
    return x;
}
