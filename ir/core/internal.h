/* Inside of ops, for ir/ sources only: the pool and the links that op.c and block.c share. */
#ifndef MING_IR_CORE_INTERNAL_H
#define MING_IR_CORE_INTERNAL_H

#include "ir/core/core.h"

typedef VEC(const DialectDef *) DialectList; /* sorted by name */

struct OpPool; /* op_pool.c */

/* The context's part CONTEXT_OPS. */
typedef struct ContextOps {
    struct OpPool *pool;
    DialectList dialects, foreign;
    PtrMap op_infos; /* OpDef* -> OpInfo* */
    bool allow_unregistered;
} ContextOps;

ContextOps *context_ops_create(Context *ctx);

/* Made when first asked for, by a context that is as good as constant till then. */
static inline ContextOps *ops_of(const Context *ctx)
{
    ContextOps *ops = context_part(ctx, CONTEXT_OPS);
    return ops ? ops : context_ops_create((Context *)ctx);
}

struct OpPool *oppool_create(void);
void oppool_destroy(struct OpPool *pool);

/* Zeroed memory; given back with the size it was asked for. */
void *oppool_alloc(struct OpPool *pool, size_t size);
void oppool_free(struct OpPool *pool, void *memory, size_t size);

/* Grows an array of the pool: copies `used` bytes, frees the old one, returns the new one. */
void *oppool_regrow(struct OpPool *pool, void *old, size_t old_size, size_t used, size_t new_size);

void use_link(Use *use, Value *value);
void use_unlink(Use *use);
void block_use_link(BlockUse *use, Block *block);
void block_use_unlink(BlockUse *use);

/* Drops every operand and successor of the op and of all nested ops. */
void op_drop_references(Op *op);
/* Frees an op whose regions are empty and whose operands were dropped. */
void op_free(Op *op);
/* Frees a block without ops. */
void block_free(Block *block);

#endif
