/* Dominance in a tree of regions, computed per region when it is first asked for and kept until it
 * is invalidated. Dominator trees are computed by the iterative algorithm of Cooper, Harvey and
 * Kennedy ("A Simple, Fast Dominance Algorithm") over reverse postorder; a query compares the entry
 * and exit numbers of a walk over the tree. Graph regions, and the regions of unregistered ops,
 * impose no order within a block, as upstream.
 * Tests: test/unit/ir/core/op_test.c, lit/ir/verify/verify.mir */
#include <assert.h>

#include "ir/core/core.h"

typedef struct Node {
    Block *block;
    uint32_t idom;           /* reverse postorder number of the immediate dominator */
    uint32_t enter, exit;    /* of the walk over the dominator tree */
    uint32_t child, sibling; /* reverse postorder numbers in the dominator tree; 0: none */
} Node;

/* Dominator tree of a region with several blocks; unreachable blocks have no node. */
typedef struct Tree {
    Node *nodes; /* by reverse postorder; the entry is 0 */
    size_t count;
    PtrMap numbers; /* Block* -> reverse postorder number + 1 */
} Tree;

struct Dominance {
    PtrMap trees; /* Region* -> Tree* */
};

Dominance *dominance_create(void)
{
    return xcalloc(1, sizeof(Dominance));
}

void dominance_invalidate(Dominance *dom)
{
    for (size_t i = 0; i < dom->trees.len; i++) {
        Tree *tree = dom->trees.entries[i].value;
        if (!dom->trees.entries[i].key) continue;
        free_ptr((void **)&tree->nodes);
        ptrmap_free(&tree->numbers);
        free_ptr((void **)&tree);
    }
    ptrmap_clear(&dom->trees);
}

void dominance_free(Dominance *dom)
{
    if (!dom) return;
    dominance_invalidate(dom);
    ptrmap_free(&dom->trees);
    free_ptr((void **)&dom);
}

static uint32_t successor_count(const Block *block)
{
    return block->last ? block->last->successor_count : 0;
}

typedef struct DominanceVisit {
    Block *block;
    uint32_t next; /* successor to look at */
} DominanceVisit;

void region_postorder(const Region *region, BlockVec *out)
{
    Block *entry = region->first;
    if (!entry) return;
    PtrMap seen = {0};
    VEC(DominanceVisit) stack = {0};
    *vec_push(&stack) = (DominanceVisit){entry, 0};
    ptrmap_put(&seen, entry, entry);
    while (stack.len) {
        DominanceVisit *top = &stack.data[stack.len - 1];
        if (top->next == successor_count(top->block)) {
            *vec_push(out) = top->block;
            stack.len--;
            continue;
        }
        Block *next = top->block->last->successors[top->next++].block;
        if (ptrmap_has(&seen, next)) continue;
        ptrmap_put(&seen, next, next);
        *vec_push(&stack) = (DominanceVisit){next, 0};
    }
    vec_free(&stack);
    ptrmap_free(&seen);
}

static bool node_number(const Tree *tree, const Block *block, uint32_t *number)
{
    uintptr_t found = (uintptr_t)ptrmap_get(&tree->numbers, block);
    *number = (uint32_t)(found - 1);
    return found != 0;
}

static uint32_t common_dominator(const Tree *tree, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b) a = tree->nodes[a].idom;
        while (b > a) b = tree->nodes[b].idom;
    }
    return a;
}

/* Dominator of a node from those of its predecessors found so far. */
static uint32_t meet_predecessors(const Tree *tree, const Node *node)
{
    uint32_t result = UINT32_MAX;
    for (BlockUse *use = node->block->uses; use; use = use->next) {
        uint32_t number;
        if (use->owner != use->owner->block->last) continue;
        if (!node_number(tree, use->owner->block, &number)) continue;
        if (tree->nodes[number].idom == UINT32_MAX) continue;
        result = result == UINT32_MAX ? number : common_dominator(tree, result, number);
    }
    return result;
}

static void find_dominators(Tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) tree->nodes[i].idom = UINT32_MAX;
    tree->nodes[0].idom = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 1; i < tree->count; i++) {
            uint32_t idom = meet_predecessors(tree, &tree->nodes[i]);
            changed |= idom != tree->nodes[i].idom;
            tree->nodes[i].idom = idom;
        }
    }
}

/* Entry and exit numbers without walking: a node's subtree is numbered from its own number on,
 * so sizes (summed from the leaves, which come last) give all positions. */
static void number_tree(Tree *tree)
{
    uint32_t *size = xcalloc(tree->count, sizeof *size);
    uint32_t *next = xcalloc(tree->count, sizeof *next);
    for (size_t i = tree->count; i-- > 0;) {
        size[i]++;
        if (i > 0) size[tree->nodes[i].idom] += size[i];
    }
    for (size_t i = 0; i < tree->count; i++) {
        Node *node = &tree->nodes[i];
        node->enter = i == 0 ? 0 : next[node->idom];
        node->exit = node->enter + size[i];
        if (i > 0) next[node->idom] = node->exit;
        next[i] = node->enter + 1;
    }
    free_ptr((void **)&size);
    free_ptr((void **)&next);
}

static void link_children(Tree *tree)
{
    for (size_t i = tree->count; i-- > 1;) {
        Node *parent = &tree->nodes[tree->nodes[i].idom];
        tree->nodes[i].sibling = parent->child;
        parent->child = (uint32_t)i;
    }
}

static Tree *tree_build(Region *region)
{
    BlockVec postorder = {0};
    region_postorder(region, &postorder);
    Tree *tree = xcalloc(1, sizeof *tree);
    tree->count = postorder.len;
    tree->nodes = xcalloc(tree->count, sizeof *tree->nodes);
    for (size_t i = 0; i < tree->count; i++) {
        Block *block = postorder.data[tree->count - 1 - i];
        tree->nodes[i].block = block;
        ptrmap_put(&tree->numbers, block, (void *)(uintptr_t)(i + 1));
    }
    vec_free(&postorder);
    find_dominators(tree);
    number_tree(tree);
    link_children(tree);
    return tree;
}

static const Tree *tree_of(Dominance *dom, Region *region)
{
    Tree *tree = ptrmap_get(&dom->trees, region);
    if (tree) return tree;
    tree = tree_build(region);
    ptrmap_put(&dom->trees, region, tree);
    return tree;
}

bool block_is_reachable(Dominance *dom, Block *block)
{
    if (!block->parent || block->parent->first == block) return true;
    uint32_t number;
    return node_number(tree_of(dom, block->parent), block, &number);
}

/* a properly dominates b, both in one region of several blocks. An unreachable block is
 * dominated by every one and dominates none that is reachable. */
static bool properly_dominates_in_region(Dominance *dom, Block *a, Block *b)
{
    const Tree *tree = tree_of(dom, a->parent);
    uint32_t na, nb;
    if (!node_number(tree, b, &nb)) return true;
    if (!node_number(tree, a, &na)) return false;
    const Node *above = &tree->nodes[na], *below = &tree->nodes[nb];
    return na != nb && above->enter <= below->enter && below->exit <= above->exit;
}

/* The block of `region` that holds `block`, however deep; NULL if none does. */
static Block *ancestor_block(Block *block, const Region *region)
{
    while (block && block->parent != region) {
        Op *parent = block_parent_op(block);
        block = parent ? parent->block : NULL;
    }
    return block;
}

bool dominance_block(Dominance *dom, Block *a, Block *b)
{
    if (a == b) return true;
    if (!a->parent) return false;
    b = ancestor_block(b, a->parent);
    if (!b) return false;
    return a == b || properly_dominates_in_region(dom, a, b);
}

bool region_has_order(const Region *region)
{
    const Op *parent = region ? region->parent : NULL;
    return !parent || (parent->def && !(parent->def->traits & TRAIT_GRAPH_REGION));
}

/* The op of `region` that is or holds `op`; NULL if none does. */
static Op *ancestor_in_region(Op *op, const Region *region)
{
    while (op && (!op->block || op->block->parent != region)) op = op_parent(op);
    return op;
}

bool dominance_value(Dominance *dom, Value *value, Op *user)
{
    if (value->is_arg) return user->block && dominance_block(dom, value->owner.block, user->block);
    Op *def = value->owner.op;
    if (!def->block) return false;
    if (def->block == user->block)
        return !region_has_order(def->block->parent) || op_is_before(def, user);
    Op *ancestor = ancestor_in_region(user, def->block->parent);
    if (!ancestor) return false;
    if (ancestor->block != def->block)
        return properly_dominates_in_region(dom, def->block, ancestor->block);
    if (!region_has_order(def->block->parent)) return true;
    return op_is_before(def, ancestor);
}

Block *dominance_first_child(Dominance *dom, Block *block)
{
    const Tree *tree = tree_of(dom, block->parent);
    uint32_t number;
    if (!node_number(tree, block, &number)) return NULL;
    uint32_t child = tree->nodes[number].child;
    return child ? tree->nodes[child].block : NULL;
}

Block *dominance_next_sibling(Dominance *dom, Block *block)
{
    const Tree *tree = tree_of(dom, block->parent);
    uint32_t number;
    if (!node_number(tree, block, &number)) return NULL;
    uint32_t sibling = tree->nodes[number].sibling;
    return sibling ? tree->nodes[sibling].block : NULL;
}
