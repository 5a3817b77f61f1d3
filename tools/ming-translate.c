/* ming-translate: between IR and other formats.
 *   --import-onnx   ONNX to a module of the onnx dialect
 *   --emit-hls      a module of the emithls dialect to a Vitis HLS project
 *   --emit-verilog  a module of the hw, comb and seq dialects to Verilog
 *   --sa-to-binary  a program of the sa dialect to the words of an overlay
 *   --binary-to-sa  the other way round
 * Tests: lit/import, lit/emit */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "emit/emit.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "target/overlay/overlay.h"
#include "tools/internal.h"

typedef struct TranslateOptions {
    bool import_onnx, emit_hls, emit_verilog, sa_to_binary, binary_to_sa;
    const char *output, *output_dir;
    int64_t max_text;
    PrintOptions print;
    ModelOptions model;
} TranslateOptions;

/* What a file is called in messages. */
static Str shown(const char *path)
{
    return str_from(strcmp(path, "-") == 0 ? "<stdin>" : path);
}

static bool import_file(const Tool *tool, Context *ctx, const TranslateOptions *options,
                        const char *path, Str input)
{
    StrBuf output = {0};
    Op *module = driver_load_onnx(ctx, path, input, &options->model);
    bool ok = module != NULL;
    if (ok) {
        op_print(&output, module, &options->print);
        op_erase(module);
        ok = tool_write(tool, options->output, strbuf_str(&output));
    }
    strbuf_free(&output);
    return ok;
}

static bool assemble(const Tool *tool, Context *ctx, const TranslateOptions *options,
                     const char *path, Str input)
{
    StrBuf output = {0};
    Op *module = parse_module(ctx, input, shown(path), NULL);
    const Op *program = module ? overlay_find_program(module) : NULL;
    bool ok = program && overlay_write_program(program, &output) &&
              tool_write(tool, options->output, strbuf_str(&output));
    if (module) op_erase(module);
    strbuf_free(&output);
    return ok;
}

static bool disassemble(const Tool *tool, Context *ctx, const TranslateOptions *options,
                        const char *path, Str input)
{
    StrBuf output = {0};
    Op *module = overlay_read_program(ctx, input, shown(path));
    if (!module) return false;
    op_print(&output, module, &options->print);
    op_erase(module);
    bool ok = tool_write(tool, options->output, strbuf_str(&output));
    strbuf_free(&output);
    return ok;
}

static bool emit_project(const Tool *tool, Context *ctx, const TranslateOptions *options,
                         const char *path, Str input)
{
    StrBuf csim_dir = {0}, rtl_dir = {0}, why = {0};
    EmittedProject project = {0};
    bool ok = driver_resource_dir("csim", &csim_dir) ||
              tool_error(tool, "the simulation headers are not installed");
    ok = ok && (driver_resource_dir("rtl", &rtl_dir) ||
                tool_error(tool, "the modules of Verilog are not installed"));
    ok = ok && tool_check_output(tool, options->output_dir);
    Op *module = ok ? parse_module(ctx, input, shown(path), NULL) : NULL;
    const EmitOptions emit = {.output_dir = options->output_dir,
                              .csim_dir = csim_dir.data,
                              .rtl_dir = rtl_dir.data,
                              .max_text = options->max_text};
    ok = module && (options->emit_verilog ? emit_verilog(module, &emit, &project, &why)
                                          : emit_hls(module, &emit, &project, &why));
    if (why.len > 0) tool_error(tool, "%s", why.data);
    if (module) op_erase(module);
    emitted_project_free(&project);
    strbuf_free(&csim_dir);
    strbuf_free(&rtl_dir);
    strbuf_free(&why);
    return ok;
}

static bool run(const Tool *tool, const TranslateOptions *options, const char *path)
{
    StrBuf input = {0};
    const char *reason = NULL;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    bool ok = file_read(&input, path, &reason);
    if (!ok)
        tool_error(tool, "cannot open input file '%s': %s", path, reason);
    else if (options->import_onnx)
        ok = import_file(tool, ctx, options, path, strbuf_str(&input));
    else if (options->sa_to_binary)
        ok = assemble(tool, ctx, options, path, strbuf_str(&input));
    else if (options->binary_to_sa)
        ok = disassemble(tool, ctx, options, path, strbuf_str(&input));
    else
        ok = emit_project(tool, ctx, options, path, strbuf_str(&input));
    diag_flush(ctx);
    context_destroy(ctx);
    strbuf_free(&input);
    return ok;
}

static bool check_options(const Tool *tool, const TranslateOptions *options, const Texts *inputs)
{
    if (inputs->len > 1) return tool_error(tool, "one input file at most");
    bool makes_file = options->import_onnx || options->sa_to_binary || options->binary_to_sa;
    if (options->import_onnx + options->emit_hls + options->emit_verilog + options->sa_to_binary +
            options->binary_to_sa !=
        1)
        return tool_error(tool, "say what to do: --import-onnx, --emit-hls, --emit-verilog, "
                                "--sa-to-binary or --binary-to-sa");
    if (options->max_text < 0) return tool_error(tool, "--max-text takes a number of bytes, or 0");
    return makes_file || (options->output_dir && *options->output_dir) ||
           tool_error(tool, "--emit-%s needs --output-dir", options->emit_hls ? "hls" : "verilog");
}

int main(int argc, char **argv)
{
    tool_open_standard_files();
    tool_catch_signals();
    TranslateOptions options = {.output = "-", .print = PRINT_DEFAULT, .max_text = EMIT_MAX_TEXT};
    Flags flags = {0};
    FLAGS_ADD(
        &flags,
        {"import-onnx", FLAG_SWITCH, &options.import_onnx, NULL, "Read an ONNX file, write IR",
         NULL},
        {"emit-hls", FLAG_SWITCH, &options.emit_hls, NULL, "Read IR, write a Vitis HLS project",
         NULL},
        {"emit-verilog", FLAG_SWITCH, &options.emit_verilog, NULL,
         "Read IR of hw, comb and seq, write Verilog", NULL},
        {"sa-to-binary", FLAG_SWITCH, &options.sa_to_binary, NULL,
         "Read a program of sa, write the words of an overlay", NULL},
        {"binary-to-sa", FLAG_SWITCH, &options.binary_to_sa, NULL,
         "Read the words of an overlay, write a program of sa", NULL},
        {"output-dir", FLAG_TEXT, &options.output_dir, "dir", "Directory of the project", NULL},
        {"max-text", FLAG_INT, &options.max_text, "n",
         "Bytes that the project may have, default 2^30; 0: no limit", NULL});
    flags_add_model(&flags, &options.model);
    FLAGS_ADD(&flags,
              {"o", FLAG_TEXT, &options.output, "file",
               "Write to a file instead of standard output", NULL},
              {"mlir-print-debuginfo", FLAG_SWITCH, &options.print.debug_info, NULL,
               "Print locations", NULL},
              {"mlir-elide-elementsattrs-if-larger", FLAG_INT, &options.print.elide_elements_above,
               "n", "Leave out elements attributes with more elements", NULL});
    const Tool tool = {
        .name = "ming-translate",
        .summary = "ming-translate: converts between IR and other formats",
        .usage = "--import-onnx|--emit-hls|--emit-verilog|--sa-to-binary|--binary-to-sa "
                 "[options] [input file, default: -]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_options(&tool, &options, &inputs) &&
                                    run(&tool, &options, inputs.len > 0 ? inputs.data[0] : "-"));
    driver_model_options_free(&options.model);
    vec_free(&flags);
    vec_free(&inputs);
    return tool_exit_status(&tool, ok);
}
