/* From linalg to processes and channels. docs/reference describes each from its PassDef. */
#ifndef MING_LOWERING_LINALG_TO_DFG_LINALG_TO_DFG_H
#define MING_LOWERING_LINALG_TO_DFG_LINALG_TO_DFG_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_linalg_to_dfg;
extern const PassDef pass_insert_reorders;

#endif
