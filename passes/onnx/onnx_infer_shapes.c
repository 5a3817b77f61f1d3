/* onnx-infer-shapes: gives every onnx op, in order, the static result types that follow from its
 * operands.
 * Requires: static argument types.
 * Changes: types of results, the function's type.
 * Preserves: ops and their order.
 * Tests: lit/passes/onnx/onnx-infer-shapes.mir */
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "passes/onnx/internal.h"
#include "passes/onnx/passes.h"

bool onnx_update_types(Pass *pass, Op *op)
{
    const Type **types = ARENA_ARRAY(&pass->scratch, const Type *, op->result_count);
    StrBuf why = {0};
    bool ok = onnx_infer(op, types, &why) || onnx_error(op, "%s", why.data);
    strbuf_free(&why);
    for (uint32_t i = 0; ok && i < op->result_count; i++)
        if (type_is_static(types[i])) op->results[i].type = types[i];
    return ok;
}

void onnx_update_signature(Pass *pass, Op *func, const Op *ret)
{
    const Type *old = func_type(func);
    const Type **results = ARENA_ARRAY(&pass->scratch, const Type *, ret->operand_count);
    for (uint32_t i = 0; i < ret->operand_count; i++) results[i] = op_operand(ret, i)->type;
    func_set_type(func, type_function(func->ctx, old->u.function.types, old->u.function.input_count,
                                      results, ret->operand_count));
}

static bool infer_node(Pass *pass, Op *op)
{
    if (!onnx_update_types(pass, op)) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (type_is_tensor(op_result(op, i)->type) && !type_is_static(op_result(op, i)->type))
            return onnx_error(op, "has a result of unknown shape");
    return true;
}

static bool onnx_infer_shapes(Pass *pass, Op *func)
{
    FOR_EACH_BLOCK(block, op_region(func, 0)) {
        FOR_EACH_OP(op, block) {
            if (op->def && op->def->dialect == &onnx_dialect && !infer_node(pass, op)) return false;
            if (op->def == FUNC(RETURN)) onnx_update_signature(pass, func, op);
        }
    }
    return true;
}

const PassDef pass_onnx_infer_shapes = {
    .name = "onnx-infer-shapes",
    .summary = "Give every onnx op its static result types",
    .anchor = "func.func",
    .run = onnx_infer_shapes,
};
