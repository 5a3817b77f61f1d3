/* Parts that the greedy driver and dialect conversion share, for ir/ sources only. */
#ifndef MING_IR_REWRITE_INTERNAL_H
#define MING_IR_REWRITE_INTERNAL_H

#include "ir/rewrite/rewrite.h"

/* Patterns of one root, best first. */
typedef struct PatternList {
    const Pattern **items;
    size_t count;
} PatternList;

/* Patterns by root; each list has those for any op merged in. The set must outlive it. */
typedef struct PatternIndex {
    Arena arena;
    PtrMap by_root; /* OpDef* -> PatternList* */
    PatternList any;
} PatternIndex;

void patterns_index(PatternIndex *index, const PatternSet *set);
void patterns_index_free(PatternIndex *index);
/* Those that may apply to the op, best first. */
const PatternList *patterns_for(const PatternIndex *index, const Op *op);
/* Offers the op to one pattern, the insertion point before it; true: it applied. */
bool pattern_apply(const Pattern *pattern, Rewriter *rw, Op *op);
/* Offers the op to its patterns in order, the insertion point before it; true: one applied. */
bool patterns_apply(const PatternIndex *index, Rewriter *rw, Op *op);

/* Known constants by the region that holds them. */
typedef struct ConstantScopes {
    Arena arena;
    PtrMap scopes; /* Region* -> PtrMap* of Attr* -> KnownConstant* */
    PtrMap owned;  /* Op* of those constants */
} ConstantScopes;

void rewrite_constants_init(ConstantScopes *scopes);
void rewrite_constants_free(ConstantScopes *scopes);
/* Takes a constant op in: moves it to the front of its scope's first block, or replaces it by
 * an equal one there. False: replaced and gone. Moved and shared ones lose their location. */
bool rewrite_constants_insert(ConstantScopes *scopes, Rewriter *rw, Op *op);

/* Merges blocks that do the same, and drops block arguments that every branch gives the same
 * value, in all regions below; true if anything changed. */
bool rewrite_merge_blocks(Rewriter *rw, Op *root);

/* For op_walk(): appends the regions of each op to a RegionVec. */
typedef VEC(Region *) RegionVec;
bool rewrite_collect_regions(Op *op, void *user);

#endif
