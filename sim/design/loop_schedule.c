/* The schedule of a loop: its initiation interval, its depth, and the cycle of each op in it.
 *
 *   ii = max(requested, cycles of a recurrence / its distance, accesses per port)
 *
 * Ops are done as early as they may (op_schedule.c). What that is too early for is put off by whole
 * cycles, round by round until nothing moves any more:
 *
 *   a load that finds what iteration i - distance has stored in its cycle w begins no earlier than
 *   in cycle w + 1 - distance * ii, for only then it is there;
 *   the word of a read is there in the cycle in which its stream gives it, and it gives one a cycle.
 *
 * The rounds end at the interval that the longest path needs, or at one that is longer.
 * With a schedule in the IR the same is checked of the cycles, intervals and depths that it gives.
 * Tests: lit/sim/design/schedule.mir, lit/sim/design/schedule-hls.mir, schedule-invalid.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/internal.h"

/* A load that finds what an iteration before has stored. */
typedef struct CarriedLoad {
    const Op *op;
    HlsMemory memory;
    int64_t distance; /* iterations from the store to the load */
    bool is_delayed;  /* its array is a delay line */
} CarriedLoad;

typedef struct LoopScheduler {
    Schedule s;
    HlsLoop *loop;
    const Op *func;
    PtrMap floors; /* Op* -> cycle */
    VEC(CarriedLoad) carried;
} LoopScheduler;

static void require_ii(LoopScheduler *l, int64_t ii, const char *what, Str name)
{
    if (ii <= l->loop->ii) return;
    StrBuf text = {0};
    strbuf_printf(&text, "%s '%.*s'", what, STR_ARG(name));
    l->loop->ii = ii;
    l->loop->ii_reason = arena_copy(&l->s.design->arena, text.data, text.len + 1);
    strbuf_free(&text);
}

/* The first cycle that finds what is stored at the time. */
static int64_t found_from(const LoopScheduler *l, const HlsMemory *memory, int64_t time)
{
    return memory->is_register ? clock_cycles_until(l->s.clock, time)
                               : clock_cycle(l->s.clock, time) + 1;
}

/* The recurrence through the array, by the given load, or by any if there is none: the cycles from
 * the load to the one that may see the store that follows from it. */
static bool limit_by_recurrence(LoopScheduler *l, const CarriedLoad *from)
{
    const HlsMemory *memory = &from->memory;
    Schedule s = {.design = l->s.design,
                  .clock = l->s.clock,
                  .loop = l->loop,
                  .source = memory->array,
                  .source_load = from->op};
    bool ok = design_walk(&s);
    int64_t time = design_time_of(&s, memory->array);
    int64_t cycles = time == SCHEDULE_ABSENT ? 0 : found_from(l, memory, time);
    require_ii(l, ceil_div(cycles, from->distance), "recurrence through", memory->name);
    for (size_t i = 0; i < s.carried.len; i++) {
        CarriedLoad *load = vec_push(&l->carried);
        *load = *from;
        load->op = s.carried.data[i];
    }
    design_schedule_free(&s);
    return ok;
}

/* A delay line is taken load by load: each sees values of its own age. */
static bool limit_by_recurrences(LoopScheduler *l, const HlsMemory *m)
{
    CarriedLoad from = {.memory = *m, .distance = m->distance};
    FOR_EACH_USE(use, m->array) {
        from.op = use->owner;
        if (from.op->def != EMITHLS(LOAD) || !design_is_delayed(m, from.op, &from.distance))
            continue;
        from.is_delayed = true;
        if (!design_is_shift(from.op) && !limit_by_recurrence(l, &from)) return false;
    }
    from.op = NULL;
    return from.is_delayed || limit_by_recurrence(l, &from);
}

static bool limit_by_arrays(LoopScheduler *l)
{
    for (size_t i = 0; i < l->s.arrays.len; i++) {
        int64_t cycles;
        HlsMemory m = design_memory(l->s.arrays.data[i]);
        if (!m.is_constant && !design_is_inside(l->loop->op, m.array) &&
            !limit_by_recurrences(l, &m))
            return false;
        if (!design_port_cycles(&m, l->loop, &cycles)) return false;
        require_ii(l, cycles, "ports of", m.name);
    }
    return true;
}

static void limit_by_streams(LoopScheduler *l)
{
    int64_t uses[HLS_MAX_PORTS] = {0};
    const Attr *names = op_attr(l->func, EMITHLS_ATTR_ARG_NAMES);
    for (size_t i = 0; i < l->loop->accesses.len; i++) {
        uint32_t port = l->loop->accesses.data[i].port;
        require_ii(l, ++uses[port], "accesses to", names->u.array.items[port]->u.string);
    }
}

static bool is_first_copy(const HlsLoop *loop, size_t access)
{
    for (size_t i = 0; i < access; i++)
        if (loop->accesses.data[i].op == loop->accesses.data[access].op) return false;
    return true;
}

/* The cycle that an access may not come before by what it needs, or is in by its attribute. */
static bool wanted_cycle(const LoopScheduler *l, const HlsAccess *access, int64_t *cycle)
{
    if (l->s.is_given) return design_given_cycle(access->op, cycle);
    *cycle = clock_cycle(l->s.clock, design_time_of(&l->s, access->op));
    return true;
}

/* A stream takes one access a cycle, and words leave after those of the iteration have come. */
static bool place_accesses(LoopScheduler *l)
{
    HlsLoop *loop = l->loop;
    int64_t next[HLS_MAX_PORTS] = {0}, last_read = 0, wanted;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < loop->accesses.len; i++) {
            HlsAccess *a = &loop->accesses.data[i];
            if (a->is_write != (pass == 1)) continue;
            if (!wanted_cycle(l, a, &wanted)) return false;
            a->offset = i64_max(i64_max(wanted, next[a->port]), a->is_write ? last_read : 0);
            if (!a->is_write) last_read = i64_max(last_read, a->offset);
            next[a->port] = a->offset + 1;
            if (!is_first_copy(loop, i)) continue;
            if (l->s.is_given && a->offset > wanted)
                return op_error(a->op,
                                "is in cycle %lld of its iteration, but the reads and writes "
                                "before it let it be in cycle %lld at the earliest",
                                (long long)wanted, (long long)a->offset);
            design_note_cycle(l->s.design, a->op, a->offset);
        }
    return true;
}

static bool raise_floor(LoopScheduler *l, const Op *op, int64_t cycle)
{
    if (cycle <= (int64_t)(uintptr_t)ptrmap_get(&l->floors, op)) return false;
    ptrmap_put(&l->floors, op, (void *)(uintptr_t)cycle);
    return true;
}

/* The words of reads are there when the last copy is. Whether some come later than they did. */
static bool put_off_words(LoopScheduler *l)
{
    bool has_moved = false;
    for (size_t i = 0; i < l->loop->accesses.len; i++) {
        const HlsAccess *a = &l->loop->accesses.data[i];
        int64_t time = design_time_of(&l->s, a->op);
        if (!a->is_write && a->offset > clock_cycle(l->s.clock, i64_max(time, 0)))
            has_moved |= raise_floor(l, a->op, a->offset);
    }
    return has_moved;
}

/* When the last store to the array of a load is made. What a delay line moves on is as old. */
static int64_t stored_at(const LoopScheduler *l, const CarriedLoad *load)
{
    int64_t last = 0;
    FOR_EACH_USE(use, load->memory.array) {
        const Op *store = use->owner;
        if (store->def != EMITHLS(STORE)) continue;
        const Op *from = value_def(op_operand(store, 0));
        bool moves =
            load->is_delayed && from && from->def == EMITHLS(LOAD) && design_is_shift(from);
        if (!moves) last = i64_max(last, design_time_of(&l->s, store));
    }
    return last;
}

/* The cycle in which a load may begin by what the iterations before have stored. */
static int64_t carried_from(const LoopScheduler *l, const CarriedLoad *load)
{
    int64_t apart;
    if (!i64_mul(load->distance, l->loop->ii, &apart)) apart = INT64_MAX;
    return found_from(l, &load->memory, stored_at(l, load)) - apart;
}

int64_t design_load_begin(const HlsDesign *design, const HlsLoop *loop, const Op *load)
{
    HlsMemory memory = design_memory(op_operand(load, 0));
    OpTiming timing = design_load_timing(&memory, loop, load);
    return design_cycle_of(design, load) -
           clock_cycle(design->clock, clock_after(design->clock, 0, timing));
}

static bool put_off_loads(LoopScheduler *l)
{
    bool has_moved = false;
    for (size_t i = 0; l->loop->requested_ii > 0 && i < l->carried.len; i++) {
        const CarriedLoad *load = &l->carried.data[i];
        int64_t from = carried_from(l, load);
        if (from > design_load_begin(l->s.design, l->loop, load->op))
            has_moved |= raise_floor(l, load->op, from);
    }
    return has_moved;
}

/* Rounds until nothing moves. *settled: it came to that. */
static bool settle_ops(LoopScheduler *l, bool *settled)
{
    size_t most_rounds =
        l->carried.len + l->loop->accesses.len + 2; /* a longest path: Bellman-Ford */
    *settled = false;
    for (size_t round = 0; round < most_rounds && !*settled; round++) {
        if (!place_accesses(l)) return false;
        bool moves = put_off_words(l);
        moves |= put_off_loads(l);
        *settled = !moves;
        if (moves && !design_walk(&l->s)) return false;
    }
    return true;
}

static int64_t needed_depth(const LoopScheduler *l)
{
    int64_t last = clock_cycle(l->s.clock, l->s.end);
    for (size_t i = 0; i < l->loop->accesses.len; i++)
        last = i64_max(last, l->loop->accesses.data[i].offset);
    return last + 1;
}

static bool settle(LoopScheduler *l)
{
    HlsLoop *loop = l->loop;
    for (bool settled = false; !settled;) {
        if (!settle_ops(l, &settled)) return false;
        if (settled) break;
        require_ii(l, loop->ii + 1, "recurrence through", l->carried.data[0].memory.name);
        ptrmap_clear(&l->floors);
        if (!design_walk(&l->s)) return false;
    }
    loop->depth = needed_depth(l);
    if (loop->requested_ii > 0) return true;
    loop->ii = loop->depth;
    loop->ii_reason = NULL;
    return true;
}

static bool check_accesses(const LoopScheduler *l)
{
    for (size_t i = 0; i < l->loop->accesses.len; i++) {
        const HlsAccess *a = &l->loop->accesses.data[i];
        int64_t earliest = clock_cycle(l->s.clock, design_time_of(&l->s, a->op));
        if (is_first_copy(l->loop, i) && a->offset < earliest)
            return op_error(a->op,
                            "is in cycle %lld of its iteration, but what it needs lets it be in "
                            "cycle %lld at the earliest",
                            (long long)a->offset, (long long)earliest);
    }
    return true;
}

static bool check_carried(const LoopScheduler *l)
{
    for (size_t i = 0; l->loop->requested_ii > 0 && i < l->carried.len; i++) {
        const CarriedLoad *load = &l->carried.data[i];
        int64_t from = carried_from(l, load);
        int64_t begin = design_load_begin(l->s.design, l->loop, load->op);
        if (begin < from)
            return op_error(load->op,
                            "begins in cycle %lld of its iteration, but finds what the iterations "
                            "before have stored from cycle %lld on",
                            (long long)begin, (long long)from);
    }
    return true;
}

/* Takes interval and depth from the loop's attributes, if they are long enough. */
static bool take_given(LoopScheduler *l)
{
    HlsLoop *loop = l->loop;
    int64_t needed = needed_depth(l), least = loop->requested_ii > 0 ? loop->ii : needed;
    loop->depth = needed;
    if (!check_accesses(l)) return false;
    if (!loop->op) {
        loop->ii = needed;
        return true;
    }
    const Attr *interval = op_attr(loop->op, EMITHLS_ATTR_INTERVAL);
    const Attr *depth = op_attr(loop->op, EMITHLS_ATTR_SCHEDULE_DEPTH);
    if (!interval || !depth)
        return op_error(loop->op, "has no interval and depth, but its design is scheduled; "
                                  "schedule-hls gives them");
    loop->ii = attr_int_value(interval);
    loop->depth = attr_int_value(depth);
    if (loop->depth < needed)
        return op_error(loop->op, "has a depth of %lld cycles, but its iterations take %lld",
                        (long long)loop->depth, (long long)needed);
    if (loop->ii < least)
        return op_error(loop->op, "has an interval of %lld cycles, but needs %lld%s%s",
                        (long long)loop->ii, (long long)least, loop->ii_reason ? ": " : "",
                        loop->ii_reason ? loop->ii_reason : "");
    if (loop->requested_ii == 0)
        loop->ii_reason = NULL;
    else if (loop->ii > least)
        loop->ii_reason = "its schedule";
    return check_carried(l);
}

bool design_schedule(HlsDesign *design, HlsLoop *loop)
{
    LoopScheduler l = {.s = {.design = design,
                             .clock = design->clock,
                             .loop = loop,
                             .is_given = design->is_scheduled},
                       .loop = loop,
                       .func = op_parent_of_def(loop->first, EMITHLS(FUNC))};
    l.s.floors = &l.floors;
    loop->ii = i64_max(loop->requested_ii, 1);
    bool ok = !l.s.is_given || place_accesses(&l);
    if (ok && l.s.is_given) put_off_words(&l);
    ok = ok && design_walk(&l.s) && limit_by_arrays(&l);
    if (ok) limit_by_streams(&l);
    ok = ok && (l.s.is_given ? take_given(&l) : settle(&l));
    design_schedule_free(&l.s);
    ptrmap_free(&l.floors);
    vec_free(&l.carried);
    return ok;
}
