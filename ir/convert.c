/* Dialect conversion: ops inside the root in pre-order, each brought to legality together with
 * everything its rewriting builds before the next one is looked at.
 * Tests: test/unit/convert_test.c, lit/lowering */
#include "ir/convert.h"

#include "ir/diag.h"
#include "ir/rewrite_impl.h"

/* A pattern that builds what it matches would never end. */
enum { MAX_GENERATIONS = 100 };

typedef struct Task {
    Op *op;              /* NULL: erased meanwhile */
    uint32_t generation; /* rewrites between the source and this op */
} Task;

typedef struct Conversion {
    Rewriter rw;
    PatternIndex patterns;
    const ConversionTarget *target;
    VEC(Task) tasks;    /* a stack */
    PtrMap positions;   /* Op* -> index in tasks + 1 */
    uint32_t generation; /* of the ops being built */
} Conversion;

static void push(Conversion *c, Op *op)
{
    if (ptrmap_has(&c->positions, op)) return;
    *vec_push(&c->tasks) = (Task){op, c->generation};
    ptrmap_put(&c->positions, op, (void *)(uintptr_t)c->tasks.len);
}

static Task pop(Conversion *c)
{
    Task task = c->tasks.data[--c->tasks.len];
    if (task.op) ptrmap_remove(&c->positions, task.op);
    return task;
}

/* --- legality --------------------------------------------------------------------- */

static bool is_listed(const char *const *dialects, Str name)
{
    for (; dialects && *dialects; dialects++)
        if (str_eq_c(name, *dialects)) return true;
    return false;
}

typedef enum Verdict { IS_LEGAL, IS_ILLEGAL, IS_UNKNOWN } Verdict;

static Verdict judge(const ConversionTarget *target, const Op *op)
{
    if (target->op_legality) {
        Legality legality = target->op_legality(op, target->user);
        if (legality != LEGAL_IF_ASKED) return legality == LEGAL ? IS_LEGAL : IS_ILLEGAL;
    }
    if (is_listed(target->illegal_dialects, dialect_prefix(op_name(op)))) return IS_ILLEGAL;
    return is_listed(target->legal_dialects, dialect_prefix(op_name(op))) ? IS_LEGAL : IS_UNKNOWN;
}

/* --- what patterns report ------------------------------------------------------------- */

static void on_inserted(Rewriter *rw, Op *op)
{
    push(rw->driver, op);
}

static void on_modified(Rewriter *rw, Op *op)
{
    (void)rw;
    (void)op;
}

static void on_erasing(Rewriter *rw, Op *op)
{
    Conversion *c = rw->driver;
    uintptr_t position = (uintptr_t)ptrmap_get(&c->positions, op);
    if (!position) return;
    c->tasks.data[position - 1].op = NULL;
    ptrmap_remove(&c->positions, op);
}

static void on_created(void *user, Op *op)
{
    Rewriter *rw = user;
    rw->inserted(rw, op);
}

/* --- conversion --------------------------------------------------------------------------- */

static bool legalize(Conversion *c, Task task)
{
    Op *op = task.op;
    Verdict verdict = judge(c->target, op);
    if (verdict == IS_LEGAL) return true;
    if (verdict == IS_UNKNOWN && c->target->partial) return true;
    if (task.generation > MAX_GENERATIONS)
        return op_emit_error(op, "failed to legalize operation '%s': patterns build it again and "
                                 "again",
                             op_name(op).data);
    c->generation = task.generation + 1;
    if (op_fold(&c->rw, op) || patterns_apply(&c->patterns, &c->rw, op)) return true;
    if (verdict == IS_ILLEGAL)
        return op_emit_error(op,
                             "failed to legalize operation '%s' that was explicitly marked illegal",
                             op_name(op).data);
    return op_emit_error(op, "failed to legalize operation '%s'", op_name(op).data);
}

static bool run_tasks(Conversion *c)
{
    while (c->tasks.len) {
        Task task = pop(c);
        if (task.op && !legalize(c, task)) return false;
    }
    return true;
}

/* The source ops, the first on top. */
static void push_sources(Conversion *c, Op *root)
{
    OpVec ops = {0};
    op_collect(root, &ops);
    for (size_t i = ops.len; i-- > 1;) push(c, ops.data[i]);
    vec_free(&ops);
}

bool convert_dialects(Op *root, const PatternSet *set, const ConversionTarget *target)
{
    Conversion c = {.rw = rewriter_plain(set->ctx), .target = target};
    c.rw.driver = &c;
    c.rw.inserted = on_inserted;
    c.rw.modified = on_modified;
    c.rw.erasing = on_erasing;
    c.rw.b.created = on_created;
    c.rw.b.user = &c.rw;
    patterns_index(&c.patterns, set);
    push_sources(&c, root);
    bool ok = run_tasks(&c);
    patterns_index_free(&c.patterns);
    vec_free(&c.tasks);
    ptrmap_free(&c.positions);
    diag_flush(set->ctx);
    return ok;
}
