/* Writing and reading reproducers of failed pipelines.
 * Tests: lit/tools/reproducer.mir */
#include "tools/reproducer.h"

#include "ir/attr.h"
#include "ir/diag.h"
#include "ir/print.h"
#include "tools/files.h"

#define GROUP "mlir_reproducer"

static void add_bool(Context *ctx, const char *key, bool value)
{
    ExternalResource entry = {
        .key = ident_get_c(ctx, key), .kind = EXTERNAL_BOOL, .truth = value};
    context_add_external(ctx, ident_get_c(ctx, GROUP), &entry);
}

void reproducer_capture(StrBuf *out, Op *op, const Pipeline *pipeline, bool verify_each)
{
    Context *ctx = op->ctx;
    const Ident *group = ident_get_c(ctx, GROUP);
    StrBuf text = {0};
    pipeline_print(pipeline, &text);
    ExternalResource entry = {
        .key = ident_get_c(ctx, "pipeline"), .kind = EXTERNAL_STRING, .text = strbuf_str(&text)};
    context_drop_external(ctx, group);
    context_add_external(ctx, group, &entry);
    add_bool(ctx, "disable_threading", true);
    add_bool(ctx, "verify_each", verify_each);
    op_print(out, op, &PRINT_DEFAULT);
    context_drop_external(ctx, group);
    strbuf_free(&text);
}

void reproducer_write(Op *op, const char *path, Str text, Str failure)
{
    const char *reason = NULL;
    bool ok = file_write(path, text, &reason);
    emit_error(op->ctx, op->loc,
               "Failures have been detected while processing an MLIR pass pipeline");
    if (ok)
        emit_note(op->ctx, op->loc, "Pipeline failed while executing [%.*s]: reproducer generated "
                  "at `%s`", STR_ARG(failure), path);
    else
        emit_note(op->ctx, op->loc, "cannot write the reproducer '%s': %s", path, reason);
    diag_flush(op->ctx);
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

bool reproducer_apply(Context *ctx, Pipeline *pipeline, const PassTable *table, bool *verify_each)
{
    const Ident *group = ident_get_c(ctx, GROUP);
    bool ok = true;
    for (const ExternalResource *entry = find_group(ctx, group); entry && ok; entry = entry->next) {
        if (str_eq_c(entry->key->str, "pipeline") && entry->kind == EXTERNAL_STRING)
            ok = pipeline_parse(pipeline, table, entry->text);
        if (str_eq_c(entry->key->str, "verify_each") && entry->kind == EXTERNAL_BOOL)
            *verify_each = entry->truth;
    }
    context_drop_external(ctx, group);
    return ok;
}
