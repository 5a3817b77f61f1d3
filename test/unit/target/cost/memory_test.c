/* Memories against figures worked out by hand from the device's documentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/fifo/internal.h"

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
    assert_int_equal(memory_bram18(8, 2049), 2); /* two of 4096 x 4 */
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

/* A LUT holds 64 bits that are only read. Eight hold 14 columns of 32 bits that are written, too,
 * four hold 6; Vivado builds 16 x 320 bits of 23 times eight. */
static void lutram_sizes(void **state)
{
    (void)state;
    assert_int_equal(memory_rom_luts(8, 64), 8);
    assert_int_equal(memory_rom_luts(8, 65), 16);
    assert_int_equal(memory_ram_luts(320, 16), 184);
    assert_int_equal(memory_ram_luts(14, 32), 8);
    assert_int_equal(memory_ram_luts(15, 33), 2 * (8 + 2));
    assert_int_equal(memory_ram_luts(20, 32), 8 + 4);
    assert_int_equal(memory_ram_luts(7, 32), 8);
}

/* Six lanes that look up 256 bytes each: three block RAMs of two ports, six LUTRAMs of 32 LUTs. */
static void ports_make_copies(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    Memory m = {.width = 8, .depth = 256, .readers = 6, .is_rom = true, .kind = MEMORY_BRAM};
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.bram18, 3);
    assert_int_equal(sum.lut, 0);
    m.kind = MEMORY_LUTRAM;
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.lut, 192);
}

/* On the 7 series 18,432 words are 32,768, and 14 columns of LUTRAM take three RAM32M. */
static void seven_series_have_other_memories(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    Memory m = {.width = 32, .depth = 18432, .readers = 1, .kind = MEMORY_BRAM};
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.bram18, 36);
    m.is_7_series = true;
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.bram18, 36 + 64);
    m = (Memory){
        .width = 14, .depth = 33, .readers = 1, .kind = MEMORY_LUTRAM, .is_7_series = true};
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.lut, 2 * 3 * 4);
}

/* Four banks that two lanes read each. */
static void banks_add_up(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    Memory m = {
        .width = 1, .depth = 256, .readers = 2, .banks = 4, .is_rom = true, .kind = MEMORY_LUTRAM};
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.lut, 4 * 2 * 4);
}

/* One port writes: two readers need a copy each. */
static void written_memories_have_one_port_to_read(void **state)
{
    (void)state;
    Cost sum = {.cycles = 0};
    const Memory m = {.width = 72, .depth = 4096, .readers = 2, .kind = MEMORY_URAM};
    memory_cost(&m, STRUCTURE_HLS, &sum);
    assert_int_equal(sum.uram, 2);
    assert_int_equal(sum.bram18, 0);
}

/* Vivado's counts for 32 bits are 40 LUTs and 64 flip-flops at depth 2, 44 and 7 at depth 16, to which
 * shift registers come within three. Memories: two counters of log2(depth) bits; 14 bits of 32 words in
 * eight LUTs; RAMB18 36 x 512; URAM 72 x 4096. */
static void fifos_count_what_they_are_built_of(void **state)
{
    static const struct {
        FifoUse fifo;
        int64_t lut, ff, bram18, uram;
    } cases[] = {
        {{32, 2, FIFO_SRL}, 41, 67 + 1, 0, 0},
        {{32, 16, FIFO_SRL}, 44, 7, 0, 0},
        {{32, 33, FIFO_SRL}, 8 + 6 + 64, 9, 0, 0},
        {{64, 33, FIFO_LUTRAM}, 12 + 2 * (4 * 8 + 8), 12 + 64, 0, 0},
        {{72, 600, FIFO_BRAM}, 20, 20, 4, 0},
        {{144, 4097, FIFO_URAM}, 26, 26, 0, 4},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Cost sum = {.cycles = 0};
        fifo_costs(&cases[i].fifo, 1, &sum);
        assert_int_equal(sum.lut, cases[i].lut);
        assert_int_equal(sum.ff, cases[i].ff);
        assert_int_equal(sum.bram18, cases[i].bram18);
        assert_int_equal(sum.uram, cases[i].uram);
    }
}

/* Three FIFOs take 18 LUTs for counters, and two block RAMs or 9 * 44 more LUTs; a fourth takes 81.
 * All in block RAM, the shares are 8 of 8 blocks and 1,135 of 2,500 LUTs, their squares 1.21 in sum;
 * with one, two and three in LUTRAM they are 6 and 1,531 (0.94), 4 and 1,927 (0.84), 2 and 2,323
 * (0.93). */
static void fifos_go_where_memory_is_not_scarce(void **state)
{
    FifoUse fifos[] = {
        {72, 257, FIFO_SRL}, {72, 257, FIFO_SRL}, {72, 257, FIFO_SRL}, {72, 2, FIFO_SRL}};
    const Cost others = {.bram18 = 2, .lut = 1000};
    const Cost limits = {.dsp = -1, .bram18 = 8, .uram = -1, .lut = 2500, .ff = -1};
    Cost sum = others;
    (void)state;
    fifo_choose_kinds(fifos, COUNT_OF(fifos), &others, &limits);
    fifo_costs(fifos, COUNT_OF(fifos), &sum);
    assert_int_equal(fifos[0].kind, FIFO_LUTRAM);
    assert_int_equal(fifos[1].kind, FIFO_LUTRAM);
    assert_int_equal(fifos[2].kind, FIFO_BRAM);
    assert_int_equal(fifos[3].kind, FIFO_SRL);
    assert_int_equal(sum.bram18, 4);
    assert_int_equal(sum.lut, 1927);
}

/* 16 words of 288 bits take 300 LUTs as a shift register and 8 + 168 as LUTRAM, with 296 flip-flops in
 * place of 7: that is for designs that lack LUTs and have flip-flops. */
static void wide_fifos_are_lutram_where_luts_are_short(void **state)
{
    static const struct {
        int64_t lut, ff;
        FifoKind kind;
    } cases[] = {{1300, -1, FIFO_SRL},
                 {1299, -1, FIFO_LUTRAM},
                 {1299, 295, FIFO_SRL},
                 {1000, 296, FIFO_LUTRAM}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        FifoUse fifo = {288, 16, FIFO_BRAM};
        const Cost others = {.lut = 1000};
        const Cost limits = {
            .dsp = -1, .bram18 = 0, .uram = -1, .lut = cases[i].lut, .ff = cases[i].ff};
        fifo_choose_kinds(&fifo, 1, &others, &limits);
        assert_int_equal(fifo.kind, cases[i].kind);
    }
}

/* A block too many is 534 LUTs instead of 22, for which there is room only once the shift register of
 * 300 LUTs is LUTRAM of 176, though that by itself does not help the blocks. */
static void kinds_change_in_turn(void **state)
{
    FifoUse fifos[] = {{8, 2048, FIFO_SRL}, {288, 16, FIFO_SRL}};
    const Cost others = {.bram18 = 20, .lut = 1000};
    const Cost limits = {.dsp = -1, .bram18 = 20, .uram = -1, .lut = 1720, .ff = -1};
    Cost sum = others;
    (void)state;
    fifo_choose_kinds(fifos, COUNT_OF(fifos), &others, &limits);
    fifo_costs(fifos, COUNT_OF(fifos), &sum);
    assert_int_equal(sum.bram18, 20);
    assert_int_equal(sum.lut, 1710);
}

/* FIFOs that will be as deep as their storage: 33 words of LUTRAM are 64, 3 of a shift register 16. */
static void fifos_that_are_filled_cost_what_they_hold(void **state)
{
    const FifoUse filled = {.width = 14, .depth = 33, .kind = FIFO_LUTRAM, .is_filled = true},
                  whole = {.width = 14, .depth = 64, .kind = FIFO_LUTRAM},
                  srl = {.width = 8, .depth = 3, .kind = FIFO_SRL, .is_filled = true},
                  of_16 = {.width = 8, .depth = 16, .kind = FIFO_SRL};
    Cost costs[4] = {{.cycles = 0}};
    (void)state;
    fifo_costs(&filled, 1, &costs[0]);
    fifo_costs(&whole, 1, &costs[1]);
    fifo_costs(&srl, 1, &costs[2]);
    fifo_costs(&of_16, 1, &costs[3]);
    assert_memory_equal(&costs[0], &costs[1], sizeof(Cost));
    assert_memory_equal(&costs[2], &costs[3], sizeof(Cost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_memories_are_lutram),
        cmocka_unit_test(block_ram_shapes),
        cmocka_unit_test(ultra_ram_shapes),
        cmocka_unit_test(lutram_sizes),
        cmocka_unit_test(ports_make_copies),
        cmocka_unit_test(banks_add_up),
        cmocka_unit_test(seven_series_have_other_memories),
        cmocka_unit_test(written_memories_have_one_port_to_read),
        cmocka_unit_test(fifos_count_what_they_are_built_of),
        cmocka_unit_test(fifos_go_where_memory_is_not_scarce),
        cmocka_unit_test(wide_fifos_are_lutram_where_luts_are_short),
        cmocka_unit_test(kinds_change_in_turn),
        cmocka_unit_test(fifos_that_are_filled_cost_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
