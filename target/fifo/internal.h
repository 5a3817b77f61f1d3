/* The inside of FIFO sizing, for the sources of target/fifo only: the events of a frame
 * (frame_events.c), periodic schedules of them, which decide whether depths keep an interval
 * (periodic_schedule.c for sizing.c), regions of a design whose frames have too many events for one
 * schedule (regions.c), and the storage of FIFOs (storage.c for fit_fifos.c). A schedule borrows its
 * design, which must outlive it.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo */
#ifndef MING_TARGET_FIFO_INTERNAL_H
#define MING_TARGET_FIFO_INTERNAL_H

#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"

/* The events of a frame. A tick is all that a process reads and writes in one cycle of its local
 * clock. Large designs have tens of millions, so the types are small. */

#define NO_WORD UINT32_MAX

typedef struct Tick {
    int64_t time;
    int64_t
        gap; /* cycles since the tick before; the first: since the last one of the frame before */
    uint32_t first; /* of its accesses; the next tick's is the end */
    uint32_t via;   /* word of the tried stream that moved it in this trial, NO_WORD: none did */
} Tick;

/* What a tick does at a stream. A write that a bound lets come at various times needs its place at
 * the first of them and gives its word at the last. */
typedef enum TickAccessKind { TICK_READ, TICK_WRITE, TICK_PLACE, TICK_WORD } TickAccessKind;

enum { TICK_WORD_BITS = 30 };
typedef struct TickAccess {
    uint32_t stream;
    uint32_t word : TICK_WORD_BITS;
    uint32_t kind : 2; /* TickAccessKind */
} TickAccess;

/* Of a process that rewinds, accesses behind the end of the frame are ticks of a later frame: those
 * of words before `wrap` so many frames later, those of the others one more. All zero but for
 * `wrap`, which is NO_WORD, for other processes. */
typedef struct WordLag {
    uint32_t wrap;
    int32_t frames;
} WordLag;

static inline int64_t word_lag(const WordLag *lag, uint32_t word)
{
    return lag->frames + (word >= lag->wrap);
}

/* Ticks begin to end - 1. */
typedef struct EventRange {
    uint32_t begin, end;
} EventRange;

typedef struct Channel {
    uint32_t writer, reader; /* processes */
    uint32_t *writes;        /* tick of each word of a frame: when it is given */
    uint32_t *places;        /* when it needs its place; the same array unless that is earlier */
    uint32_t *reads;
    WordLag write_lag, place_lag, read_lag;
    uint32_t words;
    int64_t depth;   /* 0: unbounded */
    int64_t latency; /* cycles that words and places take */
    bool reader_waits, writer_waits;
    bool is_given; /* its writes are at given times */
    bool is_open;  /* nobody reads it in the region: its reads are one tick that never comes */
} Channel;

/* The times of a stream's words in a periodic schedule, of each word of a frame: in which cycle it
 * is given, and in which it needs its place (the same array unless that is earlier). */
typedef struct WordTimes {
    int64_t *words, *places;
} WordTimes;

/* A region of a design: processes whose events are looked at without the others'. Words that they
 * get from others come at given times; others take theirs at any time. */
typedef struct EventRegion {
    const bool *has; /* of each process: it is in the region */
    const WordTimes
        *given; /* of each stream; NULLs: the writer is in the region, or no reader is */
} EventRegion;

typedef struct FrameEvents {
    Arena arena;          /* of all arrays */
    Tick *ticks;          /* and one more behind the last, as its end */
    TickAccess *accesses; /* in the order of ticks */
    EventRange *rows;     /* of each process */
    Channel *channels;    /* of each stream, unbounded */
    uint32_t tick_count, access_count;
} FrameEvents;

/* The events of one frame of a design, or of a region of it (NULL: the whole), at the times of
 * processes that never wait. Streams that only the first frame uses are left out and have no words,
 * as are those outside of the region. False: there are more than max_accesses reads and writes; no
 * diagnostic. The owner frees the arena. */
bool fifo_frame_events(const HlsDesign *design, const EventRegion *region, int64_t max_accesses,
                       FrameEvents *out) MUST_CHECK;
/* Cycle of an iteration in which a process that rewinds makes its first read. */
int64_t fifo_first_read(const HlsProcess *process);

/* Periodic schedules. A design keeps the interval T if and only if its events can be given times at
 * which every frame repeats the one before T cycles later:
 *
 *   time of an event >= time of the event before in its process + the cycles between them
 *   time of a read   >= write of its word + 1
 *   time of a write  >= read that makes room (a frame back: - T) + 1
 *
 * (the tick of an access may belong to a later frame than its word: WordLag; then so many T more)
 * (in a design that is perturbed: + the latency of the FIFO, and a write is two events: it needs
 * its place when it was predicted, and gives its word when the perturbation lets it)
 *
 * Such times exist unless a cycle of these conditions takes longer than the frames it spans. They
 * also show that nothing deadlocks, because a network that does everything as early as it can is
 * never behind them. A smaller depth only adds conditions, so the times that are there are
 * repaired: an event that is now too early moves, then the events that depend on it, and nothing
 * else is looked at.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos.mir */

typedef struct PeriodicSchedule PeriodicSchedule;

/* Of the events of one frame, without times yet. NULL: as fifo_frame_events; no diagnostic. */
PeriodicSchedule *fifo_periodic_create(const HlsDesign *design, const EventRegion *region,
                                       int64_t max_accesses) MUST_CHECK;
void fifo_periodic_free(PeriodicSchedule *sched);

/* Finds times for an interval, with FIFOs of these depths, one per stream; NULL: all unbounded but
 * those of the ports. Those of a region that begin or end outside are unbounded all the same. False: there are none, or finding them takes too long; depths must not be set
 * then. */
bool fifo_periodic_start(PeriodicSchedule *sched, int64_t interval, const int64_t *depths)
    MUST_CHECK;
/* The least depth of a stream with which the times are possible as they are. */
int64_t fifo_periodic_needed(const PeriodicSchedule *sched, uint32_t stream);
/* Sets the depth of one stream (0: unbounded) and leaves the others as they are. PERIODIC_LOST: the
 * interval cannot be kept with it, nor if other depths become smaller; PERIODIC_UNKNOWN: finding
 * out takes more than max_steps steps. In both cases nothing has changed. */
typedef enum PeriodicOutcome { PERIODIC_KEPT, PERIODIC_LOST, PERIODIC_UNKNOWN } PeriodicOutcome;
PeriodicOutcome fifo_periodic_set_depth(PeriodicSchedule *sched, uint32_t stream, int64_t depth,
                                        int64_t max_steps) MUST_CHECK;
/* Events that were looked at so far. */
int64_t fifo_periodic_steps(const PeriodicSchedule *sched);
int64_t fifo_periodic_events(
    const PeriodicSchedule *sched); /* of a frame, in how many cycles they are */
/* Whether the schedule has both ends of a stream, so that it has a depth there. */
bool fifo_periodic_has(const PeriodicSchedule *sched, uint32_t stream);
/* The times of a stream's writes, to be given to another region; the caller frees both arrays. */
WordTimes fifo_periodic_times(const PeriodicSchedule *sched, uint32_t stream);

/* Regions. The events of a design are scheduled region by region where they are too many at once.
 * Regions follow the streams: a region's inputs come from regions before it, at the times of their
 * schedules, which stay as they are. So the schedules of all regions together are one of the design:
 * each condition between events has both in one region, or is one between a write whose time is
 * given and its read, which the reader's region keeps. A FIFO between regions is sized in that of
 * its writer, together with the processes that read it if all of their inputs are known there; the
 * reader's region keeps that depth, and raises it if it has to.
 * Tests: test/unit/sim/hls/timing_sim_test.c, lit/target/fifo/fit-fifos-regions.mir */

typedef struct RegionWalk RegionWalk;

/* Divides a design into regions of up to `most` reads and writes, but for processes that have more.
 * NULL: its streams form a cycle of processes; no diagnostic. */
RegionWalk *fifo_regions_create(const HlsDesign *design, int64_t most) MUST_CHECK;
void fifo_regions_free(RegionWalk *walk);
/* The events of the next region, and of processes behind it that read its results; the caller's.
 * NULL: there is none, or it has more than max_accesses. */
PeriodicSchedule *fifo_regions_next(RegionWalk *walk, int64_t max_accesses) MUST_CHECK;
/* Keeps the times of the region's schedule for those behind it. */
void fifo_regions_keep(RegionWalk *walk, const PeriodicSchedule *sched);
/* Whether fifo_regions_next has given all. */
bool fifo_regions_done(const RegionWalk *walk);

/* Storage: what FIFOs are built of, where their depth leaves a choice.
 *
 * FIFOs of up to FIFO_MOST_SRL words are shift registers, which become LUTRAM only where a limit is
 * exceeded: it takes fewer LUTs, but flip-flops. Deeper ones may be LUTRAM (up to 64
 * words, 1,024 bits, or MEMORY_MOST_LUTRAM bits), block RAM, or UltraRAM where one UltraRAM is
 * worth at least two block RAMs; UltraRAM will do because FIFOs need no contents at the start.
 * FIFOs begin as block RAM, small ones as LUTRAM, which they stay unless a limit is exceeded: blocks
 * hold hundreds of words. Then a greedy search changes one FIFO after the other, always the one that
 * most lowers the sum of the squares of the shares that the design takes of its limits of LUTs,
 * block RAM and UltraRAM (the largest share, while that is beyond its limit, and of equal ones the
 * squares), as long as one does.
 * So memory goes where it is not scarce, and a FIFO that becomes a little deeper changes little. Without
 * a limit for LUTs, LUTRAM only replaces blocks that are not there.
 * Tests: test/unit/target/cost/memory_test.c, lit/target/fifo/fit-fifos-storage.mir */

typedef struct FifoUse {
    int64_t width, depth; /* bits of a word, words */
    FifoKind kind;
    bool is_given;     /* the kind: it is kept */
    bool is_filled;    /* it will be as deep as what it is built of holds anyway */
    bool is_in_memory; /* outside of the chip: it takes nothing */
    int64_t latency;   /* cycles that words take: all but one are registers of a border */
} FifoUse;

/* Sets the kinds that are not given. others: the costs of the rest of the design; limits: per
 * resource, negative for none. */
void fifo_choose_kinds(FifoUse *fifos, size_t count, const Cost *others, const Cost *limits);

/* Words that the storage of a FIFO holds in any case: a FIFO that is so deep costs no more memory
 * than one of the given depth. */
int64_t fifo_capacity(const FifoUse *fifo);

/* Adds the costs of all FIFOs to a sum. */
void fifo_costs(const FifoUse *fifos, size_t count, Cost *sum);

/* The dies of a placed design and what its processes take of each. */
typedef struct FifoDies FifoDies;
/* NULL: the module is not placed. */
FifoDies *fifo_dies_create(const Op *module, const HlsDesign *design);
/* Whether limits are kept where that is possible, and count for nothing else: the dies of cards, which
 * place-cards chose before FIFOs were sized. */
bool fifo_dies_are_soft(const FifoDies *dies);
void fifo_dies_free(FifoDies *dies);
/* As fifo_choose_kinds, on each die by itself. `fifos` are those behind the ports' streams. */
void fifo_dies_choose_kinds(const FifoDies *dies, FifoUse *fifos, size_t count);
/* The sum of what dies lack in shares of their limits; *beyond becomes at least what they lack. */
double fifo_dies_beyond(const FifoDies *dies, const FifoUse *fifos, size_t count, Cost *beyond);
/* The process on whose die the FIFO of a stream is, and which reports it. */
uint32_t fifo_owner(const HlsStream *stream);
/* The cost of a process by its report; nothing for the world at a port, which is NULL. */
Cost fifo_process_cost(const Op *func);

#endif
