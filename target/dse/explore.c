/* Walks the ladder of intervals. Every step is a search of its own in the same space, so that the
 * order of steps does not matter. */
#include <math.h>
#include <stdlib.h>

#include "target/dse/dse.h"

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef VEC(int64_t) Ladder;

/* The intervals of configurations from `first` to `last`, each once. */
static void list_intervals(const DseSpace *space, int64_t first, int64_t last, Ladder *out)
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
static void thin(Ladder *ladder, size_t count)
{
    size_t left = 0, next = 0;
    if (ladder->len <= count) return;
    double first = (double)ladder->data[0], last = (double)ladder->data[ladder->len - 1];
    for (size_t step = 0; step < count; step++) {
        double wanted = first * pow(last / first, (double)step / (double)(count - 1));
        while (next + 1 < ladder->len && (double)ladder->data[next + 1] <= wanted) next++;
        if (step + 1 == count) next = ladder->len - 1;
        if (left == 0 || ladder->data[left - 1] != ladder->data[next])
            ladder->data[left++] = ladder->data[next];
    }
    ladder->len = left;
}

static DseAnswer search(DseSpace *space, DseTask *task, DseObjective objective, int64_t interval)
{
    task->objective = objective;
    task->interval = interval;
    return dse_optimize(space, task);
}

DseAnswer dse_explore_space(DseSpace *space, const Cost *limits, size_t count, DseTask *task,
                            ExplorePoints *out)
{
    Ladder ladder = {0};
    *task = (DseTask){.limits = *limits};
    DseAnswer answer = search(space, task, DSE_THROUGHPUT, 0);
    int64_t first = dse_found_design(answer.status) ? dse_interval(space) : 0;
    if (dse_found_design(answer.status)) answer = search(space, task, DSE_FPS, INT64_MAX);
    if (!dse_found_design(answer.status)) return answer;
    list_intervals(space, first, dse_interval(space), &ladder);
    thin(&ladder, count);
    for (size_t i = 0; i < ladder.len; i++) {
        DseAnswer least = search(space, task, DSE_FPS, ladder.data[i]);
        if (dse_found_design(least.status))
            *vec_push(out) = (ExplorePoint){.interval = dse_interval(space),
                                            .value = least.value,
                                            .bound = least.bound,
                                            .cost = dse_total(space)};
    }
    dse_explore_drop_beaten(out);
    vec_free(&ladder);
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

void dse_explore_drop_beaten(ExplorePoints *points)
{
    size_t left = 0;
    for (size_t i = 0; i < points->len; i++) {
        const ExplorePoint *point = &points->data[i];
        bool beaten = false;
        for (size_t j = 0; j < points->len; j++)
            beaten |= j != i && is_no_worse(&points->data[j], point) &&
                      (j < i || !is_no_worse(point, &points->data[j]));
        if (!beaten) points->data[left++] = *point;
    }
    points->len = left;
}
