/* Evaluators of arith and math: constants (tosa's too), and elementwise ops on scalars and tensors.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include "dialects/arith/arith.h"
#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

static bool prepare_constant(Interp *interp, InterpStep *step)
{
    (void)interp;
    step->state = array_from_attr(op_attr(step->op, "value"));
    return step->state ||
           interp_step_unsupported(step->op, "its elements are not there or not numbers");
}

static bool eval_constant(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    (void)interp;
    (void)inputs;
    results[0] = array_ref(step->state);
    return true;
}

static void release_constant(void *state)
{
    array_unref(state);
}

static bool prepare_elementwise(Interp *interp, InterpStep *step)
{
    (void)interp;
    if (!vm_has_instr(step->op))
        return interp_step_unsupported(step->op, "it casts more than signs of integers");
    step->state = vm_payload_of_op(step->op);
    return true;
}

/* The type of a result: that of an operand of more than a scalar, with the result's elements. */
static const Type *shape_like(const InterpStep *step, Array **inputs, const Type *elem)
{
    const Type *type = inputs[0]->type;
    for (uint32_t i = 1; i < step->op->operand_count; i++)
        if (type->u.shaped.rank == 0) type = inputs[i]->type;
    return type_with_elem(type, elem);
}

static bool shapes_agree(const InterpStep *step, Array **inputs, const Type *shape)
{
    for (uint32_t i = 0; i < step->op->operand_count; i++) {
        const Type *type = inputs[i]->type;
        if (type->u.shaped.rank > 0 && type_with_elem(type, shape->u.shaped.elem) != shape)
            return op_error(step->op, "has operands of different shapes: '%s' and '%s'",
                            type_str(step->op->ctx, type), type_str(step->op->ctx, shape));
    }
    return true;
}

static bool eval_elementwise(Interp *interp, const InterpStep *step, Array **inputs,
                             Array **results)
{
    const Op *op = step->op;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Type *type = shape_like(step, inputs, type_elem(op_result(op, i)->type));
        if (!shapes_agree(step, inputs, type)) return false;
        results[i] = interp_new_array(interp, op, type);
        if (!results[i]) return false;
    }
    return vm_payload_start(step->state, NULL) &&
           vm_nest_run_flat(op, step->state, inputs, op->operand_count, results, op->result_count,
                            &interp->scratch);
}

static void release_elementwise(void *state)
{
    vm_payload_free(state);
}

const Evaluator *interp_scalar_evaluator(const OpDef *def)
{
    static const Evaluator constant = {eval_constant, prepare_constant, release_constant};
    static const Evaluator elementwise = {eval_elementwise, prepare_elementwise,
                                          release_elementwise};
    if (def == ARITH(CONSTANT) || def == TOSA(CONST)) return &constant;
    return vm_instr_fn(def) ? &elementwise : NULL;
}
