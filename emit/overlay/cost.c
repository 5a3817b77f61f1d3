/* What the engine takes of a device: a model of the C++ in engine/, not a measurement. docs/overlay.md
 * states the formulas. */
#include "emit/overlay/internal.h"

enum {
    DSP_A = 27, /* bits of the operands of a DSP48E2's multiplier */
    DSP_B = 18,
    PARAM_BITS = 32,
    COMMAND_BITS = 32 + 16 * SA_REG_COUNT + 4 * 28,
    READERS = 3, /* of the activations */
    BEAT_BITS = 8 * SA_BEAT_BYTES,
    PORTS = 5,
};

static int64_t up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* A multiplier for each element, with gates that leave one column of a row in depthwise runs: two bits
 * in a LUT of two outputs. Chains of slices add up; sums are registers of rows. */
static Cost cost_of_array(const SaOverlay *o)
{
    int64_t elements = (int64_t)o->rows * o->cols;
    int64_t slices = up(o->act_bits, DSP_B) * up(o->weight_bits, DSP_A);
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
 * are chosen. */
static Cost cost_of_alu(const SaOverlay *o)
{
    int64_t units = (int64_t)o->rows * o->pu_stages, parts = up(o->acc, DSP_B), bits = o->acc;
    int64_t products = 0;
    for (int64_t i = 0; i < parts; i++) products += up(bits - i * DSP_B, DSP_A);
    return (Cost){.dsp = units * products,
                  .lut = units * bits * (2 * 5 + 6 + 4) + COMMAND_BITS,
                  .ff = (int64_t)o->rows * bits * (SA_PU_REGS + 2 * o->pu_stages) + COMMAND_BITS};
}

/* Pages of UltraRAM; each reader chooses among them, each page among two writers. */
static Cost cost_of_activations(const SaOverlay *o)
{
    int64_t width = (int64_t)o->cols * o->act_bits, pages = o->act_pages;
    return (Cost){.uram = pages * memory_blocks_uram(width, SA_PAGE_WORDS),
                  .lut = READERS * width * up(pages, 3) + pages * width / 2,
                  .ff = (READERS + 2) * 2 * width};
}

static Cost cost_of_weight_buffer(const SaOverlay *o)
{
    int64_t width = (int64_t)o->rows * o->weight_bits;
    int64_t depth = up(o->w_words, o->fill_words);
    return (Cost){.uram = 2 * o->fill_words * memory_blocks_uram(width, depth),
                  .lut = o->fill_words * width,
                  .ff = o->fill_words * 2 * width};
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
    (void)o;
    return (Cost){.bram18 = PORTS * PORT_BRAM,
                  .dsp = 12, /* addresses */
                  .lut = PORTS * (PORT_LUT + BEAT_BITS) + UNITS * (UNIT_LUT + COMMAND_BITS),
                  .ff = PORTS * (PORT_FF + 2 * BEAT_BITS) + UNITS * (UNIT_FF + COMMAND_BITS)};
}

void overlay_hls_cost(const SaOverlay *overlay, OverlayHlsPart parts[OVERLAY_HLS_PARTS],
                      Cost *total)
{
    static const struct {
        const char *name;
        Cost (*of)(const SaOverlay *overlay);
    } rows[OVERLAY_HLS_PARTS] = {{"array", cost_of_array},
                                 {"array memories", cost_of_array_memories},
                                 {"processing unit", cost_of_alu},
                                 {"activations", cost_of_activations},
                                 {"weight buffer", cost_of_weight_buffer},
                                 {"vectors, programs", cost_of_vectors},
                                 {"ports, units", cost_of_control}};
    *total = (Cost){0};
    for (size_t i = 0; i < OVERLAY_HLS_PARTS; i++) {
        parts[i] = (OverlayHlsPart){rows[i].name, rows[i].of(overlay)};
        cost_add(total, &parts[i].cost);
    }
}
