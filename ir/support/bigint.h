/* Integers of any width as two's complement words (least significant first), for integer
 * attributes and constant folding. Bits above the width are zero in the top word.
 * Up to 64 bits everything lives in one word, without allocation.
 * Tests: test/unit/bigint_test.c */
#ifndef MING_IR_BIGINT_H
#define MING_IR_BIGINT_H

#include "ir/support/support.h"

#define BIGINT_MAX_WIDTH ((1u << 24) - 1) /* as upstream's IntegerType */

typedef struct BigInt {
    uint32_t width; /* bits, >= 0 */
    union {
        uint64_t word;   /* width <= 64 */
        uint64_t *words; /* else: in the arena that made it */
    } u;
} BigInt;

uint32_t bigint_word_count(uint32_t width);
const uint64_t *bigint_words(const BigInt *value);
BigInt bigint_from_i64(Arena *arena, uint32_t width, int64_t value); /* truncates or sign-extends */
BigInt bigint_from_words(Arena *arena, uint32_t width, const uint64_t *words);
/* Decimal or 0x hexadecimal digits without sign; false when they do not fit `width` bits
 * (as an unsigned number) or are malformed. */
bool bigint_parse(Arena *arena, Str digits, uint32_t width, BigInt *out) MUST_CHECK;
/* Bits that the unsigned number written in `digits` needs (0 for zero). */
uint32_t bigint_digits_width(Str digits);
void bigint_print(StrBuf *out, const BigInt *value, bool is_signed);
bool bigint_eq(const BigInt *a, const BigInt *b);
bool bigint_is_zero(const BigInt *a);
bool bigint_is_negative(const BigInt *a); /* sign bit set */
bool bigint_fits_i64(const BigInt *a, bool is_signed);
int64_t bigint_to_i64(const BigInt *a);   /* sign-extended; low 64 bits when wider */
uint64_t bigint_to_u64(const BigInt *a);  /* zero-extended; low 64 bits when wider */
int bigint_cmp(const BigInt *a, const BigInt *b, bool is_signed); /* same widths; -1 0 1 */

BigInt bigint_neg(Arena *arena, const BigInt *a);
BigInt bigint_add(Arena *arena, const BigInt *a, const BigInt *b); /* wraps, as all below */
BigInt bigint_sub(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_mul(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_and(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_or(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_xor(Arena *arena, const BigInt *a, const BigInt *b);
BigInt bigint_shl(Arena *arena, const BigInt *a, uint64_t amount);
BigInt bigint_shr(Arena *arena, const BigInt *a, uint64_t amount, bool arithmetic);
/* Truncating quotient and remainder; the divisor must not be zero. */
BigInt bigint_div(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed);
BigInt bigint_rem(Arena *arena, const BigInt *a, const BigInt *b, bool is_signed);
/* Truncates, or extends by sign or zero. */
BigInt bigint_resize(Arena *arena, const BigInt *a, uint32_t width, bool is_signed);

#endif
