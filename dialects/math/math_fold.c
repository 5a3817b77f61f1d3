/* Folders of the math dialect. Transcendental functions fold for f32 and f64 with the C library's
 * function of that precision, as upstream; rounding functions fold for every format.
 * Tests: lit/dialects/math/canonicalize.mir */
#include <math.h>
#include <string.h>

#include "dialects/common/common.h"
#include "dialects/math/internal.h"

static bool folds(Op *op, const Attr *const *operands, size_t count, FoldResult *results,
                  LaneFn *fn, const void *user)
{
    results[0].attr = lane_fold_all(operands, count, op_result(op, 0)->type, fn, user);
    return results[0].attr != NULL;
}

typedef enum Domain { ANYWHERE, NOT_NEGATIVE, ABOVE_MINUS_ONE } Domain;

typedef struct LibraryFunction {
    double (*f64_1)(double);
    float (*f32_1)(float);
    double (*f64_2)(double, double);
    float (*f32_2)(float, float);
    Domain domain; /* of the first argument; elsewhere nothing folds */
} LibraryFunction;

static bool in_domain(Domain domain, double x)
{
    switch (domain) {
    case ANYWHERE: return true;
    case NOT_NEGATIVE: return !signbit(x);
    case ABOVE_MINUS_ONE: return !signbit(x + 1.0);
    }
    return false;
}

static bool call_f64(const Lane *lane, const LibraryFunction *fn, const BigInt *args, BigInt *out)
{
    double a, b = 0, value;
    uint64_t bits;
    memcpy(&a, &args[0].u.word, sizeof a);
    if (fn->f64_2) memcpy(&b, &args[1].u.word, sizeof b);
    if (!in_domain(fn->domain, a)) return false;
    value = fn->f64_2 ? fn->f64_2(a, b) : fn->f64_1(a);
    memcpy(&bits, &value, sizeof bits);
    *out = bigint_from_words(lane->arena, 64, &bits);
    return true;
}

static bool call_f32(const Lane *lane, const LibraryFunction *fn, const BigInt *args, BigInt *out)
{
    uint32_t words[2] = {(uint32_t)args[0].u.word, 0};
    float a, b, value;
    if (fn->f32_2) words[1] = (uint32_t)args[1].u.word;
    memcpy(&a, &words[0], sizeof a);
    memcpy(&b, &words[1], sizeof b);
    if (!in_domain(fn->domain, (double)a)) return false;
    value = fn->f32_2 ? fn->f32_2(a, b) : fn->f32_1(a);
    memcpy(&words[0], &value, sizeof value);
    uint64_t bits = words[0];
    *out = bigint_from_words(lane->arena, 32, &bits);
    return true;
}

static bool lane_library(const Lane *lane, const BigInt *args, BigInt *out)
{
    const LibraryFunction *fn = lane->user;
    if (lane->result_elem->kind == TYPE_F64) return call_f64(lane, fn, args, out);
    return lane->result_elem->kind == TYPE_F32 && call_f32(lane, fn, args, out);
}

#define FOLD_UNARY(NAME, DOMAIN)                                                                   \
    bool math_fold_##NAME(Op *op, const Attr *const *operands, FoldResult *results)                \
    {                                                                                              \
        const LibraryFunction fn = {.f64_1 = NAME, .f32_1 = NAME##f, .domain = DOMAIN};            \
        return folds(op, operands, 1, results, lane_library, &fn);                                 \
    }
FOLD_UNARY(acos, ANYWHERE)
FOLD_UNARY(acosh, ANYWHERE)
FOLD_UNARY(asin, ANYWHERE)
FOLD_UNARY(asinh, ANYWHERE)
FOLD_UNARY(atan, ANYWHERE)
FOLD_UNARY(atanh, ANYWHERE)
FOLD_UNARY(cos, ANYWHERE)
FOLD_UNARY(cosh, ANYWHERE)
FOLD_UNARY(sin, ANYWHERE)
FOLD_UNARY(sinh, ANYWHERE)
FOLD_UNARY(tan, ANYWHERE)
FOLD_UNARY(tanh, ANYWHERE)
FOLD_UNARY(erf, ANYWHERE)
FOLD_UNARY(exp, ANYWHERE)
FOLD_UNARY(exp2, ANYWHERE)
FOLD_UNARY(expm1, ANYWHERE)
FOLD_UNARY(log, NOT_NEGATIVE)
FOLD_UNARY(log2, NOT_NEGATIVE)
FOLD_UNARY(log10, NOT_NEGATIVE)
FOLD_UNARY(log1p, ABOVE_MINUS_ONE)
FOLD_UNARY(sqrt, NOT_NEGATIVE)

bool math_fold_powf(Op *op, const Attr *const *operands, FoldResult *results)
{
    const LibraryFunction fn = {.f64_2 = pow, .f32_2 = powf};
    return folds(op, operands, 2, results, lane_library, &fn);
}

bool math_fold_atan2(Op *op, const Attr *const *operands, FoldResult *results)
{
    const LibraryFunction fn = {.f64_2 = atan2, .f32_2 = atan2f};
    return folds(op, operands, 2, results, lane_library, &fn);
}

static double round_even(double x)
{
    bool tie = fabs(x - trunc(x)) == 0.5;
    return tie ? 2.0 * round(x / 2.0) : round(x);
}

#define FOLD_ROUND(NAME, FN)                                                                       \
    static bool lane_##NAME(const Lane *lane, const BigInt *args, BigInt *out)                     \
    {                                                                                              \
        return lane_float1(lane, args, out, FN);                                                   \
    }                                                                                              \
    bool math_fold_##NAME(Op *op, const Attr *const *operands, FoldResult *results)                \
    {                                                                                              \
        return folds(op, operands, 1, results, lane_##NAME, NULL);                                 \
    }
FOLD_ROUND(ceil, ceil)
FOLD_ROUND(floor, floor)
FOLD_ROUND(trunc, trunc)
FOLD_ROUND(round, round)
FOLD_ROUND(roundeven, round_even)

static bool lane_absf(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = lane_with_sign(lane, &args[0], false);
    return true;
}

static bool lane_copysign(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = lane_with_sign(lane, &args[0], bigint_is_negative(&args[1]));
    return true;
}

bool math_fold_absf(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds(op, operands, 1, results, lane_absf, NULL);
}

bool math_fold_copysign(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds(op, operands, 2, results, lane_copysign, NULL);
}

static bool lane_absi(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_is_negative(&args[0]) ? bigint_neg(lane->arena, &args[0]) : args[0];
    return true;
}

static bool bit_at(const BigInt *value, uint32_t index)
{
    return bigint_words(value)[index / 64] >> (index % 64) & 1;
}

static bool lane_ctlz(const Lane *lane, const BigInt *args, BigInt *out)
{
    uint32_t width = args[0].width, count = 0;
    while (count < width && !bit_at(&args[0], width - 1 - count)) count++;
    *out = bigint_from_i64(lane->arena, width, count);
    return true;
}

static bool lane_cttz(const Lane *lane, const BigInt *args, BigInt *out)
{
    uint32_t width = args[0].width, count = 0;
    while (count < width && !bit_at(&args[0], count)) count++;
    *out = bigint_from_i64(lane->arena, width, count);
    return true;
}

static bool lane_ctpop(const Lane *lane, const BigInt *args, BigInt *out)
{
    uint32_t width = args[0].width, count = 0;
    for (uint32_t i = 0; i < width; i++) count += bit_at(&args[0], i);
    *out = bigint_from_i64(lane->arena, width, count);
    return true;
}

/* base to a negative power: 1 / base^n, rounded to zero; 0 has none. */
static bool negative_power(const Lane *lane, const BigInt *base, bool odd, BigInt *out)
{
    BigInt one = bigint_from_i64(lane->arena, base->width, 1);
    BigInt minus_one = bigint_from_i64(lane->arena, base->width, -1);
    if (bigint_is_zero(base)) return false;
    if (bigint_eq(base, &one))
        *out = one;
    else if (bigint_eq(base, &minus_one))
        *out = odd ? minus_one : one;
    else
        *out = bigint_from_i64(lane->arena, base->width, 0);
    return true;
}

static bool lane_ipowi(const Lane *lane, const BigInt *args, BigInt *out)
{
    BigInt base = args[0];
    if (bigint_is_negative(&args[1])) return negative_power(lane, &base, bit_at(&args[1], 0), out);
    BigInt result = bigint_from_i64(lane->arena, base.width, 1);
    for (uint32_t i = 0; i < args[1].width; i++) {
        if (bit_at(&args[1], i)) result = bigint_mul(lane->arena, &result, &base);
        base = bigint_mul(lane->arena, &base, &base);
    }
    *out = result;
    return true;
}

#define FOLD_INT(NAME, COUNT)                                                                      \
    bool math_fold_##NAME(Op *op, const Attr *const *operands, FoldResult *results)                \
    {                                                                                              \
        return folds(op, operands, COUNT, results, lane_##NAME, NULL);                             \
    }
FOLD_INT(absi, 1)
FOLD_INT(ctlz, 1)
FOLD_INT(cttz, 1)
FOLD_INT(ctpop, 1)
FOLD_INT(ipowi, 2)
