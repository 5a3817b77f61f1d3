/* Elementwise ops on single elements. Most are one op of arith or math, chosen by the kind of
 * element; the rest have a function below.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-elementwise.mir */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "lowering/tosa_to_linalg/internal.h"

typedef Value *ScalarBody(const TosaScalar *s);

/* The op or the function that computes an element; at most one of both for each kind. */
typedef struct ScalarRow {
    const OpDef *on_float, *on_int; /* of all arguments */
    const OpDef *on_bool;           /* for i1 only */
    ScalarBody *float_body, *int_body;
    ScalarBody *any_body;
} ScalarRow;

static bool is_signless(const Type *elem)
{
    return type_is_integer(elem) && elem->u.integer.sign == SIGNLESS;
}

static Value *build_number(const TosaScalar *s, const Type *type, int64_t value)
{
    return arith_constant(s->b, type_is_float(type) ? attr_float(type, (double)value)
                                                    : attr_int(type, value));
}

/* |x| = max(x, 0 - x) */
static Value *abs_int(const TosaScalar *s)
{
    Value *zero = build_number(s, s->elem, 0);
    return tosa_build_same(s->b, ARITH(MAXSI), s->args[0],
                           tosa_build_same(s->b, ARITH(SUBI), zero, s->args[0]));
}

/* Bits that hold every x - (in_zp + out_zp) in between. */
static uint32_t negate_width(uint32_t width, int64_t zero_points)
{
    static const uint32_t widths[] = {16, 32, 48};
    uint64_t sum = (uint64_t)tosa_build_signed_max(width) + (uint64_t)llabs(zero_points) + 1;
    int64_t greatest = (int64_t)sum; /* wraps for i64, which no type is wide enough for */
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        if (greatest <= tosa_build_signed_max(widths[i])) return widths[i];
    return 64;
}

/* in_zp + out_zp - x, clamped to the element type */
static Value *negate_int(const TosaScalar *s)
{
    Builder *b = s->b;
    const Attr *quant = op_attr(s->op, "quantization_info");
    if (!quant) {
        Value *zero = build_number(s, s->elem, 0);
        return build_binary(b, ARITH(SUBI), s->result, zero, s->args[0]);
    }
    uint32_t width = type_width(s->elem);
    int64_t zero_points = tosa_zero_point(quant, 0) + tosa_zero_point(quant, 1);
    const Type *wide = type_i(b->ctx, negate_width(width, zero_points));
    Value *sum = build_number(s, wide, zero_points);
    Value *difference =
        tosa_build_same(b, ARITH(SUBI), sum, build_unary(b, ARITH(EXTSI), wide, s->args[0]));
    Value *min = build_number(s, wide, tosa_build_signed_min(width));
    Value *max = build_number(s, wide, tosa_build_signed_max(width));
    Value *clamped = tosa_build_clamp_int(b, difference, min, max, false);
    return build_unary(b, ARITH(TRUNCI), s->elem, clamped);
}

static Value *reciprocal(const TosaScalar *s)
{
    Value *one = build_number(s, s->elem, 1);
    return build_binary(s->b, ARITH(DIVF), s->result, one, s->args[0]);
}

/* 1 / (1 + e^-x) */
static Value *sigmoid(const TosaScalar *s)
{
    Value *one = build_number(s, s->elem, 1);
    Value *power = build_unary(s->b, MATH(EXP), s->result,
                               build_unary(s->b, ARITH(NEGF), s->result, s->args[0]));
    Value *sum = build_binary(s->b, ARITH(ADDF), s->result, power, one);
    return build_binary(s->b, ARITH(DIVF), s->result, one, sum);
}

static Value *mul_float(const TosaScalar *s)
{
    if (tosa_build_int_attr(s->op, "shift") != 0) return NULL;
    return build_binary(s->b, ARITH(MULF), s->result, s->args[0], s->args[1]);
}

static Value *to_i32(const TosaScalar *s, Value *value)
{
    const Type *i32 = type_i(s->b->ctx, 32);
    return value->type == i32 ? value : build_unary(s->b, ARITH(EXTSI), i32, value);
}

/* (a * b) >> shift, rounded */
static Value *mul_shifted(const TosaScalar *s, int64_t shift)
{
    Builder *b = s->b;
    const Type *i32 = type_i(b->ctx, 32);
    Value *amount = build_number(s, type_i(b->ctx, 8), shift);
    Value *lhs = to_i32(s, s->args[0]);
    Value *operands[] = {lhs, to_i32(s, s->args[1]), amount};
    NamedAttr attr = build_named_attr(b->ctx, "double_round", attr_bool(b->ctx, false));
    Value *product = op_result(build(b, TOSA(APPLY_SCALE), operands, 3, &i32, 1, &attr, 1), 0);
    return s->result == i32 ? product : build_unary(b, ARITH(TRUNCI), s->result, product);
}

static Value *mul_int(const TosaScalar *s)
{
    int64_t shift = tosa_build_int_attr(s->op, "shift");
    if (shift > 0) return mul_shifted(s, shift);
    Value *factors[2];
    for (uint32_t i = 0; i < 2; i++) {
        factors[i] = s->args[i];
        if (type_width(factors[i]->type) < type_width(s->result))
            factors[i] = build_unary(s->b, ARITH(EXTSI), s->result, factors[i]);
    }
    return build_binary(s->b, ARITH(MULI), s->result, factors[0], factors[1]);
}

static Value *invert(const TosaScalar *s)
{
    Value *ones = build_number(s, s->elem, -1);
    return build_binary(s->b, ARITH(XORI), s->result, s->args[0], ones);
}

static Value *not_bool(const TosaScalar *s)
{
    return s->elem == type_i(s->b->ctx, 1) ? invert(s) : NULL;
}

/* (x >> n) + (n > 0 && bit n - 1 of x). Where n is 0 bit 0 is looked at and left out: upstream shifts by
 * -1 there, whose result is undefined. */
static Value *shift_right(const TosaScalar *s)
{
    Builder *b = s->b;
    const Type *i1 = type_i(b->ctx, 1);
    Value *x = s->args[0], *n = s->args[1];
    Value *shifted = build_binary(b, ARITH(SHRSI), s->result, x, n);
    if (!tosa_build_bool_attr(s->op, "round")) return shifted;
    Value *shifts = arith_cmpi(b, CMPI_SGT, n, build_number(s, s->elem, 0));
    Value *less =
        build_binary(b, ARITH(SUBI), s->result, n, build_unary(b, ARITH(EXTUI), s->result, shifts));
    Value *last = build_binary(b, ARITH(SHRSI), s->result, x, less);
    last = build_unary(b, ARITH(TRUNCI), i1, last);
    Value *up = build_binary(b, ARITH(ANDI), i1, shifts, last);
    return build_binary(b, ARITH(ADDI), s->result, shifted,
                        build_unary(b, ARITH(EXTUI), s->result, up));
}

static Value *compare(const TosaScalar *s, CmpfPredicate on_float, CmpiPredicate on_int)
{
    if (type_is_float(s->elem)) return arith_cmpf(s->b, on_float, s->args[0], s->args[1]);
    return is_signless(s->elem) ? arith_cmpi(s->b, on_int, s->args[0], s->args[1]) : NULL;
}

static Value *equal(const TosaScalar *s)
{
    return compare(s, CMPF_OEQ, CMPI_EQ);
}

static Value *greater(const TosaScalar *s)
{
    return compare(s, CMPF_OGT, CMPI_SGT);
}

static Value *greater_equal(const TosaScalar *s)
{
    return compare(s, CMPF_OGE, CMPI_SGE);
}

static Value *choose(const TosaScalar *s)
{
    const Type *elem = type_elem(operand_type(s->op, 1));
    if (!type_is_float(elem) && !type_is_integer(elem)) return NULL;
    return arith_select(s->b, s->args[0], s->args[1], s->args[2]);
}

static Value *maximum_int(const TosaScalar *s)
{
    return is_signless(s->elem) ? tosa_build_same(s->b, ARITH(MAXSI), s->args[0], s->args[1])
                                : NULL;
}

static Value *minimum_int(const TosaScalar *s)
{
    return is_signless(s->elem) ? tosa_build_same(s->b, ARITH(MINSI), s->args[0], s->args[1])
                                : NULL;
}

static Value *clamp_float(const TosaScalar *s)
{
    const Attr *min = attr_float(s->elem, attr_float_value(op_attr(s->op, "min_fp")));
    const Attr *max = attr_float(s->elem, attr_float_value(op_attr(s->op, "max_fp")));
    Value *low = arith_constant(s->b, min), *high = arith_constant(s->b, max);
    return tosa_build_clamp_float(s->b, s->args[0], low, high);
}

static int64_t limit(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* The bounds themselves are limited to what the element type holds. */
static Value *clamp_int(const TosaScalar *s)
{
    uint32_t width = type_width(s->elem);
    bool is_unsigned = s->elem->u.integer.sign == UNSIGNED;
    int64_t least = INT64_MIN, greatest = INT64_MAX;
    if (is_unsigned) {
        least = 0;
        greatest = width <= 63 ? tosa_build_signed_max(width + 1) : INT64_MAX;
    } else if (width <= 64) {
        least = tosa_build_signed_min(width);
        greatest = tosa_build_signed_max(width);
    }
    const Type *type = type_i(s->b->ctx, width);
    Value *min =
        build_number(s, type, limit(tosa_build_int_attr(s->op, "min_int"), least, greatest));
    Value *max =
        build_number(s, type, limit(tosa_build_int_attr(s->op, "max_int"), least, greatest));
    return tosa_build_clamp_int(s->b, s->args[0], min, max, is_unsigned);
}

static const ScalarRow rows[TOSA_OP_COUNT] = {
    [TOSA_ABS] = {.on_float = MATH(ABSF), .int_body = abs_int},
    [TOSA_ADD] = {.on_float = ARITH(ADDF), .on_int = ARITH(ADDI)},
    [TOSA_ARITHMETIC_RIGHT_SHIFT] = {.int_body = shift_right},
    [TOSA_BITWISE_AND] = {.on_int = ARITH(ANDI)},
    [TOSA_BITWISE_NOT] = {.int_body = invert},
    [TOSA_BITWISE_OR] = {.on_int = ARITH(ORI)},
    [TOSA_BITWISE_XOR] = {.on_int = ARITH(XORI)},
    [TOSA_CAST] = {.any_body = tosa_build_scalar_cast},
    [TOSA_CEIL] = {.on_float = MATH(CEIL)},
    [TOSA_CLAMP] = {.float_body = clamp_float, .int_body = clamp_int},
    [TOSA_CLZ] = {.on_int = MATH(CTLZ)},
    [TOSA_COS] = {.on_float = MATH(COS)},
    [TOSA_EQUAL] = {.any_body = equal},
    [TOSA_ERF] = {.on_float = MATH(ERF)},
    [TOSA_EXP] = {.on_float = MATH(EXP)},
    [TOSA_FLOOR] = {.on_float = MATH(FLOOR)},
    [TOSA_GREATER] = {.any_body = greater},
    [TOSA_GREATER_EQUAL] = {.any_body = greater_equal},
    [TOSA_INT_DIV] = {.on_int = ARITH(DIVSI)},
    [TOSA_LOG] = {.on_float = MATH(LOG)},
    [TOSA_LOGICAL_AND] = {.on_bool = ARITH(ANDI)},
    [TOSA_LOGICAL_LEFT_SHIFT] = {.on_int = ARITH(SHLI)},
    [TOSA_LOGICAL_NOT] = {.int_body = not_bool},
    [TOSA_LOGICAL_OR] = {.on_bool = ARITH(ORI)},
    [TOSA_LOGICAL_RIGHT_SHIFT] = {.on_int = ARITH(SHRUI)},
    [TOSA_LOGICAL_XOR] = {.on_bool = ARITH(XORI)},
    [TOSA_MAXIMUM] = {.on_float = ARITH(MAXIMUMF), .int_body = maximum_int},
    [TOSA_MINIMUM] = {.on_float = ARITH(MINIMUMF), .int_body = minimum_int},
    [TOSA_MUL] = {.float_body = mul_float, .int_body = mul_int},
    [TOSA_NEGATE] = {.on_float = ARITH(NEGF), .int_body = negate_int},
    [TOSA_POW] = {.on_float = MATH(POWF)},
    [TOSA_RECIPROCAL] = {.float_body = reciprocal},
    [TOSA_RSQRT] = {.on_float = MATH(RSQRT)},
    [TOSA_SELECT] = {.any_body = choose},
    [TOSA_SIGMOID] = {.float_body = sigmoid},
    [TOSA_SIN] = {.on_float = MATH(SIN)},
    [TOSA_SUB] = {.on_float = ARITH(SUBF), .on_int = ARITH(SUBI)},
    [TOSA_TANH] = {.on_float = MATH(TANH)},
};

Value *tosa_build_scalar(const TosaScalar *s)
{
    const ScalarRow *row = &rows[s->op->def - tosa_ops];
    bool is_float = type_is_float(s->elem), is_int = type_is_integer(s->elem);
    ScalarBody *body = is_float ? row->float_body : is_int ? row->int_body : NULL;
    const OpDef *def = is_float ? row->on_float : is_int ? row->on_int : NULL;
    if (s->elem == type_i(s->b->ctx, 1) && row->on_bool) def = row->on_bool;
    if (row->any_body) return row->any_body(s);
    if (body) return body(s);
    if (!def) return NULL;
    return op_result(build(s->b, def, s->args, s->op->operand_count, &s->result, 1, NULL, 0), 0);
}
