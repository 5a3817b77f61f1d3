/* Pipelines: trees of managers. A manager is for the ops of one name (or for any op) and holds
 * passes and nested managers.
 * Tests: test/unit/ir/pass/pass_test.c, lit/tools/pipeline.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/pass/internal.h"

const char *pipeline_anchor(const Pipeline *pipeline)
{
    return pipeline->anchor ? pipeline->anchor : "any";
}

static Pipeline *create(Context *ctx, const PassTable *table, Str anchor)
{
    Pipeline *pipeline = xcalloc(1, sizeof *pipeline);
    arena_init(&pipeline->own);
    pipeline->ctx = ctx;
    pipeline->table = table;
    pipeline->arena = &pipeline->own;
    bool is_any = anchor.len == 0 || str_eq_c(anchor, "any");
    pipeline->anchor = is_any ? NULL : ident_get(ctx, anchor)->str.data;
    return pipeline;
}

Pipeline *pipeline_create(Context *ctx, const PassTable *table, const char *anchor)
{
    return create(ctx, table, anchor ? str_from(anchor) : STR("any"));
}

Pipeline *pipeline_nest(Pipeline *outer, Str anchor)
{
    Pipeline *nested = create(outer->ctx, outer->table, anchor);
    nested->arena = outer->arena;
    PipelineItem item = {0};
    *vec_push(&item.nested) = nested;
    *vec_push(&outer->items) = item;
    return nested;
}

void pipeline_free(Pipeline *pipeline)
{
    if (!pipeline) return;
    for (size_t i = 0; i < pipeline->items.len; i++) {
        PipelineItem *item = &pipeline->items.data[i];
        if (item->pass) pass_destroy(item->pass);
        for (size_t k = 0; k < item->nested.len; k++) pipeline_free(item->nested.data[k]);
        vec_free(&item->nested);
    }
    vec_free(&pipeline->items);
    arena_free(&pipeline->own);
    free_ptr((void **)&pipeline);
}

void pipeline_take_pass(Pipeline *pipeline, Pass *pass)
{
    *vec_push(&pipeline->items) = (PipelineItem){.pass = pass};
}

bool pass_suits(const PassDef *def, const char *name, const OpDef *op)
{
    if (!def->anchor || strcmp(def->anchor, name) == 0) return true;
    return def->any_function && op && (op->traits & TRAIT_FUNCTION);
}

bool pipeline_suits(const Pipeline *pipeline, const PassDef *def)
{
    if (!pipeline->anchor) return true;
    const OpInfo *info = opinfo_lookup(pipeline->ctx, str_from(pipeline->anchor));
    return pass_suits(def, pipeline->anchor, info ? info->def : NULL);
}

bool pipeline_add(Pipeline *pipeline, const PassDef *def, const char *options)
{
    bool suits = pipeline_suits(pipeline, def);
    Pipeline *target = suits ? pipeline : pipeline_nest(pipeline, str_from(def->anchor));
    Pass *pass = pass_create(target, def);
    pipeline_take_pass(target, pass);
    StrBuf error = {0};
    bool ok = !options || pass_parse_options(pass, pipeline->arena, str_from(options), &error);
    if (!ok) diag_error(pipeline->ctx, loc_unknown(pipeline->ctx), "%s", error.data);
    strbuf_free(&error);
    diag_flush(pipeline->ctx);
    return ok;
}

void pipeline_print(const Pipeline *pipeline, StrBuf *out)
{
    strbuf_add_c(out, pipeline_anchor(pipeline));
    strbuf_add_char(out, '(');
    for (size_t i = 0; i < pipeline->items.len; i++) {
        const PipelineItem *item = &pipeline->items.data[i];
        if (i > 0) strbuf_add_char(out, ',');
        for (size_t k = 0; k < item->nested.len; k++) {
            if (k > 0) strbuf_add_char(out, ',');
            pipeline_print(item->nested.data[k], out);
        }
        if (item->pass) pass_print(item->pass, out);
    }
    strbuf_add_char(out, ')');
}

size_t pipeline_pass_count(const Pipeline *pipeline)
{
    return pipeline->items.len;
}

typedef struct PassVisit {
    void (*visit)(void *user, const Pass *pass, const char *title, int depth);
    void *user;
} PassVisit;

static void visit_items(const PassVisit *visit, const Pipeline *pipeline, int depth);

static void visit_nested(const PassVisit *visit, const PipelineVec *nested, int depth)
{
    StrBuf title = {0};
    if (nested->len > 1) {
        pipeline_title_all(nested, &title);
        visit->visit(visit->user, NULL, title.data, depth++);
    }
    for (size_t i = 0; i < nested->len; i++) {
        strbuf_clear(&title);
        strbuf_printf(&title, "'%s' Pipeline", pipeline_anchor(nested->data[i]));
        visit->visit(visit->user, NULL, title.data, depth);
        visit_items(visit, nested->data[i], depth + 1);
    }
    strbuf_free(&title);
}

static void visit_items(const PassVisit *visit, const Pipeline *pipeline, int depth)
{
    for (size_t i = 0; i < pipeline->items.len; i++) {
        const PipelineItem *item = &pipeline->items.data[i];
        if (item->pass)
            visit->visit(visit->user, item->pass, NULL, depth);
        else
            visit_nested(visit, &item->nested, depth);
    }
}

void pipeline_each(const Pipeline *pipeline,
                   void (*visit)(void *user, const Pass *pass, const char *title, int depth),
                   void *user)
{
    visit_items(&(PassVisit){visit, user}, pipeline, 0);
}

void pipeline_title_all(const PipelineVec *nested, StrBuf *out)
{
    strbuf_add_c(out, "Pipeline Collection : [");
    for (size_t i = 0; i < nested->len; i++)
        strbuf_printf(out, "%s'%s'", i > 0 ? ", " : "", pipeline_anchor(nested->data[i]));
    strbuf_add_char(out, ']');
}
