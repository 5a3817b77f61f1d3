/* Walks over an op and everything in it, and deep copies. Walks climb by parent pointers instead of
 * recursing, so that deeply nested IR cannot overflow the C stack.
 * Tests: test/unit/ir/core/op_test.c */
#include "ir/core/core.h"

static Op *first_op_from(Block *block)
{
    for (; block; block = block->next)
        if (block->first) return block->first;
    return NULL;
}

static Op *first_op_in_regions(const Op *op, uint32_t from)
{
    for (uint32_t i = from; i < op->region_count; i++) {
        Op *first = first_op_from(op->regions[i].first);
        if (first) return first;
    }
    return NULL;
}

Op *op_first_inner(const Op *op)
{
    return first_op_in_regions(op, 0);
}

/* In the block, its successors, or the parent's next regions. */
Op *op_next_inner(const Op *inner)
{
    if (inner->next) return inner->next;
    Op *next = first_op_from(inner->block->next);
    if (next) return next;
    const Region *region = inner->block->parent;
    return region->parent ? first_op_in_regions(region->parent, region->index + 1) : NULL;
}

static Op *innermost_first(Op *op)
{
    for (Op *inner; (inner = op_first_inner(op)) != NULL;) op = inner;
    return op;
}

static Op *next_pre_order(Op *op, const Op *root)
{
    Op *next = op_first_inner(op);
    while (!next && op != root) {
        next = op_next_inner(op);
        op = op_parent(op);
    }
    return next;
}

bool op_walk(Op *op, OpVisitor *visit, void *user)
{
    for (Op *at = op; at; at = next_pre_order(at, op))
        if (!visit(at, user)) return false;
    return true;
}

bool op_walk_post(Op *op, OpVisitor *visit, void *user)
{
    Op *next;
    for (Op *at = innermost_first(op); at; at = next) {
        next = NULL;
        if (at != op) {
            next = op_next_inner(at);
            next = next ? innermost_first(next) : op_parent(at);
        }
        if (!visit(at, user)) return false;
    }
    return true;
}

static bool collect(Op *op, void *user)
{
    *vec_push((OpVec *)user) = op;
    return true;
}

void op_collect(Op *op, OpVec *out)
{
    (void)op_walk(op, collect, out);
}

static void *mapped(const PtrMap *map, void *key)
{
    void *value = ptrmap_get(map, key);
    return value ? value : key;
}

/* Blocks and arguments first, so that successors and forward references find their copies. */
static void clone_block(const Block *block, Block *copy, PtrMap *map)
{
    ptrmap_put(map, block, copy);
    for (uint32_t i = 0; i < block->arg_count; i++) {
        const Value *arg = block->args[i];
        if (!ptrmap_has(map, arg)) ptrmap_put(map, arg, block_add_arg(copy, arg->type, arg->loc));
    }
}

static Op *clone_shallow(const Op *op, PtrMap *map)
{
    VEC(const Type *) types = {0};
    VEC(Value *) operands = {0};
    VEC(Block *) successors = {0};
    for (uint32_t i = 0; i < op->result_count; i++) *vec_push(&types) = op->results[i].type;
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&operands) = mapped(map, op_operand(op, i));
    for (uint32_t i = 0; i < op->successor_count; i++)
        *vec_push(&successors) = mapped(map, op->successors[i].block);
    Op *copy = op_create(op->ctx, &(OpState){.name = op->name,
                                             .loc = op->loc,
                                             .attrs = op->attrs,
                                             .props = op->props,
                                             .result_types = types.data,
                                             .operands = operands.data,
                                             .successors = successors.data,
                                             .result_count = op->result_count,
                                             .operand_count = op->operand_count,
                                             .successor_count = op->successor_count,
                                             .region_count = op->region_count});
    for (uint32_t i = 0; i < op->result_count; i++)
        ptrmap_put(map, op_result(op, i), op_result(copy, i));
    vec_free(&types);
    vec_free(&operands);
    vec_free(&successors);
    return copy;
}

/* Copies the ops of a block, adding each original and its copy to `pairs`. */
static void clone_ops(const Block *block, PtrMap *map, OpVec *pairs)
{
    Block *copy = ptrmap_get(map, block);
    FOR_EACH_OP(op, block) {
        Op *op_copy = clone_shallow(op, map);
        op_append(op_copy, copy);
        *vec_push(pairs) = op;
        *vec_push(pairs) = op_copy;
    }
}

static void clone_regions(const Op *op, Op *copy, PtrMap *map, OpVec *pairs)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        FOR_EACH_BLOCK(block, op_region(op, i))
            clone_block(block, region_add_block(&copy->regions[i]), map);
    for (uint32_t i = 0; i < op->region_count; i++)
        FOR_EACH_BLOCK(block, op_region(op, i)) clone_ops(block, map, pairs);
}

/* A use that was copied before the definition still has the original value. */
static void resolve_forward_uses(const OpVec *pairs, const PtrMap *map)
{
    for (size_t i = 0; i < pairs->len; i += 2) {
        const Op *original = pairs->data[i];
        Op *copy = pairs->data[i + 1];
        for (uint32_t k = 0; k < original->operand_count; k++) {
            Value *value = op_operand(original, k);
            if (op_operand(copy, k) == value && ptrmap_has(map, value))
                op_set_operand(copy, k, ptrmap_get(map, value));
        }
    }
}

/* Copies what the copied ops hold, until nothing is left to copy. */
static void clone_nested(PtrMap *map, OpVec *pairs)
{
    for (size_t i = 0; i < pairs->len; i += 2)
        clone_regions(pairs->data[i], pairs->data[i + 1], map, pairs);
    resolve_forward_uses(pairs, map);
    vec_free(pairs);
}

Op *op_clone(const Op *op, PtrMap *values)
{
    PtrMap own = {0};
    PtrMap *map = values ? values : &own;
    OpVec pairs = {0};
    Op *copy = clone_shallow(op, map);
    clone_regions(op, copy, map, &pairs);
    clone_nested(map, &pairs);
    ptrmap_free(&own);
    return copy;
}

void region_clone(const Region *from, Block *before, PtrMap *values)
{
    OpVec pairs = {0};
    FOR_EACH_BLOCK(block, from) {
        Block *copy = block_create(before->ctx);
        block_insert_before(copy, before);
        clone_block(block, copy, values);
    }
    FOR_EACH_BLOCK(block, from) clone_ops(block, values, &pairs);
    clone_nested(values, &pairs);
}
