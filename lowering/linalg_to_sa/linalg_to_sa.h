/* Kernels of linalg to layers of the sa dialect, for an overlay.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#ifndef MING_LOWERING_LINALG_TO_SA_LINALG_TO_SA_H
#define MING_LOWERING_LINALG_TO_SA_LINALG_TO_SA_H

#include "ir/pass/pass.h"

extern const PassDef pass_split_batch;
extern const PassDef pass_convert_linalg_to_sa;

#endif
