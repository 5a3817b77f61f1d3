/* ming compile MODEL -o DIR: from a network to an accelerator's project in one step.
 *
 *   load ─▶ --quantize ─▶ passes (driver/driver.h) ─▶ emit ─▶ table, files, next command
 *
 * Tests: lit/driver/ming-compile.mir, test/e2e */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "dialects/sa/sa.h"
#include "driver/driver.h"
#include "emit/dies/dies.h"
#include "emit/emit.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

typedef struct CompileTool {
    CompileFlags flags;
    const char *architecture, *output_dir, *place_svg;
    bool dump_pipeline;
    EmitTable table;
    AutoFlags automatic;
} CompileTool;

static bool is_auto(const CompileTool *options)
{
    return options->architecture && strcmp(options->architecture, "auto") == 0;
}

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

static void print_summary(Op *module, const CompileTool *options, const DeviceTarget *target,
                          const EmittedProject *project)
{
    StrBuf out = {0};
    emit_report_table(module, &options->table, &out);
    driver_print_objective(module, &out);
    dies_print_table(module, &out);
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
/* Prints what a mode of several cards is chosen by, and writes it to a file (NULL: none) as JSON. False:
 * said why. */
static bool tell_mode(const Tool *tool, const ModeChoice *choice, const char *path)
{
    StrBuf lines = {0}, json = {0};
    driver_print_modes(choice, &lines);
    driver_write_modes(choice, &json);
    fwrite(lines.data, 1, lines.len, stdout);
    bool ok = !path || tool_write(tool, path, strbuf_str(&json));
    strbuf_free(&lines);
    strbuf_free(&json);
    return ok;
}

static bool compile_module(const Tool *tool, Op **module, const CompileTool *options,
                           const DeviceTarget *target)
{
    StrBuf pipeline = {0};
    const DriverProgress progress = progress_of_driver(tool->progress);
    CompileOptions compile = options->flags.compile;
    ModeChoice choice = {.count = 0};
    compile.progress = &progress;
    compile.choice = &choice;
    bool ok = driver_compile(module, &compile, target, &pipeline);
    progress_stop(tool->progress);
    ok = ok && (choice.count == 0 || tell_mode(tool, &choice, options->automatic.choice));
    driver_mode_choice_free(&choice);
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
static void advise_check(const Tool *tool, const CompileTool *options, const char *path, Str bytes,
                         Context *ctx)
{
    Check check = {.ctx = ctx};
    DiagHold messages;
    size_t bad = 0;
    arena_init(&check.arena);
    diag_hold_begin(&messages, ctx);
    driver_check_model(&check, path, bytes, &options->flags.model);
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

/* Whether there will be places to draw and to anchor. */
static bool check_dies(const Tool *tool, const CompileTool *options, const DeviceTarget *target)
{
    const CompileOptions *compile = &options->flags.compile;
    const char *flag = options->place_svg   ? "place-svg"
                       : compile->anchors   ? "anchor"
                       : compile->colocated ? "colocate"
                                            : NULL;
    if (!flag || (target->device.die_count > 1 && compile->honors_dies)) return true;
    return tool_error(tool, "error: --%s: nothing is placed, %.*s %s", flag,
                      STR_ARG(target->device.name),
                      target->device.die_count > 1 ? "is taken as one pool" : "has one die");
}

static bool draw_dies(const Tool *tool, const CompileTool *options, const Op *design)
{
    StrBuf text = {0};
    if (!options->place_svg) return true;
    bool ok =
        dies_print_svg(design, &text) && tool_write(tool, options->place_svg, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

static bool compile_bytes(const Tool *tool, CompileTool *options, const char *path, Str bytes)
{
    EmittedProject project = {0};
    StrBuf why = {0};
    DeviceTarget target;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    DriverCards *cards = xcalloc(1, sizeof *cards);
    bool ok = driver_resolve_cards(ctx, &options->flags.cards, &options->flags.device,
                                   tool_errors(tool), &target, cards);
    if (driver_wants_cards(&options->flags.cards)) options->flags.compile.cards = cards;
    ok = ok && compile_flags_check_target(&options->flags, &target, &why) &&
         check_dies(tool, options, &target) && compile_flags_find_files(&options->flags, &why);
    const bool is_ready = ok && !is_auto(options);
    bool is_overlay = false;
    progress_start(tool->progress, ctx, "reading the model");
    Op *module = ok ? driver_load_model(ctx, path, bytes, &options->flags.model) : NULL;
    if (is_auto(options)) tool_settle_quantize(&options->flags.quantize);
    ok = module && tool_quantize(tool, &options->flags.quantize, module, NULL) &&
         (is_auto(options) ? tool_compile_auto(tool, &options->automatic, &options->flags, &target,
                                               options->output_dir, &module, &is_overlay)
                           : compile_module(tool, &module, options, &target)) &&
         draw_dies(tool, options, module) &&
         (!options->output_dir || is_overlay ||
          compile_flags_emit(&options->flags, options->output_dir, module, &project, &why));
    progress_stop(tool->progress);
    diag_flush(ctx);
    if (why.len > 0) tool_error(tool, "error: %s", why.data);
    if (is_ready && !ok && !has_region(module)) advise_check(tool, options, path, bytes, ctx);
    if (ok && options->output_dir && !is_overlay) print_summary(module, options, &target, &project);
    if (module) op_erase(module);
    context_destroy(ctx);
    emitted_project_free(&project);
    strbuf_free(&why);
    options->flags.compile.cards = NULL;
    free(cards);
    return ok;
}

static bool compile_file(const Tool *tool, CompileTool *options, const char *path)
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

static bool check_options(const Tool *tool, CompileTool *options, const Texts *inputs)
{
    StrBuf why = {0};
    if (inputs->len != 1) return tool_one_input_error(tool, "model", inputs->len);
    bool writes_nothing = options->dump_pipeline && !options->output_dir;
    if (!writes_nothing && (!options->output_dir || !*options->output_dir))
        return tool_error(tool, "error: -o needs the directory to write");
    const CompileFlags *flags = &options->flags;
    const bool has_one_way = driver_wants_cards(&flags->cards) || flags->anchors.len > 0 ||
                             flags->compile.colocated || options->place_svg ||
                             options->dump_pipeline || flags->compile.images > 1;
    const bool chooses_mode = driver_chooses_mode(&flags->cards);
    if (chooses_mode && options->place_svg)
        return tool_error(tool, "error: --place-svg is about the dies of one card, so it goes with "
                                "no --mode=auto");
    if (!tool_check_auto(tool, &options->automatic, is_auto(options), has_one_way, chooses_mode))
        return false;
    bool ok =
        compile_flags_settle(&options->flags, &why) || tool_error(tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

static void add_flags(CompileTool *options, Flags *flags)
{
    FLAGS_ADD(flags,
              {"architecture", FLAG_CHOICE, &options->architecture, TOOL_COMPILE_ARCHITECTURES,
               "An accelerator of processes (default), a program of an engine that runs layer "
               "after layer, with options of its own (--architecture=overlay --help), or the "
               "faster of what fits the device",
               NULL},
              {"o", FLAG_TEXT, &options->output_dir, "dir", "Directory of the project", NULL});
    tool_add_auto(&options->automatic, flags);
    compile_flags_add(flags, &options->flags);
    FLAGS_ADD(
        flags,
        {"processes", FLAG_SWITCH, &options->table.shows_processes, NULL,
         "A row per process in the table, not one per layer", NULL},
        {"wide", FLAG_SWITCH, &options->table.is_wide, NULL,
         "Names and loops of the table in full, however wide it becomes", NULL},
        {"place-svg", FLAG_TEXT, &options->place_svg, "file",
         "Draw the dies with their processes and the streams between them", NULL},
        {"dump-pass-pipeline", FLAG_SWITCH, &options->dump_pipeline, NULL,
         "Print the passes that made the design, for ming-opt --pass-pipeline; -o is not needed",
         NULL});
    compile_flags_add_last(flags, &options->flags);
}

/* --architecture=overlay: to a program of an engine that runs layer after layer (docs/overlay.md). */

typedef struct OverlayTool {
    const char *architecture, *output, *network, *overlay;
    bool dump_pipeline;
    CompileOptions compile;
    ModelOptions model;
    QuantizeOptions quantize;
} OverlayTool;

static bool write_module(const Tool *tool, const char *path, Op *module)
{
    StrBuf text = {0};
    op_print(&text, module, &PRINT_DEFAULT);
    strbuf_add_char(&text, '\n');
    bool ok = tool_write(tool, path, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

static void print_layers(const Op *module)
{
    size_t layers = 0;
    FOR_EACH_INNER(network, module)
        if (network->def == SA(NETWORK))
            FOR_EACH_INNER(op, network) layers += sa_is_layer(op);
    printf("%zu layers of an overlay\n", layers);
}

static bool compile_to_overlay(const Tool *tool, OverlayTool *options, const char *path, Str bytes)
{
    StrBuf pipeline = {0};
    Op *program = NULL;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    Op *module = driver_load_model(ctx, path, bytes, &options->model);
    tool_settle_quantize(&options->quantize);
    bool ok = module && tool_quantize(tool, &options->quantize, module, NULL) &&
              driver_compile_overlay(module, &options->compile, &program, &pipeline);
    diag_flush(ctx);
    if (options->dump_pipeline) printf("%s\n", pipeline.data ? pipeline.data : "");
    ok = ok && (!options->network || write_module(tool, options->network, module)) &&
         (!options->output || write_module(tool, options->output, program));
    if (ok && options->output) print_layers(module);
    if (program) op_erase(program);
    if (module) op_erase(module);
    context_destroy(ctx);
    strbuf_free(&pipeline);
    return ok;
}

static bool check_overlay_options(const Tool *tool, OverlayTool *options, const Texts *inputs,
                                  StrBuf *overlay)
{
    if (inputs->len != 1) return tool_one_input_error(tool, "model", inputs->len);
    if (!options->output && !options->network && !options->dump_pipeline)
        return tool_error(tool, "error: -o needs the file to write");
    if (options->compile.verify_semantics < 0)
        return tool_error(tool, "error: --verify-semantics takes a positive number");
    return tool_take_overlay(tool, options->overlay, &options->compile, overlay);
}

static void add_overlay_flags(OverlayTool *options, Flags *flags)
{
    FLAGS_ADD(
        flags,
        {"architecture", FLAG_CHOICE, &options->architecture, TOOL_COMPILE_ARCHITECTURES,
         "An accelerator of processes (ming compile --help), or a program of an overlay", NULL},
        {"o", FLAG_TEXT, &options->output, "file", "File of the program, for ming engine", NULL},
        {"overlay", FLAG_TEXT, &options->overlay, "name=value,...",
         "Sizes of the overlay, as rows=16,cols=16,act=i8; default 64 rows and columns, i16", NULL},
        {"network", FLAG_TEXT, &options->network, "file", "Write the layers, too", NULL});
    tool_add_batch(&options->compile, flags);
    FLAGS_ADD(flags,
              {"head", FLAG_TEXT, &options->compile.head, "integers|argmax|topk=K",
               "What the program gives: sums in front of scalings and softmaxes, default the "
               "network's results",
               NULL});
    flags_add_model(flags, &options->model);
    flags_add_quantize(flags, &options->quantize);
    FLAGS_ADD(flags,
              {"dump-pass-pipeline", FLAG_SWITCH, &options->dump_pipeline, NULL,
               "Print the passes that made the layers; -o is not needed", NULL},
              {"verify-semantics", FLAG_OPTIONAL_INT, &options->compile.verify_semantics, "n",
               "Run the network on n random inputs (default 1) before and after each pass and "
               "compare",
               "1"});
}

static bool run_overlay(const Tool *tool, OverlayTool *options, const Texts *inputs)
{
    StrBuf bytes = {0}, overlay = {0};
    const char *reason = NULL;
    bool ok = check_overlay_options(tool, options, inputs, &overlay);
    const char *path = ok ? inputs->data[0] : "";
    ok = ok && (file_read(&bytes, path, &reason) ||
                tool_error(tool, "error: cannot open '%s': %s", path, reason));
    ok = ok && compile_to_overlay(tool, options, path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    strbuf_free(&overlay);
    return ok;
}

static int compile_overlay(int argc, char **argv)
{
    OverlayTool options = {0};
    Flags flags = {0};
    Texts inputs = {0};
    add_overlay_flags(&options, &flags);
    const Tool tool = {
        .name = "ming compile",
        .summary = "ming compile --architecture=overlay: compiles a network to a program of an "
                   "engine that runs layer after layer",
        .usage = "--architecture=overlay MODEL(.onnx|.mir|.mlir) -o FILE [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && run_overlay(&tool, &options, &inputs));
    driver_model_options_free(&options.model);
    driver_quantize_options_free(&options.quantize);
    vec_free(&inputs);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_compile(int argc, char **argv)
{
    if (tool_wants_overlay(argc, argv)) return compile_overlay(argc, argv);
    CompileTool options = {0};
    compile_flags_init(&options.flags);
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
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_options(&tool, &options, &inputs));
    if (ok && args == ARGS_RUN) ok = compile_file(&tool, &options, inputs.data[0]);
    compile_flags_free(&options.flags);
    vec_free(&inputs);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
