/* Ways to place what is behind a link: a set there, ways of the links behind its die, and a die that
 * holds the rest. Of the ways of a set the lightest one counts, but how many links the edges across
 * have used behind, too.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/cuts/internal.h"

static bool is_subset(const Cuts *c, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = 0; i < c->words; i++)
        if (a[i] & ~b[i]) return false;
    return true;
}

/* What is behind the link of a die, or, for the root, everything. */
typedef struct Filling {
    Cuts *c;
    uint32_t die;
    Behind *b;                           /* NULL: the root */
    uint32_t set;                        /* of it */
    int64_t most;                        /* that the links behind may weigh */
    uint32_t chosen[PARTITION_MAX_DIES]; /* ways of the links behind */
    uint32_t first_way;
    bool is_best; /* no other way of the set is better in anything */
} Filling;

/* Whether the units of a set fit a die, beside the ports of the links. */
static bool fits(const Filling *f, const uint64_t *content, const int64_t *ports)
{
    const Cuts *c = f->c;
    PartitionState *s = c->state;
    uint32_t count = 0, controllers;
    int64_t use[PARTITION_KINDS];
    memcpy(use, ports, sizeof use);
    for (uint32_t i = 0; i < c->words; i++)
        for (uint64_t left = content[i]; left; left &= left - 1) {
            uint32_t unit = i * 64 + (uint32_t)__builtin_ctzll(left);
            for (int k = 0; k < PARTITION_KINDS; k++) use[k] += c->least_use[unit][k];
            for (uint32_t n = s->units.first[unit]; n < s->units.first[unit + 1]; n++)
                c->packed[count++] = s->units.nodes[n];
        }
    if (!partition_rows_hold(s, f->die, use)) return false;
    return partition_pack(s, f->die, c->packed, count, ports, use, &controllers);
}

/* What the ports on the die take. */
static void find_ports(const Filling *f, int64_t *ports)
{
    const Cuts *c = f->c;
    memset(ports, 0, PARTITION_KINDS * sizeof *ports);
    for (uint32_t i = 0; i <= c->children[f->die]; i++) {
        bool is_parent = i == c->children[f->die];
        if (is_parent && !f->b) continue;
        const Behind *b = is_parent ? f->b : &c->behind[c->child[f->die][i]];
        uint32_t set = is_parent ? f->set : b->ways.data[f->chosen[i]].set;
        const PartitionLink *link = &c->state->model->platform->links.data[b->link];
        if (b->sets.data[set].edge_count == 0 || c->state->is_reserved[b->link]) continue;
        for (int k = 0; k < PARTITION_KINDS; k++)
            ports[k] += link->charge[link->dies[1] == f->die][k];
    }
}

/* How many links an edge has used behind a link, that one included; 0: it does not cross it. */
static uint32_t hops_in(const Behind *b, uint32_t way, uint32_t edge)
{
    const Set *set = &b->sets.data[b->ways.data[way].set];
    for (uint32_t i = 0; i < set->edge_count; i++)
        if (b->edges.data[set->first_edge + i] == edge)
            return b->hops.data[b->ways.data[way].hops + i];
    return 0;
}

static uint32_t sum_hops(const Filling *f, uint32_t edge)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < f->c->children[f->die]; i++)
        sum += hops_in(&f->c->behind[f->c->child[f->die][i]], f->chosen[i], edge);
    return sum;
}

/* Whether edges that join what is behind two links of the die use few enough. */
static bool joins_hold(const Filling *f)
{
    const Cuts *c = f->c;
    for (uint32_t i = 0; c->children[f->die] > 1 && i < c->children[f->die]; i++) {
        const Behind *b = &c->behind[c->child[f->die][i]];
        const Set *set = &b->sets.data[b->ways.data[f->chosen[i]].set];
        for (uint32_t j = 0; j < set->edge_count; j++)
            if (sum_hops(f, b->edges.data[set->first_edge + j]) > c->state->options->max_hops)
                return false;
    }
    return true;
}

/* Appends how many links the edges across the link have used. False: one too many, or some way of the
 * set is as good. */
static bool add_hops(Filling *f, int64_t value)
{
    Behind *b = f->b;
    const Set *set = &b->sets.data[f->set];
    size_t first = b->hops.len;
    bool ok = true;
    f->is_best = true;
    for (uint32_t i = 0; ok && i < set->edge_count; i++) {
        uint32_t hops = 1 + sum_hops(f, b->edges.data[set->first_edge + i]);
        ok = hops <= f->c->state->options->max_hops;
        f->is_best &= hops == 1;
        *vec_push(&b->hops) = (uint8_t)i64_min(hops, UINT8_MAX);
    }
    for (size_t w = f->first_way; ok && w < b->ways.len; w++) {
        bool is_worse = b->ways.data[w].value <= value;
        for (uint32_t i = 0; is_worse && i < set->edge_count; i++)
            is_worse = b->hops.data[b->ways.data[w].hops + i] <= b->hops.data[first + i];
        ok = !is_worse;
    }
    f->is_best &= ok;
    if (!ok) b->hops.len = first;
    return ok;
}

/* The links behind are chosen: keeps the way if the die holds the rest. */
static void end_filling(Filling *f, const uint64_t *rest, int64_t value)
{
    Cuts *c = f->c;
    int64_t ports[PARTITION_KINDS];
    uint32_t children = c->children[f->die];
    if (!is_subset(c, rest, c->allowed + (size_t)f->die * c->words)) return;
    find_ports(f, ports);
    if (!joins_hold(f)) return;
    if (!f->b) {
        if (!fits(f, rest, ports)) return;
        memcpy(c->best, f->chosen, sizeof c->best);
        c->s->is_found = true;
        c->s->cost = value;
        f->most = value - 1;
        return;
    }
    Behind *b = f->b;
    size_t hops = b->hops.len;
    value += b->sets.data[f->set].weight;
    if (!add_hops(f, value)) return;
    if (!fits(f, rest, ports)) {
        f->is_best = false;
        b->hops.len = hops;
        return;
    }
    *vec_push(&b->ways) = (Way){value, f->set, (uint32_t)b->backs.len, (uint32_t)hops};
    for (uint32_t i = 0; i < children; i++) *vec_push(&b->backs) = f->chosen[i];
}

/* Chooses ways of the links behind a die from number `child` on. rest: units that are left. */
static void fill_from(Filling *f, uint32_t child, const uint64_t *rest, int64_t value)
{
    Cuts *c = f->c;
    if (child == c->children[f->die]) {
        end_filling(f, rest, value);
        return;
    }
    const Behind *b = &c->behind[c->child[f->die][child]];
    uint64_t left[PARTITION_MAX_NODES / 64];
    int64_t later = 0;
    for (uint32_t i = child + 1; i < c->children[f->die]; i++) {
        later += min_ends(c->behind[c->child[f->die][i]].least);
    }
    c->work++;
    for (uint32_t i = 0; i < b->ways.len && !f->is_best; i++) {
        if (value + b->ways.data[i].value + later > f->most) break;
        const uint64_t *set = words_of(c, b, b->ways.data[i].set);
        c->work += i % 16 == 15; /* a look at a set is cheap */
        if (!is_subset(c, set, rest)) continue;
        for (uint32_t w = 0; w < c->words; w++) left[w] = rest[w] & ~set[w];
        f->chosen[child] = i;
        fill_from(f, child + 1, left, value + b->ways.data[i].value);
    }
}

static int compare_ways(const void *a, const void *b)
{
    const Way *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->set != y->set ? (x->set < y->set ? -1 : 1)
                            : (x->hops > y->hops) - (x->hops < y->hops);
}

/* Finds the ways of a link and of those behind it. False: none is light enough, or the steps ran
 * out. */
bool partition_cuts_find_ways(Cuts *c, Behind *b, const Levels *arm)
{
    for (uint32_t i = 0; i < c->children[b->die]; i++)
        if (!partition_cuts_find_ways(c, &c->behind[c->child[b->die][i]], arm)) return false;
    partition_cuts_find_outside(c, b->link, arm);
    for (uint32_t i = 0; i < b->sets.len && !c->s->is_over; i++) {
        const Set *set = &b->sets.data[i];
        int64_t outside = c->outside[set->ends].at[LEVELS - level_of(c, set->room)];
        if (outside == INT64_MAX) continue;
        Filling f = {.c = c,
                     .die = b->die,
                     .b = b,
                     .set = i,
                     .most = c->limit - outside - set->weight,
                     .first_way = (uint32_t)b->ways.len};
        fill_from(&f, 0, words_of(c, b, i), 0);
        c->s->is_over |= partition_cuts_are_over(c);
    }
    if (c->s->is_over || b->ways.len == 0) return false;
    qsort(b->ways.data, b->ways.len, sizeof *b->ways.data, compare_ways);
    partition_cuts_forget(c, b);
    for (size_t i = 0; i < b->ways.len; i++)
        partition_cuts_learn(c, b, b->ways.data[i].set, b->ways.data[i].value);
    b->is_done = true;
    return true;
}

void partition_cuts_fill_root(Cuts *c)
{
    uint64_t all[PARTITION_MAX_NODES / 64] = {0};
    Filling f = {.c = c, .die = c->root, .most = c->s->upper};
    for (uint32_t u = 0; u < c->state->units.count; u++) all[u / 64] |= UINT64_C(1) << u % 64;
    fill_from(&f, 0, all, 0);
    c->s->is_over |= partition_cuts_are_over(c);
}
