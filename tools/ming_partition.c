/* ming partition GRAPH.json: places the tasks of a graph on the dies of one or several cards.
 * Tests: lit/target/partition, test/e2e/place_check.py */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "target/partition/partition.h"
#include "tools/internal.h"

typedef struct PartitionFlags {
    const char *system, *device, *output, *lp, *method;
    int64_t cards; /* LIMIT_NOT_GIVEN: 1 */
    Texts goals;
    PartitionOptions options;
} PartitionFlags;

/* A graph, where it is to go, and what came of it. */
typedef struct Run {
    const Tool *tool;
    const PartitionFlags *flags;
    Context *ctx;
    System system;
    PartitionPlatform platform;
    PartitionModel model;
    PartitionPlacement placement;
    PartitionUse use;
} Run;

/* Files. */

static void add_uses(JsonWriter *w, const int64_t *amounts)
{
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        json_member_int(w, partition_kind_name(k), amounts[k]);
}

static void add_nodes(JsonWriter *w, const Run *run)
{
    const PartitionModel *model = &run->model;
    json_write_line(w, 2);
    json_member_array(w, "nodes");
    for (size_t i = 0; i < model->nodes.len; i++) {
        uint32_t version = run->placement.versions.data[i];
        json_write_line(w, 4);
        json_begin_object(w);
        json_member_string(w, "name", model->nodes.data[i].name);
        json_member_string(w, "die", run->platform.dies[run->placement.dies.data[i]].name);
        json_member_int(w, "version", version);
        json_member_string(w, "version_name",
                           model->versions.data[model->nodes.data[i].version + version].name);
        json_member_int(w, "kernel", run->use.kernels.data[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_dies(JsonWriter *w, const Run *run)
{
    const PartitionPlatform *platform = &run->platform;
    json_write_line(w, 2);
    json_member_array(w, "dies");
    for (uint32_t i = 0; i < platform->die_count; i++) {
        json_write_line(w, 4);
        json_begin_object(w);
        json_member_string(w, "name", platform->dies[i].name);
        json_member_object(w, "use");
        add_uses(w, run->use.dies[i]);
        json_end_object(w);
        json_member_object(w, "limit");
        add_uses(w, platform->dies[i].limit);
        json_end_object(w);
        json_member_object(w, "capacity");
        add_uses(w, platform->dies[i].capacity);
        json_end_object(w);
        json_member_array(w, "controllers");
        for (uint32_t c = 0; c < platform->controller_count; c++)
            if (run->use.controllers[i] >> c & 1) json_write_string(w, platform->controllers[c]);
        json_end_array(w);
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_links(JsonWriter *w, const Run *run)
{
    const PartitionPlatform *platform = &run->platform;
    json_write_line(w, 2);
    json_member_array(w, "links");
    for (size_t i = 0; i < 2 * platform->links.len; i++) {
        const PartitionLink *link = &platform->links.data[i / 2];
        json_write_line(w, 4);
        json_begin_object(w);
        json_member_string(w, "from", platform->dies[link->dies[i % 2]].name);
        json_member_string(w, "to", platform->dies[link->dies[(i + 1) % 2]].name);
        json_member_string(w, "unit", link->is_ethernet ? STR("Mb/s") : STR("wires"));
        json_member_int(w, "use", run->use.links.data[i]);
        json_member_int(w, "capacity", link->capacity);
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_goals(JsonWriter *w, const Run *run)
{
    const PartitionOptions *options = &run->flags->options;
    json_write_line(w, 2);
    json_member_array(w, "goals");
    for (uint32_t g = 0; g < options->goal_count; g++) {
        json_write_line(w, 4);
        json_begin_object(w);
        json_member_string(w, "goal", str_from(partition_goal_name(options->goals[g])));
        json_member_int(w, "value", run->placement.values[g]);
        json_member_int(w, "bound", run->placement.bounds[g]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void print_json(const Run *run, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "name", run->model.name);
    json_write_line(&w, 2);
    json_member_string(&w, "system", run->system.name);
    json_write_line(&w, 2);
    json_member_bool(&w, "proven", run->placement.is_proven);
    json_write_line(&w, 2);
    json_member_int(&w, "steps", run->placement.steps);
    add_goals(&w, run);
    add_nodes(&w, run);
    add_dies(&w, run);
    add_links(&w, run);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}

/* The table. */

static void add_share(TextTable *table, int64_t use, int64_t capacity)
{
    StrBuf *cell = text_table_cell(table);
    strbuf_printf(cell, "%lld", (long long)use);
    if (capacity > 0) strbuf_printf(cell, " (%lld %%)", (long long)(use * 100 / capacity));
}

static void print_dies(const Run *run, StrBuf *out)
{
    static const char *const titles[] = {"die", "nodes", "LUT", "FF", "BRAM18", "URAM", "DSP"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (uint32_t i = 0; i < run->platform.die_count; i++) {
        const PartitionDie *die = &run->platform.dies[i];
        int64_t nodes = 0;
        for (size_t p = 0; p < run->model.nodes.len; p++) nodes += run->placement.dies.data[p] == i;
        text_table_add(&table, die->name.data);
        text_table_add_int(&table, nodes);
        for (int k = 0; k < PARTITION_KINDS; k++)
            add_share(&table, run->use.dies[i][k], die->capacity[k]);
    }
    text_table_print(&table, out);
    text_table_free(&table);
}

static void print_links(const Run *run, StrBuf *out)
{
    TextTable table = {.columns = 4, .first_number = 2};
    bool is_used = false;
    static const char *const titles[] = {"link", "unit", "used", "of"};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (size_t i = 0; i < 2 * run->platform.links.len; i++) {
        const PartitionLink *link = &run->platform.links.data[i / 2];
        if (run->use.links.data[i] == 0) continue;
        is_used = true;
        strbuf_printf(text_table_cell(&table), "%s to %s",
                      run->platform.dies[link->dies[i % 2]].name.data,
                      run->platform.dies[link->dies[(i + 1) % 2]].name.data);
        text_table_add(&table, link->is_ethernet ? "Mb/s" : "wires");
        text_table_add_int(&table, run->use.links.data[i]);
        text_table_add_int(&table, link->capacity);
    }
    if (is_used) text_table_print(&table, out);
    text_table_free(&table);
}

static void print_goals(const Run *run, StrBuf *out)
{
    const PartitionOptions *options = &run->flags->options;
    const PartitionPlacement *p = &run->placement;
    for (uint32_t g = 0; g < options->goal_count; g++) {
        strbuf_printf(out, "%s%s %lld", g ? ", " : "", partition_goal_name(options->goals[g]),
                      (long long)p->values[g]);
        if (!p->is_proven && p->bounds[g] < p->values[g])
            strbuf_printf(out, " (at least %lld)", (long long)p->bounds[g]);
    }
    strbuf_printf(out, "%s%s, %lld steps\n", options->goal_count ? "; " : "",
                  p->is_proven ? "proven" : "not proven", (long long)p->steps);
}

static bool report(Run *run)
{
    StrBuf text = {0};
    const PartitionFlags *flags = run->flags;
    partition_measure(&run->model, &flags->options, &run->placement, &run->use);
    bool to_stdout = flags->output && strcmp(flags->output, "-") == 0;
    if (!to_stdout) {
        print_dies(run, &text);
        print_links(run, &text);
        print_goals(run, &text);
        fwrite(text.data, 1, text.len, stdout);
        strbuf_clear(&text);
    }
    print_json(run, &text);
    bool ok = !flags->output || tool_write(run->tool, flags->output, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* Says that there is no placement, and why. False. */
static bool explain(const Run *run)
{
    StrBuf why = {0};
    if (run->placement.is_proven) {
        partition_explain(&run->model, &run->flags->options, &why);
        tool_error(run->tool, "error: no placement keeps the limits: %s", why.data);
    } else if (strcmp(run->flags->method, "greedy") == 0) {
        tool_error(run->tool, "error: next fit finds no placement");
    } else {
        partition_explain_steps(&run->model, run->placement.steps, &why);
        tool_error(run->tool, "error: no placement: %s; try --max-steps", why.data);
    }
    strbuf_free(&why);
    return false;
}

static bool dump_lp(const Run *run)
{
    StrBuf text = {0};
    partition_print_lp(&run->model, &run->flags->options, &text);
    bool ok = tool_write(run->tool, run->flags->lp, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

static bool place(Run *run)
{
    const PartitionFlags *flags = run->flags;
    if (flags->lp && !dump_lp(run)) return false;
    if (flags->method && strcmp(flags->method, "greedy") == 0)
        partition_greedy(&run->model, &flags->options, &run->placement);
    else
        partition_search(&run->model, &flags->options, &run->placement);
    return run->placement.is_placed ? report(run) : explain(run);
}

static bool resolve(Run *run, const char *path)
{
    const PartitionFlags *flags = run->flags;
    StrBuf why = {0};
    int64_t cards = flags->cards == LIMIT_NOT_GIVEN ? 1 : flags->cards;
    bool ok = flags->system ? driver_resolve_system(run->ctx, flags->system, tool_errors(run->tool),
                                                    &run->system)
                            : driver_chain_cards(run->ctx, flags->device, cards, true,
                                                 tool_errors(run->tool), &run->system);
    ok = ok && (partition_platform(run->ctx, &run->system, &run->platform, &why) ||
                tool_error(run->tool, "error: %s", why.data));
    ok = ok && partition_read(run->ctx, str_from(path), &run->platform, &run->model);
    strbuf_free(&why);
    return ok;
}

static bool partition_file(const Tool *tool, const PartitionFlags *flags, const char *path)
{
    Run *run = xcalloc(1, sizeof *run);
    run->tool = tool;
    run->flags = flags;
    run->ctx = context_create();
    bool ok = resolve(run, path) && place(run);
    diag_flush(run->ctx);
    partition_use_free(&run->use);
    partition_placement_free(&run->placement);
    partition_model_free(&run->model);
    partition_platform_free(&run->platform);
    context_destroy(run->ctx);
    free(run);
    return ok;
}

/* Flags. */

static bool find_goal(const Tool *tool, const char *name, PartitionGoal *out)
{
    Suggestion near = {.wanted = str_from(name)};
    StrBuf hint = {0};
    PartitionGoal goal = 0;
    for (; goal < PARTITION_GOALS && strcmp(partition_goal_name(goal), name) != 0; goal++)
        suggestion_try(&near, str_from(partition_goal_name(goal)));
    *out = goal;
    if (goal < PARTITION_GOALS) return true;
    suggestion_print(&near, &hint);
    tool_error(tool, "error: there is no goal '%s'%.*s", name, STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
    return false;
}

static bool take_goals(const Tool *tool, PartitionFlags *flags)
{
    PartitionOptions *options = &flags->options;
    if (flags->goals.len > 0) options->goal_count = 0;
    for (size_t i = 0; i < flags->goals.len; i++) {
        PartitionGoal goal;
        if (!find_goal(tool, flags->goals.data[i], &goal)) return false;
        for (uint32_t g = 0; g < options->goal_count; g++)
            if (options->goals[g] == goal)
                return tool_error(tool, "error: --goal has '%s' twice", flags->goals.data[i]);
        options->goals[options->goal_count++] = goal;
        if (goal == PARTITION_CARDS && i > 0)
            return tool_error(tool, "error: of several goals 'cards' is the first");
        if (goal == PARTITION_UTILIZATION && i + 1 < flags->goals.len)
            return tool_error(tool, "error: of several goals 'utilization' is the last");
    }
    return true;
}

static bool check_flags(const Tool *tool, PartitionFlags *flags)
{
    bool has_cards = flags->cards != LIMIT_NOT_GIVEN;
    if (has_cards && (flags->cards < 1 || flags->cards > SYSTEM_MAX_CARDS))
        return tool_error(tool, "error: --cards takes a number from 1 to %d", SYSTEM_MAX_CARDS);
    if (flags->system && (flags->device || has_cards))
        return tool_error(tool, "error: --system names all cards, it goes with no others");
    if (!flags->system && !flags->device)
        return tool_error(tool, "error: --device or --system is needed: where the tasks go");
    if (flags->options.max_hops < 1 || flags->options.max_hops > PARTITION_MAX_DIES)
        return tool_error(tool, "error: --max-hops takes a number from 1 to %d",
                          PARTITION_MAX_DIES);
    if (flags->options.max_steps < 1)
        return tool_error(tool, "error: --max-steps takes a number from 1 on");
    return take_goals(tool, flags);
}

int command_partition(int argc, char **argv)
{
    PartitionFlags partition = {
        .cards = LIMIT_NOT_GIVEN, .method = "exact", .options = PARTITION_OPTIONS_DEFAULTS};
    PartitionOptions *options = &partition.options;
    const char *cut = "any";
    options->is_annealed = true;
    const Flag flags[] = {
        {"o", FLAG_TEXT, &partition.output, "file",
         "Write the placement as JSON; - is standard output, in place of the table", NULL},
        {"device", FLAG_TEXT, &partition.device, "name", "The card, as 'ming devices' lists it",
         NULL},
        {"cards", FLAG_INT, &partition.cards, "n", "So many of them in a chain, default 1", NULL},
        {"system", FLAG_TEXT, &partition.system, "file.xml", "The cards and links of a file", NULL},
        {"goal", FLAG_TEXTS, &partition.goals, "name,...",
         "What is to be least, the most important first: cards, ethernet, gbps, crossings, wires, "
         "cost, utilization; default all but cost",
         NULL},
        {"method", FLAG_CHOICE, &partition.method, "exact|greedy",
         "How to search: for the best placement (default), or next fit", NULL},
        {"max-hops", FLAG_INT, &options->max_hops, "n",
         "Links that an edge may use one after the other, default 2", NULL},
        {"cut", FLAG_CHOICE, &cut, "any|linear",
         "Edges that may join dies: any (default), or those without a parallel path", NULL},
        {"convex", FLAG_SWITCH, &options->is_convex, NULL,
         "One kernel per die: no circle of edges between dies", NULL},
        {"max-steps", FLAG_INT, &options->max_steps, "n",
         "Steps after which the search ends with what it has, default 100000000", NULL},
        {"dump-lp", FLAG_TEXT, &partition.lp, "file", "Write the program for other solvers", NULL},
    };
    const Tool tool = {
        .name = "ming partition",
        .summary = "ming partition: places the tasks of a graph on the dies of cards",
        .usage = "GRAPH.json (--device=NAME|--system=FILE) [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "task graph", &path);
    options->is_linear = strcmp(cut, "linear") == 0;
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_flags(&tool, &partition) &&
                                    partition_file(&tool, &partition, path));
    vec_free(&partition.goals);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
