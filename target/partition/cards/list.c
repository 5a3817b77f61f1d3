/* Ways to give the nodes to cards, by what they weigh on the Ethernet links. Each card is one die with
 * the room of all its dies, and the search is that of the dies; so what has no way here has no
 * placement, and the ways of a weight are all there are.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

enum { MOST_WAYS = 512 }; /* of one threshold */

struct PartitionCardWays {
    PartitionPlatform platform;
    PartitionModel model;
    PartitionOptions options;
    PartitionState state;
    PartitionBound *bound;
    PartitionSymmetry symmetry;
    uint32_t *order;
    int64_t *weights;
    int64_t cost, upper, lower; /* so far; what ways weigh at most and at least */
    uint64_t used;
    VEC(PartitionCardWay) list;
    VEC(uint32_t) cards;
    bool is_over;
};

/* A card as one die. What it holds, its dies hold together: averages are left out. */
static void add_card(PartitionCardWays *w, const PartitionPlatform *from, uint32_t card)
{
    PartitionDie *out = &w->platform.dies[w->platform.die_count++];
    out->name = from->cards[card];
    out->card = card;
    for (uint32_t i = 0; i < from->die_count; i++) {
        const PartitionDie *die = &from->dies[i];
        if (die->card != card) continue;
        for (int k = 0; k < PARTITION_KINDS; k++) {
            out->capacity[k] += die->capacity[k];
            out->limit[k] += die->limit[k];
        }
        out->controllers |= die->controllers;
    }
}

static void set_platform(PartitionCardWays *w, const PartitionPlatform *from)
{
    w->platform.controller_count = from->controller_count;
    w->platform.card_count = from->card_count;
    memcpy(w->platform.controllers, from->controllers, sizeof from->controllers);
    memcpy(w->platform.cards, from->cards, sizeof from->cards);
    for (uint32_t i = 0; i < from->card_count; i++) add_card(w, from, i);
    for (size_t i = 0; i < from->links.len; i++) {
        PartitionLink link = from->links.data[i];
        if (!link.is_ethernet) continue;
        for (int end = 0; end < 2; end++) link.dies[end] = from->dies[link.dies[end]].card;
        *vec_push(&w->platform.links) = link;
    }
}

static void set_model(PartitionCardWays *w, const PartitionModel *from, uint64_t dies)
{
    w->model = *from;
    w->model.platform = &w->platform;
    memset(&w->model.nodes, 0, sizeof w->model.nodes);
    memset(&w->model.pairs, 0, sizeof w->model.pairs);
    for (size_t i = 0; i < from->nodes.len; i++) {
        PartitionNode node = from->nodes.data[i];
        uint64_t left = node.dies & dies;
        node.dies = 0;
        for (; left; left &= left - 1)
            node.dies |= UINT64_C(1) << from->platform->dies[__builtin_ctzll(left)].card;
        *vec_push(&w->model.nodes) = node;
    }
    for (size_t i = 0; i < from->pairs.len; i++) {
        PartitionPair pair = from->pairs.data[i];
        pair.same_card = false;
        *vec_push(&w->model.pairs) = pair;
    }
}

/* What permutations of the dies do to the cards. */
static void set_symmetry(PartitionCardWays *w, const PartitionPlatform *from,
                         const PartitionSymmetry *symmetry)
{
    for (uint32_t i = 0; i < symmetry->count; i++) {
        uint8_t *image = w->symmetry.image[w->symmetry.count];
        bool is_identity = true;
        for (uint32_t d = 0; d < from->die_count; d++)
            image[from->dies[d].card] = (uint8_t)from->dies[symmetry->image[i][d]].card;
        for (uint32_t c = 0; c < from->card_count; c++) is_identity &= image[c] == c;
        w->symmetry.count += !is_identity;
    }
}

/* More than the last goal comes to. */
static int64_t factor_of(const PartitionModel *model)
{
    int64_t sum = 1;
    for (size_t i = 0; i < model->edges.len; i++) sum += model->edges.data[i].mbps + 1;
    for (size_t i = 0, links = 0; i < model->platform->links.len; i++)
        if (model->platform->links.data[i].is_ethernet && links++ > 0) sum += sum / (int64_t)links;
    return sum;
}

bool partition_can_list_card_ways(const PartitionModel *model)
{
    size_t most = model->edges.len * model->platform->links.len + 1;
    return (double)factor_of(model) * (double)most < (double)(INT64_C(1) << 50);
}

PartitionCardWays *partition_card_ways_new(const PartitionState *state,
                                           const PartitionSymmetry *symmetry,
                                           const PartitionGoal *goals, uint32_t goal_count,
                                           uint64_t dies)
{
    PartitionCardWays *w = xcalloc(1, sizeof *w);
    size_t edges = state->model->edges.len;
    uint64_t cards = 0;
    set_platform(w, state->model->platform);
    set_model(w, state->model, dies);
    set_symmetry(w, state->model->platform, symmetry);
    for (uint64_t left = dies; left; left &= left - 1)
        cards |= UINT64_C(1) << state->model->platform->dies[__builtin_ctzll(left)].card;
    w->options = *state->options;
    w->options.is_convex = false;
    partition_state_init(&w->state, &w->model, &w->options);
    w->state.max_steps = state->max_steps;
    w->order = xcalloc(w->state.units.count, sizeof *w->order);
    w->weights = xcalloc(w->platform.links.len * edges + 1, sizeof *w->weights);
    partition_search_order(&w->state, w->order);
    int64_t factor = factor_of(&w->model);
    for (uint32_t g = 0; g < goal_count; g++)
        for (size_t i = 0; i < w->platform.links.len * edges; i++)
            w->weights[i] = w->weights[i] * factor +
                            partition_goal_weight(goals[g], &w->platform.links.data[i / edges],
                                                  &w->model.edges.data[i % edges]);
    partition_state_reserve(&w->state, cards);
    w->bound = partition_bound_new(&w->state, w->order, w->weights, cards);
    return w;
}

void partition_card_ways_free(PartitionCardWays *w)
{
    partition_bound_free(w->bound);
    partition_state_free(&w->state);
    vec_free(&w->platform.links);
    vec_free(&w->model.nodes);
    vec_free(&w->model.pairs);
    vec_free(&w->list);
    vec_free(&w->cards);
    free(w->order);
    free(w->weights);
    free(w);
}

static void keep_way(PartitionCardWays *w)
{
    if (w->cost < w->lower) return;
    *vec_push(&w->list) = (PartitionCardWay){w->cost, (uint32_t)w->cards.len};
    for (size_t i = 0; i < w->model.nodes.len; i++)
        *vec_push(&w->cards) = w->state.die[w->state.units.of[i]];
    w->is_over |= w->list.len == MOST_WAYS;
}

static int64_t rest_with(PartitionCardWays *w, uint32_t at, uint32_t card)
{
    w->state.die[w->order[at]] = card;
    partition_bound_place(w->bound, at, card);
    int64_t rest = partition_bound_rest(w->bound, at + 1);
    partition_bound_remove(w->bound, at, card);
    w->state.die[w->order[at]] = PARTITION_NONE;
    return rest;
}

static void list_from(PartitionCardWays *w, uint32_t at)
{
    if (at == w->state.units.count) keep_way(w);
    if (at == w->state.units.count) return;
    uint32_t unit = w->order[at];
    uint64_t used = w->used;
    for (uint32_t card = 0; card < w->platform.die_count && !w->is_over; card++) {
        if (!(w->state.units.dies[unit] >> card & 1) ||
            !partition_is_first(&w->symmetry, used, card))
            continue;
        int64_t added = partition_edge_weight(&w->state, w->weights, unit, card);
        int64_t rest = added == INT64_MAX ? INT64_MAX : rest_with(w, at, card);
        if (rest == INT64_MAX || w->cost + added + rest > w->upper) continue;
        w->is_over = ++w->state.steps >= w->state.max_steps;
        if (!partition_place(&w->state, unit, card)) continue;
        partition_bound_place(w->bound, at, card);
        w->used |= UINT64_C(1) << card;
        w->cost += added;
        list_from(w, at + 1);
        w->cost -= added;
        w->used = used;
        partition_bound_remove(w->bound, at, card);
        partition_remove(&w->state, unit);
    }
}

static int compare_ways(const void *a, const void *b)
{
    const PartitionCardWay *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

bool partition_list_card_ways(PartitionCardWays *w, int64_t least, int64_t most)
{
    w->list.len = w->cards.len = 0;
    w->lower = least;
    w->upper = most;
    w->is_over = false;
    list_from(w, 0);
    if (w->list.len > 1) qsort(w->list.data, w->list.len, sizeof *w->list.data, compare_ways);
    return !w->is_over;
}

int64_t partition_card_ways_bound(const PartitionCardWays *w)
{
    return partition_bound_rest(w->bound, 0);
}

int64_t partition_card_ways_most(const PartitionCardWays *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->platform.links.len * w->model.edges.len; i++) sum += w->weights[i];
    return sum;
}

void partition_card_ways_values(const PartitionCardWays *w, int64_t weight, int64_t *values)
{
    values[0] = weight / factor_of(&w->model);
    values[1] = weight % factor_of(&w->model);
}

size_t partition_card_ways_count(const PartitionCardWays *w)
{
    return w->list.len;
}

const uint32_t *partition_card_way(const PartitionCardWays *w, size_t number, int64_t *weight)
{
    *weight = w->list.data[number].weight;
    return w->cards.data + w->list.data[number].first;
}
