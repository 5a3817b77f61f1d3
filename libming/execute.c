/* Models in the interpreter, designs in the simulation.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <stdlib.h>

#include "driver/run/run.h"
#include "ir/asm/print/print.h"
#include "libming/internal.h"

/* In this process alone: it is the caller's, who may have threads. */
static ming_result *run_module(ming_context *owner, Op *module, const RunSettings *settings,
                               const ming_array *const *inputs, size_t count)
{
    const DriverErrors errors = lib_errors(owner);
    FunctionRun run = {.errors = errors,
                       .func = driver_find_function(module, settings->function, errors),
                       .max_steps = settings->max_steps,
                       .jobs = 1};
    bool ok = run.func && run_begin(&run) && lib_give_arrays(owner, &run.args, inputs, count) &&
              run_frames(&run);
    ming_result *result = ok ? lib_result(&run.results) : NULL;
    run_free(&run);
    return result;
}

/* Quantizes the module and runs passes on it, as the options say. */
static bool prepare(ming_context *owner, Op *module, const ming_options *options)
{
    StrBuf why = {0}, report = {0};
    const QuantizeOptions *quantize = &options->compile.quantize;
    bool ok = flags_check_quantize(quantize, &why) || lib_error(owner, "%s", why.data);
    ok = ok &&
         (options->run.max_steps >= 0 ||
          lib_error(owner, "--max-steps takes a number of ops, or 0")) &&
         driver_quantize(module, options->run.function, quantize, lib_errors(owner), &report) &&
         (!options->run.pipeline || driver_run_passes(module, str_from(options->run.pipeline)));
    if (report.len > 0) lib_remark(owner, strbuf_str(&report));
    strbuf_free(&why);
    strbuf_free(&report);
    return ok;
}

ming_result *ming_run(const ming_module *model, const ming_options *options,
                      const ming_array *const *inputs, size_t count)
{
    static const RunSettings defaults = {.max_steps = INTERP_MAX_STEPS};
    if (!model) return NULL;
    ming_context *owner = model->owner;
    ming_result *result = NULL;
    lib_enter(owner);
    bool ok = lib_check_command(owner, options, COMMAND_RUN);
    Op *changed = ok && options ? op_clone(model->op, NULL) : NULL;
    ok = ok && (!changed || prepare(owner, changed, options));
    if (ok)
        result = run_module(owner, changed ? changed : model->op,
                            options ? &options->run : &defaults, inputs, count);
    diag_flush(owner->ctx);
    if (changed) op_erase(changed);
    lib_leave(owner);
    return result;
}

static bool check_settings(ming_context *owner, const SimulationSettings *settings, bool has_data)
{
    bool gives_frames = settings->frames != LIMIT_NOT_GIVEN;
    if ((gives_frames && settings->frames < 1) || settings->clock < 0)
        return lib_error(owner, "--frames and --clock take a positive number");
    if (gives_frames && has_data)
        return lib_error(owner, "the inputs say how many frames there are, --frames too");
    if (settings->seed >= 0 && !settings->input_rate && !settings->output_rate)
        return lib_error(owner, "--seed pauses ports at random; it needs --input-rate or "
                                "--output-rate");
    return settings->max_events >= 0 ||
           lib_error(owner, "--max-events takes a number of reads and writes, or 0");
}

ming_result *ming_simulate(const ming_module *design, const ming_options *options,
                           const ming_array *const *inputs, size_t count)
{
    static const SimulationSettings defaults = SIMULATION_DEFAULTS;
    if (!design) return NULL;
    ming_context *owner = design->owner;
    const SimulationSettings *settings = options ? &options->sim : &defaults;
    Simulation s = {.settings = settings, .errors = lib_errors(owner)};
    ming_result *result = NULL;
    lib_enter(owner);
    bool ok = lib_check_command(owner, options, COMMAND_SIM) &&
              check_settings(owner, settings, count > 0) && simulation_begin(&s, design->op) &&
              (count == 0 || (simulation_open_data(&s, true) &&
                              lib_give_arrays(owner, &s.inputs, inputs, count))) &&
              simulation_run(&s);
    if (ok) {
        StrBuf report = {0};
        hls_sim_print_json(s.design, s.sim, &report);
        result = lib_result(&s.outputs);
        lib_result_set_report(result, strbuf_str(&report));
        strbuf_free(&report);
    }
    simulation_free(&s);
    lib_leave(owner);
    return result;
}
