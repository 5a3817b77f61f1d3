/* The cost model's formulas against figures worked out by hand from the device's documentation. */
#include "target/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void small_memories_are_lutram(void **state)
{
    (void)state;
    assert_true(memory_is_small(4096, 64));
    assert_true(memory_is_small(1, 1024));
    assert_false(memory_is_small(1, 1025));
    assert_false(memory_is_small(16, 65));
    assert_int_equal(memory_bram18(4096, 64), 0);
}

static void block_ram_shapes(void **state)
{
    (void)state;
    assert_int_equal(memory_bram18(36, 512), 1);
    assert_int_equal(memory_bram18(37, 512), 2);
    assert_int_equal(memory_bram18(18, 1024), 1);
    assert_int_equal(memory_bram18(9, 2048), 1);
    assert_int_equal(memory_bram18(8, 2049), 2);  /* two of 4096 x 4 */
    assert_int_equal(memory_bram18(1, 16384), 1);
    assert_int_equal(memory_bram18(1, 16385), 2);
    assert_int_equal(memory_bram18(72, 513), 4);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_memories_are_lutram),
        cmocka_unit_test(block_ram_shapes),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
