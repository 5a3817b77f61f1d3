/* Files that run a failed pipeline again: the module as it was before, with the pipeline in its
 * external resources under mlir_reproducer, as upstream writes them. A local reproducer holds the
 * failing pass alone and the module as that pass found it. Crashes count as failures.
 * Tests: lit/tools/reproducer.mir, test/unit/crash_guard_test.c */
#ifndef MING_TOOLS_REPRODUCER_H
#define MING_TOOLS_REPRODUCER_H

#include "ir/pass/pass.h"

typedef struct ReproducerOptions {
    const char *path; /* NULL: no reproducers */
    bool is_local;
    bool verify_each, disable_threading; /* what the file says about the run */
} ReproducerOptions;

enum { REPRODUCER_MAX_HOOKS = 4 };
/* Runs the pipeline with the hooks (NULL-terminated, so many at most); if a pass fails or crashes,
 * writes the file and says so. */
bool reproducer_run(const ReproducerOptions *options, Pipeline *pipeline, Op *op,
                    const PassHooks *const *hooks) MUST_CHECK;
/* Writes the file whatever happened, for the module as it is; as upstream's, it runs the passes
 * on the ops inside. */
bool reproducer_write(const char *path, const Pipeline *pipeline, Op *op) MUST_CHECK;
/* Puts the pipeline that came with the input, if any, in the place of *pipeline, and forgets it;
 * sets *verify_each if the input does. False: diagnosed, *pipeline may be NULL. */
bool reproducer_apply(Context *ctx, Pipeline **pipeline, const PassTable *table, bool *verify_each)
    MUST_CHECK;

#endif
