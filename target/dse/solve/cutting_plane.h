/* Prices of limits by cutting planes (Kelley's method): each design seen gives a line above the Lagrangian
 * bound as a function of the prices, and the prices where the lowest of the lines is highest are tried
 * next. A few prices need few lines.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_MASTER_H
#define MING_TARGET_DSE_MASTER_H

#include "ir/support/support.h"

typedef struct DseMaster DseMaster;

/* For `count` prices, at least one. total > 0: their sum, else each is at most `most`.
 * NULL: no memory for the program. */
DseMaster *dse_cutting_plane_create(uint32_t count, double total, double most);
void dse_cutting_plane_free(DseMaster *master);
/* A design of this goal that exceeds the limits by `excess`, in units of the prices. */
void dse_cutting_plane_add(DseMaster *master, double goal, const double *excess);
/* The next prices to try; gives what the bound is at most. */
double dse_cutting_plane_solve(DseMaster *master, double *prices);

#endif
