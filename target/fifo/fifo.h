/* FIFO depths: the passes that choose them, and the search for the smallest ones.
 *
 *   size-fifos   depths that cannot deadlock, before the design is built (dfg)
 *   cross-dies   latency of FIFOs between dies
 *   pin-fifos    depths that a folding file gives
 *   fit-fifos    the smallest depths that keep the best interval, and what FIFOs are built of
 *   prove-loaded the interval and first frame of cards that load their weights
 *
 * Intervals are cycles per frame, depths words. The driver runs the passes; docs/reference
 * describes each from its PassDef.
 * Tests: lit/target/fifo, test/unit/sim/hls/timing_sim_test.c */
#ifndef MING_TARGET_FIFO_FIFO_H
#define MING_TARGET_FIFO_FIFO_H

#include "ir/pass/pass.h"
#include "sim/hls/hls.h"
#include "target/cost/cost.h"

extern const PassDef pass_cross_dies;
extern const PassDef pass_fit_fifos;
extern const PassDef pass_pin_fifos;
extern const PassDef pass_prove_loaded;
extern const PassDef pass_size_fifos;

/* The search for depths. The best interval of a design is that of its slowest process or port
 * alone. Whether depths keep it is decided on the events of one frame (target/fifo/internal.h). The
 * search starts from unbounded FIFOs, but for those of weights that stay in memory, which would take
 * in a frame ahead of time, and fixes one after the other at the smallest depth that keeps
 * the interval. FIFOs with the widest words come first, so that words wait where they are narrow.
 * The search goes over the FIFOs several times, with more effort for each try, until none can be
 * lowered alone or the allowance of events is used up. A frame of more than eight times that, or of
 * more than 2^26 reads and writes, is sized region by region, up to sixteen times or 2^28; one that
 * has more gets what a simulation without limits needs. The caller simulates the depths that it finds (sim/hls/hls.h).
 * Tests: lit/target/fifo/fit-fifos.mir, test/unit/sim/hls/timing_sim_test.c */

enum { HLS_MIN_DEPTH = 2 };

typedef enum SizingOutcome {
    SIZING_PERIODIC,
    SIZING_DEADLOCK,
    SIZING_UNDECIDED /* not periodic within the events allowed */
} SizingOutcome;

typedef struct SteadyState {
    int64_t interval, latency; /* of the periodic state, a mean, rounded up; of a frame alone */
    int64_t frames;            /* that were simulated whole; 0: the latency is not known */
} SteadyState;

/* Cycles that the slowest process or port needs for a frame. */
int64_t fifo_best_interval(const HlsDesign *design);

/* Simulates the design with these depths, one per stream, up to the periodic state. *events: reads
 * and writes that may still be simulated, counted down by those it takes. needed (or NULL) gets the
 * least depths with which the same schedule is possible. */
SizingOutcome fifo_steady_state(const HlsDesign *design, const int64_t *depths, int64_t *events,
                                SteadyState *out, int64_t *needed);

/* Simulates the first frame only, for its latency. SIZING_PERIODIC or SIZING_DEADLOCK. */
SizingOutcome fifo_first_frame(const HlsDesign *design, const int64_t *depths, int64_t *latency);

/* Finds the smallest depths that keep the interval, at least HLS_MIN_DEPTH and the floors' where
 * there are any. depths, floors: one per stream; *events: as above. When the events run out, the
 * FIFOs that are left get the depths that they need by then. SIZING_DEADLOCK: no depths help.
 * SIZING_UNDECIDED: too few events for one frame. In both cases the depths are arbitrary. */
SizingOutcome fifo_size(const HlsDesign *design, int64_t interval, int64_t *events,
                        const int64_t *floors, int64_t *depths) MUST_CHECK;

/* Whether the design keeps an interval with these depths, whatever it does at first; proven by times
 * for a frame's events. False: it does not, or finding out takes too long. */
bool fifo_keeps_interval(const HlsDesign *design, const int64_t *depths, int64_t interval)
    MUST_CHECK;

/* What hardware may do other than predicted, without losing the interval or hanging: pipelines
 * deeper by a share and HLS_BOUND_CYCLES, FIFOs and processes as much later as design_bound says.
 * Exact: nothing. */
typedef struct FifoSlack {
    bool is_exact;
    int64_t permille; /* of a pipeline's depth */
} FifoSlack;

/* "exact", "N%" or "default". False: it is none of them. */
bool fifo_slack_parse(Str text, FifoSlack *out) MUST_CHECK;
/* Cycles that the slowest process needs for a frame on the latest hardware there is slack for. */
int64_t fifo_bound_interval(HlsDesign *design, FifoSlack slack);
/* Whether the depths keep that interval on all hardware there is slack for. */
bool fifo_keeps_slack(HlsDesign *design, FifoSlack slack, const int64_t *depths, int64_t interval)
    MUST_CHECK;
/* The same as fifo_size for the latest hardware that there is slack for (not exact), whose interval
 * is longer than `interval` by what its slowest process is. No smaller depths do for it; the
 * predicted hardware may need larger ones. The design is perturbed meanwhile, and as predicted
 * afterwards. */
SizingOutcome fifo_size_for_bound(HlsDesign *design, FifoSlack slack, int64_t interval,
                                  int64_t *events, int64_t *depths) MUST_CHECK;

/* Raises depths, where it has to, until a design in which processes rewind does not deadlock on any
 * hardware there is slack for, whenever its frames are started. SIZING_UNDECIDED: that is not
 * proven, because a frame has too many events. The design is as predicted afterwards. */
SizingOutcome fifo_size_for_pauses(HlsDesign *design, FifoSlack slack, int64_t events,
                                   int64_t *depths) MUST_CHECK;

/* "srl", "lutram", "bram" or "uram", as the attribute impl of emithls.stream has it. */
Str fifo_kind_name(FifoKind kind);
/* What a FIFO is built of where nothing is scarce. */
FifoKind fifo_first_kind(int64_t width, int64_t depth);
/* The reverse of the name; false: no kind is called so. */
bool fifo_kind(Str name, FifoKind *out);

/* What a design holds activations in. Tests: lit/emit/report-activations.mir */
typedef struct Activations {
    int64_t window_bits; /* that windows keep from word to word */
    int64_t fifo_bits;   /* of all FIFOs */
    int64_t skip_bits;   /* of those at which branches part or meet */
    Cost cost;           /* of all FIFOs, and of the processes that only move activations */
    bool is_known;       /* what FIFOs are built of, and so the cost */
} Activations;
/* module: of the emithls dialect, with a top function. */
Activations fifo_activations(const Op *module);

#endif
