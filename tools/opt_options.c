/* ming-opt's flags: upstream's names, one flag per pass.
 * Tests: lit/tools/command-line.mir */
#include <assert.h>
#include <string.h>

#include "driver/driver.h"
#include "tools/internal.h"

#define SPLIT_MARKER "// -----"
#define FLAG_ROWS 48

static bool take_pass_flag(void *user, Str name, const char *value)
{
    OptOptions *options = user;
    const PassDef *def = pass_find(driver_all_passes(), name);
    if (!def) return false;
    *vec_push(&options->passes) = (PassFlag){.def = def, .options = value};
    return true;
}

/* What an option takes, in the place where flags have the word for their value. */
static void add_option_values(const OptionDef *option, StrBuf *out)
{
    static const char *const words[] = {
        [OPTION_BOOL] = "true|false",
        [OPTION_INT] = "n",
        [OPTION_UINT] = "n",
        [OPTION_STRING] = "text",
        [OPTION_INT_LIST] = "n,...",
        [OPTION_STRING_LIST] = "text,...",
        [OPTION_PIPELINE_LIST] = "passes",
    };
    if (!option->choices) strbuf_add_c(out, words[option->kind]);
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        strbuf_printf(out, "%s%s", i ? "|" : "", option->choices[i]);
}

static void add_option_help(const OptionDef *option, StrBuf *out)
{
    StrBuf usage = {0}, help = {0};
    const char *fallback = option->fallback;
    strbuf_printf(&usage, "      %s=<", option->name);
    add_option_values(option, &usage);
    strbuf_add_char(&usage, '>');
    strbuf_add_c(&help, option->help ? option->help : "");
    if (option->kind == OPTION_BOOL && !fallback) fallback = "false";
    if ((option->kind == OPTION_INT || option->kind == OPTION_UINT) && !fallback) fallback = "0";
    if (fallback && *fallback) strbuf_printf(&help, " (default %s)", fallback);
    tool_help_text(out, usage.data, help.data ? help.data : "");
    strbuf_free(&usage);
    strbuf_free(&help);
}

static void add_pass_help(void *user, StrBuf *out)
{
    (void)user;
    const PassTable *table = driver_all_passes();
    strbuf_add_c(out, "\npasses, in the order given; options as --pass=\"a=1 b=2\":\n");
    for (size_t i = 0; i < table->count; i++) {
        const PassDef *pass = table->passes[i];
        tool_help_line(out, &(Flag){.name = pass->name, .help = pass->summary});
        for (const OptionDef *option = pass->options; option && option->name; option++)
            add_option_help(option, out);
    }
}

static void dump_passes(JsonWriter *json)
{
    const PassTable *table = driver_all_passes();
    json_member_array(json, "passes");
    for (size_t i = 0; i < table->count; i++) {
        json_begin_object(json);
        json_member_string(json, "name", str_from(table->passes[i]->name));
        json_member_string(json, "summary", str_from(table->passes[i]->summary));
        json_end_object(json);
        json_write_line(json, 0);
    }
    json_end_array(json);
}

static void add_pass_names(Suggestion *near)
{
    const PassTable *table = driver_all_passes();
    for (size_t i = 0; i < table->count; i++)
        suggestion_try(near, str_from(table->passes[i]->name));
}

/* Whether the names given to --mlir-print-ir-before or -after are passes. */
static bool check_pass_names(const Tool *tool, const char *flag, const Texts *names)
{
    for (size_t i = 0; i < names->len; i++)
        if (!pass_find(driver_all_passes(), str_from(names->data[i])))
            return tool_error(tool, "for the --%s option: Cannot find option named '%s'!", flag,
                              names->data[i]);
    return true;
}

static size_t add_rows(Flag *rows, size_t count, const Flag *more, size_t more_count)
{
    assert(count + more_count <= FLAG_ROWS);
    memcpy(rows + count, more, more_count * sizeof *more);
    return count + more_count;
}

static size_t add_general_flags(OptOptions *o, Flag *rows, size_t count)
{
    const Flag flags[] = {
        {"o", FLAG_TEXT, &o->output, "file", "Write to a file instead of standard output", NULL},
        {"pass-pipeline", FLAG_TEXT, &o->pipeline, "text",
         "Passes to run, as builtin.module(a,func.func(b{x=1}))", NULL},
        {"p", FLAG_TEXT, &o->pipeline, "text", "The same as --pass-pipeline", NULL},
        {"dump-pass-pipeline", FLAG_SWITCH, &o->dump_pipeline, NULL,
         "Print the pipeline that will be run", NULL},
        {"list-passes", FLAG_SWITCH, &o->list_passes, NULL, "List the passes and exit", NULL},
        {"show-dialects", FLAG_SWITCH, &o->show_dialects, NULL, "List the dialects and exit", NULL},
        {"emit-dialect-docs", FLAG_TEXT, &o->docs_dir, "dir",
         "Write the dialects' reference pages and exit", NULL},
        {"allow-unregistered-dialect", FLAG_SWITCH, &o->allow_unregistered, NULL,
         "Accept operations of unknown dialects", NULL},
        {"no-implicit-module", FLAG_SWITCH, &o->no_implicit_module, NULL,
         "Do not wrap the input in a module", NULL},
        {"split-input-file", FLAG_OPTIONAL_TEXT, &o->split_marker, "marker",
         "Process the pieces between marker lines (" SPLIT_MARKER ") one by one", SPLIT_MARKER},
        {"output-split-marker", FLAG_TEXT, &o->output_marker, "text",
         "What to print between the pieces", NULL},
        {"verify-diagnostics", FLAG_SWITCH, &o->verify_diagnostics, NULL,
         "Check diagnostics against the input's expected-* comments", NULL},
        {"verify-each", FLAG_SWITCH, &o->verify_each, NULL, "Verify after each pass (default)",
         NULL},
        {"verify-roundtrip", FLAG_SWITCH, &o->verify_roundtrip, NULL,
         "Check that the input survives printing and parsing", NULL},
        {"verify-semantics", FLAG_OPTIONAL_INT, &o->verify_semantics, "n",
         "Run functions on n random inputs (default 1) before and after each pass and compare",
         "1"},
        {"mlir-disable-threading", FLAG_SWITCH, &o->disable_threading, NULL,
         "Accepted for compatibility; there are no threads", NULL},
    };
    return add_rows(rows, count, flags, COUNT_OF(flags));
}

static size_t add_print_flags(PrintOptions *o, Flag *rows, size_t count)
{
    const Flag flags[] = {
        {"mlir-print-op-generic", FLAG_SWITCH, &o->generic, NULL, "Print the generic form", NULL},
        {"mlir-print-debuginfo", FLAG_SWITCH, &o->debug_info, NULL, "Print locations", NULL},
        {"mlir-pretty-debuginfo", FLAG_SWITCH, &o->pretty_debug_info, NULL,
         "Print locations for people, not for the parser", NULL},
        {"mlir-print-local-scope", FLAG_SWITCH, &o->local_scope, NULL, "Print without aliases",
         NULL},
        {"mlir-print-value-users", FLAG_SWITCH, &o->value_users, NULL,
         "Print the users of values as comments", NULL},
        {"mlir-print-unique-ssa-ids", FLAG_SWITCH, &o->unique_ssa_ids, NULL,
         "Do not reuse numbers of values in other regions", NULL},
        {"mlir-print-skip-regions", FLAG_SWITCH, &o->skip_regions, NULL, "Print {...} for regions",
         NULL},
        {"mlir-elide-elementsattrs-if-larger", FLAG_UINT, &o->elide_elements_above, "n",
         "Leave out elements attributes with more elements", NULL},
        {"mlir-elide-resource-strings-if-larger", FLAG_UINT, &o->elide_resources_above, "n",
         "Leave out resources with more characters", NULL},
    };
    return add_rows(rows, count, flags, COUNT_OF(flags));
}

static size_t add_dump_flags(PassWatchOptions *o, Flag *rows, size_t count)
{
    const Flag flags[] = {
        {"mlir-print-ir-before", FLAG_TEXTS, &o->before, "passes", "Print IR before passes", NULL},
        {"mlir-print-ir-after", FLAG_TEXTS, &o->after, "passes", "Print IR after passes", NULL},
        {"mlir-print-ir-before-all", FLAG_SWITCH, &o->before_all, NULL, "Print IR before each pass",
         NULL},
        {"mlir-print-ir-after-all", FLAG_SWITCH, &o->after_all, NULL, "Print IR after each pass",
         NULL},
        {"mlir-print-ir-after-change", FLAG_SWITCH, &o->after_change, NULL,
         "Of the dumps after passes, only those with changes", NULL},
        {"mlir-print-ir-after-failure", FLAG_SWITCH, &o->after_failure, NULL,
         "Print IR after a pass that failed", NULL},
        {"mlir-print-ir-module-scope", FLAG_SWITCH, &o->module_scope, NULL,
         "Dump the whole module around passes", NULL},
        {"mlir-print-ir-tree-dir", FLAG_TEXT, &o->tree_dir, "dir",
         "Write dumps to files in a tree of folders", NULL},
    };
    return add_rows(rows, count, flags, COUNT_OF(flags));
}

static size_t add_report_flags(OptOptions *o, Flag *rows, size_t count)
{
    const Flag flags[] = {
        {"mlir-timing", FLAG_SWITCH, &o->watch.timing, NULL, "Report execution times", NULL},
        {"mlir-timing-display", FLAG_CHOICE, &o->watch.timing_display, "tree|list",
         "Times in order of runs, or sorted", NULL},
        {"mlir-output-format", FLAG_CHOICE, &o->watch.timing_format, "text|json",
         "How times are written", NULL},
        {"mlir-pass-statistics", FLAG_SWITCH, &o->watch.statistics, NULL,
         "Report the passes' statistics", NULL},
        {"mlir-pass-statistics-display", FLAG_CHOICE, &o->watch.statistics_display, "pipeline|list",
         "Statistics in order of the pipeline, or merged by name", NULL},
        {"mlir-pass-pipeline-crash-reproducer", FLAG_TEXT, &o->crash_reproducer, "file",
         "If a pass fails or crashes, write the input and the pipeline to a file", NULL},
        {"mlir-pass-pipeline-local-reproducer", FLAG_SWITCH, &o->local_reproducer, NULL,
         "Write only the pass at fault, and what it was given", NULL},
        {"mlir-generate-reproducer", FLAG_TEXT, &o->written_reproducer, "file",
         "Write such a file in any case, with what the pipeline made", NULL},
        {"run-reproducer", FLAG_SWITCH, &o->run_reproducer, NULL,
         "Run the pipeline that such a file holds", NULL},
    };
    return add_rows(rows, count, flags, COUNT_OF(flags));
}

ArgsResult opt_options_parse(OptOptions *options, int argc, char **argv, Texts *inputs)
{
    *options = (OptOptions){
        .verify_each = true, .output = "-", .output_marker = SPLIT_MARKER, .print = PRINT_DEFAULT};
    options->watch = (PassWatchOptions){.timing_display = "tree",
                                        .timing_format = "text",
                                        .statistics_display = "pipeline",
                                        .print = &options->print};
    Flag rows[FLAG_ROWS];
    size_t count = add_general_flags(options, rows, 0);
    count = add_print_flags(&options->print, rows, count);
    count = add_dump_flags(&options->watch, rows, count);
    count = add_report_flags(options, rows, count);
    const Tool tool = {
        .name = "ming-opt",
        .summary = "ming-opt: reads IR, verifies it, runs passes, prints it",
        .usage = "[options] [input file, default: -]",
        .flags = rows,
        .flag_count = count,
        .extra = take_pass_flag,
        .extra_help = add_pass_help,
        .extra_names = add_pass_names,
        .extra_json = dump_passes,
        .user = options,
    };
    ArgsResult result = tool_parse_args(&tool, argc, argv, inputs);
    if (result != ARGS_RUN) return result;
    bool ok = check_pass_names(&tool, "mlir-print-ir-before", &options->watch.before) &&
              check_pass_names(&tool, "mlir-print-ir-after", &options->watch.after);
    if (ok && options->verify_semantics < 0)
        ok = tool_error(&tool, "--verify-semantics takes a positive number");
    if (ok && inputs->len > 1)
        ok = tool_error(&tool,
                        "Too many positional arguments specified!\nCan specify at most 1 "
                        "positional arguments: See: %s --help",
                        tool.name);
    return ok ? ARGS_RUN : ARGS_WRONG;
}

void opt_options_free(OptOptions *options)
{
    vec_free(&options->passes);
    vec_free(&options->watch.before);
    vec_free(&options->watch.after);
}
