/* Files that run a failed pipeline again: the module as it was before, with the pipeline in its
 * external resources under mlir_reproducer, as upstream writes them.
 * Tests: lit/tools/reproducer.mir */
#ifndef MING_TOOLS_REPRODUCER_H
#define MING_TOOLS_REPRODUCER_H

#include "ir/pass.h"

/* The file's text for what is about to run. */
void reproducer_capture(StrBuf *out, Op *op, const Pipeline *pipeline, bool verify_each);
/* Writes it after a failure and says so; `failure` names pass and op. */
void reproducer_write(Op *op, const char *path, Str text, Str failure);
/* Appends the pipeline that came with the input, if any, and forgets it. False: diagnosed. */
bool reproducer_apply(Context *ctx, Pipeline *pipeline, const PassTable *table, bool *verify_each)
    MUST_CHECK;

#endif
