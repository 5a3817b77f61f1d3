/* Calibration: finds the least and the greatest element of every float that a network computes.
 *
 *   frame ─▶ interpreter ─▶ watch: each op's results widen its ranges ─▶ onnx.range
 *
 * A value that is not finite has no range and is refused at the op that computes it first.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"
#include "sim/interp/interp.h"

struct Calibration {
    Op *func;
    Interp *interp;
    Arena arena;
    ValueRange *args;
    PtrMap ranges; /* Op* -> ValueRange *, one per result, of the arena */
    int64_t frame; /* number of the one that runs */
};

/* Widens a range; false: an element is not finite. Of no floats the range stays. */
static bool widen(ValueRange *range, const Array *array, bool is_first)
{
    if (!array_is_float(array)) return true;
    for (int64_t i = 0; i < array->count; i++) {
        double x = array_get_f64(array, i);
        if (!isfinite(x)) return false;
        if (is_first && i == 0) *range = (ValueRange){x, x};
        range->low = x < range->low ? x : range->low;
        range->high = x > range->high ? x : range->high;
    }
    return true;
}

static bool see(void *user, const Op *op, Array *const *results)
{
    Calibration *calibration = user;
    ValueRange *ranges = ptrmap_get(&calibration->ranges, op);
    for (uint32_t i = 0; ranges && i < op->result_count; i++)
        if (results[i] && !widen(&ranges[i], results[i], calibration->frame == 0))
            return onnx_error(op, "gives a value that is not finite in frame %lld of calibration",
                              (long long)calibration->frame);
    return true;
}

Calibration *calibration_create(Op *func)
{
    Interp *interp = interp_create(func);
    if (!interp) return NULL;
    Calibration *calibration = xcalloc(1, sizeof *calibration);
    calibration->func = func;
    calibration->interp = interp;
    arena_init(&calibration->arena);
    calibration->args =
        ARENA_ARRAY(&calibration->arena, ValueRange, func_type(func)->u.function.input_count);
    FOR_EACH_OP(op, func_entry(func)) {
        if (onnx_is_node(op))
            ptrmap_put(&calibration->ranges, op,
                       ARENA_ARRAY(&calibration->arena, ValueRange, op->result_count));
    }
    interp_watch(interp, (InterpWatch){calibration, see});
    return calibration;
}

bool calibration_run(Calibration *calibration, Array *const *inputs)
{
    const Op *func = calibration->func;
    const Type *type = func_type(func);
    for (uint32_t i = 0; i < type->u.function.input_count; i++)
        if (!widen(&calibration->args[i], inputs[i], calibration->frame == 0))
            return op_error(func,
                            "argument %u has an element that is not finite in frame %lld of "
                            "calibration",
                            i, (long long)calibration->frame);
    Array **results = xcalloc(type->u.function.result_count, sizeof *results);
    bool ok = interp_run(calibration->interp, inputs, results);
    for (uint32_t i = 0; i < type->u.function.result_count; i++) array_unref(results[i]);
    free(results);
    calibration->frame++;
    return ok;
}

void calibration_finish(Calibration *calibration, bool keep)
{
    if (keep) {
        onnx_set_arg_ranges(calibration->func, calibration->args);
        FOR_EACH_OP(op, func_entry(calibration->func)) {
            if (onnx_is_node(op)) onnx_set_result_ranges(op, ptrmap_get(&calibration->ranges, op));
        }
    }
    interp_free(calibration->interp);
    ptrmap_free(&calibration->ranges);
    arena_free(&calibration->arena);
    free(calibration);
}
