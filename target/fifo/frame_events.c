/* Lists the events of a frame by walking through the loops of each process. Where the same accesses
 * recur in every iteration, all their ticks are written at once. The ticks of a process that
 * rewinds are those of one frame after another: first the words of the frame before that are still
 * in the pipeline, then the frame's own up to its last iteration.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */
#include <assert.h>

#include "sim/design/design.h"
#include "target/fifo/internal.h"

/* An access of a loop, on its way through the iterations of a frame. */
typedef struct WalkedAccess {
    HlsCursor at;
    TickAccessKind kind;
    int64_t early;      /* cycles before the access */
    int64_t due;        /* cycle of the next access in this execution; INT64_MAX: it has none */
    bool is_alone;      /* no other of the loop has its stream and kind */
    int64_t shift;      /* of a process that rewinds: cycles before the frame of the ticks */
    int64_t base;       /* cycle of the iteration in which its frame begins */
    int64_t end, pause; /* what comes behind each such end of its frame comes so much later */
    int64_t left;       /* words to come */
} WalkedAccess;

/* Where a process is in its frame. */
typedef struct EventWalk {
    FrameEvents *events;
    const HlsDesign *design;
    const EventRegion *region; /* NULL: all */
    const HlsProcess *process;
    uint32_t row;
    int64_t now, last;        /* cycle; of the last tick */
    int64_t period;           /* of a process that rewinds: cycles from frame to frame */
    bool may_pause;           /* between frames */
    WalkedAccess **accesses;  /* per loop */
    uint32_t *access_counts;  /* of them, per loop */
    WalkedAccess **due;       /* those of the next tick */
    uint32_t due_count;       /* of them */
    int64_t *base;            /* per loop: first iteration of the execution */
    int64_t *left;            /* per step: iterations to come of a plain loop */
    uint32_t *written, *read; /* words of each stream so far */
    uint32_t *placed;
} EventWalk;

int64_t fifo_first_read(const HlsProcess *process)
{
    const HlsLoop *loop = process->loops.data;
    int64_t first = INT64_MAX;
    for (size_t a = 0; a < loop->accesses.len; a++)
        if (!loop->accesses.data[a].is_write) first = i64_min(first, loop->accesses.data[a].offset);
    return first;
}

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
    uint32_t stream = w->process->streams[walked->at.access->port];
    Channel *c = &events->channels[stream];
    uint32_t *counts[] = {w->read, w->written, w->placed, w->written};
    uint32_t *all[] = {c->reads, c->writes, c->places, c->writes};
    uint32_t *words = &counts[walked->kind][stream];
    if (*words == c->words) *words = 0; /* of the next frame, where a process rewinds */
    uint32_t *ticks = all[walked->kind] + *words;
    TickAccess *accesses = events->accesses + events->access_count + at;
    assert(count <= c->words - *words);
    for (uint32_t i = 0; i < count; i++) {
        ticks[i] = events->tick_count + i;
        accesses[(size_t)i * w->due_count] =
            (TickAccess){stream, (*words + i) & ((1u << TICK_WORD_BITS) - 1), walked->kind & 3u};
    }
    *(walked->kind == TICK_READ ? &c->reader : &c->writer) = w->row;
    *words += count;
    walked->left -= count;
    hls_cursor_advance_by(&walked->at, count);
}

static int64_t due_cycle(const WalkedAccess *walked, const HlsLoop *loop, int64_t base)
{
    int64_t tick = hls_cursor_tick(&walked->at, loop, base);
    if (tick == INT64_MAX) return tick;
    tick -= walked->early + walked->base;
    return tick - walked->shift + (walked->pause > 0 ? tick / walked->end * walked->pause : 0);
}

/* Iterations up to the next end of its frame. */
static int64_t before_pause(const WalkedAccess *walked, const HlsLoop *loop)
{
    if (walked->pause == 0) return INT64_MAX;
    int64_t tick = hls_cursor_tick(&walked->at, loop, 0) - walked->early - walked->base;
    return (walked->end - tick % walked->end - 1) / loop->ii + 1;
}

/* The same for a process that rewinds: behind the frame's words that are later than its end come
 * those of the next one. */
static int64_t due_again(const EventWalk *w, WalkedAccess *walked, const HlsLoop *loop)
{
    if (walked->left == 0) return INT64_MAX;
    if (walked->at.next == INT64_MAX) {
        hls_cursor_reset(&walked->at);
        walked->shift -= w->period;
    }
    return due_cycle(walked, loop, 0);
}

static int64_t next_due(const EventWalk *w, WalkedAccess *walked, const HlsLoop *loop, int64_t base)
{
    return w->process->rewinds ? due_again(w, walked, loop) : due_cycle(walked, loop, base);
}

/* Finds the accesses of the next tick. Gives its cycle, INT64_MAX if the execution has no more, and
 * how many iterations in a row have exactly these accesses at this distance. */
static int64_t find_due(EventWalk *w, const HlsLoop *loop, WalkedAccess *accesses, int64_t *count)
{
    int64_t next = INT64_MAX, others = INT64_MAX;
    int64_t end = w->base[loop - w->process->loops.data] + loop->trips;
    uint32_t all = w->access_counts[loop - w->process->loops.data];
    for (uint32_t a = 0; a < all; a++) next = accesses[a].due < next ? accesses[a].due : next;
    w->due_count = 0;
    *count = INT64_MAX;
    for (uint32_t a = 0; a < all && next < INT64_MAX; a++) {
        WalkedAccess *walked = &accesses[a];
        if (walked->due > next) {
            others = walked->due < others ? walked->due : others;
            continue;
        }
        int64_t most =
            walked->at.left < end - walked->at.next ? walked->at.left : end - walked->at.next;
        if (w->process->rewinds)
            most = i64_min(most, i64_min(walked->left, before_pause(walked, loop)));
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
    for (uint32_t a = 0; a < w->access_counts[index]; a++)
        accesses[a].due = next_due(w, &accesses[a], loop, base);
    while ((next = find_due(w, loop, accesses, &count)) < INT64_MAX) {
        add_ticks(w, w->now + next, (uint32_t)count, loop->ii);
        for (uint32_t a = 0; a < w->due_count; a++) {
            add_access(w, a, (uint32_t)count);
            w->due[a]->due = next_due(w, w->due[a], loop, base);
        }
        w->events->tick_count += (uint32_t)count;
        w->events->access_count += (uint32_t)count * w->due_count;
        w->last = w->now + next + (count - 1) * loop->ii;
    }
    w->base[index] += loop->trips;
    w->now += design_loop_cycles(loop);
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

/* Whether a word of the stream may be given later than it needs its place. */
static bool is_split(const Channel *c)
{
    return c->places != c->writes;
}

static bool gives_word(TickAccessKind kind)
{
    return kind == TICK_WRITE || kind == TICK_WORD;
}

/* Moves an access of a process that rewinds to the first word that is later than the end of its
 * frame, or of the later frame behind which only some of the words are. */
static void rotate(EventWalk *w, WalkedAccess *walked)
{
    const HlsProcess *p = w->process;
    uint32_t stream = p->streams[walked->at.access->port], word = 0;
    Channel *c = &w->events->channels[stream];
    uint32_t *counts[] = {w->read, w->written, w->placed, w->written};
    WordLag *lags[] = {&c->read_lag, &c->write_lag, &c->place_lag, &c->write_lag};
    WordLag *lag = lags[walked->kind];
    walked->left = c->words;
    if (c->words == 0) return;
    if (w->may_pause) walked->base = fifo_first_read(p);
    if (gives_word(walked->kind)) {
        walked->end = p->cycles;
        walked->pause = w->period - p->cycles;
    }
    lag->frames = (int32_t)floor_div(due_cycle(walked, p->loops.data, 0), w->period);
    int64_t end = (lag->frames + 1) * w->period;
    for (; due_cycle(walked, p->loops.data, 0) < end; word++) hls_cursor_advance(&walked->at);
    if (word < c->words) {
        counts[walked->kind][stream] = lag->wrap = word;
        walked->shift += end;
    } else {
        hls_cursor_reset(&walked->at);
        walked->shift += end - w->period;
    }
    if (walked->kind == TICK_WRITE) c->place_lag = c->write_lag;
}

/* The accesses of a loop, those that are split twice. */
static void find_accesses(EventWalk *w, uint32_t index, Arena *arena)
{
    const HlsLoop *loop = &w->process->loops.data[index];
    WalkedAccess *accesses = ARENA_ARRAY(arena, WalkedAccess, 2 * loop->accesses.len);
    uint32_t count = 0;
    for (size_t a = 0; a < loop->accesses.len; a++) {
        const HlsAccess *access = &loop->accesses.data[a];
        WalkedAccess *walked = &accesses[count++];
        *walked = (WalkedAccess){.at.access = access,
                                 .kind = access->is_write ? TICK_WRITE : TICK_READ,
                                 .is_alone = is_alone(loop, a)};
        hls_cursor_reset(&walked->at);
        if (!access->is_write || !is_split(&w->events->channels[w->process->streams[access->port]]))
            continue;
        walked->kind = TICK_WORD;
        accesses[count] = *walked;
        accesses[count].kind = TICK_PLACE;
        accesses[count++].early = access->early;
    }
    w->accesses[index] = accesses;
    w->access_counts[index] = count;
    for (uint32_t a = 0; a < count && w->process->rewinds; a++) rotate(w, &accesses[a]);
}

static void add_row(EventWalk *w, uint32_t row)
{
    FrameEvents *events = w->events;
    const HlsProcess *p = w->process;
    Arena scratch;
    arena_init(&scratch);
    w->row = row;
    w->period = p->cycles;
    if (w->may_pause && p->rewinds)
        w->period = i64_max(p->cycles, design_loop_cycles(p->loops.data));
    w->now = p->func ? PROCESS_START + p->start_late : 0;
    w->last = 0;
    w->accesses = ARENA_ARRAY(&scratch, WalkedAccess *, p->loops.len);
    w->base = ARENA_ARRAY(&scratch, int64_t, p->loops.len);
    w->left = ARENA_ARRAY(&scratch, int64_t, p->steps.len);
    w->access_counts = ARENA_ARRAY(&scratch, uint32_t, p->loops.len);
    for (uint32_t l = 0; l < p->loops.len; l++) find_accesses(w, l, &scratch);
    EventRange *range = &events->rows[row];
    range->begin = events->tick_count;
    for (size_t at = 0; at < p->steps.len && !p->is_once;) at = walk_step(w, at);
    range->end = events->tick_count;
    w->now = p->rewinds ? w->period : w->now + p->end_late;
    if (range->end > range->begin) events->ticks[range->begin].gap += w->now - w->last;
    arena_free(&scratch);
}

/* Whether writes of a stream may be made earlier than they are, and have to wait for a place then.
 * At a port they never do, because the world takes a word per cycle. */
static bool may_be_early(const HlsDesign *design, uint32_t stream)
{
    uint32_t writer = design->streams.data[stream].writer;
    if (writer == HLS_NOBODY || stream < design->port_count) return false;
    const HlsProcess *p = &design->processes.data[writer];
    if (design->may_pause && p->rewinds) return true;
    for (size_t l = 0; l < p->loops.len; l++)
        for (size_t a = 0; a < p->loops.data[l].accesses.len; a++) {
            const HlsAccess *access = &p->loops.data[l].accesses.data[a];
            if (access->is_write && access->early > 0 && p->streams[access->port] == stream)
                return true;
        }
    return false;
}

static bool is_in(const EventRegion *region, uint32_t process)
{
    return process != HLS_NOBODY && (!region || region->has[process]);
}

/* A word of a given stream is a tick, without accesses because it never moves; so is its place. */
static void add_given_ticks(EventWalk *w, Channel *c, const WordTimes *times)
{
    FrameEvents *events = w->events;
    const int64_t *all[] = {times->words, times->places};
    uint32_t *ticks[] = {c->writes, c->places};
    for (int k = 0; k < (is_split(c) ? 2 : 1); k++)
        for (uint32_t i = 0; i < c->words; i++) {
            ticks[k][i] = events->tick_count;
            events->ticks[events->tick_count++] =
                (Tick){.time = all[k][i], .first = events->access_count, .via = NO_WORD};
        }
    c->writer = w->row;
}

/* The row of a process outside of the region: what it gives to those inside. */
static void add_given_row(EventWalk *w, uint32_t row)
{
    EventRange *range = &w->events->rows[row];
    w->row = row;
    range->begin = w->events->tick_count;
    for (uint32_t i = 0; i < w->design->streams.len; i++)
        if (w->design->streams.data[i].writer == row && w->events->channels[i].is_given)
            add_given_ticks(w, &w->events->channels[i], &w->region->given[i]);
    range->end = w->events->tick_count;
}

/* Lets open channels be read in a tick behind all others, which never comes. */
static void add_open_reads(const EventWalk *w)
{
    FrameEvents *events = w->events;
    if (!w->region) return;
    for (uint32_t i = 0; i < w->design->streams.len; i++) {
        Channel *c = &events->channels[i];
        for (uint32_t word = 0; c->is_open && word < c->words; word++)
            c->reads[word] = events->tick_count;
    }
    events->ticks[events->tick_count++] =
        (Tick){.time = INT64_MAX, .first = events->access_count, .via = NO_WORD};
}

/* Words of a stream in a frame, as far as its ends are in the region. */
static int64_t words_in(const HlsDesign *design, const EventRegion *region, uint32_t stream)
{
    const HlsStream *s = &design->streams.data[stream];
    bool is_given = region && region->given[stream].words && is_in(region, s->reader);
    return s->is_once || (region && !is_in(region, s->writer) && !is_given) ? 0 : s->words;
}

static void add_channels(FrameEvents *events, const HlsDesign *design, const EventRegion *region)
{
    for (uint32_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        Channel *c = &events->channels[i];
        c->words = (uint32_t)words_in(design, region, i);
        c->is_given = region && c->words > 0 && !is_in(region, s->writer);
        c->is_open = region && c->words > 0 && !is_in(region, s->reader);
        c->latency = 1 + s->late;
        c->writes = ARENA_ARRAY(&events->arena, uint32_t, c->words);
        c->places =
            may_be_early(design, i) ? ARENA_ARRAY(&events->arena, uint32_t, c->words) : c->writes;
        c->reads = ARENA_ARRAY(&events->arena, uint32_t, c->words);
        c->write_lag.wrap = c->place_lag.wrap = c->read_lag.wrap = NO_WORD;
    }
}

/* Reads and writes of a frame; *all: with those that are split. */
static int64_t count_accesses(const HlsDesign *design, const EventRegion *region, int64_t *all)
{
    int64_t accesses = 0;
    *all = 0;
    for (uint32_t i = 0; i < design->streams.len && accesses >> TICK_WORD_BITS == 0; i++) {
        int64_t words = words_in(design, region, i);
        accesses += 2 * words;
        *all += (may_be_early(design, i) ? 3 : 2) * words;
    }
    return accesses;
}

bool fifo_frame_events(const HlsDesign *design, const EventRegion *region, int64_t max_accesses,
                       FrameEvents *out)
{
    int64_t all, accesses = count_accesses(design, region, &all);
    if (accesses > max_accesses || accesses >> TICK_WORD_BITS > 0) return false;
    *out = (FrameEvents){0};
    arena_init(&out->arena);
    WalkedAccess *due[2 * HLS_MAX_ACCESSES];
    EventWalk w = {.events = out,
                   .design = design,
                   .region = region,
                   .due = due,
                   .may_pause = design->may_pause};
    enum { OPEN_AND_END = 2 };
    out->ticks = ARENA_ARRAY(&out->arena, Tick, all + OPEN_AND_END); /* each has an access */
    out->accesses = ARENA_ARRAY(&out->arena, TickAccess, all);
    out->rows = ARENA_ARRAY(&out->arena, EventRange, design->processes.len);
    out->channels = ARENA_ARRAY(&out->arena, Channel, design->streams.len);
    w.written = ARENA_ARRAY(&out->arena, uint32_t, design->streams.len);
    w.placed = ARENA_ARRAY(&out->arena, uint32_t, design->streams.len);
    w.read = ARENA_ARRAY(&out->arena, uint32_t, design->streams.len);
    add_channels(out, design, region);
    for (uint32_t i = 0; i < design->processes.len; i++) {
        w.process = &design->processes.data[i];
        (is_in(region, i) ? add_row : add_given_row)(&w, i);
    }
    add_open_reads(&w);
    out->ticks[out->tick_count] = (Tick){.first = out->access_count};
    return true;
}
