/* Passes on emithls, the hardware behind the dataflow level. docs/reference describes each from its
 * PassDef. */
#ifndef MING_PASSES_DFG_PASSES_H
#define MING_PASSES_DFG_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_add_memory_ports;
extern const PassDef pass_load_weights;

#endif
