/* Memories against figures worked out by hand from the device's documentation. */
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

/* 4096 words of 72 bits. */
static void ultra_ram_shapes(void **state)
{
    (void)state;
    assert_int_equal(memory_blocks_uram(72, 4096), 1);
    assert_int_equal(memory_blocks_uram(73, 4096), 2);
    assert_int_equal(memory_blocks_uram(8, 4097), 2);
}

/* A LUT holds 64 bits that are only read, or two columns of 32 bits. */
static void lutram_sizes(void **state)
{
    (void)state;
    assert_int_equal(memory_rom_luts(8, 64), 8);
    assert_int_equal(memory_rom_luts(8, 65), 16);
    assert_int_equal(memory_ram_luts(8, 32), 4);
    assert_int_equal(memory_ram_luts(9, 33), 10);
}

/* Six lanes that look up 256 bytes each: three block RAMs of two ports, six LUTRAMs of 32 LUTs. */
static void ports_make_copies(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    Memory m = {.width = 8, .depth = 256, .readers = 6, .is_rom = true, .kind = MEMORY_BRAM};
    memory_cost(&m, &sum);
    assert_int_equal(sum.bram18, 3);
    assert_int_equal(sum.lut, 0);
    m.kind = MEMORY_LUTRAM;
    memory_cost(&m, &sum);
    assert_int_equal(sum.lut, 192);
}

/* One port writes: two readers need a copy each. */
static void written_memories_have_one_port_to_read(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    const Memory m = {.width = 72, .depth = 4096, .readers = 2, .kind = MEMORY_URAM};
    memory_cost(&m, &sum);
    assert_int_equal(sum.uram, 2);
    assert_int_equal(sum.bram18, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_memories_are_lutram), cmocka_unit_test(block_ram_shapes),
        cmocka_unit_test(ultra_ram_shapes),          cmocka_unit_test(lutram_sizes),
        cmocka_unit_test(ports_make_copies),
        cmocka_unit_test(written_memories_have_one_port_to_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
