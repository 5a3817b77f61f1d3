/* Decomposition of convolutions whose kernel is one pixel: into a product of matrices, or for
 * depthwise ones into a product of elements.
 * Tests: lit/passes/tosa/tosa-optional-decompositions.mir */
#include "dialects/common/common.h"
#include "dialects/tosa/tosa.h"
#include "passes/tosa/internal.h"

static const int64_t *dims_of(const Value *value)
{
    return value->type->u.shaped.dims;
}

bool tosa_all_ones(const Op *op, const char *attr)
{
    const Attr *list = op_attr(op, attr);
    for (size_t i = 0; i < list->u.dense_array.count; i++)
        if (dense_array_i64(list, i) != 1) return false;
    return true;
}

static int64_t zero_point(const Op *op, uint32_t index)
{
    return tosa_zero_point(op_attr(op, "quantization_info"), index);
}

/* Reads "pad" into the widths of height and width; false: all zero. */
static bool read_pad(const Op *op, int64_t *widths)
{
    const Attr *pad = op_attr(op, "pad");
    bool any = false;
    for (size_t i = 0; i < 4; i++) {
        widths[i + 2] = dense_array_i64(pad, i);
        any = any || widths[i + 2] != 0;
    }
    return any;
}

/* The zero point is a number of that type. */
static bool fits(const Type *elem, int64_t value)
{
    uint32_t width = type_width(elem);
    if (width == 0 || width >= 64) return width > 0;
    if (elem->u.integer.sign == UNSIGNED) return value >= 0 && value < (int64_t)1 << width;
    return value >= -((int64_t)1 << (width - 1)) && value < (int64_t)1 << (width - 1);
}

/* The element that means zero around the input; NULL: there is none. */
static const Attr *conv_zero(const Op *op, const Type *elem)
{
    if (!op_attr(op, "quantization_info")) return const_zero(elem);
    int64_t zero = zero_point(op, 0);
    return type_is_integer(elem) && fits(elem, zero) ? attr_int(elem, zero) : NULL;
}

/* One unknown extent at most among batch, height and width, a kernel of one pixel. */
static bool is_product(const Op *op)
{
    const Type *in = op_operand(op, 0)->type, *weight = op_operand(op, 1)->type;
    return type_dynamic_extents(in) <= 1 && in->u.shaped.dims[3] != DIM_DYNAMIC &&
           type_dynamic_extents(weight) <= 1 && type_is_ranked(op_result(op, 0)->type) &&
           tosa_all_ones(op, "stride") && weight->u.shaped.dims[1] == 1 &&
           weight->u.shaped.dims[2] == 1;
}

static Value *build_product(Builder *b, const Op *op, Value *input, Value *weight)
{
    Value *operands[] = {input, weight, op_operand(op, 2)};
    const int64_t dims[] = {dims_of(input)[0], dims_of(weight)[0]};
    const Type *type = type_tensor(type_elem(op_result(op, 0)->type), dims, 2, NULL);
    const Attr *quant = op_attr(op, "quantization_info");
    NamedAttr attr = build_named_attr(b->ctx, "quantization_info", quant);
    return op_result(build(b, TOSA(FULLY_CONNECTED), operands, 3, &type, 1, &attr, quant ? 1 : 0),
                     0);
}

bool tosa_decompose_conv2d(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    Value *input = op_operand(op, 0), *weight = op_operand(op, 1);
    int64_t widths[8] = {0}, pixels = 1;
    if (!is_product(op) || tosa_refuse_elements(op)) return false;
    const Attr *zero = conv_zero(op, type_elem(input->type));
    bool is_padded = read_pad(op, widths);
    if (is_padded && !zero) return false;
    if (is_padded)
        input =
            tosa_pad(b, input, &(TosaBorder){.widths = widths, .width_bits = 64, .value = zero});
    const int64_t *in = dims_of(input);
    bool is_static = type_is_static(input->type);
    for (uint32_t i = 0; i < 3; i++)
        pixels = is_static && i64_mul(pixels, in[i], &pixels) ? pixels : DIM_DYNAMIC;
    Value *rows = tosa_reshape(b, input, (const int64_t[]){pixels, in[3]}, 2, NULL);
    Value *columns =
        tosa_reshape(b, weight, (const int64_t[]){dims_of(weight)[0], dims_of(weight)[3]}, 2, NULL);
    Value *product = build_product(b, op, rows, columns);
    const int64_t out[] = {in[0], in[1], in[2], dims_of(weight)[0]};
    rewriter_replace_one(rw, op, tosa_reshape(b, product, out, 4, op_result(op, 0)->type));
    return true;
}

static Value *cast_elements(Builder *b, Value *value, const Type *elem)
{
    if (type_elem(value->type) == elem) return value;
    return build_unary(b, TOSA(CAST), type_with_elem(value->type, elem), value);
}

static Value *subtract_zero_point(Builder *b, Value *value, int64_t zero)
{
    const Type *elem = type_elem(value->type);
    int64_t ones[5] = {1, 1, 1, 1, 1};
    if (zero == 0) return value;
    const Type *type = type_tensor(elem, ones, value->type->u.shaped.rank, NULL);
    Value *constant = tosa_const(b, attr_dense_splat(type, attr_int(elem, zero)));
    return build_binary(b, TOSA(SUB), value->type, value, constant);
}

static bool is_elementwise(const Op *op)
{
    const Type *in = op_operand(op, 0)->type, *weight = op_operand(op, 1)->type;
    const Type *out = op_result(op, 0)->type, *elem = type_elem(out);
    return type_is_static(in) && type_is_static(weight) && type_is_static(out) &&
           (type_is_float(elem) || (type_is_integer(elem) && fits(elem, zero_point(op, 0)) &&
                                    fits(elem, zero_point(op, 1)))) &&
           tosa_all_ones(op, "stride") && weight->u.shaped.dims[0] == 1 &&
           weight->u.shaped.dims[1] == 1;
}

/* The input with a dimension for the multiplier, about zero and padded. */
static Value *spread_input(Builder *b, const Op *op)
{
    const int64_t *in = dims_of(op_operand(op, 0));
    const int64_t dims[] = {in[0], in[1], in[2], in[3], 1};
    Value *spread = tosa_reshape(b, op_operand(op, 0), dims, 5, NULL);
    return cast_elements(b, spread, type_elem(op_result(op, 0)->type));
}

static Value *multiply(Builder *b, Value *input, Value *weight, int64_t multiplier)
{
    const int64_t *in = dims_of(input);
    const int64_t dims[] = {in[0], in[1], in[2], in[3], multiplier};
    const Type *type = type_tensor(type_elem(weight->type), dims, 5, NULL);
    NamedAttr shift = build_named_attr(b->ctx, "shift", attr_int(type_i(b->ctx, 8), 0));
    Value *operands[] = {input, weight};
    return op_result(build(b, TOSA(MUL), operands, 2, &type, 1, &shift, 1), 0);
}

bool tosa_decompose_depthwise(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    const Type *out = op_result(op, 0)->type, *elem = type_elem(out);
    Value *weight = op_operand(op, 1), *bias = op_operand(op, 2);
    int64_t widths[10] = {0}, multiplier = dims_of(weight)[3];
    if (!is_elementwise(op) || tosa_refuse_elements(op)) return false;
    Value *input = spread_input(b, op);
    weight = cast_elements(b, weight, elem);
    input = subtract_zero_point(b, input, zero_point(op, 0));
    weight = subtract_zero_point(b, weight, zero_point(op, 1));
    if (read_pad(op, widths)) {
        TosaBorder border = {.widths = widths, .width_bits = 64, .value = const_zero(elem)};
        input = tosa_pad(b, input, &border);
    }
    if (!tosa_equalize_ranks(b, &input, &weight)) return false;
    Value *product = multiply(b, input, weight, multiplier);
    Value *pixels = tosa_reshape(b, product, out->u.shaped.dims, 4, NULL);
    if (!tosa_equalize_ranks(b, &pixels, &bias)) return false;
    rewriter_replace_one(rw, op, build_binary(b, TOSA(ADD), pixels->type, pixels, bias));
    return true;
}
