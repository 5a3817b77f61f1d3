/* Which element types the ops compute on. Upstream's verifier takes most of them; but its patterns
 * compute in whatever type an op states, and would give IR that does not verify, or other numbers.
 * The interpreter and the passes refuse alike what has no meaning here.
 * Tests: lit/dialects/tosa/elements-invalid.mir, lit/lowering/tosa_to_linalg/tosa-to-linalg-invalid.mir */
#include "dialects/tosa/tosa.h"

enum { WORD = 32, LONG_WORD = 48, SHORT = 16, BYTE = 8 };

static const Type *operand_elem(const Op *op, uint32_t index)
{
    return type_elem(op_operand(op, index)->type);
}

static const Type *result_elem(const Op *op)
{
    return type_elem(op_result(op, 0)->type);
}

static bool is_unsigned(const Type *type)
{
    return type_is_integer(type) && type->u.integer.sign == UNSIGNED;
}

static bool is_truth(const Type *type)
{
    return type_is_integer(type) && type_width(type) == 1;
}

static bool any_operand(const Op *op, bool (*holds)(const Type *))
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (holds(operand_elem(op, i))) return true;
    return false;
}

static bool any_elem(const Op *op, bool (*holds)(const Type *))
{
    return any_operand(op, holds) || holds(result_elem(op));
}

/* Of the operands from `first` on and the result. */
static const char *check_same(const Op *op, uint32_t first)
{
    for (uint32_t i = first; i < op->operand_count; i++)
        if (operand_elem(op, i) != result_elem(op)) return "has elements of several types";
    return NULL;
}

static const char *check_cast(const Op *op)
{
    bool is_refused = type_is_float(operand_elem(op, 0)) && is_unsigned(result_elem(op));
    return is_refused ? "converts floats to unsigned integers" : NULL;
}

static const char *check_resize(const Op *op)
{
    const Type *in = operand_elem(op, 0), *out = result_elem(op);
    if (!str_eq_c(op_attr(op, "mode")->u.string, "BILINEAR")) return check_same(op, 0);
    if (type_is_float(in) || type_is_float(out))
        return type_width(out) < SHORT ? "interpolates floats of fewer than 16 bits"
                                       : check_same(op, 0);
    if (any_elem(op, is_unsigned) || any_elem(op, is_truth))
        return "interpolates unsigned integers or truth values";
    if (type_width(out) < WORD || type_width(out) <= type_width(in))
        return "interpolates integers into a type of fewer than 32 bits, or no more than they have";
    return NULL;
}

/* i8, i16, i32 and i48 to i8, i16 and i32, and unsigned ones of fewer than 32 bits. */
static const char *check_rescale(const Op *op)
{
    const Type *in = operand_elem(op, 0), *out = result_elem(op);
    uint32_t from = type_width(in), to = type_width(out);
    if (type_is_float(in) || type_is_float(out)) return "rescales floats";
    if ((from > WORD && from != LONG_WORD) || to > WORD)
        return "rescales integers of other than 48 or up to 32 bits, or to more than 32";
    if ((is_unsigned(in) && from == WORD) || (is_unsigned(out) && to == WORD))
        return "rescales unsigned integers of 32 bits";
    return NULL;
}

/* Sums of products, to which a bias is added: of numbers of a kind, in no fewer bits than they have. */
static const char *check_sum(const Op *op)
{
    const Type *out = result_elem(op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *elem = operand_elem(op, i);
        if (elem == out) continue;
        if (type_is_float(elem) != type_is_float(out)) return "mixes integers and floats";
        if (type_width(elem) >= type_width(out))
            return "has operands that do not fit the result's elements";
        if (type_is_float(elem) && i > 1) return "has a bias of other floats than its result";
    }
    if (type_is_float(out) && op_attr(op, "quantization_info"))
        return "has zero points, but no integers";
    return NULL;
}

/* Products of integers may be wider than their factors, which are verified. */
static const char *check_mul(const Op *op)
{
    const Type *out = result_elem(op);
    if (type_is_float(out) || type_is_float(operand_elem(op, 0))) return check_same(op, 0);
    bool is_shifted = attr_int_value(op_attr(op, "shift")) > 0;
    return is_shifted && type_width(out) > WORD ? "shifts a product of more than 32 bits" : NULL;
}

/* The difference to the zero points is computed in up to 64 bits. */
static const char *check_negate(const Op *op)
{
    bool is_wide = type_is_integer(result_elem(op)) && type_width(result_elem(op)) > LONG_WORD;
    return is_wide && op_attr(op, "quantization_info") ? "has zero points, and more than 48 bits"
                                                       : check_same(op, 0);
}

static const char *check_table(const Op *op)
{
    uint32_t width = type_width(operand_elem(op, 0));
    bool is_byte = width == BYTE && type_width(result_elem(op)) == BYTE;
    bool is_short = width == SHORT && type_width(result_elem(op)) == WORD;
    if (type_is_float(operand_elem(op, 0)) || type_is_float(result_elem(op)) ||
        operand_elem(op, 1) != operand_elem(op, 0) || (!is_byte && !is_short))
        return "is defined from i8 to i8 and from i16 to i32";
    return NULL;
}

/* Ops that take bits as they are. */
static bool is_of_bits(const OpDef *def)
{
    switch (def - tosa_ops) {
    case TOSA_BITWISE_AND:
    case TOSA_BITWISE_NOT:
    case TOSA_BITWISE_OR:
    case TOSA_BITWISE_XOR:
    case TOSA_CAST:
    case TOSA_EQUAL:
    case TOSA_RESIZE:
    case TOSA_SELECT: return true;
    default: return false;
    }
}

/* Beside them: sums are the same modulo the type's range. */
static bool takes_unsigned(const OpDef *def)
{
    return is_of_bits(def) || def == TOSA(ADD) || def == TOSA(SUB) || def == TOSA(CLAMP) ||
           def == TOSA(RESCALE);
}

static bool takes_truth(const OpDef *def)
{
    return is_of_bits(def) || def == TOSA(LOGICAL_AND) || def == TOSA(LOGICAL_NOT) ||
           def == TOSA(LOGICAL_OR) || def == TOSA(LOGICAL_XOR) || def == TOSA(REDUCE_ALL) ||
           def == TOSA(REDUCE_ANY);
}

static const char *check_kind(const Op *op)
{
    switch (op->def - tosa_ops) {
    case TOSA_ARGMAX: return NULL;
    case TOSA_CAST: return check_cast(op);
    case TOSA_CONV2D:
    case TOSA_CONV3D:
    case TOSA_DEPTHWISE_CONV2D:
    case TOSA_FULLY_CONNECTED:
    case TOSA_MATMUL:
    case TOSA_TRANSPOSE_CONV2D: return check_sum(op);
    case TOSA_EQUAL:
    case TOSA_GREATER:
    case TOSA_GREATER_EQUAL: return NULL; /* verified */
    case TOSA_MUL: return check_mul(op);
    case TOSA_NEGATE: return check_negate(op);
    case TOSA_RESCALE: return check_rescale(op);
    case TOSA_RESIZE: return check_resize(op);
    case TOSA_SELECT: return check_same(op, 1);
    case TOSA_TABLE: return check_table(op);
    default: return check_same(op, 0);
    }
}

/* Ops that compute, and not only move elements. */
static bool computes(const OpDef *def)
{
    switch (def - tosa_ops) {
    case TOSA_APPLY_SCALE:
    case TOSA_CONCAT:
    case TOSA_COND_IF:
    case TOSA_CONST:
    case TOSA_CUSTOM:
    case TOSA_GATHER:
    case TOSA_IDENTITY:
    case TOSA_PAD:
    case TOSA_RESHAPE:
    case TOSA_REVERSE:
    case TOSA_SCATTER:
    case TOSA_SLICE:
    case TOSA_TILE:
    case TOSA_TRANSPOSE:
    case TOSA_VARIABLE:
    case TOSA_VARIABLE_READ:
    case TOSA_VARIABLE_WRITE:
    case TOSA_WHILE_LOOP:
    case TOSA_YIELD: return false;
    default: return def->dialect == &tosa_dialect;
    }
}

static bool are_numbers(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!type_is_shaped(op_operand(op, i)->type) ||
            (!type_is_integer(operand_elem(op, i)) && !type_is_float(operand_elem(op, i))))
            return false;
    return op->result_count > 0 && type_is_shaped(op_result(op, 0)->type) &&
           (type_is_integer(result_elem(op)) || type_is_float(result_elem(op)));
}

const char *tosa_refuse_elements(const Op *op)
{
    if (!computes(op->def) || !are_numbers(op)) return NULL;
    if (any_elem(op, is_unsigned) && !takes_unsigned(op->def))
        return "computes on unsigned integers";
    if (any_operand(op, is_truth) && !takes_truth(op->def)) return "computes on truth values";
    return check_kind(op);
}

bool tosa_is_truth(const Type *elem)
{
    return type_is_integer(elem) && type_width(elem) == 1 && elem->u.integer.sign != SIGNED;
}
