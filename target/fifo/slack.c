/* Slack: depths that keep the interval for every hardware between the predicted one and a bound,
 * and what storage holds beyond them. docs/streaming.md states the theorem.
 *
 * Under the bound's perturbation, a periodic schedule lets each write need its place when it was
 * predicted and give its word when it may come at last (target/fifo/internal.h). The times of such
 * a schedule serve every hardware in between. Its interval is that of the slowest process at the
 * bound, so a second search raises the depths, where it has to, for the predicted interval.
 * Tests: lit/target/fifo/fit-fifos-slack.mir, test/unit/sim/hls/timing_sim_test.c,
 * test/e2e/perturb_check.py */
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
