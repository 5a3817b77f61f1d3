/* Walks the intervals from short to long. Every step is a search of its own in the same space. All
 * share one state, so limits that one has found to matter are active in the next from the start.
 * Tests: test/unit/target/dse/explore_test.c, lit/tools/ming-explore.test */
#include <math.h>
#include <stdlib.h>

#include "target/dse/internal.h"

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef VEC(int64_t) Intervals;

/* The intervals of configurations from `first` to `last`, each once. */
static void list_intervals(const DseSpace *space, int64_t first, int64_t last, Intervals *out)
{
    size_t left = 0;
    for (size_t n = 0; n < space->nodes.len; n++)
        for (size_t c = 0; c < space->nodes.data[n].configs.len; c++) {
            int64_t interval = space->nodes.data[n].configs.data[c].interval;
            if (interval >= first && interval <= last) *vec_push(out) = interval;
        }
    if (out->len == 0) return;
    qsort(out->data, out->len, sizeof(int64_t), compare_numbers);
    for (size_t i = 0; i < out->len; i++)
        if (left == 0 || out->data[i] != out->data[left - 1]) out->data[left++] = out->data[i];
    out->len = left;
}

/* Keeps the longest up to each of `count` values that are spaced evenly in their logarithm; the
 * first and the last stay. */
static void sample(Intervals *intervals, size_t count)
{
    size_t left = 0, next = 0;
    if (intervals->len <= count) return;
    double first = (double)intervals->data[0], last = (double)intervals->data[intervals->len - 1];
    for (size_t step = 0; step < count; step++) {
        double wanted = first * pow(last / first, (double)step / (double)(count - 1));
        while (next + 1 < intervals->len && (double)intervals->data[next + 1] <= wanted) next++;
        if (step + 1 == count) next = intervals->len - 1;
        if (left == 0 || intervals->data[left - 1] != intervals->data[next])
            intervals->data[left++] = intervals->data[next];
    }
    intervals->len = left;
}

static DseAnswer search(const DseSpace *space, DseState *state, DseTask *task,
                        DseObjective objective, int64_t interval)
{
    task->objective = objective;
    task->interval = interval;
    return dse_optimize(space, task, state);
}

/* Where there are dies, the design in the state becomes one that has places. False: none is found. */
static bool place(const DseSpace *space, const DseTask *task, const PartitionPlatform *platform,
                  DseState *state, uint32_t *dies)
{
    *dies = platform ? dse_find_places(space, task, platform, state) : 0;
    return !platform || *dies > 0;
}

DseAnswer dse_explore_space(const DseSpace *space, const Cost *limits, size_t count,
                            const PartitionPlatform *platform, DseState *state, DseTask *task,
                            ExplorePoints *out)
{
    Intervals intervals = {0};
    uint32_t dies;
    *task = (DseTask){.limits = *limits};
    DseAnswer answer = search(space, state, task, DSE_THROUGHPUT, 0);
    bool has_first = dse_found_design(answer.status) && place(space, task, platform, state, &dies);
    int64_t first = has_first ? dse_interval(space, state->chosen) : 0;
    if (dse_found_design(answer.status)) answer = search(space, state, task, DSE_FPS, INT64_MAX);
    if (!dse_found_design(answer.status)) return answer;
    list_intervals(space, first, dse_interval(space, state->chosen), &intervals);
    sample(&intervals, count);
    for (size_t i = 0; i < intervals.len; i++) {
        DseAnswer least = search(space, state, task, DSE_FPS, intervals.data[i]);
        if (!dse_found_design(least.status) || !place(space, task, platform, state, &dies))
            continue;
        int64_t value = platform ? dse_value(space, task, state->chosen) : least.value;
        *vec_push(out) = (ExplorePoint){.interval = dse_interval(space, state->chosen),
                                        .value = value,
                                        .bound = i64_min(least.bound, value),
                                        .dies = dies,
                                        .cost = dse_total(space, state->chosen)};
    }
    dse_explore_drop_dominated(out);
    vec_free(&intervals);
    return answer;
}

static bool is_no_worse(const ExplorePoint *a, const ExplorePoint *b)
{
    static const CostKind kinds[] = {COST_DSP, COST_BRAM18, COST_URAM, COST_LUT};
    bool ok = a->interval <= b->interval;
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        ok = ok && a->cost.items[kinds[k]] <= b->cost.items[kinds[k]];
    return ok;
}

void dse_explore_drop_dominated(ExplorePoints *points)
{
    size_t left = 0;
    for (size_t i = 0; i < points->len; i++) {
        const ExplorePoint *point = &points->data[i];
        bool dominated = false;
        for (size_t j = 0; j < points->len; j++)
            dominated |= j != i && is_no_worse(&points->data[j], point) &&
                         (j < i || !is_no_worse(point, &points->data[j]));
        if (!dominated) points->data[left++] = *point;
    }
    points->len = left;
}
