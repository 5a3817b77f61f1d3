/* Inside of passes/linalg: rebuilding of linalg.generic, which several passes share, and the parts
 * of passes that have more than one file (linalg-fold-unit-extent-dims,
 * linalg-fuse-elementwise-ops, narrow-integers, normalize-layout). */
#ifndef MING_PASSES_LINALG_INTERNAL_H
#define MING_PASSES_LINALG_INTERNAL_H

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/passes.h"

/* Rebuilding of linalg.generic from operands with their maps and copies of bodies
 * (generic_parts.c), for the patterns that fuse, shrink and tidy generics.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir,
 * lit/passes/linalg/linalg-fold-unit-extent-dims.mir */

typedef VEC(const AffineMap *) MapList;
typedef VEC(const Type *) TypeVec;

/* The parts of a generic. Inputs must be added before inits; maps has one entry for each of both,
 * in that order. The user frees them with parts_free. */
typedef struct GenericParts {
    ValueList inputs, inits;
    MapList maps;
} GenericParts;

void parts_add_input(GenericParts *parts, Value *value, const AffineMap *map);
void parts_add_init(GenericParts *parts, Value *value, const AffineMap *map);
void parts_free(GenericParts *parts);
/* Whether every loop's trip count can be told from the shape of some operand. */
bool parts_maps_cover_loops(Context *ctx, const MapList *maps);
/* The same for an op's operands without those that are marked, one mark per operand. */
bool parts_operands_cover_loops(const Op *op, const bool *dropped);
/* Builds a generic at the builder's point; its entry block has its arguments and nothing else. */
Op *parts_build(Builder *b, const GenericParts *parts, const Attr *iterators);

/* Appends copies of the block's ops before `end` (NULL: all) to `to`. `values` maps the values that
 * they read and receives those that they define. */
void parts_body_copy(Rewriter *rw, Block *to, const Block *from, const Op *end, PtrMap *values);
/* The value that `value` is mapped to, or itself if it comes from outside. */
Value *parts_body_mapped(const PtrMap *values, Value *value);
/* Appends a yield of `values`. */
void parts_body_yield(Rewriter *rw, Block *block, const ValueList *values, const Attr *loc);
bool parts_body_has_index(const Op *op); /* whether it reads linalg.index */

/* A tensor.empty of the tensor's shape and element type, built at the builder's point. */
Value *parts_empty_like(Builder *b, Value *tensor);
/* Whether the results of an op have one use in all. */
bool parts_op_has_one_use(const Op *op);

/* Parts of linalg-fold-unit-extent-dims (fold_unit_dims.c, fold_unit_dims_tensor.c).
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims.mir */

/* The ops by which a tensor loses and regains dimensions of extent 1. */
typedef enum RankReduction { REDUCE_BY_RESHAPES, REDUCE_BY_SLICES } RankReduction;

/* Adds patterns that drop loops of one iteration, with the dimensions that only they index. */
void fold_unit_add_loops(PatternSet *set, RankReduction reduction);
/* Adds patterns that do the same for pads, and for slices when reducing by reshapes. */
void fold_unit_add_pads(PatternSet *set, RankReduction reduction);
void fold_unit_add_slices(PatternSet *set);

/* Drops the dimensions that are not kept, all of extent 1. */
Value *fold_unit_drop_dims(Builder *b, Value *tensor, const bool *kept, RankReduction reduction);
/* The inverses: a reshape to `rank` dimensions, and a slice that is inserted into all of `dest`. */
Value *fold_unit_insert_dims(Builder *b, Value *tensor, const bool *kept, uint32_t rank);
Value *fold_unit_insert_into(Builder *b, Value *tensor, Value *dest);

/* Parts of linalg-fuse-elementwise-ops. Each function adds the patterns of one source file.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir */

/* A generic takes over the generic that makes one of its inputs (fuse_elementwise.c). */
void fuse_add_elementwise(PatternSet *set);
/* Constants and fills become scalars of the body, and inits that nobody reads become empty tensors
 * (fuse_constants.c). */
void fuse_add_constants(PatternSet *set);
/* Constants of equal numbers become scalars of the bodies of element-wise ops
 * (fuse_constants.c). */
void fuse_add_elementwise_constants(PatternSet *set);
/* Transposes of constants become constants (fuse_constants.c). */
void fuse_add_transpose_constants(PatternSet *set);
/* Element-wise ops on constants, and pads of them, become constants (fold_constant_kernels.c). */
void fuse_add_constant_kernels(PatternSet *set);
/* What is extracted at affine indices of the loops becomes an operand (read_at_indices.c). */
void fuse_add_indices(PatternSet *set);
/* Operands and results that are unused or given twice are dropped (fuse_operands.c). */
void fuse_add_drop_operands(PatternSet *set);
/* Structured ops run on the larger shape of a reshape beside them (fuse_reshape.c). */
void fuse_add_reshapes(PatternSet *set);

/* Part of narrow-integers: smaller constants for scales in fixed point (narrow_scale.c). */

/* In the body of a generic whose ranges are known, (x * m + r) >> s, clamped to constants or not,
 * becomes the form with the smallest shift, and so the smallest m, that gives the same result for
 * all x in x's range. Returns true if a constant changed; then ranges have changed too. */
bool narrow_scales(IntRanges *ranges, const Op *generic);

/* Part of narrow-integers: a requantizer of what a port carries that states bounds which leave some of it
 * out loses what lets it have other forms, with a warning (requantizer_bounds.c). */
void narrow_check_bounds(Op *kernel);

#endif
