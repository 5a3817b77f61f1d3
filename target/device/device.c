/* Reads device descriptions. The schema says what a file may hold, so reading the validated tree
 * cannot fail.
 * Tests: test/unit/target/device/device_test.c, lit/tools/device*.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/device/device.h"
#include "target/device/internal.h"

enum { MAX_FILE_SIZE = 1 << 20 };

static Resources read_resources(const XmlFile *file, const xmlNode *node)
{
    return (Resources){
        .lut = xml_count(file, node, "lut", 0),
        .ff = xml_count(file, node, "ff", 0),
        .bram18 = xml_count(file, node, "bram18", 0),
        .uram = xml_count(file, node, "uram", 0),
        .dsp = xml_count(file, node, "dsp", 0),
    };
}

static void add_resources(Resources *sum, const Resources *part)
{
    sum->lut += part->lut;
    sum->ff += part->ff;
    sum->bram18 += part->bram18;
    sum->uram += part->uram;
    sum->dsp += part->dsp;
}

static NamedResources read_named(const XmlFile *file, const xmlNode *node)
{
    return (NamedResources){xml_attribute(file, node, "name"), read_resources(file, node)};
}

static DeviceMemory read_memory(const XmlFile *file, const xmlNode *node)
{
    Str initial = xml_attribute(file, node, "initial");
    return (DeviceMemory){xml_attribute(file, node, "kind"), xml_attribute(file, node, "shapes"),
                          str_eq_c(initial, "true") || str_eq_c(initial, "1")};
}

/* Calls `take` for each word of a list; false as soon as it says so. */
static bool for_each_word(Str list, bool (*take)(void *user, Str word), void *user)
{
    for (size_t at = 0; at < list.len;) {
        size_t end = at;
        while (end < list.len && !strchr(" \t\r\n", list.data[end])) end++;
        if (end > at && !take(user, (Str){list.data + at, end - at})) return false;
        at = end + 1;
    }
    return true;
}

static bool add_port(void *ports, Str word)
{
    *(uint32_t *)ports |= 1u << (word.data[word.len - 1] - '0'); /* the schema: 0 to 7 */
    return true;
}

static bool add_word(void *text, Str word)
{
    StrBuf *out = text;
    strbuf_printf(out, "%s%.*s", out->len > 0 ? " " : "", STR_ARG(word));
    return true;
}

static DeviceDie read_die(const XmlFile *file, const xmlNode *node)
{
    StrBuf memory = {0};
    DeviceDie die = {.name = xml_attribute(file, node, "name"),
                     .resources = read_resources(file, node)};
    for_each_word(xml_attribute(file, node, "memory"), add_word, &memory);
    die.memory = ident_get_c(file->ctx, memory.len > 0 ? memory.data : "")->str;
    for_each_word(xml_attribute(file, node, "ethernet"), add_port, &die.ethernet);
    strbuf_free(&memory);
    return die;
}

/* Index of the die of that name; the schema says that there is one. */
static uint32_t die_named(const Device *device, Str name)
{
    uint32_t i = 0;
    while (i + 1 < device->die_count && !str_eq(device->dies[i].name, name)) i++;
    return i;
}

static DeviceBanks read_banks(const XmlFile *file, const xmlNode *node, const Device *device)
{
    return (DeviceBanks){.name = xml_attribute(file, node, "name"),
                         .first = xml_count(file, node, "first", 0),
                         .count = xml_count(file, node, "count", 0),
                         .mbytes = xml_count(file, node, "mbytes", 0),
                         .mbps = xml_count(file, node, "mbps", 0),
                         .port_bits = xml_count(file, node, "portBits", 0),
                         .die = die_named(device, xml_attribute(file, node, "die"))};
}

/* Neighbours have `sll` wires, pairs with a link of their own as many as that says. */
static void read_links(const XmlFile *file, const xmlNode *node, Device *out)
{
    out->sll = xml_count(file, node, "sll", 0);
    out->ethernet = xml_count(file, node, "ethernet", 0);
    out->registers = xml_count(file, node, "registers", DEVICE_DEFAULT_REGISTERS);
    for (uint32_t i = 0; i + 1 < out->die_count; i++)
        out->wires[i][i + 1] = out->wires[i + 1][i] = out->sll;
    for (const xmlNode *link = node->children; link; link = link->next) {
        if (link->type != XML_ELEMENT_NODE) continue;
        uint32_t from = die_named(out, xml_attribute(file, link, "from")),
                 to = die_named(out, xml_attribute(file, link, "to"));
        out->wires[from][to] = out->wires[to][from] = xml_count(file, link, "sll", 0);
    }
}

static void read_element(const XmlFile *file, const xmlNode *node, Device *out)
{
    const char *name = (const char *)node->name;
    if (strcmp(name, "clock") == 0) {
        out->clock_default = xml_count(file, node, "default", 0);
        out->clock_maximum = xml_count(file, node, "maximum", 0);
        out->delay_percent = xml_count(file, node, "delay", 100);
    } else if (strcmp(name, "die") == 0) {
        out->dies[out->die_count] = read_die(file, node);
        add_resources(&out->total, &out->dies[out->die_count++].resources);
    } else if (strcmp(name, "links") == 0) {
        read_links(file, node, out);
    } else if (strcmp(name, "memory") == 0) {
        out->memories[out->memory_count++] = read_memory(file, node);
    } else if (strcmp(name, "bank") == 0) {
        out->banks[out->bank_count++] = read_banks(file, node, out);
    } else if (strcmp(name, "shell") == 0) {
        out->shells[out->shell_count++] = read_named(file, node);
    } else if (strcmp(name, "utilization") == 0) {
        out->percent = read_resources(file, node);
        out->mean_percent = xml_count(file, node, "mean", 0);
    }
}

static void read_device(const XmlFile *file, const xmlNode *root, Device *out)
{
    out->name = xml_attribute(file, root, "name");
    out->title = xml_attribute(file, root, "title");
    out->part = xml_attribute(file, root, "part");
    out->dsp_kind = xml_attribute(file, root, "dspKind");
    for (const xmlNode *node = root->children; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE) read_element(file, node, out);
}

/* What the schema cannot say, of which each element has a line. */
typedef struct DeviceCheck {
    const XmlFile *file;
    const xmlNode *node;
    const Device *device;
    uint32_t ports; /* of dies before */
} DeviceCheck;

static bool refuse(const DeviceCheck *check, const char *format, Str text)
{
    return diag_error(check->file->ctx, xml_loc(check->file, xmlGetLineNo(check->node)), format,
                      STR_ARG(text));
}

static bool check_controller(void *user, Str word)
{
    const DeviceCheck *check = user;
    for (uint32_t i = 0; i < check->device->shell_count; i++)
        if (str_eq(check->device->shells[i].name, word)) return true;
    return refuse(check, "a die has memory '%.*s', but there is no shell of that name", word);
}

static bool check_port(void *user, Str word)
{
    DeviceCheck *check = user;
    uint32_t port = 0;
    add_port(&port, word);
    if (check->ports & port) return refuse(check, "there are two Ethernet ports %.*s", word);
    check->ports |= port;
    return true;
}

/* Another link between the same dies before this one. */
static bool check_link(DeviceCheck *check, const xmlNode *links)
{
    const XmlFile *file = check->file;
    Str from = xml_attribute(file, check->node, "from"),
        to = xml_attribute(file, check->node, "to");
    if (str_eq(from, to)) return refuse(check, "a link joins '%.*s' to itself", from);
    for (const xmlNode *link = links->children; link != check->node; link = link->next) {
        if (link->type != XML_ELEMENT_NODE) continue;
        Str a = xml_attribute(file, link, "from"), b = xml_attribute(file, link, "to");
        if ((str_eq(a, from) && str_eq(b, to)) || (str_eq(a, to) && str_eq(b, from)))
            return refuse(check, "'%.*s' has two links to the same die", from);
    }
    return true;
}

/* Banks of the same name and number as one before. */
static bool check_banks(const DeviceCheck *check, uint32_t index)
{
    const DeviceBanks *mine = &check->device->banks[index];
    for (const DeviceBanks *b = check->device->banks; b < mine; b++)
        if (str_eq(b->name, mine->name) && b->first < mine->first + mine->count &&
            mine->first < b->first + b->count)
            return refuse(check, "a bank of '%.*s' is there twice", mine->name);
    return true;
}

static bool check_device(const XmlFile *file, const xmlNode *root, const Device *device)
{
    DeviceCheck check = {.file = file, .device = device};
    uint32_t banks = 0;
    bool ok = true;
    for (const xmlNode *node = root->children; ok && node; node = node->next) {
        const char *name = (const char *)node->name;
        check.node = node;
        if (strcmp(name, "die") == 0)
            ok = for_each_word(xml_attribute(file, node, "memory"), check_controller, &check) &&
                 for_each_word(xml_attribute(file, node, "ethernet"), check_port, &check);
        if (strcmp(name, "bank") == 0) ok = check_banks(&check, banks++);
        if (strcmp(name, "links") != 0) continue;
        for (const xmlNode *link = node->children; ok && link; link = link->next) {
            check.node = link;
            ok = link->type != XML_ELEMENT_NODE || check_link(&check, node);
        }
    }
    if (ok && device->clock_default > device->clock_maximum)
        return diag_error(file->ctx, xml_loc(file, 1), "the default clock is above the maximum");
    return ok;
}

bool device_has_port(const Device *device, uint32_t port)
{
    uint32_t ports = 0;
    for (uint32_t i = 0; i < device->die_count; i++) ports |= device->dies[i].ethernet;
    return port < DEVICE_MAX_PORTS && (ports >> port & 1);
}

bool device_read(Context *ctx, const char *path, const char *schema, Device *out)
{
    XmlFile file = {ctx, path, false};
    xmlDoc *doc = xml_read(&file, "device file", MAX_FILE_SIZE);
    *out = (Device){.registers = DEVICE_DEFAULT_REGISTERS};
    bool ok = doc && xml_validate(&file, doc, schema, "device files");
    if (ok) {
        read_device(&file, xmlDocGetRootElement(doc), out);
        ok = check_device(&file, xmlDocGetRootElement(doc), out);
    }
    xmlFreeDoc(doc);
    return ok;
}

Resources device_budget(const Device *device, int64_t percent)
{
    const Resources *total = &device->total, *share = &device->percent;
    const Resources equal = {percent, percent, percent, percent, percent};
    if (percent > 0) share = &equal;
    return (Resources){
        .lut = total->lut * share->lut / 100,
        .ff = total->ff * share->ff / 100,
        .bram18 = total->bram18 * share->bram18 / 100,
        .uram = total->uram * share->uram / 100,
        .dsp = total->dsp * share->dsp / 100,
    };
}
