/* Regions of a design: consecutive processes in an order that follows the streams. They are cut
 * where the fewest streams cross, if they stay at least half as large as they may be.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos-regions.mir */
#include <stdlib.h>

#include "sim/design/design.h"
#include "target/fifo/internal.h"

struct RegionWalk {
    const HlsDesign *design;
    uint32_t *order; /* the processes */
    int32_t *place;  /* where each stands among them */
    uint32_t count;
    uint32_t *ends; /* of each region, in the order; up to `count` */
    uint32_t region_count, next;
    int32_t begin, end; /* of the region that is looked at */
    WordTimes *given;   /* of each stream that goes from a region before to one that is to come */
    bool *has;          /* of each process: in the region, or reads its results alone */
};

/* Streams that order processes and have events. */
static bool is_used(const HlsStream *s)
{
    return !s->is_once && s->writer != HLS_NOBODY && s->reader != HLS_NOBODY;
}

enum { NO_PLACE = -1 };

static void place(RegionWalk *walk, uint32_t process, uint32_t *placed)
{
    if (walk->place[process] != NO_PLACE) return;
    walk->place[process] = (int32_t)*placed;
    walk->order[(*placed)++] = process;
}

/* Places a process, between those that stand for the world at its ports. */
static void place_with_ports(RegionWalk *walk, uint32_t process, uint32_t *placed)
{
    const HlsDesign *design = walk->design;
    for (uint32_t i = 0; i < design->port_count; i++)
        if (is_used(&design->streams.data[i]) && design->streams.data[i].reader == process)
            place(walk, design->streams.data[i].writer, placed);
    place(walk, process, placed);
    for (uint32_t i = 0; i < design->port_count; i++)
        if (is_used(&design->streams.data[i]) && design->streams.data[i].writer == process)
            place(walk, design->streams.data[i].reader, placed);
}

/* A process that waits for none that has no place yet. NOBODY: there is none. */
static uint32_t next_process(const RegionWalk *walk, const uint32_t *waits)
{
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->design->processes.data[i].func && walk->place[i] == NO_PLACE && waits[i] == 0)
            return i;
    return HLS_NOBODY;
}

/* Orders the processes by their streams, otherwise as the design does. False: there is a cycle. */
static bool order_processes(RegionWalk *walk)
{
    const HlsDesign *design = walk->design;
    uint32_t *waits = xcalloc(walk->count, sizeof *waits), placed = 0, process;
    for (uint32_t i = 0; i < walk->count; i++) walk->place[i] = NO_PLACE;
    for (size_t i = design->port_count; i < design->streams.len; i++)
        if (is_used(&design->streams.data[i])) waits[design->streams.data[i].reader]++;
    while ((process = next_process(walk, waits)) != HLS_NOBODY) {
        place_with_ports(walk, process, &placed);
        for (size_t i = design->port_count; i < design->streams.len; i++) {
            const HlsStream *s = &design->streams.data[i];
            if (is_used(s) && s->writer == process) waits[s->reader]--;
        }
    }
    bool ok = true;
    for (uint32_t i = 0; i < walk->count; i++) {
        ok &= walk->place[i] != NO_PLACE || !design->processes.data[i].func;
        place(walk, i, &placed); /* the world at a port that is not used */
    }
    free(waits);
    return ok;
}

/* More than streams there are: ports are not cut, because the world's words come as they are taken. */
enum { PORT_CROSSING = 1 << 30 };

/* Reads and writes of each process, and the streams that a cut in front of it would cross, both in
 * the order of processes. */
static void weigh(const RegionWalk *walk, int64_t *accesses, int64_t *crossing)
{
    for (size_t i = 0; i < walk->design->streams.len; i++) {
        const HlsStream *s = &walk->design->streams.data[i];
        if (!is_used(s)) continue;
        int32_t from = walk->place[s->writer], to = walk->place[s->reader];
        accesses[from] += s->words;
        accesses[to] += s->words;
        for (int32_t at = from + 1; at <= to; at++)
            crossing[at] += i < walk->design->port_count ? PORT_CROSSING : 1;
    }
}

/* End of the region that begins at a process: where the fewest streams cross, in its second half. */
static uint32_t region_end(const RegionWalk *walk, uint32_t begin, int64_t most,
                           const int64_t *accesses, const int64_t *crossing)
{
    int64_t sum = accesses[begin];
    uint32_t best = begin + 1;
    for (uint32_t end = begin + 1; end < walk->count; sum += accesses[end++]) {
        bool may_cut = crossing[end] < PORT_CROSSING;
        bool is_forced = crossing[best] >= PORT_CROSSING; /* nowhere to cut yet */
        if (sum > most && !is_forced) return best;
        if (may_cut && (is_forced || sum < most / 2 || crossing[end] <= crossing[best])) best = end;
        if (!may_cut && is_forced) best = end;
    }
    return sum <= most || crossing[best] >= PORT_CROSSING ? walk->count : best;
}

static void divide(RegionWalk *walk, int64_t most)
{
    int64_t *accesses = xcalloc(walk->count, sizeof *accesses);
    int64_t *crossing = xcalloc(walk->count + 1, sizeof *crossing);
    weigh(walk, accesses, crossing);
    for (uint32_t begin = 0; begin < walk->count; begin = walk->ends[walk->region_count++])
        walk->ends[walk->region_count] = region_end(walk, begin, most, accesses, crossing);
    free(accesses);
    free(crossing);
}

RegionWalk *fifo_regions_create(const HlsDesign *design, int64_t most)
{
    RegionWalk *walk = xcalloc(1, sizeof *walk);
    *walk = (RegionWalk){.design = design, .count = (uint32_t)design->processes.len};
    walk->order = xcalloc(walk->count, sizeof *walk->order);
    walk->place = xcalloc(walk->count, sizeof *walk->place);
    walk->ends = xcalloc(walk->count, sizeof *walk->ends);
    walk->has = xcalloc(walk->count, sizeof *walk->has);
    walk->given = xcalloc(design->streams.len, sizeof *walk->given);
    if (!order_processes(walk)) {
        fifo_regions_free(walk);
        return NULL;
    }
    divide(walk, most);
    return walk;
}

static void free_times(WordTimes *times)
{
    if (times->places != times->words) free(times->places);
    free(times->words);
    *times = (WordTimes){0};
}

void fifo_regions_free(RegionWalk *walk)
{
    if (!walk) return;
    for (size_t i = 0; i < walk->design->streams.len; i++) free_times(&walk->given[i]);
    free(walk->order);
    free(walk->place);
    free(walk->ends);
    free(walk->has);
    free(walk->given);
    free(walk);
}

/* Adds the processes behind a region that read its results, unless they wait for others, too. */
static void add_readers(RegionWalk *walk, int32_t begin, int32_t end)
{
    const HlsDesign *design = walk->design;
    for (size_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        if (!is_used(s)) continue;
        int32_t from = walk->place[s->writer];
        if (from >= begin && from < end && walk->place[s->reader] >= end)
            walk->has[s->reader] = true;
    }
    for (size_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        if (is_used(s) && walk->place[s->reader] >= end && walk->place[s->writer] >= end)
            walk->has[s->reader] = false;
    }
}

PeriodicSchedule *fifo_regions_next(RegionWalk *walk, int64_t max_accesses)
{
    if (fifo_regions_done(walk)) return NULL;
    walk->begin = walk->end;
    walk->end = (int32_t)walk->ends[walk->next++];
    for (uint32_t i = 0; i < walk->count; i++)
        walk->has[i] = walk->place[i] >= walk->begin && walk->place[i] < walk->end;
    add_readers(walk, walk->begin, walk->end);
    const EventRegion region = {.has = walk->has, .given = walk->given};
    return fifo_periodic_create(walk->design, &region, max_accesses);
}

void fifo_regions_keep(RegionWalk *walk, const PeriodicSchedule *sched)
{
    for (uint32_t i = 0; i < walk->design->streams.len; i++) {
        const HlsStream *s = &walk->design->streams.data[i];
        if (!is_used(s) || s->words == 0) continue;
        int32_t from = walk->place[s->writer], to = walk->place[s->reader];
        if (to < walk->end)
            free_times(&walk->given[i]);
        else if (from >= walk->begin && from < walk->end)
            walk->given[i] = fifo_periodic_times(sched, i);
    }
}

bool fifo_regions_done(const RegionWalk *walk)
{
    return walk->next == walk->region_count;
}
