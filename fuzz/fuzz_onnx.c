/* libFuzzer target for the ONNX importer and what follows it: a file is refused with exactly one
 * diagnostic, or becomes a module that verifies before and after each pass of the integer path.
 * A pass that refuses says so once, too. `fuzz/run fuzz_onnx` builds seeds and runs it in a build
 * with -Dfuzz=true; test/e2e/gen_models.py writes more good seeds. */
#include <stdio.h>
#include <stdlib.h>

#include "dialects/dialects.h"
#include "import/import.h"
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"
#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "passes/onnx/passes.h"

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

static void check(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Models whose tensors are small: the passes take time in proportion to them. */
static bool is_small(Op *op, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < op->result_count; i++) {
        int64_t count;
        if (type_is_static(op_result(op, i)->type) &&
            (!type_element_count(op_result(op, i)->type, &count) || count > 1 << 16))
            return false;
    }
    return true;
}

static bool run_pass(Context *ctx, const PassDef *def, Op *module)
{
    Pipeline *pipeline = pipeline_create(ctx, NULL, "builtin.module");
    check(pipeline_add(pipeline, def, NULL), "the pass is not accepted");
    size_t errors = diag_error_count(ctx);
    bool ok = pipeline_run(pipeline, module, &(RunOptions){.verify_each = true});
    errors = diag_error_count(ctx) - errors;
    check(errors == (ok ? 0 : 1), "not one diagnostic for each failure of a pass");
    pipeline_free(pipeline);
    return ok;
}

static void run_passes(Context *ctx, Op *module)
{
    if (!op_walk(module, is_small, NULL)) return;
    (void)(run_pass(ctx, &pass_onnx_decompose, module) &&
           run_pass(ctx, &pass_onnx_fold_constants, module) &&
           run_pass(ctx, &pass_onnx_infer_shapes, module) &&
           run_pass(ctx, &pass_convert_onnx_to_linalg, module));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_set_handler(ctx, swallow, NULL, NULL, NULL);
    Op *module = import_onnx(ctx, (Str){(const char *)data, size}, STR("fuzz.onnx"), NULL);
    check(diag_error_count(ctx) == (module ? 0 : 1), "not one diagnostic for a refused file");
    if (module) {
        run_passes(ctx, module);
        op_erase(module);
    }
    context_destroy(ctx);
    return 0;
}
