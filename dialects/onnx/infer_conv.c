/* Geometry and result types of convolutions and poolings.
 * Tests: lit/dialects/onnx/invalid-window.mir, lit/passes/onnx/onnx-infer-shapes-window.mir */
#include "dialects/onnx/internal.h"

typedef enum AutoPad { PAD_NOTSET, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER } AutoPad;

static bool read_auto_pad(const Op *op, AutoPad *out, StrBuf *why)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    size_t index;
    if (!onnx_check_choice(op, "auto_pad", names, COUNT_OF(names), &index, why)) return false;
    *out = (AutoPad)index;
    return true;
}

/* Batch, channels and extents of X, which is (N, C, spatial...) and not empty. */
static bool read_input(const Op *op, ConvGeometry *g, StrBuf *why)
{
    OnnxShape in;
    if (!onnx_shape(onnx_type(op, 0), &in, why)) return false;
    if (in.rank < 3)
        return onnx_why(why,
                        "the input has rank %u; it must be (N, C, ...) with 1 to %d spatial "
                        "dimensions",
                        in.rank, ONNX_MAX_SPATIAL);
    for (uint32_t i = 0; i < in.rank; i++)
        if (in.dims[i] <= 0) return onnx_why(why, "dimension %u of the input is empty", i);
    g->spatial = in.rank - 2;
    g->batch = in.dims[0];
    g->in_channels = g->out_channels = g->group = in.dims[1];
    for (uint32_t i = 0; i < g->spatial; i++) g->in[i] = in.dims[2 + i];
    return true;
}

/* ceil(in / stride) windows: the zeros that takes, the odd one at the end or the beginning. */
static void pad_same(ConvGeometry *g, uint32_t i, int64_t window, bool lower)
{
    int64_t covered = (g->in[i] - 1) / g->stride[i] * g->stride[i] + window;
    int64_t total = covered > g->in[i] ? covered - g->in[i] : 0;
    g->low[i] = lower ? total - total / 2 : total / 2;
    g->high[i] = total - g->low[i];
}

/* (kernel - 1) * dilation + 1 */
static bool window_extent(const ConvGeometry *g, uint32_t i, int64_t *out, StrBuf *why)
{
    if (!i64_mul(g->kernel[i] - 1, g->dilation[i], out) || *out >= ONNX_MAX_ELEMENTS)
        return onnx_why(why, "the dilated kernel is too large");
    ++*out;
    if (g->stride[i] >= ONNX_MAX_ELEMENTS) return onnx_why(why, "the stride is too large");
    return true;
}

/* out = (in + low + high - window) / stride + 1; rounded up, a last window that starts in the
 * padding behind the input does not count. */
static bool place_windows(ConvGeometry *g, uint32_t i, AutoPad mode, bool ceil, StrBuf *why)
{
    int64_t window;
    if (!window_extent(g, i, &window, why)) return false;
    if (g->in[i] >= ONNX_MAX_ELEMENTS) return onnx_why(why, "the input is too large");
    if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER)
        pad_same(g, i, window, mode == PAD_SAME_LOWER);
    if (g->low[i] >= ONNX_MAX_ELEMENTS || g->high[i] >= ONNX_MAX_ELEMENTS)
        return onnx_why(why, "the padding is too large");
    int64_t padded = g->in[i] + g->low[i] + g->high[i];
    if (padded < window)
        return onnx_why(why,
                        "the window of %lld does not fit into %lld padded inputs of spatial "
                        "dimension %u",
                        (long long)window, (long long)padded, i);
    int64_t steps = (padded - window) / g->stride[i], inside = g->in[i] + g->low[i];
    steps += ceil && (padded - window) % g->stride[i] != 0;
    if (ceil && (inside < 1 || steps > (inside - 1) / g->stride[i])) steps--;
    g->out[i] = steps + 1;
    return true;
}

/* Strides, dilations and padding as the attributes have them. */
static bool read_steps(const Op *op, ConvGeometry *g, AutoPad *mode, StrBuf *why)
{
    int64_t pads[2 * ONNX_MAX_SPATIAL];
    if (!onnx_read_list(op, "strides", g->spatial, 1, 1, g->stride, why) ||
        !onnx_read_list(op, "dilations", g->spatial, 1, 1, g->dilation, why) ||
        !onnx_read_list(op, "pads", 2 * g->spatial, 0, 0, pads, why) ||
        !read_auto_pad(op, mode, why))
        return false;
    for (uint32_t i = 0; i < g->spatial; i++) {
        g->low[i] = *mode == PAD_NOTSET ? pads[i] : 0;
        g->high[i] = *mode == PAD_NOTSET ? pads[g->spatial + i] : 0;
    }
    return true;
}

/* Checks that the sizes of the padded input and of the result make sense, and makes the type of the
 * result. */
static bool make_result(const ConvGeometry *g, const Type *elem, const Type **out, StrBuf *why)
{
    OnnxShape padded = {g->spatial + 2, {g->batch, g->in_channels}};
    OnnxShape result = {g->spatial + 2, {g->batch, g->out_channels}};
    for (uint32_t i = 0; i < g->spatial; i++) {
        int64_t extent = g->in[i] + g->low[i] + g->high[i];
        padded.dims[2 + i] = extent > 0 ? extent : 0;
        result.dims[2 + i] = g->out[i];
    }
    return onnx_make_tensor(elem, &padded, out, why) && onnx_make_tensor(elem, &result, out, why);
}

bool onnx_pool_geometry(const Op *pool, ConvGeometry *out, StrBuf *why)
{
    *out = (ConvGeometry){0};
    AutoPad mode;
    if (!read_input(pool, out, why) || !onnx_check_flag(pool, "ceil_mode", why) ||
        !onnx_read_list(pool, "kernel_shape", out->spatial, 1, 1, out->kernel, why) ||
        !read_steps(pool, out, &mode, why))
        return false;
    bool ceil = onnx_int(pool, "ceil_mode", 0) == 1;
    for (uint32_t i = 0; i < out->spatial; i++)
        if (!place_windows(out, i, mode, ceil, why)) return false;
    return true;
}

static bool infer_pool(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 0));
    ConvGeometry g;
    results[0] = type_unranked_tensor(elem);
    return !onnx_all_static(op) ||
           (onnx_pool_geometry(op, &g, why) && make_result(&g, elem, &results[0], why));
}

bool onnx_infer_average_pool(const Op *op, const Type **results, StrBuf *why)
{
    return onnx_check_elem(op, 0, ELEM_FLOAT, why) &&
           onnx_check_flag(op, "count_include_pad", why) && infer_pool(op, results, why);
}

bool onnx_infer_max_pool(const Op *op, const Type **results, StrBuf *why)
{
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_flag(op, "storage_order", why) ||
        !infer_pool(op, results, why))
        return false;
    if (op->result_count > 1) results[1] = type_with_elem(results[0], type_i(op->ctx, 64));
    return true;
}

bool onnx_infer_global_pool(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    ConvGeometry g = {0};
    if (!onnx_check_elem(op, 0, ELEM_FLOAT, why)) return false;
    results[0] = input;
    if (!type_is_static(input)) return true;
    if (!read_input(op, &g, why)) return false;
    for (uint32_t i = 0; i < g.spatial; i++) g.out[i] = 1;
    return make_result(&g, type_elem(input), &results[0], why);
}

static uint32_t weight_index(const Op *op)
{
    return op->def == ONNX(QLINEAR_CONV) ? 3 : 1;
}

static uint32_t bias_index(const Op *op)
{
    if (op->def == ONNX(CONV_INTEGER)) return UINT32_MAX;
    return op->def == ONNX(QLINEAR_CONV) ? 8 : 2;
}

static bool check_group(const ConvGeometry *g, StrBuf *why)
{
    if (g->group >= 1 && g->in_channels % g->group == 0 && g->out_channels % g->group == 0)
        return true;
    return onnx_why(why, "group %lld does not divide %lld input and %lld output channels",
                    (long long)g->group, (long long)g->in_channels, (long long)g->out_channels);
}

static bool check_bias(const Op *op, const ConvGeometry *g, StrBuf *why)
{
    const Type *bias = onnx_type(op, bias_index(op));
    if (!bias || (bias->u.shaped.rank == 1 && bias->u.shaped.dims[0] == g->out_channels))
        return true;
    return onnx_why(why, "'B' must have one element for each of %lld output channels",
                    (long long)g->out_channels);
}

/* The kernel's extents, which kernel_shape repeats. */
static bool read_kernel(const Op *op, ConvGeometry *g, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *weight = onnx_type(op, weight_index(op));
    const char *name = onnx_operand_name(op, weight_index(op));
    if (weight->u.shaped.rank != input->u.shaped.rank)
        return onnx_why(why, "'%s' has rank %u, '%s' has rank %u", name, weight->u.shaped.rank,
                        onnx_operand_name(op, 0), input->u.shaped.rank);
    if (!onnx_read_list(op, "kernel_shape", g->spatial, 1, 1, g->kernel, why)) return false;
    for (uint32_t i = 0; i < g->spatial; i++) {
        int64_t extent = weight->u.shaped.dims[2 + i];
        if (extent < 1) return onnx_why(why, "the kernel is empty");
        if (op_attr(op, "kernel_shape") && g->kernel[i] != extent)
            return onnx_why(why, "attribute 'kernel_shape' differs from the shape of '%s'", name);
        g->kernel[i] = extent;
    }
    g->group = onnx_int(op, "group", 1);
    if (weight->u.shaped.dims[0] < 1 || weight->u.shaped.dims[1] < 1)
        return onnx_why(why, "'%s' has no %s channels", name,
                        weight->u.shaped.dims[0] < 1 ? "output" : "input");
    return true;
}

bool onnx_conv_geometry(const Op *conv, ConvGeometry *out, StrBuf *why)
{
    *out = (ConvGeometry){0};
    AutoPad mode;
    if (!read_input(conv, out, why) || !read_kernel(conv, out, why)) return false;
    const int64_t *dims = onnx_type(conv, weight_index(conv))->u.shaped.dims;
    out->out_channels = dims[0];
    if (!check_group(out, why) || !check_bias(conv, out, why) || !read_steps(conv, out, &mode, why))
        return false;
    if (dims[1] != out->in_channels / out->group)
        return onnx_why(why, "'%s' has %lld input channels per group; '%s' has %lld",
                        onnx_operand_name(conv, weight_index(conv)), (long long)dims[1],
                        onnx_operand_name(conv, 0), (long long)(out->in_channels / out->group));
    for (uint32_t i = 0; i < out->spatial; i++)
        if (!place_windows(out, i, mode, false, why)) return false;
    return true;
}

/* The result of a convolution with elements of that type, once its operands' types are right. */
static bool infer_conv(const Op *op, const Type *elem, const Type **results, StrBuf *why)
{
    ConvGeometry g;
    results[0] = type_unranked_tensor(elem);
    return !onnx_all_static(op) ||
           (onnx_conv_geometry(op, &g, why) && make_result(&g, elem, &results[0], why));
}

static bool check_float_operands(const Op *op, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 0));
    return onnx_check_elem(op, 0, ELEM_FLOAT, why) && onnx_check_elem_is(op, 1, elem, why) &&
           onnx_check_elem_is(op, 2, elem, why);
}

bool onnx_infer_conv(const Op *op, const Type **results, StrBuf *why)
{
    return check_float_operands(op, why) &&
           infer_conv(op, type_elem(onnx_type(op, 0)), results, why);
}

/* One zero point, or one for each output channel. */
static bool check_per_channel(const Op *op, uint32_t index, StrBuf *why)
{
    const Type *param = onnx_type(op, index), *weight = onnx_type(op, weight_index(op));
    int64_t count;
    if (!param || !type_is_static(param) || !type_is_static(weight) ||
        (type_element_count(param, &count) && count == 1))
        return true;
    return onnx_check_vector(op, index, weight->u.shaped.rank > 0 ? weight->u.shaped.dims[0] : 0,
                             why);
}

bool onnx_infer_conv_integer(const Op *op, const Type **results, StrBuf *why)
{
    return onnx_check_elem(op, 0, ELEM_BYTE, why) && onnx_check_elem(op, 1, ELEM_BYTE, why) &&
           onnx_check_elem_is(op, 2, type_elem(onnx_type(op, 0)), why) &&
           onnx_check_elem_is(op, 3, type_elem(onnx_type(op, 1)), why) &&
           onnx_check_scalar(op, 2, why) && check_per_channel(op, 3, why) &&
           infer_conv(op, type_i(op->ctx, 32), results, why);
}

bool onnx_infer_qlinear_conv(const Op *op, const Type **results, StrBuf *why)
{
    for (uint32_t i = 0; i < 2; i++) { /* x, x_scale, x_zero_point; the same for w */
        if (!onnx_check_elem(op, 3 * i, ELEM_BYTE, why) ||
            !onnx_check_elem(op, 3 * i + 1, ELEM_FLOAT, why) ||
            !onnx_check_elem_is(op, 3 * i + 2, type_elem(onnx_type(op, 3 * i)), why))
            return false;
    }
    if (!onnx_check_scalar(op, 1, why) || !onnx_check_scalar(op, 2, why) ||
        !check_per_channel(op, 4, why) || !check_per_channel(op, 5, why) ||
        !onnx_check_elem(op, 6, ELEM_FLOAT, why) || !onnx_check_scalar(op, 6, why) ||
        !onnx_check_elem(op, 7, ELEM_BYTE, why) || !onnx_check_scalar(op, 7, why) ||
        !onnx_check_elem_is(op, 8, type_i(op->ctx, 32), why))
        return false;
    return infer_conv(op, type_elem(onnx_type(op, 7)), results, why);
}

/* out = stride * (in - 1) + output_padding + window - low - high; the padding is what makes this
 * equation true where the attributes leave it open. */
static bool place_transposed(ConvGeometry *g, uint32_t i, AutoPad mode, int64_t extra,
                             int64_t given, StrBuf *why)
{
    int64_t window, full;
    if (!window_extent(g, i, &window, why)) return false;
    if (g->low[i] >= ONNX_MAX_ELEMENTS || g->high[i] >= ONNX_MAX_ELEMENTS ||
        extra >= ONNX_MAX_ELEMENTS || given >= ONNX_MAX_ELEMENTS)
        return onnx_why(why, "the padding is too large");
    if (!i64_mul(g->stride[i], g->in[i] - 1, &full) || full >= ONNX_MAX_ELEMENTS)
        return onnx_why(why, "the result has too many elements");
    full += extra + window;
    bool is_same = mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER;
    if (given == 0 && is_same && !i64_mul(g->in[i], g->stride[i], &given))
        return onnx_why(why, "the result has too many elements");
    if (given > 0) {
        int64_t total = full - given, cut = total > 0 ? total : 0;
        g->low[i] = mode == PAD_SAME_UPPER ? cut / 2 : cut - cut / 2;
        g->high[i] = total - g->low[i];
    }
    g->out[i] = full - g->low[i] - g->high[i];
    return g->out[i] > 0 || onnx_why(why, "the padding leaves nothing of spatial dimension %u", i);
}

bool onnx_conv_transpose_geometry(const Op *conv, ConvGeometry *out, StrBuf *why)
{
    *out = (ConvGeometry){0};
    int64_t extra[ONNX_MAX_SPATIAL], given[ONNX_MAX_SPATIAL];
    AutoPad mode;
    if (!read_input(conv, out, why) || !read_kernel(conv, out, why)) return false;
    const int64_t *dims = onnx_type(conv, 1)->u.shaped.dims;
    if (!i64_mul(dims[1], out->group, &out->out_channels))
        return onnx_why(why, "the result has too many elements");
    if (!check_group(out, why) || !check_bias(conv, out, why) ||
        !read_steps(conv, out, &mode, why) ||
        !onnx_read_list(conv, "output_padding", out->spatial, 0, 0, extra, why) ||
        !onnx_read_list(conv, "output_shape", out->spatial, 0, 0, given, why))
        return false;
    if (dims[0] != out->in_channels)
        return onnx_why(why, "'W' has %lld input channels; 'X' has %lld", (long long)dims[0],
                        (long long)out->in_channels);
    for (uint32_t i = 0; i < out->spatial; i++)
        if (!place_transposed(out, i, mode, extra[i], given[i], why)) return false;
    return true;
}

bool onnx_infer_conv_transpose(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(onnx_type(op, 0));
    ConvGeometry g;
    if (!check_float_operands(op, why)) return false;
    results[0] = type_unranked_tensor(elem);
    return !onnx_all_static(op) ||
           (onnx_conv_transpose_geometry(op, &g, why) && make_result(&g, elem, &results[0], why));
}
