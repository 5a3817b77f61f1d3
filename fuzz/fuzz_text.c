/* libFuzzer target for the text front end: whatever parses must print, parse again and print
 * the same; whatever does not parse must end in a diagnostic. The first byte of the input
 * chooses the printed form. `meson setup build -Dfuzz=true` with CC=clang builds it; by hand:
 *   clang -std=c17 -g -O1 -fsanitize=fuzzer,address,undefined -D_POSIX_C_SOURCE=200809L -I. \
 *     fuzz/fuzz_text.c $(find ir dialects -name '*.c') -lm -o fuzz_text
 *   fuzz_text -max_len=4096 -timeout=10 CORPUS lit/ir     (the lit suites are good seeds) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "ir/diag.h"
#include "ir/parse.h"
#include "ir/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void swallow(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    (void)user;
    (void)ctx;
    (void)diag;
    (void)notes;
    (void)note_count;
}

static Context *create_context(void)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    context_allow_unregistered(ctx, true);
    context_set_diag_handler(ctx, swallow, NULL, NULL, NULL);
    return ctx;
}

/* A context serves many inputs, since registering the dialects takes longer than most of them. */
typedef struct Reused {
    Context *ctx;
    int inputs;
} Reused;

enum { INPUTS_PER_CONTEXT = 50 };

static Context *take_context(Reused *reused)
{
    if (!reused->ctx) *reused = (Reused){.ctx = create_context()};
    reused->inputs++;
    return reused->ctx;
}

/* What an input leaves in the context and others could see makes it unfit for them. */
static void give_back(Reused *reused)
{
    if (reused->inputs < INPUTS_PER_CONTEXT && context_resource_count(reused->ctx) == 0 &&
        context_external_group_count(reused->ctx) == 0)
        return;
    context_destroy(reused->ctx);
    reused->ctx = NULL;
}

/* The text's printed form; false when it does not parse, which takes a diagnostic. */
static bool print_parsed(Reused *reused, Str text, const PrintOptions *options, StrBuf *out)
{
    Context *ctx = take_context(reused);
    size_t errors = context_error_count(ctx);
    Op *module = parse_module(ctx, text, STR("fuzz"), NULL);
    if (module) {
        op_print(out, module, options);
        op_erase(module);
    } else if (context_error_count(ctx) == errors) {
        fputs("parse failed without a diagnostic\n", stderr);
        abort();
    }
    context_remove_source(ctx, STR("fuzz"));
    give_back(reused);
    return module != NULL;
}

static void fail(const char *what, Str first, Str second)
{
    fprintf(stderr, "%s\n--- printed\n%.*s\n--- printed again\n%.*s\n", what, STR_ARG(first),
            STR_ARG(second));
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Reused first_context, second_context;
    if (size == 0) return 0;
    PrintOptions options = PRINT_DEFAULT;
    options.generic = data[0] & 1;
    options.debug_info = data[0] & 2;
    options.local_scope = data[0] & 4;
    StrBuf first = {0}, second = {0};
    if (print_parsed(&first_context, (Str){(const char *)data + 1, size - 1}, &options, &first)) {
        if (!print_parsed(&second_context, strbuf_str(&first), &options, &second))
            fail("printed text does not parse", strbuf_str(&first), strbuf_str(&second));
        if (!str_eq(strbuf_str(&first), strbuf_str(&second)))
            fail("printed text changes when printed again", strbuf_str(&first),
                 strbuf_str(&second));
    }
    strbuf_free(&first);
    strbuf_free(&second);
    return 0;
}
