/* The affine dialect's apply, in which patterns write index arithmetic: the linalg passes and the
 * canonicalizations of tensor leave it behind. */
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

/* map has one result; operands: its dims, then its symbols. */
Value *affine_apply(Builder *b, const AffineMap *map, Value *const *operands, uint32_t count);
/* The same, after taking in constants and what other affine.apply ops compute; an operand or a
 * constant where that is all there is to it. */
MixedIndex affine_apply_folded(Builder *b, const AffineMap *map, const MixedIndex *operands);

/* affine_canon.c */
void affine_canonicalize_apply(PatternSet *set);

#endif
