/* Passes on emithls, the hardware level that dfg is lowered to: ports to memories or DMAs, and weights
 * that are loaded at start-up.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/dfg, test/e2e */
#ifndef MING_PASSES_DFG_PASSES_H
#define MING_PASSES_DFG_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_add_dma_ports;
extern const PassDef pass_add_memory_ports;
extern const PassDef pass_load_weights;

#endif
