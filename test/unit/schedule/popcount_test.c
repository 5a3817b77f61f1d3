/* The tree that counts bits: its shape covers all bits, and its figures follow from the shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "schedule/schedule.h"

/* LUTs of the adders and the longest way through them, by walking the tree. */
static int64_t walk(int64_t count, int64_t *depth)
{
    int64_t low_depth, high_depth, low = sched_popcount_low_half(count);
    *depth = 0;
    if (count <= POPCOUNT_LEAF) return 0;
    assert_true(low > 0 && low < count && low % POPCOUNT_LEAF == 0);
    int64_t luts =
        sched_popcount_bits(count) + walk(low, &low_depth) + walk(count - low, &high_depth);
    *depth = 1 + i64_max(low_depth, high_depth);
    return luts;
}

static void sums_are_of_two_parts_each(void **state)
{
    (void)state;
    for (int64_t count = 1; count <= 600; count++) {
        int64_t depth;
        assert_int_equal(sched_popcount_adder_luts(count), walk(count, &depth));
        assert_int_equal(depth, i64_log2_up(ceil_div(count, POPCOUNT_LEAF)));
    }
}

static void counts_have_the_bits_they_take(void **state)
{
    (void)state;
    assert_int_equal(sched_popcount_bits(1), 1);
    assert_int_equal(sched_popcount_bits(3), 2);
    assert_int_equal(sched_popcount_bits(4), 3);
    assert_int_equal(sched_popcount_bits(1023), 10);
    assert_int_equal(sched_popcount_bits(1024), 11);
    assert_int_equal(sched_popcount_adder_luts(6), 3);
    assert_int_equal(sched_popcount_adder_luts(64), 83);
}

/* Longer words take no less time; a leaf is a level of logic. */
static void longer_words_take_no_less_time(void **state)
{
    (void)state;
    int64_t before = 0;
    assert_int_equal(latency_popcount(2).delay, latency_logic().delay);
    for (int64_t count = 1; count <= 600; count++) {
        assert_true(latency_popcount(count).delay >= before);
        before = latency_popcount(count).delay;
    }
}

static void rows_are_split_beyond_the_widest_word(void **state)
{
    (void)state;
    assert_false(sched_popcount_splits_rows(64, 64));
    assert_true(sched_popcount_splits_rows(64, 65));
    assert_false(sched_popcount_splits_rows(8192, 1)); /* no words of bits */
}

static void the_top_plane_of_a_signed_operand_is_negative(void **state)
{
    (void)state;
    const PopcountOperand is_signed = {.planes = 3, .is_signed = true}, is_unsigned = {.planes = 3};
    assert_int_equal(sched_popcount_weight(&is_signed, 0), 1);
    assert_int_equal(sched_popcount_weight(&is_signed, 2), -4);
    assert_int_equal(sched_popcount_weight(&is_unsigned, 2), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_two_parts_each),
        cmocka_unit_test(counts_have_the_bits_they_take),
        cmocka_unit_test(longer_words_take_no_less_time),
        cmocka_unit_test(rows_are_split_beyond_the_widest_word),
        cmocka_unit_test(the_top_plane_of_a_signed_operand_is_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
