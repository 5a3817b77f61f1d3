/* ONNX Runtime's own operators on quantized integers (domain com.microsoft), which its quantizer
 * writes. Each becomes the standard operator between DequantizeLinear and QuantizeLinear, by which
 * it is defined. All ops of a node have the node's name.
 * Tests: lit/import/contrib.test, test/e2e/networks_check.py */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"

#define MICROSOFT "com.microsoft"

/* Appends the ops; the last one's result. NULL: why tells. */
typedef Value *ExpandNode(Importer *im, NodeParts *parts);

struct Contrib {
    const char *name;
    uint32_t op;        /* that is computed on reals */
    size_t least, most; /* operands */
    ExpandNode *expand;
};

static Value *operand(const NodeParts *parts, size_t index)
{
    return index < parts->operands.len ? parts->operands.data[index] : NULL;
}

static Value *append(Importer *im, const NodeParts *parts, const OpDef *def, Value *const *operands,
                     size_t count, const Attr *attrs)
{
    if (im->why.len > 0) return NULL; /* one message is enough */
    for (size_t i = 0; i < count; i++)
        if (!operands[i]) return NULL;
    Op *op = import_append(im, def, operands, count, attrs, 1);
    if (!op) return NULL;
    op_set_attr(op, ONNX_ATTR_NAME, parts->name);
    return op_result(op, 0);
}

/* Appends the standard operator that the node applies to dequantized operands. */
static Value *compute(Importer *im, const NodeParts *parts, Value *const *operands, size_t count)
{
    return append(im, parts, parts->def, operands, count, parts->attrs);
}

static const Attr *axis_attr(Importer *im, int64_t axis)
{
    NamedAttr attr = build_named_attr(im->ctx, "axis", attr_i64(im->ctx, axis));
    return attr_dict(im->ctx, &attr, 1);
}

/* The integers at operand `index` with the scale and zero point that follow it. */
static Value *dequantize(Importer *im, const NodeParts *parts, size_t index, int64_t axis)
{
    Value *operands[] = {operand(parts, index), operand(parts, index + 1),
                         operand(parts, index + 2)};
    size_t count = operands[2] ? 3 : 2;
    onnx_build_same_shape(&im->b, &operands[1], &operands[2]);
    return append(im, parts, ONNX(DEQUANTIZE_LINEAR), operands, count, axis_attr(im, axis));
}

/* The reals by the scale and zero point at operand `index`; without a zero point to integers as operand
 * `like` is of. */
static Value *quantize(Importer *im, const NodeParts *parts, Value *reals, size_t index,
                       size_t like)
{
    Value *operands[] = {reals, operand(parts, index), operand(parts, index + 1)};
    const Type *elem = operand(parts, like) ? type_elem(operand(parts, like)->type) : NULL;
    if (!operands[2] && elem && type_is_integer(elem)) {
        const Type *scalar = type_tensor(elem, NULL, 0, NULL);
        operands[2] = onnx_build_constant(&im->b, attr_dense_splat(scalar, attr_int(elem, 0)));
    }
    onnx_build_same_shape(&im->b, &operands[1], &operands[2]);
    return append(im, parts, ONNX(QUANTIZE_LINEAR), operands, operands[2] ? 3 : 2,
                  axis_attr(im, 1));
}

/* The standard operator under another domain. */
static Value *expand_same(Importer *im, NodeParts *parts)
{
    return compute(im, parts, parts->operands.data, parts->operands.len);
}

/* x, its scale and zero point; the result's. */
static Value *expand_unary(Importer *im, NodeParts *parts)
{
    Value *x = dequantize(im, parts, 0, 1);
    return quantize(im, parts, compute(im, parts, &x, 1), 3, 0);
}

static Value *expand_binary(Importer *im, NodeParts *parts)
{
    Value *operands[] = {dequantize(im, parts, 0, 1), dequantize(im, parts, 3, 1)};
    return quantize(im, parts, compute(im, parts, operands, 2), 6, 0);
}

/* The result's scale and zero point, then three operands for each part. */
static Value *expand_concat(Importer *im, NodeParts *parts)
{
    VEC(Value *) values = {0};
    for (size_t i = 2; i < parts->operands.len; i += 3)
        *vec_push(&values) = dequantize(im, parts, i, 1);
    Value *reals = compute(im, parts, values.data, values.len);
    vec_free(&values);
    return quantize(im, parts, reals, 0, 2);
}

/* The int32 bias has the scale alpha * a_scale * b_scale. */
static Value *gemm_bias(Importer *im, const NodeParts *parts, int64_t rank)
{
    const Attr *alpha = attr_dict_get_c(parts->attrs, "alpha");
    const Type *real = type_elem(parts->operands.data[1]->type);
    double factor = alpha && alpha->kind == ATTR_FLOAT ? attr_float_value(alpha) : 1.0;
    const Type *scalar = type_tensor(real, NULL, 0, NULL);
    Value *scales[] = {operand(parts, 1), operand(parts, 4)};
    Value *product[] = {append(im, parts, ONNX(MUL), scales, 2, NULL), NULL};
    product[1] = onnx_build_constant(&im->b, attr_dense_splat(scalar, attr_float(real, factor)));
    Value *operands[] = {operand(parts, 6), factor == 1.0
                                                ? product[0]
                                                : append(im, parts, ONNX(MUL), product, 2, NULL)};
    return append(im, parts, ONNX(DEQUANTIZE_LINEAR), operands, 2, axis_attr(im, rank - 1));
}

/* Without a scale for the result, that is float. */
static Value *expand_gemm(Importer *im, NodeParts *parts)
{
    const Attr *trans = attr_dict_get_c(parts->attrs, "transB");
    bool is_transposed = trans && trans->kind == ATTR_INTEGER && attr_int_value(trans) != 0;
    Value *bias = operand(parts, 6);
    Value *operands[] = {dequantize(im, parts, 0, 1), dequantize(im, parts, 3, !is_transposed),
                         NULL};
    if (!operands[0] || !operands[1]) return NULL;
    if (bias && !type_is_ranked(bias->type)) {
        strbuf_add_c(&im->why, "has a bias of unknown shape");
        return NULL;
    }
    if (bias) operands[2] = gemm_bias(im, parts, bias->type->u.shaped.rank);
    Value *reals = compute(im, parts, operands, bias ? 3 : 2);
    return operand(parts, 7) ? quantize(im, parts, reals, 7, 0) : reals;
}

const Contrib *import_contrib_find(const Onnx__NodeProto *node)
{
    static const Contrib rows[] = {
        {"DequantizeLinear", ONNX_DEQUANTIZE_LINEAR, 2, 3, expand_same},
        {"Gelu", ONNX_GELU, 1, 1, expand_same},
        {"QGemm", ONNX_GEMM, 6, 9, expand_gemm},
        {"QLinearAdd", ONNX_ADD, 7, 8, expand_binary},
        {"QLinearAveragePool", ONNX_AVERAGE_POOL, 4, 5, expand_unary},
        {"QLinearConcat", ONNX_CONCAT, 5, SIZE_MAX, expand_concat},
        {"QLinearGlobalAveragePool", ONNX_GLOBAL_AVERAGE_POOL, 5, 5, expand_unary},
        {"QLinearLeakyRelu", ONNX_LEAKY_RELU, 4, 5, expand_unary},
        {"QLinearMul", ONNX_MUL, 7, 8, expand_binary},
        {"QLinearSigmoid", ONNX_SIGMOID, 4, 5, expand_unary},
        {"QuantizeLinear", ONNX_QUANTIZE_LINEAR, 2, 3, expand_same},
    };
    if (!str_eq_c(import_text(node->domain), MICROSOFT)) return NULL;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(import_text(node->op_type), rows[i].name)) return &rows[i];
    return NULL;
}

const OpDef *import_contrib_operator(const Contrib *contrib)
{
    return &onnx_ops[contrib->op];
}

bool import_contrib_prepare(Importer *im, NodeParts *parts)
{
    const Contrib *contrib = parts->contrib;
    while (parts->operands.len > contrib->least && !parts->operands.data[parts->operands.len - 1])
        parts->operands.len--; /* absent operands at the end */
    size_t count = parts->operands.len;
    const Attr *last = attr_dict_get_c(parts->attrs, "channels_last");
    if (last && (last->kind != ATTR_INTEGER || attr_int_value(last) != 0)) {
        strbuf_add_c(&im->why, "the attribute 'channels_last' is supported as 0 only");
        return false;
    }
    parts->attrs = attr_dict_set(parts->attrs, ident_get_c(im->ctx, "channels_last"), NULL);
    if (count < contrib->least || count > contrib->most) {
        strbuf_printf(&im->why, "has %zu inputs, which is not supported", count);
        return false;
    }
    return true;
}

Value *import_contrib_append(Importer *im, NodeParts *parts)
{
    Value *result = parts->contrib->expand(im, parts);
    if (!result && im->why.len == 0) strbuf_add_c(&im->why, "misses an input");
    return result;
}
