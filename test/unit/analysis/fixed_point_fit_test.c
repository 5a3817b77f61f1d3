/* Step functions as fixed-point arithmetic: every form must give the function everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/analysis.h"
#include "test/unit/random.h"

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
    assert_true(fixed_point_fit(&f, &form));
    assert_true(fixed_point_widen(&form, form.shift + 2));
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
    StepFunction f = {.thresholds = thresholds,
                      .low_q = 0,
                      .high_q = 31,
                      .high_level = 8,
                      .low_is_clamped = true,
                      .high_is_clamped = true};
    for (int64_t k = 1; k <= 8; k++) thresholds[f.count++] = (Threshold){k, 4 * k - 2 + k % 2};
    FixedPoint form;
    assert_false(fixed_point_fit(&f, &form));
}

/* Steps near a line: threshold i is up to `slack` after (i + 1) * numerator / denominator. */
static void scatter(Random *random, int64_t numerator, int64_t denominator, int64_t slack,
                    Threshold *thresholds, StepFunction *f)
{
    for (int64_t i = 0, at; (at = LOW_Q + (i + 1) * numerator / denominator) < HIGH_Q - slack;
         i++) {
        int64_t last = i > 0 ? thresholds[i - 1].at : LOW_Q;
        at += random_below(random, (uint32_t)slack + 1);
        thresholds[f->count++] = (Threshold){i + 1, at < last ? last : at};
    }
    f->high_level = f->count;
}

/* The level by the form and what makes up for its errors, clamped to the function's range. */
static int64_t moved_level(const StepFunction *f, const FixedPoint *form, const int64_t *errors,
                           int64_t q)
{
    for (int i = 0; i < 2; i++) {
        int64_t level = floor_shift(form->multiplier * q + form->addend, form->shift);
        level = level < 0 ? 0 : level > f->count ? f->count : level;
        int64_t threshold = level - (f->early > 0);
        bool has_error = threshold >= 0 && threshold < f->count;
        if (i == 1) return level;
        q += has_error ? (f->early > 0 ? -errors[threshold] : errors[threshold]) : 0;
    }
    return 0;
}

static void check_scattered(Random *random, int64_t numerator, int64_t denominator, bool is_early)
{
    Threshold thresholds[512];
    int64_t errors[512], slack = 1 + random_below(random, 3), passed = 0;
    StepFunction f = {.thresholds = thresholds,
                      .low_q = LOW_Q,
                      .high_q = HIGH_Q,
                      .low_is_clamped = true,
                      .high_is_clamped = true};
    FixedPoint form;
    scatter(random, numerator, denominator, slack, thresholds, &f);
    f.late = is_early ? 0 : slack;
    f.early = is_early ? slack : 0;
    assert_true(fixed_point_fit(&f, &form));
    if (!fixed_point_errors(&f, &form, errors)) {
        assert_true(numerator < (slack + 2) * denominator); /* steps as short as errors */
        return;
    }
    for (int64_t q = LOW_Q; q <= HIGH_Q; q++) {
        while (passed < f.count && thresholds[passed].at <= q) passed++;
        assert_int_equal(moved_level(&f, &form, errors, q), passed);
    }
}

static void steps_near_a_line_are_moved(void **state)
{
    (void)state;
    Random random = {7};
    for (int64_t numerator = 300; numerator < 4000; numerator += 77)
        for (int early = 0; early < 2; early++) check_scattered(&random, numerator, 97, early);
}

/* Two levels in one step, and steps of one integer. */
static void double_steps_are_moved(void **state)
{
    (void)state;
    const Threshold thresholds[] = {{1, 4}, {2, 7}, {3, 7}, {4, 10}};
    StepFunction f = {.thresholds = thresholds,
                      .count = 4,
                      .high_q = 14,
                      .high_level = 4,
                      .low_is_clamped = true,
                      .high_is_clamped = true,
                      .late = 1};
    int64_t errors[4];
    FixedPoint form;
    assert_true(fixed_point_fit(&f, &form) && fixed_point_errors(&f, &form, errors));
    for (int64_t q = 0, passed = 0; q <= 14; q++) {
        while (passed < 4 && thresholds[passed].at <= q) passed++;
        assert_int_equal(moved_level(&f, &form, errors, q), passed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalings_fit),
        cmocka_unit_test(ranges_within_the_clamps_fit),
        cmocka_unit_test(a_single_step_fits),
        cmocka_unit_test(ties_to_even_do_not_fit),
        cmocka_unit_test(steps_near_a_line_are_moved),
        cmocka_unit_test(double_steps_are_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
