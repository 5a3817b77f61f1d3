/* The files of a project that a page is made of.
 * Tests: lit/tools/ming-report-html.mir, lit/tools/ming-report-invalid.test */
#include <string.h>

#include "driver/driver.h"
#include "driver/simulate/simulate.h"
#include "report/internal.h"

/* The device by its name, which must not be a path. NULL: there is none, or nobody knows it. */
static const Device *find_device(Context *ctx, const json_t *json, DeviceTarget *target)
{
    DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
    const DriverErrors nobody = {.report = NULL};
    Str name = report_text(json, "device");
    if (name.len == 0 || memchr(name.data, '/', name.len) || str_ends_with(name, ".xml"))
        return NULL;
    options.device = name.data;
    return driver_resolve_device(ctx, &options, nobody, target) ? &target->device : NULL;
}

static void read_folding(const char *dir, StrBuf *out)
{
    const char *reason = NULL;
    StrBuf path = {0};
    strbuf_printf(&path, "%s/folding.json", dir);
    if (!file_read(out, path.data, &reason)) strbuf_clear(out);
    strbuf_free(&path);
}

static void take_error(void *user, DriverErrorKind kind, Str message)
{
    (void)kind;
    strbuf_add_str(user, message);
}

/* The module of the project, to be erased; `bytes` must stay as long. */
static Op *load_module(Context *ctx, const char *dir, StrBuf *bytes, StrBuf *why)
{
    const char *reason = NULL;
    StrBuf path = {0};
    Op *module = NULL;
    bool ok = simulation_design_path(dir, (DriverErrors){take_error, why}, &path);
    if (ok && !file_read(bytes, path.data, &reason))
        ok = strbuf_fail(why, "cannot read '%s': %s", path.data, reason);
    if (ok) module = driver_load_model(ctx, path.data, strbuf_str(bytes), &(ModelOptions){0});
    strbuf_free(&path);
    return module;
}

bool report_print_module(const Op *module, ReportOptions options, StrBuf *out, StrBuf *why)
{
    DeviceTarget target;
    HlsDesign *design = design_create(module, clock_of_module(module, design_clock_mhz(module)));
    bool ok = design != NULL;
    if (ok) {
        options.design = design;
        options.device = find_device(module->ctx, options.json, &target);
        ok = report_print_html(&options, out, why);
    }
    design_free(design);
    return ok;
}

ReportLayout report_layout(const char *name)
{
    if (!name || strcmp(name, "auto") == 0) return REPORT_LAYOUT_AUTO;
    return strcmp(name, "dot") == 0 ? REPORT_LAYOUT_DOT : REPORT_LAYOUT_OWN;
}

bool report_print_project(Context *ctx, const char *dir, ReportOptions options, StrBuf *out,
                          StrBuf *why)
{
    StrBuf folding = {0}, bytes = {0};
    Op *module = load_module(ctx, dir, &bytes, why);
    bool ok = module != NULL;
    if (ok) {
        read_folding(dir, &folding);
        options.folding = strbuf_str(&folding);
        ok = report_print_module(module, options, out, why);
        op_erase(module);
    }
    strbuf_free(&bytes);
    strbuf_free(&folding);
    return ok;
}
