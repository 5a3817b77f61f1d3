/* Putting the body of a function in the place of a call.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-illegal.mir */
#ifndef MING_PASSES_COMMON_INTERNAL_H
#define MING_PASSES_COMMON_INTERNAL_H

#include "ir/core/core.h"
#include "passes/common/passes.h"

/* Ops of one block, from `first` up to `end` (NULL: to the end of the block). */
typedef struct OpRange {
    Op *first, *end;
} OpRange;
typedef VEC(OpRange) OpRanges;

/* Copies or, if told so, moves the function's body before the call, whose results it replaces;
 * the call stays, without uses. A body of several blocks splits the call's block. Adds what came
 * to `inlined`, block by block. False: an op or a region may not take part, nothing changed. */
bool inline_call(Op *call, Op *func, bool moves_body, OpRanges *inlined) MUST_CHECK;

#endif
