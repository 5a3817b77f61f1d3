/* ming: from a network to an accelerator's project in one step.
 *
 *   ming compile MODEL -o DIR:
 *     load ─▶ --quantize ─▶ passes (driver/driver.h) ─▶ emit ─▶ table, files, next command
 *
 * Tests: lit/driver/ming-compile.mir, test/e2e */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "emit/emit.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

typedef struct MingOptions {
    const char *output_dir;
    DeviceOptions device;
    CompileOptions compile;
    ModelOptions model;
    QuantizeOptions quantize;
} MingOptions;

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

static void print_summary(Op *module, const MingOptions *options, const EmittedProject *project)
{
    StrBuf out = {0};
    emit_report_table(module, &out);
    search_add_result(&out, module);
    strbuf_printf(&out, "\nWritten to %s:", options->output_dir);
    size_t simulation = 0;
    for (size_t i = 0; i < project->files.len; i++) {
        bool simulates = str_starts_with(strbuf_str(&project->files.data[i].name), "csim/");
        simulation += simulates;
        if (!simulates) strbuf_printf(&out, " %s", project->files.data[i].name.data);
    }
    strbuf_printf(&out, ", and %zu files in csim/\nNext: make -C ", simulation);
    add_shell_word(&out, options->output_dir);
    strbuf_printf(&out, " csim%s\n", project->csim_arguments.data);
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
}

static bool compile_bytes(const Tool *tool, const MingOptions *options, const char *path, Str bytes)
{
    EmittedProject project = {0};
    StrBuf csim_dir = {0};
    DeviceTarget target;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    bool ok = device_options_resolve(tool, ctx, &options->device, &target);
    ok = ok && (driver_resource_dir("csim", &csim_dir) ||
                tool_error(tool, "error: the simulation headers are not installed"));
    Op *module = ok ? model_load(ctx, path, bytes, &options->model) : NULL;
    const EmitOptions emit = {.output_dir = options->output_dir, .csim_dir = csim_dir.data};
    ok = module && model_quantize(tool, &options->quantize, module, NULL) &&
         compile_run(&module, &options->compile, &target) && emit_hls(module, &emit, &project);
    diag_flush(ctx);
    if (ok) print_summary(module, options, &project);
    if (module) op_erase(module);
    context_destroy(ctx);
    emitted_project_free(&project);
    strbuf_free(&csim_dir);
    return ok;
}

static bool compile_file(const Tool *tool, const MingOptions *options, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(tool, "error: cannot open '%s': %s", path, reason);
    ok = ok && compile_bytes(tool, options, path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    return ok;
}

/* --dump-pass-pipeline without -o: prints the passes and does nothing else. */
static bool print_pipeline(const Tool *tool, const MingOptions *options)
{
    DeviceTarget target;
    StrBuf text = {0};
    Context *ctx = context_create();
    bool ok = device_options_resolve(tool, ctx, &options->device, &target);
    if (ok) {
        compile_add_pipeline(&text, &options->compile, &target);
        printf("%s\n", text.data);
    }
    diag_flush(ctx);
    context_destroy(ctx);
    strbuf_free(&text);
    return ok;
}

static bool check_options(const Tool *tool, const MingOptions *options, const Texts *inputs)
{
    if (inputs->len != 1)
        return tool_error(tool, "error: one model is needed; try '%s --help'", tool->name);
    bool prints_only = options->compile.dump_pipeline && !options->output_dir;
    if (!prints_only && (!options->output_dir || !*options->output_dir))
        return tool_error(tool, "error: -o needs the directory to write");
    if (!device_options_check(tool, &options->device) ||
        !search_options_check(tool, &options->compile.search))
        return false;
    if (options->compile.verify_semantics < 0)
        return tool_error(tool, "error: --verify-semantics takes a positive number");
    if (options->compile.folding && strpbrk(options->compile.folding, "\"'{}"))
        return tool_error(tool, "error: --folding: the path must have no quotes and braces");
    if (options->compile.top && !emit_top_name_is_valid(str_from(options->compile.top)))
        return tool_error(tool, "error: --top: '%s' cannot be the name of a C++ function",
                          options->compile.top);
    return true;
}

static int compile(int argc, char **argv)
{
    MingOptions options = {.device = DEVICE_OPTIONS_DEFAULTS,
                           .compile = {.interface = "axis", .weights = "rom"}};
    const Flag flags[] = {
        {"o", FLAG_TEXT, &options.output_dir, "dir", "Directory of the project", NULL},
        DEVICE_FLAGS(options.device),
        SEARCH_FLAGS(options.compile.search),
        {"top", FLAG_TEXT, &options.compile.top, "name",
         "Name of the top function, default the model's", NULL},
        {"interface", FLAG_CHOICE, &options.compile.interface, "axis|m_axi",
         "Ports of the accelerator: streams (default) or memories", NULL},
        {"weights", FLAG_CHOICE, &options.compile.weights, "rom|load",
         "Weights in ROMs (default), or in memories that are loaded at start-up", NULL},
        {"folding", FLAG_TEXT, &options.compile.folding, "file",
         "Choices that are given, as folding.json of a compiled project has them", NULL},
        MODEL_FLAGS(options.model),
        QUANTIZE_FLAGS(options.quantize),
        {"dump-pass-pipeline", FLAG_SWITCH, &options.compile.dump_pipeline, NULL,
         "Print the passes as ming-opt --pass-pipeline takes them", NULL},
        {"verify-semantics", FLAG_OPTIONAL_INT, &options.compile.verify_semantics, "n",
         "Run the network on n random inputs (default 1) before and after each pass and compare",
         "1"},
    };
    const Tool tool = {
        .name = "ming compile",
        .summary = "ming compile: compiles a network to a Vitis HLS project that g++ builds too",
        .usage = "MODEL(.onnx|.mir|.mlir) -o DIR [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_options(&tool, &options, &inputs));
    if (ok && args == ARGS_RUN)
        ok = options.output_dir ? compile_file(&tool, &options, inputs.data[0])
                                : print_pipeline(&tool, &options);
    model_options_free(&options.model);
    model_quantize_options_free(&options.quantize);
    vec_free(&inputs);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void add_commands(void *user, StrBuf *out)
{
    (void)user;
    strbuf_add_c(out, "\ncommands:\n");
    strbuf_add_c(out,
                 "  compile MODEL -o DIR    a network to an HLS project; 'ming compile --help'\n");
    strbuf_add_c(out, "  check MODEL             which operators compile; 'ming check --help'\n");
    strbuf_add_c(out, "  devices                 what --device names; 'ming devices --help'\n");
    strbuf_add_c(out,
                 "  explore MODEL           throughput against resources; 'ming explore --help'\n");
    strbuf_add_c(out,
                 "  report DIR              predictions beside synthesis; 'ming report --help'\n");
    strbuf_add_c(out, "  run FILE                a network on arrays; 'ming run --help'\n");
    strbuf_add_c(out, "  sim DIR                 a design cycle by cycle; 'ming sim --help'\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "compile") == 0) return compile(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "check") == 0) return ming_check(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "devices") == 0) return ming_devices(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "explore") == 0) return ming_explore(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "report") == 0) return ming_report(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "run") == 0) return ming_run(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "sim") == 0) return ming_sim(argc - 1, argv + 1);
    const Tool tool = {
        .name = "ming",
        .summary = "ming: compiles quantized networks to streaming FPGA accelerators",
        .usage = "COMMAND [arguments]",
        .extra_help = add_commands,
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    if (args == ARGS_RUN && inputs.len > 0)
        tool_error(&tool, "error: unknown command '%s'; try 'ming --help'", inputs.data[0]);
    else if (args == ARGS_RUN)
        tool_error(&tool, "error: a command is needed; try 'ming --help'");
    vec_free(&inputs);
    return args == ARGS_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}
