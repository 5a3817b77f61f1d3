/* Hooks of the tensor rows that live outside tensor.c. */
#ifndef MING_DIALECTS_TENSOR_INTERNAL_H
#define MING_DIALECTS_TENSOR_INTERNAL_H

#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

typedef bool FoldHook(Op *op, const Attr *const *operands, FoldResult *results);

/* tensor_slice.c */
bool tensor_verify_extract_slice(Op *op);
bool tensor_verify_insert_slice(Op *op);
bool tensor_verify_parallel_insert_slice(Op *op);
bool tensor_infer_insert(Op *op, const Type **results); /* type of operand 1 */
bool tensor_verify_gather(Op *op);
bool tensor_verify_scatter(Op *op);

/* tensor_shape.c */
bool tensor_verify_reshape(Op *op);
bool tensor_verify_collapse_shape(Op *op);
bool tensor_verify_expand_shape(Op *op);
bool tensor_verify_concat(Op *op);
bool tensor_verify_pad(Op *op);
bool tensor_verify_pad_body(Op *op);
/* Extents of pad's result as far as its static attributes say; false if they do not fit. */
bool tensor_pad_dims(const Op *op, int64_t *dims);
/* Extents of concat's result; false if the inputs disagree. */
bool tensor_concat_dims(const Op *op, int64_t *dims);

/* tensor_pack.c */
bool tensor_verify_pack(Op *op);
bool tensor_verify_unpack(Op *op);

/* The ops cut into the same tiles, in the same order. */
bool tensor_same_packing(const Op *pack, const Op *unpack);
/* Types of source and destination with the static extents that only one of them has, in
 * dimensions that are not tiled; false if there are none. */
bool tensor_shared_extents(const Op *op, const Type **source, const Type **dest);
/* All tiles of a pack are known to be full. */
bool tensor_fills_tiles(const Op *pack);

/* Whether `type` is `full` less some unit extents; false after a message about op. */
bool tensor_verify_rank_reduced(const Op *op, const Type *full, const Type *type);

/* tensor_fold.c */
FoldHook tensor_fold_cast, tensor_fold_concat, tensor_fold_dim, tensor_fold_extract,
    tensor_fold_extract_slice, tensor_fold_from_elements, tensor_fold_gather, tensor_fold_insert,
    tensor_fold_insert_slice, tensor_fold_rank, tensor_fold_reshape, tensor_fold_collapse_shape,
    tensor_fold_expand_shape, tensor_fold_pad, tensor_fold_splat, tensor_fold_pack,
    tensor_fold_unpack;

/* An op like `op` with other operands and result types, its regions copied. */
Op *tensor_clone_with(Rewriter *rw, Op *op, Value *const *operands, const Type *const *types);
/* Replaces op by the value, through a cast if the type changed. */
void tensor_replace_cast(Rewriter *rw, Op *op, Value *value);

/* tensor_canon.c, tensor_canon_slice.c, tensor_canon_shape.c, tensor_canon_pad.c */
/* tensor_canon_dim.c: patterns of dim that other rows add. */
void tensor_add_dim_of_reshapes(PatternSet *set);
/* Group that a dimension of an expand_shape's result is in, and the product of the group's other
 * extents; false unless they are static and not 0. */
bool tensor_find_group(const Op *expand, uint32_t dim, uint32_t *group, int64_t *product);
/* How many extents of a shaped type are dynamic. */
uint32_t tensor_dynamic_dims(const Type *type);
void tensor_add_dim_of_empty(PatternSet *set);
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
