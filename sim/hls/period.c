/* The periodic state of a timing simulation: whether its frames repeat, and whether an interval is
 * kept for good. docs/simulation.md states why that is proven.
 * Tests: test/unit/sim/hls/timing_sim_test.c, test/e2e/sizing_check.py */
#include "sim/hls/internal.h"

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

bool hls_sim_has_filled_up(const HlsSim *sim, int64_t interval, int64_t frames)
{
    for (size_t i = 0; i < sim->design->streams.len; i++) {
        const HlsStream *stream = &sim->design->streams.data[i];
        const TimedProcess *writer = &sim->processes[stream->writer],
                           *reader = &sim->processes[stream->reader];
        if (stream->latency < interval || writer->model->is_once || reader->model->is_once)
            continue;
        const HlsFrames *sent = &writer->frames, *taken = &reader->frames;
        if ((int64_t)taken->len < frames ||
            sent->data[sent->len - 1].end < taken->data[frames - 1].end)
            return false;
    }
    return true;
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
