/* --emit-dialect-docs: reference pages in Markdown, one per dialect and one of all passes,
 * from their tables.
 * Tests: lit/tools/dialect-docs.mir */
#ifndef MING_TOOLS_DIALECT_DOCS_H
#define MING_TOOLS_DIALECT_DOCS_H

#include "ir/pass/pass.h"

/* The page of one dialect. */
void dialect_docs_print(StrBuf *out, const DialectDef *dialect);
/* The page of all passes. */
void dialect_docs_print_passes(StrBuf *out, const PassTable *table);
/* Writes DIR/<dialect>.md for every registered dialect and DIR/passes.md, making the directory. False:
 * *reason says why, with the path in `path`. */
bool dialect_docs_write(Context *ctx, const PassTable *passes, const char *dir, StrBuf *path,
                        const char **reason) MUST_CHECK;

#endif
