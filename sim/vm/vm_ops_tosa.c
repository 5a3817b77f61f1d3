/* Elementwise ops of tosa, as its specification defines them. Integers wrap where the specification
 * says nothing; results in the quantized domain are limited to the range of their type.
 * Tests: lit/sim/interp/tosa.mir, test/e2e/run_check.py */
#include <math.h>

#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "sim/vm/vm.h"

static bool is_float(const Instr *in)
{
    return type_is_float(in->in_type);
}

static bool is_unsigned(const Type *elem)
{
    return type_is_integer(elem) && elem->u.integer.sign == UNSIGNED;
}

/* A signed result as its type keeps it. */
static void set(const Instr *in, size_t i, int64_t value)
{
    in->out[0][i].i = array_wrap(in->type, value);
}

/* Limits of an integer type. */
static void range_of(const Type *elem, int64_t *low, int64_t *high)
{
    uint32_t width = type_width(elem);
    *high = INT64_MAX >> (64 - width);
    *low = -*high - 1;
    if (is_unsigned(elem) && width < 64) {
        *high = *high * 2 + 1;
        *low = 0;
    }
}

static int64_t limit(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t saturate(const Type *elem, int64_t value)
{
    int64_t low, high;
    range_of(elem, &low, &high);
    return limit(value, low, high);
}

/* a, b: floats; x, y: integers, extended as the type says. */
#define EITHER(NAME, FLOAT, INT)                                                                   \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        const Cell *left = in->in[0], *right = in->in[1] ? in->in[1] : in->in[0];                  \
        if (is_float(in)) {                                                                        \
            for (size_t i = 0; i < n; i++) {                                                       \
                double a = left[i].f, b = right[i].f;                                              \
                (void)b;                                                                           \
                in->out[0][i].f = (FLOAT);                                                         \
            }                                                                                      \
            vm_round_cells(in->out[0], n, in->type);                                               \
            return true;                                                                           \
        }                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            int64_t x = left[i].i, y = right[i].i;                                                 \
            (void)y;                                                                               \
            set(in, i, (int64_t)(INT));                                                            \
        }                                                                                          \
        return true;                                                                               \
    }

static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
}

static double smaller(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
}

EITHER(add, a + b, (uint64_t)x + (uint64_t)y)
EITHER(sub, a - b, (uint64_t)x - (uint64_t)y)
EITHER(maximum, larger(a, b), x > y ? x : y)
EITHER(minimum, smaller(a, b), x < y ? x : y)
EITHER(magnitude, fabs(a), x < 0 ? -(uint64_t)x : (uint64_t)x)
EITHER(identity, a, x)

/* The result's type is i1: no rounding. */
#define COMPARE(NAME, OPERATOR)                                                                    \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            in->out[0][i].i = is_float(in) ? in->in[0][i].f OPERATOR in->in[1][i].f                \
                                           : in->in[0][i].i OPERATOR in->in[1][i].i;               \
        return true;                                                                               \
    }
COMPARE(equal, ==)
COMPARE(greater, >)
COMPARE(greater_equal, >=)

static bool select_cells(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) in->out[0][i] = in->in[0][i].i ? in->in[1][i] : in->in[2][i];
    return true;
}

/* (0 - (x - zero of the input)) + zero of the output, limited to the type where there are zero points,
 * be they 0. */
static bool negate(const Instr *in, size_t n)
{
    const Attr *quant = op_attr(in->op, "quantization_info");
    int64_t in_zero = tosa_zero_point(quant, 0), out_zero = tosa_zero_point(quant, 1);
    for (size_t i = 0; i < n; i++) {
        if (is_float(in))
            in->out[0][i].f = -in->in[0][i].f;
        else if (!quant)
            set(in, i, (int64_t)-in->in[0][i].u);
        else
            set(in, i, saturate(in->type, in_zero - in->in[0][i].i + out_zero));
    }
    return true;
}

static bool clamp(const Instr *in, size_t n)
{
    int64_t low = attr_int_value(op_attr(in->op, "min_int"));
    int64_t high = attr_int_value(op_attr(in->op, "max_int"));
    double low_f = attr_float_value(op_attr(in->op, "min_fp"));
    double high_f = attr_float_value(op_attr(in->op, "max_fp"));
    for (size_t i = 0; i < n; i++) {
        if (is_float(in))
            in->out[0][i].f = larger(smaller(in->in[0][i].f, high_f), low_f);
        else
            set(in, i, limit(in->in[0][i].i, saturate(in->type, low), saturate(in->type, high)));
    }
    if (is_float(in)) vm_round_cells(in->out[0], n, in->type);
    return true;
}

FLOAT_UNARY(ceil, ceil(x))
FLOAT_UNARY(floor, floor(x))
FLOAT_UNARY(cos, cos(x))
FLOAT_UNARY(sin, sin(x))
FLOAT_UNARY(exp, exp(x))
FLOAT_UNARY(log, log(x))
FLOAT_UNARY(erf, erf(x))
FLOAT_UNARY(tanh, tanh(x))
FLOAT_UNARY(reciprocal, 1.0 / x)
FLOAT_UNARY(rsqrt, 1.0 / sqrt(x))
FLOAT_UNARY(sigmoid, 1.0 / (1.0 + exp(-x)))

static bool run_pow(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) in->out[0][i].f = pow(in->in[0][i].f, in->in[1][i].f);
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

#define INT_BINARY(NAME, EXPR)                                                                     \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint64_t x = in->in[0][i].u, y = in->in[1] ? in->in[1][i].u : 0;                       \
            (void)y;                                                                               \
            set(in, i, (int64_t)(EXPR));                                                           \
        }                                                                                          \
        return true;                                                                               \
    }
INT_BINARY(bits_and, x &y)
INT_BINARY(bits_or, x | y)
INT_BINARY(bits_xor, x ^ y)
INT_BINARY(bits_not, ~x)
INT_BINARY(shift_left, x << (y & 63))
INT_BINARY(shift_right, extend_zero((int64_t)x, in->in_spare) >> (y & 63))

static bool count_leading_zeros(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t count = 0, width = 64 - in->in_spare;
        while (count < width && !(in->in[0][i].u >> (width - 1 - count) & 1)) count++;
        set(in, i, count);
    }
    return true;
}

static bool check_amounts(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in->in[1][i].u >= 64 - in->in_spare)
            return op_error(in->op, "shifts by %lld, but its type has %u bits",
                            (long long)in->in[1][i].i, 64 - in->in_spare);
    return true;
}

static bool logical_left_shift(const Instr *in, size_t n)
{
    return check_amounts(in, n) && shift_left(in, n);
}

static bool logical_right_shift(const Instr *in, size_t n)
{
    return check_amounts(in, n) && shift_right(in, n);
}

/* Rounded up if the last bit that goes is set. */
static bool arithmetic_right_shift(const Instr *in, size_t n)
{
    bool rounds = attr_is_true(op_attr(in->op, "round"));
    if (!check_amounts(in, n)) return false;
    for (size_t i = 0; i < n; i++) {
        int64_t x = in->in[0][i].i, amount = in->in[1][i].i;
        int64_t carry = rounds && amount > 0 ? x >> (amount - 1) & 1 : 0;
        set(in, i, (x >> amount) + carry);
    }
    return true;
}

static bool int_div(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t x = in->in[0][i].i, y = in->in[1][i].i;
        if (y == 0) return op_error(in->op, "divides by zero");
        if (y == -1 && x == INT64_MIN >> in->in_spare)
            return op_error(in->op, "overflows: %lld divided by -1", (long long)x);
        set(in, i, x / y);
    }
    return true;
}

/* (value * multiplier + rounding) >> shift; |value * multiplier| < 2^63. */
static int64_t apply_scale(int64_t value, int64_t multiplier, int64_t shift, bool double_round)
{
    uint64_t product = (uint64_t)value * (uint64_t)multiplier;
    uint64_t half = shift > 0 ? UINT64_C(1) << (shift - 1) : 0;
    if (double_round && shift > 31) half += value >= 0 ? UINT64_C(1) << 30 : -(UINT64_C(1) << 30);
    return (int64_t)(product + half) >> shift;
}

static bool check_shift(const Instr *in, int64_t shift)
{
    return (shift >= 0 && shift < 63) ||
           op_error(in->op, "shifts by %lld, which is not in [0, 62]", (long long)shift);
}

static bool mul(const Instr *in, size_t n)
{
    int64_t shift = attr_int_value(op_attr(in->op, "shift"));
    if (!check_shift(in, shift)) return false;
    for (size_t i = 0; i < n; i++) {
        if (is_float(in))
            in->out[0][i].f = in->in[0][i].f * in->in[1][i].f;
        else
            set(in, i, apply_scale(in->in[0][i].i, in->in[1][i].i, shift, false));
    }
    if (is_float(in)) vm_round_cells(in->out[0], n, in->type);
    return true;
}

static bool run_apply_scale(const Instr *in, size_t n)
{
    bool double_round = attr_is_true(op_attr(in->op, "double_round"));
    for (size_t i = 0; i < n; i++) {
        int64_t shift = in->in[2][i].i;
        if (!check_shift(in, shift)) return false;
        set(in, i, apply_scale(in->in[0][i].i, in->in[1][i].i, shift, double_round));
    }
    return true;
}

bool vm_tosa_rescale(const Op *op, const Type *to, size_t channel, int64_t *value)
{
    bool double_round =
        attr_is_true(op_attr(op, "double_round")) && attr_is_true(op_attr(op, "scale32"));
    int64_t scaled = apply_scale(*value - attr_int_value(op_attr(op, "input_zp")),
                                 dense_array_i64(op_attr(op, "multiplier"), channel),
                                 dense_array_i64(op_attr(op, "shift"), channel), double_round);
    *value = saturate(to, scaled + attr_int_value(op_attr(op, "output_zp")));
    return scaled == (int32_t)scaled;
}

int64_t vm_tosa_mean(const Type *to, int64_t sum, int64_t count, int64_t zero)
{
    int64_t bits = 0;
    while ((count - 1) >> bits) bits++;
    int64_t multiplier = (int64_t)(((UINT64_C(1) << 30) + 1) << bits) / count;
    return saturate(to, apply_scale(sum, multiplier, 30 + bits, false) + zero);
}

/* Half to even, then to the nearest integer that the type has; not a number gives 0. */
static int64_t integer_from(const Type *to, double x)
{
    double whole = fabs(x - trunc(x)) == 0.5 ? 2.0 * round(x / 2.0) : round(x);
    if (isnan(x)) return 0;
    if (whole >= 0x1p63) return saturate(to, INT64_MAX);
    return whole < -0x1p63 ? saturate(to, INT64_MIN) : saturate(to, (int64_t)whole);
}

static bool cast(const Instr *in, size_t n)
{
    bool to_float = type_is_float(in->type), to_truth = tosa_is_truth(in->type);
    for (size_t i = 0; i < n; i++) {
        Cell x = in->in[0][i];
        if (to_float)
            in->out[0][i].f = is_float(in) ? x.f : (double)x.i;
        else if (to_truth)
            in->out[0][i].i = is_float(in) ? x.f != 0 : x.i != 0;
        else
            set(in, i, is_float(in) ? integer_from(in->type, x.f) : x.i);
    }
    if (to_float) vm_round_cells(in->out[0], n, in->type);
    return true;
}

InstrFn *vm_tosa_instr(const OpDef *def)
{
    static InstrFn *const table[TOSA_OP_COUNT] = {
        [TOSA_ABS] = magnitude,
        [TOSA_BITWISE_NOT] = bits_not,
        [TOSA_CEIL] = run_ceil,
        [TOSA_CLZ] = count_leading_zeros,
        [TOSA_COS] = run_cos,
        [TOSA_EXP] = run_exp,
        [TOSA_FLOOR] = run_floor,
        [TOSA_LOG] = run_log,
        [TOSA_LOGICAL_NOT] = bits_not,
        [TOSA_NEGATE] = negate,
        [TOSA_RECIPROCAL] = run_reciprocal,
        [TOSA_RSQRT] = run_rsqrt,
        [TOSA_SIN] = run_sin,
        [TOSA_TANH] = run_tanh,
        [TOSA_SIGMOID] = run_sigmoid,
        [TOSA_ERF] = run_erf,
        [TOSA_CLAMP] = clamp,
        [TOSA_CAST] = cast,
        [TOSA_IDENTITY] = identity,
        [TOSA_ADD] = add,
        [TOSA_SUB] = sub,
        [TOSA_MUL] = mul,
        [TOSA_INT_DIV] = int_div,
        [TOSA_POW] = run_pow,
        [TOSA_MAXIMUM] = maximum,
        [TOSA_MINIMUM] = minimum,
        [TOSA_ARITHMETIC_RIGHT_SHIFT] = arithmetic_right_shift,
        [TOSA_LOGICAL_LEFT_SHIFT] = logical_left_shift,
        [TOSA_LOGICAL_RIGHT_SHIFT] = logical_right_shift,
        [TOSA_BITWISE_AND] = bits_and,
        [TOSA_BITWISE_OR] = bits_or,
        [TOSA_BITWISE_XOR] = bits_xor,
        [TOSA_LOGICAL_AND] = bits_and,
        [TOSA_LOGICAL_OR] = bits_or,
        [TOSA_LOGICAL_XOR] = bits_xor,
        [TOSA_EQUAL] = equal,
        [TOSA_GREATER] = greater,
        [TOSA_GREATER_EQUAL] = greater_equal,
        [TOSA_SELECT] = select_cells,
        [TOSA_APPLY_SCALE] = run_apply_scale,
    };
    return def->dialect == &tosa_dialect ? table[def - tosa_ops] : NULL;
}
