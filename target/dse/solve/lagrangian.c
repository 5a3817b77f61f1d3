/* Ascent on the prices of the limited resources (dse_master.h). With prices p, limits l and uses u,
 *   min over designs of goal + sum p (u - l)
 * is a lower bound of every design within the limits, and so is the same minimum over the designs
 * through one transition: a transition whose minimum exceeds the best design's goal is dropped.
 * Tests: test/unit/target/dse/solve_test.c */
#include <math.h>
#include <string.h>

#include "target/dse/solve/internal.h"
#include "target/dse/solve/solve.h"

enum { MAX_TRANSITIONS = 4000000, MAX_ROUNDS = 60, MOST_FAR_WORDS = 16 };
/* Widths of the label searches, each this many times the last. */
enum { FIRST_WIDTH = 8, WIDENING = 4 };

/* Sum of prices where only limits count; else a price of a unit is at most so many of the worst
 * goals. How close to the best bound is close enough. */
enum { PRICE_SUM = 1000000, MOST_PRICE = 100 };
#define PRECISION 1e-4

typedef struct Pruning {
    const DseSpace *space;
    const DseProblem *problem;
    DseLimit limits[DSE_MAX_LIMITS];
    uint32_t limit_count;
    DseLayers layers;
    double *ahead, *behind;            /* per state: cheapest way from the start, to the end */
    uint32_t *arrival, *departure;     /* per state: the last transition of that way, the first */
    int64_t *sums_ahead, *sums_behind; /* per state and sum: along those ways (see add_sums) */
    double *prices;                    /* of the configurations of a node */
    uint32_t *path;                    /* per node: configuration of the cheapest design */
    double best_bound;
    double best_prices[DSE_MAX_LIMITS];
    DsePruned *out;
} Pruning;

static void add_limits(Pruning *p)
{
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t limit = p->problem->limits.items[k];
        if (limit >= 0)
            p->limits[p->limit_count++] = (DseLimit){
                .kind = k, .limit = (double)limit, .unit = limit > 0 ? (double)limit : 1.0};
    }
}

static void price_configs(Pruning *p, const DseNode *node)
{
    for (size_t c = 0; c < node->configs.len; c++) {
        const Cost *cost = &node->configs.data[c].cost;
        double price = (double)node->configs.data[c].goal;
        for (uint32_t i = 0; i < p->limit_count; i++)
            price +=
                p->limits[i].price * (double)cost->items[p->limits[i].kind] / p->limits[i].unit;
        p->prices[c] = price;
    }
}

static void walk_ahead(Pruning *p)
{
    for (uint32_t s = 1; s < p->layers.state_count; s++) p->ahead[s] = INFINITY;
    p->ahead[0] = 0;
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        price_configs(p, &p->space->nodes.data[layer->node]);
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
static void walk_behind(Pruning *p, double limit)
{
    for (uint32_t s = 0; s + 1 < p->layers.state_count; s++) p->behind[s] = INFINITY;
    p->behind[p->layers.state_count - 1] = 0;
    for (size_t l = p->layers.layers.len; l-- > 0;) {
        GraphLayer *layer = &p->layers.layers.data[l];
        size_t kept = 0;
        price_configs(p, &p->space->nodes.data[layer->node]);
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
static bool read_path(Pruning *p)
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

static void keep_design(Pruning *p)
{
    Cost cost;
    int64_t value = sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++)
        if ((double)cost.items[p->limits[i].kind] > p->limits[i].limit) return;
    if (p->out->has_design && value >= p->out->value) return;
    p->out->has_design = true;
    p->out->value = value;
    memcpy(p->out->chosen, p->path, p->space->nodes.len * sizeof(*p->path));
}

static double price_of_limits(const Pruning *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->limit_count; i++)
        sum += p->limits[i].price * p->limits[i].limit / p->limits[i].unit;
    return sum;
}

/* How far the path exceeds the limits, in units. */
static int64_t measure_path(const Pruning *p, double *excess)
{
    Cost cost;
    int64_t goal = sum_path(p, &cost);
    for (uint32_t i = 0; i < p->limit_count; i++)
        excess[i] =
            ((double)cost.items[p->limits[i].kind] - p->limits[i].limit) / p->limits[i].unit;
    return goal;
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
    for (uint32_t i = 0; i < p->limit_count; i++) p->best_prices[i] = p->limits[i].price;
}

/* Goals are whole numbers. */
static int64_t whole_bound(double bound)
{
    if (isinf(bound)) return bound > 0 ? INT64_MAX : 0;
    return (int64_t)ceil(bound - 0.001);
}

static bool is_late(const Pruning *p)
{
    return p->problem->deadline > 0 && dse_seconds() > p->problem->deadline;
}

/* Whether the best design cannot be beaten. */
static bool is_closed(const Pruning *p, double bound)
{
    return p->out->has_design && (p->out->value == 0 || whole_bound(bound) >= p->out->value);
}

/* Walks at the present prices. False: nothing more can be learnt. */
static bool evaluate(Pruning *p, double worst)
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

/* Adds a configuration to sums: of the goal, then of each limited kind. */
static void add_sums(const Pruning *p, const int64_t *before, const Config *config, int64_t *out)
{
    out[0] = before[0] + config->goal;
    for (uint32_t i = 0; i < p->limit_count; i++)
        out[i + 1] = before[i + 1] + config->cost.items[p->limits[i].kind];
}

static const Config *config_of(const Pruning *p, const GraphLayer *layer, const Transition *way)
{
    return &p->space->nodes.data[layer->node].configs.data[way->config];
}

static void sum_ways(Pruning *p)
{
    size_t width = p->limit_count + 1u, layers = p->layers.layers.len;
    for (size_t l = 0; l < layers; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            if (p->arrival[way->to] == t)
                add_sums(p, p->sums_ahead + way->from * width, config_of(p, layer, way),
                         p->sums_ahead + way->to * width);
        }
    }
    for (size_t l = layers; l-- > 0;) {
        const GraphLayer *layer = &p->layers.layers.data[l];
        for (size_t t = layer->first; t < layer->first + layer->count; t++) {
            const Transition *way = &p->layers.transitions.data[t];
            if (p->departure[way->from] == t)
                add_sums(p, p->sums_behind + way->to * width, config_of(p, layer, way),
                         p->sums_behind + way->from * width);
        }
    }
}

/* Whether the cheapest way through a transition keeps the limits; gives its goal. */
static bool detour_fits(const Pruning *p, const GraphLayer *layer, const Transition *way,
                        int64_t *goal)
{
    size_t width = p->limit_count + 1u;
    int64_t sums[DSE_MAX_LIMITS + 1];
    const int64_t *rest = p->sums_behind + way->to * width;
    add_sums(p, p->sums_ahead + way->from * width, config_of(p, layer, way), sums);
    for (uint32_t i = 0; i < p->limit_count; i++)
        if ((double)(sums[i + 1] + rest[i + 1]) > p->limits[i].limit) return false;
    *goal = sums[0] + rest[0];
    return true;
}

static void read_detour(Pruning *p, size_t layer, const Transition *way)
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

/* The cheapest ways through each transition are designs, too: takes the best that keeps the limits.
 * The prices are those of the last evaluation. */
static void try_detours(Pruning *p)
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

static void take_best_prices(Pruning *p)
{
    for (uint32_t i = 0; i < p->limit_count; i++) p->limits[i].price = p->best_prices[i];
}

/* Half-way between the prices of the best bound and those that promise more. */
static void move_prices(Pruning *p, const double *next)
{
    for (uint32_t i = 0; i < p->limit_count; i++)
        p->limits[i].price = (p->best_prices[i] + next[i]) / 2;
}

/* Goals are whole numbers: a better design is better by 1. Where nothing adds up, any design is the
 * best; then prices are shares of a sum, and a bound above 0 says that there is none. */
static void ascend(Pruning *p)
{
    double worst = worst_value(p), next[DSE_MAX_LIMITS], excess[DSE_MAX_LIMITS];
    bool only_fits = worst == 0;
    DseMaster *master = p->limit_count
                            ? dse_cutting_plane_create(p->limit_count, only_fits ? PRICE_SUM : 0,
                                                       MOST_PRICE * worst)
                            : NULL;
    for (uint32_t i = 0; only_fits && i < p->limit_count; i++)
        p->limits[i].price = (double)PRICE_SUM / p->limit_count;
    for (uint32_t round = 0; round < MAX_ROUNDS && !is_late(p) && evaluate(p, worst); round++) {
        if (!master) break;
        double goal = (double)measure_path(p, excess);
        dse_cutting_plane_add(master, goal, excess);
        double promise = dse_cutting_plane_solve(master, next);
        if (isinf(promise) || promise - p->best_bound <= PRECISION * fabs(promise)) break;
        move_prices(p, next);
    }
    dse_cutting_plane_free(master);
    if (isinf(p->best_bound) || p->limit_count == 0) return;
    take_best_prices(p);
    if (evaluate(p, worst)) try_detours(p);
    if (is_closed(p, p->best_bound)) p->best_bound = INFINITY;
}

/* Bounds at the best prices; transitions through which no better design leads are dropped. */
static double bound_at_best(Pruning *p)
{
    double worst = worst_value(p);
    take_best_prices(p);
    double ceiling =
        (p->out->has_design ? (double)p->out->value - 1 : worst) + 0.001 + price_of_limits(p);
    walk_ahead(p);
    walk_behind(p, ceiling);
    walk_ahead(p);
    sum_ways(p);
    return ceiling;
}

/* Searches wider and wider, until nothing better was overlooked. */
static void search_labels(Pruning *p)
{
    LabelSearch search = {.space = p->space,
                          .layers = &p->layers,
                          .limits = p->limits,
                          .limit_count = p->limit_count,
                          .behind = p->behind,
                          .departure = p->departure,
                          .sums_behind = p->sums_behind,
                          .only_fits = worst_value(p) == 0,
                          .mix = p->space->prices,
                          .chosen = p->path,
                          .width = FIRST_WIDTH,
                          .deadline = p->problem->deadline,
                          .max_labels = dse_effort(p->problem)};
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

static void mark_kept(Pruning *p, bool all)
{
    for (size_t l = 0; l < p->layers.layers.len; l++) {
        const GraphLayer *layer = &p->layers.layers.data[l];
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
        if (p->space->nodes.data[n].configs.len > most) most = p->space->nodes.data[n].configs.len;
    p->ahead = xcalloc(states, sizeof(double));
    p->behind = xcalloc(states, sizeof(double));
    p->arrival = xcalloc(states, sizeof(uint32_t));
    p->departure = xcalloc(states, sizeof(uint32_t));
    p->sums_ahead = xcalloc(states * (p->limit_count + 1u), sizeof(int64_t));
    p->sums_behind = xcalloc(states * (p->limit_count + 1u), sizeof(int64_t));
    p->prices = xcalloc(most, sizeof(double));
    p->path = xcalloc(nodes + 1, sizeof(uint32_t));
}

static void release(Pruning *p)
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

/* Bound of a space whose far edges need not agree: it holds for those that do. */
static double relaxed_bound(const DseSpace *space, const DseProblem *problem)
{
    DsePruned ignored = {.chosen = ARENA_ARRAY(space->arena, uint32_t, space->nodes.len + 1)};
    Pruning p = {.space = space, .problem = problem, .out = &ignored, .best_bound = -INFINITY};
    add_limits(&p);
    if (!dse_layers(space, MAX_TRANSITIONS, DSE_NO_WORDS, &p.layers)) return 0;
    allocate(&p);
    ascend(&p);
    release(&p);
    return p.best_bound;
}

/* All of the space, or as much of it as can be walked: far edges get fewer words, until it can. */
static bool build_layers(Pruning *p)
{
    if (dse_layers(p->space, MAX_TRANSITIONS, DSE_ALL_WORDS, &p->layers)) return true;
    p->out->is_thinned = true;
    for (int words = MOST_FAR_WORDS; words > 0; words /= 2)
        if (dse_layers(p->space, MAX_TRANSITIONS, words, &p->layers)) return true;
    return false;
}

void dse_prune(const DseSpace *space, const DseProblem *problem, DsePruned *out)
{
    Pruning p = {.space = space, .problem = problem, .out = out, .best_bound = -INFINITY};
    size_t nodes = space->nodes.len;
    *out = (DsePruned){.keep = ARENA_ARRAY(space->arena, bool *, nodes + 1),
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
        out->prices[p.limits[i].kind] = p.best_prices[i] / p.limits[i].unit;
    mark_kept(&p, !built);
    if (out->is_thinned)
        p.best_bound = relaxed_bound(space, problem);
    else if (out->has_design && out->kept == 0)
        p.best_bound = INFINITY;
    out->bound = whole_bound(p.best_bound);
    if (out->has_design && out->bound > out->value) out->bound = out->value;
    release(&p);
}
