/* Models to designs and projects, by the steps of `ming compile`.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <stdlib.h>
#include <string.h>

#include "libming/internal.h"

/* What was quantized is a remark. */
static bool quantize(ming_context *owner, const ming_options *options, Op *op, const char *function)
{
    StrBuf report = {0};
    bool ok = driver_quantize(op, function, &options->compile.quantize, lib_errors(owner), &report);
    if (report.len > 0) lib_remark(owner, strbuf_str(&report));
    strbuf_free(&report);
    return ok;
}

/* The text of a file of the project; NULL: there is none. */
static char *find_file(const EmittedProject *project, const char *name)
{
    for (size_t i = 0; i < project->files.len; i++)
        if (str_eq_c(strbuf_str(&project->files.data[i].name), name))
            return lib_text(strbuf_str(&project->files.data[i].text));
    return NULL;
}

/* What was chosen of several modes is a remark. True. */
static bool tell_mode(ming_context *owner, const ModeChoice *choice)
{
    StrBuf text = {0};
    if (choice->count > 0) {
        driver_print_modes(choice, &text);
        lib_remark(owner, strbuf_str(&text));
    }
    strbuf_free(&text);
    return true;
}

/* Replaces *op by its design. */
static bool make_design(ming_context *owner, const ming_options *options, const char *folder,
                        Op **op, EmittedProject *project)
{
    const CompileFlags *flags = &options->compile;
    CompileOptions compile = flags->compile;
    DeviceTarget *target = xcalloc(1, sizeof *target);
    DriverCards *cards = xcalloc(1, sizeof *cards);
    ModeChoice choice = {.count = 0};
    StrBuf why = {0};
    compile.choice = &choice;
    if (driver_wants_cards(&flags->cards)) compile.cards = cards;
    bool ok = driver_resolve_cards(owner->ctx, &flags->cards, &flags->device, lib_errors(owner),
                                   target, cards) &&
              compile_flags_check_target(flags, target, &why) &&
              compile_flags_find_files(flags, &why) && quantize(owner, options, *op, NULL) &&
              driver_compile(op, &compile, target, NULL) && tell_mode(owner, &choice) &&
              compile_flags_emit(flags, folder, *op, project, &why);
    if (why.len > 0) lib_error(owner, "%s", why.data);
    driver_mode_choice_free(&choice);
    strbuf_free(&why);
    free(target);
    free(cards);
    return ok;
}

/* A copy of the options, whose lists are borrowed, with what follows from them. */
static bool settle(ming_context *owner, const ming_options *options, const char *folder,
                   ming_options *out)
{
    StrBuf why = {0};
    *out = *options;
    bool ok = compile_flags_settle(&out->compile, &why) &&
              flags_check_quantize(&out->compile.quantize, &why) &&
              (!folder || emit_check_output(folder, &why));
    if (!ok) lib_error(owner, "%s", why.data);
    strbuf_free(&why);
    return ok;
}

static ming_module *compile(const ming_module *model, const ming_options *options,
                            const char *folder)
{
    ming_context *owner = model->owner;
    ming_options settled;
    EmittedProject project = {0};
    if (!lib_check_command(owner, options, COMMAND_COMPILE) ||
        !settle(owner, options, folder, &settled))
        return NULL;
    Op *op = op_clone(model->op, NULL);
    bool ok = make_design(owner, &settled, folder, &op, &project);
    ming_module *design = ok ? lib_module(owner, op) : NULL;
    if (design) {
        design->report = find_file(&project, "report.json");
        design->folding = find_file(&project, "folding.json");
    } else {
        op_erase(op);
    }
    emitted_project_free(&project);
    return design;
}

ming_module *ming_compile(const ming_module *model, const ming_options *options, const char *folder)
{
    if (!model) return NULL;
    ming_context *owner = model->owner;
    ming_options *defaults = options ? NULL : ming_options_create(owner, "compile");
    lib_enter(owner);
    ming_module *design = compile(model, options ? options : defaults, folder);
    lib_leave(owner);
    ming_options_destroy(defaults);
    return design;
}
