/* convert-dfg-to-emithls: from processes and channels to functions, loops and streams. The pass
 * replaces every dfg.process by a function built after its schedule (schedule/), and the region by
 * the top function. The driver and the tools run it; docs/reference describes it from its PassDef.
 * Tests: lit/lowering/dfg_to_emithls, test/e2e */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_DFG_TO_EMITHLS_H
#define MING_LOWERING_DFG_TO_EMITHLS_DFG_TO_EMITHLS_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_dfg_to_emithls;

#endif
