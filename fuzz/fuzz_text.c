/* Fuzz target for the text front end: whatever parses must print, parse again and print
 * the same; whatever does not parse must end in a diagnostic. The first byte of the input
 * chooses the printed form. fuzz/run builds a corpus and runs it. */
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

/* The text's printed form; false when it does not parse, which takes a diagnostic. */
static bool print_parsed(FuzzContext *reused, Str text, const PrintOptions *options, StrBuf *out)
{
    Context *ctx = fuzz_context_take(reused);
    size_t errors = diag_error_count(ctx);
    Op *module = parse_module(ctx, text, FUZZ_SOURCE, NULL);
    if (module) {
        op_print(out, module, options);
        op_erase(module);
    }
    fuzz_check(module || diag_error_count(ctx) > errors, "a failure without a diagnostic", text);
    fuzz_context_give_back(reused);
    return module != NULL;
}

void fuzz_text(const uint8_t *data, size_t size)
{
    static FuzzContext first_context, second_context;
    if (size == 0) return;
    PrintOptions options = PRINT_DEFAULT;
    options.generic = data[0] & 1;
    options.debug_info = data[0] & 2;
    options.local_scope = data[0] & 4;
    StrBuf first = {0}, second = {0};
    if (print_parsed(&first_context, (Str){(const char *)data + 1, size - 1}, &options, &first)) {
        Str text = strbuf_str(&first);
        fuzz_check(print_parsed(&second_context, text, &options, &second),
                   "printed text does not parse", text);
        fuzz_check(fuzz_same_text(text, strbuf_str(&second)),
                   "printed text changes when printed again", text);
    }
    strbuf_free(&first);
    strbuf_free(&second);
}
