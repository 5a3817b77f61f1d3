/* Timers: nodes of a tree in one array; a node's children follow in order of their first start.
 * Tests: lit/tools/timing.mir */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/internal.h"

enum { NONE = -1, ROOT = 0 };

typedef struct Timer {
    const void *id;
    const char *name; /* owned by the arena */
    bool is_hidden;
    int first_child, last_child, next_sibling; /* indices or NONE */
    double seconds, started;
} Timer;

struct Timing {
    Arena arena;
    VEC(Timer) timers; /* the first is the root, never shown */
    VEC(int) active;   /* a stack of indices */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int add_timer(Timing *timing, const void *id, const char *name, bool is_hidden)
{
    *vec_push(&timing->timers) = (Timer){.id = id,
                                         .name = arena_copy(&timing->arena, name, strlen(name) + 1),
                                         .is_hidden = is_hidden,
                                         .first_child = NONE,
                                         .last_child = NONE,
                                         .next_sibling = NONE};
    return (int)timing->timers.len - 1;
}

Timing *timing_create(void)
{
    Timing *timing = xcalloc(1, sizeof *timing);
    arena_init(&timing->arena);
    add_timer(timing, NULL, "root", true);
    timing->timers.data[ROOT].started = now();
    return timing;
}

void timing_free(Timing *timing)
{
    if (!timing) return;
    vec_free(&timing->timers);
    vec_free(&timing->active);
    arena_free(&timing->arena);
    free_ptr((void **)&timing);
}

static int find_child(Timing *timing, int parent, const void *id, const char *name, bool is_hidden)
{
    Timer *timers = timing->timers.data;
    for (int at = timers[parent].first_child; at != NONE; at = timers[at].next_sibling)
        if (timers[at].id == id && strcmp(timers[at].name, name) == 0) return at;
    int last = timers[parent].last_child, child = add_timer(timing, id, name, is_hidden);
    timers = timing->timers.data;
    *(last == NONE ? &timers[parent].first_child : &timers[last].next_sibling) = child;
    timers[parent].last_child = child;
    return child;
}

void timing_enter(Timing *timing, const void *id, const char *name, bool is_hidden, bool is_outer)
{
    bool nested = timing->active.len > 0 && !is_outer;
    int parent = nested ? timing->active.data[timing->active.len - 1] : ROOT;
    int child = find_child(timing, parent, id, name, is_hidden);
    timing->timers.data[child].started = now();
    *vec_push(&timing->active) = child;
}

void timing_leave(Timing *timing)
{
    Timer *timer = &timing->timers.data[timing->active.data[--timing->active.len]];
    timer->seconds += now() - timer->started;
}

typedef struct Report {
    const Timing *timing;
    const TimingLayout *layout;
    double total;
} Report;

static double share(const Report *report, double seconds)
{
    return report->total > 0 ? 100 * seconds / report->total : 0;
}

static void print_time(const Report *report, double seconds)
{
    if (report->layout->as_json)
        fprintf(stderr, "\"wall\": {\"duration\": %8.4f, \"percentage\": %5.1f}", seconds,
                share(report, seconds));
    else
        fprintf(stderr, "  %8.4f (%5.1f%%)  ", seconds, share(report, seconds));
}

static void print_entry(const Report *report, const char *name, double seconds, bool is_last)
{
    bool json = report->layout->as_json;
    if (json) fputc('{', stderr);
    print_time(report, seconds);
    if (json)
        fprintf(stderr, ", \"name\": \"%s\"}%s\n", name, is_last ? "" : ",");
    else
        fprintf(stderr, "%s\n", name);
}

static void print_tree(const Report *report, int index, int indent)
{
    const Timer *timer = &report->timing->timers.data[index];
    bool json = report->layout->as_json, shown = !timer->is_hidden;
    if (shown && json) fprintf(stderr, "%*s{", indent, "");
    if (shown) print_time(report, timer->seconds);
    if (shown && json) fprintf(stderr, ", \"name\": \"%s\", \"passes\": [\n", timer->name);
    if (shown && !json) fprintf(stderr, "%*s%s\n", indent, "", timer->name);
    for (int at = timer->first_child; at != NONE; at = report->timing->timers.data[at].next_sibling)
        print_tree(report, at, shown ? indent + 2 : indent);
    if (shown && json) fprintf(stderr, "%*s{}]},\n", indent, "");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const Timer *)a)->name, ((const Timer *)b)->name);
}

/* Longest first; names decide where times are equal. */
static int compare_times(const void *a, const void *b)
{
    double x = ((const Timer *)a)->seconds, y = ((const Timer *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : compare_names(a, b);
}

/* All timers, those of one name added up. */
static void print_list(const Report *report)
{
    size_t count = report->timing->timers.len, merged = 0;
    Timer *timers = xmalloc(count * sizeof *timers);
    memcpy(timers, report->timing->timers.data, count * sizeof *timers);
    qsort(timers, count, sizeof *timers, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && strcmp(timers[merged - 1].name, timers[i].name) == 0)
            timers[merged - 1].seconds += timers[i].seconds;
        else
            timers[merged++] = timers[i];
    }
    qsort(timers, merged, sizeof *timers, compare_times);
    for (size_t i = 0; i < merged; i++)
        print_entry(report, timers[i].name, timers[i].seconds, false);
    free_ptr((void **)&timers);
}

static void print_header(const Report *report)
{
    if (report->layout->as_json) {
        fputs("[\n", stderr);
        return;
    }
    static const char rule[] =
        "===-------------------------------------------------------------------------===";
    fprintf(stderr, "%s\n%*s... Execution time report ...\n%s\n", rule, 25, "", rule);
    fprintf(stderr, "  Total Execution Time: %.4f seconds\n\n", report->total);
    fprintf(stderr, "  ----Wall Time----  ----Name----\n");
}

void timing_print(Timing *timing, const TimingLayout *layout)
{
    Timer *timers = timing->timers.data;
    timers[ROOT].seconds = now() - timers[ROOT].started;
    Report report = {timing, layout, timers[ROOT].seconds};
    print_header(&report);
    if (layout->as_list)
        print_list(&report);
    else
        print_tree(&report, ROOT, 0);
    double rest = report.total;
    for (int at = timers[ROOT].first_child; at != NONE; at = timers[at].next_sibling)
        rest -= timers[at].seconds;
    print_entry(&report, "Rest", rest, false);
    print_entry(&report, "Total", report.total, true);
    if (layout->as_json) fputs("]\n", stderr);
}
