/* Quantization after training: calibration, the pass, and its report.
 *
 *   fold constants ─▶ run frames, note ranges ─▶ onnx-quantize ─▶ run frames again: errors by layer
 *                              └── copy: the float network ────────────────┘
 *
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */
#include <stdlib.h>

#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/internal.h"
#include "ir/pass/pass.h"
#include "sim/interp/interp.h"

void driver_quantize_options_free(QuantizeOptions *options)
{
    vec_free(&options->arrays);
}

/* Calls run for every frame. */
static bool each_frame(const PortFiles *ports, bool (*run)(void *user, Array *const *inputs),
                       void *user)
{
    bool ok = true;
    Array **inputs = xcalloc(ports->count, sizeof *inputs);
    for (int64_t frame = 0; ok && frame < ports->frames; frame++) {
        ok = driver_ports_enter(ports, frame, inputs) && run(user, inputs);
        for (uint32_t i = 0; i < ports->count; i++) {
            array_unref(inputs[i]);
            inputs[i] = NULL;
        }
    }
    free(inputs);
    return ok;
}

static bool run_calibration(void *user, Array *const *inputs)
{
    return calibration_run(user, inputs);
}

static bool calibrate(Op *func, const PortFiles *ports)
{
    Calibration *calibration = calibration_create(func);
    if (!calibration) return false;
    bool ok = each_frame(ports, run_calibration, calibration);
    calibration_finish(calibration, ok);
    return ok;
}

static bool run_noise(void *user, Array *const *inputs)
{
    return quant_noise_run(user, inputs);
}

/* copies: from the quantized function's values to the float one's. */
static bool print_noise(const Op *func, const Op *reference, const PtrMap *copies,
                        const PortFiles *ports, StrBuf *out)
{
    QuantNoise *noise = quant_noise_create(func, reference, copies);
    bool ok = noise && each_frame(ports, run_noise, noise);
    if (ok) quant_noise_print(noise, out);
    quant_noise_free(noise);
    return ok;
}

static bool quantize(Op *func, const QuantizeOptions *options, int64_t width,
                     const PortFiles *ports, StrBuf *report)
{
    PtrMap copies = {0};
    StrBuf passes = {0};
    strbuf_printf(&passes,
                  "func.func(onnx-quantize{width=%lld per-channel=%d power-of-two=%d "
                  "fixed-point=%d only-layers=%d})",
                  (long long)width, !options->per_tensor, options->power_of_two,
                  options->fixed_point, options->only != NULL);
    Op *reference = op_clone(func, &copies);
    bool ok = driver_run_passes(func, strbuf_str(&passes)) &&
              print_noise(func, reference, &copies, ports, report);
    op_erase(reference);
    ptrmap_free(&copies);
    strbuf_free(&passes);
    return ok;
}

static bool has_nodes(const Op *func)
{
    FOR_EACH_OP(op, func_entry(func)) {
        if (op->def && op->def->dialect == &onnx_dialect) return true;
    }
    return false;
}

bool driver_quantize(Op *module, const char *function, const QuantizeOptions *options,
                     DriverErrors errors, StrBuf *report)
{
    const StageOptions none = {0};
    if (!options->format) return true;
    if (!driver_run_stages(module, STAGE_FOLD, &none, NULL)) return false;
    if (options->fixed_point &&
        !driver_run_passes(module, STR("builtin.module(func.func(onnx-fold-batch-norm))")))
        return false;
    Op *func = driver_find_function(module, function, errors);
    if (!func) return false;
    if (func->def != FUNC(FUNC) || !has_nodes(func))
        return driver_error(errors, DRIVER_ERROR_QUANTIZE, "needs a network of ONNX operators");
    PortFiles ports = {0};
    int64_t width;
    bool ok = driver_set_widths(func, options->format, errors, &width) &&
              driver_ports_init(&ports, func, "calibration input", false, errors) &&
              driver_ports_assign(&ports, &options->arrays) && driver_ports_read(&ports) &&
              calibrate(func, &ports) && quantize(func, options, width, &ports, report);
    driver_ports_free(&ports);
    return ok;
}
