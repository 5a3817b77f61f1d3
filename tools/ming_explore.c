/* ming explore MODEL:
 *
 *   load ─▶ --quantize ─▶ the passes before choose-unroll ─▶ design space ─▶ dse_explore_space
 *        ─▶ table, --json, --csv, --svg
 *
 * The network is read and its design space built once; each point is a search in it.
 * Tests: lit/tools/ming-explore.test, lit/tools/ming-explore-invalid.test */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "target/dse/dse.h"
#include "tools/internal.h"

enum { DEFAULT_POINTS = 16, MAX_POINTS = 1000 };

typedef struct ExploreFlags {
    const char *json, *csv, *svg; /* files to write, or NULL */
    int64_t points;
    bool is_pooled;
    DeviceOptions device;
    ModelOptions model;
    QuantizeOptions quantize;
} ExploreFlags;

typedef struct Exploration {
    const Tool *tool;
    const ExploreFlags *flags;
    const char *path; /* of the model */
    Str network;      /* name of its graph */
    DeviceTarget target;
    Cost limits;
    bool has_dies; /* designs have places on them */
    ExplorePoints points;
} Exploration;

/* In the order of columns. */
static const CostKind kinds[] = {COST_DSP, COST_BRAM18, COST_URAM, COST_LUT, COST_FF};

/* Whether nothing takes less at that interval. */
static bool is_least(const ExplorePoint *point)
{
    return point->bound >= point->value;
}

static void print_table(const Exploration *e, StrBuf *out)
{
    TextTable table = {.columns = 3 + e->has_dies + COUNT_OF(kinds), .first_number = 0};
    text_table_add(&table, "predicted fps");
    text_table_add(&table, "interval");
    if (e->has_dies) text_table_add(&table, "dies");
    for (size_t k = 0; k < COUNT_OF(kinds); k++) text_table_add(&table, cost_names[kinds[k]].title);
    text_table_add(&table, "proven least");
    for (size_t i = 0; i < e->points.len; i++) {
        const ExplorePoint *point = &e->points.data[i];
        strbuf_printf(text_table_cell(&table), "%.1f", driver_explore_fps(point, e->target.clock));
        text_table_add_int(&table, point->interval);
        if (e->has_dies) text_table_add_int(&table, point->dies);
        for (size_t k = 0; k < COUNT_OF(kinds); k++)
            text_table_add_int(&table, point->cost.items[kinds[k]]);
        text_table_add(&table, is_least(point) ? "yes" : "no");
    }
    text_table_add(&table, "budget");
    text_table_add(&table, "");
    if (e->has_dies) text_table_add_int(&table, e->target.device.die_count);
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        text_table_add_count(&table, e->limits.items[kinds[k]]);
    text_table_add(&table, "");
    text_table_print(&table, out);
    text_table_free(&table);
}

static void add_costs(JsonWriter *w, const Cost *cost)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        json_member_int(w, cost_names[kinds[k]].key, cost->items[kinds[k]]);
}

static void add_point(JsonWriter *w, const Exploration *e, const ExplorePoint *point)
{
    json_write_line(w, 4);
    json_begin_object(w);
    json_write_key(w, STR("predicted_fps"));
    json_write_number(w, "%.3f", driver_explore_fps(point, e->target.clock));
    json_member_int(w, "interval_cycles", point->interval);
    if (e->has_dies) json_member_int(w, "dies", point->dies);
    add_costs(w, &point->cost);
    json_member_int(w, "value", point->value);
    json_member_int(w, "bound", point->bound);
    json_end_object(w);
}

static void print_json(const Exploration *e, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "model", str_from(e->path));
    json_write_line(&w, 2);
    json_member_string(&w, "device", e->target.device.name);
    json_write_line(&w, 2);
    json_member_int(&w, "clock_mhz", e->target.clock);
    json_write_line(&w, 2);
    json_member_object(&w, "limits");
    add_costs(&w, &e->limits);
    json_end_object(&w);
    json_write_line(&w, 2);
    json_member_array(&w, "points");
    for (size_t i = 0; i < e->points.len; i++) add_point(&w, e, &e->points.data[i]);
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}

static void print_csv(const Exploration *e, StrBuf *out)
{
    strbuf_add_c(out, "predicted_fps,interval_cycles");
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        strbuf_printf(out, ",%s", cost_names[kinds[k]].key);
    strbuf_add_c(out, e->has_dies ? ",value,bound,dies\n" : ",value,bound\n");
    for (size_t i = 0; i < e->points.len; i++) {
        const ExplorePoint *point = &e->points.data[i];
        strbuf_printf(out, "%.3f,%lld", driver_explore_fps(point, e->target.clock),
                      (long long)point->interval);
        for (size_t k = 0; k < COUNT_OF(kinds); k++)
            strbuf_printf(out, ",%lld", (long long)point->cost.items[kinds[k]]);
        strbuf_printf(out, ",%lld,%lld", (long long)point->value, (long long)point->bound);
        if (e->has_dies) strbuf_printf(out, ",%u", point->dies);
        strbuf_add_char(out, '\n');
    }
}

/* The file with its folder, by which models are told apart that are all called model.onnx. */
static const char *short_path(const char *path)
{
    const char *last = strrchr(path, '/');
    while (last && last > path && last[-1] != '/') last--;
    return last ? last : path;
}

static void print_svg(const Exploration *e, StrBuf *out)
{
    StrBuf title = {0};
    strbuf_printf(&title, "%.*s (%s) on %.*s at %lld MHz", STR_ARG(e->network), short_path(e->path),
                  STR_ARG(e->target.device.name), (long long)e->target.clock);
    driver_explore_print_svg(
        &(ExploreChart){&e->points, &e->limits, e->target.clock, strbuf_str(&title)}, out);
    strbuf_free(&title);
}

/* path: NULL to leave it out. */
static bool write_file(const Exploration *e, const char *path,
                       void (*print)(const Exploration *e, StrBuf *out))
{
    StrBuf text = {0};
    if (!path) return true;
    print(e, &text);
    bool ok = tool_write(e->tool, path, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* Of the files, those that are standard output, which is all of the output then. */
static int count_standard(const ExploreFlags *flags)
{
    const char *const paths[] = {flags->json, flags->csv, flags->svg};
    int count = 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++) count += paths[i] && strcmp(paths[i], "-") == 0;
    return count;
}

static bool write_results(const Exploration *e)
{
    StrBuf text = {0};
    progress_stop(e->tool->progress);
    print_table(e, &text);
    if (count_standard(e->flags) == 0) fwrite(text.data, 1, text.len, stdout);
    strbuf_free(&text);
    return write_file(e, e->flags->json, print_json) && write_file(e, e->flags->csv, print_csv) &&
           write_file(e, e->flags->svg, print_svg);
}

static Cost limits_of(const Resources *budget)
{
    Cost limits;
    for (int k = 0; k < COST_KINDS; k++) limits.items[k] = -1;
    limits.dsp = budget->dsp;
    limits.bram18 = budget->bram18;
    limits.uram = budget->uram;
    limits.lut = budget->lut;
    limits.ff = budget->ff;
    return limits;
}

static bool explore_region(Exploration *e, const Op *region, const PartitionPlatform *dies)
{
    Arena arena;
    DseSpace space;
    DseTask task;
    const CostTarget target = {.clock = clock_of_module(op_parent(region), e->target.clock),
                               .is_7_series = cost_is_7_series(op_parent(region)),
                               .has_uram = e->limits.uram > 0,
                               .counts_luts = e->limits.lut >= 0};
    arena_init(&arena);
    progress_set(e->tool->progress, "searching designs");
    bool ok = dse_space(region, &target, &arena, &space);
    if (ok) {
        DseState state = dse_state(&space);
        DseAnswer answer = dse_explore_space(&space, &e->limits, (size_t)e->flags->points, dies,
                                             &state, &task, &e->points);
        ok = dse_explain(&space, &task, &answer, &state, NULL);
        if (ok && dies && e->points.len == 0)
            ok = op_emit_error(
                region, "the network has no places on the dies of %.*s: none are found (--pooled)",
                STR_ARG(e->target.device.name));
        dse_free(&space);
    }
    arena_free(&arena);
    return ok;
}

static bool explore_regions(Exploration *e, Op *module, const PartitionPlatform *dies)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION)) {
            e->network = symbol_name(op)->str;
            if (!explore_region(e, op, dies)) return false;
        }
    return true;
}

static bool explore_module(Exploration *e, Op *module)
{
    PartitionPlatform *dies = xcalloc(1, sizeof *dies);
    e->has_dies = !e->flags->is_pooled && e->target.device.die_count > 1;
    dse_record_device(module, e->target.device.dsp_kind, e->target.device.delay_percent);
    bool ok = (!e->has_dies || driver_dies_platform(module, &e->target, dies)) &&
              explore_regions(e, module, e->has_dies ? dies : NULL);
    partition_platform_free(dies);
    free_ptr((void **)&dies);
    if (!ok) return false;
    return e->points.len > 0 ? write_results(e)
                             : op_emit_error(module, "there is no network to explore");
}

static bool explore_bytes(Exploration *e, Str bytes)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = driver_resolve_device(ctx, &e->flags->device, tool_errors(e->tool), &e->target);
    e->limits = limits_of(&e->target.budget);
    const DriverProgress progress = progress_of_driver(e->tool->progress);
    progress_start(e->tool->progress, ctx, "reading the model");
    Op *module = ok ? driver_load_model(ctx, e->path, bytes, &e->flags->model) : NULL;
    ok = module && tool_quantize(e->tool, &e->flags->quantize, module, NULL) &&
         driver_run_front(module, &progress) && explore_module(e, module);
    progress_stop(e->tool->progress);
    diag_flush(ctx);
    if (module) op_erase(module);
    context_destroy(ctx);
    return ok;
}

static bool explore_file(const Tool *tool, const ExploreFlags *flags, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    Exploration e = {.tool = tool, .flags = flags, .path = path};
    if (!tool_check_device(tool, &flags->device)) return false;
    if (flags->points < 2 || flags->points > MAX_POINTS)
        return tool_error(tool, "error: --points takes a number from 2 to %d", MAX_POINTS);
    if (count_standard(flags) > 1)
        return tool_error(tool,
                          "error: only one of --json, --csv and --svg can be standard output");
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(tool, "error: cannot open '%s': %s", path, reason);
    ok = ok && explore_bytes(&e, strbuf_str(&bytes));
    vec_free(&e.points);
    strbuf_free(&bytes);
    return ok;
}

int command_explore(int argc, char **argv)
{
    ExploreFlags explore = {.points = DEFAULT_POINTS, .device = DEVICE_OPTIONS_DEFAULTS};
    Flags flags = {0};
    flags_add_device(&flags, &explore.device);
    FLAGS_ADD(&flags,
              {"points", FLAG_INT, &explore.points, "n", "Designs to search, 2 or more, default 16",
               NULL},
              {"pooled", FLAG_SWITCH, &explore.is_pooled, NULL,
               "Take the dies of a device as one pool of resources, and place nothing", NULL},
              {"json", FLAG_TEXT, &explore.json, "file",
               "Write the points as JSON; - is standard output, in place of the table", NULL},
              {"csv", FLAG_TEXT, &explore.csv, "file",
               "Write the points as CSV, or - as with --json", NULL},
              {"svg", FLAG_TEXT, &explore.svg, "file",
               "Draw the points as a chart, or - as with --json", NULL});
    flags_add_model(&flags, &explore.model);
    flags_add_quantize(&flags, &explore.quantize);
    Progress progress = {0};
    const Tool tool = {
        .name = "ming explore",
        .progress = &progress,
        .summary =
            "ming explore: the least resources that a network takes, throughput by throughput",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && explore_file(&tool, &explore, path));
    driver_model_options_free(&explore.model);
    driver_quantize_options_free(&explore.quantize);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
