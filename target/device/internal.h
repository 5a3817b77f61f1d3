/* Reading XML files with libxml2, for device.c and csynth.c: without network, external entities or
 * document types, and with libxml2's first complaint as the one diagnostic. Texts that functions
 * give live in the context; documents and nodes are libxml2's.
 * Tests: test/unit/target/device/device_test.c, test/unit/target/device/csynth_test.c */
#ifndef MING_TARGET_DEVICE_INTERNAL_H
#define MING_TARGET_DEVICE_INTERNAL_H

#include <libxml/parser.h>
#include <libxml/xmlerror.h>

#include "ir/attr/attr.h"
#include "target/device/device.h"

typedef struct XmlFile {
    Context *ctx;
    const char *path;
    bool failed; /* diagnosed */
} XmlFile;

/* Options that keep libxml2 quiet and offline. */
extern const int xml_options;

/* The location of a line; line 1 if it is not known. */
const Attr *xml_loc(const XmlFile *file, long line);
/* Diagnoses an error; later calls for the same file say nothing more. error may be NULL:
 * `otherwise` is the message then. */
void xml_report(XmlFile *file, const xmlError *error, const char *otherwise);
/* Reads a document, which the caller frees. what: "device file" or the like, for diagnostics. NULL:
 * diagnosed (no regular file, longer than max_bytes, not well-formed, a document type). */
xmlDoc *xml_read(XmlFile *file, const char *what, int64_t max_bytes) MUST_CHECK;

/* Whether a document follows a schema, given by its path. False: diagnosed; `unit` is "device files"
 * or the like. */
bool xml_validate(XmlFile *file, xmlDoc *doc, const char *schema, const char *unit) MUST_CHECK;

/* First child element of that name, or NULL. */
const xmlNode *xml_child(const xmlNode *parent, const char *name);
/* An attribute of an element, or its text; empty if there is none. */
Str xml_attribute(const XmlFile *file, const xmlNode *node, const char *name);
/* An attribute that the schema bounds to ten digits and a sign; `otherwise` if there is none. */
int64_t xml_count(const XmlFile *file, const xmlNode *node, const char *name, int64_t otherwise);
Str xml_text(const XmlFile *file, const xmlNode *node);

#endif
