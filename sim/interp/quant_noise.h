/* What quantization changes: the activations of a quantized network against those of the float
 * network that it was made from.
 * Tests: lit/tools/quantize.mir, test/e2e/quantize_check.py */
#ifndef MING_SIM_QUANT_NOISE_H
#define MING_SIM_QUANT_NOISE_H

#include "ir/attr/array.h"
#include "ir/core/op.h"

typedef struct QuantNoise QuantNoise;

/* Of two functions that must stay as they are; copies maps values of the quantized one to those of
 * the float one that they come from. NULL: diagnosed. */
QuantNoise *quant_noise_create(const Op *quantized, const Op *reference, const PtrMap *copies)
    MUST_CHECK;
void quant_noise_free(QuantNoise *noise);
/* Runs both on one frame. False: diagnosed. */
bool quant_noise_run(QuantNoise *noise, Array *const *inputs) MUST_CHECK;
/* A table over all frames: a line per activation that is quantized, named by the node that gives
 * it, with its largest error and the ratio of signal to quantization noise in decibels. */
void quant_noise_print(const QuantNoise *noise, StrBuf *out);

#endif
