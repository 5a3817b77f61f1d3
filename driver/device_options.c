/* Finds the device that options name, and what of it a design may use. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

static bool no_device(const Tool *tool, const char *name)
{
    return tool_error(tool, "error: there is no device '%s'; 'ming devices' lists them", name);
}

/* Path of a description: `name` from the folder, or the file it names itself. */
static bool device_path(const Tool *tool, const char *name, const char *folder, StrBuf *out)
{
    if (str_ends_with(str_from(name), ".xml")) {
        strbuf_add_c(out, name);
        return true;
    }
    strbuf_printf(out, "%s/%s.xml", folder, name);
    return (!strchr(name, '/') && access(out->data, F_OK) == 0) || no_device(tool, name);
}

static bool read_by_name(const Tool *tool, Context *ctx, const char *name, Device *out)
{
    StrBuf folder = {0}, path = {0}, schema = {0};
    bool ok = driver_resource_dir("devices", &folder) ||
              tool_error(tool, "error: the device descriptions are not installed");
    if (ok) {
        strbuf_printf(&schema, "%s/device.xsd", folder.data);
        ok = device_path(tool, name, folder.data, &path) &&
             device_read(ctx, path.data, schema.data, out);
    }
    strbuf_free(&folder);
    strbuf_free(&path);
    strbuf_free(&schema);
    return ok;
}

bool device_options_check(const Tool *tool, const DeviceOptions *options)
{
    const Resources *limits = &options->limits;
    const int64_t given[] = {limits->dsp, limits->bram18, limits->uram, limits->lut, limits->ff};
    for (size_t i = 0; i < COUNT_OF(given); i++)
        if (given[i] < 0 && given[i] != LIMIT_NOT_GIVEN)
            return tool_error(tool, "error: a budget cannot be negative");
    if (options->utilization != LIMIT_NOT_GIVEN &&
        (options->utilization < 1 || options->utilization > 100))
        return tool_error(tool, "error: --utilization takes a number from 1 to 100");
    return true;
}

static void override(int64_t *limit, int64_t given)
{
    if (given != LIMIT_NOT_GIVEN) *limit = given;
}

bool device_options_resolve(const Tool *tool, Context *ctx, const DeviceOptions *options,
                            DeviceTarget *out)
{
    Device *device = &out->device;
    if (!read_by_name(tool, ctx, options->device, device)) return false;
    out->clock = options->clock == LIMIT_NOT_GIVEN ? device->clock_default : options->clock;
    if (out->clock < 1 || out->clock > device->clock_maximum)
        return tool_error(tool, "error: --clock: %s takes a clock from 1 to %lld MHz",
                          device->name.data, (long long)device->clock_maximum);
    bool is_share_given = options->utilization != LIMIT_NOT_GIVEN;
    out->budget = device_budget(device, is_share_given ? options->utilization : 0);
    const Resources *limits = &options->limits;
    override(&out->budget.dsp, limits->dsp);
    override(&out->budget.bram18, limits->bram18);
    override(&out->budget.uram, limits->uram);
    override(&out->budget.lut, limits->lut);
    override(&out->budget.ff, limits->ff);
    return true;
}
