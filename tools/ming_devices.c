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

enum { COLUMNS = 10, FIRST_NUMBER = 4 };

static void add_numbers(TextTable *table, const Resources *r)
{
    text_table_add_int(table, r->lut);
    text_table_add_int(table, r->ff);
    text_table_add_int(table, r->bram18);
    text_table_add_int(table, r->uram);
    text_table_add_int(table, r->dsp);
}

static void add_device_rows(TextTable *table, const Device *device)
{
    text_table_add(table, device->name.data);
    text_table_add(table, device->part.data);
    text_table_add(table, device->title.data);
    text_table_add(table, device->dsp_kind.data);
    text_table_add_int(table, device->clock_default);
    add_numbers(table, &device->total);
    for (uint32_t i = 0; device->die_count > 1 && i < device->die_count; i++) {
        strbuf_printf(text_table_cell(table), "  %s", device->dies[i].name.data);
        for (size_t k = 0; k < FIRST_NUMBER; k++) text_table_add(table, "");
        add_numbers(table, &device->dies[i].resources);
    }
}

static void print_table(const Device *devices, size_t count, StrBuf *out)
{
    enum { LEAST_TEXT = 8, LEAST_PART = 22 };
    static const char *const titles[COLUMNS] = {"device", "part", "title",  "DSP kind", "MHz",
                                                "LUT",    "FF",   "BRAM18", "URAM",     "DSP"};
    TextTable table = {.columns = COLUMNS, .first_number = FIRST_NUMBER};
    for (size_t i = 0; i < COLUMNS; i++) text_table_add(&table, titles[i]);
    for (size_t i = 0; i < count; i++) add_device_rows(&table, &devices[i]);
    text_table_narrow(&table, 2, LEAST_TEXT, TEXT_TABLE_WIDTH);
    text_table_narrow(&table, 1, LEAST_PART, TEXT_TABLE_WIDTH);
    text_table_narrow(&table, 0, LEAST_TEXT, TEXT_TABLE_WIDTH);
    text_table_print(&table, out);
    text_table_free(&table);
}

static void add_resources(JsonWriter *w, const Resources *r)
{
    json_member_int(w, "lut", r->lut);
    json_member_int(w, "ff", r->ff);
    json_member_int(w, "bram18", r->bram18);
    json_member_int(w, "uram", r->uram);
    json_member_int(w, "dsp", r->dsp);
}

static void add_named(JsonWriter *w, const char *key, const NamedResources *items, uint32_t count)
{
    json_write_line(w, 3);
    json_member_array(w, key);
    for (uint32_t i = 0; i < count; i++) {
        json_write_line(w, 5);
        json_begin_object(w);
        json_member_string(w, "name", items[i].name);
        add_resources(w, &items[i].resources);
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_memories(JsonWriter *w, const Device *device)
{
    json_write_line(w, 3);
    json_member_array(w, "memories");
    for (uint32_t i = 0; i < device->memory_count; i++) {
        json_write_line(w, 5);
        json_begin_object(w);
        json_member_string(w, "kind", device->memories[i].kind);
        json_member_string(w, "shapes", device->memories[i].shapes);
        json_member_bool(w, "initial", device->memories[i].has_contents);
        json_end_object(w);
    }
    json_end_array(w);
}

/* Two numbers in an object of their own. */
static void add_pair(JsonWriter *w, const char *key, const char *first, int64_t a,
                     const char *second, int64_t b)
{
    json_write_line(w, 3);
    json_member_object(w, key);
    json_member_int(w, first, a);
    json_member_int(w, second, b);
    json_end_object(w);
}

static void add_device(JsonWriter *w, const Device *device)
{
    json_write_line(w, 2);
    json_begin_object(w);
    json_member_string(w, "name", device->name);
    json_member_string(w, "title", device->title);
    json_member_string(w, "part", device->part);
    json_member_string(w, "dsp_kind", device->dsp_kind);
    add_pair(w, "clock_mhz", "default", device->clock_default, "maximum", device->clock_maximum);
    json_write_line(w, 3);
    json_member_object(w, "total");
    add_resources(w, &device->total);
    json_end_object(w);
    add_named(w, "dies", device->dies, device->die_count);
    add_pair(w, "links", "sll", device->sll, "ethernet_gbps", device->ethernet);
    add_memories(w, device);
    add_named(w, "shells", device->shells, device->shell_count);
    json_write_line(w, 3);
    json_member_object(w, "utilization");
    add_resources(w, &device->percent);
    json_member_int(w, "mean", device->mean_percent);
    json_end_object(w);
    json_end_object(w);
}

static void print_json(const Device *devices, size_t count, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_array(&w);
    for (size_t i = 0; i < count; i++) add_device(&w, &devices[i]);
    json_write_line(&w, 0);
    json_end_array(&w);
    strbuf_add_char(out, '\n');
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
    if (!dir)
        tool_error(tool, "error: the device descriptions are not installed: none of %s is there",
                   folder.data);
    strbuf_free(&folder);
    if (!dir) return false;
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
