/* The quant dialect: rows; its types are in quant_type.c.
 * Tests: lit/dialects/quant */
#include "dialects/common/common.h"
#include "dialects/quant/quant.h"

static bool is_real(const Type *type)
{
    return type_is_float(type) || quant_is_type(type);
}

static bool is_stored(const Type *type)
{
    return (type_is_integer(type) && type->u.integer.sign == SIGNLESS) || quant_is_type(type);
}

/* A scalar, or what a tensor or vector holds. */
static const Type *primitive(const Type *type)
{
    return type_is_tensor(type) || type->kind == TYPE_VECTOR ? type_elem(type) : type;
}

static bool is_real_value(const Type *type)
{
    return is_real(primitive(type));
}

static bool is_real_or_stored_value(const Type *type)
{
    return is_real(primitive(type)) || is_stored(primitive(type));
}

static const TypeConstraint TYPE_REAL = {
    .test = is_real_value,
    .what = "primitive/tensor/vector of real valued primitive (float or quantized type)"};
static const TypeConstraint TYPE_REAL_OR_STORAGE = {
    .test = is_real_or_stored_value, .what = "real valued or storage primitive or container type"};

/* scast(scast(x)) -> x  back in x's type */
static bool fold_scast(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Op *inner = value_def(op_operand(op, 0));
    if (!inner || inner->def != QUANT(SCAST) ||
        op_operand(inner, 0)->type != op_result(op, 0)->type)
        return false;
    results[0].value = op_operand(inner, 0);
    return true;
}

#define OP(ID, NAME, ...)                                                                          \
    [QUANT_##ID] = {.id = #ID, .name = NAME, .dialect = &quant_dialect, __VA_ARGS__},
const OpDef quant_ops[] = {
#include "dialects/quant/quant_ops.def"
};
#undef OP

static const TypeDef *const TYPE_DEFS[] = {&quant_any, &quant_uniform, &quant_calibrated, NULL};

const DialectDef quant_dialect = {
    .name = "quant",
    .summary = "Element types of quantized numbers, and casts between them.",
    .ops = quant_ops,
    .op_count = QUANT_OP_COUNT,
    .types = TYPE_DEFS,
    .unknown_type = "unknown quantized type",
};
