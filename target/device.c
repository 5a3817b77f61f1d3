/* Reads device descriptions with libxml2. The schema says what a file may hold, so that reading
 * the validated tree cannot fail; a document type is refused before anything is read, since
 * entities live there.
 * Tests: test/unit/device_test.c, lit/tools/device*.mir */
#include "target/device.h"

#include "ir/attr.h"
#include "ir/diag.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE_SIZE = 1 << 20 };
static const int quiet = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;

typedef struct Reader {
    Context *ctx;
    const char *path;
    bool failed; /* diagnosed */
} Reader;

static const Attr *line_loc(const Reader *r, long line)
{
    return loc_file(r->ctx, ident_get_c(r->ctx, r->path), line > 0 ? (uint32_t)line : 1, 1);
}

/* libxml2's first complaint becomes the diagnostic. */
static void report(Reader *r, const xmlError *error, const char *otherwise)
{
    if (r->failed)
        return;
    r->failed = true;
    StrBuf text = {0};
    strbuf_add_c(&text, error && error->message ? error->message : otherwise);
    while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
        text.data[--text.len] = '\0';
    emit_error(r->ctx, line_loc(r, error ? error->line : 1), "%s", text.data);
    strbuf_free(&text);
}

static void on_invalid(void *user, xmlErrorPtr error)
{
    report(user, error, "not valid");
}

static void ignore(void *user, xmlErrorPtr error)
{
    (void)user, (void)error;
}

/* --- reading a valid tree ----------------------------------------------------------------- */

/* Attribute of a valid element, empty if it is left out. */
static Str read_text(const Reader *r, const xmlNode *node, const char *name)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    Str text = ident_get_c(r->ctx, value ? (const char *)value : "")->str;
    xmlFree(value);
    return text;
}

/* The schema bounds numbers to nine digits and a sign. */
static int64_t read_count(const Reader *r, const xmlNode *node, const char *name)
{
    return strtoll(read_text(r, node, name).data, NULL, 10);
}

static Resources read_resources(const Reader *r, const xmlNode *node)
{
    return (Resources){
        .lut = read_count(r, node, "lut"),
        .ff = read_count(r, node, "ff"),
        .bram18 = read_count(r, node, "bram18"),
        .uram = read_count(r, node, "uram"),
        .dsp = read_count(r, node, "dsp"),
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

static NamedResources read_named(const Reader *r, const xmlNode *node)
{
    return (NamedResources){read_text(r, node, "name"), read_resources(r, node)};
}

static DeviceMemory read_memory(const Reader *r, const xmlNode *node)
{
    Str initial = read_text(r, node, "initial");
    return (DeviceMemory){read_text(r, node, "kind"), read_text(r, node, "shapes"),
                          str_eq_c(initial, "true") || str_eq_c(initial, "1")};
}

static void read_element(const Reader *r, const xmlNode *node, Device *out)
{
    const char *name = (const char *)node->name;
    if (strcmp(name, "clock") == 0) {
        out->clock_default = read_count(r, node, "default");
        out->clock_maximum = read_count(r, node, "maximum");
    } else if (strcmp(name, "die") == 0) {
        out->dies[out->die_count] = read_named(r, node);
        add_resources(&out->total, &out->dies[out->die_count++].resources);
    } else if (strcmp(name, "links") == 0) {
        out->sll = read_count(r, node, "sll");
        out->ethernet = read_count(r, node, "ethernet");
    } else if (strcmp(name, "memory") == 0) {
        out->memories[out->memory_count++] = read_memory(r, node);
    } else if (strcmp(name, "shell") == 0) {
        out->shells[out->shell_count++] = read_named(r, node);
    } else if (strcmp(name, "utilization") == 0) {
        out->percent = read_resources(r, node);
        out->mean_percent = read_count(r, node, "mean");
    }
}

static void read_device(const Reader *r, const xmlNode *root, Device *out)
{
    out->name = read_text(r, root, "name");
    out->title = read_text(r, root, "title");
    out->part = read_text(r, root, "part");
    out->dsp_kind = read_text(r, root, "dspKind");
    for (const xmlNode *node = root->children; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE)
            read_element(r, node, out);
}

/* --- checking ----------------------------------------------------------------------------- */

static bool validate_against(Reader *r, xmlDoc *doc, xmlSchema *schema)
{
    xmlSchemaValidCtxt *check = xmlSchemaNewValidCtxt(schema);
    if (!check)
        panic("out of memory");
    xmlSchemaSetValidStructuredErrors(check, on_invalid, r);
    if (xmlSchemaValidateDoc(check, doc) != 0)
        report(r, NULL, "does not follow the schema of device files");
    xmlSchemaFreeValidCtxt(check);
    return !r->failed;
}

static xmlSchema *read_schema(xmlDoc *doc)
{
    xmlSchemaParserCtxt *parser = xmlSchemaNewDocParserCtxt(doc);
    if (!parser)
        panic("out of memory");
    xmlSchemaSetParserStructuredErrors(parser, ignore, NULL);
    xmlSchema *schema = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
    return schema;
}

static bool validate(Reader *r, xmlDoc *doc, const char *path)
{
    xmlDoc *text = xmlReadFile(path, NULL, quiet);
    xmlSchema *schema = text ? read_schema(text) : NULL;
    bool ok = schema ? validate_against(r, doc, schema)
                     : emit_error(r->ctx, line_loc(r, 1),
                                  "cannot be checked: there is no usable schema '%s'", path);
    xmlSchemaFree(schema);
    xmlFreeDoc(text);
    return ok;
}

static bool check_document(Reader *r, xmlDoc *doc, const char *schema, Device *out)
{
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (xmlGetIntSubset(doc))
        return emit_error(r->ctx, line_loc(r, 1), "a device file must not declare a document type");
    if (!validate(r, doc, schema))
        return false;
    read_device(r, root, out);
    return out->clock_default <= out->clock_maximum ||
           emit_error(r->ctx, line_loc(r, 1), "the default clock is above the maximum");
}

static bool check_file(const Reader *r)
{
    struct stat info;
    const Attr *loc = line_loc(r, 1);
    if (stat(r->path, &info) != 0)
        return emit_error(r->ctx, loc, "cannot read the device file: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return emit_error(r->ctx, loc, "the device file is not a regular file");
    return info.st_size <= MAX_FILE_SIZE ||
           emit_error(r->ctx, loc, "a device file has at most %d bytes", MAX_FILE_SIZE);
}

bool device_read(Context *ctx, const char *path, const char *schema, Device *out)
{
    Reader r = {ctx, path, false};
    *out = (Device){.die_count = 0};
    if (!check_file(&r))
        return false;
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        panic("out of memory");
    xmlDoc *doc = xmlCtxtReadFile(parser, path, NULL, quiet);
    if (!doc)
        report(&r, xmlCtxtGetLastError(parser), "not well-formed");
    bool ok = doc && check_document(&r, doc, schema, out);
    xmlFreeDoc(doc);
    xmlFreeParserCtxt(parser);
    return ok;
}

Resources device_budget(const Device *device, int64_t percent)
{
    const Resources *total = &device->total, *share = &device->percent;
    const Resources equal = {percent, percent, percent, percent, percent};
    if (percent > 0)
        share = &equal;
    return (Resources){
        .lut = total->lut * share->lut / 100,
        .ff = total->ff * share->ff / 100,
        .bram18 = total->bram18 * share->bram18 / 100,
        .uram = total->uram * share->uram / 100,
        .dsp = total->dsp * share->dsp / 100,
    };
}
