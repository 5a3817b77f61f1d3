/* Decomposition of transposed convolutions into plain ones.
 *
 * Without strides the kernel is turned round, and the input is padded by its size. With strides s
 * the kernel, padded to a multiple of s, is taken apart into s * s kernels, one for each position
 * that a result pixel can have within a stride. They become channels of one convolution, whose
 * result is put together again, cut, and padded to the size asked for.
 * Tests: lit/passes/tosa/tosa-optional-decompositions-transpose.mir */
#include "dialects/common/common.h"
#include "dialects/tosa/tosa.h"
#include "passes/tosa/internal.h"

static const int64_t *dims_of(const Value *value)
{
    return value->type->u.shaped.dims;
}

static bool all_static(const Op *op)
{
    bool ok = type_is_static(op_result(op, 0)->type);
    for (uint32_t i = 0; i < op->operand_count; i++)
        ok = ok && type_is_static(op_operand(op, i)->type);
    return ok;
}

/* The convolutions that it becomes have zero points where they have integers. */
static bool is_convolution(const Op *op)
{
    bool is_integer = type_is_integer(type_elem(op_operand(op, 0)->type));
    bool has_quant = op_attr(op, "quantization_info") != NULL;
    return is_integer == has_quant && !tosa_refuse_elements(op);
}

static Value *reverse(Builder *b, Value *value, int64_t axis)
{
    NamedAttr attr = build_named_attr(b->ctx, "axis", attr_int(type_i(b->ctx, 32), axis));
    return op_result(build(b, TOSA(REVERSE), &value, 1, &value->type, 1, &attr, 1), 0);
}

/* A convolution of stride 1 with the op's zero points. */
static Value *convolve(Builder *b, const Op *op, Value *const *operands, const Type *type,
                       const int64_t *pad)
{
    const int64_t ones[] = {1, 1};
    const Attr *unit = attr_i64_array(b->ctx, ones, 2);
    const Attr *quant = op_attr(op, "quantization_info");
    NamedAttr attrs[] = {build_named_attr(b->ctx, "pad", attr_i64_array(b->ctx, pad, 4)),
                         build_named_attr(b->ctx, "stride", unit),
                         build_named_attr(b->ctx, "dilation", unit),
                         build_named_attr(b->ctx, "quantization_info", quant)};
    return op_result(build(b, TOSA(CONV2D), operands, 3, &type, 1, attrs, quant ? 4 : 3), 0);
}

static Value *transpose6(Builder *b, Value *value, const int64_t *perms)
{
    const int64_t six = 6, *from = dims_of(value);
    int64_t dims[6];
    for (uint32_t i = 0; i < 6; i++) dims[i] = from[perms[i]];
    const Type *type = type_with_shape(value->type, dims, 6);
    const Type *list = type_tensor(type_i(b->ctx, 32), &six, 1, NULL);
    Value *operands[] = {value, tosa_const(b, attr_dense_i64(list, perms, 6))};
    return build_binary(b, TOSA(TRANSPOSE), type, operands[0], operands[1]);
}

/* Pads height and width, by zero or the op's zero point. */
static Value *pad_pixels(Builder *b, const Op *op, Value *value, const int64_t *edges,
                         uint32_t zero_point)
{
    const int64_t widths[8] = {0, 0, edges[0], edges[1], edges[2], edges[3], 0, 0};
    const Attr *quant = op ? op_attr(op, "quantization_info") : NULL;
    const Attr *zero = attr_i64(b->ctx, tosa_zero_point(quant, zero_point));
    const TosaBorder border = {.widths = widths,
                               .width_bits = 32,
                               .quant =
                                   quant ? attr_dialect(b->ctx, &tosa_pad_quant, &zero, 1) : NULL};
    return tosa_pad(b, value, &border);
}

bool tosa_decompose_transpose(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Attr *out_pad = op_attr(op, "out_pad");
    const int64_t *kernel = dims_of(op_operand(op, 1));
    int64_t pad[4];
    if (!tosa_all_ones(op, "stride") || !all_static(op) || !is_convolution(op)) return false;
    for (uint32_t i = 0; i < 4; i++)
        if (!i64_add(kernel[1 + i / 2] - 1, dense_array_i64(out_pad, i), &pad[i])) return false;
    Value *weight = reverse(&rw->b, op_operand(op, 1), 1);
    weight = reverse(&rw->b, weight, 2);
    Value *operands[] = {op_operand(op, 0), weight, op_operand(op, 2)};
    rewriter_replace_one(rw, op, convolve(&rw->b, op, operands, op_result(op, 0)->type, pad));
    return true;
}

/* Extents in one of the two directions. */
typedef struct TransposeConvAxis {
    int64_t stride;
    int64_t fill;          /* that makes the kernel a multiple of the stride */
    int64_t kernel;        /* of each phase */
    int64_t conv;          /* of the convolution's result */
    int64_t begin, size;   /* of the part that is cut out of conv * stride */
    int64_t before, after; /* padding of that */
} TransposeConvAxis;

/* False: the numbers make no sense. */
static bool plan_axis(const Op *op, uint32_t direction, TransposeConvAxis *axis)
{
    int64_t kernel = dims_of(op_operand(op, 1))[1 + direction];
    int64_t in = dims_of(op_operand(op, 0))[1 + direction];
    int64_t out = dims_of(op_result(op, 0))[1 + direction];
    int64_t pad = dense_array_i64(op_attr(op, "out_pad"), 2 * direction), full;
    axis->stride = dense_array_i64(op_attr(op, "stride"), direction);
    if (axis->stride < 1 || kernel < 1 || in < 1 || i64_max(in, kernel) > INT32_MAX ||
        i64_max(axis->stride, out) > INT32_MAX || pad > INT32_MAX || pad < -INT32_MAX)
        return false;
    axis->fill = kernel % axis->stride ? axis->stride - kernel % axis->stride : 0;
    axis->kernel = (kernel + axis->fill) / axis->stride;
    axis->conv = in + axis->kernel - 1;
    full = axis->conv * axis->stride;
    axis->begin = pad < 0 ? -pad : 0;
    axis->before = pad > 0 ? pad : 0;
    axis->size = i64_min(full - axis->begin, out - axis->before);
    axis->after = out - axis->before - axis->size;
    return axis->size > 0;
}

/* The phases of the kernel as output channels, each turned round. */
static Value *split_kernel(Builder *b, const Op *op, const TransposeConvAxis *y,
                           const TransposeConvAxis *x)
{
    const int64_t *kernel = dims_of(op_operand(op, 1)), perms[] = {2, 4, 0, 1, 3, 5};
    const int64_t split[] = {kernel[0], y->kernel, y->stride, x->kernel, x->stride, kernel[3]};
    const int64_t joined[] = {kernel[0] * y->stride * x->stride, y->kernel, x->kernel, kernel[3]};
    const int64_t fill[] = {0, y->fill, 0, x->fill};
    Value *weight = pad_pixels(b, op, op_operand(op, 1), fill, 1);
    weight = tosa_reshape(b, weight, split, 6, NULL);
    weight = transpose6(b, weight, perms);
    weight = tosa_reshape(b, weight, joined, 4, NULL);
    weight = reverse(b, weight, 1);
    return reverse(b, weight, 2);
}

static Value *convolve_phases(Builder *b, const Op *op, Value *weight, const TransposeConvAxis *y,
                              const TransposeConvAxis *x)
{
    const int64_t edges[] = {y->kernel - 1, y->kernel - 1, x->kernel - 1, x->kernel - 1};
    const int64_t *channels = dims_of(weight), no_pad[4] = {0};
    const Type *bias_elem = type_elem(op_operand(op, 2)->type);
    Value *input = pad_pixels(b, op, op_operand(op, 0), edges, 0);
    const Type *bias_type = type_tensor(bias_elem, channels, 1, NULL);
    Value *bias = tosa_const(b, attr_dense_splat(bias_type, const_zero(bias_elem)));
    const int64_t dims[] = {dims_of(input)[0], y->conv, x->conv, channels[0]};
    const Type *type = type_tensor(type_elem(op_result(op, 0)->type), dims, 4, NULL);
    return convolve(b, op, (Value *[]){input, weight, bias}, type, no_pad);
}

/* The phases next to each other in height and width. */
static Value *join_phases(Builder *b, Value *phases, int64_t channels, const TransposeConvAxis *y,
                          const TransposeConvAxis *x)
{
    const int64_t batch = dims_of(phases)[0], perms[] = {0, 1, 3, 2, 4, 5};
    const int64_t split[] = {batch, y->conv, x->conv, y->stride, x->stride, channels};
    const int64_t joined[] = {batch, y->conv * y->stride, x->conv * x->stride, channels};
    Value *value = tosa_reshape(b, phases, split, 6, NULL);
    value = transpose6(b, value, perms);
    return tosa_reshape(b, value, joined, 4, NULL);
}

static Value *cut(Builder *b, Value *value, const TransposeConvAxis *y, const TransposeConvAxis *x)
{
    const int64_t *dims = dims_of(value), begin[] = {0, y->begin, x->begin, 0};
    const int64_t size[] = {dims[0], y->size, x->size, dims[3]};
    const Type *type = type_with_shape(value->type, size, 4);
    NamedAttr attrs[] = {build_named_attr(b->ctx, "start", attr_i64_array(b->ctx, begin, 4)),
                         build_named_attr(b->ctx, "size", attr_i64_array(b->ctx, size, 4))};
    return op_result(build(b, TOSA(SLICE), &value, 1, &type, 1, attrs, 2), 0);
}

bool tosa_decompose_strided_transpose(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    TransposeConvAxis y, x;
    Value *bias = op_operand(op, 2);
    int64_t channels; /* of the convolution */
    if (tosa_all_ones(op, "stride") || !all_static(op) || !is_convolution(op) ||
        !const_zero(type_elem(bias->type)) || !plan_axis(op, 0, &y) || !plan_axis(op, 1, &x) ||
        !i64_mul(y.stride * x.stride, dims_of(op_operand(op, 1))[0], &channels))
        return false;
    Value *weight = split_kernel(b, op, &y, &x);
    Value *phases = convolve_phases(b, op, weight, &y, &x);
    Value *result = join_phases(b, phases, dims_of(op_operand(op, 1))[0], &y, &x);
    result = cut(b, result, &y, &x);
    result =
        pad_pixels(b, NULL, result, (const int64_t[]){y.before, y.after, x.before, x.after}, 0);
    if (!tosa_equalize_ranks(b, &result, &bias)) return false;
    rewriter_replace_one(rw, op, build_binary(b, TOSA(ADD), op_result(op, 0)->type, result, bias));
    return true;
}
