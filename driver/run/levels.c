/* The levels to which a network's own quantizers take the floats of an argument, so that integers
 * that are meant as levels are found out (boundary_doubt).
 * Tests: lit/tools/ming-run-integers.mir */
#include "dialects/func/func.h"
#include "driver/run/internal.h"

/* Levels of a Quant with one scale. */
static bool quant_levels(const Op *op, Boundary *out)
{
    Quantizer quant;
    StrBuf why = {0};
    bool ok = onnx_quantizer(op, &quant, &why) && onnx_dense_uniform(quant.scales, &out->scale);
    strbuf_free(&why);
    if (!ok) return false;
    out->zero = quant.zero;
    out->low = quant.low;
    out->high = quant.high;
    out->rounding = quant.rounding;
    out->is_bipolar = quant.is_bipolar;
    return true;
}

/* Of a QuantizeLinear. */
static bool linear_levels(const Op *op, Boundary *out)
{
    const Type *elem = type_elem(op_result(op, 0)->type);
    const Attr *scale = onnx_constant(op_operand(op, 1)),
               *zero = op->operand_count > 2 ? onnx_constant(op_operand(op, 2)) : NULL;
    double zero_point = 0;
    if (!scale || !onnx_dense_uniform(scale, &out->scale) || !type_is_integer(elem) ||
        type_width(elem) > 32 || (zero && !onnx_dense_uniform(zero, &zero_point)))
        return false;
    uint32_t bits = type_width(elem);
    bool is_unsigned = elem->u.integer.sign == UNSIGNED;
    out->low = is_unsigned ? 0 : -((int64_t)1 << (bits - 1));
    out->high = out->low + (((int64_t)1 << bits) - 1);
    out->zero = (int64_t)zero_point;
    return true;
}

void run_find_levels(FunctionRun *run)
{
    const Block *entry = func_entry(run->func);
    PortFiles *args = &run->args;
    run->levels = xcalloc(args->count, sizeof *run->levels);
    for (uint32_t i = 0; i < args->count; i++) {
        const Value *arg = entry->args[i];
        Boundary levels = args->items[i].boundary;
        if (levels.is_quantized || !type_is_float(type_elem(arg->type)) || !value_has_one_use(arg))
            continue;
        const Op *user = arg->uses->owner;
        levels.is_quantized = (user->def == ONNX(QUANT) && quant_levels(user, &levels)) ||
                              (user->def == ONNX(QUANTIZE_LINEAR) && linear_levels(user, &levels));
        if (!levels.is_quantized) continue;
        run->levels[i] = levels;
        args->items[i].levels = &run->levels[i];
    }
}
