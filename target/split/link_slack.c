/* What a link without back-pressure may hold on hardware that is later than predicted.
 *
 * A process has the pace of every other one that it waits for: for its words, or, at a FIFO with a bounded
 * depth, for its places, and so on. If the slowest of those that the writer of a link waits for is, as
 * predicted, no faster than any other process at its latest, words that wait at the link do not become
 * more from frame to frame on any hardware.
 *
 * How many there are says a simulation in which what comes in front of the link is as predicted, and all
 * else as late as there is slack for. On hardware in between, words may come closer together, since some
 * processes in front are later than others: by no more than the time by which the first frame of the
 * latest hardware is later, in which the link carries so many words more. That is an argument and not a
 * proof for each hardware; perturb_check.py draws some.
 * Tests: lit/target/split/bound-links-slack.mir, test/e2e/perturb_check.py */
#include <stdlib.h>

#include "target/split/internal.h"

/* The processes that one waits for; with `bounded` depths of streams (0: unbounded) also for places. */
static bool *find_before(const HlsDesign *design, uint32_t process, const int64_t *bounded)
{
    bool *before = xcalloc(design->processes.len, sizeof *before), has_more = true;
    before[process] = true;
    while (has_more) {
        has_more = false;
        for (size_t i = 0; i < design->streams.len; i++) {
            const HlsStream *s = &design->streams.data[i];
            if (s->writer == HLS_NOBODY || s->reader == HLS_NOBODY) continue;
            if (before[s->reader] == before[s->writer]) continue;
            if (!before[s->reader] && !(bounded && bounded[i] > 0)) continue;
            before[s->reader] = before[s->writer] = has_more = true;
        }
    }
    return before;
}

static int64_t slowest(const HlsDesign *design, const bool *chosen, bool value)
{
    int64_t cycles = 1;
    for (size_t i = 0; i < design->processes.len; i++)
        if (chosen[i] == value) cycles = i64_max(cycles, design->processes.data[i].cycles);
    return cycles;
}

/* Words that a link carries in so many cycles at most. */
static int64_t words_in(const SplitRoom *room, int64_t cycles)
{
    return i64_min(cycles, (cycles / room->pace + 1) * room->packet);
}

/* Cycles by which the first frame is later on the latest hardware; -1: unknown. */
static int64_t latest_frame(HlsDesign *design, const HlsPerturbation *bound, const int64_t *depths)
{
    int64_t predicted = 0, latest = 0;
    design_perturb(design, NULL);
    bool ok = fifo_first_frame(design, depths, &predicted) == SIZING_PERIODIC;
    design_perturb(design, bound);
    ok = ok && fifo_first_frame(design, depths, &latest) == SIZING_PERIODIC;
    return ok ? i64_max(latest - predicted, 0) : -1;
}

/* Whether the writer of a link is slower than all that may let words wait there. */
static bool keeps_pace(HlsDesign *design, const HlsPerturbation *bound, uint32_t writer,
                       const int64_t *depths)
{
    bool *before = find_before(design, writer, depths);
    design_perturb(design, NULL);
    int64_t pace = slowest(design, before, true);
    design_perturb(design, bound);
    bool keeps = slowest(design, before, false) <= pace;
    free(before);
    return keeps;
}

/* Makes all that does not come in front of a process as late as can be. */
static void delay_behind(HlsDesign *design, const HlsPerturbation *bound, uint32_t process)
{
    bool *behind = find_before(design, process, NULL);
    for (size_t i = 0; i < design->processes.len; i++) behind[i] = !behind[i];
    design_perturb_some(design, bound, behind);
    free(behind);
}

int64_t split_room_with_slack(HlsDesign *design, FifoSlack slack, const SplitRoom *room,
                              const int64_t *depths, int64_t events)
{
    HlsPerturbation bound = design_bound(slack.permille);
    bound.is_bound = false; /* each as late as can be */
    SteadyState steady;
    int64_t words = -1, *needed = xcalloc(design->streams.len, sizeof *needed);
    const uint32_t writer = design->streams.data[room->stream].writer;
    const int64_t later =
        keeps_pace(design, &bound, writer, depths) ? latest_frame(design, &bound, depths) : -1;
    delay_behind(design, &bound, writer);
    if (later >= 0 &&
        fifo_steady_state(design, depths, &events, &steady, needed) == SIZING_PERIODIC)
        words = needed[room->stream] + words_in(room, later);
    design_perturb(design, NULL);
    free(needed);
    return words;
}
