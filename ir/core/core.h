/* Operations, values, blocks, regions and use lists.
 *
 * An op is one pool allocation: header, results, operands, successors, regions. A use is
 * always linked in its value's list; lists are in order of creation, newest first, as upstream.
 * Everything belongs to the context's op pool and is freed by op_erase or with the context.
 * Tests: test/unit/ir/core/op_test.c */
#ifndef MING_IR_CORE_CORE_H
#define MING_IR_CORE_CORE_H

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
/* Replaces the whole operand list; it may grow. */
void op_set_operands(Op *op, Value *const *values, uint32_t count);
/* Puts `count` values in the place of `old` operands from `begin` on. */
void op_replace_operands(Op *op, uint32_t begin, uint32_t old, Value *const *values,
                         uint32_t count);
void op_erase_operand(Op *op, uint32_t index);
void op_set_successor(Op *op, uint32_t index, Block *block);
/* The op that contains this one, or NULL. */
Op *op_parent(const Op *op);
Op *op_parent_of_def(const Op *op, const OpDef *def);  /* nearest ancestor of that kind, or NULL */
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
void value_drop_uses(Value *value);     /* their operands become NULL */
Op *value_def(const Value *value);      /* defining op, or NULL for an argument */
Block *value_block(const Value *value); /* block that defines it */
const Attr *value_loc(const Value *value);
void use_set(Use *use, Value *value);
uint32_t use_index(const Use *use); /* operand number */

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
Block *region_entry(const Region *region);  /* first block or NULL */
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

/* Op tables: one OpDef row per op, written as OP(ID, "name", .field = ...) in
 * dialects/<d>/<d>_ops.def and included twice (enum, table). What the rows declare, the
 * core checks and does: arity, type and attribute constraints, traits, the declarative
 * assembly format; hooks add what relates the parts.
 * Tests: test/unit/ir/core/opdef_test.c, lit/ir/verify/verify.mir */

typedef struct OpParser OpParser;   /* ir/asm/parse/parse.h */
typedef struct OpPrinter OpPrinter; /* ir/asm/print/print.h */
typedef struct Rewriter Rewriter;   /* ir/rewrite/rewrite.h */
typedef struct PatternSet PatternSet;
typedef struct SymbolTables SymbolTables; /* ir/core/core.h */

/* A predicate with the words diagnostics use: "must be <what>, but got 'f32'". */
typedef struct TypeConstraint {
    bool (*test)(const Type *type);
    const char *what;
    const Type *(*only)(Context *ctx); /* the one type that passes (assembly formats leave it
                                          out), or NULL: several do */
    bool (*parses)(const Type *type);  /* types an assembly format reads at all, or NULL: any */
} TypeConstraint;

typedef struct AttrConstraint {
    bool (*test)(const Attr *attr);
    /* Attributes of the class upstream stores: parsers let them through and leave the test to the
     * verifier. NULL: only those that pass. */
    bool (*stores)(const Attr *attr);
    const char *what; /* "attribute 'x' failed to satisfy constraint: <what>" */
    /* How the assembly format writes it. Default: attribute syntax. Bare kinds parse and print
     * the value alone: the type (if any) is fixed by the constraint. */
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

bool constraint_stores(const AttrConstraint *constraint, const Attr *attr);

/* Classes for `stores`: IntegerAttr, StringAttr, ArrayAttr, TypeAttr, DenseIntElementsAttr,
 * DenseI64ArrayAttr. */
bool attr_is_integer(const Attr *attr);
bool attr_is_string(const Attr *attr);
bool attr_is_array(const Attr *attr);
bool attr_is_type(const Attr *attr);
bool attr_is_dense_ints(const Attr *attr);
bool attr_is_i64_array(const Attr *attr);

/* Common ones, worded as upstream words them (ir/core/constraints.c). */
extern const TypeConstraint TYPE_ANY, TYPE_ANY_INTEGER, TYPE_SIGNLESS_INTEGER_LIKE, TYPE_FLOAT_LIKE,
    TYPE_SIGNLESS_INT_OR_INDEX, TYPE_INDEX_ONLY, TYPE_I1, TYPE_BOOL_LIKE, TYPE_ANY_TENSOR,
    TYPE_RANKED_TENSOR_ONLY, TYPE_STATIC_TENSOR, TYPE_ANY_SHAPED;
extern const AttrConstraint ATTR_ANY_ATTR, ATTR_IS_STRING, ATTR_IS_SYMBOL_NAME, ATTR_IS_I64,
    ATTR_IS_I32, ATTR_IS_BOOL, ATTR_IS_UNIT, ATTR_IS_TYPE, ATTR_IS_ARRAY, ATTR_IS_DICT, ATTR_IS_MAP,
    ATTR_IS_SET, ATTR_IS_ELEMENTS, ATTR_IS_DENSE_I64, ATTR_IS_I64_ARRAY, ATTR_IS_FLAT_SYMBOL,
    ATTR_IS_FUNCTION_TYPE, ATTR_IS_DICT_ARRAY, ATTR_IS_TYPED;

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

/* Lists end with a nameless element; the macros add it. */
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

/* Traits. */

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

/* What a result folds to: an existing value, or a constant attribute; both NULL: not folded. */
typedef struct FoldResult {
    Value *value;
    const Attr *attr;
} FoldResult;

/* The row. */

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
    /* Replaces them by others, any number; present together with the former. */
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
    const void *data; /* free for a dialect's own tables (linalg's structured ops, onnx) */
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
    /* As the encoding of a tensor of that rank and element type: does it fit? Else a message. */
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

/* What inlining may do with a dialect's ops. */
enum {
    INLINE_OPS = 1u << 0,  /* they may be copied to another place with the body they are in */
    INLINE_INTO = 1u << 1, /* bodies may be inlined into their regions */
    INLINE_CALLS = 1u << 2 /* its calls may be replaced by the body of the callee */
};

/* Registered form of a row: names resolved, format compiled. One per context. */
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
/* Operands or results of one declared group, by segment sizes or arity. */
void op_operand_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count);
void op_result_group(const Op *op, uint32_t group, uint32_t *begin, uint32_t *count);
/* Replaces the operands of one group; sets its segment size. */
void op_set_operand_group(Op *op, uint32_t group, Value *const *values, uint32_t count);

/* The operand that the op of this result writes into; NULL for arguments and ops without
 * destinations. */
Value *value_destination(const Value *result);

/* What precedes the first dot of an op's or attribute's name; empty without one. */
Str dialect_prefix(Str name);

/* A result_name hook for ops with several results: the names the row declares. */
const char *opdef_result_name(const Op *op, uint32_t index, StrBuf *scratch);

/* Dialects of a context. dialect_register (ir/asm/parse/parse.h) adds one with its ops. */
const DialectDef *dialect_lookup(const Context *ctx, Str name_space); /* NULL: not registered */
/* A dialect of upstream's whose ops are unknown here: they count as unregistered. The attributes
 * in its table are read and checked; its other attributes and its types are kept as text, with
 * upstream's spacing. Registering twice is harmless. */
void dialect_register_foreign(Context *ctx, const DialectDef *dialect);
const DialectDef *dialect_lookup_foreign(const Context *ctx, Str name_space); /* NULL: none */
/* The dialect that reads and checks attributes of that prefix: registered, foreign, or NULL. */
const DialectDef *dialect_of_attrs(const Context *ctx, Str name_space);
/* All registered dialects in order of their names. */
size_t dialect_count(const Context *ctx);
const DialectDef *dialect_at(const Context *ctx, size_t index);
/* Unregistered dialects' ops, types and attributes are accepted only if this is set. */
void dialect_allow_unregistered(Context *ctx, bool allow);
bool dialect_allows_unregistered(const Context *ctx);
/* For dialect_register alone: adds a dialect without its ops, and the row of one op. */
void dialect_add(Context *ctx, const DialectDef *dialect);
void opinfo_add(Context *ctx, const OpDef *def, const OpInfo *info);

/* The OpInfo of a registered op's full name ("arith.addi"), or of a row; NULL: none. */
const OpInfo *opinfo_lookup(Context *ctx, Str full_name);
const OpInfo *opinfo_of_def(const Context *ctx, const OpDef *def);

/* Looks up whether an attribute name is inherent for the op's row. */
bool opinfo_is_inherent(const OpInfo *info, const Ident *name);

/* Builds ops at an insertion point. Result types come from the caller or, with
 * build_inferred, from the op's infer hook. */

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

/* Dominance between blocks and values, as verification, CSE and parsing ask for it.
 * Tests: test/unit/ir/core/op_test.c, lit/ir/verify/verify.mir */

/* Dominance of a region tree, computed on demand. */
typedef struct Dominance Dominance;
Dominance *dominance_create(void);
void dominance_free(Dominance *dom);
void dominance_invalidate(Dominance *dom);
bool dominance_block(Dominance *dom, Block *a, Block *b); /* a dominates b, reflexive */
bool dominance_value(Dominance *dom, Value *value, Op *user);
bool block_is_reachable(Dominance *dom, Block *block);
/* Children in the dominator tree of a region with several blocks; NULL: no more. */
Block *dominance_first_child(Dominance *dom, Block *block);
Block *dominance_next_sibling(Dominance *dom, Block *block);
typedef VEC(Block *) BlockVec;
/* Blocks reachable from the region's entry, each after its successors where there is no cycle. */
void region_postorder(const Region *region, BlockVec *out);
/* Whether ops of the region's blocks may use only what comes before them. */
bool region_has_order(const Region *region);

/* Structural equality of ops: name, attributes, types, operands (in any order where the op is
 * commutative), and regions up to the naming of what they define. Locations do not count.
 * Tests: lit/passes/common/cse.mir */

/* Equal for equal ops; depends on addresses, so it must not decide an order. */
uint64_t op_hash(const Op *op);
bool op_equal(const Op *a, const Op *b);
/* The same without operands, successors and what regions hold. */
uint64_t op_header_hash(const Op *op);
bool op_header_equal(const Op *a, const Op *b);

/* Symbol tables: lookup by name, nested references, uses, unique names.
 * Tests: test/unit/ir/core/symbol_test.c */

const Ident *symbol_name(const Op *op); /* sym_name of a symbol op, or NULL */
/* Symbol of that name directly in a symbol-table op, or NULL. Linear: build a SymbolTable for
 * repeated look-ups. */
Op *symbol_lookup_in(const Op *table, const Ident *name);
/* From `from` outward: the nearest enclosing symbol table resolves the root, then nested. */
Op *symbol_lookup(const Op *from, const Attr *ref);

/* Calls visit for each symbol reference in the attributes of the op and of what it holds, nested
 * symbol tables left out. Returns the first op found that might be a symbol table unknown to the
 * context, or NULL; its inside is visited too. */
typedef void SymbolUseVisitor(void *data, Op *user, const Attr *ref);
Op *symbol_each_use(Op *op, SymbolUseVisitor *visit, void *data);

typedef struct SymbolTable {
    Op *op;
    PtrMap by_name;  /* Ident* -> Op* */
    PtrMap suffixes; /* Ident* -> next number tried, as uintptr_t */
} SymbolTable;
void symtab_init(SymbolTable *table, Op *op);
void symtab_free(SymbolTable *table);
Op *symtab_get(const SymbolTable *table, const Ident *name);
/* Adds a detached or contained op, renaming it (name_0, name_1, …) if taken. */
const Ident *symtab_insert(SymbolTable *table, Op *op);

/* Symbol tables built on demand, for many look-ups while the symbols stay as they are. */
SymbolTables *symtabs_create(void);
void symtabs_free(SymbolTables *tables);
Op *symtabs_lookup(SymbolTables *tables, const Op *from, const Attr *ref);

#endif
