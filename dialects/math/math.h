/* The math dialect: elementary functions on scalars, vectors and tensors. MATH(ID) is the row of an
 * op, which serves as its identity: op->def == MATH(EXP).
 * Tests: lit/dialects/math */
#ifndef MING_DIALECTS_MATH_MATH_H
#define MING_DIALECTS_MATH_MATH_H

#include "ir/core/core.h"

#define OP(ID, ...) MATH_##ID,
enum {
#include "dialects/math/math_ops.def"
    MATH_OP_COUNT
};
#undef OP

extern const OpDef math_ops[];
extern const DialectDef math_dialect;
#define MATH(ID) (&math_ops[MATH_##ID])

#endif
