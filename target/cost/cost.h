/* Cost model: cycles and resources of a process, as functions of its schedule (schedule/) and of
 * the binding in which it is built. docs/cost-model.md states formulas, sources, accuracy and
 * assumptions.
 *
 *   cost.c        kernels             memory.c       memories
 *   cost_move.c   what moves words    pipeline*.c    cycles
 *   cost_arith.c  scalar ops          fork_delay.c   FIFOs behind forks
 *   structure.c   what the C++ and the Verilog differ in
 *
 * Costs are predicted, not measured: nothing is built or simulated, so that the search (target/dse)
 * can afford one per configuration. Functions are pure, own nothing, and add to or fill what the
 * caller passes. target/dse, target/fifo and the driver build on it. Units: COST_ kinds below.
 * Tests: test/unit/target/cost, test/e2e/cost_check.py */
#ifndef MING_TARGET_COST_COST_H
#define MING_TARGET_COST_COST_H

#include "dialects/dfg/dfg.h"
#include "schedule/schedule.h"

/* Costs, and what they depend on: the device and the binding. */

typedef enum CostKind {
    COST_CYCLES, /* from frame to frame, while the process never waits for others */
    COST_DSP,    /* DSP48E2 */
    COST_BRAM18, /* RAMB18 */
    COST_URAM,   /* URAM288 */
    COST_LUT,
    COST_FF,
    COST_FILL,    /* cycles from the first word in to the first word out, without waiting */
    COST_TRAFFIC, /* bits of weights from memory for a frame */
    COST_KINDS
} CostKind;

/* The same numbers by name and by kind. */
typedef union Cost {
    struct {
        int64_t cycles, dsp, bram18, uram, lut, ff, fill, traffic;
    };
    int64_t items[COST_KINDS];
} Cost;

/* Per kind: its key in reports and budgets, its name in messages. */
typedef struct CostName {
    const char *key, *title;
} CostName;
extern const CostName cost_names[COST_KINDS];

void cost_add(Cost *sum, const Cost *part);

/* What a design is built as. Both have the same datapath, memories and FIFOs; what steers them, and
 * where there are registers, differs (target/cost/structure.c). Designs are chosen by the first. */
typedef enum CostStructure {
    STRUCTURE_HLS,     /* the C++, through Vitis HLS */
    STRUCTURE_VERILOG, /* our Verilog, through synthesis */
    COST_STRUCTURES
} CostStructure;

/* The device and settings that designs are built for. */
typedef struct CostTarget {
    CostStructure structure;
    Clock clock;
    bool has_uram;
    bool loads_tables; /* at start-up, rather than with the bitstream */
    bool is_7_series;  /* what its block RAMs are (cost_is_7_series) */
    bool rewinds; /* processes begin with the next frame before they have run empty, if they can */
    bool counts_luts;     /* LUTs have a limit. Without one nothing is moved into LUTs, because they
                          would look free */
    bool fuses_epilogues; /* no epilogue becomes a process of its own */
    bool tries_orders;    /* of a kernel's loops, which make a difference for the latency only */
    bool
        has_lutram_fifos; /* FIFOs of few words are counted as LUTRAM, where that takes fewer LUTs */
    int64_t port_bits; /* of a DMA's beat, which a word at the boundary must fit in; 0: no limit */
    int64_t stream_bits;  /* of the widest port to memory for weights; 0: none comes from there */
    int64_t stream_ports; /* such ports that a table may be spread over; 0 is 1 */
    int64_t stream_rate;  /* bits that all of them bring in 1,000 cycles */
    int64_t dsp; /* to spend; 0: not told. Large devices get more in parallel in one process */
} CostTarget;

/* The binding of a configuration (as HLS tools call it): how it is built, besides its unroll factors. It decides where
 * memories go that have a choice, and what multiplies. Attributes given beforehand (dfg.storage,
 * dfg.multiplier) win over it. */
typedef struct Binding {
    bool lutram; /* memories of up to MEMORY_MOST_LUTRAM bits, and few words of counted bits */
    bool uram;   /* buffers, which need no contents at the start */
    bool lut_products;   /* products of integers are made of LUTs */
    bool popcount;       /* products of integers are counts of bits; not together with the former */
    bool stream;         /* main's weights, where they are in memory outside (stream-weights) */
    bool loads_tables;   /* tables are filled at start-up (load-weights): memories like others */
    int64_t stream_bits; /* as the target says */
    int64_t stream_ports;
    bool is_7_series; /* as the target says */
} Binding;

/* Memories of processes. One list of a process's memories serves the costs (cost.c), the prediction
 * of its pipeline (pipeline_compute.c) and the attributes dfg.storage of the chosen design
 * (target/dse/apply.c), so that all three agree. Small memories are always LUTRAM.
 * Tests: test/unit/target/cost/memory_test.c */

/* In the order of memory_kind_name(). */
typedef enum MemoryKind {
    MEMORY_LUTRAM,
    MEMORY_BRAM,
    MEMORY_URAM,
    MEMORY_STREAM, /* outside; rows are read while they are used */
    MEMORY_KINDS
} MemoryKind;

enum { MEMORY_MOST_LUTRAM = 64 * 1024 };

typedef struct Memory {
    int64_t width, depth;        /* bits of a word, words */
    int64_t readers;             /* read ports: reads per cycle at different addresses */
    int64_t banks;               /* such memories side by side; 0 counts as one */
    int64_t parts;               /* of the word, which LUTRAM has banks for; 0 counts as one */
    bool is_rom;                 /* never written: contents come with the bitstream */
    bool is_counted;             /* words of bits that are counted */
    bool may_stream;             /* rows may come from memory outside */
    int64_t bus_bits, beats;     /* then: of a bus word, and bus words for a frame */
    int64_t bus_ports;           /* and ports that bring a bus word together */
    int64_t row_bits, beat_rows; /* of a row, and rows that one bus word unpacks to at once */
    bool is_7_series;            /* its blocks have a power of two of words; LUTRAM is RAM32M */
    MemoryKind kind;
    bool is_given; /* the kind, beforehand */
} Memory;

/* A memory, and the ops of the process that it belongs to. */
typedef struct MemoryUse {
    Memory memory;
    Op *holder; /* the op that has its dfg.storage: a constant, a generic, a window, a reorder */
    uint32_t level;   /* of a window's histories; else 0 */
    const Op *reader; /* of a constant: the op that reads it, as its operand number `operand` */
    uint32_t operand;
} MemoryUse;
typedef VEC(MemoryUse) MemoryList;

/* Whether a memory is small: at most 64 words or 1,024 bits. */
bool memory_is_small(int64_t width_bits, int64_t depth);
/* Whether a module is for a device of the 7 series, by its DSP slices. There Vivado makes block RAMs
 * of as many words as the next power of two (AMD, answer record 61995); UltraScale and newer ones
 * have other depths. */
bool cost_is_7_series(const Op *module);
/* RAMB18 blocks of a memory by their real shapes (36 x 512 … 1 x 16384); memory_bram18 gives 0 for
 * small ones; URAM blocks (72 x 4096). */
int64_t memory_blocks18(int64_t width_bits, int64_t depth);
int64_t memory_bram18(int64_t width_bits, int64_t depth);
int64_t memory_blocks_uram(int64_t width_bits, int64_t depth);
/* LUTs of a LUTRAM that is only read; of one with a read port and a write port. */
int64_t memory_rom_luts(int64_t width_bits, int64_t depth);
int64_t memory_ram_luts(int64_t width_bits, int64_t depth);

/* Whether load-weights fills tables of such elements at start-up. */
bool memory_is_loadable(const Type *elem);
Str memory_kind_name(MemoryKind kind);
/* Adds blocks and LUTs of a memory to a sum, as many copies of it as its readers need ports. */
void memory_cost(const Memory *memory, CostStructure structure, Cost *sum);
/* What a FIFO is built of: shift registers, LUTRAM, block RAM or UltraRAM. */
typedef enum FifoKind { FIFO_SRL, FIFO_LUTRAM, FIFO_BRAM, FIFO_URAM, FIFO_KINDS } FifoKind;

enum { FIFO_MOST_SRL = 16 }; /* words of a FIFO that is a shift register */
/* Adds the cost of a FIFO with its counters to a sum. */
void memory_fifo_cost(FifoKind kind, int64_t width_bits, int64_t depth, CostStructure structure,
                      Cost *sum);
/* Flip-flops of a stream whose words take `latency` cycles: registers of words, and of what says
 * that one was written or read. */
int64_t memory_fifo_registers(int64_t width_bits, int64_t latency);
/* Sets the switches of a binding that make a difference to memories of a list. */
void memory_choices(const MemoryList *memories, Binding *out);

/* Append the memories of a process, built in a binding, to `out`, which the caller frees
 * (vec_free). */
void memory_of_compute(const ComputeSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_window(const WindowSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_reorder(const ReorderSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_merge(const MergeSchedule *sched, const Binding *binding, MemoryList *out);

/* Scalar ops and payloads: DSP, LUT and FF.
 * Tests: test/unit/target/cost/cost_test.c */

/* Add `times` copies of a scalar op, or of all ops of a generic's payload, to a sum. */
void cost_scalar_op(const Op *op, int64_t times, bool lut_products, Clock clock, Cost *sum);
void cost_payload(const Op *generic, int64_t times, bool lut_products, Clock clock, Cost *sum);
/* Whether products of the payload take DSPs that LUTs could replace. */
bool cost_payload_may_use_luts(const Op *generic);

/* Bits of one element of a channel or memory. */
int64_t cost_element_bits(const Type *elem);
/* What multiplies in a kernel, one of DFG_MULTIPLIER: its dfg.multiplier, if it came with one, else
 * as the binding says. */
const char *cost_multiplier(const Op *generic, const Binding *binding);
/* Whether the search may choose it: the kernel can have more than one. */
bool cost_multiplier_is_open(const ComputeSchedule *sched);

/* Processes, by kind. First the switches of a binding that make a difference to a schedule, so that
 * the search tries no others; then the cost of a process, which replaces *out.
 * Tests: test/unit/target/cost/cost_test.c, test/e2e/cost_check.py */

void cost_compute_choices(const ComputeSchedule *sched, const CostTarget *target, Binding *out);
void cost_window_choices(const WindowSchedule *sched, const CostTarget *target, Binding *out);
void cost_reorder_choices(const ReorderSchedule *sched, const CostTarget *target, Binding *out);
void cost_merge_choices(const MergeSchedule *sched, const CostTarget *target, Binding *out);

/* Cycles in which memory brings so many bits of weights; 0: it has no limit. */
int64_t cost_traffic_cycles(int64_t bits, const CostTarget *target);
void cost_compute(const ComputeSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out);
void cost_window(const WindowSchedule *sched, const Binding *binding, const CostTarget *target,
                 Cost *out);
void cost_reorder(const ReorderSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out);
void cost_merge(const MergeSchedule *sched, const Binding *binding, const CostTarget *target,
                Cost *out);
void cost_fork(const Type *word, const CostTarget *target, Cost *out);
/* The cost of the converters between channel ends of words `from` and `to`: one converter, or two
 * by way of words `middle` unless that is NULL. */
void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out);

/* FIFOs where branches part, as an estimate before anything is simulated. A channel between
 * processes that wait for nothing else needs FIFO_MIN_DEPTH words. Where branches behind a fork, or
 * behind a window that gives parts, meet again, data runs through the branch that delays it most,
 * while the FIFOs of the other branches hold what that one has not passed on yet.
 * Tests: lit/target/fifo/size-fifos.mir */

enum { FIFO_MIN_DEPTH = 2 };

/* Estimates the elements that the channels behind an instantiated process will hold. elements: one
 * entry per operand, which are zeros before; 0 stays for inputs and where no more than
 * FIFO_MIN_DEPTH words are needed, else it is at most a frame. False: diagnosed. */
bool cost_branch_elements(const Op *instantiate, int64_t *elements) MUST_CHECK;

/* Requantizers, which record-requantizers lists on the module. */

/* Per lane, and bits of all constants. */
typedef struct RequantizerCost {
    int64_t lut, dsp, constant_bits;
} RequantizerCost;

RequantizerCost cost_requantizer(Op *kernel, Clock clock);
/* The item of the module's list with these costs. */
const Attr *cost_requantizer_item(const Attr *item, const RequantizerCost *cost);

/* Passes. docs/reference describes each from its PassDef. */

extern const PassDef pass_record_requantizers;
extern const PassDef pass_share_windows;

#endif
