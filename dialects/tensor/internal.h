/* Inside of dialects/tensor: the hooks of rows whose code is not in tensor.c, and what folders and
 * canonicalization patterns share. */
#ifndef MING_DIALECTS_TENSOR_INTERNAL_H
#define MING_DIALECTS_TENSOR_INTERNAL_H

#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

typedef bool FoldHook(Op *op, const Attr *const *operands, FoldResult *results);

/* Checks of slices, gather and scatter (tensor_slice.c). */
bool tensor_verify_extract_slice(Op *op);
bool tensor_verify_insert_slice(Op *op);
bool tensor_verify_parallel_insert_slice(Op *op);
bool tensor_infer_insert(Op *op, const Type **results); /* type of operand 1 */
bool tensor_verify_gather(Op *op);
bool tensor_verify_scatter(Op *op);

/* Checks of reshapes, concat and pad (tensor_shape.c). */
bool tensor_verify_reshape(Op *op);
bool tensor_verify_collapse_shape(Op *op);
bool tensor_verify_expand_shape(Op *op);
bool tensor_verify_concat(Op *op);
bool tensor_verify_pad(Op *op);
bool tensor_verify_pad_body(Op *op);

/* Checks of pack and unpack (tensor_pack.c), and what their patterns ask. */
bool tensor_verify_pack(Op *op);
bool tensor_verify_unpack(Op *op);

/* Whether both ops cut into the same tiles, in the same order. */
bool tensor_same_packing(const Op *pack, const Op *unpack);
/* The types of source and destination completed by the static extents that only one of the two has,
 * in dimensions that are not tiled. False: there are none to complete. */
bool tensor_shared_extents(const Op *op, const Type **source, const Type **dest);
/* Whether all tiles of a pack are known to be full. */
bool tensor_fills_tiles(const Op *pack);

/* Folders (tensor_fold.c). */
FoldHook tensor_fold_cast, tensor_fold_concat, tensor_fold_dim, tensor_fold_extract,
    tensor_fold_extract_slice, tensor_fold_from_elements, tensor_fold_gather, tensor_fold_insert,
    tensor_fold_insert_slice, tensor_fold_rank, tensor_fold_reshape, tensor_fold_collapse_shape,
    tensor_fold_expand_shape, tensor_fold_pad, tensor_fold_splat, tensor_fold_pack,
    tensor_fold_unpack;

/* A copy of `op` with other operands and result types; its regions are copied. */
Op *tensor_clone_with(Rewriter *rw, Op *op, Value *const *operands, const Type *const *types);
/* Replaces op by the value, through a cast if the type changes. */
void tensor_replace_cast(Rewriter *rw, Op *op, Value *value);

/* Patterns of tensor.dim that the rows of other ops add (tensor_canon_dim.c). */
void tensor_add_dim_of_reshapes(PatternSet *set);
/* Group that a dimension of an expand_shape's result is in, and the product of the group's other
 * extents; false unless they are static and not 0. */
bool tensor_find_group(const Op *expand, uint32_t dim, uint32_t *group, int64_t *product);
/* How many extents of a shaped type are dynamic. */
uint32_t tensor_dynamic_dims(const Type *type);
void tensor_add_dim_of_empty(PatternSet *set);
/* The group that a dimension of an expand_shape's result is in, and the product of the group's
 * other extents. False: these are not static or 0. */
bool tensor_find_group(const Op *expand, uint32_t dim, uint32_t *group, int64_t *product);
/* Hooks that add the canonicalization patterns of a row (tensor_canon*.c). */
void tensor_canonicalize_bitcast(PatternSet *set);
void tensor_canonicalize_cast(PatternSet *set);
void tensor_canonicalize_concat(PatternSet *set);
void tensor_canonicalize_dim(PatternSet *set);
void tensor_canonicalize_empty(PatternSet *set);
void tensor_canonicalize_extract(PatternSet *set);
void tensor_canonicalize_extract_slice(PatternSet *set);
void tensor_canonicalize_generate(PatternSet *set);
void tensor_canonicalize_insert_slice(PatternSet *set);
void tensor_canonicalize_collapse_shape(PatternSet *set);
void tensor_canonicalize_expand_shape(PatternSet *set);
void tensor_canonicalize_pad(PatternSet *set);
void tensor_canonicalize_pack(PatternSet *set);
void tensor_canonicalize_unpack(PatternSet *set);

#endif
