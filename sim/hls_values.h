/* The words that flow through a design. The timing engine says which iterations have read their
 * words (HlsHooks.values); their bodies run then, and what they write waits in the stream until its
 * reader comes to it. Values do not depend on timing, since reads block.
 * Tests: lit/sim/hls-values.mir, test/e2e/sim_check.py */
#ifndef MING_SIM_HLS_VALUES_H
#define MING_SIM_HLS_VALUES_H

#include "ir/array.h"
#include "sim/hls_model.h"

typedef struct HlsValues HlsValues;

/* Compiles all processes. NULL: diagnosed at what has no values. */
HlsValues *hls_values_create(const HlsDesign *design) MUST_CHECK;
void hls_values_free(HlsValues *values);

/* The tensor of a frame at a port (emithls.frame). NULL: the port does not describe one. */
const Type *hls_port_frame(const HlsDesign *design, uint32_t port);
/* Arrays of the next frame, per port; borrowed until it is simulated. Those of outputs are filled
 * by it. */
void hls_values_set_frame(HlsValues *values, Array *const *arrays);

/* HlsHooks.values; user is the HlsValues. */
bool hls_values_advance(void *values, uint32_t process, uint32_t loop, int64_t until) MUST_CHECK;

#endif
