/* Subgradient ascent on the prices of the limited resources. With prices p, limits l and uses u,
 *   min over designs of goal + sum p (u - l)
 * is a lower bound of every design within the limits, and so is the same minimum over the designs
 * through one transition: a transition whose minimum exceeds the best design's goal is dropped.
 * Tests: test/unit/dse_test.c */
#include "target/dse_prune.h"
#include "target/dse_labels.h"

#include <math.h>
#include <string.h>

enum { MAX_TRANSITIONS = 4000000, MAX_ROUNDS = 120, PATIENCE = 4, MOST_FAR_WORDS = 16 };
/* Widths of the label searches, each this many times the last. */
enum { FIRST_WIDTH = 8, WIDENING = 4 };

typedef struct Pruning {
    const DseSpace *space;
    const DseProblem *problem;
    DseLimit limits[DSE_MAX_LIMITS];
    uint32_t limit_count;
    DseLayers layers;
    double *ahead, *behind;   /* per state: cheapest way from the start, to the end */
    uint32_t *arrival;        /* per state: the last transition of that way */
    double *prices;           /* of the configurations of a node */
    uint32_t *path;           /* per node: configuration of the cheapest design */
    double best_bound;
    double best_prices[DSE_MAX_LIMITS];
    DsePruned *out;
} Pruning;

static void add_limits(Pruning *p)
{
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t limit = p->problem->limits.items[k];
        if (limit >= 0)
            p->limits[p->limit_count++] = (DseLimit){.kind = k, .limit = (double)limit,
                                                  .unit = limit > 0 ? (double)limit : 1.0};
    }
}

/* --- one evaluation ------------------------------------------------------------------------ */

static void price_configs(Pruning *p, const DseNode *node)
{
    for (size_t c = 0; c < node->configs.len; c++) {
        const Cost *cost = &node->configs.data[c].cost;
        double price = (double)node->configs.data[c].goal;
        for (uint32_t i = 0; i < p->limit_count; i++)
            price += p->limits[i].price * (double)cost->items[p->limits[i].kind] / p->limits[i].unit;
        p->prices[c] = price;
    }
}

static void walk_ahead(Pruning *p)
{
    for (uint32_t s = 1; s < p->layers.state_count; s++)
        p->ahead[s] = INFINITY;
    p->ahead[0] = 0;
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const Layer *layer = &p->layers.layers.data[l];
        price_configs(p, &p->space->nodes.data[layer->node]);
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            double length = p->ahead[way->from] + p->prices[way->config];
            if (length >= p->ahead[way->to])
                continue;
            p->ahead[way->to] = length;
            p->arrival[way->to] = (uint32_t)t;
        }
    }
}

/* Fills `behind`, and drops transitions through which no design is below `limit`. */
static void walk_behind(Pruning *p, double limit)
{
    for (uint32_t s = 0; s + 1 < p->layers.state_count; s++)
        p->behind[s] = INFINITY;
    p->behind[p->layers.state_count - 1] = 0;
    for (size_t l = p->layers.layers.len; l-- > 0;) {
        Layer *layer = &p->layers.layers.data[l];
        size_t kept = 0;
        price_configs(p, &p->space->nodes.data[layer->node]);
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            Transition way = p->layers.transitions.data[t];
            double rest = p->prices[way.config] + p->behind[way.to];
            if (!(p->ahead[way.from] + rest <= limit))
                continue;
            p->layers.transitions.data[layer->first + kept++] = way;
            if (rest < p->behind[way.from])
                p->behind[way.from] = rest;
        }
        layer->count = kept;
    }
}

/* The cheapest design at the current prices; false: nothing is left. */
static bool read_path(Pruning *p)
{
    uint32_t state = p->layers.state_count - 1;
    if (isinf(p->ahead[state]))
        return false;
    for (size_t l = p->layers.layers.len; l-- > 0;) {
        const Transition *way = &p->layers.transitions.data[p->arrival[state]];
        p->path[p->layers.layers.data[l].node] = way->config;
        state = way->from;
    }
    return true;
}

/* Gives the goal of the path, and its cost in *cost. */
static int64_t sum_path(const Pruning *p, Cost *cost)
{
    int64_t goal = 0;
    *cost = (Cost){.cycles = 0};
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        const Config *config = &p->space->nodes.data[n].configs.data[p->path[n]];
        cost_add(cost, &config->cost);
        goal += config->goal;
    }
    return goal;
}

/* --- prices ------------------------------------------------------------------------------------ */

static void keep_design(Pruning *p)
{
    Cost cost;
    int64_t value = sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++)
        if ((double)cost.items[p->limits[i].kind] > p->limits[i].limit)
            return;
    if (p->out->has_design && value >= p->out->value)
        return;
    p->out->has_design = true;
    p->out->value = value;
    memcpy(p->out->chosen, p->path, p->space->nodes.len * sizeof(*p->path));
}

/* The design that the nodes' present choices make, if they agree at every edge. */
static void keep_present(Pruning *p)
{
    const DseSpace *space = p->space;
    for (size_t e = 0; e < space->edges.len; e++) {
        const DseEdge *edge = &space->edges.data[e];
        const DseNode *from = &space->nodes.data[edge->from], *to = &space->nodes.data[edge->to];
        if (from->configs.data[from->chosen].factor[edge->from_port] !=
            to->configs.data[to->chosen].factor[edge->to_port])
            return;
    }
    for (size_t n = 0; n < space->nodes.len; n++)
        p->path[n] = space->nodes.data[n].chosen;
    keep_design(p);
}

static double price_of_limits(const Pruning *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->limit_count; i++)
        sum += p->limits[i].price * p->limits[i].limit / p->limits[i].unit;
    return sum;
}

/* Polyak's step towards `target` along the excess of each resource. False: no excess to pay for. */
static bool change_prices(Pruning *p, double scale, double target, double bound)
{
    double excess[DSE_MAX_LIMITS], norm = 0;
    Cost cost;
    sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++) {
        DseLimit *limit = &p->limits[i];
        excess[i] = ((double)cost.items[limit->kind] - limit->limit) / limit->unit;
        if (excess[i] < 0 && limit->price == 0)
            excess[i] = 0;
        norm += excess[i] * excess[i];
    }
    if (norm == 0)
        return false;
    for (uint32_t i = 0; i < p->limit_count; i++) {
        double price = p->limits[i].price + scale * (target - bound) * excess[i] / norm;
        p->limits[i].price = price > 0 ? price : 0;
    }
    return true;
}

/* Goal of the worst design: above it there is none. */
static double worst_value(const Pruning *p)
{
    double sum = 0;
    for (size_t n = 0; n < p->space->nodes.len; n++) {
        int64_t worst = 0;
        const DseNode *node = &p->space->nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++) {
            int64_t value = node->configs.data[c].goal;
            worst = value > worst ? value : worst;
        }
        sum += (double)worst;
    }
    return sum;
}

static void keep_bound(Pruning *p, double bound)
{
    p->best_bound = bound;
    for (uint32_t i = 0; i < p->limit_count; i++)
        p->best_prices[i] = p->limits[i].price;
}

/* Goals are whole numbers. */
static int64_t whole_bound(double bound)
{
    if (isinf(bound))
        return bound > 0 ? INT64_MAX : 0;
    return (int64_t)ceil(bound - 0.001);
}

static bool is_late(const Pruning *p)
{
    return p->problem->deadline > 0 && dse_seconds() > p->problem->deadline;
}

/* A better design is better by 1. Where nothing adds up, any design is the best, and prices begin where
 * the one of least shares of the limits is the cheapest. */
static void ascend(Pruning *p)
{
    double worst = worst_value(p), scale = 1;
    uint32_t stuck = 0;
    for (uint32_t i = 0; worst == 0 && i < p->limit_count; i++)
        p->limits[i].price = 1;
    for (uint32_t round = 0; round < MAX_ROUNDS && !is_late(p); round++) {
        walk_ahead(p);
        if (!read_path(p)) {
            p->best_bound = INFINITY;
            return;
        }
        double bound = p->ahead[p->layers.state_count - 1] - price_of_limits(p);
        keep_design(p);
        if (p->out->has_design && whole_bound(bound) >= p->out->value) {
            p->best_bound = INFINITY;
            return;
        }
        double target = p->out->has_design ? (double)p->out->value - 1 : worst;
        walk_behind(p, target + 0.001 + price_of_limits(p));
        stuck = bound > p->best_bound ? 0 : stuck + 1;
        if (bound > p->best_bound)
            keep_bound(p, bound);
        if (stuck == PATIENCE) {
            scale /= 2;
            stuck = 0;
        }
        if (!change_prices(p, scale, target + 1, bound))
            return;
    }
}

/* --- labels ------------------------------------------------------------------------------------ */

/* Bounds at the best prices; transitions through which no better design leads are dropped. */
static double bound_at_best(Pruning *p)
{
    double worst = worst_value(p);
    for (uint32_t i = 0; i < p->limit_count; i++)
        p->limits[i].price = p->best_prices[i];
    double ceiling = (p->out->has_design ? (double)p->out->value - 1 : worst) + 0.001 +
                     price_of_limits(p);
    walk_ahead(p);
    walk_behind(p, ceiling);
    return ceiling;
}

/* Searches wider and wider, until nothing better was overlooked. */
static void search_labels(Pruning *p)
{
    LabelSearch search = {.space = p->space, .layers = &p->layers,
                          .limits = p->limits, .limit_count = p->limit_count, .behind = p->behind,
                          .chosen = p->path, .width = FIRST_WIDTH,
                          .deadline = p->problem->deadline, .max_labels = dse_effort(p->problem)};
    while (!search.complete && search.max_labels > 0 && !is_late(p)) {
        search.ceiling = bound_at_best(p);
        dse_labels(&search);
        if (search.found)
            keep_design(p);
        search.width *= WIDENING;
        search.max_labels -= search.tried < search.max_labels ? search.tried : search.max_labels;
    }
    if (search.complete)
        p->best_bound = INFINITY;
    else
        bound_at_best(p);
}

/* --- result ---------------------------------------------------------------------------------------- */

static void mark_kept(Pruning *p, bool all)
{
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const Layer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            bool *keep = &p->out->keep[layer->node][p->layers.transitions.data[t].config];
            p->out->kept += !*keep;
            *keep = true;
        }
    }
    for (size_t n = 0; all && n < p->space->nodes.len; n++) {
        memset(p->out->keep[n], 1, p->space->nodes.data[n].configs.len);
        p->out->kept += p->space->nodes.data[n].configs.len;
    }
}

static void allocate(Pruning *p)
{
    size_t states = p->layers.state_count + 1u, most = 1, nodes = p->space->nodes.len;
    for (size_t n = 0; n < nodes; n++)
        if (p->space->nodes.data[n].configs.len > most)
            most = p->space->nodes.data[n].configs.len;
    p->ahead = xcalloc(states, sizeof(double));
    p->behind = xcalloc(states, sizeof(double));
    p->arrival = xcalloc(states, sizeof(uint32_t));
    p->prices = xcalloc(most, sizeof(double));
    p->path = xcalloc(nodes + 1, sizeof(uint32_t));
}

static void release(Pruning *p)
{
    free_ptr((void **)&p->ahead);
    free_ptr((void **)&p->behind);
    free_ptr((void **)&p->arrival);
    free_ptr((void **)&p->prices);
    free_ptr((void **)&p->path);
    dse_layers_free(&p->layers);
}

/* Bound of a space whose far edges need not agree: it holds for those that do. */
static double relaxed_bound(const DseSpace *space, const DseProblem *problem)
{
    DsePruned ignored = {.chosen = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1)};
    Pruning p = {.space = space, .problem = problem, .out = &ignored, .best_bound = -INFINITY};
    add_limits(&p);
    if (!dse_layers(space, MAX_TRANSITIONS, DSE_NO_WORDS, &p.layers))
        return 0;
    allocate(&p);
    ascend(&p);
    release(&p);
    return p.best_bound;
}

/* All of the space, or as much of it as can be walked: far edges get fewer words, until it can. */
static bool build_layers(Pruning *p)
{
    if (dse_layers(p->space, MAX_TRANSITIONS, DSE_ALL_WORDS, &p->layers))
        return true;
    p->out->is_thinned = true;
    for (int words = MOST_FAR_WORDS; words > 0; words /= 2)
        if (dse_layers(p->space, MAX_TRANSITIONS, words, &p->layers))
            return true;
    return false;
}

void dse_prune(const DseSpace *space, const DseProblem *problem, DsePruned *out)
{
    Pruning p = {.space = space, .problem = problem, .out = out, .best_bound = -INFINITY};
    size_t nodes = space->nodes.len;
    *out = (DsePruned){.keep = ARENA_ARRAY(space->arena, bool *, nodes + 1),
                       .chosen = ARENA_ARRAY(space->arena, uint32_t, nodes + 1)};
    for (size_t n = 0; n < nodes; n++) {
        size_t count = space->nodes.data[n].configs.len;
        out->keep[n] = memset(ARENA_ARRAY(space->arena, bool, count + 1), 0, count + 1);
    }
    add_limits(&p);
    bool built = build_layers(&p);
    if (built) {
        allocate(&p);
        keep_present(&p);
        ascend(&p);
        if (!isinf(p.best_bound))
            search_labels(&p);
    }
    mark_kept(&p, !built);
    if (out->is_thinned)
        p.best_bound = relaxed_bound(space, problem);
    else if (out->has_design && out->kept == 0)
        p.best_bound = INFINITY;
    out->bound = whole_bound(p.best_bound);
    if (out->has_design && out->bound > out->value)
        out->bound = out->value;
    release(&p);
}
