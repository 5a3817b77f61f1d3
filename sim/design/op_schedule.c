/* The schedule of one iteration. Every op begins as soon as its operands are there (ASAP), and
 * operators follow each other in a cycle while they fit (schedule/schedule.h). The schedule gives
 * the cycle of each read and write, the depth of the pipeline and its initiation interval:
 *
 *   ii = max(requested, cycles of a recurrence / its distance, accesses per port)
 *
 * A recurrence is the longest path from a load of an array to a store of it. The same walk finds
 * it, restricted to the ops that depend on the load. Sums, minima and maxima of integers over an
 * unrolled loop count as trees, because HLS tools balance them.
 * Tests: lit/sim/design/schedule.mir */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "dialects/math/math.h"
#include "ir/asm/print/print.h"
#include "sim/design/internal.h"

enum { ABSENT = -1 };

typedef struct Schedule {
    Clock clock;
    const HlsLoop *loop;
    PtrMap times;          /* of values, of arrays when last stored, of reads and writes; plus 1 */
    const Value *source;   /* only what depends on loads of this array has a time; NULL: all */
    const Op *source_load; /* only on this one, or NULL */
    bool source_is_lost;   /* the stored value does not depend on it */
    bool is_conditional;   /* inside an if */
    int64_t entered;       /* when the condition around is known */
    int64_t end;
    VEC(const Value *) arrays; /* that are accessed, once each */
} Schedule;

static int64_t time_of(const Schedule *s, const void *key)
{
    return (int64_t)(uintptr_t)ptrmap_get(&s->times, key) - 1;
}

static void set_time(Schedule *s, const void *key, int64_t time)
{
    ptrmap_put(&s->times, key, (void *)(uintptr_t)(time + 1));
    s->end = i64_max(s->end, time);
}

static void note_array(Schedule *s, const Value *array)
{
    for (size_t i = 0; i < s->arrays.len; i++)
        if (s->arrays.data[i] == array) return;
    *vec_push(&s->arrays) = array;
}

static int64_t operands_ready(const Schedule *s, const Op *op)
{
    int64_t ready = s->source ? ABSENT : 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        ready = i64_max(ready, time_of(s, op_operand(op, i)));
    return ready;
}

static void schedule_scalar(Schedule *s, const Op *op)
{
    int64_t ready = operands_ready(s, op);
    if (ready == ABSENT) return;
    int64_t done = clock_after(s->clock, ready, latency_op(op, s->clock));
    for (uint32_t i = 0; i < op->result_count; i++) set_time(s, op_result(op, i), done);
}

static void schedule_load(Schedule *s, const Op *op)
{
    const Value *array = op_operand(op, 0);
    HlsMemory memory = design_memory(array);
    int64_t ready = i64_max(s->source ? ABSENT : 0, time_of(s, array));
    for (uint32_t i = 1; i < op->operand_count; i++)
        ready = i64_max(ready, time_of(s, op_operand(op, i))); /* of a computed index */
    note_array(s, array);
    if (array == s->source && !s->source_is_lost && (!s->source_load || s->source_load == op))
        ready = i64_max(ready, 0);
    if (ready != ABSENT)
        set_time(s, op_result(op, 0),
                 clock_after(s->clock, ready, design_load_timing(&memory, s->loop, op)));
}

static void schedule_store(Schedule *s, const Op *op)
{
    const Value *array = op_operand(op, 1);
    int64_t ready = time_of(s, op_operand(op, 0));
    note_array(s, array);
    if (!s->source) ready = i64_max(i64_max(ready, 0), s->entered);
    if (ready != ABSENT) {
        HlsMemory memory = design_memory(array);
        if (!memory.is_register)
            ready = clock_after(s->clock, ready, latency_memory_store(memory.impl));
        set_time(s, array, i64_max(ready, time_of(s, array)));
    } else if (array == s->source && !s->is_conditional)
        s->source_is_lost = true;
}

static void schedule_access(Schedule *s, const Op *op)
{
    if (s->source) return;
    int64_t ready = i64_max(operands_ready(s, op), s->entered);
    int64_t done = clock_after(s->clock, ready, latency_op(op, s->clock));
    set_time(s, op, done);
    for (uint32_t i = 0; i < op->result_count; i++) set_time(s, op_result(op, i), done);
}

static bool schedule_range(Schedule *s, const Op *first, const Op *end);

static bool schedule_if(Schedule *s, const Op *op)
{
    int64_t before = s->entered;
    bool outer = s->is_conditional;
    s->entered = clock_after(s->clock, before, latency_op(op, s->clock));
    s->is_conditional = true;
    bool ok = schedule_range(s, region_entry(op_region(op, 0))->first, NULL);
    s->entered = before;
    s->is_conditional = outer;
    return ok;
}

static bool is_associative(const Op *op)
{
    static const uint32_t ids[] = {ARITH_ADDI, ARITH_MAXSI, ARITH_MAXUI, ARITH_MINSI, ARITH_MINUI,
                                   ARITH_MULI, ARITH_ANDI,  ARITH_ORI,   ARITH_XORI};
    for (size_t i = 0; op && i < COUNT_OF(ids); i++)
        if (op->def == &arith_ops[ids[i]]) return true;
    return false;
}

/* Copies of the loop's body that store to one element. */
static int64_t copies_per_element(const Op *loop, const Op *store)
{
    int64_t extents[HLS_MAX_LOOPS], copies = 1;
    size_t count = emithls_for_extents(loop, extents, HLS_MAX_LOOPS);
    const Block *body = region_entry(op_region(loop, 0));
    for (size_t i = 0; i < count; i++) {
        bool is_used = false;
        for (uint32_t k = 2; k < store->operand_count; k++)
            is_used |= op_operand(store, k) == body->args[i];
        copies *= is_used ? 1 : extents[i];
    }
    return copies;
}

const Op *design_accumulated(const Op *store, const Value **other)
{
    const Op *sum = value_def(op_operand(store, 0));
    if (!is_associative(sum)) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const Op *load = value_def(op_operand(sum, i));
        *other = op_operand(sum, 1 - i);
        if (load && load->def == EMITHLS(LOAD) && op_operand(load, 0) == op_operand(store, 1) &&
            op_attr(load, "map") == op_attr(store, "map"))
            return sum;
    }
    return NULL;
}

/* In order: a cascade of DSP slices, the sum of each a cycle after that of the one before, the first
 * a cycle after its product. */
static void cascade(Schedule *s, const Op *store, const Value *product, int64_t copies)
{
    int64_t time = time_of(s, product);
    for (int64_t i = 0; time != ABSENT && i < copies; i++)
        time = clock_after(s->clock, time, latency_cascade());
    if (time != ABSENT) set_time(s, op_operand(store, 1), time);
}

/* Whether the array holds 0 where the loop begins, by a store in front of it. */
static bool starts_from_zero(const Op *loop, const Value *array)
{
    const Op *store = loop->prev;
    while (store && !(store->def == EMITHLS(STORE) && op_operand(store, 1) == array))
        store = store->prev;
    const Op *value = store ? value_def(op_operand(store, 0)) : NULL;
    const Attr *attr = value && value->def == ARITH(CONSTANT) ? op_attr(value, "value") : NULL;
    return attr && attr->kind == ATTR_INTEGER && bigint_is_zero(&attr->u.integer);
}

/* A tree over the copies' terms, and the old value added last, unless it is a 0 that makes no
 * difference. */
static void balance(Schedule *s, const Op *loop, const Op *store, int64_t copies, int64_t before)
{
    const Value *other = NULL;
    const Op *sum = design_accumulated(store, &other);
    OpTiming timing = latency_op(sum, s->clock);
    int64_t time = time_of(s, other);
    for (int64_t terms = copies; time != ABSENT && terms > 1; terms = (terms + 1) / 2)
        time = clock_after(s->clock, time, timing);
    if (sum->def == ARITH(ADDI) && starts_from_zero(loop, op_operand(store, 1))) {
        if (time != ABSENT) set_time(s, op_operand(store, 1), time);
        return;
    }
    int64_t ready = i64_max(time, before);
    if (ready != ABSENT) set_time(s, op_operand(store, 1), clock_after(s->clock, ready, timing));
}

/* Whether the array is declared in the loop's body, so that each copy has its own. */
static bool is_inside(const Op *loop, const Value *array)
{
    return loop && !array->is_arg && op_is_ancestor(loop, value_def(array));
}

/* The op's first copy is scheduled. What its copies pass on through an array follows. */
static bool schedule_chains(Schedule *s, const Op *loop, const PtrMap *before)
{
    const Block *body = region_entry(op_region(loop, 0));
    int64_t chain = 1;
    FOR_EACH_OP(op, body) {
        const Value *other = NULL;
        if (op->def != EMITHLS(STORE) || is_inside(loop, op_operand(op, 1))) continue;
        int64_t copies = copies_per_element(loop, op);
        if (copies == 1) continue;
        if (design_accumulated(op, &other) && op_attr(loop, EMITHLS_ATTR_ORDERED))
            cascade(s, op, other, copies);
        else if (design_accumulated(op, &other))
            balance(s, loop, op, copies,
                    (int64_t)(uintptr_t)ptrmap_get(before, op_operand(op, 1)) - 1);
        else
            chain = i64_max(chain, copies);
    }
    for (int64_t i = 1; i < chain; i++)
        if (!schedule_range(s, body->first, NULL)) return false;
    return true;
}

static bool schedule_copies(Schedule *s, const Op *loop)
{
    PtrMap before = {0}; /* array -> time of its last store, plus 1 */
    FOR_EACH_OP(op, region_entry(op_region(loop, 0)))
        if (op->def == EMITHLS(STORE)) {
            const Value *array = op_operand(op, 1);
            int64_t time = time_of(s, array);
            if (array == s->source && !s->source_is_lost) time = i64_max(time, 0);
            ptrmap_put(&before, array, (void *)(uintptr_t)(time + 1));
        }
    bool ok = schedule_range(s, region_entry(op_region(loop, 0))->first, NULL) &&
              schedule_chains(s, loop, &before);
    ptrmap_free(&before);
    return ok;
}

static bool is_declaration(const Op *op)
{
    static const uint32_t ids[] = {EMITHLS_VARIABLE,        EMITHLS_GET,
                                   EMITHLS_ARRAY_PARTITION, EMITHLS_ARRAY_RESHAPE,
                                   EMITHLS_BIND_STORAGE,    EMITHLS_DEPENDENCE};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (op->def == &emithls_ops[ids[i]]) return true;
    return op->def == ARITH(CONSTANT);
}

static bool schedule_op(Schedule *s, const Op *op)
{
    if (op->def == EMITHLS(FOR)) return schedule_copies(s, op);
    if (op->def == EMITHLS(IF)) return schedule_if(s, op);
    if (op->def == EMITHLS(LOAD))
        schedule_load(s, op);
    else if (op->def == EMITHLS(STORE))
        schedule_store(s, op);
    else if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE))
        schedule_access(s, op);
    else if (op->def == EMITHLS(COND) || op->def == EMITHLS(INDEX) ||
             (op->def && (op->def->dialect == &arith_dialect || op->def->dialect == &math_dialect)))
        schedule_scalar(s, op);
    else if (!is_declaration(op))
        return op_error(op, "cannot be simulated");
    return true;
}

static bool schedule_range(Schedule *s, const Op *first, const Op *end)
{
    for (const Op *op = first; op != end; op = op->next)
        if (!schedule_op(s, op)) return false;
    return true;
}

static void require_ii(const HlsDesign *design, HlsLoop *loop, int64_t ii, const char *what,
                       Str name)
{
    if (ii <= loop->ii) return;
    StrBuf text = {0};
    strbuf_printf(&text, "%s '%.*s'", what, STR_ARG(name));
    loop->ii = ii;
    loop->ii_reason = arena_copy((Arena *)&design->arena, text.data, text.len + 1);
    strbuf_free(&text);
}

/* Cycles from a load of the array (`load`, or any if NULL) to the load that may see the store that
 * follows from it. */
static bool recurrence(const Schedule *main, const HlsMemory *memory, const Op *load,
                       int64_t *cycles)
{
    Schedule s = {
        .clock = main->clock, .loop = main->loop, .source = memory->array, .source_load = load};
    bool ok = schedule_range(&s, main->loop->first, main->loop->end);
    int64_t time = time_of(&s, memory->array);
    *cycles = time == ABSENT        ? 0
              : memory->is_register ? clock_cycles_until(s.clock, time)
                                    : clock_cycle(s.clock, time) + 1;
    ptrmap_free(&s.times);
    vec_free(&s.arrays);
    return ok;
}

/* Recurrences through an array. A delay line is taken load by load: each sees values of its own
 * age. */
static bool limit_by_recurrences(const HlsDesign *design, const Schedule *s, HlsLoop *loop,
                                 const HlsMemory *m)
{
    int64_t cycles = 0, distance = m->distance;
    bool is_delay_line = false;
    FOR_EACH_USE(use, m->array) {
        const Op *load = use->owner;
        if (load->def != EMITHLS(LOAD) || !design_is_delayed(m, load, &distance)) continue;
        is_delay_line = true;
        if (design_is_shift(load)) continue;
        if (!recurrence(s, m, load, &cycles)) return false;
        require_ii(design, loop, (cycles + distance - 1) / distance, "recurrence through", m->name);
    }
    if (is_delay_line) return true;
    if (!recurrence(s, m, NULL, &cycles)) return false;
    require_ii(design, loop, (cycles + distance - 1) / distance, "recurrence through", m->name);
    return true;
}

static bool limit_by_arrays(const HlsDesign *design, const Schedule *s, HlsLoop *loop)
{
    for (size_t i = 0; i < s->arrays.len; i++) {
        HlsMemory m = design_memory(s->arrays.data[i]);
        if (!m.is_constant && !is_inside(loop->op, m.array) &&
            !limit_by_recurrences(design, s, loop, &m))
            return false;
        require_ii(design, loop, design_port_cycles(&m, loop), "ports of", m.name);
    }
    return true;
}

/* A stream takes one access a cycle, and words leave after those of the iteration have come. */
static void place_accesses(const HlsDesign *design, const Schedule *s, HlsLoop *loop,
                           const Op *func)
{
    int64_t next[HLS_MAX_PORTS] = {0}, last_read = 0, uses[HLS_MAX_PORTS] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < loop->accesses.len; i++) {
            HlsAccess *a = &loop->accesses.data[i];
            if (a->is_write != (pass == 1)) continue;
            a->offset = i64_max(clock_cycle(s->clock, time_of(s, a->op)), next[a->port]);
            if (a->is_write)
                a->offset = i64_max(a->offset, last_read);
            else
                last_read = i64_max(last_read, a->offset);
            next[a->port] = a->offset + 1;
            loop->depth = i64_max(loop->depth, a->offset + 1);
            const Attr *name = op_attr(func, EMITHLS_ATTR_ARG_NAMES)->u.array.items[a->port];
            require_ii(design, loop, ++uses[a->port], "accesses to", name->u.string);
        }
}

bool design_schedule(const HlsDesign *design, HlsLoop *loop)
{
    Schedule s = {.clock = design->clock, .loop = loop};
    const Op *func = op_parent_of_def(loop->first, EMITHLS(FUNC));
    bool ok = schedule_range(&s, loop->first, loop->end);
    loop->ii = loop->requested_ii > 0 ? loop->requested_ii : 1;
    loop->depth = clock_cycle(s.clock, s.end) + 1;
    ok = ok && limit_by_arrays(design, &s, loop);
    if (ok) place_accesses(design, &s, loop, func);
    if (loop->requested_ii == 0) {
        loop->ii = loop->depth;
        loop->ii_reason = NULL;
    }
    ptrmap_free(&s.times);
    vec_free(&s.arrays);
    return ok;
}
