/* Cost model: cycles and resources of processes, as functions of their schedules and of the binding
 * in which they are built. docs/cost-model.md states formulas, sources, accuracy and assumptions.
 *
 *   cost.c          processes      cost_arith.c    scalar ops and payloads
 *   memory.c        memories       pipeline*.c     cycles
 *
 * Tests: test/unit/target/cost/cost_test.c, test/e2e/cost_check.py */
#ifndef MING_TARGET_COST_COST_H
#define MING_TARGET_COST_COST_H

#include "dialects/dfg/dfg.h"
#include "schedule/schedule.h"

/* Memories of processes: what they are built of, and what that takes. One list of a process's
 * memories serves the costs (cost.c), the prediction of its pipeline (pipeline_compute.c) and the
 * attributes dfg.storage of the chosen design (target/dse/apply.c). docs/cost-model.md has the
 * formulas.
 * Tests: test/unit/target/cost/memory_test.c */

typedef union Cost Cost;

/* In the order of memory_kind_name(). */
typedef enum MemoryKind { MEMORY_LUTRAM, MEMORY_BRAM, MEMORY_URAM, MEMORY_KINDS } MemoryKind;

/* How a configuration is built, besides its factors: where memories go that have a choice, and what
 * multiplies (HLS tools call this binding). Attributes given beforehand (dfg.storage,
 * dfg.multiplier) come first. */
typedef struct Binding {
    bool lutram;       /* memories of up to MEMORY_MOST_LUTRAM bits */
    bool uram;         /* buffers, which need no contents at the start */
    bool lut_products; /* products of integers are made of LUTs */
    bool loads_tables; /* tables are filled at start-up (load-weights): memories like others */
} Binding;

enum { MEMORY_MOST_LUTRAM = 64 * 1024 };

typedef struct Memory {
    int64_t width, depth; /* bits of a word, words */
    int64_t readers;      /* that read at places of their own in a cycle */
    int64_t banks;        /* such memories side by side; 0: one */
    bool is_rom;          /* never written: contents come with the bitstream */
    MemoryKind kind;
    bool is_given; /* the kind, beforehand */
} Memory;

/* A memory in its process. */
typedef struct MemoryUse {
    Memory memory;
    Op *holder; /* the op that has its dfg.storage: a constant, a generic, a window, a reorder */
    uint32_t level;   /* of a window's histories; else 0 */
    const Op *reader; /* of a constant: the op that reads it, as its operand number `operand` */
    uint32_t operand;
} MemoryUse;
typedef VEC(MemoryUse) MemoryList;

/* Small memories are always LUTRAM: at most 64 words or 1,024 bits. */
bool memory_is_small(int64_t width_bits, int64_t depth);
/* Blocks of a memory by their real shapes: RAMB18 (36 x 512 … 1 x 16384), URAM (72 x 4096). */
int64_t memory_blocks18(int64_t width_bits, int64_t depth);
/* 0 for small ones. */
int64_t memory_bram18(int64_t width_bits, int64_t depth);
int64_t memory_blocks_uram(int64_t width_bits, int64_t depth);
/* LUTs of a LUTRAM: read only, or with one port for reading and one for writing. */
int64_t memory_rom_luts(int64_t width_bits, int64_t depth);
int64_t memory_ram_luts(int64_t width_bits, int64_t depth);

/* Whether load-weights fills tables of such elements at start-up. */
bool memory_is_loadable(const Type *elem);
Str memory_kind_name(MemoryKind kind);
/* Adds blocks and LUTs of a memory, as many copies as its readers need ports. */
void memory_cost(const Memory *memory, Cost *sum);
/* A FIFO's, with its counters: of shift registers or LUTRAM, block RAM or UltraRAM. */
typedef enum FifoKind { FIFO_SRL, FIFO_LUTRAM, FIFO_BRAM, FIFO_URAM, FIFO_KINDS } FifoKind;
void memory_fifo_cost(FifoKind kind, int64_t width_bits, int64_t depth, Cost *sum);
/* The switches of a binding that make a difference to memories of a list. */
void memory_choices(const MemoryList *memories, Binding *out);

/* The memories of a process in a binding, appended to `out`. */
void memory_of_compute(const ComputeSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_window(const WindowSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_reorder(const ReorderSchedule *sched, const Binding *binding, MemoryList *out);
void memory_of_merge(const MergeSchedule *sched, const Binding *binding, MemoryList *out);

typedef enum CostKind {
    COST_CYCLES, /* of a frame that never waits */
    COST_DSP,    /* DSP48E2 */
    COST_BRAM18, /* RAMB18 */
    COST_URAM,   /* URAM288 */
    COST_LUT,
    COST_FF,
    COST_FILL, /* cycles from the first word in until one has left, at the process's own pace */
    COST_KINDS
} CostKind;

/* The same numbers by name and by kind. */
union Cost {
    struct {
        int64_t cycles, dsp, bram18, uram, lut, ff, fill;
    };
    int64_t items[COST_KINDS];
};

/* Per kind: its key in reports and budgets, its name in messages. */
typedef struct CostName {
    const char *key, *title;
} CostName;
void cost_add(Cost *sum, const Cost *part);
extern const CostName cost_names[COST_KINDS];

/* What designs are built for. */
typedef struct CostTarget {
    Clock clock;
    bool has_uram;
    bool loads_tables; /* at start-up, rather than with the bitstream */
    bool
        counts_luts; /* they have a limit: else nothing is moved into LUTs, which would look free */
    int64_t dsp;     /* to spend; 0: not told. Large devices get more in parallel in one process */
} CostTarget;

/* DSPs of one scalar op. */
int64_t cost_scalar_op_dsp(const Op *op);
/* Adds `times` copies of a scalar op, or of all ops of a generic's payload, to a sum: DSP, LUT,
 * FF. */
void cost_scalar_op(const Op *op, int64_t times, bool lut_products, Clock clock, Cost *sum);
void cost_payload(const Op *generic, int64_t times, bool lut_products, Clock clock, Cost *sum);
/* Whether products of the payload take DSPs that LUTs could replace. */
bool cost_payload_may_use_luts(const Op *generic);

/* Bits of one element of a channel or memory. */
int64_t cost_element_bits(const Type *elem);

/* Whether a kernel multiplies in LUTs: its dfg.multiplier, if it came with one, else the
 * binding. */
bool cost_multiplies_in_luts(const Op *generic, const Binding *binding);

/* The switches of a binding that make a difference to a schedule. */
void cost_compute_choices(const ComputeSchedule *sched, const CostTarget *target, Binding *out);
void cost_window_choices(const WindowSchedule *sched, const CostTarget *target, Binding *out);
void cost_reorder_choices(const ReorderSchedule *sched, const CostTarget *target, Binding *out);
void cost_merge_choices(const MergeSchedule *sched, const CostTarget *target, Binding *out);

void cost_compute(const ComputeSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out);
void cost_window(const WindowSchedule *sched, const Binding *binding, const CostTarget *target,
                 Cost *out);
void cost_reorder(const ReorderSchedule *sched, const Binding *binding, const CostTarget *target,
                  Cost *out);
void cost_merge(const MergeSchedule *sched, const Binding *binding, const CostTarget *target,
                Cost *out);
void cost_fork(const Type *word, const CostTarget *target, Cost *out);
/* Of the converters between channel ends of words `from` and `to`, by way of `middle` unless
 * NULL. */
void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out);

/* FIFOs behind forks, as an estimate before anything is simulated. A channel between processes that
 * wait for nothing else needs FIFO_MIN_DEPTH words. Where a fork's branches meet again, the branch
 * that delays its data most runs through, the others hold what it has not taken yet.
 * Tests: lit/target/fifo/size-fifos.mir */

enum { FIFO_MIN_DEPTH = 2 };

/* For each operand of an instantiated fork, in `words`: 0 where its channel needs no more than
 * FIFO_MIN_DEPTH words, else an estimate of the words that it will hold, of `frame` words. Inputs
 * are 0. False: diagnosed. */
bool cost_fork_estimate(const Op *instantiate, int64_t frame, int64_t *words) MUST_CHECK;

#endif
