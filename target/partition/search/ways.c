/* Cards first. Where the first goals concern Ethernet links alone, all ways to give the nodes to cards
 * are listed by what they weigh there, and the lightest is taken for which there is a placement. Of the
 * ways of one weight the one that is best in the goals behind counts: card by card, or, where the cards
 * have to do with each other, all at once.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>

#include "target/partition/search/internal.h"

typedef struct CardsFirst {
    Solver *solver;
    uint32_t goal, count,
        behind; /* the first goal; how many concern Ethernet links; behind these */
    PartitionCardWays *ways;
    PartitionCardSearch *by_card; /* NULL: all cards at once */
    PartitionPlacement found;     /* card by card */
    int64_t open; /* the least weight that steps did not suffice for; INT64_MAX: none */
} CardsFirst;

void partition_take_way(Solver *solver, size_t way)
{
    PartitionUnits *units = &solver->search.state.units;
    const uint64_t *masks = solver->masks.data + way * units->count;
    for (uint32_t u = 0; u < units->count; u++)
        units->dies[u] = solver->masks.len > 0 ? masks[u] : solver->dies[u];
}

/* Appends a way: where each unit may be. */
static void add_way(Solver *solver, const uint32_t *cards)
{
    const PartitionUnits *units = &solver->search.state.units;
    const PartitionPlatform *platform = solver->model->platform;
    for (uint32_t u = 0; u < units->count; u++)
        *vec_push(&solver->masks) =
            solver->dies[u] & solver->sets.data[0] &
            partition_dies_of(platform, UINT32_C(1) << cards[units->nodes[units->first[u]]]);
}

/* Tries the ways that are listed at once, with a part of the steps that are left. */
static void try_masks(CardsFirst *c)
{
    Solver *solver = c->solver;
    Search *s = &solver->search;
    int64_t steps = s->state.max_steps;
    s->is_found = false;
    s->state.max_steps = s->state.steps + (steps - s->state.steps) / 4;
    (void)partition_run_sets(solver, MOST_WEIGHT, true);
    s->state.max_steps = steps;
}

/* Tries the ways of one weight. Gives whether there is a placement. */
static bool try_ways(CardsFirst *c, size_t *next)
{
    int64_t weight, own;
    Solver *solver = c->solver;
    solver->masks.len = 0;
    if (c->by_card) partition_card_search_begin(c->by_card, &c->found);
    (void)partition_card_way(c->ways, *next, &weight);
    for (; *next < partition_card_ways_count(c->ways); ++*next) {
        const uint32_t *cards = partition_card_way(c->ways, *next, &own);
        if (own != weight) break;
        if (c->by_card)
            partition_search_card_way(c->by_card, cards);
        else
            add_way(solver, cards);
    }
    if (c->by_card)
        solver->is_over = !c->found.is_proven;
    else
        try_masks(c);
    bool is_placed = c->by_card ? c->found.is_placed : solver->out->is_placed;
    if (!is_placed && solver->is_over) c->open = i64_min(c->open, weight);
    return is_placed;
}

/* Goes through the ways from the lightest on. False: they are too many, or the steps ran out. */
static bool search_ways(CardsFirst *c)
{
    const PartitionState *state = &c->solver->search.state;
    int64_t least = partition_card_ways_bound(c->ways), most = partition_card_ways_most(c->ways);
    for (int64_t more = 0; least <= most;) {
        if (!partition_list_card_ways(c->ways, least, least + more)) {
            if (more == 0) return false;
            more = 0;
            continue;
        }
        for (size_t i = 0; i < partition_card_ways_count(c->ways);) {
            c->solver->is_over = false;
            if (try_ways(c, &i)) return true;
            if (state->steps >= state->max_steps) return false;
        }
        least += more + 1;
        more = 2 * more + most / 256;
    }
    return true;
}

/* What the goals of Ethernet links are at least. */
static void set_bounds(const CardsFirst *c)
{
    PartitionPlacement *out = c->solver->out;
    int64_t least[2] = {c->open, 0};
    if (c->count == 2) partition_card_ways_values(c->ways, c->open, least);
    for (uint32_t g = 0; g < c->count; g++) {
        int64_t *bound = &out->bounds[c->goal + g];
        bool is_open = c->open < INT64_MAX && (g == 0 || bound[-1] == out->values[c->goal]);
        *bound = c->open == INT64_MAX ? out->values[c->goal + g] : is_open ? least[g] : 0;
    }
}

/* Takes what has been found card by card. */
static void take_found(CardsFirst *c)
{
    Solver *solver = c->solver;
    PartitionPlacement *out = solver->out;
    bool is_exact = c->open == INT64_MAX;
    partition_placement_free(out);
    out->is_placed = true;
    for (size_t i = 0; i < c->found.dies.len; i++) {
        *vec_push(&out->dies) = c->found.dies.data[i];
        *vec_push(&out->versions) = c->found.versions.data[i];
    }
    partition_values(solver->model, solver->options, out);
    set_bounds(c);
    for (uint32_t g = c->behind; g < solver->options->goal_count; g++) {
        out->bounds[g] = c->found.is_proven ? out->values[g] : c->found.bounds[g - c->behind];
        if (!is_exact) out->bounds[g] = 0;
        is_exact &= out->bounds[g] == out->values[g];
    }
    solver->is_over |= c->open < INT64_MAX;
}

/* Goes on with what has been found for all cards at once. */
static void go_on(CardsFirst *c, bool has_sum)
{
    Solver *solver = c->solver;
    PartitionPlacement *out = solver->out;
    partition_values(solver->model, solver->options, out);
    set_bounds(c);
    if (has_sum) out->bounds[c->behind] = solver->is_over ? 0 : out->values[c->behind];
    partition_solve_rest(solver, c->behind + has_sum);
    for (uint32_t g = c->behind; c->open < INT64_MAX && g < solver->options->goal_count; g++)
        out->bounds[g] = 0;
    solver->is_over |= c->open < INT64_MAX;
}

static bool begin_all(const CardsFirst *c, bool has_sum)
{
    Solver *solver = c->solver;
    size_t edges = solver->model->edges.len;
    solver->search.has_cards = true;
    for (size_t i = 0; i < solver->model->platform->links.len * edges; i++)
        solver->search.weights[i] = solver->model->platform->links.data[i / edges].is_ethernet;
    return !has_sum || partition_add_goal(solver, c->behind);
}

static PartitionCardWays *list_ways(const CardsFirst *c)
{
    const Solver *solver = c->solver;
    PartitionSymmetry *symmetry = xcalloc(1, sizeof *symmetry);
    partition_find_symmetry(&solver->search.state, solver->sets.data[0], symmetry);
    PartitionCardWays *ways =
        partition_card_ways_new(&solver->search.state, symmetry, solver->options->goals + c->goal,
                                c->count, solver->sets.data[0]);
    free(symmetry);
    return ways;
}

/* How many goals from one on concern Ethernet links alone, and can be solved so. */
static uint32_t count_goals(const Solver *solver, uint32_t goal)
{
    const PartitionOptions *options = solver->options;
    uint32_t count = 0;
    while (goal + count < options->goal_count &&
           (options->goals[goal + count] == PARTITION_ETHERNET ||
            options->goals[goal + count] == PARTITION_GBPS))
        count++;
    bool is_one = solver->sets.len == 1 && count <= 2;
    return is_one && partition_can_list_card_ways(solver->model) ? count : 0;
}

bool partition_solve_by_cards(Solver *solver, uint32_t goal)
{
    PartitionState *state = &solver->search.state;
    const PartitionOptions *options = solver->options;
    CardsFirst c = {.solver = solver, .goal = goal, .count = count_goals(solver, goal)};
    int64_t all_steps = state->max_steps;
    if (c.count == 0) return false;
    c.behind = goal + c.count;
    c.open = INT64_MAX;
    c.ways = list_ways(&c);
    bool has_sum = partition_is_sum(options, c.behind);
    if (partition_can_solve_cards(state))
        c.by_card = partition_card_search_new(state, options->goals + c.behind,
                                              options->goal_count - c.behind, solver->sets.data[0]);
    bool ok = c.by_card || begin_all(&c, has_sum);
    state->max_steps -= (all_steps - state->steps) / 2;
    ok = ok && search_ways(&c);
    state->max_steps = all_steps;
    bool is_placed = ok && (c.by_card ? c.found.is_placed : solver->out->is_placed);
    if (is_placed && c.by_card) take_found(&c);
    if (is_placed && !c.by_card) go_on(&c, has_sum);
    if (c.by_card) partition_card_search_free(c.by_card);
    partition_placement_free(&c.found);
    partition_card_ways_free(c.ways);
    if (is_placed) return true;
    solver->search.has_cards = false;
    solver->masks.len = 0;
    partition_take_way(solver, 0);
    return ok && c.open == INT64_MAX;
}
