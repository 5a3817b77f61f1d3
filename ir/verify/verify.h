/* Structure, dominance, declared constraints, traits, hooks; reports every failure.
 * Tests: lit/ir/verify/verify.mir, lit/dialects/<d>/invalid.mir */
#ifndef MING_IR_VERIFY_VERIFY_H
#define MING_IR_VERIFY_VERIFY_H

#include "ir/asm/print/print.h"
#include "ir/core/core.h"

bool verify_op(Op *op) MUST_CHECK;

/* The options, with the generic form if the op does not verify: hooks and formats rely on valid
 * ops. Says nothing about what is wrong. */
PrintOptions verify_print_options(Op *op, const PrintOptions *options);

#endif
