/* ming-opt: parses, verifies, transforms and prints IR, with mlir-opt's flags.
 *
 *   input ─▶ chunks (--split-input-file) ─▶ parse + verify ─▶ passes ─▶ print ─▶ output
 *
 * Every chunk has a context of its own.
 * Tests: lit/tools, lit/ir */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "ir/attr.h"
#include "ir/diag.h"
#include "ir/parse.h"
#include "ir/pass.h"
#include "ir/print.h"
#include "sim/verify_semantics.h"
#include "tools/all_passes.h"
#include "tools/dialect_docs.h"
#include "tools/expected_diags.h"
#include "tools/files.h"
#include "tools/pass_watch.h"
#include "tools/reproducer.h"
#include "tools/tool_support.h"

#define SPLIT_MARKER "// -----"

typedef struct PassFlag {
    const PassDef *def;
    const char *options; /* or NULL */
} PassFlag;

typedef struct Options {
    bool allow_unregistered, no_implicit_module;
    bool verify_each, verify_diagnostics, verify_roundtrip;
    bool dump_pipeline, show_dialects, list_passes;
    bool disable_threading; /* taken for compatibility: there are no threads */
    const char *split_marker; /* NULL: one chunk */
    const char *output_marker;
    const char *output, *docs_dir, *pipeline;
    const char *reproducer; /* file for a failed pipeline's input; or NULL */
    bool run_reproducer;
    int64_t verify_semantics; /* random inputs per function; 0: none */
    PrintOptions print;
    PassWatchOptions watch;
    VEC(PassFlag) passes; /* one per flag, in order */
} Options;

/* --- command line ------------------------------------------------------------------- */

static bool take_pass_flag(void *user, Str name, const char *value)
{
    Options *options = user;
    const PassDef *def = pass_find(all_passes(), name);
    if (!def) return false;
    *vec_push(&options->passes) = (PassFlag){.def = def, .options = value};
    return true;
}

static void add_pass_help(void *user, StrBuf *out)
{
    (void)user;
    const PassTable *table = all_passes();
    strbuf_add_c(out, "\npasses, in the order given; options as --pass=\"a=1 b=2\":\n");
    for (size_t i = 0; i < table->count; i++) {
        const PassDef *pass = table->passes[i];
        tool_help_line(out, pass->name, NULL, pass->summary);
        for (const OptionDef *option = pass->options; option && option->name; option++) {
            StrBuf name = {0};
            strbuf_printf(&name, "      %s=", option->name);
            strbuf_printf(out, "%-48s%s\n", name.data, option->help ? option->help : "");
            strbuf_free(&name);
        }
    }
}

#define FLAG_ROWS 40

/* Fills rows (FLAG_ROWS of them) and returns how many there are. */
static size_t make_flags(Options *o, Flag *rows)
{
    const Flag flags[] = {
        {"o", FLAG_TEXT, &o->output, "file", "Write to a file instead of standard output", NULL},
        {"pass-pipeline", FLAG_TEXT, &o->pipeline, "text",
         "Passes to run, as builtin.module(a,func.func(b{x=1}))", NULL},
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
        {"mlir-print-op-generic", FLAG_SWITCH, &o->print.generic, NULL, "Print the generic form",
         NULL},
        {"mlir-print-debuginfo", FLAG_SWITCH, &o->print.debug_info, NULL, "Print locations", NULL},
        {"mlir-pretty-debuginfo", FLAG_SWITCH, &o->print.pretty_debug_info, NULL,
         "Print locations for people, not for the parser", NULL},
        {"mlir-print-local-scope", FLAG_SWITCH, &o->print.local_scope, NULL, "Print without aliases",
         NULL},
        {"mlir-print-value-users", FLAG_SWITCH, &o->print.value_users, NULL,
         "Print the users of values as comments", NULL},
        {"mlir-print-unique-ssa-ids", FLAG_SWITCH, &o->print.unique_ssa_ids, NULL,
         "Do not reuse numbers of values in other regions", NULL},
        {"mlir-print-skip-regions", FLAG_SWITCH, &o->print.skip_regions, NULL,
         "Print {...} for regions", NULL},
        {"mlir-elide-elementsattrs-if-larger", FLAG_INT, &o->print.elide_elements_above, "n",
         "Leave out elements attributes with more elements", NULL},
        {"mlir-elide-resource-strings-if-larger", FLAG_INT, &o->print.elide_resources_above, "n",
         "Leave out resources with more characters", NULL},
        {"mlir-print-ir-before", FLAG_TEXTS, &o->watch.before, "passes", "Print IR before passes",
         NULL},
        {"mlir-print-ir-after", FLAG_TEXTS, &o->watch.after, "passes", "Print IR after passes",
         NULL},
        {"mlir-print-ir-before-all", FLAG_SWITCH, &o->watch.before_all, NULL,
         "Print IR before each pass", NULL},
        {"mlir-print-ir-after-all", FLAG_SWITCH, &o->watch.after_all, NULL,
         "Print IR after each pass", NULL},
        {"mlir-print-ir-after-change", FLAG_SWITCH, &o->watch.after_change, NULL,
         "Of the dumps after passes, only those with changes", NULL},
        {"mlir-print-ir-after-failure", FLAG_SWITCH, &o->watch.after_failure, NULL,
         "Print IR after a pass that failed", NULL},
        {"mlir-print-ir-module-scope", FLAG_SWITCH, &o->watch.module_scope, NULL,
         "Dump the whole module around passes", NULL},
        {"mlir-timing", FLAG_SWITCH, &o->watch.timing, NULL, "Report execution times", NULL},
        {"mlir-timing-display", FLAG_TEXT, &o->watch.timing_display, "tree|list",
         "Times in order of runs, or sorted", NULL},
        {"mlir-pass-statistics", FLAG_SWITCH, &o->watch.statistics, NULL,
         "Report the passes' statistics", NULL},
        {"mlir-pass-pipeline-crash-reproducer", FLAG_TEXT, &o->reproducer, "file",
         "If a pass fails, write the input and the pipeline to a file", NULL},
        {"run-reproducer", FLAG_SWITCH, &o->run_reproducer, NULL,
         "Run the pipeline that such a file holds", NULL},
        {"mlir-disable-threading", FLAG_SWITCH, &o->disable_threading, NULL,
         "Accepted for compatibility; there are no threads", NULL},
    };
    static_assert(COUNT_OF(flags) <= FLAG_ROWS, "room for all flags");
    memcpy(rows, flags, sizeof(flags));
    return COUNT_OF(flags);
}

/* Whether the names given to --mlir-print-ir-before or -after are passes. */
static bool check_pass_names(const Tool *tool, const char *flag, const Texts *names)
{
    for (size_t i = 0; i < names->len; i++)
        if (!pass_find(all_passes(), str_from(names->data[i])))
            return tool_error(tool, "for the --%s option: cannot find pass '%s'", flag,
                              names->data[i]);
    return true;
}

/* --- one chunk -------------------------------------------------------------------------- */

typedef struct Chunk {
    InputFile *file;
    Str text; /* of the file */
    Str name; /* for locations */
} Chunk;

static Context *make_context(const Options *options)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    context_allow_unregistered(ctx, options->allow_unregistered);
    context_show_op_on_diag(ctx, !options->verify_diagnostics);
    return ctx;
}

/* Generic form, with locations, of what the text means; false: diagnosed. */
static bool reprint(const Options *options, const StrBuf *text, StrBuf *out)
{
    Context *ctx = make_context(options);
    ParseOptions parse = {.no_implicit_module = options->no_implicit_module};
    PrintOptions print = PRINT_DEFAULT;
    print.debug_info = print.generic = true;
    Op *op = parse_module(ctx, strbuf_str(text), STR("<roundtrip>"), &parse);
    diag_flush(ctx);
    if (op) {
        op_print(out, op, &print);
        op_erase(op);
    }
    context_destroy(ctx);
    return op != NULL;
}

/* Prints the custom form, parses that again, and compares the generic forms. */
static bool verify_roundtrip(const Options *options, Op *op)
{
    PrintOptions print = PRINT_DEFAULT;
    print.debug_info = true;
    StrBuf text = {0}, before = {0}, after = {0};
    op_print(&text, op, &print);
    print.generic = true;
    op_print(&before, op, &print);
    bool ok = reprint(options, &text, &after);
    if (!ok)
        op_error(op, "failed to parse the printed module");
    else if (!str_eq(strbuf_str(&before), strbuf_str(&after)))
        ok = op_error(op,
                      "roundTrip testing roundtripped module differs from reference:\n"
                      "<<<<<<Reference\n%s\n=====\n%s\n>>>>>roundtripped\n",
                      before.data, after.data);
    diag_flush(op->ctx);
    strbuf_free(&text);
    strbuf_free(&before);
    strbuf_free(&after);
    return ok;
}

static Pipeline *make_pipeline(Context *ctx, const Options *options)
{
    if (options->pipeline && options->passes.len > 0) {
        emit_error(ctx, loc_unknown(ctx),
                   "'-pass-pipeline' option can't be used with individual pass options");
        return NULL;
    }
    if (options->pipeline)
        return pipeline_from_text(ctx, all_passes(), str_from(options->pipeline));
    Pipeline *pipeline = pipeline_create(ctx, "builtin.module");
    for (size_t i = 0; i < options->passes.len; i++) {
        const PassFlag *flag = &options->passes.data[i];
        if (pipeline_add(pipeline, flag->def, flag->options)) continue;
        pipeline_free(pipeline);
        return NULL;
    }
    return pipeline;
}

static void dump_pipeline(const Pipeline *pipeline)
{
    StrBuf text = {0};
    pipeline_print(pipeline, &text);
    fprintf(stderr, "\nPass Manager with %zu passes:\n%s\n\n", pipeline_pass_count(pipeline),
            text.data);
    strbuf_free(&text);
}

/* Runs the pipeline; if asked, what it began with is written to a file when it fails. */
static bool run_pipeline(const Options *options, Pipeline *pipeline, PassWatch *watch, Op *op,
                         bool verify_each)
{
    VerifySemantics *semantics = verify_semantics_create(options->verify_semantics);
    const PassHooks *hooks[] = {pass_watch_hooks(watch), verify_semantics_hooks(semantics), NULL};
    RunOptions run = {.verify_each = verify_each, .hooks = hooks};
    StrBuf before = {0};
    if (options->reproducer) reproducer_capture(&before, op, pipeline, verify_each);
    bool ok = pipeline_run(pipeline, op, &run) && verify_semantics_ok(semantics);
    verify_semantics_free(semantics);
    if (!ok && options->reproducer)
        reproducer_write(op, options->reproducer, strbuf_str(&before), pass_watch_failure(watch));
    strbuf_free(&before);
    diag_flush(op->ctx);
    return ok;
}

static bool run_passes(Context *ctx, const Options *options, PassWatch *watch, Op *op)
{
    Pipeline *pipeline = make_pipeline(ctx, options);
    if (!pipeline) return false;
    bool verify_each = options->verify_each;
    bool ok = !options->run_reproducer ||
              reproducer_apply(ctx, pipeline, all_passes(), &verify_each);
    if (ok && options->dump_pipeline) dump_pipeline(pipeline);
    ok = ok && run_pipeline(options, pipeline, watch, op, verify_each);
    pass_watch_statistics(watch, pipeline);
    pipeline_free(pipeline);
    return ok;
}

static bool print_result(const Options *options, Op *op, const TextSink *out)
{
    PrintOptions print = options->print;
    if (!options->verify_each) print = print_options_for(op, &print);
    return op_print_to(out, op, &print) && out->write(out->user, STR("\n"));
}

static bool transform(Context *ctx, const Options *options, PassWatch *watch, const Chunk *chunk,
                      const TextSink *out)
{
    ParseOptions parse = {.no_implicit_module = options->no_implicit_module,
                          .passed = input_release,
                          .user = chunk->file};
    pass_watch_begin(watch);
    Op *op = parse_module(ctx, chunk->text, chunk->name, &parse);
    pass_watch_end(watch, "Parser");
    diag_flush(ctx);
    if (!op) return false;
    bool ok = !options->verify_roundtrip || verify_roundtrip(options, op);
    ok = ok && run_passes(ctx, options, watch, op);
    if (ok) {
        pass_watch_begin(watch);
        ok = print_result(options, op, out);
        pass_watch_end(watch, "Output");
    }
    op_erase(op);
    return ok;
}

static bool process_chunk(const Options *options, const Chunk *chunk, const TextSink *out)
{
    Context *ctx = make_context(options);
    ExpectedDiags *expected =
        options->verify_diagnostics ? expected_diags_begin(ctx, chunk->text, chunk->name) : NULL;
    PassWatch *watch = pass_watch_create(&options->watch);
    bool ok = transform(ctx, options, watch, chunk, out);
    diag_flush(ctx);
    if (expected) ok = expected_diags_end(expected);
    pass_watch_times(watch);
    pass_watch_free(watch);
    context_destroy(ctx);
    return ok;
}

/* --- chunks --------------------------------------------------------------------------------- */

/* First occurrence of the marker, or NULL. */
static const char *find_marker(Str text, Str marker)
{
    const char *end = text.data + text.len;
    for (const char *at = text.data; (size_t)(end - at) >= marker.len; at++) {
        at = memchr(at, marker.data[0], (size_t)(end - at));
        if (!at || (size_t)(end - at) < marker.len) return NULL;
        if (memcmp(at, marker.data, marker.len) == 0) return at;
    }
    return NULL;
}

static uint32_t count_lines(const char *from, const char *to)
{
    uint32_t lines = 0;
    while ((from = memchr(from, '\n', (size_t)(to - from)))) {
        lines++;
        from++;
    }
    return lines;
}

static bool write_marker(const Options *options, const TextSink *out)
{
    return out->write(out->user, str_from(options->output_marker)) &&
           out->write(out->user, STR("\n"));
}

static bool process_chunks(const Options *options, InputFile *file, const char *path,
                           const TextSink *out)
{
    const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
    Str text = file->text;
    if (!options->split_marker || options->split_marker[0] == '\0')
        return process_chunk(options, &(Chunk){file, text, str_from(shown)}, out);
    Str marker = str_from(options->split_marker);
    uint32_t line = 1;
    bool ok = true;
    for (;;) {
        const char *end = find_marker(text, marker);
        StrBuf name = {0};
        strbuf_printf(&name, "within split at %s:%u offset ", shown, line);
        Chunk chunk = {file, {text.data, end ? (size_t)(end - text.data) : text.len},
                       strbuf_str(&name)};
        ok = process_chunk(options, &chunk, out) && ok;
        strbuf_free(&name);
        if (!end) return ok;
        ok = write_marker(options, out) && ok;
        line += count_lines(text.data, end);
        text.len -= chunk.text.len + marker.len;
        text.data = end + marker.len;
    }
}

/* --- whole tool -------------------------------------------------------------------------------- */

static void list_dialects(const Context *ctx)
{
    printf("Available Dialects: ");
    for (size_t i = 0; i < context_dialect_count(ctx); i++)
        printf("%s%s", i > 0 ? "," : "", context_dialect_at(ctx, i)->name);
    printf("\n");
}

static void list_passes(void)
{
    const PassTable *table = all_passes();
    for (size_t i = 0; i < table->count; i++) printf("%s\n", table->passes[i]->name);
}

/* What needs no input. */
static bool answer_questions(const Tool *tool, const Options *options)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    bool ok = true;
    if (options->show_dialects) list_dialects(ctx);
    if (options->list_passes) list_passes();
    if (options->docs_dir) {
        StrBuf path = {0};
        const char *reason = NULL;
        ok = dialect_docs_write(ctx, all_passes(), options->docs_dir, &path, &reason);
        if (!ok) tool_error(tool, "cannot write '%s': %s", path.data, reason);
        strbuf_free(&path);
    }
    context_destroy(ctx);
    return ok;
}

static bool run(const Tool *tool, const Options *options, const char *path)
{
    InputFile input;
    OutputFile output;
    const char *reason = NULL;
    if (!input_open(&input, path, &reason)) {
        fprintf(stderr, "cannot open input file '%s': %s\n", path, reason);
        return false;
    }
    output_open(&output, options->output);
    bool ok = process_chunks(options, &input, path, &(TextSink){output_write, &output});
    if (!output_close(&output, ok, &reason))
        ok = tool_error(tool, "cannot write '%s': %s", options->output, reason);
    input_close(&input);
    return ok;
}

static void options_free(Options *options)
{
    vec_free(&options->passes);
    vec_free(&options->watch.before);
    vec_free(&options->watch.after);
}

static bool dispatch(const Tool *tool, const Options *options, const Texts *inputs)
{
    if (inputs->len > 1) return tool_error(tool, "one input file at most");
    if (options->show_dialects || options->list_passes || options->docs_dir)
        return answer_questions(tool, options);
    return (options->verify_semantics >= 0 ||
            tool_error(tool, "--verify-semantics takes a positive number")) &&
           check_pass_names(tool, "mlir-print-ir-before", &options->watch.before) &&
           check_pass_names(tool, "mlir-print-ir-after", &options->watch.after) &&
           run(tool, options, inputs->len > 0 ? inputs->data[0] : "-");
}

int main(int argc, char **argv)
{
    Options options = {
        .verify_each = true, .output = "-", .output_marker = SPLIT_MARKER, .print = PRINT_DEFAULT};
    options.watch.print = &options.print;
    Flag rows[FLAG_ROWS];
    const Tool tool = {
        .name = "ming-opt",
        .summary = "ming-opt: reads IR, verifies it, runs passes, prints it",
        .usage = "[options] [input file, default: -]",
        .flags = rows,
        .flag_count = make_flags(&options, rows),
        .extra = take_pass_flag,
        .extra_help = add_pass_help,
        .user = &options,
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_RUN ? dispatch(&tool, &options, &inputs) : args == ARGS_DONE;
    vec_free(&inputs);
    options_free(&options);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
