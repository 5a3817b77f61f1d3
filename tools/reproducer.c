/* Writing and reading reproducers of failed pipelines. The texts are made before passes run: after
 * a failure the module is no longer what it was.
 * Tests: lit/tools/reproducer.mir, test/unit/tools/crash_guard_test.c */
#include <assert.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "tools/internal.h"

#define GROUP "mlir_reproducer"

typedef struct RunningPass {
    StrBuf name; /* "`CSE` on 'func.func' operation: @f" */
    StrBuf file; /* the text of its local reproducer */
} RunningPass;

typedef struct Reproducer {
    const ReproducerOptions *options;
    PassHooks hooks;
    CrashGuard guard;
    StrBuf file;              /* the text of the global reproducer */
    VEC(RunningPass) running; /* a stack: passes run passes */
    bool has_failed;
} Reproducer;

static void add_bool(Context *ctx, const char *key, bool value)
{
    ExternalResource entry = {.key = ident_get_c(ctx, key), .kind = EXTERNAL_BOOL, .truth = value};
    context_add_external(ctx, ident_get_c(ctx, GROUP), &entry);
}

/* The outermost op around `op`, with the pipeline in its resources. */
static void print_file(StrBuf *out, Op *op, Str pipeline, const ReproducerOptions *options)
{
    Context *ctx = op->ctx;
    const Ident *group = ident_get_c(ctx, GROUP);
    ExternalResource entry = {
        .key = ident_get_c(ctx, "pipeline"), .kind = EXTERNAL_STRING, .text = pipeline};
    while (op_parent(op)) op = op_parent(op);
    context_drop_external(ctx, group);
    context_add_external(ctx, group, &entry);
    add_bool(ctx, "disable_threading", options->disable_threading);
    add_bool(ctx, "verify_each", options->verify_each);
    op_print(out, op, &PRINT_DEFAULT);
    context_drop_external(ctx, group);
}

/* "builtin.module(func.func(" */
static uint32_t open_scopes(StrBuf *out, const Op *op)
{
    uint32_t outer = op_parent(op) ? open_scopes(out, op_parent(op)) : 0;
    strbuf_add_str(out, op_name(op));
    strbuf_add_char(out, '(');
    return outer + 1;
}

static void print_local_file(StrBuf *out, const Pass *pass, Op *op,
                             const ReproducerOptions *options)
{
    StrBuf pipeline = {0};
    uint32_t depth = open_scopes(&pipeline, op);
    pass_print(pass, &pipeline);
    while (depth-- > 0) strbuf_add_char(&pipeline, ')');
    print_file(out, op, strbuf_str(&pipeline), options);
    strbuf_free(&pipeline);
}

/* All that run, or, as a local reproducer is about one pass, the innermost. */
static void describe_running(const Reproducer *r, StrBuf *out)
{
    bool is_local = r->options->is_local;
    size_t first = is_local && r->running.len ? r->running.len - 1 : 0;
    if (!is_local) strbuf_add_char(out, '[');
    for (size_t i = first; i < r->running.len; i++) {
        if (i > first) strbuf_add_c(out, ", ");
        strbuf_add_str(out, strbuf_str(&r->running.data[i].name));
    }
    if (!is_local) strbuf_add_char(out, ']');
}

static void report_failure(const Reproducer *r, Op *op, Str what, Str text)
{
    const char *path = r->options->path, *reason = NULL;
    bool ok = file_write(path, text, &reason);
    diag_error(op->ctx, op->loc,
               "Failures have been detected while processing an MLIR pass pipeline");
    if (ok)
        diag_note(op->ctx, op->loc,
                  "Pipeline failed while executing %.*s: reproducer generated at `%s`",
                  STR_ARG(what), path);
    else
        diag_note(op->ctx, op->loc, "cannot write the reproducer '%s': %s", path, reason);
    diag_flush(op->ctx);
}

static Str current_file(const Reproducer *r)
{
    bool is_local = r->options->is_local && r->running.len;
    return strbuf_str(is_local ? &r->running.data[r->running.len - 1].file : &r->file);
}

/* Tells the guard what runs now. */
static void note_running(Reproducer *r)
{
    StrBuf what = {0};
    describe_running(r, &what);
    crash_guard_note(&r->guard, strbuf_str(&what), current_file(r));
    strbuf_free(&what);
}

static void before_pass(void *user, const Pass *pass, Op *op)
{
    Reproducer *r = user;
    RunningPass running = {0};
    strbuf_printf(&running.name, "`%s` on ", pass_title(pass));
    pass_watch_describe_op(&running.name, op);
    if (r->options->is_local) print_local_file(&running.file, pass, op, r->options);
    *vec_push(&r->running) = running;
    note_running(r);
}

static void pop_running(Reproducer *r)
{
    RunningPass *running = &r->running.data[--r->running.len];
    strbuf_free(&running->name);
    strbuf_free(&running->file);
}

/* The innermost failure counts, because the pipelines around it fail with it. */
static void after_pass(void *user, const Pass *pass, Op *op, bool ok)
{
    Reproducer *r = user;
    (void)pass;
    if (!ok && !r->has_failed) {
        StrBuf what = {0};
        describe_running(r, &what);
        report_failure(r, op, strbuf_str(&what), current_file(r));
        strbuf_free(&what);
        r->has_failed = true;
    }
    pop_running(r);
    note_running(r);
}

bool reproducer_run(const ReproducerOptions *options, Pipeline *pipeline, Op *op,
                    const PassHooks *const *hooks)
{
    Reproducer r = {.options = options,
                    .hooks = {.user = &r, .before = before_pass, .after = after_pass}};
    const PassHooks *all[REPRODUCER_MAX_HOOKS + 2] = {0};
    size_t count = 0;
    for (; hooks[count]; count++) all[count] = hooks[count];
    assert(count <= REPRODUCER_MAX_HOOKS);
    const RunOptions run = {.verify_each = options->verify_each, .hooks = all};
    if (!options->path) return pipeline_run(pipeline, op, &run);
    all[count] = &r.hooks;
    StrBuf text = {0};
    pipeline_print(pipeline, &text);
    if (!options->is_local) print_file(&r.file, op, strbuf_str(&text), options);
    strbuf_free(&text);
    bool ok = crash_guard_enter(&r.guard);
    if (ok)
        ok = pipeline_run(pipeline, op, &run);
    else
        report_failure(&r, op, strbuf_str(&r.guard.what), strbuf_str(&r.guard.text));
    crash_guard_free(&r.guard);
    strbuf_free(&r.file);
    vec_free(&r.running);
    return ok;
}

bool reproducer_write(const char *path, const Pipeline *pipeline, Op *op)
{
    const ReproducerOptions options = {0};
    StrBuf text = {0}, wrapped = {0}, file = {0};
    const char *reason = NULL;
    pipeline_print(pipeline, &text);
    const char *passes = text.data + strlen(pipeline_anchor(pipeline));
    strbuf_printf(&wrapped, "%s(any%s)", op_name(op).data, passes);
    print_file(&file, op, strbuf_str(&wrapped), &options);
    bool ok = file_write(path, strbuf_str(&file), &reason);
    if (!ok) diag_error(op->ctx, op->loc, "cannot write the reproducer '%s': %s", path, reason);
    diag_flush(op->ctx);
    strbuf_free(&wrapped);
    strbuf_free(&text);
    strbuf_free(&file);
    return ok;
}

static const ExternalResource *find_group(const Context *ctx, const Ident *group)
{
    const Ident *name;
    for (size_t i = 0; i < context_external_group_count(ctx); i++) {
        const ExternalResource *first = context_external_group(ctx, i, &name);
        if (name == group) return first;
    }
    return NULL;
}

static bool read_pipeline(Context *ctx, Pipeline **pipeline, const PassTable *table, Str text)
{
    pipeline_free(*pipeline);
    *pipeline = pipeline_from_text(ctx, table, text);
    return *pipeline != NULL;
}

bool reproducer_apply(Context *ctx, Pipeline **pipeline, const PassTable *table, bool *verify_each)
{
    const Ident *group = ident_get_c(ctx, GROUP);
    bool ok = true;
    for (const ExternalResource *entry = find_group(ctx, group); entry && ok; entry = entry->next) {
        if (str_eq_c(entry->key->str, "pipeline") && entry->kind == EXTERNAL_STRING)
            ok = read_pipeline(ctx, pipeline, table, entry->text);
        if (str_eq_c(entry->key->str, "verify_each") && entry->kind == EXTERNAL_BOOL)
            *verify_each = entry->truth;
    }
    context_drop_external(ctx, group);
    return ok;
}
