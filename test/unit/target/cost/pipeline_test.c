/* Iterations in time against schedules worked out by hand: a clock whose usable part is 1,000 ps,
 * and operators of round delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/cost/internal.h"

static void operators_follow_while_they_fit(void **state)
{
    (void)state;
    Iteration it = {.clock = {1000}};
    const OpTiming short_op = {0, 400}, product = {2, 300};
    assert_int_equal(iteration_op(&it, 0, short_op), 400);
    assert_int_equal(iteration_op(&it, 400, short_op), 800);
    assert_int_equal(iteration_op(&it, 800, short_op), 1400); /* in the next cycle */
    assert_int_equal(iteration_op(&it, 1400, product), 3300);
    assert_int_equal(iteration_depth(&it), 4);
}

static void words_leave_after_the_last_read(void **state)
{
    (void)state;
    Iteration it = {.clock = {10000}};
    iteration_write(&it, 0);
    it.last_read = 3;
    assert_int_equal(iteration_write_cycle(&it), 3);
    assert_int_equal(iteration_depth(&it), 4);
}

/* A process takes a cycle to start a frame, a loop another: 1 + 3 (1 + 9 * 2 + 5). */
static void frames(void **state)
{
    (void)state;
    const CostPipeline p = {
        .executions = 3, .trips = 10, .ii = 2, .depth = 5, .first = 4, .write = 3};
    assert_int_equal(cost_pipeline_cycles(&p), 73);
    assert_int_equal(cost_pipeline_fill(&p), 12); /* 4 * 2 cycles, then the fourth of the depth */
    const CostPipeline again = {.executions = 1, .trips = 10, .ii = 2, .depth = 5, .rewinds = true};
    assert_int_equal(cost_pipeline_cycles(&again), 20);
}

/* At 250 MHz an iteration has 2,920 ps: a read and a write of 900 ps each fit one cycle. */
static void copies(void **state)
{
    (void)state;
    Clock clock = clock_of_period(4000);
    CostPipeline fork = cost_pipeline_fork(100, clock),
                 join = cost_pipeline_converter(25, 4, true, clock);
    assert_int_equal(fork.depth, 1);
    assert_int_equal(cost_pipeline_cycles(&fork), 102);
    assert_int_equal(join.first, 3);
    assert_int_equal(cost_pipeline_cycles(&join), 102);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_follow_while_they_fit),
        cmocka_unit_test(words_leave_after_the_last_read),
        cmocka_unit_test(frames),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
