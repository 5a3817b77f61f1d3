/* Prices of limits by cutting planes (Kelley's method): each design seen gives a line above the
 * Lagrangian bound as a function of the prices, and the prices where the lowest of the lines is
 * highest are tried next. A few prices need few lines.
 * Tests: test/unit/target/dse/solve_test.c */
#ifndef MING_TARGET_DSE_SOLVE_SOLVE_H
#define MING_TARGET_DSE_SOLVE_SOLVE_H

#include <lpsolve/lp_lib.h>

#include "ir/support/support.h"
#include "target/dse/dse.h"

typedef struct DseMaster DseMaster;

/* For `count` prices, at least one. total > 0: their sum, else each is at most `most`.
 * NULL: no memory for the program. */
DseMaster *dse_cutting_plane_create(uint32_t count, double total, double most);
void dse_cutting_plane_free(DseMaster *master);
/* A design of this goal that exceeds the limits by `excess`, in units of the prices. */
void dse_cutting_plane_add(DseMaster *master, double goal, const double *excess);
/* The next prices to try; gives what the bound is at most. */
double dse_cutting_plane_solve(DseMaster *master, double *prices);

/* A problem as a 0-1 program for lp_solve: a variable per configuration, one configuration per
 * process or converter; for every edge and word, as many ends of that word at one side as at the
 * other (the stream constraint of MING IV.C); limits; the weighted sum to minimise. For throughput
 * (NN2FPGA Eq. 11) a last variable S is minimised instead, which no interval exceeds.
 * Tests: test/unit/target/dse/solve_test.c, lit/target/dse/dump-lp.mir */

typedef struct DseProgram {
    const DseSpace *space; /* reduced */
    lprec *lp;
    int **column; /* of each node's configurations, from 1; 0: left out */
    int columns;  /* of configurations */
    int *index;   /* scratch row */
    REAL *value;
    int used;
} DseProgram;

/* Of the configurations in `keep`, NULL: all; with goals of at most `most`, < 0: any. False:
 * lp_solve had no memory. To be freed in either case. */
bool dse_program(const DseSpace *space, const DseProblem *problem, bool *const *keep, int64_t most,
                 DseProgram *out) MUST_CHECK;
void dse_program_free(DseProgram *program);
/* Writes the whole program of a problem over an unreduced space to a file that ends in .lp or .mps.
 * With keeps_intervals, S is minimised. False: it cannot be written; no diagnostic. */
bool dse_dump(const DseSpace *space, const DseProblem *problem, const char *path) MUST_CHECK;

/* Configurations that none beats: of those with equal words at all ports, one beats another if no
 * measure of it is larger; of equal ones the first stays.
 * Tests: test/unit/target/dse/solve_test.c */

/* Drops from the node's configurations those that are beaten; the others keep their order.
 * measures: `count` numbers per configuration, one configuration after the other; less is
 * better. */
void dse_drop_beaten(DseNode *node, const int64_t *measures, uint32_t count);

#endif
