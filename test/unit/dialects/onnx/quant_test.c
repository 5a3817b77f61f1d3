/* Quantizers: rounding modes, exact powers of two, ranges, the mapping of single inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/onnx/onnx.h"

/* Quarters from -2.75 to 2.75 and what each mode makes of them. */
static void rounding_modes_round(void **state)
{
    (void)state;
    static const double inputs[] = {-2.75, -2.5, -2.25, -1.5, -0.5, 0, 0.5, 1.5, 2.25, 2.5, 2.75};
    static const int64_t want[ROUNDING_COUNT][COUNT_OF(inputs)] = {
        [ROUND_HALF_EVEN] = {-3, -2, -2, -2, 0, 0, 0, 2, 2, 2, 3},
        [ROUND_CEIL] = {-2, -2, -2, -1, 0, 0, 1, 2, 3, 3, 3},
        [ROUND_FLOOR] = {-3, -3, -3, -2, -1, 0, 0, 1, 2, 2, 2},
        [ROUND_UP] = {-3, -3, -3, -2, -1, 0, 1, 2, 3, 3, 3},
        [ROUND_DOWN] = {-2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2},
        [ROUND_HALF_UP] = {-3, -3, -2, -2, -1, 0, 1, 2, 2, 3, 3},
        [ROUND_HALF_DOWN] = {-3, -2, -2, -1, 0, 0, 0, 1, 2, 2, 3},
    };
    for (int mode = 0; mode < ROUNDING_COUNT; mode++)
        for (size_t i = 0; i < COUNT_OF(inputs); i++)
            assert_int_equal(onnx_rounding_apply((Rounding)mode, inputs[i]), want[mode][i]);
}

/* Around 2^51, where half even changes its way. */
static void large_numbers_round(void **state)
{
    (void)state;
    const double most = 2251799813685248.0;
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, most - 0.5), (int64_t)most);
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, most - 1.5), (int64_t)most - 2);
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, -most + 0.5), -(int64_t)most);
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, most + 0.5), (int64_t)most);
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, most + 1.5), (int64_t)most + 2);
    assert_int_equal(onnx_rounding_apply(ROUND_HALF_EVEN, 2 * most + 1), 2 * (int64_t)most + 1);
}

static void rounding_names_parse(void **state)
{
    (void)state;
    Rounding mode;
    for (int i = 0; i < ROUNDING_COUNT; i++) {
        assert_true(onnx_rounding_parse(str_from(onnx_rounding_name((Rounding)i)), &mode));
        assert_int_equal(mode, i);
    }
    assert_true(onnx_rounding_parse(STR("half_even"), &mode));
    assert_int_equal(mode, ROUND_HALF_EVEN);
    assert_true(onnx_rounding_parse(STR("Floor"), &mode));
    assert_int_equal(mode, ROUND_FLOOR);
    assert_false(onnx_rounding_parse(STR("SIDEWAYS"), &mode));
    assert_false(onnx_rounding_parse(STR("FLOO"), &mode));
    assert_false(onnx_rounding_parse(STR(""), &mode));
}

static void powers_of_two_are_exact(void **state)
{
    (void)state;
    int exponent;
    for (int e = -1022; e <= 1023; e++) {
        assert_true(onnx_exact_log2(onnx_exact_pow2(e), &exponent));
        assert_int_equal(exponent, e);
    }
    assert_true(onnx_exact_log2(4.9406564584124654e-324, &exponent)); /* the smallest subnormal */
    assert_int_equal(exponent, -1074);
    assert_false(onnx_exact_log2(0.0, &exponent));
    assert_false(onnx_exact_log2(-2.0, &exponent));
    assert_false(onnx_exact_log2(0.1, &exponent));
    assert_false(onnx_exact_log2(1e308 * 10, &exponent));
}

static void floats_split(void **state)
{
    (void)state;
    int64_t mantissa;
    int exponent;
    onnx_split_float(-0.75, &mantissa, &exponent);
    assert_int_equal(mantissa, -3);
    assert_int_equal(exponent, -2);
    onnx_split_float(96.0, &mantissa, &exponent);
    assert_int_equal(mantissa, 3);
    assert_int_equal(exponent, 5);
    onnx_split_float(0.0, &mantissa, &exponent);
    assert_int_equal(mantissa, 0);
    assert_int_equal(exponent, 0);
}

/* Clipping comes before rounding, the zero point before both. */
static void inputs_quantize(void **state)
{
    Context *ctx = context_create();
    const Type *f64 = type_float(ctx, TYPE_F64), *f32 = type_float(ctx, TYPE_F32);
    const Quantizer quant = {.zero = 1, .bits = 4, .is_signed = true, .low = -8, .high = 7};
    (void)state;
    assert_int_equal(onnx_quantizer_apply(&quant, f64, 0.5, 0.75), 1);  /* 2.5 -> 2 */
    assert_int_equal(onnx_quantizer_apply(&quant, f64, 0.5, 0.25), 1);  /* 1.5 -> 2 */
    assert_int_equal(onnx_quantizer_apply(&quant, f64, 0.5, 100.0), 6); /* 7 - 1 */
    assert_int_equal(onnx_quantizer_apply(&quant, f64, 0.5, -100.0), -9);
    assert_int_equal(onnx_quantizer_apply(&quant, f64, 1e-300, 1e300), 6);
    const Quantizer bipolar = {.is_bipolar = true, .bits = 1, .is_signed = true};
    assert_int_equal(onnx_quantizer_apply(&bipolar, f64, 0.5, 0.0), 1);
    assert_int_equal(onnx_quantizer_apply(&bipolar, f64, 0.5, -0.25), -1);
    double scale = (double)0.1f; /* 0.25 / scale is 2.5 less 4e-8, which float rounds to a tie */
    assert_int_equal(onnx_quantizer_apply(&quant, f64, scale, 0.25), 2);
    assert_int_equal(onnx_quantizer_apply(&quant, f32, scale, 0.25), 3);
    context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_modes_round), cmocka_unit_test(large_numbers_round),
        cmocka_unit_test(rounding_names_parse), cmocka_unit_test(powers_of_two_are_exact),
        cmocka_unit_test(floats_split),         cmocka_unit_test(inputs_quantize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
