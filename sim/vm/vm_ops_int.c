/* Integer ops of arith, select and conversions between integers, exact for every width up to 64.
 * Undefined behaviour is diagnosed: division by zero, a quotient that does not fit, shifts by the
 * width or more. Overflow flags are ignored: a result that wraps is taken as it is.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include "dialects/arith/arith.h"
#include "dialects/builtin/builtin.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "sim/vm/vm.h"

/* a, b: the operands' words; SEXT and ZEXT extend them from the width by sign and by zeros. */
#define INT_BINARY(NAME, EXPR)                                                                     \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        const Cell *x = in->in[0], *y = in->in[1];                                                 \
        uint32_t spare = in->spare;                                                                \
        int64_t mask = in->mask;                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint64_t a = x[i].u, b = y[i].u;                                                       \
            in->out[0][i].i = extend_sign((int64_t)(EXPR), spare) & mask;                          \
        }                                                                                          \
        return true;                                                                               \
    }
#define SEXT(V) extend_sign((int64_t)(V), spare)
#define ZEXT(V) extend_zero((int64_t)(V), spare)
INT_BINARY(add, a + b)
INT_BINARY(sub, a - b)
INT_BINARY(mul, a *b)
INT_BINARY(and_bits, a &b)
INT_BINARY(or_bits, a | b)
INT_BINARY(xor_bits, a ^ b)
INT_BINARY(max_signed, SEXT(a) > SEXT(b) ? a : b)
INT_BINARY(min_signed, SEXT(a) < SEXT(b) ? a : b)
INT_BINARY(max_unsigned, ZEXT(a) > ZEXT(b) ? a : b)
INT_BINARY(min_unsigned, ZEXT(a) < ZEXT(b) ? a : b)

static bool check_amounts(const Instr *in, size_t n)
{
    uint32_t width = 64 - in->spare;
    for (size_t i = 0; i < n; i++) {
        uint64_t amount = extend_zero(in->in[1][i].i, in->spare);
        if (amount >= width)
            return op_error(in->op, "shifts by %llu, but its type has %u bits",
                            (unsigned long long)amount, width);
    }
    return true;
}

INT_BINARY(shift_left, a << (ZEXT(b) & 63))
INT_BINARY(shift_unsigned, ZEXT(a) >> (ZEXT(b) & 63))
INT_BINARY(shift_signed, SEXT(a) >> (ZEXT(b) & 63))

#define CHECKED(NAME, CHECK, FN)                                                                   \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        return CHECK(in, n) && FN(in, n);                                                          \
    }
CHECKED(shli, check_amounts, shift_left)
CHECKED(shrui, check_amounts, shift_unsigned)
CHECKED(shrsi, check_amounts, shift_signed)

static bool check_divisors(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in->in[1][i].i == 0) return op_error(in->op, "divides by zero");
    return true;
}

/* min / -1, the one signed quotient that does not fit. */
static bool check_quotients(const Instr *in, size_t n)
{
    uint32_t spare = in->spare;
    int64_t least = INT64_MIN >> spare;
    for (size_t i = 0; i < n; i++)
        if (SEXT(in->in[1][i].i) == -1 && SEXT(in->in[0][i].i) == least)
            return op_error(in->op, "overflows: %lld divided by -1", (long long)least);
    return check_divisors(in, n);
}

static int64_t div_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

INT_BINARY(quotient, SEXT(a) / SEXT(b))
INT_BINARY(quotient_up, div_up(SEXT(a), SEXT(b)))
INT_BINARY(quotient_down, floor_div(SEXT(a), SEXT(b)))
INT_BINARY(rest, SEXT(a) % SEXT(b))
INT_BINARY(uquotient, ZEXT(a) / ZEXT(b))
INT_BINARY(uquotient_up, ZEXT(a) / ZEXT(b) + (ZEXT(a) % ZEXT(b) != 0))
INT_BINARY(urest, ZEXT(a) % ZEXT(b))
CHECKED(divsi, check_quotients, quotient)
CHECKED(ceildivsi, check_quotients, quotient_up)
CHECKED(floordivsi, check_quotients, quotient_down)
CHECKED(remsi, check_quotients, rest)
CHECKED(divui, check_divisors, uquotient)
CHECKED(ceildivui, check_divisors, uquotient_up)
CHECKED(remui, check_divisors, urest)

static bool addui_extended(const Instr *in, size_t n)
{
    uint32_t spare = in->spare;
    for (size_t i = 0; i < n; i++) {
        int64_t a = in->in[0][i].i;
        int64_t sum = (int64_t)((uint64_t)a + in->in[1][i].u);
        in->out[0][i].i = SEXT(sum) & in->mask;
        in->out[1][i].i = ZEXT(sum) < ZEXT(a);
    }
    return true;
}

/* High word of the product of two words. */
static uint64_t high_word(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Bits [width, 2 * width) of a product of two words. */
static uint64_t upper_half(uint64_t high, uint64_t low, uint32_t width)
{
    return width == 64 ? high : high << (64 - width) | low >> width;
}

static bool mulsi_extended(const Instr *in, size_t n)
{
    uint32_t spare = in->spare;
    for (size_t i = 0; i < n; i++) {
        uint64_t a = (uint64_t)SEXT(in->in[0][i].i), b = (uint64_t)SEXT(in->in[1][i].i);
        uint64_t high = high_word(a, b) - (a >> 63 ? b : 0) - (b >> 63 ? a : 0);
        in->out[0][i].i = SEXT(a * b) & in->mask;
        in->out[1][i].i = SEXT(upper_half(high, a * b, 64 - spare)) & in->mask;
    }
    return true;
}

static bool mului_extended(const Instr *in, size_t n)
{
    uint32_t spare = in->spare;
    for (size_t i = 0; i < n; i++) {
        uint64_t a = ZEXT(in->in[0][i].i), b = ZEXT(in->in[1][i].i);
        in->out[0][i].i = SEXT(a * b) & in->mask;
        in->out[1][i].i = SEXT(upper_half(high_word(a, b), a * b, 64 - spare)) & in->mask;
    }
    return true;
}

/* To any width, from the operand extended by its sign: a wider, a narrower, an index type. */
static bool convert_signed(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = extend_sign(in->in[0][i].i, in->in_spare);
        in->out[0][i].i = extend_sign(value, in->spare) & in->mask;
    }
    return true;
}

static bool convert_unsigned(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = (int64_t)extend_zero(in->in[0][i].i, in->in_spare);
        in->out[0][i].i = extend_sign(value, in->spare) & in->mask;
    }
    return true;
}

Cell vm_cell_bitcast(const Type *from, const Type *to, Cell cell)
{
    uint64_t bits = type_is_float(from) ? float_to_bits((int)from->kind, cell.f) : cell.u;
    if (!type_is_float(to)) return (Cell){.i = array_wrap(to, (int64_t)bits)};
    bits = extend_zero((int64_t)bits, 64 - type_width(to));
    return (Cell){.f = float_from_bits((int)to->kind, bits)};
}

static bool bitcast(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        in->out[0][i] = vm_cell_bitcast(in->in_type, in->type, in->in[0][i]);
    return true;
}

#define COMPARE(NAME, EXPR)                                                                        \
    static void NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        uint32_t spare = in->in_spare;                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            int64_t a = in->in[0][i].i, b = in->in[1][i].i;                                        \
            in->out[0][i].i = (EXPR);                                                              \
        }                                                                                          \
    }
COMPARE(equal, ZEXT(a) == ZEXT(b))
COMPARE(less, SEXT(a) < SEXT(b))
COMPARE(less_equal, SEXT(a) <= SEXT(b))
COMPARE(uless, ZEXT(a) < ZEXT(b))
COMPARE(uless_equal, ZEXT(a) <= ZEXT(b))

/* Every predicate is one of five or its negation. */
static bool cmpi(const Instr *in, size_t n)
{
    static const struct {
        void (*holds)(const Instr *, size_t);
        bool negated;
    } rows[] = {
        [CMPI_EQ] = {equal, false},        [CMPI_NE] = {equal, true},
        [CMPI_SLT] = {less, false},        [CMPI_SGE] = {less, true},
        [CMPI_SLE] = {less_equal, false},  [CMPI_SGT] = {less_equal, true},
        [CMPI_ULT] = {uless, false},       [CMPI_UGE] = {uless, true},
        [CMPI_ULE] = {uless_equal, false}, [CMPI_UGT] = {uless_equal, true},
    };
    rows[in->param].holds(in, n);
    for (size_t i = 0; rows[in->param].negated && i < n; i++) in->out[0][i].i ^= 1;
    return true;
}

static bool select_cells(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) in->out[0][i] = in->in[0][i].i ? in->in[1][i] : in->in[2][i];
    return true;
}

InstrFn *vm_integer_instr(const OpDef *def)
{
    static InstrFn *const table[ARITH_OP_COUNT] = {
        [ARITH_ADDI] = add,
        [ARITH_ADDUI_EXTENDED] = addui_extended,
        [ARITH_SUBI] = sub,
        [ARITH_MULI] = mul,
        [ARITH_MULSI_EXTENDED] = mulsi_extended,
        [ARITH_MULUI_EXTENDED] = mului_extended,
        [ARITH_DIVUI] = divui,
        [ARITH_DIVSI] = divsi,
        [ARITH_CEILDIVUI] = ceildivui,
        [ARITH_CEILDIVSI] = ceildivsi,
        [ARITH_FLOORDIVSI] = floordivsi,
        [ARITH_REMUI] = remui,
        [ARITH_REMSI] = remsi,
        [ARITH_ANDI] = and_bits,
        [ARITH_ORI] = or_bits,
        [ARITH_XORI] = xor_bits,
        [ARITH_SHLI] = shli,
        [ARITH_SHRUI] = shrui,
        [ARITH_SHRSI] = shrsi,
        [ARITH_MAXSI] = max_signed,
        [ARITH_MAXUI] = max_unsigned,
        [ARITH_MINSI] = min_signed,
        [ARITH_MINUI] = min_unsigned,
        [ARITH_EXTUI] = convert_unsigned,
        [ARITH_EXTSI] = convert_signed,
        [ARITH_TRUNCI] = convert_signed,
        [ARITH_INDEX_CAST] = convert_signed,
        [ARITH_INDEX_CASTUI] = convert_unsigned,
        [ARITH_BITCAST] = bitcast,
        [ARITH_CMPI] = cmpi,
        [ARITH_SELECT] = select_cells,
    };
    if (def == BUILTIN(UNREALIZED_CONVERSION_CAST)) return bitcast;
    return def->dialect == &arith_dialect ? table[def - arith_ops] : NULL;
}
