/* --emit-dialect-docs: reference pages in Markdown, one per dialect, from the op tables.
 * Tests: lit/tools/dialect-docs.mir */
#ifndef MING_TOOLS_DIALECT_DOCS_H
#define MING_TOOLS_DIALECT_DOCS_H

#include "ir/opdef.h"

/* The page of one dialect. */
void dialect_docs_print(StrBuf *out, const DialectDef *dialect);
/* Writes DIR/<dialect>.md for every registered dialect, making the directory. False: *reason says
 * why, with the path in `path`. */
bool dialect_docs_write(Context *ctx, const char *dir, StrBuf *path, const char **reason)
    MUST_CHECK;

#endif
