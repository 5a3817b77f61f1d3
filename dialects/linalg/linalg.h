/* The linalg dialect: ops whose loops are implied by indexing maps. linalg.generic says them in
 * attributes, named ops in their table row; structured.h reads both alike. */
#ifndef MING_DIALECTS_LINALG_H
#define MING_DIALECTS_LINALG_H

#include "dialects/arith/mixed_index.h"
#include "ir/core/builder.h"

#define OP(ID, ...) LINALG_##ID,
enum {
#include "dialects/linalg/linalg_ops.def"
#include "dialects/linalg/linalg_named.def"
    LINALG_OP_COUNT
};
#undef OP

extern const OpDef linalg_ops[];
extern const DialectDef linalg_dialect;
#define LINALG(ID) (&linalg_ops[LINALG_##ID])

extern const AttrDef linalg_iterator_type_def, linalg_unary_fn, linalg_binary_fn,
    linalg_ternary_fn, linalg_type_fn;

/* #linalg.iterator_type<reduction> or <parallel> */
const Attr *linalg_iterator_type(Context *ctx, bool is_reduction);
bool linalg_iterator_is_reduction(const Attr *iterator_type);

/* A named structured op with its region built; tensor inits give results. attrs may be NULL. */
Op *linalg_build_named(Builder *b, const OpDef *def, Value *const *inputs, uint32_t input_count,
                       Value *const *inits, uint32_t init_count, const NamedAttr *attrs,
                       uint32_t attr_count);
/* A transpose or broadcast; list is its permutation or dimensions attribute. */
Op *linalg_build_forwarding(Builder *b, const OpDef *def, Value *input, Value *init,
                            const NamedAttr *list);
/* A generic with an empty entry block whose arguments have the operands' element types and
 * locations. */
Op *linalg_build_generic(Builder *b, Value *const *inputs, uint32_t input_count,
                         Value *const *inits, uint32_t init_count, const Attr *maps,
                         const Attr *iterators);
/* Adds the pattern once for each kind of structured op. */
void linalg_add_structured(PatternSet *set, const char *name,
                           bool (*rewrite)(Rewriter *rw, Op *op, void *user));
Value *linalg_fill(Builder *b, Value *scalar, Value *init);
/* Extent `dim` of a result of a structured op, from its operands; false for other ops. */
bool linalg_reify_dim(Builder *b, Op *op, uint32_t result, uint32_t dim, MixedIndex *out);
Op *linalg_yield(Builder *b, Value *const *values, uint32_t count);
Value *linalg_index(Builder *b, uint32_t loop);

#endif
