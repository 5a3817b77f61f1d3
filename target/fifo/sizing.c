/* The search for the smallest depths that keep an interval: target/fifo/fifo.h describes it, and
 * docs/streaming.md the regions of large frames.
 * Tests: lit/target/fifo/fit-fifos.mir, test/unit/sim/hls/timing_sim_test.c */
#include <assert.h>
#include <stdlib.h>

#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "target/fifo/fifo.h"
#include "target/fifo/internal.h"

int64_t fifo_best_interval(const HlsDesign *design)
{
    int64_t most = 1;
    for (size_t i = 0; i < design->processes.len; i++)
        most = design->processes.data[i].cycles > most ? design->processes.data[i].cycles : most;
    return most;
}

enum { FIRST_FRAMES = 64 }; /* with unbounded FIFOs */
/* Reads and writes of a frame whose FIFOs are searched: as many for each event that may be looked
 * at, and of those that are scheduled at once no more than fit 2 GB. The others are scheduled in
 * regions, with fewer so that all of them together take little longer. */
enum {
    ACCESSES_PER_EVENT = 8,
    MAX_ACCESSES = 1 << 26,
    REGION_ACCESSES_PER_EVENT = 16,
    MAX_REGION_ACCESSES = 1 << 28,
    REGION_ACCESSES = 1 << 24
};

/* From the first word in to the last word out of the first frame. */
static int64_t first_latency(const HlsDesign *design, const HlsSim *sim)
{
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        const HlsFrame *frame = hls_sim_frames(sim, i)->data;
        if (!p->func && !p->is_once && p->is_source && frame->begin < begin) begin = frame->begin;
        if (!p->func && !p->is_source && frame->end > end) end = frame->end;
    }
    return end - (begin == INT64_MAX ? design->hold : begin);
}

/* Rounded up; 0: the state does not recur. */
static int64_t mean_interval(HlsPeriod period)
{
    return period.frames > 0 ? (period.cycles + period.frames - 1) / period.frames : 0;
}

/* Further frames, in which streams with latency come to hold what they hold in a period that has begun. */
static int64_t fill_up(HlsSim *sim, int64_t interval, int64_t frames, int64_t max_frames,
                       int64_t events)
{
    const int64_t recurred = frames + hls_sim_period(sim).frames;
    while (frames < max_frames && hls_sim_events(sim) < events &&
           !hls_sim_has_filled_up(sim, interval, recurred))
        if (!hls_sim_run(sim, ++frames)) break;
    return frames;
}

/* Simulates until the state recurs or, if depths are not asked for, until it is proven that the
 * interval is kept. A frame that was begun within the events may end, unless it is too large for its
 * FIFOs to be searched. Depths are those that pipelines need which stall. */
static SizingOutcome run_to_period(const HlsDesign *design, HlsSimOptions options,
                                   int64_t max_frames, int64_t *events, SteadyState *out,
                                   int64_t *needed)
{
    const int64_t largest = 2 * (int64_t)MAX_ACCESSES; /* frames in flight at once included */
    options.stalls = needed || options.input_interval > 0;
    options.max_events = i64_min(*events, INT64_MAX - largest) + largest;
    HlsSim *sim = hls_sim_create(design, &options);
    SizingOutcome outcome = SIZING_UNDECIDED;
    int64_t frames = 1;
    for (; outcome == SIZING_UNDECIDED && frames <= max_frames; frames++) {
        if (hls_sim_events(sim) >= *events) break;
        bool is_done = hls_sim_run(sim, frames);
        if (hls_sim_was_stopped(sim)) break;
        if (!is_done)
            outcome = SIZING_DEADLOCK;
        else if (!needed && options.input_interval > 0 && hls_sim_keeps_interval(sim))
            out->interval = options.input_interval;
        else
            out->interval = mean_interval(hls_sim_period(sim));
        outcome = outcome == SIZING_UNDECIDED && out->interval > 0 ? SIZING_PERIODIC : outcome;
        if (hls_sim_events(sim) == 0) break; /* nor will later frames read or write */
    }
    if (needed && outcome == SIZING_PERIODIC && hls_sim_events(sim) > 0)
        frames = fill_up(sim, out->interval, frames - 1, max_frames, *events) + 1;
    *events -= hls_sim_events(sim);
    out->frames = frames - 1;
    hls_sim_finish(sim);
    for (uint32_t i = 0; needed && i < design->streams.len; i++)
        needed[i] = hls_sim_fifo(sim, i)->needed;
    hls_sim_free(sim);
    return outcome;
}

SizingOutcome fifo_steady_state(const HlsDesign *design, const int64_t *depths, int64_t *events,
                                SteadyState *out, int64_t *needed)
{
    const HlsSimOptions options = {.depths = depths};
    SizingOutcome outcome = run_to_period(design, options, INT64_MAX, events, out, needed);
    if (outcome == SIZING_DEADLOCK || out->frames == 0) return outcome;
    return fifo_first_frame(design, depths, &out->latency) == SIZING_DEADLOCK ? SIZING_DEADLOCK
                                                                              : outcome;
}

SizingOutcome fifo_first_frame(const HlsDesign *design, const int64_t *depths, int64_t *latency)
{
    const HlsSimOptions options = {.depths = depths};
    HlsSim *sim = hls_sim_create(design, &options);
    bool ok = hls_sim_run(sim, 1) && hls_sim_drain(sim);
    if (ok) *latency = first_latency(design, sim);
    hls_sim_free(sim);
    return ok ? SIZING_PERIODIC : SIZING_DEADLOCK;
}

typedef struct DepthSearch {
    const HlsDesign *design;
    PeriodicSchedule *sched;
    const int64_t *floors; /* NULL: none */
    int64_t *depths;
    int64_t *first;  /* to begin with */
    int64_t *low;    /* too small for each stream, whatever becomes of the others */
    uint32_t *order; /* streams, widest words first */
    uint32_t count;
    int64_t limit;  /* of steps of this schedule */
    int64_t effort; /* steps for one try */
} DepthSearch;

static int64_t accesses_for(int64_t events, int64_t per_event, int64_t most)
{
    return events < most / per_event ? per_event * events : most;
}

static bool is_over(const DepthSearch *s)
{
    return fifo_periodic_steps(s->sched) >= s->limit;
}

/* What a FIFO holds at least: the end of a link between cards takes packets as a whole, and what
 * reads memory pauses (`least`). */
static int64_t floor_of(const HlsDesign *design, const int64_t *floors, uint32_t stream)
{
    const Op *op = design->streams.data[stream].op;
    const Attr *link = op ? op_attr(op, SYS_ATTR_LINK) : NULL;
    const Attr *given = op ? op_attr(op, EMITHLS_ATTR_LEAST) : NULL;
    int64_t least = link ? attr_int_value(attr_dict_get_c(link, SYS_ATTR_PACKET)) : 0;
    if (given) least = i64_max(least, attr_int_value(given));
    least = i64_max(least, HLS_MIN_DEPTH);
    return floors ? i64_max(least, floors[stream]) : least;
}

/* Words that a FIFO holds beyond those of a simulation if each of its writes needs its place when it
 * was predicted: those written while the pipeline makes up for it, and while places take longer. */
static int64_t early_words(const HlsDesign *design, uint32_t stream)
{
    const HlsStream *s = &design->streams.data[stream];
    int64_t most = 0;
    if (s->writer == HLS_NOBODY) return 0;
    const HlsProcess *p = &design->processes.data[s->writer];
    for (size_t l = 0; l < p->loops.len; l++)
        for (size_t a = 0; a < p->loops.data[l].accesses.len; a++) {
            const HlsAccess *access = &p->loops.data[l].accesses.data[a];
            if (access->is_write && p->streams[access->port] == stream)
                most = i64_max(most, access->early + s->late);
        }
    return most;
}

/* Depths to begin with, one per stream, 0 for unbounded: a process that reads memory would run ahead
 * by a frame if its FIFO did not hold it up. */
static int64_t *first_depths(const HlsDesign *design, const int64_t *floors)
{
    int64_t *depths = xcalloc(design->streams.len, sizeof *depths);
    for (uint32_t i = 0; i < design->streams.len; i++) {
        const Op *op = design->streams.data[i].op;
        if (i < design->port_count)
            depths[i] = PORT_DEPTH;
        else if (op && op_attr(op, EMITHLS_ATTR_LEAST))
            depths[i] = floor_of(design, floors, i) + early_words(design, i);
    }
    return depths;
}

/* Depth with which the present times are possible. */
static int64_t least_depth(const DepthSearch *s, uint32_t stream)
{
    int64_t needed = fifo_periodic_needed(s->sched, stream);
    return i64_max(needed, floor_of(s->design, s->floors, stream));
}

/* The smallest depth beside the others' that tries of the present effort find. Times that were
 * found for one depth often need no more than the smallest one does: quarters are tried until one
 * fails, then one word less, then the middle. */
static void fix_one(const DepthSearch *s, uint32_t stream)
{
    int64_t low = s->low[stream], high = least_depth(s, stream);
    bool was_less = false; /* tried: one word less */
    bool is_quartered = true;
    while (low + 1 < high && !is_over(s)) {
        int64_t middle = was_less ? low + (high - low) / 2 : high - 1;
        if (is_quartered) middle = high / 4 > low ? high / 4 : low + 1;
        was_less = !is_quartered && middle == high - 1;
        PeriodicOutcome outcome = fifo_periodic_set_depth(s->sched, stream, middle, s->effort);
        if (outcome == PERIODIC_KEPT) {
            high = least_depth(s, stream);
            continue;
        }
        is_quartered = false;
        low = middle;
        if (outcome == PERIODIC_LOST) s->low[stream] = middle;
    }
    PeriodicOutcome outcome = fifo_periodic_set_depth(s->sched, stream, high, INT64_MAX);
    assert(outcome == PERIODIC_KEPT);
    (void)outcome;
    s->depths[stream] = high;
}

/* Goes over the streams with little effort for each try first, then with more, because a few tries
 * are as hard as all others together. */
static void fix_all(DepthSearch *s)
{
    enum { LEAST_EFFORT = 1 << 16, GROWTH = 4, MOST_FRAMES = 64 };
    int64_t events = fifo_periodic_events(s->sched), most = MOST_FRAMES * events;
    s->effort = events / 16 > LEAST_EFFORT ? events / 16 : LEAST_EFFORT;
    for (bool is_last = false; !is_last; s->effort *= GROWTH) {
        is_last = s->effort >= most || is_over(s);
        for (uint32_t i = 0; i < s->count; i++) fix_one(s, s->order[i]);
    }
}

/* The streams that have no depth yet, those with the widest words first, then in the design's order:
 * a stable insertion into few. */
static void sort_streams(DepthSearch *s)
{
    const HlsDesign *design = s->design;
    s->count = 0;
    for (uint32_t i = design->port_count; i < design->streams.len; i++) {
        if (s->depths[i] > 0 || !fifo_periodic_has(s->sched, i)) continue;
        int64_t bits = design_word_bits(&design->streams.data[i]);
        uint32_t at = s->count++;
        while (at > 0 && design_word_bits(&design->streams.data[s->order[at - 1]]) < bits) {
            s->order[at] = s->order[at - 1];
            at--;
        }
        s->order[at] = i;
    }
}

/* Sizes without a search: takes the words that the first FIFOs hold in the periodic state. */
static SizingOutcome take_needed(const HlsDesign *design, int64_t interval, int64_t *events,
                                 const int64_t *floors, int64_t *depths)
{
    int64_t *first = first_depths(design, floors);
    const HlsSimOptions options = {.input_interval = interval, .depths = first};
    SteadyState steady = {0};
    SizingOutcome outcome = run_to_period(design, options, FIRST_FRAMES, events, &steady, depths);
    for (uint32_t i = 0; i < design->streams.len; i++)
        depths[i] = i < design->port_count
                        ? PORT_DEPTH
                        : i64_max(depths[i] + early_words(design, i), floor_of(design, floors, i));
    free(first);
    return outcome == SIZING_PERIODIC && steady.interval > interval ? SIZING_UNDECIDED : outcome;
}

/* Reads and writes of a frame, as far as they fit an int64_t. */
static int64_t frame_accesses(const HlsDesign *design)
{
    int64_t accesses = 0;
    for (size_t i = 0; i < design->streams.len; i++)
        accesses += 2 * i64_min(design->streams.data[i].words, MAX_REGION_ACCESSES);
    return accesses;
}

/* Whether the FIFOs from regions before have these depths or smaller ones with which the schedule
 * is possible as it is. */
static bool holds_given(const PeriodicSchedule *sched, const int64_t *depths, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (fifo_periodic_has(sched, i) && fifo_periodic_needed(sched, i) > depths[i]) return false;
    return true;
}

static bool keeps_in_regions(const HlsDesign *design, const int64_t *depths, int64_t interval)
{
    RegionWalk *walk = fifo_regions_create(design, REGION_ACCESSES);
    bool keeps = walk && frame_accesses(design) <= MAX_REGION_ACCESSES;
    while (keeps && !fifo_regions_done(walk)) {
        PeriodicSchedule *sched = fifo_regions_next(walk, MAX_ACCESSES);
        keeps = sched && fifo_periodic_start(sched, interval, depths) &&
                holds_given(sched, depths, design->streams.len);
        if (keeps) fifo_regions_keep(walk, sched);
        fifo_periodic_free(sched);
    }
    fifo_regions_free(walk);
    return keeps;
}

bool fifo_keeps_interval(const HlsDesign *design, const int64_t *depths, int64_t interval)
{
    PeriodicSchedule *sched = fifo_periodic_create(design, NULL, MAX_ACCESSES);
    bool keeps = sched ? fifo_periodic_start(sched, interval, depths)
                       : keeps_in_regions(design, depths, interval);
    fifo_periodic_free(sched);
    return keeps;
}

/* Raises the depths of FIFOs that regions before have sized to what this one needs, and sets them. */
static void raise_sized(const DepthSearch *s)
{
    for (uint32_t i = s->design->port_count; i < s->design->streams.len; i++) {
        if (s->depths[i] == 0 || !fifo_periodic_has(s->sched, i)) continue;
        s->depths[i] = i64_max(s->depths[i], fifo_periodic_needed(s->sched, i));
        PeriodicOutcome outcome = fifo_periodic_set_depth(s->sched, i, s->depths[i], INT64_MAX);
        assert(outcome == PERIODIC_KEPT);
        (void)outcome;
    }
}

/* Unbounded all, if the first depths do not keep the interval. */
static bool start(const DepthSearch *s, int64_t interval)
{
    return fifo_periodic_start(s->sched, interval, s->first) ||
           fifo_periodic_start(s->sched, interval, NULL);
}

/* Sizes the FIFOs of the schedule, those of a region or all. False: it does not keep the interval. */
static bool size_schedule(DepthSearch *s, int64_t interval)
{
    if (!s->sched || !start(s, interval)) return false;
    raise_sized(s);
    sort_streams(s);
    fix_all(s);
    return true;
}

/* Sizes region after region, each with a few steps for an event. */
static bool size_regions(DepthSearch *s, int64_t interval, int64_t *events)
{
    enum { STEPS_PER_EVENT = 4 };
    RegionWalk *walk = fifo_regions_create(s->design, i64_min(*events, REGION_ACCESSES));
    bool ok = walk != NULL;
    while (ok && !fifo_regions_done(walk)) {
        s->sched = fifo_regions_next(walk, MAX_ACCESSES);
        if (s->sched) s->limit = STEPS_PER_EVENT * fifo_periodic_events(s->sched);
        ok = size_schedule(s, interval);
        if (ok) fifo_regions_keep(walk, s->sched);
        if (ok) *events = i64_max(*events - fifo_periodic_steps(s->sched), 0);
        fifo_periodic_free(s->sched);
    }
    fifo_regions_free(walk);
    return ok;
}

/* Sizes all FIFOs at once, or in regions if there are too many events. */
static bool size_all(DepthSearch *s, int64_t interval, int64_t *events)
{
    int64_t accesses = frame_accesses(s->design);
    if (accesses > accesses_for(*events, REGION_ACCESSES_PER_EVENT, MAX_REGION_ACCESSES))
        return false;
    s->sched = fifo_periodic_create(s->design, NULL,
                                    accesses_for(*events, ACCESSES_PER_EVENT, MAX_ACCESSES));
    if (!s->sched) return size_regions(s, interval, events);
    s->limit = *events;
    bool ok = size_schedule(s, interval);
    if (ok) *events -= fifo_periodic_steps(s->sched);
    fifo_periodic_free(s->sched);
    return ok;
}

SizingOutcome fifo_size(const HlsDesign *design, int64_t interval, int64_t *events,
                        const int64_t *floors, int64_t *depths)
{
    DepthSearch s = {.design = design, .floors = floors, .depths = depths};
    s.order = xcalloc(design->streams.len, sizeof *s.order);
    s.low = xcalloc(design->streams.len, sizeof *s.low);
    s.first = first_depths(design, floors);
    for (uint32_t i = 0; i < design->streams.len; i++) {
        depths[i] = i < design->port_count ? PORT_DEPTH : 0;
        s.low[i] = floor_of(design, floors, i) - 1;
    }
    bool ok = size_all(&s, interval, events);
    free(s.order);
    free(s.low);
    free(s.first);
    if (!ok) return take_needed(design, interval, events, floors, depths);
    for (uint32_t i = 0; i < design->streams.len; i++)
        if (depths[i] == 0) depths[i] = floor_of(design, floors, i); /* of the first frame alone */
    return SIZING_PERIODIC;
}
