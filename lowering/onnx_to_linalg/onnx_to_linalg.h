/* convert-onnx-to-linalg: from a network of onnx ops to linalg on tensors, on exact integers where
 * the network is quantized. docs/integer-folding.md tells the rules. The driver and the tools run
 * it; docs/reference describes it from its PassDef.
 *
 *   onnx_to_linalg/            one function per kind of node
 *   onnx_to_linalg/requant/    quantizers: exact integer arithmetic for what precedes them
 *   onnx_to_linalg/values/     what each tensor of the network has become
 *
 * Tests: lit/lowering/onnx_to_linalg, test/e2e/import_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_ONNX_TO_LINALG_H
#define MING_LOWERING_ONNX_TO_LINALG_ONNX_TO_LINALG_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_onnx_to_linalg;

#endif
