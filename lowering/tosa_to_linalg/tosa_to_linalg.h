/* From tosa to linalg, tensor and arith. docs/reference describes each from its PassDef. */
#ifndef MING_LOWERING_TOSA_TO_LINALG_TOSA_TO_LINALG_H
#define MING_LOWERING_TOSA_TO_LINALG_TOSA_TO_LINALG_H

#include "ir/pass/pass.h"

extern const PassDef pass_tosa_to_arith;
extern const PassDef pass_tosa_to_linalg;
extern const PassDef pass_tosa_to_linalg_named;
extern const PassDef pass_tosa_to_tensor;

#endif
