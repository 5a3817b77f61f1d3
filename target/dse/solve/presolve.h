/* What of a design space one problem is about: configurations that no limit excludes, whose words some
 * configuration at the other end of each edge has too, and that no other can stand for in what the problem
 * adds up and limits (dse_swap.h).
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_REDUCE_H
#define MING_TARGET_DSE_REDUCE_H

#include "target/dse/dse.h"

/* The reduced space: configurations know their origin and their goal. limits: those of the problem that some design might exceed.
 * False: nothing is left of a node. To be freed in either case; arrays live in `arena`. */
bool dse_reduce(const DseSpace *space, const DseProblem *problem, Arena *arena, DseSpace *out,
                Cost *limits) MUST_CHECK;

#endif
