/* Passes on onnx. docs/reference describes each from its PassDef. */
#ifndef MING_PASSES_ONNX_PASSES_H
#define MING_PASSES_ONNX_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_onnx_decompose;
extern const PassDef pass_onnx_fold_constants;
extern const PassDef pass_onnx_infer_shapes;
extern const PassDef pass_onnx_quantize;

#endif
