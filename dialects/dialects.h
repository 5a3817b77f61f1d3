/* All dialects of ming. Each has a folder with a table of op rows (<d>_ops.def) and a header with
 * its types, attributes, builders and readers; this header registers them. Drivers, tools and tests
 * call it once per context; passes and lowerings include the headers of the dialects they use.
 * Tests: lit/tools/show-dialects.mir, lit/dialects */
#ifndef MING_DIALECTS_DIALECTS_H
#define MING_DIALECTS_DIALECTS_H

#include "ir/attr/attr.h"

/* Registers every dialect that the tools know. Repeating it is harmless. */
void dialects_register_all(Context *ctx);
/* The part of it that makes upstream's other dialects known by name, so that their types and
 * attributes can be carried through. */
void dialects_register_foreign(Context *ctx);

#endif
