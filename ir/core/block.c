/* Blocks with their arguments, and regions. A block owns its ops and arguments, a region its
 * blocks.
 * Tests: test/unit/ir/core/op_test.c */
#include <assert.h>

#include "ir/core/internal.h"

Block *block_create(Context *ctx)
{
    Block *block = oppool_alloc(ops_of(ctx)->pool, sizeof *block);
    block->ctx = ctx;
    return block;
}

static void link_between(Block *block, Region *region, Block *prev, Block *next)
{
    assert(!block->parent);
    block->parent = region;
    block->prev = prev;
    block->next = next;
    *(prev ? &prev->next : &region->first) = block;
    *(next ? &next->prev : &region->last) = block;
}

void block_append(Block *block, Region *region)
{
    link_between(block, region, region->last, NULL);
}

void block_insert_before(Block *block, Block *anchor)
{
    link_between(block, anchor->parent, anchor->prev, anchor);
}

void block_unlink(Block *block)
{
    if (!block->parent) return;
    *(block->prev ? &block->prev->next : &block->parent->first) = block->next;
    *(block->next ? &block->next->prev : &block->parent->last) = block->prev;
    block->parent = NULL;
    block->prev = block->next = NULL;
}

void block_free(Block *block)
{
    assert(!block->first);
    struct OpPool *pool = ops_of(block->ctx)->pool;
    while (block->uses) block_use_unlink(block->uses);
    for (uint32_t i = 0; i < block->arg_count; i++) {
        assert(!block->args[i]->uses);
        oppool_free(pool, block->args[i], sizeof(Value));
    }
    oppool_free(pool, block->args, block->arg_cap * sizeof(Value *));
    oppool_free(pool, block, sizeof *block);
}

void block_erase(Block *block)
{
    FOR_EACH_OP(op, block) op_drop_references(op);
    while (block->last) op_erase(block->last);
    block_unlink(block);
    block_free(block);
}

Value *block_add_arg(Block *block, const Type *type, const Attr *loc)
{
    struct OpPool *pool = ops_of(block->ctx)->pool;
    if (block->arg_count == block->arg_cap) {
        uint32_t cap = block->arg_cap ? block->arg_cap * 2 : 2;
        block->args = oppool_regrow(pool, block->args, block->arg_cap * sizeof(Value *),
                                    block->arg_count * sizeof(Value *), cap * sizeof(Value *));
        block->arg_cap = cap;
    }
    Value *arg = oppool_alloc(pool, sizeof *arg);
    arg->type = type;
    arg->index = block->arg_count;
    arg->is_arg = true;
    arg->owner.block = block;
    arg->loc = loc ? loc : loc_unknown(block->ctx);
    block->args[block->arg_count++] = arg;
    return arg;
}

void block_erase_arg(Block *block, uint32_t index)
{
    assert(index < block->arg_count && !block->args[index]->uses);
    oppool_free(ops_of(block->ctx)->pool, block->args[index], sizeof(Value));
    block->arg_count--;
    for (uint32_t i = index; i < block->arg_count; i++) {
        block->args[i] = block->args[i + 1];
        block->args[i]->index = i;
    }
}

Op *block_parent_op(const Block *block)
{
    return block->parent ? block->parent->parent : NULL;
}

Op *block_terminator(const Block *block)
{
    return block->last && op_is_terminator(block->last) ? block->last : NULL;
}

void block_splice(Block *to, Block *from)
{
    Op *next;
    for (Op *op = from->first; op; op = next) {
        next = op->next;
        op_unlink(op);
        op_append(op, to);
    }
}

Block *block_split_after(Op *op)
{
    Block *tail = block_create(op->ctx), *block = op->block;
    link_between(tail, block->parent, block, block->next);
    while (op->next) {
        Op *moved = op->next;
        op_unlink(moved);
        op_append(moved, tail);
    }
    return tail;
}

Block *region_add_block(Region *region)
{
    Block *block = block_create(region->parent->ctx);
    block_append(block, region);
    return block;
}

Block *region_entry(const Region *region)
{
    return region->first;
}

void region_take(Region *to, Region *from)
{
    Block *next;
    for (Block *block = from->first; block; block = next) {
        next = block->next;
        block_unlink(block);
        block_append(block, to);
    }
}

bool region_is_empty(const Region *region)
{
    return !region->first;
}

bool region_is_ancestor(const Region *ancestor, const Region *region)
{
    while (region && region != ancestor) {
        const Block *block = region->parent ? region->parent->block : NULL;
        region = block ? block->parent : NULL;
    }
    return region != NULL;
}
