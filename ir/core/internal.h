/* Inside of ir/core: the context's part with the op pool and the registry of dialects, and the list
 * operations that op.c and block.c share. */
#ifndef MING_IR_CORE_INTERNAL_H
#define MING_IR_CORE_INTERNAL_H

#include "ir/core/core.h"

typedef VEC(const DialectDef *) DialectList; /* sorted by name */

struct OpPool; /* op_pool.c */

/* The context's part CONTEXT_OPS; the context owns it. */
typedef struct ContextOps {
    struct OpPool *pool;
    DialectList dialects, foreign;
    PtrMap op_infos; /* OpDef* -> OpInfo* */
    bool allow_unregistered;
} ContextOps;

ContextOps *context_ops_create(Context *ctx);

/* The part is made when it is first asked for. The cast is sound because contexts are never const
 * objects; a function that takes a const Context does not change what callers can see. */
static inline ContextOps *ops_of(const Context *ctx)
{
    ContextOps *ops = context_part(ctx, CONTEXT_OPS);
    return ops ? ops : context_ops_create((Context *)ctx);
}

struct OpPool *oppool_create(void);
void oppool_destroy(struct OpPool *pool);

/* Zeroed memory. It is given back with the size that it was asked for, because the pool does not
 * store sizes. */
void *oppool_alloc(struct OpPool *pool, size_t size);
void oppool_free(struct OpPool *pool, void *memory, size_t size);

/* Grows an array of the pool: copies `used` bytes, frees the old array, returns the new one. */
void *oppool_regrow(struct OpPool *pool, void *old, size_t old_size, size_t used, size_t new_size);

/* Unlinks a successor slot from its block. */
void block_use_unlink(BlockUse *use);

/* Unlinks every operand and successor of the op and of all nested ops. */
void op_drop_references(Op *op);
/* Frees a block without ops. */
void block_free(Block *block);

#endif
