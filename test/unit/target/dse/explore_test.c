/* Dominance between the points of an exploration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/dse/dse.h"

static void add(ExplorePoints *points, int64_t interval, int64_t dsp, int64_t bram18, int64_t lut)
{
    *vec_push(points) =
        (ExplorePoint){.interval = interval, .cost = {.dsp = dsp, .bram18 = bram18, .lut = lut}};
}

static void drops_what_others_beat(void **state)
{
    ExplorePoints points = {0};
    (void)state;
    add(&points, 10, 9, 5, 100);
    add(&points, 20, 9, 5, 100); /* slower, and not smaller */
    add(&points, 30, 4, 6, 100); /* fewer DSPs */
    add(&points, 40, 5, 5, 90);
    add(&points, 50, 4, 5, 80); /* smaller than the one before in all */
    dse_explore_drop_dominated(&points);
    assert_int_equal(points.len, 4);
    assert_int_equal(points.data[0].interval, 10);
    assert_int_equal(points.data[1].interval, 30);
    assert_int_equal(points.data[2].interval, 40);
    assert_int_equal(points.data[3].interval, 50);
    vec_free(&points);
}

/* One that comes later may dominate one before. */
static void looks_both_ways(void **state)
{
    ExplorePoints points = {0};
    (void)state;
    add(&points, 10, 9, 5, 100);
    add(&points, 10, 8, 5, 100);
    add(&points, 10, 8, 5, 99);
    dse_explore_drop_dominated(&points);
    assert_int_equal(points.len, 1);
    assert_int_equal(points.data[0].cost.lut, 99);
    vec_free(&points);
}

static void keeps_one_of_equals(void **state)
{
    ExplorePoints points = {0};
    (void)state;
    for (int i = 0; i < 3; i++) add(&points, 7, 1, 1, 1);
    dse_explore_drop_dominated(&points);
    assert_int_equal(points.len, 1);
    vec_free(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_what_others_beat),
        cmocka_unit_test(looks_both_ways),
        cmocka_unit_test(keeps_one_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
