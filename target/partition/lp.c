/* The program in CPLEX's LP format: Eq. 1 to 9 of the paper's appendix with what docs/partition.md
 * adds. Variables: n<node>_<version>_<die>, m<edge>_<die>_<die>, y<die>_<controller>, l<link> (an
 * Ethernet link is used), c<card>, o<die>_<die> and r<die> (kernels without circles), and the goals
 * under their names. Names of the graph do not occur, since they may hold anything.
 * Tests: test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "target/partition/internal.h"

typedef struct Lp {
    const PartitionModel *model;
    const PartitionOptions *options;
    PartitionPaths paths;
    bool *is_bridge;
    StrBuf *out;
    StrBuf row; /* its terms so far */
    uint32_t terms, rows;
} Lp;

/* Adds a term; the variable is as printf makes it. */
static void add_term(Lp *lp, int64_t factor, const char *name, ...) PRINTF_LIKE(3, 4);
static void add_term(Lp *lp, int64_t factor, const char *name, ...)
{
    enum { TERMS_OF_LINE = 8 };
    va_list args;
    if (factor == 0) return;
    if (lp->terms++ % TERMS_OF_LINE == 0 && lp->terms > 1) strbuf_add_c(&lp->row, "\n ");
    strbuf_printf(&lp->row, " %c %lld ", factor < 0 ? '-' : '+',
                  (long long)(factor < 0 ? -factor : factor));
    va_start(args, name);
    strbuf_vprintf(&lp->row, name, args);
    va_end(args);
}

/* Ends a row. Rows without terms say nothing. */
static void end_row(Lp *lp, const char *relation, int64_t right)
{
    if (lp->terms > 0)
        strbuf_printf(lp->out, " r%u:%.*s %s %lld\n", lp->rows++, STR_ARG(strbuf_str(&lp->row)),
                      relation, (long long)right);
    strbuf_clear(&lp->row);
    lp->terms = 0;
}

static bool may_be(const Lp *lp, uint32_t node, uint32_t version, uint32_t die)
{
    const PartitionNode *n = &lp->model->nodes.data[node];
    int32_t controller = lp->model->versions.data[n->version + version].controller;
    return n->dies >> die & 1 &&
           partition_has_controller(&lp->model->platform->dies[die], controller);
}

/* Whether an edge may go from a die to another. */
static bool may_go(const Lp *lp, uint32_t edge, uint32_t from, uint32_t to)
{
    return lp->paths.between[from][to].hops != PARTITION_NONE &&
           (from == to || !lp->options->is_linear || lp->is_bridge[edge]);
}

/* Terms of a node on a die, in all versions. */
static void add_node(Lp *lp, int64_t factor, uint32_t node, uint32_t die)
{
    for (uint32_t v = 0; v < lp->model->nodes.data[node].version_count; v++)
        if (may_be(lp, node, v, die)) add_term(lp, factor, "n%u_%u_%u", node, v, die);
}

static void print_nodes(Lp *lp)
{
    for (uint32_t p = 0; p < lp->model->nodes.len; p++) {
        for (uint32_t i = 0; i < lp->model->platform->die_count; i++) add_node(lp, 1, p, i);
        end_row(lp, "=", 1);
    }
}

static void print_edges(Lp *lp)
{
    uint32_t dies = lp->model->platform->die_count;
    for (uint32_t k = 0; k < lp->model->edges.len; k++)
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t i = 0; i < dies; i++) {
                const PartitionEdge *edge = &lp->model->edges.data[k];
                for (uint32_t j = 0; j < dies; j++)
                    if (may_go(lp, k, side ? j : i, side ? i : j))
                        add_term(lp, 1, "m%u_%u_%u", k, side ? j : i, side ? i : j);
                add_node(lp, -1, side ? edge->to : edge->from, i);
                end_row(lp, "=", 0);
            }
}

/* Terms of what a die has of some kinds: sum of factors times use. */
static void add_use(Lp *lp, uint32_t die, const int64_t *factor)
{
    const PartitionPlatform *platform = lp->model->platform;
    for (uint32_t p = 0; p < lp->model->nodes.len; p++)
        for (uint32_t v = 0; v < lp->model->nodes.data[p].version_count; v++) {
            int64_t sum = 0;
            const PartitionVersion *version =
                &lp->model->versions.data[lp->model->nodes.data[p].version + v];
            for (int k = 0; k < PARTITION_KINDS; k++) sum += factor[k] * version->use[k];
            if (may_be(lp, p, v, die)) add_term(lp, sum, "n%u_%u_%u", p, v, die);
        }
    for (uint32_t c = 0; c < platform->controller_count; c++) {
        int64_t sum = 0;
        for (int k = 0; k < PARTITION_KINDS; k++)
            sum += factor[k] * platform->dies[die].charge[c][k];
        add_term(lp, sum, "y%u_%u", die, c);
    }
    for (uint32_t l = 0; l < platform->links.len; l++)
        for (int end = 0; end < 2; end++) {
            int64_t sum = 0;
            const PartitionLink *link = &platform->links.data[l];
            for (int k = 0; k < PARTITION_KINDS; k++) sum += factor[k] * link->charge[end][k];
            if (link->dies[end] == die && link->is_ethernet) add_term(lp, sum, "l%u", l);
        }
}

static void print_dies(Lp *lp)
{
    for (uint32_t i = 0; i < lp->model->platform->die_count; i++) {
        PartitionRows rows = {0};
        partition_die_rows(lp->model->platform, i, &rows);
        for (size_t r = 0; r < rows.len; r++) {
            add_use(lp, i, rows.data[r].coefficient);
            end_row(lp, "<=", rows.data[r].limit);
        }
        vec_free(&rows);
    }
}

/* Whether the path between two dies has a link, in one of its directions or in that one. */
static bool path_has(const Lp *lp, uint32_t from, uint32_t to, uint32_t step, bool any)
{
    const PartitionPath *path = &lp->paths.between[from][to];
    for (uint32_t i = 0; path->hops != PARTITION_NONE && i < path->hops; i++) {
        uint32_t own = lp->paths.steps.data[path->first + i];
        if (own == step || (any && own / 2 == step / 2)) return true;
    }
    return false;
}

/* Terms of an edge on all ways over a link. */
static void add_ways(Lp *lp, int64_t factor, uint32_t edge, uint32_t step, bool any)
{
    uint32_t dies = lp->model->platform->die_count;
    for (uint32_t i = 0; i < dies; i++)
        for (uint32_t j = 0; j < dies; j++)
            if (may_go(lp, edge, i, j) && path_has(lp, i, j, step, any))
                add_term(lp, factor, "m%u_%u_%u", edge, i, j);
}

static void print_links(Lp *lp)
{
    const PartitionModel *model = lp->model;
    for (uint32_t step = 0; step < 2 * model->platform->links.len; step++) {
        const PartitionLink *link = &model->platform->links.data[step / 2];
        for (uint32_t k = 0; k < model->edges.len; k++)
            add_ways(lp, link->is_ethernet ? model->edges.data[k].mbps : model->edges.data[k].wires,
                     k, step, false);
        end_row(lp, "<=", link->capacity);
        for (uint32_t k = 0; link->is_ethernet && step % 2 == 0 && k < model->edges.len; k++) {
            add_ways(lp, 1, k, step, true);
            if (lp->terms > 0) add_term(lp, -1, "l%u", step / 2);
            end_row(lp, "<=", 0);
        }
    }
}

static void print_controllers(Lp *lp)
{
    const PartitionModel *model = lp->model;
    for (uint32_t p = 0; p < model->nodes.len; p++)
        for (uint32_t v = 0; v < model->nodes.data[p].version_count; v++)
            for (uint32_t i = 0; i < model->platform->die_count; i++) {
                int32_t c = model->versions.data[model->nodes.data[p].version + v].controller;
                if (c < 0 || !may_be(lp, p, v, i)) continue;
                add_term(lp, 1, "n%u_%u_%u", p, v, i);
                add_term(lp, -1, "y%u_%d", i, c);
                end_row(lp, "<=", 0);
            }
}

static void print_pairs(Lp *lp)
{
    const PartitionPlatform *platform = lp->model->platform;
    for (size_t k = 0; k < lp->model->pairs.len; k++) {
        const PartitionPair *pair = &lp->model->pairs.data[k];
        for (uint32_t i = 0; i < (pair->same_card ? platform->card_count : platform->die_count);
             i++) {
            for (uint32_t die = 0; die < platform->die_count; die++) {
                if ((pair->same_card ? platform->dies[die].card : die) != i) continue;
                add_node(lp, 1, pair->nodes[0], die);
                add_node(lp, -1, pair->nodes[1], die);
            }
            end_row(lp, "=", 0);
        }
    }
}

/* Edges go from a die to one of a higher rank. */
static void print_ranks(Lp *lp)
{
    uint32_t dies = lp->model->platform->die_count;
    for (uint32_t i = 0; i < dies; i++)
        for (uint32_t j = 0; j < dies; j++) {
            if (i == j) continue;
            for (uint32_t k = 0; k < lp->model->edges.len; k++) {
                if (!may_go(lp, k, i, j)) continue;
                add_term(lp, 1, "m%u_%u_%u", k, i, j);
                add_term(lp, -1, "o%u_%u", i, j);
                end_row(lp, "<=", 0);
            }
            add_term(lp, 1, "r%u", i);
            add_term(lp, -1, "r%u", j);
            add_term(lp, dies, "o%u_%u", i, j);
            end_row(lp, "<=", dies - 1);
        }
}

/* Goals. */

static void print_cards(Lp *lp)
{
    const PartitionPlatform *platform = lp->model->platform;
    for (uint32_t p = 0; p < lp->model->nodes.len; p++)
        for (uint32_t c = 0; c < platform->card_count; c++) {
            for (uint32_t i = 0; i < platform->die_count; i++)
                if (platform->dies[i].card == c) add_node(lp, 1, p, i);
            if (lp->terms > 0) add_term(lp, -1, "c%u", c);
            end_row(lp, "<=", 0);
        }
    for (uint32_t c = 0; c < platform->card_count; c++) add_term(lp, 1, "c%u", c);
    add_term(lp, -1, "cards");
    end_row(lp, "=", 0);
}

static void print_utilization(Lp *lp)
{
    const PartitionPlatform *platform = lp->model->platform;
    for (uint32_t i = 0; i < platform->die_count; i++)
        for (int k = 0; k < PARTITION_KINDS; k++) {
            int64_t factor[PARTITION_KINDS] = {0};
            factor[k] = 1000;
            add_use(lp, i, factor);
            add_term(lp, -platform->dies[i].capacity[k], "utilization");
            end_row(lp, "<=", 0);
        }
}

static void print_sum(Lp *lp, PartitionGoal goal)
{
    const PartitionModel *model = lp->model;
    for (uint32_t k = 0; k < model->edges.len; k++)
        for (uint32_t i = 0; i < model->platform->die_count; i++)
            for (uint32_t j = 0; j < model->platform->die_count; j++) {
                const PartitionPath *path = &lp->paths.between[i][j];
                int64_t weight = 0;
                if (!may_go(lp, k, i, j)) continue;
                for (uint32_t h = 0; h < path->hops; h++) {
                    uint32_t link = lp->paths.steps.data[path->first + h] / 2;
                    weight += partition_goal_weight(goal, &model->platform->links.data[link],
                                                    &model->edges.data[k]);
                }
                add_term(lp, weight, "m%u_%u_%u", k, i, j);
            }
    add_term(lp, -1, "%s", partition_goal_name(goal));
    end_row(lp, "=", 0);
}

static void print_goal(Lp *lp, PartitionGoal goal)
{
    if (goal == PARTITION_CARDS)
        print_cards(lp);
    else if (goal == PARTITION_UTILIZATION)
        print_utilization(lp);
    else
        print_sum(lp, goal);
}

/* Kinds of variables. */

static void print_binaries(Lp *lp)
{
    const PartitionModel *model = lp->model;
    const PartitionPlatform *platform = model->platform;
    uint32_t dies = platform->die_count;
    for (uint32_t p = 0; p < model->nodes.len; p++)
        for (uint32_t v = 0; v < model->nodes.data[p].version_count; v++)
            for (uint32_t i = 0; i < dies; i++)
                if (may_be(lp, p, v, i)) strbuf_printf(lp->out, " n%u_%u_%u\n", p, v, i);
    for (uint32_t k = 0; k < model->edges.len; k++)
        for (uint32_t i = 0; i < dies; i++)
            for (uint32_t j = 0; j < dies; j++)
                if (may_go(lp, k, i, j)) strbuf_printf(lp->out, " m%u_%u_%u\n", k, i, j);
    for (uint32_t i = 0; i < dies; i++)
        for (uint32_t c = 0; c < platform->controller_count; c++)
            strbuf_printf(lp->out, " y%u_%u\n", i, c);
    for (uint32_t l = 0; l < platform->links.len; l++)
        if (platform->links.data[l].is_ethernet) strbuf_printf(lp->out, " l%u\n", l);
    for (uint32_t c = 0; c < platform->card_count; c++) strbuf_printf(lp->out, " c%u\n", c);
    for (uint32_t i = 0; lp->options->is_convex && i < dies; i++)
        for (uint32_t j = 0; j < dies; j++)
            if (i != j) strbuf_printf(lp->out, " o%u_%u\n", i, j);
}

static void print_bounds(Lp *lp)
{
    uint32_t dies = lp->model->platform->die_count;
    strbuf_add_c(lp->out, "Bounds\n");
    for (uint32_t g = 0; g < lp->options->goal_count; g++)
        strbuf_printf(lp->out, " %s >= 0\n", partition_goal_name(lp->options->goals[g]));
    for (uint32_t i = 0; lp->options->is_convex && i < dies; i++)
        strbuf_printf(lp->out, " 0 <= r%u <= %u\n", i, dies - 1);
    strbuf_add_c(lp->out, "Generals\n");
    for (uint32_t g = 0; g < lp->options->goal_count; g++)
        strbuf_printf(lp->out, " %s\n", partition_goal_name(lp->options->goals[g]));
}

void partition_print_lp(const PartitionModel *model, const PartitionOptions *options, StrBuf *out)
{
    Lp *lp = xcalloc(1, sizeof *lp);
    lp->model = model;
    lp->options = options;
    lp->out = out;
    lp->is_bridge = xcalloc(model->edges.len, sizeof(bool));
    partition_find_bridges(model, lp->is_bridge);
    partition_find_paths(model->platform, options->max_hops, &lp->paths);
    strbuf_printf(out, "Minimize\n obj: %s\nSubject To\n",
                  options->goal_count ? partition_goal_name(options->goals[0]) : "");
    print_nodes(lp);
    print_edges(lp);
    print_dies(lp);
    print_links(lp);
    print_controllers(lp);
    print_pairs(lp);
    if (options->is_convex) print_ranks(lp);
    for (uint32_t g = 0; g < options->goal_count; g++) print_goal(lp, options->goals[g]);
    print_bounds(lp);
    strbuf_add_c(out, "Binaries\n");
    print_binaries(lp);
    strbuf_add_c(out, "End\n");
    partition_paths_free(&lp->paths);
    free(lp->is_bridge);
    strbuf_free(&lp->row);
    free(lp);
}
