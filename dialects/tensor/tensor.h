/* The tensor dialect: making, slicing and reshaping tensors. */
#ifndef MING_DIALECTS_TENSOR_H
#define MING_DIALECTS_TENSOR_H

#include "dialects/mixed_index.h"
#include "ir/builder.h"

#define OP(ID, ...) TENSOR_##ID,
enum {
#include "dialects/tensor/tensor_ops.def"
    TENSOR_OP_COUNT
};
#undef OP

extern const OpDef tensor_ops[];
extern const DialectDef dialect_tensor;
#define TENSOR(ID) (&tensor_ops[TENSOR_##ID])

/* Offsets, sizes and strides of a slicing op. */
typedef struct SliceParams {
    MixedIndices offsets, sizes, strides;
} SliceParams;
/* Of extract_slice, insert_slice and parallel_insert_slice; free with slice_free. */
void slice_read(const Op *op, SliceParams *out);
void slice_free(SliceParams *slice);

/* Extent `dim` of a tensor or memref: a constant where static, else a tensor.dim. */
MixedIndex tensor_mixed_dim(Builder *b, Value *tensor, uint32_t dim);
Value *tensor_dim(Builder *b, Value *tensor, uint32_t dim);
/* A tensor.empty of these extents. */
Value *tensor_empty(Builder *b, const MixedIndex *sizes, size_t rank, const Type *elem);
/* Reshapes; the reassociation is an array attribute of arrays of i64. */
Value *tensor_collapse_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* All extents of `type` must be static. */
Value *tensor_expand_shape(Builder *b, Value *source, const Type *type, const Attr *groups);
/* The source when the type fits already, else a tensor.cast. */
Value *tensor_cast(Builder *b, Value *source, const Type *type);

/* Same rank and equal or unknown extents, or one of them unranked; element types are not
 * compared. */
bool tensor_shapes_compatible(const Type *a, const Type *b);
/* A cast from `from` to `to` loses static shape information only. */
bool tensor_cast_is_folded_into_consumer(const Op *cast);

#endif
