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

/* What the modules above keep in the context, each its own. Parts are freed with the context, the last
 * of the enum first, since diagnostics that wait may show ops. */
typedef enum ContextPart { CONTEXT_OPS, CONTEXT_DIAGS, CONTEXT_PART_COUNT } ContextPart;
typedef void ContextPartFree(Context *ctx, void *part);
/* NULL until it is set. */
void *context_part(const Context *ctx, ContextPart part);
void context_set_part(Context *ctx, ContextPart which, void *part, ContextPartFree *free);

/* Memory that lives as long as the context. */
Arena *context_arena(Context *ctx);

const Ident *ident_get(Context *ctx, Str str);
const Ident *ident_get_c(Context *ctx, const char *cstr);

/* A number that no call before gave, for distinct[N]. */
uint64_t context_next_distinct(Context *ctx);

#endif
