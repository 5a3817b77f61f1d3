/* Which FIFO depths keep an interval T, decided on the events of one frame.
 *
 * A design keeps T if and only if its events can be given times at which every frame repeats the
 * one before T cycles later:
 *
 *   time of an event >= time of the event before in its process + the cycles between them
 *   time of a read   >= write of its word + 1
 *   time of a write  >= read that makes room (a frame back: - T) + 1
 *
 * Such times exist unless a cycle of these conditions takes longer than the frames it spans. They
 * also show that nothing deadlocks: a network that does all as early as it can is never behind
 * them. A smaller depth only adds conditions, so the times that are there are repaired: what is now
 * too early moves, and what depends on it, but nothing else is looked at.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */
#ifndef MING_TARGET_FIFO_INTERNAL_H
#define MING_TARGET_FIFO_INTERNAL_H

#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"

typedef struct PeriodicSchedule PeriodicSchedule;

/* NULL: frames have more than so many reads and writes. What only the first frame does is left out;
 * a frame's words on such a stream are none. */
PeriodicSchedule *fifo_periodic_create(const HlsDesign *design, int64_t max_accesses) MUST_CHECK;
void fifo_periodic_free(PeriodicSchedule *sched);

/* Times for an interval, with FIFOs unbounded but for the ports'. False: there are none, or finding
 * them takes too long. Depths are then not to be set. */
bool fifo_periodic_start(PeriodicSchedule *sched, int64_t interval) MUST_CHECK;
/* Least depth of a stream with which the times are possible as they are. */
int64_t fifo_periodic_needed(const PeriodicSchedule *sched, uint32_t stream);
/* Depth of one stream, 0 for unbounded, the others as they are. LOST: the interval cannot be kept
 * with it, nor if other depths become smaller; UNKNOWN: finding out takes more than so many steps.
 * Then nothing has changed. */
typedef enum PeriodicOutcome { PERIODIC_KEPT, PERIODIC_LOST, PERIODIC_UNKNOWN } PeriodicOutcome;
PeriodicOutcome fifo_periodic_set_depth(PeriodicSchedule *sched, uint32_t stream, int64_t depth,
                                        int64_t max_steps) MUST_CHECK;
/* Events that were looked at so far. */
int64_t fifo_periodic_steps(const PeriodicSchedule *sched);
int64_t fifo_periodic_events(
    const PeriodicSchedule *sched); /* of a frame, in how many cycles they are */

/* What FIFOs are built of, where their depth leaves a choice.
 *
 * Up to FIFO_MOST_SRL words are shift registers. Deeper ones may be LUTRAM (up to 64 words, 1,024
 * bits, or MEMORY_MOST_LUTRAM bits), block RAM, or UltraRAM where one is worth at least two block
 * RAMs: FIFOs need no contents at the start. They begin as block RAM, small ones as LUTRAM. Then,
 * as long as that lowers the largest share of LUTs, block RAM and UltraRAM that the design takes of
 * its limits, one FIFO after the other changes, always that which lowers it most: memory goes where
 * it is not scarce. Without a limit for LUTs, LUTRAM only replaces blocks that are not there.
 * Tests: test/unit/target/cost/memory_test.c, lit/target/fifo/fit-fifos-storage.mir */

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

/* Sets the kinds that are not given. others: what the rest of the design takes; limits: < 0 for
 * none. */
void fifo_choose_kinds(FifoUse *fifos, size_t count, const Cost *others, const Cost *limits);

/* Adds the costs of all. */
void fifo_costs(const FifoUse *fifos, size_t count, Cost *sum);

#endif
