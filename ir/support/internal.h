/* Inside of the float formats: a value taken apart into sign, class, significand and exponent,
 * which float.c (bits) and float_text.c (decimal text) exchange. No other module sees it. */
#ifndef MING_IR_SUPPORT_INTERNAL_H
#define MING_IR_SUPPORT_INTERNAL_H

#include "ir/support/support.h"

__extension__ typedef unsigned __int128 FloatMant;

typedef enum FloatClass { FLOAT_ZERO, FLOAT_FINITE, FLOAT_INF, FLOAT_NAN } FloatClass;

typedef struct FloatParts {
    FloatClass class;
    bool is_negative;
    /* The magnitude of a finite value is mant * 2^exp; mant counts units of the last place. */
    FloatMant mant;
    int exp;
    bool is_lower_near; /* the next smaller value is half a unit away */
    uint32_t precision; /* bits of the format's significand, the implicit one included */
} FloatParts;

/* Takes the bits of any kind apart; `words` as in support.h. */
FloatParts float_decode(int kind, const uint64_t words[2]);
/* The nearest double, with ties to even; mant has at most 127 bits. */
double float_join(const FloatParts *parts);

#endif
