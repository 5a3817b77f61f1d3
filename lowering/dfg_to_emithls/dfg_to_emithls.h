/* From processes and channels to functions, loops and streams. docs/reference describes each from
 * its PassDef. */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_DFG_TO_EMITHLS_H
#define MING_LOWERING_DFG_TO_EMITHLS_DFG_TO_EMITHLS_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_dfg_to_emithls;

#endif
