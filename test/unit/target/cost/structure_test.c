/* The two structures of a design: what Yosys 0.23 counts in modules of our Verilog, and what the C++
 * is taken to cost beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "target/cost/cost.h"

/* An end of a frame of so many bytes, in words of so many. */
static const Type *end_of(Context *ctx, int64_t bytes, int64_t word)
{
    return dfg_end_type(&dfg_type_output, type_tensor(type_i(ctx, 8), &bytes, 1, NULL), &word);
}

static CostTarget target_of(CostStructure structure)
{
    return (CostTarget){.structure = structure, .clock = clock_of_period(4000)};
}

/* 16,384 words: a counter of 14 bits, 21 LUTs of which count and compare. Yosys counts 24 LUTs and 16
 * flip-flops. */
static void forks(void **state)
{
    Context *ctx = context_create();
    Cost sum;
    (void)state;
    const CostTarget hls = target_of(STRUCTURE_HLS), verilog = target_of(STRUCTURE_VERILOG);
    cost_fork(end_of(ctx, 16384, 1), &hls, &sum);
    assert_int_equal(sum.lut, 60 + 2 * 14);
    assert_int_equal(sum.ff, 60 + 1 + 14);
    cost_fork(end_of(ctx, 16384, 1), &verilog, &sum);
    assert_int_equal(sum.lut, 1 + 2 + 21);
    assert_int_equal(sum.ff, 1 + 1 + 14);
    context_destroy(ctx);
}

/* 48 bytes in words of 4 to bytes: of a word of the input three bytes wait, and each is loaded or
 * moves up. */
static void converters_that_split(void **state)
{
    Context *ctx = context_create();
    Cost sum;
    (void)state;
    const CostTarget hls = target_of(STRUCTURE_HLS), verilog = target_of(STRUCTURE_VERILOG);
    cost_conversion(end_of(ctx, 48, 4), NULL, end_of(ctx, 48, 1), &hls, &sum);
    assert_int_equal(sum.lut, 60 + 2 * (4 + 2) + 24 / 2);
    assert_int_equal(sum.ff, 60 + 1 + 4 + 2 + 32);
    cost_conversion(end_of(ctx, 48, 4), NULL, end_of(ctx, 48, 1), &verilog, &sum);
    assert_int_equal(sum.lut, 1 + 2 + 6 + 3 + 24);
    assert_int_equal(sum.ff, 1 + 1 + 4 + 2 + 24);
    context_destroy(ctx);
}

/* FIFOs of the library: words and both ends are counted, a word passes beside blocks, and banks of 64
 * words of LUTRAM are chosen from. */
static void fifos(void **state)
{
    static const struct {
        FifoKind kind;
        int64_t width, depth, lut, ff, bram18, uram;
    } cases[] = {
        {FIFO_SRL, 32, 16, 4 + 2 * 4 + 32, 3 + 2 * 4, 0, 0},
        {FIFO_SRL, 32, 2, 4 + 2 + 32, 3 + 2 + 64, 0, 0},
        {FIFO_LUTRAM, 14, 64, 5 + 4 * 6 + 16, 3 + 3 * 6, 0, 0},
        {FIFO_LUTRAM, 14, 128, 5 + 4 * 7 + 32 + 14, 3 + 3 * 7, 0, 0},
        {FIFO_BRAM, 36, 512, 5 + 4 * 9 + 36, 3 + 3 * 9 + 36, 1, 0},
        {FIFO_URAM, 72, 4096, 5 + 4 * 12 + 72, 3 + 3 * 12 + 72, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Cost sum = {.cycles = 0};
        memory_fifo_cost(cases[i].kind, cases[i].width, cases[i].depth, STRUCTURE_VERILOG, &sum);
        assert_int_equal(sum.lut, cases[i].lut);
        assert_int_equal(sum.ff, cases[i].ff);
        assert_int_equal(sum.bram18, cases[i].bram18);
        assert_int_equal(sum.uram, cases[i].uram);
    }
}

/* A memory costs the same blocks in both; LUTRAM of 256 words has its choice in Verilog alone. */
static void memories(void **state)
{
    const Memory block = {.width = 36, .depth = 512, .readers = 1, .kind = MEMORY_BRAM};
    const Memory lutram = {.width = 14, .depth = 256, .readers = 1, .kind = MEMORY_LUTRAM};
    Cost hls = {.cycles = 0}, verilog = {.cycles = 0};
    (void)state;
    memory_cost(&block, STRUCTURE_HLS, &hls);
    memory_cost(&block, STRUCTURE_VERILOG, &verilog);
    assert_int_equal(hls.bram18, 1);
    assert_memory_equal(&hls, &verilog, sizeof(hls));
    memory_cost(&lutram, STRUCTURE_HLS, &hls);
    memory_cost(&lutram, STRUCTURE_VERILOG, &verilog);
    assert_int_equal(hls.lut, 64);
    assert_int_equal(verilog.lut, 64 + 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forks),
        cmocka_unit_test(converters_that_split),
        cmocka_unit_test(fifos),
        cmocka_unit_test(memories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
