/* Where nothing has been found in all steps: what another search finds, else the paper's baseline.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/search/internal.h"

/* Takes the dies' shares of all Ethernet ports off their limits, as if all were used. */
static bool reserve_ports(PartitionPlatform *platform)
{
    bool has_room = true, has_ports = false;
    for (size_t i = 0; i < platform->links.len; i++)
        for (int end = 0; end < 2; end++)
            for (int k = 0; k < PARTITION_KINDS; k++) {
                PartitionLink *link = &platform->links.data[i];
                int64_t *limit = &platform->dies[link->dies[end]].limit[k];
                *limit -= link->charge[end][k];
                has_ports |= link->charge[end][k] > 0;
                has_room &= *limit >= 0;
                link->charge[end][k] = 0;
            }
    return has_room && has_ports;
}

/* Whether the uses of all dies are within their limits. */
static bool is_within(const PartitionModel *model, const PartitionOptions *options,
                      const PartitionPlacement *placement)
{
    bool ok = true;
    PartitionUse *use = xcalloc(1, sizeof *use);
    partition_measure(model, options, placement, use);
    for (uint32_t d = 0; d < model->platform->die_count; d++) {
        PartitionRows rows = {0};
        partition_die_rows(model->platform, d, &rows);
        for (size_t i = 0; i < rows.len; i++)
            ok &= partition_row_holds(&rows.data[i], use->dies[d]);
        vec_free(&rows);
    }
    partition_use_free(use);
    free(use);
    return ok;
}

/* Searches once more with room for all ports: dies that are full before a link is wanted are what
 * the search loses its steps with. */
static void search_reserved(const Solver *solver, PartitionPlacement *out)
{
    PartitionModel copy = *solver->model;
    PartitionPlatform *platform = xcalloc(1, sizeof *platform);
    *platform = *solver->model->platform;
    memset(&platform->links, 0, sizeof platform->links);
    for (size_t i = 0; i < solver->model->platform->links.len; i++)
        *vec_push(&platform->links) = solver->model->platform->links.data[i];
    copy.platform = platform;
    memset(out, 0, sizeof *out);
    if (reserve_ports(platform)) partition_search(&copy, solver->options, out);
    if (out->is_placed && !is_within(solver->model, solver->options, out)) out->is_placed = false;
    vec_free(&platform->links);
    free(platform);
}

void partition_fall_back(Solver *solver)
{
    PartitionPlacement other;
    PartitionPlacement *out = solver->out;
    search_reserved(solver, &other);
    if (!other.is_placed) {
        partition_placement_free(&other);
        partition_greedy(solver->model, solver->options, &other);
    }
    if (!other.is_placed) return;
    partition_values(solver->model, solver->options, &other);
    memcpy(other.bounds, out->bounds, sizeof other.bounds);
    partition_placement_free(out);
    *out = other;
}
