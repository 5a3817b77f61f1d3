/* Finds the devices of a system of cards.
 * Tests: lit/tools/devices-system.test */
#include <stdlib.h>

#include "driver/internal.h"
#include "ir/asm/print/print.h"

static bool resolve_cards(Context *ctx, DriverErrors errors, System *system)
{
    DeviceTarget *target = xcalloc(1, sizeof *target);
    bool ok = true;
    for (uint32_t i = 0; ok && i < system->card_count; i++) {
        DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
        options.device = system->cards[i].device_name.data;
        ok = driver_resolve_device(ctx, &options, errors, target);
        system->cards[i].device = target->device;
    }
    free(target);
    return ok;
}

bool driver_resolve_system(Context *ctx, const char *path, DriverErrors errors, System *out)
{
    StrBuf folder = {0};
    bool ok =
        driver_resource_dir("devices", &folder) ||
        driver_error(errors, DRIVER_ERROR_OTHER,
                     "the device descriptions are not installed: none of %s is there", folder.data);
    if (ok) {
        strbuf_add_c(&folder, "/system.xsd");
        ok = system_read(ctx, path, folder.data, out) && resolve_cards(ctx, errors, out) &&
             system_check(ctx, out, loc_file(ctx, ident_get_c(ctx, path), 1, 1));
    }
    strbuf_free(&folder);
    return ok;
}

bool driver_chain_cards(Context *ctx, const char *device, int64_t count, DriverErrors errors,
                        System *out)
{
    DeviceTarget *target = xcalloc(1, sizeof *target);
    DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
    options.device = device;
    bool ok = driver_resolve_device(ctx, &options, errors, target);
    if (ok) {
        system_chain(ctx, &target->device, (uint32_t)count, out);
        ok = system_check(ctx, out, loc_file(ctx, ident_get_c(ctx, out->name.data), 1, 1));
    }
    free(target);
    return ok;
}
