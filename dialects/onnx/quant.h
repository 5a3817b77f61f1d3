/* Quantizers of QONNX: integer ranges, rounding modes, and the parameters of a Quant op.
 *   q = round(clip(x / scale + zero, low, high));  y = (q - zero) * scale
 * Tests: test/unit/quant_test.c */
#ifndef MING_DIALECTS_ONNX_QUANT_H
#define MING_DIALECTS_ONNX_QUANT_H

#include "ir/core/op.h"

typedef enum Rounding {
    ROUND_HALF_EVEN,
    ROUND_CEIL,
    ROUND_FLOOR,
    ROUND_UP,        /* away from zero */
    ROUND_DOWN,      /* toward zero */
    ROUND_HALF_UP,   /* ties away from zero */
    ROUND_HALF_DOWN, /* ties toward zero */
    ROUNDING_COUNT
} Rounding;

/* Case does not matter; HALF_EVEN is ROUND. False: no such mode. */
bool onnx_rounding_parse(Str name, Rounding *out) MUST_CHECK;
const char *onnx_rounding_name(Rounding mode);
/* x to an integer; |x| must be below 2^53. */
int64_t onnx_rounding_apply(Rounding mode, double x);

/* Integers up to 2^53 are exact in double, which quantizers compute in. */
enum { QUANT_MAX_BITS = 53 };

typedef struct Quantizer {
    const Attr *scales; /* dense elements, each positive and finite */
    int64_t zero;
    uint32_t bits;
    bool is_signed, is_narrow;
    bool is_bipolar; /* signed with one bit: x >= 0 ? 1 : -1, zero and range aside */
    Rounding rounding;
    int64_t low, high; /* range of q */
} Quantizer;

/* Parameters of a Quant op whose scale, zeropt and bitwidth are constants. False: why says what
 * is missing or out of range. */
bool onnx_quantizer(const Op *quant, Quantizer *out, StrBuf *why) MUST_CHECK;
/* q - zero for one input of the float type `elem`, in which the quotient is computed; x must not be
 * NaN. */
int64_t onnx_quantizer_apply(const Quantizer *quant, const Type *elem, double scale, double x);

/* One element of a dense attribute as a number, whatever its type. */
double onnx_dense_number(const Attr *dense, int64_t index);
/* Value of a dense attribute whose elements are all equal; false if they are not. */
bool onnx_dense_uniform(const Attr *dense, double *out) MUST_CHECK;
/* x == 2^*exponent. */
bool onnx_exact_log2(double x, int *exponent) MUST_CHECK;
/* 2^exponent; -1022 <= exponent <= 1023. */
double onnx_exact_pow2(int exponent);
/* x == *mantissa * 2^*exponent with an odd mantissa, or 0 * 2^0. x must be finite. */
void onnx_split_float(double x, int64_t *mantissa, int *exponent);

#endif
