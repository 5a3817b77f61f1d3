/* The program: maximise the bound, which is at most goal + sum (price * excess) of each design.
 * Tests: test/unit/target/dse/solve_test.c */
#include <lpsolve/lp_lib.h>
#include <math.h>

#include "target/dse/solve/solve.h"

struct DseMaster {
    lprec *lp;
    uint32_t count;
    int *index; /* columns of a row: the bound, then the prices */
    REAL *row;
};

DseMaster *dse_cutting_plane_create(uint32_t count, double total, double most)
{
    DseMaster *master = xcalloc(1, sizeof(*master));
    master->lp = make_lp(0, (int)count + 1);
    if (!master->lp) panic("out of memory");
    master->count = count;
    master->index = xcalloc(count + 1, sizeof(int));
    master->row = xcalloc(count + 1, sizeof(REAL));
    set_verbose(master->lp, NEUTRAL);
    set_unbounded(master->lp, 1);
    for (uint32_t i = 0; i <= count; i++) {
        master->index[i] = (int)i + 1;
        master->row[i] = i > 0;
        if (i > 0) set_upbo(master->lp, (int)i + 1, total > 0 ? total : most);
    }
    if (total > 0)
        add_constraintex(master->lp, (int)count + 1, master->row, master->index, EQ, total);
    REAL one = 1;
    set_obj_fnex(master->lp, 1, &one, master->index);
    set_maxim(master->lp);
    return master;
}

void dse_cutting_plane_free(DseMaster *master)
{
    if (!master) return;
    delete_lp(master->lp);
    free_ptr((void **)&master->index);
    free_ptr((void **)&master->row);
    free_ptr((void **)&master);
}

void dse_cutting_plane_add(DseMaster *master, double goal, const double *excess)
{
    master->row[0] = 1;
    for (uint32_t i = 0; i < master->count; i++) master->row[i + 1] = -excess[i];
    add_constraintex(master->lp, (int)master->count + 1, master->row, master->index, LE, goal);
}

double dse_cutting_plane_solve(DseMaster *master, double *prices)
{
    if (solve(master->lp) != OPTIMAL) return INFINITY;
    get_variables(master->lp, master->row);
    for (uint32_t i = 0; i < master->count; i++)
        prices[i] = master->row[i + 1] > 0 ? master->row[i + 1] : 0;
    return get_objective(master->lp);
}
