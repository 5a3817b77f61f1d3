/* ming roofline MODEL:
 *
 *   load ─▶ the passes before choose-unroll ─▶ roofline_measure ─▶ table or --json, --svg
 *
 * Tests: lit/tools/ming-roofline.test, lit/tools/ming-roofline-invalid.test */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "driver/roofline/roofline.h"
#include "ir/asm/print/print.h"
#include "tools/internal.h"

typedef struct RooflineFlags {
    bool as_json;
    const char *svg; /* file to write, or NULL */
    int64_t bandwidth;
    DeviceOptions device;
    ModelOptions model;
} RooflineFlags;

static Str network_of(const Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION)) return symbol_name(op)->str;
    return STR("network");
}

static bool print_all(const Tool *tool, const RooflineFlags *flags, const Roofline *roofline,
                      Str network, Str device)
{
    StrBuf text = {0}, chart = {0};
    (flags->as_json ? roofline_print_json : roofline_print_text)(roofline, network, device, &text);
    roofline_print_svg(roofline, network, device, &chart);
    bool ok = !flags->svg || tool_write(tool, flags->svg, strbuf_str(&chart));
    if (ok) fwrite(text.data, 1, text.len, stdout);
    strbuf_free(&text);
    strbuf_free(&chart);
    return ok;
}

static bool measure_bytes(const Tool *tool, const RooflineFlags *flags, const char *path, Str bytes)
{
    Context *ctx = context_create();
    DeviceTarget *target = xcalloc(1, sizeof(*target));
    Roofline roofline;
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = driver_resolve_device(ctx, &flags->device, tool_errors(tool), target);
    double bandwidth = flags->bandwidth == LIMIT_NOT_GIVEN ? 0 : (double)flags->bandwidth / 1e3;
    Op *module = ok ? driver_load_model(ctx, path, bytes, &flags->model) : NULL;
    ok =
        module && driver_run_front(module, NULL) &&
        roofline_measure(module, target, &flags->device, bandwidth, tool_errors(tool), &roofline) &&
        print_all(tool, flags, &roofline, network_of(module), target->device.name);
    diag_flush(ctx);
    if (module) op_erase(module);
    free(target);
    context_destroy(ctx);
    return ok;
}

static bool measure_file(const Tool *tool, const RooflineFlags *flags, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    if (!tool_check_device(tool, &flags->device)) return false;
    if (flags->bandwidth != LIMIT_NOT_GIVEN && flags->bandwidth < 1)
        return tool_error(tool, "error: --bandwidth takes a number of MB/s from 1");
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(tool, "error: cannot open '%s': %s", path, reason);
    ok = ok && measure_bytes(tool, flags, path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    return ok;
}

int command_roofline(int argc, char **argv)
{
    RooflineFlags roofline = {.device = DEVICE_OPTIONS_DEFAULTS, .bandwidth = LIMIT_NOT_GIVEN};
    Flags flags = {0};
    flags_add_device(&flags, &roofline.device);
    FLAGS_ADD(&flags,
              {"bandwidth", FLAG_INT, &roofline.bandwidth, "MB/s",
               "What external memory brings, default what the device's description has", NULL},
              {"json", FLAG_SWITCH, &roofline.as_json, NULL, "Print JSON instead of a table", NULL},
              {"svg", FLAG_TEXT, &roofline.svg, "file", "Draw a chart", NULL});
    flags_add_model(&flags, &roofline.model);
    const Tool tool = {
        .name = "ming roofline",
        .summary = "ming roofline: what a device can compute of a network, and what limits it",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && measure_file(&tool, &roofline, path));
    driver_model_options_free(&roofline.model);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
