/* Access patterns: the iterations of a loop in which each read and write happens, as runs. The
 * affine conditions around an access are decided on boxes of iterations by interval arithmetic. A
 * box that is neither all inside nor all outside is cut along its outermost counter; slices along a
 * counter that no condition uses are computed only once.
 * Tests: lit/sim/design/pattern.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"

typedef struct Constraint {
    const AffineExpr *expr; /* over the loop's counters */
    bool is_eq;             /* == 0, else >= 0 */
} Constraint;
typedef VEC(Constraint) Constraints;

typedef struct IterationRange {
    int64_t low, high; /* inclusive */
} IterationRange;

typedef struct Box {
    int64_t low[HLS_MAX_LOOPS], high[HLS_MAX_LOOPS]; /* high exclusive */
} Box;

/* Sums and products that no number of 64 bits holds are the nearest one that does, so that ranges
 * contain their values all the same: counters and extents are far from there. */
static int64_t add_near(int64_t a, int64_t b)
{
    int64_t sum;
    return i64_add(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t times_near(int64_t a, int64_t b)
{
    int64_t product;
    return i64_mul(a, b, &product) ? product : (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static IterationRange times(IterationRange a, int64_t factor)
{
    int64_t low = times_near(a.low, factor), high = times_near(a.high, factor);
    return factor < 0 ? (IterationRange){high, low} : (IterationRange){low, high};
}

/* Values over a box; exact for sums of distinct counters, else what surely contains them. */
static IterationRange range_of(const AffineExpr *expr, const Box *box)
{
    IterationRange a, b;
    int64_t c = expr->kind >= AFFINE_MUL ? expr->rhs->value : 0;
    switch (expr->kind) {
    case AFFINE_DIM: return (IterationRange){box->low[expr->value], box->high[expr->value] - 1};
    case AFFINE_SYMBOL:
    case AFFINE_CONST: return (IterationRange){expr->value, expr->value};
    case AFFINE_ADD:
        a = range_of(expr->lhs, box);
        b = range_of(expr->rhs, box);
        return (IterationRange){add_near(a.low, b.low), add_near(a.high, b.high)};
    case AFFINE_MUL: return times(range_of(expr->lhs, box), c);
    case AFFINE_MOD:
        a = range_of(expr->lhs, box);
        if (floor_div(a.low, c) != floor_div(a.high, c)) return (IterationRange){0, c - 1};
        return (IterationRange){i64_mod(a.low, c), i64_mod(a.high, c)};
    case AFFINE_FLOORDIV:
        a = range_of(expr->lhs, box);
        return (IterationRange){floor_div(a.low, c), floor_div(a.high, c)};
    case AFFINE_CEILDIV:
        a = range_of(expr->lhs, box);
        return (IterationRange){ceil_div(a.low, c), ceil_div(a.high, c)};
    }
    return (IterationRange){INT64_MIN, INT64_MAX};
}

typedef enum BoxVerdict { NONE, SOME, ALL } BoxVerdict;

/* Boxes and slices that the runs of an access are found in: a second or two. */
#define MOST_STEPS (INT64_C(1) << 24)

typedef struct PatternScan {
    const HlsLoop *loop;
    const Constraint *where;
    size_t count;
    HlsRuns *runs;      /* closed ones */
    int64_t *steps;     /* left of MOST_STEPS; below 0 the scan ends */
    int64_t skip, hits; /* of the run that is open */
} PatternScan;

static void push_run(HlsRuns *runs, int64_t skip, int64_t count, int64_t repeat)
{
    HlsRun *last = runs->len ? &runs->data[runs->len - 1] : NULL;
    if (last && last->skip == skip && last->count == count)
        last->repeat += repeat;
    else
        *vec_push(runs) = (HlsRun){skip, count, repeat};
}

static void close_run(PatternScan *s)
{
    if (s->hits) push_run(s->runs, s->skip, s->hits, 1);
    s->skip = s->hits = 0;
}

static void add_iterations(PatternScan *s, int64_t count, bool hit)
{
    if (!hit && s->hits) close_run(s);
    *(hit ? &s->hits : &s->skip) += count;
}

static void add_runs(PatternScan *s, const HlsRun *run)
{
    for (int64_t i = 0; i < run->repeat; i++) {
        if (i == 1 && run->skip > 0 && run->repeat > 2) {
            close_run(s); /* all but the last, which may go on, are as they stand */
            push_run(s->runs, run->skip, run->count, run->repeat - 2);
            i = run->repeat - 1;
        }
        add_iterations(s, run->skip, false);
        add_iterations(s, run->count, true);
    }
}

static BoxVerdict decide(const PatternScan *s, const Box *box)
{
    bool all = true;
    for (size_t i = 0; i < s->count; i++) {
        IterationRange r = range_of(s->where[i].expr, box);
        if (r.high < 0 || (s->where[i].is_eq && r.low > 0)) return NONE;
        all &= s->where[i].is_eq ? r.low == 0 && r.high == 0 : r.low >= 0;
    }
    return all ? ALL : SOME;
}

/* Which of the box's positions the loop runs at all. */
static BoxVerdict runs_at(const HlsLoop *loop, const Box *box)
{
    int64_t low = 0, high = 0;
    for (uint32_t i = loop->plain_count; i < loop->counter_count; i++) {
        low = low * loop->extents[i] + box->low[i];
        high = high * loop->extents[i] + box->high[i] - 1;
    }
    if (high < loop->begin || low >= loop->end_position) return NONE;
    return low >= loop->begin && high < loop->end_position ? ALL : SOME;
}

static bool holds_in(const Constraint *where, const Box *box)
{
    IterationRange r = range_of(where->expr, box);
    return where->is_eq ? r.low == 0 && r.high == 0 : r.low >= 0;
}

/* Whether the counter decides anything in the box. */
static bool decides(const PatternScan *s, const Box *box, uint32_t counter)
{
    for (size_t i = 0; i < s->count; i++)
        if (affine_uses_dim(s->where[i].expr, counter) && !holds_in(&s->where[i], box)) return true;
    return false;
}

static int64_t box_size(const HlsLoop *loop, const Box *box)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < loop->counter_count; i++) size *= box->high[i] - box->low[i];
    return size;
}

static void scan_box(PatternScan *s, const Box *box);

/* Slices of one run each are one run, and so are those that end with `rest` iterations without, but
 * for the first. */
static bool add_same_slices(PatternScan *s, HlsRun run, int64_t rest, int64_t count)
{
    if (run.skip + rest == 0 || (run.repeat > 1 && rest > 0)) return false;
    HlsRun others = {run.skip + rest, run.count, rest > 0 ? count - 1 : run.repeat * count};
    if (rest > 0) add_runs(s, &run);
    add_runs(s, &others);
    add_iterations(s, rest, false);
    return true;
}

/* The box is `count` slices that look the same. */
static void scan_slices(PatternScan *s, const Box *slice, int64_t count)
{
    HlsRuns runs = {0};
    PatternScan one = *s;
    one.runs = &runs;
    one.skip = one.hits = 0;
    scan_box(&one, slice);
    int64_t rest = one.hits ? 0 : one.skip;
    close_run(&one);
    bool is_added = runs.len == 1 && add_same_slices(s, runs.data[0], rest, count);
    for (int64_t i = 0; !is_added && i < count && *s->steps >= 0; i++) {
        *s->steps -= (int64_t)runs.len + 1;
        for (size_t r = 0; r < runs.len; r++) add_runs(s, &runs.data[r]);
        add_iterations(s, rest, false);
    }
    vec_free(&runs);
}

static void scan_box(PatternScan *s, const Box *box)
{
    const HlsLoop *loop = s->loop;
    BoxVerdict exists = runs_at(loop, box), holds = decide(s, box);
    uint32_t cut = 0;
    if (exists == NONE || --*s->steps < 0) return;
    if (exists == ALL && holds != SOME) {
        add_iterations(s, box_size(loop, box), holds == ALL);
        return;
    }
    while (cut + 1 < loop->counter_count && box->high[cut] - box->low[cut] == 1) cut++;
    Box part = *box;
    if ((exists == ALL || cut < loop->plain_count) && !decides(s, box, cut)) {
        part.high[cut] = box->low[cut] + 1;
        scan_slices(s, &part, box->high[cut] - box->low[cut]);
        return;
    }
    int64_t middle = box->low[cut] + (box->high[cut] - box->low[cut]) / 2;
    part.high[cut] = middle;
    scan_box(s, &part);
    part = *box;
    part.low[cut] = middle;
    scan_box(s, &part);
}

/* False: it takes too many steps. */
static bool find_runs(const HlsLoop *loop, const Constraints *where, HlsAccess *access)
{
    int64_t steps = MOST_STEPS;
    PatternScan scan = {.loop = loop,
                        .where = where->data,
                        .count = where->len,
                        .runs = &access->runs,
                        .steps = &steps};
    Box box = {.low = {0}};
    for (uint32_t i = 0; i < loop->counter_count; i++) box.high[i] = loop->extents[i];
    scan_box(&scan, &box);
    close_run(&scan);
    for (size_t i = 0; i < access->runs.len; i++)
        access->words += access->runs.data[i].count * access->runs.data[i].repeat;
    return steps >= 0;
}

typedef struct Finder {
    HlsLoop *loop;
    const PtrMap *ports;
    PtrMap lanes;      /* counter of an unrolled loop -> its AffineExpr, a constant */
    Constraints where; /* around the current op */
} Finder;

static bool has_access(const Op *op)
{
    if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE)) return true;
    FOR_EACH_INNER(inner, op)
        if (has_access(inner)) return true;
    return false;
}

/* An expression over an op's indices, over the loop's counters. NULL: diagnosed. */
static const AffineExpr *over_counters(const Finder *f, const Op *op, const AffineExpr *expr)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        int at = design_counter_of(f->loop, op_operand(op, i));
        dims[i] =
            at >= 0 ? affine_dim(op->ctx, (uint32_t)at) : ptrmap_get(&f->lanes, op_operand(op, i));
        if (!dims[i]) {
            op_error(op, "cannot be simulated: index %u is no loop counter", i);
            return NULL;
        }
    }
    return affine_replace(expr, dims, op->operand_count, NULL, 0);
}

/* Products and quotients by constants, divisors positive. */
static bool has_ranges(const AffineExpr *expr)
{
    if (expr->kind < AFFINE_ADD) return true;
    if (expr->kind >= AFFINE_MUL && !affine_is_const(expr->rhs)) return false;
    if (expr->kind >= AFFINE_MOD && expr->rhs->value < 1) return false;
    return has_ranges(expr->lhs) && has_ranges(expr->rhs);
}

static bool add_condition(Finder *f, const Op *op)
{
    const IntegerSet *set = op_attr(op, EMITHLS_ATTR_CONDITION)->u.set;
    if (op->operand_count > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        const AffineExpr *expr = over_counters(f, op, set->constraints[i]);
        if (!expr) return false;
        if (!has_ranges(expr))
            return op_error(op, "cannot be simulated: it divides by what is no positive constant");
        *vec_push(&f->where) = (Constraint){expr, set->is_eq[i]};
    }
    return true;
}

void design_bind_lanes(const Op *loop, int64_t position, PtrMap *lanes)
{
    int64_t extents[HLS_MAX_LOOPS];
    const Block *body = region_entry(op_region(loop, 0));
    for (size_t i = emithls_for_extents(loop, extents, HLS_MAX_LOOPS); i-- > 0;
         position /= extents[i])
        ptrmap_put(lanes, body->args[i],
                   (void *)(uintptr_t)affine_const(loop->ctx, position % extents[i]));
}

static bool find_in(Finder *f, const Op *first, const Op *end);

static bool find_in_if(Finder *f, const Op *op)
{
    size_t mark = f->where.len;
    bool ok = add_condition(f, op) && find_in(f, region_entry(op_region(op, 0))->first, NULL);
    f->where.len = mark;
    return ok;
}

/* A copy of the body per position. */
static bool find_in_lanes(Finder *f, const Op *op)
{
    int64_t begin, end;
    const Block *body = region_entry(op_region(op, 0));
    emithls_for_range(op, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        design_bind_lanes(op, position, &f->lanes);
        if (!find_in(f, body->first, NULL)) return false;
    }
    return true;
}

static bool add_access(Finder *f, const Op *op)
{
    bool is_write = op->def == EMITHLS(WRITE);
    uintptr_t port = (uintptr_t)ptrmap_get(f->ports, op_operand(op, is_write ? 1 : 0));
    if (port == 0)
        return op_error(op, "cannot be simulated: the stream is no argument of the process");
    if (f->loop->accesses.len == HLS_MAX_ACCESSES)
        return op_error(op, "cannot be simulated: an iteration has more than %d reads and writes",
                        HLS_MAX_ACCESSES);
    HlsAccess access = {.op = op, .port = (uint32_t)(port - 1), .is_write = is_write};
    if (!find_runs(f->loop, &f->where, &access)) {
        vec_free(&access.runs);
        return op_error(op,
                        "cannot be simulated: which iterations it takes part in is not found in "
                        "%lld steps",
                        (long long)MOST_STEPS);
    }
    if (access.words > 0) *vec_push(&f->loop->accesses) = access;
    return true;
}

static bool find_in(Finder *f, const Op *first, const Op *end)
{
    for (const Op *op = first; op != end; op = op->next) {
        bool ok = true;
        if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE))
            ok = add_access(f, op);
        else if (op->def == EMITHLS(IF) && has_access(op))
            ok = find_in_if(f, op);
        else if (op->def == EMITHLS(FOR) && has_access(op))
            ok = find_in_lanes(f, op);
        if (!ok) return false;
    }
    return true;
}

bool design_find_accesses(HlsLoop *loop, const PtrMap *ports)
{
    Finder f = {.loop = loop, .ports = ports};
    bool ok = find_in(&f, loop->first, loop->end);
    ptrmap_free(&f.lanes);
    vec_free(&f.where);
    return ok;
}
