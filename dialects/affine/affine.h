/* The affine dialect as far as it is needed: affine.apply, with which patterns write index
 * arithmetic. The linalg passes and the canonicalizations of tensor and linalg leave it behind.
 * AFFINE(ID) is the row of an op, which serves as its identity: op->def == AFFINE(APPLY).
 * Tests: lit/dialects/affine */
#ifndef MING_DIALECTS_AFFINE_AFFINE_H
#define MING_DIALECTS_AFFINE_AFFINE_H

#include "dialects/arith/arith.h"
#include "ir/core/core.h"

#define OP(ID, ...) AFFINE_OP_##ID,
enum {
#include "dialects/affine/affine_ops.def"
    AFFINE_OP_COUNT
};
#undef OP

extern const OpDef affine_ops[];
extern const DialectDef affine_dialect;
#define AFFINE(ID) (&affine_ops[AFFINE_OP_##ID])

/* An affine.apply of a map with one result; operands are the map's dims, then its symbols. */
Value *affine_apply(Builder *b, const AffineMap *map, Value *const *operands, uint32_t count);
/* The same after composition with the affine.apply ops and constants that compute the operands. The
 * result is an operand or a constant if the expression reduces to one; then nothing is built. */
MixedIndex affine_apply_folded(Builder *b, const AffineMap *map, const MixedIndex *operands);

/* Hook of the row of affine.apply (affine_canon.c). */
void affine_canonicalize_apply(PatternSet *set);

#endif
