/* The search for a design that can be placed. The best design of the dies as one pool comes first.
 * If it has no places, designs within smaller and smaller shares of the limits follow, which spend
 * less of what a die lacks, then those of longer intervals: at first in wider and wider steps, then
 * by bisection between the last one without places and the first one with. Every attempt has so
 * many steps, not seconds, so that the result is the same on every machine.
 * Tests: lit/target/dse/place-invalid.test, test/e2e/dies_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

/* Steps of one attempt, and intervals that are tried at most. A design that is tried need not be
 * proven to be that of the least resources, so few labels do. */
enum { PLACE_STEPS = 200000, MAX_INTERVALS = 24, ATTEMPT_LABELS = 50000 };

typedef struct Placing {
    const DseSpace *space;
    const DseTask *task;
    const PartitionPlatform *platform;
    DseAnchors anchors;
    DseState *state;
    uint32_t *design, *last; /* the best one with places; the last one tried */
    uint32_t *dies;          /* per node of the best one */
    bool is_found, has_last;
} Placing;

static PartitionOptions place_options(const PartitionPlatform *platform)
{
    PartitionOptions options = {
        .goals = {PARTITION_CROSSINGS, PARTITION_WIRES, PARTITION_UTILIZATION},
        .goal_count = 3,
        .max_hops = platform->die_count,
        .max_steps = PLACE_STEPS};
    return options;
}

/* Takes the placement: its dies, and its versions in the design. */
static void keep(Placing *p, const DseTasks *tasks, const PartitionPlacement *placement)
{
    size_t count = p->space->nodes.len;
    memcpy(p->design, p->state->chosen, count * sizeof *p->design);
    for (size_t i = 0; i < tasks->nodes.len; i++) {
        uint32_t node = tasks->nodes.data[i];
        uint32_t version = tasks->model.nodes.data[i].version + placement->versions.data[i];
        p->design[node] = tasks->configs.data[version];
        p->dies[node] = placement->dies.data[i];
    }
    p->is_found = true;
}

/* Whether the chosen design has places. joins: as dse_tasks. */
static bool place_joined(Placing *p, bool joins)
{
    DseTasks tasks;
    PartitionPlacement placement;
    PartitionOptions options = place_options(p->platform);
    dse_tasks(p->space, p->state->chosen, p->platform, &p->anchors, p->task, joins, &tasks);
    partition_search(&tasks.model, &options, &placement);
    bool is_placed = placement.is_placed;
    if (is_placed) keep(p, &tasks, &placement);
    partition_placement_free(&placement);
    dse_tasks_free(&tasks);
    return is_placed;
}

/* The same; a design that was just tried is not tried again. */
static bool place_design(Placing *p)
{
    size_t bytes = p->space->nodes.len * sizeof *p->last;
    bool is_same = p->has_last && memcmp(p->last, p->state->chosen, bytes) == 0;
    memcpy(p->last, p->state->chosen, bytes);
    p->has_last = true;
    return !is_same && (place_joined(p, true) || place_joined(p, false));
}

static Cost shares_of(const Cost *limits, int64_t percent)
{
    Cost out = *limits;
    for (int k = 0; k < COST_KINDS; k++)
        if (k != COST_CYCLES && limits->items[k] > 0)
            out.items[k] = limits->items[k] * percent / 100;
    return out;
}

/* A design with places within smaller and smaller shares of the limits. */
static bool place_within_shares(Placing *p, const DseTask *task)
{
    static const int64_t percents[] = {100, 94, 88, 82, 76, 70};
    for (size_t i = 0; i < COUNT_OF(percents); i++) {
        DseTask smaller = *task;
        smaller.limits = shares_of(&task->limits, percents[i]);
        if (!dse_found_design(dse_optimize(p->space, &smaller, p->state).status)) return false;
        if (place_design(p)) return true;
    }
    return false;
}

static bool place_at_interval(Placing *p, int64_t interval)
{
    DseTask task = *p->task;
    task.objective = DSE_FPS;
    task.interval = interval;
    task.max_labels = ATTEMPT_LABELS;
    return place_within_shares(p, &task);
}

/* The index of an interval in a list, or of the next longer one. */
static size_t index_of(const DseIntervals *list, int64_t interval)
{
    size_t i = 0;
    while (i < list->len && list->data[i] < interval) i++;
    return i;
}

/* The shortest interval that is found to have places, from that of the present design on. */
static void place_slower(Placing *p)
{
    DseIntervals list = {0};
    dse_list_intervals(p->space, &list);
    size_t low = index_of(&list, dse_interval(p->space, p->state->chosen)), high = list.len;
    size_t next = low, step = 1, tries = 0;
    for (; low < list.len && tries < MAX_INTERVALS; step *= 2, tries++) {
        if (place_at_interval(p, list.data[next])) {
            high = next;
            break;
        }
        low = next + 1;
        next = step < list.len - low ? low + step - 1 : list.len - 1;
    }
    for (; high < list.len && low < high && tries < MAX_INTERVALS; tries++) {
        size_t middle = low + (high - low) / 2;
        if (place_at_interval(p, list.data[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    vec_free(&list);
}

static void add_cycles(StrBuf *out, const DseTask *task, int64_t interval)
{
    strbuf_printf(out, "%lld cycles", (long long)interval);
    if (task->clock > 0 && interval > 0)
        strbuf_printf(out, " (%.1f frames/s)", (double)task->clock * 1e6 / (double)interval);
}

/* Notes the shortest interval that has places, where the rate was given. */
static void note_interval(Placing *p)
{
    StrBuf text = {0};
    DseTask task = *p->task;
    task.objective = DSE_THROUGHPUT;
    p->task = &task;
    p->has_last = false;
    place_slower(p);
    if (p->is_found) {
        strbuf_add_c(&text, "the dies hold a design that does a frame every ");
        add_cycles(&text, &task, dse_interval(p->space, p->design));
        op_note(p->space->region, "%s", text.data);
    }
    strbuf_free(&text);
}

/* Why the design that was tried last has no places. */
static void report_last(const Placing *p, Str after)
{
    DseTasks tasks;
    PartitionPlacement placement;
    PartitionOptions options = place_options(p->platform);
    StrBuf why = {0};
    options.goal_count = 0;
    dse_tasks(p->space, p->last, p->platform, &p->anchors, p->task, false, &tasks);
    partition_search(&tasks.model, &options, &placement);
    if (!placement.is_proven) {
        partition_explain_steps(&tasks.model, placement.steps, &why);
        strbuf_add_str(&why, after);
    }
    op_emit_error(p->space->region, "the network has no places on the dies: %.*s", (int)why.len,
                  why.len ? why.data : "");
    if (placement.is_proven)
        diag_because(p->space->region->ctx, partition_reason(&tasks.model, &options, after));
    strbuf_free(&why);
    partition_placement_free(&placement);
    dse_tasks_free(&tasks);
}

/* False. */
static bool report(Placing *p, int64_t pooled)
{
    StrBuf after = {0};
    strbuf_add_c(&after, "; as one pool they hold a design that does a frame every ");
    add_cycles(&after, p->task, pooled);
    strbuf_add_c(&after, " (--pooled)");
    report_last(p, strbuf_str(&after));
    strbuf_free(&after);
    if (p->task->objective == DSE_FPS) note_interval(p);
    return false;
}

static void place_any(Placing *p)
{
    if (place_design(p)) return;
    if (p->task->objective == DSE_THROUGHPUT)
        place_slower(p);
    else
        place_within_shares(p, p->task);
}

static void set_places(const Placing *p)
{
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        Op *process = (Op *)(uintptr_t)p->space->nodes.data[n].process;
        if (process)
            op_set_attr(process, SYS_ATTR_PLACE,
                        sys_place_attr(process->ctx, (SysPlace){0, p->dies[n]}));
    }
}

/* A platform whose limits leave each die's part of what is kept for FIFOs. */
static PartitionPlatform *with_reserve(const PartitionPlatform *platform,
                                       const DsePlaceOptions *options)
{
    PartitionPlatform *out = xcalloc(1, sizeof *out);
    *out = *platform;
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
        int64_t total = 0, reserve = options->reserve[dse_cost_kind(k)];
        for (uint32_t i = 0; i < platform->die_count; i++) total += platform->dies[i].limit[k];
        for (uint32_t i = 0; total > 0 && i < platform->die_count; i++) {
            int64_t limit = platform->dies[i].limit[k];
            out->dies[i].limit[k] = i64_max(0, limit - (limit * reserve + total - 1) / total);
        }
    }
    return out;
}

static bool has_given_factors(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op_attr(op, DFG_ATTR_UNROLL)) return true;
    return dse_has_given_words(process);
}

/* Whether a folding file has placed all processes and given their factors. */
static bool is_given(const DseSpace *space)
{
    SysPlace place;
    for (size_t n = 0; n < space->nodes.len; n++) {
        const Op *process = space->nodes.data[n].process;
        if (process && (!sys_place(process, &place) || !has_given_factors(process))) return false;
    }
    return true;
}

/* Leaves the limits of dies to fit-fifos, which knows what FIFOs take, where the search has only an
 * estimate. */
static void drop_limits(PartitionPlatform *platform)
{
    for (uint32_t i = 0; i < platform->die_count; i++)
        for (int k = 0; k < PARTITION_KINDS; k++)
            platform->dies[i].limit[k] = platform->dies[i].capacity[k] = PARTITION_MAX_AMOUNT;
    memset(&platform->averages, 0, sizeof platform->averages); /* another one's */
}

static Placing begin(const DseSpace *space, const DseTask *task, const PartitionPlatform *platform,
                     DseState *state)
{
    size_t count = space->nodes.len + 1;
    return (Placing){.space = space,
                     .task = task,
                     .platform = platform,
                     .state = state,
                     .design = xcalloc(count, sizeof(uint32_t)),
                     .last = xcalloc(count, sizeof(uint32_t)),
                     .dies = xcalloc(count, sizeof(uint32_t))};
}

static void end(Placing *p)
{
    dse_anchors_free(&p->anchors);
    free_ptr((void **)&p->design);
    free_ptr((void **)&p->last);
    free_ptr((void **)&p->dies);
}

static uint32_t count_dies(const Placing *p)
{
    uint64_t dies = 0;
    for (size_t n = 0; n < p->space->nodes.len; n++)
        if (p->space->nodes.data[n].process) dies |= UINT64_C(1) << p->dies[n];
    return (uint32_t)__builtin_popcountll(dies);
}

uint32_t dse_find_places(const DseSpace *space, const DseTask *task,
                         const PartitionPlatform *platform, DseState *state)
{
    const DsePlaceOptions options = {0};
    Placing p = begin(space, task, platform, state);
    if (dse_read_anchors(space, platform, &options, &p.anchors)) place_any(&p);
    if (p.is_found) memcpy(state->chosen, p.design, space->nodes.len * sizeof *p.design);
    uint32_t dies = p.is_found ? count_dies(&p) : 0;
    end(&p);
    return dies;
}

bool dse_place(const DseSpace *space, const DseTask *task, const DsePlaceOptions *options,
               const PartitionPlatform *platform, DseState *state, DseAnswer *answer)
{
    PartitionPlatform *smaller = with_reserve(platform, options);
    Placing p = begin(space, task, smaller, state);
    int64_t pooled = dse_interval(space, state->chosen);
    if (is_given(space)) drop_limits(smaller);
    bool ok = dse_read_anchors(space, smaller, options, &p.anchors);
    if (ok) place_any(&p);
    ok = ok && (p.is_found || report(&p, pooled));
    if (ok) {
        memcpy(state->chosen, p.design, space->nodes.len * sizeof *p.design);
        set_places(&p);
        answer->value = dse_value(space, task, state->chosen);
        answer->bound = i64_min(answer->bound, answer->value);
    }
    end(&p);
    free_ptr((void **)&smaller);
    return ok;
}
