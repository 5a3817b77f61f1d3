/* Conversion of floats from and to decimal text. It is exact, because all arithmetic is on natural
 * numbers.
 *
 * Printing follows the algorithm behind upstream's text, including the places where that rounds:
 * digits beyond the wanted ones are first dropped in powers of ten estimated from the bit length,
 * then the last digit is rounded half up. Short text is checked by reading it back: the number must
 * lie between the midpoints of the value and its two neighbours.
 * Tests: test/unit/ir/attr/float_test.c */
#include <assert.h>
#include <string.h>

#include "ir/attr/internal.h"

/* f128 needs most: 113 bits times 5^16494 are 38,412 bits. */
#define NAT_MAX 640
#define TEN_DIGITS 19
#define TEN_CHUNK UINT64_C(10000000000000000000) /* 10^19 */

typedef struct Nat {
    size_t count; /* words in use, the top one not zero */
    uint64_t words[NAT_MAX];
} Nat;

static void nat_set(Nat *nat, FloatMant value)
{
    nat->words[0] = (uint64_t)value;
    nat->words[1] = (uint64_t)(value >> 64);
    nat->count = nat->words[1] ? 2 : nat->words[0] ? 1 : 0;
}

/* nat = nat * factor + extra */
static void nat_multiply_add(Nat *nat, uint64_t factor, uint64_t extra)
{
    for (size_t i = 0; i < nat->count; i++) {
        FloatMant part = (FloatMant)nat->words[i] * factor + extra;
        nat->words[i] = (uint64_t)part;
        extra = (uint64_t)(part >> 64);
    }
    if (extra) {
        assert(nat->count < NAT_MAX);
        nat->words[nat->count++] = extra;
    }
}

static uint64_t power_of_5(unsigned power) /* <= 27 */
{
    uint64_t value = 1;
    while (power-- > 0) value *= 5;
    return value;
}

static void nat_multiply_power_of_5(Nat *nat, unsigned power)
{
    for (; power >= 27; power -= 27) nat_multiply_add(nat, power_of_5(27), 0);
    nat_multiply_add(nat, power_of_5(power), 0);
}

static void nat_shift_left(Nat *nat, unsigned bits)
{
    size_t skip = bits / 64;
    if (nat->count == 0 || bits == 0) return;
    assert(nat->count + skip < NAT_MAX);
    nat_multiply_add(nat, UINT64_C(1) << (bits % 64), 0);
    memmove(nat->words + skip, nat->words, nat->count * sizeof(*nat->words));
    memset(nat->words, 0, skip * sizeof(*nat->words));
    nat->count += skip;
}

/* Divides in place and returns the remainder. */
static uint64_t nat_divide(Nat *nat, uint64_t divisor)
{
    uint64_t rest = 0;
    for (size_t i = nat->count; i-- > 0;) {
        FloatMant part = (FloatMant)rest << 64 | nat->words[i];
        nat->words[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    while (nat->count > 0 && nat->words[nat->count - 1] == 0) nat->count--;
    return rest;
}

static uint64_t power_of_ten(unsigned power) /* < 20 */
{
    uint64_t value = 1;
    while (power-- > 0) value *= 10;
    return value;
}

/* Drops the last `count` decimal digits. */
static void nat_drop_digits(Nat *nat, unsigned count)
{
    for (; count >= TEN_DIGITS; count -= TEN_DIGITS) nat_divide(nat, TEN_CHUNK);
    if (count > 0) nat_divide(nat, power_of_ten(count));
}

static unsigned nat_bit_length(const Nat *nat)
{
    if (nat->count == 0) return 0;
    unsigned top = 64 - (unsigned)__builtin_clzll(nat->words[nat->count - 1]);
    return (unsigned)(nat->count - 1) * 64 + top;
}

static int nat_cmp(const Nat *a, const Nat *b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (size_t i = a->count; i-- > 0;)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

/* a -= b, a >= b */
static void nat_subtract(Nat *a, const Nat *b)
{
    uint64_t borrow = 0;
    for (size_t i = 0; i < a->count; i++) {
        FloatMant difference = (FloatMant)a->words[i] - (i < b->count ? b->words[i] : 0) - borrow;
        a->words[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    while (a->count > 0 && a->words[a->count - 1] == 0) a->count--;
}

/* digit[0] digit[1] ... digit[count - 1] times 10^exp; no zeros at the end. */
#define DIGITS_MAX 64
typedef struct Decimal {
    char digit[DIGITS_MAX]; /* '0' to '9' */
    unsigned count;
    int exp;
} Decimal;

/* mant * 2^exp as an integer times a power of ten, whose exponent is returned. */
static int scale_to_integer(const FloatParts *parts, Nat *nat)
{
    FloatMant mant = parts->mant;
    int exp = parts->exp;
    for (; (mant & 1) == 0; mant >>= 1) exp++;
    nat_set(nat, mant);
    if (exp < 0) {
        /* n * 2^-e = n * 5^e * 10^-e */
        nat_multiply_power_of_5(nat, (unsigned)-exp);
        return exp;
    }
    nat_shift_left(nat, (unsigned)exp);
    return 0;
}

/* Drops most of the digits beyond `precision`; 196/59 is just above log2(10). */
static unsigned drop_excess(Nat *nat, unsigned precision)
{
    unsigned bits = nat_bit_length(nat), wanted = (precision * 196 + 58) / 59;
    if (bits <= wanted) return 0;
    unsigned count = (bits - wanted) * 59 / 196;
    nat_drop_digits(nat, count);
    return count;
}

/* Writes all digits of nat, which has at most DIGITS_MAX of them. */
static void fill_digits(Nat *nat, Decimal *decimal)
{
    char reversed[DIGITS_MAX + TEN_DIGITS];
    unsigned count = 0;
    while (nat->count > 0) {
        uint64_t chunk = nat_divide(nat, TEN_CHUNK);
        for (int i = 0; i < TEN_DIGITS && (chunk || nat->count); i++, chunk /= 10)
            reversed[count++] = (char)('0' + chunk % 10);
        assert(count <= DIGITS_MAX);
    }
    for (unsigned i = 0; i < count; i++) decimal->digit[i] = reversed[count - 1 - i];
    decimal->count = count;
}

static void drop_trailing_zeros(Decimal *decimal)
{
    while (decimal->count > 1 && decimal->digit[decimal->count - 1] == '0') {
        decimal->count--;
        decimal->exp++;
    }
}

/* Rounds half up to at most `precision` digits. */
static void round_digits(Decimal *decimal, unsigned precision)
{
    if (decimal->count > precision) {
        bool is_up = decimal->digit[precision] >= '5';
        decimal->exp += (int)(decimal->count - precision);
        decimal->count = precision;
        unsigned at = precision;
        while (is_up && at > 0 && decimal->digit[at - 1] == '9') decimal->digit[--at] = '0';
        if (is_up && at > 0) {
            decimal->digit[at - 1]++;
        } else if (is_up) {
            decimal->digit[0] = '1'; /* 99..9 became 100..0 */
            decimal->exp++;
        }
    }
    drop_trailing_zeros(decimal);
}

static Decimal to_decimal(const FloatParts *parts, unsigned precision)
{
    Decimal decimal;
    Nat nat;
    decimal.exp = scale_to_integer(parts, &nat);
    decimal.exp += (int)drop_excess(&nat, precision);
    fill_digits(&nat, &decimal);
    drop_trailing_zeros(&decimal);
    round_digits(&decimal, precision);
    return decimal;
}

/* Sign of digits * 10^exp10 - mant * 2^exp2. */
static int compare_scaled(uint64_t digits, int exp10, FloatMant mant, int exp2)
{
    Nat left, right;
    nat_set(&left, digits);
    nat_set(&right, mant);
    nat_multiply_power_of_5(exp10 >= 0 ? &left : &right, (unsigned)(exp10 >= 0 ? exp10 : -exp10));
    int shift = exp10 - exp2;
    nat_shift_left(shift >= 0 ? &left : &right, (unsigned)(shift >= 0 ? shift : -shift));
    return nat_cmp(&left, &right);
}

/* Whether reading the digits back, rounding half-even, gives the value again. */
static bool is_read_back(const Decimal *decimal, const FloatParts *parts)
{
    uint64_t digits = 0;
    for (unsigned i = 0; i < decimal->count; i++)
        digits = digits * 10 + (uint64_t)(decimal->digit[i] - '0');
    bool is_even = (parts->mant & 1) == 0;
    int above = compare_scaled(digits, decimal->exp, parts->mant * 2 + 1, parts->exp - 1);
    int below = parts->is_lower_near
                    ? compare_scaled(digits, decimal->exp, parts->mant * 4 - 1, parts->exp - 2)
                    : compare_scaled(digits, decimal->exp, parts->mant * 2 - 1, parts->exp - 1);
    return is_even ? above <= 0 && below >= 0 : above < 0 && below > 0;
}

/* d.ddd<mark><sign>xx with at least `places` digits after the point, and at least
 * `exp_digits` in the exponent. */
static void print_scientific(StrBuf *out, const Decimal *decimal, unsigned places, char mark,
                             unsigned exp_digits)
{
    strbuf_add_char(out, decimal->digit[0]);
    strbuf_add_char(out, '.');
    strbuf_add(out, decimal->digit + 1, decimal->count - 1);
    for (unsigned i = decimal->count - 1; i < places; i++) strbuf_add_char(out, '0');
    int exp = decimal->exp + (int)decimal->count - 1;
    strbuf_add_char(out, mark);
    strbuf_add_char(out, exp < 0 ? '-' : '+');
    unsigned size = (unsigned)(exp < 0 ? -exp : exp);
    if (size < 10 && exp_digits > 1) strbuf_add_char(out, '0');
    strbuf_add_uint(out, size);
}

#define MAX_PADDING 3 /* zeros that plain notation may add */

/* Digits before the decimal point; 0 or less: zeros follow it. */
static int point_of(const Decimal *decimal)
{
    return decimal->exp + (int)decimal->count;
}

/* A number that the general form writes without a point, so that it would be an integer. */
static bool is_plain_integer(const Decimal *decimal, unsigned precision)
{
    int exp = decimal->exp;
    return exp >= 0 && exp <= MAX_PADDING && point_of(decimal) <= (int)precision;
}

/* The general form of a number that is not printed as an integer: d.d if that needs few zeros, else
 * d.dE+x. */
static void print_general(StrBuf *out, const Decimal *decimal)
{
    int point = point_of(decimal);
    if (decimal->exp >= 0 || point < 1 - MAX_PADDING) {
        print_scientific(out, decimal, 1, 'E', 1);
    } else if (point > 0) {
        strbuf_add(out, decimal->digit, (size_t)point);
        strbuf_add_char(out, '.');
        strbuf_add(out, decimal->digit + point, decimal->count - (unsigned)point);
    } else {
        strbuf_add_c(out, "0.");
        for (int i = point; i < 0; i++) strbuf_add_char(out, '0');
        strbuf_add(out, decimal->digit, decimal->count);
    }
}

/* False, having printed nothing, when there is no decimal text that reads back as a float. */
static bool print_finite(StrBuf *out, const FloatParts *parts)
{
    const char *sign = parts->is_negative ? "-" : "";
    Decimal brief = to_decimal(parts, 6);
    if (is_read_back(&brief, parts)) {
        strbuf_add_c(out, sign);
        print_scientific(out, &brief, 6, 'e', 2);
        return true;
    }
    unsigned precision = 2 + parts->precision * 59 / 196;
    Decimal full = to_decimal(parts, precision);
    if (is_plain_integer(&full, precision)) return false;
    strbuf_add_c(out, sign);
    print_general(out, &full);
    return true;
}

static void print_bits(StrBuf *out, const uint64_t words[2])
{
    if (words[1])
        strbuf_printf(out, "0x%llX%016llX", (unsigned long long)words[1],
                      (unsigned long long)words[0]);
    else
        strbuf_printf(out, "0x%llX", (unsigned long long)words[0]);
}

static void print_settled(StrBuf *out, int kind, const uint64_t words[2])
{
    uint64_t settled[] = {words[0], words[1]};
    float_settle(kind, settled);
    print_bits(out, settled);
}

void float_print_words(StrBuf *out, int kind, const uint64_t words[2])
{
    FloatParts parts = float_decode(kind, words);
    if (parts.class == FLOAT_ZERO)
        strbuf_add_c(out, parts.is_negative ? "-0.000000e+00" : "0.000000e+00");
    else if (parts.class != FLOAT_FINITE || !print_finite(out, &parts))
        print_settled(out, kind, words);
}

void float_print(StrBuf *out, int kind, uint64_t bits)
{
    assert(float_width(kind) <= 64);
    float_print_words(out, kind, (const uint64_t[2]){bits, 0});
}

void float_print_scientific(StrBuf *out, double value)
{
    const uint64_t words[2] = {float_to_bits(TYPE_F64, value), 0};
    FloatParts parts = float_decode(TYPE_F64, words);
    Decimal decimal = {.digit = "0", .count = 1};
    if (parts.class == FLOAT_NAN) {
        strbuf_add_c(out, "nan");
        return;
    }
    if (parts.is_negative) strbuf_add_char(out, '-');
    if (parts.class == FLOAT_INF) {
        strbuf_add_c(out, "INF");
        return;
    }
    if (parts.class == FLOAT_FINITE) decimal = to_decimal(&parts, 7);
    print_scientific(out, &decimal, 6, 'e', 2);
}

/* Beyond 767 significant digits only "not zero" can matter to a double. */
#define SIGNIFICANT_MAX 800

typedef struct FloatLiteral {
    bool is_negative;
    Str digits;         /* of mantissa, may hold one '.' */
    int64_t exp;        /* of the last digit */
    size_t significant; /* digits from the first that is not zero */
    uint64_t mant;      /* their value when significant <= 19 */
} FloatLiteral;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-]digits at `at`, saturating far outside of any float's range. */
static bool scan_exponent(Str text, size_t at, int64_t *out)
{
    int64_t value = 0;
    bool is_negative = at < text.len && text.data[at] == '-';
    if (at < text.len && (text.data[at] == '-' || text.data[at] == '+')) at++;
    if (at == text.len) return false;
    for (; at < text.len; at++) {
        if (!is_digit(text.data[at])) return false;
        if (value < INT32_MAX) value = value * 10 + (text.data[at] - '0');
    }
    *out = is_negative ? -value : value;
    return true;
}

static bool scan_literal(Str text, FloatLiteral *literal)
{
    size_t at = 0, digits = 0, places = 0;
    *literal = (FloatLiteral){0};
    literal->is_negative = text.len > 0 && text.data[0] == '-';
    if (text.len > 0 && (text.data[0] == '-' || text.data[0] == '+')) at++;
    size_t start = at;
    bool has_point = false;
    for (; at < text.len; at++) {
        char c = text.data[at];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (!is_digit(c)) break;
        digits++;
        places += has_point;
        literal->significant += literal->significant > 0 || c != '0';
        if (literal->significant <= TEN_DIGITS)
            literal->mant = literal->mant * 10 + (uint64_t)(c - '0');
    }
    literal->digits = (Str){text.data + start, at - start};
    if (digits == 0) return false;
    if (at < text.len) {
        bool has_exponent = text.data[at] == 'e' || text.data[at] == 'E';
        if (!has_exponent || !scan_exponent(text, at + 1, &literal->exp)) return false;
    }
    literal->exp -= (int64_t)places;
    return true;
}

/* Up to 19 digits and a power of five that fits a word, the common case: the product fits
 * two words, and so does a quotient of at least 63 bits with a sticky bit below. */
static bool read_short(const FloatLiteral *literal, double *out)
{
    if (literal->significant > TEN_DIGITS || literal->exp < -27 || literal->exp > 27) return false;
    FloatParts parts = {.class = FLOAT_FINITE, .exp = (int)literal->exp};
    if (literal->mant == 0) {
        parts.class = FLOAT_ZERO;
    } else if (literal->exp >= 0) {
        parts.mant = (FloatMant)literal->mant * power_of_5((unsigned)parts.exp);
    } else {
        uint64_t divisor = power_of_5((unsigned)-parts.exp);
        int shift = __builtin_clzll(literal->mant) + 63;
        FloatMant dividend = (FloatMant)literal->mant << shift, quotient = dividend / divisor;
        parts.mant = quotient << 1 | (quotient * divisor != dividend);
        parts.exp -= shift + 1;
    }
    *out = float_join(&parts);
    return true;
}

/* The significant digits as a number; those beyond SIGNIFICANT_MAX become one digit, 0 when
 * all of them are 0. */
static void read_digits(const FloatLiteral *literal, Nat *nat, int64_t *exp)
{
    size_t seen = 0;
    bool has_rest = false;
    nat_set(nat, 0);
    for (size_t i = 0; i < literal->digits.len; i++) {
        char c = literal->digits.data[i];
        if (c == '.' || (seen == 0 && c == '0')) continue;
        if (seen++ < SIGNIFICANT_MAX)
            nat_multiply_add(nat, 10, (uint64_t)(c - '0'));
        else if (c != '0')
            has_rest = true;
    }
    *exp = literal->exp;
    if (seen > SIGNIFICANT_MAX) {
        nat_multiply_add(nat, 10, has_rest);
        *exp += (int64_t)(seen - SIGNIFICANT_MAX) - 1;
    }
}

/* dividend / divisor, which lies in [2^63, 2^65), by shift and subtract; the lowest bit tells
 * that there was a remainder. */
static FloatMant divide_bitwise(Nat *dividend, Nat *divisor)
{
    FloatMant quotient = 0;
    nat_shift_left(divisor, 65);
    for (int i = 0; i <= 65; i++) {
        quotient <<= 1;
        if (nat_cmp(dividend, divisor) >= 0) {
            nat_subtract(dividend, divisor);
            quotient |= 1;
        }
        nat_multiply_add(dividend, 2, 0);
    }
    return quotient << 1 | (dividend->count > 0);
}

/* nat * 10^exp as parts with more bits than a double has, the last one sticky. */
static FloatParts read_scaled(Nat *nat, int exp)
{
    Nat divisor;
    nat_set(&divisor, 1);
    nat_multiply_power_of_5(exp >= 0 ? nat : &divisor, (unsigned)(exp >= 0 ? exp : -exp));
    int scale = (int)nat_bit_length(&divisor) - (int)nat_bit_length(nat) + 64;
    nat_shift_left(scale >= 0 ? nat : &divisor, (unsigned)(scale >= 0 ? scale : -scale));
    FloatParts parts = {.class = FLOAT_FINITE, .exp = exp - scale - 1};
    parts.mant = divide_bitwise(nat, &divisor);
    return parts;
}

static double read_exact(const FloatLiteral *literal)
{
    Nat nat;
    int64_t exp;
    read_digits(literal, &nat, &exp);
    FloatParts parts = {.class = FLOAT_ZERO};
    int64_t point = literal->exp + (int64_t)literal->significant;
    if (literal->significant > 0 && point > 310)
        parts.class = FLOAT_INF;
    else if (literal->significant > 0 && point > -330)
        parts = read_scaled(&nat, (int)exp);
    return float_join(&parts);
}

bool float_parse(Str text, double *out)
{
    FloatLiteral literal;
    if (!scan_literal(text, &literal)) return false;
    if (!read_short(&literal, out)) *out = read_exact(&literal);
    if (literal.is_negative) *out = -*out;
    return true;
}
