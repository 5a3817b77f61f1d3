/* Result types of onnx ops from operands and attributes. Static operands give static results; an
 * unranked operand gives unranked ones, so that shapes can be inferred op by op.
 * Every size is checked against overflow: a tensor has at most MAX_ELEMENTS elements.
 * Tests: lit/dialects/onnx/invalid.mir, lit/passes/onnx-infer-shapes.mir */
#include "dialects/onnx/onnx_impl.h"
#include "dialects/onnx/quant.h"

static const int64_t MAX_ELEMENTS = INT64_C(1) << 40;

static const Type *operand_type(const Op *op, uint32_t index)
{
    return op_operand(op, index)->type;
}

static bool all_static(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!type_is_static(operand_type(op, i)))
            return false;
    return true;
}

static bool is_scalar(const Type *type)
{
    int64_t count;
    return type_element_count(type, &count) && count == 1;
}

/* A tensor type of that shape, refused when it is too large to make sense. */
static bool make_tensor(const Type *elem, const int64_t *dims, uint32_t rank, const Type **out,
                        StrBuf *why)
{
    int64_t count;
    *out = type_tensor(elem, dims, rank, NULL);
    if (type_element_count(*out, &count) && count <= MAX_ELEMENTS)
        return true;
    return onnx_why(why, "the result has too many elements");
}

/* --- operators that keep the shape --------------------------------------------------------- */

bool onnx_infer_same(const Op *op, const Type **results, StrBuf *why)
{
    (void)why;
    results[0] = operand_type(op, 0);
    return true;
}

bool onnx_infer_numeric(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(operand_type(op, 0));
    if (!type_is_float(elem) && (!type_is_integer(elem) || type_width(elem) < 8))
        return onnx_why(why, "the input is not numeric");
    return onnx_infer_same(op, results, why);
}

bool onnx_infer_constant(const Op *op, const Type **results, StrBuf *why)
{
    static const char *const forms[] = {"value", "value_float", "value_floats", "value_int",
                                        "value_ints"};
    size_t given = 0;
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        given += op_attr(op, forms[i]) != NULL;
    if (given != 1)
        return onnx_why(why, "needs exactly one attribute that gives its value");
    results[0] = onnx_constant(op_result(op, 0))->type;
    return true;
}

bool onnx_infer_no_value(const Op *op, const Type **results, StrBuf *why)
{
    (void)why;
    results[0] = type_none(op->ctx);
    return true;
}

/* --- quantizers ---------------------------------------------------------------------------- */

/* Whether `param` can be stretched to the shape of `type` (numpy's rule, from the right). */
static bool broadcasts_to(const Type *param, const Type *type)
{
    if (is_scalar(param))
        return true;
    uint32_t rank = param->u.shaped.rank, room = type->u.shaped.rank;
    if (rank > room)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim = param->u.shaped.dims[i];
        if (dim != 1 && dim != type->u.shaped.dims[room - rank + i])
            return false;
    }
    return true;
}

static bool check_flag(const Op *op, const char *name, StrBuf *why)
{
    const Attr *attr = op_attr(op, name);
    if (!attr || attr_int_value(attr) == 0 || attr_int_value(attr) == 1)
        return true;
    return onnx_why(why, "attribute '%s' must be 0 or 1", name);
}

static bool check_quant_attrs(const Op *op, StrBuf *why)
{
    const Attr *mode = op_attr(op, "rounding_mode");
    Rounding rounding;
    if (mode && !rounding_parse(mode->u.string, &rounding)) {
        strbuf_add_c(why, "unknown rounding mode ");
        onnx_add_quoted(why, mode->u.string);
        return false;
    }
    return check_flag(op, "signed", why) && check_flag(op, "narrow", why);
}

bool onnx_infer_quant(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = operand_type(op, 0);
    if (!check_quant_attrs(op, why))
        return false;
    if (!type_is_float(type_elem(input)))
        return onnx_why(why, "the input must be a float tensor");
    for (uint32_t i = 1; i < op->operand_count; i++) {
        const Type *param = operand_type(op, i);
        if (type_is_static(param) && type_is_static(input) && !broadcasts_to(param, input))
            return onnx_why(why, "the shape of '%s' does not broadcast to that of the input",
                            op->def->operands[i].name);
    }
    return onnx_infer_same(op, results, why);
}

/* The scale is one number, or has one per index of the dimension `axis`. */
static bool check_axis(const Op *op, StrBuf *why)
{
    const Type *input = operand_type(op, 0), *scale = operand_type(op, 1);
    if (is_scalar(scale))
        return true;
    const Attr *attr = op_attr(op, "axis");
    int64_t axis = attr ? attr_int_value(attr) : 1, rank = input->u.shaped.rank;
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank)
        return onnx_why(why, "attribute 'axis' is out of range");
    if (scale->u.shaped.rank == 1 && scale->u.shaped.dims[0] == input->u.shaped.dims[axis])
        return true;
    return onnx_why(why, "'x_scale' needs one element, or one for each index of the axis");
}

bool onnx_infer_dequantize(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = operand_type(op, 0), *scale = operand_type(op, 1);
    if (!type_is_integer(type_elem(input)))
        return onnx_why(why, "the input must be an integer tensor");
    if (!type_is_float(type_elem(scale)))
        return onnx_why(why, "'x_scale' must be a float tensor");
    if (op->operand_count > 2 && type_elem(operand_type(op, 2)) != type_elem(input))
        return onnx_why(why, "'x_zero_point' must have the element type of the input");
    results[0] = type_unranked_tensor(type_elem(scale));
    if (!all_static(op))
        return true;
    if (op->operand_count > 2 && type_with_elem(operand_type(op, 2), type_elem(scale)) != scale)
        return onnx_why(why, "'x_zero_point' must have the shape of 'x_scale'");
    results[0] = type_with_elem(input, type_elem(scale));
    return check_axis(op, why);
}

/* --- pooling ------------------------------------------------------------------------------- */

static bool check_spatial(const Type *input, StrBuf *why)
{
    uint32_t rank = input->u.shaped.rank;
    if (rank < 3 || rank > ONNX_MAX_RANK)
        return onnx_why(why, "the input has rank %u; it must be (N, C, ...) with 1 to %d spatial "
                        "dimensions", rank, ONNX_MAX_SPATIAL);
    for (uint32_t i = 0; i < rank; i++)
        if (input->u.shaped.dims[i] <= 0)
            return onnx_why(why, "dimension %u of the input is empty", i);
    return true;
}

bool onnx_infer_global_pool(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = operand_type(op, 0);
    if (!type_is_float(type_elem(input)))
        return onnx_why(why, "the input must be a float tensor");
    if (!type_is_static(input))
        return onnx_infer_same(op, results, why);
    if (!check_spatial(input, why))
        return false;
    int64_t dims[ONNX_MAX_RANK] = {input->u.shaped.dims[0], input->u.shaped.dims[1]};
    for (uint32_t i = 2; i < input->u.shaped.rank; i++)
        dims[i] = 1;
    return make_tensor(type_elem(input), dims, input->u.shaped.rank, &results[0], why);
}

/* --- convolution --------------------------------------------------------------------------- */

/* A list attribute with `count` entries of at least `least`, or `fallback` throughout. */
static bool read_list(const Op *op, const char *name, uint32_t count, int64_t least,
                      int64_t fallback, int64_t *out, StrBuf *why)
{
    const Attr *attr = op_attr(op, name);
    size_t length = count;
    for (uint32_t i = 0; i < count; i++)
        out[i] = fallback;
    if (attr && (!attr_int_list(attr, out, count, &length) || length != count))
        return onnx_why(why, "attribute '%s' must have %u entries", name, count);
    for (uint32_t i = 0; i < count; i++)
        if (out[i] < least)
            return onnx_why(why, "attribute '%s' has the entry %lld, below %lld", name,
                            (long long)out[i], (long long)least);
    return true;
}

typedef enum AutoPad { PAD_NOTSET, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER } AutoPad;

static bool read_auto_pad(const Op *op, AutoPad *out, StrBuf *why)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    const Attr *attr = op_attr(op, "auto_pad");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (attr && !str_eq_c(attr->u.string, names[i]))
            continue;
        *out = (AutoPad)i;
        return true;
    }
    strbuf_add_c(why, "unknown auto_pad ");
    onnx_add_quoted(why, attr->u.string);
    return false;
}

static bool check_conv_operands(const Op *op, StrBuf *why)
{
    static const char *const names[] = {"X", "W", "B"};
    const Type *elem = type_elem(operand_type(op, 0));
    if (!type_is_float(elem))
        return onnx_why(why, "'X' must be a float tensor");
    for (uint32_t i = 1; i < op->operand_count; i++)
        if (type_elem(operand_type(op, i)) != elem)
            return onnx_why(why, "'%s' must have the element type of 'X'", names[i]);
    return true;
}

/* W is (out_channels, in_channels / group, kernel...), B is (out_channels). */
static bool check_weight(const Op *op, const ConvGeometry *g, StrBuf *why)
{
    const int64_t *dims = operand_type(op, 1)->u.shaped.dims;
    if (g->group < 1 || g->in_channels % g->group || g->out_channels % g->group)
        return onnx_why(why, "group %lld does not divide %lld input and %lld output channels",
                        (long long)g->group, (long long)g->in_channels,
                        (long long)g->out_channels);
    if (dims[1] != g->in_channels / g->group)
        return onnx_why(why, "'W' has %lld input channels per group; 'X' has %lld",
                        (long long)dims[1], (long long)(g->in_channels / g->group));
    if (op->operand_count < 3)
        return true;
    const Type *bias = operand_type(op, 2);
    if (bias->u.shaped.rank != 1 || bias->u.shaped.dims[0] != g->out_channels)
        return onnx_why(why, "'B' must have one element for each of %lld output channels",
                        (long long)g->out_channels);
    return true;
}

static bool read_shapes(const Op *op, ConvGeometry *g, StrBuf *why)
{
    const Type *input = operand_type(op, 0), *weight = operand_type(op, 1);
    if (!check_spatial(input, why))
        return false;
    if (weight->u.shaped.rank != input->u.shaped.rank)
        return onnx_why(why, "'W' has rank %u, 'X' has rank %u", weight->u.shaped.rank,
                        input->u.shaped.rank);
    const Attr *group = op_attr(op, "group");
    g->spatial = input->u.shaped.rank - 2;
    g->batch = input->u.shaped.dims[0];
    g->group = group ? attr_int_value(group) : 1;
    g->in_channels = input->u.shaped.dims[1];
    g->out_channels = weight->u.shaped.dims[0];
    for (uint32_t i = 0; i < g->spatial; i++) {
        g->in[i] = input->u.shaped.dims[2 + i];
        g->kernel[i] = weight->u.shaped.dims[2 + i];
        if (g->kernel[i] < 1)
            return onnx_why(why, "the kernel is empty");
    }
    if (g->out_channels < 1)
        return onnx_why(why, "'W' has no output channels");
    return check_weight(op, g, why);
}

static bool check_kernel_shape(const Op *op, const ConvGeometry *g, StrBuf *why)
{
    int64_t given[ONNX_MAX_SPATIAL];
    if (!op_attr(op, "kernel_shape"))
        return true;
    if (!read_list(op, "kernel_shape", g->spatial, 1, 1, given, why))
        return false;
    for (uint32_t i = 0; i < g->spatial; i++)
        if (given[i] != g->kernel[i])
            return onnx_why(why, "attribute 'kernel_shape' differs from the shape of 'W'");
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

/* out = (in + low + high - window) / stride + 1 with window = (kernel - 1) * dilation + 1 */
static bool place_windows(ConvGeometry *g, uint32_t i, AutoPad mode, StrBuf *why)
{
    int64_t window, padded;
    if (!mul_i64(g->kernel[i] - 1, g->dilation[i], &window) || window >= MAX_ELEMENTS)
        return onnx_why(why, "the dilated kernel is too large");
    window++;
    if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER)
        pad_same(g, i, window, mode == PAD_SAME_LOWER);
    if (g->low[i] >= MAX_ELEMENTS || g->high[i] >= MAX_ELEMENTS)
        return onnx_why(why, "the padding is too large");
    padded = g->in[i] + g->low[i] + g->high[i];
    if (padded < window)
        return onnx_why(why, "the window of %lld does not fit into %lld padded inputs of spatial "
                        "dimension %u", (long long)window, (long long)padded, i);
    g->out[i] = (padded - window) / g->stride[i] + 1;
    return true;
}

bool onnx_conv_geometry(const Op *conv, ConvGeometry *out, StrBuf *why)
{
    *out = (ConvGeometry){0};
    AutoPad mode;
    int64_t pads[2 * ONNX_MAX_SPATIAL];
    if (!read_shapes(conv, out, why) || !check_kernel_shape(conv, out, why) ||
        !read_list(conv, "strides", out->spatial, 1, 1, out->stride, why) ||
        !read_list(conv, "dilations", out->spatial, 1, 1, out->dilation, why) ||
        !read_list(conv, "pads", 2 * out->spatial, 0, 0, pads, why) ||
        !read_auto_pad(conv, &mode, why))
        return false;
    for (uint32_t i = 0; i < out->spatial; i++) {
        out->low[i] = mode == PAD_NOTSET ? pads[i] : 0;
        out->high[i] = mode == PAD_NOTSET ? pads[out->spatial + i] : 0;
        if (!place_windows(out, i, mode, why))
            return false;
    }
    return true;
}

/* Whether what the padded input holds is still a sensible tensor. */
static bool check_padded(const ConvGeometry *g, const Type *elem, StrBuf *why)
{
    int64_t dims[ONNX_MAX_RANK] = {g->batch, g->in_channels};
    for (uint32_t i = 0; i < g->spatial; i++)
        dims[2 + i] = g->in[i] + g->low[i] + g->high[i];
    const Type *padded;
    return make_tensor(elem, dims, g->spatial + 2, &padded, why);
}

bool onnx_infer_conv(const Op *op, const Type **results, StrBuf *why)
{
    const Type *elem = type_elem(operand_type(op, 0));
    if (!check_conv_operands(op, why))
        return false;
    results[0] = type_unranked_tensor(elem);
    if (!all_static(op))
        return true;
    ConvGeometry g;
    if (!onnx_conv_geometry(op, &g, why) || !check_padded(&g, elem, why))
        return false;
    int64_t dims[ONNX_MAX_RANK] = {g.batch, g.out_channels};
    for (uint32_t i = 0; i < g.spatial; i++)
        dims[2 + i] = g.out[i];
    return make_tensor(elem, dims, g.spatial + 2, &results[0], why);
}
