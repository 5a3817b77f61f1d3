/* Constant folding of elements: scalars, splats, lists; widths from 1 to 128 bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/common/common.h"

static bool lane_sum(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_add(lane->arena, &args[0], &args[1]);
    return true;
}

static bool lane_is_negative(const Lane *lane, const BigInt *args, BigInt *out)
{
    *out = bigint_from_i64(lane->arena, 1, bigint_is_negative(&args[0]));
    return true;
}

static bool lane_refuses_zero(const Lane *lane, const BigInt *args, BigInt *out)
{
    (void)lane;
    *out = args[0];
    return !bigint_is_zero(&args[0]);
}

static double half_sum(double a, double b)
{
    return a / 2 + b / 2;
}

static bool lane_half_sum(const Lane *lane, const BigInt *args, BigInt *out)
{
    return lane_float2(lane, args, out, half_sum);
}

static const Attr *list(const Type *elem, const int64_t *values, size_t count)
{
    int64_t dims[] = {(int64_t)count};
    return attr_dense_i64(type_tensor(elem, dims, 1, NULL), values, count);
}

static void scalars_fold_in_their_width(void **state)
{
    Context *ctx = *state;
    const Type *i8 = type_i(ctx, 8);
    const Attr *operands[] = {attr_int(i8, 100), attr_int(i8, 100)};
    assert_ptr_equal(lane_fold_all(operands, 2, i8, lane_sum, NULL), attr_int(i8, -56));
}

static void wide_integers_fold(void **state)
{
    Context *ctx = *state;
    const Type *i128 = type_i(ctx, 128);
    BigInt big;
    assert_true(bigint_parse(context_arena(ctx), STR("0xFFFFFFFFFFFFFFFF"), 128, &big));
    const Attr *operands[] = {attr_bigint(i128, &big), attr_int(i128, 1)};
    const Attr *sum = lane_fold_all(operands, 2, i128, lane_sum, NULL);
    assert_non_null(sum);
    assert_int_equal(bigint_words(&sum->u.integer)[0], 0);
    assert_int_equal(bigint_words(&sum->u.integer)[1], 1);
}

static void equal_results_become_a_splat(void **state)
{
    Context *ctx = *state;
    const Type *i16 = type_i(ctx, 16);
    const Attr *operands[] = {list(i16, (int64_t[]){1, 2, 3}, 3),
                              list(i16, (int64_t[]){4, 3, 2}, 3)};
    const Attr *sum = lane_fold_all(operands, 2, operands[0]->type, lane_sum, NULL);
    assert_non_null(sum);
    assert_true(sum->u.dense.is_splat);
    assert_int_equal(dense_i64(sum, 2), 5);
}

static void splats_combine_with_lists(void **state)
{
    Context *ctx = *state;
    const Type *i32 = type_i(ctx, 32);
    const Attr *values = list(i32, (int64_t[]){1, -2}, 2);
    const Attr *operands[] = {attr_dense_splat(values->type, attr_int(i32, 10)), values};
    assert_ptr_equal(lane_fold_all(operands, 2, values->type, lane_sum, NULL),
                     list(i32, (int64_t[]){11, 8}, 2));
}

static void booleans_are_packed(void **state)
{
    Context *ctx = *state;
    int64_t values[11], expected[11], dims[] = {11};
    for (int i = 0; i < 11; i++) {
        values[i] = i % 3 == 0 ? -1 : i;
        expected[i] = i % 3 == 0;
    }
    const Attr *operand = list(type_i(ctx, 32), values, 11);
    const Type *type = type_tensor(type_i(ctx, 1), dims, 1, NULL);
    assert_ptr_equal(lane_fold_all(&operand, 1, type, lane_is_negative, NULL),
                     attr_dense_i64(type, expected, 11));
}

static void one_refusal_stops_the_fold(void **state)
{
    Context *ctx = *state;
    const Attr *operand = list(type_i(ctx, 8), (int64_t[]){1, 0, 2}, 3);
    assert_null(lane_fold_all(&operand, 1, operand->type, lane_refuses_zero, NULL));
    const Attr *missing[] = {operand, NULL};
    assert_null(lane_fold_all(missing, 2, operand->type, lane_sum, NULL));
}

static void floats_round_once_and_quiet_nans(void **state)
{
    Context *ctx = *state;
    const Type *f16 = type_float(ctx, TYPE_F16);
    const Attr *operands[] = {attr_float(f16, 2048), attr_float(f16, 2050)};
    assert_true(attr_float_value(lane_fold_all(operands, 2, f16, lane_half_sum, NULL)) == 2048);
    const Type *f32 = type_float(ctx, TYPE_F32);
    const Attr *nans[] = {attr_float_bits(f32, 0x7FA00001), attr_float(f32, 1)};
    assert_ptr_equal(lane_fold_all(nans, 2, f32, lane_half_sum, NULL),
                     attr_float_bits(f32, 0x7FE00001));
}

static void splat_queries(void **state)
{
    Context *ctx = *state;
    const Type *i1 = type_i(ctx, 1);
    const Attr *truth = attr_bool(ctx, true);
    assert_true(const_is_int(truth, 1));
    assert_true(const_is_all_ones(truth));
    assert_false(const_is_int(attr_int(i1, 0), 1));
    const Attr *values = list(type_i(ctx, 8), (int64_t[]){7, 7}, 2);
    assert_true(const_is_int(values, 7));
    assert_false(const_is_int(list(type_i(ctx, 8), (int64_t[]){7, 8}, 2), 7));
    assert_false(const_is_int(NULL, 0));
    int64_t dims[] = {DIM_DYNAMIC};
    assert_null(const_zero(type_tensor(i1, dims, 1, NULL)));
    assert_true(const_is_int(const_zero(values->type), 0));
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_fold_in_their_width, setup, teardown),
        cmocka_unit_test_setup_teardown(wide_integers_fold, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_results_become_a_splat, setup, teardown),
        cmocka_unit_test_setup_teardown(splats_combine_with_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(booleans_are_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(one_refusal_stops_the_fold, setup, teardown),
        cmocka_unit_test_setup_teardown(floats_round_once_and_quiet_nans, setup, teardown),
        cmocka_unit_test_setup_teardown(splat_queries, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
