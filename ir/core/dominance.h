/* Dominance between blocks and values, as verification, CSE and parsing ask for it.
 * Tests: test/unit/op_test.c, lit/ir/verify.mir */
#ifndef MING_IR_CORE_DOMINANCE_H
#define MING_IR_CORE_DOMINANCE_H

#include "ir/core/op.h"

/* Dominance of a region tree, computed on demand. */
typedef struct Dominance Dominance;
Dominance *dominance_create(void);
void dominance_free(Dominance *dom);
void dominance_invalidate(Dominance *dom);
bool dominance_block(Dominance *dom, Block *a, Block *b); /* a dominates b, reflexive */
bool dominance_value(Dominance *dom, Value *value, Op *user);
bool block_is_reachable(Dominance *dom, Block *block);
/* Children in the dominator tree of a region with several blocks; NULL: no more. */
Block *dominance_first_child(Dominance *dom, Block *block);
Block *dominance_next_sibling(Dominance *dom, Block *block);
typedef VEC(Block *) BlockVec;
/* Blocks reachable from the region's entry, each after its successors where there is no cycle. */
void region_postorder(const Region *region, BlockVec *out);
/* Whether ops of the region's blocks may use only what comes before them. */
bool region_has_order(const Region *region);

#endif
