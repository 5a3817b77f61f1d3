/* Options by name, for the commands whose work the library offers.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <stdlib.h>
#include <string.h>

#include "libming/internal.h"
#include "sim/interp/interp.h"

static const char *const command_names[COMMANDS] = {"compile", "run", "sim", "check", "report"};

static void add_run(Flags *flags, RunSettings *run)
{
    FLAGS_ADD(flags, {"function", FLAG_TEXT, &run->function, "name", "Function", NULL},
              {"pass-pipeline", FLAG_TEXT, &run->pipeline, "text", "Passes to run before", NULL},
              {"max-steps", FLAG_INT, &run->max_steps, "n", "Ops of a frame", NULL});
}

static void add_sim(Flags *flags, SimulationSettings *sim)
{
    FLAGS_ADD(flags, {"frames", FLAG_INT, &sim->frames, "n", "Frames to simulate", NULL},
              {"max-events", FLAG_INT, &sim->max_events, "n", "Reads and writes", NULL},
              {"clock", FLAG_INT, &sim->clock, "MHz", "Clock", NULL},
              {"input-rate", FLAG_TEXT, &sim->input_rate, "x", "Words per cycle", NULL},
              {"output-rate", FLAG_TEXT, &sim->output_rate, "x", "Words per cycle", NULL},
              {"seed", FLAG_INT, &sim->seed, "n", "Pause ports at random", NULL},
              {"perturb", FLAG_TEXT, &sim->perturb, "+1", "Deeper pipelines", NULL},
              {"pipeline-style", FLAG_CHOICE, &sim->style, "stalled|flushing", "Pipelines", NULL});
}

static void add_flags(ming_options *options)
{
    Flags *flags = &options->flags;
    switch (options->command) {
    case COMMAND_COMPILE:
        compile_flags_add(flags, &options->compile);
        compile_flags_add_last(flags, &options->compile);
        break;
    case COMMAND_RUN:
        add_run(flags, &options->run);
        flags_add_model(flags, &options->compile.model);
        flags_add_quantize(flags, &options->compile.quantize);
        break;
    case COMMAND_CHECK: flags_add_model(flags, &options->compile.model); break;
    case COMMAND_REPORT:
        FLAGS_ADD(flags, {"layout", FLAG_CHOICE, &options->layout, REPORT_LAYOUTS, "Places", NULL});
        break;
    case COMMAND_SIM:
    case COMMANDS: add_sim(flags, &options->sim); break;
    }
}

ming_options *ming_options_create(ming_context *ctx, const char *command)
{
    ming_options *options = NULL;
    Suggestion near = {.wanted = str_from(command)};
    lib_enter(ctx);
    for (Command i = 0; i < COMMANDS; i++) {
        suggestion_try(&near, str_from(command_names[i]));
        if (strcmp(command, command_names[i]) != 0) continue;
        options = xcalloc(1, sizeof *options);
        options->command = i;
    }
    if (options) {
        options->owner = ctx;
        compile_flags_init(&options->compile);
        options->run = (RunSettings){.max_steps = INTERP_MAX_STEPS};
        options->sim = (SimulationSettings)SIMULATION_DEFAULTS;
        add_flags(options);
    } else {
        StrBuf hint = {0};
        suggestion_print(&near, &hint);
        lib_error(ctx, "there are no options of a command '%s'%.*s", command,
                  STR_ARG(strbuf_str(&hint)));
        strbuf_free(&hint);
    }
    lib_leave(ctx);
    return options;
}

void ming_options_destroy(ming_options *options)
{
    if (!options) return;
    for (size_t i = 0; i < options->texts.len; i++) free(options->texts.data[i]);
    vec_free(&options->texts);
    vec_free(&options->flags);
    compile_flags_free(&options->compile);
    free(options);
}

static bool unknown_option(const ming_options *options, Str name)
{
    StrBuf hint = {0};
    Suggestion near = {.wanted = name};
    for (size_t i = 0; i < options->flags.len; i++)
        suggestion_try(&near, str_from(options->flags.data[i].name));
    suggestion_print(&near, &hint);
    lib_error(options->owner, "'%s' has no option '%.*s'%.*s", command_names[options->command],
              STR_ARG(name), STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
    return false;
}

static bool set(ming_options *options, Str name, const char *value)
{
    const Flag *flag = flag_find(options->flags.data, options->flags.len, name);
    StrBuf why = {0};
    if (!flag) return unknown_option(options, name);
    char *text = value ? lib_text(str_from(value)) : NULL;
    if (text) *vec_push(&options->texts) = text;
    bool ok = flag_set(flag, text, &why) ||
              lib_error(options->owner, "for the --%s option: %s", flag->name, why.data);
    strbuf_free(&why);
    return ok;
}

bool ming_options_set(ming_options *options, const char *name, const char *value)
{
    if (!options) return false;
    lib_enter(options->owner);
    while (*name == '-') name++;
    bool ok = set(options, str_from(name), value);
    lib_leave(options->owner);
    return ok;
}

bool lib_check_command(ming_context *owner, const ming_options *options, Command command)
{
    return !options || options->command == command ||
           lib_error(owner, "options of '%s' are given where those of '%s' are taken",
                     command_names[options->command], command_names[command]);
}

bool lib_check_model_options(ming_context *owner, const ming_options *options)
{
    return !options || (options->command != COMMAND_SIM && options->command != COMMAND_REPORT) ||
           lib_error(owner, "options of '%s' are given where those of models are taken",
                     command_names[options->command]);
}
