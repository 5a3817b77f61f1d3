/* Operations, values, blocks, regions and use lists.
 *
 * An op is one pool allocation: header, results, operands, successors, regions. A use is
 * always linked in its value's list; lists are in order of creation, newest first, as upstream.
 * Everything belongs to the context's op pool and is freed by op_erase or with the context.
 * Tests: test/unit/op_test.c */
#ifndef MING_IR_OP_H
#define MING_IR_OP_H

#include "ir/attr/attr.h"

/* One operand slot: a use of `value` by `owner`. */
typedef struct Use {
    Value *value;
    Op *owner;
    struct Use *next, **prev; /* in value's list */
} Use;

/* A successor slot: a use of a block by a terminator. */
typedef struct BlockUse {
    Block *block;
    Op *owner;
    struct BlockUse *next, **prev;
} BlockUse;

struct Value {
    const Type *type;
    Use *uses;      /* first use, or NULL */
    uint32_t index; /* result or argument number */
    bool is_arg;
    bool mark; /* scratch of one analysis at a time */
    union {
        Op *op;       /* of a result */
        Block *block; /* of an argument */
    } owner;
    const Attr *loc; /* of an argument; NULL for results (the op's) */
};

struct Block {
    Context *ctx;
    Region *parent; /* NULL: detached */
    Block *prev, *next;
    Op *first, *last;
    Value **args; /* owned */
    uint32_t arg_count, arg_cap;
    BlockUse *uses;  /* predecessors' successor slots */
};

struct Region {
    Op *parent;
    Block *first, *last;
    uint32_t index; /* in its op */
};

struct Op {
    const Ident *name;
    const OpDef *def; /* NULL: unregistered */
    Context *ctx;
    const Attr *loc;
    const Attr *attrs; /* discardable attributes: dictionary, never NULL */
    /* Inherent attributes: a dictionary. Of an unregistered op any attribute, NULL for none. */
    const Attr *props;
    Block *block;      /* NULL: detached */
    Op *prev, *next;
    uint64_t order; /* grows along the block; compare only */
    uint32_t result_count, operand_count, operand_cap, successor_count, region_count;
    Value *results;
    Use *operands; /* in the allocation, or outside it once it grew */
    BlockUse *successors;
    Region *regions;
    uint32_t size; /* bytes of the allocation */
    bool mark;     /* scratch of one analysis at a time */
};

/* What an op is made from; arrays are copied. */
typedef struct OpState {
    const Ident *name;
    const Attr *loc;
    Value *const *operands;
    const Type *const *result_types;
    Block *const *successors;
    const Attr *attrs, *props; /* dictionaries, or NULL for empty */
    uint32_t operand_count, result_count, successor_count, region_count;
} OpState;

/* A detached op with empty regions. Attributes in `attrs` that the op's table declares as
 * inherent are moved to props. */
Op *op_create(Context *ctx, const OpState *state);
/* Unlinks and frees the op with all it contains; its results must have no uses outside it. */
void op_erase(Op *op);
/* Deep copy, detached. Operands defined outside keep their value unless `values` (Value* ->
 * Value*, may be NULL) maps them; the map receives the copied results and arguments. */
Op *op_clone(const Op *op, PtrMap *values);
/* Copies the blocks of a region before a block of another (or its own). `values` maps as in
 * op_clone, blocks too; arguments that it maps already are not copied but replaced. */
void region_clone(const Region *from, Block *before, PtrMap *values);
void op_insert_before(Op *op, Op *anchor);
void op_insert_after(Op *op, Op *anchor);
void op_append(Op *op, Block *block);
void op_prepend(Op *op, Block *block);
void op_unlink(Op *op);
bool op_is_before(const Op *a, const Op *b); /* both in one block; O(1) */

static inline Value *op_operand(const Op *op, uint32_t index) { return op->operands[index].value; }
static inline Value *op_result(const Op *op, uint32_t index) { return &op->results[index]; }
static inline Region *op_region(const Op *op, uint32_t index) { return &op->regions[index]; }
void op_set_operand(Op *op, uint32_t index, Value *value);
/* Replaces the whole operand list; it may grow. */
void op_set_operands(Op *op, Value *const *values, uint32_t count);
/* Puts `count` values in the place of `old` operands from `begin` on. */
void op_replace_operands(Op *op, uint32_t begin, uint32_t old, Value *const *values,
                         uint32_t count);
void op_erase_operand(Op *op, uint32_t index);
void op_set_successor(Op *op, uint32_t index, Block *block);
/* The op that contains this one, or NULL. */
Op *op_parent(const Op *op);
Op *op_parent_of_def(const Op *op, const OpDef *def); /* nearest ancestor of that kind, or NULL */
bool op_is_ancestor(const Op *ancestor, const Op *op); /* proper or equal */
Str op_name(const Op *op);

/* Attribute by name: inherent first, then discardable; NULL if absent. */
const Attr *op_attr(const Op *op, const char *name);
const Attr *op_attr_id(const Op *op, const Ident *name);
/* Sets (value NULL: removes) where it belongs: props if the table declares the name. */
void op_set_attr(Op *op, const char *name, const Attr *value);
void op_set_attr_id(Op *op, const Ident *name, const Attr *value);

bool value_has_uses(const Value *value);
bool value_has_one_use(const Value *value);
size_t value_use_count(const Value *value);
void value_replace_all(Value *from, Value *to);
void value_drop_uses(Value *value); /* their operands become NULL */
Op *value_def(const Value *value);          /* defining op, or NULL for an argument */
Block *value_block(const Value *value);     /* block that defines it */
const Attr *value_loc(const Value *value);
void use_set(Use *use, Value *value);
uint32_t use_index(const Use *use);         /* operand number */

Block *block_create(Context *ctx);
void block_append(Block *block, Region *region);
void block_insert_before(Block *block, Block *anchor);
void block_unlink(Block *block);
void block_erase(Block *block);
Value *block_add_arg(Block *block, const Type *type, const Attr *loc);
void block_erase_arg(Block *block, uint32_t index);
Op *block_parent_op(const Block *block);
Op *block_terminator(const Block *block); /* last op if it is a terminator, else NULL */
/* Moves all ops of `from` to the end of `to`. */
void block_splice(Block *to, Block *from);
/* Moves the ops after `op` to a new block behind its own, and returns that. */
Block *block_split_after(Op *op);
Block *region_add_block(Region *region);
Block *region_entry(const Region *region); /* first block or NULL */
void region_take(Region *to, Region *from); /* moves all blocks */
bool region_is_empty(const Region *region);
bool region_is_ancestor(const Region *ancestor, const Region *region); /* proper or equal */

/* Calls visit on op and everything in it, an op before its regions (pre-order) or after.
 * visit returns false to stop; the result says whether the walk ran to its end. The visited op
 * may be erased in post-order walks. */
typedef bool OpVisitor(Op *op, void *user);
bool op_walk(Op *op, OpVisitor *visit, void *user);
bool op_walk_post(Op *op, OpVisitor *visit, void *user);

/* Ops directly inside the op, in order; NULL: no more. */
Op *op_first_inner(const Op *op);
Op *op_next_inner(const Op *inner);

/* Adds the op and everything in it in pre-order, for walks that change what they walk over. */
typedef VEC(Op *) OpVec;
void op_collect(Op *op, OpVec *out);

#define FOR_EACH_BLOCK(block, region)                                                              \
    for (Block *block = (region)->first; block; block = block->next)
#define FOR_EACH_OP(op, block) for (Op *op = (block)->first; op; op = op->next)
/* The current op may be erased. */
#define FOR_EACH_OP_SAFE(op, block)                                                                \
    for (Op *op = (block)->first, *op##_next; op && (op##_next = op->next, true); op = op##_next)
/* Ops directly inside another, over all its regions and blocks. */
#define FOR_EACH_INNER(inner, op)                                                                  \
    for (Op *inner = op_first_inner(op); inner; inner = op_next_inner(inner))
#define FOR_EACH_USE(use, value) for (Use *use = (value)->uses; use; use = use->next)

#endif
