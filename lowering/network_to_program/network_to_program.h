/* Networks of the sa dialect to programs of an overlay.
 * Tests: lit/lowering/network_to_program, test/e2e/engine_check.py */
#ifndef MING_LOWERING_NETWORK_TO_PROGRAM_NETWORK_TO_PROGRAM_H
#define MING_LOWERING_NETWORK_TO_PROGRAM_NETWORK_TO_PROGRAM_H

#include "ir/pass/pass.h"

extern const PassDef pass_lower_sa_network;
extern const PassDef pass_merge_sa_pools;
extern const PassDef pass_choose_sa_tiles;

#endif
