/* What a simulation found, as a table and as JSON; why a design stands still.
 * Tests: lit/tools/ming-sim.mir, lit/sim/hls-deadlock.mir */
#ifndef MING_SIM_HLS_REPORT_H
#define MING_SIM_HLS_REPORT_H

#include "sim/hls/timing_sim.h"

typedef struct HlsTimingResult {
    int64_t frames;
    int64_t latency;       /* cycles from the first word of the first frame in to its last word out */
    int64_t last_latency;  /* of the last frame */
    int64_t interval;      /* cycles between the ends of the last two frames, in all processes; 0: one
                              frame */
    int64_t mean_interval; /* in hundredths: of the periodic state, else the same */
    int64_t cycles;        /* of all frames */
    HlsPeriod period;      /* which all later frames repeat; zeros: not known */
    uint32_t bottleneck;   /* process that works most cycles a frame */
} HlsTimingResult;

/* After a run and hls_sim_finish. */
HlsTimingResult hls_sim_result(const HlsDesign *design, const HlsSim *sim);
void hls_sim_print_table(const HlsDesign *design, const HlsSim *sim, StrBuf *out);
void hls_sim_print_json(const HlsDesign *design, const HlsSim *sim, StrBuf *out);

/* Diagnoses a simulation that ended early: the processes that wait for each other, in which FIFOs,
 * and the depths that would break the cycle. Returns false. */
bool hls_sim_explain_deadlock(const HlsDesign *design, const HlsSim *sim, const HlsSimOptions *options,
                          int64_t frames);

#endif
