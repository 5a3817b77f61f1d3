/* Arithmetic on sizes and 64-bit integers that reports overflow instead of wrapping.
 *
 * Quotients are rounded toward minus or plus infinity, as affine floordiv and ceildiv are, whereas
 * C's division truncates.
 * Tests: test/unit/ir/support/support_test.c */
#include <assert.h>

#include "ir/support/support.h"

bool size_mul(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

bool i64_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool i64_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

int64_t i64_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (i64_add(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

bool i64_floordiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    bool inexact_below_zero = a % b != 0 && (a < 0) != (b < 0);
    *out = a / b - inexact_below_zero;
    return true;
}

bool i64_ceildiv(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    bool inexact_above_zero = a % b != 0 && (a < 0) == (b < 0);
    *out = a / b + inexact_above_zero;
    return true;
}

int64_t i64_mod(int64_t a, int64_t b)
{
    assert(b > 0);
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}
