/* FIFOs of a placed design: each is on the die of the process that writes it, that of a link at the
 * end of it, and what it is built of is chosen among what that die has left.
 * Tests: lit/emit/dies.test, test/e2e/dies_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "target/dse/dse.h"
#include "target/fifo/internal.h"

enum { MOST_DIES = SYS_MAX_CARDS * SYS_MAX_DIES };

/* Die D of card C is number C * SYS_MAX_DIES + D. */
struct FifoDies {
    PartitionPlatform cards[SYS_MAX_CARDS];
    uint32_t card_count;
    bool is_soft;
    Cost others[MOST_DIES]; /* of the processes on each */
    uint32_t *die;          /* per FIFO; MOST_DIES: none */
    FifoUse *scratch;       /* as many */
};

uint32_t fifo_owner(const HlsStream *stream)
{
    bool is_link = stream->op && op_attr(stream->op, SYS_ATTR_LINK);
    return is_link ? stream->reader : stream->writer;
}

Cost fifo_process_cost(const Op *func)
{
    const int64_t most = INT64_C(1) << 48; /* sums of what hands wrote stay in 64 bits */
    Cost cost = {.items = {0}};
    for (int k = COST_DSP; func && k <= COST_FF; k++) {
        int64_t own = attr_dict_int(op_attr(func, DFG_ATTR_REPORT), cost_names[k].key, 0);
        cost.items[k] = i64_min(i64_max(own, 0), most);
    }
    return cost;
}

/* Designs that each are on one card count its first one only. */
static uint32_t die_of(const FifoDies *dies, const Op *func)
{
    SysPlace place;
    if (!func || !sys_place(func, &place)) return MOST_DIES;
    const int64_t card = dies->is_soft ? place.card : 0;
    bool is_placed = card < dies->card_count && place.die < dies->cards[card].die_count;
    return is_placed ? (uint32_t)(card * SYS_MAX_DIES + place.die) : MOST_DIES;
}

/* NULL: there is no such die. */
static const PartitionDie *die_at(const FifoDies *dies, uint32_t number)
{
    const uint32_t card = number / SYS_MAX_DIES, die = number % SYS_MAX_DIES;
    if (card >= dies->card_count || die >= dies->cards[card].die_count) return NULL;
    return &dies->cards[card].dies[die];
}

/* The dies that the choice of designs saw, else those of the cards. */
static bool find_dies(const Op *module, FifoDies *dies)
{
    const Attr *cards = op_attr(module, SYS_ATTR_CARDS);
    dies->card_count = 1;
    if (dse_platform(module, &dies->cards[0])) return true;
    partition_platform_free(&dies->cards[0]);
    dies->is_soft = true;
    dies->card_count = cards ? cards->u.array.count : 0;
    bool has_dies = dies->card_count > 0;
    for (uint32_t i = 0; i < dies->card_count; i++)
        has_dies &= dse_platform_of(attr_dict_get_c(cards->u.array.items[i], SYS_CARD_DIES), NULL,
                                    &dies->cards[i]);
    return has_dies;
}

FifoDies *fifo_dies_create(const Op *module, const HlsDesign *design)
{
    size_t count = design->streams.len - design->port_count;
    FifoDies *dies = xcalloc(1, sizeof *dies);
    if (!find_dies(module, dies)) {
        fifo_dies_free(dies);
        return NULL;
    }
    dies->die = xcalloc(count + 1, sizeof *dies->die);
    dies->scratch = xcalloc(count + 1, sizeof *dies->scratch);
    for (size_t i = 0; i < design->processes.len; i++) {
        const Op *func = design->processes.data[i].func;
        uint32_t die = die_of(dies, func);
        Cost own = fifo_process_cost(func);
        if (die < MOST_DIES) cost_add(&dies->others[die], &own);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t owner = fifo_owner(&design->streams.data[design->port_count + i]);
        bool is_used = owner != HLS_NOBODY;
        dies->die[i] = is_used ? die_of(dies, design->processes.data[owner].func) : MOST_DIES;
    }
    return dies;
}

void fifo_dies_free(FifoDies *dies)
{
    if (!dies) return;
    for (uint32_t i = 0; i < dies->card_count; i++) partition_platform_free(&dies->cards[i]);
    free_ptr((void **)&dies->die);
    free_ptr((void **)&dies->scratch);
    free_ptr((void **)&dies);
}

bool fifo_dies_are_soft(const FifoDies *dies)
{
    return dies->is_soft;
}

/* The BRAM18 that a mean share of BRAM18, URAM and DSP leaves on a die that has all three. */
static int64_t mean_bram(const PartitionDie *die, const Cost *use, int64_t percent)
{
    const int64_t *has = die->capacity;
    if (has[PARTITION_BRAM18] == 0 || has[PARTITION_URAM] == 0 || has[PARTITION_DSP] == 0)
        return INT64_MAX;
    double share = 0.03 * (double)percent - (double)use->uram / (double)has[PARTITION_URAM] -
                   (double)use->dsp / (double)has[PARTITION_DSP];
    return share > 0 ? (int64_t)(share * (double)has[PARTITION_BRAM18]) : 0;
}

static Cost limits_of(const FifoDies *dies, uint32_t die, const Cost *use)
{
    const PartitionPlatform *platform = &dies->cards[die / SYS_MAX_DIES];
    const PartitionDie *own = &platform->dies[die % SYS_MAX_DIES];
    Cost limits = {.cycles = -1};
    for (int k = 0; k < COST_KINDS; k++) limits.items[k] = -1;
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        limits.items[dse_cost_kind(k)] = own->limit[k];
    for (size_t i = 0; i < platform->averages.len; i++)
        if (platform->averages.data[i].dies >> die % SYS_MAX_DIES & 1)
            limits.bram18 =
                i64_min(limits.bram18, mean_bram(own, use, platform->averages.data[i].percent));
    return limits;
}

static size_t gather(const FifoDies *dies, uint32_t die, const FifoUse *fifos, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (dies->die[i] == die) dies->scratch[found++] = fifos[i];
    return found;
}

/* Those of processes that are on no die have no limits. */
void fifo_dies_choose_kinds(const FifoDies *dies, FifoUse *fifos, size_t count)
{
    static const Cost none = {.items = {-1, -1, -1, -1, -1, -1, -1, -1}}, nothing = {.items = {0}};
    _Static_assert(COUNT_OF(none.items) == 8, "a limit for each kind");
    for (uint32_t die = 0; die <= MOST_DIES; die++) {
        size_t found = gather(dies, die, fifos, count), next = 0;
        bool is_die = die_at(dies, die);
        Cost limits = is_die ? limits_of(dies, die, &dies->others[die]) : none;
        fifo_choose_kinds(dies->scratch, found, is_die ? &dies->others[die] : &nothing, &limits);
        for (size_t i = 0; i < count; i++)
            if (dies->die[i] == die) fifos[i] = dies->scratch[next++];
    }
}

double fifo_dies_beyond(const FifoDies *dies, const FifoUse *fifos, size_t count, Cost *beyond)
{
    Cost sum = {.items = {0}};
    double excess = 0;
    for (uint32_t die = 0; !dies->is_soft && die < MOST_DIES; die++) {
        if (!die_at(dies, die)) continue;
        Cost use = dies->others[die];
        fifo_costs(dies->scratch, gather(dies, die, fifos, count), &use);
        const Cost limits = limits_of(dies, die, &use);
        for (int k = COST_DSP; k <= COST_FF; k++) {
            if (limits.items[k] < 0 || use.items[k] <= limits.items[k]) continue;
            sum.items[k] += use.items[k] - limits.items[k];
            excess += (double)(use.items[k] - limits.items[k]) / (double)(limits.items[k] + 1);
        }
    }
    for (int k = 0; k < COST_KINDS; k++) beyond->items[k] = i64_max(beyond->items[k], sum.items[k]);
    return excess;
}
