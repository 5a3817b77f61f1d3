/* Branch and bound. Units come in one order; of a unit all dies are tried, those of the least bound
 * first, as far as the weight so far and the bound of the rest do not exceed a threshold. The
 * threshold begins with the bound of the whole and rises to the least bound that exceeded it; so
 * everything below it is excluded, and what is found is best (iterative deepening). Within one
 * threshold each placement found lowers it.
 * Goals are taken one after the other: the weight of each edge is that for the goals before, times
 * more than the present goal can amount to, plus that for the present one. Of sets of cards the
 * smallest ones are tried first. The greatest utilization is found by bisection with limits that fall.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

/* Sums of weights stay below. */
#define MOST_WEIGHT (INT64_C(1) << 60)
enum {
    FIRST_STEPS = 3000, /* depth first, before layers are searched */
    LEAST_WIDTH = 200,  /* labels of a layer */
    MOST_WIDTH = LEAST_WIDTH * 8 * 8 * 8
};

typedef struct Search {
    PartitionState state;
    uint32_t *order;
    PartitionBound *bound;
    PartitionSymmetry symmetry;
    int64_t *weights;          /* per link and edge */
    uint64_t dies, used;       /* that may be used; that are */
    int64_t cost, upper, next; /* so far; the most that is of interest; the least above that */
    int64_t found;             /* the weight of what has been found last */
    uint32_t width;            /* labels of a layer that have sufficed last */
    bool stops;                /* at the first placement */
    bool has_cards;            /* each unit is given to a card */
    bool is_tight; /* the goals before had their least weight proven by cuts: so few sets weigh as
                      little that wires and shares can be told apart by them, too */
    bool by_cuts;  /* the last run was ended by them */
    int64_t known, most; /* nothing weighs less, or more */
    bool is_found;
    PartitionPlacement *best;
} Search;

/* A die that a unit may come to. */
typedef struct Branch {
    uint32_t die;
    int64_t added, total; /* weight of the edges; bound of everything */
} Branch;

static bool is_stopped(const Search *s)
{
    return s->state.steps >= s->state.max_steps || (s->stops && s->is_found);
}

/* Whether a unit may come to a die as far as weights and bounds say. */
static bool weigh(Search *s, uint32_t at, Branch *branch)
{
    uint32_t unit = s->order[at];
    branch->added = partition_edge_weight(&s->state, s->weights, unit, branch->die);
    if (branch->added == INT64_MAX) return false;
    s->state.die[unit] = branch->die;
    partition_bound_place(s->bound, at, branch->die);
    int64_t rest = partition_bound_rest(s->bound, at + 1);
    partition_bound_remove(s->bound, at, branch->die);
    s->state.die[unit] = PARTITION_NONE;
    if (rest == INT64_MAX) return false;
    branch->total = s->cost + branch->added + rest;
    if (branch->total > s->upper) s->next = i64_min(s->next, branch->total);
    return branch->total <= s->upper;
}

static uint32_t list_branches(Search *s, uint32_t at, Branch *out)
{
    uint32_t count = 0;
    uint64_t dies = s->state.units.dies[s->order[at]] & s->dies;
    for (uint32_t die = 0; die < s->state.model->platform->die_count; die++) {
        Branch branch = {.die = die};
        if (!(dies >> die & 1) || !partition_is_first(&s->symmetry, s->used, die) ||
            !weigh(s, at, &branch))
            continue;
        uint32_t i = count++;
        for (; i > 0 && out[i - 1].total > branch.total; i--) out[i] = out[i - 1];
        out[i] = branch;
    }
    return count;
}

static void record(Search *s)
{
    PartitionPlacement *best = s->best;
    size_t count = s->state.model->nodes.len;
    best->dies.len = best->versions.len = 0;
    for (size_t i = 0; i < count; i++) {
        *vec_push(&best->dies) = s->state.die[s->state.units.of[i]];
        *vec_push(&best->versions) = s->state.version[i];
    }
    best->is_placed = s->is_found = true;
    s->found = s->cost;
    s->upper = s->cost - 1;
}

static void search_from(Search *s, uint32_t at)
{
    Branch branches[PARTITION_MAX_DIES];
    if (at == s->state.units.count) record(s);
    if (at == s->state.units.count || is_stopped(s)) return;
    uint32_t unit = s->order[at], count = list_branches(s, at, branches);
    uint64_t used = s->used;
    for (uint32_t i = 0; i < count && !is_stopped(s); i++) {
        if (branches[i].total > s->upper) s->next = i64_min(s->next, branches[i].total);
        if (branches[i].total > s->upper) break;
        s->state.steps++;
        if (!partition_place(&s->state, unit, branches[i].die)) continue;
        partition_bound_place(s->bound, at, branches[i].die);
        s->used |= UINT64_C(1) << branches[i].die;
        s->cost += branches[i].added;
        search_from(s, at + 1);
        s->cost -= branches[i].added;
        s->used = used;
        partition_bound_remove(s->bound, at, branches[i].die);
        partition_remove(&s->state, unit);
    }
}

static uint64_t dies_of(const PartitionPlatform *platform, uint32_t cards)
{
    uint64_t dies = 0;
    for (uint32_t i = 0; i < platform->die_count; i++)
        if (cards >> platform->dies[i].card & 1) dies |= UINT64_C(1) << i;
    return dies;
}

/* Whether the dies together hold what the units that must be there take at least, by each measure. */
static bool fits_pooled(const PartitionState *state, uint64_t dies)
{
    enum { MOST = 12 };
    PartitionMeasure measures[MOST];
    uint32_t count = partition_choose_measures(state, dies, measures, MOST);
    for (uint32_t m = 0; m < count; m++) {
        int64_t need = 0, room = 0;
        for (uint32_t u = 0; u < state->units.count; u++)
            if (!(state->units.dies[u] & state->used & ~dies))
                need += partition_unit_size(state, &measures[m], u);
        for (uint32_t i = 0; i < state->model->platform->die_count; i++)
            if (dies >> i & 1) room += partition_die_size(state, &measures[m], i);
        if (need > room) return false;
    }
    return true;
}

/* What a run found out about its set of dies. */
typedef struct Outcome {
    bool is_over;  /* all steps have been taken before the end */
    int64_t bound; /* no placement weighs less; INT64_MAX: none is as good as `upper` */
} Outcome;

/* Records what the search by layers has found. False: the steps do not suffice. */
static bool replay(Search *s, const uint32_t *dies, int64_t cost)
{
    uint32_t count = s->state.units.count, done = 0;
    s->cost = cost;
    while (done < count && partition_place(&s->state, s->order[done], dies[done])) done++;
    if (done == count) record(s);
    for (uint32_t i = done; i-- > 0;) partition_remove(&s->state, s->order[i]);
    s->cost = 0;
    return done == count;
}

/* The search by layers, first with few labels. Gives whether it has seen everything: then what is
 * recorded is best, or nothing weighs at most s->upper. */
static bool search_layers(Search *s, uint32_t width, uint32_t most_width)
{
    uint32_t count = s->state.units.count;
    uint32_t *dies = xcalloc(count, sizeof *dies);
    bool is_done = false;
    s->next = INT64_MAX;
    for (; !is_done && width <= most_width && !is_stopped(s); width *= 8) {
        s->width = width;
        PartitionLayerSearch layers = {.state = &s->state,
                                       .order = s->order,
                                       .bound = s->bound,
                                       .symmetry = &s->symmetry,
                                       .weights = s->weights,
                                       .dies = s->dies,
                                       .upper = s->upper,
                                       .width = width};
        partition_search_layers(&layers, dies);
        is_done = !layers.is_cut && (!layers.is_found || replay(s, dies, layers.cost));
        if (layers.is_cut && layers.is_found) (void)replay(s, dies, layers.cost);
        s->next = layers.next;
    }
    free(dies);
    return is_done || (s->stops && s->is_found);
}

/* The search die by die, with the same meaning. */
static bool search_cuts(Search *s, PartitionCuts *cuts, PartitionCutSearch *search)
{
    uint32_t *dies = xcalloc(s->state.units.count, sizeof *dies);
    search->upper = s->upper;
    partition_search_cuts(cuts, dies);
    s->state.steps++;
    bool is_done = !search->is_over && (!search->is_found || replay(s, dies, search->cost));
    if (!search->is_found) s->next = search->next;
    free(dies);
    return is_done;
}

/* Whether the weights are small multiples of the least one. Sets are listed by their weight, and there
 * are too many of them where goals such as wires tell all apart, or where a link weighs nothing. */
static bool has_few_weights(const Search *s)
{
    enum { MOST_MULTIPLE = 32 };
    const PartitionModel *model = s->state.model;
    size_t count = model->platform->links.len * model->edges.len;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) least = i64_min(least, s->weights[i]);
    if (least == 0) return false;
    for (size_t i = 0; i < count; i++)
        if (s->weights[i] % least != 0 || s->weights[i] / least > MOST_MULTIPLE) return false;
    return true;
}

typedef enum Method { DEPTH_FIRST, BY_LAYERS, BY_CUTS } Method;

/* Raises the threshold from the bound on until there is a placement. Depth first has the steps that
 * the state says. */
static void deepen(Search *s, int64_t upper, bool rises, Method method, Outcome *out)
{
    PartitionCutSearch search = {.state = &s->state,
                                 .order = s->order,
                                 .bound = s->bound,
                                 .weights = s->weights,
                                 .dies = s->dies};
    PartitionCuts *cuts = method == BY_CUTS ? partition_cuts_new(&search) : NULL;
    out->is_over = false;
    s->is_found = false;
    for (int64_t step = 0; out->bound <= i64_min(upper, s->most);
         step = 2 * step + (upper < MOST_WEIGHT ? (upper - out->bound) / 64 : 0)) {
        bool is_done = true;
        s->upper = rises ? i64_min(upper, out->bound + step) : upper;
        s->next = INT64_MAX;
        if (method == DEPTH_FIRST)
            search_from(s, 0);
        else if (method == BY_LAYERS)
            is_done = search_layers(s, s->width, MOST_WIDTH);
        else
            is_done = search_cuts(s, cuts, &search);
        /* Below the bound there is nothing to look for. */
        is_done |= s->is_found && s->upper < out->bound;
        out->is_over = !is_done || (is_stopped(s) && !(s->stops && s->is_found));
        if (s->is_found && s->found <= out->bound) out->is_over = false;
        if (s->is_found || out->is_over) break;
        out->bound = s->next;
    }
    if (cuts) partition_cuts_free(cuts);
}

/* When few steps have not sufficed: layers, then depth first. */
static void go_on(Search *s, int64_t upper, bool rises, Outcome *out)
{
    bool is_found = s->is_found;
    if (is_found) upper = s->found - 1;
    s->upper = upper;
    s->width = LEAST_WIDTH;
    for (int64_t more = 0; !is_found && rises && !is_stopped(s) && out->bound + more <= upper;
         more = 2 * more + 1) {
        s->upper = out->bound + more;
        (void)search_layers(s, LEAST_WIDTH, LEAST_WIDTH);
        is_found = s->is_found;
    }
    if (!is_found) s->upper = upper;
    for (int depth_first = 0; depth_first < 2 && (!is_found || !s->stops); depth_first++) {
        if (is_found) upper = s->found - 1;
        deepen(s, upper, rises, depth_first ? DEPTH_FIRST : BY_LAYERS, out);
        is_found |= s->is_found;
        if (!out->is_over || is_stopped(s)) break;
    }
    s->is_found = is_found;
}

static int64_t sum_weights(const Search *s)
{
    const PartitionModel *model = s->state.model;
    int64_t sum = 0;
    for (size_t i = 0; i < model->platform->links.len * model->edges.len; i++) sum += s->weights[i];
    return sum;
}

/* The best placement on some dies whose weight is at most `upper`. rises: the threshold begins with
 * the bound. First depth first with few steps, then die by die, then by layers, which do without many
 * repeated searches, and at last depth first with all steps that are left. */
static Outcome run(Search *s, uint64_t dies, int64_t upper, bool rises)
{
    Outcome out = {false, INT64_MAX};
    int64_t steps = s->state.max_steps;
    s->most = sum_weights(s);
    s->dies = s->state.used = dies;
    s->used = 0;
    s->cost = 0;
    s->is_found = false;
    partition_state_reserve(&s->state, dies);
    if (!fits_pooled(&s->state, dies)) return out;
    for (uint32_t card = 0; s->has_cards && card < s->state.model->platform->card_count; card++) {
        uint64_t own = dies & dies_of(s->state.model->platform, UINT32_C(1) << card);
        if (own && !fits_pooled(&s->state, own)) return out;
    }
    partition_find_symmetry(&s->state, dies, &s->symmetry);
    s->bound = partition_bound_new(&s->state, s->order, s->weights, dies);
    out.bound = i64_max(s->known, partition_bound_rest(s->bound, 0));
    s->state.max_steps = i64_min(steps, s->state.steps + FIRST_STEPS);
    deepen(s, upper, rises, DEPTH_FIRST, &out);
    s->state.max_steps = steps;
    bool is_found = s->is_found;
    s->by_cuts = out.is_over && steps > s->state.steps && (has_few_weights(s) || s->is_tight) &&
                 partition_can_search_cuts(&s->state);
    if (s->by_cuts) deepen(s, is_found ? s->found - 1 : upper, rises, BY_CUTS, &out);
    s->by_cuts &= !out.is_over;
    s->is_found |= is_found;
    if (out.is_over && steps > s->state.steps) go_on(s, upper, rises, &out);
    if (s->is_found) s->upper = s->found - 1;
    if (!s->is_found && !out.is_over) out.bound = INT64_MAX;
    partition_bound_free(s->bound);
    return out;
}

/* Goals one after the other. */

typedef struct Solver {
    Search search;
    const PartitionModel *model;
    const PartitionOptions *options;
    PartitionPlacement *out;
    VEC(uint64_t) sets;  /* of dies, of which each is tried */
    VEC(uint64_t) masks; /* per way to give the nodes to cards, and unit: dies; empty: any way */
    uint64_t *dies;      /* per unit: where it may be in any way */
    int64_t weight;      /* of the placement, by the weights */
    bool is_over;
    bool is_open; /* ways lighter than that of the placement are not decided */
} Solver;

/* Lets units be where a way says. */
static void take_way(Solver *solver, size_t way)
{
    PartitionUnits *units = &solver->search.state.units;
    const uint64_t *masks = solver->masks.data + way * units->count;
    for (uint32_t u = 0; u < units->count; u++)
        units->dies[u] = solver->masks.len > 0 ? masks[u] : solver->dies[u];
}

/* Tries all sets for a placement that weighs at most `upper`. Gives the least bound. */
static int64_t run_sets(Solver *solver, int64_t upper, bool rises)
{
    int64_t least = INT64_MAX;
    Search *s = &solver->search;
    size_t ways = solver->masks.len / s->state.units.count;
    size_t count = ways > 0 ? ways : solver->sets.len;
    for (size_t i = 0; i < count && !(s->stops && s->is_found); i++) {
        if (ways > 0) take_way(solver, i);
        Outcome outcome = run(s, solver->sets.data[ways > 0 ? 0 : i], upper, rises);
        if (s->is_found) upper = solver->weight = s->upper + 1;
        if (s->is_found) upper--;
        solver->is_over |= outcome.is_over;
        least = i64_min(least, outcome.bound);
        /* A set whose search was cut short counts with its bound; one that was done, with what it
         * found. */
        if (s->is_found && !outcome.is_over) least = i64_min(least, solver->weight);
    }
    return least;
}

/* Puts a goal behind the goals before it: their weights are multiplied by more than it comes to in
 * the present placement. False: the weights become too large. */
static bool add_goal(Solver *solver, uint32_t goal)
{
    const PartitionModel *model = solver->model;
    int64_t factor = solver->out->is_placed ? solver->out->values[goal] + 1 : 1;
    size_t edges = model->edges.len;
    double sum = 0;
    for (size_t i = 0; i < model->platform->links.len * edges; i++)
        sum += (double)solver->search.weights[i] * (double)factor +
               (double)partition_goal_weight(solver->options->goals[goal],
                                             &model->platform->links.data[i / edges],
                                             &model->edges.data[i % edges]);
    if (sum > (double)MOST_WEIGHT) return false;
    for (size_t i = 0; i < model->platform->links.len * edges; i++)
        solver->search.weights[i] = solver->search.weights[i] * factor +
                                    partition_goal_weight(solver->options->goals[goal],
                                                          &model->platform->links.data[i / edges],
                                                          &model->edges.data[i % edges]);
    solver->weight =
        solver->weight * factor + (solver->out->is_placed ? solver->out->values[goal] : 0);
    return true;
}

/* Improves a goal that is a sum over edges. */
static void solve_sum(Solver *solver, uint32_t goal)
{
    PartitionPlacement *out = solver->out;
    if (!add_goal(solver, goal)) solver->is_over = true;
    if (solver->is_over) return;
    int64_t base = solver->weight - out->values[goal];
    solver->search.is_tight = solver->search.by_cuts;
    solver->search.known = base;
    int64_t bound = run_sets(solver, solver->weight - 1, true);
    partition_values(solver->model, solver->options, out);
    out->bounds[goal] =
        solver->is_over ? i64_max(0, i64_min(bound, solver->weight) - base) : out->values[goal];
}

/* The least greatest share by bisection; placements keep the weight. */
static void solve_utilization(Solver *solver, uint32_t goal)
{
    PartitionPlacement *out = solver->out;
    int64_t low = 0;
    solver->search.stops = true;
    solver->search.is_tight = solver->search.by_cuts;
    solver->search.known = solver->weight;
    while (low < out->values[goal] && !solver->is_over) {
        int64_t middle = low + (out->values[goal] - low) / 2, weight = solver->weight;
        partition_state_limit(&solver->search.state, middle);
        solver->search.is_found = false;
        (void)run_sets(solver, weight, false);
        solver->weight = weight;
        solver->is_over &= !solver->search.is_found;
        if (solver->search.is_found)
            partition_values(solver->model, solver->options, out);
        else if (!solver->is_over)
            low = middle + 1;
    }
    out->bounds[goal] = low;
}

/* Finds a placement that is best in the first sum, if any. Gives the bound of it. */
static int64_t solve_first(Solver *solver, uint32_t goal)
{
    if (goal < solver->options->goal_count && !add_goal(solver, goal)) solver->is_over = true;
    int64_t bound = solver->is_over ? 0 : run_sets(solver, MOST_WEIGHT, true);
    if (solver->out->is_placed) partition_values(solver->model, solver->options, solver->out);
    return bound;
}

static bool is_sum(const PartitionOptions *options, uint32_t goal)
{
    return goal < options->goal_count && options->goals[goal] != PARTITION_CARDS &&
           options->goals[goal] != PARTITION_UTILIZATION;
}

/* Cards first. Where the first goals concern Ethernet links alone, all ways to give the nodes to cards
 * are listed by what they weigh there, and the lightest is taken for which there is a placement. */

/* Appends a way: where each unit may be. */
static void add_way(Solver *solver, const uint32_t *cards)
{
    const PartitionUnits *units = &solver->search.state.units;
    const PartitionPlatform *platform = solver->model->platform;
    for (uint32_t u = 0; u < units->count; u++)
        *vec_push(&solver->masks) =
            solver->dies[u] & solver->sets.data[0] &
            dies_of(platform, UINT32_C(1) << cards[units->nodes[units->first[u]]]);
}

/* Tries the ways of one weight. Gives whether there is a placement. */
static bool try_ways(Solver *solver, const PartitionCardWays *ways, size_t *next, int64_t *bound)
{
    int64_t weight, own;
    Search *s = &solver->search;
    int64_t steps = s->state.max_steps;
    solver->masks.len = 0;
    (void)partition_card_way(ways, *next, &weight);
    for (; *next < partition_card_ways_count(ways); ++*next) {
        const uint32_t *cards = partition_card_way(ways, *next, &own);
        if (own != weight) break;
        add_way(solver, cards);
    }
    s->is_found = false;
    s->state.max_steps = s->state.steps + (steps - s->state.steps) / 4;
    *bound = run_sets(solver, MOST_WEIGHT, true);
    s->state.max_steps = steps;
    return solver->out->is_placed;
}

/* Goes through the ways from the lightest on. False: they are too many, or the steps ran out. *open:
 * the weight of the first one that steps did not suffice for; INT64_MAX: none. */
static bool search_ways(Solver *solver, PartitionCardWays *ways, int64_t *open, int64_t *bound)
{
    int64_t least = partition_card_ways_bound(ways), most = partition_card_ways_most(ways), weight;
    *open = INT64_MAX;
    for (int64_t more = 0; least <= most;) {
        if (!partition_list_card_ways(ways, least, least + more)) {
            if (more == 0) return false;
            more = 0;
            continue;
        }
        for (size_t i = 0; i < partition_card_ways_count(ways);) {
            solver->is_over = false;
            (void)partition_card_way(ways, i, &weight);
            if (try_ways(solver, ways, &i, bound)) return true;
            if (solver->is_over) *open = i64_min(*open, weight);
            if (solver->search.state.steps >= solver->search.state.max_steps) return false;
        }
        least += more + 1;
        more = 2 * more + most / 256;
    }
    return true;
}

/* What the goals of Ethernet links are at least. open: see search_ways. */
static void set_bounds(Solver *solver, const PartitionCardWays *ways, uint32_t goal, uint32_t count,
                       int64_t open)
{
    PartitionPlacement *out = solver->out;
    int64_t least[2] = {open, 0};
    if (count == 2) partition_card_ways_values(ways, open, least);
    for (uint32_t g = 0; g < count; g++) {
        bool is_open = open < INT64_MAX && (g == 0 || out->bounds[goal] == out->values[goal]);
        out->bounds[goal + g] = open == INT64_MAX ? out->values[goal + g] : is_open ? least[g] : 0;
    }
    solver->is_open = open < INT64_MAX;
}

/* Solves the goals of Ethernet links, `count` from number `goal` on, and the one behind them. False:
 * that is not possible, and nothing has changed. */
static bool solve_by_cards(Solver *solver, uint32_t goal, uint32_t count, bool has_sum)
{
    PartitionPlacement *out = solver->out;
    PartitionSymmetry *symmetry = xcalloc(1, sizeof *symmetry);
    int64_t bound = 0, open = 0;
    bool ok;
    partition_find_symmetry(&solver->search.state, solver->sets.data[0], symmetry);
    PartitionCardWays *ways =
        partition_card_ways_new(&solver->search.state, symmetry, solver->options->goals + goal,
                                count, solver->sets.data[0]);
    free(symmetry);
    solver->search.has_cards = true;
    for (size_t i = 0, edges = solver->model->edges.len;
         i < solver->model->platform->links.len * edges; i++)
        solver->search.weights[i] = solver->model->platform->links.data[i / edges].is_ethernet;
    ok = !has_sum || add_goal(solver, goal + count);
    int64_t *most_steps = &solver->search.state.max_steps, all_steps = *most_steps;
    *most_steps -= (all_steps - solver->search.state.steps) / 2;
    ok = ok && search_ways(solver, ways, &open, &bound);
    *most_steps = all_steps;
    if (ok && out->is_placed) {
        partition_values(solver->model, solver->options, out);
        set_bounds(solver, ways, goal, count, open);
        if (has_sum) out->bounds[goal + count] = solver->is_over ? 0 : out->values[goal + count];
        partition_card_ways_free(ways);
        return true;
    }
    partition_card_ways_free(ways);
    solver->search.has_cards = false;
    solver->masks.len = 0;
    take_way(solver, 0);
    return ok && open == INT64_MAX;
}

/* Leaves the sets that may hold all. */
static void keep_sets(Solver *solver)
{
    size_t kept = 0;
    PartitionState *state = &solver->search.state;
    for (size_t i = 0; i < solver->sets.len; i++) {
        state->used = solver->sets.data[i];
        partition_state_reserve(state, solver->sets.data[i]);
        if (fits_pooled(state, solver->sets.data[i]))
            solver->sets.data[kept++] = solver->sets.data[i];
    }
    solver->sets.len = kept;
}

/* How many goals from one on concern Ethernet links alone, and can be solved card by card. */
static uint32_t count_card_goals(const Solver *solver, uint32_t goal)
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

/* The goals from one on, behind those that are solved. */
static void solve_rest(Solver *solver, uint32_t goal)
{
    for (; goal < solver->options->goal_count && !solver->is_over; goal++) {
        if (is_sum(solver->options, goal))
            solve_sum(solver, goal);
        else
            solve_utilization(solver, goal);
    }
}

/* All goals behind the number of cards, on the sets of dies. */
static void solve_sets(Solver *solver)
{
    const PartitionOptions *options = solver->options;
    PartitionPlacement *out = solver->out;
    uint32_t goal = options->goal_count > 0 && options->goals[0] == PARTITION_CARDS;
    bool has_sum = is_sum(options, goal);
    size_t weights = solver->model->platform->links.len * solver->model->edges.len;
    keep_sets(solver);
    uint32_t count = count_card_goals(solver, goal);
    solver->weight = 0;
    solver->search.known = 0;
    solver->search.is_tight = solver->search.stops = false;
    if (count > 0 && solve_by_cards(solver, goal, count, is_sum(options, goal + count))) {
        if (!out->is_placed) return;
        solve_rest(solver, goal + count + is_sum(options, goal + count));
        for (goal += count; solver->is_open && goal < options->goal_count; goal++)
            out->bounds[goal] = 0;
        solver->is_over |= solver->is_open;
        return;
    }
    for (size_t i = 0; i < weights; i++) solver->search.weights[i] = 0;
    solver->is_over = false;
    int64_t bound = solve_first(solver, has_sum ? goal : options->goal_count);
    if (has_sum && bound < INT64_MAX)
        out->bounds[goal] = solver->is_over ? bound : out->values[goal];
    if (out->is_placed) solve_rest(solver, goal + has_sum);
}

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
        uint64_t dies = dies_of(platform, cards);
        for (uint32_t left = cards; left; left &= left - 1) size++;
        for (uint32_t i = 0; size == count && i < symmetry->count; i++)
            is_first &= image_of(symmetry->image[i], dies) >= dies;
        if (size == count && is_first) *vec_push(&solver->sets) = dies;
    }
}

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

/* If nothing has been found in all steps: what another search finds, else the paper's baseline. */
static void fall_back(Solver *solver)
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

static void solve(Solver *solver)
{
    const PartitionPlatform *platform = solver->model->platform;
    const PartitionOptions *options = solver->options;
    PartitionPlacement *out = solver->out;
    PartitionSymmetry *symmetry = xcalloc(1, sizeof *symmetry);
    bool counts = options->goal_count > 0 && options->goals[0] == PARTITION_CARDS;
    uint64_t all = dies_of(platform, UINT32_MAX);
    partition_find_symmetry(&solver->search.state, all, symmetry);
    for (uint32_t n = counts ? 1 : platform->card_count; n <= platform->card_count; n++) {
        list_sets(solver, symmetry, n);
        out->bounds[0] = counts ? n : 0;
        solve_sets(solver);
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
    partition_state_init(&s->state, model, options);
    s->order = xcalloc(s->state.units.count, sizeof *s->order);
    s->weights = xcalloc(model->platform->links.len * model->edges.len, sizeof *s->weights);
    partition_search_order(&s->state, s->order);
    solver->dies = xcalloc(s->state.units.count, sizeof *solver->dies);
    memcpy(solver->dies, s->state.units.dies, s->state.units.count * sizeof *solver->dies);
    solve(solver);
    if (!out->is_placed && solver->is_over) fall_back(solver);
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
