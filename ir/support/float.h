/* Floating-point formats of the float types, by their bits, independent of host and locale.
 *
 * kind is a TypeKind float kind (ir/attr/type.h). Formats of up to 64 bits are held in one word;
 * f80 and f128 in two, low word first. The *_words functions take every kind.
 * Tests: test/unit/float_test.c */
#ifndef MING_IR_FLOAT_H
#define MING_IR_FLOAT_H

#include "ir/support/support.h"

/* Value of the bits: exact, except that f80 and f128 round half-even. */
double float_from_bits(int kind, uint64_t bits);
double float_from_words(int kind, const uint64_t words[2]);
/* Bits of the value rounded half-even; overflow gives the format's infinity, or its NaN
 * where it has none. */
uint64_t float_to_bits(int kind, double value);
void float_to_words(int kind, double value, uint64_t words[2]);
/* Bits of storage: 8, 16, 19, 32, 64, 80 or 128. */
uint32_t float_width(int kind);
/* Bits of f80 whose leading bit contradicts the exponent are no number: upstream keeps them with
 * the largest exponent. Others stay. */
void float_settle(int kind, uint64_t words[2]);

/* Text as upstream prints a float of that kind: 6 digits after the first if they round-trip,
 * else as many as always do, else (and for inf and nan) the bits in hexadecimal. */
void float_print(StrBuf *out, int kind, uint64_t bits);
void float_print_words(StrBuf *out, int kind, const uint64_t words[2]);
/* d.dddddde+xx, as messages show a double; inf is INF. */
void float_print_scientific(StrBuf *out, double value);
/* The number in the text, [-+]digits[.digits][e[-+]digits], correctly rounded to double
 * (infinity when too large); false when malformed. */
bool float_parse(Str text, double *out) MUST_CHECK;

#endif
