/* Deadlocks: which process waits for which. A process that waits to read waits for the FIFO's
 * writer, one that waits to write for its reader. Following these edges leads into a cycle, or to a
 * process that has no more words to give.
 * Tests: lit/sim/hls/deadlock.mir */
#include <stdlib.h>

#include "ir/asm/print/print.h"
#include "sim/hls/hls.h"

typedef struct Waits {
    const HlsDesign *design;
    const HlsSim *sim;
} Waits;

/* The process that would have to move; HLS_NOBODY: the process does not wait. */
static uint32_t awaited(const Waits *w, uint32_t process)
{
    HlsBlock block = hls_sim_block(w->sim, process);
    if (block.stream == HLS_NOBODY) return HLS_NOBODY;
    const HlsStream *stream = &w->design->streams.data[block.stream];
    return block.is_full ? stream->reader : stream->writer;
}

/* A process of a cycle of waiting, or HLS_NOBODY. */
static uint32_t find_cycle(const Waits *w)
{
    size_t count = w->design->processes.len;
    for (uint32_t start = 0; start < count; start++) {
        uint32_t at = start;
        for (size_t i = 0; at != HLS_NOBODY && i < count; i++) at = awaited(w, at);
        if (at != HLS_NOBODY) return at;
    }
    return HLS_NOBODY;
}

static void note_wait(const Waits *w, uint32_t process)
{
    HlsBlock block = hls_sim_block(w->sim, process);
    const HlsProcess *p = &w->design->processes.data[process];
    const HlsStream *stream = &w->design->streams.data[block.stream];
    const HlsFifo *fifo = hls_sim_fifo(w->sim, block.stream);
    const Op *op = stream->op ? stream->op : w->design->top;
    if (block.is_full)
        op_note(op, "'%.*s' waits since cycle %lld to write '%.*s', which is full (depth %lld)",
                STR_ARG(p->name), (long long)block.cycle, STR_ARG(stream->name),
                (long long)fifo->depth);
    else
        op_note(op, "'%.*s' waits since cycle %lld to read '%.*s', which is empty",
                STR_ARG(p->name), (long long)block.cycle, STR_ARG(stream->name));
}

static void note_waits(const Waits *w)
{
    for (uint32_t i = 0; i < w->design->processes.len; i++)
        if (awaited(w, i) != HLS_NOBODY) note_wait(w, i);
}

/* Depths to try; `given` has the depths of the design. */
typedef struct DeadlockSearch {
    const HlsDesign *design;
    HlsSimOptions options;
    int64_t frames;
    const int64_t *given;
    int64_t *depths; /* of all streams; 0: unbounded */
} DeadlockSearch;

static bool runs_through(const DeadlockSearch *s)
{
    HlsSim *sim = hls_sim_create(s->design, &s->options);
    bool done = hls_sim_run(sim, s->frames) && hls_sim_drain(sim);
    hls_sim_free(sim);
    return done;
}

/* Makes the full FIFOs of the cycle that ended a simulation unbounded. False: there are none. */
static bool open_cycle(const DeadlockSearch *s, const HlsSim *sim)
{
    const Waits w = {s->design, sim};
    uint32_t first = find_cycle(&w), at = first;
    bool any = false;
    if (first == HLS_NOBODY) return false;
    do {
        HlsBlock block = hls_sim_block(sim, at);
        if (block.is_full) s->depths[block.stream] = 0;
        any |= block.is_full;
        at = awaited(&w, at);
    } while (at != first);
    return any;
}

/* Opens cycle after cycle; then what was opened gets the depth that it needs. False: no depths
 * help. */
static bool find_enough(const DeadlockSearch *s)
{
    for (;;) {
        HlsSim *sim = hls_sim_create(s->design, &s->options);
        bool done = hls_sim_run(sim, s->frames) && hls_sim_drain(sim),
             goes_on = !done && open_cycle(s, sim);
        if (done) hls_sim_finish(sim);
        for (uint32_t i = 0; done && i < s->design->streams.len; i++)
            if (s->depths[i] == 0)
                s->depths[i] = i64_max(hls_sim_fifo(sim, i)->needed, s->given[i]);
        hls_sim_free(sim);
        if (!goes_on) return done;
    }
}

/* Smallest depth that works with the others as they are, at least the given one. */
static void minimize(const DeadlockSearch *s, uint32_t stream)
{
    int64_t low = s->given[stream] - 1, high = s->depths[stream];
    while (low + 1 < high) {
        s->depths[stream] = low + (high - low) / 2;
        if (runs_through(s))
            high = s->depths[stream];
        else
            low = s->depths[stream];
    }
    s->depths[stream] = high;
}

/* A set of depths of which none can be less. */
static void note_depths(const DeadlockSearch *s)
{
    size_t count = s->design->streams.len, changed = 0;
    if (!find_enough(s)) return;
    for (uint32_t i = 0; i < count; i++) {
        if (s->depths[i] > s->given[i]) minimize(s, i);
        changed += s->depths[i] > s->given[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const HlsStream *stream = &s->design->streams.data[i];
        if (s->depths[i] > s->given[i])
            op_note(stream->op ? stream->op : s->design->top,
                    "a depth of %lld of '%.*s' would break the cycle%s", (long long)s->depths[i],
                    STR_ARG(stream->name), changed > 1 ? ", with the other depths" : "");
    }
}

/* Frames in which depths are tried: where processes rewind, a cycle may close only when several
 * frames are under way. */
static int64_t frames_to_try(const HlsDesign *design, int64_t frames)
{
    enum { SEVERAL = 8 };
    for (size_t i = 0; i < design->processes.len; i++)
        if (design->processes.data[i].rewinds) return i64_max(frames, SEVERAL);
    return frames;
}

static void suggest_depths(const HlsDesign *design, const HlsSim *sim, const HlsSimOptions *options,
                           int64_t frames)
{
    size_t count = design->streams.len;
    int64_t *given = xcalloc(count, sizeof *given), *depths = xcalloc(count, sizeof *depths);
    DeadlockSearch s = {design, *options, frames_to_try(design, frames), given, depths};
    s.options.hooks = (HlsHooks){0};
    s.options.depths = depths;
    for (uint32_t i = 0; i < count; i++) given[i] = depths[i] = hls_sim_fifo(sim, i)->depth;
    note_depths(&s);
    free(given);
    free(depths);
}

bool hls_sim_explain_deadlock(const HlsDesign *design, const HlsSim *sim,
                              const HlsSimOptions *options, int64_t frames)
{
    const Waits w = {design, sim};
    uint32_t first = find_cycle(&w), length = 0, at = first;
    if (first == HLS_NOBODY) {
        op_error(design->top, "stands still: a process waits for words that never come");
        note_waits(&w);
        return false;
    }
    do {
        length++;
        at = awaited(&w, at);
    } while (at != first);
    op_error(design->top, "deadlocks: %u processes wait for each other", length);
    do {
        note_wait(&w, at);
        at = awaited(&w, at);
    } while (at != first);
    suggest_depths(design, sim, options, frames);
    return false;
}
