/* Spells the options of choose-unroll. */
#include <string.h>

#include "driver/driver.h"
#include "ir/core/core.h"

bool search_options_check(const Tool *tool, const SearchOptions *options)
{
    bool wants_fps = options->objective && strcmp(options->objective, "fps") == 0;
    if (options->fps < 0 || options->time_limit < 0 || options->reserved_bram < 0)
        return tool_error(tool,
                          "error: --fps, --time-limit and --reserve-bram take numbers that are not "
                          "negative");
    if (wants_fps && options->fps == 0)
        return tool_error(tool, "error: --objective=fps needs --fps=N");
    if (options->fps > 0 && options->objective && !wants_fps)
        return tool_error(tool,
                          "error: --fps has an objective of its own, it does not go with "
                          "--objective=%s",
                          options->objective);
    if (options->dump_lp && strpbrk(options->dump_lp, "\"'{}"))
        return tool_error(tool, "error: --dump-lp takes a name without quotes and braces");
    return true;
}

/* Zeros are what the pass takes without the option. */
static void add_number(StrBuf *out, const char *name, int64_t value)
{
    if (value != 0) strbuf_printf(out, " %s=%lld", name, (long long)value);
}

void search_add_pass(StrBuf *out, const SearchOptions *options, const DeviceTarget *target)
{
    const Resources *budget = &target->budget;
    const char *objective = options->objective ? options->objective
                            : options->fps > 0 ? "fps"
                                               : "throughput";
    strbuf_printf(out, "choose-unroll{objective=%s", objective);
    add_number(out, "fps", options->fps);
    add_number(out, "time-limit", options->time_limit);
    add_number(out, "reserve-bram", options->reserved_bram);
    add_number(out, "reserve-lut", options->reserved_lut);
    if (options->dump_lp) strbuf_printf(out, " dump-lp=\"%s\"", options->dump_lp);
    strbuf_printf(out,
                  " dsp=%lld bram=%lld uram=%lld lut=%lld ff=%lld device=%.*s part=%.*s clock=%lld",
                  (long long)budget->dsp, (long long)budget->bram18, (long long)budget->uram,
                  (long long)budget->lut, (long long)budget->ff, STR_ARG(target->device.name),
                  STR_ARG(target->device.part), (long long)target->clock);
    if (options->loads_weights) strbuf_add_c(out, " loads-weights=true");
    if (!str_eq_c(target->device.dsp_kind, "DSP48E2"))
        strbuf_printf(out, " dsp-kind=%.*s", STR_ARG(target->device.dsp_kind));
    strbuf_add_char(out, '}');
}

static int64_t result(const Attr *budget, const char *name)
{
    const Attr *value = attr_dict_get_c(budget, name);
    return value && value->kind == ATTR_INTEGER ? attr_int_value(value) : 0;
}

void search_add_result(StrBuf *out, const Op *module)
{
    const Attr *budget = op_attr(module, "dfg.budget");
    const Attr *objective =
        budget && budget->kind == ATTR_DICT ? attr_dict_get_c(budget, "objective") : NULL;
    if (!objective || objective->kind != ATTR_STRING) return;
    int64_t value = result(budget, "value"), bound = result(budget, "bound");
    bool is_share = str_eq_c(objective->u.string, "fps");
    strbuf_printf(out, "\nObjective %.*s: %lld %s, ", STR_ARG(objective->u.string),
                  (long long)value, is_share ? "millionths of the budget" : "cycles");
    if (bound == value)
        strbuf_add_c(out, "optimal");
    else
        strbuf_printf(out, "not proven: no design is below %lld", (long long)bound);
    strbuf_printf(out, "; a frame every %lld cycles\n", (long long)result(budget, "interval"));
}
