/* A problem as a 0-1 program for lp_solve: a variable per configuration, one configuration per process or
 * converter; for every edge and word, as many ends of that word at one side as at the other (the stream
 * constraint of MING IV.C); limits; the weighted sum to minimise. For throughput (NN2FPGA Eq. 11) a last
 * variable S is minimised instead, which no interval exceeds.
 * Tests: test/unit/dse_test.c, lit/target/dump-lp.mir */
#ifndef MING_TARGET_DSE_PROGRAM_H
#define MING_TARGET_DSE_PROGRAM_H

#include "target/dse/dse.h"

#include <lpsolve/lp_lib.h>

typedef struct DseProgram {
    const DseSpace *space; /* reduced */
    lprec *lp;
    int **column;  /* of each node's configurations, from 1; 0: left out */
    int columns;   /* of configurations */
    int *index;    /* scratch row */
    REAL *value;
    int used;
} DseProgram;

/* Of the configurations in `keep`, NULL: all; with goals of at most `most`, < 0: any. False: lp_solve had
 * no memory. To be freed in either case. */
bool dse_program(const DseSpace *space, const DseProblem *problem, bool *const *keep, int64_t most,
                 DseProgram *out) MUST_CHECK;
void dse_program_free(DseProgram *program);
/* Writes the whole program of a problem over an unreduced space to a file that ends in .lp or .mps. With
 * keeps_intervals, S is minimised. False: it cannot be written; no diagnostic. */
bool dse_dump(const DseSpace *space, const DseProblem *problem, const char *path) MUST_CHECK;

#endif
