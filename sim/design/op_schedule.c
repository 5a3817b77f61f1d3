/* The schedule of one iteration. Every op begins as soon as its operands are there (ASAP), or later
 * where a floor or its attribute says so, and operators follow each other in a cycle while they fit
 * (schedule/schedule.h). Sums, minima and maxima of integers over an unrolled loop count as trees,
 * because HLS tools balance them. The same walk finds the length of a recurrence, the longest path
 * from a load of an array to a store of it, when it is restricted to the ops that depend on the load.
 *
 * The cycle of an op is the one in which its result is there, counted from the iteration's start: of
 * a read or write the one in which it happens, of a store the one at whose end it is made. In an
 * unrolled loop it is that of the first copy, of a store that of the last.
 * Tests: lit/sim/design/schedule.mir, lit/sim/design/schedule-hls.mir */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "dialects/math/math.h"
#include "ir/asm/print/print.h"
#include "sim/design/internal.h"

int64_t design_time_of(const Schedule *s, const void *key)
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
    int64_t ready = s->source ? SCHEDULE_ABSENT : 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        ready = i64_max(ready, design_time_of(s, op_operand(op, i)));
    return ready;
}

/* Cycle that a load or read may not come before, by the rounds of design_schedule. */
static int64_t floor_of(const Schedule *s, const Op *op)
{
    return s->floors ? (int64_t)(uintptr_t)ptrmap_get(s->floors, op) : 0;
}

bool design_given_cycle(const Op *op, int64_t *cycle)
{
    const Attr *given = op_attr(op, EMITHLS_ATTR_CYCLE);
    if (given) *cycle = attr_int_value(given);
    return given || op_error(op, "has no cycle, but its design is scheduled; schedule-hls gives it "
                                 "one");
}

/* Notes the cycle of an op that is done at `*done` at the earliest; its attribute may say later.
 * Copies behind the first of an unrolled loop follow that one. False: diagnosed. */
static bool settle(Schedule *s, const Op *op, OpTiming timing, int64_t *done)
{
    int64_t cycle = clock_result_cycle(s->clock, *done, timing), given = cycle;
    if (s->source || s->is_repeated) return true;
    if (s->is_given && !design_given_cycle(op, &given)) return false;
    if (given < cycle)
        return op_error(op,
                        "is in cycle %lld of its iteration, but what it needs lets it be in "
                        "cycle %lld at the earliest",
                        (long long)given, (long long)cycle);
    *done = clock_put_off(s->clock, *done, timing, given);
    design_note_cycle(s->design, op, given);
    return true;
}

static bool schedule_scalar(Schedule *s, const Op *op)
{
    int64_t ready = operands_ready(s, op);
    if (ready == SCHEDULE_ABSENT) return true;
    OpTiming timing = latency_op(op, s->clock);
    int64_t done = clock_after(s->clock, ready, timing);
    if (!settle(s, op, timing, &done)) return false;
    for (uint32_t i = 0; i < op->result_count; i++) set_time(s, op_result(op, i), done);
    return true;
}

static bool schedule_load(Schedule *s, const Op *op)
{
    const Value *array = op_operand(op, 0);
    HlsMemory memory = design_memory(array);
    int64_t ready = i64_max(s->source ? SCHEDULE_ABSENT : 0, design_time_of(s, array));
    for (uint32_t i = 1; i < op->operand_count; i++)
        ready = i64_max(ready, design_time_of(s, op_operand(op, i))); /* of a computed index */
    note_array(s, array);
    if (array == s->source && !s->source_is_lost && (!s->source_load || s->source_load == op)) {
        ready = i64_max(ready, 0);
        if (!s->is_repeated) *vec_push(&s->carried) = op;
    }
    if (ready == SCHEDULE_ABSENT) return true;
    OpTiming timing = design_load_timing(&memory, s->loop, op);
    int64_t first = floor_of(s, op) + clock_cycle(s->clock, clock_after(s->clock, 0, timing));
    /* As settle does with the cycle that comes of this, so that a schedule is found again. */
    int64_t done = clock_put_off(s->clock, clock_after(s->clock, ready, timing), timing, first);
    if (!settle(s, op, timing, &done)) return false;
    set_time(s, op_result(op, 0), done);
    return true;
}

static OpTiming store_timing(const HlsMemory *memory)
{
    return memory->is_register ? (OpTiming){0, 0} : latency_memory_store(memory->impl);
}

/* A store is made when its last copy is. */
static void set_stored(Schedule *s, const Op *store, int64_t time)
{
    set_time(s, store, i64_max(time, design_time_of(s, store)));
}

static bool settle_store(Schedule *s, const Op *store)
{
    const Value *array = op_operand(store, 1);
    HlsMemory memory = design_memory(array);
    int64_t earliest = design_time_of(s, store), time = earliest;
    if (!settle(s, store, store_timing(&memory), &time)) return false;
    if (time == earliest) return true;
    set_time(s, store, time);
    set_time(s, array, i64_max(time, design_time_of(s, array)));
    return true;
}

static bool schedule_store(Schedule *s, const Op *op)
{
    const Value *array = op_operand(op, 1);
    int64_t ready = design_time_of(s, op_operand(op, 0));
    note_array(s, array);
    if (!s->source) ready = i64_max(i64_max(ready, 0), s->entered);
    if (ready != SCHEDULE_ABSENT) {
        HlsMemory memory = design_memory(array);
        ready = clock_after(s->clock, ready, store_timing(&memory));
        set_time(s, array, i64_max(ready, design_time_of(s, array)));
        set_stored(s, op, ready);
        return s->is_copied || settle_store(s, op);
    }
    if (array == s->source && !s->is_conditional) s->source_is_lost = true;
    return true;
}

/* The op's time is the earliest one, from which design_schedule places it; its word may be there
 * later for that. */
static void schedule_access(Schedule *s, const Op *op)
{
    if (s->source) return;
    OpTiming timing = latency_op(op, s->clock);
    int64_t ready = i64_max(operands_ready(s, op), s->entered), word = floor_of(s, op);
    int64_t done = clock_after(s->clock, ready, timing);
    set_time(s, op, done);
    done = clock_put_off(s->clock, done, timing, word);
    for (uint32_t i = 0; i < op->result_count; i++) set_time(s, op_result(op, i), done);
}

static bool schedule_range(Schedule *s, const Op *first, const Op *end);

static bool schedule_if(Schedule *s, const Op *op)
{
    int64_t before = s->entered;
    bool outer = s->is_conditional;
    OpTiming timing = latency_op(op, s->clock);
    s->entered = clock_after(s->clock, before, timing);
    s->is_conditional = true;
    bool ok = settle(s, op, timing, &s->entered) &&
              schedule_range(s, region_entry(op_region(op, 0))->first, NULL);
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

static void set_sum(Schedule *s, const Op *store, int64_t time)
{
    set_time(s, op_operand(store, 1), time);
    set_stored(s, store, time);
}

/* In order: a cascade of DSP slices, the sum of each a cycle after that of the one before, the first
 * a cycle after its product. */
static void cascade(Schedule *s, const Op *store, const Value *product, int64_t copies)
{
    int64_t time = design_time_of(s, product);
    for (int64_t i = 0; time != SCHEDULE_ABSENT && i < copies; i++)
        time = clock_after(s->clock, time, latency_cascade());
    if (time != SCHEDULE_ABSENT) set_sum(s, store, time);
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
    int64_t time = design_time_of(s, other);
    for (int64_t terms = copies; time != SCHEDULE_ABSENT && terms > 1; terms = (terms + 1) / 2)
        time = clock_after(s->clock, time, timing);
    if (sum->def == ARITH(ADDI) && starts_from_zero(loop, op_operand(store, 1))) {
        if (time != SCHEDULE_ABSENT) set_sum(s, store, time);
        return;
    }
    int64_t ready = i64_max(time, before);
    if (ready != SCHEDULE_ABSENT) set_sum(s, store, clock_after(s->clock, ready, timing));
}

/* Whether the array is declared in the loop's body, so that each copy has its own. */
bool design_is_inside(const Op *loop, const Value *array)
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
        if (op->def != EMITHLS(STORE) || design_is_inside(loop, op_operand(op, 1))) continue;
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
    bool outer = s->is_repeated, ok = true;
    s->is_repeated = true;
    for (int64_t i = 1; ok && i < chain; i++) ok = schedule_range(s, body->first, NULL);
    s->is_repeated = outer;
    return ok;
}

/* The stores of an unrolled loop whose copies are all scheduled. */
static bool settle_stores(Schedule *s, const Op *op)
{
    if (op->def == EMITHLS(STORE)) return settle_store(s, op);
    FOR_EACH_INNER(inner, op)
        if (!settle_stores(s, inner)) return false;
    return true;
}

static bool schedule_copies(Schedule *s, const Op *loop)
{
    bool outer = s->is_copied;
    PtrMap before = {0}; /* array -> time of its last store, plus 1 */
    FOR_EACH_OP(op, region_entry(op_region(loop, 0)))
        if (op->def == EMITHLS(STORE)) {
            const Value *array = op_operand(op, 1);
            int64_t time = design_time_of(s, array);
            if (array == s->source && !s->source_is_lost) time = i64_max(time, 0);
            ptrmap_put(&before, array, (void *)(uintptr_t)(time + 1));
        }
    s->is_copied = true;
    bool ok = schedule_range(s, region_entry(op_region(loop, 0))->first, NULL) &&
              schedule_chains(s, loop, &before);
    s->is_copied = outer;
    ptrmap_free(&before);
    return ok && (outer || s->source || settle_stores(s, loop));
}

static bool schedule_op(Schedule *s, const Op *op)
{
    if (op->def == EMITHLS(FOR)) return schedule_copies(s, op);
    if (op->def == EMITHLS(IF)) return schedule_if(s, op);
    if (op->def == EMITHLS(LOAD)) return schedule_load(s, op);
    if (op->def == EMITHLS(STORE)) return schedule_store(s, op);
    if (emithls_is_declaration(op)) {
        if (op->def == ARITH(CONSTANT) && !s->source) set_time(s, op_result(op, 0), 0);
        return true;
    }
    if (op->def == EMITHLS(COND) || op->def == EMITHLS(INDEX) || op->def == EMITHLS(POPCOUNT) ||
        (op->def && (op->def->dialect == &arith_dialect || op->def->dialect == &math_dialect)))
        return schedule_scalar(s, op);
    if (op->def != EMITHLS(READ) && op->def != EMITHLS(WRITE))
        return op_error(op, "cannot be simulated");
    schedule_access(s, op);
    return true;
}

static bool schedule_range(Schedule *s, const Op *first, const Op *end)
{
    for (const Op *op = first; op != end; op = op->next)
        if (!schedule_op(s, op)) return false;
    return true;
}

bool design_walk(Schedule *s)
{
    s->end = s->entered = 0;
    s->source_is_lost = s->is_conditional = false;
    ptrmap_clear(&s->times);
    s->arrays.len = 0;
    return schedule_range(s, s->loop->first, s->loop->end);
}

void design_schedule_free(Schedule *s)
{
    ptrmap_free(&s->times);
    vec_free(&s->arrays);
    vec_free(&s->carried);
}
