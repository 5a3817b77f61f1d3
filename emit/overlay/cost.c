/* What the engine takes of a device: a model of the C++ in engine/, not a measurement. docs/overlay.md
 * states the formulas. */
#include "emit/overlay/internal.h"
#include "schedule/schedule.h"

enum {
    PARAM_BITS = 32,
    READERS = 3, /* of the activations */
    BEAT_BITS = 8 * SA_BEAT_BYTES,
    PORTS = 5, /* with one of the weights */
};

/* Bits of a command that a unit reads; what nobody reads of a queue is swept away. Transfers: word,
 * address, and where, rows, beats, stride; fills: word, where from and to, how many; runs: the rest. */
enum {
    TRANSFER_REGS = 5,
    FILL_REGS = 3,
    OTHER_REGS = 6, /* rows, beats, row_stride, wb_base, fill_count, pu_pc */
    LOAD_BITS = 32 + 28 + 16 * TRANSFER_REGS,
    FILL_BITS = 32 + 16 * FILL_REGS,
    RUN_BITS = 32 + 16 * (SA_REG_COUNT - OTHER_REGS),
    COMMAND_BITS = 4 * LOAD_BITS + FILL_BITS + RUN_BITS /* of all units; load_w has two addresses */
};

static int64_t up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* A count of `cols` bits for each row and pair of planes, leaves of which take two LUTs, and what they
 * add up to; of bipolar weights what all rows share, the sum of the activations. */
static Cost cost_of_counts(const SaOverlay *o)
{
    enum { LEAF_LUT = 2 };
    int64_t pairs = (int64_t)o->act_bits * o->weight_bits, leaves = up(o->cols, POPCOUNT_LEAF);
    int64_t adders = sched_popcount_adder_luts(o->cols);
    int64_t term = sched_popcount_bits(o->cols) + o->act_bits + o->weight_bits - 1;
    int64_t gates = (int64_t)o->cols * o->act_bits; /* one column of a row in depthwise runs */
    Cost cost = {.lut = o->rows * (pairs * (LEAF_LUT * leaves + adders) + pairs * term + o->acc),
                 .ff = o->rows * (pairs * (LEAF_LUT * leaves + adders) / 2 + 2 * (int64_t)o->acc) +
                       gates};
    cost.lut += o->rows * up(gates, 2);
    if (o->weight_bits == 1) cost.lut += o->act_bits * (leaves + adders + term);
    return cost;
}

/* A multiplier for each element, with gates that leave one column of a row in depthwise runs: two bits
 * in a LUT of two outputs. Chains of slices add up; sums are registers of rows. */
static Cost cost_of_array(const SaOverlay *o, const DspShape *dsp)
{
    if (sa_is_popcount(o)) return cost_of_counts(o);
    int64_t elements = (int64_t)o->rows * o->cols;
    int64_t slices = up(o->act_bits, dsp->narrow) * up(o->weight_bits, dsp->wide);
    int64_t chains = up(o->cols, 16);
    return (Cost){.dsp = elements * slices,
                  .lut = elements * up(o->act_bits, 2) + o->rows * chains * o->acc,
                  .ff = elements * o->act_bits + o->rows * (chains + 1) * o->acc};
}

/* The memories of a column hold a weight of each row; all are read at one address. */
static Cost cost_of_array_memories(const SaOverlay *o)
{
    int64_t width = (int64_t)o->rows * o->weight_bits, depth = 2 * (int64_t)o->pe_words;
    return (Cost){.bram18 = o->cols * memory_blocks18(width, depth),
                  .lut = width, /* the column that is written is a copy for each */
                  .ff = width};
}

/* Per lane and instruction of a cycle: a product of `acc` bits, of which the low ones count; an adder, a
 * comparator, a shifter of six stages with its rounding; two of 16 registers and one of three sources
 * are chosen; engines of planes compare with thresholds. A unit of few instructions has two comparators,
 * and chooses among two registers and three sources. */
static Cost cost_of_alu(const SaOverlay *o, const DspShape *dsp)
{
    int64_t units = (int64_t)o->rows * o->pu_stages, parts = up(o->acc, dsp->narrow), bits = o->acc;
    int64_t products = 0;
    const int64_t windows = 12 * 16; /* counters of a pool's windows in both axes */
    if (o->pu_kind != SA_PU_ALL)
        return (Cost){.lut = units * bits * 4 + RUN_BITS + windows,
                      .ff =
                          (int64_t)o->rows * bits * (SA_FEW_PU_REGS + 2 * o->pu_stages) + RUN_BITS};
    for (int64_t i = 0; i < parts; i++) products += up(bits - i * dsp->narrow, dsp->wide);
    return (Cost){.dsp = units * products,
                  .lut = units * bits * (2 * 5 + 6 + 4 + sa_is_popcount(o)) + RUN_BITS + windows,
                  .ff = (int64_t)o->rows * bits * (SA_PU_REGS + 2 * o->pu_stages) + RUN_BITS};
}

bool overlay_hls_uses_uram(const SaOverlay *overlay, bool has_uram)
{
    return has_uram && !sa_is_popcount(overlay);
}

/* A memory of two ports. */
static Cost cost_of_buffer(bool is_uram, int64_t width, int64_t depth, int64_t count)
{
    if (!is_uram) return (Cost){.bram18 = count * memory_blocks18(width, depth)};
    return (Cost){.uram = count * memory_blocks_uram(width, depth)};
}

/* Pages; each reader chooses among them, each page among two writers, and compares with what is there. */
static Cost cost_of_activations(const SaOverlay *o, bool is_uram)
{
    int64_t width = (int64_t)o->cols * o->act_bits, pages = o->act_pages;
    Cost cost = cost_of_buffer(is_uram, width, sa_page_words(o), pages);
    cost.lut = READERS * width * up(pages, 3) + pages * width;
    cost.ff = (READERS + 2) * 2 * width;
    return cost;
}

static Cost cost_of_weight_buffer(const SaOverlay *o, bool is_uram)
{
    int64_t width = (int64_t)o->rows * o->weight_bits;
    int64_t depth = up(o->w_words, o->fill_words);
    Cost cost = cost_of_buffer(is_uram, width, depth, 2 * (int64_t)o->fill_words);
    cost.lut = o->fill_words * width;
    cost.ff = o->fill_words * 2 * width;
    return cost;
}

/* Parameters, which a lane looks up by itself; partial sums, and the programs of the processing unit. */
static Cost cost_of_vectors(const SaOverlay *o)
{
    return (Cost){.bram18 = o->rows * memory_blocks18(PARAM_BITS, o->param_words) +
                            memory_blocks18((int64_t)o->rows * o->acc, o->acc_words) +
                            memory_blocks18(32, SA_PU_WORDS),
                  .ff = (int64_t)o->rows * (PARAM_BITS + o->acc)};
}

/* Ports with their bursts, queues of commands in LUTRAM, counters of the units. */
static Cost cost_of_control(const SaOverlay *o)
{
    enum {
        UNITS = 5,
        PORT_LUT = 1500,
        PORT_FF = 2500,
        PORT_BRAM = 8,
        UNIT_LUT = 1200,
        UNIT_FF = 1500
    };
    const int64_t ports = PORTS - 1 + o->weight_banks;
    return (Cost){.bram18 = ports * PORT_BRAM,
                  .dsp = 12, /* addresses */
                  .lut = ports * (PORT_LUT + BEAT_BITS) + UNITS * UNIT_LUT + COMMAND_BITS,
                  .ff = ports * (PORT_FF + 2 * BEAT_BITS) + UNITS * UNIT_FF + COMMAND_BITS};
}

void overlay_hls_cost(const SaOverlay *overlay, const OverlayHlsDevice *device,
                      OverlayHlsPart parts[OVERLAY_HLS_PARTS], Cost *total)
{
    static const struct {
        const char *name;
        bool has_rows;
        Cost (*of)(const SaOverlay *overlay); /* or: */
        Cost (*of_slices)(const SaOverlay *overlay, const DspShape *dsp);
        Cost (*of_buffer)(const SaOverlay *overlay, bool is_uram);
    } rows[OVERLAY_HLS_PARTS] = {
        {"array", true, .of_slices = cost_of_array},
        {"array memories", true, .of = cost_of_array_memories},
        {"processing unit", true, .of_slices = cost_of_alu},
        {"activations", false, .of_buffer = cost_of_activations},
        {"weight buffer", true, .of_buffer = cost_of_weight_buffer},
        {"vectors, programs", true, .of = cost_of_vectors},
        {"ports, units", false, .of = cost_of_control},
    };
    const bool is_uram = overlay_hls_uses_uram(overlay, device->has_uram);
    *total = (Cost){0};
    for (size_t i = 0; i < OVERLAY_HLS_PARTS; i++) {
        Cost cost = rows[i].of          ? rows[i].of(overlay)
                    : rows[i].of_slices ? rows[i].of_slices(overlay, &device->dsp)
                                        : rows[i].of_buffer(overlay, is_uram);
        parts[i] = (OverlayHlsPart){rows[i].name, rows[i].has_rows, cost};
        cost_add(total, &parts[i].cost);
    }
}
