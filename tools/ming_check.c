/* ming check MODEL: a line per operator of the file with its status, what it takes, and for what is
 * not supported why and what would help.
 * Tests: lit/tools/ming-check*.test, lit/tools/ming-check.mir */
#include "tools/ming_check.h"

#include <stdlib.h>

#include "dialects/dialects.h"
#include "ir/diag.h"
#include "tools/check.h"
#include "tools/files.h"
#include "tools/tool_support.h"

static bool check_file(const Tool *tool, const ModelOptions *options, const char *path)
{
    StrBuf bytes = {0}, text = {0};
    const char *reason = NULL;
    if (!file_read(&bytes, path, &reason))
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    Check check = {.ctx = context_create()};
    arena_init(&check.arena);
    dialects_register_all(check.ctx);
    context_show_op_on_diag(check.ctx, false);
    check_model(&check, path, strbuf_str(&bytes), options);
    diag_flush(check.ctx);
    if (check.count > 0)
        check_print_text(&check, &text);
    fwrite(text.data, 1, text.len, stdout);
    bool ok = check_compiles(&check);
    context_destroy(check.ctx);
    arena_free(&check.arena);
    strbuf_free(&bytes);
    strbuf_free(&text);
    return ok;
}

int ming_check(int argc, char **argv)
{
    ModelOptions options = {0};
    const Flag flags[] = {MODEL_FLAGS(options)};
    const Tool tool = {
        .name = "ming check",
        .summary = "ming check: tells which operators of a model compile, and what they take",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts files = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &files);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN)
        ok = files.len == 1
                 ? check_file(&tool, &options, files.data[0])
                 : tool_error(&tool, "error: one model is needed; try '%s --help'", tool.name);
    vec_free(&files);
    model_options_free(&options);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
