/* Simplification of control flow between rounds of the greedy driver, as upstream's. Blocks that
 * cannot be reached are erased first. Then ops and block arguments are erased that nothing live
 * needs; liveness is marked backwards from the ops with effects until nothing more is marked, so
 * that cycles of dead values through block arguments or graph regions are found too.
 * Tests: lit/passes/common/canonicalize.mir */
#include "ir/rewrite/internal.h"
#include "ir/verify/verify.h"

static void erase_op(Rewriter *rw, Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) value_drop_uses(op_result(op, i));
    rewriter_erase(rw, op);
}

static bool erase_unreachable_in(Rewriter *rw, Region *region)
{
    if (region->first == region->last) return false;
    BlockVec reachable = {0};
    PtrMap set = {0};
    bool changed = false;
    region_postorder(region, &reachable);
    for (size_t i = 0; i < reachable.len; i++)
        ptrmap_put(&set, reachable.data[i], reachable.data[i]);
    Block *next;
    for (Block *block = region->first; block; block = next) {
        next = block->next;
        if (ptrmap_has(&set, block)) continue;
        rewriter_erase_block(rw, block);
        changed = true;
    }
    vec_free(&reachable);
    ptrmap_free(&set);
    return changed;
}

/* Inner regions first: erasing a block takes the regions inside it along. */
static bool erase_unreachable(Rewriter *rw, Op *root)
{
    RegionVec regions = {0};
    bool changed = false;
    (void)op_walk_post(root, rewrite_collect_regions, &regions);
    for (size_t i = 0; i < regions.len; i++) changed |= erase_unreachable_in(rw, regions.data[i]);
    vec_free(&regions);
    return changed;
}

typedef struct RegionLiveness {
    bool changed;   /* something was marked in this pass */
    bool unsettled; /* something unmarked might be marked by another pass */
} RegionLiveness;

static bool clear_marks(Op *op, void *user)
{
    (void)user;
    op->mark = false;
    for (uint32_t i = 0; i < op->region_count; i++)
        FOR_EACH_BLOCK(block, op_region(op, i))
            for (uint32_t k = 0; k < block->arg_count; k++) block->args[k]->mark = false;
    return true;
}

/* The block argument that an operand of a branch becomes; NULL if it is none's. */
static Value *argument_of_operand(const Op *op, uint32_t index)
{
    if (op->successor_count == 0 || !op->def || !op->def->successor_operands) return NULL;
    for (uint32_t i = 0; i < op->successor_count; i++) {
        uint32_t begin, count;
        op->def->successor_operands(op, i, &begin, &count);
        if (index >= begin && index < begin + count)
            return op->successors[i].block->args[index - begin];
    }
    return NULL;
}

static bool value_is_needed(const Value *value)
{
    FOR_EACH_USE(use, value) {
        const Value *arg = argument_of_operand(use->owner, use_index(use));
        if (arg ? arg->mark : use->owner->mark) return true;
    }
    return false;
}

static void mark_op(RegionLiveness *liveness, Op *op)
{
    liveness->changed |= !op->mark;
    op->mark = true;
}

static void mark_value(RegionLiveness *liveness, Value *value)
{
    liveness->changed |= !value->mark;
    value->mark = true;
}

/* Terminators are live, and so are arguments that no operand of a branch supplies. */
static void mark_terminator(RegionLiveness *liveness, Op *op)
{
    mark_op(liveness, op);
    for (uint32_t i = 0; i < op->successor_count; i++) {
        const Block *block = op->successors[i].block;
        uint32_t begin, count = 0;
        if (op->def->successor_operands) op->def->successor_operands(op, i, &begin, &count);
        for (uint32_t k = 0; k + count < block->arg_count; k++)
            mark_value(liveness, block->args[k]);
    }
}

static void mark_region(RegionLiveness *liveness, Region *region);

/* An op whose effects nobody could miss is live only if a result is needed. */
static bool op_is_needed(const Op *op)
{
    if (!op_is_removable(op)) return true;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (value_is_needed(op_result(op, i))) return true;
    return false;
}

static void mark_from_op(RegionLiveness *liveness, Op *op, bool may_change_later)
{
    for (uint32_t i = 0; i < op->region_count; i++) mark_region(liveness, op_region(op, i));
    if (op_is_terminator(op)) {
        mark_terminator(liveness, op);
        return;
    }
    if (op->mark) return;
    if (op_is_needed(op))
        mark_op(liveness, op);
    else
        liveness->unsettled |= may_change_later;
}

static void mark_block(RegionLiveness *liveness, Block *block, bool may_change_later)
{
    for (Op *op = block->last; op; op = op->prev) mark_from_op(liveness, op, may_change_later);
    if (block == block->parent->first) return;
    for (uint32_t i = 0; i < block->arg_count; i++) {
        Value *arg = block->args[i];
        if (arg->mark) continue;
        if (value_is_needed(arg))
            mark_value(liveness, arg);
        else
            liveness->unsettled = true;
    }
}

static void mark_region(RegionLiveness *liveness, Region *region)
{
    if (!region->first) return;
    if (region->first == region->last) {
        mark_block(liveness, region->first, !region_has_order(region));
        return;
    }
    BlockVec order = {0};
    region_postorder(region, &order);
    for (size_t i = 0; i < order.len; i++) mark_block(liveness, order.data[i], true);
    vec_free(&order);
}

static void mark_live(Op *root)
{
    RegionLiveness liveness = {.changed = true, .unsettled = true};
    (void)op_walk(root, clear_marks, NULL);
    while (liveness.changed && liveness.unsettled) {
        liveness = (RegionLiveness){0};
        for (uint32_t i = 0; i < root->region_count; i++)
            mark_region(&liveness, op_region(root, i));
    }
}

/* Drops what a branch passes to arguments that are not live. */
static void erase_passed(Op *op, uint32_t successor)
{
    const Block *block = op->successors[successor].block;
    uint32_t begin, count, kept = 0;
    op->def->successor_operands(op, successor, &begin, &count);
    uint32_t produced = block->arg_count - count;
    Value **values = xcalloc(count, sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        if (block->args[produced + i]->mark) values[kept++] = op_operand(op, begin + i);
    if (kept < count) op->def->set_successor_operands(op, successor, values, kept);
    free_ptr((void **)&values);
}

static void erase_branch_operands(Op *op)
{
    if (!op || op->successor_count == 0 || !op->def || !op->def->successor_operands) return;
    for (uint32_t i = op->successor_count; i-- > 0;) erase_passed(op, i);
}

static bool erase_dead_args(Region *region)
{
    bool changed = false;
    for (Block *block = region->first->next; block; block = block->next) {
        for (uint32_t i = block->arg_count; i-- > 0;) {
            if (block->args[i]->mark) continue;
            block_erase_arg(block, i);
            changed = true;
        }
    }
    return changed;
}

static bool erase_dead_in_region(Rewriter *rw, Region *region);

static bool erase_dead_in_block(Rewriter *rw, Block *block)
{
    bool changed = false;
    Op *previous;
    for (Op *op = block->last; op; op = previous) {
        previous = op->prev;
        if (!op->mark) {
            erase_op(rw, op);
            changed = true;
            continue;
        }
        for (uint32_t i = 0; i < op->region_count; i++)
            changed |= erase_dead_in_region(rw, op_region(op, i));
    }
    return changed;
}

static bool erase_dead_in_region(Rewriter *rw, Region *region)
{
    if (!region->first) return false;
    if (region->first == region->last) return erase_dead_in_block(rw, region->first);
    BlockVec order = {0};
    bool changed = false;
    region_postorder(region, &order);
    for (size_t i = 0; i < order.len; i++) {
        erase_branch_operands(order.data[i]->last);
        changed |= erase_dead_in_block(rw, order.data[i]);
    }
    vec_free(&order);
    return erase_dead_args(region) || changed;
}

bool rewrite_simplify_regions(Rewriter *rw, Op *root, RegionSimplify level)
{
    bool changed = erase_unreachable(rw, root);
    mark_live(root);
    for (uint32_t i = 0; i < root->region_count; i++)
        changed |= erase_dead_in_region(rw, op_region(root, i));
    if (level == REGION_SIMPLIFY_AGGRESSIVE) changed |= rewrite_merge_blocks(rw, root);
    return changed;
}
