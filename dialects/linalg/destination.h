/* Ops in destination style write into some of their operands: each result has the type of one. */
#ifndef MING_DIALECTS_DESTINATION_H
#define MING_DIALECTS_DESTINATION_H

#include "ir/core/op.h"

/* The operand that the op of this result writes into; NULL for arguments and other ops. */
Value *destination_of(const Value *result);

#endif
