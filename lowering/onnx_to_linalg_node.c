/* Convolution and pooling on integers. Accumulators are as narrow as the exact range of every
 * partial sum allows, which the weights' values tell.
 * Tests: lit/lowering/onnx-to-linalg-conv.mir, lit/lowering/onnx-to-linalg-pool.mir */
#include <assert.h>
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg.h"

static const Type *int_tensor(Lowering *lw, const Type *shape, uint32_t width)
{
    return type_with_elem(shape, type_i(lw->ctx, width));
}

/* --- ranges of sums ------------------------------------------------------------------------ */

typedef struct Range {
    int64_t low, high;
} Range;

/* Adds x * weight for any x in the range; the sum so far counts too, so 0 belongs to each term. */
static bool add_product(Range *sum, const Fixed *x, int64_t weight)
{
    int64_t a, b;
    if (!mul_i64(weight, x->low, &a) || !mul_i64(weight, x->high, &b))
        return false;
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    return add_i64(sum->low, low < 0 ? low : 0, &sum->low) &&
           add_i64(sum->high, high > 0 ? high : 0, &sum->high);
}

static void include(Range *range, Range other)
{
    range->low = other.low < range->low ? other.low : range->low;
    range->high = other.high > range->high ? other.high : range->high;
}

/* --- convolution --------------------------------------------------------------------------- */

/* How channels are grouped decides the loops:
 *   dense      n, oc, position..., ic, tap...
 *   grouped    n, group, oc, position..., ic, tap...   (both per group)
 *   depthwise  n, c, position..., tap... */
typedef enum Grouping { GROUPING_NONE, GROUPING_GROUPS, GROUPING_DEPTHWISE } Grouping;

typedef struct Conv {
    Lowering *lw;
    ConvGeometry g;
    Grouping grouping;
    const Fixed *x;
    FixedConstant weight;
    Range *ranges; /* of the sums, per output channel */
    Fixed sum;
} Conv;

static Grouping grouping_of(const ConvGeometry *g)
{
    if (g->group == 1)
        return GROUPING_NONE;
    bool one_to_one = g->group == g->in_channels && g->group == g->out_channels;
    return one_to_one ? GROUPING_DEPTHWISE : GROUPING_GROUPS;
}

/* Exact range of the sum of each output channel, and of all. */
static bool conv_ranges(Conv *c)
{
    int64_t taps = c->weight.count / c->g.out_channels;
    c->ranges = ARENA_ARRAY(&c->lw->pass->scratch, Range, c->g.out_channels);
    Range all = {0, 0};
    for (int64_t i = 0; i < c->weight.count; i++) {
        if (!add_product(&c->ranges[i / taps], c->x, c->weight.values[i]))
            return lower_too_wide(c->lw);
        include(&all, c->ranges[i / taps]);
    }
    c->sum = (Fixed){.divisor = c->x->divisor, .low = all.low, .high = all.high};
    return true;
}

/* (N, C, ...) as (N, groups, C / groups, ...) and back: the reassociation of both. */
static const Attr *group_reassociation(Lowering *lw, uint32_t rank)
{
    const Attr *groups[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        const Attr *items[] = {attr_i64(lw->ctx, i > 1 ? i + 1 : i), attr_i64(lw->ctx, i + 1)};
        groups[i] = attr_array(lw->ctx, items, i == 1 ? 2 : 1);
    }
    return attr_array(lw->ctx, groups, rank);
}

static const Type *split_channels(const Type *type, int64_t groups)
{
    int64_t dims[ONNX_MAX_RANK + 1];
    uint32_t rank = type->u.shaped.rank;
    const int64_t *from = type->u.shaped.dims;
    dims[0] = from[0];
    dims[1] = groups;
    dims[2] = from[1] / groups;
    memcpy(dims + 3, from + 2, (rank - 2) * sizeof *dims);
    return type_with_shape(type, dims, rank + 1);
}

static Value *conv_input(Conv *c)
{
    int64_t low[ONNX_MAX_RANK] = {0}, high[ONNX_MAX_RANK] = {0};
    memcpy(low + 2, c->g.low, c->g.spatial * sizeof *low);
    memcpy(high + 2, c->g.high, c->g.spatial * sizeof *high);
    Value *x = build_pad(c->lw, c->x->value, low, high);
    if (c->grouping != GROUPING_GROUPS)
        return x;
    return tensor_expand_shape(&c->lw->b, x, split_channels(x->type, c->g.group),
                               group_reassociation(c->lw, x->type->u.shaped.rank));
}

/* W is (oc, ic, tap...): with groups (group, oc, ic, tap...), depthwise (c, tap...). */
static Value *conv_weight(Conv *c)
{
    int64_t dims[ONNX_MAX_RANK + 1];
    uint32_t rank = 0;
    int64_t groups = c->grouping == GROUPING_GROUPS ? c->g.group : 1;
    if (c->grouping == GROUPING_GROUPS)
        dims[rank++] = groups;
    dims[rank++] = c->g.out_channels / groups;
    if (c->grouping != GROUPING_DEPTHWISE)
        dims[rank++] = c->g.in_channels / groups;
    for (uint32_t i = 0; i < c->g.spatial; i++)
        dims[rank++] = c->g.kernel[i];
    return constant_build(c->lw, &c->weight, dims, rank);
}

/* Loops, maps and iterator types as the table at Grouping says. */
static void conv_maps(Conv *c, Generic *generic)
{
    Context *ctx = c->lw->ctx;
    const AffineExpr *in[ONNX_MAX_RANK + 1], *weight[ONNX_MAX_RANK + 1], *out[ONNX_MAX_RANK + 1];
    uint32_t loop = 0, spatial = c->g.spatial;
    uint32_t in_rank = 0, weight_rank = 0, out_rank = 0;
    out[out_rank++] = in[in_rank++] = affine_dim(ctx, loop++);
    if (c->grouping == GROUPING_GROUPS) /* the group */
        out[out_rank++] = in[in_rank++] = weight[weight_rank++] = affine_dim(ctx, loop++);
    uint32_t channel = loop++, position = loop;
    out[out_rank++] = weight[weight_rank++] = affine_dim(ctx, channel);
    loop += spatial;
    uint32_t first_reduction = loop;
    if (c->grouping == GROUPING_DEPTHWISE)
        in[in_rank++] = affine_dim(ctx, channel);
    else
        in[in_rank++] = weight[weight_rank++] = affine_dim(ctx, loop++);
    for (uint32_t i = 0; i < spatial; i++) {
        const AffineExpr *at = affine_dim(ctx, position + i), *tap = affine_dim(ctx, loop + i);
        out[out_rank++] = at;
        weight[weight_rank++] = tap;
        in[in_rank++] = affine_add(affine_mul_c(at, c->g.stride[i]),
                                   affine_mul_c(tap, c->g.dilation[i]));
    }
    *generic = (Generic){.loops = loop + spatial, .inputs = 2};
    for (uint32_t i = first_reduction; i < generic->loops; i++)
        generic->is_reduction[i] = true;
    generic->map[0] = map_get(ctx, generic->loops, 0, in_rank, in);
    generic->map[1] = map_get(ctx, generic->loops, 0, weight_rank, weight);
    generic->map[2] = map_get(ctx, generic->loops, 0, out_rank, out);
}

/* sum += x * w in the accumulator's width */
static Value *multiply_accumulate(Generic *generic, bool x_unsigned, bool w_unsigned)
{
    Builder *b = &generic->body;
    const Type *type = generic_arg(generic, 2)->type;
    Value *x = build_extend(b, generic_arg(generic, 0), type, x_unsigned);
    Value *w = build_extend(b, generic_arg(generic, 1), type, w_unsigned);
    Value *product = build_binary(b, ARITH(MULI), type, x, w);
    return build_binary(b, ARITH(ADDI), type, generic_arg(generic, 2), product);
}

static uint32_t widest(uint32_t width, const Type *a, const Type *b)
{
    uint32_t wa = type_width(type_elem(a)), wb = type_width(type_elem(b));
    width = wa > width ? wa : width;
    return wb > width ? wb : width;
}

static void build_sum(Conv *c)
{
    Lowering *lw = c->lw;
    Generic generic;
    conv_maps(c, &generic);
    generic.input[0] = conv_input(c);
    generic.input[1] = conv_weight(c);
    uint32_t width = widest(signed_width(c->sum.low, c->sum.high), c->x->value->type,
                            c->weight.type);
    const Type *result = int_tensor(lw, op_result(lw->node, 0)->type, width), *sum = result;
    if (c->grouping == GROUPING_GROUPS)
        sum = split_channels(result, c->g.group);
    generic_open(lw, &generic, build_filled(lw, sum, 0));
    c->sum.value = generic_close(
        &generic, multiply_accumulate(&generic, c->x->is_unsigned, c->weight.is_unsigned));
    if (c->grouping == GROUPING_GROUPS)
        c->sum.value = tensor_collapse_shape(&lw->b, c->sum.value, result,
                                             group_reassociation(lw, result->u.shaped.rank));
}

/* --- per-channel scales and bias ----------------------------------------------------------- */

/* A constant with one value per output channel, as narrow as they allow. */
static Value *channel_constant(Lowering *lw, const int64_t *values, int64_t count)
{
    FixedConstant constant = {.type = type_tensor(type_i(lw->ctx, 64), &count, 1, NULL),
                              .values = (int64_t *)values,
                              .count = count,
                              .axis = -1};
    constant_narrow(&constant);
    return constant_build(lw, &constant, &count, 1);
}

/* Opens an element-wise kernel on the sum and a constant per channel whose results have the ranges
 * in c->ranges; gives the sum's element in the new width. */
static void widen_sum(Conv *c, Value *operand, Generic *generic, Value **sum, const Type **type)
{
    Lowering *lw = c->lw;
    Value *inputs[] = {c->sum.value, operand};
    Range all = c->ranges[0];
    for (int64_t i = 1; i < c->g.out_channels; i++)
        include(&all, c->ranges[i]);
    c->sum.low = all.low;
    c->sum.high = all.high;
    uint32_t width = widest(signed_width(all.low, all.high), c->sum.value->type, operand->type);
    const Type *tensor = int_tensor(lw, c->sum.value->type, width);
    generic_elementwise(lw, generic, inputs, 2);
    generic_open(lw, generic, build_empty(lw, tensor));
    *type = type_elem(tensor);
    *sum = build_extend(&generic->body, generic_arg(generic, 0), *type, false);
}

/* A sum that is always 0 has any unit; shifting it could exceed the width. */
static bool is_zero_range(Range range)
{
    return range.low == 0 && range.high == 0;
}

/* sum << shift[channel], which makes one exponent of many */
static bool align_channels(Conv *c, const int *exponents)
{
    int64_t channels = c->g.out_channels;
    int64_t *shifts = ARENA_ARRAY(&c->lw->pass->scratch, int64_t, channels);
    int least = exponents[0];
    for (int64_t i = 1; i < channels; i++)
        least = exponents[i] < least ? exponents[i] : least;
    for (int64_t i = 0; i < channels; i++) {
        shifts[i] = is_zero_range(c->ranges[i]) ? 0 : exponents[i] - least;
        if (!shift_i64(c->ranges[i].low, shifts[i], &c->ranges[i].low) ||
            !shift_i64(c->ranges[i].high, shifts[i], &c->ranges[i].high))
            return lower_too_wide(c->lw);
    }
    c->sum.exponent = c->x->exponent + least;
    Generic generic;
    Value *sum;
    const Type *type;
    Value *operand = channel_constant(c->lw, shifts, channels);
    widen_sum(c, operand, &generic, &sum, &type);
    Value *shift = build_extend(&generic.body, generic_arg(&generic, 1), type, false);
    c->sum.value =
        generic_close(&generic, build_binary(&generic.body, ARITH(SHLI), type, sum, shift));
    return true;
}

/* Coarsest unit, as an exponent, that all values are multiples of. */
static int coarsest_unit(const FixedConstant *constant)
{
    int common = 62;
    for (int64_t i = 0; i < constant->count; i++) {
        int zeros = 0;
        for (int64_t v = constant->values[i]; v != 0 && v % 2 == 0; v /= 2)
            zeros++;
        if (constant->values[i] != 0 && zeros < common)
            common = zeros;
    }
    return constant->exponents[0] + common;
}

/* The bias in units of 2^exponent / divisor, of which all its values are multiples. */
static bool bias_values(Conv *c, FixedConstant *bias, int exponent)
{
    int down = exponent - bias->exponents[0];
    for (int64_t i = 0; i < bias->count; i++) {
        int64_t *value = &bias->values[i];
        if (down >= 0)
            *value /= INT64_C(1) << down; /* exact; down is at most the trailing zeros */
        else if (!shift_i64(*value, -down, value))
            return lower_too_wide(c->lw);
        if (!mul_i64(*value, c->sum.divisor, value))
            return lower_too_wide(c->lw);
    }
    return true;
}

static bool is_zero(const FixedConstant *constant)
{
    for (int64_t i = 0; i < constant->count; i++)
        if (constant->values[i] != 0)
            return false;
    return true;
}

/* (sum << shift) + bias[channel] */
static bool add_bias(Conv *c)
{
    Lowering *lw = c->lw;
    FixedConstant bias;
    if (!lower_constant(lw, 2, &bias) || !constant_align(lw, &bias))
        return false;
    if (is_zero(&bias))
        return true;
    int exponent = coarsest_unit(&bias);
    if (exponent > c->sum.exponent)
        exponent = c->sum.exponent;
    if (!bias_values(c, &bias, exponent))
        return false;
    bool is_zero_sum = is_zero_range((Range){c->sum.low, c->sum.high});
    int shift = is_zero_sum ? 0 : c->sum.exponent - exponent;
    for (int64_t i = 0; i < bias.count; i++) {
        Range *range = &c->ranges[i];
        if (!shift_i64(range->low, shift, &range->low) ||
            !shift_i64(range->high, shift, &range->high) ||
            !add_i64(range->low, bias.values[i], &range->low) ||
            !add_i64(range->high, bias.values[i], &range->high))
            return lower_too_wide(lw);
    }
    Generic generic;
    Value *sum, *operand = channel_constant(lw, bias.values, bias.count);
    const Type *type;
    widen_sum(c, operand, &generic, &sum, &type);
    Builder *b = &generic.body;
    if (shift > 0)
        sum = build_binary(b, ARITH(SHLI), type, sum, arith_constant_int(b, type, shift));
    Value *addend = build_extend(b, generic_arg(&generic, 1), type, false);
    c->sum.value = generic_close(&generic, build_binary(b, ARITH(ADDI), type, sum, addend));
    c->sum.exponent = exponent;
    return true;
}

/* Float weights are exact integers too, but a multiplier that wide is hardly what was meant. */
static bool check_float_weight(Lowering *lw, const FixedConstant *weight)
{
    enum { MAX_FLOAT_WEIGHT_BITS = 16 };
    uint32_t width = type_width(type_elem(weight->type));
    if (!onnx_constant(op_operand(lw->node, 1)) || width <= MAX_FLOAT_WEIGHT_BITS)
        return true;
    return onnx_error(lw->node, "has weights that no Quant node quantizes: as integers they would "
                      "need %u bits", width);
}

bool lower_conv(Lowering *lw)
{
    Conv c = {.lw = lw};
    strbuf_clear(&lw->why);
    if (!onnx_conv_geometry(lw->node, &c.g, &lw->why))
        return onnx_error(lw->node, "%s", lw->why.data);
    c.grouping = grouping_of(&c.g);
    c.x = lower_operand(lw, 0);
    if (!c.x || !lower_constant(lw, 1, &c.weight) || !check_float_weight(lw, &c.weight))
        return false;
    if (c.weight.axis > 0 && !constant_align(lw, &c.weight))
        return false;
    if (!conv_ranges(&c))
        return false;
    build_sum(&c);
    c.sum.exponent = c.x->exponent + c.weight.exponents[0];
    if (c.weight.axis == 0 && !align_channels(&c, c.weight.exponents))
        return false;
    if (onnx_operand(lw->node, 2) && !add_bias(&c))
        return false;
    lower_result(lw, &c.sum);
    return true;
}

/* --- global average pooling ---------------------------------------------------------------- */

/* n, c, position... (of extent 1), tap... */
static void pool_maps(Lowering *lw, uint32_t spatial, Generic *generic)
{
    const AffineExpr *in[ONNX_MAX_RANK], *out[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < 2 + spatial; i++) {
        out[i] = affine_dim(lw->ctx, i);
        in[i] = affine_dim(lw->ctx, i < 2 ? i : i + spatial);
    }
    *generic = (Generic){.loops = 2 + 2 * spatial, .inputs = 1};
    for (uint32_t i = 2 + spatial; i < generic->loops; i++)
        generic->is_reduction[i] = true;
    generic->map[0] = map_get(lw->ctx, generic->loops, 0, 2 + spatial, in);
    generic->map[1] = map_get(lw->ctx, generic->loops, 0, 2 + spatial, out);
}

/* sum / count: powers of two go to the exponent, the rest to the divisor. */
static bool divide(Fixed *sum, int64_t count)
{
    for (; count % 2 == 0; count /= 2)
        sum->exponent--;
    return mul_i64(sum->divisor, count, &sum->divisor);
}

bool lower_global_pool(Lowering *lw)
{
    const Fixed *x = lower_operand(lw, 0);
    if (!x)
        return false;
    const Type *type = x->value->type;
    uint32_t spatial = type->u.shaped.rank - 2;
    int64_t count = 1;
    for (uint32_t i = 0; i < spatial; i++)
        count *= type->u.shaped.dims[2 + i];
    Fixed sum = {.exponent = x->exponent, .divisor = x->divisor};
    if (!mul_i64(x->low < 0 ? x->low : 0, count, &sum.low) ||
        !mul_i64(x->high > 0 ? x->high : 0, count, &sum.high) || !divide(&sum, count))
        return lower_too_wide(lw);
    Generic generic;
    pool_maps(lw, spatial, &generic);
    generic.input[0] = x->value;
    uint32_t width = widest(signed_width(sum.low, sum.high), type, type);
    const Type *result = int_tensor(lw, op_result(lw->node, 0)->type, width);
    generic_open(lw, &generic, build_filled(lw, result, 0));
    Value *element = build_extend(&generic.body, generic_arg(&generic, 0), type_elem(result),
                                  x->is_unsigned);
    sum.value = generic_close(&generic, build_binary(&generic.body, ARITH(ADDI), type_elem(result),
                                                     generic_arg(&generic, 1), element));
    lower_result(lw, &sum);
    return true;
}
