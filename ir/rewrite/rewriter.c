/* The rewriter: changes the IR and tells its driver, op by op.
 * Tests: test/unit/ir/rewrite/rewrite_test.c */
#include <assert.h>

#include "ir/rewrite/rewrite.h"

static void ignore(Rewriter *rw, Op *op)
{
    (void)rw;
    (void)op;
}

Rewriter rewriter_plain(Context *ctx)
{
    return (Rewriter){.b = {.ctx = ctx, .loc = loc_unknown(ctx)},
                      .inserted = ignore,
                      .modified = ignore,
                      .erasing = ignore};
}

void rewriter_modified(Rewriter *rw, Op *op)
{
    rw->modified(rw, op);
}

void rewriter_replace_value(Rewriter *rw, Value *from, Value *to)
{
    assert(from != to);
    while (from->uses) {
        Op *user = from->uses->owner;
        use_set(from->uses, to);
        rw->modified(rw, user);
    }
}

/* Announces the ops from the last to the first, inner before outer, each still intact when its
 * turn comes; operands are dropped at once so that later announcements see the true uses. */
void rewriter_erase(Rewriter *rw, Op *op)
{
    OpVec ops = {0};
    if (rw->replacing) {
        rw->replacing(rw, op, NULL);
        return;
    }
    op_collect(op, &ops);
    for (size_t i = ops.len; i-- > 0;) {
        Op *gone = ops.data[i];
        rw->erasing(rw, gone);
        for (uint32_t k = 0; k < gone->operand_count; k++) use_set(&gone->operands[k], NULL);
    }
    vec_free(&ops);
    if (rw->b.before == op) rw->b.before = op->next;
    op_erase(op);
}

void rewriter_erase_block(Rewriter *rw, Block *block)
{
    for (uint32_t i = 0; i < block->arg_count; i++) value_drop_uses(block->args[i]);
    while (block->last) {
        for (uint32_t i = 0; i < block->last->result_count; i++)
            value_drop_uses(op_result(block->last, i));
        rewriter_erase(rw, block->last);
    }
    block_erase(block);
}

void rewriter_replace(Rewriter *rw, Op *op, Value *const *values, uint32_t count)
{
    assert(count == op->result_count);
    if (rw->replacing) {
        rw->replacing(rw, op, values);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (op->results[i].uses) rewriter_replace_value(rw, op_result(op, i), values[i]);
    rewriter_erase(rw, op);
}

void rewriter_replace_one(Rewriter *rw, Op *op, Value *value)
{
    rewriter_replace(rw, op, &value, 1);
}

static bool announce(Op *op, void *user)
{
    Rewriter *rw = user;
    rw->inserted(rw, op);
    return true;
}

Op *rewriter_insert(Rewriter *rw, Op *op)
{
    if (rw->b.before)
        op_insert_before(op, rw->b.before);
    else
        op_append(op, rw->b.block);
    (void)op_walk(op, announce, rw);
    return op;
}
