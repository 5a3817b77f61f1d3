/* The best placement where each node is given to a card. Where the dies are a tree, what an edge to
 * another card weighs is what it weighs on each card up to the Ethernet link; so each card is a problem
 * of its own, and the sums of the best values are the best sums. Only the number of links that an edge
 * may use joins the cards: first each end may use all that are left, and where an edge then uses too
 * many, they are shared out in all ways. What a card got before is remembered.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/cards/internal.h"

/* A part of the steps that are left is for one card. */
enum { CARD_STEPS = 2 };

typedef struct Solved {
    CardTask *task;
    PartitionPlacement placement;
} Solved;

struct PartitionCardSearch {
    PartitionState *state;
    PartitionOptions options; /* of one card */
    PartitionPaths paths;     /* of any length */
    uint64_t dies;
    PartitionPlacement *best;
    VEC(Solved) solved;
    const uint32_t *cards; /* the way at hand */
    CardHops *hops;
    bool is_open; /* there may be placements of the best one's bounds that are not known */
    int64_t base[PARTITION_GOALS]; /* what the Ethernet links weigh */
};

bool partition_can_solve_cards(const PartitionState *state)
{
    const PartitionPlatform *platform = state->model->platform;
    if (state->options->is_convex || platform->links.len + 1 != platform->die_count) return false;
    for (uint32_t i = 0; i < platform->links.len; i++)
        if (!partition_side_of(platform, i)) return false;
    return true;
}

PartitionCardSearch *partition_card_search_new(PartitionState *state, const PartitionGoal *goals,
                                               uint32_t goal_count, uint64_t dies)
{
    PartitionCardSearch *s = xcalloc(1, sizeof *s);
    s->state = state;
    s->dies = dies;
    s->options = (PartitionOptions){
        .goal_count = goal_count, .max_hops = state->options->max_hops, .is_annealed = true};
    memcpy(s->options.goals, goals, goal_count * sizeof *goals);
    partition_find_paths(state->model->platform, PARTITION_MAX_DIES, &s->paths);
    s->hops = xcalloc(state->model->edges.len + 1, sizeof *s->hops);
    return s;
}

void partition_card_search_begin(PartitionCardSearch *s, PartitionPlacement *best)
{
    partition_placement_free(best);
    memset(best, 0, sizeof *best);
    best->is_proven = true;
    s->best = best;
    s->is_open = false;
}

void partition_card_search_free(PartitionCardSearch *s)
{
    for (size_t i = 0; i < s->solved.len; i++) {
        partition_card_task_free(s->solved.data[i].task);
        partition_placement_free(&s->solved.data[i].placement);
    }
    vec_free(&s->solved);
    partition_paths_free(&s->paths);
    free(s->hops);
    free(s);
}

/* The best placement of a card, which may have been found before. Gives its number. */
static size_t solve_card(PartitionCardSearch *s, uint32_t card)
{
    CardTask *task = partition_card_task_new(s->state, &s->paths, s->dies, s->cards, s->hops, card);
    for (size_t i = 0; i < s->solved.len; i++) {
        const CardTask *other = s->solved.data[i].task;
        if (other->key.len != task->key.len ||
            memcmp(other->key.data, task->key.data, task->key.len * sizeof *task->key.data) != 0)
            continue;
        partition_card_task_free(task);
        return i;
    }
    Solved *solved = vec_push(&s->solved);
    *solved = (Solved){.task = task};
    int64_t left = s->state->max_steps - s->state->steps;
    s->options.max_steps = i64_max(1, left / CARD_STEPS);
    bool is_empty = task->model.nodes.len == 0;
    if (task->is_impossible || is_empty)
        solved->placement = (PartitionPlacement){.is_placed = is_empty, .is_proven = true};
    else
        partition_search(&task->model, &s->options, &solved->placement);
    s->state->steps += solved->placement.steps;
    partition_card_task_trim(task);
    return s->solved.len - 1;
}

/* How many links an edge uses on the cards of its ends, and on the cards between. */
typedef struct EdgeHops {
    uint32_t all, own[2];
} EdgeHops;

/* dies: of the ends. */
static EdgeHops hops_of(const PartitionCardSearch *s, const uint32_t dies[2])
{
    const PartitionPath *path = &s->paths.between[dies[0]][dies[1]];
    EdgeHops hops = {.all = path->hops};
    bool is_away = false;
    for (uint32_t i = 0; i < path->hops; i++) {
        uint32_t step = s->paths.steps.data[path->first + i];
        bool is_ethernet = s->state->model->platform->links.data[step / 2].is_ethernet;
        hops.own[0] += !is_ethernet && !is_away;
        hops.own[1] = is_ethernet ? 0 : hops.own[1] + 1;
        is_away |= is_ethernet;
    }
    return hops;
}

static uint32_t first_die(const PartitionCardSearch *s, uint32_t card)
{
    uint32_t die = 0;
    while (s->state->model->platform->dies[die].card != card) die++;
    return die;
}

/* How many links the ends of an edge between cards may use together; less than 0: too few as it is. */
static int64_t hops_left(const PartitionCardSearch *s, const PartitionEdge *edge)
{
    uint32_t dies[2] = {first_die(s, s->cards[edge->from]), first_die(s, s->cards[edge->to])};
    EdgeHops hops = hops_of(s, dies);
    int64_t left = s->options.max_hops - (hops.all - hops.own[0] - hops.own[1]);
    return i64_min(left, PARTITION_MAX_DIES);
}

/* Lets each end of the edges between cards use what is left. False: there is an edge that uses too
 * many as it is. */
static bool set_hops(PartitionCardSearch *s)
{
    const PartitionModel *model = s->state->model;
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        if (s->cards[edge->from] == s->cards[edge->to]) continue;
        int64_t left = hops_left(s, edge);
        if (left < 0) return false;
        s->hops[k][0] = s->hops[k][1] = (uint32_t)left;
    }
    return true;
}

/* What the goals come to on Ethernet links. */
static void set_base(PartitionCardSearch *s)
{
    const PartitionModel *model = s->state->model;
    memset(s->base, 0, sizeof s->base);
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        if (s->cards[edge->from] == s->cards[edge->to]) continue;
        const PartitionPath *path =
            &s->paths.between[first_die(s, s->cards[edge->from])][first_die(s, s->cards[edge->to])];
        for (uint32_t i = 0; i < path->hops; i++) {
            const PartitionLink *link =
                &model->platform->links.data[s->paths.steps.data[path->first + i] / 2];
            for (uint32_t g = 0; link->is_ethernet && g < s->options.goal_count; g++)
                s->base[g] += partition_goal_weight(s->options.goals[g], link, edge);
        }
    }
}

/* Sums over edges are added up, of shares the greatest counts. */
static void add_values(const PartitionCardSearch *s, const int64_t *values, int64_t *sum)
{
    for (uint32_t g = 0; g < s->options.goal_count; g++)
        sum[g] = s->options.goals[g] == PARTITION_UTILIZATION ? i64_max(sum[g], values[g])
                                                              : sum[g] + values[g];
}

static bool is_less(const PartitionCardSearch *s, const int64_t *a, const int64_t *b)
{
    for (uint32_t g = 0; g < s->options.goal_count; g++)
        if (a[g] != b[g]) return a[g] < b[g];
    return false;
}

/* The placement of all cards: dies and versions of the nodes. */
static void join(const PartitionCardSearch *s, const size_t *numbers, uint32_t *dies,
                 uint32_t *versions)
{
    for (uint32_t card = 0; card < s->state->model->platform->card_count; card++) {
        const Solved *solved = &s->solved.data[numbers[card]];
        for (size_t i = 0; i < solved->placement.dies.len; i++) {
            uint32_t node = solved->task->node_of.data[i];
            if (node == PARTITION_NONE) continue;
            dies[node] = solved->task->die_of[solved->placement.dies.data[i]];
            versions[node] = solved->placement.versions.data[i];
        }
    }
}

static void record(PartitionCardSearch *s, const int64_t *values, const uint32_t *dies,
                   const uint32_t *versions)
{
    PartitionPlacement *best = s->best;
    best->dies.len = best->versions.len = 0;
    for (size_t i = 0; i < s->state->model->nodes.len; i++) {
        *vec_push(&best->dies) = dies[i];
        *vec_push(&best->versions) = versions[i];
    }
    best->is_placed = true;
    memcpy(best->values, values, sizeof best->values);
}

/* There may be a placement of such values that is not known. */
static void leave_open(PartitionCardSearch *s, const int64_t *least)
{
    if (!s->is_open || is_less(s, least, s->best->bounds))
        memcpy(s->best->bounds, least, sizeof s->best->bounds);
    s->is_open = true;
}

/* Solves all cards with the hops as they are. values: of what is found; least: no placement has less.
 * Gives whether all are placed; *open: whether there may be more to find. */
static bool solve_all(PartitionCardSearch *s, size_t *numbers, int64_t *values, int64_t *least,
                      bool *open)
{
    bool is_placed = true;
    memcpy(values, s->base, sizeof s->base);
    memcpy(least, s->base, sizeof s->base);
    *open = false;
    for (uint32_t card = 0; card < s->state->model->platform->card_count; card++) {
        numbers[card] = solve_card(s, card);
        const PartitionPlacement *own = &s->solved.data[numbers[card]].placement;
        if (!own->is_placed && own->is_proven) {
            *open = false;
            return false;
        }
        is_placed &= own->is_placed;
        *open |= !own->is_proven;
        if (!own->is_placed) continue;
        add_values(s, own->values, values);
        add_values(s, own->bounds, least);
    }
    /* Bounds hold behind goals that are best. */
    bool is_exact = is_placed;
    for (uint32_t g = 0; g < s->options.goal_count; g++) {
        if (!is_exact) least[g] = g == 0 ? least[g] : 0;
        is_exact &= least[g] == values[g];
    }
    return is_placed;
}

/* An edge between cards that uses too many links; PARTITION_NONE: none. */
static uint32_t find_long(const PartitionCardSearch *s, const uint32_t *dies)
{
    const PartitionModel *model = s->state->model;
    for (uint32_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        const uint32_t ends[2] = {dies[edge->from], dies[edge->to]};
        if (s->cards[edge->from] != s->cards[edge->to] &&
            hops_of(s, ends).all > s->options.max_hops)
            return k;
    }
    return PARTITION_NONE;
}

static void search_hops(PartitionCardSearch *s);

/* Shares out what an edge may use. */
static void share_hops(PartitionCardSearch *s, uint32_t edge)
{
    uint32_t before[2] = {s->hops[edge][0], s->hops[edge][1]};
    uint32_t left = (uint32_t)hops_left(s, &s->state->model->edges.data[edge]);
    for (uint32_t first = 0; first <= left && first <= before[0]; first++) {
        bool is_less_on_both = first < before[0] && left - first > before[1];
        if (is_less_on_both) continue; /* another one leaves the first end more */
        s->hops[edge][0] = first;
        s->hops[edge][1] = left - first < before[1] ? left - first : before[1];
        search_hops(s);
    }
    s->hops[edge][0] = before[0];
    s->hops[edge][1] = before[1];
}

static void search_hops(PartitionCardSearch *s)
{
    const PartitionModel *model = s->state->model;
    int64_t values[PARTITION_GOALS], least[PARTITION_GOALS];
    bool is_open;
    size_t *numbers = xcalloc(model->platform->card_count, sizeof *numbers);
    uint32_t *dies = xcalloc(model->nodes.len, sizeof *dies),
             *versions = xcalloc(model->nodes.len, sizeof *versions);
    bool is_placed = solve_all(s, numbers, values, least, &is_open);
    bool is_over = ++s->state->steps >= s->state->max_steps;
    if (is_placed) join(s, numbers, dies, versions);
    uint32_t edge = is_placed ? find_long(s, dies) : PARTITION_NONE;
    bool is_of_interest = !s->best->is_placed || is_less(s, least, s->best->values);
    if (is_open || (edge != PARTITION_NONE && is_over)) leave_open(s, least);
    if (is_placed && edge == PARTITION_NONE &&
        (!s->best->is_placed || is_less(s, values, s->best->values)))
        record(s, values, dies, versions);
    else if (edge != PARTITION_NONE && is_of_interest && !is_over)
        share_hops(s, edge);
    free(numbers);
    free(dies);
    free(versions);
}

void partition_search_card_way(PartitionCardSearch *s, const uint32_t *cards)
{
    const int64_t least[PARTITION_GOALS] = {0};
    s->cards = cards;
    if (!set_hops(s)) return;
    set_base(s);
    if (s->state->steps < s->state->max_steps)
        search_hops(s);
    else
        leave_open(s, least);
    PartitionPlacement *best = s->best;
    best->is_proven = !s->is_open || (best->is_placed && !is_less(s, best->bounds, best->values));
}
