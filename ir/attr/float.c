/* Conversion between the bits of the floating-point formats and double.
 *
 * A format is described by the widths of its fields and its bias. The magnitudes of a format, read
 * as integers, are ordered like its values; therefore rounding up may carry into the exponent, and
 * every magnitude above max_finite is infinity or NaN. f80 stores its leading one, which is removed
 * when the bits are read and put back when they are written.
 * Tests: test/unit/ir/attr/float_test.c */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/attr/internal.h"

/* The meaning of the largest magnitudes of a format. */
typedef enum FormatStyle {
    STYLE_IEEE, /* all-ones exponent: infinity, NaNs */
    STYLE_FN,   /* no infinity; all ones: NaN */
    STYLE_FNUZ  /* no infinity, no negative zero: its bits are the NaN */
} FormatStyle;

typedef struct Format {
    uint8_t exp_bits, frac_bits; /* frac_bits without the leading one */
    int bias;
    FormatStyle style;
} Format;

static const Format formats[] = {
    [TYPE_F8E5M2] = {5, 2, 15, STYLE_IEEE},     [TYPE_F8E4M3] = {4, 3, 7, STYLE_IEEE},
    [TYPE_F8E4M3FN] = {4, 3, 7, STYLE_FN},      [TYPE_F8E5M2FNUZ] = {5, 2, 16, STYLE_FNUZ},
    [TYPE_F8E4M3FNUZ] = {4, 3, 8, STYLE_FNUZ},  [TYPE_F8E4M3B11FNUZ] = {4, 3, 11, STYLE_FNUZ},
    [TYPE_BF16] = {8, 7, 127, STYLE_IEEE},      [TYPE_F16] = {5, 10, 15, STYLE_IEEE},
    [TYPE_TF32] = {8, 10, 127, STYLE_IEEE},     [TYPE_F32] = {8, 23, 127, STYLE_IEEE},
    [TYPE_F64] = {11, 52, 1023, STYLE_IEEE},    [TYPE_F80] = {15, 63, 16383, STYLE_IEEE},
    [TYPE_F128] = {15, 112, 16383, STYLE_IEEE},
};

static const Format *format_of(int kind)
{
    assert(kind >= TYPE_F8E5M2 && kind <= TYPE_F128);
    return &formats[kind];
}

uint32_t float_width(int kind)
{
    const Format *format = format_of(kind);
    return 1u + format->exp_bits + format->frac_bits + (kind == TYPE_F80);
}

static FloatMant one_at(uint32_t bit)
{
    return (FloatMant)1 << bit;
}

/* The magnitude with an all-ones exponent and a zero fraction. */
static FloatMant exponent_ones(const Format *format)
{
    return (one_at(format->exp_bits) - 1) << format->frac_bits;
}

static FloatMant max_finite(const Format *format)
{
    switch (format->style) {
    case STYLE_FN: return one_at((uint32_t)format->exp_bits + format->frac_bits) - 2;
    case STYLE_FNUZ: return one_at((uint32_t)format->exp_bits + format->frac_bits) - 1;
    default: return exponent_ones(format) - 1;
    }
}

double float_largest(int kind)
{
    return float_from_bits(kind, (uint64_t)max_finite(format_of(kind)));
}

bool float_has_signed_zero(int kind)
{
    return format_of(kind)->style != STYLE_FNUZ;
}

double float_neighbour(int kind, double value, bool away)
{
    uint64_t bits = float_to_bits(kind, fabs(value));
    return copysign(float_from_bits(kind, away ? bits + 1 : bits - 1), value);
}

/* Exponent and fraction fields without the sign. False for the patterns of f80 whose
 * leading bit contradicts the exponent, which are no numbers. */
static bool split_bits(int kind, const uint64_t words[2], bool *sign, FloatMant *magnitude)
{
    uint32_t width = float_width(kind);
    FloatMant bits = words[0];
    if (width > 64) bits |= (FloatMant)words[1] << 64;
    *sign = bits >> (width - 1) & 1;
    bits &= one_at(width - 1) - 1;
    *magnitude = bits;
    if (kind != TYPE_F80) return true;
    FloatMant exponent = bits >> 64;
    bool leading = bits >> 63 & 1;
    FloatMant fraction = bits & (one_at(63) - 1);
    /* a denormal with the leading bit set is the smallest normal exponent */
    *magnitude = (exponent == 0 && leading ? 1 : exponent) << 63 | fraction;
    return leading || exponent == 0;
}

void float_settle(int kind, uint64_t words[2])
{
    bool sign;
    FloatMant magnitude;
    if (kind == TYPE_F80 && !split_bits(kind, words, &sign, &magnitude)) words[1] |= 0x7fff;
}

static void join_bits(int kind, bool sign, FloatMant magnitude, uint64_t words[2])
{
    if (kind == TYPE_F80) {
        FloatMant exponent = magnitude >> 63;
        FloatMant leading = exponent ? one_at(63) : 0;
        magnitude = exponent << 64 | leading | (magnitude & (one_at(63) - 1));
    }
    FloatMant bits = magnitude | (FloatMant)sign << (float_width(kind) - 1);
    words[0] = (uint64_t)bits;
    words[1] = (uint64_t)(bits >> 64);
}

FloatParts float_decode(int kind, const uint64_t words[2])
{
    const Format *format = format_of(kind);
    FloatParts parts = {.precision = format->frac_bits + 1u};
    FloatMant magnitude;
    bool is_number = split_bits(kind, words, &parts.is_negative, &magnitude);
    bool is_nan_zero = format->style == STYLE_FNUZ && parts.is_negative && magnitude == 0;
    if (!is_number || is_nan_zero) {
        parts.class = FLOAT_NAN;
    } else if (magnitude > max_finite(format)) {
        bool is_inf = format->style == STYLE_IEEE && magnitude == exponent_ones(format);
        parts.class = is_inf ? FLOAT_INF : FLOAT_NAN;
        parts.mant = magnitude & (one_at(format->frac_bits) - 1);
    } else if (magnitude != 0) {
        int exponent = (int)(magnitude >> format->frac_bits);
        parts.class = FLOAT_FINITE;
        parts.mant = magnitude & (one_at(format->frac_bits) - 1);
        parts.is_lower_near = parts.mant == 0 && exponent > 1;
        if (exponent > 0) parts.mant |= one_at(format->frac_bits);
        parts.exp = (exponent > 0 ? exponent : 1) - format->bias - format->frac_bits;
    }
    return parts;
}

/* mant / 2^shift rounded half-even. */
static FloatMant shift_round(FloatMant mant, uint32_t shift)
{
    if (shift == 0) return mant;
    if (shift > 127) return 0; /* mant < 2^127: below one half */
    FloatMant kept = mant >> shift, rest = mant & (one_at(shift) - 1), half = one_at(shift - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return kept;
}

static int bit_length(FloatMant value)
{
    uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;
    if (high) return 128 - __builtin_clzll(high);
    return low ? 64 - __builtin_clzll(low) : 0;
}

/* The magnitude of mant * 2^exp, mant not zero, rounded; above max_finite: overflow. */
static FloatMant encode_finite(const Format *format, FloatMant mant, int exp)
{
    int top = exp + bit_length(mant) - 1; /* exponent of the leading one */
    int biased = top + format->bias;
    int last = (biased > 1 ? biased : 1) - format->bias - format->frac_bits;
    FloatMant digits =
        last <= exp ? mant << (exp - last) : shift_round(mant, (uint32_t)(last - exp));
    if (biased < 1) return digits; /* denormal; may round up to the first normal number */
    if (biased >> format->exp_bits) return max_finite(format) + 1;
    return ((FloatMant)(biased - 1) << format->frac_bits) + digits;
}

/* A quiet NaN with the leading bits of the payload, which has payload_bits. */
static void encode_nan(int kind, bool sign, FloatMant payload, int payload_bits, uint64_t words[2])
{
    const Format *format = format_of(kind);
    if (format->style == STYLE_FNUZ) {
        join_bits(kind, true, 0, words);
        return;
    }
    if (format->style == STYLE_FN) {
        join_bits(kind, sign, max_finite(format) + 1, words);
        return;
    }
    int shift = payload_bits - format->frac_bits;
    payload = shift >= 0 ? payload >> shift : payload << -shift;
    join_bits(kind, sign, exponent_ones(format) | one_at(format->frac_bits - 1u) | payload, words);
}

/* The value of `parts` in another format. */
static void encode_parts(int kind, const FloatParts *parts, uint64_t words[2])
{
    const Format *format = format_of(kind);
    bool sign = parts->is_negative;
    FloatMant magnitude = 0;
    if (parts->class == FLOAT_NAN) {
        encode_nan(kind, sign, parts->mant, (int)parts->precision - 1, words);
        return;
    }
    if (parts->class == FLOAT_INF)
        magnitude = max_finite(format) + 1;
    else if (parts->class == FLOAT_FINITE)
        magnitude = encode_finite(format, parts->mant, parts->exp);
    if (magnitude > max_finite(format)) {
        if (format->style != STYLE_IEEE) {
            encode_nan(kind, sign, 0, 0, words);
            return;
        }
        magnitude = exponent_ones(format);
    }
    bool is_unsigned_zero = format->style == STYLE_FNUZ && magnitude == 0;
    join_bits(kind, sign && !is_unsigned_zero, magnitude, words);
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

double float_join(const FloatParts *parts)
{
    uint64_t words[2];
    encode_parts(TYPE_F64, parts, words);
    return double_of_bits(words[0]);
}

double float_from_words(int kind, const uint64_t words[2])
{
    if (kind == TYPE_F64) return double_of_bits(words[0]);
    FloatParts parts = float_decode(kind, words);
    return float_join(&parts);
}

double float_from_bits(int kind, uint64_t bits)
{
    assert(float_width(kind) <= 64);
    return float_from_words(kind, (const uint64_t[2]){bits, 0});
}

void float_to_words(int kind, double value, uint64_t words[2])
{
    uint64_t source[2] = {bits_of_double(value), 0};
    if (kind == TYPE_F64) {
        memcpy(words, source, sizeof(source));
        return;
    }
    FloatParts parts = float_decode(TYPE_F64, source);
    encode_parts(kind, &parts, words);
}

uint64_t float_to_bits(int kind, double value)
{
    assert(float_width(kind) <= 64);
    uint64_t words[2];
    float_to_words(kind, value, words);
    return words[0];
}
