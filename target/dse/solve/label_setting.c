/* Label setting, layer by layer. A label is extended by every transition of its state and dropped
 * if it exceeds a limit even with the least use that the rest of the way needs, if it violates the
 * surrogate constraint, if its bound exceeds the ceiling or if another label of its state dominates
 * it. Labels of earlier layers are kept, since the design is read back along them.
 * Tests: test/unit/target/dse/solve_test.c */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "target/dse/solve/internal.h"

#define NO_LABEL UINT32_MAX

typedef struct Label {
    double bound;  /* goal and prices, so far and to the end */
    double excess; /* of the cheapest completion over the limits, the largest */
    int64_t goal, use[DSE_MAX_LIMITS];
    uint32_t parent, config;
    uint32_t next; /* of the same state, while a layer is being made */
} Label;

typedef struct Labels {
    LabelSearch *s;
    VEC(Label) kept;         /* of all layers */
    VEC(Label) fresh;        /* of the layer being made */
    uint32_t *first, *count; /* per state: its labels in kept */
    uint32_t *head;          /* per state: its list in fresh */
    VEC(uint32_t) touched;   /* states with a list */
    VEC(Label) sorted;
    size_t layer;                 /* being made */
    double *rest[DSE_MAX_LIMITS]; /* per state: the least use from there to the end */
    /* The surrogate constraint: the sum of all limited uses, weighted. Per state its least value
     * from there to the end, and its right side. */
    double *rest_surrogate, surrogate_limit;
} Labels;

static const Config *config_of(const Labels *l, uint32_t node, uint32_t config)
{
    return &l->s->reduced->space.nodes.data[node].configs.data[config];
}

static void find_rest(Labels *l, uint32_t limit)
{
    const DseLayers *layers = l->s->layers;
    double *rest = l->rest[limit] = xcalloc(layers->state_count, sizeof(double));
    for (uint32_t s = 0; s + 1 < layers->state_count; s++) rest[s] = INFINITY;
    for (size_t n = layers->layers.len; n-- > 0;) {
        const GraphLayer *layer = &layers->layers.data[n];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &layers->transitions.data[t];
            const Cost *cost = &config_of(l, layer->node, way->config)->cost;
            double use = (double)cost->items[l->s->limits[limit].kind] + rest[way->to];
            rest[way->from] = fmin(rest[way->from], use);
        }
    }
}

static double surrogate_of(const Labels *l, const Cost *cost)
{
    double sum = 0;
    for (uint32_t i = 0; i < l->s->limit_count; i++)
        sum += l->s->surrogate[l->s->limits[i].kind] * (double)cost->items[l->s->limits[i].kind];
    return sum;
}

static void find_rest_surrogate(Labels *l)
{
    const DseLayers *layers = l->s->layers;
    l->rest_surrogate = xcalloc(layers->state_count, sizeof(double));
    l->surrogate_limit = 1e-6;
    for (uint32_t i = 0; i < l->s->limit_count; i++)
        l->surrogate_limit += l->s->surrogate[l->s->limits[i].kind] * l->s->limits[i].limit;
    for (uint32_t s = 0; s + 1 < layers->state_count; s++) l->rest_surrogate[s] = INFINITY;
    for (size_t n = layers->layers.len; n-- > 0;) {
        const GraphLayer *layer = &layers->layers.data[n];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &layers->transitions.data[t];
            double sum = surrogate_of(l, &config_of(l, layer->node, way->config)->cost);
            l->rest_surrogate[way->from] =
                fmin(l->rest_surrogate[way->from], sum + l->rest_surrogate[way->to]);
        }
    }
}

/* Takes the design that the cheapest completion makes of a label, which is not kept yet. */
static void complete(Labels *l, const Label *label, uint32_t to)
{
    LabelSearch *s = l->s;
    const GraphLayer *layers = s->layers->layers.data;
    int64_t value = label->goal + s->sums_behind[(size_t)to * (s->limit_count + 1u)];
    if (s->found && value >= s->value) return;
    s->found = true;
    s->value = value;
    for (size_t n = l->layer + 1; n < s->layers->layers.len; n++) {
        const Transition *next = &s->layers->transitions.data[s->departure[to]];
        s->chosen[layers[n].node] = next->config;
        to = next->to;
    }
    for (size_t n = l->layer + 1; n-- > 0; label = &l->kept.data[label->parent])
        s->chosen[layers[n].node] = label->config;
}

/* The label that a transition makes of `from`; false: no better design can come of it. */
static bool extend(Labels *l, const Label *from, const Config *config, int64_t goal, uint32_t to,
                   Label *out)
{
    const LabelSearch *s = l->s;
    out->goal = from->goal + goal;
    out->bound = (double)out->goal + s->behind[to];
    out->excess = -INFINITY;
    const int64_t *rest = s->sums_behind + (size_t)to * (s->limit_count + 1u);
    double surrogate = l->rest_surrogate[to];
    for (uint32_t i = 0; i < s->limit_count; i++) {
        const DseLimit *limit = &s->limits[i];
        out->use[i] = from->use[i] + config->cost.items[limit->kind];
        out->bound += limit->price * (double)out->use[i] / limit->unit;
        surrogate += s->surrogate[limit->kind] * (double)out->use[i];
        out->excess =
            fmax(out->excess, ((double)(out->use[i] + rest[i + 1]) - limit->limit) / limit->unit);
        if ((double)out->use[i] + l->rest[i][to] > limit->limit) return false;
    }
    if (out->excess <= 0) complete(l, out, to);
    if (!s->only_fits) out->excess = 0;
    return surrogate <= l->surrogate_limit && out->bound <= s->ceiling;
}

static void extend_all(Labels *l, const GraphLayer *layer, const Transition *way)
{
    const Config *config = config_of(l, layer->node, way->config);
    int64_t goal = l->s->reduced->goal[layer->node][way->config];
    for (uint32_t i = 0; i < l->count[way->from]; i++) {
        uint32_t parent = l->first[way->from] + i;
        Label label = {.parent = parent, .config = way->config, .next = l->head[way->to]};
        l->s->tried++;
        if (!extend(l, &l->kept.data[parent], config, goal, way->to, &label)) continue;
        if (label.next == NO_LABEL) *vec_push(&l->touched) = way->to;
        l->head[way->to] = (uint32_t)l->fresh.len;
        *vec_push(&l->fresh) = label;
    }
}

/* By excess if any design will do, by bound; then by all else, so that the order does not depend on
 * the sorting algorithm. */
static int compare_labels(const void *x, const void *y)
{
    const Label *a = x, *b = y;
    if (a->excess != b->excess) return a->excess < b->excess ? -1 : 1;
    if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
    if (a->goal != b->goal) return a->goal < b->goal ? -1 : 1;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return a->config < b->config ? -1 : a->config > b->config;
}

static bool is_dominated(Labels *l, uint32_t state, const Label *label)
{
    enum { COMPARISONS_PER_LABEL = 8 }; /* take about as long as trying a label */
    l->s->tried += l->count[state] / COMPARISONS_PER_LABEL;
    for (uint32_t i = 0; i < l->count[state]; i++) {
        const Label *other = &l->kept.data[l->first[state] + i];
        bool better = other->goal <= label->goal;
        for (uint32_t k = 0; better && k < l->s->limit_count; k++)
            better = other->use[k] <= label->use[k];
        if (better) return true;
    }
    return false;
}

/* Keeps the best of a state's fresh labels. */
static void settle(Labels *l, uint32_t state)
{
    l->sorted.len = 0;
    for (uint32_t i = l->head[state]; i != NO_LABEL; i = l->fresh.data[i].next)
        *vec_push(&l->sorted) = l->fresh.data[i];
    l->head[state] = NO_LABEL;
    qsort(l->sorted.data, l->sorted.len, sizeof(Label), compare_labels);
    l->first[state] = (uint32_t)l->kept.len;
    for (size_t i = 0; i < l->sorted.len; i++) {
        if (is_dominated(l, state, &l->sorted.data[i])) continue;
        if (l->count[state] == l->s->width) {
            l->s->complete = false;
            return;
        }
        *vec_push(&l->kept) = l->sorted.data[i];
        l->count[state]++;
    }
}

static void walk_layer(Labels *l, const GraphLayer *layer)
{
    l->fresh.len = l->touched.len = 0;
    for (size_t t = layer->first; t < layer->first + layer->count; t++)
        extend_all(l, layer, &l->s->layers->transitions.data[t]);
    for (size_t i = 0; i < l->touched.len; i++) settle(l, l->touched.data[i]);
}

static void read_design(Labels *l)
{
    const DseLayers *layers = l->s->layers;
    uint32_t end = layers->state_count - 1, best = NO_LABEL;
    for (uint32_t i = 0; i < l->count[end]; i++) {
        uint32_t label = l->first[end] + i;
        if (best == NO_LABEL || l->kept.data[label].goal < l->kept.data[best].goal) best = label;
    }
    if (best == NO_LABEL || (l->s->found && l->s->value <= l->kept.data[best].goal)) return;
    l->s->found = true;
    l->s->value = l->kept.data[best].goal;
    for (size_t n = layers->layers.len; n-- > 0; best = l->kept.data[best].parent)
        l->s->chosen[layers->layers.data[n].node] = l->kept.data[best].config;
}

static bool is_exhausted(const LabelSearch *search)
{
    return (search->found && search->only_fits) || search->tried > search->max_labels ||
           (search->deadline > 0 && dse_seconds() > search->deadline);
}

void dse_labels(LabelSearch *search)
{
    Labels l = {.s = search};
    const DseLayers *layers = search->layers;
    search->complete = true;
    search->tried = 0;
    search->found = false;
    l.first = xcalloc(layers->state_count, sizeof(uint32_t));
    l.count = xcalloc(layers->state_count, sizeof(uint32_t));
    l.head = xcalloc(layers->state_count, sizeof(uint32_t));
    memset(l.head, 0xff, layers->state_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < search->limit_count; i++) find_rest(&l, i);
    find_rest_surrogate(&l);
    *vec_push(&l.kept) = (Label){.parent = NO_LABEL};
    l.count[0] = 1;
    for (; l.layer < layers->layers.len && !is_exhausted(search); l.layer++)
        walk_layer(&l, &layers->layers.data[l.layer]);
    search->complete &= !is_exhausted(search);
    read_design(&l);
    for (uint32_t i = 0; i < search->limit_count; i++) free_ptr((void **)&l.rest[i]);
    free_ptr((void **)&l.rest_surrogate);
    free_ptr((void **)&l.first);
    free_ptr((void **)&l.count);
    free_ptr((void **)&l.head);
    vec_free(&l.kept);
    vec_free(&l.fresh);
    vec_free(&l.touched);
    vec_free(&l.sorted);
}
