/* What one process does in time: loops of pipelines that stall, one after the other, frame by frame,
 * or one that rewinds. Loops do not step through iterations; they jump from access to access by
 * their access patterns.
 * Tests: lit/sim/hls, test/unit/sim/hls/timing_sim_test.c, test/e2e/sizing_check.py */
#include "sim/hls/internal.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* First cycle from `start` on in which the port is willing. */
static int64_t port_turn(const HlsSim *sim, TimedProcess *p, int64_t start)
{
    bool is_paced = p->model->is_source && sim->options.input_interval > 0;
    int64_t regular =
        is_paced ? i64_mul_div(p->words, sim->options.input_interval, p->model->loops.data[0].trips)
                 : p->words * HLS_FULL_RATE / p->rate;
    p->words++;
    if (!sim->options.is_random) return regular > start ? regular : start;
    while ((int64_t)(next_random(&p->random) % HLS_FULL_RATE) >= p->rate) start++;
    return start;
}

void hls_sim_spend(const HlsSim *sim, TimedProcess *p, HlsState state, int64_t until)
{
    if (until == p->now) return;
    p->frame.cycles[state] += until - p->now;
    if (sim->options.hooks.state)
        sim->options.hooks.state(sim->options.hooks.user, p->index, state, p->now, until);
    p->now = until;
}

void hls_sim_note_wait(TimedProcess *p, int64_t where, int64_t cycles)
{
    p->frame.waits = hash_combine(hash_combine(p->frame.waits, (uint64_t)where), (uint64_t)cycles);
}

static void check_interval(TimedProcess *p, int64_t interval)
{
    if (p->rewinds && p->frames.len == 0) return; /* its span is longer than those of others */
    if (p->tick_count == p->ticks.len) {
        *vec_push(&p->ticks) = p->now;
        p->frame.is_late |= p->frames.len > 0;
    }
    int64_t *before = &p->ticks.data[p->tick_count++];
    p->frame.is_late |= p->frames.len > 0 && p->now > *before + interval;
    *before = p->now;
}

void hls_sim_wait_for(HlsSim *sim, const LoopCursor *c)
{
    Fifo *fifo = &sim->fifos[c->stream];
    *(c->at.access->is_write ? &fifo->writer_waits : &fifo->reader_waits) = true;
}

void hls_sim_commit(HlsSim *sim, LoopCursor *c, int64_t time)
{
    Fifo *fifo = &sim->fifos[c->stream];
    const HlsStream *stream = &sim->design->streams.data[c->stream];
    hls_cursor_advance(&c->at);
    sim->events++;
    if (hls_sim_is_exhausted(sim)) sim->is_stopped = true;
    if (c->at.access->is_write) {
        hls_sim_fifo_write(&fifo->times, time);
        if (fifo->reader_waits) hls_sim_enqueue(sim, stream->reader);
        fifo->reader_waits = false;
    } else {
        hls_sim_fifo_read(&fifo->times, time);
        if (fifo->writer_waits) hls_sim_enqueue(sim, stream->writer);
        fifo->writer_waits = false;
    }
}

/* Sets when the next access is due. A process that rewinds goes on to the next frame, if that has
 * been started. */
static void find_due(const HlsSim *sim, const TimedProcess *p, const HlsLoop *loop, LoopCursor *c)
{
    if (!p->rewinds) {
        c->due = hls_cursor_tick(&c->at, loop, p->base[loop - p->model->loops.data]);
        return;
    }
    if (c->at.next == INT64_MAX && c->at.access->runs.len > 0) {
        hls_cursor_reset(&c->at);
        c->frame++;
    }
    c->due = INT64_MAX;
    if (c->at.next < INT64_MAX && p->first_frame + c->frame < sim->frames)
        c->due = hls_cursor_tick(&c->at, loop, 0) + c->frame * loop->trips * loop->ii;
}

/* Where in its frame a process is: the same at each place of all frames. */
static int64_t place_of(const TimedProcess *p, const HlsLoop *loop, int64_t tick)
{
    if (!p->rewinds) return p->base[loop - p->model->loops.data] * loop->ii + tick;
    return tick - ((int64_t)p->frames.len - p->first_frame) * loop->trips * loop->ii;
}

/* All accesses of one tick of the local clock. False: a time is not known yet, or the simulation was
 * stopped. */
static bool run_tick(HlsSim *sim, TimedProcess *p, const HlsLoop *loop, LoopCursor *cursors,
                     int64_t tick)
{
    int64_t start = p->now + tick - p->tick, readable = start, writable = start;
    if (sim->is_stopped) return false;
    for (size_t i = 0; i < loop->accesses.len; i++) {
        LoopCursor *c = &cursors[i];
        if (c->due != tick) continue;
        const HlsFifo *times = &sim->fifos[c->stream].times;
        int64_t *known = c->at.access->is_write ? &writable : &readable;
        int64_t ready =
            c->at.access->is_write ? hls_fifo_writable(times) : hls_fifo_readable(times);
        if (ready == HLS_UNKNOWN) {
            hls_sim_wait_for(sim, c);
            p->block = (HlsBlock){c->stream, c->at.access->is_write, p->now};
            return false;
        }
        *known = ready > *known ? ready : *known;
    }
    hls_sim_spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, start);
    if (readable > p->now) hls_sim_spend(sim, p, p->has_begun ? HLS_INPUT : HLS_IDLE, readable);
    if (writable > p->now) hls_sim_spend(sim, p, p->has_begun ? HLS_OUTPUT : HLS_IDLE, writable);
    if (!p->model->func) hls_sim_spend(sim, p, HLS_BUSY, port_turn(sim, p, p->now));
    if (p->now > start) hls_sim_note_wait(p, place_of(p, loop, tick), p->now - start);
    if (!p->has_begun) p->frame.begin = p->now;
    if (sim->options.input_interval > 0) check_interval(p, sim->options.input_interval);
    p->has_begun = true;
    p->tick = tick;
    for (size_t i = 0; i < loop->accesses.len; i++)
        if (cursors[i].due == tick) {
            hls_sim_commit(sim, &cursors[i], p->now);
            find_due(sim, p, loop, &cursors[i]);
        }
    return true;
}

/* Iterations that have begun and whose words are all read. */
static int64_t known_iterations(const TimedProcess *p, const HlsLoop *loop,
                                const LoopCursor *cursors)
{
    int64_t base = p->base[loop - p->model->loops.data];
    int64_t until = base + p->tick / loop->ii + 1;
    if (until > base + loop->trips) until = base + loop->trips;
    for (size_t i = 0; i < loop->accesses.len; i++)
        if (!cursors[i].at.access->is_write && cursors[i].at.next < until)
            until = cursors[i].at.next;
    return until;
}

bool hls_sim_pass_values(HlsSim *sim, const TimedProcess *p, uint32_t index, int64_t until)
{
    const HlsHooks *hooks = &sim->options.hooks;
    const HlsLoop *loop = &p->model->loops.data[index];
    until += (int64_t)p->frames.len * loop->trips * loop->executions;
    if (hooks->values && !hooks->values(hooks->user, p->index, index, until))
        sim->is_stopped = true;
    return !sim->is_stopped;
}

/* The next tick with an access in the current execution, or INT64_MAX. */
static int64_t next_tick(const HlsLoop *loop, const LoopCursor *cursors)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < loop->accesses.len; i++)
        next = cursors[i].due < next ? cursors[i].due : next;
    return next;
}

/* False: it waits, or the simulation was stopped. */
static bool run_loop(HlsSim *sim, TimedProcess *p, uint32_t index)
{
    const HlsLoop *loop = &p->model->loops.data[index];
    LoopCursor *cursors = p->cursors[index];
    int64_t tick;
    if (p->flushes[index]) return hls_sim_run_flushing(sim, p, index);
    if (!p->in_loop) {
        p->in_loop = true;
        p->tick = loop->op ? -LOOP_START : 0;
        for (size_t i = 0; i < loop->accesses.len; i++) find_due(sim, p, loop, &cursors[i]);
    }
    while ((tick = next_tick(loop, cursors)) != INT64_MAX)
        if (!run_tick(sim, p, loop, cursors, tick)) {
            if (p->tick >= 0)
                (void)hls_sim_pass_values(sim, p, index, known_iterations(p, loop, cursors));
            return false;
        }
    int64_t end = design_loop_cycles(loop);
    hls_sim_spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, p->now + end - p->tick);
    p->base[index] += loop->trips;
    p->in_loop = false;
    p->step++;
    return hls_sim_pass_values(sim, p, index, p->base[index]);
}

static void run_end(TimedProcess *p, const HlsStep *step)
{
    p->left[step->match]--;
    p->step = p->left[step->match] > 0 ? step->match + 1 : p->step + 1;
}

static bool run_step(HlsSim *sim, TimedProcess *p)
{
    const HlsStep *step = &p->model->steps.data[p->step];
    if (step->kind == STEP_LOOP) return run_loop(sim, p, step->loop);
    if (step->kind == STEP_ONCE) {
        p->step = p->frames.len > 0 ? step->match : p->step + 1;
    } else if (step->kind == STEP_REPEAT) {
        p->left[p->step] = step->count;
        p->step++;
    } else {
        run_end(p, step);
    }
    return true;
}

static void reset_cursors(TimedProcess *p)
{
    for (uint32_t l = 0; l < p->model->loops.len; l++) {
        p->base[l] = 0;
        for (size_t a = 0; a < p->model->loops.data[l].accesses.len; a++)
            hls_cursor_reset(&p->cursors[l][a].at);
    }
}

static void begin_frame(HlsSim *sim, TimedProcess *p)
{
    p->in_frame = true;
    p->has_begun = false;
    p->step = 0;
    p->frame = (HlsFrame){.begin = p->now};
    p->tick_count = 0;
    reset_cursors(p);
    if (p->frames.len == 0 && p->model->is_held) hls_sim_spend(sim, p, HLS_IDLE, sim->design->hold);
    int64_t paced = sim->options.input_interval * (int64_t)p->frames.len;
    if (!p->has_inputs && p->model->func && paced > p->now) hls_sim_spend(sim, p, HLS_IDLE, paced);
    if (p->model->func)
        hls_sim_spend(sim, p, HLS_IDLE, p->now + PROCESS_START + p->model->start_late);
}

static void end_frame(TimedProcess *p)
{
    p->frame.end = p->now;
    *vec_push(&p->frames) = p->frame;
}

/* The cycle of the local clock behind the last iteration of the frame that a process is in. */
static int64_t frame_end(const TimedProcess *p, const HlsLoop *loop)
{
    int64_t frames = (int64_t)p->frames.len - p->first_frame;
    return frames * loop->trips * loop->ii + design_loop_cycles(loop);
}

/* Goes on with a loop that rewinds. Its frames overlap: one ends when its last iteration has left
 * the pipeline, and each is what happens between two ends. The clock does not run beyond the
 * iterations of the frames that were started, as long as others may follow, since what the next
 * frame waits for would hold it up. */
static void run_rewinding(HlsSim *sim, TimedProcess *p)
{
    const HlsLoop *loop = p->model->loops.data;
    LoopCursor *cursors = p->cursors[0];
    if (!p->in_frame) {
        begin_frame(sim, p);
        p->first_frame = (int64_t)p->frames.len;
        p->tick = -LOOP_START;
        for (size_t i = 0; i < loop->accesses.len; i++) cursors[i].frame = 0;
    }
    int64_t known = (sim->frames - p->first_frame) * loop->trips * loop->ii;
    if (sim->is_last) known = INT64_MAX;
    for (size_t i = 0; i < loop->accesses.len; i++) find_due(sim, p, loop, &cursors[i]);
    while ((int64_t)p->frames.len < sim->frames) {
        int64_t end = frame_end(p, loop), tick = next_tick(loop, cursors);
        if (i64_min(tick, end) >= known) return;
        if (tick < end) {
            if (!run_tick(sim, p, loop, cursors, tick)) return;
            continue;
        }
        hls_sim_spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, p->now + end - p->tick);
        p->tick = end;
        end_frame(p);
        p->frame = (HlsFrame){.begin = p->now};
        p->tick_count = 0;
    }
    if (!sim->is_last) return;
    hls_sim_spend(sim, p, HLS_IDLE, p->now + p->model->end_late);
    p->in_frame = false;
}

/* As far as the times are known. */
void hls_sim_run_process(HlsSim *sim, TimedProcess *p)
{
    p->block.stream = HLS_NOBODY;
    if (p->rewinds && (p->in_frame || (int64_t)p->frames.len < sim->frames)) {
        run_rewinding(sim, p);
        return;
    }
    while (p->in_frame || (int64_t)p->frames.len < sim->frames) {
        if (!p->in_frame) begin_frame(sim, p);
        while (p->step < p->model->steps.len)
            if (!run_step(sim, p)) return;
        hls_sim_spend(sim, p, HLS_IDLE, p->now + p->model->end_late);
        end_frame(p);
        p->in_frame = false;
    }
}
