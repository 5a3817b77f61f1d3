/* cse: common subexpression elimination. An op without effects is replaced by an equal op that
 * dominates it; an op that reads is, too, if nothing writes in between. Known ops are in a hash
 * table with scopes, one per block of the dominator tree; isolated ops start with an empty one.
 * Dead ops are erased as well.
 * Requires: verified IR.
 * Changes: ops.
 * Preserves: blocks, dominance.
 * Tests: lit/passes/common/cse.mir */
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "ir/verify/verify.h"
#include "passes/common/passes.h"

typedef struct KnownOps {
    Op *op;
    uint64_t hash;
    uint64_t writes;   /* seen before it: reads are equal only while the number stays */
    uint32_t shadowed; /* the entry that was head of the chain before, + 1 */
} KnownOps;

typedef struct Cse {
    Pass *pass;
    Dominance *dom;
    VEC(KnownOps) known; /* a stack: leaving a scope pops its entries */
    PtrMap heads;        /* hash bits -> newest entry + 1 */
    size_t base;         /* entries below belong outside the isolated op and do not count */
    uint64_t writes;
    VEC(Op *) dead;
    bool changed;
} Cse;

static const void *chain_key(uint64_t hash)
{
    return (const void *)(uintptr_t)(hash | 1);
}

static void add_known(Cse *cse, Op *op, uint64_t hash)
{
    uintptr_t head = (uintptr_t)ptrmap_get(&cse->heads, chain_key(hash));
    *vec_push(&cse->known) = (KnownOps){op, hash, cse->writes, (uint32_t)head};
    ptrmap_put(&cse->heads, chain_key(hash), (void *)(uintptr_t)cse->known.len);
}

static void leave_scope(Cse *cse, size_t len)
{
    while (cse->known.len > len) {
        const KnownOps *top = &cse->known.data[--cse->known.len];
        if (top->shadowed)
            ptrmap_put(&cse->heads, chain_key(top->hash), (void *)(uintptr_t)top->shadowed);
        else
            ptrmap_remove(&cse->heads, chain_key(top->hash));
    }
}

static const KnownOps *find_known(const Cse *cse, const Op *op, uint64_t hash)
{
    uintptr_t at = (uintptr_t)ptrmap_get(&cse->heads, chain_key(hash));
    while (at > cse->base) {
        const KnownOps *known = &cse->known.data[at - 1];
        if (known->hash == hash && op_equal(known->op, op)) return known;
        at = known->shadowed;
    }
    return NULL;
}

/* Whether the op of an unordered region was visited, so that its operands are settled. */
static bool was_visited(const Cse *cse, const Op *op)
{
    const KnownOps *known = find_known(cse, op, op_hash(op));
    return known != NULL;
}

static void replace_unvisited_uses(const Cse *cse, Op *op, Op *existing)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        Use *next;
        for (Use *use = op->results[i].uses; use; use = next) {
            next = use->next;
            if (!was_visited(cse, use->owner)) use_set(use, op_result(existing, i));
        }
    }
}

static bool has_uses(const Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (value_has_uses(op_result(op, i))) return true;
    return false;
}

/* The survivor takes over a location if it has none. */
static void replace_by(Cse *cse, Op *op, Op *existing, bool ordered)
{
    if (ordered) {
        for (uint32_t i = 0; i < op->result_count; i++)
            value_replace_all(op_result(op, i), op_result(existing, i));
    } else {
        replace_unvisited_uses(cse, op, existing);
    }
    if (!has_uses(op)) *vec_push(&cse->dead) = op;
    if (existing->loc->kind == ATTR_LOC_UNKNOWN) existing->loc = op->loc;
    cse->changed = true;
    pass_count(cse->pass, "num-cse'd", 1);
}

static bool has_big_region(const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        if (op->regions[i].first != op->regions[i].last) return true;
    return false;
}

static bool only_reads(const Op *op)
{
    return op_has_trait(op, TRAIT_READS) &&
           !op_has_trait(op, TRAIT_WRITES | TRAIT_ALLOCATES | TRAIT_RECURSIVE_EFFECTS);
}

/* Unknown effects count as writes; those of regions were counted inside them. */
static bool may_write(const Op *op)
{
    const uint32_t known = TRAIT_PURE | TRAIT_READS | TRAIT_ALLOCATES | TRAIT_RECURSIVE_EFFECTS;
    if (op_has_trait(op, TRAIT_WRITES) || !op_has_trait(op, known | TRAIT_MEMREF_EFFECTS))
        return true;
    return op_has_trait(op, TRAIT_MEMREF_EFFECTS) && !op_is_pure(op);
}

static void simplify_op(Cse *cse, Op *op, bool ordered)
{
    if (op_is_terminator(op)) return;
    if (op_is_trivially_dead(op)) {
        *vec_push(&cse->dead) = op;
        cse->changed = true;
        pass_count(cse->pass, "num-dce'd", 1);
        return;
    }
    bool reads = only_reads(op);
    if (has_big_region(op) || (!reads && !op_is_pure(op))) return;
    uint64_t hash = op_hash(op);
    const KnownOps *known = find_known(cse, op, hash);
    bool stale = known && reads && (known->op->block != op->block || known->writes != cse->writes);
    if (known && !stale)
        replace_by(cse, op, known->op, ordered);
    else
        add_known(cse, op, hash);
}

static void simplify_region(Cse *cse, Region *region);

static void simplify_nested(Cse *cse, Op *op)
{
    size_t base = cse->base;
    if (!op->def || op_has_trait(op, TRAIT_ISOLATED)) cse->base = cse->known.len;
    for (uint32_t i = 0; i < op->region_count; i++) simplify_region(cse, op_region(op, i));
    cse->base = base;
}

static void simplify_block(Cse *cse, Block *block, bool ordered)
{
    FOR_EACH_OP(op, block) {
        simplify_nested(cse, op);
        simplify_op(cse, op, ordered);
        cse->writes += may_write(op);
    }
}

typedef struct CseScope {
    Block *block;
    size_t known; /* entries when it was entered */
} CseScope;

/* Blocks in pre-order of the dominator tree. */
static void simplify_tree(Cse *cse, Block *entry)
{
    VEC(CseScope) stack = {0};
    Block *next = entry;
    while (next || stack.len) {
        if (next) {
            *vec_push(&stack) = (CseScope){next, cse->known.len};
            simplify_block(cse, next, true);
            next = dominance_first_child(cse->dom, next);
            continue;
        }
        CseScope done = stack.data[--stack.len];
        leave_scope(cse, done.known);
        next = stack.len ? dominance_next_sibling(cse->dom, done.block) : NULL;
    }
    vec_free(&stack);
}

static void simplify_region(Cse *cse, Region *region)
{
    bool ordered = region_has_order(region);
    if (!region->first || (region->first != region->last && !ordered)) return;
    size_t known = cse->known.len;
    if (region->first == region->last)
        simplify_block(cse, region->first, ordered);
    else
        simplify_tree(cse, region->first);
    leave_scope(cse, known);
}

/* In the order in which they were found, because ops inside a dead op were found before it. */
static void erase_dead(Cse *cse)
{
    for (size_t i = 0; i < cse->dead.len; i++) {
        Op *op = cse->dead.data[i];
        for (uint32_t k = 0; k < op->result_count; k++)
            while (op->results[k].uses) use_set(op->results[k].uses, NULL);
        op_erase(op);
    }
}

static bool run_cse(Pass *pass, Op *op)
{
    Cse cse = {.pass = pass};
    pass_analysis_begin(pass, "DominanceInfo");
    cse.dom = dominance_create(); /* computed for each region when it is asked for */
    pass_analysis_end(pass);
    simplify_nested(&cse, op);
    erase_dead(&cse);
    pass->unchanged = !cse.changed;
    dominance_free(cse.dom);
    vec_free(&cse.known);
    vec_free(&cse.dead);
    ptrmap_free(&cse.heads);
    return true;
}

const PassDef pass_cse = {
    .name = "cse",
    .title = "CSE",
    .summary = "Eliminate common sub-expressions",
    .description = "Replaces ops without effects by equal ops that dominate them, and erases dead "
                   "ops.",
    .stats = STATS({"num-cse'd", "Number of operations CSE'd"},
                   {"num-dce'd", "Number of operations DCE'd"}),
    .run = run_cse,
};
