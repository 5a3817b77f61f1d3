/* The tensor dialect: making, slicing and reshaping tensors. */
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

/* Offsets, sizes and strides of a slicing op. */
typedef struct SliceParams {
    MixedIndices offsets, sizes, strides;
} SliceParams;
/* Of extract_slice, insert_slice and parallel_insert_slice; free with tensor_slice_free. */
void tensor_slice_read(const Op *op, SliceParams *out);
void tensor_slice_free(SliceParams *slice);
bool tensor_has_unit_strides(const SliceParams *slice);

/* Which unit sizes a rank-reduced type lacks: of several that could go the outermost. */
void tensor_dropped_dims(const SliceParams *slice, const Type *reduced, bool *dropped);
/* An extract_slice with that result type. */
Op *tensor_build_extract_slice(Builder *b, Value *source, const Type *type,
                               const SliceParams *slice);
Op *tensor_build_insert_slice(Builder *b, Value *source, Value *dest, const SliceParams *slice);

/* Extent `dim` of a tensor or memref: a constant where static, else a tensor.dim. */
MixedIndex tensor_mixed_dim(Builder *b, Value *tensor, uint32_t dim);
/* Extent `dim` of the op's result, from its operands; false where the op does not tell. */
bool tensor_reify_dim(Builder *b, Op *op, uint32_t dim, MixedIndex *out);
/* Patterns that make reshapes, slices and packings of tensor.empty empty tensors themselves. */
void tensor_add_fold_empty(PatternSet *set);
Value *tensor_dim(Builder *b, Value *tensor, uint32_t dim);
/* A tensor.empty of these extents. */
Value *tensor_empty(Builder *b, const MixedIndex *sizes, size_t rank, const Type *elem);
/* Reshapes; the reassociation is an array attribute of arrays of i64. */
Value *tensor_collapse_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* At most one extent of each group of `type` may be dynamic: what the static ones leave of the
 * source's. */
Value *tensor_expand_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* `type` with each group, of sizes[i] dimensions, made one. */
const Type *tensor_collapsed_type(const Type *type, const uint32_t *sizes, size_t count);
/* The reassociation of groups of these sizes: [[0, 1], [2]] for {2, 1}. */
const Attr *tensor_groups_attr(Context *ctx, const uint32_t *sizes, size_t count);
/* The source when the type fits already, else a tensor.cast. */
Value *tensor_cast(Builder *b, Value *source, const Type *type);
/* The borders of a pad; free with tensor_pad_free. */
typedef struct PadBorders {
    MixedIndices low, high;
} PadBorders;
void tensor_pad_read(const Op *pad, PadBorders *out);
void tensor_pad_read_folded(const Op *pad, PadBorders *out); /* values that are constants as such */
void tensor_pad_free(PadBorders *borders);
/* The value that pads, if it is one from outside the body; else NULL. */
Value *tensor_padding(const Op *pad);
/* A pad with an empty region, and the body that yields one value everywhere. */
Op *tensor_build_pad(Builder *b, Value *source, const Type *type, const PadBorders *borders,
                     bool nofold);
void tensor_fill_pad(Op *pad, Value *padding);
/* A border of static widths (rank entries each) around a tensor, filled with the scalar. */
Value *tensor_pad(Builder *b, Value *source, const int64_t *low, const int64_t *high,
                  Value *padding);

/* Same rank and equal or unknown extents, or one of them unranked; element types are not
 * compared. */
bool tensor_shapes_compatible(const Type *a, const Type *b);
/* The cast's source is at least as static as its result: readers can read the source. */
bool tensor_cast_loses_static(const Op *cast);
/* The cast's result is at least as static as its source: the producer can produce it. */
bool tensor_cast_adds_static(const Op *cast);
/* Source of a cast that only loses static extents; NULL if the value is none. */
Value *tensor_fold_source_cast(Value *value);

#endif
