/* Step functions as fixed-point arithmetic: every form must give the function everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lowering/onnx_to_linalg_fit.h"

static int64_t floor_shift(int64_t x, int shift)
{
    int64_t unit = INT64_C(1) << shift;
    return x >= 0 ? x / unit : -((-x + unit - 1) / unit);
}

/* round(q * numerator / denominator), ties up, between low and high. */
static int64_t scaled(int64_t q, int64_t numerator, int64_t denominator, int64_t low, int64_t high)
{
    int64_t n = 2 * q * numerator + denominator, d = 2 * denominator;
    int64_t level = n >= 0 ? n / d : -((-n + d - 1) / d);
    return level < low ? low : level > high ? high : level;
}

enum { LOW_Q = -600, HIGH_Q = 700 };

static void check(int64_t numerator, int64_t denominator, int64_t low, int64_t high)
{
    Threshold thresholds[512];
    StepFunction f = {.thresholds = thresholds, .low_q = LOW_Q, .high_q = HIGH_Q};
    f.low_level = scaled(LOW_Q, numerator, denominator, low, high);
    f.high_level = scaled(HIGH_Q, numerator, denominator, low, high);
    f.low_is_clamped = f.low_level == low;
    f.high_is_clamped = f.high_level == high;
    int64_t level = f.low_level;
    for (int64_t q = LOW_Q; q <= HIGH_Q; q++)
        while (level < scaled(q, numerator, denominator, low, high))
            thresholds[f.count++] = (Threshold){++level, q};
    FixedPoint form;
    assert_true(fit_fixed_point(&f, &form));
    assert_true(fit_widen(&form, form.shift + 2));
    for (int64_t q = LOW_Q; q <= HIGH_Q; q++) {
        int64_t got = floor_shift(form.multiplier * q + form.addend, form.shift);
        got = got < low ? low : got > high ? high : got;
        assert_int_equal(got, scaled(q, numerator, denominator, low, high));
    }
}

static void scalings_fit(void **state)
{
    (void)state;
    for (int64_t numerator = 1; numerator < 30; numerator += 4)
        for (int64_t denominator = 31; denominator < 400; denominator += 37)
            check(numerator, denominator, -128, 127);
}

static void ranges_within_the_clamps_fit(void **state)
{
    (void)state;
    check(1, 97, -100, 100);
    check(3, 1000, -100, 100);
}

static void a_single_step_fits(void **state)
{
    (void)state;
    check(1, 1200, 0, 1);
    check(1, 7, 0, 1);
}

/* Half to even at every tie: no line does that. */
static void ties_to_even_do_not_fit(void **state)
{
    (void)state;
    Threshold thresholds[8];
    StepFunction f = {.thresholds = thresholds, .low_q = 0, .high_q = 31, .high_level = 8,
                      .low_is_clamped = true, .high_is_clamped = true};
    for (int64_t k = 1; k <= 8; k++)
        thresholds[f.count++] = (Threshold){k, 4 * k - 2 + k % 2};
    FixedPoint form;
    assert_false(fit_fixed_point(&f, &form));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalings_fit),
        cmocka_unit_test(ranges_within_the_clamps_fit),
        cmocka_unit_test(a_single_step_fits),
        cmocka_unit_test(ties_to_even_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
