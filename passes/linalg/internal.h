/* The pattern sets of linalg-fold-unit-extent-dims.
 * Tests: lit/passes/linalg/linalg-fold-unit-extent-dims.mir */
#ifndef MING_PASSES_LINALG_INTERNAL_H
#define MING_PASSES_LINALG_INTERNAL_H

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/passes.h"

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

/* The pattern sets of linalg-fuse-elementwise-ops, one function per source file.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir */

/* fuse_elementwise.c: a generic takes over the generic that makes one of its inputs. */
void fuse_add_elementwise(PatternSet *set);
/* fuse_constants.c: constants and fills become scalars of the body; inits nobody reads become
 * empty tensors. */
void fuse_add_constants(PatternSet *set);
/* fuse_constants.c: transposes of constants are constants. */
void fuse_add_transpose_constants(PatternSet *set);
/* fuse_operands.c: operands and results that are unused or given twice go. */
void fuse_add_drop_operands(PatternSet *set);
/* fuse_reshape.c: structured ops run on the larger shape of a reshape beside them. */
void fuse_add_reshapes(PatternSet *set);

/* What a linalg.generic is rebuilt from: operands with their maps, and copies of bodies. The
 * patterns that fuse, shrink and tidy generics share it.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir,
 * lit/passes/linalg/linalg-fold-unit-extent-dims.mir */

typedef VEC(const AffineMap *) MapList;
typedef VEC(const Type *) TypeVec;

/* Inputs are added before inits; maps has one entry for each of both, in that order. */
typedef struct GenericParts {
    ValueList inputs, inits;
    MapList maps;
} GenericParts;

void parts_add_input(GenericParts *parts, Value *value, const AffineMap *map);
void parts_add_init(GenericParts *parts, Value *value, const AffineMap *map);
void parts_free(GenericParts *parts);
/* Every loop's trip count can be told from some operand's shape. */
bool parts_maps_cover_loops(Context *ctx, const MapList *maps);
/* The same of an op's operands less those marked, one mark per operand. */
bool parts_operands_cover_loops(const Op *op, const bool *dropped);
/* A generic at the builder's point; its entry block has the arguments and nothing else. */
Op *parts_build(Builder *b, const GenericParts *parts, const Attr *iterators);

/* Appends copies of the block's ops before `end` (NULL: all) to `to`; `values` maps what they
 * read and receives what they define. */
void parts_body_copy(Rewriter *rw, Block *to, const Block *from, const Op *end, PtrMap *values);
/* The value that stands for `value` in a copy, itself if it comes from outside. */
Value *parts_body_mapped(const PtrMap *values, Value *value);
/* A yield of `values` at the end of the block. */
void parts_body_yield(Rewriter *rw, Block *block, const ValueList *values, const Attr *loc);
bool parts_body_has_index(const Op *op); /* reads linalg.index */

/* Tensor of the value's shape and another element type; built at the builder's point. */
Value *parts_empty_like(Builder *b, Value *tensor);
/* The only use of all results of an op. */
bool parts_op_has_one_use(const Op *op);

/* Smaller constants for scales in fixed point. */

/* In the body of a generic whose ranges are known: (x * m + r) >> s, clamped to constants or not,
 * becomes the form with the smallest shift, and so the smallest m, that gives the same for all x
 * that occur. True if a constant changed, and with it ranges. */
bool narrow_scales(IntRanges *ranges, const Op *generic);

/* Between normalize_layout.c (choice), normalize_layout_reshape.c and normalize_layout_move.c
 * (choice across reshapes, and across slices, insertions and concatenations),
 * normalize_layout_sink.c (reshapes in the way) and normalize_layout_apply.c (rewriting). */

enum { LAYOUT_MAX_RANK = 16 };

/* Order in which a tensor's dimensions stream: new dimension k is old dimension perm[k]. */
typedef struct Layout {
    uint32_t rank;
    uint32_t perm[LAYOUT_MAX_RANK];
} Layout;

bool layout_is_identity(const Layout *layout);
/* Layout of a reshape's result as its source streams, and of the source for a result. False: the
 * order of the elements would change, or the op is no reshape that reshape_read can read. */
bool layout_of_reshaped(const Op *op, const Layout *source, Layout *out) MUST_CHECK;
bool layout_before_reshape(const Op *op, const Layout *result, Layout *out) MUST_CHECK;
/* Whether the op is a slice, insertion or concatenation of constant parameters. */
bool layout_is_move(const Op *op);
/* Layout of its result as an operand streams, and of an operand for a result. Of an extract_slice
 * the only operand is the source; the dimensions of an insert_slice's source may be fewer. False:
 * the op's parameters are not constant. */
bool layout_of_moved(const Op *op, uint32_t operand, const Layout *layout, Layout *out) MUST_CHECK;
bool layout_before_move(const Op *op, uint32_t operand, const Layout *result, Layout *out)
    MUST_CHECK;
/* Its parameters in the layout of the larger tensor. */
void layout_permute_move(Op *op, const Layout *layout);
/* An attribute with a number per dimension, in the layout's order. */
void layout_permute_list(Op *op, const char *name, const Layout *layout);
/* Lets readers of a collapse_shape read its source instead, as far as they can; erases it if all
 * can. True if any could: types have changed. */
bool layout_sink_collapse(Op *collapse);
/* Rewrites the function so that every tensor is stored in its layout's order; `layouts` maps Value*
 * to const Layout*, absent: identity. */
void layout_apply(Op *func, const PtrMap *layouts);

#endif
