/* From onnx to linalg on tensors. docs/reference describes each from its PassDef. */
#ifndef MING_LOWERING_ONNX_TO_LINALG_ONNX_TO_LINALG_H
#define MING_LOWERING_ONNX_TO_LINALG_ONNX_TO_LINALG_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_onnx_to_linalg;

#endif
