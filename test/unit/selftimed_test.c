/* The self-timed simulation on networks small enough to be followed by hand. */
#include "target/selftimed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { IN = 1, OUT = 2, BOTH = 3, ENOUGH = 1 << 20 };

static AccessTrace trace_of(const AccessRun *runs, size_t count, uint32_t reads, uint32_t writes)
{
    AccessTrace trace = {.reads = reads, .writes = writes};
    for (size_t i = 0; i < count; i++)
        *vec_push(&trace.runs) = runs[i];
    return trace;
}

static Actor *add_actor(Network *net, const AccessTrace *trace)
{
    Actor *actor = vec_push(&net->actors);
    *actor = (Actor){.trace = trace};
    for (int i = 0; i < ACTOR_MAX_PORTS; i++)
        actor->fifo[i] = NO_FIFO;
    return actor;
}

static int64_t add_fifo(Network *net, uint32_t writer, uint32_t out, uint32_t reader, uint32_t in,
                        int64_t depth)
{
    int index = (int)net->fifos.len;
    *vec_push(&net->fifos) = (Fifo){.writer = writer, .reader = reader, .depth = depth};
    net->actors.data[writer].fifo[out] = index;
    net->actors.data[reader].fifo[in] = index;
    return index;
}

/* fork (0) -> hold (1) -> join (2), fork -> join through a FIFO of `depth`. `hold` takes four words
 * before it gives the first. The side FIFO is number 2. */
static NetworkFate run_diamond(int64_t depth, int64_t *peak, int *tight)
{
    static const AccessRun fork_runs[] = {{16, 7}, {ACTOR_LATENCY, 0}},
                           hold_runs[] = {{4, IN}, {12, BOTH}, {4, OUT}, {ACTOR_LATENCY, 0}},
                           join_runs[] = {{16, 7}, {ACTOR_LATENCY, 0}};
    AccessTrace fork = trace_of(fork_runs, 2, 1, 6), hold = trace_of(hold_runs, 4, 1, 2),
                join = trace_of(join_runs, 2, 3, 4);
    Network net = {.events = ENOUGH};
    add_actor(&net, &fork);
    add_actor(&net, &hold);
    add_actor(&net, &join);
    add_fifo(&net, 0, 1, 1, 0, 2);
    add_fifo(&net, 1, 1, 2, 0, 2);
    int64_t side = add_fifo(&net, 0, 2, 2, 1, depth);
    NetworkFate fate = network_run(&net);
    *peak = net.fifos.data[side].peak;
    *tight = fate == NETWORK_DEADLOCK ? network_tight_fifo(&net) : NO_FIFO;
    network_free(&net);
    trace_free(&fork);
    trace_free(&hold);
    trace_free(&join);
    return fate;
}

/* What a deep FIFO holds at most is a depth that changes nothing. */
static void test_peak_is_enough(void **state)
{
    (void)state;
    int64_t peak, again;
    int tight;
    assert_int_equal(run_diamond(1000, &peak, &tight), NETWORK_PERIODIC);
    assert_true(peak > 4 && peak <= 16);
    assert_int_equal(run_diamond(peak, &again, &tight), NETWORK_PERIODIC);
    assert_int_equal(again, peak);
}

static void test_deadlock(void **state)
{
    (void)state;
    int64_t peak;
    int tight;
    assert_int_equal(run_diamond(1, &peak, &tight), NETWORK_DEADLOCK);
    assert_int_equal(peak, 1);
    assert_int_equal(tight, 2);
}

/* A producer that is faster than its consumer is held back by the FIFO between them. */
static void test_back_pressure(void **state)
{
    (void)state;
    static const AccessRun fast_runs[] = {{2, BOTH}}, slow_runs[] = {{1, BOTH}, {9, 0}, {1, IN}};
    AccessTrace fast = trace_of(fast_runs, 1, 1, 2), slow = trace_of(slow_runs, 3, 1, 2);
    Network net = {.events = ENOUGH};
    add_actor(&net, &fast);
    add_actor(&net, &slow);
    add_fifo(&net, 0, 1, 1, 0, 3);
    assert_int_equal(network_run(&net), NETWORK_PERIODIC);
    assert_int_equal(net.fifos.data[0].peak, 3);
    assert_true(net.actors.data[1].frame > 1);
    network_free(&net);
    trace_free(&fast);
    trace_free(&slow);
}

static void test_gives_up(void **state)
{
    (void)state;
    static const AccessRun runs[] = {{100, BOTH}};
    AccessTrace trace = trace_of(runs, 1, 1, 2);
    Network net = {.events = 10};
    add_actor(&net, &trace);
    assert_int_equal(network_run(&net), NETWORK_UNDECIDED);
    network_free(&net);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak_is_enough),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
