/* The greedy driver, which works in the order of upstream's. A worklist starts with all ops
 * (constants are shared first). Each op from it is erased if dead, else folded, else offered to the
 * patterns by falling benefit; every change puts the ops around it on the list again. Rounds are
 * repeated until one changes nothing.
 * Tests: test/unit/ir/rewrite/rewrite_test.c, lit/passes/common/canonicalize.mir */
#include "ir/rewrite/internal.h"
#include "ir/rewrite/rewrite.h"

typedef struct Driver {
    Rewriter rw;
    Op *root;
    const GreedyOptions *options;
    PatternIndex patterns;
    VEC(Op *) worklist; /* taken from the end; NULL: removed */
    PtrMap positions;   /* Op* -> index in worklist + 1 */
    int64_t rewrites;   /* of patterns in this round */
    bool gave_up;
} Driver;

static void worklist_push(Driver *d, Op *op)
{
    if (ptrmap_has(&d->positions, op)) return;
    *vec_push(&d->worklist) = op;
    ptrmap_put(&d->positions, op, (void *)(uintptr_t)d->worklist.len);
}

static Op *worklist_pop(Driver *d)
{
    while (d->worklist.len) {
        Op *op = d->worklist.data[--d->worklist.len];
        if (!op) continue;
        ptrmap_remove(&d->positions, op);
        return op;
    }
    return NULL;
}

static void worklist_remove(Driver *d, const Op *op)
{
    uintptr_t position = (uintptr_t)ptrmap_get(&d->positions, op);
    if (!position) return;
    d->worklist.data[position - 1] = NULL;
    ptrmap_remove(&d->positions, op);
}

static void worklist_reverse(Driver *d)
{
    for (size_t i = 0, k = d->worklist.len; i + 1 < k; i++) {
        k--;
        Op *op = d->worklist.data[i];
        d->worklist.data[i] = d->worklist.data[k];
        d->worklist.data[k] = op;
    }
    for (size_t i = 0; i < d->worklist.len; i++)
        if (d->worklist.data[i])
            ptrmap_put(&d->positions, d->worklist.data[i], (void *)(uintptr_t)(i + 1));
}

/* The op and all that contain it, inside the root; nothing for an op that is elsewhere. */
static void enqueue(Driver *d, Op *op)
{
    if (!op_is_ancestor(d->root, op)) return;
    for (; op != d->root; op = op_parent(op)) worklist_push(d, op);
}

static void on_changed(Rewriter *rw, Op *op)
{
    enqueue(rw->driver, op);
}

static void on_created(void *user, Op *op)
{
    Rewriter *rw = user;
    rw->inserted(rw, op);
}

/* Whether the value has at most one user besides `op`: its op may be dead or better foldable
 * once `op` is gone. */
static bool has_few_users(const Value *value, const Op *op)
{
    const Op *other = NULL;
    FOR_EACH_USE(use, value) {
        if (use->owner == op || use->owner == other) continue;
        if (other) return false;
        other = use->owner;
    }
    return true;
}

static void on_erasing(Rewriter *rw, Op *op)
{
    Driver *d = rw->driver;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        Op *def = value ? value_def(value) : NULL;
        if (def && has_few_users(value, op)) enqueue(d, def);
    }
    worklist_remove(d, op);
}

static bool is_constant(const Op *op)
{
    return op->result_count == 1 && fold_constant_of(op_result(op, 0));
}

static bool push_op(Op *op, void *user)
{
    *vec_push((OpVec *)user) = op;
    return true;
}

static void seed(Driver *d)
{
    OpVec ops = {0};
    ConstantScopes constants;
    bool bottom_up = d->options->bottom_up;
    d->worklist.len = 0;
    ptrmap_clear(&d->positions);
    rewrite_constants_init(&constants);
    (void)(bottom_up ? op_walk_post : op_walk)(d->root, push_op, &ops);
    for (size_t i = 0; i < ops.len; i++) {
        Op *op = ops.data[i];
        if (op == d->root) continue;
        if (!is_constant(op) || rewrite_constants_insert(&constants, &d->rw, op)) enqueue(d, op);
    }
    if (!bottom_up) worklist_reverse(d);
    rewrite_constants_free(&constants);
    vec_free(&ops);
}

static bool process_op(Driver *d, Op *op)
{
    if (op_is_trivially_dead(op)) {
        rewriter_erase(&d->rw, op);
        return true;
    }
    if (!d->options->no_fold && fold_op(&d->rw, op)) return true;
    if (!patterns_apply(&d->patterns, &d->rw, op)) return false;
    d->rewrites++;
    return true;
}

/* Changes after which a round is taken to run in circles, as patterns that undo each other do;
 * no sound set of patterns comes near it. */
static size_t change_limit(const Driver *d)
{
    return 256 * d->worklist.len + 65536;
}

/* Sets d->gave_up when the round does not end. */
static bool process_worklist(Driver *d)
{
    size_t limit = change_limit(d), changes = 0;
    int64_t max_rewrites = d->options->max_rewrites;
    Op *op;
    d->rewrites = 0;
    while ((max_rewrites <= 0 || d->rewrites < max_rewrites) && (op = worklist_pop(d)) != NULL) {
        changes += process_op(d, op);
        d->gave_up = changes > limit;
        if (d->gave_up) break;
    }
    return changes > 0;
}

static void driver_init(Driver *d, Op *root, const PatternSet *set, const GreedyOptions *options)
{
    *d = (Driver){.root = root, .options = options};
    d->rw = rewriter_plain(set->ctx);
    d->rw.driver = d;
    d->rw.inserted = on_changed;
    d->rw.modified = on_changed;
    d->rw.erasing = on_erasing;
    d->rw.b.created = on_created;
    d->rw.b.user = &d->rw;
    patterns_index(&d->patterns, set);
}

static void driver_free(Driver *d)
{
    patterns_index_free(&d->patterns);
    ptrmap_free(&d->positions);
    vec_free(&d->worklist);
}

bool rewrite_greedy(Op *root, const PatternSet *set, const GreedyOptions *options, bool *changed)
{
    const GreedyOptions defaults = {0};
    Driver d;
    driver_init(&d, root, set, options ? options : &defaults);
    int64_t limit = d.options->max_rounds ? d.options->max_rounds : 10;
    bool again = true, any = false;
    for (int64_t round = 0; again && !d.gave_up && (limit < 0 || round < limit); round++) {
        seed(&d);
        again = process_worklist(&d);
        if (d.options->regions != REGION_SIMPLIFY_OFF)
            again |= rewrite_simplify_regions(&d.rw, root, d.options->regions);
        any |= again;
    }
    driver_free(&d);
    if (changed) *changed = any;
    return !again;
}
