/* The context: its creation and destruction, identifiers, the interner that makes all objects
 * unique, and resources. Types are uniqued in type.c, attributes in attr_intern.c, affine objects
 * in affine.c; the state of higher modules is kept in the context's parts.
 * Tests: test/unit/ir/attr/context_test.c */
#include <assert.h>
#include <string.h>

#include "ir/attr/internal.h"

static InternSlot *slot_for(const Interner *set, uint64_t hash)
{
    size_t mask = set->slot_count - 1;
    size_t at = (size_t)hash & mask;
    while (set->slots[at].object) at = (at + 1) & mask;
    return &set->slots[at];
}

const void *intern_find(const Interner *set, uint64_t hash, const void *key,
                        bool (*equal)(const void *object, const void *key))
{
    if (set->slot_count == 0) return NULL;
    size_t mask = set->slot_count - 1;
    for (size_t at = (size_t)hash & mask; set->slots[at].object; at = (at + 1) & mask) {
        const InternSlot *slot = &set->slots[at];
        if (slot->hash == hash && equal(slot->object, key)) return slot->object;
    }
    return NULL;
}

static void intern_grow(Interner *set)
{
    Interner old = *set;
    set->slot_count = old.slot_count ? 2 * old.slot_count : 64;
    set->slots = xcalloc(set->slot_count, sizeof *set->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].object) *slot_for(set, old.slots[i].hash) = old.slots[i];
    intern_free(&old);
}

void intern_add(Interner *set, uint64_t hash, const void *object)
{
    assert(object);
    if (4 * (set->live + 1) > 3 * set->slot_count) intern_grow(set);
    *slot_for(set, hash) = (InternSlot){hash, object};
    set->live++;
}

void intern_free(Interner *set)
{
    free_ptr((void **)&set->slots);
    set->slot_count = set->live = 0;
}

Context *context_create(void)
{
    Context *ctx = xcalloc(1, sizeof *ctx);
    arena_init(&ctx->arena);
    ctx->unit = attr_unit(ctx);
    ctx->empty_dict = attr_dict(ctx, NULL, 0);
    ctx->unknown_loc = loc_unknown(ctx);
    return ctx;
}

void context_destroy(Context *ctx)
{
    if (!ctx) return;
    for (int i = CONTEXT_PART_COUNT; i-- > 0;)
        if (ctx->parts[i].free) ctx->parts[i].free(ctx, ctx->parts[i].state);
    for (size_t i = 0; i < ctx->adopted.len; i++) free_ptr(&ctx->adopted.data[i]);
    vec_free(&ctx->adopted);
    vec_free(&ctx->resources);
    ptrmap_free(&ctx->external_groups);
    Interner *sets[] = {&ctx->idents, &ctx->types, &ctx->attrs,         &ctx->exprs,
                        &ctx->maps,   &ctx->sets,  &ctx->resource_index};
    for (size_t i = 0; i < COUNT_OF(sets); i++) intern_free(sets[i]);
    arena_free(&ctx->arena);
    free_ptr((void **)&ctx);
}

Arena *context_arena(Context *ctx)
{
    return &ctx->arena;
}

void *context_part(const Context *ctx, ContextPart part)
{
    return ctx->parts[part].state;
}

void context_set_part(Context *ctx, ContextPart which, void *part, ContextPartFree *free)
{
    ctx->parts[which].state = part;
    ctx->parts[which].free = free;
}

uint64_t context_next_distinct(Context *ctx)
{
    return ctx->next_distinct++;
}

static bool ident_equals(const void *object, const void *key)
{
    const Ident *ident = object;
    const Str *str = key;
    return str_eq(ident->str, *str);
}

static Str copy_terminated(Arena *arena, Str str)
{
    char *copy = arena_alloc(arena, str.len + 1);
    if (str.len) memcpy(copy, str.data, str.len);
    return (Str){copy, str.len};
}

const Ident *ident_get(Context *ctx, Str str)
{
    uint64_t hash = hash_bytes(str.data, str.len, 0);
    const Ident *found = intern_find(&ctx->idents, hash, &str, ident_equals);
    if (found) return found;
    Ident *ident = ARENA_NEW(&ctx->arena, Ident);
    ident->str = copy_terminated(&ctx->arena, str);
    ident->hash = hash;
    intern_add(&ctx->idents, hash, ident);
    return ident;
}

const Ident *ident_get_c(Context *ctx, const char *cstr)
{
    return ident_get(ctx, str_from(cstr));
}

static uint64_t resource_hash(const Ident *dialect, const Ident *key)
{
    return hash_combine(hash_ptr(dialect), hash_ptr(key));
}

static bool resource_equals(const void *object, const void *key)
{
    const ResourceBlob *a = object, *b = key;
    return a->dialect == b->dialect && a->key == b->key;
}

const ResourceBlob *context_resource(const Context *ctx, const Ident *dialect, const Ident *key)
{
    ResourceBlob want = {.dialect = dialect, .key = key};
    return intern_find(&ctx->resource_index, resource_hash(dialect, key), &want, resource_equals);
}

static ResourceBlob *store_resource(Context *ctx, const ResourceBlob *blob)
{
    ResourceBlob *stored = (ResourceBlob *)context_resource(ctx, blob->dialect, blob->key);
    if (!stored) {
        stored = ARENA_NEW(&ctx->arena, ResourceBlob);
        intern_add(&ctx->resource_index, resource_hash(blob->dialect, blob->key), stored);
        *vec_push(&ctx->resources) = stored;
    }
    *stored = *blob;
    return stored;
}

void context_add_resource(Context *ctx, const ResourceBlob *blob)
{
    ResourceBlob *stored = store_resource(ctx, blob);
    if (blob->data) stored->data = arena_copy(&ctx->arena, blob->data, blob->size);
}

void context_adopt_resource(Context *ctx, const ResourceBlob *blob, void *memory)
{
    (void)store_resource(ctx, blob);
    *vec_push(&ctx->adopted) = memory;
}

size_t context_resource_count(const Context *ctx)
{
    return ctx->resources.len;
}

const ResourceBlob *context_resource_at(const Context *ctx, size_t index)
{
    return ctx->resources.data[index];
}

typedef struct ExternalGroup {
    ExternalResource *first, *last;
} ExternalGroup;

void context_add_external(Context *ctx, const Ident *group, const ExternalResource *entry)
{
    ExternalResource *stored = arena_copy(&ctx->arena, entry, sizeof *entry);
    stored->text.data = arena_copy(&ctx->arena, entry->text.data, entry->text.len);
    stored->data = arena_copy(&ctx->arena, entry->data, entry->size);
    stored->next = NULL;
    ExternalGroup *list = ptrmap_get(&ctx->external_groups, group);
    if (list) {
        list->last->next = stored;
        list->last = stored;
        return;
    }
    list = ARENA_NEW(&ctx->arena, ExternalGroup);
    list->first = list->last = stored;
    ptrmap_put(&ctx->external_groups, group, list);
}

void context_drop_external(Context *ctx, const Ident *group)
{
    ptrmap_remove(&ctx->external_groups, group);
}

size_t context_external_group_count(const Context *ctx)
{
    return ctx->external_groups.len;
}

const ExternalResource *context_external_group(const Context *ctx, size_t index, const Ident **name)
{
    const PtrMapEntry *entry = &ctx->external_groups.entries[index];
    *name = entry->key;
    return entry->key ? ((const ExternalGroup *)entry->value)->first : NULL;
}
