/* Passes on onnx: inference of shapes, constant folding, decomposition and quantization.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/onnx */
#ifndef MING_PASSES_ONNX_PASSES_H
#define MING_PASSES_ONNX_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_name_tensors;
extern const PassDef pass_onnx_decompose;
extern const PassDef pass_onnx_fold_batch_norm;
extern const PassDef pass_onnx_fold_constants;
extern const PassDef pass_onnx_infer_shapes;
extern const PassDef pass_onnx_quantize;
extern const PassDef pass_onnx_set_head;

#endif
