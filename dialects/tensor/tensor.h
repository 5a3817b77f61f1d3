/* The tensor dialect: making, slicing, padding and reshaping of tensors.
 *
 * Builders insert at the Builder's point and return the new op or its result; readers expect
 * verified ops. linalg and the passes and lowerings on it build on this module. TENSOR(ID) is the
 * row of an op, which serves as its identity: op->def == TENSOR(CAST).
 * Tests: lit/dialects/tensor */
#ifndef MING_DIALECTS_TENSOR_TENSOR_H
#define MING_DIALECTS_TENSOR_TENSOR_H

#include "dialects/arith/arith.h"
#include "ir/core/core.h"

#define OP(ID, ...) TENSOR_##ID,
enum {
#include "dialects/tensor/tensor_ops.def"
    TENSOR_OP_COUNT
};
#undef OP

extern const OpDef tensor_ops[];
extern const DialectDef tensor_dialect;
#define TENSOR(ID) (&tensor_ops[TENSOR_##ID])

/* Slices: offsets, sizes and strides of a slicing op. */
typedef struct SliceParams {
    MixedIndices offsets, sizes, strides;
} SliceParams;
/* Reads those of an extract_slice, insert_slice or parallel_insert_slice. The caller frees them
 * with tensor_slice_free. */
void tensor_slice_read(const Op *op, SliceParams *out);
void tensor_slice_free(SliceParams *slice);
bool tensor_has_unit_strides(const SliceParams *slice);

/* Marks the unit sizes that a rank-reduced type lacks; among several candidates the outermost
 * ones. */
void tensor_dropped_dims(const SliceParams *slice, const Type *reduced, bool *dropped);
/* An extract_slice with that result type, and an insert_slice, whose result has the type of
 * dest. */
Op *tensor_build_extract_slice(Builder *b, Value *source, const Type *type,
                               const SliceParams *slice);
Op *tensor_build_insert_slice(Builder *b, Value *source, Value *dest, const SliceParams *slice);

/* Extents. Extent `dim` of a tensor or memref: a constant if it is static, else a tensor.dim. */
MixedIndex tensor_mixed_dim(Builder *b, Value *tensor, uint32_t dim);
/* Extent `dim` of the op's result, computed from its operands. False: the op does not tell. */
bool tensor_reify_dim(Builder *b, Op *op, uint32_t dim, MixedIndex *out);
/* A tensor.dim of a constant dimension. */
Value *tensor_dim(Builder *b, Value *tensor, uint32_t dim);
/* A tensor.empty of these extents. */
Value *tensor_empty(Builder *b, const MixedIndex *sizes, size_t rank, const Type *elem);
/* Reshapes; the reassociation is an array attribute of arrays of i64. */
Value *tensor_collapse_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* At most one extent of each group of `type` may be dynamic: the source's extent divided by the
 * static ones. */
Value *tensor_expand_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* The type in which each group, of sizes[i] dimensions, has become one dimension. */
const Type *tensor_collapsed_type(const Type *type, const uint32_t *sizes, size_t count);
/* The reassociation of groups of these sizes: [[0, 1], [2]] for {2, 1}. */
const Attr *tensor_groups_attr(Context *ctx, const uint32_t *sizes, size_t count);
/* The source if its type is `type` already, else a tensor.cast. */
Value *tensor_cast(Builder *b, Value *source, const Type *type);
/* Pads: the borders of a tensor.pad. */
typedef struct PadBorders {
    MixedIndices low, high;
} PadBorders;
/* The caller frees the borders with tensor_pad_free. */
void tensor_pad_read(const Op *pad, PadBorders *out);
/* With values that are constants replaced by their numbers. */
void tensor_pad_read_folded(const Op *pad, PadBorders *out);
void tensor_pad_free(PadBorders *borders);
/* An extent with its borders, DIM_DYNAMIC where a number is not known. False: there is none. */
bool tensor_padded_extent(int64_t extent, MixedIndex low, MixedIndex high, int64_t *out) MUST_CHECK;
/* The source's type with its extents padded; those of `known` where they are dynamic. */
const Type *tensor_pad_type(const Type *source, const PadBorders *borders, const Type *known);
/* The padding value if the body yields one value from outside; else NULL. */
Value *tensor_padding(const Op *pad);
/* A pad with an empty region, and the body for it that yields one value everywhere. */
Op *tensor_build_pad(Builder *b, Value *source, const Type *type, const PadBorders *borders,
                     bool nofold);
void tensor_fill_pad(Op *pad, Value *padding);
/* A pad of static widths (rank entries each) around a tensor, filled with the scalar. */
Value *tensor_pad(Builder *b, Value *source, const int64_t *low, const int64_t *high,
                  Value *padding);

/* Adds patterns by which reshapes, slices and packings of tensor.empty become tensor.empty
 * themselves. */
void tensor_add_fold_empty(PatternSet *set);
/* Casts. Whether two shapes are compatible: same rank and extents that are equal or unknown, or one
 * of them unranked. Element types are not compared. */
bool tensor_shapes_compatible(const Type *a, const Type *b);
/* Whether the cast's result is at least as static as its source, so that the producer can produce
 * it directly. */
bool tensor_cast_adds_static(const Op *cast);
/* The source of a cast that only loses static extents; NULL if the value is not defined by one. */
Value *tensor_fold_source_cast(Value *value);

#endif
