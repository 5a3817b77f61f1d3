/* Quantizers of QONNX in double arithmetic. It is exact for power-of-two scales and values of up to
 * 53 bits, except for the quotient, which is rounded as the network rounds it. It does not depend
 * on the floating-point environment: it uses neither libm nor the rounding mode.
 * Tests: test/unit/dialects/onnx/quant_test.c */
#include <string.h>

#include "dialects/onnx/internal.h"
#include "dialects/onnx/onnx.h"
#include "ir/attr/attr.h"

enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023, EXPONENT_MASK = 0x7ff };

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static int exponent_field(double x)
{
    return (int)(bits_of(x) >> MANTISSA_BITS) & EXPONENT_MASK;
}

static bool is_finite(double x)
{
    return exponent_field(x) != EXPONENT_MASK;
}

double onnx_exact_pow2(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + EXPONENT_BIAS) << MANTISSA_BITS;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void onnx_split_float(double x, int64_t *mantissa, int *exponent)
{
    uint64_t fraction = bits_of(x) & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    int field = exponent_field(x);
    *mantissa = (int64_t)(field ? fraction | UINT64_C(1) << MANTISSA_BITS : fraction);
    *exponent = (field ? field : 1) - EXPONENT_BIAS - MANTISSA_BITS;
    if (*mantissa == 0) *exponent = 0;
    while (*mantissa && *mantissa % 2 == 0) {
        *mantissa /= 2;
        ++*exponent;
    }
    if (x < 0) *mantissa = -*mantissa;
}

bool onnx_exact_log2(double x, int *exponent)
{
    int64_t mantissa;
    if (!is_finite(x)) return false;
    onnx_split_float(x, &mantissa, exponent);
    return mantissa == 1;
}

double onnx_dense_number(const Attr *dense, int64_t index)
{
    const Type *elem = type_elem(dense->type);
    return type_is_float(elem) ? dense_f64(dense, index) : (double)dense_i64(dense, index);
}

bool onnx_dense_uniform(const Attr *dense, double *out)
{
    int64_t count = dense_count(dense);
    if (count == 0) return false;
    *out = onnx_dense_number(dense, 0);
    for (int64_t i = 1; i < count && !dense->u.dense.is_splat; i++)
        if (onnx_dense_number(dense, i) != *out) return false;
    return true;
}

static const char *const rounding_names[ROUNDING_COUNT] = {
    [ROUND_HALF_EVEN] = "ROUND",     [ROUND_CEIL] = "CEIL",
    [ROUND_FLOOR] = "FLOOR",         [ROUND_UP] = "UP",
    [ROUND_DOWN] = "DOWN",           [ROUND_HALF_UP] = "HALF_UP",
    [ROUND_HALF_DOWN] = "HALF_DOWN",
};

static bool equals_ignoring_case(Str a, const char *upper)
{
    size_t len = strlen(upper);
    for (size_t i = 0; i < a.len && i < len; i++) {
        char c = a.data[i];
        if ((c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c) != upper[i]) return false;
    }
    return a.len == len;
}

bool onnx_rounding_parse(Str name, Rounding *out)
{
    *out = ROUND_HALF_EVEN;
    if (equals_ignoring_case(name, "HALF_EVEN")) return true;
    for (int mode = 0; mode < ROUNDING_COUNT; mode++) {
        *out = (Rounding)mode;
        if (equals_ignoring_case(name, rounding_names[mode])) return true;
    }
    return false;
}

const char *onnx_rounding_name(Rounding mode)
{
    return rounding_names[mode];
}

/* Whether |x| = whole + rest (0 <= rest < 1) is rounded to whole + 1. */
static bool rounds_away(Rounding mode, int64_t whole, double rest, bool negative)
{
    switch (mode) {
    case ROUND_HALF_EVEN: return rest > 0.5 || (rest == 0.5 && whole % 2 != 0);
    case ROUND_CEIL: return rest > 0 && !negative;
    case ROUND_FLOOR: return rest > 0 && negative;
    case ROUND_UP: return rest > 0;
    case ROUND_HALF_UP: return rest >= 0.5;
    case ROUND_HALF_DOWN: return rest > 0.5;
    default: return false;
    }
}

/* The sum with 1.5 * 2^52 has no bits behind the point: the processor rounds it, half to even. */
static bool half_even(double x, int64_t *out)
{
    const double most = 2251799813685248.0 /* 2^51 */, shift = 3 * most;
    if (!(x > -most && x < most)) return false;
    volatile double sum = x + shift; /* not to be simplified */
    *out = (int64_t)(sum - shift);
    return true;
}

int64_t onnx_rounding_apply(Rounding mode, double x)
{
    int64_t rounded;
    if (mode == ROUND_HALF_EVEN && half_even(x, &rounded)) return rounded;
    bool negative = x < 0;
    double size = negative ? -x : x;
    int64_t whole = (int64_t)size;
    whole += rounds_away(mode, whole, size - (double)whole, negative);
    return negative ? -whole : whole;
}

int64_t onnx_quantizer_apply(const Quantizer *quant, const Type *elem, double scale, double x)
{
    if (quant->is_bipolar) return x >= 0 ? 1 : -1;
    double steps = array_round(elem, x / scale) + (double)quant->zero;
    if (steps <= (double)quant->low) return quant->low - quant->zero;
    if (steps >= (double)quant->high) return quant->high - quant->zero;
    return onnx_rounding_apply(quant->rounding, steps) - quant->zero;
}

static const Attr *constant_param(const Op *quant, uint32_t index, StrBuf *why)
{
    const Attr *value = onnx_constant(op_operand(quant, index));
    if (!value) onnx_why(why, "'%s' must be a constant", quant->def->operands[index].name);
    return value;
}

/* A parameter that is the same integer for all elements. */
static bool integer_param(const Op *quant, uint32_t index, int64_t *out, StrBuf *why)
{
    const double limit = 9007199254740992.0; /* 2^53 */
    const char *name = quant->def->operands[index].name;
    const Attr *value = constant_param(quant, index, why);
    double number;
    if (!value) return false;
    if (!onnx_dense_uniform(value, &number))
        return onnx_why(why, "'%s' must be the same for all elements", name);
    if (!(number > -limit && number < limit) || (double)(int64_t)number != number)
        return onnx_why(why, "'%s' must be an integer", name);
    *out = (int64_t)number;
    return true;
}

static bool check_scales(const Attr *scales, StrBuf *why)
{
    int64_t count = scales->u.dense.is_splat ? 1 : dense_count(scales);
    for (int64_t i = 0; i < count; i++) {
        double scale = onnx_dense_number(scales, i);
        if (!(scale > 0) || !is_finite(scale))
            return onnx_why(why, "'scale' must be positive and finite");
    }
    return true;
}

static void set_range(Quantizer *quant)
{
    int64_t span = INT64_C(1) << (quant->bits - quant->is_signed);
    quant->low = quant->is_signed ? -span + quant->is_narrow : 0;
    quant->high = span - 1 - (!quant->is_signed && quant->is_narrow);
    quant->is_bipolar = quant->is_signed && quant->bits == 1;
    if (!quant->is_bipolar) return;
    quant->zero = 0;
    quant->low = -1;
    quant->high = 1;
}

static bool flag(const Op *op, const char *name, bool fallback)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr_int_value(attr) != 0 : fallback;
}

bool onnx_quantizer(const Op *quant, Quantizer *out, StrBuf *why)
{
    *out = (Quantizer){.is_signed = flag(quant, "signed", true),
                       .is_narrow = flag(quant, "narrow", false)};
    int64_t bits;
    out->scales = constant_param(quant, 1, why);
    if (!out->scales || !check_scales(out->scales, why) ||
        !integer_param(quant, 2, &out->zero, why) || !integer_param(quant, 3, &bits, why))
        return false;
    if (bits < 1 || bits > QUANT_MAX_BITS)
        return onnx_why(why, "'bitwidth' must be from 1 to %d", QUANT_MAX_BITS);
    out->bits = (uint32_t)bits;
    const Attr *mode = op_attr(quant, "rounding_mode");
    if (mode && !onnx_rounding_parse(mode->u.string, &out->rounding))
        return onnx_why(why, "unknown rounding mode");
    set_range(out);
    return true;
}
