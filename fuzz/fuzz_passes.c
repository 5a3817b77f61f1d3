/* Fuzz target for pipelines: a module that verifies goes through a pass, canonicalize and cse.
 * A pass may refuse it, with a diagnostic; else the result verifies after each pass, and its text
 * parses again and prints the same. The first byte of the input chooses the pass.
 *   fuzz/run fuzz_passes        (fuzz/run says how to configure) */
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "ir/verify/verify.h"

enum { MOST_ELEMENTS = 1 << 12 };

/* Those that work on any module; fuzz_onnx.c runs the rest on what they are made for. Left out is
 * tosa-to-tensor: like upstream's it takes over result types, and a slice that does not fit its
 * type verifies before the pass but not after it. */
static const char *const passes[] = {
    "canonicalize",
    "cse",
    "symbol-dce",
    "inline",
    "strip-debuginfo",
    "linalg-generalize-named-ops",
    "linalg-fuse-elementwise-ops",
    "linalg-fold-unit-extent-dims",
    "simplify-kernels",
    "convert-elementwise-to-linalg",
    "tosa-to-linalg-named",
    "tosa-to-linalg",
    "tosa-to-arith",
    "tosa-make-broadcastable",
    "tosa-optional-decompositions",
    "analyze-kernels",
};

/* False: the pass refuses, with a diagnostic. */
static bool run_pass(Context *ctx, Op *module, const char *name)
{
    const PassDef *def = pass_find(driver_all_passes(), str_from(name));
    if (!def) return true;
    Pipeline *pipeline = pipeline_create(ctx, driver_all_passes(), "builtin.module");
    fuzz_check(pipeline_add(pipeline, def, NULL), "the pass is not accepted", str_from(name));
    size_t errors = diag_error_count(ctx);
    bool ok = pipeline_run(pipeline, module, &(RunOptions){.verify_each = false});
    fuzz_check(ok || diag_error_count(ctx) > errors, "a failure without a diagnostic",
               str_from(name));
    bool verifies = !ok || verify_op(module);
    fuzz_check(verifies || fuzz_is_known_change(str_from(name)), "the result does not verify",
               str_from(name));
    pipeline_free(pipeline);
    return ok && verifies;
}

static bool run_passes(Context *ctx, Op *module, const char *name)
{
    return run_pass(ctx, module, name) && run_pass(ctx, module, "canonicalize") &&
           run_pass(ctx, module, "cse");
}

/* The result's text; false: refused by the parser or a pass. */
static bool transform(FuzzContext *reused, Str text, const char *pass, StrBuf *out)
{
    Context *ctx = fuzz_context_take(reused);
    Op *module = parse_module(ctx, text, FUZZ_SOURCE, NULL);
    bool ok = module && fuzz_is_small(module, MOST_ELEMENTS) && run_passes(ctx, module, pass);
    if (ok) op_print(out, module, &PRINT_DEFAULT);
    if (module) op_erase(module);
    fuzz_context_give_back(reused);
    return ok;
}

void fuzz_passes(const uint8_t *data, size_t size)
{
    static FuzzContext first, second;
    if (size == 0) return;
    StrBuf result = {0};
    const char *pass = passes[data[0] % COUNT_OF(passes)];
    if (transform(&first, (Str){(const char *)data + 1, size - 1}, pass, &result))
        fuzz_check_text(&second, strbuf_str(&result));
    strbuf_free(&result);
}
