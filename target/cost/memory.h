/* Memories of processes: what they are built of, and what that takes. One list of a process's
 * memories serves the costs (cost.c), the prediction of its pipeline (pipeline_compute.c) and the
 * attributes dfg.storage of the chosen design (dse_apply.c). docs/cost-model.md has the formulas.
 * Tests: test/unit/memory_test.c */
#ifndef MING_TARGET_MEMORY_H
#define MING_TARGET_MEMORY_H

#include "schedule/plan_move.h"

typedef union Cost Cost;

/* In the order of memory_kind_name(). */
typedef enum MemoryKind { MEMORY_LUTRAM, MEMORY_BRAM, MEMORY_URAM, MEMORY_KINDS } MemoryKind;

/* How a configuration is built, besides its factors: where memories go that have a choice, and what
 * multiplies. Attributes given beforehand (dfg.storage, dfg.multiplier) come first. */
typedef struct Style {
    bool lutram;       /* memories of up to MEMORY_MOST_LUTRAM bits */
    bool uram;         /* buffers, which need no contents at the start */
    bool lut_products; /* products of integers are made of LUTs */
    bool loads_tables; /* tables are filled at start-up (load-weights): memories like others */
} Style;

enum { MEMORY_MOST_LUTRAM = 64 * 1024 };

typedef struct Memory {
    int64_t width, depth; /* bits of a word, words */
    int64_t readers;      /* that read at places of their own in a cycle */
    int64_t banks;        /* such memories side by side; 0: one */
    bool is_rom;          /* never written: contents come with the bitstream */
    MemoryKind kind;
    bool is_given;        /* the kind, beforehand */
} Memory;

/* A memory in its process. */
typedef struct MemoryUse {
    Memory memory;
    Op *holder;        /* the op that has its dfg.storage: a constant, a generic, a window, a reorder */
    uint32_t level;    /* of a window's histories; else 0 */
    const Op *reader;  /* of a constant: the op that reads it, as its operand number `operand` */
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
/* The switches of a style that make a difference to memories of a list. */
void memory_choices(const MemoryList *memories, Style *out);

/* The memories of a process in a style, appended to `out`. */
void memory_of_compute(const ComputePlan *plan, const Style *style, MemoryList *out);
void memory_of_window(const WindowPlan *plan, const Style *style, MemoryList *out);
void memory_of_reorder(const ReorderPlan *plan, const Style *style, MemoryList *out);
void memory_of_merge(const MergePlan *plan, const Style *style, MemoryList *out);

#endif
