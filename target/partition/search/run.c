/* Branch and bound. Units come in one order; of a unit all dies are tried, those of the least bound
 * first, as far as the weight so far and the bound of the rest do not exceed a threshold. The
 * threshold begins with the bound of the whole and rises to the least bound that exceeded it; so
 * everything below it is excluded, and what is found is best (iterative deepening). Within one
 * threshold each placement found lowers it.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>

#include "target/partition/search/internal.h"

enum {
    FIRST_STEPS = 3000, /* depth first, before layers are searched */
    MOST_SPLITS = 5,    /* links that are searched one by one before the cuts of all */
    LEAST_WIDTH = 200,  /* labels of a layer */
    MOST_WIDTH = LEAST_WIDTH * 8 * 8 * 8
};

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

uint64_t partition_dies_of(const PartitionPlatform *platform, uint32_t cards)
{
    uint64_t dies = 0;
    for (uint32_t i = 0; i < platform->die_count; i++)
        if (cards >> platform->dies[i].card & 1) dies |= UINT64_C(1) << i;
    return dies;
}

bool partition_fits_pooled(const PartitionState *state, uint64_t dies)
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

/* The search die by die, or link by link, with the same meaning. One that is over may have a placement
 * all the same, which only the one link by
 * link is asked for. */
static bool search_parts(Search *s, PartitionCuts *cuts, PartitionSplits *splits,
                         PartitionCutSearch *search)
{
    uint32_t *dies = xcalloc(s->state.units.count, sizeof *dies);
    search->upper = s->upper;
    if (splits)
        partition_search_splits(splits, dies);
    else
        partition_search_cuts(cuts, dies);
    s->state.steps++;
    bool is_taken = (splits || !search->is_over) && search->is_found;
    bool is_done = (!is_taken || replay(s, dies, search->cost)) && !search->is_over;
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

typedef enum Method { DEPTH_FIRST, BY_LAYERS, BY_CUTS, BY_SPLITS } Method;

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
    PartitionSplits *splits = method == BY_SPLITS ? partition_splits_new(&search) : NULL;
    out->is_over = false;
    s->is_found = false;
    for (int64_t step = 0; out->bound <= i64_min(upper, s->most);
         step = 2 * step + (upper < MOST_WEIGHT ? (upper - out->bound) / 64 : 0)) {
        bool is_done = true;
        /* Behind goals that are proven all cuts weigh nearly the same: none is excluded early. */
        bool is_low = rises && !(method == BY_SPLITS && s->is_tight);
        s->upper = is_low ? i64_min(upper, out->bound + step) : upper;
        s->next = INT64_MAX;
        search.known = out->bound;
        if (method == DEPTH_FIRST)
            search_from(s, 0);
        else if (method == BY_LAYERS)
            is_done = search_layers(s, s->width, MOST_WIDTH);
        else
            is_done = search_parts(s, cuts, splits, &search);
        /* Below the bound there is nothing to look for. */
        is_done |= s->is_found && s->upper < out->bound;
        out->is_over = !is_done || (is_stopped(s) && !(s->stops && s->is_found));
        if (s->is_found && s->found <= out->bound) out->is_over = false;
        if (s->is_found || out->is_over) break;
        out->bound = s->next;
    }
    if (cuts) partition_cuts_free(cuts);
    if (splits) partition_splits_free(splits);
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

/* What edges weigh with the units on such dies, per place of the order. */
static int64_t weight_of(Search *s, const uint32_t *dies)
{
    int64_t weight = 0;
    for (uint32_t i = 0; i < s->state.units.count; i++) {
        weight += partition_edge_weight(&s->state, s->weights, s->order[i], dies[i]);
        s->state.die[s->order[i]] = dies[i];
    }
    for (uint32_t i = 0; i < s->state.units.count; i++) s->state.die[i] = PARTITION_NONE;
    return weight;
}

/* The last resort, with as many steps as the run had, so that there is a placement at all. What it
 * gives must keep the limits of links and cards, too. */
static void anneal(Search *s, int64_t moves)
{
    PartitionState *state = &s->state;
    int64_t steps = state->max_steps;
    uint32_t *dies = xcalloc(state->units.count, sizeof *dies);
    if (partition_anneal(s, moves, dies)) {
        enum { PACKING_STEPS = 1000000 };
        state->max_steps = state->steps + PACKING_STEPS;
        (void)replay(s, dies, weight_of(s, dies));
        state->max_steps = steps;
    }
    free(dies);
}

static int64_t sum_weights(const Search *s)
{
    const PartitionModel *model = s->state.model;
    int64_t sum = 0;
    for (size_t i = 0; i < model->platform->links.len * model->edges.len; i++) sum += s->weights[i];
    return sum;
}

Outcome partition_run(Search *s, uint64_t dies, int64_t upper, bool rises)
{
    Outcome out = {false, INT64_MAX};
    int64_t steps = s->state.max_steps, first_step = s->state.steps;
    s->most = sum_weights(s);
    s->dies = s->state.used = dies;
    s->used = 0;
    s->cost = 0;
    s->is_found = false;
    partition_state_reserve(&s->state, dies);
    if (!partition_fits_pooled(&s->state, dies)) return out;
    for (uint32_t card = 0; s->has_cards && card < s->state.model->platform->card_count; card++) {
        uint64_t own = dies & partition_dies_of(s->state.model->platform, UINT32_C(1) << card);
        if (own && !partition_fits_pooled(&s->state, own)) return out;
    }
    partition_find_symmetry(&s->state, dies, &s->symmetry);
    s->bound = partition_bound_new(&s->state, s->order, s->weights, dies);
    out.bound = i64_max(s->known, partition_bound_rest(s->bound, 0));
    s->state.max_steps = i64_min(steps, s->state.steps + FIRST_STEPS);
    deepen(s, upper, rises, DEPTH_FIRST, &out);
    s->state.max_steps = steps;
    bool is_found = s->is_found;
    if (out.is_over && !is_found && steps > s->state.steps && !partition_may_fit(&s->state, dies)) {
        partition_bound_free(s->bound);
        return (Outcome){false, INT64_MAX};
    }
    s->by_cuts = out.is_over && steps > s->state.steps && (has_few_weights(s) || s->is_tight) &&
                 partition_can_search_cuts(&s->state);
    for (int second = 0; s->by_cuts && second < 2 && out.is_over && steps > s->state.steps;
         second++) {
        bool is_by_cuts = second != (s->state.model->platform->links.len > MOST_SPLITS);
        deepen(s, is_found ? s->found - 1 : upper, rises, is_by_cuts ? BY_CUTS : BY_SPLITS, &out);
        is_found |= s->is_found;
    }
    s->by_cuts &= !out.is_over;
    s->is_found |= is_found;
    if (out.is_over && steps > s->state.steps) go_on(s, upper, rises, &out);
    if (out.is_over && s->anneals && !s->best->is_placed) anneal(s, (steps - first_step) / 4);
    if (s->is_found) s->upper = s->found - 1;
    if (!s->is_found && !out.is_over) out.bound = INT64_MAX;
    partition_bound_free(s->bound);
    return out;
}
