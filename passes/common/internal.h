/* Inside of passes/common: inline_call, by which the pass inline replaces a call with the body of
 * the function.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-illegal.mir */
#ifndef MING_PASSES_COMMON_INTERNAL_H
#define MING_PASSES_COMMON_INTERNAL_H

#include "ir/core/core.h"
#include "passes/common/passes.h"

/* A range of ops of one block: from `first` up to but without `end` (NULL: to the end of the
 * block). */
typedef struct OpRange {
    Op *first, *end;
} OpRange;
typedef VEC(OpRange) OpRanges;

/* Copies the function's body in front of the call, or moves it if moves_body is set, and replaces
 * the call's results; the call stays, without uses. A body of several blocks splits the call's
 * block. The ops that came are added to `inlined`, block by block. False: an op or a region may not
 * take part in inlining; nothing changed. */
bool inline_call(Op *call, Op *func, bool moves_body, OpRanges *inlined) MUST_CHECK;

#endif
