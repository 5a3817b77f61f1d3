/* Uniquing of attributes: which fields of each kind are hashed, compared and copied. Components are
 * uniqued already, so all three look one level deep. Dense data is hashed once, when it is made.
 * Tests: test/unit/ir/attr/attr_test.c */
#include <string.h>

#include "ir/attr/internal.h"

static uint64_t hash_strings(uint64_t hash, const Str *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = hash_combine(hash, hash_mix(items[i].len + 1, items[i].data, items[i].len));
    return hash;
}

static uint64_t dict_hash(uint64_t hash, const Attr *key)
{
    for (uint32_t i = 0; i < key->u.dict.count; i++) {
        hash = hash_combine(hash, hash_ptr(key->u.dict.items[i].name));
        hash = hash_combine(hash, hash_ptr(key->u.dict.items[i].value));
    }
    return hash;
}

static uint64_t payload_hash(const Attr *key, uint64_t hash)
{
    switch (key->kind) {
    case ATTR_UNIT:
    case ATTR_LOC_UNKNOWN: return hash;
    case ATTR_INTEGER:
        return hash_mix(hash, bigint_words(&key->u.integer),
                        bigint_word_count(key->u.integer.width) * sizeof(uint64_t));
    case ATTR_FLOAT: return hash_combine(hash_combine(hash, key->u.float_bits), key->u.float_high);
    case ATTR_STRING: return hash_mix(hash, key->u.string.data, key->u.string.len);
    case ATTR_TYPE: return hash_combine(hash, hash_ptr(key->u.type_value));
    case ATTR_ARRAY: return hash_mix(hash, key->u.array.items, key->u.array.count * sizeof(Attr *));
    case ATTR_DICT: return dict_hash(hash, key);
    case ATTR_SYMBOL_REF:
        return hash_mix(hash, key->u.symbol.names, key->u.symbol.count * sizeof(Ident *));
    case ATTR_AFFINE_MAP: return hash_combine(hash, hash_ptr(key->u.map));
    case ATTR_INTEGER_SET: return hash_combine(hash, hash_ptr(key->u.set));
    case ATTR_DENSE:
        return hash_mix(hash + key->u.dense.is_splat, key->u.dense.data, key->u.dense.size);
    case ATTR_DENSE_STRINGS:
        return hash_strings(hash, key->u.dense_strings.items, key->u.dense_strings.count);
    case ATTR_DENSE_RESOURCE: return hash_combine(hash, hash_ptr(key->u.resource.key));
    case ATTR_SPARSE:
        hash = hash_combine(hash, hash_ptr(key->u.sparse.indices));
        return hash_combine(hash, hash_ptr(key->u.sparse.values));
    case ATTR_DENSE_ARRAY:
        hash = hash_combine(hash, hash_ptr(key->u.dense_array.elem));
        return hash_mix(hash, key->u.dense_array.data, dense_array_size(key));
    case ATTR_STRIDED_LAYOUT:
        hash = hash_combine(hash, (uint64_t)key->u.layout.offset);
        return hash_mix(hash, key->u.layout.strides, key->u.layout.rank * sizeof(int64_t));
    case ATTR_OPAQUE:
        hash = hash_combine(hash, hash_ptr(key->u.opaque.dialect));
        return hash_mix(hash, key->u.opaque.text.data, key->u.opaque.text.len);
    case ATTR_DISTINCT:
        return hash_combine(hash_combine(hash, key->u.distinct.id),
                            hash_ptr(key->u.distinct.inner));
    case ATTR_DIALECT:
        hash = hash_combine(hash, hash_ptr(key->u.dialect.def));
        return hash_mix(hash, key->u.dialect.params, key->u.dialect.param_count * sizeof(Attr *));
    case ATTR_LOC_FILE:
        hash = hash_combine(hash, hash_ptr(key->u.loc_file.file));
        return hash_combine(hash, (uint64_t)key->u.loc_file.line << 32 | key->u.loc_file.col);
    case ATTR_LOC_NAME:
        hash = hash_combine(hash, hash_ptr(key->u.loc_name.name));
        return hash_combine(hash, hash_ptr(key->u.loc_name.child));
    case ATTR_LOC_FUSED:
        hash = hash_combine(hash, hash_ptr(key->u.loc_fused.metadata));
        return hash_mix(hash, key->u.loc_fused.locs, key->u.loc_fused.count * sizeof(Attr *));
    case ATTR_LOC_CALLSITE:
        hash = hash_combine(hash, hash_ptr(key->u.loc_callsite.callee));
        return hash_combine(hash, hash_ptr(key->u.loc_callsite.caller));
    }
    return hash;
}

static bool bytes_equal(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static bool dict_equal(const Attr *a, const Attr *b)
{
    if (a->u.dict.count != b->u.dict.count) return false;
    for (uint32_t i = 0; i < a->u.dict.count; i++) {
        const NamedAttr *x = &a->u.dict.items[i], *y = &b->u.dict.items[i];
        if (x->name != y->name || x->value != y->value) return false;
    }
    return true;
}

static bool strings_equal(const Attr *a, const Attr *b)
{
    if (a->u.dense_strings.count != b->u.dense_strings.count) return false;
    for (size_t i = 0; i < a->u.dense_strings.count; i++)
        if (!str_eq(a->u.dense_strings.items[i], b->u.dense_strings.items[i])) return false;
    return a->u.dense_strings.is_splat == b->u.dense_strings.is_splat;
}

static bool payload_equal(const Attr *a, const Attr *b)
{
    switch (a->kind) {
    case ATTR_UNIT:
    case ATTR_LOC_UNKNOWN: return true;
    case ATTR_INTEGER: return bigint_eq(&a->u.integer, &b->u.integer);
    case ATTR_FLOAT:
        return a->u.float_bits == b->u.float_bits && a->u.float_high == b->u.float_high;
    case ATTR_STRING: return str_eq(a->u.string, b->u.string);
    case ATTR_TYPE: return a->u.type_value == b->u.type_value;
    case ATTR_ARRAY:
        return bytes_equal(a->u.array.items, a->u.array.count * sizeof(Attr *), b->u.array.items,
                           b->u.array.count * sizeof(Attr *));
    case ATTR_DICT: return dict_equal(a, b);
    case ATTR_SYMBOL_REF:
        return bytes_equal(a->u.symbol.names, a->u.symbol.count * sizeof(Ident *),
                           b->u.symbol.names, b->u.symbol.count * sizeof(Ident *));
    case ATTR_AFFINE_MAP: return a->u.map == b->u.map;
    case ATTR_INTEGER_SET: return a->u.set == b->u.set;
    case ATTR_DENSE:
        return a->u.dense.is_splat == b->u.dense.is_splat &&
               bytes_equal(a->u.dense.data, a->u.dense.size, b->u.dense.data, b->u.dense.size);
    case ATTR_DENSE_STRINGS: return strings_equal(a, b);
    case ATTR_DENSE_RESOURCE: return a->u.resource.key == b->u.resource.key;
    case ATTR_SPARSE:
        return a->u.sparse.indices == b->u.sparse.indices &&
               a->u.sparse.values == b->u.sparse.values;
    case ATTR_DENSE_ARRAY:
        return a->u.dense_array.elem == b->u.dense_array.elem &&
               bytes_equal(a->u.dense_array.data, dense_array_size(a), b->u.dense_array.data,
                           dense_array_size(b));
    case ATTR_STRIDED_LAYOUT:
        return a->u.layout.offset == b->u.layout.offset &&
               bytes_equal(a->u.layout.strides, a->u.layout.rank * sizeof(int64_t),
                           b->u.layout.strides, b->u.layout.rank * sizeof(int64_t));
    case ATTR_OPAQUE:
        return a->u.opaque.dialect == b->u.opaque.dialect &&
               str_eq(a->u.opaque.text, b->u.opaque.text);
    case ATTR_DISTINCT:
        return a->u.distinct.id == b->u.distinct.id && a->u.distinct.inner == b->u.distinct.inner;
    case ATTR_DIALECT:
        return a->u.dialect.def == b->u.dialect.def &&
               bytes_equal(a->u.dialect.params, a->u.dialect.param_count * sizeof(Attr *),
                           b->u.dialect.params, b->u.dialect.param_count * sizeof(Attr *));
    case ATTR_LOC_FILE:
        return a->u.loc_file.file == b->u.loc_file.file &&
               a->u.loc_file.line == b->u.loc_file.line && a->u.loc_file.col == b->u.loc_file.col;
    case ATTR_LOC_NAME:
        return a->u.loc_name.name == b->u.loc_name.name &&
               a->u.loc_name.child == b->u.loc_name.child;
    case ATTR_LOC_FUSED:
        return a->u.loc_fused.metadata == b->u.loc_fused.metadata &&
               bytes_equal(a->u.loc_fused.locs, a->u.loc_fused.count * sizeof(Attr *),
                           b->u.loc_fused.locs, b->u.loc_fused.count * sizeof(Attr *));
    case ATTR_LOC_CALLSITE:
        return a->u.loc_callsite.callee == b->u.loc_callsite.callee &&
               a->u.loc_callsite.caller == b->u.loc_callsite.caller;
    }
    return false;
}

static bool attr_equal(const void *object, const void *key)
{
    const Attr *a = object, *b = key;
    return a->kind == b->kind && a->type == b->type && payload_equal(a, b);
}

/* Never NULL: loops over no items may still do arithmetic on it. */
static void *own(Arena *arena, const void *data, size_t size)
{
    return arena_copy(arena, data, size);
}

static Str own_str(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1); /* zero-terminated */
    if (text.len) memcpy(copy, text.data, text.len);
    return (Str){copy, text.len};
}

static const Str *own_strings(Arena *arena, const Str *items, size_t count)
{
    Str *copy = ARENA_ARRAY(arena, Str, count);
    for (size_t i = 0; i < count; i++) copy[i] = own_str(arena, items[i]);
    return copy;
}

/* Moves the arrays that the caller lent into the context. */
static void payload_own(Arena *arena, Attr *attr)
{
    switch (attr->kind) {
    case ATTR_INTEGER:
        attr->u.integer =
            bigint_from_words(arena, attr->u.integer.width, bigint_words(&attr->u.integer));
        return;
    case ATTR_STRING: attr->u.string = own_str(arena, attr->u.string); return;
    case ATTR_ARRAY:
        attr->u.array.items = own(arena, attr->u.array.items, attr->u.array.count * sizeof(Attr *));
        return;
    case ATTR_DICT:
        attr->u.dict.items = own(arena, attr->u.dict.items, attr->u.dict.count * sizeof(NamedAttr));
        return;
    case ATTR_SYMBOL_REF:
        attr->u.symbol.names =
            own(arena, attr->u.symbol.names, attr->u.symbol.count * sizeof(Ident *));
        return;
    case ATTR_DENSE:
        attr->u.dense.data = own(arena, attr->u.dense.data, attr->u.dense.size);
        return;
    case ATTR_DENSE_STRINGS:
        attr->u.dense_strings.items =
            own_strings(arena, attr->u.dense_strings.items, attr->u.dense_strings.count);
        return;
    case ATTR_DENSE_ARRAY:
        attr->u.dense_array.data = own(arena, attr->u.dense_array.data, dense_array_size(attr));
        return;
    case ATTR_STRIDED_LAYOUT:
        attr->u.layout.strides =
            own(arena, attr->u.layout.strides, attr->u.layout.rank * sizeof(int64_t));
        return;
    case ATTR_OPAQUE: attr->u.opaque.text = own_str(arena, attr->u.opaque.text); return;
    case ATTR_DIALECT:
        attr->u.dialect.params =
            own(arena, attr->u.dialect.params, attr->u.dialect.param_count * sizeof(Attr *));
        return;
    case ATTR_LOC_FUSED:
        attr->u.loc_fused.locs =
            own(arena, attr->u.loc_fused.locs, attr->u.loc_fused.count * sizeof(Attr *));
        return;
    default: return; /* the rest holds only uniqued things and numbers */
    }
}

static const Attr *intern(const Attr *key, bool is_lent)
{
    Context *ctx = key->ctx;
    uint64_t hash = hash_combine((uint64_t)key->kind + 1, hash_ptr(key->type));
    hash = payload_hash(key, hash);
    const Attr *found = intern_find(&ctx->attrs, hash, key, attr_equal);
    if (found) return found;
    Attr *attr = arena_copy(&ctx->arena, key, sizeof *key);
    if (is_lent) payload_own(&ctx->arena, attr);
    intern_add(&ctx->attrs, hash, attr);
    return attr;
}

const Attr *attr_intern(const Attr *key)
{
    return intern(key, true);
}

const Attr *attr_intern_owned(const Attr *key)
{
    return intern(key, false);
}
