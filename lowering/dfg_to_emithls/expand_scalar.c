/* Expansion of scalar ops that C++ has no form for. Each function states its algebra; integers wrap
 * as arith's do. Operands on which an op is undefined (division by zero, a least integer over -1)
 * may give anything. Of two zeros, maximumf and minimumf may give either.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-expand.mir, test/e2e/body_check.py */
#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "lowering/dfg_to_emithls/internal.h"

static Value *integer(Builder *b, const Type *type, int64_t value)
{
    return arith_constant_int(b, type, value);
}

static Value *binary(Builder *b, const OpDef *def, Value *lhs, Value *rhs)
{
    return build_binary(b, def, lhs->type, lhs, rhs);
}

static const Type *widened(const Type *type, uint32_t width)
{
    return type_i(type->ctx, width);
}

static const Attr *constant_value(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == ARITH(CONSTANT) ? op_attr(def, "value") : NULL;
}

/* By a power of two a shift, and a mask for the rest. */
static Value *quotient_unsigned(Builder *b, Value *x, Value *y)
{
    int exponent = product_power_of_two(y);
    if (exponent < 0) return binary(b, ARITH(DIVUI), x, y);
    return binary(b, ARITH(SHRUI), x, integer(b, x->type, exponent));
}

static void div_unsigned(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    out[0] = quotient_unsigned(b, x[0], x[1]);
}

static void rem_unsigned(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    uint64_t mask = (UINT64_C(1) << product_power_of_two(x[1])) - 1;
    out[0] = binary(b, ARITH(ANDI), x[0], integer(b, x[0]->type, (int64_t)mask));
}

/* b == 0 is undefined: a == 0 ? 0 : (a - 1) / b + 1 */
static void ceil_div_unsigned(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    Value *zero = integer(b, x[0]->type, 0), *one = integer(b, x[0]->type, 1);
    Value *quotient = quotient_unsigned(b, binary(b, ARITH(SUBI), x[0], one), x[1]);
    out[0] = arith_select(b, arith_cmpi(b, CMPI_EQ, x[0], zero), zero,
                          binary(b, ARITH(ADDI), quotient, one));
}

/* q = a / b truncates; with a remainder, floor is q - 1 if the signs differ, ceil q + 1 if not. */
static void round_div(Builder *b, const Op *op, Value *const *x, Value **out)
{
    bool floors = op->def == ARITH(FLOORDIVSI);
    Value *zero = integer(b, x[0]->type, 0), *one = integer(b, x[0]->type, 1);
    Value *quotient = binary(b, ARITH(DIVSI), x[0], x[1]);
    Value *rest = binary(b, ARITH(REMSI), x[0], x[1]);
    Value *differ = arith_cmpi(b, floors ? CMPI_NE : CMPI_EQ, arith_cmpi(b, CMPI_SLT, x[0], zero),
                               arith_cmpi(b, CMPI_SLT, x[1], zero));
    Value *inexact = arith_cmpi(b, CMPI_NE, rest, zero);
    Value *next = binary(b, floors ? ARITH(SUBI) : ARITH(ADDI), quotient, one);
    out[0] = arith_select(b, binary(b, ARITH(ANDI), inexact, differ), next, quotient);
}

/* The sum or product in enough bits, cut into its low part and its high part. */
static void extended(Builder *b, const Op *op, Value *const *x, Value **out)
{
    bool adds = op->def == ARITH(ADDUI_EXTENDED), is_signed = op->def == ARITH(MULSI_EXTENDED);
    uint32_t width = type_width(x[0]->type);
    const Type *wide = widened(x[0]->type, adds ? width + 1 : 2 * width);
    const OpDef *extend = is_signed ? ARITH(EXTSI) : ARITH(EXTUI);
    Value *all = binary(b, adds ? ARITH(ADDI) : ARITH(MULI), build_unary(b, extend, wide, x[0]),
                        build_unary(b, extend, wide, x[1]));
    Value *above = binary(b, ARITH(SHRUI), all, integer(b, wide, width));
    out[0] = build_unary(b, ARITH(TRUNCI), x[0]->type, all);
    out[1] = build_unary(b, ARITH(TRUNCI), op_result(op, 1)->type, above);
}

/* x < 0 ? 0 - x : x */
static void absolute(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    Value *zero = integer(b, x[0]->type, 0);
    out[0] = arith_select(b, arith_cmpi(b, CMPI_SLT, x[0], zero),
                          binary(b, ARITH(SUBI), zero, x[0]), x[0]);
}

/* `step` ones, a power of two, in every 2 * step bits. */
static Value *stripes(Builder *b, const Type *type, uint32_t step)
{
    Arena arena;
    arena_init(&arena);
    uint32_t width = type_width(type);
    BigInt ones = bigint_from_i64(&arena, width, -1);
    BigInt above = bigint_shl(&arena, &ones, step);
    BigInt mask = bigint_xor(&arena, &ones, &above);
    for (uint32_t filled = 2 * step; filled < width; filled *= 2) {
        above = bigint_shl(&arena, &mask, filled);
        mask = bigint_or(&arena, &mask, &above);
    }
    Value *value = arith_constant(b, attr_bigint(type, &mask));
    arena_free(&arena);
    return value;
}

/* Counts of neighbouring fields are added, the fields doubling: x = (x & m) + (x >> step & m) */
static Value *count_ones(Builder *b, Value *x)
{
    uint32_t width = type_width(x->type);
    for (uint32_t step = 1; step < width; step *= 2) {
        Value *mask = stripes(b, x->type, step);
        Value *upper = binary(b, ARITH(SHRUI), x, integer(b, x->type, step));
        x = binary(b, ARITH(ADDI), binary(b, ARITH(ANDI), x, mask),
                   binary(b, ARITH(ANDI), upper, mask));
    }
    return x;
}

/* Leading zeros: the zeros left when every bit below a one is set. Trailing: ~x & (x - 1). */
static void count_bits(Builder *b, const Op *op, Value *const *x, Value **out)
{
    Value *bits = x[0], *ones = integer(b, bits->type, -1);
    for (uint32_t step = 1; op->def == MATH(CTLZ) && step < type_width(bits->type); step *= 2)
        bits = binary(b, ARITH(ORI), bits,
                      binary(b, ARITH(SHRUI), bits, integer(b, bits->type, step)));
    if (op->def != MATH(CTPOP)) bits = binary(b, ARITH(XORI), bits, ones);
    if (op->def == MATH(CTTZ))
        bits = binary(b, ARITH(ANDI), bits, binary(b, ARITH(ADDI), x[0], ones));
    out[0] = count_ones(b, bits);
}

/* base^exponent for a constant exponent above 0, by squaring. */
static Value *power(Builder *b, Value *base, int64_t exponent)
{
    Value *result = NULL;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result ? binary(b, ARITH(MULI), result, base) : base;
        if (exponent > 1) base = binary(b, ARITH(MULI), base, base);
    }
    return result;
}

/* base == 1 ? 1 : base == -1 ? (exponent odd ? -1 : 1) : 0, for a negative exponent */
static Value *negative_power(Builder *b, Value *base, Value *exponent)
{
    const Type *type = base->type;
    Value *zero = integer(b, type, 0), *one = integer(b, type, 1), *minus = integer(b, type, -1);
    Value *odd = arith_cmpi(b, CMPI_NE, binary(b, ARITH(ANDI), exponent, one), zero);
    Value *unit = arith_select(b, arith_cmpi(b, CMPI_EQ, base, minus),
                               arith_select(b, odd, minus, one), zero);
    return arith_select(b, arith_cmpi(b, CMPI_EQ, base, one), one, unit);
}

/* For any exponent: a factor base^(2^i) per bit that is set. */
static Value *any_power(Builder *b, Value *base, Value *exponent)
{
    const Type *type = base->type;
    Value *zero = integer(b, type, 0), *one = integer(b, type, 1), *result = one, *square = base;
    for (uint32_t i = 0; i + 1 < type_width(type); i++) {
        Value *mask = i < 63 ? integer(b, type, (int64_t)1 << i)
                             : binary(b, ARITH(SHLI), one, integer(b, type, i));
        Value *bit = binary(b, ARITH(ANDI), exponent, mask);
        Value *factor = arith_select(b, arith_cmpi(b, CMPI_NE, bit, zero), square, one);
        result = binary(b, ARITH(MULI), result, factor);
        square = binary(b, ARITH(MULI), square, square);
    }
    return arith_select(b, arith_cmpi(b, CMPI_SLT, exponent, zero),
                        negative_power(b, base, exponent), result);
}

static void int_power(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    const Attr *constant = constant_value(x[1]);
    bool is_short = constant && bigint_fits_i64(&constant->u.integer, true);
    int64_t exponent = is_short ? attr_int_value(constant) : -1;
    out[0] = exponent > 0 ? power(b, x[0], exponent) : any_power(b, x[0], x[1]);
}

static bool is_number(const Value *value)
{
    const Attr *constant = constant_value(value);
    double number = constant ? attr_float_value(constant) : 0;
    return constant && number == number;
}

/* Not a number if one is not: a > b or a != a ? a : b; a <= b ? b : a where b is a number. */
static void extreme(Builder *b, const Op *op, Value *const *x, Value **out)
{
    bool is_max = op->def == ARITH(MAXIMUMF);
    if (is_number(x[1])) {
        Value *takes_b = arith_cmpf(b, is_max ? CMPF_OLE : CMPF_OGE, x[0], x[1]);
        out[0] = arith_select(b, takes_b, x[1], x[0]);
        return;
    }
    Value *wins = arith_cmpf(b, is_max ? CMPF_OGT : CMPF_OLT, x[0], x[1]);
    Value *is_nan = arith_cmpf(b, CMPF_UNE, x[0], x[0]);
    out[0] = arith_select(b, binary(b, ARITH(ORI), wins, is_nan), x[0], x[1]);
}

/* Predicates that C++ has no operator for. */
static bool compare(Builder *b, const Op *op, Value *const *x, Value **out)
{
    static const struct {
        CmpfPredicate predicate, first, second;
        bool both, self; /* both must hold; each compares an operand with itself */
    } table[] = {
        {CMPF_ONE, CMPF_OGT, CMPF_OLT, false, false},
        {CMPF_UEQ, CMPF_ULE, CMPF_UGE, true, false},
        {CMPF_ORD, CMPF_OEQ, CMPF_OEQ, true, true},
        {CMPF_UNO, CMPF_UNE, CMPF_UNE, false, true},
    };
    CmpfPredicate predicate = (CmpfPredicate)attr_int_value(op_attr(op, "predicate"));
    if (predicate == CMPF_FALSE || predicate == CMPF_TRUE) {
        out[0] = integer(b, op_result(op, 0)->type, predicate == CMPF_TRUE);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].predicate != predicate) continue;
        Value *first = arith_cmpf(b, table[i].first, x[0], table[i].self ? x[0] : x[1]);
        Value *second = arith_cmpf(b, table[i].second, table[i].self ? x[1] : x[0], x[1]);
        out[0] = binary(b, table[i].both ? ARITH(ANDI) : ARITH(ORI), first, second);
        return true;
    }
    return false;
}

/* Whether the float type holds the integer as it is. */
static bool is_held_by(const Type *type, const Value *integer)
{
    enum { DIGITS = 24, DOUBLE_DIGITS = 53 };
    const Attr *constant = constant_value(integer);
    uint32_t digits = type->kind == TYPE_F32 ? DIGITS : DOUBLE_DIGITS;
    if (type_width(integer->type) <= digits + 1) return true;
    if (!constant || !bigint_fits_i64(&constant->u.integer, true)) return false;
    int64_t value = attr_int_value(constant);
    return value >= -(INT64_C(1) << digits) && value <= INT64_C(1) << digits;
}

/* base^exponent; an exponent that is rounded becomes even, so the sign of a power with an odd one is
 * set again: exponent odd ? copysign(|base|^exponent, base) : |base|^exponent */
static void float_power(Builder *b, const Op *op, Value *const *x, Value **out)
{
    (void)op;
    const Type *type = x[0]->type;
    Value *exponent = build_unary(b, ARITH(SITOFP), type, x[1]);
    if (is_held_by(type, x[1])) {
        out[0] = binary(b, MATH(POWF), x[0], exponent);
        return;
    }
    Value *odd = build_unary(b, ARITH(TRUNCI), widened(type, 1), x[1]);
    Value *size = binary(b, MATH(POWF), build_unary(b, MATH(ABSF), type, x[0]), exponent);
    out[0] = arith_select(b, odd, binary(b, MATH(COPYSIGN), size, x[0]), size);
}

bool to_emithls_expand_scalar(Builder *b, const Op *op, Value *const *x, Value **out)
{
    static const struct {
        const OpDef *def;
        void (*expand)(Builder *, const Op *, Value *const *, Value **);
    } table[] = {
        {ARITH(DIVUI), div_unsigned},
        {ARITH(REMUI), rem_unsigned},
        {ARITH(CEILDIVUI), ceil_div_unsigned},
        {ARITH(CEILDIVSI), round_div},
        {ARITH(FLOORDIVSI), round_div},
        {ARITH(ADDUI_EXTENDED), extended},
        {ARITH(MULSI_EXTENDED), extended},
        {ARITH(MULUI_EXTENDED), extended},
        {ARITH(MAXIMUMF), extreme},
        {ARITH(MINIMUMF), extreme},
        {MATH(ABSI), absolute},
        {MATH(CTLZ), count_bits},
        {MATH(CTTZ), count_bits},
        {MATH(CTPOP), count_bits},
        {MATH(IPOWI), int_power},
        {MATH(FPOWI), float_power},
    };
    if (op->def == ARITH(CMPF)) return compare(b, op, x, out);
    bool divides = op->def == ARITH(DIVUI) || op->def == ARITH(REMUI);
    if (divides && product_power_of_two(x[1]) < 0) return false;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (op->def != table[i].def) continue;
        table[i].expand(b, op, x, out);
        return true;
    }
    return false;
}
