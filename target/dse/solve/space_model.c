/* What every user of a design space needs: its end, the state of a search in it, and the cost of a
 * design.
 * Tests: test/unit/target/dse/solve_test.c */
#include "target/dse/solve/solve.h"

void dse_free(DseSpace *space)
{
    for (size_t i = 0; i < space->nodes.len; i++) vec_free(&space->nodes.data[i].configs);
    vec_free(&space->nodes);
    vec_free(&space->edges);
    vec_free(&space->words);
    ptrmap_free(&space->word_numbers);
}

DseState dse_state(const DseSpace *space)
{
    return (DseState){.chosen = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1)};
}

Cost dse_total(const DseSpace *space, const uint32_t *chosen)
{
    Cost total = {0};
    for (size_t n = 0; n < space->nodes.len; n++)
        cost_add(&total, &space->nodes.data[n].configs.data[chosen[n]].cost);
    return total;
}
