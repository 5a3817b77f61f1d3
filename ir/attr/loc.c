/* Locations: attributes that say where in a source something comes from. A fused location holds no
 * unknown location, no duplicates, and no fused location with the same metadata.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/locations.mir */
#include <assert.h>

#include "ir/attr/internal.h"

const Attr *loc_unknown(Context *ctx)
{
    if (ctx->unknown_loc) return ctx->unknown_loc;
    return attr_intern(&(Attr){.kind = ATTR_LOC_UNKNOWN, .ctx = ctx});
}

const Attr *loc_file(Context *ctx, const Ident *file, uint32_t line, uint32_t col)
{
    Attr key = {.kind = ATTR_LOC_FILE, .ctx = ctx, .u.loc_file = {file, line, col}};
    return attr_intern(&key);
}

const Attr *loc_name(const Ident *name, const Attr *child)
{
    assert(attr_is_loc(child));
    Attr key = {.kind = ATTR_LOC_NAME, .ctx = child->ctx, .u.loc_name = {name, child}};
    return attr_intern(&key);
}

const Attr *loc_callsite(const Attr *callee, const Attr *caller)
{
    assert(attr_is_loc(callee) && attr_is_loc(caller));
    Attr key = {.kind = ATTR_LOC_CALLSITE, .ctx = callee->ctx};
    key.u.loc_callsite.callee = callee;
    key.u.loc_callsite.caller = caller;
    return attr_intern(&key);
}

/* A set in order of insertion. */
typedef struct LocSet {
    PtrMap seen;
    VEC(const Attr *) locs;
} LocSet;

static void locset_add(LocSet *set, const Attr *loc)
{
    if (loc->kind == ATTR_LOC_UNKNOWN || ptrmap_has(&set->seen, loc)) return;
    ptrmap_put(&set->seen, loc, (void *)loc);
    *vec_push(&set->locs) = loc;
}

static void locset_add_flat(LocSet *set, const Attr *loc, const Attr *metadata)
{
    if (loc->kind != ATTR_LOC_FUSED || loc->u.loc_fused.metadata != metadata) {
        locset_add(set, loc);
        return;
    }
    for (uint32_t i = 0; i < loc->u.loc_fused.count; i++) locset_add(set, loc->u.loc_fused.locs[i]);
}

static const Attr *fused_of_set(Context *ctx, const LocSet *set, const Attr *metadata)
{
    if (!metadata && set->locs.len == 0) return loc_unknown(ctx);
    if (!metadata && set->locs.len == 1) return set->locs.data[0];
    const Attr *unknown = loc_unknown(ctx);
    Attr key = {.kind = ATTR_LOC_FUSED, .ctx = ctx};
    key.u.loc_fused.metadata = metadata;
    key.u.loc_fused.count = set->locs.len ? (uint32_t)set->locs.len : 1;
    key.u.loc_fused.locs = set->locs.len ? set->locs.data : &unknown;
    return attr_intern(&key);
}

const Attr *loc_fused(Context *ctx, const Attr *const *locs, size_t count, const Attr *metadata)
{
    LocSet set = {0};
    for (size_t i = 0; i < count; i++) locset_add_flat(&set, locs[i], metadata);
    const Attr *loc = fused_of_set(ctx, &set, metadata);
    vec_free(&set.locs);
    ptrmap_free(&set.seen);
    return loc;
}

bool attr_is_loc(const Attr *attr)
{
    return attr->kind >= ATTR_LOC_UNKNOWN && attr->kind <= ATTR_LOC_CALLSITE;
}

const Attr *loc_find_file(const Attr *loc)
{
    switch (loc->kind) {
    case ATTR_LOC_FILE: return loc;
    case ATTR_LOC_NAME: return loc_find_file(loc->u.loc_name.child);
    case ATTR_LOC_CALLSITE: {
        const Attr *found = loc_find_file(loc->u.loc_callsite.callee);
        return found ? found : loc_find_file(loc->u.loc_callsite.caller);
    }
    case ATTR_LOC_FUSED:
        for (uint32_t i = 0; i < loc->u.loc_fused.count; i++) {
            const Attr *found = loc_find_file(loc->u.loc_fused.locs[i]);
            if (found) return found;
        }
        return NULL;
    default: return NULL;
    }
}

Str loc_find_name(const Attr *loc)
{
    if (loc->kind == ATTR_LOC_NAME) return loc->u.loc_name.name->str;
    for (uint32_t i = 0; loc->kind == ATTR_LOC_FUSED && i < loc->u.loc_fused.count; i++) {
        Str name = loc_find_name(loc->u.loc_fused.locs[i]);
        if (name.len > 0) return name;
    }
    return STR("");
}
