/* Deadlocks: who waits for whom. A process that waits to read waits for the FIFO's writer, one that
 * waits to write for its reader; following these leads into a cycle, or to a process that has no
 * more words to give.
 * Tests: lit/sim/hls-deadlock.mir */
#include "sim/hls_report.h"

#include <stdlib.h>

#include "ir/diag.h"

typedef struct Waits {
    const HlsDesign *design;
    const HlsSim *sim;
} Waits;

/* The process that would have to move; HLS_NOBODY: the process does not wait. */
static uint32_t awaited(const Waits *w, uint32_t process)
{
    HlsBlock block = hls_sim_block(w->sim, process);
    if (block.stream == HLS_NOBODY)
        return HLS_NOBODY;
    const HlsStream *stream = &w->design->streams.data[block.stream];
    return block.is_full ? stream->reader : stream->writer;
}

/* A process of the cycle that waiting leads to, or HLS_NOBODY. */
static uint32_t find_cycle(const Waits *w, uint32_t start)
{
    uint32_t at = start;
    for (size_t i = 0; at != HLS_NOBODY && i < w->design->processes.len; i++)
        at = awaited(w, at);
    return at;
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
        op_note(op, "'%.*s' waits since cycle %lld to read '%.*s', which is empty", STR_ARG(p->name),
                (long long)block.cycle, STR_ARG(stream->name));
}

/* What the cycle's full FIFOs need, others as they are. */
typedef struct Search {
    const HlsDesign *design;
    HlsSimOptions options;
    int64_t frames;
    int64_t *depths; /* of all streams */
} Search;

/* Whether the frames run through; peaks (NULL: not asked for) get the most words of each stream. */
static bool runs_through(const Search *s, int64_t *peaks)
{
    HlsSim *sim = hls_sim_create(s->design, &s->options);
    bool done = hls_sim_run(sim, s->frames);
    hls_sim_finish(sim);
    for (uint32_t i = 0; peaks && i < s->design->streams.len; i++)
        peaks[i] = hls_sim_fifo(sim, i)->needed;
    hls_sim_free(sim);
    return done;
}

/* Smallest depth that works, above `low` and at most what is set. */
static void minimize(const Search *s, uint32_t stream, int64_t low)
{
    int64_t high = s->depths[stream];
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        s->depths[stream] = middle;
        if (runs_through(s, NULL))
            high = middle;
        else
            low = middle;
    }
    s->depths[stream] = high;
}

static void note_depths(const Waits *w, uint32_t first, const HlsSimOptions *options, int64_t frames)
{
    size_t count = w->design->streams.len;
    int64_t *depths = xcalloc(count, sizeof *depths), *peaks = xcalloc(count, sizeof *peaks);
    Search s = {w->design, *options, frames, depths};
    s.options.hooks = (HlsHooks){0};
    s.options.depths = depths;
    for (size_t i = 0; i < count; i++)
        depths[i] = hls_sim_fifo(w->sim, (uint32_t)i)->depth;
    uint32_t at = first;
    do {
        HlsBlock block = hls_sim_block(w->sim, at);
        if (block.is_full)
            depths[block.stream] = 0;
        at = awaited(w, at);
    } while (at != first);
    bool breaks = runs_through(&s, peaks);
    for (size_t i = 0; i < count; i++)
        depths[i] = depths[i] ? depths[i] : peaks[i];
    for (uint32_t i = 0; breaks && i < count; i++) {
        int64_t given = hls_sim_fifo(w->sim, i)->depth;
        const Op *op = w->design->streams.data[i].op;
        if (depths[i] == given || !op)
            continue;
        minimize(&s, i, given);
        op_note(op, "a depth of %lld would break the cycle", (long long)depths[i]);
    }
    free(depths);
    free(peaks);
}

bool hls_explain_deadlock(const HlsDesign *design, const HlsSim *sim, const HlsSimOptions *options,
                          int64_t frames)
{
    const Waits w = {design, sim};
    uint32_t first = HLS_NOBODY, length = 0, at;
    for (uint32_t i = 0; first == HLS_NOBODY && i < design->processes.len; i++)
        first = find_cycle(&w, i);
    if (first == HLS_NOBODY)
        return op_error(design->top, "stands still: a process waits for words that never come");
    at = first;
    do {
        length++;
        at = awaited(&w, at);
    } while (at != first);
    op_error(design->top, "deadlocks: %u processes wait for each other", length);
    do {
        note_wait(&w, at);
        at = awaited(&w, at);
    } while (at != first);
    note_depths(&w, first, options, frames);
    return false;
}
