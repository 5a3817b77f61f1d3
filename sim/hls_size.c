/* Sizing FIFOs: sim/hls_size.h says how and why.
 * Tests: lit/target/fit-fifos.mir, test/unit/hls_engine_test.c */
#include "sim/hls_size.h"

#include <stdlib.h>

#include "dialects/emithls/emithls.h"

int64_t hls_word_bits(const HlsStream *stream)
{
    return emithls_lanes(stream->word) * type_width(emithls_scalar(stream->word));
}

int64_t hls_best_interval(const HlsDesign *design)
{
    int64_t most = 1;
    for (size_t i = 0; i < design->processes.len; i++)
        most = design->processes.data[i].cycles > most ? design->processes.data[i].cycles : most;
    return most;
}

enum { FIRST_FRAMES = 64 }; /* with unbounded FIFOs */

/* --- the periodic state ----------------------------------------------------------------------- */

/* From the first word in to the last word out of the first frame. */
static int64_t first_latency(const HlsDesign *design, const HlsSim *sim)
{
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        const HlsFrame *frame = hls_sim_frames(sim, i)->data;
        if (!p->func && !p->is_once && p->is_source && frame->begin < begin)
            begin = frame->begin;
        if (!p->func && !p->is_source && frame->end > end)
            end = frame->end;
    }
    return begin == INT64_MAX ? end : end - begin;
}

/* Until the state recurs or, if depths are not asked for, keeping pace is proven. */
static HlsFate run_to_period(const HlsDesign *design, const HlsSimOptions *options,
                             int64_t max_frames, int64_t *events, HlsSteady *out, int64_t *needed)
{
    HlsSim *sim = hls_sim_create(design, options);
    HlsFate fate = HLS_UNDECIDED;
    for (int64_t frames = 1; fate == HLS_UNDECIDED && frames <= max_frames; frames++) {
        if (hls_sim_events(sim) >= *events)
            break;
        if (!hls_sim_run(sim, frames))
            fate = HLS_DEADLOCK;
        else if (!needed && options->input_interval > 0 && hls_sim_keeps_pace(sim))
            out->interval = options->input_interval;
        else
            out->interval = hls_sim_period(sim);
        fate = fate == HLS_UNDECIDED && out->interval > 0 ? HLS_PERIODIC : fate;
    }
    *events -= hls_sim_events(sim);
    if (fate == HLS_PERIODIC)
        out->latency = first_latency(design, sim);
    hls_sim_finish(sim);
    for (uint32_t i = 0; needed && i < design->streams.len; i++)
        needed[i] = hls_sim_fifo(sim, i)->needed;
    hls_sim_free(sim);
    return fate;
}

HlsFate hls_steady_state(const HlsDesign *design, const int64_t *depths, int64_t *events,
                         HlsSteady *out, int64_t *needed)
{
    const HlsSimOptions options = {.depths = depths};
    return run_to_period(design, &options, INT64_MAX, events, out, needed);
}

/* --- the search ----------------------------------------------------------------------------------- */

typedef struct Search {
    const HlsDesign *design;
    int64_t interval, *events;
    int64_t *depths; /* 0: not fixed yet, unbounded */
    uint32_t *order; /* streams, widest words first */
    uint32_t count;
} Search;

/* One run with the depths so far, at most so many frames. */
static HlsFate try_depths(const Search *s, int64_t max_frames)
{
    const HlsSimOptions options = {.input_interval = s->interval, .depths = s->depths};
    HlsSteady steady = {0};
    HlsFate fate = run_to_period(s->design, &options, max_frames, s->events, &steady, NULL);
    return fate == HLS_PERIODIC && steady.interval > s->interval ? HLS_UNDECIDED : fate;
}

/* A network that does not settle soon counts as too slow. */
static bool keeps_interval(const Search *s)
{
    enum { MAX_FRAMES = 8 };
    return try_depths(s, MAX_FRAMES) == HLS_PERIODIC;
}

static void set_depths(const Search *s, uint32_t begin, uint32_t end, int64_t depth)
{
    for (uint32_t i = begin; i < end; i++)
        s->depths[s->order[i]] = depth;
}

/* The least depth is too small; doubled until one is not, then bisected. */
static void fix_one(const Search *s, uint32_t stream)
{
    int64_t low = HLS_MIN_DEPTH, high = 2 * low, most = 4 * s->design->streams.data[stream].words;
    for (s->depths[stream] = high; !keeps_interval(s); s->depths[stream] = high) {
        low = high;
        high *= 2;
        if (high > most || *s->events <= 0) {
            s->depths[stream] = 0;
            return;
        }
    }
    while (low + 1 < high && *s->events > 0) {
        s->depths[stream] = low + (high - low) / 2;
        if (keeps_interval(s))
            high = s->depths[stream];
        else
            low = s->depths[stream];
    }
    s->depths[stream] = high;
}

/* Depths of order[begin, end), where all at the least do not keep the interval. Most streams need no
 * more, so they are tried together. */
static void fix_range(const Search *s, uint32_t begin, uint32_t end)
{
    if (end - begin == 1) {
        fix_one(s, s->order[begin]);
        return;
    }
    uint32_t middle = begin + (end - begin) / 2;
    const uint32_t ends[] = {begin, middle, end};
    for (int half = 0; half < 2; half++) {
        set_depths(s, ends[half], ends[half + 1], HLS_MIN_DEPTH);
        if (*s->events > 0 && keeps_interval(s))
            continue;
        set_depths(s, ends[half], ends[half + 1], 0);
        if (*s->events <= 0)
            return;
        fix_range(s, ends[half], ends[half + 1]);
    }
}

/* Widest words first, then in the design's order: a stable insertion into few. */
static void sort_streams(Search *s)
{
    const HlsDesign *design = s->design;
    for (uint32_t i = design->port_count; i < design->streams.len; i++) {
        int64_t bits = hls_word_bits(&design->streams.data[i]);
        uint32_t at = s->count++;
        while (at > 0 && hls_word_bits(&design->streams.data[s->order[at - 1]]) < bits) {
            s->order[at] = s->order[at - 1];
            at--;
        }
        s->order[at] = i;
    }
}

/* Streams that were not reached get what they hold in the periodic state. */
static HlsFate finish_depths(const Search *s)
{
    size_t count = s->design->streams.len;
    bool is_done = true;
    for (uint32_t i = 0; i < s->count; i++)
        is_done &= s->depths[s->order[i]] > 0;
    if (is_done)
        return HLS_PERIODIC;
    const HlsSimOptions options = {.input_interval = s->interval, .depths = s->depths};
    int64_t *needed = xcalloc(count, sizeof *needed), events = INT64_MAX;
    HlsSteady steady = {0};
    HlsFate fate = run_to_period(s->design, &options, FIRST_FRAMES, &events, &steady, needed);
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t *depth = &s->depths[s->order[i]];
        if (*depth == 0)
            *depth = needed[s->order[i]] > HLS_MIN_DEPTH ? needed[s->order[i]] : HLS_MIN_DEPTH;
    }
    free(needed);
    return fate;
}

HlsFate hls_size_fifos(const HlsDesign *design, int64_t interval, int64_t *events, int64_t *depths)
{
    size_t count = design->streams.len;
    Search s = {.design = design, .interval = interval, .events = events, .depths = depths};
    s.order = xcalloc(count, sizeof *s.order);
    sort_streams(&s);
    for (uint32_t i = 0; i < count; i++)
        depths[i] = i < design->port_count ? PORT_DEPTH : 0;
    HlsFate fate = try_depths(&s, FIRST_FRAMES);
    if (fate == HLS_PERIODIC && s.count > 0) {
        set_depths(&s, 0, s.count, HLS_MIN_DEPTH);
        if (!keeps_interval(&s)) {
            set_depths(&s, 0, s.count, 0);
            fix_range(&s, 0, s.count);
        }
        fate = finish_depths(&s);
    }
    free(s.order);
    return fate;
}
