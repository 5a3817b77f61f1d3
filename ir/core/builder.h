/* Builds ops at an insertion point. Result types come from the caller or, with
 * build_inferred, from the op's infer hook. */
#ifndef MING_IR_BUILDER_H
#define MING_IR_BUILDER_H

#include "ir/core/opdef.h"

typedef struct Builder {
    Context *ctx;
    Block *block;    /* where ops go; NULL: ops stay detached */
    Op *before;      /* insert before it; NULL: at the end of block */
    const Attr *loc; /* of new ops */
    /* Called for each op built, if set (the rewriter listens). */
    void (*created)(void *user, Op *op);
    void *user;
} Builder;

Builder builder_at_end(Block *block, const Attr *loc);
Builder builder_before(Op *op); /* location: the op's */
Builder builder_after(Op *op);
/* Ops built by it stay detached; location: b's. */
Builder builder_detached(const Builder *b);
void builder_set_before(Builder *b, Op *op);
void builder_set_end(Builder *b, Block *block);

/* Inserts a detached op at the builder's point and announces it. */
Op *builder_insert(Builder *b, Op *op);

Op *build_op(Builder *b, const OpState *state);
/* By table row. attrs may be NULL; region_count regions stay empty. */
Op *build(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
          const Type *const *result_types, uint32_t result_count, const NamedAttr *attrs,
          uint32_t attr_count);
/* Like build, result types by the row's infer hook or same-type trait; NULL: diagnosed. */
Op *build_inferred(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
                   const NamedAttr *attrs, uint32_t attr_count);
/* One result, one or two operands: what most rewrites need. */
Value *build_unary(Builder *b, const OpDef *def, const Type *type, Value *operand);
Value *build_binary(Builder *b, const OpDef *def, const Type *type, Value *lhs, Value *rhs);
/* name = value for the arrays above. */
NamedAttr attr_named(Context *ctx, const char *name, const Attr *value);

#endif
