/* The knowledge of onnx-quantize about operators: those that the lowering takes into a
 * requantization, those that keep the integers that they get, and the operands that are weights.
 * Tests: lit/passes/onnx/onnx-quantize.mir */
#include "passes/onnx/internal.h"

bool quantize_is_done(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_QUANTIZE_LINEAR:
    case ONNX_DEQUANTIZE_LINEAR:
    case ONNX_DYNAMIC_QUANTIZE_LINEAR:
    case ONNX_QUANT:
    case ONNX_INT_QUANT:
    case ONNX_BIPOLAR_QUANT:
    case ONNX_TRUNC:
    case ONNX_MULTI_THRESHOLD:
    case ONNX_CONV_INTEGER:
    case ONNX_MATMUL_INTEGER:
    case ONNX_QLINEAR_CONV:
    case ONNX_QLINEAR_MATMUL: return true;
    default: return false;
    }
}

static bool is_elementwise(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_ADD:
    case ONNX_BATCH_NORMALIZATION:
    case ONNX_CEIL:
    case ONNX_CELU:
    case ONNX_CLIP:
    case ONNX_DIV:
    case ONNX_ELU:
    case ONNX_ERF:
    case ONNX_EXP:
    case ONNX_FLOOR:
    case ONNX_GELU:
    case ONNX_HARD_SIGMOID:
    case ONNX_HARD_SWISH:
    case ONNX_LEAKY_RELU:
    case ONNX_MAX:
    case ONNX_MIN:
    case ONNX_MISH:
    case ONNX_MUL:
    case ONNX_NEG:
    case ONNX_PRELU:
    case ONNX_RELU:
    case ONNX_ROUND:
    case ONNX_SELU:
    case ONNX_SHRINK:
    case ONNX_SIGMOID:
    case ONNX_SOFTPLUS:
    case ONNX_SOFTSIGN:
    case ONNX_SUB:
    case ONNX_SWISH:
    case ONNX_TANH:
    case ONNX_THRESHOLDED_RELU: return true;
    default: return false;
    }
}

/* Whether each element of the result comes from one element of a tensor and of constants. */
static bool is_function(const Op *op)
{
    uint32_t variables = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *value = onnx_operand(op, i);
        variables += value && !onnx_constant(value);
    }
    return is_elementwise(op) && variables == 1;
}

bool quantize_follows(const Op *op, const Value *operand)
{
    return op->def && op->def->dialect == &onnx_dialect &&
           op_result(op, 0)->type == operand->type && is_function(op);
}

bool quantize_can_wait(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_ADD:
    case ONNX_AVERAGE_POOL:
    case ONNX_CONV:
    case ONNX_CONV_TRANSPOSE:
    case ONNX_GEMM:
    case ONNX_GLOBAL_AVERAGE_POOL:
    case ONNX_MATMUL:
    case ONNX_MUL:
    case ONNX_REDUCE_MEAN:
    case ONNX_REDUCE_SUM:
    case ONNX_SUB: return true;
    default: return is_function(op);
    }
}

/* Whether padding adds zeros or elements of the input. */
static bool pads_with_zeros(const Op *pad)
{
    const Value *fill = onnx_operand(pad, 2);
    const Attr *value = fill ? onnx_constant(fill) : NULL;
    if (!fill || !str_eq_c(onnx_string(pad, "mode", "constant"), "constant")) return true;
    return value && dense_count(value) == 1 && onnx_dense_number(value, 0) == 0.0;
}

bool quantize_only_moves(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_DEPTH_TO_SPACE:
    case ONNX_DROPOUT:
    case ONNX_EXPAND:
    case ONNX_FLATTEN:
    case ONNX_GATHER:
    case ONNX_GLOBAL_MAX_POOL:
    case ONNX_IDENTITY:
    case ONNX_MAX_POOL:
    case ONNX_REDUCE_MAX:
    case ONNX_REDUCE_MIN:
    case ONNX_RELU:
    case ONNX_RESHAPE:
    case ONNX_SLICE:
    case ONNX_SPACE_TO_DEPTH:
    case ONNX_SPLIT:
    case ONNX_SQUEEZE:
    case ONNX_TILE:
    case ONNX_TRANSPOSE:
    case ONNX_UNSQUEEZE: return true;
    case ONNX_PAD: return pads_with_zeros(op);
    case ONNX_RESIZE:
    case ONNX_UPSAMPLE: return str_eq_c(onnx_string(op, "mode", "nearest"), "nearest");
    default: return false;
    }
}

/* Dimension of a matrix product's right operand that numbers the result's columns. */
static int column_axis(const Op *op)
{
    int rank = (int)op_operand(op, 1)->type->u.shaped.rank;
    bool is_transposed = op->def == ONNX(GEMM) && onnx_int(op, "transB", 0) != 0;
    return rank < 2 ? -1 : is_transposed ? rank - 2 : rank - 1;
}

/* Whether the value has several dimensions along which it may differ. */
static bool has_several_extents(const Value *value)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < value->type->u.shaped.rank; i++)
        count += value->type->u.shaped.dims[i] != 1;
    return count > 1;
}

bool quantize_is_weight(const Op *op, uint32_t index, int *axis)
{
    *axis = -1;
    switch (op->def - onnx_ops) {
    case ONNX_CONV: *axis = 0; return index == 1;
    case ONNX_CONV_TRANSPOSE: /* groups share the scales of a dimension that counts one group's */
        *axis = onnx_int(op, "group", 1) == 1 ? 1 : -1;
        return index == 1;
    case ONNX_GEMM:
    case ONNX_MATMUL: *axis = index == 1 ? column_axis(op) : -1; return index < 2;
    case ONNX_CONCAT: return true;
    case ONNX_ADD:
    case ONNX_SUB: return has_several_extents(op_operand(op, index));
    default: return false;
    }
}
