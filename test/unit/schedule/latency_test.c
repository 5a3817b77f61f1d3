/* Chaining and cutting of operators at a clock of 4 ns, of which 2,920 ps are for logic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "schedule/schedule.h"

static void operators_follow_each_other_in_a_cycle(void **state)
{
    Clock clock = clock_of_period(4000);
    const OpTiming wire = {0, 0}, add = {0, 1000}, slow = {0, 4000}, dsp = {2, 600};
    (void)state;
    assert_int_equal(clock.usable_ps, 2920);
    assert_int_equal(clock_after(clock, 700, wire), 700);
    assert_int_equal(clock_after(clock, 0, add), 1000);
    assert_int_equal(clock_after(clock, 1920, add), 2920);        /* just fits */
    assert_int_equal(clock_after(clock, 1921, add), 2920 + 1000); /* the next cycle */
    assert_int_equal(clock_after(clock, 2920, add), 2920 + 1000);
    assert_int_equal(clock_after(clock, 10, slow), 2 * 2920 + 1080); /* a register inside */
    assert_int_equal(clock_after(clock, 100, dsp), 2 * 2920 + 600);
}

static void operators_wait_for_their_cycle(void **state)
{
    Clock clock = clock_of_period(4000);
    const OpTiming wire = {0, 0}, add = {0, 1000}, dsp = {2, 600};
    (void)state;
    assert_int_equal(clock_put_off(clock, 2000, add, 0), 2000); /* it is there by itself */
    assert_int_equal(clock_put_off(clock, 2 * 2920 + 5, add, 1), 2 * 2920 + 5);
    assert_int_equal(clock_put_off(clock, 2000, add, 3), 3 * 2920 + 1000);
    assert_int_equal(clock_put_off(clock, 2 * 2920 + 600, dsp, 3), 3 * 2920 + 600);
    assert_int_equal(clock_put_off(clock, 0, wire, 1), 2920 + 1);  /* not in cycle 0's register */
    assert_int_equal(clock_result_cycle(clock, 2 * 2920, add), 1); /* it takes all of cycle 1 */
    assert_int_equal(clock_result_cycle(clock, 2 * 2920, wire), 2);
    assert_int_equal(clock_put_off(clock, 2 * 2920, add, 2), 2 * 2920 + 1000);
}

static void cycles_are_counted_from_zero(void **state)
{
    Clock clock = clock_of_period(4000);
    (void)state;
    assert_int_equal(clock_cycle(clock, 0), 0);
    assert_int_equal(clock_cycle(clock, 2919), 0);
    assert_int_equal(clock_cycle(clock, 2920), 1);
    assert_int_equal(clock_cycles_until(clock, 0), 0);
    assert_int_equal(clock_cycles_until(clock, 1), 1);
    assert_int_equal(clock_cycles_until(clock, 2920), 1);
    assert_int_equal(clock_cycles_until(clock, 2921), 2);
    assert_int_equal(clock_of_period(1).usable_ps, 1);
}

static void registers_are_chosen_by_multiplexers(void **state)
{
    (void)state;
    assert_int_equal(latency_register_load(1).delay, 0);
    assert_int_equal(latency_register_load(4).delay, latency_register_load(3).delay);
    assert_true(latency_register_load(64).delay > latency_register_load(4).delay);
    assert_int_equal(latency_memory_load(STR("bram")).stages, 1);
    assert_true(latency_memory_load(STR("lutram")).delay < latency_memory_load(STR("bram")).delay);
    assert_int_equal(latency_memory_store(STR("bram")).stages, 0);
    assert_true(latency_memory_store(STR("lutram")).delay > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_follow_each_other_in_a_cycle),
        cmocka_unit_test(operators_wait_for_their_cycle),
        cmocka_unit_test(cycles_are_counted_from_zero),
        cmocka_unit_test(registers_are_chosen_by_multiplexers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
