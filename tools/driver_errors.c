/* What the driver reports, and its work that several commands have, as the tools show them.
 * Tests: lit/driver/objective.mir, lit/driver/device-invalid.mir, lit/driver/quantize.mir */
#include "emit/emit.h"
#include "tools/internal.h"

static void report(void *user, DriverErrorKind kind, Str message)
{
    const FlagAdvice advice = flag_advice(kind);
    progress_erase(((const Tool *)user)->progress);
    if (kind == DRIVER_WARNING)
        fprintf(stderr, "%s: warning: %.*s\n", ((const Tool *)user)->name, STR_ARG(message));
    else
        tool_error(user, "error: %s%.*s%s", advice.before, STR_ARG(message), advice.behind);
}

DriverErrors tool_errors(const Tool *tool)
{
    return (DriverErrors){report, (void *)(uintptr_t)tool};
}

bool tool_check_device(const Tool *tool, const DeviceOptions *options)
{
    StrBuf why = {0};
    bool ok = flags_check_device(options, &why) || tool_error(tool, "error: %s", why.data);
    strbuf_free(&why);
    return ok;
}

bool tool_quantize(const Tool *tool, const QuantizeOptions *options, Op *module,
                   const char *function)
{
    StrBuf report_text = {0}, why = {0};
    if (options->format) progress_set(tool->progress, "quantizing");
    bool ok = (flags_check_quantize(options, &why) || tool_error(tool, "error: %s", why.data)) &&
              driver_quantize(module, function, options, tool_errors(tool), &report_text);
    progress_erase(tool->progress);
    if (report_text.len > 0) fwrite(report_text.data, 1, report_text.len, stderr);
    strbuf_free(&report_text);
    strbuf_free(&why);
    return ok;
}

bool tool_check_output(const Tool *tool, const char *dir)
{
    StrBuf why = {0};
    bool ok = emit_check_output(dir, &why) || tool_error(tool, "%s", why.data);
    strbuf_free(&why);
    return ok;
}
