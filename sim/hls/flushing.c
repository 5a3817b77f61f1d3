/* Loops whose pipelines flush. The delay of an event is its cycle less that of the loop's local
 * clock, in which iteration i makes the accesses of step s in cycle i II + s. In a pipeline that
 * stalls, a delay is at least that of each event that the clock makes before; in one that flushes,
 * only events of the same and of earlier iterations count:
 *
 *   delay(i, s) = max(delay(i', s') for i' <= i and i' II + s' <= i II + s, what FIFOs ask for)
 *
 * A read that waits does not hold back the iterations before it, and a write that waits holds back
 * those behind it when they have closed up. docs/streaming.md, "Pipelines that flush", derives it.
 * Tests: test/unit/sim/hls/flushing_test.c, lit/sim/hls/flush.mir */
#include <stdlib.h>

#include "sim/hls/internal.h"

/* From an iteration on, the delay of a step is at least that. */
typedef struct Delay {
    int64_t iteration, delay;
} Delay;

/* The accesses that an iteration makes in one step. */
typedef struct Stage {
    int64_t step;
    uint32_t first, count; /* in Flush.order */
    int64_t next;          /* iteration of the next access; INT64_MAX: none in this execution */
    Delay *delays;         /* ring of those that others may still ask for */
    int64_t delay_count;   /* all that were added */
} Stage;

/* An event that waited for a FIFO. */
typedef struct Wait {
    int64_t iteration, step, delay;
    HlsState state; /* what it waited for in the end */
} Wait;

struct HlsFlush {
    uint32_t *order; /* accesses by step */
    Stage *stages;   /* by step */
    uint32_t stage_count;
    int64_t mask;       /* of the rings */
    int64_t origin;     /* cycle in which the local clock began: the least delay */
    int64_t first;      /* cycle of the earliest event; INT64_MAX: there was none */
    int64_t first_tick; /* that of the local clock */
    VEC(Wait) waits;
};

static int64_t step_of(const HlsLoop *loop, uint32_t access)
{
    return loop->accesses.data[access].offset + loop->accesses.data[access].late;
}

/* Accesses in the order of their steps, those of a step in their own. */
static void sort_accesses(HlsFlush *flush, const HlsLoop *loop)
{
    for (uint32_t i = 0; i < loop->accesses.len; i++) {
        uint32_t at = i;
        for (; at > 0 && step_of(loop, flush->order[at - 1]) > step_of(loop, i); at--)
            flush->order[at] = flush->order[at - 1];
        flush->order[at] = i;
    }
}

/* A step asks for delays of others at most as many iterations ago as lie between first and last
 * step, and others are at most as many ahead. */
static int64_t ring_size(const HlsFlush *flush, const HlsLoop *loop)
{
    int64_t size = 4, last = (int64_t)flush->stage_count - 1;
    int64_t span = last < 0 ? 0 : flush->stages[last].step - flush->stages[0].step;
    while (size < span / loop->ii + 4) size *= 2;
    return size;
}

HlsFlush *hls_sim_flush_create(Arena *arena, const HlsLoop *loop)
{
    HlsFlush *flush = ARENA_ARRAY(arena, HlsFlush, 1);
    *flush = (HlsFlush){.mask = 0};
    flush->order = ARENA_ARRAY(arena, uint32_t, loop->accesses.len);
    flush->stages = ARENA_ARRAY(arena, Stage, loop->accesses.len);
    sort_accesses(flush, loop);
    for (uint32_t i = 0; i < loop->accesses.len; i++) {
        int64_t step = step_of(loop, flush->order[i]);
        if (i == 0 || step != flush->stages[flush->stage_count - 1].step)
            flush->stages[flush->stage_count++] = (Stage){.step = step, .first = i};
        flush->stages[flush->stage_count - 1].count++;
    }
    flush->mask = ring_size(flush, loop) - 1;
    for (uint32_t s = 0; s < flush->stage_count; s++)
        flush->stages[s].delays = ARENA_ARRAY(arena, Delay, (size_t)flush->mask + 1);
    return flush;
}

void hls_sim_flush_free(HlsFlush *flush)
{
    if (flush) vec_free(&flush->waits);
}

/* One execution of a loop. */
typedef struct Run {
    HlsSim *sim;
    TimedProcess *p;
    const HlsLoop *loop;
    HlsFlush *flush;
    LoopCursor *cursors;
    int64_t base; /* its first iteration in the frame */
} Run;

static void add_delay(const Run *r, Stage *stage, int64_t iteration, int64_t delay)
{
    stage->delays[stage->delay_count++ & r->flush->mask] = (Delay){iteration, delay};
}

/* The delay of a step in the last iteration up to that one. */
static int64_t delay_at(const Run *r, const Stage *stage, int64_t iteration)
{
    int64_t at = stage->delay_count - 1;
    while (stage->delays[at & r->flush->mask].iteration > iteration) at--;
    return stage->delays[at & r->flush->mask].delay;
}

static int64_t last_delay(const Run *r, const Stage *stage)
{
    return stage->delays[(stage->delay_count - 1) & r->flush->mask].delay;
}

static void find_next(const Run *r, Stage *stage)
{
    stage->next = INT64_MAX;
    for (uint32_t i = 0; i < stage->count; i++) {
        int64_t next = r->cursors[r->flush->order[stage->first + i]].at.next;
        if (next < r->base + r->loop->trips) stage->next = i64_min(stage->next, next - r->base);
    }
}

static void begin(const Run *r)
{
    HlsFlush *flush = r->flush;
    r->p->in_loop = true;
    flush->origin = r->p->now + LOOP_START;
    flush->first = INT64_MAX;
    flush->waits.len = 0;
    for (uint32_t s = 0; s < flush->stage_count; s++) {
        flush->stages[s].delay_count = 0;
        add_delay(r, &flush->stages[s], -1, flush->origin);
        find_next(r, &flush->stages[s]);
    }
}

/* The last iteration in which another step comes before a step of `iteration`, or with it; -1: there
 * is none. */
static int64_t last_before(const Run *r, const Stage *other, const Stage *stage, int64_t iteration)
{
    if (other->step <= stage->step) return iteration;
    return i64_max(iteration - ceil_div(other->step - stage->step, r->loop->ii), -1);
}

/* The delay that a step has before FIFOs are asked. HLS_UNKNOWN: not all it depends on is known. */
static int64_t delay_before(const Run *r, const Stage *stage)
{
    int64_t delay = last_delay(r, stage);
    for (uint32_t s = 0; s < r->flush->stage_count; s++) {
        const Stage *other = &r->flush->stages[s];
        if (other == stage) continue;
        int64_t last = last_before(r, other, stage, stage->next);
        if (other->next <= last) return HLS_UNKNOWN;
        delay = i64_max(delay, delay_at(r, other, last));
    }
    return delay;
}

static bool is_due(const Run *r, const Stage *stage, const LoopCursor *c)
{
    return c->at.next == r->base + stage->next;
}

/* Raises the times from which the FIFOs of a step allow it. False: one is not known yet, and the
 * process stands there since that cycle. */
static bool ask_fifos(const Run *r, const Stage *stage, int64_t since, int64_t *readable,
                      int64_t *writable)
{
    for (uint32_t i = 0; i < stage->count; i++) {
        LoopCursor *c = &r->cursors[r->flush->order[stage->first + i]];
        const HlsFifo *times = &r->sim->fifos[c->stream].times;
        bool is_write = c->at.access->is_write;
        int64_t *known = is_write ? writable : readable;
        if (!is_due(r, stage, c)) continue;
        int64_t ready = is_write ? hls_fifo_writable(times) : hls_fifo_readable(times);
        if (ready == HLS_UNKNOWN) {
            hls_sim_wait_for(r->sim, c);
            r->p->block = (HlsBlock){c->stream, is_write, since};
            return false;
        }
        *known = i64_max(*known, ready);
    }
    return true;
}

/* Makes the next accesses of a step. False: a time is not known yet. */
static bool make_accesses(const Run *r, Stage *stage)
{
    if (stage->next == INT64_MAX || r->sim->is_stopped) return false;
    int64_t delay = delay_before(r, stage), tick = stage->next * r->loop->ii + stage->step;
    if (delay == HLS_UNKNOWN) return false;
    int64_t start = delay + tick, readable = start, writable = start;
    if (!ask_fifos(r, stage, start, &readable, &writable)) return false;
    int64_t time = i64_max(readable, writable);
    if (time > start)
        *vec_push(&r->flush->waits) = (Wait){stage->next, stage->step, time - tick,
                                             writable > readable ? HLS_OUTPUT : HLS_INPUT};
    if (time - tick > last_delay(r, stage)) add_delay(r, stage, stage->next, time - tick);
    if (time < r->flush->first) {
        r->flush->first = time;
        r->flush->first_tick = tick;
    }
    for (uint32_t i = 0; i < stage->count; i++) {
        LoopCursor *c = &r->cursors[r->flush->order[stage->first + i]];
        if (is_due(r, stage, c)) hls_sim_commit(r->sim, c, time);
    }
    find_next(r, stage);
    return true;
}

/* What can be known of the execution. Where several steps wait in the end, the process stands at the
 * last of them, which is that of the earliest iteration. */
static void advance(const Run *r)
{
    bool moves = true;
    while (moves) {
        moves = false;
        r->p->block.stream = HLS_NOBODY;
        for (uint32_t s = 0; s < r->flush->stage_count; s++)
            while (make_accesses(r, &r->flush->stages[s])) moves = true;
    }
}

/* Iterations whose words are all read; all of them where there are no reads. */
static int64_t read_iterations(const Run *r)
{
    int64_t until = r->base + r->loop->trips;
    for (size_t i = 0; i < r->loop->accesses.len; i++)
        if (!r->cursors[i].at.access->is_write) until = i64_min(until, r->cursors[i].at.next);
    return until;
}

static int compare_waits(const void *a, const void *b)
{
    const Wait *x = a, *y = b;
    if (x->iteration != y->iteration) return x->iteration < y->iteration ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* The states of an execution as the end of the pipeline sees them: it stands in cycles in which an
 * iteration leaves later behind the one before than it began. */
static void spend_waits(const Run *r)
{
    HlsFlush *flush = r->flush;
    TimedProcess *p = r->p;
    int64_t delay = flush->origin;
    if (!p->has_begun && flush->first < INT64_MAX) {
        hls_sim_spend(r->sim, p, HLS_IDLE, flush->first);
        p->frame.begin = flush->first;
        p->has_begun = true;
        delay = flush->first - flush->first_tick;
    }
    if (flush->waits.len > 0)
        qsort(flush->waits.data, flush->waits.len, sizeof(Wait), compare_waits);
    for (size_t i = 0; i < flush->waits.len; i++) {
        const Wait *wait = &flush->waits.data[i];
        int64_t leaves = wait->iteration * r->loop->ii + r->loop->depth;
        int64_t place = (r->base + wait->iteration) * r->loop->depth + wait->step;
        hls_sim_note_wait(p, place, wait->delay - flush->origin);
        if (wait->delay <= delay) continue;
        hls_sim_spend(r->sim, p, HLS_BUSY, leaves + delay);
        hls_sim_spend(r->sim, p, wait->state, leaves + wait->delay);
        delay = wait->delay;
    }
    hls_sim_spend(r->sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE,
                  delay + design_loop_cycles(r->loop));
}

bool hls_sim_run_flushing(HlsSim *sim, TimedProcess *p, uint32_t loop)
{
    const Run r = {sim,          p, &p->model->loops.data[loop], p->flushes[loop], p->cursors[loop],
                   p->base[loop]};
    if (!p->in_loop) begin(&r);
    advance(&r);
    for (uint32_t s = 0; s < r.flush->stage_count; s++)
        if (r.flush->stages[s].next < INT64_MAX) {
            (void)hls_sim_pass_values(sim, p, loop, read_iterations(&r));
            return false;
        }
    spend_waits(&r);
    p->base[loop] += r.loop->trips;
    p->in_loop = false;
    p->step++;
    return hls_sim_pass_values(sim, p, loop, p->base[loop]);
}
