/* Between the sources of tosa-to-tensor. */
#ifndef MING_LOWERING_TOSA_TO_TENSOR_H
#define MING_LOWERING_TOSA_TO_TENSOR_H

#include "dialects/mixed_index.h"
#include "ir/convert.h"

/* tosa.reshape as collapse_shape, expand_shape and casts; a pattern. */
bool tosa_reshape_to_tensor(Rewriter *rw, Op *op, void *user);

/* What a value of the op has become, in the type the pass gives it: unsigned integers lose their
 * sign. */
Value *tosa_remap(Rewriter *rw, Value *value);
const Type *tosa_signless(const Type *tensor);

/* A tensor.dim, folded where that is possible. */
Value *tosa_dim(Builder *b, Value *tensor, Value *index);
/* The extent of a dimension: a number or a tosa_dim. */
MixedIndex tosa_mixed_dim(Builder *b, Value *tensor, uint32_t dim);

#endif
