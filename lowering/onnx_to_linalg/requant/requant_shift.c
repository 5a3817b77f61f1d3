/* Requantization by shifts. A quantizer with the scale u * 2^d and the zero point z sees a value
 * v * u * 2^a / m exactly and makes of it
 *   clamp(round(n / den)) - z,  n = (v << max(a - d, 0)) + z * den,  den = m << max(d - a, 0)
 * Each rounding mode is a floor after an addend: round(n / den) = floor((n + addend) / den); see
 * build_addend. Clamping after rounding equals QONNX's clamping before it: the bounds are integers.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-shift.mir,
 * lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-rounding.mir */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

typedef struct ShiftRescale {
    Rounding mode;
    int64_t left;          /* shift of v */
    int64_t offset;        /* z * den, added to v << left */
    int64_t den;           /* above 0 */
    int64_t low, high;     /* of n */
    int64_t q_low, q_high; /* of floor((n + addend) / den) */
    int64_t clamp_low, clamp_high;
    int64_t zero;
} ShiftRescale;

static int64_t round_div(Rounding mode, int64_t n, int64_t den)
{
    int64_t whole = 0;
    bool ok = i64_floordiv(n, den, &whole);
    assert(ok);
    (void)ok;
    int64_t rest = n - whole * den, half = den - rest; /* compare rest with den / 2 */
    switch (mode) {
    case ROUND_FLOOR: return whole;
    case ROUND_CEIL: return whole + (rest > 0);
    case ROUND_UP: return whole + (rest > 0 && n > 0);
    case ROUND_DOWN: return whole + (rest > 0 && n < 0);
    case ROUND_HALF_UP: return whole + (rest > half || (rest == half && n > 0));
    case ROUND_HALF_DOWN: return whole + (rest > half || (rest == half && n < 0));
    default: return whole + (rest > half || (rest == half && whole % 2 != 0));
    }
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Leaves room in 64 bits for addends and for the lift of build_floor. */
static bool is_roomy(int64_t x)
{
    const int64_t limit = INT64_C(1) << 61;
    return x > -limit && x < limit;
}

/* Fills the plan from v's range; false when something leaves 64 bits. */
static bool plan_rescale(const Fixed *v, const Quantizer *quant, int exponent, ShiftRescale *r)
{
    int up = v->exponent - exponent;
    if (up > 0 && v->low == 0 && v->high == 0) up = 0; /* a shift must stay below the width */
    *r = (ShiftRescale){.mode = quant->rounding,
                        .left = up > 0 ? up : 0,
                        .zero = quant->zero,
                        .clamp_low = quant->low,
                        .clamp_high = quant->high};
    bool fits = fixed_shift_i64(v->divisor, up < 0 ? -up : 0, &r->den) &&
                i64_mul(r->zero, r->den, &r->offset) && fixed_shift_i64(v->low, r->left, &r->low) &&
                fixed_shift_i64(v->high, r->left, &r->high) &&
                i64_add(r->low, r->offset, &r->low) && i64_add(r->high, r->offset, &r->high);
    if (!fits || !is_roomy(r->den) || !is_roomy(r->offset) || !is_roomy(r->low) ||
        !is_roomy(r->high))
        return false;
    r->q_low = round_div(r->mode, r->low, r->den);
    r->q_high = round_div(r->mode, r->high, r->den);
    return true;
}

/* Integer arithmetic in one type. */
typedef struct ScalarRescale {
    Builder *b;
    const Type *type;
} ScalarRescale;

static Value *constant(ScalarRescale *s, int64_t value)
{
    return arith_constant_int(s->b, s->type, value);
}

static Value *apply(ScalarRescale *s, const OpDef *def, Value *lhs, int64_t rhs)
{
    return build_binary(s->b, def, s->type, lhs, constant(s, rhs));
}

static Value *add(ScalarRescale *s, Value *lhs, int64_t rhs)
{
    return rhs == 0 ? lhs : apply(s, ARITH(ADDI), lhs, rhs);
}

static int log2_of(int64_t x)
{
    int log = 0;
    while (x > 1) {
        x /= 2;
        log++;
    }
    return log;
}

/* floor(n / den) for n >= low. Division truncates, so it runs on a non-negative number. */
static Value *build_floor(ScalarRescale *s, Value *n, int64_t low, int64_t den)
{
    if (den == 1) return n;
    if ((den & (den - 1)) == 0) return apply(s, ARITH(SHRSI), n, log2_of(den));
    int64_t lift = 0;
    bool ok = low >= 0 || i64_ceildiv(-low, den, &lift);
    assert(ok);
    (void)ok;
    Value *quotient = apply(s, ARITH(DIVUI), add(s, n, lift * den), den);
    return add(s, quotient, -lift);
}

/* if_negative where n < 0, else otherwise. */
static Value *by_sign(ScalarRescale *s, const ShiftRescale *r, Value *n, int64_t if_negative,
                      int64_t otherwise)
{
    if (r->low >= 0) return constant(s, otherwise);
    Value *is_negative = arith_cmpi(s->b, CMPI_SLT, n, constant(s, 0));
    Value *a = constant(s, if_negative), *b = constant(s, otherwise);
    return arith_select(s->b, is_negative, a, b);
}

/* The addend before the floor, by rounding mode; floor itself needs none:
 *   ceil den - 1;  away from zero: as ceil above 0, as floor below; toward zero: reverse
 *   nearest with an odd den: no ties, (den - 1) / 2
 *   ties up den / 2, ties down den / 2 - 1;  to even: up where floor(n / den) is odd */
static Value *build_addend(ScalarRescale *s, const ShiftRescale *r, Value *n)
{
    int64_t half = r->den / 2;
    switch (r->mode) {
    case ROUND_CEIL: return constant(s, r->den - 1);
    case ROUND_UP: return by_sign(s, r, n, 0, r->den - 1);
    case ROUND_DOWN: return by_sign(s, r, n, r->den - 1, 0);
    default: break;
    }
    if (r->den % 2 != 0) return constant(s, half);
    if (r->mode == ROUND_HALF_UP) return by_sign(s, r, n, half - 1, half);
    if (r->mode == ROUND_HALF_DOWN) return by_sign(s, r, n, half, half - 1);
    Value *odd = apply(s, ARITH(ANDI), build_floor(s, n, r->low, r->den), 1);
    return add(s, odd, half - 1);
}

/* Bound of build_addend's result. */
static int64_t largest_addend(const ShiftRescale *r)
{
    if (r->mode == ROUND_FLOOR) return 0;
    bool is_directed = r->mode == ROUND_CEIL || r->mode == ROUND_UP || r->mode == ROUND_DOWN;
    return is_directed ? r->den - 1 : r->den / 2;
}

/* Width for every intermediate: n, n + addend, the lift and the divisor of build_floor, the shift's
 * amount, the bounds in use. */
static uint32_t rescale_width(const Fixed *v, const ShiftRescale *r)
{
    int64_t low = r->low < 0 ? r->low : 0, high = r->high > 0 ? r->high : 0;
    bool is_power = (r->den & (r->den - 1)) == 0;
    high += largest_addend(r);
    if (!is_power) high += r->den - low; /* the lift is below den - low */
    if (high < r->den) high = r->den;
    uint32_t width = fixed_signed_width(low, high);
    uint32_t shifted = fixed_signed_width(r->low - r->offset, r->high - r->offset);
    width = shifted > width ? shifted : width;
    uint32_t operand = type_width(type_elem(v->value->type));
    width = operand > width ? operand : width;
    /* Where every number is outside, the bound that all become may be further away than they are. */
    int64_t least = clamp(r->q_low, r->clamp_low, r->clamp_high);
    int64_t most = clamp(r->q_high, r->clamp_low, r->clamp_high);
    uint32_t result =
        fixed_signed_width(i64_min(least, least - r->zero), i64_max(most, most - r->zero));
    return result > width ? result : width;
}

static Value *build_rescale(ScalarRescale *s, const ShiftRescale *r, Value *v)
{
    Value *n = r->left ? apply(s, ARITH(SHLI), v, r->left) : v;
    n = add(s, n, r->offset);
    if (r->den > 1 && r->mode != ROUND_FLOOR)
        n = build_binary(s->b, ARITH(ADDI), s->type, n, build_addend(s, r, n));
    n = build_floor(s, n, r->low, r->den);
    if (r->q_low < r->clamp_low) n = apply(s, ARITH(MAXSI), n, r->clamp_low);
    if (r->q_high > r->clamp_high) n = apply(s, ARITH(MINSI), n, r->clamp_high);
    return add(s, n, -r->zero);
}

void requant_build_bipolar(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out)
{
    Generic generic;
    lw->form = "comparison";
    generic_elementwise(lw, &generic, &v->value, 1);
    const Type *result = type_with_elem(v->value->type, type_i(lw->ctx, 2));
    generic_open(lw, &generic, lower_build_empty(lw, result));
    Builder *b = &generic.body;
    ScalarRescale from = {b, type_elem(v->value->type)}, to = {b, type_elem(result)};
    Value *sign = constant(&to, 1);
    if (v->low < 0) {
        Value *minus = constant(&to, -1);
        Value *negative = arith_cmpi(b, CMPI_SLT, generic_arg(&generic, 0), constant(&from, 0));
        sign = arith_select(b, negative, minus, sign);
    }
    *out = spec->real;
    out->value = generic_close(&generic, sign);
    out->low = -1;
    out->high = 1;
}

/* A value that already lies on the quantizer's grid and in its range passes unchanged; but on a
 * coarser grid its integers are not those that a QuantizeLinear shows to the network. */
static bool passes_through(const Op *quantizer, const ShiftRescale *r)
{
    return r->den == 1 && r->q_low >= r->clamp_low && r->q_high <= r->clamp_high &&
           (r->left == 0 || quantizer->def != ONNX(QUANTIZE_LINEAR));
}

/* Type of q - zero: the quantizer's bits if there is no zero point. */
static const Type *quant_type(OnnxLowering *lw, const Quantizer *quant)
{
    if (quant->zero == 0 && quant->bits > 0) return type_i(lw->ctx, quant->bits);
    return type_i(lw->ctx, fixed_signed_width(quant->low - quant->zero, quant->high - quant->zero));
}

bool requant_build_shift(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out)
{
    const Quantizer *quant = &spec->quant;
    ShiftRescale r;
    if (!plan_rescale(v, quant, spec->real.exponent, &r)) return lower_too_wide(lw);
    if (passes_through(lw->node, &r)) {
        *out = *v;
        return true;
    }
    Generic generic;
    lw->form = "shift";
    lw->is_monotone = true;
    generic_elementwise(lw, &generic, &v->value, 1);
    const Type *elem = quant_type(lw, quant);
    generic_open(lw, &generic, lower_build_empty(lw, type_with_elem(v->value->type, elem)));
    ScalarRescale s = {&generic.body, type_i(lw->ctx, rescale_width(v, &r))};
    Value *in = lower_build_extend(s.b, generic_arg(&generic, 0), s.type, v->is_unsigned);
    Value *result = lower_build_resize(s.b, build_rescale(&s, &r, in), elem);
    *out = spec->real;
    out->value = generic_close(&generic, result);
    out->low = clamp(r.q_low, r.clamp_low, r.clamp_high) - r.zero;
    out->high = clamp(r.q_high, r.clamp_low, r.clamp_high) - r.zero;
    return true;
}
