/* From tosa to linalg, tensor and arith, as upstream's passes of the same names do it: printed IR
 * is equal to theirs, constants that nothing uses included. The driver registers the passes;
 * docs/reference describes each from its PassDef.
 * Tests: lit/lowering/tosa_to_linalg, test/mlir-compat */
#ifndef MING_LOWERING_TOSA_TO_LINALG_TOSA_TO_LINALG_H
#define MING_LOWERING_TOSA_TO_LINALG_TOSA_TO_LINALG_H

#include "ir/pass/pass.h"

extern const PassDef pass_tosa_to_arith;
extern const PassDef pass_tosa_to_linalg;
extern const PassDef pass_tosa_to_linalg_named;
extern const PassDef pass_tosa_to_tensor;

#endif
