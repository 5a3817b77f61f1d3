/* Arrays of elements: containers, wrapping, rounding, attributes, references. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/attr/attr.h"

static int setup(void **state)
{
    *state = context_create();
    return 0;
}

static int teardown(void **state)
{
    context_destroy(*state);
    return 0;
}

static void integers_wrap_to_their_width(void **state)
{
    Context *ctx = *state;
    const struct {
        uint32_t width;
        Signedness sign;
        int64_t value, want;
    } cases[] = {
        {1, SIGNLESS, 3, 1},
        {1, UNSIGNED, 2, 0},
        {4, SIGNLESS, 9, -7},
        {4, SIGNED, 9, -7},
        {4, UNSIGNED, 25, 9},
        {8, SIGNLESS, 255, -1},
        {8, UNSIGNED, -1, 255},
        {12, SIGNLESS, 2048, -2048},
        {33, SIGNLESS, INT64_C(1) << 32, -(INT64_C(1) << 32)},
        {64, SIGNLESS, -5, -5},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Array *array = array_new(type_integer(ctx, cases[i].width, cases[i].sign));
        array_set_i64(array, 0, cases[i].value);
        assert_int_equal(array_get_i64(array, 0), cases[i].want);
        array_unref(array);
    }
}

static void floats_round_to_their_format(void **state)
{
    Context *ctx = *state;
    assert_true(array_round(type_float(ctx, TYPE_F16), 2049.0) == 2048.0);
    assert_true(array_round(type_float(ctx, TYPE_BF16), 257.0) == 256.0);
    assert_true(array_round(type_float(ctx, TYPE_F32), 16777217.0) == 16777216.0);
    assert_true(array_round(type_float(ctx, TYPE_F64), 16777217.0) == 16777217.0);
}

static double round_tenth(const Type *f32, RoundTo to, double sign)
{
    OtherRounding rounding = {.to = to};
    array_round_otherwise(&rounding);
    double rounded = array_round(f32, sign * 0.1);
    assert_true(array_round(f32, 0.5) == 0.5);
    assert_true(isinf(array_round(f32, 1e300)));
    array_round_otherwise(NULL);
    assert_int_equal(rounding.inexact, 1);
    return sign * rounded;
}

static void other_roundings_give_both_neighbours(void **state)
{
    const Type *f32 = type_float(*state, TYPE_F32);
    const double above = (double)0.1f, below = (double)nextafterf(0.1f, 0.0f);
    OtherRounding any = {.to = ROUND_TO_ANY};
    int at[2] = {0, 0};
    assert_true(round_tenth(f32, ROUND_TO_SMALLER, 1) == below &&
                round_tenth(f32, ROUND_TO_SMALLER, -1) == above);
    assert_true(round_tenth(f32, ROUND_TO_LARGER, 1) == above &&
                round_tenth(f32, ROUND_TO_LARGER, -1) == below);
    assert_true(round_tenth(f32, ROUND_TO_ZERO, 1) == below &&
                round_tenth(f32, ROUND_TO_ZERO, -1) == below);
    assert_true(round_tenth(f32, ROUND_FROM_ZERO, 1) == above &&
                round_tenth(f32, ROUND_FROM_ZERO, -1) == above);
    array_round_otherwise(&any);
    assert_true(array_rounds_otherwise());
    for (int i = 0; i < 64; i++) at[array_round(f32, 0.1) == above]++;
    array_round_otherwise(NULL);
    assert_false(array_rounds_otherwise());
    assert_true(at[0] > 16 && at[1] > 16);
    assert_true(array_round(f32, 0.1) == above);
}

static double round_otherwise(const Type *elem, RoundTo to, double value)
{
    OtherRounding rounding = {.to = to};
    array_round_otherwise(&rounding);
    double rounded = array_round(elem, value);
    array_round_otherwise(NULL);
    return rounded;
}

static void narrow_floats_have_neighbours_too(void **state)
{
    const Type *f16 = type_float(*state, TYPE_F16), *bf16 = type_float(*state, TYPE_BF16);
    const Type *f8 = type_float(*state, TYPE_F8E4M3FN);
    assert_true(round_otherwise(f16, ROUND_TO_SMALLER, 2049.5) == 2048);
    assert_true(round_otherwise(f16, ROUND_TO_LARGER, 2049) == 2050);
    assert_true(round_otherwise(f16, ROUND_FROM_ZERO, -2049) == -2050);
    assert_true(round_otherwise(f16, ROUND_TO_ZERO, -2049.5) == -2048);
    assert_true(round_otherwise(f16, ROUND_TO_LARGER, 2048) == 2048);
    assert_true(round_otherwise(f16, ROUND_TO_LARGER, 1e-10) == 0x1p-24);
    assert_true(round_otherwise(f16, ROUND_TO_SMALLER, -1e-10) == -0x1p-24);
    assert_true(round_otherwise(f16, ROUND_TO_LARGER, -0x1p-24 * 0.9) == 0);
    assert_true(round_otherwise(bf16, ROUND_TO_LARGER, 256.5) == 258);
    assert_true(round_otherwise(f8, ROUND_TO_LARGER, 450) == 448); /* the largest */
}

static void attributes_come_back(void **state)
{
    Context *ctx = *state;
    int64_t dims[] = {2, 3}, values[] = {-8, 7, 0, 1, -1, 3};
    double numbers[] = {0.5, -2.0, 0.0, 1.5, 4.0, 8.0};
    const Attr *attrs[] = {
        attr_dense_i64(type_tensor(type_i(ctx, 4), dims, 2, NULL), values, 6),
        attr_dense_f64(type_tensor(type_float(ctx, TYPE_F16), dims, 2, NULL), numbers, 6),
        attr_dense_splat(type_tensor(type_i(ctx, 1), dims, 2, NULL), attr_int(type_i(ctx, 1), 1)),
    };
    for (size_t i = 0; i < COUNT_OF(attrs); i++) {
        Array *array = array_from_attr(attrs[i]);
        assert_int_equal(array->count, 6);
        assert_ptr_equal(array_to_attr(array), attrs[i]);
        array_unref(array);
    }
}

static void some_types_have_no_array(void **state)
{
    Context *ctx = *state;
    int64_t dim = DIM_DYNAMIC;
    assert_null(array_new(type_i(ctx, 65)));
    assert_null(array_new(type_float(ctx, TYPE_F80)));
    assert_null(array_new(type_tensor(type_i(ctx, 8), &dim, 1, NULL)));
    assert_null(array_try_new(type_tensor(type_i(ctx, 8), &dim, 1, NULL), INT64_MAX));
}

static void arrays_have_at_most_so_many_elements(void **state)
{
    int64_t dim = 5, large = ARRAY_MAX_BYTES / 8 + 1;
    const Type *five = type_tensor(type_i(*state, 64), &dim, 1, NULL);
    assert_null(array_try_new(five, 4));
    assert_null(array_try_new(type_tensor(type_i(*state, 64), &large, 1, NULL), INT64_MAX));
    Array *array = array_try_new(five, 5);
    assert_non_null(array);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(array_get_i64(array, i), 0);
    array_unref(array);
}

static void a_shared_array_is_copied_before_it_changes(void **state)
{
    Array *first = array_new(type_i(*state, 8));
    Array *second = array_own(array_ref(first));
    array_set_i64(second, 0, 5);
    assert_int_equal(array_get_i64(first, 0), 0);
    assert_ptr_equal(array_own(first), first);
    array_unref(first);
    array_unref(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_wrap_to_their_width, setup, teardown),
        cmocka_unit_test_setup_teardown(floats_round_to_their_format, setup, teardown),
        cmocka_unit_test_setup_teardown(narrow_floats_have_neighbours_too, setup, teardown),
        cmocka_unit_test_setup_teardown(other_roundings_give_both_neighbours, setup, teardown),
        cmocka_unit_test_setup_teardown(attributes_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(some_types_have_no_array, setup, teardown),
        cmocka_unit_test_setup_teardown(arrays_have_at_most_so_many_elements, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shared_array_is_copied_before_it_changes, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
