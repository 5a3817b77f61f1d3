/* Results that are rounded elsewhere are equal, others are not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/interp/interp.h"

static const double TOLERANCE = 1e-5, HALF_TOLERANCE = 0x1p-10;

static Npy floats_of(uint32_t item, const double *values, int64_t count)
{
    Npy npy;
    assert_true(npy_init(&npy, 'f', item, &count, 1));
    for (int64_t i = 0; i < count; i++) npy_set_f64(&npy, i, values[i]);
    return npy;
}

static Npy floats(const double *values, int64_t count)
{
    return floats_of(8, values, count);
}

static Npy integers(char kind, const int64_t *values, int64_t count)
{
    Npy npy;
    assert_true(npy_init(&npy, kind, 4, &count, 1));
    for (int64_t i = 0; i < count; i++) npy_set_i64(&npy, i, values[i]);
    return npy;
}

static void floats_are_close_to_the_largest(void **state)
{
    Npy a = floats((double[]){1000, 1, NAN}, 3), b = floats((double[]){1000.005, 1.009, NAN}, 3);
    Npy c = floats((double[]){1000, 1.011, NAN}, 3), d = floats((double[]){1000, 1, 1}, 3);
    double *reach = compare_reach(&a, TOLERANCE);
    (void)state;
    assert_int_equal(compare_results(&a, &b, false, reach, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &c, false, reach, NULL), 1);
    assert_int_equal(compare_results(&a, &d, false, reach, NULL), 2);
    assert_int_equal(compare_results(&a, &b, true, reach, NULL),
                     0); /* of a quantizer: each by itself */
    free(reach);
    npy_free(&a);
    npy_free(&b);
    npy_free(&c);
    npy_free(&d);
}

static void floats_of_16_bits_are_a_step_apart(void **state)
{
    Npy a = floats_of(2, (double[]){16, 1}, 2), near = floats_of(2, (double[]){16, 1.015625}, 2);
    Npy far = floats_of(2, (double[]){16, 1.03125}, 2), shifted;
    double *reach = compare_reach(&a, HALF_TOLERANCE);
    uint64_t random = 0;
    (void)state;
    assert_int_equal(compare_results(&a, &near, false, reach, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &far, false, reach, NULL), 1);
    assert_true(compare_shift_input(&a, HALF_TOLERANCE, &random, &shifted));
    for (int64_t i = 0; i < 2; i++) assert_true(npy_get_f64(&shifted, i) != npy_get_f64(&a, i));
    free(reach);
    npy_free(&a);
    npy_free(&near);
    npy_free(&far);
    npy_free(&shifted);
}

static void a_tolerance_is_a_step_of_the_type(void **state)
{
    Context *ctx = context_create();
    (void)state;
    assert_true(compare_tolerance(type_float(ctx, TYPE_F32)) == TOLERANCE);
    assert_true(compare_tolerance(type_float(ctx, TYPE_F16)) == HALF_TOLERANCE);
    assert_true(compare_tolerance(type_float(ctx, TYPE_BF16)) == 0x1p-7);
    assert_true(compare_tolerance(type_float(ctx, TYPE_F8E5M2)) == 0x1p-2);
    assert_true(compare_tolerance(type_i(ctx, 8)) == TOLERANCE);
    context_destroy(ctx);
}

static void sums_near_the_largest_number_overflow_in_one_order(void **state)
{
    Npy a = floats_of(4, (double[]){-2.99e38, INFINITY, 3e37}, 3);
    Npy b = floats_of(4, (double[]){-INFINITY, 3e38, 3e37}, 3);
    Npy other_sign = floats_of(4, (double[]){INFINITY, INFINITY, 3e37}, 3);
    Npy far = floats_of(4, (double[]){-2.99e38, 2e37, 3e37}, 3);
    Npy no_number = floats_of(4, (double[]){-2.99e38, INFINITY, NAN}, 3);
    double *reach = compare_reach(&a, TOLERANCE);
    (void)state;
    assert_int_equal(compare_results(&a, &b, false, reach, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &b, false, NULL, NULL), 0);
    assert_int_equal(compare_results(&a, &other_sign, false, reach, NULL), 0);
    assert_int_equal(compare_results(&a, &far, false, reach, NULL), 1);
    assert_int_equal(compare_results(&a, &no_number, false, reach, NULL), 2);
    free(reach);
    npy_free(&a);
    npy_free(&b);
    npy_free(&other_sign);
    npy_free(&far);
    npy_free(&no_number);
}

static void numbers_below_the_normal_ones_are_lost(void **state)
{
    Npy a = floats_of(4, (double[]){1.6e-39, 0, -1e-38}, 3),
        b = floats_of(4, (double[]){0, 0, 0}, 3);
    Npy other = floats_of(4, (double[]){3e-38, 0, 0}, 3);
    double *reach = compare_reach(&a, TOLERANCE);
    (void)state;
    assert_int_equal(compare_results(&a, &b, false, reach, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &other, false, reach, NULL), 0);
    free(reach);
    npy_free(&a);
    npy_free(&b);
    npy_free(&other);
}

/* A logarithm of a sum of 1, of which runs with other roundings are 3e-8 apart. */
static void what_is_nothing_but_roundings_spreads(void **state)
{
    Npy a = floats((double[]){3e-8}, 1), near = floats((double[]){-1.2e-7}, 1);
    Npy far = floats((double[]){-6e-7}, 1), level = floats((double[]){0}, 1);
    const double rounding[] = {3e-8};
    double *reach = compare_reach(&a, TOLERANCE);
    (void)state;
    assert_int_equal(compare_results(&a, &near, false, reach, rounding), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &far, false, reach, rounding), 0);
    assert_int_equal(compare_results(&a, &level, true, reach, rounding), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &near, true, reach, rounding), 0);
    free(reach);
    npy_free(&a);
    npy_free(&near);
    npy_free(&far);
    npy_free(&level);
}

static void cancelled_sums_reach_farther(void **state)
{
    const double values[] = {5e6, -5e6};
    Npy input = floats(values, 2), sum = floats((double[]){0}, 1), shifted, moved;
    Npy near = floats((double[]){99}, 1), far = floats((double[]){101}, 1);
    double *reach = compare_reach(&sum, TOLERANCE);
    uint64_t random = 0;
    (void)state;
    assert_int_equal(compare_results(&sum, &near, false, reach, NULL), 0);
    do { /* one up, the other down in magnitude: the sum moves by 100 */
        assert_true(compare_shift_input(&input, TOLERANCE, &random, &shifted));
        for (int64_t i = 0; i < 2; i++)
            assert_true(fabs(fabs(npy_get_f64(&shifted, i) - values[i]) - 50) < 1e-6);
        moved = floats((double[]){npy_get_f64(&shifted, 0) + npy_get_f64(&shifted, 1)}, 1);
        compare_widen_reach(reach, &sum, &moved);
        npy_free(&shifted);
        npy_free(&moved);
    } while (reach[0] < 1);
    assert_int_equal(compare_results(&sum, &near, false, reach, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&sum, &far, false, reach, NULL), 0);
    free(reach);
    npy_free(&input);
    npy_free(&sum);
    npy_free(&near);
    npy_free(&far);
}

static void integers_are_exact(void **state)
{
    Npy a = integers('i', (int64_t[]){1, 2}, 2), b = integers('i', (int64_t[]){1, 3}, 2);
    Npy c = integers('u', (int64_t[]){1, 2}, 2), d = integers('i', (int64_t[]){1}, 1), copy;
    uint64_t random = 0;
    (void)state;
    assert_null(compare_reach(&a, TOLERANCE));
    compare_widen_reach(NULL, &a, &b);
    assert_int_equal(compare_results(&a, &b, false, NULL, NULL), 1);
    assert_int_equal(compare_results(&a, &c, false, NULL, NULL), COMPARE_EQUAL);
    assert_int_equal(compare_results(&a, &d, false, NULL, NULL), COMPARE_SHAPES_DIFFER);
    assert_true(compare_shift_input(&a, TOLERANCE, &random, &copy));
    assert_int_equal(compare_results(&a, &copy, false, NULL, NULL), COMPARE_EQUAL);
    npy_free(&a);
    npy_free(&b);
    npy_free(&c);
    npy_free(&d);
    npy_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_close_to_the_largest),
        cmocka_unit_test(floats_of_16_bits_are_a_step_apart),
        cmocka_unit_test(a_tolerance_is_a_step_of_the_type),
        cmocka_unit_test(numbers_below_the_normal_ones_are_lost),
        cmocka_unit_test(sums_near_the_largest_number_overflow_in_one_order),
        cmocka_unit_test(what_is_nothing_but_roundings_spreads),
        cmocka_unit_test(cancelled_sums_reach_farther),
        cmocka_unit_test(integers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
