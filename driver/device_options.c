/* Finds the device that options name, and what of it a design may use. */
#include <string.h>
#include <unistd.h>

#include "driver/internal.h"

/* Path of a description: `name` from the folder, or the file it names itself. */
static bool device_path(const char *name, const char *folder, DriverErrors errors, StrBuf *out)
{
    if (str_ends_with(str_from(name), ".xml")) {
        strbuf_add_c(out, name);
        return true;
    }
    strbuf_printf(out, "%s/%s.xml", folder, name);
    return (!strchr(name, '/') && access(out->data, F_OK) == 0) ||
           driver_error(errors, DRIVER_ERROR_DEVICE, "there is no device '%s'", name);
}

static bool read_by_name(Context *ctx, const char *name, DriverErrors errors, Device *out)
{
    StrBuf folder = {0}, path = {0}, schema = {0};
    bool ok = driver_resource_dir("devices", &folder) ||
              driver_error(errors, DRIVER_ERROR_OTHER, "the device descriptions are not installed");
    if (ok) {
        strbuf_printf(&schema, "%s/device.xsd", folder.data);
        ok = device_path(name, folder.data, errors, &path) &&
             device_read(ctx, path.data, schema.data, out);
    }
    strbuf_free(&folder);
    strbuf_free(&path);
    strbuf_free(&schema);
    return ok;
}

bool driver_resolve_device(Context *ctx, const DeviceOptions *options, DriverErrors errors,
                           DeviceTarget *out)
{
    Device *device = &out->device;
    if (!read_by_name(ctx, options->device, errors, device)) return false;
    out->clock = options->clock == LIMIT_NOT_GIVEN ? device->clock_default : options->clock;
    if (out->clock < 1 || out->clock > device->clock_maximum)
        return driver_error(errors, DRIVER_ERROR_CLOCK, "%s takes a clock from 1 to %lld MHz",
                            device->name.data, (long long)device->clock_maximum);
    bool is_share_given = options->utilization != LIMIT_NOT_GIVEN;
    out->budget = device_budget(device, is_share_given ? options->utilization : 0);
    for (const DriverOption *row = driver_limit_options; row->name; row++) {
        int64_t limit = driver_limit(row, &options->limits);
        if (limit != LIMIT_NOT_GIVEN)
            memcpy((char *)&out->budget + row->offset, &limit, sizeof limit);
    }
    return true;
}
