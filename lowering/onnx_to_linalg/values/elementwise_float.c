/* Element-wise nodes as kernels on plain tensors, broadcast by numpy's rules.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-elementwise.mir, test/e2e/onnx_cases.py */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/values/values.h"

bool lower_is_elementwise(const Op *node)
{
    switch (node->def - onnx_ops) {
    case ONNX_ABS:
    case ONNX_ADD:
    case ONNX_AND:
    case ONNX_BATCH_NORMALIZATION:
    case ONNX_CAST:
    case ONNX_CEIL:
    case ONNX_CELU:
    case ONNX_CLIP:
    case ONNX_COS:
    case ONNX_DIV:
    case ONNX_ELU:
    case ONNX_EQUAL:
    case ONNX_ERF:
    case ONNX_EXP:
    case ONNX_FLOOR:
    case ONNX_GELU:
    case ONNX_GREATER:
    case ONNX_GREATER_OR_EQUAL:
    case ONNX_HARD_SIGMOID:
    case ONNX_HARD_SWISH:
    case ONNX_LEAKY_RELU:
    case ONNX_LESS:
    case ONNX_LESS_OR_EQUAL:
    case ONNX_LOG:
    case ONNX_MAX:
    case ONNX_MEAN:
    case ONNX_MIN:
    case ONNX_MISH:
    case ONNX_MOD:
    case ONNX_MUL:
    case ONNX_NEG:
    case ONNX_NOT:
    case ONNX_OR:
    case ONNX_POW:
    case ONNX_PRELU:
    case ONNX_RECIPROCAL:
    case ONNX_RELU:
    case ONNX_ROUND:
    case ONNX_SELU:
    case ONNX_SHRINK:
    case ONNX_SIGMOID:
    case ONNX_SIGN:
    case ONNX_SIN:
    case ONNX_SOFTPLUS:
    case ONNX_SOFTSIGN:
    case ONNX_SQRT:
    case ONNX_SUB:
    case ONNX_SUM:
    case ONNX_SWISH:
    case ONNX_TANH:
    case ONNX_THRESHOLDED_RELU:
    case ONNX_WHERE:
    case ONNX_XOR: return true;
    default: return false;
    }
}

/* Opens a kernel of plain inputs that are stretched to the type's shape. */
static void open_kernel(OnnxLowering *lw, Generic *generic, Value *const *inputs, uint32_t count,
                        const Type *type)
{
    generic_broadcast(lw, generic, inputs, count, type);
    generic_open(lw, generic, lower_build_empty(lw, type));
}

static Value *unsupported(OnnxLowering *lw)
{
    onnx_error(lw->node, "has no arithmetic for operands of these types");
    return NULL;
}

/* The node on some of its operands, with a result of the given type. */
static Value *apply(OnnxLowering *lw, Value *const *inputs, uint32_t count, const Type *type)
{
    Generic generic;
    Value *args[GENERIC_MAX_INPUTS];
    bool is_unsigned = lower_is_unsigned_elem(op_operand(lw->node, 0)->type);
    open_kernel(lw, &generic, inputs, count, type);
    for (uint32_t i = 0; i < count; i++) args[i] = generic_arg(&generic, i);
    Value *y =
        lower_build_scalar(&generic.body, lw->node, type_elem(type), args, count, is_unsigned);
    if (!y) {
        op_erase(generic.op);
        return unsupported(lw);
    }
    return generic_close(&generic, y);
}

/* The factors and terms of x * scale / sqrt(var + epsilon) + (B - mean * ...), per channel. False:
 * diagnosed, a variance has no root to divide by. */
static bool fold_batch_norm(const Op *op, const Array *const *params, Array *factors, Array *terms)
{
    double epsilon = onnx_float(op, "epsilon", 1e-5);
    for (int64_t c = 0; c < factors->count; c++) {
        double variance = array_get_f64(params[3], c);
        double factor = array_get_f64(params[0], c) / sqrt(variance + epsilon);
        if (!(variance + epsilon > 0))
            return onnx_error(op,
                              "divides by the root of %g, the variance %g of channel %lld plus "
                              "epsilon %g",
                              variance + epsilon, variance, (long long)c, epsilon);
        array_set_f64(factors, c, factor);
        array_set_f64(terms, c, array_get_f64(params[1], c) - array_get_f64(params[2], c) * factor);
    }
    return true;
}

/* One product and one sum per channel, which is an index of x's dimension `axis`. */
static Value *build_batch_norm(OnnxLowering *lw, Value *x, uint32_t axis)
{
    const Op *op = lw->node;
    const Array *params[4];
    if (onnx_int(op, "training_mode", 0) != 0) {
        onnx_error(op,
                   "takes mean and variance of its input (training_mode), which is not supported");
        return NULL;
    }
    for (uint32_t i = 0; i < COUNT_OF(params); i++) {
        params[i] = lower_array(lw, op_operand(op, i + 1));
        if (!params[i]) {
            onnx_error(op, "needs constants for scale, bias, mean and variance");
            return NULL;
        }
    }
    Array *factors = array_new(params[0]->type), *terms = array_new(params[0]->type);
    Value *inputs[] = {x, NULL, NULL};
    bool ok = fold_batch_norm(op, params, factors, terms);
    if (ok) {
        inputs[1] = arith_constant(&lw->b, array_to_attr(factors));
        inputs[2] = arith_constant(&lw->b, array_to_attr(terms));
    }
    array_unref(factors);
    array_unref(terms);
    if (!ok) return NULL;
    Generic generic;
    const Type *elem = type_elem(x->type);
    generic_along(lw, &generic, inputs, 3, axis);
    generic_open(lw, &generic, lower_build_empty(lw, x->type));
    Builder *b = &generic.body;
    Value *y = generic_arg(&generic, 0);
    y = build_binary(b, ARITH(MULF), elem, y, generic_arg(&generic, 1));
    return generic_close(&generic, build_binary(b, ARITH(ADDF), elem, y, generic_arg(&generic, 2)));
}

/* min(max(x, low), high), where either bound may be absent. */
static Value *build_clip(OnnxLowering *lw, Value *x)
{
    Value *inputs[3] = {x};
    const OpDef *defs[3] = {NULL};
    uint32_t count = 1;
    const Type *elem = type_elem(x->type);
    bool is_float = type_is_float(elem);
    bool is_unsigned = lower_is_unsigned_elem(op_operand(lw->node, 0)->type);
    for (uint32_t i = 1; i <= 2; i++) {
        if (!onnx_operand(lw->node, i)) continue;
        inputs[count] = lower_plain(lw, i);
        if (!inputs[count]) return NULL;
        if (i == 1)
            defs[count] = is_float ? ARITH(MAXIMUMF) : is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI);
        else
            defs[count] = is_float ? ARITH(MINIMUMF) : is_unsigned ? ARITH(MINUI) : ARITH(MINSI);
        count++;
    }
    Generic generic;
    open_kernel(lw, &generic, inputs, count, x->type);
    Value *y = generic_arg(&generic, 0);
    for (uint32_t i = 1; i < count; i++)
        y = build_binary(&generic.body, defs[i], elem, y, generic_arg(&generic, i));
    return generic_close(&generic, y);
}

/* Max, Min, Sum, Mean of any number of operands, two at a time. */
static Value *build_variadic(OnnxLowering *lw, Value *const *inputs, uint32_t count,
                             const Type *type)
{
    Value *y = inputs[0];
    for (uint32_t i = 1; y && i < count; i++)
        y = apply(lw, (Value *const[]){y, inputs[i]}, 2, type);
    if (!y || lw->node->def != ONNX(MEAN) || count == 1) return y;
    Generic generic;
    open_kernel(lw, &generic, &y, 1, type);
    Builder *b = &generic.body;
    Value *divisor = lower_build_float(b, type_elem(type), (double)count);
    return generic_close(
        &generic, build_binary(b, ARITH(DIVF), type_elem(type), generic_arg(&generic, 0), divisor));
}

static bool is_variadic(const Op *op)
{
    return op->def == ONNX(MAX) || op->def == ONNX(MIN) || op->def == ONNX(SUM) ||
           op->def == ONNX(MEAN);
}

Value *lower_build_plain_on(OnnxLowering *lw, Value *const *inputs, uint32_t count,
                            const Type *type)
{
    return is_variadic(lw->node) ? build_variadic(lw, inputs, count, type)
                                 : apply(lw, inputs, count, type);
}

/* A constant operand of the node in the rank of x, its channels along the axis. */
static Value *constant_along(OnnxLowering *lw, uint32_t index, const Value *x, int axis)
{
    int64_t dims[ONNX_MAX_RANK];
    const Array *constant = lower_array(lw, op_operand(lw->node, index));
    uint32_t rank = x->type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) dims[i] = (int)i == axis ? constant->count : 1;
    const Type *one = type_tensor(constant->elem, NULL, 0, NULL);
    const Type *along = type_tensor(constant->elem, dims, rank, NULL);
    return lower_build_array(lw, constant, constant->count == 1 ? one : along);
}

Value *lower_build_plain_along(OnnxLowering *lw, uint32_t index, Value *x, int axis)
{
    const Op *op = lw->node;
    if (op->def == ONNX(BATCH_NORMALIZATION)) return build_batch_norm(lw, x, (uint32_t)axis);
    if (op->def == ONNX(CLIP)) return build_clip(lw, x);
    Value **inputs = ARENA_ARRAY(&lw->pass->scratch, Value *, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        inputs[i] = i == index ? x : constant_along(lw, i, x, axis);
    return lower_build_plain_on(lw, inputs, op->operand_count, x->type);
}

Value *lower_build_plain_node(OnnxLowering *lw, uint32_t index, Value *x)
{
    const Op *op = lw->node;
    if (op->def == ONNX(BATCH_NORMALIZATION)) return build_batch_norm(lw, x, 1);
    if (op->def == ONNX(CLIP)) return build_clip(lw, x);
    Value **inputs = ARENA_ARRAY(&lw->pass->scratch, Value *, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        inputs[i] = i == index ? x : lower_plain(lw, i);
        if (!inputs[i]) return NULL;
    }
    const Type *type = lower_plain_type(op_result(op, 0)->type);
    return lower_build_plain_on(lw, inputs, op->operand_count, type);
}
