/* The context owns everything immutable and uniqued: identifiers, types,
 * attributes, affine expressions and maps, dialects and their op tables; and it
 * carries the diagnostic handler. There are no globals: two contexts may live in
 * two threads. Uniqued objects are compared with == and live as long as the context.
 * Tests: test/unit/context_test.c */
#ifndef MING_IR_CONTEXT_H
#define MING_IR_CONTEXT_H

#include "ir/support/support.h"

typedef struct Context Context;
typedef struct Type Type;
typedef struct Attr Attr;
typedef struct AffineExpr AffineExpr;
typedef struct AffineMap AffineMap;
typedef struct IntegerSet IntegerSet;
typedef struct Op Op;
typedef struct Block Block;
typedef struct Region Region;
typedef struct Value Value;
typedef struct OpDef OpDef;
typedef struct OpInfo OpInfo;
typedef struct DialectDef DialectDef;
typedef struct TypeDef TypeDef;
typedef struct AttrDef AttrDef;
typedef struct PassDef PassDef;

/* Uniqued byte string: compare with ==. data is NUL-terminated (and may hold NULs before). */
typedef struct Ident {
    Str str;
    uint64_t hash;
    const OpInfo *op; /* the registered op of this name, or NULL */
} Ident;

Context *context_create(void);
void context_destroy(Context *ctx);

/* Memory that lives as long as the context. */
Arena *context_arena(Context *ctx);

const Ident *ident_get(Context *ctx, Str str);
const Ident *ident_get_c(Context *ctx, const char *cstr);

/* Registers a dialect with its op table (ir/core/opdef.h); checks the table itself
 * (formats parse, names unique) with assertions. Registering twice is harmless. */
void context_register_dialect(Context *ctx, const DialectDef *dialect);
const DialectDef *context_dialect(const Context *ctx, Str name_space); /* NULL: not registered */
/* A dialect of upstream's whose ops are unknown here: they count as unregistered. The attributes
 * in its table are read and checked; its other attributes and its types are kept as text, with
 * upstream's spacing. Registering twice is harmless. */
void context_register_foreign(Context *ctx, const DialectDef *dialect);
const DialectDef *context_foreign(const Context *ctx, Str name_space); /* NULL: none */
/* The dialect that reads and checks attributes of that prefix: registered, foreign, or NULL. */
const DialectDef *context_attr_dialect(const Context *ctx, Str name_space);
/* All registered dialects in order of their names. */
size_t context_dialect_count(const Context *ctx);
const DialectDef *context_dialect_at(const Context *ctx, size_t index);

/* Unregistered dialects' ops, types and attributes are accepted only if this is set. */
void context_allow_unregistered(Context *ctx, bool allow);
bool context_allows_unregistered(const Context *ctx);

/* The OpInfo of a registered op's full name ("arith.addi"), or NULL. */
const OpInfo *context_op(Context *ctx, Str full_name);
const OpInfo *context_op_of_def(const Context *ctx, const OpDef *def);

#endif
