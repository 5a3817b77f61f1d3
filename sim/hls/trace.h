/* What processes and FIFOs did over time, for a waveform viewer (VCD) or as a chart (SVG).
 * Tests: lit/tools/ming-sim-charts.mir */
#ifndef MING_SIM_HLS_TRACE_H
#define MING_SIM_HLS_TRACE_H

#include "sim/hls/timing_sim.h"

typedef struct HlsTrace HlsTrace;

/* keeps_changes: what a VCD needs, memory for every change of a state or level. */
HlsTrace *hls_sim_trace_create(const HlsDesign *design, bool keeps_changes);
void hls_sim_trace_free(HlsTrace *trace);

/* HlsHooks.state and .level; user is the trace. */
void hls_sim_trace_state(void *trace, uint32_t process, HlsState state, int64_t from, int64_t to);
void hls_sim_trace_level(void *trace, uint32_t stream, int64_t time, int64_t level);

/* One time unit per cycle. A process is a 2-bit signal: 0 busy, 1 waits for input, 2 for output,
 * 3 idle; a FIFO an integer, its level at the end of the cycle. */
void hls_sim_trace_print_vcd(const HlsTrace *trace, StrBuf *out);
/* A row per process, coloured by what it does most in a part of the time, and one per FIFO, darker
 * the fuller it is. */
void hls_sim_trace_print_svg(const HlsTrace *trace, StrBuf *out);

#endif
