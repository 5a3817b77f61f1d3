/* Passes about FIFOs. docs/reference describes each from its PassDef. */
#ifndef MING_TARGET_FIFO_FIFO_H
#define MING_TARGET_FIFO_FIFO_H

#include "ir/pass/pass.h"
#include "sim/hls/hls.h"

extern const PassDef pass_fit_fifos;
extern const PassDef pass_pin_fifos;
extern const PassDef pass_size_fifos;

/* FIFO depths.
 *
 * The best interval of a design is that of its slowest process or port alone. Whether depths keep
 * it is decided on the events of one frame (target/fifo/internal.h). The search starts from
 * unbounded FIFOs and fixes one after the other at the smallest depth that keeps the interval,
 * those with the onnx_lower_widest words first: words then wait where they are narrow. It goes over
 * them several times, with more effort for each try, until no FIFO can be lowered alone or the
 * events run out. What was found is simulated (sim/hls/hls.h).
 * Tests: lit/target/fifo/fit-fifos.mir, test/unit/sim/hls/timing_sim_test.c */

enum { HLS_MIN_DEPTH = 2 };

typedef enum SizingOutcome {
    SIZING_PERIODIC,
    SIZING_DEADLOCK,
    SIZING_UNDECIDED /* not periodic within the events allowed */
} SizingOutcome;

typedef struct SteadyState {
    int64_t interval, latency; /* of the periodic state, a mean, rounded up; of the first frame */
} SteadyState;

/* Cycles a frame that the slowest process or port needs. */
int64_t fifo_best_interval(const HlsDesign *design);

/* Runs with these depths to the periodic state; *events are counted down by those it takes. needed
 * (NULL: not asked for) gets the depths with which the same schedule is possible. */
SizingOutcome fifo_steady_state(const HlsDesign *design, const int64_t *depths, int64_t *events,
                                SteadyState *out, int64_t *needed);

/* Smallest depths, at least HLS_MIN_DEPTH, that keep the interval; where events, looked at in
 * whatever way, run out, the rest get what they hold by then. Deadlock: no depths help. Undecided:
 * too few events for one frame. The depths are then arbitrary. */
SizingOutcome fifo_size(const HlsDesign *design, int64_t interval, int64_t *events, int64_t *depths)
    MUST_CHECK;

#endif
