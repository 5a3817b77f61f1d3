/* What would hold a network that exceeds its budget: notes behind the error, about the device's own
 * rest, weights that are loaded or stay in memory, and other devices.
 * Tests: lit/driver/advice.test */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"
#include "target/cost/cost.h"

const int64_t *driver_resource_of(const Resources *resources, CostKind kind)
{
    switch (kind) {
    case COST_DSP: return &resources->dsp;
    case COST_BRAM18: return &resources->bram18;
    case COST_URAM: return &resources->uram;
    case COST_LUT: return &resources->lut;
    case COST_FF: return &resources->ff;
    default: return NULL;
    }
}

/* Whether a device offers as much of everything as there was, but for URAM, which stands in for
 * BRAM, and `least` of one kind. */
static bool offers(const Resources *offered, const Resources *had, CostKind kind, int64_t least)
{
    return *driver_resource_of(offered, kind) >= least && offered->dsp >= had->dsp &&
           offered->lut >= had->lut && offered->ff >= had->ff;
}

static int is_description(const struct dirent *entry)
{
    return str_ends_with(str_from(entry->d_name), ".xml");
}

/* Names of the installed devices that offer so much within their recommended share. */
static void add_devices(Context *ctx, const Resources *had, CostKind kind, int64_t least,
                        StrBuf *out)
{
    struct dirent **entries = NULL;
    StrBuf folder = {0}, path = {0}, schema = {0};
    bool is_there = driver_resource_dir("devices", &folder);
    int count = is_there ? scandir(folder.data, &entries, is_description, alphasort) : 0;
    if (is_there) strbuf_printf(&schema, "%s/device.xsd", folder.data);
    for (int i = 0; i < count; i++) {
        Device device;
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", folder.data, entries[i]->d_name);
        bool is_read = device_read(ctx, path.data, schema.data, &device);
        const Resources offered = is_read ? device_budget(&device, 0) : (Resources){0};
        if (is_read && offers(&offered, had, kind, least))
            strbuf_printf(out, "%s%.*s", out->len ? ", " : "", STR_ARG(device.name));
        free(entries[i]);
    }
    free(entries);
    strbuf_free(&folder);
    strbuf_free(&path);
    strbuf_free(&schema);
}

/* Whether the search finds a design with other options for weights. */
static bool is_held(const Op *module, const CompileOptions *options, const DeviceTarget *target)
{
    SearchOptions search = options->search;
    const StageOptions stage = {.compile = options, .search = &search, .target = target};
    DiagHold messages;
    if (search.time_limit > 0) search.time_limit = 1;
    Op *copy = op_clone(module, NULL);
    diag_hold_begin(&messages, module->ctx);
    bool ok = driver_run_stages(copy, STAGE_CHOOSE, &stage, NULL);
    diag_hold_end(&messages);
    diag_hold_free(&messages);
    op_erase(copy);
    return ok;
}

static bool is_held_with_loaded_weights(const Op *module, const CompileOptions *options,
                                        const DeviceTarget *target)
{
    CompileOptions loading = *options;
    if (options->loads_weights || options->streams_weights) return false;
    loading.loads_weights = true;
    return is_held(module, &loading, target);
}

/* Not where --weights=stream would be refused. */
static bool is_held_with_streamed_weights(const Op *module, const CompileOptions *options,
                                          const DeviceTarget *target)
{
    CompileOptions streaming = *options;
    bool is_uncontrolled = options->control && strcmp(options->control, "none") == 0;
    if (options->streams_weights || options->rewinds || options->cards || is_uncontrolled ||
        driver_stream_bits(&target->device) == 0)
        return false;
    streaming.loads_weights = false;
    streaming.streams_weights = true;
    return is_held(module, &streaming, target);
}

/* --weights that help, where memory is what is short; NULL: none does. */
static const char *find_weights(const Op *module, const CompileOptions *options,
                                const DeviceTarget *target, CostKind kind)
{
    if ((kind != COST_BRAM18 && kind != COST_URAM) || options->folding) return NULL;
    if (is_held_with_loaded_weights(module, options, target))
        return "--weights=load there is a design: weights are no part of ROMs then";
    if (is_held_with_streamed_weights(module, options, target))
        return "--weights=stream there is a design: weights that do not fit stay in memory outside "
               "then";
    return NULL;
}

/* The network, for the notes' location. */
static const Op *region_of(const Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION)) return op;
    return module;
}

void driver_advise(const Op *module, const CompileOptions *options, const DeviceTarget *target,
                   CostKind kind, int64_t least)
{
    const Op *place = region_of(module);
    const int64_t *total = driver_resource_of(&target->device.total, kind);
    const char *title = cost_names[kind].title;
    StrBuf devices = {0};
    if (!total) return;
    /* Trying changes no message, but would end what the notes below belong to. */
    const char *weights = find_weights(module, options, target, kind);
    const Resources usual = device_budget(&target->device, 0);
    if (least > *driver_resource_of(&usual, kind))
        add_devices(module->ctx, &target->budget, kind, least, &devices);
    if (least <= *total)
        op_note(place,
                "%.*s has %lld %s in all; --utilization and the limits say how much is spent",
                STR_ARG(target->device.name), (long long)*total, title);
    if (weights) op_note(place, "with %s", weights);
    if (devices.len > 0)
        op_note(place, "within their recommended share %lld %s are on: %s", (long long)least, title,
                devices.data);
    strbuf_free(&devices);
}
