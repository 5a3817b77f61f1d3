/* Types. A constructor fills a key on the stack; type_intern finds its equal in the context, or
 * copies the key and its arrays into the context's arena. Components are uniqued already, so
 * hashing and comparing look one level deep. Canonical forms: a memref's identity layout and memory
 * space 0 are NULL, and so are scalable flags that are all false. Printing is in
 * ir/asm/print/print_type.c.
 * Tests: test/unit/ir/attr/type_test.c */
#include <assert.h>
#include <string.h>

#include "ir/attr/internal.h"

static size_t function_type_count(const Type *type)
{
    return (size_t)type->u.function.input_count + type->u.function.result_count;
}

static uint64_t shaped_hash(const Type *key, uint64_t hash)
{
    uint32_t rank = key->u.shaped.rank;
    hash = hash_combine(hash, hash_ptr(key->u.shaped.elem));
    hash = hash_combine(hash, hash_ptr(key->u.shaped.extra));
    hash = hash_combine(hash, hash_ptr(key->u.shaped.space));
    hash = hash_mix(hash, key->u.shaped.dims, rank * sizeof(int64_t));
    return key->u.shaped.scalable ? hash_mix(hash, key->u.shaped.scalable, rank) : hash;
}

static uint64_t type_hash(const Type *key)
{
    uint64_t hash = (uint64_t)key->kind + 1;
    switch (key->kind) {
    case TYPE_INTEGER:
        return hash_combine(hash, (uint64_t)key->u.integer.width << 2 | key->u.integer.sign);
    case TYPE_FUNCTION:
    case TYPE_TUPLE:
        hash = hash_combine(hash, key->u.function.input_count);
        return hash_mix(hash, key->u.function.types, function_type_count(key) * sizeof(Type *));
    case TYPE_COMPLEX:
    case TYPE_VECTOR:
    case TYPE_RANKED_TENSOR:
    case TYPE_UNRANKED_TENSOR:
    case TYPE_MEMREF:
    case TYPE_UNRANKED_MEMREF: return shaped_hash(key, hash);
    case TYPE_OPAQUE:
        hash = hash_combine(hash, hash_ptr(key->u.opaque.dialect));
        return hash_mix(hash, key->u.opaque.text.data, key->u.opaque.text.len);
    case TYPE_DIALECT:
        hash = hash_combine(hash, hash_ptr(key->u.dialect.def));
        return hash_mix(hash, key->u.dialect.params, key->u.dialect.param_count * sizeof(Attr *));
    default: return hash;
    }
}

static bool bytes_equal(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

static bool shaped_equal(const Type *a, const Type *b)
{
    uint32_t rank = a->u.shaped.rank;
    if (a->u.shaped.elem != b->u.shaped.elem || rank != b->u.shaped.rank) return false;
    if (a->u.shaped.extra != b->u.shaped.extra || a->u.shaped.space != b->u.shaped.space)
        return false;
    if (!a->u.shaped.scalable != !b->u.shaped.scalable) return false;
    if (a->u.shaped.scalable && !bytes_equal(a->u.shaped.scalable, b->u.shaped.scalable, rank))
        return false;
    return bytes_equal(a->u.shaped.dims, b->u.shaped.dims, rank * sizeof(int64_t));
}

static bool type_equal(const void *object, const void *key)
{
    const Type *a = object, *b = key;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case TYPE_INTEGER:
        return a->u.integer.width == b->u.integer.width && a->u.integer.sign == b->u.integer.sign;
    case TYPE_FUNCTION:
    case TYPE_TUPLE:
        return a->u.function.input_count == b->u.function.input_count &&
               a->u.function.result_count == b->u.function.result_count &&
               bytes_equal(a->u.function.types, b->u.function.types,
                           function_type_count(a) * sizeof(Type *));
    case TYPE_COMPLEX:
    case TYPE_VECTOR:
    case TYPE_RANKED_TENSOR:
    case TYPE_UNRANKED_TENSOR:
    case TYPE_MEMREF:
    case TYPE_UNRANKED_MEMREF: return shaped_equal(a, b);
    case TYPE_OPAQUE:
        return a->u.opaque.dialect == b->u.opaque.dialect &&
               str_eq(a->u.opaque.text, b->u.opaque.text);
    case TYPE_DIALECT:
        return a->u.dialect.def == b->u.dialect.def &&
               a->u.dialect.param_count == b->u.dialect.param_count &&
               bytes_equal(a->u.dialect.params, b->u.dialect.params,
                           a->u.dialect.param_count * sizeof(Attr *));
    default: return true;
    }
}

static void *own_array(Arena *arena, const void *data, size_t size)
{
    return size ? arena_copy(arena, data, size) : NULL;
}

/* Moves the arrays that the caller lent into the context. */
static void type_own(Arena *arena, Type *type)
{
    switch (type->kind) {
    case TYPE_FUNCTION:
    case TYPE_TUPLE:
        /* never NULL: the results' begin is counted from it */
        type->u.function.types =
            arena_copy(arena, type->u.function.types, function_type_count(type) * sizeof(Type *));
        return;
    case TYPE_VECTOR:
        if (type->u.shaped.scalable)
            type->u.shaped.scalable =
                own_array(arena, type->u.shaped.scalable, type->u.shaped.rank);
        /* fall through */
    case TYPE_RANKED_TENSOR:
    case TYPE_MEMREF:
        type->u.shaped.dims =
            own_array(arena, type->u.shaped.dims, type->u.shaped.rank * sizeof(int64_t));
        return;
    case TYPE_OPAQUE:
        type->u.opaque.text.data =
            own_array(arena, type->u.opaque.text.data, type->u.opaque.text.len);
        return;
    case TYPE_DIALECT:
        type->u.dialect.params =
            own_array(arena, type->u.dialect.params, type->u.dialect.param_count * sizeof(Attr *));
        return;
    default: return;
    }
}

static const Type *type_intern(const Type *key)
{
    Context *ctx = key->ctx;
    uint64_t hash = type_hash(key);
    const Type *found = intern_find(&ctx->types, hash, key, type_equal);
    if (found) return found;
    Type *type = arena_copy(&ctx->arena, key, sizeof *key);
    type_own(&ctx->arena, type);
    intern_add(&ctx->types, hash, type);
    return type;
}

const Type *type_integer(Context *ctx, uint32_t width, Signedness sign)
{
    assert(width <= BIGINT_MAX_WIDTH);
    Type key = {.kind = TYPE_INTEGER, .ctx = ctx, .u.integer = {width, sign}};
    return type_intern(&key);
}

const Type *type_i(Context *ctx, uint32_t width)
{
    return type_integer(ctx, width, SIGNLESS);
}

/* A type that its kind alone determines. */
static const Type *type_common(Context *ctx, TypeKind kind)
{
    if (!ctx->common_types[kind])
        ctx->common_types[kind] = type_intern(&(Type){.kind = kind, .ctx = ctx});
    return ctx->common_types[kind];
}

const Type *type_index(Context *ctx)
{
    return type_common(ctx, TYPE_INDEX);
}

const Type *type_none(Context *ctx)
{
    return type_common(ctx, TYPE_NONE);
}

const Type *type_float(Context *ctx, TypeKind kind)
{
    assert(kind >= TYPE_F8E5M2 && kind <= TYPE_F128);
    return type_common(ctx, kind);
}

const Type *type_complex(const Type *elem)
{
    Type key = {.kind = TYPE_COMPLEX, .ctx = elem->ctx, .u.shaped.elem = elem};
    return type_intern(&key);
}

const Type *type_function(Context *ctx, const Type *const *inputs, size_t input_count,
                          const Type *const *results, size_t result_count)
{
    VEC(const Type *) all = {0};
    vec_reserve(&all, input_count + result_count + 1);
    for (size_t i = 0; i < input_count; i++) *vec_push(&all) = inputs[i];
    for (size_t i = 0; i < result_count; i++) *vec_push(&all) = results[i];
    Type key = {.kind = TYPE_FUNCTION, .ctx = ctx};
    key.u.function.input_count = (uint32_t)input_count;
    key.u.function.result_count = (uint32_t)result_count;
    key.u.function.types = all.data;
    const Type *type = type_intern(&key);
    vec_free(&all);
    return type;
}

const Type *type_tuple(Context *ctx, const Type *const *elems, size_t count)
{
    Type key = {.kind = TYPE_TUPLE, .ctx = ctx};
    key.u.function.input_count = (uint32_t)count;
    key.u.function.types = elems;
    return type_intern(&key);
}

static Type shaped_key(TypeKind kind, const Type *elem, const int64_t *dims, uint32_t rank)
{
    Type key = {.kind = kind, .ctx = elem->ctx};
    key.u.shaped.elem = elem;
    key.u.shaped.dims = dims;
    key.u.shaped.rank = rank;
    return key;
}

const Type *type_vector(const Type *elem, const int64_t *dims, uint32_t rank, const bool *scalable)
{
    Type key = shaped_key(TYPE_VECTOR, elem, dims, rank);
    for (uint32_t i = 0; scalable && i < rank; i++)
        if (scalable[i]) key.u.shaped.scalable = scalable;
    return type_intern(&key);
}

const Type *type_tensor(const Type *elem, const int64_t *dims, uint32_t rank, const Attr *encoding)
{
    Type key = shaped_key(TYPE_RANKED_TENSOR, elem, dims, rank);
    key.u.shaped.extra = encoding;
    return type_intern(&key);
}

const Type *type_unranked_tensor(const Type *elem)
{
    Type key = shaped_key(TYPE_UNRANKED_TENSOR, elem, NULL, 0);
    return type_intern(&key);
}

/* Memory space 0 is the default one, which upstream leaves out. */
static const Attr *memory_space(const Attr *space)
{
    if (!space || space->kind != ATTR_INTEGER) return space;
    bool is_default = type_is_int_width(space->type, 64) && attr_int_value(space) == 0;
    return is_default ? NULL : space;
}

const Type *type_memref(const Type *elem, const int64_t *dims, uint32_t rank, const Attr *layout,
                        const Attr *space)
{
    Type key = shaped_key(TYPE_MEMREF, elem, dims, rank);
    bool is_identity = layout && layout->kind == ATTR_AFFINE_MAP && map_is_identity(layout->u.map);
    key.u.shaped.extra = is_identity ? NULL : layout;
    key.u.shaped.space = memory_space(space);
    return type_intern(&key);
}

const Type *type_unranked_memref(const Type *elem, const Attr *space)
{
    Type key = shaped_key(TYPE_UNRANKED_MEMREF, elem, NULL, 0);
    key.u.shaped.space = memory_space(space);
    return type_intern(&key);
}

const Type *type_opaque(Context *ctx, const Ident *dialect, Str text, bool is_dotted)
{
    (void)is_dotted; /* !d.x and !d<x> are one type, whose text decides how it is written */
    Type key = {.kind = TYPE_OPAQUE, .ctx = ctx};
    key.u.opaque.dialect = dialect;
    key.u.opaque.text = text;
    key.u.opaque.is_dotted = attr_opaque_is_dotted(text);
    return type_intern(&key);
}

const Type *type_dialect(Context *ctx, const TypeDef *def, const Attr *const *params,
                         size_t param_count)
{
    Type key = {.kind = TYPE_DIALECT, .ctx = ctx};
    key.u.dialect.def = def;
    key.u.dialect.param_count = (uint32_t)param_count;
    key.u.dialect.params = params;
    return type_intern(&key);
}

const Type *type_with_elem(const Type *shaped, const Type *elem)
{
    assert(type_is_shaped(shaped) || shaped->kind == TYPE_COMPLEX);
    Type key = *shaped;
    key.u.shaped.elem = elem;
    return type_intern(&key);
}

const Type *type_with_shape(const Type *shaped, const int64_t *dims, uint32_t rank)
{
    assert(type_is_shaped(shaped));
    Type key = *shaped;
    if (shaped->kind == TYPE_UNRANKED_TENSOR) key.kind = TYPE_RANKED_TENSOR;
    if (shaped->kind == TYPE_UNRANKED_MEMREF) key.kind = TYPE_MEMREF;
    key.u.shaped.dims = dims;
    if (rank != shaped->u.shaped.rank) key.u.shaped.scalable = NULL;
    key.u.shaped.rank = rank;
    return type_intern(&key);
}

bool type_is_float(const Type *type)
{
    return type->kind >= TYPE_F8E5M2 && type->kind <= TYPE_F128;
}

bool type_is_integer(const Type *type)
{
    return type->kind == TYPE_INTEGER;
}

bool type_is_signless(const Type *type)
{
    return type->kind == TYPE_INTEGER && type->u.integer.sign == SIGNLESS;
}

bool type_is_int_width(const Type *type, uint32_t width)
{
    return type_is_signless(type) && type->u.integer.width == width;
}

bool type_is_tensor(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR || type->kind == TYPE_UNRANKED_TENSOR;
}

bool type_is_memref(const Type *type)
{
    return type->kind == TYPE_MEMREF || type->kind == TYPE_UNRANKED_MEMREF;
}

bool type_is_ranked(const Type *type)
{
    return type->kind == TYPE_VECTOR || type->kind == TYPE_RANKED_TENSOR ||
           type->kind == TYPE_MEMREF;
}

bool type_is_shaped(const Type *type)
{
    return type_is_ranked(type) || type_is_tensor(type) || type_is_memref(type);
}

bool type_is_static(const Type *type)
{
    if (!type_is_ranked(type)) return false;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] == DIM_DYNAMIC) return false;
    return true;
}

uint32_t type_dynamic_extents(const Type *type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        count += type->u.shaped.dims[i] == DIM_DYNAMIC;
    return count;
}

bool type_is_a(const Type *type, const TypeDef *def)
{
    return type->kind == TYPE_DIALECT && type->u.dialect.def == def;
}

const Type *type_elem(const Type *type)
{
    bool has_elem = type_is_shaped(type) || type->kind == TYPE_COMPLEX;
    return has_elem ? type->u.shaped.elem : type;
}

uint32_t type_width(const Type *type)
{
    switch (type->kind) {
    case TYPE_INTEGER: return type->u.integer.width;
    case TYPE_INDEX: return 64;
    case TYPE_F8E5M2:
    case TYPE_F8E4M3:
    case TYPE_F8E4M3FN:
    case TYPE_F8E5M2FNUZ:
    case TYPE_F8E4M3FNUZ:
    case TYPE_F8E4M3B11FNUZ: return 8;
    case TYPE_BF16:
    case TYPE_F16: return 16;
    case TYPE_TF32: return 19;
    case TYPE_F32: return 32;
    case TYPE_F64: return 64;
    case TYPE_F80: return 80;
    case TYPE_F128: return 128;
    default: return 0;
    }
}

bool type_element_count(const Type *type, int64_t *out)
{
    if (!type_is_static(type)) return false;
    int64_t count = 1;
    bool is_empty = false;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        int64_t extent = type->u.shaped.dims[i];
        is_empty |= extent == 0;
        if (extent > 0 && !i64_mul(count, extent, &count)) return false;
    }
    *out = is_empty ? 0 : count;
    return true;
}
