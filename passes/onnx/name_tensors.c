/* name-tensors: notes which tensor of the network each op gives, as `ming run --trace` calls it, so
 * that the streams of a design can be compared with the network's tensors.
 *   onnx ops  ->  onnx.tensors, which convert-onnx-to-linalg turns into dfg.tensors
 *   structured ops of linalg, and ops of tosa, with one result  ->  dfg.tensors, which the
 *   lowerings of tosa hand on
 * The module gets the list of all names.
 * Changes: attributes only.
 * Tests: lit/passes/onnx/name-tensors.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/onnx/onnx.h"
#include "dialects/tosa/tosa.h"
#include "passes/onnx/passes.h"

typedef struct Naming {
    VEC(const Attr *) all;
    VEC(const Attr *) own; /* of the op's results so far */
} Naming;

static bool carries_note(const Op *op)
{
    bool is_tosa = op->def && op->def->dialect == &tosa_dialect;
    return (is_tosa || linalg_is_structured(op)) && op->result_count == 1 &&
           op_result(op, 0)->type->kind == TYPE_RANKED_TENSOR &&
           type_is_static(op_result(op, 0)->type);
}

static void name_tensor(void *user, Op *op, uint32_t result, Str name)
{
    Naming *n = user;
    const Attr *text = attr_string(op->ctx, name);
    *vec_push(&n->all) = text;
    if (result == 0) n->own.len = 0;
    *vec_push(&n->own) = text;
    if (result + 1 < op->result_count) return;
    if (op->def && op->def->dialect == &onnx_dialect) {
        op_set_attr(op, ONNX_ATTR_TENSORS, attr_array(op->ctx, n->own.data, n->own.len));
    } else if (carries_note(op)) {
        const Type *type = op_result(op, 0)->type, *elem = type_elem(type);
        bool is_unsigned = type_is_integer(elem) && elem->u.integer.sign == UNSIGNED;
        const Attr *quant = is_unsigned ? dfg_quant_integers(op->ctx, false) : NULL,
                   *tensor = dfg_tensor(op->ctx, name, type, quant);
        op_set_attr(op, DFG_ATTR_TENSORS, dfg_tensors_add(NULL, tensor));
    }
}

static bool name_tensors(Pass *pass, Op *module)
{
    Naming n = {0};
    (void)pass;
    FOR_EACH_INNER(op, module)
        if (op->def == FUNC(FUNC) && func_entry(op)) tensor_names_each(op, name_tensor, &n);
    if (n.all.len > 0)
        op_set_attr(module, DFG_ATTR_TENSORS, attr_array(module->ctx, n.all.data, n.all.len));
    vec_free(&n.all);
    vec_free(&n.own);
    return true;
}

const PassDef pass_name_tensors = {
    .name = "name-tensors",
    .summary = "Note which tensor of the network each op gives",
    .anchor = "builtin.module",
    .run = name_tensors,
};
