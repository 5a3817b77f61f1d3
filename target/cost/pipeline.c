/* Pipelines of the processes that move words. The delays of their conditions are those of the
 * expressions that the lowering writes (lowering/dfg_to_emithls), so both must change together.
 * Tests: test/unit/target/cost/pipeline_test.c, test/e2e/cost_check.py */
#include "sim/design/design.h"
#include "target/cost/internal.h"

int64_t cost_pipeline_cycles(const CostPipeline *p)
{
    if (p->rewinds) return p->trips * p->ii;
    return PROCESS_START + p->executions * (LOOP_START + (p->trips - 1) * p->ii + p->depth);
}

int64_t cost_pipeline_fill(const CostPipeline *p)
{
    return p->first * p->ii + p->write + 1;
}

static CostPipeline finish(const Iteration *it, int64_t trips, int64_t first)
{
    return (CostPipeline){.executions = 1,
                          .trips = trips,
                          .ii = 1,
                          .depth = iteration_depth(it),
                          .first = first,
                          .read = it->last_read,
                          .write = iteration_write_cycle(it)};
}

/* When a word is there that is loaded at `ready`. */
static int64_t load(Iteration *it, const MemoryUse *use, int64_t ready)
{
    return iteration_op(it, ready, latency_memory_load(memory_kind_name(use->memory.kind)));
}

/* When a word is stored that is there at `ready`. */
static int64_t store(Iteration *it, const MemoryUse *use, int64_t ready)
{
    return iteration_op(it, ready, latency_memory_store(memory_kind_name(use->memory.kind)));
}

/* The constraints of an if or a choice: their number, and the delay of the slowest operand. */
typedef struct PipelineConstraints {
    int64_t count, delay;
} PipelineConstraints;

static void constrain(PipelineConstraints *c, int64_t delay)
{
    c->count++;
    c->delay = i64_max(c->delay, delay);
}

/* low <= expr <= high where the range [min, max] does not imply it; the upper bound negates. */
static void constrain_between(PipelineConstraints *c, int64_t delay, int64_t min, int64_t max,
                              int64_t low, int64_t high)
{
    if (min < low) constrain(c, delay);
    if (max > high) constrain(c, delay + latency_counter_sum());
}

static int64_t known_at(Iteration *it, const PipelineConstraints *c)
{
    return iteration_condition(it, c->count, c->delay);
}

/* The delay of the row-major position in a box: a product and a sum per inner dimension. */
static int64_t position_delay(uint32_t dims)
{
    return dims > 1 ? 2 * (dims - 1) * latency_counter_sum() : 0;
}

/* Dimensions of the box that count. */
static uint32_t box_dims(const WindowSchedule *sched)
{
    uint32_t dims = 0;
    for (uint32_t i = 0; i < sched->params.count; i++) dims += sched->box[i] > 1;
    return dims;
}

static PipelineConstraints reading(const WindowSchedule *sched)
{
    PipelineConstraints c = {0};
    int64_t position = position_delay(box_dims(sched)), pitch = 1;
    int64_t first = sched->begin / sched->inner_words + sched->shift;
    int64_t last = sched->end / sched->inner_words - 1 + sched->shift;
    for (uint32_t i = sched->params.count; i-- > 1;) {
        int64_t within =
            position + latency_counter_quotient(pitch) + latency_counter_quotient(sched->box[i]);
        if (sched->dim[i].in < sched->box[i])
            constrain_between(&c, within, 0, sched->box[i] - 1, 0, sched->dim[i].in - 1);
        pitch *= sched->box[i];
    }
    constrain_between(&c, position, first, last, 0, sched->dim[0].in * pitch - 1);
    return c;
}

static PipelineConstraints writing(const WindowSchedule *sched)
{
    PipelineConstraints c = {0};
    for (uint32_t i = 0; i < sched->params.count; i++) {
        const WindowDim *dim = &sched->dim[i];
        int64_t min = i == 0 ? -sched->lead : 0;
        constrain_between(&c, 0, min, min + sched->box[i] - 1, 0, (dim->out - 1) * dim->stride);
        if (dim->stride > 1) constrain(&c, latency_counter_quotient(dim->stride));
    }
    return c;
}

/* An element's place along dimension i: coordinate * pixels + output * stride + kernel *
 * dilation. */
static int64_t place_delay(const WindowSchedule *sched, uint32_t i)
{
    const WindowParams *p = &sched->params;
    const WindowDim *dim = &sched->dim[i];
    int64_t levels = dim->pixels > 1;
    if (dim->outputs > 1) levels = i64_max(levels, p->stride[i] > 1) + 1;
    if (p->kernel[i] > 1) levels = i64_max(levels, p->dilation[i] > 1) + 1;
    return levels * latency_counter_sum();
}

/* Whether an element lies in the input. */
static PipelineConstraints padding(const WindowSchedule *sched)
{
    PipelineConstraints c = {0};
    const WindowParams *p = &sched->params;
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t delay = place_delay(sched, i);
        int64_t last = (p->out[i] - 1) * p->stride[i] + (p->kernel[i] - 1) * p->dilation[i];
        constrain_between(&c, delay, -p->low[i], last - p->low[i], 0, p->in[p->first + i] - 1);
    }
    return c;
}

/* A level of history: what it recalls joins the taps that come to it, and both are stored. */
static int64_t keep_taps(Iteration *it, const WindowSchedule *sched, const MemoryUse *use,
                         int64_t taps)
{
    int64_t recalled = load(it, use, 0);
    store(it, use, taps);
    if (sched_window_history(sched, use->level) > 1) store(it, use, recalled);
    return i64_max(taps, recalled);
}

CostPipeline cost_pipeline_window(const WindowSchedule *sched, const MemoryList *memories,
                                  Clock clock)
{
    Iteration it = {.clock = clock};
    OpTiming choose = latency_register_load(2);
    PipelineConstraints read = reading(sched), write = writing(sched), inside = padding(sched);
    int64_t taps = iteration_read(&it, known_at(&it, &read));
    for (size_t i = 0; i < memories->len; i++) /* rows move up by one, the newest comes in */
        taps = keep_taps(&it, sched, &memories->data[i], taps);
    if (inside.count) taps = iteration_op(&it, i64_max(taps, known_at(&it, &inside)), choose);
    iteration_write(&it, i64_max(taps, known_at(&it, &write)));
    CostPipeline p = finish(&it, sched->end - sched->begin, sched_window_first_write(sched));
    p.executions = sched->outer;
    return p;
}

static void constrain_counter(PipelineConstraints *c, int64_t delay, int64_t extent, int64_t low,
                              int64_t high)
{
    constrain_between(c, delay, 0, extent - 1, low, high);
}

CostPipeline cost_pipeline_reorder(const ReorderSchedule *sched, const MemoryList *memories,
                                   Clock clock)
{
    Iteration it = {.clock = clock};
    PipelineConstraints read = {0}, write = {0}, inside = {.count = sched->bound_count};
    uint32_t dims = 0;
    for (uint32_t i = 0; i < sched->inner_count; i++) dims += sched->inner[i] > 1;
    constrain_counter(&read, 0, sched->steps, 0, sched->in_blocks - 1);
    constrain_counter(&read, position_delay(dims), sched->step_trips, 0, sched->in_burst - 1);
    constrain_counter(&write, 0, sched->steps, sched->delay, sched->delay + sched->out_blocks - 1);
    constrain_counter(&write, 0, sched->inner[0], 0,
                      sched->out_burst / (sched->step_trips / sched->inner[0]) - 1);
    int64_t stored = store(&it, &memories->data[0], iteration_read(&it, known_at(&it, &read)));
    int64_t word = load(&it, &memories->data[0], stored);
    iteration_write(&it, i64_max(i64_max(word, known_at(&it, &inside)), known_at(&it, &write)));
    return finish(&it, sched_reorder_trips(sched), sched->delay * sched->step_trips);
}

static PipelineConstraints part_condition(const MergeSchedule *sched, const MergePart *part)
{
    PipelineConstraints c = {0};
    for (uint32_t d = 0; d < sched->rank; d++) {
        int64_t low = part->offset[d], high = low + (part->size[d] - 1) * part->stride[d];
        constrain_counter(&c, 0, sched->extents[d], low, high);
        if (part->stride[d] > 1 && part->size[d] > 1)
            constrain(&c, latency_counter_quotient(part->stride[d]));
    }
    return c;
}

CostPipeline cost_pipeline_merge(const MergeSchedule *sched, const MemoryList *memories,
                                 Clock clock)
{
    Iteration it = {.clock = clock};
    int64_t word = 0;
    for (size_t i = 0; i < memories->len; i++)
        word = i64_max(word, load(&it, &memories->data[i], 0));
    for (uint32_t i = 0; i < sched->source_count; i++) {
        PipelineConstraints where = part_condition(sched, &sched->parts[i]);
        int64_t entered = known_at(&it, &where);
        word = i64_max(word, sched->port[i] >= 0 ? iteration_read(&it, entered) : entered);
    }
    iteration_write(&it, word);
    return finish(&it, sched_merge_trips(sched), 0);
}

CostPipeline cost_pipeline_fork(int64_t words, Clock clock)
{
    Iteration it = {.clock = clock};
    iteration_write(&it, iteration_read(&it, 0));
    return finish(&it, words, 0);
}

/* A counter per dimension in which the words differ decides on the part; mostly it is one. */
CostPipeline cost_pipeline_converter(int64_t words, int64_t parts, bool joins, Clock clock)
{
    Iteration it = {.clock = clock};
    PipelineConstraints edge = {.count = 1};
    if (joins) {
        int64_t word = iteration_read(&it, 0);
        iteration_write(&it, i64_max(word, known_at(&it, &edge)));
    } else {
        iteration_write(&it, iteration_read(&it, known_at(&it, &edge)));
    }
    return finish(&it, words * parts, joins ? parts - 1 : 0);
}
