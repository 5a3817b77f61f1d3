/* Running of pipelines.
 *
 * Adjacent nested managers are merged first: those of the same name become one, those of different
 * names become one walk over the ops inside, so that each op goes through its passes before the
 * next op does. A manager for any op joins only if no other manager could take an op from it.
 * Tests: test/unit/ir/pass/pass_test.c, lit/driver/pipeline-merge.mir */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/pass/internal.h"
#include "ir/verify/verify.h"

/* Whether the manager runs on ops of that name; def: NULL if they are not registered. */
static bool takes(const Pipeline *pipeline, const char *name, const OpDef *def)
{
    if (pipeline->anchor) return strcmp(pipeline->anchor, name) == 0;
    if (!def || !(def->traits & TRAIT_ISOLATED)) return false;
    for (size_t i = 0; i < pipeline->items.len; i++) {
        const Pass *pass = pipeline->items.data[i].pass;
        if (pass && !pass_suits(pass->def, name, def)) return false;
    }
    return true;
}

static bool takes_named(const Pipeline *pipeline, const char *name)
{
    const OpInfo *info = opinfo_lookup(pipeline->ctx, str_from(name));
    return takes(pipeline, name, info ? info->def : NULL);
}

/* Whether a manager for any op and one of the others could both run on an op. */
static bool conflicts(const PipelineVec *generic, const PipelineVec *others)
{
    for (size_t i = 0; i < generic->len; i++) {
        if (generic->data[i]->anchor) continue;
        for (size_t k = 0; k < others->len; k++) {
            const char *anchor = others->data[k]->anchor;
            if (!anchor || takes_named(generic->data[i], anchor)) return true;
        }
    }
    return false;
}

/* Named managers by name, those for any op last. */
static int compare_anchors(const void *a, const void *b)
{
    const Pipeline *const *pa = a, *const *pb = b;
    if (!(*pa)->anchor || !(*pb)->anchor) return !(*pa)->anchor - !(*pb)->anchor;
    return strcmp((*pa)->anchor, (*pb)->anchor);
}

static Pipeline *find_anchor(const PipelineVec *managers, const char *anchor)
{
    for (size_t i = 0; i < managers->len; i++)
        if (managers->data[i]->anchor == anchor) return managers->data[i];
    return NULL;
}

/* Moves the managers of `from` to `to`; false: they must stay apart. */
static bool merge_nested(PipelineVec *to, PipelineVec *from)
{
    if (conflicts(from, to) || conflicts(to, from)) return false;
    for (size_t i = 0; i < from->len; i++) {
        Pipeline *moved = from->data[i], *existing = find_anchor(to, moved->anchor);
        if (!existing) {
            *vec_push(to) = moved;
            continue;
        }
        for (size_t k = 0; k < moved->items.len; k++)
            *vec_push(&existing->items) = moved->items.data[k];
        moved->items.len = 0;
        pipeline_free(moved);
    }
    vec_free(from);
    qsort(to->data, to->len, sizeof *to->data, compare_anchors);
    return true;
}

/* Merges neighbours, at all levels; a second time finds nothing to do. */
static void merge_neighbours(Pipeline *pipeline)
{
    size_t kept = 0;
    for (size_t i = 0; i < pipeline->items.len; i++) {
        PipelineItem *item = &pipeline->items.data[i];
        PipelineItem *last = kept ? &pipeline->items.data[kept - 1] : NULL;
        bool nested = !item->pass && last && !last->pass;
        if (nested && merge_nested(&last->nested, &item->nested)) continue;
        pipeline->items.data[kept++] = *item;
    }
    pipeline->items.len = kept;
    for (size_t i = 0; i < kept; i++)
        for (size_t k = 0; k < pipeline->items.data[i].nested.len; k++)
            merge_neighbours(pipeline->items.data[i].nested.data[k]);
}

#define FOR_EACH_HOOK(hook, options, member)                                                       \
    for (const PassHooks *const *hook = (options)->hooks; hook && *hook; hook++)                   \
        if ((*hook)->member)

static void enter(const RunOptions *options, const PassScope *scope)
{
    FOR_EACH_HOOK(hook, options, enter) (*hook)->enter((*hook)->user, scope);
}

static void leave(const RunOptions *options)
{
    FOR_EACH_HOOK(hook, options, leave) (*hook)->leave((*hook)->user);
}

void pass_analysis_begin(const Pass *pass, const char *name)
{
    StrBuf title = {0};
    strbuf_printf(&title, "(A) %s", name);
    enter(pass->run->options, &(PassScope){.name = title.data});
    strbuf_free(&title);
}

void pass_analysis_end(const Pass *pass)
{
    leave(pass->run->options);
}

/* The names of a symbol table that ops in it refer to, collected when they are first asked for. */
struct Referred {
    Op *table;
    bool is_known;
    PtrMap names; /* set of Ident* */
};

static void note_name(void *data, Op *user, const Attr *ref)
{
    (void)user;
    ptrmap_put(data, ref->u.symbol.names[0], data);
}

static bool is_referred(Referred *referred, const Op *symbol)
{
    const Ident *name = symbol_name(symbol);
    if (!name || !referred->table) return false;
    if (!referred->is_known)
        FOR_EACH_INNER(op, referred->table) (void)symbol_each_use(op, note_name, &referred->names);
    referred->is_known = true;
    return ptrmap_has(&referred->names, name);
}

bool pass_op_is_referred(const Pass *pass)
{
    return is_referred(pass->run->referred, pass->run->op);
}

static const Attr *type_of_function(const Op *op)
{
    return op_has_trait(op, TRAIT_FUNCTION) ? op_attr(op, "function_type") : NULL;
}

/* Where the pass has given a function another type: checks those who call it. */
static bool check_callers(const Pass *pass, Op *op, const Attr *type, Referred *referred)
{
    if (type_of_function(op) == type || !is_referred(referred, op) || verify_symbol_uses(op))
        return true;
    return diag_note(op->ctx, op->loc,
                     "pass '%s' gives this function another type than its callers know",
                     pass->def->name);
}

static bool run_pass(Pass *pass, Op *op, const RunOptions *options, Referred *referred)
{
    const Attr *type = type_of_function(op);
    if (!op->def) return op_error(op, "trying to schedule a pass on an unregistered operation");
    if (!op_has_trait(op, TRAIT_ISOLATED))
        return op_error(op, "trying to schedule a pass on an operation not marked as "
                            "'IsolatedFromAbove'");
    if (!pass_suits(pass->def, op_name(op).data, op->def))
        return op_error(op, "trying to schedule a pass on an unsupported operation");
    const PassRun run = {options, op, referred};
    pass->run = &run;
    pass->unchanged = false;
    FOR_EACH_HOOK(hook, options, before) (*hook)->before((*hook)->user, pass, op);
    bool ok = pass->def->run(pass, op);
    arena_reset(&pass->scratch);
    if (ok && !pass->unchanged)
        ok = (!options->verify_each || verify_op(op)) && check_callers(pass, op, type, referred);
    FOR_EACH_HOOK(hook, options, after) (*hook)->after((*hook)->user, pass, op, ok);
    pass->run = NULL;
    return ok;
}

static bool run_items(const Pipeline *pipeline, Op *op, const RunOptions *options,
                      Referred *referred);

static bool run_on(const Pipeline *pipeline, Op *op, const RunOptions *options, bool is_outer,
                   Referred *referred)
{
    StrBuf title = {0};
    strbuf_printf(&title, "'%s' Pipeline", pipeline_anchor(pipeline));
    enter(options, &(PassScope){.name = title.data, .is_outer = is_outer});
    bool ok = run_items(pipeline, op, options, referred);
    leave(options);
    strbuf_free(&title);
    return ok;
}

static const Pipeline *find_manager(const PipelineVec *managers, const Op *op)
{
    for (size_t i = 0; i < managers->len; i++)
        if (takes(managers->data[i], op_name(op).data, op->def)) return managers->data[i];
    return NULL;
}

/* Each op directly inside gets the passes of the manager that takes it. */
static bool run_nested(const PipelineItem *item, Op *op, const RunOptions *options)
{
    StrBuf title = {0};
    pipeline_title_all(&item->nested, &title);
    enter(options, &(PassScope){.id = item->nested.data[0],
                                .name = title.data,
                                .is_hidden = item->nested.len == 1});
    Referred referred = {.table = op};
    bool ok = true;
    Op *next;
    for (Op *inner = op_first_inner(op); inner && ok; inner = next) {
        next = op_next_inner(inner);
        const Pipeline *manager = find_manager(&item->nested, inner);
        ok = !manager || run_on(manager, inner, options, false, &referred);
    }
    ptrmap_free(&referred.names);
    leave(options);
    strbuf_free(&title);
    return ok;
}

static bool run_items(const Pipeline *pipeline, Op *op, const RunOptions *options,
                      Referred *referred)
{
    for (size_t i = 0; i < pipeline->items.len; i++) {
        const PipelineItem *item = &pipeline->items.data[i];
        bool ok = item->pass ? run_pass(item->pass, op, options, referred)
                             : run_nested(item, op, options);
        if (!ok) return false;
    }
    return true;
}

bool pass_run_pipeline(const Pass *pass, Pipeline *pipeline, Op *op)
{
    assert(pass->run && op_is_ancestor(pass->run->op, op));
    merge_neighbours(pipeline);
    Referred referred = {.table = op_parent(op)};
    bool ok = run_on(pipeline, op, pass->run->options, true, &referred);
    ptrmap_free(&referred.names);
    return ok;
}

bool pipeline_run(Pipeline *pipeline, Op *op, const RunOptions *options)
{
    const RunOptions defaults = {0};
    bool ok;
    if (pipeline->anchor && !str_eq_c(op_name(op), pipeline->anchor)) {
        ok = diag_error(op->ctx, op->loc, "can't run '%s' pass manager on '%s' op",
                        pipeline->anchor, op_name(op).data);
    } else {
        Referred referred = {.table = op_parent(op)};
        merge_neighbours(pipeline);
        ok = run_items(pipeline, op, options ? options : &defaults, &referred);
        ptrmap_free(&referred.names);
    }
    diag_flush(op->ctx);
    return ok;
}
