/* Fuzz target for device descriptions and system files (XML): as either, a file is refused with a
 * diagnostic, or gives a device whose budgets lie within it or a system whose links are a tree. */
#include <stdlib.h>

#include "fuzz/fuzz_support.h"
#include "ir/attr/attr.h"
#include "target/device/device.h"

static bool is_within(Resources part, Resources whole)
{
    return part.lut >= 0 && part.ff >= 0 && part.bram18 >= 0 && part.uram >= 0 && part.dsp >= 0 &&
           part.lut <= whole.lut && part.ff <= whole.ff && part.bram18 <= whole.bram18 &&
           part.uram <= whole.uram && part.dsp <= whole.dsp;
}

static void read_system(Context *ctx, const char *path, Str text)
{
    size_t errors = diag_error_count(ctx);
    System *system = xcalloc(1, sizeof *system);
    if (system_read(ctx, path, FUZZ_SYSTEM_SCHEMA, system))
        fuzz_check(system->link_count + 1 == system->card_count, "links that are no tree", text);
    else
        fuzz_check(diag_error_count(ctx) > errors, "a failure without a diagnostic", text);
    free(system);
}

void fuzz_device(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    char path[32];
    Device device;
    fuzz_write_file(data, size, path, sizeof path);
    Context *ctx = fuzz_context_take(&reused);
    Str text = {(const char *)data, size};
    size_t errors = diag_error_count(ctx);
    if (device_read(ctx, path, FUZZ_DEVICE_SCHEMA, &device))
        for (int64_t percent = 0; percent <= 100; percent += 10)
            fuzz_check(is_within(device_budget(&device, percent), device.total),
                       "a budget beyond the device", text);
    else
        fuzz_check(diag_error_count(ctx) > errors, "a failure without a diagnostic", text);
    read_system(ctx, path, text);
    fuzz_context_give_back(&reused);
}
