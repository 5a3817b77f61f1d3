/* The pattern sets of linalg-fold-unit-extent-dims.
 * Tests: lit/passes/linalg-fold-unit-extent-dims.mir */
#ifndef MING_PASSES_FOLD_UNIT_DIMS_H
#define MING_PASSES_FOLD_UNIT_DIMS_H

#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

/* How a tensor loses and regains dimensions of extent 1. */
typedef enum RankReduction { REDUCE_BY_RESHAPES, REDUCE_BY_SLICES } RankReduction;

/* fold_unit_dims.c: loops of one iteration go, with the dimensions that only they index. */
void fold_unit_add_loops(PatternSet *set, RankReduction reduction);
/* fold_unit_dims_tensor.c: the same for pads, and for slices when reducing by reshapes. */
void fold_unit_add_pads(PatternSet *set, RankReduction reduction);
void fold_unit_add_slices(PatternSet *set);

/* fold_unit_dims_tensor.c: dims[i] says which dimensions stay; the others have extent 1. */
Value *fold_unit_drop_dims(Builder *b, Value *tensor, const bool *kept, RankReduction reduction);
/* The inverses: by a reshape to `rank` dimensions, by a slice inserted into all of `dest`. */
Value *fold_unit_insert_dims(Builder *b, Value *tensor, const bool *kept, uint32_t rank);
Value *fold_unit_insert_into(Builder *b, Value *tensor, Value *dest);

#endif
