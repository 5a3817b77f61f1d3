/* Values of onnx operators: each computed from its inputs as the ONNX and QONNX specifications
 * define it. The constant folder and the interpreter share it, so a value known at compile time is
 * the value of every run.
 *
 * Sums of products are accumulated in double, which is exact while they stay below 2^53 units of
 * the operands' common grid; every result is then rounded once to its element type.
 * Tests: test/e2e/onnx_cases.py (the ONNX project's own operator tests) */
#ifndef MING_DIALECTS_ONNX_EVAL_H
#define MING_DIALECTS_ONNX_EVAL_H

#include "dialects/onnx/onnx.h"
#include "ir/attr/array.h"

/* Whether the operator has an evaluator. */
bool onnx_can_eval(const Op *op);
/* Computes the results of op from one array per operand (NULL: an optional operand that is not
 * there). results has room for op->result_count arrays, each of which the caller then holds. The
 * types of op need not be static: those of the arrays count. False: why says what is wrong and no
 * array is given. */
bool onnx_eval(const Op *op, Array *const *inputs, Array **results, StrBuf *why) MUST_CHECK;

/* What a Resize or Upsample with static types does along one dimension: element o of the result is
 * the sum of weights[o * in + i] times element i, where `in` is the operand's extent. inputs are as
 * for onnx_eval, the first is not looked at. False: why tells what is not supported. */
bool onnx_resize_weights(const Op *op, Array *const *inputs, uint32_t dim, double *weights,
                         StrBuf *why) MUST_CHECK;

#endif
