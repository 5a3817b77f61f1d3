/* Ops: creation, linking and destruction; operands, successors, attributes and use lists.
 *
 * An op is one pool allocation: header, results, operands, successors, regions, in that order.
 * Operands move to an allocation of their own once they outgrow their room. Order numbers make
 * op_is_before take constant time: an inserted op takes a number between those of its neighbours,
 * and if there is none left, the numbers around it are spread out again (amortised O(log n)).
 * Tests: test/unit/ir/core/op_test.c */
#include <assert.h>

#include "ir/core/internal.h"

/* A NULL value leaves the slot unlinked. */
static void use_link(Use *use, Value *value)
{
    use->value = value;
    if (!value) return;
    use->next = value->uses;
    use->prev = &value->uses;
    if (use->next) use->next->prev = &use->next;
    value->uses = use;
}

static void use_unlink(Use *use)
{
    if (!use->value) return;
    *use->prev = use->next;
    if (use->next) use->next->prev = use->prev;
    use->value = NULL;
    use->next = NULL;
    use->prev = NULL;
}

void use_set(Use *use, Value *value)
{
    use_unlink(use);
    use_link(use, value);
}

/* Makes the list point at a use that was copied to a new address. */
static void use_moved(Use *use)
{
    if (!use->value) return;
    *use->prev = use;
    if (use->next) use->next->prev = &use->next;
}

/* A NULL block leaves the slot unlinked. */
static void block_use_link(BlockUse *use, Block *block)
{
    use->block = block;
    if (!block) return;
    use->next = block->uses;
    use->prev = &block->uses;
    if (use->next) use->next->prev = &use->next;
    block->uses = use;
}

void block_use_unlink(BlockUse *use)
{
    if (!use->block) return;
    *use->prev = use->next;
    if (use->next) use->next->prev = use->prev;
    use->block = NULL;
    use->next = NULL;
    use->prev = NULL;
}

uint32_t use_index(const Use *use)
{
    return (uint32_t)(use - use->owner->operands);
}

static size_t op_size(const OpState *state)
{
    return sizeof(Op) + state->result_count * sizeof(Value) + state->operand_count * sizeof(Use) +
           state->successor_count * sizeof(BlockUse) + state->region_count * sizeof(Region);
}

/* The room for operands inside the op's allocation, which they leave once they outgrow it. */
static Use *inline_operands(const Op *op)
{
    return (Use *)(op->results + op->result_count);
}

static void fill_results(Op *op, const OpState *state)
{
    for (uint32_t i = 0; i < state->result_count; i++) {
        Value *result = &op->results[i];
        result->type = state->result_types[i];
        result->index = i;
        result->owner.op = op;
    }
}

static void fill_operands(Op *op, const OpState *state)
{
    for (uint32_t i = 0; i < state->operand_count; i++) {
        op->operands[i].owner = op;
        use_link(&op->operands[i], state->operands[i]);
    }
    for (uint32_t i = 0; i < state->successor_count; i++) {
        op->successors[i].owner = op;
        block_use_link(&op->successors[i], state->successors[i]);
    }
}

/* Moves the inherent ones of `attrs` to `props`. */
static void split_attrs(const OpInfo *info, const Attr **attrs, const Attr **props)
{
    const Attr *all = *attrs;
    for (uint32_t i = 0; i < all->u.dict.count; i++) {
        const NamedAttr *item = &all->u.dict.items[i];
        if (!opinfo_is_inherent(info, item->name)) continue;
        *props = attr_dict_set(*props, item->name, item->value);
        *attrs = attr_dict_set(*attrs, item->name, NULL);
    }
}

static void add_defaults(const OpInfo *info, const Attr **props)
{
    const Attr *defaults = info->default_props;
    if (!defaults || defaults == *props) return;
    if ((*props)->u.dict.count == 0) {
        *props = defaults;
        return;
    }
    for (uint32_t i = 0; i < defaults->u.dict.count; i++) {
        const NamedAttr *item = &defaults->u.dict.items[i];
        if (!attr_dict_get(*props, item->name))
            *props = attr_dict_set(*props, item->name, item->value);
    }
}

static void fill_attrs(Op *op, const OpState *state)
{
    op->attrs = state->attrs ? state->attrs : attr_dict_empty(op->ctx);
    op->props = state->props;
    const OpInfo *info = op->name->op;
    if (!info) return;
    if (!op->props) op->props = attr_dict_empty(op->ctx);
    split_attrs(info, &op->attrs, &op->props);
    add_defaults(info, &op->props);
}

Op *op_create(Context *ctx, const OpState *state)
{
    size_t size = op_size(state);
    assert(size <= UINT32_MAX);
    Op *op = oppool_alloc(ops_of(ctx)->pool, size);
    op->name = state->name;
    op->def = state->name->op ? state->name->op->def : NULL;
    op->ctx = ctx;
    op->loc = state->loc ? state->loc : loc_unknown(ctx);
    op->size = (uint32_t)size;
    op->result_count = state->result_count;
    op->operand_count = op->operand_cap = state->operand_count;
    op->successor_count = state->successor_count;
    op->region_count = state->region_count;
    op->results = (Value *)(op + 1);
    op->operands = inline_operands(op);
    op->successors = (BlockUse *)(op->operands + op->operand_cap);
    op->regions = (Region *)(op->successors + op->successor_count);
    fill_results(op, state);
    fill_operands(op, state);
    fill_attrs(op, state);
    for (uint32_t i = 0; i < op->region_count; i++) {
        op->regions[i].parent = op;
        op->regions[i].index = i;
    }
    return op;
}

static void drop_own_references(Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) use_unlink(&op->operands[i]);
    for (uint32_t i = 0; i < op->successor_count; i++) block_use_unlink(&op->successors[i]);
}

static bool drop_visit(Op *op, void *user)
{
    (void)user;
    drop_own_references(op);
    return true;
}

void op_drop_references(Op *op)
{
    (void)op_walk(op, drop_visit, NULL);
}

static void free_operand_room(Op *op)
{
    if (op->operands != inline_operands(op))
        oppool_free(ops_of(op->ctx)->pool, op->operands, op->operand_cap * sizeof(Use));
}

/* Frees an op whose regions are empty and whose operands were dropped. */
static void op_free(Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) assert(!op->results[i].uses);
    free_operand_room(op);
    oppool_free(ops_of(op->ctx)->pool, op, op->size);
}

static bool free_visit(Op *op, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < op->region_count; i++) {
        Block *next;
        for (Block *block = op->regions[i].first; block; block = next) {
            next = block->next;
            block_free(block);
        }
    }
    op_unlink(op);
    op_free(op);
    return true;
}

void op_erase(Op *op)
{
    op_drop_references(op);
    (void)op_walk_post(op, free_visit, NULL);
}

enum { ORDER_STEP_BITS = 20 };
#define ORDER_START (UINT64_MAX / 2)

/* Spreads the numbers around an op that shares its predecessor's: the smallest aligned window
 * of numbers is taken that holds at most the square root of its width in ops. */
static void order_spread(Op *op)
{
    Op *first = op, *last = op;
    uint64_t count = 1;
    for (unsigned bits = 4;; bits += 2) {
        assert(bits < 64);
        uint64_t width = (uint64_t)1 << bits;
        uint64_t low = op->order & ~(width - 1), high = low + (width - 1);
        for (; first->prev && first->prev->order >= low; first = first->prev) count++;
        for (; last->next && last->next->order <= high; last = last->next) count++;
        if (count * count > width) continue;
        uint64_t step = width / (count + 1), number = low;
        for (Op *o = first;; o = o->next) {
            o->order = number += step;
            if (o == last) return;
        }
    }
}

static void order_assign(Op *op)
{
    const uint64_t step = (uint64_t)1 << ORDER_STEP_BITS;
    if (!op->prev && !op->next) {
        op->order = ORDER_START;
    } else if (!op->next) {
        op->order = op->prev->order + step;
    } else if (!op->prev) {
        op->order = op->next->order - step;
    } else {
        uint64_t gap = op->next->order - op->prev->order;
        op->order = op->prev->order + gap / 2;
        if (gap < 2) order_spread(op);
    }
}

static void link_between(Op *op, Block *block, Op *prev, Op *next)
{
    assert(!op->block && block);
    op->block = block;
    op->prev = prev;
    op->next = next;
    *(prev ? &prev->next : &block->first) = op;
    *(next ? &next->prev : &block->last) = op;
    order_assign(op);
}

void op_insert_before(Op *op, Op *anchor)
{
    link_between(op, anchor->block, anchor->prev, anchor);
}

void op_insert_after(Op *op, Op *anchor)
{
    link_between(op, anchor->block, anchor, anchor->next);
}

void op_append(Op *op, Block *block)
{
    link_between(op, block, block->last, NULL);
}

void op_prepend(Op *op, Block *block)
{
    link_between(op, block, NULL, block->first);
}

void op_unlink(Op *op)
{
    if (!op->block) return;
    *(op->prev ? &op->prev->next : &op->block->first) = op->next;
    *(op->next ? &op->next->prev : &op->block->last) = op->prev;
    op->block = NULL;
    op->prev = op->next = NULL;
}

bool op_is_before(const Op *a, const Op *b)
{
    assert(a->block && a->block == b->block);
    return a->order < b->order;
}

Op *op_parent(const Op *op)
{
    return op->block ? block_parent_op(op->block) : NULL;
}

Op *op_parent_of_def(const Op *op, const OpDef *def)
{
    Op *parent = op_parent(op);
    while (parent && parent->def != def) parent = op_parent(parent);
    return parent;
}

bool op_is_ancestor(const Op *ancestor, const Op *op)
{
    while (op && op != ancestor) op = op_parent(op);
    return op != NULL;
}

Str op_name(const Op *op)
{
    return op->name->str;
}

void op_set_operand(Op *op, uint32_t index, Value *value)
{
    assert(index < op->operand_count);
    use_set(&op->operands[index], value);
}

static void grow_operands(Op *op, uint32_t count)
{
    uint32_t cap = op->operand_cap * 2 > count ? op->operand_cap * 2 : count;
    Use *fresh = oppool_alloc(ops_of(op->ctx)->pool, cap * sizeof(Use));
    /* One by one: uses of the same value may be each other's neighbours in its list. */
    for (uint32_t i = 0; i < op->operand_count; i++) {
        fresh[i] = op->operands[i];
        use_moved(&fresh[i]);
    }
    free_operand_room(op);
    op->operands = fresh;
    op->operand_cap = cap;
}

void op_set_operands(Op *op, Value *const *values, uint32_t count)
{
    if (count > op->operand_cap) grow_operands(op, count);
    uint32_t old = op->operand_count;
    for (uint32_t i = count; i < old; i++) use_unlink(&op->operands[i]);
    for (uint32_t i = old; i < count; i++) op->operands[i] = (Use){.owner = op};
    op->operand_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (op->operands[i].value != values[i]) use_set(&op->operands[i], values[i]);
}

void op_replace_operands(Op *op, uint32_t begin, uint32_t old, Value *const *values, uint32_t count)
{
    assert(begin + old <= op->operand_count);
    uint32_t tail = op->operand_count - begin - old, total = begin + count + tail;
    Value **all = xcalloc(total, sizeof *all);
    for (uint32_t i = 0; i < begin; i++) all[i] = op_operand(op, i);
    for (uint32_t i = 0; i < count; i++) all[begin + i] = values[i];
    for (uint32_t i = 0; i < tail; i++) all[begin + count + i] = op_operand(op, begin + old + i);
    op_set_operands(op, all, total);
    free_ptr((void **)&all);
}

void op_erase_operand(Op *op, uint32_t index)
{
    assert(index < op->operand_count);
    use_unlink(&op->operands[index]);
    for (uint32_t i = index; i + 1 < op->operand_count; i++) {
        op->operands[i] = op->operands[i + 1];
        use_moved(&op->operands[i]);
    }
    op->operand_count--;
    op->operands[op->operand_count] = (Use){.owner = op};
}

void op_set_successor(Op *op, uint32_t index, Block *block)
{
    assert(index < op->successor_count);
    block_use_unlink(&op->successors[index]);
    block_use_link(&op->successors[index], block);
}

const Attr *op_attr(const Op *op, const char *name)
{
    const Attr *attr = attr_dict_get_c(op->props, name);
    return attr ? attr : attr_dict_get_c(op->attrs, name);
}

const Attr *op_attr_id(const Op *op, const Ident *name)
{
    const Attr *attr = attr_dict_get(op->props, name);
    return attr ? attr : attr_dict_get(op->attrs, name);
}

void op_set_attr_id(Op *op, const Ident *name, const Attr *value)
{
    const OpInfo *info = op->name->op;
    bool inherent = info ? opinfo_is_inherent(info, name) : attr_dict_get(op->props, name) != NULL;
    const Attr **dict = inherent ? &op->props : &op->attrs;
    *dict = attr_dict_set(*dict, name, value);
}

void op_set_attr(Op *op, const char *name, const Attr *value)
{
    op_set_attr_id(op, ident_get_c(op->ctx, name), value);
}

bool value_has_uses(const Value *value)
{
    return value->uses != NULL;
}

bool value_has_one_use(const Value *value)
{
    return value->uses && !value->uses->next;
}

size_t value_use_count(const Value *value)
{
    size_t count = 0;
    FOR_EACH_USE(use, value) count++;
    return count;
}

void value_replace_all(Value *from, Value *to)
{
    assert(from != to);
    while (from->uses) use_set(from->uses, to);
}

void value_drop_uses(Value *value)
{
    while (value->uses) use_set(value->uses, NULL);
}

Op *value_def(const Value *value)
{
    return value->is_arg ? NULL : value->owner.op;
}

Block *value_block(const Value *value)
{
    return value->is_arg ? value->owner.block : value->owner.op->block;
}

const Attr *value_loc(const Value *value)
{
    return value->is_arg ? value->loc : value->owner.op->loc;
}
