/* Reads device descriptions. The schema says what a file may hold, so reading the validated tree
 * cannot fail.
 * Tests: test/unit/target/device/device_test.c, lit/tools/device*.mir */
#include <libxml/xmlschemas.h>
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/device/device.h"
#include "target/device/internal.h"

enum { MAX_FILE_SIZE = 1 << 20 };

static void on_invalid(void *user, xmlErrorPtr error)
{
    xml_report(user, error, "not valid");
}

static void ignore(void *user, xmlErrorPtr error)
{
    (void)user, (void)error;
}

/* The schema bounds numbers to nine digits and a sign. */
static int64_t read_count(const XmlFile *file, const xmlNode *node, const char *name)
{
    return strtoll(xml_attribute(file, node, name).data, NULL, 10);
}

static Resources read_resources(const XmlFile *file, const xmlNode *node)
{
    return (Resources){
        .lut = read_count(file, node, "lut"),
        .ff = read_count(file, node, "ff"),
        .bram18 = read_count(file, node, "bram18"),
        .uram = read_count(file, node, "uram"),
        .dsp = read_count(file, node, "dsp"),
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

static void read_element(const XmlFile *file, const xmlNode *node, Device *out)
{
    const char *name = (const char *)node->name;
    if (strcmp(name, "clock") == 0) {
        out->clock_default = read_count(file, node, "default");
        out->clock_maximum = read_count(file, node, "maximum");
        int64_t delay = read_count(file, node, "delay");
        out->delay_percent = delay > 0 ? delay : 100;
    } else if (strcmp(name, "die") == 0) {
        out->dies[out->die_count] = read_named(file, node);
        add_resources(&out->total, &out->dies[out->die_count++].resources);
    } else if (strcmp(name, "links") == 0) {
        out->sll = read_count(file, node, "sll");
        out->ethernet = read_count(file, node, "ethernet");
    } else if (strcmp(name, "memory") == 0) {
        out->memories[out->memory_count++] = read_memory(file, node);
    } else if (strcmp(name, "shell") == 0) {
        out->shells[out->shell_count++] = read_named(file, node);
    } else if (strcmp(name, "utilization") == 0) {
        out->percent = read_resources(file, node);
        out->mean_percent = read_count(file, node, "mean");
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

static bool validate_against(XmlFile *file, xmlDoc *doc, xmlSchema *schema)
{
    xmlSchemaValidCtxt *check = xmlSchemaNewValidCtxt(schema);
    if (!check) out_of_memory("reading the schema of devices");
    xmlSchemaSetValidStructuredErrors(check, on_invalid, file);
    if (xmlSchemaValidateDoc(check, doc) != 0)
        xml_report(file, NULL, "does not follow the schema of device files");
    xmlSchemaFreeValidCtxt(check);
    return !file->failed;
}

static xmlSchema *read_schema(xmlDoc *doc)
{
    xmlSchemaParserCtxt *parser = xmlSchemaNewDocParserCtxt(doc);
    if (!parser) out_of_memory("reading the schema of devices");
    xmlSchemaSetParserStructuredErrors(parser, ignore, NULL);
    xmlSchema *schema = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
    return schema;
}

static bool validate(XmlFile *file, xmlDoc *doc, const char *path)
{
    xmlDoc *text = xmlReadFile(path, NULL, xml_options);
    xmlSchema *schema = text ? read_schema(text) : NULL;
    bool ok = schema ? validate_against(file, doc, schema)
                     : diag_error(file->ctx, xml_loc(file, 1),
                                  "cannot be checked: there is no usable schema '%s'", path);
    xmlSchemaFree(schema);
    xmlFreeDoc(text);
    return ok;
}

bool device_read(Context *ctx, const char *path, const char *schema, Device *out)
{
    XmlFile file = {ctx, path, false};
    xmlDoc *doc = xml_read(&file, "device file", MAX_FILE_SIZE);
    *out = (Device){.die_count = 0};
    bool ok = doc && validate(&file, doc, schema);
    if (ok) {
        read_device(&file, xmlDocGetRootElement(doc), out);
        ok = out->clock_default <= out->clock_maximum ||
             diag_error(ctx, xml_loc(&file, 1), "the default clock is above the maximum");
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
