/* The onnx dialect: its table, and what all its ops share: verification by inference, names,
 * errors. The declared type of a result must be the inferred one, or unranked as long as shapes are
 * unknown.
 * Tests: lit/dialects/onnx */
#include "dialects/common/common.h"
#include "dialects/onnx/internal.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"

static const OnnxOperator *operator_of(const OpDef *def)
{
    return def->data;
}

bool onnx_infer(const Op *op, const Type **results, StrBuf *why)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!onnx_is_bounded(op_operand(op, i)->type))
            return onnx_why(why, "operand #%u has too many elements", i);
    return operator_of(op->def)->infer(op, results, why);
}

bool onnx_in_domain(const OpDef *def, Str domain)
{
    for (const char *const *name = operator_of(def)->domains; *name; name++)
        if (str_eq_c(domain, *name)) return true;
    return false;
}

bool onnx_why(StrBuf *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(why, fmt, args);
    va_end(args);
    return false;
}

bool onnx_is_node(const Op *op)
{
    return op->def && op->def->dialect == &onnx_dialect && op->def != ONNX(CONSTANT) &&
           op->def != ONNX(NO_VALUE);
}

Str onnx_node_name(const Op *op)
{
    const Attr *name = op_attr(op, ONNX_ATTR_NAME);
    return name && name->kind == ATTR_STRING ? name->u.string : str_from(op->def->name);
}

bool onnx_error(const Op *op, const char *fmt, ...)
{
    StrBuf text = {0};
    strbuf_add_c(&text, "node ");
    strbuf_add_quoted(&text, onnx_node_name(op));
    strbuf_printf(&text, " (%s): ", op->def->name);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    diag_error(op->ctx, op->loc, "%s", text.data);
    strbuf_free(&text);
    return false;
}

Value *onnx_operand(const Op *op, uint32_t index)
{
    Value *value = index < op->operand_count ? op_operand(op, index) : NULL;
    return value && value->type->kind != TYPE_NONE ? value : NULL;
}

int64_t onnx_int(const Op *op, const char *name, int64_t fallback)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr_int_value(attr) : fallback;
}

double onnx_float(const Op *op, const char *name, double fallback)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr_float_value(attr) : fallback;
}

Str onnx_string(const Op *op, const char *name, const char *fallback)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr->u.string : str_from(fallback);
}

const Type *onnx_elem_type(Context *ctx, int64_t data_type)
{
    switch (data_type) {
    case 1: return type_float(ctx, TYPE_F32);
    case 2: return type_integer(ctx, 8, UNSIGNED);
    case 3: return type_i(ctx, 8);
    case 4: return type_integer(ctx, 16, UNSIGNED);
    case 5: return type_i(ctx, 16);
    case 6: return type_i(ctx, 32);
    case 7: return type_i(ctx, 64);
    case 9: return type_i(ctx, 1);
    case 10: return type_float(ctx, TYPE_F16);
    case 11: return type_float(ctx, TYPE_F64);
    case 12: return type_integer(ctx, 32, UNSIGNED);
    case 13: return type_integer(ctx, 64, UNSIGNED);
    case 14: return type_complex(type_float(ctx, TYPE_F32));
    case 15: return type_complex(type_float(ctx, TYPE_F64));
    case 16: return type_float(ctx, TYPE_BF16);
    case 17: return type_float(ctx, TYPE_F8E4M3FN);
    case 18: return type_float(ctx, TYPE_F8E4M3FNUZ);
    case 19: return type_float(ctx, TYPE_F8E5M2);
    case 20: return type_float(ctx, TYPE_F8E5M2FNUZ);
    case 21: return type_integer(ctx, 4, UNSIGNED);
    case 22: return type_i(ctx, 4);
    case 25: return type_integer(ctx, 2, UNSIGNED);
    case 26: return type_i(ctx, 2);
    default: return NULL; /* strings, unknown */
    }
}

static const Attr *splat_of_scalar(const Attr *scalar)
{
    return attr_dense_splat(type_tensor(scalar->type, NULL, 0, NULL), scalar);
}

static const Attr *dense_of_array(const Attr *array)
{
    int64_t count = (int64_t)array->u.dense_array.count;
    const Type *elem = array->u.dense_array.elem;
    return attr_dense_raw(type_tensor(elem, &count, 1, NULL), array->u.dense_array.data,
                          (size_t)count * (type_width(elem) / 8), false);
}

const Attr *onnx_constant(const Value *value)
{
    const Op *op = value_def(value);
    if (!op || op->def != ONNX(CONSTANT)) return NULL;
    for (const AttrArgDef *row = op->def->attrs; row->name; row++) {
        const Attr *attr = op_attr(op, row->name);
        if (!attr || !row->attr->test(attr)) /* it may not be verified */
            continue;
        if (attr->kind == ATTR_DENSE) return attr;
        return attr->kind == ATTR_DENSE_ARRAY ? dense_of_array(attr) : splat_of_scalar(attr);
    }
    return NULL;
}

Value *onnx_build_constant(Builder *b, const Attr *value)
{
    NamedAttr attr = build_named_attr(b->ctx, "value", value);
    return op_result(build(b, ONNX(CONSTANT), NULL, 0, &value->type, 1, &attr, 1), 0);
}

/* Whether a parameter of one element is to have the shape of another one. */
static bool is_less(const Type *type, const Type *like)
{
    int64_t count, other;
    return type_is_static(type) && type_is_static(like) && type_element_count(type, &count) &&
           type_element_count(like, &other) && count == 1 &&
           (other > 1 || type->u.shaped.rank < like->u.shaped.rank);
}

static void expand_to(Builder *b, Value **value, const Type *like)
{
    int64_t rank = like->u.shaped.rank;
    const Type *list = type_tensor(type_i(b->ctx, 64), &rank, 1, NULL);
    const Type *type = type_with_elem(like, type_elem((*value)->type));
    const Attr *extents = attr_dense_i64(list, like->u.shaped.dims, (size_t)rank);
    Value *operands[] = {*value, onnx_build_constant(b, extents)};
    *value = op_result(build(b, ONNX(EXPAND), operands, 2, &type, 1, NULL, 0), 0);
}

void onnx_build_same_shape(Builder *b, Value **scale, Value **zero)
{
    if (!*scale || !*zero) return;
    if (is_less((*scale)->type, (*zero)->type))
        expand_to(b, scale, (*zero)->type);
    else if (is_less((*zero)->type, (*scale)->type))
        expand_to(b, zero, (*scale)->type);
}

static bool is_dense_tensor(const Attr *attr)
{
    return attr->kind == ATTR_DENSE && type_is_tensor(attr->type);
}

static bool is_f32_attr(const Attr *attr)
{
    return attr->kind == ATTR_FLOAT && attr->type->kind == TYPE_F32;
}

static bool is_f32_array(const Attr *attr)
{
    return attr->kind == ATTR_DENSE_ARRAY && attr->u.dense_array.elem->kind == TYPE_F32;
}

static const AttrConstraint ATTR_IS_DENSE_TENSOR = {.test = is_dense_tensor,
                                                    .what = "dense tensor attribute"};
static const AttrConstraint ATTR_IS_F32 = {.test = is_f32_attr, .what = "32-bit float attribute"};
static const AttrConstraint ATTR_IS_F32_ARRAY = {.test = is_f32_array,
                                                 .what = "f32 dense array attribute"};

static bool is_none(const Type *type)
{
    return type->kind == TYPE_NONE;
}

static bool is_tensor_or_none(const Type *type)
{
    return type_is_tensor(type) || is_none(type);
}

static const TypeConstraint TYPE_NONE_ONLY = {
    .test = is_none, .what = "none type", .only = type_none};
static const TypeConstraint TYPE_TENSOR_OR_NONE = {.test = is_tensor_or_none,
                                                   .what = "tensor of any type values or none type",
                                                   .parses = is_tensor_or_none};

/* A declared type agrees with the inferred one if either does not know the shape. */
static bool agrees(const Type *declared, const Type *inferred)
{
    if (declared == inferred) return true;
    bool known = type_is_ranked(declared) && type_is_ranked(inferred);
    return !known && type_elem(declared) == type_elem(inferred);
}

static bool verify_rank(Op *op, const char *what, const Type *type)
{
    if (!type_is_ranked(type) || type->u.shaped.rank <= ONNX_MAX_RANK) return true;
    return op_error(op, "%s has rank %u; up to %d is supported", what, type->u.shaped.rank,
                    ONNX_MAX_RANK);
}

static bool verify_node(Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!verify_rank(op, "an operand", op_operand(op, i)->type)) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!verify_rank(op, "a result", op_result(op, i)->type)) return false;
    const Type **types = xcalloc(op->result_count, sizeof *types);
    StrBuf why = {0};
    bool ok = onnx_infer(op, types, &why) || op_error(op, "%s", why.data);
    strbuf_free(&why);
    for (uint32_t i = 0; ok && i < op->result_count; i++)
        if (!agrees(op_result(op, i)->type, types[i]))
            ok = op_error(op, "result #%u has type '%s', but its operands give '%s'", i,
                          type_str(op->ctx, op_result(op, i)->type), type_str(op->ctx, types[i]));
    free_ptr((void **)&types);
    return ok;
}

static const char *const STANDARD[] = {"", "ai.onnx", NULL};
/* Older files of FINN have the domain "finn", or none. */
static const char *const QUANTIZATION[] = {
    "qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general", "finn", "", NULL};

#define TENSOR(NAME) ONE(NAME, TYPE_ANY_TENSOR)
#define MAYBE_TENSOR(NAME) MAYBE(NAME, TYPE_TENSOR_OR_NONE)

#define NODE_OF(DOMAINS, INFER)                                                                    \
    .traits = TRAIT_PURE | TRAIT_GROUPS_IN_ORDER, .verify = verify_node,                           \
    .format = "`(` operands `)` attr-dict `:` functional-type(operands, results)",                 \
    .data = &(const OnnxOperator)                                                                  \
    {                                                                                              \
        .domains = (DOMAINS), .infer = (INFER)                                                     \
    }
#define NODE(INFER) NODE_OF(STANDARD, INFER)

#define UNARY(INPUT, OUTPUT, INFER)                                                                \
    .operands = ARGS(TENSOR(INPUT)), .results = ARGS(TENSOR(OUTPUT)), NODE(INFER)
#define BINARY(INFER)                                                                              \
    .operands = ARGS(TENSOR("A"), TENSOR("B")), .results = ARGS(TENSOR("C")), NODE(INFER)
#define VARIADIC(INPUTS, OUTPUT)                                                                   \
    .operands = ARGS(MANY(INPUTS, TYPE_ANY_TENSOR)), .results = ARGS(TENSOR(OUTPUT)),              \
    NODE(onnx_infer_variadic)

#define CONV_ATTRS                                                                                 \
    OPTIONAL_DEFAULT("auto_pad", ATTR_IS_STRING, "\"NOTSET\""),                                    \
        OPTIONAL("dilations", ATTR_IS_I64_ARRAY),                                                  \
        OPTIONAL_DEFAULT("group", ATTR_IS_I64, "1 : i64"),                                         \
        OPTIONAL("kernel_shape", ATTR_IS_I64_ARRAY), OPTIONAL("pads", ATTR_IS_I64_ARRAY),          \
        OPTIONAL("strides", ATTR_IS_I64_ARRAY)
#define POOL_ATTRS                                                                                 \
    OPTIONAL_DEFAULT("auto_pad", ATTR_IS_STRING, "\"NOTSET\""),                                    \
        OPTIONAL_DEFAULT("ceil_mode", ATTR_IS_I64, "0 : i64"),                                     \
        OPTIONAL("dilations", ATTR_IS_I64_ARRAY), REQUIRED("kernel_shape", ATTR_IS_I64_ARRAY),     \
        OPTIONAL("pads", ATTR_IS_I64_ARRAY), OPTIONAL("strides", ATTR_IS_I64_ARRAY)
#define EPSILON OPTIONAL_DEFAULT("epsilon", ATTR_IS_F32, "1.0e-5 : f32")

#define REDUCTION                                                                                  \
    .description = "Over the dimensions `axes`; without them over all, or with "                   \
                   "`noop_with_empty_axes` none. They stay with extent 1 if `keepdims` is 1.",     \
    .operands = ARGS(TENSOR("data"), MAYBE_TENSOR("axes")), .results = ARGS(TENSOR("reduced")),    \
    .attrs = ATTRS(OPTIONAL_DEFAULT("keepdims", ATTR_IS_I64, "1 : i64"),                           \
                   OPTIONAL_DEFAULT("noop_with_empty_axes", ATTR_IS_I64, "0 : i64")),              \
    NODE(onnx_infer_reduction)
#define ARG_REDUCTION                                                                              \
    .operands = ARGS(TENSOR("data")), .results = ARGS(TENSOR("reduced")),                          \
    .attrs = ATTRS(OPTIONAL_DEFAULT("axis", ATTR_IS_I64, "0 : i64"),                               \
                   OPTIONAL_DEFAULT("keepdims", ATTR_IS_I64, "1 : i64"),                           \
                   OPTIONAL_DEFAULT("select_last_index", ATTR_IS_I64, "0 : i64")),                 \
    NODE(onnx_infer_arg_reduction)
#define QUANT_NODE                                                                                 \
    .operands = ARGS(TENSOR("X"), TENSOR("scale"), TENSOR("zeropt"), TENSOR("bitwidth")),          \
    .results = ARGS(TENSOR("Y")),                                                                  \
    .attrs = ATTRS(REQUIRED("narrow", ATTR_IS_I64),                                                \
                   OPTIONAL_DEFAULT("rounding_mode", ATTR_IS_STRING, "\"ROUND\""),                 \
                   OPTIONAL_DEFAULT("signed", ATTR_IS_I64, "1 : i64")),                            \
    NODE_OF(QUANTIZATION, onnx_infer_quant)

#define OP(ID, NAME, ...)                                                                          \
    [ONNX_##ID] = {.id = #ID, .name = NAME, .dialect = &onnx_dialect, __VA_ARGS__},
const OpDef onnx_ops[] = {
#include "dialects/onnx/onnx_ops.def"
};
#undef OP

const DialectDef onnx_dialect = {
    .name = "onnx",
    .summary = "ONNX and QONNX operators, 1:1 with the file.",
    .ops = onnx_ops,
    .op_count = ONNX_OP_COUNT,
};
