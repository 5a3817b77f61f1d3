/* Scalar ops that C++ and hls_math.h have no form for, in terms of ops that they have one for. */
#ifndef MING_LOWERING_EXPAND_SCALAR_H
#define MING_LOWERING_EXPAND_SCALAR_H

#include "ir/core/builder.h"

enum { EXPAND_MAX_RESULTS = 2 };

/* Builds what `op` of arith or math does to the values `x`, one per operand; `out` takes one value
 * per result, EXPAND_MAX_RESULTS at most. False: the op is printed as it is, and nothing is built. */
bool to_emithls_expand_scalar(Builder *b, const Op *op, Value *const *x, Value **out) MUST_CHECK;

#endif
