/* Inside of ir/attr: the context's fields and the interners that make its objects unique.
 *
 * An Interner is a set of uniqued objects with open addressing over (hash, object). It has no
 * order, so nothing may iterate over it. A constructor of an attribute fills an Attr on the stack
 * that borrows its arrays, and interns that. */
#ifndef MING_IR_ATTR_INTERNAL_H
#define MING_IR_ATTR_INTERNAL_H

#include "ir/attr/attr.h"

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

static inline uint64_t hash_mix(uint64_t seed, const void *data, size_t size)
{
    return size ? hash_bytes(data, size, seed) : seed;
}

struct Context {
    Arena arena;
    Interner idents, types, attrs, exprs, maps, sets;
    struct {
        void *state;
        ContextPartFree *free;
    } parts[CONTEXT_PART_COUNT];
    VEC(void *) adopted; /* heap memory of large dense attributes */
    /* dense_resource blobs in order of appearance */
    VEC(const ResourceBlob *) resources;
    PtrMap external_groups;  /* Ident* -> ExternalGroup*, in order of appearance */
    Interner resource_index; /* by dialect and key */
    /* Objects that are needed often, made beforehand or on first use. */
    const Type *common_types[TYPE_DIALECT + 1]; /* parameterless ones by kind */
    const Attr *empty_dict, *unit, *unknown_loc;
    uint64_t next_distinct;
};

/* The context's attribute equal to key. If there is none yet, it is made as a copy that owns its
 * arrays. */
const Attr *attr_intern(const Attr *key);
/* The same for a key whose arrays live as long as the context; a new attribute keeps them. */
const Attr *attr_intern_owned(const Attr *key);

#endif
