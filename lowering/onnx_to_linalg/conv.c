/* Convolutions, dense, grouped, depthwise and transposed, over any number of dimensions. They are
 * lowered to integers where the input is fixed and the weights are constants, else to floating
 * point. Accumulators are as narrow as the exact range of every partial sum allows.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-conv.mir */
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/internal.h"

/* The grouping of channels, which decides the loops:
 *   dense      n, oc, position..., ic, tap...
 *   grouped    n, group, oc, position..., ic, tap...   (both per group)
 *   depthwise  n, c, position..., tap... */
typedef enum Grouping { GROUPING_NONE, GROUPING_GROUPS, GROUPING_DEPTHWISE } Grouping;

typedef struct OnnxConv {
    OnnxLowering *lw;
    ConvGeometry g;
    Grouping grouping;
    const Fixed *x; /* NULL: plain */
    FixedConstant weight;
    Sum sum;
} OnnxConv;

static Grouping grouping_of(const ConvGeometry *g)
{
    if (g->group == 1) return GROUPING_NONE;
    bool one_to_one = g->group == g->in_channels && g->group == g->out_channels;
    return one_to_one ? GROUPING_DEPTHWISE : GROUPING_GROUPS;
}

/* (N, C, ...) as (N, groups, C / groups, ...) and back: the reassociation of both. */
static const Attr *group_reassociation(OnnxLowering *lw, uint32_t rank)
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

/* x, padded, and with its groups as a dimension of their own. */
static Value *conv_input(OnnxConv *c, Value *x)
{
    int64_t low[ONNX_MAX_RANK] = {0}, high[ONNX_MAX_RANK] = {0};
    memcpy(low + 2, c->g.low, c->g.spatial * sizeof *low);
    memcpy(high + 2, c->g.high, c->g.spatial * sizeof *high);
    x = onnx_lower_build_border(c->lw, x, low, high, 0.0);
    if (c->grouping != GROUPING_GROUPS) return x;
    return tensor_expand_shape(&c->lw->b, x, split_channels(x->type, c->g.group),
                               group_reassociation(c->lw, x->type->u.shaped.rank));
}

/* W is (oc, ic, tap...): with groups (group, oc, ic, tap...), depthwise (c, tap...). */
static uint32_t weight_dims(const OnnxConv *c, int64_t *dims)
{
    uint32_t rank = 0;
    int64_t groups = c->grouping == GROUPING_GROUPS ? c->g.group : 1;
    if (c->grouping == GROUPING_GROUPS) dims[rank++] = groups;
    dims[rank++] = c->g.out_channels / groups;
    if (c->grouping != GROUPING_DEPTHWISE) dims[rank++] = c->g.in_channels / c->g.group;
    for (uint32_t i = 0; i < c->g.spatial; i++) dims[rank++] = c->g.kernel[i];
    return rank;
}

/* Loops, maps and iterator types as the table at Grouping says. */
static void conv_maps(OnnxConv *c, Generic *generic)
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
        in[in_rank++] =
            affine_add(affine_mul_c(at, c->g.stride[i]), affine_mul_c(tap, c->g.dilation[i]));
    }
    *generic = (Generic){.loops = loop + spatial, .inputs = 2};
    for (uint32_t i = first_reduction; i < generic->loops; i++) generic->is_reduction[i] = true;
    generic->map[0] = map_get(ctx, generic->loops, 0, in_rank, in);
    generic->map[1] = map_get(ctx, generic->loops, 0, weight_rank, weight);
    generic->map[2] = map_get(ctx, generic->loops, 0, out_rank, out);
}

/* The sums of products of x, as conv_input gives it, and w with the dimensions of weight_dims. */
static Value *build_sum(OnnxConv *c, Value *x, Value *w, const Type *result)
{
    OnnxLowering *lw = c->lw;
    Generic generic;
    const Type *sum = result;
    bool x_unsigned = c->x && c->x->is_unsigned, w_unsigned = c->x && c->weight.is_unsigned;
    conv_maps(c, &generic);
    generic.input[0] = x;
    generic.input[1] = w;
    if (c->grouping == GROUPING_GROUPS) sum = split_channels(result, c->g.group);
    generic_open(lw, &generic, lower_build_filled(lw, sum, 0));
    Value *y =
        generic_close(&generic, onnx_lower_multiply_accumulate(&generic, x_unsigned, w_unsigned));
    if (c->grouping != GROUPING_GROUPS) return y;
    return tensor_collapse_shape(&lw->b, y, result, group_reassociation(lw, result->u.shaped.rank));
}

static bool conv_ranges(OnnxConv *c)
{
    int64_t taps = c->weight.count / c->g.out_channels;
    c->sum = sum_create(c->lw, c->x, c->g.out_channels, 1);
    for (int64_t i = 0; i < c->weight.count; i++)
        if (!sum_add_product(&c->sum, c->x, i / taps, c->weight.values[i])) return false;
    return true;
}

/* A bias is a number per output channel. */
static bool has_bias(const OnnxLowering *lw)
{
    return onnx_operand(lw->node, 2) != NULL;
}

static bool is_constant(OnnxLowering *lw, uint32_t index)
{
    return !onnx_operand(lw->node, index) || lower_array(lw, op_operand(lw->node, index));
}

static bool conv_integers(OnnxConv *c)
{
    OnnxLowering *lw = c->lw;
    int64_t dims[ONNX_MAX_RANK + 1];
    uint32_t rank = weight_dims(c, dims);
    if (!conv_ranges(c)) return false;
    Value *x = conv_input(c, c->x->value), *w = constant_build(lw, &c->weight, dims, rank);
    uint32_t width = sum_width(&c->sum, c->x->value->type, c->weight.type);
    c->sum.fixed.value =
        build_sum(c, x, w, onnx_lower_int_tensor(lw, op_result(lw->node, 0)->type, width));
    if (!sum_set_scale(&c->sum, c->x, &c->weight)) return false;
    if (has_bias(lw) && !sum_add_bias(&c->sum, 2, 1.0)) return false;
    lower_result(lw, &c->sum.fixed);
    return true;
}

/* Fixed input, weights that are integers of one scale or one per output channel. */
static bool is_integer_conv(OnnxConv *c)
{
    OnnxLowering *lw = c->lw;
    const Fixed *x = lower_fixed(lw, 0);
    if (!x) return false;
    if (x->epilogue) {
        lower_warn_plain(lw, lower_why_input(lw));
        return false;
    }
    if (!lower_constant(lw, 1, &c->weight) || !is_constant(lw, 2)) {
        lower_warn_plain(lw, lower_why_weights(lw, "its weights are not quantized constants"));
        return false;
    }
    if (c->weight.axis > 0 && !constant_align(&c->weight)) {
        lower_warn_plain(lw, "its weights have scales that do not go along the output channels");
        return false;
    }
    c->x = x;
    return true;
}

/* sum + bias[channel] */
static Value *add_plain_bias(OnnxLowering *lw, Value *sum)
{
    Value *inputs[] = {sum, lower_plain(lw, 2)};
    Generic generic;
    if (!inputs[1]) return NULL;
    generic_elementwise(lw, &generic, inputs, 2);
    generic_open(lw, &generic, lower_build_empty(lw, sum->type));
    return generic_close(&generic,
                         build_binary(&generic.body, ARITH(ADDF), type_elem(sum->type),
                                      generic_arg(&generic, 0), generic_arg(&generic, 1)));
}

static bool conv_plain(OnnxConv *c, Value *x, Value *w)
{
    OnnxLowering *lw = c->lw;
    int64_t dims[ONNX_MAX_RANK + 1];
    uint32_t rank = weight_dims(c, dims);
    if (!x || !w) return false;
    w = onnx_lower_build_reshape(lw, w, type_with_shape(w->type, dims, rank));
    Value *y = build_sum(c, conv_input(c, x), w, op_result(lw->node, 0)->type);
    if (has_bias(lw)) y = add_plain_bias(lw, y);
    if (y) lower_plain_result(lw, 0, y);
    return y != NULL;
}

bool onnx_lower_conv(OnnxLowering *lw)
{
    OnnxConv c = {.lw = lw};
    strbuf_clear(&lw->why);
    if (!onnx_conv_geometry(lw->node, &c.g, &lw->why))
        return onnx_error(lw->node, "%s", lw->why.data);
    c.grouping = grouping_of(&c.g);
    if (is_integer_conv(&c)) return conv_integers(&c);
    return conv_plain(&c, lower_plain(lw, 0), lower_plain(lw, 1));
}

/* A transposed convolution is one with stride 1 on the input with stride - 1 zeros between its
 * elements, under kernels turned around; that convolution's geometry. */
static void turn_around(ConvGeometry *g)
{
    for (uint32_t i = 0; i < g->spatial; i++) {
        int64_t reach = (g->kernel[i] - 1) * g->dilation[i], low = g->low[i];
        g->in[i] = (g->in[i] - 1) * g->stride[i] + 1;
        g->low[i] = reach - low;
        g->high[i] = g->out[i] - g->in[i] - g->low[i] + reach;
        g->stride[i] = 1;
    }
}

/* The type of x with zeros between its elements. */
static const Type *spread_type_of(const OnnxConv *c, const Type *x)
{
    int64_t dims[ONNX_MAX_RANK];
    for (uint32_t i = 0; i < x->u.shaped.rank; i++)
        dims[i] = i < 2 ? x->u.shaped.dims[i] : c->g.in[i - 2];
    return type_with_shape(x, dims, x->u.shaped.rank);
}

/* x with zeros between its elements. */
static Value *spread(OnnxConv *c, Value *x)
{
    int64_t strides[ONNX_MAX_RANK], offsets[ONNX_MAX_RANK] = {0};
    const Type *type = x->type, *spread_type = spread_type_of(c, type);
    const int64_t *dims = spread_type->u.shaped.dims;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        int64_t gaps = type->u.shaped.dims[i] - 1;
        strides[i] = i < 2 || gaps == 0 ? 1 : (dims[i] - 1) / gaps;
    }
    if (spread_type == type) return x;
    return onnx_lower_build_insert(c->lw, x, lower_build_filled(c->lw, spread_type, 0), offsets,
                                   strides);
}

/* Index in W (ic, oc per group, tap...) of an element of (oc, ic per group, tap...) turned
 * around. */
static int64_t turned_index(const ConvGeometry *g, int64_t i)
{
    int64_t taps = 1, outs = g->out_channels / g->group, ins = g->in_channels / g->group;
    for (uint32_t k = 0; k < g->spatial; k++) taps *= g->kernel[k];
    int64_t tap = i % taps, ic = i / taps % ins, oc = i / taps / ins;
    return ((oc / outs * ins + ic) * outs + oc % outs) * taps + taps - 1 - tap;
}

/* Scales of the output channels of a group become those of all groups' channels. */
static void repeat_scales(OnnxConv *c)
{
    FixedConstant *w = &c->weight;
    int64_t outs = c->g.out_channels / c->g.group;
    double *units = ARENA_ARRAY(&c->lw->pass->scratch, double, c->g.out_channels);
    int *exponents = ARENA_ARRAY(&c->lw->pass->scratch, int, c->g.out_channels);
    for (int64_t i = 0; i < c->g.out_channels; i++) {
        units[i] = w->units[i % outs];
        exponents[i] = w->exponents[i % outs];
    }
    w->units = units;
    w->exponents = exponents;
    w->axis = 0;
}

static bool turn_integers(OnnxConv *c)
{
    FixedConstant *w = &c->weight;
    if (w->axis == 1)
        repeat_scales(c);
    else if (!constant_align(w))
        return false;
    int64_t *values = ARENA_ARRAY(&c->lw->pass->scratch, int64_t, w->count);
    for (int64_t i = 0; i < w->count; i++) values[i] = w->values[turned_index(&c->g, i)];
    w->values = values;
    int64_t dims[ONNX_MAX_RANK];
    uint32_t rank = w->type->u.shaped.rank;
    memcpy(dims, w->type->u.shaped.dims, rank * sizeof *dims);
    dims[0] = c->g.out_channels;
    dims[1] = c->g.in_channels / c->g.group;
    w->type = type_with_shape(w->type, dims, rank);
    return true;
}

/* The same of weights that are computed:
 *   turned[oc, ic, tap...] = w[oc / outs * ins + ic, oc mod outs, kernel - 1 - tap...] */
static Value *turn_tensor(OnnxConv *c, Value *w)
{
    Context *ctx = c->lw->ctx;
    const AffineExpr *from[ONNX_MAX_RANK];
    int64_t dims[ONNX_MAX_RANK], outs = c->g.out_channels / c->g.group;
    uint32_t rank = w->type->u.shaped.rank;
    const AffineExpr *oc = affine_dim(ctx, 0), *count = affine_const(ctx, outs);
    dims[0] = c->g.out_channels;
    dims[1] = c->g.in_channels / c->g.group;
    from[0] = affine_add(affine_mul_c(affine_floordiv(oc, count), dims[1]), affine_dim(ctx, 1));
    from[1] = affine_mod(oc, count);
    if (c->g.group == 1) {
        from[0] = affine_dim(ctx, 1);
        from[1] = oc;
    }
    for (uint32_t i = 0; i < c->g.spatial; i++) {
        dims[2 + i] = c->g.kernel[i];
        from[2 + i] = affine_add_c(affine_mul_c(affine_dim(ctx, 2 + i), -1), dims[2 + i] - 1);
    }
    Generic g = {.loops = rank, .inputs = 1, .input = {w}};
    g.map[0] = map_get(ctx, rank, 0, rank, from);
    g.map[1] = map_identity(ctx, rank);
    generic_open(c->lw, &g, lower_build_empty(c->lw, type_with_shape(w->type, dims, rank)));
    return generic_close(&g, generic_arg(&g, 0));
}

static Value *turned_floats(OnnxConv *c)
{
    const Array *w = lower_array(c->lw, op_operand(c->lw->node, 1));
    if (!w) {
        Value *plain = lower_plain(c->lw, 1);
        return plain ? turn_tensor(c, plain) : NULL;
    }
    Array *turned = array_new(w->type);
    for (int64_t i = 0; i < w->count; i++) array_copy(turned, i, w, turned_index(&c->g, i));
    Value *value = arith_constant(&c->lw->b, array_to_attr(turned));
    array_unref(turned);
    return value;
}

bool onnx_lower_conv_transpose(OnnxLowering *lw)
{
    OnnxConv c = {.lw = lw};
    strbuf_clear(&lw->why);
    if (!onnx_conv_transpose_geometry(lw->node, &c.g, &lw->why))
        return onnx_error(lw->node, "%s", lw->why.data);
    turn_around(&c.g);
    if (!array_fits(spread_type_of(&c, op_operand(lw->node, 0)->type)))
        return onnx_error(lw->node, "its input is too large with zeros between its elements");
    c.grouping = grouping_of(&c.g);
    const Fixed *x = lower_fixed_bare(lw, 0);
    if (x && lower_constant(lw, 1, &c.weight) && is_constant(lw, 2) && turn_integers(&c)) {
        Fixed wide = *x;
        wide.value = spread(&c, x->value);
        c.x = &wide;
        return conv_integers(&c);
    }
    if (lower_fixed(lw, 0)) lower_warn_plain(lw, "its input or its weights are not quantized");
    Value *plain = lower_plain(lw, 0), *w = turned_floats(&c);
    return plain && w && conv_plain(&c, spread(&c, plain), w);
}
