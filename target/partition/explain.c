/* Why there is no placement.
 * Tests: lit/target/partition/infeasible.test */
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/partition/internal.h"

/* The kind of which a version takes the greatest share of a die's limit, controllers included. */
typedef struct Tightest {
    PartitionKind kind;
    int64_t use, limit;
} Tightest;

static bool is_tighter(const Tightest *a, const Tightest *b)
{
    bool exceeds = a->use > a->limit;
    if (exceeds != (b->use > b->limit)) return exceeds;
    return a->use * i64_max(b->limit, 1) > b->use * i64_max(a->limit, 1);
}

/* What a version takes of a kind on a die, its controller included. */
static int64_t use_on(const PartitionDie *die, const PartitionVersion *version, PartitionKind k)
{
    return version->use[k] + (version->controller < 0 ? 0 : die->charge[version->controller][k]);
}

static bool find_tightest(const PartitionDie *die, const PartitionVersion *version, Tightest *out)
{
    if (!partition_has_controller(die, version->controller)) return false;
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
        Tightest here = {k, use_on(die, version, k), die->limit[k]};
        if (k == 0 || is_tighter(&here, out)) *out = here;
    }
    return true;
}

/* The die and version that a node comes closest to fitting with. */
static bool fits_alone(const PartitionModel *model, const PartitionNode *node, Tightest *out)
{
    bool is_known = false;
    for (uint32_t d = 0; d < model->platform->die_count; d++)
        for (uint32_t v = 0; node->dies >> d & 1 && v < node->version_count; v++) {
            Tightest here = {.use = 0};
            if (!find_tightest(&model->platform->dies[d], &model->versions.data[node->version + v],
                               &here))
                continue;
            if (!is_known || is_tighter(out, &here)) *out = here;
            is_known = true;
        }
    return is_known && out->use <= out->limit;
}

/* The row of an average that a version alone exceeds most on a die, and how many times it takes it;
 * 0: none. */
static double worst_average(const PartitionPlatform *platform, uint32_t die,
                            const PartitionVersion *version, PartitionRow *out)
{
    int64_t use[PARTITION_KINDS];
    double most = 0;
    PartitionRows rows = {0};
    partition_die_rows(platform, die, &rows);
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        use[k] = use_on(&platform->dies[die], version, k);
    for (size_t r = PARTITION_KINDS; r < rows.len; r++) {
        const PartitionRow *row = &rows.data[r];
        double share = (double)partition_row_use(row, use) / (double)i64_max(row->limit, 1);
        if (partition_row_holds(row, use) || share <= most) continue;
        most = share;
        *out = *row;
    }
    vec_free(&rows);
    return most;
}

/* Whether the averages of all dies that have room for the node's kinds are too low for it; then the
 * one by which it comes closest, and how many times it takes that. */
static bool exceeds_averages(const PartitionModel *model, const PartitionNode *node,
                             PartitionRow *row, double *times)
{
    const PartitionPlatform *platform = model->platform;
    *times = 0;
    for (uint32_t d = 0; d < platform->die_count; d++)
        for (uint32_t v = 0; node->dies >> d & 1 && v < node->version_count; v++) {
            const PartitionVersion *version = &model->versions.data[node->version + v];
            Tightest kinds;
            PartitionRow worst = {.limit = 0};
            if (!find_tightest(&platform->dies[d], version, &kinds) || kinds.use > kinds.limit)
                continue;
            double share = worst_average(platform, d, version, &worst);
            if (share == 0) return false;
            if (*times > 0 && share >= *times) continue;
            *times = share;
            *row = worst;
        }
    return *times > 0;
}

static bool explain_average(const PartitionModel *model, const PartitionNode *node, StrBuf *why)
{
    PartitionRow row;
    double times;
    const char *separator = " ";
    if (!exceeds_averages(model, node, &row, &times)) return false;
    strbuf_printf(why, "node ");
    strbuf_add_quoted(why, node->name);
    strbuf_printf(why, " fits on no die: its mean share of");
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
        if (row.coefficient[k] == 0) continue;
        strbuf_printf(why, "%s%s", separator, partition_kind_name(k));
        separator = ", ";
    }
    strbuf_printf(why, " is %.2f times what a die may have", times);
    return true;
}

static bool explain_nodes(const PartitionModel *model, StrBuf *why)
{
    for (size_t i = 0; i < model->nodes.len; i++) {
        Tightest tightest = {.limit = 1};
        const PartitionNode *node = &model->nodes.data[i];
        if (fits_alone(model, node, &tightest)) {
            if (explain_average(model, node, why)) return true;
            continue;
        }
        strbuf_printf(why, "node ");
        strbuf_add_quoted(why, node->name);
        strbuf_printf(why, " fits on no die: it takes %lld of at most %lld %s",
                      (long long)tightest.use, (long long)tightest.limit,
                      partition_kind_name(tightest.kind));
        if (tightest.limit > 0)
            strbuf_printf(why, " (%.2f times)", (double)tightest.use / (double)tightest.limit);
        return true;
    }
    return false;
}

static int64_t least_use(const PartitionModel *model, const PartitionNode *node, PartitionKind kind)
{
    int64_t least = INT64_MAX;
    for (uint32_t v = 0; v < node->version_count; v++)
        least = i64_min(least, model->versions.data[node->version + v].use[kind]);
    return least;
}

static bool explain_totals(const PartitionModel *model, StrBuf *why)
{
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
        int64_t need = 0, room = 0;
        for (size_t i = 0; i < model->nodes.len; i++)
            need += least_use(model, &model->nodes.data[i], k);
        for (uint32_t d = 0; d < model->platform->die_count; d++)
            room += model->platform->dies[d].limit[k];
        if (need <= room) continue;
        strbuf_printf(why, "the nodes take at least %lld of at most %lld %s on all dies",
                      (long long)need, (long long)room, partition_kind_name(k));
        return true;
    }
    return false;
}

void partition_explain_steps(const PartitionModel *model, int64_t steps, StrBuf *why)
{
    Tightest worst = {.limit = 1};
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
        Tightest here = {.kind = k};
        for (size_t i = 0; i < model->nodes.len; i++)
            here.use += least_use(model, &model->nodes.data[i], k);
        for (uint32_t d = 0; d < model->platform->die_count; d++)
            here.limit += model->platform->dies[d].limit[k];
        if (here.use > 0 && is_tighter(&here, &worst)) worst = here;
    }
    strbuf_printf(why, "none was found in %lld steps, nor is it proven that there is none",
                  (long long)steps);
    if (worst.use > 0)
        strbuf_printf(why,
                      "; of %s there is the least room: the nodes take at least %lld of at most "
                      "%lld on all dies (%.1f %%)",
                      partition_kind_name(worst.kind), (long long)worst.use, (long long)worst.limit,
                      100 * (double)worst.use / (double)i64_max(worst.limit, 1));
}

/* A platform with links that carry any amount. The caller frees its links and it. */
static PartitionPlatform *without_capacities(const PartitionPlatform *platform)
{
    PartitionPlatform *loose = xcalloc(1, sizeof *loose);
    *loose = *platform;
    memset(&loose->links, 0, sizeof loose->links);
    for (size_t i = 0; i < platform->links.len; i++) {
        PartitionLink *link = vec_push(&loose->links);
        *link = platform->links.data[i];
        link->capacity = PARTITION_MAX_AMOUNT * PARTITION_MAX_EDGES;
    }
    return loose;
}

/* Of the edges on a link, with its direction, the one that takes most of it. */
static const PartitionEdge *largest_edge(const PartitionModel *model,
                                         const PartitionOptions *options, const uint32_t *dies,
                                         size_t step)
{
    PartitionPaths *paths = xcalloc(1, sizeof *paths);
    bool is_ethernet = model->platform->links.data[step / 2].is_ethernet;
    const PartitionEdge *best = NULL;
    partition_find_paths(model->platform, options->max_hops, paths);
    for (size_t k = 0; k < model->edges.len; k++) {
        const PartitionEdge *edge = &model->edges.data[k];
        const PartitionPath *path = &paths->between[dies[edge->from]][dies[edge->to]];
        bool is_on = false;
        for (uint32_t i = 0; i < path->hops; i++)
            is_on |= paths->steps.data[path->first + i] == step;
        if (is_on && (!best || (is_ethernet ? edge->mbps > best->mbps : edge->wires > best->wires)))
            best = edge;
    }
    partition_paths_free(paths);
    free(paths);
    return best;
}

/* Which edge it is most, and, since what goes over Ethernet in a second follows from the interval, how
 * much longer that would have to be. */
static void add_edge_and_factor(const PartitionModel *model, const PartitionEdge *edge,
                                const PartitionLink *link, int64_t use, StrBuf *why)
{
    if (edge)
        strbuf_printf(why, "; most of it for the edge from '%.*s' to '%.*s', %lld",
                      STR_ARG(model->nodes.data[edge->from].name),
                      STR_ARG(model->nodes.data[edge->to].name),
                      (long long)(link->is_ethernet ? edge->mbps : edge->wires));
    if (link->is_ethernet && link->capacity > 0)
        strbuf_printf(why,
                      "; it would carry them with %.2f times as many cycles from frame to frame",
                      (double)((use * 100 + link->capacity - 1) / link->capacity) / 100);
}

/* The link and direction that a placement exceeds most, in shares of the capacity. */
static void add_worst_link(const PartitionModel *model, const PartitionOptions *options,
                           const uint32_t *dies, const PartitionUse *use, StrBuf *why)
{
    const PartitionPlatform *platform = model->platform;
    size_t worst = 0;
    double most = 0;
    for (size_t i = 0; i < use->links.len; i++) {
        double share =
            (double)use->links.data[i] / ((double)platform->links.data[i / 2].capacity + 0.5);
        if (share > most) worst = i;
        most = share > most ? share : most;
    }
    if (most <= 1) return;
    const PartitionLink *link = &platform->links.data[worst / 2];
    strbuf_printf(
        why, "; the best such placement has %lld %s from '%.*s' to '%.*s', of at most %lld",
        (long long)use->links.data[worst], link->is_ethernet ? "Mb/s" : "wires",
        STR_ARG(platform->dies[link->dies[worst % 2]].name),
        STR_ARG(platform->dies[link->dies[1 - worst % 2]].name), (long long)link->capacity);
    add_edge_and_factor(model, largest_edge(model, options, dies, worst), link,
                        use->links.data[worst], why);
}

/* Whether there is a placement with other options, where links carry any amount. links: NULL, or
 * gets the link that it exceeds most. */
static bool is_possible(const PartitionModel *model, const PartitionOptions *options, int64_t steps,
                        StrBuf *links)
{
    PartitionPlatform *loose = without_capacities(model->platform);
    PartitionModel copy = *model;
    PartitionOptions any = *options;
    PartitionPlacement placement;
    copy.platform = loose;
    any.goal_count = 0;
    if (links) any.goals[any.goal_count++] = PARTITION_GBPS;
    if (links) any.goals[any.goal_count++] = PARTITION_WIRES;
    any.max_steps = steps;
    partition_search(&copy, &any, &placement);
    bool is_placed = placement.is_placed;
    if (is_placed && links) {
        PartitionUse *use = xcalloc(1, sizeof *use);
        partition_measure(&copy, &any, &placement, use);
        add_worst_link(model, &any, placement.dies.data, use, links);
        partition_use_free(use);
        free(use);
    }
    partition_placement_free(&placement);
    vec_free(&loose->links);
    free(loose);
    return is_placed;
}

/* Whether there would be a placement with so many percent of a kind on every die. */
static bool is_possible_with(const PartitionModel *model, const PartitionOptions *options,
                             PartitionKind kind, int64_t percent)
{
    enum { STEPS = 20000 };
    PartitionPlatform *larger = xcalloc(1, sizeof *larger);
    PartitionModel copy = *model;
    *larger = *model->platform;
    for (uint32_t i = 0; i < larger->die_count; i++) {
        larger->dies[i].limit[kind] = larger->dies[i].limit[kind] * percent / 100;
        larger->dies[i].capacity[kind] = larger->dies[i].capacity[kind] * percent / 100;
    }
    copy.platform = larger;
    bool ok = is_possible(&copy, options, STEPS, NULL);
    free(larger);
    return ok;
}

/* The kind of which the least more would do, if more of one kind does. */
static void add_short_kind(const PartitionModel *model, const PartitionOptions *options,
                           StrBuf *why)
{
    static const int64_t percents[] = {102, 105, 110, 120, 150, 200};
    for (size_t i = 0; i < COUNT_OF(percents); i++)
        for (PartitionKind k = 0; k < PARTITION_KINDS; k++) {
            if (!is_possible_with(model, options, k, percents[i])) continue;
            strbuf_printf(why, "; with %lld %% more %s on every die they would",
                          (long long)percents[i] - 100, partition_kind_name(k));
            return;
        }
}

void partition_explain(const PartitionModel *model, const PartitionOptions *options, StrBuf *why)
{
    enum { STEPS = 1000000 };
    PartitionOptions any = *options;
    StrBuf links = {0};
    if (explain_nodes(model, why) || explain_totals(model, why)) return;
    if (is_possible(model, &any, STEPS, &links)) {
        strbuf_printf(why,
                      "the nodes fit, but their edges take more than links between dies or cards "
                      "carry%s",
                      links.data ? links.data : "");
        strbuf_free(&links);
        return;
    }
    any.max_hops = PARTITION_MAX_DIES;
    if (is_possible(model, &any, STEPS, NULL)) {
        strbuf_printf(why,
                      "the nodes fit, but an edge would use more than %lld links one after the "
                      "other (--max-hops)",
                      (long long)options->max_hops);
        return;
    }
    any.is_convex = any.is_linear = false;
    if ((options->is_convex || options->is_linear) && is_possible(model, &any, STEPS, NULL)) {
        strbuf_printf(why, "the nodes fit, but not with the edges that --convex or --cut=linear "
                           "lets join dies");
        return;
    }
    strbuf_printf(why, "each node fits on a die, but not all of them together");
    add_short_kind(model, options, why);
}

typedef struct Reason {
    DiagReason base;
    PartitionPlatform platform;
    PartitionModel model;
    PartitionOptions options;
    StrBuf after;
} Reason;

static void add_reason(const DiagReason *base, StrBuf *text)
{
    const Reason *reason = (const Reason *)base;
    partition_explain(&reason->model, &reason->options, text);
    strbuf_add_str(text, strbuf_str(&reason->after));
}

static void free_reason(DiagReason *base)
{
    Reason *reason = (Reason *)base;
    partition_platform_free(&reason->platform);
    partition_model_free(&reason->model);
    strbuf_free(&reason->after);
    free(reason);
}

DiagReason *partition_reason(PartitionModel *model, const PartitionOptions *options, Str after)
{
    const PartitionPlatform *platform = model->platform;
    Reason *reason = xcalloc(1, sizeof *reason);
    *reason = (Reason){{add_reason, free_reason, 0}, *platform, *model, *options, {0}};
    *model = (PartitionModel){.platform = platform};
    memset(&reason->platform.links, 0, sizeof reason->platform.links);
    memset(&reason->platform.averages, 0, sizeof reason->platform.averages);
    for (size_t i = 0; i < platform->links.len; i++)
        *vec_push(&reason->platform.links) = platform->links.data[i];
    for (size_t i = 0; i < platform->averages.len; i++)
        *vec_push(&reason->platform.averages) = platform->averages.data[i];
    reason->model.platform = &reason->platform;
    strbuf_add_str(&reason->after, after);
    return &reason->base;
}
