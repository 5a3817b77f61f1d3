/* The tosa dialect: rows, and the types and attributes that they accept. Elements are numbers:
 * integers (signless or unsigned), quantized types, and floats.
 * Tests: lit/dialects/tosa */
#include "dialects/common/common.h"
#include "dialects/quant/quant.h"
#include "dialects/tosa/internal.h"
#include "dialects/tosa/tosa.h"
#include "ir/attr/attr.h"

static bool is_plain_integer(const Type *type)
{
    return type_is_integer(type) && type->u.integer.sign != SIGNED;
}

/* Quantized in integers of 4, 8, 16 or 32 bits. */
static bool is_quantized(const Type *type)
{
    const Type *storage = quant_storage(type);
    uint32_t width = storage ? type_width(storage) : 0;
    return width == 4 || width == 8 || width == 16 || width == 32;
}

static bool is_number(const Type *type)
{
    return is_plain_integer(type) || is_quantized(type) || type_is_float(type);
}

static bool is_weight(const Type *type)
{
    return type_is_int_width(type, 4) || type_is_int_width(type, 8) || is_quantized(type) ||
           type_is_float(type);
}

static bool is_i32(const Type *type)
{
    return type_is_int_width(type, 32);
}

static bool is_index_like(const Type *type)
{
    return is_i32(type) || type_is_int_width(type, 64);
}

static bool is_i1(const Type *type)
{
    return type_is_int_width(type, 1);
}

static bool is_tensor_of(const Type *type, bool (*elem)(const Type *))
{
    return type_is_tensor(type) && elem(type_elem(type));
}

static bool has_rank(const Type *type, uint32_t rank)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank == rank;
}

/* Unranked tensors pass as any rank. */
static bool may_have_rank(const Type *type, uint32_t rank)
{
    return is_tensor_of(type, is_number) &&
           (type->kind == TYPE_UNRANKED_TENSOR || has_rank(type, rank));
}

/* A scalar, or the elements of a vector or tensor. */
static const Type *scalar_of(const Type *type)
{
    return type->kind == TYPE_VECTOR || type_is_tensor(type) ? type_elem(type) : type;
}

#define CONSTRAINT(NAME, TEST, WHAT)                                                               \
    static bool test_##NAME(const Type *type)                                                      \
    {                                                                                              \
        return TEST;                                                                               \
    }                                                                                              \
    static const TypeConstraint NAME = {                                                           \
        .test = test_##NAME, .what = WHAT, .parses = type_is_tensor};

#define WEIGHTS(RANK)                                                                              \
    RANK "D tensor of 4-bit signless integer or 8-bit signless integer or Quint8 type or Qint4 "   \
         "type or Qint8 type or Qint16 type or Qint32 type or floating-point values"

CONSTRAINT(TYPE_NUMBERS, is_tensor_of(type, is_number), "tensor of number values")
CONSTRAINT(TYPE_RANKED_NUMBERS, is_tensor_of(type, is_number) && type_is_ranked(type),
           "ranked tensor of number values")
CONSTRAINT(TYPE_RANK0, is_tensor_of(type, is_number) && has_rank(type, 0),
           "0D tensor of number values")
CONSTRAINT(TYPE_RANK1, may_have_rank(type, 1), "1-d tensor")
CONSTRAINT(TYPE_RANK2, may_have_rank(type, 2), "2-d tensor")
CONSTRAINT(TYPE_RANK3, may_have_rank(type, 3), "3-d tensor")
CONSTRAINT(TYPE_RANK4, may_have_rank(type, 4), "4-d tensor")
CONSTRAINT(TYPE_RANK5, may_have_rank(type, 5), "5-d tensor")
CONSTRAINT(TYPE_WEIGHT2, is_tensor_of(type, is_weight) && has_rank(type, 2), WEIGHTS("2"))
CONSTRAINT(TYPE_WEIGHT4, is_tensor_of(type, is_weight) && has_rank(type, 4), WEIGHTS("4"))
CONSTRAINT(TYPE_WEIGHT5, is_tensor_of(type, is_weight) && has_rank(type, 5), WEIGHTS("5"))
CONSTRAINT(TYPE_I32_RANK2, is_tensor_of(type, is_i32) && has_rank(type, 2),
           "2D tensor of 32-bit signless integer values")
CONSTRAINT(TYPE_I32_TENSOR, is_tensor_of(type, is_i32), "tensor of 32-bit signless integer values")
CONSTRAINT(TYPE_INDICES, is_tensor_of(type, is_index_like),
           "tensor of 32-bit signless integer or 64-bit signless integer values")
CONSTRAINT(TYPE_TRUTHS, is_tensor_of(type, is_i1), "tensor of 1-bit signless integer values")
CONSTRAINT(TYPE_FLOATS, is_tensor_of(type, type_is_float), "tensor of floating-point values")
CONSTRAINT(TYPE_INT_LIKE, is_plain_integer(scalar_of(type)), "signless-integer-like")
CONSTRAINT(TYPE_INT8_LIKE, type_is_int_width(scalar_of(type), 8), "signless-integer-8-bit-like")

static bool is_int_array(const Attr *attr, uint32_t width)
{
    return attr->kind == ATTR_DENSE_ARRAY && type_is_int_width(attr->u.dense_array.elem, width);
}

static bool has_length(const Attr *attr, size_t length)
{
    return is_int_array(attr, 64) && attr->u.dense_array.count == length;
}

static bool is_acc_type(const Attr *attr)
{
    if (attr->kind != ATTR_TYPE) return false;
    const Type *type = attr->u.type_value;
    bool is_int = type->kind == TYPE_INTEGER && type->u.integer.width == 32 &&
                  type->u.integer.sign != UNSIGNED;
    return is_int || type->kind == TYPE_F16 || type->kind == TYPE_F32;
}

static bool is_resize_mode(const Attr *attr)
{
    return attr->kind == ATTR_STRING &&
           (str_eq_c(attr->u.string, "BILINEAR") || str_eq_c(attr->u.string, "NEAREST_NEIGHBOR"));
}

#define ATTR_CONSTRAINT(NAME, STORES, TEST, WHAT)                                                  \
    static bool test_##NAME(const Attr *attr)                                                      \
    {                                                                                              \
        return TEST;                                                                               \
    }                                                                                              \
    static const AttrConstraint NAME = {.test = test_##NAME, .stores = STORES, .what = WHAT};

ATTR_CONSTRAINT(ATTR_IS_INTS, constraint_is_i64_array, is_int_array(attr, 64),
                "i64 dense array attribute")
ATTR_CONSTRAINT(ATTR_IS_INTS2, constraint_is_i64_array, has_length(attr, 2),
                "i64 dense array attribute with exactly 2 elements")
ATTR_CONSTRAINT(ATTR_IS_INTS3, constraint_is_i64_array, has_length(attr, 3),
                "i64 dense array attribute with exactly 3 elements")
ATTR_CONSTRAINT(ATTR_IS_INTS4, constraint_is_i64_array, has_length(attr, 4),
                "i64 dense array attribute with exactly 4 elements")
ATTR_CONSTRAINT(ATTR_IS_INTS6, constraint_is_i64_array, has_length(attr, 6),
                "i64 dense array attribute with exactly 6 elements")
ATTR_CONSTRAINT(ATTR_IS_INTS_UPTO4, constraint_is_i64_array,
                is_int_array(attr, 64) && attr->u.dense_array.count <= 4,
                "i64 dense array attribute with at least 4 elements")
ATTR_CONSTRAINT(ATTR_IS_I32_ARRAY, NULL, is_int_array(attr, 32), "i32 dense array attribute")
ATTR_CONSTRAINT(ATTR_IS_I8_ARRAY, NULL, is_int_array(attr, 8), "i8 dense array attribute")
ATTR_CONSTRAINT(ATTR_IS_I8, constraint_is_integer,
                attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 8),
                "8-bit signless integer attribute")
ATTR_CONSTRAINT(ATTR_IS_ANY_FLOAT, NULL, attr->kind == ATTR_FLOAT, "arbitrary float attribute")
ATTR_CONSTRAINT(ATTR_IS_ACC_TYPE, constraint_is_type, is_acc_type(attr),
                "type attribute of 32-bit signless integer or 32-bit signed integer or 16-bit "
                "float or 32-bit float")
ATTR_CONSTRAINT(ATTR_IS_RESIZE_MODE, constraint_is_string, is_resize_mode(attr),
                "Supported resize/upsampling strategies")
ATTR_CONSTRAINT(ATTR_IS_UNARY_QUANT, NULL, attr_is_a(attr, &tosa_unary_quant),
                "Attribute for UnaryOp quantization information.")
ATTR_CONSTRAINT(ATTR_IS_CONV_QUANT, NULL, attr_is_a(attr, &tosa_conv_quant),
                "Attribute for Conv type op quantization information.")
ATTR_CONSTRAINT(ATTR_IS_MATMUL_QUANT, NULL, attr_is_a(attr, &tosa_matmul_quant),
                "Attribute for MatMulOp quantization information.")
ATTR_CONSTRAINT(ATTR_IS_PAD_QUANT, NULL, attr_is_a(attr, &tosa_pad_quant),
                "Attribute for PadOp quantization information.")

const Attr *tosa_const_ints(const Value *value)
{
    const Attr *attr = fold_constant_of(value);
    bool is_ints = attr && attr->kind == ATTR_DENSE && type_is_integer(type_elem(attr->type));
    return is_ints ? attr : NULL;
}

bool tosa_is_constant_of(const Attr *value, const Type *type)
{
    if (!ATTR_IS_ELEMENTS.test(value) || !test_TYPE_NUMBERS(type)) return false;
    bool is_of_elem = is_quantized(type_elem(type)) || type_elem(type) == type_elem(value->type);
    return is_of_elem && tosa_same_shape(value->type, type);
}

static Op *materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc)
{
    if (!tosa_is_constant_of(value, type)) return NULL;
    NamedAttr attr = build_named_attr(ctx, "value", value);
    Builder b = {.ctx = ctx, .loc = loc};
    return build(&b, TOSA(CONST), NULL, 0, &type, 1, &attr, 1);
}

#define FUNCTIONAL "operands attr-dict `:` functional-type(operands, results)"
#define OPERAND(NAME) .operands = ARGS(ONE(NAME, TYPE_NUMBERS))
#define OPERANDS2 .operands = ARGS(ONE("input1", TYPE_NUMBERS), ONE("input2", TYPE_NUMBERS))
#define RESULT .results = ARGS(ONE("output", TYPE_NUMBERS))

#define SAME_ELEMENTS (TRAIT_PURE | TRAIT_SAME_OPERANDS_AND_RESULT_ELEMENT_TYPE)
#define BROADCASTING .format = FUNCTIONAL, .verify = tosa_verify_broadcast
#define ELEMENTWISE .traits = SAME_ELEMENTS, BROADCASTING
#define UNARY(NAME) OPERAND(NAME), RESULT, ELEMENTWISE
#define FLOAT_UNARY                                                                                \
    .operands = ARGS(ONE("input", TYPE_FLOATS)), .results = ARGS(ONE("output", TYPE_FLOATS)),      \
    ELEMENTWISE
#define LOGICAL_UNARY                                                                              \
    .operands = ARGS(ONE("input1", TYPE_TRUTHS)), .results = ARGS(ONE("output", TYPE_TRUTHS)),     \
    ELEMENTWISE
#define BINARY OPERANDS2, RESULT, ELEMENTWISE
#define COMMUTATIVE .traits = SAME_ELEMENTS | TRAIT_COMMUTATIVE, BROADCASTING
#define COMMUTATIVE_BINARY OPERANDS2, RESULT, COMMUTATIVE
#define LOGICAL_BINARY                                                                             \
    .operands = ARGS(ONE("input1", TYPE_TRUTHS), ONE("input2", TYPE_TRUTHS)),                      \
    .results = ARGS(ONE("z", TYPE_TRUTHS)), COMMUTATIVE
#define COMPARISON                                                                                 \
    OPERANDS2, .results = ARGS(ONE("output", TYPE_TRUTHS)),                                        \
               .traits = TRAIT_PURE | TRAIT_SAME_OPERANDS_ELEMENT_TYPE, BROADCASTING

#define AXIS REQUIRED("axis", ATTR_IS_I32)
#define REDUCTION                                                                                  \
    OPERAND("input"), RESULT, .attrs = ATTRS(AXIS), .traits = TRAIT_PURE, .format = FUNCTIONAL,    \
                              .verify = tosa_verify_reduce, .verify_regions = tosa_check_reduce,   \
                              .fold = tosa_fold_reduce

#define LOCAL_BOUND OPTIONAL_DEFAULT("local_bound", ATTR_IS_BOOL, "false")
#define CONV(INPUT, WEIGHT, OUTPUT)                                                                \
    .operands = ARGS(ONE("input", INPUT), ONE("weight", WEIGHT), ONE("bias", TYPE_RANK1)),         \
    .results = ARGS(ONE("output", OUTPUT)), .traits = TRAIT_PURE, .format = FUNCTIONAL
#define CONV_ATTRS(PAD, STEP)                                                                      \
    REQUIRED("pad", PAD), REQUIRED("stride", STEP), REQUIRED("dilation", STEP),                    \
        OPTIONAL("quantization_info", ATTR_IS_CONV_QUANT), LOCAL_BOUND
#define POOL_ATTRS                                                                                 \
    REQUIRED("kernel", ATTR_IS_INTS2), REQUIRED("stride", ATTR_IS_INTS2),                          \
        REQUIRED("pad", ATTR_IS_INTS4)

#define CONTROL                                                                                    \
    .traits = TRAIT_SINGLE_BLOCK | TRAIT_RECURSIVE_EFFECTS, .implicit_terminator = "tosa.yield"

#define OP(ID, NAME, ...)                                                                          \
    [TOSA_##ID] = {.id = #ID, .name = NAME, .dialect = &tosa_dialect, __VA_ARGS__},
const OpDef tosa_ops[] = {
#include "dialects/tosa/tosa_ops.def"
};
#undef OP

static const AttrDef *const ATTR_DEFS[] = {&tosa_unary_quant, &tosa_conv_quant, &tosa_matmul_quant,
                                           &tosa_pad_quant, NULL};

const DialectDef tosa_dialect = {
    .name = "tosa",
    .summary = "Whole-tensor operators of neural networks.",
    .ops = tosa_ops,
    .op_count = TOSA_OP_COUNT,
    .inlining = INLINE_OPS | INLINE_INTO,
    .attrs = ATTR_DEFS,
    .materialize = materialize,
};
