/* ming run FILE --input=x.npy --output=y.npy: the reference interpreter on arrays.
 *
 *   load ─▶ --quantize ─▶ --pass-pipeline ─▶ function ─▶ frames: enter, run, leave ─▶ write outputs
 *
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir, test/e2e/run_check.py */
#include <stdlib.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "driver/trace/trace.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "sim/interp/interp.h"
#include "tools/internal.h"

typedef struct RunFlags {
    Texts inputs, outputs;
    const char *function, *pipeline, *trace;
    OutputChecks checks;
    int64_t max_steps;
    ModelOptions model;
    QuantizeOptions quantize;
} RunFlags;

typedef struct Run {
    const Tool *tool;
    const RunFlags *flags;
    Op *func;
    Trace *trace; /* NULL: not asked for */
    PortFiles args, results;
} Run;

static bool write_output(const Run *run, const PortFile *port)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    npy_print(&port->npy, &bytes);
    bool ok = file_write(port->path, strbuf_str(&bytes), &reason);
    strbuf_free(&bytes);
    return ok || tool_error(run->tool, "error: cannot write '%s': %s", port->path, reason);
}

/* The first values of each frame, as scripts/npy.py shows them. */
static void print_output(const PortFile *port, int64_t frames)
{
    enum { SHOWN = 16 };
    StrBuf out = {0};
    const Npy *npy = &port->npy;
    int64_t size = frames > 0 ? npy->count / frames : 0;
    strbuf_add_c(&out, "Output");
    if (port->boundary.name.len > 0) strbuf_printf(&out, " %.*s", STR_ARG(port->boundary.name));
    for (uint32_t d = 0; d < npy->rank; d++)
        strbuf_printf(&out, "%c%lld", d == 0 ? ' ' : 'x', (long long)npy->dims[d]);
    strbuf_add_c(&out, ":\n");
    for (int64_t frame = 0; frame < frames; frame++) {
        strbuf_printf(&out, "  frame %lld:", (long long)frame);
        for (int64_t i = frame * size; i < (frame + 1) * size && i < frame * size + SHOWN; i++)
            if (npy->kind == 'f')
                strbuf_printf(&out, " %.9g", npy_get_f64(npy, i));
            else
                strbuf_printf(&out, " %lld", (long long)npy_get_i64(npy, i));
        if (size > SHOWN) strbuf_printf(&out, " ... %lld more", (long long)(size - SHOWN));
        strbuf_add_char(&out, '\n');
    }
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
}

static bool write_outputs(const Run *run)
{
    const RunFlags *flags = run->flags;
    bool is_quiet = flags->outputs.len > 0 || flags->trace || flags->checks.labels ||
                    flags->checks.expected.len > 0;
    for (uint32_t i = 0; !is_quiet && i < run->results.count; i++)
        print_output(&run->results.items[i], run->args.frames);
    for (uint32_t i = 0; i < run->results.count; i++)
        if (run->results.items[i].path && !write_output(run, &run->results.items[i])) return false;
    return true;
}

static bool leave(Run *run, int64_t frame, Array *const *results)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < run->results.count; i++)
        ok = boundary_leave(&run->results.items[i].boundary, results[i], frame, run->args.frames,
                            &run->results.items[i].npy, &why);
    if (!ok) tool_error(run->tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static bool run_frame(Run *run, Interp *interp, int64_t frame)
{
    uint32_t count = run->args.count + run->results.count;
    Array **inputs = xcalloc(count, sizeof *inputs), **results = inputs + run->args.count;
    bool ok = driver_ports_enter(&run->args, frame, inputs) &&
              interp_run(interp, inputs, results) && leave(run, frame, results);
    for (uint32_t i = 0; i < count; i++) array_unref(inputs[i]);
    free(inputs);
    return ok;
}

static bool run_frames(Run *run)
{
    Interp *interp = interp_create(run->func);
    bool ok = interp != NULL;
    if (ok) interp_limit_steps(interp, run->flags->max_steps);
    if (ok && run->flags->trace) {
        run->trace = trace_create(run->func, run->args.frames);
        ok = run->trace != NULL;
        if (ok) interp_watch(interp, trace_watch(run->trace));
    }
    for (int64_t frame = 0; ok && frame < run->args.frames; frame++) {
        progress_set(run->tool->progress, "frame %lld of %lld", (long long)frame + 1,
                     (long long)run->args.frames);
        if (run->trace) trace_begin_frame(run->trace, frame);
        ok = run_frame(run, interp, frame);
    }
    progress_stop(run->tool->progress);
    interp_free(interp);
    return ok;
}

static bool write_trace(const Run *run)
{
    StrBuf why = {0};
    bool ok = !run->trace || trace_write(run->trace, run->flags->trace, &why) ||
              tool_error(run->tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static bool run_module(Run *run, Op *module)
{
    const DriverErrors errors = tool_errors(run->tool);
    run->func = driver_find_function(module, run->flags->function, errors);
    bool ok = run->func && driver_ports_init(&run->args, run->func, "input", false, errors) &&
              driver_ports_init(&run->results, run->func, "output", true, errors) &&
              driver_ports_assign(&run->args, &run->flags->inputs) &&
              driver_ports_assign(&run->results, &run->flags->outputs) &&
              driver_ports_read(&run->args) && run_frames(run) && write_outputs(run) &&
              write_trace(run) &&
              tool_check_outputs(run->tool, &run->results, run->args.frames, &run->flags->checks);
    trace_free(run->trace);
    driver_ports_free(&run->args);
    driver_ports_free(&run->results);
    return ok;
}

static bool run_file(const Tool *tool, const RunFlags *flags, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    Run run = {.tool = tool, .flags = flags};
    if (!file_read(&bytes, path, &reason)) {
        strbuf_free(&bytes); /* some may have come */
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    }
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    progress_start(tool->progress, ctx, "reading the model");
    Op *module = driver_load_model(ctx, path, strbuf_str(&bytes), &flags->model);
    bool ok = module && tool_quantize(tool, &flags->quantize, module, flags->function) &&
              (!flags->pipeline || driver_run_passes(module, str_from(flags->pipeline))) &&
              run_module(&run, module);
    progress_stop(tool->progress);
    diag_flush(ctx);
    if (module) op_erase(module);
    context_destroy(ctx);
    strbuf_free(&bytes);
    return ok;
}

static bool check_flags(const Tool *tool, const RunFlags *flags)
{
    return flags->max_steps >= 0 ||
           tool_error(tool, "error: --max-steps takes a number of ops, or 0");
}

int command_run(int argc, char **argv)
{
    RunFlags run = {.max_steps = INTERP_MAX_STEPS};
    Flags flags = {0};
    FLAGS_ADD(&flags,
              {"input", FLAG_TEXTS, &run.inputs, "[name=]file.npy",
               "Array of an argument, in order unless named; several frames run one by one", NULL},
              {"output", FLAG_TEXTS, &run.outputs, "[name=]file.npy",
               "Where a result is written; without, values are printed", NULL},
              {"expected", FLAG_TEXTS, &run.checks.expected, "[name=]file.npy",
               "What a result should be; prints how it differs, and exits with 1 if it does", NULL},
              {"labels", FLAG_TEXT, &run.checks.labels, "file.npy",
               "Right index for each frame; prints how often the first result is greatest there, "
               "and among the five greatest",
               NULL},
              {"trace", FLAG_TEXT, &run.trace, "dir",
               "Write what each op gives to a .npy file, with an index.json", NULL},
              {"function", FLAG_TEXT, &run.function, "name",
               "Function, default the first public one", NULL},
              {"pass-pipeline", FLAG_TEXT, &run.pipeline, "text", "Passes to run before", NULL},
              {"max-steps", FLAG_INT, &run.max_steps, "n",
               "Ops of a frame after which it stops, default 2^26; 0: no limit", NULL});
    flags_add_model(&flags, &run.model);
    flags_add_quantize(&flags, &run.quantize);
    Progress progress = {0};
    const Tool tool = {
        .name = "ming run",
        .progress = &progress,
        .summary = "ming run: executes a model or module with the reference interpreter",
        .usage = "FILE(.onnx|.mir|.mlir) --input=x.npy… --output=y.npy…",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "file", &path);
    bool ok = args == ARGS_DONE ||
              (args == ARGS_RUN && check_flags(&tool, &run) && run_file(&tool, &run, path));
    vec_free(&run.inputs);
    vec_free(&run.outputs);
    vec_free(&run.checks.expected);
    driver_model_options_free(&run.model);
    driver_quantize_options_free(&run.quantize);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
