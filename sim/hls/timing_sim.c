/* Event-driven simulation of timing. Each process runs until it needs a time that is not known yet,
 * then waits for the process at the other end of that FIFO. Loops do not step through iterations;
 * they jump from access to access by their access patterns.
 * Tests: lit/sim/hls, test/unit/sim/hls/timing_sim_test.c, test/e2e/sizing_check.py */
#include <stdlib.h>

#include "sim/design/design.h"
#include "sim/hls/hls.h"

/* Place of an access in its runs, and the stream it works on. */
typedef struct LoopCursor {
    HlsCursor at;
    int64_t due;   /* local clock of the next access; INT64_MAX: it is not in this execution */
    int64_t frame; /* of a process that rewinds: of the access, since it has begun */
    uint32_t stream;
} LoopCursor;

typedef struct TimedProcess {
    const HlsProcess *model;
    uint32_t index;
    uint32_t part;        /* a process of those that streams connect it to, the same for all */
    LoopCursor **cursors; /* per loop, per access */
    int64_t *base;        /* per loop: first iteration of the current execution */
    int64_t *left;        /* per step: iterations to come of a plain loop */
    size_t step;
    bool in_frame, in_loop, has_begun; /* has_begun: the frame's first access was made */
    bool is_queued, has_inputs;
    bool rewinds;
    int64_t first_frame; /* if it rewinds: that with which it has begun, and its clock */
    int64_t now, tick;   /* cycle, and local clock in the loop, of the last event */
    HlsFrame frame;      /* the current one */
    HlsFrames frames;    /* those done */
    HlsBlock block;
    VEC(int64_t) ticks; /* with an input_interval: when accesses were made in the frame before */
    size_t tick_count;  /* of them, in this frame */
    /* of ports: */
    int64_t rate;
    int64_t words; /* given or taken so far */
    uint64_t random;
} TimedProcess;

typedef struct Fifo {
    HlsFifo times;
    HlsSim *sim;
    uint32_t index;
    bool reader_waits, writer_waits;
} Fifo;

struct HlsSim {
    const HlsDesign *design;
    HlsSimOptions options;
    Arena arena;
    TimedProcess *processes;
    Fifo *fifos;
    uint32_t *queue; /* ring of processes that may go on */
    uint32_t queued, queue_first;
    int64_t frames;   /* to do */
    bool is_last;     /* no others follow */
    HlsPeriod period; /* that was found before the last frame */
    int64_t events;
    bool is_stopped;
    int64_t known_interval;
    int64_t *part_cycles; /* for hls_sim_period, of each part */
};

static void enqueue(HlsSim *sim, uint32_t index)
{
    uint32_t count = (uint32_t)sim->design->processes.len;
    TimedProcess *p = &sim->processes[index];
    if (p->is_queued) return;
    p->is_queued = true;
    sim->queue[(sim->queue_first + sim->queued++) % count] = index;
}

static TimedProcess *dequeue(HlsSim *sim)
{
    TimedProcess *p = &sim->processes[sim->queue[sim->queue_first]];
    sim->queue_first = (sim->queue_first + 1) % (uint32_t)sim->design->processes.len;
    sim->queued--;
    p->is_queued = false;
    return p;
}

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
    int64_t regular = is_paced
                          ? p->words * sim->options.input_interval / p->model->loops.data[0].trips
                          : p->words * HLS_FULL_RATE / p->rate;
    p->words++;
    if (!sim->options.is_random) return regular > start ? regular : start;
    while ((int64_t)(next_random(&p->random) % HLS_FULL_RATE) >= p->rate) start++;
    return start;
}

static void spend(const HlsSim *sim, TimedProcess *p, HlsState state, int64_t until)
{
    if (until == p->now) return;
    p->frame.cycles[state] += until - p->now;
    if (sim->options.hooks.state)
        sim->options.hooks.state(sim->options.hooks.user, p->index, state, p->now, until);
    p->now = until;
}

static void note_wait(TimedProcess *p, int64_t where, int64_t cycles)
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

static bool wait_for(HlsSim *sim, TimedProcess *p, const LoopCursor *c)
{
    Fifo *fifo = &sim->fifos[c->stream];
    *(c->at.access->is_write ? &fifo->writer_waits : &fifo->reader_waits) = true;
    p->block = (HlsBlock){c->stream, c->at.access->is_write, p->now};
    return false;
}

static void commit(HlsSim *sim, LoopCursor *c, int64_t time)
{
    Fifo *fifo = &sim->fifos[c->stream];
    const HlsStream *stream = &sim->design->streams.data[c->stream];
    hls_cursor_advance(&c->at);
    sim->events++;
    if (hls_sim_is_exhausted(sim)) sim->is_stopped = true;
    if (c->at.access->is_write) {
        hls_sim_fifo_write(&fifo->times, time);
        if (fifo->reader_waits) enqueue(sim, stream->reader);
        fifo->reader_waits = false;
    } else {
        hls_sim_fifo_read(&fifo->times, time);
        if (fifo->writer_waits) enqueue(sim, stream->writer);
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
        if (ready == HLS_UNKNOWN) return wait_for(sim, p, c);
        *known = ready > *known ? ready : *known;
    }
    spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, start);
    if (readable > p->now) spend(sim, p, p->has_begun ? HLS_INPUT : HLS_IDLE, readable);
    if (writable > p->now) spend(sim, p, p->has_begun ? HLS_OUTPUT : HLS_IDLE, writable);
    if (!p->model->func) spend(sim, p, HLS_BUSY, port_turn(sim, p, p->now));
    if (p->now > start) note_wait(p, place_of(p, loop, tick), p->now - start);
    if (!p->has_begun) p->frame.begin = p->now;
    if (sim->options.input_interval > 0) check_interval(p, sim->options.input_interval);
    p->has_begun = true;
    p->tick = tick;
    for (size_t i = 0; i < loop->accesses.len; i++)
        if (cursors[i].due == tick) {
            commit(sim, &cursors[i], p->now);
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

static bool pass_values(HlsSim *sim, const TimedProcess *p, uint32_t index, int64_t until)
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
    if (!p->in_loop) {
        p->in_loop = true;
        p->tick = loop->op ? -LOOP_START : 0;
        for (size_t i = 0; i < loop->accesses.len; i++) find_due(sim, p, loop, &cursors[i]);
    }
    while ((tick = next_tick(loop, cursors)) != INT64_MAX)
        if (!run_tick(sim, p, loop, cursors, tick)) {
            if (p->tick >= 0) (void)pass_values(sim, p, index, known_iterations(p, loop, cursors));
            return false;
        }
    int64_t end = design_loop_cycles(loop);
    spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, p->now + end - p->tick);
    p->base[index] += loop->trips;
    p->in_loop = false;
    p->step++;
    return pass_values(sim, p, index, p->base[index]);
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
    int64_t paced = sim->options.input_interval * (int64_t)p->frames.len;
    if (!p->has_inputs && p->model->func && paced > p->now) spend(sim, p, HLS_IDLE, paced);
    if (p->model->func) spend(sim, p, HLS_IDLE, p->now + PROCESS_START + p->model->start_late);
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
        spend(sim, p, p->has_begun ? HLS_BUSY : HLS_IDLE, p->now + end - p->tick);
        p->tick = end;
        end_frame(p);
        p->frame = (HlsFrame){.begin = p->now};
        p->tick_count = 0;
    }
    if (!sim->is_last) return;
    spend(sim, p, HLS_IDLE, p->now + p->model->end_late);
    p->in_frame = false;
}

/* As far as the times are known. */
static void run_process(HlsSim *sim, TimedProcess *p)
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
        spend(sim, p, HLS_IDLE, p->now + p->model->end_late);
        end_frame(p);
        p->in_frame = false;
    }
}

static void watch_level(void *user, int64_t time, int64_t level)
{
    const Fifo *fifo = user;
    const HlsHooks *hooks = &fifo->sim->options.hooks;
    hooks->level(hooks->user, fifo->index, time, level);
}

static void init_process(HlsSim *sim, uint32_t index)
{
    const HlsProcess *model = &sim->design->processes.data[index];
    const HlsSimOptions *options = &sim->options;
    TimedProcess *p = &sim->processes[index];
    int64_t rate = model->is_source ? options->input_rate : options->output_rate;
    *p = (TimedProcess){.model = model,
                        .index = index,
                        .block = {HLS_NOBODY, false, 0},
                        .rewinds = model->rewinds && !options->drains,
                        .rate = rate > 0 ? rate : HLS_FULL_RATE,
                        .random = hash_combine(options->seed, index)};
    p->cursors = ARENA_ARRAY(&sim->arena, LoopCursor *, model->loops.len);
    p->base = ARENA_ARRAY(&sim->arena, int64_t, model->loops.len);
    p->left = ARENA_ARRAY(&sim->arena, int64_t, model->steps.len);
    for (size_t l = 0; l < model->loops.len; l++) {
        const HlsLoop *loop = &model->loops.data[l];
        p->cursors[l] = ARENA_ARRAY(&sim->arena, LoopCursor, loop->accesses.len);
        for (size_t a = 0; a < loop->accesses.len; a++) {
            const HlsAccess *access = &loop->accesses.data[a];
            p->cursors[l][a] =
                (LoopCursor){.at.access = access, .stream = model->streams[access->port]};
            p->has_inputs |= !access->is_write;
        }
    }
}

static uint32_t part_of(HlsSim *sim, uint32_t process)
{
    TimedProcess *p = sim->processes;
    while (p[process].part != process) process = p[process].part = p[p[process].part].part;
    return process;
}

/* Parts of a design that no stream connects go at their own pace. */
static void find_parts(HlsSim *sim)
{
    uint32_t count = (uint32_t)sim->design->processes.len;
    sim->part_cycles = ARENA_ARRAY(&sim->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++) sim->processes[i].part = i;
    for (size_t i = 0; i < sim->design->streams.len; i++) {
        const HlsStream *stream = &sim->design->streams.data[i];
        if (stream->writer != HLS_NOBODY && stream->reader != HLS_NOBODY)
            sim->processes[part_of(sim, stream->writer)].part = part_of(sim, stream->reader);
    }
    for (uint32_t i = 0; i < count; i++) sim->processes[i].part = part_of(sim, i);
}

HlsSim *hls_sim_create(const HlsDesign *design, const HlsSimOptions *options)
{
    HlsSim *sim = xcalloc(1, sizeof *sim);
    *sim = (HlsSim){.design = design, .options = *options};
    arena_init(&sim->arena);
    sim->processes = ARENA_ARRAY(&sim->arena, TimedProcess, design->processes.len);
    sim->queue = ARENA_ARRAY(&sim->arena, uint32_t, design->processes.len);
    sim->fifos = ARENA_ARRAY(&sim->arena, Fifo, design->streams.len);
    for (uint32_t i = 0; i < design->processes.len; i++) init_process(sim, i);
    find_parts(sim);
    for (uint32_t i = 0; i < design->streams.len; i++) {
        Fifo *fifo = &sim->fifos[i];
        fifo->sim = sim;
        fifo->index = i;
        hls_sim_fifo_init(&fifo->times,
                          options->depths ? options->depths[i] : design->streams.data[i].depth);
        fifo->times.late = design->streams.data[i].late;
        fifo->times.user = fifo;
        fifo->times.watch = options->hooks.level ? watch_level : NULL;
    }
    return sim;
}

void hls_sim_free(HlsSim *sim)
{
    if (!sim) return;
    for (uint32_t i = 0; i < sim->design->processes.len; i++) {
        vec_free(&sim->processes[i].frames);
        vec_free(&sim->processes[i].ticks);
    }
    for (uint32_t i = 0; i < sim->design->streams.len; i++) hls_sim_fifo_free(&sim->fifos[i].times);
    arena_free(&sim->arena);
    free(sim);
}

/* Whether a process will go on with the next frame: it has no more to do before that begins, or
 * the one that it waits for in the end has not. */
static bool is_held(const HlsSim *sim, uint32_t process)
{
    for (size_t i = 0; i < sim->design->processes.len; i++) {
        const TimedProcess *p = &sim->processes[process];
        if (p->block.stream == HLS_NOBODY) return p->rewinds && !sim->is_last;
        const HlsStream *stream = &sim->design->streams.data[p->block.stream];
        process = p->block.is_full ? stream->reader : stream->writer;
    }
    return false;
}

/* All processes, as far as the times are known. False: as hls_sim_run. */
static bool run_all(HlsSim *sim)
{
    enum { EVENTS_PER_REPORT = 1 << 18 };
    uint32_t count = (uint32_t)sim->design->processes.len;
    const HlsHooks *hooks = &sim->options.hooks;
    int64_t reported = sim->events;
    bool done = true;
    for (uint32_t i = 0; i < count; i++) enqueue(sim, i);
    while (sim->queued > 0 && !sim->is_stopped) {
        TimedProcess *p = dequeue(sim);
        run_process(sim, p);
        if (hooks->progress && sim->events - reported > EVENTS_PER_REPORT) {
            reported = sim->events;
            hooks->progress(hooks->user, (int64_t)sim->processes[count - 1].frames.len, p->now);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        done &= (int64_t)sim->processes[i].frames.len == sim->frames || is_held(sim, i);
    for (uint32_t i = 0; i < sim->design->streams.len; i++)
        hls_sim_fifo_merge(&sim->fifos[i].times);
    return done && !sim->is_stopped;
}

bool hls_sim_run(HlsSim *sim, int64_t frames)
{
    sim->frames = frames;
    sim->is_last = false;
    return run_all(sim);
}

bool hls_sim_drain(HlsSim *sim)
{
    sim->period = hls_sim_period(sim);
    sim->is_last = true;
    return run_all(sim);
}

/* Frames that a process of the design has in flight at most, beyond one. */
static int64_t overlap_of(const HlsSim *sim)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < sim->design->processes.len; i++) {
        const TimedProcess *p = &sim->processes[i];
        if (p->rewinds)
            most =
                i64_max(most, ceil_div(design_loop_cycles(p->model->loops.data), p->model->cycles));
    }
    return most;
}

/* By how many frames some processes are ahead of others. */
static int64_t spread_of(const HlsSim *sim)
{
    int64_t least = INT64_MAX, most = 0;
    for (uint32_t i = 0; i < sim->design->processes.len; i++) {
        least = i64_min(least, (int64_t)sim->processes[i].frames.len);
        most = i64_max(most, (int64_t)sim->processes[i].frames.len);
    }
    return most - least;
}

/* Frames back that an event can depend on through a FIFO's room, and at least the one before. A
 * place that no word has taken so far is free without any read, and a state that recurs takes none
 * of those either. Where processes rewind, words of a frame come in later ones. */
static int64_t memory_of(const HlsSim *sim)
{
    int64_t most = 1;
    for (uint32_t i = 0; i < sim->design->streams.len; i++) {
        const HlsFifo *fifo = &sim->fifos[i].times;
        int64_t words = sim->design->streams.data[i].words;
        int64_t depth = i64_min(fifo->depth, fifo->needed + fifo->late);
        int64_t frames = words > 0 ? (depth + words - 1) / words : 1;
        most = frames > most ? frames : most;
    }
    return most + overlap_of(sim) + spread_of(sim);
}

/* Whether the last `equal` frames of every process are those `period` before, all of a part as much
 * later; the slowest part's cycles. */
static bool recurs(const HlsSim *sim, size_t period, size_t equal, int64_t *slowest)
{
    int64_t *parts = sim->part_cycles;
    *slowest = 0;
    memset(parts, 0, sim->design->processes.len * sizeof *parts);
    for (uint32_t i = 0; i < sim->design->processes.len; i++) {
        const HlsFrames *frames = &sim->processes[i].frames;
        int64_t *cycles = &parts[sim->processes[i].part];
        if (sim->processes[i].model->is_once) continue;
        if (frames->len < equal + period) return false;
        for (size_t k = frames->len - equal; k < frames->len; k++) {
            const HlsFrame *before = &frames->data[k - period], *frame = &frames->data[k];
            if (*cycles == 0) *cycles = frame->end - before->end;
            if (frame->end - before->end != *cycles || frame->waits != before->waits) return false;
        }
        *slowest = *cycles > *slowest ? *cycles : *slowest;
    }
    return *slowest > 0;
}

HlsPeriod hls_sim_period(const HlsSim *sim)
{
    HlsPeriod period = {0};
    if (sim->options.is_random) return period;
    if (sim->is_last) return sim->period;
    for (period.frames = 1; period.frames <= HLS_MAX_PERIOD; period.frames++)
        if (recurs(sim, (size_t)period.frames, (size_t)memory_of(sim) + 1, &period.cycles))
            return period;
    return (HlsPeriod){0};
}

void hls_sim_know_interval(HlsSim *sim, int64_t interval)
{
    sim->known_interval = interval;
}

int64_t hls_sim_known_interval(const HlsSim *sim)
{
    return sim->known_interval;
}

bool hls_sim_keeps_interval(const HlsSim *sim)
{
    int64_t needed = memory_of(sim);
    for (uint32_t i = 0; i < sim->design->processes.len; i++) {
        const HlsFrames *frames = &sim->processes[i].frames;
        if (sim->processes[i].model->is_once) continue;
        if ((int64_t)frames->len <= needed) return false;
        for (size_t k = frames->len - (size_t)needed; k < frames->len; k++)
            if (frames->data[k].is_late) return false;
    }
    return true;
}

void hls_sim_finish(HlsSim *sim)
{
    for (uint32_t i = 0; i < sim->design->streams.len; i++)
        hls_sim_fifo_finish(&sim->fifos[i].times);
}

const HlsFrames *hls_sim_frames(const HlsSim *sim, uint32_t process)
{
    return &sim->processes[process].frames;
}

const HlsFifo *hls_sim_fifo(const HlsSim *sim, uint32_t stream)
{
    return &sim->fifos[stream].times;
}

HlsBlock hls_sim_block(const HlsSim *sim, uint32_t process)
{
    return sim->processes[process].block;
}

int64_t hls_sim_events(const HlsSim *sim)
{
    return sim->events;
}

bool hls_sim_was_stopped(const HlsSim *sim)
{
    return sim->is_stopped;
}

bool hls_sim_is_exhausted(const HlsSim *sim)
{
    return sim->options.max_events > 0 && sim->events >= sim->options.max_events;
}
