/* Periodic schedules: finds times of a frame's events. target/fifo/internal.h says which conditions
 * they meet, and why they prove that an interval is kept.
 *
 * A row is the ticks of a process. A round goes through the ticks of a frame that may have to move: a row runs until
 * it meets a tick of a row that has not come that far, so each tick moves once, to where it
 * belongs. Ticks that have to move in later frames are left to the next round. A tick remembers
 * through which word of the tried FIFO it came to be moved; a word that moves itself is on a cycle
 * that takes too long, so the interval is lost.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */
#include <assert.h>
#include <stdlib.h>

#include "sim/design/design.h"
#include "target/fifo/internal.h"

typedef struct TimeMove {
    uint32_t tick;
    int64_t before; /* its time when the trial began */
} TimeMove;

/* The ticks of a process. */
typedef struct ConstraintRow {
    uint32_t begin, end;
    EventRange now, later; /* left of this round; of the next one */
    bool is_source;        /* the world, which gives its words evenly */
    bool is_given;         /* outside of the region: its ticks may not move */
    bool is_queued;
} ConstraintRow;

struct PeriodicSchedule {
    FrameEvents events;
    Tick *ticks;          /* of events */
    TickAccess *accesses; /* of events */
    Channel *channels;    /* of events; of each stream */
    ConstraintRow *rows;  /* of each process */
    uint32_t row_count, channel_count, port_count;
    int64_t interval, steps;
    bool is_first_round; /* of the search for times, without a tried stream */
    bool is_lost;        /* a tick would have to move that may not */
    uint32_t *queue;     /* ring of rows that may go on */
    uint32_t queued, queue_first;
    uint32_t tried;      /* stream, or HLS_NOBODY */
    VEC(TimeMove) moved; /* in this trial, each tick once */
    uint32_t *seen;      /* per word of the longest stream, for cycles */
};

/* Steps before looking for cycles again. */
enum { MIN_STEPS = 4096 };

static const EventRange nothing = {UINT32_MAX, 0};

PeriodicSchedule *fifo_periodic_create(const HlsDesign *design, const EventRegion *region,
                                       int64_t max_accesses)
{
    PeriodicSchedule *sched = xcalloc(1, sizeof *sched);
    if (!fifo_frame_events(design, region, max_accesses, &sched->events)) {
        free(sched);
        return NULL;
    }
    FrameEvents *events = &sched->events;
    Arena *arena = &events->arena;
    uint32_t longest = 0;
    sched->row_count = (uint32_t)design->processes.len;
    sched->channel_count = (uint32_t)design->streams.len;
    sched->port_count = design->port_count;
    sched->ticks = events->ticks;
    sched->accesses = events->accesses;
    sched->channels = events->channels;
    sched->rows = ARENA_ARRAY(arena, ConstraintRow, sched->row_count);
    sched->queue = ARENA_ARRAY(arena, uint32_t, sched->row_count);
    for (uint32_t i = 0; i < sched->channel_count; i++)
        longest = sched->channels[i].words > longest ? sched->channels[i].words : longest;
    sched->seen = ARENA_ARRAY(arena, uint32_t, longest);
    for (uint32_t i = 0; i < sched->row_count; i++) {
        const HlsProcess *p = &design->processes.data[i];
        sched->rows[i] = (ConstraintRow){.begin = events->rows[i].begin,
                                         .end = events->rows[i].end,
                                         .now = nothing,
                                         .later = nothing,
                                         .is_source = !p->func && p->is_source,
                                         .is_given = region && !region->has[i]};
    }
    return sched;
}

void fifo_periodic_free(PeriodicSchedule *sched)
{
    if (!sched) return;
    vec_free(&sched->moved);
    arena_free(&sched->events.arena);
    free(sched);
}

static void enqueue(PeriodicSchedule *sched, uint32_t row)
{
    if (sched->rows[row].is_queued) return;
    sched->rows[row].is_queued = true;
    sched->queue[(sched->queue_first + sched->queued++) % sched->row_count] = row;
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
static void pass_on(PeriodicSchedule *sched, uint32_t row, uint32_t tick, int64_t time)
{
    if (sched->ticks[tick].time >= time) return;
    if (sched->rows[row].is_given) {
        sched->is_lost = true;
        return;
    }
    include(&sched->rows[row].now, tick);
    enqueue(sched, row);
}

static void pass_on_later(PeriodicSchedule *sched, uint32_t row, uint32_t tick, int64_t time)
{
    if (sched->ticks[tick].time >= time) return;
    if (sched->rows[row].is_given)
        sched->is_lost = true;
    else
        include(&sched->rows[row].later, tick);
}

/* Frames from the tick of a word's write to that of its read: if negative, the read belongs to a
 * later round. */
static inline int64_t frames_to_read(const Channel *c, uint32_t word)
{
    return word_lag(&c->write_lag, word) - word_lag(&c->read_lag, word);
}

/* The word that needs the place of another one, and the frames from the tick of that one's read to
 * the tick of its write. */
static inline uint32_t next_word(const Channel *c, uint32_t word, int64_t *frames)
{
    int64_t next = word + c->depth, later = 0;
    if (next >= c->words) {
        later = next / c->words;
        next %= c->words;
    }
    *frames = word_lag(&c->read_lag, word) - word_lag(&c->place_lag, (uint32_t)next) - later;
    return (uint32_t)next;
}

/* The reverse. */
static inline uint32_t freed_word(const Channel *c, uint32_t word, int64_t *frames)
{
    int64_t freed = word - c->depth, later = 0;
    if (freed < 0) {
        later = (c->words - 1 - freed) / c->words;
        freed += later * c->words;
    }
    *frames = word_lag(&c->read_lag, (uint32_t)freed) - word_lag(&c->place_lag, word) - later;
    return (uint32_t)freed;
}

/* A tick that has to come so many frames and the channel's latency behind `time`. */
static void pass_on_frames(PeriodicSchedule *sched, const Channel *c, uint32_t row, uint32_t tick,
                           int64_t time, int64_t frames)
{
    int64_t due = time + c->latency + frames * sched->interval;
    if (frames >= 0)
        pass_on(sched, row, tick, due);
    else
        pass_on_later(sched, row, tick, due);
}

/* The read of a word that is given at `time`. */
static void pass_on_word(PeriodicSchedule *sched, const Channel *c, uint32_t word, int64_t time)
{
    pass_on_frames(sched, c, c->reader, c->reads[word], time, frames_to_read(c, word));
}

/* The write that needs the place of a word read at `time`. */
static void pass_on_place(PeriodicSchedule *sched, const Channel *c, uint32_t word, int64_t time)
{
    int64_t frames;
    uint32_t next = next_word(c, word, &frames);
    pass_on_frames(sched, c, c->writer, c->places[next], time, frames);
}

/* The same if it is in a later round. */
static void pass_on_later_place(PeriodicSchedule *sched, const Channel *c, uint32_t word,
                                int64_t time)
{
    int64_t frames;
    uint32_t next = next_word(c, word, &frames);
    if (frames < 0)
        pass_on_later(sched, c->writer, c->places[next],
                      time + c->latency + frames * sched->interval);
}

static bool needs_word(const TickAccess *access)
{
    return access->kind == TICK_READ;
}

static bool gives_word(const TickAccess *access)
{
    return access->kind == TICK_WRITE || access->kind == TICK_WORD;
}

static void pass_on_tick(PeriodicSchedule *sched, uint32_t row, uint32_t tick)
{
    ConstraintRow *r = &sched->rows[row];
    const Tick *t = &sched->ticks[tick];
    if (tick + 1 < r->end)
        include(&r->now, tick + 1);
    else
        pass_on_later(sched, row, r->begin, t->time + sched->ticks[r->begin].gap - sched->interval);
    for (uint32_t a = t[0].first; a < t[1].first; a++) {
        const TickAccess *access = &sched->accesses[a];
        const Channel *c = &sched->channels[access->stream];
        if (gives_word(access))
            pass_on_word(sched, c, access->word, t->time);
        else if (needs_word(access) && c->depth > 0)
            pass_on_place(sched, c, access->word, t->time);
    }
}

static bool needs_place(const TickAccess *access)
{
    return access->kind == TICK_WRITE || access->kind == TICK_PLACE;
}

static inline void wait_until(Tick *t, int64_t time, uint32_t via)
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
static inline bool wait_for(PeriodicSchedule *sched, uint32_t tick, const TickAccess *access)
{
    Tick *ticks = sched->ticks, *t = &ticks[tick];
    Channel *c = &sched->channels[access->stream];
    if (needs_word(access)) {
        uint32_t write = c->writes[access->word];
        int64_t frames = frames_to_read(c, access->word);
        c->reader_waits = frames >= 0 && is_ahead(&sched->rows[c->writer], write);
        if (!c->reader_waits)
            wait_until(t, ticks[write].time + c->latency + frames * sched->interval,
                       ticks[write].via);
        return !c->reader_waits;
    }
    if (c->depth == 0 || !needs_place(access)) return true;
    int64_t frames;
    uint32_t freed = freed_word(c, access->word, &frames), read = c->reads[freed];
    c->writer_waits = frames >= 0 && is_ahead(&sched->rows[c->reader], read);
    if (!c->writer_waits)
        wait_until(t, ticks[read].time + c->latency + frames * sched->interval,
                   access->stream == sched->tried ? freed : ticks[read].via);
    return !c->writer_waits;
}

/* Wakes those who wait for a tick's words and places. */
static inline void wake(PeriodicSchedule *sched, uint32_t tick)
{
    const Tick *t = &sched->ticks[tick];
    for (uint32_t a = t[0].first; a < t[1].first; a++) {
        const TickAccess *access = &sched->accesses[a];
        const Channel *c = &sched->channels[access->stream];
        if (gives_word(access) && c->reader_waits) enqueue(sched, c->reader);
        if (needs_word(access) && c->writer_waits) enqueue(sched, c->writer);
    }
}

/* Moves the first tick that is left of the round. False: it waits. */
static inline bool run_tick(PeriodicSchedule *sched, uint32_t row)
{
    ConstraintRow *r = &sched->rows[row];
    uint32_t tick = r->now.begin;
    Tick *t = &sched->ticks[tick];
    const Tick *last = tick > r->begin ? t - 1 : &sched->ticks[r->end - 1];
    Tick old = *t;
    wait_until(t, last->time + t->gap - (tick > r->begin ? 0 : sched->interval), last->via);
    for (uint32_t a = t[0].first; a < t[1].first; a++)
        if (!wait_for(sched, tick, &sched->accesses[a])) {
            *t = old;
            return false;
        }
    sched->steps++;
    r->now.begin++;
    if (t->time > old.time) {
        if (old.via == NO_WORD && t->via != NO_WORD)
            *vec_push(&sched->moved) = (TimeMove){tick, old.time};
        pass_on_tick(sched, row, tick);
    }
    wake(sched, tick);
    return true;
}

/* Wakes who waits for an access of a tick in the first round, and tells the next round of words and
 * places that come too late for it. */
static inline void pass_on_first(PeriodicSchedule *sched, const Tick *t, const TickAccess *access)
{
    const Channel *c = &sched->channels[access->stream];
    if (gives_word(access) && c->reader_waits) enqueue(sched, c->reader);
    if (needs_word(access) && c->writer_waits) enqueue(sched, c->writer);
    if (gives_word(access) && frames_to_read(c, access->word) < 0)
        pass_on_word(sched, c, access->word, t->time);
    if (needs_word(access) && c->depth > 0) pass_on_later_place(sched, c, access->word, t->time);
}

/* wait_for in the first round: ticks that are behind have their times. */
static inline bool wait_for_first(PeriodicSchedule *sched, uint32_t tick, const TickAccess *access)
{
    Channel *c = &sched->channels[access->stream];
    if (!needs_word(access)) return c->depth == 0 || wait_for(sched, tick, access);
    uint32_t write = c->writes[access->word];
    int64_t frames = frames_to_read(c, access->word);
    int64_t time = sched->ticks[write].time + c->latency + frames * sched->interval;
    c->reader_waits = frames >= 0 && write >= sched->rows[c->writer].now.begin;
    if (sched->ticks[tick].time < time && !c->reader_waits) sched->ticks[tick].time = time;
    return !c->reader_waits;
}

/* run_row of the first round, in which every row has all of its ticks ahead: what a tick lets wait
 * in this round is still to come, so only the next round is told. */
static void run_whole_row(PeriodicSchedule *sched, uint32_t row)
{
    ConstraintRow *r = &sched->rows[row];
    Tick *ticks = sched->ticks;
    for (uint32_t tick = r->now.begin; tick < r->end; tick++, r->now.begin++, sched->steps++) {
        Tick *t = &ticks[tick];
        int64_t before = t->time;
        bool is_first = tick == r->begin, is_last = tick + 1 == r->end;
        const Tick *last = is_first ? &ticks[r->end - 1] : t - 1;
        int64_t least = last->time + t->gap - (is_first ? sched->interval : 0);
        if (t->time < least) t->time = least;
        for (uint32_t a = t[0].first; a < t[1].first; a++)
            if (!wait_for_first(sched, tick, &sched->accesses[a])) {
                t->time = before;
                return;
            }
        bool is_moved = t->time > before;
        if (is_moved && is_last)
            pass_on_later(sched, row, r->begin, t->time + ticks[r->begin].gap - sched->interval);
        for (uint32_t a = t[0].first; a < t[1].first; a++)
            pass_on_first(sched, t, &sched->accesses[a]);
    }
    r->now = nothing;
}

static void run_row(PeriodicSchedule *sched, uint32_t row)
{
    ConstraintRow *r = &sched->rows[row];
    while (!is_empty(&r->now))
        if (!run_tick(sched, row)) return;
    r->now = nothing;
}

/* Whether a word of the tried stream moved itself: words and those that moved them form a cycle. */
static bool has_cycle(PeriodicSchedule *sched)
{
    if (sched->tried == HLS_NOBODY) return false;
    const Channel *c = &sched->channels[sched->tried];
    memset(sched->seen, 0, c->words * sizeof *sched->seen);
    for (uint32_t i = 0; i < c->words; i++) {
        uint32_t word = i;
        while (word != NO_WORD && sched->seen[word] == 0) {
            sched->seen[word] = i + 1;
            word = sched->ticks[c->reads[word]].via;
        }
        if (word != NO_WORD && sched->seen[word] == i + 1) return true;
    }
    return false;
}

/* Begins the next round. False: nothing is left for it. */
static bool next_round(PeriodicSchedule *sched)
{
    for (uint32_t i = 0; i < sched->row_count; i++) {
        ConstraintRow *r = &sched->rows[i];
        r->now = r->later;
        r->later = nothing;
        if (!is_empty(&r->now)) enqueue(sched, i);
    }
    return sched->queued > 0;
}

/* Runs the rest of a round. LOST: processes wait for each other, a word of the tried FIFO moves
 * itself, or a given time would have to. */
static PeriodicOutcome run_round(PeriodicSchedule *sched, int64_t most)
{
    bool has_tried = sched->tried != HLS_NOBODY;
    int64_t rest = MIN_STEPS + (has_tried ? 2 * (int64_t)sched->channels[sched->tried].words : 0);
    int64_t check = sched->steps + rest;
    while (sched->queued > 0 && !sched->is_lost) {
        uint32_t row = sched->queue[sched->queue_first];
        sched->queue_first = (sched->queue_first + 1) % sched->row_count;
        sched->queued--;
        sched->rows[row].is_queued = false;
        (sched->is_first_round ? run_whole_row : run_row)(sched, row);
        if (sched->steps < check) continue;
        if (has_cycle(sched)) return PERIODIC_LOST;
        if (sched->steps > most) return PERIODIC_UNKNOWN;
        check = sched->steps + rest;
    }
    for (uint32_t i = 0; i < sched->row_count && !sched->is_lost; i++)
        sched->is_lost = !is_empty(&sched->rows[i].now);
    return sched->is_lost || has_cycle(sched) ? PERIODIC_LOST : PERIODIC_KEPT;
}

/* Until nothing is too early. */
static PeriodicOutcome settle(PeriodicSchedule *sched, int64_t max_steps)
{
    int64_t most = max_steps < INT64_MAX - sched->steps ? sched->steps + max_steps : INT64_MAX;
    PeriodicOutcome outcome;
    do {
        outcome = run_round(sched, most);
        sched->is_first_round = false;
        if (outcome != PERIODIC_KEPT || !next_round(sched)) return outcome;
    } while (sched->tried != HLS_NOBODY || sched->steps <= most); /* a trial finds its cycle */
    return PERIODIC_UNKNOWN;
}

static void drop_ranges(PeriodicSchedule *sched)
{
    sched->queued = 0;
    for (uint32_t i = 0; i < sched->row_count; i++) {
        ConstraintRow *r = &sched->rows[i];
        r->now = r->later = nothing;
        r->is_queued = false;
    }
    for (uint32_t i = 0; i < sched->channel_count; i++)
        sched->channels[i].reader_waits = sched->channels[i].writer_waits = false;
}

/* The times that were found stay, or those from before come back. */
static void end_trial(PeriodicSchedule *sched, bool ok)
{
    for (size_t i = 0; i < sched->moved.len; i++) {
        Tick *t = &sched->ticks[sched->moved.data[i].tick];
        t->time = ok ? t->time : sched->moved.data[i].before;
        t->via = NO_WORD;
    }
    sched->moved.len = 0;
    sched->is_lost = false;
    drop_ranges(sched);
}

bool fifo_periodic_start(PeriodicSchedule *sched, int64_t interval, const int64_t *depths)
{
    sched->interval = interval;
    sched->tried = HLS_NOBODY;
    for (uint32_t i = 0; i < sched->channel_count; i++) {
        Channel *c = &sched->channels[i];
        c->depth = depths ? depths[i] : i < sched->port_count ? PORT_DEPTH : 0;
        if (c->is_given || c->is_open) c->depth = 0;
    }
    for (uint32_t i = 0; i < sched->row_count; i++) {
        ConstraintRow *r = &sched->rows[i];
        int64_t time = 0;
        if (r->is_given) continue;
        r->later = (EventRange){r->begin, r->end};
        for (uint32_t tick = r->begin; tick < r->end; tick++) {
            Tick *t = &sched->ticks[tick];
            time += tick > r->begin ? t->gap : 0;
            if (r->is_source) time = i64_mul_div(tick - r->begin, interval, r->end - r->begin);
            t->time = time;
        }
    }
    enum { MAX_FRAMES = 64 };
    PeriodicOutcome outcome = PERIODIC_KEPT;
    sched->is_first_round = true;
    if (next_round(sched)) outcome = settle(sched, MAX_FRAMES * (int64_t)sched->events.tick_count);
    sched->is_first_round = false;
    end_trial(sched, true);
    return outcome == PERIODIC_KEPT;
}

int64_t fifo_periodic_needed(const PeriodicSchedule *sched, uint32_t stream)
{
    const Channel *c = &sched->channels[stream];
    int64_t needed = 0, frame = 0;
    uint32_t write = 0;
    for (uint32_t word = 0; word < c->words; word++) {
        int64_t freed = sched->ticks[c->reads[word]].time + c->latency +
                        word_lag(&c->read_lag, word) * sched->interval;
        while (sched->ticks[c->places[write]].time +
                   (frame + word_lag(&c->place_lag, write)) * sched->interval <
               freed) {
            write = write + 1 == c->words ? 0 : write + 1;
            frame += write == 0;
        }
        int64_t ahead = frame * c->words + write - word;
        needed = ahead > needed ? ahead : needed;
    }
    return needed;
}

PeriodicOutcome fifo_periodic_set_depth(PeriodicSchedule *sched, uint32_t stream, int64_t depth,
                                        int64_t max_steps)
{
    Channel *c = &sched->channels[stream];
    int64_t before = c->depth;
    bool is_tighter = depth > 0 && (before == 0 || depth < before);
    c->depth = depth;
    if (!is_tighter || c->words == 0) return PERIODIC_KEPT;
    sched->tried = stream;
    for (uint32_t word = 0; word < c->words; word++)
        pass_on_place(sched, c, word, sched->ticks[c->reads[word]].time);
    PeriodicOutcome outcome = settle(sched, max_steps);
    end_trial(sched, outcome == PERIODIC_KEPT);
    c->depth = outcome == PERIODIC_KEPT ? depth : before;
    return outcome;
}

bool fifo_periodic_has(const PeriodicSchedule *sched, uint32_t stream)
{
    return sched->channels[stream].words > 0 && !sched->channels[stream].is_open;
}

/* Of words with these ticks, in the frame of the word. */
static int64_t *times_of(const PeriodicSchedule *sched, const uint32_t *ticks, const WordLag *lag,
                         uint32_t words)
{
    int64_t *times = xcalloc(words, sizeof *times);
    for (uint32_t i = 0; i < words; i++)
        times[i] = sched->ticks[ticks[i]].time + word_lag(lag, i) * sched->interval;
    return times;
}

WordTimes fifo_periodic_times(const PeriodicSchedule *sched, uint32_t stream)
{
    const Channel *c = &sched->channels[stream];
    WordTimes out = {.words = times_of(sched, c->writes, &c->write_lag, c->words)};
    out.places = out.words;
    if (c->places != c->writes) out.places = times_of(sched, c->places, &c->place_lag, c->words);
    return out;
}

int64_t fifo_periodic_steps(const PeriodicSchedule *sched)
{
    return sched->steps;
}

int64_t fifo_periodic_events(const PeriodicSchedule *sched)
{
    return (int64_t)sched->events.tick_count;
}
