/* ming-opt: parses, verifies, transforms and prints IR, with mlir-opt's flags.
 *
 *   input ─▶ chunks (--split-input-file) ─▶ parse + verify ─▶ passes ─▶ print ─▶ output
 *
 * Every chunk has a context of its own.
 * Tests: lit/tools, lit/ir */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "driver/driver.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "ir/verify/verify.h"
#include "sim/interp/interp.h"
#include "tools/internal.h"

typedef struct Chunk {
    InputFile *file;
    Str text; /* of the file */
    Str name; /* for locations */
} Chunk;

static Context *make_context(const OptOptions *options)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    dialect_allow_unregistered(ctx, options->allow_unregistered);
    diag_show_op(ctx, !options->verify_diagnostics);
    return ctx;
}

/* Generic form, with locations, of what the text means; false: diagnosed. */
static bool reprint(const OptOptions *options, const StrBuf *text, StrBuf *out)
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
static bool verify_roundtrip(const OptOptions *options, Op *op)
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

static bool add_pass_flags(Pipeline *pipeline, const OptOptions *options)
{
    for (size_t i = 0; i < options->passes.len; i++) {
        const PassFlag *flag = &options->passes.data[i];
        if (!pipeline_add(pipeline, flag->def, flag->options)) return false;
    }
    return true;
}

/* The pipeline of the command line, for ops like `op`; NULL: diagnosed. A reproducer's own comes
 * before the passes that flags name. */
static Pipeline *make_pipeline(const OptOptions *options, const Op *op, bool *verify_each)
{
    Context *ctx = op->ctx;
    if (options->pipeline && options->passes.len > 0) {
        diag_error(ctx, loc_unknown(ctx),
                   "'-pass-pipeline' option can't be used with individual pass options");
        return NULL;
    }
    Pipeline *pipeline = pipeline_create(ctx, driver_all_passes(), op_name(op).data);
    bool ok = !options->run_reproducer ||
              reproducer_apply(ctx, &pipeline, driver_all_passes(), verify_each);
    if (ok && options->pipeline) {
        pipeline_free(pipeline);
        return pipeline_from_text(ctx, driver_all_passes(), str_from(options->pipeline));
    }
    if (ok && add_pass_flags(pipeline, options)) return pipeline;
    pipeline_free(pipeline);
    return NULL;
}

static void dump_pipeline(const Pipeline *pipeline)
{
    StrBuf text = {0};
    pipeline_print(pipeline, &text);
    fprintf(stderr, "Pass Manager with %zu passes:\n%s\n\n", pipeline_pass_count(pipeline),
            text.data);
    strbuf_free(&text);
}

static bool run_passes(const OptOptions *options, PassWatch *watch, Op *op)
{
    ReproducerOptions reproducer = {.path = options->crash_reproducer,
                                    .is_local = options->local_reproducer,
                                    .verify_each = options->verify_each,
                                    .disable_threading = options->disable_threading};
    Pipeline *pipeline = make_pipeline(options, op, &reproducer.verify_each);
    if (!pipeline) return false;
    if (options->dump_pipeline) dump_pipeline(pipeline);
    VerifySemantics *semantics = verify_semantics_create(options->verify_semantics);
    const PassHooks *hooks[] = {pass_watch_hooks(watch), verify_semantics_hooks(semantics), NULL};
    bool ok = reproducer_run(&reproducer, pipeline, op, hooks) && verify_semantics_ok(semantics);
    verify_semantics_free(semantics);
    diag_flush(op->ctx);
    pass_watch_statistics(watch, pipeline);
    if (ok && options->written_reproducer)
        ok = reproducer_write(options->written_reproducer, pipeline, op);
    pipeline_free(pipeline);
    return ok;
}

static bool print_result(const OptOptions *options, Op *op, const TextSink *out)
{
    PrintOptions print = options->print;
    if (!options->verify_each) print = verify_print_options(op, &print);
    return op_print_to(out, op, &print) && out->write(out->user, STR("\n"));
}

static bool transform(Context *ctx, const OptOptions *options, PassWatch *watch, const Chunk *chunk,
                      const TextSink *out)
{
    ParseOptions parse = {.no_implicit_module = options->no_implicit_module,
                          .passed = input_release,
                          .user = chunk->file};
    pass_watch_begin(watch, "Parser");
    Op *op = parse_module(ctx, chunk->text, chunk->name, &parse);
    pass_watch_end(watch);
    diag_flush(ctx);
    if (!op) return false;
    bool ok = !options->verify_roundtrip || verify_roundtrip(options, op);
    ok = ok && run_passes(options, watch, op);
    if (ok) {
        pass_watch_begin(watch, "Output");
        ok = print_result(options, op, out);
        pass_watch_end(watch);
    }
    op_erase(op);
    return ok;
}

static bool process_chunk(const OptOptions *options, const Chunk *chunk, const TextSink *out)
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

static bool write_marker(const OptOptions *options, const TextSink *out)
{
    return out->write(out->user, str_from(options->output_marker)) &&
           out->write(out->user, STR("\n"));
}

static bool process_chunks(const OptOptions *options, InputFile *file, const char *path,
                           const TextSink *out)
{
    const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (!options->split_marker || options->split_marker[0] == '\0')
        return process_chunk(options, &(Chunk){file, file->text, str_from(shown)}, out);
    InputPieces pieces = {0};
    bool ok = true;
    split_input(&pieces, file->text, str_from(options->split_marker), shown);
    for (size_t i = 0; i < pieces.len; i++) {
        const InputPiece *piece = &pieces.data[i];
        StrBuf name = {0};
        if (i > 0) ok = write_marker(options, out) && ok;
        strbuf_printf(&name, "within split at %s:%u offset ", shown, piece->line);
        ok = process_chunk(options, &(Chunk){file, piece->text, strbuf_str(&name)}, out) && ok;
        strbuf_free(&name);
    }
    vec_free(&pieces);
    return ok;
}

static void list_dialects(const Context *ctx)
{
    printf("Available Dialects: ");
    for (size_t i = 0; i < dialect_count(ctx); i++)
        printf("%s%s", i > 0 ? "," : "", dialect_at(ctx, i)->name);
    printf("\n");
}

static void list_passes(void)
{
    const PassTable *table = driver_all_passes();
    for (size_t i = 0; i < table->count; i++) printf("%s\n", table->passes[i]->name);
}

static bool complain(const char *what, const char *path, const char *reason)
{
    fprintf(stderr, "ming-opt: error: %s '%s': %s\n", what, path, reason);
    return false;
}

/* What needs no input. */
static bool answer_questions(const OptOptions *options)
{
    Context *ctx = context_create();
    dialects_register_all(ctx);
    bool ok = true;
    if (options->show_dialects) list_dialects(ctx);
    if (options->list_passes) list_passes();
    if (options->docs_dir) {
        StrBuf path = {0};
        const char *reason = NULL;
        ok = dialect_docs_write(ctx, driver_all_passes(), options->docs_dir, &path, &reason);
        if (!ok) complain("cannot write", path.data, reason);
        strbuf_free(&path);
    }
    context_destroy(ctx);
    return ok;
}

static bool run(const OptOptions *options, const char *path)
{
    InputFile input;
    OutputFile output;
    const char *reason = NULL;
    if (!input_open(&input, path, &reason)) return complain("cannot open input file", path, reason);
    output_open(&output, options->output);
    bool ok = process_chunks(options, &input, path, &(TextSink){output_write, &output});
    if (!output_close(&output, ok, &reason)) ok = complain("cannot write", options->output, reason);
    input_close(&input);
    return ok;
}

int main(int argc, char **argv)
{
    OptOptions options;
    Texts inputs = {0};
    tool_open_standard_files();
    tool_catch_signals();
    ArgsResult args = opt_options_parse(&options, argc, argv, &inputs);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN)
        ok = options.show_dialects || options.list_passes || options.docs_dir
                 ? answer_questions(&options)
                 : run(&options, inputs.len > 0 ? inputs.data[0] : "-");
    vec_free(&inputs);
    opt_options_free(&options);
    return tool_exit_status(&(Tool){.name = "ming-opt"}, ok);
}
