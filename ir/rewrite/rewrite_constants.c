/* Sharing of constants, done once per round of the greedy driver: equal constants of one scope
 * become one constant at the front of the scope's entry block. The scope of an op is the nearest
 * region whose owner is isolated from above, unregistered or at the top.
 * Tests: lit/passes/common/canonicalize.mir */
#include "ir/rewrite/internal.h"

typedef struct KnownConstant {
    Op *op;
    struct KnownConstant *next; /* same value, other dialect or type */
} KnownConstant;

void rewrite_constants_init(ConstantScopes *scopes)
{
    *scopes = (ConstantScopes){0};
    arena_init(&scopes->arena);
}

void rewrite_constants_free(ConstantScopes *scopes)
{
    for (size_t i = 0; i < scopes->scopes.len; i++) ptrmap_free(scopes->scopes.entries[i].value);
    ptrmap_free(&scopes->scopes);
    ptrmap_free(&scopes->owned);
    arena_free(&scopes->arena);
}

static Region *scope_of(const Op *op)
{
    Region *region = op->block->parent;
    while (true) {
        const Op *parent = region->parent;
        if (!parent->def || op_has_trait(parent, TRAIT_ISOLATED) || !parent->block) return region;
        region = parent->block->parent;
    }
}

static PtrMap *scope_map(ConstantScopes *scopes, Region *region)
{
    PtrMap *map = ptrmap_get(&scopes->scopes, region);
    if (map) return map;
    map = ARENA_NEW(&scopes->arena, PtrMap);
    ptrmap_put(&scopes->scopes, region, map);
    return map;
}

static bool is_owned(const ConstantScopes *scopes, const Op *op)
{
    return op && ptrmap_has(&scopes->owned, op);
}

static Op *find_equal(const KnownConstant *known, const Op *op)
{
    for (; known; known = known->next)
        if (known->op->def->dialect == op->def->dialect &&
            op_result(known->op, 0)->type == op_result(op, 0)->type)
            return known->op;
    return NULL;
}

bool rewrite_constants_insert(ConstantScopes *scopes, Rewriter *rw, Op *op)
{
    const Attr *value = fold_constant_of(op_result(op, 0));
    Region *region = scope_of(op);
    PtrMap *map = scope_map(scopes, region);
    KnownConstant *known = ptrmap_get(map, value);
    Op *equal = find_equal(known, op);
    if (equal) {
        rewriter_replace_one(rw, op, op_result(equal, 0));
        equal->loc = loc_unknown(equal->ctx);
        return false;
    }
    Block *entry = region_entry(region);
    bool in_place = op->block == entry && (!op->prev || is_owned(scopes, op->prev));
    if (!in_place) {
        op_unlink(op);
        op_prepend(op, entry);
        op->loc = loc_unknown(op->ctx);
    }
    KnownConstant *fresh = ARENA_NEW(&scopes->arena, KnownConstant);
    *fresh = (KnownConstant){op, known};
    ptrmap_put(map, value, fresh);
    ptrmap_put(&scopes->owned, op, op);
    return true;
}
