/* Evaluators of onnx. The operators themselves are in dialects/onnx/onnx.h; this file keeps the
 * constants and reports errors at the node.
 * Tests: test/e2e/run_check.py */
#include "dialects/onnx/onnx.h"
#include "sim/interp/internal.h"

static bool prepare(Interp *interp, InterpStep *step)
{
    const Op *op = step->op;
    (void)interp;
    const Attr *value = op->result_count == 1 ? onnx_constant(op_result(op, 0)) : NULL;
    if (value) step->state = array_from_attr(value);
    return step->state || op->def == ONNX(NO_VALUE) || onnx_can_eval(op) ||
           onnx_error(op, "cannot be interpreted");
}

static bool eval(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    StrBuf why = {0};
    if (step->op->def == ONNX(NO_VALUE)) return true;
    if (step->state) {
        results[0] = array_ref(step->state);
        return true;
    }
    bool ok = onnx_eval(step->op, inputs, interp->max_elements, results, &why);
    if (!ok) onnx_error(step->op, "%s", why.data ? why.data : "has no value");
    strbuf_free(&why);
    return ok;
}

static void release(void *state)
{
    array_unref(state);
}

const Evaluator *interp_onnx_evaluator(const OpDef *def)
{
    static const Evaluator evaluator = {eval, prepare, release};
    return def->dialect == &onnx_dialect ? &evaluator : NULL;
}
