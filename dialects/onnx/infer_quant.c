/* Result types of quantizers and their inverses.
 * Tests: lit/dialects/onnx/invalid-quant.mir, lit/passes/onnx/onnx-infer-shapes-quant.mir */
#include "dialects/onnx/internal.h"
#include "dialects/onnx/onnx.h"

static bool check_quant_attrs(const Op *op, StrBuf *why)
{
    const Attr *mode = op_attr(op, "rounding_mode");
    Rounding rounding;
    if (mode && !onnx_rounding_parse(mode->u.string, &rounding)) {
        strbuf_add_c(why, "unknown rounding mode ");
        strbuf_add_quoted(why, mode->u.string);
        return false;
    }
    return onnx_check_flag(op, "signed", why) && onnx_check_flag(op, "narrow", why);
}

/* The shape of X, which every parameter broadcasts to; integers come out in the scale's floats. */
static bool infer_on_grid(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *elem = type_elem(input);
    const Type *scale = type_elem(onnx_type(op, 1));
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why)) return false;
    for (uint32_t i = 1; i < op->operand_count; i++)
        if (!onnx_check_elem(op, i, ELEM_NUMERIC, why) ||
            (type_is_static(input) && !onnx_check_broadcast(op, i, input, why)))
            return false;
    if (!type_is_float(elem)) elem = type_is_float(scale) ? scale : type_float(op->ctx, TYPE_F32);
    results[0] = type_with_elem(input, elem);
    return true;
}

bool onnx_infer_quant(const Op *op, const Type **results, StrBuf *why)
{
    return check_quant_attrs(op, why) && infer_on_grid(op, results, why);
}

bool onnx_infer_bipolar_quant(const Op *op, const Type **results, StrBuf *why)
{
    return infer_on_grid(op, results, why);
}

bool onnx_infer_trunc(const Op *op, const Type **results, StrBuf *why)
{
    return check_quant_attrs(op, why) && infer_on_grid(op, results, why);
}

bool onnx_multi_threshold_axis(const Op *op, uint32_t *out)
{
    Str layout = onnx_string(op, "data_layout", "NCHW");
    uint32_t rank = onnx_type(op, 0)->u.shaped.rank;
    *out = layout.len > 0 && layout.data[layout.len - 1] == 'C' ? rank - 1 : 1;
    return *out < rank;
}

bool onnx_infer_multi_threshold(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *levels = onnx_type(op, 1);
    uint32_t axis;
    if (!onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_elem(op, 1, ELEM_NUMERIC, why))
        return false;
    results[0] = input;
    if (!onnx_all_static(op)) return true;
    if (levels->u.shaped.rank != 2)
        return onnx_why(why, "'T' must be a matrix of channels and thresholds");
    if (!onnx_multi_threshold_axis(op, &axis))
        return onnx_why(why, "'X' has no dimension of channels");
    int64_t rows = levels->u.shaped.dims[0], channels = input->u.shaped.dims[axis];
    return rows == 1 || rows == channels ||
           onnx_why(why, "'T' has %lld rows for %lld channels", (long long)rows,
                    (long long)channels);
}

/* The scale has a dimension for each of the input, divided by block_size along the axis. */
static bool check_blocks(const Op *op, int64_t block, uint32_t axis, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *scale = onnx_type(op, 1);
    const char *name = onnx_operand_name(op, 1);
    if (scale->u.shaped.rank != input->u.shaped.rank)
        return onnx_why(why, "'%s' must have the rank of '%s' for blocks", name,
                        onnx_operand_name(op, 0));
    for (uint32_t i = 0; i < scale->u.shaped.rank; i++) {
        int64_t want = input->u.shaped.dims[i], got = scale->u.shaped.dims[i];
        if (i == axis) want = want / block + (want % block != 0);
        if (got != want)
            return onnx_why(why, "'%s' has the extent %lld in dimension %u, not %lld", name,
                            (long long)got, i, (long long)want);
    }
    return true;
}

/* The scale is one number, has one per index of the dimension `axis`, or one per block. */
static bool check_scale(const Op *op, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *scale = onnx_type(op, 1);
    int64_t count, block = onnx_int(op, "block_size", 0);
    uint32_t axis;
    if (block < 0) return onnx_why(why, "attribute 'block_size' must not be negative");
    if (type_element_count(scale, &count) && count == 1 && block == 0) return true;
    if (!onnx_read_axis(op, 1, input->u.shaped.rank, &axis, why)) return false;
    if (block > 0) return check_blocks(op, block, axis, why);
    if (scale->u.shaped.rank == 1 && scale->u.shaped.dims[0] == input->u.shaped.dims[axis])
        return true;
    return onnx_why(why, "'%s' needs one element, or one for each index of the axis",
                    onnx_operand_name(op, 1));
}

/* Scale and zero point of either direction. */
static bool check_params(const Op *op, StrBuf *why)
{
    const Type *scale = onnx_type(op, 1), *zero = onnx_type(op, 2);
    if (!onnx_all_static(op)) return true;
    if (zero && type_with_elem(zero, type_elem(scale)) != scale)
        return onnx_why(why, "'%s' must have the shape of '%s'", onnx_operand_name(op, 2),
                        onnx_operand_name(op, 1));
    return check_scale(op, why);
}

/* Integers, of which i1 is none but a truth value, or floats of 8 bits. */
static bool check_quantized_elem(const Type *elem, const char *name, StrBuf *why)
{
    bool is_unsigned = type_is_integer(elem) && elem->u.integer.sign == UNSIGNED;
    bool is_integer =
        type_is_integer(elem) && type_width(elem) > !is_unsigned && type_width(elem) <= 64;
    if (is_integer || (type_is_float(elem) && type_width(elem) == 8)) return true;
    return onnx_why(why, "'%s' must be a tensor of integer elements", name);
}

bool onnx_infer_quantize(const Op *op, const Type **results, StrBuf *why)
{
    const Type *zero = onnx_type(op, 2);
    int64_t dtype = onnx_int(op, "output_dtype", 0);
    const Type *elem = zero ? type_elem(zero) : type_integer(op->ctx, 8, UNSIGNED);
    if (!zero && dtype != 0) elem = onnx_elem_type(op->ctx, dtype);
    if (!elem || (zero && dtype != 0 && elem != onnx_elem_type(op->ctx, dtype)))
        return onnx_why(why, "attribute 'output_dtype' is unknown, or not the type of "
                             "'y_zero_point'");
    if (!check_quantized_elem(elem, zero ? "y_zero_point" : "y", why) ||
        !onnx_check_elem(op, 0, ELEM_NUMERIC, why) || !onnx_check_elem(op, 1, ELEM_FLOAT, why) ||
        !onnx_check_flag(op, "saturate", why))
        return false;
    results[0] = type_with_elem(onnx_type(op, 0), elem);
    return check_params(op, why);
}

bool onnx_infer_dequantize(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0);
    if (!check_quantized_elem(type_elem(input), "x", why) ||
        !onnx_check_elem(op, 1, ELEM_FLOAT, why) ||
        !onnx_check_elem_is(op, 2, type_elem(input), why))
        return false;
    results[0] = type_with_elem(input, type_elem(onnx_type(op, 1)));
    return check_params(op, why);
}

bool onnx_infer_dynamic_quantize(const Op *op, const Type **results, StrBuf *why)
{
    const Type *input = onnx_type(op, 0), *byte = type_integer(op->ctx, 8, UNSIGNED);
    if (!onnx_check_elem_is(op, 0, type_float(op->ctx, TYPE_F32), why)) return false;
    results[0] = type_with_elem(input, byte);
    results[1] = type_tensor(type_elem(input), NULL, 0, NULL);
    results[2] = type_tensor(byte, NULL, 0, NULL);
    return true;
}
