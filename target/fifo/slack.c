/* Slack: depths that keep the interval for every hardware between the predicted one and a bound,
 * and what storage holds beyond them. docs/streaming.md states the theorem.
 *
 * Under the bound's perturbation, a periodic schedule lets each write need its place when it was
 * predicted and give its word when it may come at last (target/fifo/internal.h). The times of such
 * a schedule serve every hardware in between. Its interval is that of the slowest process at the
 * bound, so a second search raises the depths, where it has to, for the predicted interval.
 *
 * Where processes rewind, depths are also such that frames may be started at any time: there are
 * times for events of which the reads, and the places of writes, are those of a process that runs
 * empty between frames, and the words those of one that does not.
 * Tests: lit/target/fifo/fit-fifos-slack.mir, test/unit/sim/hls/timing_sim_test.c,
 * test/e2e/perturb_check.py */
#include <string.h>

#include "target/fifo/internal.h"

enum { PERMILLE_OF_PERCENT = 10, MOST_PERCENT = 1000 };

bool fifo_slack_parse(Str text, FifoSlack *out)
{
    *out = (FifoSlack){.permille = HLS_BOUND_PERMILLE};
    if (str_eq_c(text, "default")) return true;
    out->is_exact = str_eq_c(text, "exact");
    if (out->is_exact) return true;
    int64_t percent = 0;
    size_t digits = 0;
    for (; digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9'; digits++) {
        percent = percent * 10 + (text.data[digits] - '0');
        if (percent > MOST_PERCENT) return false;
    }
    out->permille = percent * PERMILLE_OF_PERCENT;
    return digits > 0 && digits + 1 == text.len && text.data[digits] == '%';
}

int64_t fifo_bound_interval(HlsDesign *design, FifoSlack slack)
{
    HlsPerturbation bound = design_bound(slack.permille);
    design_perturb(design, &bound);
    int64_t interval = fifo_best_interval(design);
    design_perturb(design, NULL);
    return interval;
}

bool fifo_keeps_slack(HlsDesign *design, FifoSlack slack, const int64_t *depths, int64_t interval)
{
    HlsPerturbation bound = design_bound(slack.permille);
    design_perturb(design, &bound);
    bool keeps = fifo_keeps_interval(design, depths, interval);
    design_perturb(design, NULL);
    return keeps;
}

SizingOutcome fifo_size_for_bound(HlsDesign *design, FifoSlack slack, int64_t interval,
                                  int64_t *events, int64_t *depths)
{
    HlsPerturbation bound = design_bound(slack.permille);
    int64_t later = fifo_bound_interval(design, slack) - fifo_best_interval(design);
    design_perturb(design, &bound);
    SizingOutcome outcome = fifo_size(design, interval + later, events, NULL, depths);
    design_perturb(design, NULL);
    return outcome;
}

/* For each stream, the words of a frame that a process which rewinds reads behind the first read of
 * the next frame: it makes its first read in an earlier cycle of an iteration. */
static void find_late_reads(const HlsDesign *design, int64_t *words)
{
    for (size_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        for (size_t a = 0; p->rewinds && a < p->loops.data[0].accesses.len; a++) {
            const HlsAccess *access = &p->loops.data[0].accesses.data[a];
            if (!access->is_write)
                words[p->streams[access->port]] =
                    (access->offset - fifo_first_read(p)) / p->loops.data[0].ii;
        }
    }
}

/* An interval that is kept if any is: every process after the other, and every word. */
static int64_t longest_interval(const HlsDesign *design)
{
    int64_t cycles = 0;
    for (size_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        cycles += p->cycles;
        if (p->rewinds) cycles += design_loop_cycles(p->loops.data);
    }
    for (size_t i = 0; i < design->streams.len; i++)
        cycles += 2 * design->streams.data[i].words * (1 + design->streams.data[i].late);
    return cycles;
}

/* fifo_size_for_pauses on a design that may pause. late: as find_late_reads has it. */
static SizingOutcome size_for_pauses(const HlsDesign *design, int64_t events, const int64_t *late,
                                     int64_t *floors, int64_t *depths)
{
    int64_t interval = longest_interval(design);
    SizingOutcome outcome = SIZING_PERIODIC;
    for (size_t i = 0; i < design->streams.len; i++)
        floors[i] = i64_max(depths[i] - late[i], HLS_MIN_DEPTH);
    if (!fifo_keeps_interval(design, floors, interval)) {
        outcome = fifo_size(design, interval, &events, floors, depths);
        memcpy(floors, depths, design->streams.len * sizeof *floors);
    }
    for (size_t i = 0; i < design->streams.len; i++)
        depths[i] = i64_max(depths[i], floors[i] + late[i]);
    return outcome;
}

SizingOutcome fifo_size_for_pauses(HlsDesign *design, FifoSlack slack, int64_t events,
                                   int64_t *depths)
{
    HlsPerturbation bound = design_bound(slack.permille);
    bool rewinds = false;
    for (size_t i = 0; i < design->processes.len; i++) rewinds |= design->processes.data[i].rewinds;
    if (!rewinds) return SIZING_PERIODIC;
    int64_t *late = xcalloc(design->streams.len, sizeof *late);
    int64_t *floors = xcalloc(design->streams.len, sizeof *floors);
    find_late_reads(design, late);
    if (!slack.is_exact) design_perturb(design, &bound);
    design->may_pause = true;
    SizingOutcome outcome = size_for_pauses(design, events, late, floors, depths);
    design->may_pause = false;
    design_perturb(design, NULL);
    free_ptr((void **)&late);
    free_ptr((void **)&floors);
    return outcome;
}

static int64_t round_up(int64_t words, int64_t unit)
{
    return ceil_div(words, unit) * unit;
}

/* As many rows of blocks as cost no block more. */
static int64_t block_words(const FifoUse *fifo, int64_t row, int64_t (*blocks)(int64_t, int64_t))
{
    int64_t words = round_up(fifo->depth, row), count = blocks(fifo->width, fifo->depth);
    while (blocks(fifo->width, words + row) == count) words += row;
    return words;
}

int64_t fifo_capacity(const FifoUse *fifo)
{
    enum { LUTRAM_ROW = 32, BRAM_ROW = 512, URAM_ROW = 4096 };
    switch (fifo->kind) {
    case FIFO_SRL: return i64_max(fifo->depth, FIFO_MOST_SRL);
    case FIFO_LUTRAM: return round_up(fifo->depth, LUTRAM_ROW);
    case FIFO_BRAM: return block_words(fifo, BRAM_ROW, memory_blocks18);
    case FIFO_URAM: return block_words(fifo, URAM_ROW, memory_blocks_uram);
    default: return fifo->depth;
    }
}
