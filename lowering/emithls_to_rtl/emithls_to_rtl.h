/* convert-emithls-to-rtl: from functions of loops over streams to modules of registers and logic.
 * Each process becomes a hw.module with a controller and a pipeline, in which every op happens in the
 * cycle that sim/design's schedule reckons with; the top function becomes one that wires them through
 * FIFOs. docs/rtl.md states the conventions. The tools run it; docs/reference describes it from its
 * PassDef.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#ifndef MING_LOWERING_EMITHLS_TO_RTL_EMITHLS_TO_RTL_H
#define MING_LOWERING_EMITHLS_TO_RTL_EMITHLS_TO_RTL_H

#include "ir/pass/pass.h"

extern const PassDef pass_convert_emithls_to_rtl;

#endif
