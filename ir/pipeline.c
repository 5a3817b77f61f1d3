/* Pipelines: a tree of managers, each for the ops of one name (or any), holding passes and
 * nested managers. Adjacent nested managers of one name run together, op by op, as upstream's.
 * Tests: test/unit/pass_test.c, lit/tools/pipeline.mir */
#include "ir/diag.h"
#include "ir/pass_impl.h"
#include "ir/verify.h"

static Str anchor_str(const Pipeline *pipeline)
{
    return pipeline->anchor ? str_from(pipeline->anchor) : STR("any");
}

static void set_anchor(Pipeline *pipeline, Str anchor)
{
    bool is_any = str_eq_c(anchor, "any");
    pipeline->anchor = is_any ? NULL : ident_get(pipeline->ctx, anchor)->str.data;
}

Pipeline *pipeline_create(Context *ctx, const char *anchor)
{
    Pipeline *pipeline = xcalloc(1, sizeof *pipeline);
    arena_init(&pipeline->own);
    pipeline->ctx = ctx;
    pipeline->arena = &pipeline->own;
    set_anchor(pipeline, anchor ? str_from(anchor) : STR("any"));
    return pipeline;
}

Pipeline *pipeline_nest(Pipeline *outer, Str anchor)
{
    Pipeline *nested = xcalloc(1, sizeof *nested);
    arena_init(&nested->own);
    nested->ctx = outer->ctx;
    nested->arena = outer->arena;
    set_anchor(nested, anchor);
    *vec_push(&outer->items) = (PipelineItem){.nested = nested};
    return nested;
}

void pipeline_free(Pipeline *pipeline)
{
    if (!pipeline) return;
    for (size_t i = 0; i < pipeline->items.len; i++) {
        PipelineItem *item = &pipeline->items.data[i];
        if (item->pass)
            pass_destroy(item->pass);
        else
            pipeline_free(item->nested);
    }
    vec_free(&pipeline->items);
    arena_free(&pipeline->own);
    free_ptr((void **)&pipeline);
}

Pass *pipeline_add_pass(Pipeline *pipeline, const PassDef *def)
{
    Pass *pass = pass_create(pipeline->ctx, pipeline->arena, def);
    *vec_push(&pipeline->items) = (PipelineItem){.pass = pass};
    return pass;
}

static bool is_function(const OpDef *def)
{
    return def->traits & TRAIT_FUNCTION;
}

static bool fits_anchor(const Pipeline *pipeline, const PassDef *def)
{
    if (!def->anchor || !pipeline->anchor || str_eq_c(str_from(def->anchor), pipeline->anchor))
        return true;
    const OpInfo *info = context_op(pipeline->ctx, str_from(pipeline->anchor));
    return def->any_function && info && is_function(info->def);
}

bool pipeline_add(Pipeline *pipeline, const PassDef *def, const char *options)
{
    bool fits = fits_anchor(pipeline, def);
    Pipeline *target = fits ? pipeline : pipeline_nest(pipeline, str_from(def->anchor));
    Pass *pass = pipeline_add_pass(target, def);
    return !options || pass_parse_options(pass, pipeline->arena, str_from(options),
                                          loc_unknown(pipeline->ctx));
}

void pipeline_print(const Pipeline *pipeline, StrBuf *out)
{
    strbuf_add_str(out, anchor_str(pipeline));
    strbuf_add_char(out, '(');
    for (size_t i = 0; i < pipeline->items.len; i++) {
        const PipelineItem *item = &pipeline->items.data[i];
        if (i > 0) strbuf_add_char(out, ',');
        if (item->nested) {
            pipeline_print(item->nested, out);
            continue;
        }
        strbuf_add_c(out, item->pass->def->name);
        pass_print_options(item->pass, out);
    }
    strbuf_add_char(out, ')');
}

size_t pipeline_pass_count(const Pipeline *pipeline)
{
    return pipeline->items.len;
}

static void each_below(Pipeline *pipeline, void (*visit)(void *, Pass *, int), void *user,
                       int depth)
{
    for (size_t i = 0; i < pipeline->items.len; i++) {
        PipelineItem *item = &pipeline->items.data[i];
        if (item->pass)
            visit(user, item->pass, depth);
        else
            each_below(item->nested, visit, user, depth + 1);
    }
}

void pipeline_each(Pipeline *pipeline, void (*visit)(void *user, Pass *pass, int depth), void *user)
{
    each_below(pipeline, visit, user, 0);
}

/* --- running ------------------------------------------------------------------------ */

static bool run_pass(Pass *pass, Op *op, const RunOptions *options)
{
    if (!op->def)
        return op_error(op, "trying to schedule a pass on an unregistered operation");
    if (!op_has_trait(op, TRAIT_ISOLATED))
        return op_error(op, "trying to schedule a pass on an operation not marked as "
                            "'IsolatedFromAbove'");
    bool suits = !pass->def->anchor || str_eq_c(op_name(op), pass->def->anchor) ||
                 (pass->def->any_function && is_function(op->def));
    if (!suits)
        return op_error(op, "trying to schedule a pass on an unsupported operation");
    for (const PassHooks *const *hooks = options->hooks; hooks && *hooks; hooks++)
        if ((*hooks)->before) (*hooks)->before((*hooks)->user, pass, op);
    bool ok = pass->def->run(pass, op);
    arena_reset(&pass->scratch);
    if (ok && options->verify_each) ok = op_verify(op);
    for (const PassHooks *const *hooks = options->hooks; hooks && *hooks; hooks++)
        if ((*hooks)->after) (*hooks)->after((*hooks)->user, pass, op, ok);
    return ok;
}

static bool anchor_matches(const Pipeline *pipeline, const Op *op)
{
    if (pipeline->anchor) return str_eq_c(op_name(op), pipeline->anchor);
    return op_has_trait(op, TRAIT_ISOLATED);
}

/* One past the last of the nested managers that share the first one's anchor. */
static size_t group_end(const Pipeline *pipeline, size_t begin)
{
    const char *anchor = pipeline->items.data[begin].nested->anchor;
    size_t end = begin + 1;
    while (end < pipeline->items.len && pipeline->items.data[end].nested &&
           pipeline->items.data[end].nested->anchor == anchor)
        end++;
    return end;
}

static bool run_items(Pipeline *pipeline, Op *op, const RunOptions *options);

/* Items begin..end on each matching op directly inside. */
static bool run_group(Pipeline *pipeline, size_t begin, size_t end, Op *op,
                      const RunOptions *options)
{
    Op *next;
    for (Op *inner = op_first_inner(op); inner; inner = next) {
        next = op_next_inner(inner);
        if (!anchor_matches(pipeline->items.data[begin].nested, inner)) continue;
        for (size_t k = begin; k < end; k++)
            if (!run_items(pipeline->items.data[k].nested, inner, options)) return false;
    }
    return true;
}

static bool run_items(Pipeline *pipeline, Op *op, const RunOptions *options)
{
    for (size_t i = 0; i < pipeline->items.len;) {
        PipelineItem *item = &pipeline->items.data[i];
        size_t end = item->nested ? group_end(pipeline, i) : i + 1;
        bool ok = item->pass ? run_pass(item->pass, op, options)
                             : run_group(pipeline, i, end, op, options);
        if (!ok) return false;
        i = end;
    }
    return true;
}

bool pipeline_run(Pipeline *pipeline, Op *op, const RunOptions *options)
{
    const RunOptions defaults = {0};
    bool ok;
    if (pipeline->anchor && !anchor_matches(pipeline, op))
        ok = emit_error(op->ctx, op->loc, "can't run '%s' pass manager on '%s' op",
                        pipeline->anchor, op_name(op).data);
    else
        ok = run_items(pipeline, op, options ? options : &defaults);
    diag_flush(op->ctx);
    return ok;
}
