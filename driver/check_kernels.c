/* Layers of modules without onnx ops: ops of linalg, tosa and tensor in the functions. What they
 * cost is counted on a copy in which all of them are linalg.generic.
 * Tests: lit/driver/ming-check-linalg.mir, lit/driver/ming-check-tosa.mir */
#include "analysis/analysis.h"
#include "dialects/linalg/linalg.h"
#include "dialects/onnx/onnx.h"
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/tosa.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

bool driver_is_layer(const Op *op)
{
    if (onnx_is_node(op)) return true;
    if (!op->def || op_has_trait(op, TRAIT_CONSTANT_LIKE)) return false;
    if (linalg_is_structured(op)) return op->def != LINALG(FILL);
    return op->def->dialect == &tosa_dialect ||
           (op->def->dialect == &tensor_dialect && op->def != TENSOR(EMPTY));
}

void driver_layer_name(const Op *op, size_t number, StrBuf *out)
{
    Str name = layer_name_source(op);
    if (name.len == 0) name = loc_find_name(op->loc);
    if (onnx_is_node(op))
        strbuf_add_str(out, onnx_node_name(op));
    else if (name.len > 0)
        strbuf_add_str(out, name);
    else
        strbuf_printf(out, "%s_%zu", op->def->name, number);
}

static int64_t count_parameters(const Op *generic)
{
    int64_t sum = 0, count;
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        const Value *value = op_operand(generic, i);
        if (type_is_tensor(value->type) && type_is_static(value->type) && fold_constant_of(value) &&
            type_element_count(value->type, &count))
            sum += count;
    }
    return sum;
}

static bool count_kernel(Op *op, void *user)
{
    CheckLayer *layer = driver_check_layer(user, op->loc);
    if (!layer || op->def != LINALG(GENERIC)) return true;
    int64_t macs = kernel_macs(op);
    if (macs < 0 || layer->macs < 0 || !i64_add(layer->macs, macs, &layer->macs)) layer->macs = -1;
    layer->parameters += count_parameters(op);
    return true;
}

/* What the passes say of layers that they refuse is found out later. */
void driver_check_count_kernels(Check *check, Op *module)
{
    DiagHold messages;
    Op *copy = op_clone(module, NULL);
    diag_hold_begin(&messages, module->ctx);
    const StageOptions options = {.compile = &(CompileOptions){0}, .keeps_going = true};
    if (driver_run_stages(copy, STAGE_TO_LINALG | STAGE_GENERALIZE, &options, NULL)) {
        for (size_t i = 0; i < check->count; i++)
            check->layers[i].macs = check->layers[i].parameters = 0;
        op_walk(copy, count_kernel, check);
    }
    for (size_t i = 0; i < check->count; i++) check->layers[i].is_alive = true;
    diag_hold_end(&messages);
    diag_hold_free(&messages);
    op_erase(copy);
}
