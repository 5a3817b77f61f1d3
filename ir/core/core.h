/* The IR itself: ops, values, blocks and regions; the tables (OpDef) that describe a dialect's ops
 * and the registry of dialects; builders; dominance; symbol tables; structural equality of ops.
 *
 * Ops, blocks and arguments live in the pool of their context. They are owned along the tree (an op
 * owns its regions, a region its blocks, a block its arguments and ops) and are freed by op_erase,
 * block_erase or with the context; a detached op or block belongs to whoever made it. An op is one
 * allocation: header, results, operands, successors, regions. An operand is always linked in its
 * value's list of uses, newest first, as upstream. Functions assert their preconditions; only hooks
 * and build_inferred can fail, with a diagnostic. Parser, printer, verifier, rewriter, passes and
 * all dialects build on this module.
 * Tests: test/unit/ir/core, lit/ir/verify */
#ifndef MING_IR_CORE_CORE_H
#define MING_IR_CORE_CORE_H

#include "ir/attr/attr.h"

/* Values, blocks, regions, ops. Fields may be read by everyone; they are changed by the functions
 * below, which keep the lists consistent.
 * Tests: test/unit/ir/core/op_test.c */

/* One operand: a use of `value` by `owner`. */
typedef struct Use {
    Value *value;
    Op *owner;
    struct Use *next, **prev; /* in value's list */
} Use;

/* One successor: a use of a block by a terminator. */
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
    BlockUse *uses; /* predecessors' successor slots */
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
    Block *block; /* NULL: detached */
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

/* Arguments of op_create, which copies all arrays. */
typedef struct OpState {
    const Ident *name;
    const Attr *loc;
    Value *const *operands;
    const Type *const *result_types;
    Block *const *successors;
    const Attr *attrs, *props; /* dictionaries, or NULL for empty */
    uint32_t operand_count, result_count, successor_count, region_count;
} OpState;

/* Creates a detached op with empty regions, which the caller inserts or erases. Attributes in
 * `attrs` that the op's row declares as inherent move to props; the row's defaults are added. */
Op *op_create(Context *ctx, const OpState *state);
/* Unlinks the op and frees it with everything in it. Its results must not have uses outside it. */
void op_erase(Op *op);
/* Makes a detached deep copy. Operands defined outside the op keep their values unless `values`
 * (Value* -> Value*, may be NULL) maps them. The map receives the copied results and arguments. */
Op *op_clone(const Op *op, PtrMap *values);
/* Copies the blocks of a region in front of a block of another region (or its own). `values` maps
 * as in op_clone, and blocks too; arguments that it maps already are replaced instead of copied. */
void region_clone(const Region *from, Block *before, PtrMap *values);
/* Link a detached op into a block; op_unlink detaches it again without freeing it. */
void op_insert_before(Op *op, Op *anchor);
void op_insert_after(Op *op, Op *anchor);
void op_append(Op *op, Block *block);
void op_prepend(Op *op, Block *block);
void op_unlink(Op *op);
bool op_is_before(const Op *a, const Op *b); /* both are in one block; takes constant time */

static inline Value *op_operand(const Op *op, uint32_t index)
{
    return op->operands[index].value;
}

static inline Value *op_result(const Op *op, uint32_t index)
{
    return &op->results[index];
}

static inline Region *op_region(const Op *op, uint32_t index)
{
    return &op->regions[index];
}

void op_set_operand(Op *op, uint32_t index, Value *value);
/* Replaces the whole operand list, whose length may change. */
void op_set_operands(Op *op, Value *const *values, uint32_t count);
/* Replaces the `old` operands from `begin` on by `count` values. */
void op_replace_operands(Op *op, uint32_t begin, uint32_t old, Value *const *values,
                         uint32_t count);
void op_erase_operand(Op *op, uint32_t index);
void op_set_successor(Op *op, uint32_t index, Block *block);
/* The op that contains this one, or NULL. */
Op *op_parent(const Op *op);
Op *op_parent_of_def(const Op *op, const OpDef *def);  /* nearest ancestor of that kind, or NULL */
bool op_is_ancestor(const Op *ancestor, const Op *op); /* proper or equal */
Str op_name(const Op *op);

/* The attribute of that name, inherent ones first, then discardable ones; NULL if absent. */
const Attr *op_attr(const Op *op, const char *name);
const Attr *op_attr_id(const Op *op, const Ident *name);
/* Sets an attribute, or removes it if value is NULL. It goes to props if the row declares the name,
 * else to the discardable attributes. */
void op_set_attr(Op *op, const char *name, const Attr *value);
void op_set_attr_id(Op *op, const Ident *name, const Attr *value);

/* Uses of values. value_replace_all lets every use of `from` use `to`, another value. */
bool value_has_uses(const Value *value);
bool value_has_one_use(const Value *value);
size_t value_use_count(const Value *value);
void value_replace_all(Value *from, Value *to);
void value_drop_uses(Value *value);     /* their operands become NULL */
Op *value_def(const Value *value);      /* defining op, or NULL for an argument */
Block *value_block(const Value *value); /* block that defines it */
const Attr *value_loc(const Value *value);
void use_set(Use *use, Value *value);
uint32_t use_index(const Use *use); /* operand number */

/* Blocks. block_create gives a detached block, which the caller appends to a region or erases;
 * block_erase frees a block with its ops. An erased argument must not have uses. */
Block *block_create(Context *ctx);
void block_append(Block *block, Region *region);
void block_insert_before(Block *block, Block *anchor);
void block_unlink(Block *block);
void block_erase(Block *block);
Value *block_add_arg(Block *block, const Type *type, const Attr *loc);
void block_erase_arg(Block *block, uint32_t index);
Op *block_parent_op(const Block *block);
Op *block_terminator(const Block *block); /* last op if it is a terminator, else NULL */
/* Moves all ops of `from` to the end of `to`; `from` stays, empty. */
void block_splice(Block *to, Block *from);
/* Moves the ops behind `op` to a new block behind op's block, and returns the new block. */
Block *block_split_after(Op *op);
Block *region_add_block(Region *region);
Block *region_entry(const Region *region);  /* first block or NULL */
void region_take(Region *to, Region *from); /* moves all blocks */
bool region_is_empty(const Region *region);
bool region_is_ancestor(const Region *ancestor, const Region *region); /* proper or equal */

/* Calls visit on op and everything in it, an op before its regions (pre-order) or after them. visit
 * returns false to stop the walk; the result says whether the walk ran to its end. In a post-order
 * walk the visited op may be erased. */
typedef bool OpVisitor(Op *op, void *user);
bool op_walk(Op *op, OpVisitor *visit, void *user);
bool op_walk_post(Op *op, OpVisitor *visit, void *user);

/* The ops directly inside an op, over all its regions and blocks in order; NULL after the last. */
Op *op_first_inner(const Op *op);
Op *op_next_inner(const Op *inner);

/* Appends the op and everything in it in pre-order, for walks that change what they walk over. */
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

/* Op tables. A dialect writes one OpDef row per op as OP(ID, "name", .field = ...) in
 * dialects/<d>/<d>_ops.def and includes the file twice, for the enum and for the table. The core
 * checks and does what the rows declare: arity, constraints of types and attributes, traits, the
 * declarative assembly format. Hooks add what relates the parts to each other. Rows and definitions
 * are constants of the program; the context refers to them.
 * Tests: test/unit/ir/core/opdef_test.c, lit/ir/verify/verify.mir */

typedef struct OpParser OpParser;   /* ir/asm/parse/parse.h */
typedef struct OpPrinter OpPrinter; /* ir/asm/print/print.h */
typedef struct Rewriter Rewriter;   /* ir/rewrite/rewrite.h */
typedef struct PatternSet PatternSet;
typedef struct SymbolTables SymbolTables; /* below */

/* A predicate on types, with the words that diagnostics use: "must be <what>, but got 'f32'". */
typedef struct TypeConstraint {
    bool (*test)(const Type *type);
    const char *what;
    const Type *(*only)(Context *ctx); /* the one type that passes (assembly formats leave it
                                          out), or NULL: several do */
    bool (*parses)(const Type *type);  /* types an assembly format reads at all, or NULL: any */
} TypeConstraint;

/* A predicate on attributes, with the way in which assembly formats write those that satisfy it. */
typedef struct AttrConstraint {
    bool (*test)(const Attr *attr);
    /* Whether upstream stores attributes of this class for the constraint; the parser then accepts
     * them and leaves the test to the verifier. NULL: the parser accepts only those that pass. */
    bool (*stores)(const Attr *attr);
    const char *what; /* "attribute 'x' failed to satisfy constraint: <what>" */
    /* The way in which assembly formats write the attribute; by default in attribute syntax. Bare
     * kinds parse and print the value alone, because the constraint fixes the type (if any). */
    enum {
        ATTR_SYNTAX,
        ATTR_SYNTAX_SYMBOL_NAME,
        ATTR_SYNTAX_BARE_INT,
        ATTR_SYNTAX_TYPE,
        ATTR_SYNTAX_STRING,
        ATTR_SYNTAX_ENUM,
        ATTR_SYNTAX_UNIT,
        ATTR_SYNTAX_INT_LIST /* array<i64> as [1, 2] */
    } syntax;
    const Type *(*bare_type)(Context *ctx); /* of bare integers */
    const char *const *enum_names;          /* NULL-terminated, of ATTR_SYNTAX_ENUM: keywords
                                               stored as i32/i64 integers, index = value */
    const AttrDef *param;                   /* enum attributes stored as dialect attributes */
} AttrConstraint;

/* Whether the attribute is of the class that `stores` asks for, or without one satisfies `test`. */
bool constraint_stores(const AttrConstraint *constraint, const Attr *attr);

/* Predicates for `stores`, each a class of upstream's: IntegerAttr, StringAttr, ArrayAttr,
 * TypeAttr, DenseIntElementsAttr, DenseI64ArrayAttr. */
bool constraint_is_integer(const Attr *attr);
bool constraint_is_string(const Attr *attr);
bool constraint_is_array(const Attr *attr);
bool constraint_is_type(const Attr *attr);
bool constraint_is_dense_ints(const Attr *attr);
bool constraint_is_i64_array(const Attr *attr);

/* Common constraints, worded as upstream words them (ir/core/constraints.c). */
extern const TypeConstraint TYPE_ANY, TYPE_ANY_INTEGER, TYPE_SIGNLESS_INTEGER_LIKE, TYPE_FLOAT_LIKE,
    TYPE_INDEX_ONLY, TYPE_I1, TYPE_BOOL_LIKE, TYPE_ANY_TENSOR, TYPE_RANKED_TENSOR_ONLY,
    TYPE_STATIC_TENSOR, TYPE_ANY_SHAPED;
extern const AttrConstraint ATTR_ANY_ATTR, ATTR_IS_STRING, ATTR_IS_SYMBOL_NAME, ATTR_IS_I64,
    ATTR_IS_I32, ATTR_IS_BOOL, ATTR_IS_UNIT, ATTR_IS_TYPE, ATTR_IS_ARRAY, ATTR_IS_DICT, ATTR_IS_MAP,
    ATTR_IS_SET, ATTR_IS_ELEMENTS, ATTR_IS_I64_ARRAY, ATTR_IS_FLAT_SYMBOL, ATTR_IS_FUNCTION_TYPE,
    ATTR_IS_DICT_ARRAY, ATTR_IS_TYPED;

typedef enum Arity { ARITY_ONE, ARITY_OPTIONAL, ARITY_VARIADIC } Arity;

/* One declared operand or result group. */
typedef struct ArgDef {
    const char *name;
    const TypeConstraint *type;
    Arity arity;
} ArgDef;

/* One declared inherent attribute. default_text: attribute syntax, NULL if none. */
typedef struct AttrArgDef {
    const char *name;
    const AttrConstraint *attr;
    bool optional;
    const char *default_text;
} AttrArgDef;

typedef struct RegionDef {
    const char *name;
    bool single_block; /* exactly one block */
    bool any_blocks;   /* any number, empty too */
} RegionDef;

/* Lists of a row end with a nameless element, which these macros add. */
#define ARGS(...)                                                                                  \
    (const ArgDef[])                                                                               \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define ATTRS(...)                                                                                 \
    (const AttrArgDef[])                                                                           \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define REGIONS(...)                                                                               \
    (const RegionDef[])                                                                            \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Traits, named as upstream names them or explained. */

enum {
    TRAIT_PURE = 1u << 0, /* no effects, speculatable: CSE and DCE may act */
    TRAIT_COMMUTATIVE = 1u << 1,
    TRAIT_TERMINATOR = 1u << 2,
    TRAIT_ISOLATED = 1u << 3, /* IsolatedFromAbove */
    TRAIT_SYMBOL = 1u << 4,   /* sym_name, sym_visibility */
    TRAIT_SYMBOL_TABLE = 1u << 5,
    TRAIT_SINGLE_BLOCK = 1u << 6, /* every region */
    TRAIT_NO_TERMINATOR = 1u << 7,
    TRAIT_SAME_OPERANDS_AND_RESULT_TYPE = 1u << 8,
    TRAIT_SAME_TYPE_OPERANDS = 1u << 9,
    TRAIT_SAME_OPERANDS_AND_RESULT_SHAPE = 1u << 10,
    TRAIT_SAME_OPERANDS_ELEMENT_TYPE = 1u << 11,
    TRAIT_CONSTANT_LIKE = 1u << 12, /* folds to its "value" attribute */
    TRAIT_ELEMENTWISE = 1u << 13,   /* ElementwiseMappable */
    TRAIT_READS = 1u << 14,         /* reads memory or a stream */
    TRAIT_WRITES = 1u << 15,
    TRAIT_ALLOCATES = 1u << 16,
    TRAIT_RECURSIVE_EFFECTS = 1u << 17, /* effects are those of its regions */
    TRAIT_FUNCTION = 1u << 18,          /* func-like: sym_name, function_type, one body region */
    TRAIT_RETURN_LIKE = 1u << 19,
    TRAIT_GRAPH_REGION = 1u << 20,        /* no dominance inside */
    TRAIT_ATTR_SIZED_OPERANDS = 1u << 21, /* operandSegmentSizes */
    TRAIT_ATTR_SIZED_RESULTS = 1u << 22,  /* resultSegmentSizes */
    TRAIT_IDEMPOTENT = 1u << 23,
    TRAIT_INVOLUTION = 1u << 24,
    TRAIT_AFFINE_SCOPE = 1u << 25,
    TRAIT_CALL = 1u << 26, /* "callee" flat symbol */
    TRAIT_SAME_OPERANDS_AND_RESULT_ELEMENT_TYPE = 1u << 27,
    TRAIT_MEMREF_EFFECTS = 1u << 28, /* reads and writes its memref operands, nothing else */
    TRAIT_SHAPED_DIM = 1u << 30,     /* an extent of operand 0 (ShapedDimOpInterface) */
    TRAIT_GROUPS_IN_ORDER = 1u << 29 /* optional groups are filled from the first one on; only a
                                         last one may be variadic */
};

/* The value or the constant attribute that a result folds to; both NULL: it does not fold. */
typedef struct FoldResult {
    Value *value;
    const Attr *attr;
} FoldResult;

/* The row of one op. Absent hooks are NULL. */

struct OpDef {
    const char *id;   /* enumerator, for messages about the table */
    const char *name; /* without dialect prefix */
    const DialectDef *dialect;
    const char *summary, *description;
    const ArgDef *operands, *results;
    const AttrArgDef *attrs;
    const RegionDef *regions;
    uint32_t successor_count;
    bool variadic_successors;
    /* Operands that become a successor's arguments, in order; NULL: not known. */
    void (*successor_operands)(const Op *op, uint32_t successor, uint32_t *begin, uint32_t *count);
    /* Replaces these operands by others, in any number; present if and only if successor_operands
     * is. */
    void (*set_successor_operands)(Op *op, uint32_t successor, Value *const *values,
                                   uint32_t count);
    uint32_t traits;
    const char *parent; /* full name of the op that must contain it, or several with '|' */
    const char *implicit_terminator; /* full name: made by the parser, hidden by the printer when
                                        it has no operands, results and attributes */
    const char *format;              /* declarative assembly, docs/assembly-format.md; or hooks: */
    bool (*parse)(OpParser *p);
    void (*print)(OpPrinter *p, const Op *op);
    bool (*verify_types)(Op *op);   /* relations between types, before the traits are checked:
                                       "failed to verify that all of {a, b} have same type" */
    bool (*verify)(Op *op);         /* after the declared checks and the traits hold */
    bool (*verify_regions)(Op *op); /* after the nested ops were verified */
    /* Checks references to symbols; called when the surrounding symbol table is verified.
     * Look up with symtabs_lookup (ir/core/core.h), which is fast. */
    bool (*verify_symbols)(Op *op, SymbolTables *tables);
    /* Computes result types from operands, attributes and regions; used by the parser where the
     * format leaves types out, by the builder, and checked by the verifier. False: diagnosed. */
    bool (*infer)(Op *op, const Type **results);
    /* Operands' constant attributes are in `operands` (NULL where not constant). True if folded:
     * `results` filled, or the op was updated in place (results untouched). */
    bool (*fold)(Op *op, const Attr *const *operands, FoldResult *results);
    void (*canonicalize)(PatternSet *set); /* adds its patterns */
    /* Suggested SSA names of results and of region arguments ("c0_i32", "in"); may be NULL. */
    const char *(*result_name)(const Op *op, uint32_t index, StrBuf *scratch);
    const char *(*arg_name)(const Op *op, const Value *arg, StrBuf *scratch);
    const void *data; /* the dialect's own table for the op, or NULL */
};

struct TypeDef {
    const char *name; /* !dialect.name */
    const DialectDef *dialect;
    const char *summary;
    const Type *(*parse)(OpParser *p); /* after the name; NULL: diagnosed */
    void (*print)(StrBuf *out, const Type *type);
    bool (*verify)(Context *ctx, const Attr *loc, const Attr *const *params, size_t count);
};

struct AttrDef {
    const char *name; /* #dialect.name, or #dialect<name …> */
    const DialectDef *dialect;
    const char *summary;
    bool bracketed; /* printed #dialect<name params> as older upstream enums are */
    const Attr *(*parse)(OpParser *p, const Type *type);
    void (*print)(StrBuf *out, const Attr *attr);
    /* Checks the attribute as the encoding of a tensor of that rank and element type. False:
     * diagnosed. */
    bool (*verify_tensor)(const Attr *attr, const Attr *loc, uint32_t rank, const Type *elem);
    const char *alias; /* alias stem the printer uses ("map" for maps), or NULL */
};

struct DialectDef {
    const char *name;
    const char *summary, *description;
    const OpDef *ops;
    size_t op_count;
    const TypeDef *const *types; /* NULL-terminated, or NULL */
    const char *unknown_type;    /* what precedes a wrong type name in its message, or NULL */
    const AttrDef *const *attrs; /* NULL-terminated, or NULL */
    /* Builds a constant op of this dialect for `value`, or returns NULL. */
    Op *(*materialize)(Context *ctx, const Attr *value, const Type *type, const Attr *loc);
    /* Checks a discardable attribute with this dialect's prefix. */
    bool (*verify_op_attr)(Op *op, const NamedAttr *attr);
    bool (*verify_arg_attr)(Op *func, uint32_t index, const NamedAttr *attr);
    /* The operand that a result of the op is written into, or NULL
     * (DestinationStyleOpInterface). */
    Value *(*destination)(const Op *op, uint32_t result);
    void (*canonicalize)(PatternSet *set); /* adds the patterns that belong to no row */
    bool is_default_in_functions; /* OpAsmOpInterface default dialect inside builtin.module/func */
    /* Answers for sections of file metadata, as upstream's OpAsmDialectInterface does. */
    bool has_asm_hooks;
    bool types_in_memory; /* memrefs may hold a foreign dialect's types */
    uint32_t inlining;    /* INLINE_*; 0: nothing of it takes part */
};

/* The part that a dialect's ops may take in inlining. */
enum {
    INLINE_OPS = 1u << 0,  /* they may be copied to another place with the body they are in */
    INLINE_INTO = 1u << 1, /* bodies may be inlined into their regions */
    INLINE_CALLS = 1u << 2 /* its calls may be replaced by the body of the callee */
};

/* The registered form of a row, with names resolved and the format compiled. Each context has its
 * own; it owns them. */
struct OpInfo {
    const OpDef *def;
    const Ident *name;              /* full name */
    const Ident *const *attr_names; /* parallel to def->attrs */
    const uint32_t *attr_order;     /* their indices sorted by name: the order of checks */
    uint32_t operand_groups, result_groups, attr_count, region_groups;
    const struct Format *format;      /* compiled assembly format, or NULL */
    const Attr *const *attr_defaults; /* parallel to def->attrs; NULL: none */
    const Attr *default_props;        /* dictionary of the non-optional attributes' defaults */
    const Ident *operand_segments, *result_segments; /* the segment-size names, or NULL */
};

const OpInfo *op_info(const Op *op); /* NULL: unregistered */
bool op_has_trait(const Op *op, uint32_t trait);
bool op_is_pure(const Op *op); /* no effects, looking into regions where the trait says so */
bool op_is_trivially_dead(const Op *op);
bool op_is_removable(const Op *op);  /* dead once its results have no uses */
bool op_is_terminator(const Op *op); /* registered terminator */
/* Range of the operands or results that belong to a declared group, by segment sizes or arity. */
void op_operand_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count);
void op_result_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count);
/* Replaces the operands of one group and sets its segment size. */
void op_set_operand_group(Op *op, uint32_t group, Value *const *values, uint32_t count);

/* The operand that this result is written into (destination-passing style); NULL for arguments and
 * for ops without destinations. */
Value *value_destination(const Value *result);

/* The part of an op's or attribute's name before the first dot; empty if there is no dot. */
Str dialect_prefix(Str name);

/* A result_name hook for ops with several results, which suggests the names that the row
 * declares. */
const char *opdef_result_name(const Op *op, uint32_t index, StrBuf *scratch);

/* Dialects of a context. dialect_register (ir/asm/parse/parse.h) adds one with its ops; it is in
 * the parser's module because default attributes and formats are text. */
const DialectDef *dialect_lookup(const Context *ctx, Str name_space); /* NULL: not registered */
/* Makes a dialect of upstream's known whose ops are not implemented here and count as unregistered.
 * The attributes in its table are read and checked; its other attributes and its types are kept as
 * text, with upstream's spacing. Registering twice is harmless. */
void dialect_register_foreign(Context *ctx, const DialectDef *dialect);
const DialectDef *dialect_lookup_foreign(const Context *ctx, Str name_space); /* NULL: none */
/* The dialect, registered or foreign, that reads and checks attributes of that prefix, or NULL. */
const DialectDef *dialect_of_attrs(const Context *ctx, Str name_space);
/* All registered dialects in order of their names. */
size_t dialect_count(const Context *ctx);
const DialectDef *dialect_at(const Context *ctx, size_t index);
/* Whether ops, types and attributes of unregistered dialects are accepted. Off at first. */
void dialect_allow_unregistered(Context *ctx, bool allow);
bool dialect_allows_unregistered(const Context *ctx);
/* For dialect_register alone: add a dialect without its ops, and the row of one op. */
void dialect_add(Context *ctx, const DialectDef *dialect);
void opinfo_add(Context *ctx, const OpDef *def, const OpInfo *info);

/* The OpInfo of an op's full name ("arith.addi"), or of a row; NULL if it is not registered. */
const OpInfo *opinfo_lookup(Context *ctx, Str full_name);
const OpInfo *opinfo_of_def(const Context *ctx, const OpDef *def);

/* Whether the row declares that name as an inherent attribute. */
bool opinfo_is_inherent(const OpInfo *info, const Ident *name);

/* Builders create ops at an insertion point. Result types come from the caller or, with
 * build_inferred, from the row's infer hook. A Builder is a plain value that may be copied.
 * Tests: test/unit/ir/core/op_test.c, test/unit/ir/rewrite/rewrite_test.c */

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
/* A builder whose ops stay detached; their location is that of b. */
Builder builder_detached(const Builder *b);
void builder_set_before(Builder *b, Op *op);
void builder_set_end(Builder *b, Block *block);

/* Inserts a detached op at the builder's point and calls the `created` hook; returns the op. */
Op *builder_insert(Builder *b, Op *op);

/* Builds an op from its parts; without a location it gets that of the builder. */
Op *build_op(Builder *b, const OpState *state);
/* Builds an op of a row. attrs may be NULL; the declared regions stay empty. The dialect must be
 * registered. */
Op *build(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
          const Type *const *result_types, uint32_t result_count, const NamedAttr *attrs,
          uint32_t attr_count);
/* Like build, with result types from the row's infer hook or its same-type trait. NULL:
 * diagnosed. */
Op *build_inferred(Builder *b, const OpDef *def, Value *const *operands, uint32_t operand_count,
                   const NamedAttr *attrs, uint32_t attr_count);
/* Ops with one result and one or two operands, which most rewrites need; the result is returned. */
Value *build_unary(Builder *b, const OpDef *def, const Type *type, Value *operand);
Value *build_binary(Builder *b, const OpDef *def, const Type *type, Value *lhs, Value *rhs);
/* An entry of the arrays of attributes above. */
NamedAttr build_named_attr(Context *ctx, const char *name, const Attr *value);

/* Dominance between blocks and values, for the verifier, CSE and the parser.
 * Tests: test/unit/ir/core/op_test.c, lit/ir/verify/verify.mir */

/* Dominator trees of regions, computed when first asked for and kept until dominance_invalidate,
 * which must be called after blocks or branches have changed. The caller frees the object. */
typedef struct Dominance Dominance;
Dominance *dominance_create(void);
void dominance_free(Dominance *dom);
void dominance_invalidate(Dominance *dom);
bool dominance_block(Dominance *dom, Block *a, Block *b); /* a dominates b, reflexive */
/* Whether the value may be used by `user`, as far as dominance goes. */
bool dominance_value(Dominance *dom, Value *value, Op *user);
bool block_is_reachable(Dominance *dom, Block *block);
/* Walk over the children of a block in the dominator tree of a region with several blocks; NULL: no
 * more. */
Block *dominance_first_child(Dominance *dom, Block *block);
Block *dominance_next_sibling(Dominance *dom, Block *block);
typedef VEC(Block *) BlockVec;
/* Appends the blocks that are reachable from the region's entry in postorder: each after its
 * successors, cycles aside. */
void region_postorder(const Region *region, BlockVec *out);
/* Whether ops of the region may only use what is defined before them (it is no graph region). */
bool region_has_order(const Region *region);

/* Structural equality of ops: name, attributes, types, operands (in any order where the op is
 * commutative), and regions up to the naming of what they define. Locations do not count.
 * Tests: lit/passes/common/cse.mir */

/* A hash that is equal for equal ops. It depends on addresses, so it must not decide any order. */
uint64_t op_hash(const Op *op);
bool op_equal(const Op *a, const Op *b);
/* The same without operands, successors and the contents of regions. */
uint64_t op_header_hash(const Op *op);
bool op_header_equal(const Op *a, const Op *b);

/* Symbol tables: lookup by name, nested references, uses, unique names.
 * Tests: test/unit/ir/core/symbol_test.c */

const Ident *symbol_name(const Op *op); /* sym_name of a symbol op, or NULL */
/* The symbol of that name directly in a symbol-table op, or NULL. It searches linearly; build a
 * SymbolTable for repeated look-ups. */
Op *symbol_lookup_in(const Op *table, const Ident *name);
/* Resolves a reference: the nearest symbol table at or around `from` resolves its root, the symbols
 * found resolve the nested names. NULL: not found. */
Op *symbol_lookup(const Op *from, const Attr *ref);

/* Calls visit for each symbol reference in the attributes of the op and of the ops in it, except
 * for those inside nested symbol tables. Returns an unregistered op that might be a symbol table,
 * or NULL if there is none; its inside is visited too. */
typedef void SymbolUseVisitor(void *data, Op *user, const Attr *ref);
Op *symbol_each_use(Op *op, SymbolUseVisitor *visit, void *data);

/* An index of the symbols directly in an op. It is the user's to keep up to date: symbols that are
 * added or renamed otherwise than by symtab_insert are not seen. */
typedef struct SymbolTable {
    Op *op;
    PtrMap by_name;  /* Ident* -> Op* */
    PtrMap suffixes; /* Ident* -> next number tried, as uintptr_t */
} SymbolTable;
void symtab_init(SymbolTable *table, Op *op);
void symtab_free(SymbolTable *table);
Op *symtab_get(const SymbolTable *table, const Ident *name);
/* Adds a symbol, renaming it (name_0, name_1, …) if its name is taken; returns its name. A detached
 * op is inserted at the end of the table's body, before a terminator. */
const Ident *symtab_insert(SymbolTable *table, Op *op);

/* Symbol tables that are built on demand, for many look-ups while symbols do not change. The caller
 * frees them. */
SymbolTables *symtabs_create(void);
void symtabs_free(SymbolTables *tables);
Op *symtabs_lookup(SymbolTables *tables, const Op *from, const Attr *ref);

#endif
