/* The storage of FIFOs: target/fifo/internal.h has the rule.
 * Tests: test/unit/target/cost/memory_test.c, lit/target/fifo/fit-fifos-storage.mir */
#include "target/fifo/internal.h"

/* The resources of which shares are compared. */
static const CostKind shared[] = {COST_BRAM18, COST_URAM, COST_LUT};

Str fifo_kind_name(FifoKind kind)
{
    static const char *const names[FIFO_KINDS] = {"srl", "lutram", "bram", "uram"};
    return str_from(names[kind]);
}

bool fifo_kind(Str name, FifoKind *out)
{
    for (FifoKind kind = FIFO_SRL; kind < FIFO_KINDS; kind++)
        if (str_eq(name, fifo_kind_name(kind))) {
            *out = kind;
            return true;
        }
    return false;
}

/* Adds the cost of a FIFO that is of some kind. */
static void add_cost(const FifoUse *fifo, FifoKind kind, Cost *sum)
{
    FifoUse other = *fifo;
    if (fifo->is_in_memory) return;
    other.kind = kind;
    int64_t depth = fifo->is_filled ? fifo_capacity(&other) : fifo->depth;
    memory_fifo_cost(kind, fifo->width, depth, STRUCTURE_HLS, sum);
    sum->items[COST_FF] += memory_fifo_registers(fifo->width, fifo->latency);
}

void fifo_costs(const FifoUse *fifos, size_t count, Cost *sum)
{
    for (size_t i = 0; i < count; i++) add_cost(&fifos[i], fifos[i].kind, sum);
}

static double share(const Cost *sum, const Cost *limits, CostKind kind)
{
    const double beyond = 1e9; /* of a limit of 0 */
    if (limits->items[kind] < 0) return 0;
    return limits->items[kind] > 0 ? (double)sum->items[kind] / (double)limits->items[kind]
                                   : beyond * (double)sum->items[kind];
}

/* What a choice lowers: the largest share while one is beyond its limit, and of equal ones, as within
 * the limits, the sum of the squares of all shares, by which a resource counts the more the more of it
 * is taken. Beyond, two resources may have to change in turn. */
static double burden(const Cost *sum, const Cost *limits)
{
    const double beyond = 1e6; /* more than any sum within */
    double most = 0, total = 0;
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        double part = share(sum, limits, shared[i]);
        most = part > most ? part : most;
        total += part * part;
    }
    return most > 1 ? beyond * most + total : total;
}

static bool may_be(const FifoUse *fifo, FifoKind kind, const Cost *limits, bool is_beyond)
{
    enum { WORTH = 2, REGISTERS = 2 };
    if (fifo->is_given || fifo->is_in_memory || kind == FIFO_SRL) return false;
    if (fifo->depth <= FIFO_MOST_SRL)
        return kind == FIFO_LUTRAM && is_beyond && (fifo->depth > REGISTERS || fifo->is_filled);
    if (kind == FIFO_LUTRAM)
        return memory_is_small(fifo->width, fifo->depth) ||
               fifo->width * fifo->depth <= MEMORY_MOST_LUTRAM;
    if (memory_is_small(fifo->width, fifo->depth) && !is_beyond) return false;
    return kind == FIFO_BRAM ||
           (limits->uram > 0 && memory_blocks18(fifo->width, fifo->depth) >=
                                    WORTH * memory_blocks_uram(fifo->width, fifo->depth));
}

/* Registers behind LUTRAM are no reason to change a kind, but may be one not to. */
static bool exceeds(const Cost *sum, const Cost *limits, CostKind kind)
{
    return limits->items[kind] >= 0 && sum->items[kind] > limits->items[kind];
}

FifoKind fifo_first_kind(int64_t width, int64_t depth)
{
    if (depth <= FIFO_MOST_SRL) return FIFO_SRL;
    return memory_is_small(width, depth) ? FIFO_LUTRAM : FIFO_BRAM;
}

/* The design's costs with a FIFO of another kind. */
static Cost changed(const Cost *sum, const FifoUse *fifo, FifoKind kind)
{
    Cost before = {.items = {0}}, after = *sum;
    add_cost(fifo, fifo->kind, &before);
    add_cost(fifo, kind, &after);
    for (int k = 0; k < COST_KINDS; k++) after.items[k] -= before.items[k];
    return after;
}

/* The change that lowers the burden most. False: none does. */
static bool improve(FifoUse *fifos, size_t count, const Cost *limits, Cost *sum)
{
    double least = burden(sum, limits);
    bool is_beyond = least > COUNT_OF(shared), may_take_luts = limits->lut >= 0 || is_beyond;
    FifoUse *best = NULL;
    FifoKind best_kind = FIFO_SRL;
    for (size_t i = 0; i < count; i++)
        for (FifoKind kind = FIFO_LUTRAM; kind < FIFO_KINDS; kind++) {
            if (kind == fifos[i].kind || !may_be(&fifos[i], kind, limits, is_beyond) ||
                (kind == FIFO_LUTRAM && !may_take_luts))
                continue;
            Cost with = changed(sum, &fifos[i], kind);
            double part = burden(&with, limits);
            if (part < least && !exceeds(&with, limits, COST_FF)) {
                least = part;
                best = &fifos[i];
                best_kind = kind;
            }
        }
    if (!best) return false;
    *sum = changed(sum, best, best_kind);
    best->kind = best_kind;
    return true;
}

void fifo_choose_kinds(FifoUse *fifos, size_t count, const Cost *others, const Cost *limits)
{
    Cost sum = *others;
    for (size_t i = 0; i < count; i++)
        if (!fifos[i].is_given) fifos[i].kind = fifo_first_kind(fifos[i].width, fifos[i].depth);
    fifo_costs(fifos, count, &sum);
    while (improve(fifos, count, limits, &sum))
        ;
}
