/* Table of the onnx dialect and what all its ops share: verification by inference, names, errors.
 * An op's declared types must be what inference gives, or unranked as long as shapes are unknown.
 * Tests: lit/dialects/onnx */
#include "dialects/onnx/onnx.h"

#include "dialects/onnx/onnx_impl.h"
#include "dialects/table.h"
#include "ir/diag.h"

static const OnnxOperator *operator_of(const OpDef *def)
{
    return def->data;
}

bool onnx_infer(const Op *op, const Type **results, StrBuf *why)
{
    return operator_of(op->def)->infer(op, results, why);
}

bool onnx_in_domain(const OpDef *def, Str domain)
{
    for (const char *const *name = operator_of(def)->domains; *name; name++)
        if (str_eq_c(domain, *name))
            return true;
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

/* --- names and errors ---------------------------------------------------------------------- */

Str onnx_node_name(const Op *op)
{
    const Attr *name = op_attr(op, ONNX_NAME);
    return name && name->kind == ATTR_STRING ? name->u.string : str_from(op->def->name);
}

void onnx_add_escaped(StrBuf *out, Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c < ' ' || c == 0x7f || c == '\\' || c == '\'')
            strbuf_printf(out, "\\%02X", c);
        else
            strbuf_add_char(out, (char)c);
    }
}

void onnx_add_quoted(StrBuf *out, Str name)
{
    strbuf_add_char(out, '\'');
    onnx_add_escaped(out, name);
    strbuf_add_char(out, '\'');
}

bool onnx_error(const Op *op, const char *fmt, ...)
{
    StrBuf text = {0};
    strbuf_add_c(&text, "node ");
    onnx_add_quoted(&text, onnx_node_name(op));
    strbuf_printf(&text, " (%s): ", op->def->name);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    emit_error(op->ctx, op->loc, "%s", text.data);
    strbuf_free(&text);
    return false;
}

/* --- constants ----------------------------------------------------------------------------- */

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
    if (!op || op->def != ONNX(CONSTANT))
        return NULL;
    const Attr *attr = op_attr(op, "value");
    if (attr)
        return attr;
    attr = op_attr(op, "value_float");
    attr = attr ? attr : op_attr(op, "value_int");
    if (attr)
        return splat_of_scalar(attr);
    attr = op_attr(op, "value_floats");
    return dense_of_array(attr ? attr : op_attr(op, "value_ints"));
}

Value *onnx_build_constant(Builder *b, const Attr *value)
{
    NamedAttr attr = named_attr(b->ctx, "value", value);
    return op_result(build(b, ONNX(CONSTANT), NULL, 0, &value->type, 1, &attr, 1), 0);
}

/* --- constraints and verification ---------------------------------------------------------- */

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

/* A declared type agrees with the inferred one if either does not know the shape. */
static bool agrees(const Type *declared, const Type *inferred)
{
    if (declared == inferred)
        return true;
    bool known = type_is_ranked(declared) && type_is_ranked(inferred);
    return !known && type_elem(declared) == type_elem(inferred);
}

static bool verify_node(Op *op)
{
    const Type *types[ONNX_MAX_RESULTS];
    StrBuf why = {0};
    bool ok = onnx_infer(op, types, &why) || op_error(op, "%s", why.data);
    strbuf_free(&why);
    for (uint32_t i = 0; ok && i < op->result_count; i++)
        if (!agrees(op_result(op, i)->type, types[i]))
            ok = op_error(op, "result #%u has type '%s', but its operands give '%s'", i,
                          type_str(op->ctx, op_result(op, i)->type), type_str(op->ctx, types[i]));
    return ok;
}

/* --- the table ----------------------------------------------------------------------------- */

static const char *const STANDARD[] = {"", "ai.onnx", NULL};
static const char *const QUANTIZATION[] = {"qonnx.custom_op.general", "onnx.brevitas",
                                           "finn.custom_op.general", NULL};

#define OPERATOR(DOMAINS, INFER) (&(const OnnxOperator){.domains = (DOMAINS), .infer = (INFER)})
#define NODE                                                                                       \
    .traits = TRAIT_PURE, .verify = verify_node,                                                   \
    .format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"
#define QUANT_NODE                                                                                 \
    .operands = ARGS(ONE("X", TYPE_ANY_TENSOR), ONE("scale", TYPE_ANY_TENSOR),                     \
                     ONE("zeropt", TYPE_ANY_TENSOR), ONE("bitwidth", TYPE_ANY_TENSOR)),            \
    .results = ARGS(ONE("Y", TYPE_ANY_TENSOR)),                                                    \
    .attrs = ATTRS(OPTIONAL_DEFAULT("signed", ATTR_IS_I64, "1 : i64"),                             \
                   REQUIRED("narrow", ATTR_IS_I64),                                                \
                   OPTIONAL_DEFAULT("rounding_mode", ATTR_IS_STRING, "\"ROUND\"")),                \
    .data = OPERATOR(QUANTIZATION, onnx_infer_quant), NODE

#define OP(ID, NAME, ...)                                                                          \
    [ONNX_##ID] = {.id = #ID, .name = NAME, .dialect = &dialect_onnx, __VA_ARGS__},
const OpDef onnx_ops[] = {
#include "dialects/onnx/onnx_ops.def"
};
#undef OP

const DialectDef dialect_onnx = {
    .name = "onnx",
    .summary = "ONNX and QONNX operators, 1:1 with the file.",
    .ops = onnx_ops,
    .op_count = ONNX_OP_COUNT,
};
