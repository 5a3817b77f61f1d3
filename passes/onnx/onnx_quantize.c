/* onnx-quantize: turns a float network into one on integers by the ranges that calibration found
 * (onnx.range; dialects/onnx/onnx.h), of 8 bits or as onnx.width says. Quantization is symmetric: all
 * zero points are 0.
 *   y -> DequantizeLinear(QuantizeLinear(y))         signed, or unsigned where y is never negative,
 *                                                    unless `fixed-point`
 *   constant weight -> DequantizeLinear(integers)    without the lowest, as [-127, 127]
 * An activation is quantized where integers are needed: behind batch normalizations and activation
 * functions, which the lowering takes into the requantization, and not again where elements only
 * move. Biases stay floats, which the lowering folds; with `fixed-point` they become multiples of the
 * scale of the sum, so that sums are integers of one scale for each channel.
 * In a network that has quantizers only what training left in float is quantized: weights and inputs
 * of convolutions and matrix products that come from no quantizer (FINN-R, 4.2: direct quantization).
 * Requires: onnx-fold-constants, onnx-infer-shapes; straight-line functions.
 * Changes: uses of activations and weights; onnx.range is removed.
 * Tests: lit/passes/onnx/onnx-quantize.mir, lit/passes/onnx/onnx-quantize-invalid.mir,
 * test/e2e/quantize_check.py */
#include <float.h>
#include <math.h>

#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/rewrite/rewrite.h"
#include "passes/onnx/internal.h"
#include "passes/onnx/passes.h"

enum { DEFAULT_BITS = 8, BIAS_MOST = 1 << 24 };

static double signed_high(int64_t bits)
{
    return (double)((INT64_C(1) << (bits - 1)) - 1);
}

typedef struct Quantize {
    Pass *pass;
    Op *func;
    PtrMap on_grid; /* values whose elements are integers times one scale, as a set */
    bool per_channel, power_of_two, only_layers, fixed_point;
    int64_t width; /* bits where no other width is given; 0: floats */
} Quantize;

/* The scale for steps of at least that size, as a normal f32. */
static double choose_scale(const Quantize *q, double step)
{
    int exponent;
    if (step == 0.0) return 1.0;
    if (step < FLT_MIN) return FLT_MIN;
    if (!q->power_of_two)
        return attr_float_value(attr_float(type_float(q->func->ctx, TYPE_F32), step));
    double fraction =
        frexp(step, &exponent); /* step = fraction * 2^exponent, 0.5 <= fraction < 1 */
    return ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

static const Attr *scalar_attr(Context *ctx, double value)
{
    const Type *f32 = type_float(ctx, TYPE_F32);
    return attr_dense_splat(type_tensor(f32, NULL, 0, NULL), attr_float(f32, value));
}

/* Elements of a weight: [outer][count of the axis][inner]. */
typedef struct Channels {
    int axis; /* -1: one channel */
    int64_t count, inner;
} Channels;

/* Bits of what an op makes integers of: its own onnx.width, or that of the op which it follows. 0:
 * floats. */
static int64_t width_of(const Quantize *q, const Op *op)
{
    for (;;) {
        const Attr *own = op_attr(op, ONNX_ATTR_WIDTH);
        const Op *before = NULL;
        if (own) return attr_int_value(own);
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const Value *value = onnx_operand(op, i);
            if (value && !onnx_constant(value) && quantize_follows(op, value))
                before = value_def(value);
        }
        if (!before || !onnx_is_node(before)) return q->width;
        op = before;
    }
}

static int64_t width_of_value(const Quantize *q, const Value *value)
{
    const Op *op = value_def(value);
    const Attr *attrs = op ? NULL : func_arg_attrs(q->func, value->index);
    const Attr *own = attrs ? attr_dict_get_c(attrs, ONNX_ATTR_WIDTH) : NULL;
    return own ? attr_int_value(own) : op ? width_of(q, op) : q->width;
}

/* Whether nobody takes the value as integers: its readers are layers of floats, and the function's
 * return if that is the width of the value itself. */
static bool stays_float(const Quantize *q, const Value *value)
{
    FOR_EACH_USE(use, value) {
        int64_t width =
            onnx_is_node(use->owner) ? width_of(q, use->owner) : width_of_value(q, value);
        if (width != 0) return false;
    }
    return true;
}

static Channels channels_of(const Quantize *q, const Type *type, int axis)
{
    Channels channels = {-1, 1, 1};
    if (!q->per_channel || axis < 0 || axis >= (int)type->u.shaped.rank) return channels;
    channels = (Channels){axis, type->u.shaped.dims[axis], 1};
    for (uint32_t i = (uint32_t)axis + 1; i < type->u.shaped.rank; i++)
        channels.inner *= type->u.shaped.dims[i];
    return channels;
}

/* Scales of a weight as they broadcast to it. NULL: an element is not finite, diagnosed. */
static const Attr *weight_scales(const Quantize *q, const Op *op, const Array *weight,
                                 const Channels *channels)
{
    int64_t dims[ONNX_MAX_RANK];
    uint32_t rank = channels->axis < 0 ? 0 : weight->type->u.shaped.rank;
    double *scales = ARENA_ARRAY(&q->pass->scratch, double, channels->count);
    for (int64_t i = 0; i < weight->count; i++) {
        double size = fabs(array_get_f64(weight, i));
        double *largest = &scales[i / channels->inner % channels->count];
        if (!isfinite(size)) {
            onnx_error(op, "has a weight with an element that is not finite");
            return NULL;
        }
        *largest = size > *largest ? size : *largest;
    }
    for (int64_t i = 0; i < channels->count; i++)
        scales[i] = choose_scale(q, scales[i] / signed_high(width_of(q, op)));
    for (uint32_t i = 0; i < rank; i++) dims[i] = (int)i == channels->axis ? channels->count : 1;
    const Type *type = type_tensor(type_float(op->ctx, TYPE_F32), dims, rank, NULL);
    return attr_dense_f64(type, scales, (size_t)channels->count);
}

/* A Quant of a constant, which folds to integers and their scales. */
static bool quantize_constant(Quantize *q, Op *op, uint32_t index, const Attr *scales)
{
    Context *ctx = op->ctx;
    Builder b = builder_before(op);
    Value *weight = op_operand(op, index);
    Value *operands[] = {weight, onnx_build_constant(&b, scales),
                         onnx_build_constant(&b, scalar_attr(ctx, 0.0)),
                         onnx_build_constant(&b, scalar_attr(ctx, (double)width_of(q, op)))};
    const NamedAttr attr = build_named_attr(ctx, "narrow", attr_i64(ctx, 1));
    Op *quant = build(&b, ONNX(QUANT), operands, COUNT_OF(operands), &weight->type, 1, &attr, 1);
    op_set_attr(quant, ONNX_ATTR_NAME, op_attr(op, ONNX_ATTR_NAME));
    op_set_operand(op, index, op_result(quant, 0));
    return onnx_fold_quant(q->pass, quant);
}

static bool quantize_weight(Quantize *q, Op *op, uint32_t index, int axis)
{
    Value *value = op_operand(op, index);
    Array *weight = array_from_attr(onnx_constant(value));
    if (!weight) return onnx_error(op, "has a weight that cannot be read");
    const Channels channels = channels_of(q, value->type, axis);
    const Attr *scales =
        weight->count > 0 ? weight_scales(q, op, weight, &channels) : scalar_attr(op->ctx, 1.0);
    array_unref(weight);
    return scales && quantize_constant(q, op, index, scales);
}

static bool quantize_weights(Quantize *q, Op *op)
{
    int axis;
    if (width_of(q, op) == 0) return true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *value = onnx_operand(op, i);
        bool is_real = value && onnx_constant(value) && type_elem(value->type)->kind == TYPE_F32;
        if (is_real && quantize_is_weight(op, i, &axis) && !quantize_weight(q, op, i, axis))
            return false;
    }
    return true;
}

/* Scales of the integers that the value's elements are; NULL: it comes from no quantizer. */
static const Attr *scales_of(const Value *value)
{
    const Op *op = value_def(value);
    while (op && onnx_is_node(op) && quantize_only_moves(op)) op = value_def(op_operand(op, 0));
    return op && op->def == ONNX(DEQUANTIZE_LINEAR) ? onnx_constant(op_operand(op, 1)) : NULL;
}

static bool is_layer(const Op *op)
{
    return op->def == ONNX(CONV) || op->def == ONNX(CONV_TRANSPOSE) || op->def == ONNX(GEMM) ||
           op->def == ONNX(MATMUL);
}

/* The least scale of which a bias is a multiple with no more bits than floats have: that of the sum, or
 * a power of two times as much. */
static double bias_scale(double bias, double sum)
{
    while (fabs(rint(bias / sum)) > BIAS_MOST) sum *= 2;
    return sum;
}

/* A bias becomes integers, multiples of the layer's scales, as far as these go by channels like it. */
static void quantize_bias(Quantize *q, Op *op, uint32_t index, const Op *layer)
{
    const Value *value = onnx_operand(op, index);
    const Attr *bias = value ? onnx_constant(value) : NULL;
    const Attr *x = scales_of(op_operand(layer, 0)), *w = scales_of(op_operand(layer, 1));
    if (!bias || type_elem(value->type)->kind != TYPE_F32 || !x || !w || dense_count(x) != 1)
        return;
    const int64_t count = dense_count(bias), channels = dense_count(w);
    if (value->type->u.shaped.rank != 1 || (channels != 1 && channels != count)) return;
    double *scales = ARENA_ARRAY(&q->pass->scratch, double, count);
    int64_t *integers = ARENA_ARRAY(&q->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        double sum = dense_f64(x, 0) * dense_f64(w, channels > 1 ? i : 0);
        if (!isfinite(dense_f64(bias, i))) return; /* no integer */
        scales[i] = bias_scale(dense_f64(bias, i), sum);
        if (scales[i] < FLT_MIN) return; /* no scale of floats */
        integers[i] = (int64_t)rint(dense_f64(bias, i) / scales[i]);
    }
    Builder b = builder_before(op);
    const Type *type = type_with_elem(value->type, type_i(op->ctx, 32));
    Value *operands[] = {
        onnx_build_constant(&b, attr_dense_i64(type, integers, (size_t)count)),
        onnx_build_constant(&b, attr_dense_f64(value->type, scales, (size_t)count))};
    const NamedAttr axis = build_named_attr(op->ctx, "axis", attr_i64(op->ctx, 0));
    Op *dequantize =
        build(&b, ONNX(DEQUANTIZE_LINEAR), operands, COUNT_OF(operands), &value->type, 1, &axis, 1);
    op_set_attr(dequantize, ONNX_ATTR_NAME, op_attr(op, ONNX_ATTR_NAME));
    op_set_operand(op, index, op_result(dequantize, 0));
}

/* Of a layer, and a constant that is added to a sum by a node of its own. */
static void quantize_biases(Quantize *q, Op *op)
{
    if (!q->fixed_point) return;
    if (is_layer(op) && op->operand_count > 2) quantize_bias(q, op, 2, op);
    if (op->def != ONNX(ADD)) return;
    for (uint32_t i = 0; i < 2; i++) {
        const Op *layer = value_def(op_operand(op, 1 - i));
        if (layer && onnx_is_node(layer) && is_layer(layer)) quantize_bias(q, op, i, layer);
    }
}

static void add_to_grid(Quantize *q, const Value *value)
{
    ptrmap_put(&q->on_grid, value, (void *)(uintptr_t)1);
}

/* Whether a use asks for integers of 8 bits, or returns the value. */
static bool is_needed(const Value *value)
{
    const Op *op = value_def(value);
    if (!op || !quantize_can_wait(op)) return value_has_uses(value);
    FOR_EACH_USE(use, value) {
        if (!quantize_follows(use->owner, value)) return true;
    }
    return false;
}

/* The step that both ends of the range need. It divides the larger end by an odd number, unless all
 * scales are exact: so no product of scaled integers falls between two integers of the next scale,
 * where the rounding of floats would decide. */
static double step_of(const Quantize *q, ValueRange range, int64_t bits)
{
    double high = signed_high(bits);
    if (range.low >= 0.0 && !q->fixed_point) return range.high / (2 * high + 1);
    double below = range.low / (q->power_of_two ? -high - 1 : -high);
    double above = range.high / high;
    return below > above ? below : above;
}

/* All users of the value get the dequantized integers instead. */
static void insert_pair(Quantize *q, Builder *b, Value *value, ValueRange range, int64_t bits)
{
    Context *ctx = b->ctx;
    const Op *like = value_def(value);
    const Type *elem = range.low >= 0.0 && !q->fixed_point
                           ? type_integer(ctx, (uint32_t)bits, UNSIGNED)
                           : type_i(ctx, (uint32_t)bits);
    const Attr *scale = scalar_attr(ctx, choose_scale(q, step_of(q, range, bits)));
    const Attr *zero = attr_dense_splat(type_tensor(elem, NULL, 0, NULL), attr_int(elem, 0));
    Value *operands[] = {NULL, onnx_build_constant(b, scale), onnx_build_constant(b, zero)};
    const Type *integers = type_with_elem(value->type, elem);
    operands[0] = operands[1]; /* until the other uses of the value are replaced */
    Op *quantize = build(b, ONNX(QUANTIZE_LINEAR), operands, 3, &integers, 1, NULL, 0);
    operands[0] = op_result(quantize, 0);
    Op *dequantize = build(b, ONNX(DEQUANTIZE_LINEAR), operands, 3, &value->type, 1, NULL, 0);
    if (like) {
        op_set_attr(quantize, ONNX_ATTR_NAME, op_attr(like, ONNX_ATTR_NAME));
        op_set_attr(dequantize, ONNX_ATTR_NAME, op_attr(like, ONNX_ATTR_NAME));
    }
    value_replace_all(value, op_result(dequantize, 0));
    op_set_operand(quantize, 0, value);
    add_to_grid(q, op_result(dequantize, 0));
    pass_count(q->pass, "quantized activations", 1);
}

/* Fixed point saturates sums before a Clip of them, on the grid behind it, so that the bounds are those
 * of integers: Clip(x) -> Clip(DequantizeLinear(QuantizeLinear(x))). */
static void quantize_before_clip(Quantize *q, const Value *value, ValueRange range, int64_t bits)
{
    Op *clip = value_def(value);
    if (!q->fixed_point || !clip || clip->def != ONNX(CLIP)) return;
    Value *sum = op_operand(clip, 0);
    if (onnx_constant(sum) || ptrmap_has(&q->on_grid, sum) || !sum->uses || sum->uses->next) return;
    Builder b = builder_before(clip);
    insert_pair(q, &b, sum, range, bits);
}

/* Reports an error about a value, which is named as messages name it. */
static bool value_error(const Quantize *q, const Value *value, const char *what)
{
    const Op *op = value_def(value);
    return op ? onnx_error(op, "%s", what)
              : op_error(q->func, "argument %u %s", value->index, what);
}

static bool quantize_value(Quantize *q, Builder *b, Value *value)
{
    ValueRange range;
    bool is_real = type_is_tensor(value->type) && type_is_float(type_elem(value->type));
    if (!is_real || ptrmap_has(&q->on_grid, value) || !is_needed(value) || stays_float(q, value))
        return true;
    if (type_elem(value->type)->kind != TYPE_F32)
        return value_error(q, value, "is not of f32, which alone is quantized");
    if (!onnx_range(q->func, value, &range))
        return value_error(q, value,
                           "has no 'onnx.range' of two finite numbers: the network must "
                           "be calibrated first");
    int64_t bits = width_of_value(q, value);
    if (bits == 0) bits = DEFAULT_BITS;
    quantize_before_clip(q, value, range, bits);
    insert_pair(q, b, value, range, bits);
    return true;
}

static bool quantize_results(Quantize *q, Op *op)
{
    bool stays = quantize_only_moves(op) && ptrmap_has(&q->on_grid, op_operand(op, 0)) &&
                 !op_attr(op, ONNX_ATTR_WIDTH);
    Builder b = builder_after(op);
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (stays)
            add_to_grid(q, op_result(op, i));
        else if (!quantize_value(q, &b, op_result(op, i)))
            return false;
    }
    return true;
}

static size_t count_nodes(const Block *body, bool are_done)
{
    size_t count = 0;
    FOR_EACH_OP(op, body) count += onnx_is_node(op) && quantize_is_done(op) == are_done;
    return count;
}

/* Quantizes one of the two factors of a layer, unless it comes from a quantizer. */
static bool quantize_factor(Quantize *q, Op *op, uint32_t index)
{
    ValueRange range;
    Value *value = op_operand(op, index);
    Op *def = value_def(value);
    if (onnx_constant(value) || ptrmap_has(&q->on_grid, value) || (def && quantize_is_done(def)) ||
        width_of(q, op) == 0)
        return true;
    if (type_elem(value->type)->kind != TYPE_F32)
        return value_error(q, value, "is not of f32, which alone is quantized");
    if (!onnx_range(q->func, value, &range))
        return value_error(q, value,
                           "has no 'onnx.range' of two finite numbers: the network must "
                           "be calibrated first");
    Builder b = def ? builder_after(def) : builder_before(value_block(value)->first);
    insert_pair(q, &b, value, range, width_of(q, op));
    return true;
}

/* Notes what comes from quantizers, and quantizes the factors of layers that do not. */
static bool quantize_layers(Quantize *q, Block *body)
{
    FOR_EACH_OP_SAFE(op, body) {
        if (!onnx_is_node(op)) continue;
        bool is_done = quantize_is_done(op);
        bool stays = quantize_only_moves(op) && ptrmap_has(&q->on_grid, op_operand(op, 0));
        for (uint32_t i = 0; (is_done || stays) && i < op->result_count; i++)
            add_to_grid(q, op_result(op, i));
        if (is_layer(op) &&
            (!quantize_weights(q, op) || !quantize_factor(q, op, 0) || !quantize_factor(q, op, 1)))
            return false;
    }
    return true;
}

static bool quantize_body(Quantize *q, Block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++) {
        Builder b = builder_before(body->first);
        if (!quantize_value(q, &b, body->args[i])) return false;
    }
    FOR_EACH_OP_SAFE(op, body) {
        if (!onnx_is_node(op) || quantize_is_done(op)) continue;
        if (!quantize_weights(q, op)) return false;
        quantize_biases(q, op);
        if (!quantize_results(q, op)) return false;
    }
    return true;
}

static bool onnx_quantize(Pass *pass, Op *func)
{
    Block *body = func_entry(func);
    if (!body || count_nodes(body, false) == 0) return true;
    if (body->next) return op_error(func, "must be straight-line code to be quantized");
    Quantize q = {.pass = pass,
                  .func = func,
                  .per_channel = pass_bool(pass, "per-channel"),
                  .power_of_two = pass_bool(pass, "power-of-two") || pass_bool(pass, "fixed-point"),
                  .fixed_point = pass_bool(pass, "fixed-point"),
                  .width = pass_int(pass, "width"),
                  .only_layers = pass_bool(pass, "only-layers") || count_nodes(body, true) > 0};
    if (q.width != 0 && (q.width < 2 || q.width > 16))
        return op_error(func,
                        "cannot be quantized to %lld bits: 2 to 16, or 0 for floats, are possible",
                        (long long)q.width);
    bool ok = q.only_layers ? quantize_layers(&q, body) : quantize_body(&q, body);
    ptrmap_free(&q.on_grid);
    if (ok) onnx_clear_ranges(func);
    rewrite_erase_dead_ops(func);
    return ok;
}

const PassDef pass_onnx_quantize = {
    .name = "onnx-quantize",
    .summary = "Quantize a calibrated float network to few bits",
    .anchor = "func.func",
    .options = OPTIONS({.name = "width",
                        .kind = OPTION_INT,
                        .fallback = "8",
                        .help = "Bits of integers where no onnx.width says otherwise; 0: floats"},
                       {.name = "per-channel",
                        .kind = OPTION_BOOL,
                        .fallback = "true",
                        .help = "Give each output channel of a weight a scale of its own"},
                       {.name = "power-of-two",
                        .kind = OPTION_BOOL,
                        .fallback = "false",
                        .help = "Use powers of two as scales, the least that hold the range"},
                       {.name = "fixed-point",
                        .kind = OPTION_BOOL,
                        .fallback = "false",
                        .help = "power-of-two, all activations signed, and biases on the grids of "
                                "sums"},
                       {.name = "only-layers",
                        .kind = OPTION_BOOL,
                        .fallback = "false",
                        .help = "Quantize only factors of convolutions and matrix products that "
                                "come from no quantizer; always so where there are quantizers"}),
    .stats = STATS({"quantized activations", "Activations that became integers"},
                   {"quantized constants", "Weights that became integers"}),
    .run = onnx_quantize,
};
