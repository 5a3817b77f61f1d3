/* What the kernels between a stream of words and the UDP core of a card take (emit/csim/ming_adapter.h):
 * estimates, since no synthesis has seen them.
 * Tests: lit/target/split/connect-cards.mir, test/e2e/system_check.py */
#include "target/cost/cost.h"
#include "target/split/internal.h"

enum {
    BEAT_BITS = 8 * SPLIT_BEAT_BYTES,
    CONTROL_LUT = 300, /* of a head: fields, compared and counted */
    CONTROL_FF = 400,
    CREDIT_LUT = 500, /* what it has beyond udp: counters of both ends, answers */
    CREDIT_FF = 600,
    QUEUE_BRAM18 = 17, /* a queue of beats with their side channels, 36 bits a block */
};

int64_t split_adapter_chunk(int64_t packet)
{
    return i64_max(1, packet / 4);
}

/* Of IR that nobody has checked, so that sums stay in 64 bits. */
static int64_t bounded(int64_t words)
{
    return i64_min(words, INT64_C(1) << 40);
}

int64_t split_adapter_room(int64_t depth, int64_t packet)
{
    return bounded(depth) + 2 * bounded(packet) + split_adapter_chunk(bounded(packet));
}

int64_t split_adapter_kept(int64_t depth, int64_t packet)
{
    int64_t kept = 1;
    while (kept < split_adapter_room(depth, packet)) kept *= 2;
    return kept;
}

Cost split_adapter_cost(bool is_sender, bool is_credit, int64_t bits, int64_t depth, int64_t packet)
{
    Cost cost = {.items = {0}};
    int64_t beats = ceil_div(bits, BEAT_BITS) * BEAT_BITS;
    cost.lut = beats + CONTROL_LUT + (is_credit ? CREDIT_LUT : 0); /* each bit has several places */
    cost.ff = beats + 2 * BEAT_BITS + CONTROL_FF + (is_credit ? CREDIT_FF : 0);
    if (!is_sender) cost.bram18 = QUEUE_BRAM18;
    if (is_sender && is_credit)
        cost.bram18 = memory_bram18(bits, split_adapter_kept(depth, packet));
    return cost;
}
