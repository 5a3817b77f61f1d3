/* A thin layer over libxml2 that turns its errors into diagnostics.
 * Tests: test/unit/target/device/device_test.c, test/unit/target/device/csynth_test.c */
#include <errno.h>
#include <libxml/xmlmemory.h>
#include <libxml/xmlschemas.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "target/device/internal.h"

const int xml_options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;

const Attr *xml_loc(const XmlFile *file, long line)
{
    return loc_file(file->ctx, ident_get_c(file->ctx, file->path), line > 0 ? (uint32_t)line : 1,
                    1);
}

void xml_report(XmlFile *file, const xmlError *error, const char *otherwise)
{
    if (file->failed) return;
    file->failed = true;
    StrBuf text = {0};
    strbuf_add_c(&text, error && error->message ? error->message : otherwise);
    while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
        text.data[--text.len] = '\0';
    diag_error(file->ctx, xml_loc(file, error ? error->line : 1), "%s", text.data);
    strbuf_free(&text);
}

enum { MOST_ATTRIBUTES = 1000 };

/* Behind the next such text; the end of the bytes without one. */
static const char *skip_past(const char *at, const char *end, const char *closing)
{
    size_t length = strlen(closing);
    for (; (size_t)(end - at) >= length; at++)
        if (memcmp(at, closing, length) == 0) return at + length;
    return end;
}

/* Behind a tag, whose values may hold any character but the quote; counts these. */
static const char *skip_tag(const char *at, const char *end, int *values)
{
    for (*values = 0; at < end && *at != '>'; at++) {
        if (*at != '"' && *at != '\'') continue;
        ++*values;
        at = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (!at) return end;
    }
    return at;
}

/* libxml2 compares each attribute of an element with each other one. What is not well-formed is left
 * to its parser, which stops there. */
static bool has_few_attributes(Str text)
{
    static const char *const others[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
    const char *at = text.data, *end = text.data + text.len;
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        const char *next = NULL;
        for (size_t i = 0; !next && i < COUNT_OF(others); i++) {
            size_t length = strlen(others[i][0]);
            if ((size_t)(end - at) > length && memcmp(at, others[i][0], length) == 0)
                next = skip_past(at + length, end, others[i][1]);
        }
        int values = 0;
        if (!next) next = skip_tag(at + 1, end, &values);
        if (values > MOST_ATTRIBUTES) return false;
        at = next;
    }
    return true;
}

/* libxml2 gets the bytes, not the path: it would inflate what is compressed, without a limit. */
static bool read_bytes(const XmlFile *file, const char *what, int64_t max_bytes, StrBuf *out)
{
    struct stat info;
    const char *reason;
    const Attr *loc = xml_loc(file, 1);
    if (stat(file->path, &info) != 0)
        return diag_error(file->ctx, loc, "cannot read the %s: %s", what, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return diag_error(file->ctx, loc, "the %s is not a regular file", what);
    if (info.st_size <= max_bytes && !file_read(out, file->path, &reason))
        return diag_error(file->ctx, loc, "cannot read the %s: %s", what, reason);
    if (info.st_size > max_bytes || (int64_t)out->len > max_bytes)
        return diag_error(file->ctx, loc, "a %s has at most %lld bytes", what,
                          (long long)max_bytes);
    return has_few_attributes(strbuf_str(out)) ||
           diag_error(file->ctx, loc, "an element of a %s has at most %d attributes", what,
                      MOST_ATTRIBUTES);
}

static char *copy_string(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

xmlDoc *xml_read(XmlFile *file, const char *what, int64_t max_bytes)
{
    StrBuf bytes = {0};
    xmlDoc *doc = NULL;
    /* libxml2 itself goes on without what it could not allocate. */
    xmlMemSetup(free, xmalloc, xrealloc, copy_string);
    if (read_bytes(file, what, max_bytes, &bytes)) {
        xmlParserCtxt *parser = xmlNewParserCtxt();
        doc = xmlCtxtReadMemory(parser, bytes.data, (int)bytes.len, file->path, NULL, xml_options);
        if (!doc) xml_report(file, xmlCtxtGetLastError(parser), "not well-formed");
        xmlFreeParserCtxt(parser);
    }
    strbuf_free(&bytes);
    if (doc && xmlGetIntSubset(doc)) {
        diag_error(file->ctx, xml_loc(file, 1), "a %s must not declare a document type", what);
        xmlFreeDoc(doc);
        doc = NULL;
    }
    return doc;
}

static void on_invalid(void *user, xmlErrorPtr error)
{
    xml_report(user, error, "not valid");
}

static void ignore(void *user, xmlErrorPtr error)
{
    (void)user, (void)error;
}

static bool validate_against(XmlFile *file, xmlDoc *doc, xmlSchema *schema, const char *unit)
{
    xmlSchemaValidCtxt *check = xmlSchemaNewValidCtxt(schema);
    xmlSchemaSetValidStructuredErrors(check, on_invalid, file);
    if (xmlSchemaValidateDoc(check, doc) != 0 && !file->failed) {
        file->failed = true;
        diag_error(file->ctx, xml_loc(file, 1), "does not follow the schema of %s", unit);
    }
    xmlSchemaFreeValidCtxt(check);
    return !file->failed;
}

static xmlSchema *read_schema(xmlDoc *doc)
{
    xmlSchemaParserCtxt *parser = xmlSchemaNewDocParserCtxt(doc);
    xmlSchemaSetParserStructuredErrors(parser, ignore, NULL);
    xmlSchema *schema = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
    return schema;
}

bool xml_validate(XmlFile *file, xmlDoc *doc, const char *path, const char *unit)
{
    xmlDoc *text = xmlReadFile(path, NULL, xml_options);
    xmlSchema *schema = text ? read_schema(text) : NULL;
    bool ok = schema ? validate_against(file, doc, schema, unit)
                     : diag_error(file->ctx, xml_loc(file, 1),
                                  "cannot be checked: there is no usable schema '%s'", path);
    xmlSchemaFree(schema);
    xmlFreeDoc(text);
    return ok;
}

const xmlNode *xml_child(const xmlNode *parent, const char *name)
{
    for (const xmlNode *node = parent ? parent->children : NULL; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

static Str take_text(const XmlFile *file, xmlChar *value)
{
    Str text = ident_get_c(file->ctx, value ? (const char *)value : "")->str;
    xmlFree(value);
    return text;
}

Str xml_attribute(const XmlFile *file, const xmlNode *node, const char *name)
{
    return take_text(file, xmlGetNoNsProp(node, (const xmlChar *)name));
}

int64_t xml_count(const XmlFile *file, const xmlNode *node, const char *name, int64_t otherwise)
{
    Str text = xml_attribute(file, node, name);
    return text.len > 0 ? strtoll(text.data, NULL, 10) : otherwise;
}

Str xml_text(const XmlFile *file, const xmlNode *node)
{
    return take_text(file, node ? xmlNodeGetContent(node) : NULL);
}
