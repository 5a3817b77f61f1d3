/* Inside of ir/rewrite: the index of patterns, which the greedy driver and dialect conversion
 * share, and the parts of the greedy driver that have their own files. */
#ifndef MING_IR_REWRITE_INTERNAL_H
#define MING_IR_REWRITE_INTERNAL_H

#include "ir/rewrite/rewrite.h"

/* The patterns of one root, best first. */
typedef struct PatternList {
    const Pattern **items;
    size_t count;
} PatternList;

/* Patterns by root; each list includes those for any op. The pattern set must outlive the index. */
typedef struct PatternIndex {
    Arena arena;
    PtrMap by_root; /* OpDef* -> PatternList* */
    PatternList any;
} PatternIndex;

void patterns_index(PatternIndex *index, const PatternSet *set);
void patterns_index_free(PatternIndex *index);
/* The patterns that may apply to the op, best first. */
const PatternList *patterns_for(const PatternIndex *index, const Op *op);
/* Offers the op to one pattern, with the insertion point before it; true if it applied. */
bool pattern_apply(const Pattern *pattern, Rewriter *rw, Op *op);
/* Offers the op to its patterns in order; true if one applied. */
bool patterns_apply(const PatternIndex *index, Rewriter *rw, Op *op);

/* Constants that are known, by the region that holds them. */
typedef struct ConstantScopes {
    Arena arena;
    PtrMap scopes; /* Region* -> PtrMap* of Attr* -> KnownConstant* */
    PtrMap owned;  /* the ops of those constants */
} ConstantScopes;

void rewrite_constants_init(ConstantScopes *scopes);
void rewrite_constants_free(ConstantScopes *scopes);
/* Enters a constant op: moves it to the front of its scope's first block, or replaces it by an
 * equal one there. Constants that are moved or shared lose their location, as upstream. False: it
 * was replaced and erased. */
bool rewrite_constants_insert(ConstantScopes *scopes, Rewriter *rw, Op *op);

/* Merges blocks that do the same, and drops block arguments for which every branch passes the same
 * value, in all regions in root; true if anything changed. */
bool rewrite_merge_blocks(Rewriter *rw, Op *root);

/* For op_walk(): appends the regions of each op to a RegionVec. */
typedef VEC(Region *) RegionVec;
bool rewrite_collect_regions(Op *op, void *user);

#endif
