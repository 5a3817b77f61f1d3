/* Which FIFO depths keep an interval T, decided on the events of one frame.
 *
 * A design keeps T if and only if its events can be given times at which every frame repeats the one
 * before T cycles later:
 *
 *   time of an event >= time of the event before in its process + the cycles between them
 *   time of a read   >= write of its word + 1
 *   time of a write  >= read that makes room (a frame back: - T) + 1
 *
 * Such times exist unless a cycle of these conditions takes longer than the frames it spans. They
 * also show that nothing deadlocks: a network that does all as early as it can is never behind them.
 * A smaller depth only adds conditions, so the times that are there are repaired: what is now too
 * early moves, and what depends on it, but nothing else is looked at.
 * Tests: test/unit/hls_engine_test.c, lit/target/fit-fifos.mir */
#ifndef MING_SIM_HLS_PACE_H
#define MING_SIM_HLS_PACE_H

#include "sim/design/design.h"

typedef struct HlsPace HlsPace;

/* NULL: frames have more than so many reads and writes. What only the first frame does is left out;
 * a frame's words on such a stream are none. */
HlsPace *fifo_periodic_create(const HlsDesign *design, int64_t max_accesses) MUST_CHECK;
void fifo_periodic_free(HlsPace *pace);

/* Times for an interval, with FIFOs unbounded but for the ports'. False: there are none, or finding
 * them takes too long. Depths are then not to be set. */
bool fifo_periodic_start(HlsPace *pace, int64_t interval) MUST_CHECK;
/* Least depth of a stream with which the times are possible as they are. */
int64_t fifo_periodic_needed(const HlsPace *pace, uint32_t stream);
/* Depth of one stream, 0 for unbounded, the others as they are. LOST: the interval cannot be kept with
 * it, nor if other depths become smaller; UNKNOWN: finding out takes more than so many steps. Then
 * nothing has changed. */
typedef enum HlsPaceFate { HLS_PACE_KEPT, HLS_PACE_LOST, HLS_PACE_UNKNOWN } HlsPaceFate;
HlsPaceFate fifo_periodic_set_depth(HlsPace *pace, uint32_t stream, int64_t depth,
                               int64_t max_steps) MUST_CHECK;
/* Events that were looked at so far. */
int64_t fifo_periodic_steps(const HlsPace *pace);
int64_t fifo_periodic_events(const HlsPace *pace); /* of a frame, in how many cycles they are */

#endif
