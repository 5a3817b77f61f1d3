/* What the searches of target/dse use of the solver besides dse_solve() of dse.h.
 * Tests: test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_SOLVE_SOLVE_H
#define MING_TARGET_DSE_SOLVE_SOLVE_H

#include <lpsolve/lp_lib.h>

#include "ir/support/support.h"
#include "target/dse/dse.h"

/* Lagrange multipliers by cutting planes (J. E. Kelley, 1960): the Lagrangian bound is a concave
 * function of the prices. Each design seen gives a plane above it. The prices where the lowest of
 * the planes is highest are tried next. A few prices need few planes. */

typedef struct DseCuttingPlanes DseCuttingPlanes;

/* For `count` prices, at least one. total > 0: their sum, else each is at most `most`. */
DseCuttingPlanes *dse_cutting_plane_create(uint32_t count, double total, double most);
void dse_cutting_plane_free(DseCuttingPlanes *planes);
/* Adds the plane of a design of this goal that exceeds the limits by `excess`, in units of the
 * prices. */
void dse_cutting_plane_add(DseCuttingPlanes *planes, double goal, const double *excess);
/* Gives the next prices to try, and what the bound is at most. */
double dse_cutting_plane_solve(DseCuttingPlanes *planes, double *prices);

/* Integer linear program for lp_solve. It has a 0-1 variable per configuration, of which each
 * process or converter has exactly one; for every edge and word, as many ends of that word at one
 * side as at the other (the stream constraint of MING IV.C); the limits; and the weighted sum to
 * minimise. For throughput (NN2FPGA Eq. 11) a last variable S is minimised instead, which no
 * interval exceeds.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/dump-lp.mir */

/* Writes the whole program of a problem to a file that ends in .lp or .mps. With keeps_intervals, S
 * is minimised. False: it cannot be written; no diagnostic. */
bool dse_dump(const DseSpace *space, const DseProblem *problem, const char *path) MUST_CHECK;

/* Pareto filter: of the configurations with equal words at all ports, one dominates another if none
 * of its measures is larger; of equal ones the first stays. */

/* Drops the node's dominated configurations; the others keep their order. measures: `count` numbers
 * per configuration, one configuration after the other; less is better. */
void dse_keep_pareto(DseNode *node, const int64_t *measures, uint32_t count);

#endif
