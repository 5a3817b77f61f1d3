/* ming compile MODEL -o DIR: from a network to an accelerator's project in one step.
 *
 *   load ─▶ --quantize ─▶ passes (driver/driver.h) ─▶ emit ─▶ table, files, next command
 *
 * Tests: lit/driver/ming-compile.mir, test/e2e */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "driver/driver.h"
#include "emit/emit.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

typedef struct CompileFlags {
    const char *output_dir, *interface, *weights, *rewind, *style, *emit, *control, *primitives;
    bool knows_weights; /* `weights` is one of the words that say something */
    bool dump_pipeline;
    int64_t max_text;
    EmitTable table;
    DeviceOptions device;
    CompileOptions compile;
    ModelOptions model;
    QuantizeOptions quantize;
} CompileFlags;

/* A word for a POSIX shell. */
static void add_shell_word(StrBuf *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+";
    if (*word && strspn(word, plain) == strlen(word)) {
        strbuf_add_c(out, word);
        return;
    }
    strbuf_add_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            strbuf_add_c(out, "'\\''");
        else
            strbuf_add_char(out, *word);
    }
    strbuf_add_char(out, '\'');
}

static void print_summary(Op *module, const CompileFlags *options, const DeviceTarget *target,
                          const EmittedProject *project)
{
    StrBuf out = {0};
    emit_report_table(module, &options->table, &out);
    driver_print_objective(module, &out);
    strbuf_printf(&out, "\nWritten to %s:", options->output_dir);
    size_t simulation = 0, verilog = 0;
    for (size_t i = 0; i < project->files.len; i++) {
        Str name = strbuf_str(&project->files.data[i].name);
        bool simulates = str_starts_with(name, "csim/"), is_rtl = str_starts_with(name, "rtl/");
        simulation += simulates;
        verilog += is_rtl;
        if (!simulates && !is_rtl) strbuf_printf(&out, " %s", name.data);
    }
    strbuf_printf(&out, ", and %zu files in csim/", simulation);
    if (verilog) strbuf_printf(&out, ", %zu in rtl/", verilog);
    strbuf_add_c(&out, "\nNext: make -C ");
    add_shell_word(&out, options->output_dir);
    strbuf_printf(&out, " csim%s\n\n", project->csim_arguments.data);
    driver_print_summary(module, target, &out);
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
}

/* Prints the pipeline that made the design, if that is asked for; if none was made, the one that was
 * tried last. */
static bool compile_module(const Tool *tool, Op **module, const CompileFlags *options,
                           const DeviceTarget *target)
{
    StrBuf pipeline = {0};
    const DriverProgress progress = progress_of_driver(tool->progress);
    CompileOptions compile = options->compile;
    compile.progress = &progress;
    bool ok = driver_compile(module, &compile, target, &pipeline);
    progress_stop(tool->progress);
    if (options->dump_pipeline) printf("%s\n", pipeline.data);
    strbuf_free(&pipeline);
    return ok;
}

/* Whether the network got as far as a dataflow region, which may then lack room. */
static bool has_region(const Op *module)
{
    if (!module) return false;
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION)) return true;
    return false;
}

/* Tells of ming check where it would say which nodes do not compile. */
static void advise_check(const Tool *tool, const CompileFlags *options, const char *path, Str bytes,
                         Context *ctx)
{
    Check check = {.ctx = ctx};
    DiagHold messages;
    size_t bad = 0;
    arena_init(&check.arena);
    diag_hold_begin(&messages, ctx);
    driver_check_model(&check, path, bytes, &options->model);
    diag_hold_end(&messages);
    diag_hold_free(&messages);
    for (size_t i = 0; i < check.count; i++)
        bad += check.layers[i].status <= LAYER_UNSUPPORTED && check.layers[i].reason.len > 0;
    if (bad > 0)
        fprintf(stderr,
                "%s: note: %zu of %zu nodes do not compile; 'ming check' tells which, why, and "
                "which part does\n",
                tool->name, bad, check.count);
    driver_check_free(&check);
    arena_free(&check.arena);
}

static bool has_verilog(const CompileFlags *options)
{
    return strcmp(options->emit, "hls") != 0;
}

/* Emits the design: C++, and Verilog where that is asked for. What lacks is appended to *why. */
static bool emit_design(const CompileFlags *options, Op *design, EmittedProject *project,
                        StrBuf *why)
{
    StrBuf csim_dir = {0}, rtl_dir = {0};
    bool has_rtl = has_verilog(options);
    bool ok = driver_resource_dir("csim", &csim_dir) &&
              (!has_rtl || driver_resource_dir("rtl", &rtl_dir));
    Op *rtl = ok && has_rtl ? driver_lower_to_rtl(design, options->primitives) : NULL;
    const EmitOptions emit = {.output_dir = options->output_dir,
                              .csim_dir = csim_dir.data,
                              .rtl_dir = rtl_dir.data,
                              .rtl = rtl,
                              .max_text = options->max_text};
    ok = ok && (rtl || !has_rtl) && emit_hls(design, &emit, project, why);
    if (rtl) op_erase(rtl);
    strbuf_free(&csim_dir);
    strbuf_free(&rtl_dir);
    return ok;
}

/* Whether the files are there that projects get copies of, those of Verilog behind the others. */
static bool check_resources(const Tool *tool, bool has_rtl)
{
    static const char *const kinds[][2] = {{"csim", "simulation headers"},
                                           {"rtl", "Verilog modules"}};
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(kinds) - !has_rtl; i++) {
        StrBuf dir = {0};
        ok = driver_resource_dir(kinds[i][0], &dir) ||
             tool_error(tool, "error: the %s are not installed: none of %s is there", kinds[i][1],
                        dir.data);
        strbuf_free(&dir);
    }
    return ok;
}

static bool compile_bytes(const Tool *tool, const CompileFlags *options, const char *path,
                          Str bytes)
{
    EmittedProject project = {0};
    StrBuf why = {0};
    DeviceTarget target;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = driver_resolve_device(ctx, &options->device, tool_errors(tool), &target);
    ok = ok && check_resources(tool, has_verilog(options));
    const bool is_ready = ok;
    progress_start(tool->progress, ctx, "reading the model");
    Op *module = ok ? driver_load_model(ctx, path, bytes, &options->model) : NULL;
    ok = module && tool_quantize(tool, &options->quantize, module, NULL) &&
         compile_module(tool, &module, options, &target) &&
         (!options->output_dir || emit_design(options, module, &project, &why));
    progress_stop(tool->progress);
    diag_flush(ctx);
    if (why.len > 0) tool_error(tool, "error: %s", why.data);
    if (is_ready && !ok && !has_region(module)) advise_check(tool, options, path, bytes, ctx);
    if (ok && options->output_dir) print_summary(module, options, &target, &project);
    if (module) op_erase(module);
    context_destroy(ctx);
    emitted_project_free(&project);
    strbuf_free(&why);
    return ok;
}

static bool compile_file(const Tool *tool, const CompileFlags *options, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(tool, "error: cannot open '%s': %s", path, reason);
    ok = ok && (!options->output_dir || tool_check_output(tool, options->output_dir)) &&
         compile_bytes(tool, options, path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    return ok;
}

/* "rom", "load" or "load:BITS". False: it is none of them. */
static bool parse_weights(const char *text, CompileOptions *out)
{
    static const char *const widths[] = {"8", "16", "32", "64"};
    if (strcmp(text, "rom") == 0) return true;
    out->loads_weights = strncmp(text, "load", 4) == 0;
    if (strcmp(text, "load") == 0) return true;
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        if (out->loads_weights && text[4] == ':' && strcmp(text + 5, widths[i]) == 0)
            out->weights_width = (int64_t)8 << i;
    return out->weights_width != 0;
}

/* Sets what follows from the words that were given. */
static void settle_options(CompileFlags *options)
{
    CompileOptions *compile = &options->compile;
    bool is_free = strcmp(options->control, "none") == 0;
    bool flushes = strcmp(options->style, "flushing") == 0;
    if (!options->rewind) options->rewind = is_free && !flushes ? "on" : "off";
    compile->has_memory_ports = strcmp(options->interface, "m_axi") == 0;
    compile->rewinds = strcmp(options->rewind, "on") == 0;
    compile->flushes = flushes;
    if (strcmp(options->control, "chain") != 0) compile->control = options->control;
    options->knows_weights = parse_weights(options->weights, compile);
}

static bool check_options(const Tool *tool, const CompileFlags *options, const Texts *inputs)
{
    if (inputs->len != 1) return tool_one_input_error(tool, "model", inputs->len);
    bool writes_nothing = options->dump_pipeline && !options->output_dir;
    if (!writes_nothing && (!options->output_dir || !*options->output_dir))
        return tool_error(tool, "error: -o needs the directory to write");
    if (!tool_check_device(tool, &options->device) ||
        !tool_check_search(tool, &options->compile.search))
        return false;
    if (options->max_text < 0)
        return tool_error(tool, "error: --max-text takes a number of bytes, or 0");
    if (options->compile.verify_semantics < 0)
        return tool_error(tool, "error: --verify-semantics takes a positive number");
    if (options->compile.head && !driver_head_is_valid(options->compile.head))
        return tool_error(tool, "error: --head takes integers, argmax or topk=K with K above 0");
    if (options->compile.head && options->compile.verify_semantics > 0)
        return tool_error(tool,
                          "error: --verify-semantics compares results, which --head replaces");
    if (options->compile.fifo_slack && !driver_fifo_slack_is_valid(options->compile.fifo_slack))
        return tool_error(tool, "error: --fifo-slack takes exact, default or a share as 50%%, at "
                                "most 1000%%");
    if (options->compile.residual && !driver_residual_is_valid(options->compile.residual))
        return tool_error(tool, "error: --residual takes all, none, or a list of reuse and merge");
    if (!options->knows_weights)
        return tool_error(tool,
                          "error: --weights takes rom, load, or load:BITS with 8, 16, 32 or 64");
    if (strcmp(options->control, "chain") != 0 && strcmp(options->interface, "m_axi") == 0)
        return tool_error(tool,
                          "error: --control=%s: registers start an accelerator with memories "
                          "(--interface=m_axi)",
                          options->control);
    if (strcmp(options->rewind, "on") == 0 && strcmp(options->style, "flushing") == 0)
        return tool_error(tool, "error: --pipeline-style=flushing: a pipeline that rewinds stalls; "
                                "--rewind=on is given");
    if (options->compile.folding && strpbrk(options->compile.folding, "\"'{}"))
        return tool_error(tool, "error: --folding: the path must have no quotes and braces");
    if (options->compile.top && !emit_top_name_is_valid(str_from(options->compile.top)))
        return tool_error(tool, "error: --top: '%s' cannot be the name of a C++ function",
                          options->compile.top);
    return true;
}

static void add_flags(CompileFlags *options, Flags *flags)
{
    CompileOptions *compile = &options->compile;
    FLAGS_ADD(flags,
              {"o", FLAG_TEXT, &options->output_dir, "dir", "Directory of the project", NULL});
    tool_add_device_flags(flags, &options->device);
    tool_add_search_flags(flags, &compile->search);
    FLAGS_ADD(
        flags,
        {"top", FLAG_TEXT, &compile->top, "name", "Name of the top function, default the model's",
         NULL},
        {"interface", FLAG_CHOICE, &options->interface, "axis|m_axi",
         "Ports of the accelerator: streams (default) or memories", NULL},
        {"emit", FLAG_CHOICE, &options->emit, "hls|hls,verilog",
         "C++ for HLS tools (default), or Verilog besides", NULL},
        {"rtl-primitives", FLAG_CHOICE, &options->primitives, "xilinx|generic",
         "Whether Verilog instantiates the vendor's DSP slices and shift registers (default), or "
         "has expressions, which other tools take, too",
         NULL},
        {"weights", FLAG_TEXT, &options->weights, "rom|load|load:BITS",
         "Weights in ROMs (default), or in memories that are loaded at start-up, through a port of "
         "8, 16, 32 or 64 bits (default)",
         NULL},
        {"control", FLAG_CHOICE, &options->control, "chain|hs|none",
         "How frames are started: by ap_start, with ap_continue (default) or without it, or not at "
         "all: processes run as soon as they have words, and rewind unless --rewind=off",
         NULL},
        {"rewind", FLAG_CHOICE, &options->rewind, "on|off",
         "Let processes begin with the next frame before they have run empty: frames follow each "
         "other without a gap, but the end of one leaves with the beginning of the next",
         NULL},
        {"pipeline-style", FLAG_CHOICE, &options->style, "stalled|flushing",
         "Whether pipelines stall as a whole (default), or iterations go on when there is nothing "
         "to read for those behind them; not with --rewind=on",
         NULL},
        {"head", FLAG_TEXT, &compile->head, "integers|argmax|topk=K",
         "What the accelerator gives: sums in front of scalings and softmaxes, or indices of the "
         "greatest elements, default the network's results",
         NULL},
        {"residual", FLAG_TEXT, &compile->residual, "all|none|reuse,merge",
         "Where several read a tensor through windows: whether a window also gives the tensor "
         "itself, and windows that lie in its own, default both",
         NULL},
        {"fifo-slack", FLAG_TEXT, &compile->fifo_slack, "exact|N%|default",
         "How much deeper than predicted pipelines may be without losing the interval: not at "
         "all, by N % and 8 cycles, by 50 % and 8 cycles",
         NULL},
        {"folding", FLAG_TEXT, &compile->folding, "file",
         "Choices that are given, as folding.json of a compiled project has them", NULL});
    tool_add_model_flags(flags, &options->model);
    tool_add_quantize_flags(flags, &options->quantize);
    FLAGS_ADD(
        flags,
        {"processes", FLAG_SWITCH, &options->table.shows_processes, NULL,
         "A row per process in the table, not one per layer", NULL},
        {"wide", FLAG_SWITCH, &options->table.is_wide, NULL,
         "Names and loops of the table in full, however wide it becomes", NULL},
        {"max-text", FLAG_INT, &options->max_text, "n",
         "Bytes that the project may have, default 2^30; 0: no limit", NULL},
        {"dump-pass-pipeline", FLAG_SWITCH, &options->dump_pipeline, NULL,
         "Print the passes that made the design, for ming-opt --pass-pipeline; -o is not needed",
         NULL},
        {"verify-semantics", FLAG_OPTIONAL_INT, &compile->verify_semantics, "n",
         "Run the network on n random inputs (default 1) before and after each pass and "
         "compare",
         "1"});
}

int ming_compile(int argc, char **argv)
{
    CompileFlags options = {.device = DEVICE_OPTIONS_DEFAULTS,
                            .interface = "axis",
                            .weights = "rom",
                            .emit = "hls",
                            .primitives = "xilinx",
                            .control = "chain",
                            .style = "stalled",
                            .max_text = EMIT_MAX_TEXT,
                            .compile.search.fps = LIMIT_NOT_GIVEN};
    Flags flags = {0};
    add_flags(&options, &flags);
    Progress progress = {0};
    const Tool tool = {
        .name = "ming compile",
        .progress = &progress,
        .summary = "ming compile: compiles a network to a Vitis HLS project that g++ builds too",
        .usage = "MODEL(.onnx|.mir|.mlir) -o DIR [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    settle_options(&options);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_options(&tool, &options, &inputs));
    if (options.compile.search.fps == LIMIT_NOT_GIVEN) options.compile.search.fps = 0;
    if (ok && args == ARGS_RUN) ok = compile_file(&tool, &options, inputs.data[0]);
    driver_model_options_free(&options.model);
    driver_quantize_options_free(&options.quantize);
    vec_free(&inputs);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
