/* Monotonicity of nodes, for the sources of values/ only: deferred_epilogue.c asks monotonicity.c
 * about each op that it appends, so that a quantizer's function can be searched by bisection.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-thresholds.mir */
#ifndef MING_LOWERING_ONNX_TO_LINALG_VALUES_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_VALUES_INTERNAL_H

#include "lowering/onnx_to_linalg/values/values.h"

/* The monotonicity of lw->node's result in operand `index`, the others being constant. Whether it
 * rises or falls may differ from channel to channel. If it is UNIMODAL, *extremum gets the operand
 * at which the result has its extremum. */
Monotonicity monotonicity_of_node(OnnxLowering *lw, uint32_t index, double *extremum);
/* The monotonicity of x * f, where f is computed from x, in the value of x. Both are given by the
 * op that computes them (NULL: the integers' values themselves). */
Monotonicity monotonicity_of_product(OnnxLowering *lw, const EpilogueOp *x, const EpilogueOp *f,
                                     double *extremum);

#endif
