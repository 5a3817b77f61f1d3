/* Pipelines of the processes that move words: pipeline.h. The delays of their conditions are those of
 * the expressions that the lowering writes.
 * Tests: test/unit/pipeline_test.c, test/e2e/cost_check.py */
#include "target/cost/pipeline.h"

#include "sim/design/design.h"

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t cost_pipeline_cycles(const Pipeline *p)
{
    return PROCESS_START + p->executions * (LOOP_START + (p->trips - 1) * p->ii + p->depth);
}

int64_t cost_pipeline_fill(const Pipeline *p)
{
    return p->first * p->ii + p->write + 1;
}

static Pipeline finish(const Iteration *it, int64_t trips, int64_t first)
{
    return (Pipeline){.executions = 1, .trips = trips, .ii = 1, .depth = iteration_depth(it),
                      .first = first, .write = iteration_write_cycle(it)};
}

/* When a word is there that is loaded at `ready`. */
static int64_t load(Iteration *it, const MemoryUse *use, int64_t ready)
{
    return iteration_op(it, ready, latency_memory_load(memory_kind_name(use->memory.kind)));
}

/* --- conditions ------------------------------------------------------------------------------ */

/* What the constraints of an if or a choice compute. */
typedef struct Constraints {
    int64_t count, delay;
} Constraints;

static void constrain(Constraints *c, int64_t delay)
{
    c->count++;
    c->delay = later(c->delay, delay);
}

/* low <= expr <= high where the range [min, max] does not imply it; the upper bound negates. */
static void constrain_between(Constraints *c, int64_t delay, int64_t min, int64_t max, int64_t low,
                              int64_t high)
{
    if (min < low)
        constrain(c, delay);
    if (max > high)
        constrain(c, delay + latency_counter_sum());
}

static int64_t known_at(Iteration *it, const Constraints *c)
{
    return iteration_condition(it, c->count, c->delay);
}

/* Of the row-major position in a box: a product and a sum per inner dimension. */
static int64_t position_delay(uint32_t dims)
{
    return dims > 1 ? 2 * (dims - 1) * latency_counter_sum() : 0;
}

/* --- windows --------------------------------------------------------------------------------- */

/* Dimensions of the box that count. */
static uint32_t box_dims(const WindowPlan *plan)
{
    uint32_t dims = 0;
    for (uint32_t i = 0; i < plan->params.count; i++)
        dims += plan->box[i] > 1;
    return dims;
}

static Constraints reading(const WindowPlan *plan)
{
    Constraints c = {0};
    int64_t position = position_delay(box_dims(plan)), pitch = 1;
    int64_t first = plan->begin / plan->inner_words + plan->shift;
    int64_t last = plan->end / plan->inner_words - 1 + plan->shift;
    for (uint32_t i = plan->params.count; i-- > 1;) {
        int64_t within = position + latency_counter_quotient(pitch) +
                         latency_counter_quotient(plan->box[i]);
        if (plan->dim[i].in < plan->box[i])
            constrain_between(&c, within, 0, plan->box[i] - 1, 0, plan->dim[i].in - 1);
        pitch *= plan->box[i];
    }
    constrain_between(&c, position, first, last, 0, plan->dim[0].in * pitch - 1);
    return c;
}

static Constraints writing(const WindowPlan *plan)
{
    Constraints c = {0};
    for (uint32_t i = 0; i < plan->params.count; i++) {
        const WindowDim *dim = &plan->dim[i];
        int64_t min = i == 0 ? -plan->lead : 0;
        constrain_between(&c, 0, min, min + plan->box[i] - 1, 0, (dim->out - 1) * dim->stride);
        if (dim->stride > 1)
            constrain(&c, latency_counter_quotient(dim->stride));
    }
    return c;
}

/* An element's place along dimension i: coordinate * pixels + output * stride + kernel * dilation. */
static int64_t place_delay(const WindowPlan *plan, uint32_t i)
{
    const WindowParams *p = &plan->params;
    const WindowDim *dim = &plan->dim[i];
    int64_t levels = dim->pixels > 1;
    if (dim->outputs > 1)
        levels = later(levels, p->stride[i] > 1) + 1;
    if (p->kernel[i] > 1)
        levels = later(levels, p->dilation[i] > 1) + 1;
    return levels * latency_counter_sum();
}

/* Whether an element lies in the input. */
static Constraints padding(const WindowPlan *plan)
{
    Constraints c = {0};
    const WindowParams *p = &plan->params;
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t delay = place_delay(plan, i);
        int64_t last = (p->out[i] - 1) * p->stride[i] + (p->kernel[i] - 1) * p->dilation[i];
        constrain_between(&c, delay, -p->low[i], last - p->low[i], 0, p->in[p->first + i] - 1);
    }
    return c;
}

Pipeline cost_pipeline_window(const WindowPlan *plan, const MemoryList *memories, Clock clock)
{
    Iteration it = {.clock = clock};
    OpTiming choose = latency_register_load(2);
    Constraints read = reading(plan), write = writing(plan), inside = padding(plan);
    int64_t taps = iteration_read(&it, known_at(&it, &read));
    for (size_t i = 0; i < memories->len; i++)
        taps = later(taps, load(&it, &memories->data[i], 0));
    if (inside.count)
        taps = iteration_op(&it, later(taps, known_at(&it, &inside)), choose);
    iteration_write(&it, later(taps, known_at(&it, &write)));
    Pipeline p = finish(&it, plan->end - plan->begin, sched_window_first_write(plan));
    p.executions = plan->outer;
    return p;
}

/* --- reorders and merges --------------------------------------------------------------------- */

static void constrain_counter(Constraints *c, int64_t delay, int64_t extent, int64_t low, int64_t high)
{
    constrain_between(c, delay, 0, extent - 1, low, high);
}

Pipeline cost_pipeline_reorder(const ReorderPlan *plan, const MemoryList *memories, Clock clock)
{
    Iteration it = {.clock = clock};
    Constraints read = {0}, write = {0}, inside = {.count = plan->bound_count};
    uint32_t dims = 0;
    for (uint32_t i = 0; i < plan->inner_count; i++)
        dims += plan->inner[i] > 1;
    constrain_counter(&read, 0, plan->steps, 0, plan->in_blocks - 1);
    constrain_counter(&read, position_delay(dims), plan->step_trips, 0, plan->in_burst - 1);
    constrain_counter(&write, 0, plan->steps, plan->delay, plan->delay + plan->out_blocks - 1);
    constrain_counter(&write, 0, plan->inner[0], 0,
                      plan->out_burst / (plan->step_trips / plan->inner[0]) - 1);
    int64_t stored = iteration_read(&it, known_at(&it, &read));
    int64_t word = load(&it, &memories->data[0], stored);
    iteration_write(&it, later(later(word, known_at(&it, &inside)), known_at(&it, &write)));
    return finish(&it, sched_reorder_trips(plan), plan->delay * plan->step_trips);
}

static Constraints part_condition(const MergePlan *plan, const MergePart *part)
{
    Constraints c = {0};
    for (uint32_t d = 0; d < plan->rank; d++) {
        int64_t low = part->offset[d], high = low + (part->size[d] - 1) * part->stride[d];
        constrain_counter(&c, 0, plan->extents[d], low, high);
        if (part->stride[d] > 1 && part->size[d] > 1)
            constrain(&c, latency_counter_quotient(part->stride[d]));
    }
    return c;
}

Pipeline cost_pipeline_merge(const MergePlan *plan, const MemoryList *memories, Clock clock)
{
    Iteration it = {.clock = clock};
    int64_t word = 0;
    for (size_t i = 0; i < memories->len; i++)
        word = later(word, load(&it, &memories->data[i], 0));
    for (uint32_t i = 0; i < plan->source_count; i++) {
        Constraints where = part_condition(plan, &plan->parts[i]);
        int64_t entered = known_at(&it, &where);
        word = later(word, plan->port[i] >= 0 ? iteration_read(&it, entered) : entered);
    }
    iteration_write(&it, word);
    return finish(&it, sched_merge_trips(plan), 0);
}

/* --- forks and converters -------------------------------------------------------------------- */

Pipeline cost_pipeline_fork(int64_t words, Clock clock)
{
    Iteration it = {.clock = clock};
    iteration_write(&it, iteration_read(&it, 0));
    return finish(&it, words, 0);
}

/* A counter per dimension in which the words differ decides on the part; mostly it is one. */
Pipeline cost_pipeline_converter(int64_t words, int64_t parts, int64_t elements, bool joins, Clock clock)
{
    Iteration it = {.clock = clock};
    Constraints edge = {.count = 1};
    if (joins) {
        int64_t word = iteration_read(&it, 0);
        iteration_write(&it, later(word, known_at(&it, &edge)));
    } else {
        int64_t word = iteration_read(&it, known_at(&it, &edge));
        iteration_write(&it, iteration_op(&it, word, latency_register_load(elements)));
    }
    return finish(&it, words * parts, joins ? parts - 1 : 0);
}
