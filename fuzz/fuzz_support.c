/* Contexts and checks of the fuzz targets. */
#include <stdlib.h>

#include "dialects/dialects.h"
#include "fuzz/fuzz_support.h"
#include "ir/attr/attr.h"

static void swallow(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    (void)user;
    (void)ctx;
    (void)diag;
    (void)notes;
    (void)note_count;
}

Context *fuzz_context_take(FuzzContext *reused)
{
    if (!reused->ctx) {
        Context *ctx = context_create();
        dialects_register_all(ctx);
        dialect_allow_unregistered(ctx, true);
        diag_set_handler(ctx, swallow, NULL, NULL, NULL);
        *reused = (FuzzContext){.ctx = ctx};
    }
    reused->inputs++;
    return reused->ctx;
}

enum { INPUTS_PER_CONTEXT = 50 };

void fuzz_context_give_back(FuzzContext *reused)
{
    diag_remove_source(reused->ctx, FUZZ_SOURCE);
    if (reused->inputs < INPUTS_PER_CONTEXT && context_resource_count(reused->ctx) == 0 &&
        context_external_group_count(reused->ctx) == 0)
        return;
    context_destroy(reused->ctx);
    reused->ctx = NULL;
}

void fuzz_check(bool holds, const char *what, Str text)
{
    if (holds) return;
    fprintf(stderr, "%s\n%.*s\n", what, STR_ARG(text));
    abort();
}
