/* Kelley's cutting planes as a linear program: maximise the bound, which is at most
 *   goal + sum (price * excess)
 * of each design seen. lp_solve keeps the program between two solves, so a new plane is a new row.
 * Tests: test/unit/target/dse/solve_test.c */
#include <lpsolve/lp_lib.h>
#include <math.h>

#include "target/dse/solve/solve.h"

struct DseCuttingPlanes {
    lprec *lp;
    uint32_t count;
    int *index; /* columns of a row: the bound, then the prices */
    REAL *row;
};

DseCuttingPlanes *dse_cutting_plane_create(uint32_t count, double total, double most)
{
    DseCuttingPlanes *planes = xcalloc(1, sizeof(*planes));
    planes->lp = make_lp(0, (int)count + 1);
    if (!planes->lp) out_of_memory("making a linear program");
    planes->count = count;
    planes->index = xcalloc(count + 1, sizeof(int));
    planes->row = xcalloc(count + 1, sizeof(REAL));
    set_verbose(planes->lp, NEUTRAL);
    set_unbounded(planes->lp, 1);
    for (uint32_t i = 0; i <= count; i++) {
        planes->index[i] = (int)i + 1;
        planes->row[i] = i > 0;
        if (i > 0) set_upbo(planes->lp, (int)i + 1, total > 0 ? total : most);
    }
    if (total > 0)
        add_constraintex(planes->lp, (int)count + 1, planes->row, planes->index, EQ, total);
    REAL one = 1;
    set_obj_fnex(planes->lp, 1, &one, planes->index);
    set_maxim(planes->lp);
    return planes;
}

void dse_cutting_plane_free(DseCuttingPlanes *planes)
{
    if (!planes) return;
    delete_lp(planes->lp);
    free_ptr((void **)&planes->index);
    free_ptr((void **)&planes->row);
    free_ptr((void **)&planes);
}

void dse_cutting_plane_add(DseCuttingPlanes *planes, double goal, const double *excess)
{
    planes->row[0] = 1;
    for (uint32_t i = 0; i < planes->count; i++) planes->row[i + 1] = -excess[i];
    add_constraintex(planes->lp, (int)planes->count + 1, planes->row, planes->index, LE, goal);
}

double dse_cutting_plane_solve(DseCuttingPlanes *planes, double *prices)
{
    if (solve(planes->lp) != OPTIMAL) return INFINITY;
    get_variables(planes->lp, planes->row);
    for (uint32_t i = 0; i < planes->count; i++)
        prices[i] = planes->row[i + 1] > 0 ? planes->row[i + 1] : 0;
    return get_objective(planes->lp);
}
