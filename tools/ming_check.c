/* ming check MODEL: a line per operator of the file with its status, what it takes, and for what is
 * not supported why and what would help.
 * Tests: lit/driver/ming-check*, lit/driver/ming-check.test */
#include <stdlib.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

typedef struct CheckFlags {
    ModelOptions model;
    bool as_json;
} CheckFlags;

static bool check_file(const Tool *tool, const CheckFlags *flags, const char *path)
{
    StrBuf bytes = {0}, text = {0};
    const char *reason = NULL;
    if (!file_read(&bytes, path, &reason))
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    Check check = {.ctx = context_create()};
    arena_init(&check.arena);
    dialects_register_all(check.ctx);
    diag_show_op(check.ctx, false);
    check_model(&check, path, strbuf_str(&bytes), &flags->model);
    diag_flush(check.ctx);
    if (flags->as_json)
        check_print_json(&check, &text);
    else if (check.count > 0)
        check_print_text(&check, &text);
    if (text.len > 0) fwrite(text.data, 1, text.len, stdout);
    bool ok = check_compiles(&check);
    context_destroy(check.ctx);
    arena_free(&check.arena);
    strbuf_free(&bytes);
    strbuf_free(&text);
    return ok;
}

int ming_check(int argc, char **argv)
{
    CheckFlags check = {0};
    const Flag flags[] = {
        MODEL_FLAGS(check.model),
        {"json", FLAG_SWITCH, &check.as_json, NULL, "Print JSON instead of a table", NULL},
    };
    const Tool tool = {
        .name = "ming check",
        .summary = "ming check: tells which operators of a model compile, and what they take",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_file(&tool, &check, path));
    model_options_free(&check.model);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
