/* ming run FILE --input=x.npy --output=y.npy: the reference interpreter on arrays.
 *
 *   load ─▶ --quantize ─▶ --pass-pipeline ─▶ function ─▶ frames (driver/run) ─▶ check, write outputs
 *
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir, test/e2e/run_check.py */
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#include <stdlib.h>

#include "dialects/dialects.h"
#include "driver/run/run.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "tools/internal.h"

typedef struct RunFlags {
    Texts inputs, outputs;
    const char *function, *pipeline, *trace;
    OutputChecks checks;
    int64_t max_steps, jobs;
    ModelOptions model;
    QuantizeOptions quantize;
} RunFlags;

typedef struct Run {
    const Tool *tool;
    const RunFlags *flags;
    FunctionRun function;
} Run;

static bool write_output(const Run *run, const PortFile *port)
{
    StrBuf bytes = {0};
    npy_print(&port->npy, &bytes);
    bool ok = tool_write(run->tool, port->path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    return ok;
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
    const PortFiles *results = &run->function.results;
    bool is_quiet = flags->outputs.len > 0 || flags->trace || flags->checks.labels ||
                    flags->checks.expected.len > 0;
    for (uint32_t i = 0; !is_quiet && i < results->count; i++)
        print_output(&results->items[i], run->function.args.frames);
    for (uint32_t i = 0; i < results->count; i++)
        if (results->items[i].path && !write_output(run, &results->items[i])) return false;
    return true;
}

static bool write_trace(const Run *run)
{
    StrBuf why = {0};
    bool ok = !run->flags->trace || trace_write(run->function.trace, run->flags->trace, &why) ||
              tool_error(run->tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

/* What differs is told before anything is written. */
static bool finish(const Run *run)
{
    const FunctionRun *f = &run->function;
    OutputVerdict verdict =
        tool_check_outputs(run->tool, &f->results, f->args.frames, &run->flags->checks);
    return verdict != OUTPUTS_UNKNOWN && write_outputs(run) && write_trace(run) &&
           verdict == OUTPUTS_RIGHT;
}

static void show_frame(void *user, int64_t frame, int64_t frames)
{
    const Run *run = user;
    progress_set(run->tool->progress, "frame %lld of %lld", (long long)frame + 1,
                 (long long)frames);
}

/* One for each processor that this process may run on, unless it is said. */
static int64_t job_count(const RunFlags *flags)
{
    cpu_set_t processors;
    if (flags->jobs > 0) return flags->jobs;
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 1; /* more than 1,024 */
    return CPU_COUNT(&processors);
}

static bool run_module(Run *run, Op *module)
{
    const DriverErrors errors = tool_errors(run->tool);
    const RunFlags *flags = run->flags;
    FunctionRun *f = &run->function;
    *f = (FunctionRun){.func = driver_find_function(module, flags->function, errors),
                       .errors = errors,
                       .max_steps = flags->max_steps,
                       .jobs = job_count(flags),
                       .traces = flags->trace != NULL,
                       .progress = show_frame,
                       .user = run};
    bool ok = f->func && run_begin(f) && driver_ports_assign(&f->args, &flags->inputs) &&
              driver_ports_assign(&f->results, &flags->outputs) && driver_ports_read(&f->args) &&
              run_frames(f);
    progress_stop(run->tool->progress);
    ok = ok && finish(run);
    run_free(f);
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
    if (flags->jobs < 0) return tool_error(tool, "error: --jobs takes a number of processes");
    if (!tool_check_tolerance(tool, &flags->checks)) return false;
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
              CHECK_FLAGS(&run.checks),
              {"trace", FLAG_TEXT, &run.trace, "dir",
               "Write what each op gives to a .npy file, with an index.json", NULL},
              {"jobs", FLAG_INT, &run.jobs, "n",
               "Processes that run frames at a time, default one per processor", NULL},
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
