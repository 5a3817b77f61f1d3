/* Dialect conversion.
 *
 * The driver owns what patterns do: the ops that they build are listed in order, and the ops that
 * they replace are only noted. A state therefore consists of three lengths, and going back to it
 * erases what was built since.
 *   legal:    a replaced op is in `gone` with everything in it, and is not looked at again
 *   mapped:   chains of replacements; the last value of a chain is the latest
 * Only folds in place and rewriter_modified change IR at once; these changes are not taken back.
 * Tests: test/unit/ir/rewrite/dialect_conversion_test.c, lit/lowering */
#include "ir/asm/print/print.h"
#include "ir/rewrite/internal.h"
#include "ir/rewrite/rewrite.h"

/* Folds in place of one op, each of which may enable the next. */
enum { MAX_FOLDS = 100 };

typedef struct Conversion {
    Rewriter rw;
    PatternIndex patterns;
    const ConversionTarget *target;
    VEC(const Pattern *) active; /* patterns whose results are being converted */
    OpVec built, modified, replaced;
    PtrMap gone;   /* Op* -> Op* */
    PtrMap casts;  /* Op* made by conversion_remap -> Op* */
    PtrMap mapped; /* Value* -> Value* that replaces it */
    int folds;
} Conversion;

typedef struct State {
    size_t built, modified, replaced;
} State;

static State state_of(const Conversion *c)
{
    return (State){c->built.len, c->modified.len, c->replaced.len};
}

static bool is_listed(const char *const *dialects, Str name)
{
    for (; dialects && *dialects; dialects++)
        if (str_eq_c(name, *dialects)) return true;
    return false;
}

typedef enum LegalityVerdict { IS_LEGAL, IS_ILLEGAL, IS_UNKNOWN } LegalityVerdict;

static LegalityVerdict judge(const ConversionTarget *target, const Op *op)
{
    if (target->op_legality) {
        Legality legality = target->op_legality(op, target->user);
        if (legality != LEGAL_IF_ASKED) return legality == LEGAL ? IS_LEGAL : IS_ILLEGAL;
    }
    if (is_listed(target->illegal_dialects, dialect_prefix(op_name(op)))) return IS_ILLEGAL;
    return is_listed(target->legal_dialects, dialect_prefix(op_name(op))) ? IS_LEGAL : IS_UNKNOWN;
}

static bool mark_gone(Op *op, void *user)
{
    ptrmap_put(user, op, op);
    return true;
}

static bool unmark_gone(Op *op, void *user)
{
    ptrmap_remove(user, op);
    return true;
}

/* The deepest of the chain with that type, else the deepest of all. */
static Value *latest(const Conversion *c, Value *value, const Type *type)
{
    Value *found = NULL;
    while (true) {
        if (value->type == type) found = value;
        Value *next = ptrmap_get(&c->mapped, value);
        if (!next) return found ? found : value;
        value = next;
    }
}

static Builder behind(Value *value)
{
    if (!value->is_arg) return builder_after(value_def(value));
    Builder b = builder_at_end(value->owner.block, value->loc);
    b.before = value->owner.block->first;
    return b;
}

Value *conversion_remap(Rewriter *rw, Value *value, const Type *type)
{
    Conversion *c = rw->driver;
    Value *last = latest(c, value, type);
    if (!type || last->type == type || !c->target->cast) return last;
    Builder b = behind(last);
    b.loc = rw->b.loc;
    Value *cast = c->target->cast(&b, type, last);
    if (!cast) return last;
    ptrmap_put(&c->casts, value_def(cast), value_def(cast));
    *vec_push(&c->built) = value_def(cast);
    ptrmap_put(&c->mapped, last, cast);
    return cast;
}

static void on_inserted(Rewriter *rw, Op *op)
{
    *vec_push(&((Conversion *)rw->driver)->built) = op;
}

static void on_modified(Rewriter *rw, Op *op)
{
    *vec_push(&((Conversion *)rw->driver)->modified) = op;
}

static void on_erasing(Rewriter *rw, Op *op)
{
    (void)rw;
    (void)op;
}

static void on_created(void *user, Op *op)
{
    Rewriter *rw = user;
    rw->inserted(rw, op);
}

/* values NULL: erased for nothing in its place. */
static void on_replacing(Rewriter *rw, Op *op, Value *const *values)
{
    Conversion *c = rw->driver;
    for (uint32_t i = 0; values && i < op->result_count; i++)
        if (values[i] != op_result(op, i)) ptrmap_put(&c->mapped, op_result(op, i), values[i]);
    *vec_push(&c->replaced) = op;
    (void)op_walk(op, mark_gone, &c->gone);
}

static void undo_replaced(Conversion *c, Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) ptrmap_remove(&c->mapped, op_result(op, i));
    (void)op_walk(op, unmark_gone, &c->gone);
}

static void undo_built(Conversion *c, Op *op)
{
    if (ptrmap_has(&c->casts, op)) {
        ptrmap_remove(&c->mapped, op_operand(op, 0));
        ptrmap_remove(&c->casts, op);
    }
    op_erase(op);
}

static void undo(Conversion *c, State to)
{
    while (c->replaced.len > to.replaced) undo_replaced(c, c->replaced.data[--c->replaced.len]);
    while (c->built.len > to.built) undo_built(c, c->built.data[--c->built.len]);
    c->modified.len = to.modified;
}

static bool legalize(Conversion *c, Op *op);

/* Legalizes the ops that were modified or built since the state. */
static bool legalize_new(Conversion *c, State from)
{
    const State to = state_of(c);
    for (size_t i = from.modified; i < to.modified; i++)
        if (!legalize(c, c->modified.data[i])) return false;
    for (size_t i = from.built; i < to.built; i++)
        if (!legalize(c, c->built.data[i])) return false;
    return true;
}

static bool legalize_by_fold(Conversion *c, Op *op)
{
    const State before = state_of(c);
    if (c->folds >= MAX_FOLDS || !fold_op(&c->rw, op)) return false;
    c->modified.len = before.modified;
    c->folds++;
    bool ok = ptrmap_has(&c->gone, op) ? legalize_new(c, before) : legalize(c, op);
    c->folds--;
    if (!ok) undo(c, before);
    return ok;
}

static bool is_active(const Conversion *c, const Pattern *pattern)
{
    for (size_t i = 0; i < c->active.len; i++)
        if (c->active.data[i] == pattern) return true;
    return false;
}

static bool legalize_by_pattern(Conversion *c, Op *op, const Pattern *pattern)
{
    const State before = state_of(c);
    if (is_active(c, pattern)) return false;
    *vec_push(&c->active) = pattern;
    bool ok = pattern_apply(pattern, &c->rw, op) && legalize_new(c, before);
    c->active.len--;
    if (!ok) undo(c, before);
    return ok;
}

static bool legalize(Conversion *c, Op *op)
{
    LegalityVerdict verdict = judge(c->target, op);
    if (verdict == IS_LEGAL || ptrmap_has(&c->gone, op) || ptrmap_has(&c->casts, op)) return true;
    if (legalize_by_fold(c, op)) return true;
    const PatternList *list = patterns_for(&c->patterns, op);
    for (size_t i = 0; i < list->count; i++)
        if (legalize_by_pattern(c, op, list->items[i])) return true;
    return false;
}

static bool convert_op(Conversion *c, Op *op)
{
    if (legalize(c, op)) return true;
    const char *name = op_name(op).data;
    if (!c->target->partial) return op_emit_error(op, "failed to legalize operation '%s'", name);
    return judge(c->target, op) != IS_ILLEGAL ||
           op_emit_error(op, "failed to legalize operation '%s' that was explicitly marked illegal",
                         name);
}

/* The ops there are at first, in order. */
static bool convert_sources(Conversion *c, Op *root)
{
    OpVec ops = {0};
    bool ok = true;
    op_collect(root, &ops);
    for (size_t i = 1; ok && i < ops.len; i++) ok = convert_op(c, ops.data[i]);
    vec_free(&ops);
    return ok;
}

/* Maps the values that an op which stays reads, itself or by what they replace, to that op. */
static void mark_live(const Conversion *c, PtrMap *live, Value *value)
{
    FOR_EACH_USE(use, value) {
        if (ptrmap_has(&c->gone, use->owner)) continue;
        for (Value *v = value; v && !ptrmap_has(live, v); v = ptrmap_get(&c->mapped, v))
            ptrmap_put(live, v, use->owner);
        return;
    }
}

/* A result whose replacement has another type is cast back, since `user` reads it. */
static bool cast_result(Conversion *c, Op *op, Value *result, const Op *user)
{
    Value *last = latest(c, result, NULL);
    if (last->type == result->type) return true;
    Builder b = builder_before(op);
    Value *cast = c->target->cast ? c->target->cast(&b, result->type, last) : NULL;
    if (cast) {
        ptrmap_put(&c->mapped, result, cast);
        return true;
    }
    op_emit_error(op,
                  "failed to materialize conversion for result #%u of operation '%s' that remained "
                  "live after conversion",
                  result->index, op_name(op).data);
    return op_note_text(user, "see existing live user here: ", false);
}

static bool cast_results(Conversion *c)
{
    PtrMap live = {0};
    bool ok = true;
    for (size_t i = 0; i < c->replaced.len; i++)
        for (uint32_t k = 0; k < c->replaced.data[i]->result_count; k++)
            mark_live(c, &live, op_result(c->replaced.data[i], k));
    for (size_t i = 0; ok && i < c->replaced.len; i++) {
        Op *op = c->replaced.data[i];
        for (uint32_t k = 0; ok && k < op->result_count; k++) {
            Value *result = op_result(op, k), *next = ptrmap_get(&c->mapped, result);
            Op *user = ptrmap_get(&live, result);
            if (user && next && next->type != result->type) ok = cast_result(c, op, result, user);
        }
    }
    ptrmap_free(&live);
    return ok;
}

/* A cast that is needed is made anew, as upstream does, which turns its list of uses around. */
static void settle_casts(Conversion *c)
{
    for (size_t i = 0; i < c->casts.len; i++) {
        Op *cast = c->casts.entries[i].value;
        if (!c->casts.entries[i].key || !value_has_uses(op_result(cast, 0))) continue;
        Op *settled = op_clone(cast, NULL);
        op_insert_before(settled, cast);
        value_replace_all(op_result(cast, 0), op_result(settled, 0));
        ptrmap_put(&c->mapped, op_result(cast, 0), op_result(settled, 0));
    }
}

static void drop_casts(Conversion *c)
{
    for (size_t i = 0; i < c->casts.len; i++) {
        Op *cast = c->casts.entries[i].value;
        if (c->casts.entries[i].key && !value_has_uses(op_result(cast, 0))) op_erase(cast);
    }
}

static void commit(Conversion *c)
{
    settle_casts(c);
    for (size_t i = 0; i < c->replaced.len; i++) {
        Op *op = c->replaced.data[i];
        for (uint32_t k = 0; k < op->result_count; k++) {
            Value *result = op_result(op, k), *value = latest(c, result, result->type);
            if (value != result) value_replace_all(result, value);
        }
    }
    for (size_t i = 0; i < c->replaced.len; i++) {
        Op *op = c->replaced.data[i];
        for (uint32_t k = 0; k < op->result_count; k++) value_drop_uses(op_result(op, k));
        op_erase(op);
    }
    drop_casts(c);
}

static void conversion_free(Conversion *c)
{
    patterns_index_free(&c->patterns);
    vec_free(&c->active);
    vec_free(&c->built);
    vec_free(&c->modified);
    vec_free(&c->replaced);
    ptrmap_free(&c->gone);
    ptrmap_free(&c->casts);
    ptrmap_free(&c->mapped);
}

bool conversion_apply(Op *root, const PatternSet *set, const ConversionTarget *target)
{
    Conversion c = {.rw = rewriter_plain(set->ctx), .target = target};
    c.rw.driver = &c;
    c.rw.inserted = on_inserted;
    c.rw.modified = on_modified;
    c.rw.erasing = on_erasing;
    c.rw.replacing = on_replacing;
    c.rw.b.created = on_created;
    c.rw.b.user = &c.rw;
    patterns_index(&c.patterns, set);
    bool ok = convert_sources(&c, root) && cast_results(&c);
    if (ok)
        commit(&c);
    else
        undo(&c, (State){0});
    conversion_free(&c);
    diag_flush(set->ctx);
    return ok;
}
