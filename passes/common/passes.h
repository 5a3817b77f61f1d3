/* Passes on any level. docs/reference describes each from its PassDef. */
#ifndef MING_PASSES_COMMON_PASSES_H
#define MING_PASSES_COMMON_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_canonicalize;
extern const PassDef pass_cse;
extern const PassDef pass_inline;
extern const PassDef pass_print_op_stats;
extern const PassDef pass_strip_debuginfo;
extern const PassDef pass_symbol_dce;

#endif
