/* Aggressive simplification of control flow, as upstream's:
 *  - blocks with the same successors whose ops are equal except for operands from elsewhere become
 *    one block; the operands that differ become arguments of it;
 *  - an argument for which every branch passes the same value is replaced by that value.
 * Blocks with regions, and blocks whose values are used elsewhere, are not merged.
 * Tests: lit/passes/common/canonicalize-aggressive.mir */
#include <stdlib.h>

#include "ir/core/core.h"
#include "ir/rewrite/internal.h"

/* An operand of the n-th op of every block of a cluster. */
typedef struct Slot {
    uint32_t op, operand;
} Slot;
typedef VEC(Slot) SlotVec;

/* Blocks that can be merged into the first of them. */
typedef struct Cluster {
    VEC(Block *) blocks;
    uint64_t hash;
    SlotVec slots; /* operands that differ somewhere, sorted once all blocks are in */
} Cluster;

typedef struct Merger {
    Rewriter *rw;
    VEC(Cluster) clusters;
    PtrMap touched; /* Block* whose terminator got operands since the clusters were made */
} Merger;

static bool used_outside(const Value *value, const Block *block)
{
    FOR_EACH_USE(use, value) {
        const Block *at = use->owner->block;
        while (at && at != block) {
            const Op *parent = block_parent_op(at);
            at = parent ? parent->block : NULL;
        }
        if (!at) return true;
    }
    return false;
}

static bool has_filled_region(const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        if (op->regions[i].first) return true;
    return false;
}

static bool can_merge(const Block *block)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        if (used_outside(block->args[i], block)) return false;
    FOR_EACH_OP(op, block) {
        if (has_filled_region(op)) return false;
        for (uint32_t i = 0; i < op->result_count; i++)
            if (used_outside(op_result(op, i), block)) return false;
    }
    return true;
}

static uint64_t block_hash(const Block *block)
{
    uint64_t hash = block->arg_count;
    FOR_EACH_OP(op, block) hash = hash_combine(hash, op_header_hash(op));
    const Op *last = block->last;
    for (uint32_t i = 0; last && i < last->successor_count; i++)
        hash = hash_combine(hash, hash_ptr(last->successors[i].block));
    return hash;
}

static bool same_frame(const Block *a, const Block *b)
{
    if (a->arg_count != b->arg_count || !a->last || !b->last) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (a->args[i]->type != b->args[i]->type) return false;
    if (a->last->successor_count != b->last->successor_count) return false;
    for (uint32_t i = 0; i < a->last->successor_count; i++)
        if (a->last->successors[i].block != b->last->successors[i].block) return false;
    return true;
}

/* A terminator's result cannot be passed to the block that it branches to. */
static bool can_be_passed(const Value *value)
{
    const Op *def = value_def(value);
    return !def || !op_is_terminator(def);
}

/* Compares operands; `pairs` maps values that the leader defines to their counterparts. */
static bool compare_operands(const Op *a, const Op *b, const PtrMap *pairs, uint32_t number,
                             SlotVec *slots)
{
    for (uint32_t i = 0; i < a->operand_count; i++) {
        Value *va = op_operand(a, i), *vb = op_operand(b, i);
        if (va == vb) continue;
        if (va->type != vb->type) return false;
        bool inside_a = value_block(va) == a->block, inside_b = value_block(vb) == b->block;
        if (inside_a != inside_b) return false;
        if (inside_a && ptrmap_get(pairs, va) != vb) return false;
        if (inside_a) continue;
        if (!can_be_passed(va) || !can_be_passed(vb)) return false;
        *vec_push(slots) = (Slot){number, i};
    }
    return true;
}

static bool compare_ops(const Block *a, const Block *b, PtrMap *pairs, SlotVec *slots)
{
    uint32_t number = 0;
    const Op *of_a = a->first, *of_b = b->first;
    for (; of_a && of_b; of_a = of_a->next, of_b = of_b->next, number++) {
        if (!op_header_equal(of_a, of_b)) return false;
        if (!compare_operands(of_a, of_b, pairs, number, slots)) return false;
        for (uint32_t i = 0; i < of_a->result_count; i++)
            ptrmap_put(pairs, op_result(of_a, i), op_result(of_b, i));
    }
    return !of_a && !of_b;
}

static bool add_to_cluster(Cluster *cluster, Block *block)
{
    Block *leader = cluster->blocks.data[0];
    if (!same_frame(leader, block)) return false;
    PtrMap pairs = {0};
    size_t slots = cluster->slots.len;
    for (uint32_t i = 0; i < leader->arg_count; i++)
        ptrmap_put(&pairs, leader->args[i], block->args[i]);
    bool equal = compare_ops(leader, block, &pairs, &cluster->slots);
    if (equal)
        *vec_push(&cluster->blocks) = block;
    else
        cluster->slots.len = slots;
    ptrmap_free(&pairs);
    return equal;
}

static void cluster_block(Merger *m, PtrMap *newest, Block *block)
{
    if (!can_merge(block)) return;
    uint64_t hash = block_hash(block) | 1;
    const void *key = (const void *)(uintptr_t)hash;
    uintptr_t found = (uintptr_t)ptrmap_get(newest, key);
    if (found && add_to_cluster(&m->clusters.data[found - 1], block)) return;
    *vec_push(&m->clusters) = (Cluster){.hash = hash};
    Cluster *cluster = &m->clusters.data[m->clusters.len - 1];
    *vec_push(&cluster->blocks) = block;
    ptrmap_put(newest, key, (void *)(uintptr_t)m->clusters.len);
}

static int compare_slots(const void *a, const void *b)
{
    const Slot *sa = a, *sb = b;
    if (sa->op != sb->op) return sa->op < sb->op ? -1 : 1;
    return sa->operand < sb->operand ? -1 : sa->operand > sb->operand;
}

static void sort_slots(SlotVec *slots)
{
    if (slots->len == 0) return;
    qsort(slots->data, slots->len, sizeof *slots->data, compare_slots);
    size_t kept = 0;
    for (size_t i = 0; i < slots->len; i++)
        if (kept == 0 || compare_slots(&slots->data[kept - 1], &slots->data[i]) != 0)
            slots->data[kept++] = slots->data[i];
    slots->len = kept;
}

static bool branches_take_operands(const Block *block)
{
    for (const BlockUse *use = block->uses; use; use = use->next)
        if (!use->owner->def || !use->owner->def->set_successor_operands) return false;
    return true;
}

/* A terminator that changed since the comparison makes the slots stale. */
static bool is_mergeable(const Merger *m, const Cluster *cluster)
{
    if (cluster->blocks.len < 2) return false;
    for (size_t i = 0; i < cluster->blocks.len; i++) {
        if (ptrmap_has(&m->touched, cluster->blocks.data[i])) return false;
        if (cluster->slots.len && !branches_take_operands(cluster->blocks.data[i])) return false;
    }
    return true;
}

/* The values in the slots, block by block. */
static Value **collect_slot_values(const Cluster *cluster)
{
    size_t slots = cluster->slots.len;
    Value **values = xcalloc(cluster->blocks.len * slots, sizeof *values);
    for (size_t i = 0; i < cluster->blocks.len; i++) {
        const Op *op = cluster->blocks.data[i]->first;
        uint32_t number = 0;
        for (size_t k = 0; k < slots; k++) {
            for (; number < cluster->slots.data[k].op; number++) op = op->next;
            values[i * slots + k] = op_operand(op, cluster->slots.data[k].operand);
        }
    }
    return values;
}

/* Slots that hold in every block what an earlier slot holds share its argument: source[k] is the
 * slot that gives slot k its argument. Only the first slot of the leader's equal value is tried. */
static void find_shared_slots(const Cluster *cluster, Value *const *values, size_t *source)
{
    size_t slots = cluster->slots.len;
    PtrMap first = {0};
    for (size_t k = 0; k < slots; k++) {
        source[k] = k;
        uintptr_t at = (uintptr_t)ptrmap_get(&first, values[k]);
        if (!at) {
            ptrmap_put(&first, values[k], (void *)(uintptr_t)(k + 1));
            continue;
        }
        bool same = true;
        for (size_t i = 1; same && i < cluster->blocks.len; i++)
            same = values[i * slots + at - 1] == values[i * slots + k];
        if (same) source[k] = at - 1;
    }
    ptrmap_free(&first);
}

static void replace_slots_by_args(const Cluster *cluster, const size_t *source)
{
    Block *leader = cluster->blocks.data[0];
    Value **args = xcalloc(cluster->slots.len, sizeof *args);
    Op *op = leader->first;
    uint32_t number = 0;
    for (size_t k = 0; k < cluster->slots.len; k++) {
        Slot slot = cluster->slots.data[k];
        for (; number < slot.op; number++) op = op->next;
        const Value *value = op_operand(op, slot.operand);
        args[k] =
            source[k] == k ? block_add_arg(leader, value->type, value_loc(value)) : args[source[k]];
        op_set_operand(op, slot.operand, args[k]);
    }
    free_ptr((void **)&args);
}

/* Every branch to the block passes `values` in addition. */
static void append_to_branches(Merger *m, const Block *block, Value *const *values, uint32_t count)
{
    for (BlockUse *use = block->uses; use; use = use->next) {
        Op *branch = use->owner;
        uint32_t successor = (uint32_t)(use - branch->successors), begin, old;
        branch->def->successor_operands(branch, successor, &begin, &old);
        Value **all = xcalloc(old + count, sizeof *all);
        for (uint32_t i = 0; i < old; i++) all[i] = op_operand(branch, begin + i);
        for (uint32_t i = 0; i < count; i++) all[old + i] = values[i];
        branch->def->set_successor_operands(branch, successor, all, old + count);
        ptrmap_put(&m->touched, branch->block, branch->block);
        free_ptr((void **)&all);
    }
}

static void pass_differing_operands(Merger *m, Cluster *cluster)
{
    size_t slots = cluster->slots.len;
    if (slots == 0) return;
    Value **values = collect_slot_values(cluster), **passed = xcalloc(slots, sizeof *passed);
    size_t *source = xcalloc(slots, sizeof *source);
    find_shared_slots(cluster, values, source);
    replace_slots_by_args(cluster, source);
    for (size_t i = 0; i < cluster->blocks.len; i++) {
        uint32_t count = 0;
        for (size_t k = 0; k < slots; k++)
            if (source[k] == k) passed[count++] = values[i * slots + k];
        append_to_branches(m, cluster->blocks.data[i], passed, count);
    }
    free_ptr((void **)&source);
    free_ptr((void **)&passed);
    free_ptr((void **)&values);
}

static bool merge_cluster(Merger *m, Cluster *cluster)
{
    if (!is_mergeable(m, cluster)) return false;
    sort_slots(&cluster->slots);
    pass_differing_operands(m, cluster);
    for (size_t i = 1; i < cluster->blocks.len; i++) {
        Block *block = cluster->blocks.data[i];
        while (block->uses) {
            BlockUse *use = block->uses;
            op_set_successor(use->owner, (uint32_t)(use - use->owner->successors),
                             cluster->blocks.data[0]);
        }
        rewriter_erase_block(m->rw, block);
    }
    return true;
}

static bool merge_in_region(Rewriter *rw, Region *region)
{
    if (region->first == region->last) return false;
    Merger m = {.rw = rw};
    PtrMap newest = {0};
    bool changed = false;
    for (Block *block = region->first->next; block; block = block->next)
        cluster_block(&m, &newest, block);
    for (size_t i = 0; i < m.clusters.len; i++) {
        Cluster *cluster = &m.clusters.data[i];
        changed |= merge_cluster(&m, cluster);
        vec_free(&cluster->blocks);
        vec_free(&cluster->slots);
    }
    vec_free(&m.clusters);
    ptrmap_free(&m.touched);
    ptrmap_free(&newest);
    return changed;
}

/* The value that every branch to the block passes for an argument; NULL if they differ or a
 * branch cannot be asked. */
static Value *common_value(const Block *block, uint32_t index)
{
    Value *common = NULL;
    for (const BlockUse *use = block->uses; use; use = use->next) {
        const OpDef *def = use->owner->def;
        if (!def || !def->set_successor_operands) return NULL;
        uint32_t begin, count;
        def->successor_operands(use->owner, (uint32_t)(use - use->owner->successors), &begin,
                                &count);
        if (index >= count) return NULL;
        Value *value = op_operand(use->owner, begin + index);
        if (common && value != common) return NULL;
        common = value;
    }
    return common;
}

static void erase_passed(const BlockUse *use, uint32_t index)
{
    Op *branch = use->owner;
    uint32_t successor = (uint32_t)(use - branch->successors), begin, count, kept = 0;
    branch->def->successor_operands(branch, successor, &begin, &count);
    Value **values = xcalloc(count, sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        if (i != index) values[kept++] = op_operand(branch, begin + i);
    branch->def->set_successor_operands(branch, successor, values, kept);
    free_ptr((void **)&values);
}

static bool drop_common_args(Block *block)
{
    VEC(uint32_t) gone = {0};
    for (uint32_t i = 0; i < block->arg_count; i++) {
        Value *common = common_value(block, i);
        if (!common || common == block->args[i]) continue;
        value_replace_all(block->args[i], common);
        *vec_push(&gone) = i;
    }
    bool changed = gone.len > 0;
    while (gone.len) {
        uint32_t index = gone.data[--gone.len];
        block_erase_arg(block, index);
        for (BlockUse *use = block->uses; use; use = use->next) erase_passed(use, index);
    }
    vec_free(&gone);
    return changed;
}

bool rewrite_merge_blocks(Rewriter *rw, Op *root)
{
    RegionVec regions = {0};
    bool changed = false;
    (void)op_walk(root, rewrite_collect_regions, &regions);
    for (size_t i = 0; i < regions.len; i++)
        while (merge_in_region(rw, regions.data[i])) changed = true;
    for (size_t i = 0; i < regions.len; i++)
        FOR_EACH_BLOCK(block, regions.data[i]) changed |= drop_common_args(block);
    vec_free(&regions);
    return changed;
}
