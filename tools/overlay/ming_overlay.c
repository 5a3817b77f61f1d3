/* ming overlay: writes the HLS project of an engine of the sizes that are given, or of those that a
 * search finds for some networks.
 * Tests: lit/emit/overlay.test, lit/tools/ming-overlay-search.test, test/e2e/engine_csim_check.py */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "driver/overlay/overlay.h"
#include "emit/overlay/overlay.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "tools/internal.h"

/* A parameter of an overlay, as a flag. */
typedef struct Size {
    char name[16]; /* with hyphens */
    int64_t value;
} Size;

typedef struct OverlayFlags {
    const char *output, *act, *weight; /* of the types NULL: not given */
    Size sizes[SA_OVERLAY_PARAMS];     /* LIMIT_NOT_GIVEN */
    DeviceOptions device;
    int64_t kernels;
    OverlaySearchFlags search;
} OverlayFlags;

/* What `ming compile --architecture=overlay` takes where nothing is said. */
static const char *default_of(const char *name)
{
    const OptionDef *option = pass_convert_linalg_to_sa.options;
    while (strcmp(option->name, name) != 0) option++;
    return option->fallback;
}

static void init_flags(OverlayFlags *flags)
{
    *flags = (OverlayFlags){
        .device = DEVICE_OPTIONS_DEFAULTS, .kernels = 1, .search = {.rate = LIMIT_NOT_GIVEN}};
    flags->device.device = NULL;
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        const char *name = sa_overlay_params[i].name;
        Size *size = &flags->sizes[i];
        for (size_t k = 0; name[k] && k + 1 < sizeof size->name; k++)
            size->name[k] = name[k] == '_' ? '-' : name[k];
        size->value = LIMIT_NOT_GIVEN;
    }
}

static bool check_sizes(const Tool *tool, const OverlayFlags *flags)
{
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        const SaParam *param = &sa_overlay_params[i];
        const Size *size = &flags->sizes[i];
        if (size->value == LIMIT_NOT_GIVEN ||
            (size->value >= param->least && size->value <= param->most))
            continue;
        return tool_error(tool, "error: --%s takes %lld to %lld, but got %lld", size->name,
                          (long long)param->least, (long long)param->most, (long long)size->value);
    }
    return true;
}

/* Of sizes that are in range. NULL: diagnosed. */
static const Attr *read_overlay(Context *ctx, const OverlayFlags *flags)
{
    uint32_t words[SA_OVERLAY_WORDS] = {0};
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        int64_t value = flags->sizes[i].value;
        if (value == LIMIT_NOT_GIVEN)
            value = strtoll(default_of(sa_overlay_params[i].name), NULL, 10);
        words[i] = (uint32_t)value;
    }
    SaOverlay overlay = sa_overlay_from_words(words);
    overlay_search_set_types(&overlay, flags->act ? flags->act : default_of("act"),
                             flags->weight ? flags->weight : default_of("weight"));
    return sa_overlay_attr(ctx, &overlay, loc_unknown(ctx));
}

static void add_row(TextTable *table, const char *name, const Cost *cost)
{
    text_table_add(table, name);
    text_table_add_int(table, cost->dsp);
    text_table_add_int(table, cost->bram18);
    text_table_add_int(table, cost->uram);
    text_table_add_int(table, cost->lut);
    text_table_add_int(table, cost->ff);
}

static Cost cost_of_device(const DeviceTarget *target)
{
    const Resources *all = &target->device.total;
    return (Cost){
        .dsp = all->dsp, .bram18 = all->bram18, .uram = all->uram, .lut = all->lut, .ff = all->ff};
}

/* Unless it is known that it has none, one with UltraRAM. */
static OverlayHlsDevice hls_device(const DeviceTarget *target)
{
    return (OverlayHlsDevice){!target || target->device.total.uram > 0,
                              sched_dsp_shape(target ? target->device.dsp_kind : (Str){0})};
}

static void print_cost(const SaOverlay *size, const DeviceTarget *target)
{
    static const char *const titles[] = {"predicted", "DSP", "BRAM18", "URAM", "LUT", "FF"};
    OverlayHlsPart parts[OVERLAY_HLS_PARTS];
    Cost total, device = target ? cost_of_device(target) : (Cost){0};
    const OverlayHlsDevice kind = hls_device(target);
    StrBuf text = {0};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    overlay_hls_cost(size, &kind, parts, &total);
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (size_t i = 0; i < OVERLAY_HLS_PARTS; i++) add_row(&table, parts[i].name, &parts[i].cost);
    add_row(&table, "total", &total);
    if (target) add_row(&table, target->device.name.data, &device);
    text_table_print(&table, &text);
    fwrite(text.data, 1, text.len, stdout);
    text_table_free(&table);
    strbuf_free(&text);
}

/* Whether the device has what the engine is predicted to take. */
static bool fits_device(const Tool *tool, const SaOverlay *size, const DeviceTarget *target)
{
    static const CostKind kinds[] = {COST_DSP, COST_BRAM18, COST_URAM, COST_LUT, COST_FF};
    OverlayHlsPart parts[OVERLAY_HLS_PARTS];
    Cost total, device = cost_of_device(target);
    const OverlayHlsDevice kind = hls_device(target);
    overlay_hls_cost(size, &kind, parts, &total);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (total.items[kinds[i]] > device.items[kinds[i]])
            return tool_error(tool, "error: the engine needs %lld %s by our model, and %s has %lld",
                              (long long)total.items[kinds[i]], cost_names[kinds[i]].title,
                              target->device.name.data, (long long)device.items[kinds[i]]);
    return true;
}

bool tool_write_engine(const Tool *tool, Context *ctx, const Attr *overlay,
                       const struct OverlayHlsOptions *wanted)
{
    static const struct {
        const char *kind, *what;
    } rows[] = {{"csim", "simulation headers are"},
                {"engine", "engine's C++ is"},
                {"board", "files for boards are"}};
    StrBuf dirs[COUNT_OF(rows)] = {0}, why = {0};
    OverlayHlsOptions options = *wanted;
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(rows); i++)
        ok = driver_resource_dir(rows[i].kind, &dirs[i]) ||
             tool_error(tool, "error: the %s not installed: none of %s is there", rows[i].what,
                        dirs[i].data);
    options.csim_dir = dirs[0].data;
    options.engine_dir = dirs[1].data;
    options.board_dir = dirs[2].data;
    ok = ok && overlay_hls_write(ctx, overlay, &options, &why);
    if (why.len > 0) tool_error(tool, "error: %s", why.data);
    for (size_t i = 0; i < COUNT_OF(rows); i++) strbuf_free(&dirs[i]);
    strbuf_free(&why);
    return ok;
}

struct OverlayHlsOptions tool_engine_options(const DeviceTarget *target, int64_t clock)
{
    OverlayHlsOptions options = {.part = STR(DEVICE_DEFAULT_PART),
                                 .clock = clock,
                                 .kernels = 1,
                                 .device = hls_device(target)};
    if (clock == LIMIT_NOT_GIVEN) options.clock = CLOCK_DEFAULT_MHZ;
    if (!target) return options;
    const Device *device = &target->device;
    options.part = device->part;
    options.clock = target->clock;
    if (device->bank_count > 0) options.bank_name = device->banks[0].name;
    for (uint32_t i = 0; i < device->bank_count; i++)
        if (str_eq(device->banks[i].name, options.bank_name))
            options.bank_count += device->banks[i].count;
    return options;
}

static bool write_project(const Tool *tool, Context *ctx, const OverlayFlags *flags,
                          const Attr *overlay, const DeviceTarget *target)
{
    OverlayHlsOptions options = tool_engine_options(target, flags->device.clock);
    options.output_dir = flags->output;
    options.kernels = flags->kernels;
    return tool_write_engine(tool, ctx, overlay, &options);
}

/* The sizes that are given, or found. NULL: said why. */
static const Attr *choose_overlay(const Tool *tool, const OverlayFlags *flags, Context *ctx,
                                  const DeviceTarget *target)
{
    OverlayRequest request = {
        .ctx = ctx, .target = target, .act = flags->act, .weight = flags->weight};
    if (flags->search.models.len == 0) return read_overlay(ctx, flags);
    if (!read_overlay(ctx, flags)) return NULL; /* a size that is given is wrong */
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) request.pins[i] = flags->sizes[i].value;
    return tool_search_overlay(tool, &flags->search, &request);
}

static bool build_engine(const Tool *tool, const OverlayFlags *flags, Context *ctx,
                         DeviceTarget *target)
{
    const bool searches = flags->search.models.len > 0;
    DeviceOptions device = flags->device;
    if (searches && !device.device) device.device = DEFAULT_DEVICE;
    if (device.device && !driver_resolve_device(ctx, &device, tool_errors(tool), target))
        return false;
    const Attr *overlay = choose_overlay(tool, flags, ctx, target);
    if (!overlay) return false;
    SaOverlay size = sa_overlay(overlay);
    if (device.device && !searches && !fits_device(tool, &size, target)) return false;
    if (flags->output && !write_project(tool, ctx, flags, overlay, device.device ? target : NULL))
        return false;
    print_cost(&size, device.device ? target : NULL);
    return true;
}

/* Options that are about a search. */
static bool check_search(const Tool *tool, const OverlayFlags *flags)
{
    const OverlaySearchFlags *search = &flags->search;
    const DeviceOptions *device = &flags->device;
    const DeviceOptions none = DEVICE_OPTIONS_DEFAULTS;
    bool has_limits = device->utilization != LIMIT_NOT_GIVEN || device->shell ||
                      device->lut_margin != LIMIT_NOT_GIVEN ||
                      memcmp(&device->limits, &none.limits, sizeof none.limits) != 0;
    if (search->models.len > 0) return true;
    if (search->objective || search->dies || search->head || search->mix.len > 0 ||
        search->rate != LIMIT_NOT_GIVEN || has_limits)
        return tool_error(tool, "error: --objective, --mix, --dies, --rate, --head and limits of "
                                "the device are for --search");
    return flags->output || tool_error(tool, "error: -o needs the directory to write");
}

static bool run_overlay(const Tool *tool, const OverlayFlags *flags, const Texts *inputs)
{
    enum { MOST_MHZ = 2000, MOST_KERNELS = 16 };
    const int64_t clock = flags->device.clock;
    if (inputs->len > 0) return tool_error(tool, "error: takes no file, as '%s'", inputs->data[0]);
    if (flags->kernels < 1 || flags->kernels > MOST_KERNELS)
        return tool_error(tool, "error: --kernels takes 1 to %d", MOST_KERNELS);
    if (!check_sizes(tool, flags) || !check_search(tool, flags) ||
        !tool_check_device(tool, &flags->device))
        return false;
    if (clock != LIMIT_NOT_GIVEN && (clock < 1 || clock > MOST_MHZ))
        return tool_error(tool, "error: --clock takes 1 to %d MHz", MOST_MHZ);
    Context *ctx = context_create();
    DeviceTarget *target = xcalloc(1, sizeof *target);
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = build_engine(tool, flags, ctx, target);
    diag_flush(ctx);
    free(target);
    context_destroy(ctx);
    return ok;
}

static void add_flags(OverlayFlags *overlay, Flags *flags)
{
    FLAGS_ADD(flags, {"o", FLAG_TEXT, &overlay->output, "dir", "Directory of the project", NULL},
              {"kernels", FLAG_INT, &overlay->kernels, "n",
               "Engines that the card is linked with, for the host, default 1", NULL});
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        const SaParam *param = &sa_overlay_params[i];
        Size *size = &overlay->sizes[i];
        FLAGS_ADD(flags, {size->name, FLAG_INT, &size->value, default_of(param->name),
                          param->summary, NULL});
    }
    FLAGS_ADD(flags,
              {"act", FLAG_CHOICE, &overlay->act, "i8|i16|i2|i3|ui1|ui2|ui3",
               "Elements of maps, default i16", NULL},
              {"weight", FLAG_CHOICE, &overlay->weight, "i8|i16|i1|i2|i3",
               "Elements of weights, default i16", NULL});
    size_t first = flags->len;
    flags_add_device(flags, &overlay->device);
    flags->data[first].help = /* --device: no default where nothing is searched */
        "Device as 'ming devices' lists them, its part, or an .xml file that describes one, which "
        "must have what the engine is predicted to take; default none, of --search " DEFAULT_DEVICE;
    tool_add_overlay_search(&overlay->search, flags);
}

int command_overlay(int argc, char **argv)
{
    OverlayFlags overlay;
    Flags flags = {0};
    Texts inputs = {0};
    init_flags(&overlay);
    add_flags(&overlay, &flags);
    const Tool tool = {
        .name = "ming overlay",
        .summary =
            "ming overlay: writes an engine that runs programs of an overlay as an HLS project",
        .usage = "-o DIR [options] | --search=MODEL,... [-o DIR] [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && run_overlay(&tool, &overlay, &inputs));
    vec_free(&inputs);
    vec_free(&flags);
    vec_free(&overlay.search.models);
    vec_free(&overlay.search.mix);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
