/* Event-driven simulation of timing. Each process runs until it needs a time that is not known yet
 * (timing_process.c, flushing.c), then waits for the process at the other end of that FIFO.
 * Tests: lit/sim/hls, test/unit/sim/hls/timing_sim_test.c, test/e2e/sizing_check.py */
#include <stdlib.h>

#include "sim/hls/internal.h"

void hls_sim_enqueue(HlsSim *sim, uint32_t index)
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
    p->flushes = ARENA_ARRAY(&sim->arena, HlsFlush *, model->loops.len);
    for (size_t l = 0; l < model->loops.len; l++) {
        const HlsLoop *loop = &model->loops.data[l];
        p->flushes[l] =
            loop->flushes && !options->stalls ? hls_sim_flush_create(&sim->arena, loop) : NULL;
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
        TimedProcess *p = &sim->processes[i];
        for (size_t l = 0; l < p->model->loops.len; l++) hls_sim_flush_free(p->flushes[l]);
        vec_free(&p->frames);
        vec_free(&p->ticks);
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
    for (uint32_t i = 0; i < count; i++) hls_sim_enqueue(sim, i);
    while (sim->queued > 0 && !sim->is_stopped) {
        TimedProcess *p = dequeue(sim);
        hls_sim_run_process(sim, p);
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

void hls_sim_know_interval(HlsSim *sim, int64_t interval)
{
    sim->known_interval = interval;
}

int64_t hls_sim_known_interval(const HlsSim *sim)
{
    return sim->known_interval;
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
