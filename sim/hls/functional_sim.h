/* The words that flow through a design. The timing engine says which iterations have read their
 * words (HlsHooks.values); their bodies run then, and what they write waits in the stream until its
 * reader comes to it. Values do not depend on timing, since reads block.
 * Tests: lit/sim/hls-values.mir, test/e2e/sizing_check.py */
#ifndef MING_SIM_HLS_VALUES_H
#define MING_SIM_HLS_VALUES_H

#include "ir/attr/array.h"
#include "sim/design/design.h"

typedef struct HlsValues HlsValues;

/* Compiles all processes. NULL: diagnosed at what has no values. */
HlsValues *hls_sim_values_create(const HlsDesign *design) MUST_CHECK;
void hls_sim_values_free(HlsValues *values);

/* Arrays of the next frame, per argument of the top function (design_argument_frame); borrowed until it
 * is simulated. Those of outputs are filled by then, memories by hls_sim_values_end_frame. */
void hls_sim_values_begin_frame(HlsValues *values, Array *const *arrays);
void hls_sim_values_end_frame(HlsValues *values);

/* HlsHooks.values; user is the HlsValues. */
bool hls_sim_values_advance(void *values, uint32_t process, uint32_t loop, int64_t until) MUST_CHECK;

#endif
