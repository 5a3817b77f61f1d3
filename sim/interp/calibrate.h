/* Ranges of a network's activations, from running it on real inputs: what onnx-quantize needs.
 * Tests: lit/tools/quantize.mir, test/e2e/quantize_check.py */
#ifndef MING_SIM_CALIBRATE_H
#define MING_SIM_CALIBRATE_H

#include "ir/attr/array.h"
#include "ir/core/op.h"

typedef struct Calibration Calibration;

/* For a function of onnx ops, which must stay as it is until calibration_finish. NULL: diagnosed. */
Calibration *calibration_create(Op *func) MUST_CHECK;
/* Runs it on one frame, widening the ranges. False: diagnosed; a value that is not finite is
 * told at the op that gives it. */
bool calibration_run(Calibration *calibration, Array *const *inputs) MUST_CHECK;
/* Writes the ranges of at least one run to the function (dialects/onnx/range.h) if `keep`; frees. */
void calibration_finish(Calibration *calibration, bool keep);

#endif
