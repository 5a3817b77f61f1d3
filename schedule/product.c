/* Resources of integer products: the widths that a DSP48E2 multiplies at once, FINN's formula for
 * LUTs, and shifts and additions for constants of few signed digits.
 * Tests: test/unit/target/cost/cost_test.c, lit/target/dse/choose-unroll.mir */
#include "dialects/arith/arith.h"
#include "schedule/schedule.h"

bool product_is(const Op *op)
{
    return op->def == ARITH(MULI) || op->def == ARITH(MULSI_EXTENDED) ||
           op->def == ARITH(MULUI_EXTENDED);
}

int64_t product_dsp(int64_t a_bits, int64_t b_bits)
{
    int64_t wide = i64_max(a_bits, b_bits), narrow = a_bits + b_bits - wide;
    if (wide <= 3) return 0; /* a few LUTs */
    if (wide <= 27 && narrow <= 18) return 1;
    /* Unsigned slices of 26 and 17 bits below a signed top slice. */
    return i64_min(ceil_div(wide - 1, 26) * ceil_div(narrow - 1, 17),
                   ceil_div(wide - 1, 17) * ceil_div(narrow - 1, 26));
}

int64_t product_luts(int64_t a_bits, int64_t b_bits)
{
    int64_t bits = a_bits + b_bits;
    return (2 * ceil_div(bits, 6) - 1) * bits;
}

/* As below, through so many ops. */
static int64_t bits_through(const Value *value, int depth)
{
    const Op *def = value_def(value);
    int64_t width = type_width(value->type);
    if (def && depth > 0 && def->def == ARITH(EXTSI))
        return bits_through(op_operand(def, 0), depth - 1);
    if (def && def->def == ARITH(EXTUI)) return type_width(op_operand(def, 0)->type) + 1;
    if (def && depth > 0 && def->def == ARITH(MULI))
        return i64_min(width, bits_through(op_operand(def, 0), depth - 1) +
                                  bits_through(op_operand(def, 1), depth - 1));
    if (def && def->def == ARITH(CONSTANT) && type_is_integer(value->type) &&
        type_width(value->type) <= 64) {
        int64_t number = attr_int_value(op_attr(def, "value")), bits = 1;
        for (int64_t rest = number < 0 ? ~number : number; rest; rest >>= 1) bits++;
        return bits;
    }
    return width;
}

/* Signed bits that a value needs, seen through extensions, products and constants. */
int64_t product_effective_bits(const Value *value)
{
    enum { MOST_OPS = 6 };
    return bits_through(value, MOST_OPS);
}

static bool constant_size(const Value *value, uint64_t *out)
{
    const Op *def = value_def(value);
    if (!def || def->def != ARITH(CONSTANT) || !type_is_integer(value->type) ||
        type_width(value->type) > 64)
        return false;
    int64_t number = attr_int_value(op_attr(def, "value"));
    *out = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    return true;
}

/* Terms of a constant as a sum and difference of powers of two: 7 is 8 - 1. */
static int64_t signed_digits(uint64_t size)
{
    int64_t digits = 0;
    for (; size; size >>= 1)
        if (size & 1) {
            digits++;
            size = (size & 3) == 3 ? size + 1 : size;
        }
    return digits;
}

/* Products by a constant of few digits are shifts and additions. -1: of no such constant. */
static int64_t constant_digits(const Op *op)
{
    enum { MOST_DIGITS = 3 };
    uint64_t size;
    for (uint32_t i = 0; i < 2; i++)
        if (constant_size(op_operand(op, i), &size) && signed_digits(size) <= MOST_DIGITS)
            return signed_digits(size);
    return -1;
}

bool product_is_sum_of_shifts(const Op *op)
{
    return op->def == ARITH(MULI) && constant_digits(op) > 1;
}

int64_t product_dsp_of(const Op *op)
{
    if (constant_digits(op) >= 0) return 0;
    return product_dsp(product_effective_bits(op_operand(op, 0)),
                       product_effective_bits(op_operand(op, 1)));
}

int64_t product_luts_of(const Op *op)
{
    int64_t a = product_effective_bits(op_operand(op, 0)),
            b = product_effective_bits(op_operand(op, 1));
    int64_t digits = constant_digits(op);
    return digits >= 0 ? i64_max(digits - 1, 0) * (a + b) : product_luts(a, b);
}

int product_power_of_two(const Value *value)
{
    const Op *def = value_def(value);
    uint32_t width = type_is_integer(value->type) ? type_width(value->type) : 0;
    int exponent = 0;
    if (!def || def->def != ARITH(CONSTANT) || width == 0 || width > 64) return -1;
    uint64_t number =
        (uint64_t)attr_int_value(op_attr(def, "value")) & (UINT64_MAX >> (64 - width));
    if (number == 0 || (number & (number - 1)) != 0) return -1;
    for (; number > 1; number >>= 1) exponent++;
    return exponent;
}

/* The exponent of math.ipowi if it is a constant above 0, else 0. */
static uint64_t constant_exponent(const Op *op)
{
    const Op *def = value_def(op_operand(op, 1));
    if (!def || def->def != ARITH(CONSTANT) || type_width(op_operand(op, 1)->type) > 64) return 0;
    return (uint64_t)i64_max(attr_int_value(op_attr(def, "value")), 0);
}

int64_t product_power_count(const Op *op)
{
    uint64_t exponent = constant_exponent(op);
    int64_t ones = 0;
    for (uint64_t rest = exponent; rest; rest >>= 1) ones += (int64_t)(rest & 1);
    if (exponent > 0) return product_power_depth(op) - (ones > 1) + ones - 1;
    return 2 * i64_max((int64_t)type_width(op_result(op, 0)->type) - 2, 0);
}

int64_t product_power_depth(const Op *op)
{
    uint64_t exponent = constant_exponent(op);
    int64_t squares = 0;
    for (uint64_t rest = exponent; rest > 1; rest >>= 1) squares++;
    if (exponent > 0) return squares + (exponent & (exponent - 1) ? 1 : 0);
    return i64_max((int64_t)type_width(op_result(op, 0)->type) - 1, 0);
}
