/* Timing of a design, exact to the cycle. A process is a local clock that runs through its loops and
 * stands still, as a whole, while a read finds its FIFO empty or a write finds it full (a pipeline
 * that stalls, the default of HLS tools). Everything follows from
 *
 *   time of an event = max(time of the event before + cycles between them,
 *                          write of the word + 1, read that makes room + 1)
 *
 * so the order in which processes are simulated does not matter: each runs ahead as far as the times
 * at its FIFOs are known. Frames follow each other without a gap; a process begins the next one when
 * its pipeline has run empty.
 * Tests: lit/sim, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_ENGINE_H
#define MING_SIM_HLS_ENGINE_H

#include "sim/hls/fifo.h"
#include "sim/design/design.h"

typedef enum HlsState {
    HLS_BUSY,   /* the clock runs */
    HLS_INPUT,  /* it stands: a FIFO is empty */
    HLS_OUTPUT, /* it stands: a FIFO is full */
    HLS_IDLE,   /* no iteration of the frame has read or written yet, or it is done */
    HLS_STATE_COUNT
} HlsState;

/* Who wants to know; members may be NULL. */
typedef struct HlsHooks {
    void *user;
    /* The words of a loop's iterations before `until`, counted from the first frame on, have been
     * read. False: diagnosed, ends the simulation. */
    bool (*values)(void *user, uint32_t process, uint32_t loop, int64_t until);
    void (*state)(void *user, uint32_t process, HlsState state, int64_t from, int64_t to);
    void (*level)(void *user, uint32_t stream, int64_t time, int64_t level);
    void (*progress)(void *user, int64_t frames, int64_t cycle); /* now and then */
} HlsHooks;

enum { HLS_FULL_RATE = 1000000 };
typedef struct HlsSimOptions {
    int64_t input_rate, output_rate; /* of the ports, in words per million cycles; 0: full */
    int64_t input_interval;          /* inputs give a frame evenly in so many cycles, and processes
                                        without inputs begin one; 0: by rate */
    bool is_random;                  /* the ports pause at random, by seed */
    uint64_t seed;
    const int64_t *depths;           /* of each stream instead of the design's; NULL: these */
    HlsHooks hooks;
} HlsSimOptions;

/* What a process did from the end of its frame before to the end of this one. */
typedef struct HlsFrame {
    int64_t begin; /* cycle of the first access */
    int64_t end;   /* cycle after the last one */
    uint64_t waits; /* hash of all waiting in it */
    bool is_late;   /* with an input_interval: something happens later than in the frame before, a
                       frame's interval apart */
    int64_t cycles[HLS_STATE_COUNT];
} HlsFrame;
typedef VEC(HlsFrame) HlsFrames;

/* Why a process stands still for good. */
typedef struct HlsBlock {
    uint32_t stream; /* HLS_NOBODY: it does not */
    bool is_full;    /* it waits to write, else to read */
    int64_t cycle;   /* since when */
} HlsBlock;

typedef struct HlsSim HlsSim;
HlsSim *hls_sim_create(const HlsDesign *design, const HlsSimOptions *options);
void hls_sim_free(HlsSim *sim);

/* Until all processes have done that many frames since the beginning. False: processes wait for each
 * other for good, or a hook ended the simulation. */
bool hls_sim_run(HlsSim *sim, int64_t frames) MUST_CHECK;
/* Once the state recurs: so many frames take so many cycles, and so do all later ones. Zeros: it does
 * not yet, or takes more than HLS_MAX_PERIOD frames to. */
enum { HLS_MAX_PERIOD = 16 };
typedef struct HlsPeriod {
    int64_t frames, cycles;
} HlsPeriod;
HlsPeriod hls_sim_period(const HlsSim *sim);
/* Whether no later frame can take longer than the input_interval: nothing is late in as many frames
 * as an event can depend on, hence by induction nothing ever is. */
bool hls_sim_keeps_pace(const HlsSim *sim);
/* Counts levels to the end; afterwards nothing more can be run. */
void hls_sim_finish(HlsSim *sim);

const HlsFrames *hls_sim_frames(const HlsSim *sim, uint32_t process);
const HlsFifo *hls_sim_fifo(const HlsSim *sim, uint32_t stream);
HlsBlock hls_sim_block(const HlsSim *sim, uint32_t process);
int64_t hls_sim_events(const HlsSim *sim); /* reads and writes so far */
bool hls_sim_was_stopped(const HlsSim *sim); /* by a hook */

#endif
