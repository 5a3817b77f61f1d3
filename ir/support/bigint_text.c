/* Conversion of integers of any width from and to text.
 *
 * Reading first turns the digits into as many words as their value needs and then fits these to the
 * width. Printing divides by the largest power of ten that a word holds. Both take time quadratic
 * in the number of words that are not zero, as upstream's do, whatever the width. So what has more
 * than DECIMAL_WORDS of them is printed in hexadecimal; texts limit the digits that they read.
 * Tests: test/unit/ir/support/bigint_test.c */
#include <stdlib.h>
#include <string.h>

#include "ir/support/support.h"

__extension__ typedef unsigned __int128 DoubleWord;

#define WORD_BITS 64u
#define CHUNK_DIGITS 19u
#define CHUNK_VALUE UINT64_C(10000000000000000000) /* 10^19 */

/* 2^18 bits, 78,914 digits, which take some 10 ms. */
enum { DECIMAL_WORDS = 1 << 12 };

/* An unsigned number without leading zero words; owns words. */
typedef struct Digits {
    uint64_t *words;
    size_t count;
} Digits;

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* number = number * factor + extra; the words have room for it. */
static void multiply_add(Digits *number, uint64_t factor, uint64_t extra)
{
    for (size_t i = 0; i < number->count; i++) {
        DoubleWord part = (DoubleWord)number->words[i] * factor + extra;
        number->words[i] = (uint64_t)part;
        extra = (uint64_t)(part >> WORD_BITS);
    }
    if (extra) number->words[number->count++] = extra;
}

static bool read_decimal(Str text, Digits *number)
{
    uint64_t chunk = 0, scale = 1;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_value(text.data[i]);
        if (digit >= 10) return false;
        chunk = chunk * 10 + (unsigned)digit;
        scale *= 10;
        if (scale == CHUNK_VALUE || i + 1 == text.len) {
            multiply_add(number, scale, chunk);
            chunk = 0;
            scale = 1;
        }
    }
    return text.len > 0;
}

static bool read_hex(Str text, Digits *number)
{
    size_t count = (text.len + 15) / 16;
    memset(number->words, 0, count * sizeof(*number->words));
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_value(text.data[text.len - 1 - i]);
        if (digit >= 16) return false;
        number->words[i / 16] |= (uint64_t)digit << (i % 16 * 4);
    }
    while (count > 0 && number->words[count - 1] == 0) count--;
    number->count = count;
    return text.len > 0;
}

/* False when malformed. Either way the caller frees number->words. */
static bool read_digits(Str text, Digits *number)
{
    /* 4 bits a digit hold both bases */
    *number = (Digits){xmalloc((text.len / 16 + 2) * sizeof(uint64_t)), 0};
    if (str_starts_with(text, "0x")) return read_hex((Str){text.data + 2, text.len - 2}, number);
    return read_decimal(text, number);
}

static uint32_t bit_length(const Digits *number)
{
    if (number->count == 0) return 0;
    unsigned top = WORD_BITS - (unsigned)__builtin_clzll(number->words[number->count - 1]);
    uint64_t bits = (uint64_t)(number->count - 1) * WORD_BITS + top;
    return bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
}

bool bigint_parse(Arena *arena, Str digits, uint32_t width, BigInt *out)
{
    Digits number;
    bool is_valid = read_digits(digits, &number) && bit_length(&number) <= width;
    if (is_valid) {
        *out = bigint_from_i64(arena, width, 0);
        uint64_t *words = width <= WORD_BITS ? &out->u.word : out->u.words;
        memcpy(words, number.words, number.count * sizeof(*words));
    }
    free(number.words);
    return is_valid;
}

uint32_t bigint_digits_width(Str digits)
{
    Digits number;
    uint32_t width = read_digits(digits, &number) ? bit_length(&number) : 0;
    free(number.words);
    return width;
}

/* Divides by CHUNK_VALUE and returns the remainder. */
static uint64_t take_chunk(Digits *number)
{
    uint64_t rest = 0;
    for (size_t i = number->count; i-- > 0;) {
        DoubleWord part = (DoubleWord)rest << WORD_BITS | number->words[i];
        number->words[i] = (uint64_t)(part / CHUNK_VALUE);
        rest = (uint64_t)(part % CHUNK_VALUE);
    }
    while (number->count > 0 && number->words[number->count - 1] == 0) number->count--;
    return rest;
}

static void print_chunk_padded(StrBuf *out, uint64_t chunk)
{
    char digits[CHUNK_DIGITS];
    for (size_t i = CHUNK_DIGITS; i-- > 0; chunk /= 10) digits[i] = (char)('0' + chunk % 10);
    strbuf_add(out, digits, sizeof(digits));
}

static void print_hex(StrBuf *out, const uint64_t *words, size_t count)
{
    strbuf_printf(out, "0x%llX", (unsigned long long)words[count - 1]);
    for (size_t i = count - 1; i-- > 0;)
        strbuf_printf(out, "%016llX", (unsigned long long)words[i]);
}

static void print_wide(StrBuf *out, const BigInt *value)
{
    size_t count = bigint_word_count(value->width);
    const uint64_t *words = bigint_words(value);
    while (count > 0 && words[count - 1] == 0) count--;
    if (count > DECIMAL_WORDS) {
        print_hex(out, words, count);
        return;
    }
    Digits number = {xmalloc(count * sizeof(uint64_t)), count};
    memcpy(number.words, words, count * sizeof(uint64_t));
    VEC(uint64_t) chunks = {0};
    while (number.count > 0) *vec_push(&chunks) = take_chunk(&number);
    strbuf_add_uint(out, chunks.len > 0 ? chunks.data[chunks.len - 1] : 0);
    for (size_t i = chunks.len; i-- > 1;) print_chunk_padded(out, chunks.data[i - 1]);
    vec_free(&chunks);
    free(number.words);
}

void bigint_print(StrBuf *out, const BigInt *value, bool is_signed)
{
    if (value->width <= WORD_BITS && is_signed) {
        strbuf_add_int(out, bigint_to_i64(value));
    } else if (value->width <= WORD_BITS) {
        strbuf_add_uint(out, bigint_to_u64(value));
    } else if (is_signed && bigint_is_negative(value)) {
        Arena scratch;
        arena_init(&scratch);
        BigInt magnitude = bigint_neg(&scratch, value);
        strbuf_add_char(out, '-');
        print_wide(out, &magnitude);
        arena_free(&scratch);
    } else {
        print_wide(out, value);
    }
}
