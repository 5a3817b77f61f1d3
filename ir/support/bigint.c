/* Two's complement integers of any width: storage, comparison, bit operations, arithmetic.
 *
 * Results are built through bigint_make, which gives the zeroed words of a new number, and
 * bigint_trim, which clears the bits above the width. Numbers of up to 64 bits are one word inside
 * the BigInt and take the same loops. Products and quotients work on magnitudes, and only on words
 * that are not zero, because integer attributes of a huge width mostly hold small numbers.
 * Tests: test/unit/ir/support/bigint_test.c */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/support/support.h"

__extension__ typedef unsigned __int128 DoubleWord;

#define WORD_BITS 64u

uint32_t bigint_word_count(uint32_t width)
{
    return width <= WORD_BITS ? 1 : (width - 1) / WORD_BITS + 1;
}

const uint64_t *bigint_words(const BigInt *value)
{
    return value->width <= WORD_BITS ? &value->u.word : value->u.words;
}

static uint64_t *bigint_make(Arena *arena, uint32_t width, BigInt *out)
{
    out->width = width;
    out->u.word = 0;
    if (width <= WORD_BITS) return &out->u.word;
    out->u.words = ARENA_ARRAY(arena, uint64_t, bigint_word_count(width));
    return out->u.words;
}

/* Ones at the bits that the width leaves in the top word. */
static uint64_t top_mask(uint32_t width)
{
    if (width == 0) return 0;
    return UINT64_MAX >> (WORD_BITS - 1 - (width - 1) % WORD_BITS);
}

static void bigint_trim(uint64_t *words, uint32_t width)
{
    words[bigint_word_count(width) - 1] &= top_mask(width);
}

/* Sets all bits from `from` up to the width. */
static void fill_ones(uint64_t *words, uint32_t from, uint32_t width)
{
    if (from >= width) return;
    uint32_t at = from / WORD_BITS;
    words[at] |= UINT64_MAX << (from % WORD_BITS);
    for (at++; at < bigint_word_count(width); at++) words[at] = UINT64_MAX;
    bigint_trim(words, width);
}

BigInt bigint_from_i64(Arena *arena, uint32_t width, int64_t value)
{
    BigInt result;
    uint64_t *words = bigint_make(arena, width, &result);
    words[0] = (uint64_t)value;
    if (value < 0 && width > WORD_BITS) fill_ones(words, WORD_BITS, width);
    bigint_trim(words, width);
    return result;
}

BigInt bigint_from_words(Arena *arena, uint32_t width, const uint64_t *words)
{
    BigInt result;
    uint64_t *copy = bigint_make(arena, width, &result);
    memcpy(copy, words, bigint_word_count(width) * sizeof(*words));
    bigint_trim(copy, width);
    return result;
}

BigInt bigint_resize(Arena *arena, const BigInt *a, uint32_t width, bool is_signed)
{
    BigInt result;
    uint64_t *words = bigint_make(arena, width, &result);
    uint32_t count = bigint_word_count(width < a->width ? width : a->width);
    memcpy(words, bigint_words(a), count * sizeof(*words));
    if (is_signed && bigint_is_negative(a)) fill_ones(words, a->width, width);
    bigint_trim(words, width);
    return result;
}

bool bigint_eq(const BigInt *a, const BigInt *b)
{
    size_t size = bigint_word_count(a->width) * sizeof(uint64_t);
    return a->width == b->width && memcmp(bigint_words(a), bigint_words(b), size) == 0;
}

/* Words up to the highest that is not zero. */
static size_t significant_words(const uint64_t *words, size_t count)
{
    while (count > 0 && words[count - 1] == 0) count--;
    return count;
}

bool bigint_is_zero(const BigInt *a)
{
    return significant_words(bigint_words(a), bigint_word_count(a->width)) == 0;
}

bool bigint_is_negative(const BigInt *a)
{
    if (a->width == 0) return false;
    uint32_t bit = a->width - 1;
    return bigint_words(a)[bit / WORD_BITS] >> (bit % WORD_BITS) & 1;
}

bool bigint_fits_i64(const BigInt *a, bool is_signed)
{
    const uint64_t *words = bigint_words(a);
    if (is_signed && a->width <= WORD_BITS) return true;
    bool is_negative = is_signed && bigint_is_negative(a);
    if (words[0] >> (WORD_BITS - 1) != is_negative) return false;
    uint32_t count = bigint_word_count(a->width);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t mask = i + 1 == count ? top_mask(a->width) : UINT64_MAX;
        if (words[i] != (is_negative ? mask : 0)) return false;
    }
    return true;
}

int64_t bigint_to_i64(const BigInt *a)
{
    uint64_t word = bigint_words(a)[0];
    if (a->width < WORD_BITS && bigint_is_negative(a)) word |= UINT64_MAX << a->width;
    return (int64_t)word;
}

uint64_t bigint_to_u64(const BigInt *a)
{
    return bigint_words(a)[0];
}

static int words_cmp(const uint64_t *a, const uint64_t *b, size_t count)
{
    while (count-- > 0)
        if (a[count] != b[count]) return a[count] < b[count] ? -1 : 1;
    return 0;
}

int bigint_cmp(const BigInt *a, const BigInt *b, bool is_signed)
{
    assert(a->width == b->width);
    if (is_signed && bigint_is_negative(a) != bigint_is_negative(b))
        return bigint_is_negative(a) ? -1 : 1;
    return words_cmp(bigint_words(a), bigint_words(b), bigint_word_count(a->width));
}

static uint64_t word_and(uint64_t a, uint64_t b)
{
    return a & b;
}

static uint64_t word_or(uint64_t a, uint64_t b)
{
    return a | b;
}

static uint64_t word_xor(uint64_t a, uint64_t b)
{
    return a ^ b;
}

static BigInt bitwise(Arena *arena, const BigInt *a, const BigInt *b,
                      uint64_t (*apply)(uint64_t, uint64_t))
{
    assert(a->width == b->width);
    BigInt result;
    uint64_t *words = bigint_make(arena, a->width, &result);
    for (uint32_t i = 0; i < bigint_word_count(a->width); i++)
        words[i] = apply(bigint_words(a)[i], bigint_words(b)[i]);
    return result;
}

BigInt bigint_and(Arena *arena, const BigInt *a, const BigInt *b)
{
    return bitwise(arena, a, b, word_and);
}

BigInt bigint_or(Arena *arena, const BigInt *a, const BigInt *b)
{
    return bitwise(arena, a, b, word_or);
}

BigInt bigint_xor(Arena *arena, const BigInt *a, const BigInt *b)
{
    return bitwise(arena, a, b, word_xor);
}

BigInt bigint_shl(Arena *arena, const BigInt *a, uint64_t amount)
{
    BigInt result;
    uint64_t *words = bigint_make(arena, a->width, &result);
    if (amount >= a->width) return result;
    const uint64_t *source = bigint_words(a);
    size_t skip = (size_t)(amount / WORD_BITS), count = bigint_word_count(a->width);
    unsigned bits = (unsigned)(amount % WORD_BITS);
    for (size_t i = count; i-- > skip;) {
        words[i] = source[i - skip] << bits;
        if (bits > 0 && i > skip) words[i] |= source[i - skip - 1] >> (WORD_BITS - bits);
    }
    bigint_trim(words, a->width);
    return result;
}

BigInt bigint_shr(Arena *arena, const BigInt *a, uint64_t amount, bool arithmetic)
{
    BigInt result;
    uint64_t *words = bigint_make(arena, a->width, &result);
    bool is_filled = arithmetic && bigint_is_negative(a);
    if (amount >= a->width) {
        fill_ones(words, is_filled ? 0 : a->width, a->width);
        return result;
    }
    const uint64_t *source = bigint_words(a);
    size_t skip = (size_t)(amount / WORD_BITS), count = bigint_word_count(a->width);
    unsigned bits = (unsigned)(amount % WORD_BITS);
    for (size_t i = 0; i + skip < count; i++) {
        words[i] = source[i + skip] >> bits;
        if (bits > 0 && i + skip + 1 < count)
            words[i] |= source[i + skip + 1] << (WORD_BITS - bits);
    }
    fill_ones(words, is_filled ? a->width - (uint32_t)amount : a->width, a->width);
    return result;
}

/* out = a + b + carry, with b inverted first if asked: a - b = a + ~b + 1. */
static void add_words(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t count,
                      bool invert)
{
    uint64_t flip = invert ? UINT64_MAX : 0, carry = invert;
    for (size_t i = 0; i < count; i++) {
        DoubleWord sum = (DoubleWord)a[i] + (b[i] ^ flip) + carry;
        out[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> WORD_BITS);
    }
}

static void negate_words(uint64_t *words, size_t count)
{
    uint64_t carry = 1;
    for (size_t i = 0; i < count; i++) {
        words[i] = ~words[i] + carry;
        carry = carry && words[i] == 0;
    }
}

BigInt bigint_neg(Arena *arena, const BigInt *a)
{
    BigInt result;
    uint64_t *words = bigint_make(arena, a->width, &result);
    size_t count = bigint_word_count(a->width);
    memcpy(words, bigint_words(a), count * sizeof(*words));
    negate_words(words, count);
    bigint_trim(words, a->width);
    return result;
}

static BigInt add_or_subtract(Arena *arena, const BigInt *a, const BigInt *b, bool subtracts)
{
    assert(a->width == b->width);
    BigInt result;
    uint64_t *words = bigint_make(arena, a->width, &result);
    add_words(words, bigint_words(a), bigint_words(b), bigint_word_count(a->width), subtracts);
    bigint_trim(words, a->width);
    return result;
}

BigInt bigint_add(Arena *arena, const BigInt *a, const BigInt *b)
{
    return add_or_subtract(arena, a, b, false);
}

BigInt bigint_sub(Arena *arena, const BigInt *a, const BigInt *b)
{
    return add_or_subtract(arena, a, b, true);
}

/* The absolute value as an unsigned number of the same width, and its sign. */
static BigInt split_sign(Arena *arena, const BigInt *a, bool is_signed, bool *is_negative)
{
    *is_negative = is_signed && bigint_is_negative(a);
    return *is_negative ? bigint_neg(arena, a) : *a;
}

static BigInt with_sign(Arena *arena, const BigInt *a, bool is_negative)
{
    return is_negative ? bigint_neg(arena, a) : *a;
}

/* out += a * b, modulo the size of out. */
static void add_product(uint64_t *out, size_t out_count, const uint64_t *a, size_t a_count,
                        const uint64_t *b, size_t b_count)
{
    for (size_t i = 0; i < a_count; i++) {
        uint64_t carry = 0;
        size_t at = i;
        for (size_t k = 0; k < b_count && at < out_count; k++, at++) {
            DoubleWord sum = (DoubleWord)a[i] * b[k] + out[at] + carry;
            out[at] = (uint64_t)sum;
            carry = (uint64_t)(sum >> WORD_BITS);
        }
        if (at < out_count) out[at] = carry; /* untouched so far, hence zero */
    }
}

BigInt bigint_mul(Arena *arena, const BigInt *a, const BigInt *b)
{
    assert(a->width == b->width);
    bool a_negative, b_negative;
    BigInt left = split_sign(arena, a, true, &a_negative);
    BigInt right = split_sign(arena, b, true, &b_negative);
    size_t count = bigint_word_count(a->width);
    BigInt product;
    uint64_t *words = bigint_make(arena, a->width, &product);
    add_product(words, count, bigint_words(&left), significant_words(bigint_words(&left), count),
                bigint_words(&right), significant_words(bigint_words(&right), count));
    bigint_trim(words, a->width);
    return with_sign(arena, &product, a_negative != b_negative);
}

/* Divides by one word in place and returns the remainder. */
static uint64_t divide_by_word(uint64_t *words, size_t count, uint64_t divisor)
{
    uint64_t rest = 0;
    for (size_t i = count; i-- > 0;) {
        DoubleWord part = (DoubleWord)rest << WORD_BITS | words[i];
        words[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    return rest;
}

/* Shifts count words left by less than a word; out has count + 1 words. */
static void shift_words_left(uint64_t *out, const uint64_t *words, size_t count, unsigned bits)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = words[i] << bits | carry;
        carry = bits ? words[i] >> (WORD_BITS - bits) : 0;
    }
    out[count] = carry;
}

/* rest[0..n] -= digit * divisor[0..n-1]; false if the result was below zero (and wrapped). */
static bool subtract_multiple(uint64_t *rest, const uint64_t *divisor, size_t n, uint64_t digit)
{
    uint64_t carry = 0, borrow = 0;
    for (size_t i = 0; i <= n; i++) {
        DoubleWord product = (DoubleWord)digit * (i < n ? divisor[i] : 0) + carry;
        carry = (uint64_t)(product >> WORD_BITS);
        DoubleWord difference = (DoubleWord)rest[i] - (uint64_t)product - borrow;
        rest[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> WORD_BITS) & 1;
    }
    return borrow == 0;
}

/* rest[0..n] += divisor[0..n-1], dropping the carry. */
static void add_back(uint64_t *rest, const uint64_t *divisor, size_t n)
{
    uint64_t carry = 0;
    for (size_t i = 0; i <= n; i++) {
        DoubleWord sum = (DoubleWord)rest[i] + (i < n ? divisor[i] : 0) + carry;
        rest[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> WORD_BITS);
    }
}

/* Quotient digit of the top words of rest by the top word of the divisor, whose top bit is
 * set: the true digit or up to 2 more. */
static uint64_t estimate_digit(const uint64_t *rest, size_t n, uint64_t divisor_top)
{
    if (rest[n] >= divisor_top) return UINT64_MAX;
    return (uint64_t)(((DoubleWord)rest[n] << WORD_BITS | rest[n - 1]) / divisor_top);
}

/* Long division with n >= 2 significant divisor words (Knuth, TAOCP 4.3.1, algorithm D).
 * The dividend's m words become the quotient; rest gets n words. */
static void divide_long(uint64_t *dividend, size_t m, const uint64_t *divisor, size_t n,
                        uint64_t *rest)
{
    unsigned shift = (unsigned)__builtin_clzll(divisor[n - 1]);
    uint64_t *scaled = xmalloc((m + 1 + n + 1) * sizeof(*scaled));
    uint64_t *scaled_divisor = scaled + m + 1;
    shift_words_left(scaled, dividend, m, shift);
    shift_words_left(scaled_divisor, divisor, n, shift);
    memset(dividend, 0, m * sizeof(*dividend));
    for (size_t i = m - n + 1; i-- > 0;) {
        uint64_t digit = estimate_digit(scaled + i, n, scaled_divisor[n - 1]);
        bool fits = subtract_multiple(scaled + i, scaled_divisor, n, digit);
        for (; !fits; digit--) {
            uint64_t top = scaled[i + n];
            add_back(scaled + i, scaled_divisor, n);
            fits = scaled[i + n] < top; /* the carry out cancelled the borrow */
        }
        dividend[i] = digit;
    }
    for (size_t i = 0; i < n; i++) {
        rest[i] = scaled[i] >> shift;
        if (shift > 0) rest[i] |= scaled[i + 1] << (WORD_BITS - shift);
    }
    free(scaled);
}

/* Quotient and remainder of unsigned numbers. */
static void divide(Arena *arena, const BigInt *a, const BigInt *b, BigInt *quotient, BigInt *rest)
{
    size_t count = bigint_word_count(a->width);
    uint64_t *dividend = bigint_make(arena, a->width, quotient);
    uint64_t *remainder = bigint_make(arena, a->width, rest);
    const uint64_t *divisor = bigint_words(b);
    memcpy(dividend, bigint_words(a), count * sizeof(*dividend));
    size_t m = significant_words(dividend, count), n = significant_words(divisor, count);
    assert(n > 0);
    if (m < n) {
        memcpy(remainder, dividend, m * sizeof(*dividend));
        memset(dividend, 0, m * sizeof(*dividend));
    } else if (n == 1) {
        remainder[0] = divide_by_word(dividend, m, divisor[0]);
    } else {
        divide_long(dividend, m, divisor, n, remainder);
    }
}

BigInt bigint_div(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed)
{
    assert(a->width == b->width);
    bool a_negative, b_negative;
    BigInt dividend = split_sign(arena, a, is_signed, &a_negative);
    BigInt divisor = split_sign(arena, b, is_signed, &b_negative);
    BigInt quotient, rest;
    divide(arena, &dividend, &divisor, &quotient, &rest);
    return with_sign(arena, &quotient, a_negative != b_negative);
}

BigInt bigint_rem(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed)
{
    assert(a->width == b->width);
    bool a_negative, b_negative;
    BigInt dividend = split_sign(arena, a, is_signed, &a_negative);
    BigInt divisor = split_sign(arena, b, is_signed, &b_negative);
    BigInt quotient, rest;
    divide(arena, &dividend, &divisor, &quotient, &rest);
    return with_sign(arena, &rest, a_negative);
}
