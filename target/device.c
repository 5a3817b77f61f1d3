/* Reads device descriptions with libxml2:
 *   <device name="…" part="…"><resources lut="…" ff="…" bram18="…" uram="…" dsp="…"/></device>
 * Tests: test/unit/device_test.c */
#include "target/device.h"

#include "ir/attr.h"
#include "ir/diag.h"

#include <errno.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILE_SIZE = 1 << 20 };
static const int64_t max_resource = 1000000000;

typedef struct Reader {
    Context *ctx;
    const Attr *file; /* location */
    const char *path;
} Reader;

static const Attr *node_loc(const Reader *r, const xmlNode *node)
{
    long line = xmlGetLineNo(node);
    return loc_file(r->ctx, ident_get_c(r->ctx, r->path), line > 0 ? (uint32_t)line : 1, 1);
}

/* The attribute as context text; false: diagnosed. */
static bool read_text(const Reader *r, const xmlNode *node, const char *name, Str *out)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    bool ok = value && value[0];
    if (ok)
        *out = ident_get_c(r->ctx, (const char *)value)->str;
    xmlFree(value);
    return ok || emit_error(r->ctx, node_loc(r, node), "<%s> needs the attribute '%s'",
                            (const char *)node->name, name);
}

/* Names end up in scripts: letters, digits, '-', '_' and '.' only. */
static bool read_name(const Reader *r, const xmlNode *node, const char *name, Str *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (!read_text(r, node, name, out))
        return false;
    return strspn(out->data, plain) == out->len ||
           emit_error(r->ctx, node_loc(r, node), "'%s' must consist of letters, digits, '-', '_' and '.'",
                      name);
}

static bool read_count(const Reader *r, const xmlNode *node, const char *name, int64_t *out)
{
    Str text;
    char *end;
    if (!read_text(r, node, name, &text))
        return false;
    errno = 0;
    long long value = strtoll(text.data, &end, 10);
    if (*end || errno || value < 0 || value > max_resource)
        return emit_error(r->ctx, node_loc(r, node), "'%s' must be a number from 0 to %lld", name,
                          (long long)max_resource);
    *out = value;
    return true;
}

static const xmlNode *child_element(const xmlNode *parent, const char *name)
{
    for (const xmlNode *node = parent->children; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

static bool read_device(const Reader *r, xmlDoc *doc, Device *out)
{
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (xmlGetIntSubset(doc))
        return emit_error(r->ctx, r->file, "a device file must not declare a document type");
    if (!root || strcmp((const char *)root->name, "device") != 0)
        return emit_error(r->ctx, r->file, "the root element must be <device>");
    const xmlNode *resources = child_element(root, "resources");
    if (!resources)
        return emit_error(r->ctx, node_loc(r, root), "<device> needs an element <resources>");
    return read_name(r, root, "name", &out->name) && read_name(r, root, "part", &out->part) &&
           read_count(r, resources, "lut", &out->lut) && read_count(r, resources, "ff", &out->ff) &&
           read_count(r, resources, "bram18", &out->bram18) &&
           read_count(r, resources, "uram", &out->uram) &&
           read_count(r, resources, "dsp", &out->dsp);
}

/* Reports libxml2's first complaint; entities are never substituted nor fetched. */
static bool parse_error(const Reader *r, xmlParserCtxt *parser)
{
    const xmlError *error = xmlCtxtGetLastError(parser);
    uint32_t line = error && error->line > 0 ? (uint32_t)error->line : 1;
    StrBuf text = {0};
    strbuf_add_c(&text, error && error->message ? error->message : "not well-formed");
    while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
        text.data[--text.len] = '\0';
    emit_error(r->ctx, loc_file(r->ctx, ident_get_c(r->ctx, r->path), line, 1), "%s", text.data);
    strbuf_free(&text);
    return false;
}

bool device_read(Context *ctx, const char *path, Device *out)
{
    Reader r = {ctx, loc_file(ctx, ident_get_c(ctx, path), 1, 1), path};
    struct stat info;
    *out = (Device){.lut = 0};
    if (stat(path, &info) != 0)
        return emit_error(ctx, r.file, "cannot read the device file: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return emit_error(ctx, r.file, "the device file is not a regular file");
    if (info.st_size > MAX_FILE_SIZE)
        return emit_error(ctx, r.file, "a device file has at most %d bytes", MAX_FILE_SIZE);
    xmlParserCtxt *parser = xmlNewParserCtxt();
    if (!parser)
        panic("out of memory");
    xmlDoc *doc = xmlCtxtReadFile(parser, path, NULL,
                                  XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    bool ok = doc ? read_device(&r, doc, out) : parse_error(&r, parser);
    xmlFreeDoc(doc);
    xmlFreeParserCtxt(parser);
    return ok;
}
