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
static const char or_host[] = "; or leave it to the host:";
static const CheckHint hints[] = {
    {"runs a graph of its own", "export the model for fixed inputs, so that it has no control flow",
     or_host},
    {"supported in the domain",
     "export with the standard operators, or let the file define this one as a function", or_host},
    {"what is not supported",
     "check this part by itself: name its first tensor with --from, and give its shape with "
     "--input-shape",
     ":"},
    {"hape is not known", "give the inputs' shapes with --input-shape=name:1x3x32x32", NULL},
    {"unknown shape", "give the inputs' shapes with --input-shape=name:1x3x32x32", or_host},
    {"dynamic quantization", "quantize the network statically, with scales found by calibration",
     or_host},
    {"needs constant", "make it an initializer: export with constant folding", or_host},
    {"must be a constant", "make it an initializer: export with constant folding", or_host},
    {"that is no constant", "make it an initializer: export with constant folding", or_host},
    {"", "leave it to the host", ":"},
    {0},
};

typedef struct CheckFlags {
    ModelOptions model;
    bool as_json, shows_requantizers;
    const char *partition; /* file to write, or NULL */
    const char *architecture;
    Texts profile; /* frames; none: the report of what compiles */
} CheckFlags;

/* Writes the part that compiles. False: said why. */
static bool write_partition(const Tool *tool, const char *file, const Check *check,
                            const Partition *part, const char *path)
{
    StrBuf text = {0};
    if (part->count == 0)
        return tool_error(tool, "error: no part of '%s' can be given to '%s'%s", path, file,
                          check->report ? ", since none compiles" : "; only ONNX files have some");
    driver_partition_print(check, part, path, &text);
    bool ok = tool_write(tool, file, strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* Prints the report. False: the network does not compile, or the part of it that is asked for could
 * not be written. */
static bool report(const Tool *tool, const CheckFlags *flags, Check *check, const char *path,
                   Str bytes)
{
    StrBuf text = {0};
    Partition part;
    bool ok = driver_check_compiles(check);
    driver_find_partition(check, path, bytes, &part);
    if (flags->as_json)
        driver_check_print_json(check, &part, &text);
    else if (check->count > 0)
        driver_check_print_text(check, &part, &text);
    if (flags->shows_requantizers && !flags->as_json) driver_check_print_requantizers(check, &text);
    if (text.len > 0) fwrite(text.data, 1, text.len, stdout);
    if (flags->partition && (ok || !check->is_diagnosed))
        ok = write_partition(tool, flags->partition, check, &part, path);
    else if (!ok && !check->is_diagnosed) /* else that is the error */
        tool_error(tool, "'%s' does not compile as it is", path);
    driver_partition_free(&part);
    strbuf_free(&text);
    return ok;
}

static bool check_file(const Tool *tool, const CheckFlags *flags, const char *path)
{
    StrBuf bytes = {0};
    const char *reason = NULL;
    if (!file_read(&bytes, path, &reason)) {
        strbuf_free(&bytes); /* some may have come */
        return tool_error(tool, "error: cannot open '%s': %s", path, reason);
    }
    if (flags->profile.len > 0) {
        bool ok = tool_profile(tool, path, strbuf_str(&bytes), &flags->model, &flags->profile,
                               flags->as_json);
        strbuf_free(&bytes);
        return ok;
    }
    Check check = {.ctx = context_create(), .hints = hints};
    arena_init(&check.arena);
    dialects_register_all(check.ctx);
    diag_show_op(check.ctx, false);
    driver_check_model(&check, path, strbuf_str(&bytes), &flags->model);
    diag_flush(check.ctx);
    bool ok = report(tool, flags, &check, path, strbuf_str(&bytes));
    driver_check_free(&check);
    context_destroy(check.ctx);
    arena_free(&check.arena);
    strbuf_free(&bytes);
    return ok;
}

static bool check_flags(const Tool *tool, const CheckFlags *flags)
{
    bool wants_report = flags->partition || flags->shows_requantizers;
    return flags->profile.len == 0 || !wants_report ||
           tool_error(tool, "error: --profile is in place of the report, so --partition-out and "
                            "--streamlining have no use");
}

int command_check(int argc, char **argv)
{
    if (tool_wants_overlay(argc, argv)) return tool_check_overlay(argc, argv);
    CheckFlags check = {0};
    Flags flags = {0};
    flags_add_model(&flags, &check.model);
    FLAGS_ADD(&flags,
              {"architecture", FLAG_CHOICE, &check.architecture, TOOL_ARCHITECTURES,
               "An accelerator of processes, or layers of an overlay, with options of their own "
               "(--architecture=overlay --help)",
               NULL},
              {"json", FLAG_SWITCH, &check.as_json, NULL, "Print JSON instead of a table", NULL},
              {"streamlining", FLAG_SWITCH, &check.shows_requantizers, NULL,
               "Tell what each quantizer became, and which nodes are part of it", NULL},
              {"partition-out", FLAG_TEXT, &check.partition, "file",
               "Write the largest part that compiles, for --partition of all commands", NULL});
    FLAGS_ADD(&flags, {"profile", FLAG_TEXTS, &check.profile, "[name=]file.npy",
                       "Print in place of the report what numbers weights and activations are on "
                       "these frames: range, mean, deviation, magnitudes, saturated ones; an array "
                       "for each input",
                       NULL});
    const Tool tool = {
        .name = "ming check",
        .summary = "ming check: tells which operators of a model compile, and what they take",
        .usage = "MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE ||
              (args == ARGS_RUN && check_flags(&tool, &check) && check_file(&tool, &check, path));
    vec_free(&check.profile);
    driver_model_options_free(&check.model);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
