/* Ranges of activations: what calibration found and quantization after training goes by.
 *   onnx.range = [low, high] of an op with one result, [low0, high0, low1, high1, …] of several;
 *   of an argument it stands among the argument's attributes.
 * Tests: lit/passes/onnx-quantize.mir, lit/passes/onnx-quantize-invalid.mir */
#ifndef MING_DIALECTS_ONNX_RANGE_H
#define MING_DIALECTS_ONNX_RANGE_H

#include "ir/core/op.h"

typedef struct ValueRange {
    double low, high;
} ValueRange;

/* One range per result of op, or per argument of a function. */
void onnx_set_result_ranges(Op *op, const ValueRange *ranges);
void onnx_set_arg_ranges(Op *func, const ValueRange *ranges);
/* Removes them from a function, its arguments and its ops. */
void onnx_clear_ranges(Op *func);

/* Range of a result, or of an argument of func. False: it has none, or one that is not two finite
 * numbers in order. */
bool onnx_range(const Op *func, const Value *value, ValueRange *out) MUST_CHECK;

#endif
