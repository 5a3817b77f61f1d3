/* Runs the loops of a process without its data. Every access of a pipelined loop is collected once
 * with the conditions around it; then the loop's positions are stepped through and the conditions
 * evaluated.
 * Tests: lit/target/fit-fifos.mir */
#include "target/trace.h"

#include "dialects/emithls/emithls.h"
#include "ir/affine.h"

enum { MAX_COUNTERS = 64, MAX_PORTS = 32 };

/* An emithls.if around an access; counters are found through `slot`. */
typedef struct Guard {
    const struct Guard *outer;
    const IntegerSet *set;
    const int64_t **slot;
} Guard;

typedef struct Access {
    uint32_t port;
    const Guard *guard; /* NULL: in every iteration */
} Access;
typedef VEC(Access) Accesses;

typedef struct Tracer {
    const Op *func;
    Arena arena;
    PtrMap counters; /* block argument -> int64_t * */
    uint32_t drain;
    TraceBudget *budget;
    AccessTrace *out;
} Tracer;

static bool is_access(const Op *op)
{
    return op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE);
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool add_run(Tracer *t, uint32_t count, uint32_t ports)
{
    size_t len = t->out->runs.len;
    AccessRun *last = len ? &t->out->runs.data[len - 1] : NULL;
    if (count == 0)
        return true;
    if (last && last->ports == ports && last->count <= UINT32_MAX - count) {
        last->count += count;
        return true;
    }
    if (t->budget->runs-- <= 0)
        return false;
    *vec_push(&t->out->runs) = (AccessRun){count, ports};
    return true;
}

/* --- conditions ------------------------------------------------------------------------------- */

static const Guard *new_guard(Tracer *t, const Op *condition, const Guard *outer)
{
    Guard *guard = ARENA_NEW(&t->arena, Guard);
    guard->outer = outer;
    guard->set = op_attr(condition, "condition")->u.set;
    guard->slot = ARENA_ARRAY(&t->arena, const int64_t *, condition->operand_count + 1);
    for (uint32_t i = 0; i < condition->operand_count; i++)
        guard->slot[i] = ptrmap_get(&t->counters, op_operand(condition, i));
    return guard;
}

static bool holds(const Guard *guard)
{
    int64_t at[MAX_COUNTERS];
    for (; guard; guard = guard->outer) {
        for (uint32_t i = 0; i < guard->set->dim_count; i++)
            at[i] = *guard->slot[i];
        if (!set_contains(guard->set, at, NULL))
            return false;
    }
    return true;
}

/* Counters the tracer does not step would make a condition unknown. */
static bool is_known(const Tracer *t, const Op *condition)
{
    for (uint32_t i = 0; i < condition->operand_count; i++)
        if (!ptrmap_has(&t->counters, op_operand(condition, i)))
            return false;
    return condition->operand_count <= MAX_COUNTERS;
}

/* --- collecting the accesses of a pipelined loop ------------------------------------------------ */

static bool has_access(const Op *op)
{
    if (is_access(op))
        return true;
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(op, r)))
        if (has_access(inner))
            return true;
    return false;
}

static bool add_access(Tracer *t, const Op *op, const Guard *guard, Accesses *list)
{
    const Value *stream = op_operand(op, op->def == EMITHLS(READ) ? 0 : 1);
    if (value_def(stream) || stream->index >= MAX_PORTS)
        return false;
    uint32_t port = 1u << stream->index;
    *(op->def == EMITHLS(READ) ? &t->out->reads : &t->out->writes) |= port;
    *vec_push(list) = (Access){port, guard};
    return true;
}

static bool collect(Tracer *t, Block *body, const Guard *guard, Accesses *list)
{
    bool ok = true;
    FOR_EACH_OP(op, body)
    {
        if (is_access(op))
            ok = ok && add_access(t, op, guard, list);
        else if (op->def == EMITHLS(IF) && has_access(op))
            ok = ok && is_known(t, op) &&
                 collect(t, region_entry(op_region(op, 0)), new_guard(t, op, guard), list);
        else if (has_access(op))
            return false; /* in an unrolled loop */
    }
    return ok;
}

/* --- stepping ------------------------------------------------------------------------------------ */

/* The counters of a loop, moved through its flat range in row-major order. */
typedef struct Odometer {
    int64_t *at, extents[MAX_COUNTERS];
    size_t count;
    int64_t begin, end;
} Odometer;

static bool open_loop(Tracer *t, const Op *loop, Odometer *o)
{
    Block *body = region_entry(op_region(loop, 0));
    if (body->arg_count > MAX_COUNTERS)
        return false;
    o->count = emithls_for_extents(loop, o->extents, MAX_COUNTERS);
    emithls_for_range(loop, &o->begin, &o->end);
    o->at = ARENA_ARRAY(&t->arena, int64_t, o->count + 1);
    for (size_t i = 0; i < o->count; i++)
        ptrmap_put(&t->counters, body->args[i], &o->at[i]);
    return true;
}

static void set_position(Odometer *o, int64_t flat)
{
    for (size_t i = o->count; i-- > 0; flat /= o->extents[i])
        o->at[i] = flat % o->extents[i];
}

static void next_position(Odometer *o)
{
    for (size_t i = o->count; i-- > 0;) {
        if (++o->at[i] < o->extents[i])
            return;
        o->at[i] = 0;
    }
}

static bool step_pipeline(Tracer *t, Odometer *o, const Accesses *list, uint32_t ii)
{
    set_position(o, o->begin);
    for (int64_t p = o->begin; p < o->end; p++, next_position(o)) {
        uint32_t ports = 0;
        for (size_t i = 0; i < list->len; i++) {
            const Access *access = &list->data[i];
            if (!holds(access->guard))
                continue;
            if (ports & access->port)
                return false;
            ports |= access->port;
        }
        if (!add_run(t, 1, ports) || !add_run(t, ii - 1, 0))
            return false;
    }
    return add_run(t, t->drain, 0);
}

static bool trace_pipeline(Tracer *t, const Op *loop)
{
    Odometer odometer;
    Accesses list = {0};
    int64_t ii = attr_int_value(op_attr(loop, "ii"));
    if (!open_loop(t, loop, &odometer) || odometer.end - odometer.begin > t->budget->iterations ||
        ii > UINT32_MAX)
        return false;
    t->budget->iterations -= odometer.end - odometer.begin;
    bool ok = collect(t, region_entry(op_region(loop, 0)), NULL, &list) &&
              step_pipeline(t, &odometer, &list, (uint32_t)ii);
    vec_free(&list);
    return ok;
}

static bool trace_block(Tracer *t, Block *body);

/* A loop that is not pipelined runs its body again and again. */
static bool trace_plain(Tracer *t, const Op *loop)
{
    Odometer odometer;
    bool ok = true;
    if (!open_loop(t, loop, &odometer))
        return false;
    set_position(&odometer, odometer.begin);
    for (int64_t p = odometer.begin; ok && p < odometer.end; p++, next_position(&odometer))
        ok = t->budget->iterations-- > 0 && trace_block(t, region_entry(op_region(loop, 0)));
    return ok;
}

static bool trace_op(Tracer *t, const Op *op)
{
    Accesses one = {0};
    bool ok = true;
    if (is_access(op)) {
        ok = add_access(t, op, NULL, &one) && add_run(t, 1, one.data[0].port);
        vec_free(&one);
    } else if (op->def == EMITHLS(FOR) && op_attr(op, "ii")) {
        ok = trace_pipeline(t, op);
    } else if (op->def == EMITHLS(FOR)) {
        ok = !has_access(op) || trace_plain(t, op);
    } else if (op->def == EMITHLS(IF) && has_access(op)) {
        ok = is_known(t, op) && (!holds(new_guard(t, op, NULL)) ||
                                 trace_block(t, region_entry(op_region(op, 0))));
    }
    return ok;
}

static bool trace_block(Tracer *t, Block *body)
{
    bool ok = true;
    FOR_EACH_OP(op, body)
    ok = ok && trace_op(t, op);
    return ok;
}

bool trace_process(const Op *func, uint32_t drain, TraceBudget *budget, AccessTrace *out)
{
    Tracer t = {.func = func, .drain = drain, .budget = budget, .out = out};
    *out = (AccessTrace){.reads = 0};
    arena_init(&t.arena);
    bool ok = trace_block(&t, region_entry(op_region(func, 0)));
    arena_free(&t.arena);
    ptrmap_free(&t.counters);
    if (!ok)
        trace_free(out);
    return ok;
}

void trace_free(AccessTrace *trace) { vec_free(&trace->runs); }
