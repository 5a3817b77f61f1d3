/* The cost model's formulas against figures worked out by hand from the device's documentation. */
#include "target/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void products(void **state)
{
    (void)state;
    assert_int_equal(product_dsp(3, 3), 0);
    assert_int_equal(product_dsp(8, 2), 1);
    assert_int_equal(product_dsp(27, 18), 1);
    assert_int_equal(product_dsp(18, 27), 1);
    assert_int_equal(product_dsp(28, 18), 2);
    assert_int_equal(product_dsp(33, 32), 4);
}

/* FINN: (2 ceil((a + b) / 6) - 1) (a + b). */
static void products_in_luts(void **state)
{
    (void)state;
    assert_int_equal(product_luts(2, 2), 4);
    assert_int_equal(product_luts(4, 4), 24);
    assert_int_equal(product_luts(8, 8), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(products_in_luts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
