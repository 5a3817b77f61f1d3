/* Small matchers and builders that many canonicalization patterns share. */
#ifndef MING_DIALECTS_REWRITE_UTIL_H
#define MING_DIALECTS_REWRITE_UTIL_H

#include "ir/rewrite/rewrite.h"

/* The op of that kind that defines a value, or NULL. */
Op *rewrite_def_of(Value *value, const OpDef *def);
/* What an op with one result folds to, else the op's result (fold_build). */
Value *rewrite_build_or_fold(Builder *b, const OpDef *def, Value *const *operands, uint32_t count,
                     const Type *type);
/* Gives the rewriter's next ops the fused location of the matched ones. */
void rewriter_fuse_locs(Rewriter *rw, const Op *const *matched, size_t count);

#endif
