/* The depth of a pipelined iteration, predicted op by op: schedule.h has the rules, latency.c the
 * numbers.
 * Tests: test/unit/target/cost/pipeline_test.c */
#include "schedule/schedule.h"

int64_t iteration_op(Iteration *it, int64_t ready, OpTiming timing)
{
    int64_t done = clock_after(it->clock, ready, timing);
    it->end = i64_max(it->end, done);
    return done;
}

int64_t iteration_condition(Iteration *it, int64_t constraints, int64_t delay)
{
    return constraints ? iteration_op(it, 0, latency_constraints(constraints, delay)) : 0;
}

int64_t iteration_read(Iteration *it, int64_t entered)
{
    int64_t done = iteration_op(it, entered, latency_stream());
    it->last_read = i64_max(it->last_read, clock_cycle(it->clock, done));
    return done;
}

void iteration_write(Iteration *it, int64_t ready)
{
    int64_t done = iteration_op(it, ready, latency_stream());
    it->write = i64_max(it->write, clock_cycle(it->clock, done));
}

int64_t iteration_write_cycle(const Iteration *it)
{
    return i64_max(it->write, it->last_read);
}

int64_t iteration_depth(const Iteration *it)
{
    return i64_max(clock_cycle(it->clock, it->end), iteration_write_cycle(it)) + 1;
}
