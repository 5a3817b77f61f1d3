/* Inside of the context, for ir/ sources only.
 * An Interner is a set of uniqued objects: open addressing over (hash, object). */
#ifndef MING_IR_CONTEXT_IMPL_H
#define MING_IR_CONTEXT_IMPL_H

#include "ir/attr/attr.h"
#include "ir/asm/print/diag.h"
#include "ir/core/opdef.h"

typedef struct InternSlot {
    uint64_t hash;
    const void *object; /* NULL: empty */
} InternSlot;
typedef struct Interner {
    InternSlot *slots;
    size_t slot_count, live; /* slot_count: power of two or 0 */
} Interner;

/* The stored object equal to `key`, or NULL. */
const void *intern_find(const Interner *set, uint64_t hash, const void *key,
                        bool (*equal)(const void *object, const void *key));
void intern_add(Interner *set, uint64_t hash, const void *object);
void intern_free(Interner *set);

typedef struct SourceText {
    const Ident *name;
    Str text;
    const uint32_t *line_starts; /* made when first needed */
    uint32_t line_count;
} SourceText;

typedef VEC(const DialectDef *) DialectList; /* sorted by name */

struct OpPool; /* op.c */

struct Context {
    Arena arena;
    Interner idents, types, attrs, exprs, maps, sets;
    struct OpPool *pool;
    /* dialects: opdef.c */
    DialectList dialects, foreign;
    PtrMap op_infos;                  /* OpDef* -> OpInfo* */
    bool allow_unregistered;
    /* diagnostics: diag.c */
    DiagHandler *handler;
    void *handler_user;
    size_t error_count;
    bool hide_op_on_diag; /* no "see current operation" note */
    Arena diag_scratch;   /* texts of the pending ones */
    Arena args_scratch;   /* type_str, attr_str, map_str */
    VEC(Diag) pending;    /* main diagnostic and its notes so far */
    VEC(SourceText) sources;
    VEC(void *) adopted; /* heap memory of large dense attributes */
    /* dense_resource blobs in order of appearance */
    VEC(const ResourceBlob *) resources;
    PtrMap external_groups; /* Ident* -> ExternalGroup*, in order of appearance */
    Interner resource_index; /* by dialect and key */
    /* often needed */
    const Type *common_types[TYPE_DIALECT + 1]; /* parameterless ones by kind */
    const Attr *empty_dict, *unit, *unknown_loc;
    uint64_t next_distinct;
};

/* op.c */
struct OpPool *oppool_create(void);
void oppool_destroy(struct OpPool *pool);

#endif
