/* What every user of a design space needs: its end, and the sum of what was chosen.
 * Tests: test/unit/target/dse/solve_test.c */
#include "target/dse/dse.h"

void dse_free(DseSpace *space)
{
    for (size_t i = 0; i < space->nodes.len; i++) vec_free(&space->nodes.data[i].configs);
    vec_free(&space->nodes);
    vec_free(&space->edges);
    vec_free(&space->words);
    ptrmap_free(&space->word_numbers);
}

Cost dse_total(const DseSpace *space)
{
    Cost total = {0};
    for (size_t i = 0; i < space->nodes.len; i++) {
        const DseNode *node = &space->nodes.data[i];
        cost_add(&total, &node->configs.data[node->chosen].cost);
    }
    return total;
}
