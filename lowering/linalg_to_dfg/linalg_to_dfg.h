/* From linalg on tensors to processes and channels, in two passes: insert-reorders makes every
 * operand arrive in the order of its kernel's loops, convert-linalg-to-dfg then turns kernels into
 * processes. The driver and the tools run them; docs/reference describes each from its PassDef.
 * Tests: lit/lowering/linalg_to_dfg, test/e2e/streaming_check.py */
#ifndef MING_LOWERING_LINALG_TO_DFG_LINALG_TO_DFG_H
#define MING_LOWERING_LINALG_TO_DFG_LINALG_TO_DFG_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_linalg_to_dfg;
extern const PassDef pass_insert_reorders;

#endif
