/* ming check MODEL: a line per operator of the file with its status and cost. If it is not
 * supported, the line says why and what would help.
 * Tests: lit/driver/ming-check*, lit/driver/ming-check.test */
#include <stdlib.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"
#include "tools/internal.h"

/* Advice for users: the first row with words that occur in the reason. */
static const CheckHint hints[] = {
    {"runs a graph of its own",
     "export the model for fixed inputs, so that it has no control flow"},
    {"supported in the domain",
     "export with the standard operators, or let the file define this one as a function"},
    {"what is not supported",
     "check this part by itself: name its first tensor with --from, and give the shape with "
     "--input-shape"},
    {"hape is not known", "give the inputs' shapes with --input-shape=name:1x3x32x32"},
    {"unknown shape", "give the inputs' shapes with --input-shape=name:1x3x32x32"},
    {"needs constant", "make it an initializer: export with constant folding"},
    {"must be a constant", "make it an initializer: export with constant folding"},
    {"that is no constant", "make it an initializer: export with constant folding"},
    {"", "leave it to the host: --to names the last tensor before it, --from the first behind it"},
    {0},
};

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
    Check check = {.ctx = context_create(), .hints = hints};
    arena_init(&check.arena);
    dialects_register_all(check.ctx);
    diag_show_op(check.ctx, false);
    driver_check_model(&check, path, strbuf_str(&bytes), &flags->model);
    diag_flush(check.ctx);
    if (flags->as_json)
        driver_check_print_json(&check, &text);
    else if (check.count > 0)
        driver_check_print_text(&check, &text);
    if (text.len > 0) fwrite(text.data, 1, text.len, stdout);
    bool ok = driver_check_compiles(&check);
    /* Where a diagnostic has said what is wrong, that is the error. */
    if (!ok && check.count > 0 && diag_error_count(check.ctx) == 0)
        tool_error(tool, "'%s' does not compile as it is", path);
    context_destroy(check.ctx);
    arena_free(&check.arena);
    strbuf_free(&bytes);
    strbuf_free(&text);
    return ok;
}

int ming_check(int argc, char **argv)
{
    CheckFlags check = {0};
    Flags flags = {0};
    tool_add_model_flags(&flags, &check.model);
    FLAGS_ADD(&flags,
              {"json", FLAG_SWITCH, &check.as_json, NULL, "Print JSON instead of a table", NULL});
    const Tool tool = {
        .name = "ming check",
        .summary = "ming check: tells which operators of a model compile, and what they take",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && check_file(&tool, &check, path));
    driver_model_options_free(&check.model);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
