/* Replacement of a call by the body of the function. Each inlined op gets a location that says
 * where it was called. A return becomes the values that it returns or, if the body has several
 * blocks, a branch to what follows the call.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-illegal.mir */
#include "dialects/cf/cf.h"
#include "dialects/func/func.h"
#include "ir/attr/attr.h"
#include "passes/common/internal.h"

static bool dialect_allows(const Op *op, uint32_t what)
{
    return op->def && (op->def->dialect->inlining & what);
}

static bool may_be_copied(Op *op, void *user)
{
    return op == user || dialect_allows(op, INLINE_OPS);
}

static bool types_match(const Op *call, const Op *func, const Block *entry)
{
    const Type *type = func_type(func);
    if (call->operand_count != entry->arg_count ||
        call->result_count != type->u.function.result_count)
        return false;
    const Type *const *results = type->u.function.types + type->u.function.input_count;
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (op_operand(call, i)->type != entry->args[i]->type) return false;
    for (uint32_t i = 0; i < call->result_count; i++)
        if (op_result(call, i)->type != results[i]) return false;
    return true;
}

static bool may_inline(const Op *call, Op *func)
{
    const Region *body = op_region(func, 0);
    if (region_is_empty(body) || !types_match(call, func, region_entry(body))) return false;
    if (!dialect_allows(call, INLINE_CALLS) || !dialect_allows(op_parent(call), INLINE_INTO))
        return false;
    if (!op_walk(func, may_be_copied, func)) return false;
    return body->first != body->last || body->first->last->def == FUNC(RETURN);
}

typedef struct Inlining {
    Op *call;
    PtrMap values; /* Value* and Block* of the body -> its counterpart */
} Inlining;

static bool set_location(Op *op, void *user)
{
    op->loc = loc_callsite(op->loc, user);
    return true;
}

static void locate(Op *op, const Op *call)
{
    if (call->loc->kind != ATTR_LOC_UNKNOWN) (void)op_walk(op, set_location, (void *)call->loc);
}

static Value *mapped(const PtrMap *values, Value *value)
{
    Value *to = ptrmap_get(values, value);
    return to ? to : value;
}

static bool remap_operands(Op *op, void *user)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i), *to = mapped(user, value);
        if (to != value) op_set_operand(op, i, to);
    }
    return true;
}

static void inline_block(Inlining *in, Block *body, bool moves_body, OpRanges *inlined)
{
    const Op *before = in->call->prev;
    Op *terminator = body->last, *next;
    for (Op *op = body->first; op != terminator; op = next) {
        next = op->next;
        Op *come = op;
        if (moves_body) {
            op_unlink(op);
            (void)op_walk(op, remap_operands, &in->values);
        } else {
            come = op_clone(op, &in->values);
        }
        op_insert_before(come, in->call);
        locate(come, in->call);
    }
    for (uint32_t i = 0; i < in->call->result_count; i++)
        value_replace_all(op_result(in->call, i), mapped(&in->values, op_operand(terminator, i)));
    if (moves_body) block_erase(body);
    Op *first = before ? before->next : in->call->block->first;
    *vec_push(inlined) = (OpRange){first, in->call};
}

/* return x… -> br ^after(x…) */
static void replace_return(Op *op, Block *after)
{
    if (op->def != FUNC(RETURN)) return;
    VEC(Value *) values = {0};
    for (uint32_t i = 0; i < op->operand_count; i++) *vec_push(&values) = op_operand(op, i);
    Builder b = builder_before(op);
    build_op(&b, &(OpState){.name = opinfo_of_def(op->ctx, CF(BR))->name,
                            .loc = op->loc,
                            .operands = values.data,
                            .operand_count = op->operand_count,
                            .successors = &after,
                            .successor_count = 1});
    vec_free(&values);
    op_erase(op);
}

static void move_blocks(Region *body, Block *after, const PtrMap *values)
{
    for (Block *block = body->first, *next; block; block = next) {
        next = block->next;
        block_unlink(block);
        block_insert_before(block, after);
        FOR_EACH_OP(op, block) (void)op_walk(op, remap_operands, (void *)values);
    }
}

static void inline_blocks(Inlining *in, Region *body, bool moves_body, OpRanges *inlined)
{
    Block *before = in->call->block, *after = block_split_after(in->call);
    if (moves_body)
        move_blocks(body, after, &in->values);
    else
        region_clone(body, after, &in->values);
    Block *entry = before->next;
    for (Block *block = entry; block != after; block = block->next)
        FOR_EACH_OP(op, block) locate(op, in->call);
    for (uint32_t i = 0; i < in->call->result_count; i++) {
        Value *result = op_result(in->call, i);
        value_replace_all(result, block_add_arg(after, result->type, in->call->loc));
    }
    for (Block *block = entry; block != after; block = block->next)
        replace_return(block->last, after);
    block_splice(before, entry);
    block_erase(entry);
    *vec_push(inlined) = (OpRange){in->call->next, NULL};
    for (Block *block = before->next; block != after; block = block->next)
        *vec_push(inlined) = (OpRange){block->first, NULL};
}

bool inline_call(Op *call, Op *func, bool moves_body, OpRanges *inlined)
{
    if (!may_inline(call, func)) return false;
    Inlining in = {.call = call};
    Region *body = op_region(func, 0);
    const Block *entry = region_entry(body);
    for (uint32_t i = 0; i < entry->arg_count; i++)
        ptrmap_put(&in.values, entry->args[i], op_operand(call, i));
    if (body->first == body->last)
        inline_block(&in, body->first, moves_body, inlined);
    else
        inline_blocks(&in, body, moves_body, inlined);
    ptrmap_free(&in.values);
    return true;
}
