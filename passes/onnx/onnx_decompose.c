/* onnx-decompose: replaces operators on quantized integers by the float operators that they stand
 * for,
 *   QLinearConv(x, w, ...)    -> QuantizeLinear(Conv(Dequantize(x), Dequantize(w), Dequantize(B)))
 *   QLinearMatMul(a, b, ...)  -> QuantizeLinear(MatMul(Dequantize(a), Dequantize(b)))
 *   ConvInteger, MatMulInteger -> Cast(... of both less their zero points)
 *   DynamicQuantizeLinear(x)  -> the extremes of x, their scale and zero point, and x by these
 * and quantizers of activations that have a scale per channel by those with the scale 1:
 *   QuantizeLinear(x, s, z)    -> QuantizeLinear(x / s, 1, z)
 *   DequantizeLinear(q, s, z)  -> DequantizeLinear(q, 1, z) * s
 *   Quant(x, s, z, b)          -> Quant(x / s, 1, z, b) * s
 *   BipolarQuant(x, s)         -> BipolarQuant(x, 1) * s
 * or, where all of a parameter's numbers are equal, by those with one of them,
 * and operators that are written with others:
 *   Einsum(...)   -> Transpose, Reshape, MatMul, Mul, ReduceSum (onnx_decompose_einsum.c)
 *   LRN(x)        -> x / (bias + alpha * average of x * x over channels)^beta
 * The lowering to linalg turns them into integer arithmetic again, so that each has one form there.
 * Requires: nothing.
 * Changes: the operators above; onnx-infer-shapes gives their results types.
 * Tests: lit/passes/onnx/onnx-decompose.mir */
#include "dialects/onnx/onnx.h"
#include "ir/attr/attr.h"
#include "ir/rewrite/rewrite.h"
#include "passes/onnx/internal.h"

Value *decompose_make(Decomposition *d, const OpDef *def, Value *const *operands, uint32_t count,
                      const Type *elem, const NamedAttr *attrs, uint32_t attr_count)
{
    const Type *type = type_unranked_tensor(elem);
    Op *op = build(&d->b, def, operands, count, &type, 1, attrs, attr_count);
    StrBuf why = {0};
    if (onnx_infer(op, &type, &why)) op_result(op, 0)->type = type;
    strbuf_free(&why);
    op_set_attr(op, ONNX_ATTR_NAME, op_attr(d->op, ONNX_ATTR_NAME));
    op_set_attr(op, ONNX_ATTR_TENSORS, op_attr(d->op, ONNX_ATTR_TENSORS));
    return op_result(op, 0);
}

static const Type *real_type(const Decomposition *d)
{
    return type_float(d->b.ctx, TYPE_F32);
}

/* (x - zero) * scale; the zero point may be absent. */
static Value *dequantize(Decomposition *d, Value *x, Value *scale, Value *zero, int64_t axis)
{
    onnx_build_same_shape(&d->b, &scale, &zero);
    Value *operands[] = {x, scale, zero};
    NamedAttr attr = build_named_attr(d->b.ctx, "axis", attr_i64(d->b.ctx, axis));
    const Type *elem = type_elem(scale->type);
    return decompose_make(d, ONNX(DEQUANTIZE_LINEAR), operands, zero ? 3 : 2, elem, &attr, 1);
}

/* Scales of 1 in the shape of a zero point, which may be absent. */
static Value *ones(Decomposition *d, const Value *zero)
{
    const Type *scalar = type_tensor(real_type(d), NULL, 0, NULL);
    const Type *type =
        zero && type_is_static(zero->type) ? type_with_elem(zero->type, real_type(d)) : scalar;
    return onnx_build_constant(&d->b, attr_dense_splat(type, attr_float(real_type(d), 1.0)));
}

/* Operand `index` less its zero point, which is operand index + 2. */
static Value *center(Decomposition *d, uint32_t index, int64_t axis)
{
    Value *zero = onnx_operand(d->op, index + 2);
    return dequantize(d, op_operand(d->op, index), ones(d, zero), zero, axis);
}

/* Per-column parameters of a right operand go along its last dimension, per-row ones along the
 * second last. */
static int64_t last_axis(const Value *x, int64_t back)
{
    int64_t rank = type_is_ranked(x->type) ? x->type->u.shaped.rank : 2;
    return rank - back < 0 ? 0 : rank - back;
}

void decompose_replace(Decomposition *d, Value *value)
{
    const Type *type = op_result(d->op, 0)->type;
    /* The type of what others see stays. */
    if (value->type != type && (value->is_arg || value_has_uses(value)))
        value = decompose_make(d, ONNX(IDENTITY), &value, 1, type_elem(type), NULL, 0);
    value->type = type;
    value_replace_all(op_result(d->op, 0), value);
    op_erase(d->op);
}

/* The int32 bias has the scale x_scale * w_scale. */
static Value *bias(Decomposition *d)
{
    Value *integers = onnx_operand(d->op, 8);
    Value *scales[] = {op_operand(d->op, 1), op_operand(d->op, 4)};
    if (!integers) return NULL;
    Value *scale = decompose_make(d, ONNX(MUL), scales, 2, type_elem(scales[0]->type), NULL, 0);
    return dequantize(d, integers, scale, NULL, 0);
}

/* The attributes that a convolution shares with another. */
static Value *convolution(Decomposition *d, Value *const *operands, uint32_t count)
{
    static const char *const names[] = {"auto_pad",     "dilations", "group",
                                        "kernel_shape", "pads",      "strides"};
    NamedAttr attrs[COUNT_OF(names)];
    uint32_t attr_count = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const Attr *attr = op_attr(d->op, names[i]);
        if (attr) attrs[attr_count++] = build_named_attr(d->b.ctx, names[i], attr);
    }
    return decompose_make(d, ONNX(CONV), operands, count, type_elem(operands[0]->type), attrs,
                          attr_count);
}

static void requantize(Decomposition *d, Value *y)
{
    Value *operands[] = {y, op_operand(d->op, 6), op_operand(d->op, 7)};
    onnx_build_same_shape(&d->b, &operands[1], &operands[2]);
    const Type *elem = type_elem(op_operand(d->op, 7)->type);
    decompose_replace(d, decompose_make(d, ONNX(QUANTIZE_LINEAR), operands, 3, elem, NULL, 0));
}

static void qlinear_conv(Decomposition *d)
{
    Op *op = d->op;
    Value *x = dequantize(d, op_operand(op, 0), op_operand(op, 1), op_operand(op, 2), 1);
    Value *w = dequantize(d, op_operand(op, 3), op_operand(op, 4), op_operand(op, 5), 0);
    Value *operands[] = {x, w, bias(d)};
    requantize(d, convolution(d, operands, operands[2] ? 3 : 2));
}

static void qlinear_matmul(Decomposition *d)
{
    Op *op = d->op;
    Value *left = op_operand(op, 0), *right = op_operand(op, 3);
    Value *a = dequantize(d, left, op_operand(op, 1), op_operand(op, 2), last_axis(left, 2));
    Value *b = dequantize(d, right, op_operand(op, 4), op_operand(op, 5), last_axis(right, 1));
    Value *operands[] = {a, b};
    requantize(d, decompose_make(d, ONNX(MATMUL), operands, 2, type_elem(a->type), NULL, 0));
}

static Value *cast(Decomposition *d, Value *x, int64_t to, const Type *elem)
{
    NamedAttr attr = build_named_attr(d->b.ctx, "to", attr_i64(d->b.ctx, to));
    return decompose_make(d, ONNX(CAST), &x, 1, elem, &attr, 1);
}

static void to_int32(Decomposition *d, Value *y)
{
    enum { ONNX_INT32 = 6 };
    decompose_replace(d, cast(d, y, ONNX_INT32, type_i(d->b.ctx, 32)));
}

/* Whether sums of products may pass what f32 counts exactly, and no weights are at hand that make
 * integers of them. */
static bool may_pass_f32(const Op *op)
{
    const Type *type = op_operand(op, 1)->type;
    int64_t terms, columns;
    if (onnx_constant(op_operand(op, 1))) return false;
    if (!type_is_static(type) || !type_element_count(type, &terms)) return true;
    if (op->def == ONNX(CONV_INTEGER)) {
        terms /= i64_max(type->u.shaped.dims[0], 1);
    } else {
        columns = type->u.shaped.rank > 1 ? type->u.shaped.dims[type->u.shaped.rank - 1] : 1;
        terms /= i64_max(columns, 1); /* of all matrices: no fewer than of one */
    }
    return terms > (INT64_C(1) << 24) / (255 * 255);
}

/* Operands in doubles where f32 may round their sums. */
static void widen(Decomposition *d, Value *operands[2])
{
    enum { ONNX_DOUBLE = 11 };
    const Type *f64 = type_float(d->b.ctx, TYPE_F64);
    bool in_doubles = may_pass_f32(d->op);
    for (int i = 0; in_doubles && i < 2; i++) operands[i] = cast(d, operands[i], ONNX_DOUBLE, f64);
}

static void conv_integer(Decomposition *d)
{
    Value *operands[] = {center(d, 0, 1), center(d, 1, 0)};
    widen(d, operands);
    to_int32(d, convolution(d, operands, 2));
}

static void matmul_integer(Decomposition *d)
{
    Value *operands[] = {center(d, 0, last_axis(op_operand(d->op, 0), 2)),
                         center(d, 1, last_axis(op_operand(d->op, 1), 1))};
    widen(d, operands);
    to_int32(d,
             decompose_make(d, ONNX(MATMUL), operands, 2, type_elem(operands[0]->type), NULL, 0));
}

/* Whether a weight's quantizer is at hand: those stay, since weights can have such scales. */
static bool is_of_constant(const Op *op)
{
    VEC(const Value *) work = {0};
    PtrMap seen = {0};
    bool found = true;
    *vec_push(&work) = op_operand(op, 0);
    while (found && work.len > 0) {
        const Value *x = work.data[--work.len];
        const Op *def = value_def(x);
        found = def != NULL;
        if (!found || ptrmap_has(&seen, def)) continue;
        ptrmap_put(&seen, def, &work);
        for (uint32_t i = 0; i < def->operand_count; i++) *vec_push(&work) = op_operand(def, i);
    }
    vec_free(&work);
    ptrmap_free(&seen);
    return found;
}

/* A constant with the dims of another one. */
static Value *reshaped(Decomposition *d, const Attr *constant, const int64_t *dims, uint32_t rank)
{
    Array *array = array_from_attr(constant);
    array = array_reshape(array, type_tensor(array->elem, dims, rank, NULL));
    Value *value = onnx_build_constant(&d->b, array_to_attr(array));
    array_unref(array);
    return value;
}

/* The scales, which go along the attribute `axis`, as a tensor that broadcasts with x. NULL: they
 * do not go along a dimension. */
static Value *spread_scales(Decomposition *d, const Attr *scales)
{
    const Type *type = op_operand(d->op, 0)->type;
    int64_t axis = onnx_int(d->op, "axis", 1), dims[ONNX_MAX_RANK];
    if (!type_is_ranked(type) || type->u.shaped.rank > ONNX_MAX_RANK ||
        scales->type->u.shaped.rank != 1)
        return NULL;
    int64_t rank = type->u.shaped.rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank) return NULL;
    dims[0] = scales->type->u.shaped.dims[0];
    for (int64_t i = 1; i < rank - axis; i++) dims[i] = 1;
    return reshaped(d, scales, dims, (uint32_t)(rank - axis));
}

/* The scales of a quantizer of an activation as a constant that broadcasts with it; NULL: it has
 * one scale only, or one that this pass leaves to others. */
static Value *channel_scales(Decomposition *d)
{
    const Op *op = d->op;
    const Attr *scales = onnx_constant(op_operand(op, 1));
    double one;
    if (!scales || onnx_dense_uniform(scales, &one) || is_of_constant(op) ||
        onnx_int(op, "block_size", 0) != 0)
        return NULL;
    if (op->def != ONNX(QUANTIZE_LINEAR) && op->def != ONNX(DEQUANTIZE_LINEAR))
        return op_operand(op, 1);
    const Attr *zero = op->operand_count > 2 ? onnx_constant(op_operand(op, 2)) : NULL;
    if (op->operand_count > 2 && !(zero && onnx_dense_uniform(zero, &one))) return NULL;
    return spread_scales(d, scales);
}

/* The first of equal numbers. */
static Value *one_of(Decomposition *d, const Attr *all)
{
    const Type *scalar = type_tensor(type_elem(all->type), NULL, 0, NULL);
    return onnx_build_constant(&d->b, attr_dense_splat(scalar, dense_elem(all, 0)));
}

/* Gives the quantizer of an activation one number for each parameter, if all of that are equal. False:
 * some differ, or there is one already. */
static bool join_parameters(Decomposition *d)
{
    Op *op = d->op;
    bool has_several = false;
    double number;
    for (uint32_t i = 1; i < op->operand_count; i++) {
        const Value *operand = onnx_operand(op, i);
        const Attr *all = operand ? onnx_constant(operand) : NULL;
        if (operand && !(all && onnx_dense_uniform(all, &number))) return false;
        has_several |= operand && dense_count(all) > 1;
    }
    if (!has_several || is_of_constant(op)) return false;
    for (uint32_t i = 1; i < op->operand_count; i++)
        if (onnx_operand(op, i)) op_set_operand(op, i, one_of(d, onnx_constant(op_operand(op, i))));
    if (op_attr(op, "block_size")) op_set_attr(op, "block_size", NULL);
    return true;
}

static Value *apply_scales(Decomposition *d, const OpDef *def, Value *x, Value *scales)
{
    Value *operands[] = {x, scales};
    return decompose_make(d, def, operands, 2, type_elem(x->type), NULL, 0);
}

/* Numbers and scales are of the type that constants are made in. */
static bool has_real_scale(const Decomposition *d)
{
    uint32_t number = d->op->def == ONNX(DEQUANTIZE_LINEAR) ? 1 : 0;
    return type_elem(op_operand(d->op, 1)->type) == real_type(d) &&
           type_elem(op_operand(d->op, number)->type) == real_type(d);
}

/* Whether a Quant may have one bit and a sign, so that a level is the sign of x, which a quotient by a
 * negative scale has not. */
static bool may_lose_sign(const Op *op)
{
    double bits;
    bool is_quant = op->def == ONNX(QUANT) || op->def == ONNX(INT_QUANT);
    if (!is_quant || onnx_int(op, "signed", 1) == 0) return false;
    const Attr *width = onnx_constant(op_operand(op, 3)),
               *scales = onnx_constant(op_operand(op, 1));
    if (width && onnx_dense_uniform(width, &bits) && bits > 1) return false;
    for (int64_t i = 0; i < dense_count(scales); i++)
        if (onnx_dense_number(scales, i) < 0) return true;
    return false;
}

static bool split_scales(Decomposition *d)
{
    enum { MAX_OPERANDS = 4 };
    Op *op = d->op;
    bool is_linear = op->def == ONNX(QUANTIZE_LINEAR) || op->def == ONNX(DEQUANTIZE_LINEAR);
    if (!has_real_scale(d)) return false;
    Value *operands[MAX_OPERANDS], *scales = channel_scales(d);
    if (!scales || op->operand_count > MAX_OPERANDS || may_lose_sign(op)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++) operands[i] = op_operand(op, i);
    if (op->def != ONNX(DEQUANTIZE_LINEAR) && op->def != ONNX(BIPOLAR_QUANT))
        operands[0] = apply_scales(d, ONNX(DIV), operands[0], scales);
    operands[1] = ones(d, NULL);
    if (is_linear && op->operand_count > 2)
        operands[2] = one_of(d, onnx_constant(op_operand(op, 2)));
    const Type *elem = type_elem(op_result(op, 0)->type);
    const Attr *attrs = op->props ? op->props : attr_dict(op->ctx, NULL, 0);
    Value *y = decompose_make(d, op->def, operands, op->operand_count, elem, attrs->u.dict.items,
                              attrs->u.dict.count);
    if (op->def != ONNX(QUANTIZE_LINEAR)) y = apply_scales(d, ONNX(MUL), y, scales);
    decompose_replace(d, y);
    return true;
}

static Value *constant(Decomposition *d, double value)
{
    const Type *type = type_tensor(real_type(d), NULL, 0, NULL);
    return onnx_build_constant(&d->b, attr_dense_splat(type, attr_float(real_type(d), value)));
}

static Value *unary(Decomposition *d, const OpDef *def, Value *x)
{
    return decompose_make(d, def, &x, 1, real_type(d), NULL, 0);
}

static Value *binary(Decomposition *d, const OpDef *def, Value *x, Value *y)
{
    Value *operands[] = {x, y};
    return decompose_make(d, def, operands, 2, real_type(d), NULL, 0);
}

/* The extreme of all of x and of 0. */
static Value *extreme(Decomposition *d, const OpDef *reduce, const OpDef *join)
{
    Value *x = op_operand(d->op, 0);
    NamedAttr attr = build_named_attr(d->b.ctx, "keepdims", attr_i64(d->b.ctx, 0));
    return binary(d, join, decompose_make(d, reduce, &x, 1, real_type(d), &attr, 1),
                  constant(d, 0.0));
}

/* An integer from 0 to 255. */
static Value *saturate(Decomposition *d, Value *x)
{
    Value *operands[] = {x, constant(d, 0.0), constant(d, 255.0)};
    return decompose_make(d, ONNX(CLIP), operands, 3, real_type(d), NULL, 0);
}

/* scale = (high - low) / 255;  zero = round(-low / scale);  y = round(x / scale) + zero */
static void dynamic_quantize(Decomposition *d)
{
    enum { ONNX_UINT8 = 2 };
    Op *op = d->op;
    const Type *byte = type_integer(d->b.ctx, 8, UNSIGNED), *flag = type_i(d->b.ctx, 1);
    Value *high = extreme(d, ONNX(REDUCE_MAX), ONNX(MAX));
    Value *low = extreme(d, ONNX(REDUCE_MIN), ONNX(MIN));
    Value *scale = binary(d, ONNX(DIV), binary(d, ONNX(SUB), high, low), constant(d, 255.0));
    Value *pair[] = {scale, constant(d, 0.0)};
    Value *choice[] = {decompose_make(d, ONNX(EQUAL), pair, 2, flag, NULL, 0), constant(d, 1.0),
                       scale};
    Value *divisor = decompose_make(d, ONNX(WHERE), choice, 3, real_type(d), NULL, 0);
    Value *zero = binary(d, ONNX(DIV), unary(d, ONNX(NEG), low), divisor);
    zero = saturate(d, unary(d, ONNX(ROUND), zero));
    Value *y = unary(d, ONNX(ROUND), binary(d, ONNX(DIV), op_operand(op, 0), divisor));
    y = saturate(d, binary(d, ONNX(ADD), y, zero));
    Value *results[] = {cast(d, y, ONNX_UINT8, byte), scale, cast(d, zero, ONNX_UINT8, byte)};
    for (uint32_t i = 0; i < op->result_count; i++) {
        results[i]->type = op_result(op, i)->type;
        value_replace_all(op_result(op, i), results[i]);
    }
    op_erase(op);
}

/* Averages over a channel and its `low` and `high` neighbours; beyond the first and last one there
 * are zeros. */
static Value *average_channels(Decomposition *d, Value *x, int64_t low, int64_t high)
{
    const Type *type = x->type;
    const int64_t *dims = type->u.shaped.dims;
    int64_t inner = 1, rank = type->u.shaped.rank, four = 4;
    for (int64_t i = 2; i < rank; i++) inner *= dims[i];
    const int64_t view[] = {dims[0], 1, dims[1], inner}, kernel[] = {low + 1 + high, 1};
    const int64_t pads[] = {low, 0, high, 0};
    Context *ctx = d->b.ctx;
    const Type *list = type_tensor(type_i(ctx, 64), &four, 1, NULL);
    const Type *own = type_tensor(type_i(ctx, 64), &rank, 1, NULL);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "count_include_pad", attr_i64(ctx, 1)),
        build_named_attr(ctx, "kernel_shape", attr_i64_array(ctx, kernel, 2)),
        build_named_attr(ctx, "pads", attr_i64_array(ctx, pads, 4)),
    };
    Value *before[] = {x, onnx_build_constant(&d->b, attr_dense_i64(list, view, 4))};
    x = decompose_make(d, ONNX(RESHAPE), before, 2, type_elem(type), NULL, 0);
    x = decompose_make(d, ONNX(AVERAGE_POOL), &x, 1, type_elem(type), attrs, COUNT_OF(attrs));
    Value *after[] = {x, onnx_build_constant(&d->b, attr_dense_i64(own, dims, (size_t)rank))};
    return decompose_make(d, ONNX(RESHAPE), after, 2, type_elem(type), NULL, 0);
}

/* A scalar constant of a float type. */
static Value *number_of(Decomposition *d, const Type *elem, double value)
{
    const Type *type = type_tensor(elem, NULL, 0, NULL);
    return onnx_build_constant(&d->b, attr_dense_splat(type, attr_float(elem, value)));
}

static bool lrn(Decomposition *d)
{
    Value *x = op_operand(d->op, 0);
    const Type *elem = type_elem(x->type);
    if (!type_is_static(x->type)) return false;
    int64_t size = onnx_int(d->op, "size", 1), channels = x->type->u.shaped.dims[1];
    int64_t low = (size - 1) / 2, high = size - 1 - low;
    low = low < channels ? low : channels; /* further off there are zeros only */
    high = high < channels ? high : channels;
    const double terms = (double)(low + 1 + high);
    const struct {
        const OpDef *def;
        double number;
    } steps[] = {{ONNX(MUL), onnx_float(d->op, "alpha", 1e-4) * terms / (double)size},
                 {ONNX(ADD), onnx_float(d->op, "bias", 1.0)},
                 {ONNX(POW), onnx_float(d->op, "beta", 0.75)}};
    Value *square[] = {x, x};
    Value *y = decompose_make(d, ONNX(MUL), square, 2, elem, NULL, 0);
    y = average_channels(d, y, low, high);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        Value *operands[] = {y, number_of(d, elem, steps[i].number)};
        y = decompose_make(d, steps[i].def, operands, 2, elem, NULL, 0);
    }
    Value *quotient[] = {x, y};
    decompose_replace(d, decompose_make(d, ONNX(DIV), quotient, 2, elem, NULL, 0));
    return true;
}

/* Sum, Mean, Max, Min of several operands, two at a time; false: of one, or of two that stay. */
static bool variadic(Decomposition *d)
{
    Op *op = d->op;
    bool is_mean = op->def == ONNX(MEAN), is_sum = is_mean || op->def == ONNX(SUM);
    uint32_t count = op->operand_count;
    if (count < (is_sum ? 2 : 3)) return false;
    const Type *elem = type_elem(op_operand(op, 0)->type);
    Value *y = op_operand(op, 0);
    for (uint32_t i = 1; i < count; i++) {
        Value *pair[] = {y, op_operand(op, i)};
        y = decompose_make(d, is_sum ? ONNX(ADD) : op->def, pair, 2, elem, NULL, 0);
    }
    if (is_mean) {
        Value *quotient[] = {y, number_of(d, elem, count)};
        y = decompose_make(d, ONNX(DIV), quotient, 2, elem, NULL, 0);
    }
    decompose_replace(d, y);
    return true;
}

/* Rewrites the node; false: it stays. */
static bool rewrite(Decomposition *d)
{
    switch (d->op->def - onnx_ops) {
    case ONNX_QLINEAR_CONV: qlinear_conv(d); return true;
    case ONNX_QLINEAR_MATMUL: qlinear_matmul(d); return true;
    case ONNX_CONV_INTEGER: conv_integer(d); return true;
    case ONNX_MATMUL_INTEGER: matmul_integer(d); return true;
    case ONNX_DYNAMIC_QUANTIZE_LINEAR: dynamic_quantize(d); return true;
    case ONNX_EINSUM: return decompose_einsum(d);
    case ONNX_LRN: return lrn(d);
    case ONNX_SUM:
    case ONNX_MEAN:
    case ONNX_MAX:
    case ONNX_MIN: return variadic(d);
    case ONNX_TRUNC: return join_parameters(d);
    case ONNX_QUANT:
    case ONNX_INT_QUANT:
    case ONNX_BIPOLAR_QUANT:
    case ONNX_QUANTIZE_LINEAR:
    case ONNX_DEQUANTIZE_LINEAR: return join_parameters(d) || split_scales(d);
    default: return false;
    }
}

static void decompose(Pass *pass, Op *op)
{
    Decomposition d = {.b = builder_before(op), .op = op};
    bool is_onnx = op->def && op->def->dialect == &onnx_dialect;
    if (is_onnx && rewrite(&d)) pass_count(pass, "decomposed nodes", 1);
}

static bool onnx_decompose(Pass *pass, Op *func)
{
    Region *body = op_region(func, 0);
    for (Block *block = body->first; block; block = block->next)
        FOR_EACH_OP_SAFE(op, block) decompose(pass, op);
    return true;
}

const PassDef pass_onnx_decompose = {
    .name = "onnx-decompose",
    .summary = "Rewrite operators as the simpler ones that they stand for",
    .anchor = "func.func",
    .stats = STATS({"decomposed nodes", "Nodes that were rewritten"}),
    .run = onnx_decompose,
};
