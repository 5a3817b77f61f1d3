/* The paper's baseline: next fit. Nodes come in topological order, versions are the first ones that
 * fit, and when a die is full the next one takes over for good; dies that a node may not be on are
 * passed over, too.
 * Tests: lit/target/partition/greedy.test */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

void partition_greedy(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *out)
{
    PartitionState *state = xcalloc(1, sizeof *state);
    uint32_t count = (uint32_t)model->nodes.len, die = 0, i = 0, node;
    uint32_t *order = xcalloc(count, sizeof *order);
    bool ok = partition_topological_order(model, order, &node);
    memset(out, 0, sizeof *out);
    partition_state_init(state, model, options);
    for (i = 0; ok && i < count; i++) {
        uint32_t unit = state->units.of[order[i]];
        if (state->die[unit] != PARTITION_NONE) continue;
        while (die < model->platform->die_count &&
               (!(state->units.dies[unit] >> die & 1) || !partition_place(state, unit, die)))
            die++;
        ok = die < model->platform->die_count;
    }
    for (i = 0; ok && i < count; i++) {
        *vec_push(&out->dies) = state->die[state->units.of[i]];
        *vec_push(&out->versions) = state->version[i];
    }
    out->is_placed = ok;
    out->steps = state->steps;
    if (ok) partition_values(model, options, out);
    partition_state_free(state);
    free(state);
    free(order);
}
