/* ming-translate: between files of other formats and IR.
 *   --import-onnx   ONNX to a module of the onnx dialect
 * Tests: lit/import */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "import/import_onnx.h"
#include "ir/diag.h"
#include "ir/print.h"
#include "tools/tool_support.h"

typedef struct Options {
    bool import_onnx;
    const char *output;
    PrintOptions print;
} Options;

/* The folder of a file, for what the file refers to; data is NULL for standard input. */
static Str folder_of(const char *path)
{
    if (strcmp(path, "-") == 0)
        return (Str){NULL, 0};
    const char *slash = strrchr(path, '/');
    if (!slash)
        return STR(".");
    return slash == path ? STR("/") : (Str){path, (size_t)(slash - path)};
}

static bool import_file(Context *ctx, const Options *options, const char *path, Str input,
                        StrBuf *output)
{
    const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
    ImportOptions import = {.folder = folder_of(path)};
    Op *module = import_onnx(ctx, input, str_from(shown), &import);
    if (!module)
        return false;
    op_print(output, module, &options->print);
    op_erase(module);
    return true;
}

static bool run(const Tool *tool, const Options *options, const char *path)
{
    StrBuf input = {0}, output = {0};
    const char *reason = NULL;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    bool ok = file_read(&input, path, &reason);
    if (!ok)
        tool_error(tool, "cannot open input file '%s': %s", path, reason);
    ok = ok && import_file(ctx, options, path, strbuf_str(&input), &output);
    if (ok && !file_write(options->output, strbuf_str(&output), &reason))
        ok = tool_error(tool, "cannot write '%s': %s", options->output, reason);
    context_destroy(ctx);
    strbuf_free(&input);
    strbuf_free(&output);
    return ok;
}

int main(int argc, char **argv)
{
    Options options = {.output = "-", .print = PRINT_DEFAULT};
    const Flag flags[] = {
        {"import-onnx", FLAG_SWITCH, &options.import_onnx, NULL, "Read an ONNX file, write IR", NULL},
        {"o", FLAG_TEXT, &options.output, "file", "Write to a file instead of standard output",
         NULL},
        {"mlir-print-debuginfo", FLAG_SWITCH, &options.print.debug_info, NULL, "Print locations",
         NULL},
        {"mlir-elide-elementsattrs-if-larger", FLAG_INT, &options.print.elide_elements_above, "n",
         "Leave out elements attributes with more elements", NULL},
    };
    const Tool tool = {
        .name = "ming-translate",
        .summary = "ming-translate: converts between IR and other formats",
        .usage = "--import-onnx [options] [input file, default: -]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args != ARGS_WRONG;
    if (args == ARGS_RUN && inputs.len > 1)
        ok = tool_error(&tool, "one input file at most");
    else if (args == ARGS_RUN && !options.import_onnx)
        ok = tool_error(&tool, "say what to do: --import-onnx");
    else if (args == ARGS_RUN)
        ok = run(&tool, &options, inputs.len > 0 ? inputs.data[0] : "-");
    vec_free(&inputs);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
