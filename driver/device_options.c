/* Finds the device that options name, and what of it a design may use. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "driver/internal.h"

/* What the folder has for a name: the description whose name differs at most in case, else a
 * suggestion. */
static void find_description(const char *name, const char *folder, StrBuf *found, StrBuf *hint)
{
    static const char extension[] = ".xml";
    Suggestion near = {0};
    StrBuf lower = {0}, best = {0};
    DIR *dir = opendir(folder);
    for (const char *c = name; *c; c++) strbuf_add_char(&lower, (char)tolower((unsigned char)*c));
    near.wanted = strbuf_str(&lower);
    for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        Str file = str_from(entry->d_name);
        if (!str_ends_with(file, extension)) continue;
        Str device = {file.data, file.len - strlen(extension)};
        if (strncasecmp(name, device.data, device.len) == 0 && !name[device.len])
            strbuf_printf(found, "%s/%s", folder, file.data);
        suggestion_try(&near, device);
        if (near.best.data != device.data) continue;
        strbuf_clear(&best); /* the entry is gone with the next one */
        strbuf_add_str(&best, device);
        near.best = strbuf_str(&best);
    }
    suggestion_print(&near, hint);
    if (dir) closedir(dir);
    strbuf_free(&lower);
    strbuf_free(&best);
}

static int is_description(const struct dirent *entry)
{
    return str_ends_with(str_from(entry->d_name), ".xml");
}

/* The devices with a part of that name, whatever its case: their names, and the path of the last
 * one. Returns how many there are. */
static int find_part(Context *ctx, const char *part, const char *folder, StrBuf *path,
                     StrBuf *names)
{
    struct dirent **entries = NULL;
    StrBuf schema = {0}, own = {0};
    Device device;
    int found = 0, count = scandir(folder, &entries, is_description, alphasort);
    strbuf_printf(&schema, "%s/device.xsd", folder);
    for (int i = 0; i < count; i++) {
        strbuf_clear(&own);
        strbuf_printf(&own, "%s/%s", folder, entries[i]->d_name);
        if (device_read(ctx, own.data, schema.data, &device) &&
            strcasecmp(device.part.data, part) == 0) {
            strbuf_printf(names, "%s%.*s", found++ ? ", " : "", STR_ARG(device.name));
            strbuf_clear(path);
            strbuf_add_str(path, strbuf_str(&own));
        }
        free(entries[i]);
    }
    free(entries);
    strbuf_free(&schema);
    strbuf_free(&own);
    return found;
}

/* Path of a description: `name` from the folder, whatever its case, or the only device with a part
 * of that name, or the file it names itself. */
static bool device_path(Context *ctx, const char *name, const char *folder, DriverErrors errors,
                        StrBuf *out)
{
    if (str_ends_with(str_from(name), ".xml")) {
        strbuf_add_c(out, name);
        return true;
    }
    StrBuf hint = {0}, owners = {0};
    if (!strchr(name, '/')) find_description(name, folder, out, &hint);
    int count = out->len > 0 ? 1 : find_part(ctx, name, folder, out, &owners);
    if (count == 0)
        driver_error(errors, DRIVER_ERROR_DEVICE, "there is no device '%s'%.*s", name,
                     STR_ARG(strbuf_str(&hint)));
    if (count > 1)
        driver_error(errors, DRIVER_ERROR_DEVICE, "several devices have the part '%s': %s", name,
                     owners.data);
    strbuf_free(&hint);
    strbuf_free(&owners);
    return count == 1;
}

static bool read_by_name(Context *ctx, const char *name, DriverErrors errors, Device *out)
{
    StrBuf folder = {0}, path = {0}, schema = {0};
    bool ok =
        driver_resource_dir("devices", &folder) ||
        driver_error(errors, DRIVER_ERROR_OTHER,
                     "the device descriptions are not installed: none of %s is there", folder.data);
    if (ok) {
        strbuf_printf(&schema, "%s/device.xsd", folder.data);
        ok = device_path(ctx, name, folder.data, errors, &path) &&
             device_read(ctx, path.data, schema.data, out);
    }
    strbuf_free(&folder);
    strbuf_free(&path);
    strbuf_free(&schema);
    return ok;
}

/* The most LUTs by the cost model that stay below a limit if it errs by the margin. */
static int64_t less_margin(int64_t limit, int64_t percent)
{
    int64_t whole = 100 + percent;
    return limit / whole * 100 + limit % whole * 100 / whole;
}

static const NamedResources *find_shell(const Device *device, Str name)
{
    for (uint32_t i = 0; i < device->shell_count; i++)
        if (str_eq(device->shells[i].name, name)) return &device->shells[i];
    return NULL;
}

static bool report_no_shell(const Device *device, Str name, DriverErrors errors)
{
    StrBuf names = {0};
    for (uint32_t i = 0; i < device->shell_count; i++)
        strbuf_printf(&names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(device->shells[i].name));
    driver_error(errors, DRIVER_ERROR_SHELL, "%.*s has no '%.*s'; %s%s", STR_ARG(device->name),
                 STR_ARG(name), names.len > 0 ? "there is " : "its description has no shell",
                 names.len > 0 ? names.data : "");
    strbuf_free(&names);
    return false;
}

/* Takes a controller off the budget. False: it needs more than there is. */
static bool deduct(Resources *budget, const Resources *used)
{
    budget->lut -= used->lut;
    budget->ff -= used->ff;
    budget->bram18 -= used->bram18;
    budget->uram -= used->uram;
    budget->dsp -= used->dsp;
    return budget->lut >= 0 && budget->ff >= 0 && budget->bram18 >= 0 && budget->uram >= 0 &&
           budget->dsp >= 0;
}

static int64_t part_of(int64_t amount, int64_t part, int64_t whole)
{
    return whole > 0 ? amount * part / whole : 0;
}

/* The part of an amount that falls to one die of a device. */
static Resources die_part(const Resources *amount, const Resources *die, const Resources *total)
{
    return (Resources){.lut = part_of(amount->lut, die->lut, total->lut),
                       .ff = part_of(amount->ff, die->ff, total->ff),
                       .bram18 = part_of(amount->bram18, die->bram18, total->bram18),
                       .uram = part_of(amount->uram, die->uram, total->uram),
                       .dsp = part_of(amount->dsp, die->dsp, total->dsp)};
}

static bool has_controller(const DeviceDie *die, Str name)
{
    for (const char *at = die->memory.data, *end = at + die->memory.len; at && at < end;) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        Str word = {at, (size_t)((blank ? blank : end) - at)};
        if (str_eq(word, name)) return true;
        at = blank ? blank + 1 : end;
    }
    return str_eq_c(name, "ethernet") && die->ethernet != 0;
}

/* Takes a controller off the first die that may have it; one that belongs to no die off all of
 * them, to the part that each is of the device. */
static void deduct_from_dies(const Device *device, const NamedResources *shell, Resources *dies)
{
    uint32_t first = 0;
    while (first < device->die_count && !has_controller(&device->dies[first], shell->name)) first++;
    for (uint32_t i = 0; i < device->die_count; i++) {
        Resources part = die_part(&shell->resources, &device->dies[i].resources, &device->total);
        if (first == i || first == device->die_count)
            (void)deduct(&dies[i], first == i ? &shell->resources : &part);
    }
}

/* Takes the controllers of a list off the budget and the dies. False: reported. */
static bool deduct_shell(const Device *device, const char *list, DriverErrors errors,
                         Resources *budget, Resources *dies)
{
    for (const char *at = list, *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, ',');
        Str name = {at, end ? (size_t)(end - at) : strlen(at)};
        const NamedResources *shell = find_shell(device, name);
        if (!shell) return report_no_shell(device, name, errors);
        if (!deduct(budget, &shell->resources))
            return driver_error(errors, DRIVER_ERROR_SHELL,
                                "'%.*s' needs more than the share of %.*s that may be spent",
                                STR_ARG(name), STR_ARG(device->name));
        deduct_from_dies(device, shell, dies);
    }
    return true;
}

/* Puts limits that are given in place of the shares, and leaves the margin for LUTs. */
static void set_limits(const DeviceOptions *options, DeviceTarget *out)
{
    const Device *device = &out->device;
    int64_t margin = options->limits.lut == LIMIT_NOT_GIVEN ? DRIVER_LUT_MARGIN : 0;
    if (options->lut_margin != LIMIT_NOT_GIVEN) margin = options->lut_margin;
    for (const DriverOption *row = driver_limit_options; row->name; row++) {
        int64_t limit = driver_limit(row, &options->limits);
        if (limit == LIMIT_NOT_GIVEN) continue;
        memcpy((char *)&out->budget + row->offset, &limit, sizeof limit);
        for (uint32_t i = 0; i < device->die_count; i++) {
            int64_t part = part_of(limit, driver_limit(row, &device->dies[i].resources),
                                   driver_limit(row, &device->total));
            memcpy((char *)&out->dies[i] + row->offset, &part, sizeof part);
        }
    }
    out->budget.lut = less_margin(out->budget.lut, margin);
    for (uint32_t i = 0; i < device->die_count; i++)
        out->dies[i].lut = less_margin(i64_max(0, out->dies[i].lut), margin);
}

/* Whether a limit is given that the mean share of a die is about. */
static bool limits_means(const Resources *limits)
{
    return limits->bram18 != LIMIT_NOT_GIVEN || limits->uram != LIMIT_NOT_GIVEN ||
           limits->dsp != LIMIT_NOT_GIVEN;
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
    for (uint32_t i = 0; i < device->die_count; i++)
        out->dies[i] = die_part(&out->budget, &device->dies[i].resources, &device->total);
    if (!deduct_shell(device, options->shell, errors, &out->budget, out->dies)) return false;
    set_limits(options, out);
    out->mean_percent = is_share_given || limits_means(&options->limits) ? 0 : device->mean_percent;
    return true;
}
