/* libFuzzer target for textual pipelines: whatever parses must print, parse again and print the
 * same; whatever does not parse must end in a diagnostic. Built with the other targets;
 *   fuzz/pipeline_seeds.py lit CORPUS; build/fuzz/fuzz_pipeline -max_len=1024 CORPUS
 * begins with the pipelines that the lit suites run. */
#include <stdio.h>
#include <stdlib.h>

#include "dialects/dialects.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "tools/all_passes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void swallow(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    (void)user, (void)ctx, (void)diag, (void)notes, (void)note_count;
}

/* The text's printed form; false when it does not parse, which takes a diagnostic. */
static bool print_parsed(Str text, StrBuf *out)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    context_set_diag_handler(ctx, swallow, NULL, NULL, NULL);
    Pipeline *pipeline = pipeline_from_text(ctx, all_passes(), text);
    if (pipeline) {
        pipeline_print(pipeline, out);
    } else if (context_error_count(ctx) == 0) {
        fputs("parse failed without a diagnostic\n", stderr);
        abort();
    }
    bool ok = pipeline != NULL;
    pipeline_free(pipeline);
    context_destroy(ctx);
    return ok;
}

static void fail(const char *what, const StrBuf *first, const StrBuf *second)
{
    fprintf(stderr, "%s\n--- printed\n%.*s\n--- printed again\n%.*s\n", what,
            STR_ARG(strbuf_str(first)), STR_ARG(strbuf_str(second)));
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    StrBuf first = {0}, second = {0};
    if (print_parsed((Str){(const char *)data, size}, &first)) {
        if (!print_parsed(strbuf_str(&first), &second))
            fail("printed pipeline does not parse", &first, &second);
        if (!str_eq(strbuf_str(&first), strbuf_str(&second)))
            fail("printed pipeline changes when printed again", &first, &second);
    }
    strbuf_free(&first);
    strbuf_free(&second);
    return 0;
}
