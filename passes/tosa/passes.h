/* Passes on tosa. docs/reference describes each from its PassDef. */
#ifndef MING_PASSES_TOSA_PASSES_H
#define MING_PASSES_TOSA_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_tosa_infer_shapes;
extern const PassDef pass_tosa_make_broadcastable;
extern const PassDef pass_tosa_optional_decompositions;

#endif
