/* Lagrangian relaxation, with an ascent on the prices of the limited resources by cutting planes.
 * With prices p, limits l and uses u,
 *   min over designs of goal + sum p (u - l)
 * is a lower bound of every design within the limits. The same minimum over the designs through one
 * transition bounds those, so a transition whose minimum exceeds the best design's goal is dropped.
 * Tests: test/unit/target/dse/solve_test.c */
#include <math.h>
#include <string.h>

#include "target/dse/solve/internal.h"
#include "target/dse/solve/solve.h"

enum { MAX_TRANSITIONS = 4000000, MAX_ROUNDS = 60, MAX_LONG_EDGE_WORDS = 16 };
/* Width of the first label search; each further one is so many times as wide. */
enum { FIRST_WIDTH = 8, WIDENING = 4 };

/* Sum of the prices where there is nothing to minimise; else the price of a unit is at most so many
 * times the largest goal. The ascent ends when the bound is as close to its maximum as
 * PRECISION. */
enum { PRICE_SUM = 1000000, MAX_PRICE = 100 };
#define PRECISION 1e-4

typedef struct Lagrangian {
    const DseReduced *reduced;
    const DseProblem *problem;
    const double *surrogate; /* weights of the label search's surrogate constraint */
    DseLimit limits[DSE_MAX_LIMITS];
    uint32_t limit_count;
    DseLayers layers;
    double *ahead, *behind;        /* per state: cheapest path from the start, to the end */
    uint32_t *arrival, *departure; /* per state: last transition of the one, first of the other */
    int64_t *sums_ahead, *sums_behind; /* per state and sum: along those paths (see add_sums) */
    double *prices;                    /* of the configurations of a node */
    uint32_t *path;                    /* per node: configuration of the cheapest design */
    double best_bound;
    double best_prices[DSE_MAX_LIMITS];
    DseRelaxation *out;
} Lagrangian;

static void add_limits(Lagrangian *p)
{
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t limit = p->reduced->limits.items[k];
        if (limit >= 0)
            p->limits[p->limit_count++] = (DseLimit){
                .kind = k, .limit = (double)limit, .unit = limit > 0 ? (double)limit : 1.0};
    }
}

static void price_configs(Lagrangian *p, uint32_t n)
{
    const DseNode *node = &p->reduced->space.nodes.data[n];
    for (size_t c = 0; c < node->configs.len; c++) {
        const Cost *cost = &node->configs.data[c].cost;
        double price = (double)p->reduced->goal[n][c];
        for (uint32_t i = 0; i < p->limit_count; i++)
            price +=
                p->limits[i].price * (double)cost->items[p->limits[i].kind] / p->limits[i].unit;
        p->prices[c] = price;
    }
}

static void walk_ahead(Lagrangian *p)
{
    for (uint32_t s = 1; s < p->layers.state_count; s++) p->ahead[s] = INFINITY;
    p->ahead[0] = 0;
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        price_configs(p, layer->node);
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            double length = p->ahead[way->from] + p->prices[way->config];
            if (length >= p->ahead[way->to]) continue;
            p->ahead[way->to] = length;
            p->arrival[way->to] = (uint32_t)t;
        }
    }
}

/* Fills `behind`, and drops transitions through which no design is below `limit`. */
static void walk_behind(Lagrangian *p, double limit)
{
    for (uint32_t s = 0; s + 1 < p->layers.state_count; s++) p->behind[s] = INFINITY;
    p->behind[p->layers.state_count - 1] = 0;
    for (size_t l = p->layers.layers.len; l-- > 0;) {
        GraphLayer *layer = &p->layers.layers.data[l];
        size_t kept = 0;
        price_configs(p, layer->node);
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            Transition way = p->layers.transitions.data[t];
            double rest = p->prices[way.config] + p->behind[way.to];
            if (!(p->ahead[way.from] + rest <= limit)) continue;
            p->layers.transitions.data[layer->first + kept++] = way;
            if (rest < p->behind[way.from]) {
                p->behind[way.from] = rest;
                p->departure[way.from] = (uint32_t)(layer->first + kept - 1);
            }
        }
        layer->count = kept;
    }
}

/* The cheapest design at the current prices; false: nothing is left. */
static bool read_path(Lagrangian *p)
{
    uint32_t state = p->layers.state_count - 1;
    if (isinf(p->ahead[state])) return false;
    for (size_t l = p->layers.layers.len; l-- > 0;) {
        const Transition *way = &p->layers.transitions.data[p->arrival[state]];
        p->path[p->layers.layers.data[l].node] = way->config;
        state = way->from;
    }
    return true;
}

/* Gives the goal of the path, and its cost in *cost. */
static int64_t sum_path(const Lagrangian *p, Cost *cost)
{
    int64_t goal = 0;
    *cost = (Cost){.cycles = 0};
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        const Config *config = &p->reduced->space.nodes.data[n].configs.data[p->path[n]];
        cost_add(cost, &config->cost);
        goal += p->reduced->goal[n][p->path[n]];
    }
    return goal;
}

static void keep_design(Lagrangian *p)
{
    Cost cost;
    int64_t value = sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++)
        if ((double)cost.items[p->limits[i].kind] > p->limits[i].limit) return;
    if (p->out->has_design && value >= p->out->value) return;
    p->out->has_design = true;
    p->out->value = value;
    memcpy(p->out->chosen, p->path, p->reduced->space.nodes.len * sizeof(*p->path));
}

static double price_of_limits(const Lagrangian *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->limit_count; i++)
        sum += p->limits[i].price * p->limits[i].limit / p->limits[i].unit;
    return sum;
}

/* How far the path exceeds the limits, in units. */
static int64_t measure_path(const Lagrangian *p, double *excess)
{
    Cost cost;
    int64_t goal = sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++)
        excess[i] =
            ((double)cost.items[p->limits[i].kind] - p->limits[i].limit) / p->limits[i].unit;
    return goal;
}

/* An upper bound of every design's goal. */
static double max_goal(const Lagrangian *p)
{
    double sum = 0;
    for (size_t n = 0; n < p->reduced->space.nodes.len; n++) {
        int64_t worst = 0;
        const DseNode *node = &p->reduced->space.nodes.data[n];
        for (size_t c = 0; c < node->configs.len; c++) {
            int64_t value = p->reduced->goal[n][c];
            worst = value > worst ? value : worst;
        }
        sum += (double)worst;
    }
    return sum;
}

static void keep_bound(Lagrangian *p, double bound)
{
    p->best_bound = bound;
    for (uint32_t i = 0; i < p->limit_count; i++) p->best_prices[i] = p->limits[i].price;
}

/* Goals are whole numbers. */
static int64_t whole_bound(double bound)
{
    if (isinf(bound)) return bound > 0 ? INT64_MAX : 0;
    return (int64_t)ceil(bound - 0.001);
}

static bool is_late(const Lagrangian *p)
{
    return p->problem->deadline > 0 && dse_seconds() > p->problem->deadline;
}

/* Whether the gap is closed: no design is better than the best one known. */
static bool is_closed(const Lagrangian *p, double bound)
{
    return p->out->has_design && (p->out->value == 0 || whole_bound(bound) >= p->out->value);
}

/* Computes the bound at the present prices. False: there is nothing more to gain from prices. */
static bool evaluate(Lagrangian *p, double worst)
{
    walk_ahead(p);
    if (!read_path(p)) {
        p->best_bound = INFINITY;
        return false;
    }
    double bound = p->ahead[p->layers.state_count - 1] - price_of_limits(p);
    keep_design(p);
    if (is_closed(p, bound)) {
        p->best_bound = INFINITY;
        return false;
    }
    if (bound > p->best_bound) keep_bound(p, bound);
    walk_behind(p, (p->out->has_design ? (double)p->out->value - 1 : worst) + 0.001 +
                       price_of_limits(p));
    return true;
}

/* Adds a transition's configuration to sums: of the goal, then of each limited kind. */
static void add_sums(const Lagrangian *p, const int64_t *before, const GraphLayer *layer,
                     const Transition *way, int64_t *out)
{
    const DseNode *node = &p->reduced->space.nodes.data[layer->node];
    const Config *config = &node->configs.data[way->config];
    out[0] = before[0] + p->reduced->goal[layer->node][way->config];
    for (uint32_t i = 0; i < p->limit_count; i++)
        out[i + 1] = before[i + 1] + config->cost.items[p->limits[i].kind];
}

static void sum_ways(Lagrangian *p)
{
    size_t width = p->limit_count + 1u, layers = p->layers.layers.len;
    for (size_t l = 0; l < layers; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            if (p->arrival[way->to] == t)
                add_sums(p, p->sums_ahead + way->from * width, layer, way,
                         p->sums_ahead + way->to * width);
        }
    }
    for (size_t l = layers; l-- > 0;) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            if (p->departure[way->from] == t)
                add_sums(p, p->sums_behind + way->to * width, layer, way,
                         p->sums_behind + way->from * width);
        }
    }
}

/* Whether the cheapest path through a transition keeps the limits; gives its goal. */
static bool detour_fits(const Lagrangian *p, const GraphLayer *layer, const Transition *way,
                        int64_t *goal)
{
    size_t width = p->limit_count + 1u;
    int64_t sums[DSE_MAX_LIMITS + 1];
    const int64_t *rest = p->sums_behind + way->to * width;
    add_sums(p, p->sums_ahead + way->from * width, layer, way, sums);
    for (uint32_t i = 0; i < p->limit_count; i++)
        if ((double)(sums[i + 1] + rest[i + 1]) > p->limits[i].limit) return false;
    *goal = sums[0] + rest[0];
    return true;
}

static void read_detour(Lagrangian *p, size_t layer, const Transition *way)
{
    const GraphLayer *layers = p->layers.layers.data;
    uint32_t state = way->from;
    p->path[layers[layer].node] = way->config;
    for (size_t l = layer; l-- > 0;) {
        const Transition *before = &p->layers.transitions.data[p->arrival[state]];
        p->path[layers[l].node] = before->config;
        state = before->from;
    }
    state = way->to;
    for (size_t l = layer + 1; l < p->layers.layers.len; l++) {
        const Transition *next = &p->layers.transitions.data[p->departure[state]];
        p->path[layers[l].node] = next->config;
        state = next->to;
    }
}

/* The cheapest path through each transition is a design, too: takes the best one that keeps the
 * limits. The prices are those of the last evaluation. */
static void try_detours(Lagrangian *p)
{
    size_t best_layer = 0;
    const Transition *best = NULL;
    int64_t best_goal = p->out->has_design ? p->out->value : INT64_MAX, goal;
    walk_ahead(p);
    sum_ways(p);
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            if (!detour_fits(p, layer, way, &goal) || goal >= best_goal) continue;
            best = way;
            best_goal = goal;
            best_layer = l;
        }
    }
    if (!best) return;
    read_detour(p, best_layer, best);
    keep_design(p);
}

static void take_best_prices(Lagrangian *p)
{
    for (uint32_t i = 0; i < p->limit_count; i++) p->limits[i].price = p->best_prices[i];
}

/* Half-way between the prices of the best bound and the next ones of the cutting planes, which
 * alone would jump between extremes. */
static void move_prices(Lagrangian *p, const double *next)
{
    for (uint32_t i = 0; i < p->limit_count; i++)
        p->limits[i].price = (p->best_prices[i] + next[i]) / 2;
}

/* Goals are whole numbers, so a better design is better by 1. Where there is nothing to minimise,
 * any design is the best; the prices are then shares of a sum, and a bound above 0 says that there
 * is no design. */
static void ascend(Lagrangian *p)
{
    double worst = max_goal(p), next[DSE_MAX_LIMITS], excess[DSE_MAX_LIMITS];
    bool only_fits = worst == 0;
    DseCuttingPlanes *planes =
        p->limit_count
            ? dse_cutting_plane_create(p->limit_count, only_fits ? PRICE_SUM : 0, MAX_PRICE * worst)
            : NULL;
    for (uint32_t i = 0; only_fits && i < p->limit_count; i++)
        p->limits[i].price = (double)PRICE_SUM / p->limit_count;
    for (uint32_t round = 0; round < MAX_ROUNDS && !is_late(p) && evaluate(p, worst); round++) {
        if (!planes) break;
        double goal = (double)measure_path(p, excess);
        dse_cutting_plane_add(planes, goal, excess);
        double promise = dse_cutting_plane_solve(planes, next);
        if (isinf(promise) || promise - p->best_bound <= PRECISION * fabs(promise)) break;
        move_prices(p, next);
    }
    dse_cutting_plane_free(planes);
    if (isinf(p->best_bound) || p->limit_count == 0) return;
    take_best_prices(p);
    if (evaluate(p, worst)) try_detours(p);
    if (is_closed(p, p->best_bound)) p->best_bound = INFINITY;
}

/* Computes the bounds at the best prices and drops transitions of which no better design can
 * come. */
static double bound_at_best(Lagrangian *p)
{
    double worst = max_goal(p);
    take_best_prices(p);
    double ceiling =
        (p->out->has_design ? (double)p->out->value - 1 : worst) + 0.001 + price_of_limits(p);
    walk_ahead(p);
    walk_behind(p, ceiling);
    walk_ahead(p);
    sum_ways(p);
    return ceiling;
}

/* Label searches, each wider than the last, until one has overlooked nothing better. */
static void search_labels(Lagrangian *p)
{
    LabelSearch search = {.reduced = p->reduced,
                          .layers = &p->layers,
                          .limits = p->limits,
                          .limit_count = p->limit_count,
                          .behind = p->behind,
                          .departure = p->departure,
                          .sums_behind = p->sums_behind,
                          .only_fits = max_goal(p) == 0,
                          .surrogate = p->surrogate,
                          .chosen = p->path,
                          .width = FIRST_WIDTH,
                          .deadline = p->problem->deadline,
                          .max_labels = dse_max_labels(p->problem)};
    while (!search.complete && search.max_labels > 0 && !is_late(p)) {
        search.ceiling = bound_at_best(p);
        dse_labels(&search);
        if (search.found) keep_design(p);
        search.complete |= p->out->has_design && p->out->value == 0;
        search.width *= WIDENING;
        search.max_labels -= search.tried < search.max_labels ? search.tried : search.max_labels;
    }
    if (search.complete)
        p->best_bound = INFINITY;
    else
        bound_at_best(p);
}

static void mark_kept(Lagrangian *p, bool all)
{
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            bool *keep = &p->out->keep[layer->node][p->layers.transitions.data[t].config];
            p->out->kept += !*keep;
            *keep = true;
        }
    }
    for (size_t n = 0; all && n < p->reduced->space.nodes.len; n++) {
        memset(p->out->keep[n], 1, p->reduced->space.nodes.data[n].configs.len);
        p->out->kept += p->reduced->space.nodes.data[n].configs.len;
    }
}

static void allocate(Lagrangian *p)
{
    size_t states = p->layers.state_count + 1u, most = 1, nodes = p->reduced->space.nodes.len;
    for (size_t n = 0; n < nodes; n++)
        if (p->reduced->space.nodes.data[n].configs.len > most)
            most = p->reduced->space.nodes.data[n].configs.len;
    p->ahead = xcalloc(states, sizeof(double));
    p->behind = xcalloc(states, sizeof(double));
    p->arrival = xcalloc(states, sizeof(uint32_t));
    p->departure = xcalloc(states, sizeof(uint32_t));
    p->sums_ahead = xcalloc(states * (p->limit_count + 1u), sizeof(int64_t));
    p->sums_behind = xcalloc(states * (p->limit_count + 1u), sizeof(int64_t));
    p->prices = xcalloc(most, sizeof(double));
    p->path = xcalloc(nodes + 1, sizeof(uint32_t));
}

static void release(Lagrangian *p)
{
    free_ptr((void **)&p->ahead);
    free_ptr((void **)&p->behind);
    free_ptr((void **)&p->arrival);
    free_ptr((void **)&p->departure);
    free_ptr((void **)&p->sums_ahead);
    free_ptr((void **)&p->sums_behind);
    free_ptr((void **)&p->prices);
    free_ptr((void **)&p->path);
    dse_layers_free(&p->layers);
}

/* Bound of a space whose long edges need not agree: designs in which they do are among its
 * designs. */
static double relaxed_bound(const DseReduced *reduced, const DseProblem *problem)
{
    const DseSpace *space = &reduced->space;
    DseRelaxation ignored = {.chosen = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1)};
    Lagrangian p = {
        .reduced = reduced, .problem = problem, .out = &ignored, .best_bound = -INFINITY};
    add_limits(&p);
    if (!dse_layers(space, MAX_TRANSITIONS, DSE_NO_WORDS, &p.layers)) return 0;
    allocate(&p);
    ascend(&p);
    release(&p);
    return p.best_bound;
}

/* The whole space, or as much of it as fits into the layers: long edges get fewer words until it
 * does. */
static bool build_layers(Lagrangian *p)
{
    const DseSpace *space = &p->reduced->space;
    if (dse_layers(space, MAX_TRANSITIONS, DSE_ALL_WORDS, &p->layers)) return true;
    p->out->is_restricted = true;
    for (int words = MAX_LONG_EDGE_WORDS; words > 0; words /= 2)
        if (dse_layers(space, MAX_TRANSITIONS, words, &p->layers)) return true;
    return false;
}

void dse_relax(const DseReduced *reduced, const DseProblem *problem, const double *surrogate,
               DseRelaxation *out)
{
    const DseSpace *space = &reduced->space;
    Lagrangian p = {.reduced = reduced,
                    .problem = problem,
                    .surrogate = surrogate,
                    .out = out,
                    .best_bound = -INFINITY};
    size_t nodes = space->nodes.len;
    *out = (DseRelaxation){.keep = ARENA_ARRAY(space->arena, bool *, nodes + 1),
                           .chosen = ARENA_ARRAY(space->arena, uint32_t, nodes + 1),
                           .has_design = problem->known >= 0,
                           .value = problem->known};
    for (size_t n = 0; n < nodes; n++) {
        size_t count = space->nodes.data[n].configs.len;
        out->keep[n] = memset(ARENA_ARRAY(space->arena, bool, count + 1), 0, count + 1);
    }
    add_limits(&p);
    bool built = build_layers(&p);
    if (built) {
        allocate(&p);
        ascend(&p);
        if (!isinf(p.best_bound)) search_labels(&p);
    }
    for (uint32_t i = 0; i < p.limit_count; i++)
        out->multipliers[p.limits[i].kind] = p.best_prices[i] / p.limits[i].unit;
    mark_kept(&p, !built);
    if (out->is_restricted)
        p.best_bound = relaxed_bound(reduced, problem);
    else if (out->has_design && out->kept == 0)
        p.best_bound = INFINITY;
    out->bound = whole_bound(p.best_bound);
    if (out->has_design && out->bound > out->value) out->bound = out->value;
    release(&p);
}
