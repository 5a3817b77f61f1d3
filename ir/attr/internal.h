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

/* Floats: a value taken apart into sign, class, significand and exponent, which float.c (bits) and
 * float_text.c (decimal text) exchange. */

__extension__ typedef unsigned __int128 FloatMant;

typedef enum FloatClass { FLOAT_ZERO, FLOAT_FINITE, FLOAT_INF, FLOAT_NAN } FloatClass;

typedef struct FloatParts {
    FloatClass class;
    bool is_negative;
    /* The magnitude of a finite value is mant * 2^exp; mant counts units of the last place. */
    FloatMant mant;
    int exp;
    bool is_lower_near; /* the next smaller value is half a unit away */
    uint32_t precision; /* bits of the format's significand, the implicit one included */
} FloatParts;

/* Takes the bits of any kind apart; `words` as in support.h. */
FloatParts float_decode(int kind, const uint64_t words[2]);
/* The nearest double, with ties to even; mant has at most 127 bits. */
double float_join(const FloatParts *parts);

#endif
