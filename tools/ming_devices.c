/* ming devices [NAME…]: reads the descriptions, all of the folder's in the order of their names,
 * and lists them as a table or as JSON.
 * Tests: lit/tools/devices.mir */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

static void add_row(StrBuf *out, const char *name, const char *part, const Resources *r)
{
    strbuf_printf(out, "%-10s %-22s %9lld %9lld %7lld %5lld %6lld", name, part, (long long)r->lut,
                  (long long)r->ff, (long long)r->bram18, (long long)r->uram, (long long)r->dsp);
}

static void add_device_rows(StrBuf *out, const Device *device)
{
    StrBuf die = {0};
    add_row(out, device->name.data, device->part.data, &device->total);
    strbuf_printf(out, "  %-8s %4lld  %s\n", device->dsp_kind.data,
                  (long long)device->clock_default, device->title.data);
    for (uint32_t i = 0; device->die_count > 1 && i < device->die_count; i++) {
        strbuf_clear(&die);
        strbuf_printf(&die, "  %s", device->dies[i].name.data);
        add_row(out, die.data, "", &device->dies[i].resources);
        strbuf_add_char(out, '\n');
    }
    strbuf_free(&die);
}

static void print_table(const Device *devices, size_t count, StrBuf *out)
{
    strbuf_printf(out, "%-10s %-22s %9s %9s %7s %5s %6s  %-8s %4s  %s\n", "device", "part", "LUT",
                  "FF", "BRAM18", "URAM", "DSP", "kind", "MHz", "title");
    for (size_t i = 0; i < count; i++) add_device_rows(out, &devices[i]);
}

static void add_text(StrBuf *out, const char *key, Str text)
{
    strbuf_printf(out, "\"%s\": ", key);
    json_add_string(out, text);
}

static void add_resources(StrBuf *out, const Resources *r)
{
    strbuf_printf(out,
                  "\"lut\": %lld, \"ff\": %lld, \"bram18\": %lld, \"uram\": %lld, \"dsp\": %lld",
                  (long long)r->lut, (long long)r->ff, (long long)r->bram18, (long long)r->uram,
                  (long long)r->dsp);
}

static void add_named(StrBuf *out, const char *key, const NamedResources *items, uint32_t count)
{
    strbuf_printf(out, ",\n   \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        strbuf_add_c(out, i ? ",\n     {" : "\n     {");
        add_text(out, "name", items[i].name);
        strbuf_add_c(out, ", ");
        add_resources(out, &items[i].resources);
        strbuf_add_char(out, '}');
    }
    strbuf_add_char(out, ']');
}

static void add_memories(StrBuf *out, const Device *device)
{
    strbuf_add_c(out, ",\n   \"memories\": [");
    for (uint32_t i = 0; i < device->memory_count; i++) {
        strbuf_add_c(out, i ? ",\n     {" : "\n     {");
        add_text(out, "kind", device->memories[i].kind);
        strbuf_add_c(out, ", ");
        add_text(out, "shapes", device->memories[i].shapes);
        strbuf_printf(out, ", \"initial\": %s}",
                      device->memories[i].has_contents ? "true" : "false");
    }
    strbuf_add_char(out, ']');
}

static void add_device(StrBuf *out, const Device *device)
{
    strbuf_add_c(out, "  {");
    add_text(out, "name", device->name);
    strbuf_add_c(out, ", ");
    add_text(out, "title", device->title);
    strbuf_add_c(out, ", ");
    add_text(out, "part", device->part);
    strbuf_add_c(out, ", ");
    add_text(out, "dsp_kind", device->dsp_kind);
    strbuf_printf(out,
                  ",\n   \"clock_mhz\": {\"default\": %lld, \"maximum\": %lld},\n   \"total\": {",
                  (long long)device->clock_default, (long long)device->clock_maximum);
    add_resources(out, &device->total);
    strbuf_add_char(out, '}');
    add_named(out, "dies", device->dies, device->die_count);
    strbuf_printf(out, ",\n   \"links\": {\"sll\": %lld, \"ethernet_gbps\": %lld}",
                  (long long)device->sll, (long long)device->ethernet);
    add_memories(out, device);
    add_named(out, "shells", device->shells, device->shell_count);
    strbuf_add_c(out, ",\n   \"utilization\": {");
    add_resources(out, &device->percent);
    strbuf_printf(out, ", \"mean\": %lld}}", (long long)device->mean_percent);
}

static void print_json(const Device *devices, size_t count, StrBuf *out)
{
    strbuf_add_c(out, "[\n");
    for (size_t i = 0; i < count; i++) {
        add_device(out, &devices[i]);
        strbuf_add_c(out, i + 1 < count ? ",\n" : "\n");
    }
    strbuf_add_c(out, "]\n");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of all descriptions, in order; the caller frees them. */
static bool list_names(const Tool *tool, Texts *out)
{
    StrBuf folder = {0};
    DIR *dir = driver_resource_dir("devices", &folder) ? opendir(folder.data) : NULL;
    strbuf_free(&folder);
    if (!dir) return tool_error(tool, "error: the device descriptions are not installed");
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        Str name = str_from(entry->d_name);
        if (!str_ends_with(name, ".xml")) continue;
        char *copy = xcalloc(1, name.len);
        memcpy(copy, name.data, name.len - strlen(".xml"));
        *vec_push(out) = copy;
    }
    closedir(dir);
    if (out->len) qsort(out->data, out->len, sizeof(out->data[0]), compare_names);
    return true;
}

static bool list_devices(const Tool *tool, const Texts *names, bool as_json)
{
    Context *ctx = context_create();
    DeviceTarget *target = xcalloc(1, sizeof(*target));
    StrBuf text = {0};
    VEC(Device) devices = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < names->len; i++) {
        DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
        options.device = names->data[i];
        ok = driver_resolve_device(ctx, &options, tool_errors(tool), target);
        if (ok) *vec_push(&devices) = target->device;
    }
    if (ok) {
        (as_json ? print_json : print_table)(devices.data, devices.len, &text);
        fwrite(text.data, 1, text.len, stdout);
    }
    diag_flush(ctx);
    vec_free(&devices);
    strbuf_free(&text);
    free(target);
    context_destroy(ctx);
    return ok;
}

static bool list_all(const Tool *tool, bool as_json)
{
    Texts names = {0};
    bool ok = list_names(tool, &names) && list_devices(tool, &names, as_json);
    for (size_t i = 0; i < names.len; i++) free((void *)(uintptr_t)names.data[i]);
    vec_free(&names);
    return ok;
}

int ming_devices(int argc, char **argv)
{
    bool as_json = false;
    const Flag flags[] = {
        {"json", FLAG_SWITCH, &as_json, NULL, "Print everything that the descriptions say, as JSON",
         NULL},
    };
    const Tool tool = {
        .name = "ming devices",
        .summary = "ming devices: lists the devices that --device names, and their resources",
        .usage = "[NAME|FILE.xml ...] [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts names = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &names);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN)
        ok = names.len ? list_devices(&tool, &names, as_json) : list_all(&tool, as_json);
    vec_free(&names);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
