/* The verifier: checks the structure of IR, dominance, the constraints and traits that op rows
 * declare, and runs the rows' verify hooks. Messages and their order are upstream's.
 *
 * Other modules may rely on what it has checked: passes require verified IR, and hooks (fold,
 * print, canonicalize) assume it. It builds on the core and on diagnostics; parser, passes and
 * tools call it.
 * Tests: lit/ir/verify, lit/dialects/<d>/invalid.mir */
#ifndef MING_IR_VERIFY_VERIFY_H
#define MING_IR_VERIFY_VERIFY_H

#include "ir/asm/print/print.h"
#include "ir/core/core.h"

/* Checks the op and everything in it. False: diagnosed. A failure ends the check of its isolated
 * tree; the other isolated trees are still checked, and their failures reported. */
bool verify_op(Op *op) MUST_CHECK;

/* Checks the ops that refer to a symbol. False: diagnosed. It looks through the symbol's table, so it is for
 * a symbol that a pass has given another type. */
bool verify_symbol_uses(Op *symbol) MUST_CHECK;

/* Checks an array of dictionaries, one per argument of the op, by the hooks of the dialects that
 * their attributes belong to. */
bool verify_arg_dicts(Op *op, const Attr *dicts) MUST_CHECK;

/* The options, changed to the generic form if the op does not verify, because hooks and formats
 * rely on valid ops. Reports nothing. */
PrintOptions verify_print_options(Op *op, const PrintOptions *options);

#endif
