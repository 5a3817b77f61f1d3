/* Evaluators of the ops that hold a program together: calls, assertions, globals.
 * Tests: lit/tools/ming-run.mir */
#include "dialects/cf/cf.h"
#include "dialects/func/func.h"
#include "dialects/ml_program/ml_program.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"

static bool prepare_call(Interp *interp, InterpStep *step)
{
    const Op *callee = symtabs_lookup(interp->tables, step->op, op_attr(step->op, "callee"));
    if (!callee || !op_has_trait(callee, TRAIT_FUNCTION))
        return interp_step_unsupported(step->op, "it calls no function");
    step->state = interp_function_code(interp, callee);
    return step->state != NULL;
}

static bool eval_call(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    return interp_function_run(interp, step->state, inputs, results);
}

static bool eval_assert(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    (void)interp;
    (void)results;
    Str text = op_attr(step->op, "msg")->u.string;
    return array_get_i64(inputs[0], 0) || op_error(step->op, "failed: %.*s", STR_ARG(text));
}

static bool prepare_global(Interp *interp, InterpStep *step)
{
    const Op *global = symtabs_lookup(interp->tables, step->op, op_attr(step->op, "global"));
    const Attr *value = global ? op_attr(global, "value") : NULL;
    if (!value) return interp_step_unsupported(step->op, "the global's value is not given");
    if (value->type != op_result(step->op, 0)->type)
        return interp_step_unsupported(step->op, "the global's value is of another type");
    step->state = array_from_attr(value);
    return step->state ||
           interp_step_unsupported(step->op, "the global's value is no list of elements");
}

static bool eval_global(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    (void)interp;
    (void)inputs;
    results[0] = array_ref(step->state);
    return true;
}

static void release_global(void *state)
{
    array_unref(state);
}

const Evaluator *interp_module_evaluator(const OpDef *def)
{
    static const Evaluator call = {eval_call, prepare_call, NULL};
    static const Evaluator assertion = {eval_assert, NULL, NULL};
    static const Evaluator global = {eval_global, prepare_global, release_global};
    if (def == FUNC(CALL)) return &call;
    if (def == CF(ASSERT)) return &assertion;
    return def == ML_PROGRAM(GLOBAL_LOAD_CONST) ? &global : NULL;
}
