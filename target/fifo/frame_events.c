/* Lists the events of a frame by walking through the loops of each process. Where the same accesses
 * recur in every iteration, all their ticks are written at once.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */
#include <assert.h>

#include "sim/design/design.h"
#include "target/fifo/internal.h"

/* An access of a loop, on its way through the iterations of a frame. */
typedef struct WalkedAccess {
    HlsCursor at;
    int64_t due;   /* cycle of the next access in this execution; INT64_MAX: it has none */
    bool is_alone; /* no other access of the loop has its stream and direction */
} WalkedAccess;

/* Where a process is in its frame. */
typedef struct EventWalk {
    FrameEvents *events;
    const HlsProcess *process;
    uint32_t row;
    int64_t now, last;        /* cycle; of the last tick */
    WalkedAccess **accesses;  /* per loop, per access */
    WalkedAccess **due;       /* those of the next tick */
    uint32_t due_count;       /* of them */
    int64_t *base;            /* per loop: first iteration of the execution */
    int64_t *left;            /* per step: iterations to come of a plain loop */
    uint32_t *written, *read; /* words of each stream so far */
} EventWalk;

/* Ticks `step` cycles apart, each with the accesses that are due. */
static void add_ticks(const EventWalk *w, int64_t time, uint32_t count, int64_t step)
{
    FrameEvents *events = w->events;
    Tick *ticks = events->ticks + events->tick_count;
    for (uint32_t i = 0; i < count; i++)
        ticks[i] = (Tick){.time = time + i * step,
                          .gap = step,
                          .first = events->access_count + i * w->due_count,
                          .via = NO_WORD};
    bool is_first = events->tick_count == events->rows[w->row].begin;
    ticks[0].gap = is_first ? time : time - w->last;
}

/* Access number `at` of so many ticks. */
static void add_access(const EventWalk *w, uint32_t at, uint32_t count)
{
    FrameEvents *events = w->events;
    WalkedAccess *walked = w->due[at];
    bool is_write = walked->at.access->is_write;
    uint32_t stream = w->process->streams[walked->at.access->port];
    Channel *c = &events->channels[stream];
    uint32_t *words = &(is_write ? w->written : w->read)[stream];
    uint32_t *ticks = (is_write ? c->writes : c->reads) + *words;
    TickAccess *accesses = events->accesses + events->access_count + at;
    assert(count <= c->words - *words);
    for (uint32_t i = 0; i < count; i++) {
        ticks[i] = events->tick_count + i;
        accesses[(size_t)i * w->due_count] =
            (TickAccess){stream, (*words + i) & INT32_MAX, is_write};
    }
    *(is_write ? &c->writer : &c->reader) = w->row;
    *words += count;
    hls_cursor_advance_by(&walked->at, count);
}

/* Finds the accesses of the next tick. Gives its cycle, INT64_MAX if the execution has no more, and
 * how many iterations in a row have exactly these accesses at this distance. */
static int64_t find_due(EventWalk *w, const HlsLoop *loop, WalkedAccess *accesses, int64_t *count)
{
    int64_t next = INT64_MAX, others = INT64_MAX;
    int64_t end = w->base[loop - w->process->loops.data] + loop->trips;
    for (size_t a = 0; a < loop->accesses.len; a++)
        next = accesses[a].due < next ? accesses[a].due : next;
    w->due_count = 0;
    *count = INT64_MAX;
    for (size_t a = 0; a < loop->accesses.len && next < INT64_MAX; a++) {
        WalkedAccess *walked = &accesses[a];
        if (walked->due > next) {
            others = walked->due < others ? walked->due : others;
            continue;
        }
        int64_t most =
            walked->at.left < end - walked->at.next ? walked->at.left : end - walked->at.next;
        if (!walked->is_alone) most = 1;
        *count = most < *count ? most : *count;
        w->due[w->due_count++] = walked;
    }
    int64_t before = others < INT64_MAX ? (others - next - 1) / loop->ii + 1 : INT64_MAX;
    *count = before < *count ? before : *count;
    return next;
}

static void walk_loop(EventWalk *w, uint32_t index)
{
    const HlsLoop *loop = &w->process->loops.data[index];
    WalkedAccess *accesses = w->accesses[index];
    int64_t base = w->base[index], next, count;
    w->now += loop->op ? LOOP_START : 0;
    for (size_t a = 0; a < loop->accesses.len; a++)
        accesses[a].due = hls_cursor_tick(&accesses[a].at, loop, base);
    while ((next = find_due(w, loop, accesses, &count)) < INT64_MAX) {
        add_ticks(w, w->now + next, (uint32_t)count, loop->ii);
        for (uint32_t a = 0; a < w->due_count; a++) {
            add_access(w, a, (uint32_t)count);
            w->due[a]->due = hls_cursor_tick(&w->due[a]->at, loop, base);
        }
        w->events->tick_count += (uint32_t)count;
        w->events->access_count += (uint32_t)count * w->due_count;
        w->last = w->now + next + (count - 1) * loop->ii;
    }
    w->base[index] += loop->trips;
    w->now += (loop->trips - 1) * loop->ii + loop->depth;
}

/* Index of the step behind one. */
static size_t walk_step(EventWalk *w, size_t at)
{
    const HlsStep *step = &w->process->steps.data[at];
    switch (step->kind) {
    case STEP_LOOP: walk_loop(w, step->loop); return at + 1;
    case STEP_REPEAT: w->left[at] = step->count; return at + 1;
    case STEP_END: return --w->left[step->match] > 0 ? step->match + 1 : at + 1;
    case STEP_ONCE: return step->match;
    }
    return at + 1;
}

static bool is_alone(const HlsLoop *loop, size_t access)
{
    const HlsAccess *mine = &loop->accesses.data[access];
    for (size_t a = 0; a < loop->accesses.len; a++) {
        const HlsAccess *other = &loop->accesses.data[a];
        if (a != access && other->port == mine->port && other->is_write == mine->is_write)
            return false;
    }
    return true;
}

static WalkedAccess *walked_accesses(const HlsLoop *loop, Arena *arena)
{
    WalkedAccess *accesses = ARENA_ARRAY(arena, WalkedAccess, loop->accesses.len);
    for (size_t a = 0; a < loop->accesses.len; a++) {
        accesses[a] =
            (WalkedAccess){.at.access = &loop->accesses.data[a], .is_alone = is_alone(loop, a)};
        hls_cursor_reset(&accesses[a].at);
    }
    return accesses;
}

static void add_row(EventWalk *w, uint32_t row)
{
    FrameEvents *events = w->events;
    const HlsProcess *p = w->process;
    Arena scratch;
    arena_init(&scratch);
    w->row = row;
    w->now = p->func ? PROCESS_START : 0;
    w->last = 0;
    w->accesses = ARENA_ARRAY(&scratch, WalkedAccess *, p->loops.len);
    w->base = ARENA_ARRAY(&scratch, int64_t, p->loops.len);
    w->left = ARENA_ARRAY(&scratch, int64_t, p->steps.len);
    for (size_t l = 0; l < p->loops.len; l++)
        w->accesses[l] = walked_accesses(&p->loops.data[l], &scratch);
    EventRange *range = &events->rows[row];
    range->begin = events->tick_count;
    for (size_t at = 0; at < p->steps.len && !p->is_once;) at = walk_step(w, at);
    range->end = events->tick_count;
    if (range->end > range->begin) events->ticks[range->begin].gap += w->now - w->last;
    arena_free(&scratch);
}

static void add_channels(FrameEvents *events, const HlsDesign *design)
{
    for (uint32_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        Channel *c = &events->channels[i];
        c->words = s->is_once ? 0 : (uint32_t)s->words;
        c->writes = ARENA_ARRAY(&events->arena, uint32_t, c->words);
        c->reads = ARENA_ARRAY(&events->arena, uint32_t, c->words);
    }
}

bool fifo_frame_events(const HlsDesign *design, int64_t max_accesses, FrameEvents *out)
{
    int64_t accesses = 0;
    for (size_t i = 0; i < design->streams.len; i++) {
        accesses += 2 * design->streams.data[i].words;
        if (accesses > max_accesses || accesses > INT32_MAX) return false;
    }
    *out = (FrameEvents){0};
    arena_init(&out->arena);
    WalkedAccess *due[HLS_MAX_ACCESSES];
    EventWalk w = {.events = out, .due = due};
    out->ticks = ARENA_ARRAY(&out->arena, Tick, accesses + 1); /* each has an access */
    out->accesses = ARENA_ARRAY(&out->arena, TickAccess, accesses);
    out->rows = ARENA_ARRAY(&out->arena, EventRange, design->processes.len);
    out->channels = ARENA_ARRAY(&out->arena, Channel, design->streams.len);
    w.written = ARENA_ARRAY(&out->arena, uint32_t, design->streams.len);
    w.read = ARENA_ARRAY(&out->arena, uint32_t, design->streams.len);
    add_channels(out, design);
    for (uint32_t i = 0; i < design->processes.len; i++) {
        w.process = &design->processes.data[i];
        add_row(&w, i);
    }
    out->ticks[out->tick_count] = (Tick){.first = out->access_count};
    return true;
}
