/* Fuzz target for the ONNX importer and what follows it: a file is refused with exactly one
 * diagnostic, or becomes a module that verifies before and after each pass of the integer path.
 * A pass that refuses says so once, too. `fuzz/run fuzz_onnx` builds seeds and runs it in a build
 * with -Dfuzz=true; test/e2e/gen_models.py writes more good seeds. */
#include "fuzz/fuzz_support.h"
#include "import/import.h"
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"
#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "passes/onnx/passes.h"

enum { MOST_ELEMENTS = 1 << 16 };

static bool run_pass(Context *ctx, const PassDef *def, Op *module)
{
    Pipeline *pipeline = pipeline_create(ctx, NULL, "builtin.module");
    fuzz_check(pipeline_add(pipeline, def, NULL), "the pass is not accepted", STR(""));
    size_t errors = diag_error_count(ctx);
    bool ok = pipeline_run(pipeline, module, &(RunOptions){.verify_each = true});
    errors = diag_error_count(ctx) - errors;
    fuzz_check(errors == (ok ? 0 : 1), "not one diagnostic for each failure of a pass", STR(""));
    pipeline_free(pipeline);
    return ok;
}

static void run_passes(Context *ctx, Op *module)
{
    if (!fuzz_is_small(module, MOST_ELEMENTS)) return;
    (void)(run_pass(ctx, &pass_onnx_decompose, module) &&
           run_pass(ctx, &pass_onnx_fold_constants, module) &&
           run_pass(ctx, &pass_onnx_infer_shapes, module) &&
           run_pass(ctx, &pass_convert_onnx_to_linalg, module));
}

void fuzz_onnx(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    Context *ctx = fuzz_context_take(&reused);
    size_t errors = diag_error_count(ctx);
    Op *module = import_onnx(ctx, (Str){(const char *)data, size}, FUZZ_SOURCE, NULL);
    fuzz_check(diag_error_count(ctx) - errors == (module ? 0 : 1),
               "not one diagnostic for a refused file", STR(""));
    if (module) {
        run_passes(ctx, module);
        op_erase(module);
    }
    fuzz_context_give_back(&reused);
}
