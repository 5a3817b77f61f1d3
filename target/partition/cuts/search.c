/* Branch and bound die by die. Where the links make a tree of the dies, a placement is known by the
 * set of units behind each link: what a link weighs and carries follows from its set alone, and a die
 * holds the set behind the link towards the root less those behind its other links. Of each link all
 * sets are listed that are light enough by the bounds of the others; then, from the leaves on, the
 * least weight of all that is behind, given the set. So what is on dies behind a link does not count
 * any more, but for how many links the edges have used.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/cuts/internal.h"

bool partition_can_search_cuts(const PartitionState *state)
{
    const PartitionModel *model = state->model;
    const PartitionPlatform *platform = model->platform;
    if (state->options->is_convex || platform->links.len + 1 != platform->die_count) return false;
    for (uint32_t i = 0; i < platform->links.len; i++)
        if (!partition_side_of(platform, i)) return false;
    for (size_t i = 0; i < model->pairs.len; i++)
        if (model->pairs.data[i].same_card) return false;
    return true;
}

/* The tree. */

static void hang(Cuts *c, uint32_t die)
{
    const PartitionPlatform *platform = c->state->model->platform;
    for (uint32_t i = 0; i < c->link_count; i++) {
        const uint32_t *ends = platform->links.data[i].dies;
        if ((ends[0] != die && ends[1] != die) || i == c->parent[die]) continue;
        Behind *b = &c->behind[i];
        uint64_t first = partition_side_of(platform, i);
        b->link = i;
        b->die = ends[0] == die ? ends[1] : ends[0];
        b->is_first = b->die == ends[0];
        b->side = b->is_first ? first : ~first & c->all;
        c->parent[b->die] = i;
        c->child[die][c->children[die]++] = i;
        hang(c, b->die);
    }
}

/* Links of much weight first: they have few sets, which leave the others less. */
static void sort_children(Cuts *c)
{
    for (uint32_t die = 0; die < c->state->model->platform->die_count; die++)
        for (uint32_t i = 1; i < c->children[die]; i++)
            for (uint32_t j = i; j > 0; j--) {
                uint32_t *child = &c->child[die][j];
                int64_t a = min_ends(c->behind[child[-1]].least),
                        b = min_ends(c->behind[*child].least);
                bool is_smaller = __builtin_popcountll(c->behind[*child].side) <
                                  __builtin_popcountll(c->behind[child[-1]].side);
                if (a > b || (a == b && !is_smaller)) break;
                uint32_t other = child[-1];
                child[-1] = *child;
                *child = other;
            }
}

/* The die with the most links, so that few sets are joined behind others. */
static uint32_t find_root(const PartitionPlatform *platform)
{
    uint32_t links[PARTITION_MAX_DIES] = {0}, root = 0;
    for (size_t i = 0; i < platform->links.len; i++)
        for (int end = 0; end < 2; end++) links[platform->links.data[i].dies[end]]++;
    for (uint32_t i = 1; i < platform->die_count; i++)
        if (links[i] > links[root]) root = i;
    return root;
}

/* The same of all links behind a die, those near the root first. */
static bool list_behind(Cuts *c, uint32_t die, const Levels *arm)
{
    for (uint32_t i = 0; i < c->children[die]; i++) {
        Behind *b = &c->behind[c->child[die][i]];
        if (!partition_cuts_list(c, b, arm) || !list_behind(c, b->die, arm)) return false;
    }
    return true;
}

/* All links, what is behind those of much weight first; of equal ones the links at the root, then what
 * is behind those with few dies. What is done leaves the others less. */
static bool find_all(Cuts *c)
{
    uint32_t count = c->children[c->root], listed = 0;
    c->probed = NULL;
    c->limit = c->s->upper;
    c->most_sets = MOST_SETS;
    c->max_work = c->all_work;
    for (uint32_t i = 0; i < count; i++) {
        int64_t weight = min_ends(c->behind[c->child[c->root][i]].own);
        for (; listed < count; listed++) {
            Behind *b = &c->behind[c->child[c->root][listed]];
            if (min_ends(b->own) < weight) break;
            if (!partition_cuts_list(c, b, NULL)) return false;
        }
        Behind *b = &c->behind[c->child[c->root][i]];
        if (!list_behind(c, b->die, NULL) || !partition_cuts_find_ways(c, b, NULL)) return false;
    }
    return true;
}

/* Forgets the sets of a link and of those behind it. */
static void clear(Cuts *c, Behind *b)
{
    b->words.len = b->sets.len = b->edges.len = b->ways.len = b->backs.len = b->hops.len = 0;
    memcpy(b->least, b->own, sizeof b->least);
    memcpy(b->above, b->own_above, sizeof b->above);
    for (int side = 0; side < 2; side++)
        memcpy(b->unit[side], b->own_unit[side],
               PARTITION_ENDS * c->state->units.count * sizeof(int64_t));
    b->is_done = false;
    for (uint32_t i = 0; i < c->children[b->die]; i++) clear(c, &c->behind[c->child[b->die][i]]);
}

/* Finds all ways behind a link at the root that weigh at most so much more than is known of them, for
 * ends that matter. False: too many. */
static bool probe(Cuts *c, Behind *b, int64_t more)
{
    Levels arm[PARTITION_ENDS];
    bool is_wanted[PARTITION_ENDS], is_any = false;
    partition_cuts_find_arm(c, b, arm);
    partition_cuts_find_outside(c, b->link, NULL);
    for (int ends = 0; ends < PARTITION_ENDS; ends++) {
        int64_t outside = c->outside[ends].at[LEVELS], least = arm[ends].at[LEVELS];
        is_wanted[ends] = b->probed[ends] < more && outside < INT64_MAX && least < INT64_MAX &&
                          outside + least <= c->s->upper;
        if (!is_wanted[ends])
            for (int j = 0; j <= LEVELS; j++) arm[ends].at[j] = INT64_MAX;
        if (is_wanted[ends]) b->probed[ends] = more;
        is_any |= is_wanted[ends];
    }
    if (!is_any) return true;
    c->probed = b;
    c->limit = more;
    c->most_sets = MOST_PROBED;
    c->max_work = i64_min(c->all_work, c->work + MOST_PROBE_WORK);
    bool is_found = partition_cuts_list(c, b, arm) && list_behind(c, b->die, arm) &&
                    partition_cuts_find_ways(c, b, arm);
    bool ok = !c->s->is_over;
    for (int ends = 0; ok && ends < PARTITION_ENDS; ends++)
        for (int j = 0; is_wanted[ends] && j <= LEVELS; j++) {
            int64_t least = is_found ? b->least[ends].at[j] : INT64_MAX;
            if (arm[ends].at[j] < INT64_MAX) least = i64_min(least, arm[ends].at[j] + more + 1);
            b->floor[ends].at[j] = i64_max(b->floor[ends].at[j], least);
        }
    clear(c, b);
    c->probed = NULL;
    c->max_work = c->all_work;
    c->s->is_over = partition_cuts_are_over(c);
    return ok;
}

/* What all links weigh at least. */
static int64_t find_total(Cuts *c)
{
    partition_cuts_find_outside(c, PARTITION_NONE, NULL);
    return c->outside[0].at[LEVELS];
}

/* Raises what is known of the links at the root, as far as that is less work than all. */
static void probe_all(Cuts *c)
{
    for (int64_t more = 0; find_total(c) <= c->s->upper && !c->s->is_over &&
                           more <= (c->s->upper - find_total(c)) / 2;
         more += c->unit)
        for (uint32_t i = 0; i < c->children[c->root] && !c->s->is_over; i++) {
            Behind *b = &c->behind[c->child[c->root][i]];
            if (!b->is_probed_out) b->is_probed_out = !probe(c, b, more);
        }
}

static void init(Cuts *c, PartitionCutSearch *s)
{
    const PartitionState *state = s->state;
    const PartitionModel *model = state->model;
    uint32_t count = state->units.count, dies = model->platform->die_count;
    c->s = s;
    c->unit = INT64_MAX;
    for (size_t i = 0; i < model->platform->links.len * model->edges.len; i++)
        if (s->weights[i] > 0) c->unit = i64_min(c->unit, s->weights[i]);
    c->state = s->state;
    c->words = (count + 63) / 64;
    c->link_count = (uint32_t)model->platform->links.len;
    c->behind = xcalloc(c->link_count, sizeof *c->behind);
    c->root = find_root(model->platform);
    c->all = dies == 64 ? UINT64_MAX : (UINT64_C(1) << dies) - 1;
    c->parent[c->root] = PARTITION_NONE;
    hang(c, c->root);
    c->allowed = xcalloc((size_t)dies * c->words, sizeof(uint64_t));
    c->least_use = xcalloc(count, sizeof *c->least_use);
    c->packed = xcalloc(model->nodes.len, sizeof *c->packed);
    for (uint32_t u = 0; u < count; u++) {
        for (uint32_t d = 0; d < dies; d++)
            if ((state->units.dies[u] & s->dies) >> d & 1)
                c->allowed[(size_t)d * c->words + u / 64] |= UINT64_C(1) << u % 64;
        for (int k = 0; k < PARTITION_KINDS; k++) {
            PartitionMeasure single = {{0}};
            single.weight[k] = 1;
            c->least_use[u][k] = partition_unit_size(state, &single, u);
        }
    }
}

/* The bounds of the links alone. */
static void find_least(Cuts *c)
{
    size_t count = (size_t)PARTITION_ENDS * c->state->units.count;
    for (uint32_t i = 0; i < c->link_count; i++) {
        Behind *b = &c->behind[i];
        for (uint32_t j = 0; j <= LEVELS; j++) {
            PartitionCutQuery size;
            int64_t least[PARTITION_ENDS];
            uint32_t levels[2] = {0, j};
            partition_cuts_limit_size(c, b, levels, &size);
            partition_bound_ends(c->s->bound, i, &size.room, least);
            for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++)
                b->least[ends].at[j] = least[b->is_first ? ends : 3 - ends];
            levels[0] = j;
            levels[1] = LEVELS;
            partition_cuts_limit_size(c, b, levels, &size);
            partition_bound_ends(c->s->bound, i, &size.room, least);
            for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++)
                b->own_above[ends].at[j] = least[b->is_first ? ends : 3 - ends];
        }
        memcpy(b->own, b->least, sizeof b->own);
        int64_t *with[2];
        for (int side = 0; side < 2; side++) {
            b->own_unit[side] = xcalloc(count, sizeof(int64_t));
            b->unit[side] = xcalloc(count, sizeof(int64_t));
            with[side] = xcalloc(count, sizeof(int64_t));
        }
        partition_bound_units(c->s->bound, i, c->s->weights, with);
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++)
                memcpy(b->own_unit[side] + (size_t)ends * c->state->units.count,
                       with[side == b->is_first] +
                           (size_t)(b->is_first ? ends : 3 - ends) * c->state->units.count,
                       c->state->units.count * sizeof(int64_t));
        free(with[0]);
        free(with[1]);
        for (int ends = 0; ends < PARTITION_ENDS; ends++) b->probed[ends] = -1;
    }
}

/* The room of all dies, and what is behind the links. */
static void find_room(Cuts *c)
{
    const PartitionMeasure *measures;
    (void)partition_bound_measures(c->s->bound, &measures);
    c->measure = measures[0];
    for (uint32_t u = 0; u < c->state->units.count; u++)
        c->room -= partition_unit_size(c->state, &c->measure, u);
    for (uint32_t die = 0; die < c->state->model->platform->die_count; die++) {
        if (!(c->s->dies >> die & 1)) continue;
        int64_t size = partition_die_size(c->state, &c->measure, die);
        c->room += size;
        for (uint32_t i = 0; i < c->link_count; i++)
            if (c->behind[i].side >> die & 1) c->behind[i].capacity += size;
    }
}

static void dispose(Cuts *c)
{
    for (uint32_t i = 0; i < c->link_count; i++) {
        Behind *b = &c->behind[i];
        vec_free(&b->words);
        vec_free(&b->sets);
        vec_free(&b->edges);
        vec_free(&b->ways);
        vec_free(&b->backs);
        vec_free(&b->hops);
        for (int side = 0; side < 2; side++) {
            free(b->unit[side]);
            free(b->own_unit[side]);
        }
    }
    free(c->behind);
    free(c->allowed);
    free(c->least_use);
    free(c->packed);
}

/* Gives all units behind a link their dies. */
static void take_way(const Cuts *c, const Behind *b, uint32_t number, uint32_t *of)
{
    const Way *way = &b->ways.data[number];
    const uint64_t *set = words_of(c, b, way->set);
    for (uint32_t u = 0; u < c->state->units.count; u++)
        if (has_bit(set, u)) of[u] = b->die;
    for (uint32_t i = 0; i < c->children[b->die]; i++)
        take_way(c, &c->behind[c->child[b->die][i]], b->backs.data[way->back + i], of);
}

static void take_best(const Cuts *c, uint32_t *dies)
{
    uint32_t count = c->state->units.count;
    uint32_t *of = xcalloc(count, sizeof *of);
    for (uint32_t u = 0; u < count; u++) of[u] = c->root;
    for (uint32_t i = 0; i < c->children[c->root]; i++)
        take_way(c, &c->behind[c->child[c->root][i]], c->best[i], of);
    for (uint32_t t = 0; t < count; t++) dies[t] = of[c->s->order[t]];
    free(of);
}

PartitionCuts *partition_cuts_new(PartitionCutSearch *s)
{
    Cuts *c = xcalloc(1, sizeof *c);
    init(c, s);
    find_room(c);
    find_least(c);
    sort_children(c);
    c->all_work = (s->state->max_steps - s->state->steps) / 2 * WORK_PER_STEP;
    return c;
}

void partition_cuts_free(PartitionCuts *c)
{
    dispose(c);
    free(c);
}

void partition_search_cuts(PartitionCuts *c, uint32_t *dies)
{
    PartitionCutSearch *s = c->s;
    int64_t before = c->work;
    for (uint32_t i = 0; i < c->children[c->root]; i++) clear(c, &c->behind[c->child[c->root][i]]);
    s->is_over = s->is_found = false;
    probe_all(c);
    s->next = i64_max(s->upper + 1, find_total(c));
    if (!s->is_over && s->next == s->upper + 1 && find_all(c)) {
        partition_cuts_fill_root(c);
        if (s->is_found) take_best(c, dies);
    }
    c->state->steps += (c->work - before) / WORK_PER_STEP;
}
