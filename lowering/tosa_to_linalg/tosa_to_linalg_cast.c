/* tosa.cast on single elements. Floats become integers by rounding half to even and saturating,
 * in the way the formats permit.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-cast.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "lowering/tosa_to_linalg/internal.h"

static const Attr *float_limit(const Type *type, double value)
{
    return attr_float(type, value);
}

/* Greatest exponent of a finite value, and bits of the significand with the hidden one. */
static int max_exponent(const Type *type)
{
    int exponent;
    if (type_width(type) > 64) return 16383;
    (void)frexp(attr_float_value(tosa_build_highest_of(type)), &exponent);
    return exponent - 1;
}

static uint32_t significand_bits(const Type *type)
{
    uint32_t bits = 1;
    if (type_width(type) > 64) return type_width(type) == 80 ? 64 : 113;
    /* 1 + 2^-bits, as long as it differs from 1. */
    while (attr_float_value(attr_float(type, 1.0 + ldexp(1.0, -(int)bits))) != 1.0) bits++;
    return bits;
}

/* All finite values fit the integer; infinities become its limits. */
static Value *replace_infinities(Builder *b, Value *rounded, const Type *type)
{
    const Type *from = rounded->type;
    uint32_t width = type_width(type);
    Value *least = arith_constant(b, tosa_build_lowest_of(from));
    Value *greatest = arith_constant(b, tosa_build_highest_of(from));
    Value *finite = tosa_build_clamp_float(b, rounded, least, greatest);
    Value *number = build_unary(b, ARITH(FPTOSI), type, finite);
    Value *above = arith_constant(b, float_limit(from, INFINITY));
    Value *below = arith_constant(b, float_limit(from, -INFINITY));
    Value *overflow = arith_cmpf(b, CMPF_UEQ, rounded, above);
    Value *underflow = arith_cmpf(b, CMPF_UEQ, rounded, below);
    Value *min = arith_constant_int(b, type, tosa_build_signed_min(width));
    Value *max = arith_constant_int(b, type, tosa_build_signed_max(width));
    return arith_select(b, underflow, min, arith_select(b, overflow, max, number));
}

/* The greatest value of the integer type is no float, but that value plus one is, to which numbers
 * are compared. What is converted is clamped to the float before it: upstream converts what does not
 * fit, and leaves it out. */
static Value *saturate_above(Builder *b, Value *rounded, Value *least, const Type *type)
{
    const Type *from = rounded->type;
    uint32_t width = type_width(type);
    double beyond = ldexp(1.0, (int)width - 1);
    double below = beyond - ldexp(1.0, (int)width - 1 - (int)significand_bits(from));
    Value *limit = arith_constant(b, float_limit(from, beyond));
    Value *greatest = arith_constant(b, float_limit(from, below));
    Value *max = arith_constant_int(b, type, tosa_build_signed_max(width));
    Value *number =
        build_unary(b, ARITH(FPTOSI), type, tosa_build_clamp_float(b, rounded, least, greatest));
    return arith_select(b, arith_cmpf(b, CMPF_UGE, rounded, limit), max, number);
}

static Value *float_to_int(Builder *b, Value *value, const Type *type)
{
    const Type *from = value->type;
    uint32_t width = type_width(type);
    Value *rounded = build_unary(b, MATH(ROUNDEVEN), from, value);
    if ((int)width - 1 > max_exponent(from)) return replace_infinities(b, rounded, type);
    Value *least = arith_constant(b, float_limit(from, (double)tosa_build_signed_min(width)));
    if (significand_bits(from) < width - 1) return saturate_above(b, rounded, least, type);
    Value *greatest = arith_constant(b, float_limit(from, (double)tosa_build_signed_max(width)));
    return build_unary(b, ARITH(FPTOSI), type, tosa_build_clamp_float(b, rounded, least, greatest));
}

/* Floats of two forms of as many bits become each other as f32, which holds both. */
static Value *float_to_float(Builder *b, Value *value, const Type *to)
{
    const Type *f32 = type_float(b->ctx, TYPE_F32);
    if (type_width(value->type) == type_width(to)) value = build_unary(b, ARITH(EXTF), f32, value);
    bool widens = type_width(value->type) < type_width(to);
    return build_unary(b, widens ? ARITH(EXTF) : ARITH(TRUNCF), to, value);
}

/* Not all floats of 8 bits have infinities, which those of f32 that they become do without. */
static Value *from_float(const TosaScalar *s, const Type *from, const Type *to)
{
    Value *value = s->args[0];
    if (type_is_float(to)) return float_to_float(s->b, value, to);
    if (type_is_int_width(to, 1))
        return arith_cmpf(s->b, CMPF_UNE, value, arith_constant(s->b, attr_float(from, 0.0)));
    if (!type_is_integer(to) || type_width(to) == 0 || type_width(to) > 64) return NULL;
    if (type_width(from) == 8)
        value = build_unary(s->b, ARITH(EXTF), type_float(s->b->ctx, TYPE_F32), value);
    return float_to_int(s->b, value, to);
}

/* Unsigned values pass through a signless type; i1 counts as unsigned. */
static Value *int_to_float(const TosaScalar *s, const Type *from, const Type *to)
{
    Value *value = s->args[0];
    if (from->u.integer.sign == UNSIGNED)
        value = tosa_lower_cast(s->b, type_i(s->b->ctx, type_width(from)), value);
    bool is_unsigned = type_is_int_width(from, 1) || from->u.integer.sign == UNSIGNED;
    return build_unary(s->b, is_unsigned ? ARITH(UITOFP) : ARITH(SITOFP), to, value);
}

/* Of unsigned and of truth values the sign is no sign. The value is signless already. */
static Value *int_to_int(const TosaScalar *s, const Type *from, const Type *to)
{
    Value *value = s->args[0];
    uint32_t width = type_width(from);
    if (type_is_int_width(to, 1))
        return arith_cmpi(s->b, CMPI_NE, value,
                          arith_constant_int(s->b, type_i(s->b->ctx, width), 0));
    if (width == type_width(to)) return value;
    bool is_unsigned = width == 1 || from->u.integer.sign == UNSIGNED;
    const OpDef *widen = is_unsigned ? ARITH(EXTUI) : ARITH(EXTSI);
    return build_unary(s->b, width < type_width(to) ? widen : ARITH(TRUNCI), to, value);
}

Value *tosa_build_scalar_cast(const TosaScalar *s)
{
    const Type *from = s->elem, *to = s->result;
    if (from == to) return s->args[0];
    if (type_is_float(from)) return from_float(s, from, to);
    if (!type_is_integer(from)) return NULL;
    if (type_is_float(to)) return int_to_float(s, from, to);
    return type_is_integer(to) ? int_to_int(s, from, to) : NULL;
}
