/* The exact search: of sets of cards the smallest ones are tried first, and on each the goals one after
 * the other.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/search/internal.h"

static uint64_t image_of(const uint8_t *image, uint64_t dies)
{
    uint64_t result = 0;
    for (uint32_t i = 0; i < PARTITION_MAX_DIES; i++)
        if (dies >> i & 1) result |= UINT64_C(1) << image[i];
    return result;
}

/* Lists the sets of so many cards, of those that look alike the first one. */
static void list_sets(Solver *solver, const PartitionSymmetry *symmetry, uint32_t count)
{
    const PartitionPlatform *platform = solver->model->platform;
    solver->sets.len = 0;
    for (uint32_t cards = 1; cards < UINT32_C(1) << platform->card_count; cards++) {
        uint32_t size = 0;
        bool is_first = true;
        uint64_t dies = partition_dies_of(platform, cards);
        for (uint32_t left = cards; left; left &= left - 1) size++;
        for (uint32_t i = 0; size == count && i < symmetry->count; i++)
            is_first &= image_of(symmetry->image[i], dies) >= dies;
        if (size == count && is_first) *vec_push(&solver->sets) = dies;
    }
}

static void solve(Solver *solver)
{
    const PartitionPlatform *platform = solver->model->platform;
    const PartitionOptions *options = solver->options;
    PartitionPlacement *out = solver->out;
    PartitionSymmetry *symmetry = xcalloc(1, sizeof *symmetry);
    bool counts = options->goal_count > 0 && options->goals[0] == PARTITION_CARDS;
    uint64_t all = partition_dies_of(platform, UINT32_MAX);
    partition_find_symmetry(&solver->search.state, all, symmetry);
    for (uint32_t n = counts ? 1 : platform->card_count; n <= platform->card_count; n++) {
        list_sets(solver, symmetry, n);
        out->bounds[0] = counts ? n : 0;
        partition_solve_sets(solver);
        if (out->is_placed || solver->is_over) break;
    }
    free(symmetry);
}

void partition_search(const PartitionModel *model, const PartitionOptions *options,
                      PartitionPlacement *out)
{
    Solver *solver = xcalloc(1, sizeof *solver);
    Search *s = &solver->search;
    memset(out, 0, sizeof *out);
    solver->model = model;
    solver->options = options;
    solver->out = s->best = out;
    s->anneals = options->is_annealed;
    partition_state_init(&s->state, model, options);
    s->order = xcalloc(s->state.units.count, sizeof *s->order);
    s->weights = xcalloc(model->platform->links.len * model->edges.len, sizeof *s->weights);
    partition_search_order(&s->state, s->order);
    solver->dies = xcalloc(s->state.units.count, sizeof *solver->dies);
    memcpy(solver->dies, s->state.units.dies, s->state.units.count * sizeof *solver->dies);
    solve(solver);
    if (!out->is_placed && solver->is_over) partition_fall_back(solver);
    out->is_proven = !solver->is_over;
    out->steps = s->state.steps;
    vec_free(&solver->sets);
    vec_free(&solver->masks);
    free(solver->dies);
    free(s->order);
    free(s->weights);
    partition_state_free(&s->state);
    free(solver);
}
