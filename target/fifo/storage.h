/* What FIFOs are built of, where their depth leaves a choice.
 *
 * Up to FIFO_MOST_SRL words are shift registers. Deeper ones may be LUTRAM (up to 64 words, 1,024 bits,
 * or MEMORY_MOST_LUTRAM bits), block RAM, or UltraRAM where one is worth at least two block RAMs: FIFOs
 * need no contents at the start. They begin as block RAM, small ones as LUTRAM. Then, as long as that
 * lowers the largest share of LUTs, block RAM and UltraRAM that the design takes of its limits, one
 * FIFO after the other changes, always that which lowers it most: memory goes where it is not scarce.
 * Without a limit for LUTs, LUTRAM only replaces blocks that are not there.
 * Tests: test/unit/memory_test.c, lit/target/fit-fifos-storage.mir */
#ifndef MING_TARGET_FIFO_STORAGE_H
#define MING_TARGET_FIFO_STORAGE_H

#include "target/cost/cost.h"

enum { FIFO_MOST_SRL = 16 };

typedef struct FifoUse {
    int64_t width, depth; /* bits of a word, words */
    FifoKind kind;
    bool is_given; /* the kind: it is kept */
} FifoUse;

/* "srl", "lutram", "bram" or "uram", as the attribute impl of emithls.stream has it. */
Str fifo_kind_name(FifoKind kind);
/* The reverse; false: no kind is called so. */
bool fifo_kind(Str name, FifoKind *out);

/* Sets the kinds that are not given. others: what the rest of the design takes; limits: < 0 for none. */
void fifo_choose_kinds(FifoUse *fifos, size_t count, const Cost *others, const Cost *limits);

/* Adds the costs of all. */
void fifo_costs(const FifoUse *fifos, size_t count, Cost *sum);

#endif
