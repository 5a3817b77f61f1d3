/* Times of a frame's events: target/fifo/internal.h says what they mean.
 *
 * A tick is all that a process reads and writes in one cycle of its local clock. A round goes
 * through the ticks of a frame that may have to move: a row of them runs until it meets a tick of a
 * row that has not come that far, so each tick moves once, to where it belongs. What has to move in
 * later frames is the next round's. Ticks remember through which word of the tried FIFO they came
 * to be moved; a word that moves itself is on a cycle that is too long.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */
#include <assert.h>
#include <stdlib.h>

#include "sim/design/design.h"
#include "target/fifo/internal.h"

#define NO_TICK UINT32_MAX
#define NO_WORD UINT32_MAX

typedef struct Tick {
    int64_t time;
    int64_t
        gap; /* cycles since the tick before; the first: since the last one of the frame before */
    uint32_t first; /* of its accesses; the next tick's is the end */
    uint32_t via;   /* word of the tried stream that moved it in this trial, NO_WORD: none did */
} Tick;

typedef struct Access {
    uint32_t stream;
    uint32_t word : 31;
    uint32_t is_write : 1;
} Access;

typedef struct TimeMove {
    uint32_t tick;
    int64_t before; /* its time when the trial began */
} TimeMove;

/* Ticks of a row that may have to move: begin to end - 1. */
typedef struct EventRange {
    uint32_t begin, end;
} EventRange;

/* The ticks of a process. */
typedef struct ConstraintRow {
    uint32_t begin, end;
    EventRange now, later; /* what is left of this round; the next one's */
    bool is_source;        /* the world, which gives its words evenly */
    bool is_queued;
} ConstraintRow;

typedef struct Channel {
    uint32_t writer, reader;  /* rows */
    uint32_t *writes, *reads; /* tick of each word of a frame */
    uint32_t words;
    int64_t depth; /* 0: unbounded */
    bool reader_waits, writer_waits;
} Channel;

struct HlsPace {
    Arena arena;
    VEC(Tick) ticks; /* and one behind the last */
    VEC(Access) accesses;
    ConstraintRow *rows; /* of each process */
    Channel *channels;   /* of each stream */
    uint32_t row_count, channel_count, port_count;
    int64_t interval, steps;
    uint32_t *queue; /* ring of rows that may go on */
    uint32_t queued, queue_first;
    uint32_t tried;      /* stream, or HLS_NOBODY */
    VEC(TimeMove) moved; /* in this trial, each tick once */
    uint32_t *seen;      /* per word of the longest stream, for cycles */
};

/* Steps before looking for cycles again. */
enum { MIN_STEPS = 4096 };

static const EventRange nothing = {UINT32_MAX, 0};

/* Where a process is in its frame. */
typedef struct EventWalk {
    HlsPace *pace;
    const HlsProcess *process;
    uint32_t row;
    int64_t now, last;   /* cycle; of the last tick */
    HlsCursor **cursors; /* per loop, per access */
    int64_t *base;       /* per loop: first iteration of the execution */
    int64_t *left;       /* per step: iterations to come of a plain loop */
} EventWalk;

static void add_tick(EventWalk *w, int64_t time)
{
    HlsPace *pace = w->pace;
    bool is_first = pace->ticks.len == pace->rows[w->row].begin;
    *vec_push(&pace->ticks) = (Tick){.time = time,
                                     .gap = is_first ? time : time - w->last,
                                     .first = (uint32_t)pace->accesses.len,
                                     .via = NO_WORD};
    w->last = time;
}

static void add_access(EventWalk *w, HlsCursor *cursor, uint32_t *written, uint32_t *read)
{
    HlsPace *pace = w->pace;
    uint32_t stream = w->process->streams[cursor->access->port];
    Channel *c = &pace->channels[stream];
    uint32_t tick = (uint32_t)pace->ticks.len - 1;
    bool is_write = cursor->access->is_write;
    uint32_t word = (is_write ? written : read)[stream]++;
    assert(word < c->words);
    (is_write ? c->writes : c->reads)[word] = tick;
    *(is_write ? &c->writer : &c->reader) = w->row;
    *vec_push(&pace->accesses) = (Access){stream, word & INT32_MAX, is_write};
    hls_cursor_advance(cursor);
}

static void walk_loop(EventWalk *w, uint32_t index, uint32_t *written, uint32_t *read)
{
    const HlsLoop *loop = &w->process->loops.data[index];
    HlsCursor *cursors = w->cursors[index];
    int64_t base = w->base[index];
    w->now += loop->op ? LOOP_START : 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (size_t a = 0; a < loop->accesses.len; a++) {
            int64_t tick = hls_cursor_tick(&cursors[a], loop, base);
            next = tick < next ? tick : next;
        }
        if (next == INT64_MAX) break;
        add_tick(w, w->now + next);
        for (size_t a = 0; a < loop->accesses.len; a++)
            if (hls_cursor_tick(&cursors[a], loop, base) == next)
                add_access(w, &cursors[a], written, read);
    }
    w->base[index] += loop->trips;
    w->now += (loop->trips - 1) * loop->ii + loop->depth;
}

/* Index of the step behind one. */
static size_t walk_step(EventWalk *w, size_t at, uint32_t *written, uint32_t *read)
{
    const HlsStep *step = &w->process->steps.data[at];
    switch (step->kind) {
    case STEP_LOOP: walk_loop(w, step->loop, written, read); return at + 1;
    case STEP_REPEAT: w->left[at] = step->count; return at + 1;
    case STEP_END: return --w->left[step->match] > 0 ? step->match + 1 : at + 1;
    case STEP_ONCE: return step->match;
    }
    return at + 1;
}

static void add_row(HlsPace *pace, const HlsProcess *p, uint32_t row, uint32_t *written,
                    uint32_t *read)
{
    EventWalk w = {.pace = pace, .process = p, .row = row, .now = p->func ? PROCESS_START : 0};
    ConstraintRow *r = &pace->rows[row];
    Arena scratch;
    arena_init(&scratch);
    w.cursors = ARENA_ARRAY(&scratch, HlsCursor *, p->loops.len);
    w.base = ARENA_ARRAY(&scratch, int64_t, p->loops.len);
    w.left = ARENA_ARRAY(&scratch, int64_t, p->steps.len);
    for (size_t l = 0; l < p->loops.len; l++) {
        const HlsLoop *loop = &p->loops.data[l];
        w.cursors[l] = ARENA_ARRAY(&scratch, HlsCursor, loop->accesses.len);
        for (size_t a = 0; a < loop->accesses.len; a++) {
            w.cursors[l][a].access = &loop->accesses.data[a];
            hls_cursor_reset(&w.cursors[l][a]);
        }
    }
    r->begin = (uint32_t)pace->ticks.len;
    for (size_t at = 0; at < p->steps.len && !p->is_once;) at = walk_step(&w, at, written, read);
    r->end = (uint32_t)pace->ticks.len;
    r->now = r->later = nothing;
    r->is_source = !p->func && p->is_source;
    if (r->end > r->begin) pace->ticks.data[r->begin].gap += w.now - w.last;
    arena_free(&scratch);
}

static void add_channels(HlsPace *pace, const HlsDesign *design)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < pace->channel_count; i++) {
        const HlsStream *s = &design->streams.data[i];
        Channel *c = &pace->channels[i];
        c->words = s->is_once ? 0 : (uint32_t)s->words;
        c->writes = ARENA_ARRAY(&pace->arena, uint32_t, c->words);
        c->reads = ARENA_ARRAY(&pace->arena, uint32_t, c->words);
        longest = c->words > longest ? c->words : longest;
    }
    pace->seen = ARENA_ARRAY(&pace->arena, uint32_t, longest);
}

HlsPace *fifo_periodic_create(const HlsDesign *design, int64_t max_accesses)
{
    int64_t accesses = 0;
    for (size_t i = 0; i < design->streams.len; i++) {
        accesses += 2 * design->streams.data[i].words;
        if (accesses > max_accesses || accesses > INT32_MAX) return NULL;
    }
    HlsPace *pace = xcalloc(1, sizeof *pace);
    arena_init(&pace->arena);
    pace->row_count = (uint32_t)design->processes.len;
    pace->channel_count = (uint32_t)design->streams.len;
    pace->port_count = design->port_count;
    pace->rows = ARENA_ARRAY(&pace->arena, ConstraintRow, pace->row_count);
    pace->queue = ARENA_ARRAY(&pace->arena, uint32_t, pace->row_count);
    pace->channels = ARENA_ARRAY(&pace->arena, Channel, pace->channel_count);
    add_channels(pace, design);
    uint32_t *written = ARENA_ARRAY(&pace->arena, uint32_t, pace->channel_count);
    uint32_t *read = ARENA_ARRAY(&pace->arena, uint32_t, pace->channel_count);
    for (uint32_t i = 0; i < pace->row_count; i++)
        add_row(pace, &design->processes.data[i], i, written, read);
    *vec_push(&pace->ticks) = (Tick){.first = (uint32_t)pace->accesses.len};
    return pace;
}

void fifo_periodic_free(HlsPace *pace)
{
    if (!pace) return;
    vec_free(&pace->ticks);
    vec_free(&pace->accesses);
    vec_free(&pace->moved);
    arena_free(&pace->arena);
    free(pace);
}

static void enqueue(HlsPace *pace, uint32_t row)
{
    if (pace->rows[row].is_queued) return;
    pace->rows[row].is_queued = true;
    pace->queue[(pace->queue_first + pace->queued++) % pace->row_count] = row;
}

static bool is_empty(const EventRange *r)
{
    return r->begin >= r->end;
}

static void include(EventRange *r, uint32_t tick)
{
    r->begin = tick < r->begin ? tick : r->begin;
    r->end = tick >= r->end ? tick + 1 : r->end;
}

/* A tick that has to wait until `time` is looked at in this round. */
static void pass_on(HlsPace *pace, uint32_t row, uint32_t tick, int64_t time)
{
    if (pace->ticks.data[tick].time >= time) return;
    include(&pace->rows[row].now, tick);
    enqueue(pace, row);
}

static void pass_on_later(HlsPace *pace, uint32_t row, uint32_t tick, int64_t time)
{
    if (pace->ticks.data[tick].time < time) include(&pace->rows[row].later, tick);
}

/* The write that needs the place of a word read at `time`. */
static void pass_on_place(HlsPace *pace, const Channel *c, uint32_t word, int64_t time)
{
    int64_t next = word + c->depth;
    if (next < c->words)
        pass_on(pace, c->writer, c->writes[next], time + 1);
    else
        pass_on_later(pace, c->writer, c->writes[next % c->words],
                      time + 1 - next / c->words * pace->interval);
}

static void pass_on_tick(HlsPace *pace, uint32_t row, uint32_t tick)
{
    ConstraintRow *r = &pace->rows[row];
    const Tick *t = &pace->ticks.data[tick];
    if (tick + 1 < r->end)
        include(&r->now, tick + 1);
    else
        pass_on_later(pace, row, r->begin,
                      t->time + pace->ticks.data[r->begin].gap - pace->interval);
    for (uint32_t a = t[0].first; a < t[1].first; a++) {
        const Access *access = &pace->accesses.data[a];
        const Channel *c = &pace->channels[access->stream];
        if (access->is_write)
            pass_on(pace, c->reader, c->reads[access->word], t->time + 1);
        else if (c->depth > 0)
            pass_on_place(pace, c, access->word, t->time);
    }
}

static void wait_until(Tick *t, int64_t time, uint32_t via)
{
    if (t->time >= time) return;
    t->time = time;
    t->via = via;
}

/* Whether a row is still to come to a tick in this round. */
static bool is_ahead(const ConstraintRow *r, uint32_t tick)
{
    return tick >= r->now.begin && tick < r->now.end;
}

/* Lets a tick wait for what its access needs. False: that is not known yet. */
static bool wait_for(HlsPace *pace, uint32_t tick, const Access *access)
{
    Tick *ticks = pace->ticks.data, *t = &ticks[tick];
    Channel *c = &pace->channels[access->stream];
    if (!access->is_write) {
        uint32_t write = c->writes[access->word];
        c->reader_waits = is_ahead(&pace->rows[c->writer], write);
        if (!c->reader_waits) wait_until(t, ticks[write].time + 1, ticks[write].via);
        return !c->reader_waits;
    }
    if (c->depth == 0) return true;
    int64_t freed = access->word - c->depth, frames = 0;
    if (freed < 0) {
        frames = (c->words - 1 - freed) / c->words;
        freed += frames * c->words;
    }
    uint32_t read = c->reads[freed];
    c->writer_waits = frames == 0 && is_ahead(&pace->rows[c->reader], read);
    if (!c->writer_waits)
        wait_until(t, ticks[read].time + 1 - frames * pace->interval,
                   access->stream == pace->tried ? (uint32_t)freed : ticks[read].via);
    return !c->writer_waits;
}

/* Wakes those who wait for a tick's words and places. */
static void wake(HlsPace *pace, uint32_t tick)
{
    const Tick *t = &pace->ticks.data[tick];
    for (uint32_t a = t[0].first; a < t[1].first; a++) {
        const Access *access = &pace->accesses.data[a];
        const Channel *c = &pace->channels[access->stream];
        if (access->is_write && c->reader_waits) enqueue(pace, c->reader);
        if (!access->is_write && c->writer_waits) enqueue(pace, c->writer);
    }
}

/* Moves the first tick of what is left. False: it waits. */
static bool run_tick(HlsPace *pace, uint32_t row)
{
    ConstraintRow *r = &pace->rows[row];
    uint32_t tick = r->now.begin;
    Tick *t = &pace->ticks.data[tick];
    const Tick *last = tick > r->begin ? t - 1 : &pace->ticks.data[r->end - 1];
    Tick old = *t;
    wait_until(t, last->time + t->gap - (tick > r->begin ? 0 : pace->interval), last->via);
    for (uint32_t a = t[0].first; a < t[1].first; a++)
        if (!wait_for(pace, tick, &pace->accesses.data[a])) {
            *t = old;
            return false;
        }
    pace->steps++;
    r->now.begin++;
    if (t->time > old.time) {
        if (old.via == NO_WORD && t->via != NO_WORD)
            *vec_push(&pace->moved) = (TimeMove){tick, old.time};
        pass_on_tick(pace, row, tick);
    }
    wake(pace, tick);
    return true;
}

static void run_row(HlsPace *pace, uint32_t row)
{
    ConstraintRow *r = &pace->rows[row];
    while (!is_empty(&r->now))
        if (!run_tick(pace, row)) return;
    r->now = nothing;
}

/* Whether a word of the tried stream moved itself: words and those that moved them form a cycle. */
static bool has_cycle(HlsPace *pace)
{
    if (pace->tried == HLS_NOBODY) return false;
    const Channel *c = &pace->channels[pace->tried];
    memset(pace->seen, 0, c->words * sizeof *pace->seen);
    for (uint32_t i = 0; i < c->words; i++) {
        uint32_t word = i;
        while (word != NO_WORD && pace->seen[word] == 0) {
            pace->seen[word] = i + 1;
            word = pace->ticks.data[c->reads[word]].via;
        }
        if (word != NO_WORD && pace->seen[word] == i + 1) return true;
    }
    return false;
}

/* Begins the next round. False: nothing is left for it. */
static bool next_round(HlsPace *pace)
{
    for (uint32_t i = 0; i < pace->row_count; i++) {
        ConstraintRow *r = &pace->rows[i];
        r->now = r->later;
        r->later = nothing;
        if (!is_empty(&r->now)) enqueue(pace, i);
    }
    return pace->queued > 0;
}

/* The rest of a round. LOST: processes wait for each other, or what is tried moves itself. */
static HlsPaceFate run_round(HlsPace *pace, int64_t most)
{
    bool has_tried = pace->tried != HLS_NOBODY;
    int64_t rest = MIN_STEPS + (has_tried ? 2 * (int64_t)pace->channels[pace->tried].words : 0);
    int64_t check = pace->steps + rest;
    while (pace->queued > 0) {
        uint32_t row = pace->queue[pace->queue_first];
        pace->queue_first = (pace->queue_first + 1) % pace->row_count;
        pace->queued--;
        pace->rows[row].is_queued = false;
        run_row(pace, row);
        if (pace->steps < check) continue;
        if (has_cycle(pace)) return HLS_PACE_LOST;
        if (pace->steps > most) return HLS_PACE_UNKNOWN;
        check = pace->steps + rest;
    }
    for (uint32_t i = 0; i < pace->row_count; i++)
        if (!is_empty(&pace->rows[i].now)) return HLS_PACE_LOST;
    return has_cycle(pace) ? HLS_PACE_LOST : HLS_PACE_KEPT;
}

/* Until nothing is too early. */
static HlsPaceFate settle(HlsPace *pace, int64_t max_steps)
{
    int64_t most = max_steps < INT64_MAX - pace->steps ? pace->steps + max_steps : INT64_MAX;
    HlsPaceFate fate;
    do {
        fate = run_round(pace, most);
    } while (fate == HLS_PACE_KEPT && next_round(pace));
    return fate;
}

static void drop_ranges(HlsPace *pace)
{
    pace->queued = 0;
    for (uint32_t i = 0; i < pace->row_count; i++) {
        ConstraintRow *r = &pace->rows[i];
        r->now = r->later = nothing;
        r->is_queued = false;
    }
    for (uint32_t i = 0; i < pace->channel_count; i++)
        pace->channels[i].reader_waits = pace->channels[i].writer_waits = false;
}

/* The times that were found stay, or those from before come back. */
static void end_trial(HlsPace *pace, bool ok)
{
    for (size_t i = 0; i < pace->moved.len; i++) {
        Tick *t = &pace->ticks.data[pace->moved.data[i].tick];
        t->time = ok ? t->time : pace->moved.data[i].before;
        t->via = NO_WORD;
    }
    pace->moved.len = 0;
    drop_ranges(pace);
}

bool fifo_periodic_start(HlsPace *pace, int64_t interval)
{
    pace->interval = interval;
    pace->tried = HLS_NOBODY;
    for (uint32_t i = 0; i < pace->channel_count; i++)
        pace->channels[i].depth = i < pace->port_count ? PORT_DEPTH : 0;
    for (uint32_t i = 0; i < pace->row_count; i++) {
        ConstraintRow *r = &pace->rows[i];
        int64_t time = 0;
        r->later = (EventRange){r->begin, r->end};
        for (uint32_t tick = r->begin; tick < r->end; tick++) {
            Tick *t = &pace->ticks.data[tick];
            time += tick > r->begin ? t->gap : 0;
            if (r->is_source) time = (int64_t)(tick - r->begin) * interval / (r->end - r->begin);
            t->time = time;
        }
    }
    enum { MAX_FRAMES = 64 };
    HlsPaceFate fate = HLS_PACE_KEPT;
    if (next_round(pace)) fate = settle(pace, MAX_FRAMES * (int64_t)pace->ticks.len);
    end_trial(pace, true);
    return fate == HLS_PACE_KEPT;
}

int64_t fifo_periodic_needed(const HlsPace *pace, uint32_t stream)
{
    const Channel *c = &pace->channels[stream];
    int64_t needed = 0, frame = 0;
    uint32_t write = 0;
    for (uint32_t word = 0; word < c->words; word++) {
        int64_t read = pace->ticks.data[c->reads[word]].time;
        while (pace->ticks.data[c->writes[write]].time + frame * pace->interval <= read) {
            write = write + 1 == c->words ? 0 : write + 1;
            frame += write == 0;
        }
        int64_t ahead = frame * c->words + write - word;
        needed = ahead > needed ? ahead : needed;
    }
    return needed;
}

HlsPaceFate fifo_periodic_set_depth(HlsPace *pace, uint32_t stream, int64_t depth,
                                    int64_t max_steps)
{
    Channel *c = &pace->channels[stream];
    int64_t before = c->depth;
    bool is_tighter = depth > 0 && (before == 0 || depth < before);
    c->depth = depth;
    if (!is_tighter || c->words == 0) return HLS_PACE_KEPT;
    pace->tried = stream;
    for (uint32_t word = 0; word < c->words; word++)
        pass_on_place(pace, c, word, pace->ticks.data[c->reads[word]].time);
    HlsPaceFate fate = settle(pace, max_steps);
    end_trial(pace, fate == HLS_PACE_KEPT);
    c->depth = fate == HLS_PACE_KEPT ? depth : before;
    return fate;
}

int64_t fifo_periodic_steps(const HlsPace *pace)
{
    return pace->steps;
}

int64_t fifo_periodic_events(const HlsPace *pace)
{
    return (int64_t)pace->ticks.len;
}
