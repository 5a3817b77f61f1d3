/* Passes on tosa, with upstream's names and results.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/tosa */
#ifndef MING_PASSES_TOSA_PASSES_H
#define MING_PASSES_TOSA_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_tosa_infer_shapes;
extern const PassDef pass_tosa_make_broadcastable;
extern const PassDef pass_tosa_optional_decompositions;

#endif
