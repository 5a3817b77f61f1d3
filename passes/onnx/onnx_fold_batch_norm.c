/* onnx-fold-batch-norm: takes normalizations of float networks into the convolution or product in front.
 *   BatchNormalization(Conv(x, w, b)) -> Conv(x, w * g, (b - mean) * g + B)
 *                                        with g = scale / sqrt(var + epsilon) per output channel
 * (F2N2, Eq. 7 and 8). So quantized weights have the gains in them, and sums need no factor per channel
 * behind them. Numbers are computed as doubles and rounded to f32 once.
 * Requires: onnx-fold-constants, onnx-infer-shapes.
 * Changes: weights and biases of Conv, ConvTranspose and Gemm that nobody else reads; quantized ones and
 * those with another use of the sum stay. Results differ by roundings of floats.
 * Tests: lit/passes/onnx/onnx-fold-batch-norm.mir, test/e2e/fixed_point_check.py */
#include <math.h>

#include "dialects/onnx/onnx.h"
#include "ir/attr/attr.h"
#include "ir/rewrite/rewrite.h"
#include "passes/onnx/internal.h"
#include "passes/onnx/passes.h"

enum { GAIN, SHIFT, MEAN, VARIANCE, PARAMETERS };

/* A floating-point constant; NULL: the operand is none. */
static Array *float_constant(const Op *op, uint32_t index)
{
    const Value *value = onnx_operand(op, index);
    const Attr *attr = value ? onnx_constant(value) : NULL;
    return attr && type_elem(value->type)->kind == TYPE_F32 ? array_from_attr(attr) : NULL;
}

/* Of the weight's elements, [outer][channels][inner]; -1: the node's weight has no such dimension. */
static int channel_axis(const Op *layer)
{
    int axis;
    bool is_layer =
        layer->def == ONNX(CONV) || layer->def == ONNX(CONV_TRANSPOSE) || layer->def == ONNX(GEMM);
    return is_layer && quantize_is_weight(layer, 1, &axis) ? axis : -1;
}

static bool can_fold(const Op *norm, const Op *layer)
{
    const Value *sum = onnx_operand(norm, 0);
    bool is_scaled = layer->def == ONNX(GEMM) && (onnx_float(layer, "alpha", 1.0) != 1.0 ||
                                                  onnx_float(layer, "beta", 1.0) != 1.0);
    return norm->result_count == 1 && onnx_int(norm, "training_mode", 0) == 0 && !is_scaled &&
           channel_axis(layer) >= 0 && sum->uses && !sum->uses->next;
}

typedef struct Fold {
    Array *parameters[PARAMETERS], *weight, *bias; /* bias: NULL where there is none */
    double *gain, *shift;                          /* of each channel */
    int64_t channels;
} Fold;

/* False: not all are constants of the shapes that belong together. */
static bool read_constants(Fold *fold, const Op *norm, const Op *layer)
{
    bool ok = true;
    for (uint32_t i = 0; i < PARAMETERS; i++) {
        fold->parameters[i] = float_constant(norm, i + 1);
        ok = ok && fold->parameters[i];
    }
    fold->weight = float_constant(layer, 1);
    fold->bias = float_constant(layer, 2);
    if (!ok || !fold->weight || (onnx_operand(layer, 2) && !fold->bias)) return false;
    fold->channels = fold->parameters[GAIN]->count;
    const Type *bias = fold->bias ? fold->bias->type : NULL; /* Gemm's may be one for each row */
    return fold->weight->type->u.shaped.dims[channel_axis(layer)] == fold->channels &&
           (!bias || (fold->bias->count == fold->channels && bias->u.shaped.rank > 0 &&
                      bias->u.shaped.dims[bias->u.shaped.rank - 1] == fold->channels));
}

static void free_constants(Fold *fold)
{
    for (uint32_t i = 0; i < PARAMETERS; i++) array_unref(fold->parameters[i]);
    array_unref(fold->weight);
    array_unref(fold->bias);
}

static void compute_gains(Fold *fold, const Op *norm, Arena *arena)
{
    const double epsilon = onnx_float(norm, "epsilon", 1e-5);
    fold->gain = ARENA_ARRAY(arena, double, fold->channels);
    fold->shift = ARENA_ARRAY(arena, double, fold->channels);
    for (int64_t c = 0; c < fold->channels; c++) {
        double number[PARAMETERS], bias = fold->bias ? array_get_f64(fold->bias, c) : 0;
        for (uint32_t i = 0; i < PARAMETERS; i++) number[i] = array_get_f64(fold->parameters[i], c);
        fold->gain[c] = number[GAIN] / sqrt(number[VARIANCE] + epsilon);
        fold->shift[c] = (bias - number[MEAN]) * fold->gain[c] + number[SHIFT];
    }
}

/* A negative variance, or a number beyond floats, has no constant. */
static bool are_finite(const Fold *fold)
{
    for (int64_t c = 0; c < fold->channels; c++)
        if (!isfinite(fold->gain[c]) || !isfinite(fold->shift[c])) return false;
    return true;
}

static const Attr *scaled_weight(const Fold *fold, int axis, Arena *arena)
{
    const Type *type = fold->weight->type;
    int64_t inner = 1;
    double *values = ARENA_ARRAY(arena, double, fold->weight->count);
    for (uint32_t i = (uint32_t)axis + 1; i < type->u.shaped.rank; i++)
        inner *= type->u.shaped.dims[i];
    for (int64_t i = 0; i < fold->weight->count; i++)
        values[i] = array_get_f64(fold->weight, i) * fold->gain[i / inner % fold->channels];
    return attr_dense_f64(type, values, (size_t)fold->weight->count);
}

static void replace(Pass *pass, const Fold *fold, Op *norm, Op *layer)
{
    Builder b = builder_before(layer);
    const Type *elem = type_elem(fold->weight->type);
    const Type *type = type_tensor(elem, &fold->channels, 1, NULL);
    const int axis = channel_axis(layer);
    Value *operands[] = {
        op_operand(layer, 0), onnx_build_constant(&b, scaled_weight(fold, axis, &pass->scratch)),
        onnx_build_constant(&b, attr_dense_f64(type, fold->shift, (size_t)fold->channels))};
    const OpState state = {.name = layer->name,
                           .loc = layer->loc,
                           .operands = operands,
                           .operand_count = COUNT_OF(operands),
                           .result_types = &op_result(norm, 0)->type,
                           .result_count = 1,
                           .attrs = layer->attrs,
                           .props = layer->props};
    Op *merged = op_create(layer->ctx, &state);
    op_insert_before(merged, layer);
    value_replace_all(op_result(norm, 0), op_result(merged, 0));
    pass_count(pass, "folded normalizations", 1);
}

static void fold_norm(Pass *pass, Op *norm)
{
    Op *layer = value_def(op_operand(norm, 0));
    Fold fold = {0};
    if (!layer || !onnx_is_node(layer) || !can_fold(norm, layer)) return;
    if (read_constants(&fold, norm, layer)) {
        compute_gains(&fold, norm, &pass->scratch);
        if (are_finite(&fold)) replace(pass, &fold, norm, layer);
    }
    free_constants(&fold);
}

static bool fold_batch_norm(Pass *pass, Op *func)
{
    FOR_EACH_INNER(op, func)
        if (op->def == ONNX(BATCH_NORMALIZATION)) fold_norm(pass, op);
    rewrite_erase_dead_ops(func);
    return true;
}

const PassDef pass_onnx_fold_batch_norm = {
    .name = "onnx-fold-batch-norm",
    .summary = "Take normalizations of float networks into weights and biases",
    .anchor = "func.func",
    .stats = STATS({"folded normalizations", "Normalizations that became part of a layer"}),
    .run = fold_batch_norm,
};
