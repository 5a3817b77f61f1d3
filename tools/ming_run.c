/* ming run FILE --input=x.npy --output=y.npy: the reference interpreter on arrays.
 *
 *   load ─▶ --pass-pipeline ─▶ function ─▶ frame by frame: enter, run, leave ─▶ write all outputs
 *
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir, test/e2e/run_check.py */
#include "tools/ming_run.h"

#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "dialects/func/func.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "ir/symbol.h"
#include "sim/boundary.h"
#include "sim/interp.h"
#include "tools/all_passes.h"
#include "tools/files.h"
#include "tools/load_model.h"
#include "tools/tool_support.h"

typedef struct RunFlags {
    Texts inputs, outputs;
    const char *function, *pipeline;
    ModelOptions model;
} RunFlags;

/* A function's side of one file. */
typedef struct Port {
    Boundary boundary;
    const char *path; /* NULL: not given */
    Npy npy;
} Port;

typedef struct Run {
    const Tool *tool;
    const RunFlags *flags;
    Op *func;
    Port *args, *results;
    uint32_t arg_count, result_count;
    int64_t frames;
} Run;

/* --- the function -------------------------------------------------------------------------- */

static bool is_candidate(const Op *op)
{
    return op_has_trait(op, TRAIT_FUNCTION) && !region_is_empty(op_region(op, 0));
}

static bool is_private(const Op *op)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    return visibility && str_eq_c(visibility->u.string, "private");
}

/* By name, else the first public function with a body. */
static Op *find_function(const Run *run, Op *module)
{
    const char *wanted = run->flags->function;
    FOR_EACH_INNER(op, module)
    {
        if (!is_candidate(op))
            continue;
        if (wanted ? str_eq_c(symbol_name(op)->str, wanted) : !is_private(op))
            return op;
    }
    if (wanted)
        tool_error(run->tool, "error: there is no function '%s' with a body", wanted);
    else
        tool_error(run->tool, "error: there is no public function with a body");
    return NULL;
}

static bool read_ports(Run *run)
{
    const Type *type = op_attr(run->func, "function_type")->u.type_value;
    run->arg_count = type->u.function.input_count;
    run->result_count = type->u.function.result_count;
    run->args = xcalloc(run->arg_count + run->result_count + 1, sizeof *run->args);
    run->results = run->args + run->arg_count;
    for (uint32_t i = 0; i < run->arg_count + run->result_count; i++) {
        bool is_arg = i < run->arg_count;
        const Attr *attrs = is_arg ? func_arg_attrs(run->func, i)
                                   : func_result_attrs(run->func, i - run->arg_count);
        if (!boundary_init(run->func, type->u.function.types[i], attrs, &run->args[i].boundary))
            return false;
    }
    return true;
}

/* --- files --------------------------------------------------------------------------------- */

/* "path" goes to the next port without a file, "name=path" to the one of that name. */
static bool assign_file(const Run *run, Port *ports, uint32_t count, const char *text,
                        const char *what)
{
    const char *equals = strchr(text, '=');
    Str name = {text, equals ? (size_t)(equals - text) : 0};
    for (uint32_t i = 0; equals && i < count; i++)
        if (str_eq(ports[i].boundary.name, name)) {
            if (ports[i].path)
                return tool_error(run->tool, "error: %s '%.*s' is given twice", what,
                                  STR_ARG(name));
            ports[i].path = equals + 1;
            return true;
        }
    for (uint32_t i = 0; i < count; i++)
        if (!ports[i].path) {
            ports[i].path = text;
            return true;
        }
    return tool_error(run->tool, "error: %s '%s' is one too many: the function has %u", what, text,
                      count);
}

static bool assign_files(const Run *run)
{
    for (size_t i = 0; i < run->flags->inputs.len; i++)
        if (!assign_file(run, run->args, run->arg_count, run->flags->inputs.data[i], "input"))
            return false;
    const Texts *outputs = &run->flags->outputs;
    for (size_t i = 0; i < outputs->len; i++)
        if (!assign_file(run, run->results, run->result_count, outputs->data[i], "output"))
            return false;
    for (uint32_t i = 0; i < run->arg_count; i++)
        if (!run->args[i].path)
            return tool_error(run->tool, "error: input %u%s%.*s is not given", i,
                              run->args[i].boundary.name.len ? ", " : "",
                              STR_ARG(run->args[i].boundary.name));
    return true;
}

static bool file_error(const Run *run, const char *path, const StrBuf *why)
{
    return tool_error(run->tool, "error: %s: %s", path, why->data);
}

static bool read_input(Run *run, Port *port, bool is_first)
{
    StrBuf bytes = {0}, why = {0};
    const char *reason = NULL;
    int64_t frames = 0;
    bool ok = file_read(&bytes, port->path, &reason);
    if (!ok)
        strbuf_add_c(&why, reason);
    ok = ok && npy_parse(strbuf_str(&bytes), &port->npy, &why) &&
         boundary_frames(&port->boundary, &port->npy, &frames, &why);
    if (ok && !is_first && frames != run->frames) {
        strbuf_printf(&why, "%lld frames, but the inputs before have %lld", (long long)frames,
                      (long long)run->frames);
        ok = false;
    }
    run->frames = frames;
    if (!ok)
        file_error(run, port->path, &why);
    strbuf_free(&bytes);
    strbuf_free(&why);
    return ok;
}

static bool read_inputs(Run *run)
{
    run->frames = 1;
    for (uint32_t i = 0; i < run->arg_count; i++)
        if (!read_input(run, &run->args[i], i == 0))
            return false;
    return true;
}

static bool write_output(const Run *run, const Port *port)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    npy_print(&port->npy, &bytes);
    bool ok = file_write(port->path, strbuf_str(&bytes), &reason);
    strbuf_free(&bytes);
    return ok || tool_error(run->tool, "error: cannot write '%s': %s", port->path, reason);
}

static bool write_outputs(const Run *run)
{
    for (uint32_t i = 0; i < run->result_count; i++)
        if (run->results[i].path && !write_output(run, &run->results[i]))
            return false;
    return true;
}

/* --- frames -------------------------------------------------------------------------------- */

static bool enter(const Run *run, int64_t frame, Array **inputs)
{
    StrBuf why = {0};
    for (uint32_t i = 0; i < run->arg_count; i++) {
        inputs[i] = boundary_enter(&run->args[i].boundary, &run->args[i].npy, frame, &why);
        if (inputs[i])
            continue;
        file_error(run, run->args[i].path, &why);
        strbuf_free(&why);
        return false;
    }
    return true;
}

static bool leave(Run *run, int64_t frame, Array *const *results)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < run->result_count; i++)
        ok = boundary_leave(&run->results[i].boundary, results[i], frame, run->frames,
                            &run->results[i].npy, &why);
    if (!ok)
        tool_error(run->tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static bool run_frame(Run *run, Interp *interp, int64_t frame)
{
    uint32_t count = run->arg_count + run->result_count;
    Array **inputs = xcalloc(count + 1, sizeof *inputs), **results = inputs + run->arg_count;
    bool ok = enter(run, frame, inputs) && interp_run(interp, inputs, results) &&
              leave(run, frame, results);
    for (uint32_t i = 0; i < count; i++)
        array_unref(inputs[i]);
    free(inputs);
    return ok;
}

static bool run_frames(Run *run)
{
    Interp *interp = interp_create(run->func);
    bool ok = interp != NULL;
    for (int64_t frame = 0; ok && frame < run->frames; frame++)
        ok = run_frame(run, interp, frame);
    interp_free(interp);
    return ok;
}

/* --- the command --------------------------------------------------------------------------- */

static bool run_pipeline(Context *ctx, Op *module, const char *text)
{
    if (!text)
        return true;
    Pipeline *pipeline = pipeline_from_text(ctx, all_passes(), str_from(text));
    bool ok = pipeline && pipeline_run(pipeline, module, &(RunOptions){.verify_each = true});
    if (pipeline)
        pipeline_free(pipeline);
    return ok;
}

static bool run_module(Run *run, Op *module)
{
    run->func = find_function(run, module);
    bool ok = run->func && read_ports(run) && assign_files(run) && read_inputs(run) &&
              run_frames(run) && write_outputs(run);
    for (uint32_t i = 0; run->args && i < run->arg_count + run->result_count; i++)
        npy_free(&run->args[i].npy);
    free(run->args);
    return ok;
}

static bool run_file(const Tool *tool, const RunFlags *flags, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    Run run = {.tool = tool, .flags = flags};
    if (!file_read(&bytes, path, &reason))
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    Context *ctx = context_create();
    dialects_register_all(ctx);
    context_show_op_on_diag(ctx, false);
    Op *module = load_model(ctx, path, strbuf_str(&bytes), &flags->model);
    bool ok = module && run_pipeline(ctx, module, flags->pipeline) && run_module(&run, module);
    diag_flush(ctx);
    if (module)
        op_erase(module);
    context_destroy(ctx);
    strbuf_free(&bytes);
    return ok;
}

int ming_run(int argc, char **argv)
{
    RunFlags run = {0};
    const Flag flags[] = {
        {"input", FLAG_TEXTS, &run.inputs, "[name=]file.npy",
         "Array of an argument, in order unless named; several frames run one by one", NULL},
        {"output", FLAG_TEXTS, &run.outputs, "[name=]file.npy", "Where a result is written", NULL},
        {"function", FLAG_TEXT, &run.function, "name", "Function, default the first public one",
         NULL},
        {"pass-pipeline", FLAG_TEXT, &run.pipeline, "text", "Passes to run before", NULL},
        MODEL_FLAGS(run.model),
    };
    const Tool tool = {
        .name = "ming run",
        .summary = "ming run: executes a model or module with the reference interpreter",
        .usage = "FILE(.onnx|.mir|.mlir) --input=x.npy… --output=y.npy…",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts files = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &files);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN)
        ok = files.len == 1
                 ? run_file(&tool, &run, files.data[0])
                 : tool_error(&tool, "error: one file is needed; try '%s --help'", tool.name);
    vec_free(&files);
    vec_free(&run.inputs);
    vec_free(&run.outputs);
    model_options_free(&run.model);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
