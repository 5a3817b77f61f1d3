/* ming devices [NAME…]: reads the descriptions, all of the folder's in the order of their names,
 * and lists them as a table or as JSON; with --system or --cards the cards of a system and the links
 * between them.
 * Tests: lit/tools/devices.mir, lit/tools/devices-system.test */
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

/* Words that are separated by single blanks. */
static void add_words(JsonWriter *w, const char *key, Str words)
{
    json_member_array(w, key);
    for (size_t at = 0; at < words.len;) {
        size_t end = at;
        while (end < words.len && words.data[end] != ' ') end++;
        json_write_string(w, (Str){words.data + at, end - at});
        at = end + 1;
    }
    json_end_array(w);
}

static void add_ports(JsonWriter *w, uint32_t ports)
{
    json_member_array(w, "ethernet");
    for (uint32_t i = 0; i < DEVICE_MAX_PORTS; i++)
        if (ports >> i & 1) json_write_number(w, "%u", i);
    json_end_array(w);
}

static void add_dies(JsonWriter *w, const Device *device)
{
    json_write_line(w, 3);
    json_member_array(w, "dies");
    for (uint32_t i = 0; i < device->die_count; i++) {
        json_write_line(w, 5);
        json_begin_object(w);
        json_member_string(w, "name", device->dies[i].name);
        add_resources(w, &device->dies[i].resources);
        add_words(w, "memory", device->dies[i].memory);
        add_ports(w, device->dies[i].ethernet);
        json_end_object(w);
    }
    json_end_array(w);
}

/* Pairs of dies that have wires between them. */
static void add_wires(JsonWriter *w, const Device *device)
{
    json_member_array(w, "wires");
    for (uint32_t i = 0; i < device->die_count; i++)
        for (uint32_t j = i + 1; j < device->die_count; j++) {
            if (device->wires[i][j] == 0) continue;
            json_write_line(w, 5);
            json_begin_object(w);
            json_member_string(w, "from", device->dies[i].name);
            json_member_string(w, "to", device->dies[j].name);
            json_member_int(w, "sll", device->wires[i][j]);
            json_end_object(w);
        }
    json_end_array(w);
}

static void add_links(JsonWriter *w, const Device *device)
{
    json_write_line(w, 3);
    json_member_object(w, "links");
    json_member_int(w, "sll", device->sll);
    json_member_int(w, "ethernet_gbps", device->ethernet);
    json_member_int(w, "registers", device->registers);
    add_wires(w, device);
    json_end_object(w);
}

static void add_banks(JsonWriter *w, const Device *device)
{
    json_write_line(w, 3);
    json_member_array(w, "banks");
    for (uint32_t i = 0; i < device->bank_count; i++) {
        const DeviceBanks *b = &device->banks[i];
        json_write_line(w, 5);
        json_begin_object(w);
        json_member_string(w, "name", b->name);
        json_member_int(w, "first", b->first);
        json_member_int(w, "count", b->count);
        json_member_int(w, "mbytes", b->mbytes);
        json_member_int(w, "mbps", b->mbps);
        json_member_int(w, "port_bits", b->port_bits);
        json_member_string(w, "die", device->dies[b->die].name);
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
    add_dies(w, device);
    add_links(w, device);
    add_memories(w, device);
    add_banks(w, device);
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

static void print_system_table(const System *system, StrBuf *out)
{
    TextTable table = {.columns = 4, .first_number = 3};
    static const char *const titles[] = {"card", "device", "links", "MHz"};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (uint32_t i = 0; i < system->card_count; i++) {
        const SystemCard *card = &system->cards[i];
        text_table_add(&table, card->name.data);
        text_table_add(&table, card->device.name.data);
        StrBuf *links = text_table_cell(&table);
        for (uint32_t l = 0; l < system->link_count; l++) {
            const SystemLink *link = &system->links[l];
            if (link->from != i && link->to != i) continue;
            bool is_from = link->from == i;
            strbuf_printf(links, "%seth%u to %s.eth%u", links->len ? ", " : "",
                          is_from ? link->from_port : link->to_port,
                          system->cards[is_from ? link->to : link->from].name.data,
                          is_from ? link->to_port : link->from_port);
        }
        text_table_add_int(&table, card->clock);
    }
    text_table_print(&table, out);
    text_table_free(&table);
}

static void add_end(JsonWriter *w, const char *key, const System *system, uint32_t card,
                    uint32_t port)
{
    StrBuf end = {0};
    strbuf_printf(&end, "%s.eth%u", system->cards[card].name.data, port);
    json_member_string(w, key, strbuf_str(&end));
    strbuf_free(&end);
}

static void add_system_link(JsonWriter *w, const System *system, const SystemLink *link)
{
    json_write_line(w, 4);
    json_begin_object(w);
    add_end(w, "from", system, link->from, link->from_port);
    add_end(w, "to", system, link->to, link->to_port);
    json_member_int(w, "gbps", link->gbps);
    json_member_int(w, "latency_ns", link->latency_ns);
    json_member_int(w, "payload", link->payload);
    json_member_int(w, "overhead", link->overhead);
    json_member_string(w, "protocol", system_protocol_name(link->protocol));
    json_end_object(w);
}

static void print_system_json(const System *system, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "name", system->name);
    json_write_line(&w, 2);
    json_member_array(&w, "cards");
    for (uint32_t i = 0; i < system->card_count; i++) {
        json_write_line(&w, 4);
        json_begin_object(&w);
        json_member_string(&w, "name", system->cards[i].name);
        json_member_string(&w, "device", system->cards[i].device.name);
        json_member_int(&w, "clock_mhz", system->cards[i].clock);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_write_line(&w, 2);
    json_member_array(&w, "links");
    for (uint32_t i = 0; i < system->link_count; i++)
        add_system_link(&w, system, &system->links[i]);
    json_end_array(&w);
    json_write_line(&w, 2);
    json_member_object(&w, "host");
    json_member_int(&w, "pcie_gbytes", system->pcie_gbytes);
    json_member_int(&w, "transfer_us", system->transfer_us);
    json_end_object(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}

/* Of a file, or of so many cards of a device. */
static bool list_system(const Tool *tool, const char *path, const char *device, int64_t cards,
                        bool as_json)
{
    Context *ctx = context_create();
    System *system = xcalloc(1, sizeof *system);
    StrBuf text = {0};
    bool ok = path ? driver_resolve_system(ctx, path, tool_errors(tool), system)
                   : driver_chain_cards(ctx, device, cards, true, tool_errors(tool), system);
    if (ok) {
        (as_json ? print_system_json : print_system_table)(system, &text);
        fwrite(text.data, 1, text.len, stdout);
    }
    diag_flush(ctx);
    strbuf_free(&text);
    free(system);
    context_destroy(ctx);
    return ok;
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
    if (!dir) strbuf_free(&folder);
    if (!dir) return false;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        Str name = str_from(entry->d_name);
        if (!str_ends_with(name, ".xml")) continue;
        char *copy = xcalloc(1, name.len);
        memcpy(copy, name.data, name.len - strlen(".xml"));
        *vec_push(out) = copy;
    }
    closedir(dir);
    if (out->len == 0)
        tool_error(tool, "error: there are no device descriptions (*.xml) in %s", folder.data);
    strbuf_free(&folder);
    if (out->len) qsort(out->data, out->len, sizeof(out->data[0]), compare_names);
    return out->len > 0;
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

typedef struct ListOptions {
    bool as_json;
    const char *system;
    int64_t cards; /* LIMIT_NOT_GIVEN: no chain */
} ListOptions;

static bool list(const Tool *tool, const Texts *names, const ListOptions *options)
{
    bool has_cards = options->cards != LIMIT_NOT_GIVEN;
    if (has_cards && (options->cards < 1 || options->cards > SYSTEM_MAX_CARDS))
        return tool_error(tool, "error: --cards takes a number from 1 to %d", SYSTEM_MAX_CARDS);
    if (options->system && (names->len > 0 || has_cards))
        return tool_error(tool, "error: --system names all cards, it goes with no others");
    if (has_cards && names->len != 1) return tool_error(tool, "error: --cards needs one device");
    if (options->system || has_cards)
        return list_system(tool, options->system, names->len ? names->data[0] : NULL,
                           options->cards, options->as_json);
    return names->len ? list_devices(tool, names, options->as_json)
                      : list_all(tool, options->as_json);
}

int command_devices(int argc, char **argv)
{
    ListOptions options = {.cards = LIMIT_NOT_GIVEN};
    const Flag flags[] = {
        {"cards", FLAG_INT, &options.cards, "n",
         "Print the system of so many cards of the device, linked in a chain", NULL},
        {"json", FLAG_SWITCH, &options.as_json, NULL,
         "Print everything that the descriptions say, as JSON", NULL},
        {"system", FLAG_TEXT, &options.system, "file.xml",
         "Print the system of a file: its cards and their links", NULL},
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
    if (args == ARGS_RUN) ok = list(&tool, &names, &options);
    vec_free(&names);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
