/* Quantization after training: calibration, the pass, and its report.
 *
 *   fold constants ─▶ run frames, note ranges ─▶ onnx-quantize ─▶ run frames again: errors by layer
 *                              └── copy: the float network ────────────────┘
 *
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */
#include <stdlib.h>

#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/driver.h"
#include "ir/pass/pass.h"
#include "sim/interp/interp.h"

void model_quantize_options_free(QuantizeOptions *options)
{
    vec_free(&options->arrays);
}

static bool run_passes(Op *op, Str text)
{
    Pipeline *pipeline = pipeline_from_text(op->ctx, driver_all_passes(), text);
    bool ok = pipeline && pipeline_run(pipeline, op, &(RunOptions){.verify_each = true});
    if (pipeline) pipeline_free(pipeline);
    return ok;
}

/* Calls run for every frame. */
static bool each_frame(const PortFiles *ports, bool (*run)(void *user, Array *const *inputs),
                       void *user)
{
    bool ok = true;
    Array **inputs = xcalloc(ports->count, sizeof *inputs);
    for (int64_t frame = 0; ok && frame < ports->frames; frame++) {
        ok = ports_enter(ports, frame, inputs) && run(user, inputs);
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
static bool report(const Op *func, const Op *reference, const PtrMap *copies,
                   const PortFiles *ports)
{
    QuantNoise *noise = quant_noise_create(func, reference, copies);
    bool ok = noise && each_frame(ports, run_noise, noise);
    if (ok) {
        StrBuf out = {0};
        quant_noise_print(noise, &out);
        fwrite(out.data, 1, out.len, stderr);
        strbuf_free(&out);
    }
    quant_noise_free(noise);
    return ok;
}

static bool quantize(Op *func, const QuantizeOptions *options, const PortFiles *ports)
{
    PtrMap copies = {0};
    StrBuf passes = {0};
    strbuf_printf(&passes, "func.func(onnx-quantize{per-channel=%d power-of-two=%d})",
                  !options->per_tensor, options->power_of_two);
    Op *reference = op_clone(func, &copies);
    bool ok = run_passes(func, strbuf_str(&passes)) && report(func, reference, &copies, ports);
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

static bool check_options(const Tool *tool, const QuantizeOptions *options)
{
    if (options->format && options->arrays.len == 0)
        return tool_error(tool, "error: --quantize needs --calibrate=file.npy");
    if (!options->format && options->arrays.len > 0)
        return tool_error(tool, "error: --calibrate needs --quantize=int8");
    if (!options->format && (options->per_tensor || options->power_of_two))
        return tool_error(tool, "error: --quantize-%s needs --quantize=int8",
                          options->per_tensor ? "per-tensor" : "power-of-two");
    return true;
}

bool model_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                    const char *function)
{
    if (!check_options(tool, options)) return false;
    if (!options->format) return true;
    if (!run_passes(module, STR("builtin.module(func.func(onnx-fold-constants,onnx-decompose,"
                                "onnx-fold-constants,onnx-infer-shapes))")))
        return false;
    Op *func = ports_find_function(tool, module, function);
    if (!func) return false;
    if (func->def != FUNC(FUNC) || !has_nodes(func))
        return tool_error(tool, "error: --quantize needs a network of ONNX operators");
    PortFiles ports = {0};
    bool ok = ports_init(&ports, tool, func, "calibration input", false) &&
              ports_assign(&ports, &options->arrays) && ports_read(&ports) &&
              calibrate(func, &ports) && quantize(func, options, &ports);
    ports_free(&ports);
    return ok;
}
