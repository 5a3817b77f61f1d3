/* Convolutions to linalg. The input is padded with its zero point, and the accumulator starts at
 * the bias (in depthwise convolutions the bias is added behind).
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-named*.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

enum { MAX_SPATIAL = 3 };

typedef struct TosaConv {
    Value *input, *weight, *bias;
    const Type *result;
    const Attr *quant; /* or NULL */
    IntList pad, stride, dilation;
    uint32_t kernel_dim; /* of the weight: its first spatial one */
} TosaConv;

static bool conv_read(Lower *l, uint32_t kernel_dim, TosaConv *conv)
{
    *conv = (TosaConv){.input = op_operand(l->op, 0),
                       .weight = op_operand(l->op, 1),
                       .bias = op_operand(l->op, 2),
                       .result = result_type(l->op),
                       .quant = op_attr(l->op, "quantization_info"),
                       .kernel_dim = kernel_dim};
    const Type *elem = type_elem(conv->input->type);
    bool is_unsigned = type_is_integer(elem) && elem->u.integer.sign == UNSIGNED;
    if (!tosa_lower_all_ranked(l->op) || !type_is_static(conv->weight->type) ||
        !type_is_static(conv->bias->type) || !tosa_build_zero_of(elem) || is_unsigned ||
        !tosa_lower_has_window(l->op))
        return false;
    conv->pad = tosa_build_list_attr(l->op, "pad");
    conv->stride = tosa_build_list_attr(l->op, "stride");
    conv->dilation = tosa_build_list_attr(l->op, "dilation");
    return true;
}

static void conv_free(TosaConv *conv)
{
    vec_free(&conv->pad);
    vec_free(&conv->stride);
    vec_free(&conv->dilation);
}

/* Channels of the result: the weight's last two dimensions in depthwise convolutions, whose spatial
 * ones come first, else its first. */
static int64_t conv_channels(const TosaConv *conv)
{
    const Type *weight = conv->weight->type;
    return conv->kernel_dim == 0 ? extent_of(weight, 2) * extent_of(weight, 3)
                                 : extent_of(weight, 0);
}

/* The result's dynamic extents: those of the image first, then batch and channels. Upstream takes
 * the channels of a result that does not tell them from the input, which has others. */
static Values conv_dims(Lower *l, const TosaConv *conv)
{
    uint32_t rank = rank_of(conv->result), count = 0;
    Value **dims = ARENA_ARRAY(l->arena, Value *, rank);
    for (uint32_t i = 0; i + 2 < rank; i++) {
        if (!is_dynamic(conv->result, i + 1)) continue;
        TosaWindowDim dim = {conv->pad.data[2 * i], conv->pad.data[2 * i + 1], conv->stride.data[i],
                             conv->dilation.data[i]};
        Value *size = tensor_dim(l->b, conv->input, i + 1);
        Value *kernel = tensor_dim(l->b, conv->weight, i + conv->kernel_dim);
        dims[i + 1] = tosa_build_window_extent(l->b, size, kernel, &dim);
    }
    if (is_dynamic(conv->result, 0)) dims[0] = tensor_dim(l->b, conv->input, 0);
    if (is_dynamic(conv->result, rank - 1))
        dims[rank - 1] = arith_constant_index(l->b, conv_channels(conv));
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i]) dims[count++] = dims[i];
    return (Values){dims, count};
}

/* The padding element of the input; NULL: its zero point does not fit its type. */
static const Attr *pad_value(const TosaConv *conv)
{
    const Type *elem = type_elem(conv->input->type);
    if (!conv->quant) return tosa_build_zero_of(elem);
    int64_t zero = tosa_zero_point(conv->quant, 0);
    uint32_t width = type_width(elem);
    return zero < tosa_build_signed_min(width) || zero > tosa_build_signed_max(width)
               ? NULL
               : attr_int(elem, zero);
}

static Value *build_conv(Lower *l, const TosaConv *conv, const OpDef *def, Value *init,
                         const Type *type)
{
    const NamedAttr attrs[] = {build_named_attr(l->ctx, "strides",
                                                tosa_lower_window_attr(l->ctx, conv->stride.data,
                                                                       conv->stride.len, false)),
                               build_named_attr(l->ctx, "dilations",
                                                tosa_lower_window_attr(l->ctx, conv->dilation.data,
                                                                       conv->dilation.len, false))};
    Value *inputs[] = {conv->input, conv->weight, NULL, NULL};
    for (uint32_t i = 0; conv->quant && i < 2; i++)
        inputs[2 + i] = tosa_build_i32(l->b, tosa_zero_point(conv->quant, i));
    return tosa_build_named(l->b, def, (Values){inputs, conv->quant ? 4 : 2}, init, type, attrs,
                            COUNT_OF(attrs));
}

static const OpDef *conv_def(bool is_3d, bool hwcf, bool is_quantized)
{
    if (is_3d) return is_quantized ? LINALG(CONV_3D_NDHWC_DHWCF_Q) : LINALG(CONV_3D_NDHWC_DHWCF);
    if (hwcf) return is_quantized ? LINALG(CONV_2D_NHWC_HWCF_Q) : LINALG(CONV_2D_NHWC_HWCF);
    return is_quantized ? LINALG(CONV_2D_NHWC_FHWC_Q) : LINALG(CONV_2D_NHWC_FHWC);
}

static bool lower_conv(Lower *l, TosaConv *conv)
{
    static const int64_t last[] = {1, 2, 3, 0}, last_3d[] = {1, 2, 3, 4, 0};
    bool is_3d = l->op->def == TOSA(CONV3D);
    bool hwcf = pass_bool(l->pass, "prefer-conv2d-kernel-layout-hwcf");
    Values dims = conv_dims(l, conv);
    const Attr *padding = pad_value(conv);
    if (!padding) return false;
    conv->input = tosa_build_window_pad(l, conv->input, &conv->pad, padding);
    if (is_3d || hwcf)
        conv->weight = tosa_build_transposed(l, conv->weight, is_3d ? last_3d : last);
    Value *empty = tosa_build_empty_tensor(l->b, conv->result, type_elem(conv->result), dims);
    Value *init = tosa_build_broadcast_bias(l, conv->bias, empty);
    const OpDef *def = conv_def(is_3d, hwcf, conv->quant != NULL);
    rewriter_replace_one(l->rw, l->op, build_conv(l, conv, def, init, conv->result));
    return true;
}

bool tosa_lower_conv(Lower *l)
{
    TosaConv conv;
    if (!conv_read(l, 1, &conv)) return false;
    bool ok = lower_conv(l, &conv);
    conv_free(&conv);
    return ok;
}

/* bias[c] + sums[n, y, x, c]; a bias of one element is that of all channels. */
static Value *add_bias(Lower *l, const TosaConv *conv, Value *sums, Value *empty)
{
    bool is_one = extent_of(conv->bias->type, 0) == 1 && conv_channels(conv) != 1;
    const AffineExpr *channel = is_one ? affine_const(l->ctx, 0) : affine_dim(l->ctx, 3);
    const AffineMap *maps[] = {map_get(l->ctx, 4, 0, 1, &channel), NULL, NULL};
    GenericDef def = {
        .inputs = VALUES(conv->bias, sums), .inits = VALUES(empty), .maps = maps, .loops = 4};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, &conv->result, &body);
    Value *bias = body.block->args[0], *sum = body.block->args[1];
    bool is_float = type_is_float(sum->type);
    if (!is_float && bias->type != sum->type)
        bias = build_unary(&body, ARITH(EXTSI), sum->type, bias);
    tosa_build_yield(&body,
                     tosa_build_same(&body, is_float ? ARITH(ADDF) : ARITH(ADDI), bias, sum));
    return op_result(op, 0);
}

/* The sums have channel and multiplier apart, both as the weight has them; joined, they are the
 * result's channels. */
static bool lower_depthwise(Lower *l, TosaConv *conv)
{
    static const uint32_t groups[] = {1, 1, 1, 2};
    Values dims = conv_dims(l, conv), sum_dims = dims;
    if (is_dynamic(conv->result, 3)) sum_dims.count--;
    const Attr *padding = pad_value(conv);
    const Type *elem = type_elem(conv->result);
    if (!padding || !tosa_build_zero_of(elem)) return false;
    const int64_t shape[] = {extent_of(conv->result, 0), extent_of(conv->result, 1),
                             extent_of(conv->result, 2), extent_of(conv->weight->type, 2),
                             extent_of(conv->weight->type, 3)};
    const Type *type = type_tensor(elem, shape, COUNT_OF(shape), NULL);
    conv->input = tosa_build_window_pad(l, conv->input, &conv->pad, padding);
    Value *empty = tosa_build_empty_tensor(l->b, type, elem, sum_dims);
    Value *init = linalg_fill(l->b, arith_constant(l->b, tosa_build_zero_of(elem)), empty);
    Value *out = tosa_build_empty_tensor(l->b, conv->result, elem, dims);
    const OpDef *def =
        conv->quant ? LINALG(DEPTHWISE_CONV_2D_NHWC_HWCM_Q) : LINALG(DEPTHWISE_CONV_2D_NHWC_HWCM);
    Value *sums = build_conv(l, conv, def, init, type);
    const int64_t joined[] = {shape[0], shape[1], shape[2], conv_channels(conv)};
    sums = tensor_collapse_shape(l->b, sums, type_tensor(elem, joined, COUNT_OF(joined), NULL),
                                 tensor_groups_attr(l->ctx, groups, 4));
    rewriter_replace_one(l->rw, l->op, add_bias(l, conv, sums, out));
    return true;
}

bool tosa_lower_depthwise_conv(Lower *l)
{
    TosaConv conv;
    if (!conv_read(l, 0, &conv)) return false;
    bool ok = lower_depthwise(l, &conv);
    conv_free(&conv);
    return ok;
}
