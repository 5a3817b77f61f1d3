/* Ops of math: the C library's functions in double, rounded to the result's format.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <math.h>

#include "dialects/math/math.h"
#include "ir/asm/print/print.h"
#include "sim/vm/vm.h"

/* Half to even, whatever the rounding mode of the host. */
static double round_even(double x)
{
    bool is_tie = fabs(x - trunc(x)) == 0.5;
    return copysign(is_tie ? 2.0 * round(x / 2.0) : round(x), x);
}

FLOAT_UNARY(absf, fabs(x))
FLOAT_UNARY(acosh, acosh(x))
FLOAT_UNARY(asin, asin(x))
FLOAT_UNARY(asinh, asinh(x))
FLOAT_UNARY(atan, atan(x))
FLOAT_UNARY(atanh, atanh(x))
FLOAT_UNARY(cbrt, cbrt(x))
FLOAT_UNARY(ceil, ceil(x))
FLOAT_UNARY(cos, cos(x))
FLOAT_UNARY(acos, acos(x))
FLOAT_UNARY(cosh, cosh(x))
FLOAT_UNARY(sin, sin(x))
FLOAT_UNARY(sinh, sinh(x))
FLOAT_UNARY(erf, erf(x))
FLOAT_UNARY(exp, exp(x))
FLOAT_UNARY(exp2, exp2(x))
FLOAT_UNARY(expm1, expm1(x))
FLOAT_UNARY(floor, floor(x))
FLOAT_UNARY(log, log(x))
FLOAT_UNARY(log10, log10(x))
FLOAT_UNARY(log1p, log1p(x))
FLOAT_UNARY(log2, log2(x))
FLOAT_UNARY(rsqrt, 1.0 / sqrt(x))
FLOAT_UNARY(sqrt, sqrt(x))
FLOAT_UNARY(tan, tan(x))
FLOAT_UNARY(tanh, tanh(x))
FLOAT_UNARY(roundeven, round_even(x))
FLOAT_UNARY(round, round(x))
FLOAT_UNARY(trunc, trunc(x))

#define FLOAT_BINARY(NAME, EXPR)                                                                   \
    static bool run_##NAME(const Instr *in, size_t n)                                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = in->in[0][i].f, y = in->in[1][i].f;                                         \
            in->out[0][i].f = (EXPR);                                                              \
        }                                                                                          \
        vm_round_cells(in->out[0], n, in->type);                                                   \
        return true;                                                                               \
    }
FLOAT_BINARY(atan2, atan2(x, y))
FLOAT_BINARY(copysign, copysign(x, y))
FLOAT_BINARY(powf, pow(x, y))

/* a * b + c of a format narrower than double, with an odd last bit if it is not exact: rounding
 * that once more gives what rounding the exact sum gives. The product is exact. */
static double odd_sum(double product, double c)
{
    double sum = product + c;
    double back = sum - product, error = (product - (sum - back)) + (c - back);
    uint64_t bits = float_to_bits(TYPE_F64, sum);
    if (error != 0 && isfinite(sum) && (bits & 1) == 0)
        return nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
    return sum;
}

static bool run_fma(const Instr *in, size_t n)
{
    bool is_double = in->type->kind == TYPE_F64;
    for (size_t i = 0; i < n; i++) {
        double a = in->in[0][i].f, b = in->in[1][i].f, c = in->in[2][i].f;
        in->out[0][i].f = is_double ? fma(a, b, c) : odd_sum(a * b, c);
    }
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

/* Whether an exponent is odd is not to be seen of a double beyond 2^53. */
static double float_power(double x, int64_t exponent)
{
    bool is_negative = signbit(x) && !isnan(x) && (exponent & 1);
    double y = pow(is_negative ? -x : x, (double)exponent);
    return is_negative ? -y : y;
}

static bool run_fpowi(const Instr *in, size_t n)
{
    uint32_t spare = 64 - type_width(type_elem(op_operand(in->op, 1)->type));
    for (size_t i = 0; i < n; i++)
        in->out[0][i].f = float_power(in->in[0][i].f, extend_sign(in->in[1][i].i, spare));
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

#define INT_UNARY(NAME, EXPR)                                                                      \
    static bool run_##NAME(const Instr *in, size_t n)                                              \
    {                                                                                              \
        uint32_t width = 64 - in->spare;                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint64_t x = extend_zero(in->in[0][i].i, in->spare);                                   \
            in->out[0][i].i = extend_sign((int64_t)(EXPR), in->spare) & in->mask;                  \
        }                                                                                          \
        return true;                                                                               \
    }

static uint64_t count_ones(uint64_t x, uint32_t width)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < width; i++) count += x >> i & 1;
    return count;
}

static uint64_t leading_zeros(uint64_t x, uint32_t width)
{
    while (x) {
        x >>= 1;
        width--;
    }
    return width;
}

static uint64_t trailing_zeros(uint64_t x, uint32_t width)
{
    uint64_t count = 0;
    while (count < width && !(x >> count & 1)) count++;
    return count;
}

static uint64_t magnitude(uint64_t x, uint32_t width)
{
    return x >> (width - 1) & 1 ? -x : x;
}

INT_UNARY(absi, magnitude(x, width))
INT_UNARY(ctlz, leading_zeros(x, width))
INT_UNARY(cttz, trailing_zeros(x, width))
INT_UNARY(ctpop, count_ones(x, width))

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

/* A negative power is the reciprocal rounded to zero; 0 has none. */
static bool run_ipowi(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t base = extend_sign(in->in[0][i].i, in->spare);
        int64_t exponent = extend_sign(in->in[1][i].i, in->spare), value;
        if (exponent >= 0)
            value = (int64_t)power((uint64_t)base, (uint64_t)exponent);
        else if (base == 0)
            return op_error(in->op, "divides by zero");
        else
            value = base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
        in->out[0][i].i = extend_sign(value, in->spare) & in->mask;
    }
    return true;
}

#define ROW(ID, NAME) [MATH_##ID] = run_##NAME
InstrFn *vm_math_instr(const OpDef *def)
{
    static InstrFn *const table[MATH_OP_COUNT] = {
        ROW(ABSF, absf),   ROW(ABSI, absi),   ROW(ACOSH, acosh),       ROW(ASIN, asin),
        ROW(ASINH, asinh), ROW(ATAN, atan),   ROW(ATANH, atanh),       ROW(ATAN2, atan2),
        ROW(CBRT, cbrt),   ROW(CEIL, ceil),   ROW(COPYSIGN, copysign), ROW(COS, cos),
        ROW(ACOS, acos),   ROW(COSH, cosh),   ROW(SIN, sin),           ROW(SINH, sinh),
        ROW(CTLZ, ctlz),   ROW(CTTZ, cttz),   ROW(CTPOP, ctpop),       ROW(ERF, erf),
        ROW(EXP, exp),     ROW(EXP2, exp2),   ROW(EXPM1, expm1),       ROW(FLOOR, floor),
        ROW(FMA, fma),     ROW(IPOWI, ipowi), ROW(LOG, log),           ROW(LOG10, log10),
        ROW(LOG1P, log1p), ROW(LOG2, log2),   ROW(POWF, powf),         ROW(RSQRT, rsqrt),
        ROW(SQRT, sqrt),   ROW(TAN, tan),     ROW(TANH, tanh),         ROW(ROUNDEVEN, roundeven),
        ROW(ROUND, round), ROW(TRUNC, trunc), ROW(FPOWI, fpowi),
    };
    return def->dialect == &math_dialect ? table[def - math_ops] : NULL;
}
