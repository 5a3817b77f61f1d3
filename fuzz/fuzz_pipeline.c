/* Fuzz target for textual pipelines: whatever parses must print, parse again and print the
 * same; whatever does not parse must end in a diagnostic.
 *   fuzz/run fuzz_pipeline      (fuzz/run says how to configure) */
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "ir/pass/pass.h"

/* The text's printed form; false when it does not parse, which takes a diagnostic. */
static bool print_parsed(FuzzContext *reused, Str text, StrBuf *out)
{
    Context *ctx = fuzz_context_take(reused);
    size_t errors = diag_error_count(ctx);
    Pipeline *pipeline = pipeline_from_text(ctx, driver_all_passes(), text);
    fuzz_check(pipeline || diag_error_count(ctx) > errors, "a failure without a diagnostic", text);
    if (pipeline) pipeline_print(pipeline, out);
    bool ok = pipeline != NULL;
    pipeline_free(pipeline);
    fuzz_context_give_back(reused);
    return ok;
}

void fuzz_pipeline(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    StrBuf first = {0}, second = {0};
    if (print_parsed(&reused, (Str){(const char *)data, size}, &first)) {
        Str text = strbuf_str(&first);
        fuzz_check(print_parsed(&reused, text, &second), "the printed text does not parse", text);
        fuzz_check(str_eq(text, strbuf_str(&second)), "the printed text changes when printed again",
                   text);
    }
    strbuf_free(&first);
    strbuf_free(&second);
}
