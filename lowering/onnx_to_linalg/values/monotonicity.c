/* Monotonicity: how a node's result changes as one operand grows and the others are constant. These
 * facts about operators allow to search the thresholds of a quantizer by bisection where all
 * integers would have to be tried else.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-thresholds.mir,
 * test/e2e/qdq_check.py */
#include "lowering/onnx_to_linalg/values/internal.h"

static bool all_at_least_zero(const Array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        if (!(array_get_f64(array, i) >= 0.0)) return false;
    return true;
}

static Monotonicity unimodal_at(double at, double *extremum)
{
    *extremum = at;
    return UNIMODAL;
}

/* A slope below x = 0 that differs from the 1 above it. */
static Monotonicity by_slope(bool rises, double *extremum)
{
    return rises ? MONOTONE : unimodal_at(0.0, extremum);
}

/* Rises as long as the steps at both ends of the gap do. */
static Monotonicity shrink_monotonicity(const Op *op)
{
    double lambd = onnx_float(op, "lambd", 0.5), bias = onnx_float(op, "bias", 0.0);
    return lambd >= 0.0 && bias <= lambd ? MONOTONE : NOT_MONOTONE;
}

/* u / (1 + e^-u) / alpha with u = alpha * x; half of x if alpha is 0. */
static Monotonicity swish_monotonicity(double alpha, double *extremum)
{
    return alpha == 0.0 ? MONOTONE : unimodal_at(-1.27846454276107380 / alpha, extremum);
}

static Monotonicity first_operand_monotonicity(OnnxLowering *lw, double *extremum)
{
    const Op *op = lw->node;
    switch (op->def - onnx_ops) {
    case ONNX_BATCH_NORMALIZATION:
    case ONNX_CAST:
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
    case ONNX_SIGMOID:
    case ONNX_SIGN:
    case ONNX_SOFTPLUS:
    case ONNX_SOFTSIGN:
    case ONNX_TANH: return MONOTONE;
    case ONNX_ABS: return unimodal_at(0.0, extremum);
    case ONNX_ELU: return by_slope(onnx_float(op, "alpha", 1.0) >= 0.0, extremum);
    case ONNX_SELU: return by_slope(onnx_float(op, "alpha", 1.6732632423543772) >= 0.0, extremum);
    case ONNX_LEAKY_RELU: return by_slope(onnx_float(op, "alpha", 0.01) >= 0.0, extremum);
    case ONNX_PRELU:
        return by_slope(all_at_least_zero(lower_array(lw, op_operand(op, 1))), extremum);
    case ONNX_CELU: return onnx_float(op, "alpha", 1.0) > 0.0 ? MONOTONE : NOT_MONOTONE;
    case ONNX_THRESHOLDED_RELU:
        return onnx_float(op, "alpha", 1.0) >= 0.0 ? MONOTONE : NOT_MONOTONE;
    case ONNX_SHRINK: return shrink_monotonicity(op);
    case ONNX_MISH: return unimodal_at(-1.19243121451549540, extremum);
    case ONNX_SWISH: return swish_monotonicity(onnx_float(op, "alpha", 1.0), extremum);
    case ONNX_HARD_SWISH: return unimodal_at(-1.5, extremum);
    case ONNX_GELU:
        return unimodal_at(str_eq_c(onnx_string(op, "approximate", "none"), "tanh")
                               ? -0.75246142207101630
                               : -0.75179152469356450,
                           extremum);
    default: return NOT_MONOTONE;
    }
}

Monotonicity monotonicity_of_node(OnnxLowering *lw, uint32_t index, double *extremum)
{
    switch (lw->node->def - onnx_ops) {
    case ONNX_ADD:
    case ONNX_MAX:
    case ONNX_MEAN:
    case ONNX_MIN:
    case ONNX_MUL:
    case ONNX_SUB:
    case ONNX_SUM: return MONOTONE;
    default: return index == 0 ? first_operand_monotonicity(lw, extremum) : NOT_MONOTONE;
    }
}

/* A constant operand that is one number. */
static bool number(OnnxLowering *lw, const Op *op, uint32_t index, double *out)
{
    const Array *array = onnx_operand(op, index) ? lower_array(lw, op_operand(op, index)) : NULL;
    if (!array || array->count != 1) return false;
    *out = array_get_f64(array, 0);
    return true;
}

/* x * clip(alpha * x + beta, 0, 1), whose minimum is that of the parabola. */
static Monotonicity hard_swish_monotonicity(double alpha, double beta, double *extremum)
{
    bool is_inside = alpha > 0.0 && beta >= 0.0 && beta <= 2.0;
    return is_inside ? unimodal_at(-beta / (2.0 * alpha), extremum) : NOT_MONOTONE;
}

/* x * clip(x + beta, 0, high) */
static Monotonicity clipped_monotonicity(OnnxLowering *lw, const Op *clip, const Op *add,
                                         double *extremum)
{
    double low, high, beta;
    if (!number(lw, clip, 1, &low) || !number(lw, clip, 2, &high) || low != 0.0 || high <= 0.0)
        return NOT_MONOTONE;
    if (!number(lw, add, 1, &beta) && !number(lw, add, 0, &beta)) return NOT_MONOTONE;
    return hard_swish_monotonicity(1.0 / high, beta / high, extremum);
}

Monotonicity monotonicity_of_product(OnnxLowering *lw, const EpilogueOp *x, const EpilogueOp *f,
                                     double *extremum)
{
    const EpilogueOp *inner = f && f != x ? f->before : NULL;
    if (f == x) return unimodal_at(0.0, extremum);
    if (!f || f->joins) return NOT_MONOTONE;
    bool is_one = inner == x;
    bool is_two = inner && !inner->joins && inner->before == x;
    if (is_one && f->node->def == ONNX(SIGMOID)) return unimodal_at(-1.27846454276107380, extremum);
    if (is_one && f->node->def == ONNX(HARD_SIGMOID))
        return hard_swish_monotonicity(onnx_float(f->node, "alpha", 0.2),
                                       onnx_float(f->node, "beta", 0.5), extremum);
    if (is_two && f->node->def == ONNX(TANH) && inner->node->def == ONNX(SOFTPLUS))
        return unimodal_at(-1.19243121451549540, extremum);
    if (is_two && f->node->def == ONNX(CLIP) && inner->node->def == ONNX(ADD))
        return clipped_monotonicity(lw, f->node, inner->node, extremum);
    return NOT_MONOTONE;
}

/* The constant of a channel that multiplies or divides the operand. */
static double factor(OnnxLowering *lw, uint32_t index, int64_t channel)
{
    const Op *op = lw->node;
    if (op->def == ONNX(HARD_SIGMOID)) return onnx_float(op, "alpha", 0.2);
    if (op->def == ONNX(SELU)) return onnx_float(op, "gamma", 1.0507009873554805);
    if (op->def == ONNX(NEG) || (op->def == ONNX(SUB) && index == 1)) return -1.0;
    if (op->def != ONNX(BATCH_NORMALIZATION) && op->def != ONNX(MUL) && op->def != ONNX(DIV))
        return 1.0;
    const Array *array = lower_array(lw, op_operand(op, index == 0 ? 1 : 0));
    return array_get_f64(array, array->count == 1 ? 0 : channel);
}

bool monotonicity_has_direction(OnnxLowering *lw, uint32_t index)
{
    double extremum;
    const Op *op = lw->node;
    return (op->def != ONNX(DIV) || index == 0) &&
           monotonicity_of_node(lw, index, &extremum) == MONOTONE;
}

bool monotonicity_falls(OnnxLowering *lw, uint32_t index, int64_t channel)
{
    return factor(lw, index, channel) < 0.0;
}
