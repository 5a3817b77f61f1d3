/* Passes that do not depend on a dialect: canonicalization, CSE, inlining, removal of dead symbols,
 * and passes about locations and statistics.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/common */
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
