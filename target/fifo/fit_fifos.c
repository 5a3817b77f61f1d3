/* fit-fifos: finds the smallest FIFO depths that keep the best interval, by simulation of the
 * processes' accesses (target/fifo/fifo.h), and chooses what the FIFOs are built of
 * (target/fifo/internal.h). If they do not fit the budget, it tries longer intervals. It records at
 * the top function what was proven as emithls.timing, what the best interval would take beyond the
 * budget as emithls.shortage, and what the design takes beyond it as emithls.excess.
 * Requires: emithls functions, depths of any kind.
 * Changes: depths and impl of streams; the reports of processes, which get the costs of the FIFOs
 * that they write, or of a link read. With `keep` only emithls.timing changes, after a check that the given depths do
 * not deadlock.
 * Preserves: depths of `fixed` streams, and kinds that are there.
 * Tests: lit/target/fifo/fit-fifos.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "schedule/schedule.h"
#include "sim/hls/hls.h"
#include "target/fifo/fifo.h"
#include "target/fifo/internal.h"

#define NO_PERIOD "no periodic state within %lld reads and writes"

typedef struct FifoFitting {
    HlsDesign *design;
    Op *module;
    int64_t *depths; /* of each stream */
    int64_t *wanted; /* what was found for streams of given depths; of others 0 */
    FifoUse *fifos;  /* of each stream behind the ports' */
    size_t fifo_count;
    FifoDies *dies;      /* NULL: the design is not placed */
    Cost others, limits; /* of the processes themselves; of the budget, -1 for none */
    int64_t clock_mhz;
    int64_t events; /* reads and writes to simulate for one interval */
    FifoSlack slack;
    bool has_fixed; /* depths of some streams are given */
} FifoFitting;

static int64_t budget_item(const Op *module, const char *name, int64_t fallback)
{
    return attr_dict_int(op_attr(module, DFG_ATTR_BUDGET), name, fallback);
}

static void find_budget(FifoFitting *f)
{
    for (uint32_t i = 0; i < f->design->processes.len; i++) {
        Cost own = fifo_process_cost(f->design->processes.data[i].func);
        cost_add(&f->others, &own);
    }
    for (int k = 0; k < COST_KINDS; k++)
        f->limits.items[k] =
            k >= COST_DSP && k <= COST_FF ? budget_item(f->module, cost_names[k].key, -1) : -1;
}

static Op *stream_op(const HlsStream *stream)
{
    return (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
}

static bool given_kind(const Op *stream, FifoKind *out)
{
    const Attr *impl = op_attr(stream, EMITHLS_ATTR_IMPL);
    return impl && fifo_kind(impl->u.string, out);
}

/* With slack, a FIFO gets what its storage holds anyway, unless its depth was given. */
static void fill_storage(const FifoFitting *f)
{
    for (size_t i = 0; i < f->fifo_count; i++)
        if (f->fifos[i].is_filled)
            f->depths[f->design->port_count + i] = f->fifos[i].depth = fifo_capacity(&f->fifos[i]);
}

/* What all takes beyond each limit of the budget, and the sum of it in shares of them. */
static double pool_beyond(const FifoFitting *f, Cost *beyond)
{
    Cost total = f->others;
    double excess = 0;
    fifo_costs(f->fifos, f->fifo_count, &total);
    *beyond = (Cost){.items = {0}};
    for (int k = 0; k < COST_KINDS; k++) {
        if (f->limits.items[k] < 0 || total.items[k] <= f->limits.items[k]) continue;
        beyond->items[k] = total.items[k] - f->limits.items[k];
        excess += (double)beyond->items[k] / (double)(f->limits.items[k] + 1);
    }
    return excess;
}

/* On the dies where they are, each of which has room of its own; the dies of cards only if the whole
 * then keeps the budget. */
static void choose_kinds(const FifoFitting *f)
{
    Cost beyond;
    if (f->dies) fifo_dies_choose_kinds(f->dies, f->fifos, f->fifo_count);
    if (f->dies && (!fifo_dies_are_soft(f->dies) || pool_beyond(f, &beyond) <= 0)) return;
    fifo_choose_kinds(f->fifos, f->fifo_count, &f->others, &f->limits);
}

/* Chooses what the FIFOs of these depths are built of, but for kinds that were given, and fills
 * that. Gives what it takes beyond each limit, and the sum of it in shares of them: 0 if the design fits. */
static double choose_storage(const FifoFitting *f, bool keeps_given, Cost *beyond)
{
    for (size_t i = 0; i < f->fifo_count; i++) {
        uint32_t stream = f->design->port_count + (uint32_t)i;
        const HlsStream *s = &f->design->streams.data[stream];
        f->fifos[i] = (FifoUse){.width = design_word_bits(s),
                                .depth = f->depths[stream],
                                .latency = op_attr(stream_op(s), SYS_ATTR_LINK) ? 1 : s->latency,
                                .is_in_memory = op_attr(stream_op(s), SYS_ATTR_IN_MEMORY) != NULL};
        f->fifos[i].is_filled = !f->fifos[i].is_in_memory && !f->slack.is_exact &&
                                !op_attr(stream_op(s), EMITHLS_ATTR_FIXED);
        f->fifos[i].is_given = keeps_given && given_kind(stream_op(s), &f->fifos[i].kind);
    }
    choose_kinds(f);
    fill_storage(f);
    double excess = pool_beyond(f, beyond);
    if (f->dies) excess += fifo_dies_beyond(f->dies, f->fifos, f->fifo_count, beyond);
    return excess;
}

/* Puts the fixed depths in place of those found; whether they are as large. */
static bool keep_fixed(const FifoFitting *f)
{
    bool holds = true;
    for (uint32_t i = f->design->port_count; i < f->design->streams.len; i++) {
        const HlsStream *stream = &f->design->streams.data[i];
        if (!op_attr(stream_op(stream), EMITHLS_ATTR_FIXED)) continue;
        holds &= stream->depth >= f->depths[i];
        f->wanted[i] = f->depths[i];
        f->depths[i] = stream->depth;
    }
    return holds;
}

static SizingOutcome size_fifos(const FifoFitting *f, int64_t interval, int64_t events, bool stops,
                                Cost *beyond, double *excess);

/* Takes the words that FIFOs of the given depths hold at most, or with slack those that their
 * interval needs. This is the last resort, because the
 * design was chosen within the budget with the given depths. */
static bool take_given_depths(const FifoFitting *f, int64_t *interval)
{
    SteadyState steady;
    int64_t events = f->events, *given = xcalloc(f->design->streams.len, sizeof *given);
    for (uint32_t i = 0; i < f->design->streams.len; i++)
        given[i] = f->design->streams.data[i].depth;
    SizingOutcome outcome = fifo_steady_state(f->design, given, &events, &steady, f->depths);
    free_ptr((void **)&given);
    if (outcome != SIZING_PERIODIC) return false;
    for (uint32_t i = 0; i < f->design->streams.len; i++)
        if (f->depths[i] < HLS_MIN_DEPTH) f->depths[i] = HLS_MIN_DEPTH;
    keep_fixed(f);
    *interval = steady.interval;
    if (f->slack.is_exact) return true;
    Cost beyond;
    double excess;
    return size_fifos(f, steady.interval, f->events, false, &beyond, &excess) == SIZING_PERIODIC;
}

/* Records what is beyond the budget at the top function; no attribute if nothing is. */
static void record_beyond(const FifoFitting *f, const char *name, const Cost *beyond)
{
    Context *ctx = f->design->ctx;
    NamedAttr items[COST_KINDS];
    size_t count = 0;
    for (int k = 0; k < COST_KINDS; k++)
        if (beyond->items[k] > 0)
            items[count++] =
                build_named_attr(ctx, cost_names[k].key, attr_i64(ctx, beyond->items[k]));
    op_set_attr((Op *)(uintptr_t)f->design->top, name, count ? attr_dict(ctx, items, count) : NULL);
}

static void remark_excess(const FifoFitting *f, const Cost *beyond)
{
    for (int k = 0; k < COST_KINDS; k++)
        if (beyond->items[k] > 0)
            op_remark(f->design->top, "FIFOs that cannot deadlock exceed the %lld %s of %s",
                      (long long)f->limits.items[k], cost_names[k].title,
                      f->dies ? "the budget, or of a die" : "the budget");
}

static double storage_beyond(const FifoFitting *f, Cost *beyond)
{
    bool holds = keep_fixed(f);
    return choose_storage(f, true, beyond) + (holds ? 0 : 1);
}

/* Depths for the latest hardware there is slack for, if there is to be any, and from there for the
 * predicted one. *excess: as choose_storage has it, and above 0 where fixed depths are too small. With
 * `stops`, the first are enough if they exceed the budget: the others only add to them. */
static SizingOutcome size_in_steps(const FifoFitting *f, int64_t interval, int64_t events,
                                   bool stops, int64_t *floors, Cost *beyond, double *excess)
{
    SizingOutcome outcome = SIZING_PERIODIC;
    int64_t left = events;
    const int64_t allowed = events;
    *excess = 0;
    if (floors) outcome = fifo_size_for_bound(f->design, f->slack, interval, &left, floors);
    if (outcome == SIZING_PERIODIC && floors && stops) {
        memcpy(f->depths, floors, f->design->streams.len * sizeof *floors);
        *excess = storage_beyond(f, beyond);
        if (*excess > 0) return outcome;
    }
    if (outcome == SIZING_PERIODIC)
        outcome = fifo_size(f->design, interval, &events, floors, f->depths);
    if (outcome == SIZING_PERIODIC)
        outcome = fifo_size_for_pauses(f->design, f->slack, allowed, f->depths);
    if (outcome == SIZING_PERIODIC) *excess = storage_beyond(f, beyond);
    return outcome;
}

/* Sizes FIFOs for an interval and chooses what they are built of. */
static SizingOutcome size_fifos(const FifoFitting *f, int64_t interval, int64_t events, bool stops,
                                Cost *beyond, double *excess)
{
    size_t bytes = f->design->streams.len * sizeof(int64_t);
    int64_t *floors = f->slack.is_exact ? NULL : xcalloc(bytes, 1);
    SizingOutcome outcome = size_in_steps(f, interval, events, stops, floors, beyond, excess);
    free_ptr((void **)&floors);
    return outcome;
}

/* The FIFOs of the best interval; with more effort where they exceed the budget, unless whoever
 * runs the pass has other ways then. */
static SizingOutcome size_for_best(const FifoFitting *f, int64_t best, bool only_best, Cost *beyond,
                                   double *excess)
{
    enum { MORE = 4 };
    SizingOutcome outcome = size_fifos(f, best, f->events, only_best, beyond, excess);
    if (outcome == SIZING_PERIODIC && *excess > 0 && !only_best)
        outcome = size_fifos(f, best, f->events > INT64_MAX / MORE ? INT64_MAX : MORE * f->events,
                             false, beyond, excess);
    if (outcome == SIZING_PERIODIC) record_beyond(f, EMITHLS_ATTR_SHORTAGE, beyond);
    return outcome;
}

/* Intervals that are tried, in eighths of the best. */
static const int64_t tried_eighths[] = {8, 9, 10, 12, 16, 24, 32};

/* The shortest of a few longer intervals whose FIFOs fit, or the given depths if they do; 0 if not.
 * Two intervals in a row that need the same say that it is not the FIFOs that are too large. */
static int64_t find_interval(const FifoFitting *f, int64_t best)
{
    enum { LESS = 2 };
    double before = 0, excess;
    int64_t interval = 0;
    Cost beyond;
    for (size_t i = 1; i < COUNT_OF(tried_eighths); i++) {
        interval = best * tried_eighths[i] / 8;
        if (size_fifos(f, interval, f->events / LESS, false, &beyond, &excess) != SIZING_PERIODIC)
            break;
        if (excess <= 0) return interval;
        if (i > 1 && excess >= before && excess < 1) break;
        before = excess;
    }
    return take_given_depths(f, &interval) && choose_storage(f, true, &beyond) <= 0 ? interval : 0;
}

/* The shortest interval that is found to fit the budget; the best where none is. */
static SizingOutcome choose_depths(const FifoFitting *f, bool only_best, int64_t *interval)
{
    double excess;
    Cost beyond;
    int64_t best = *interval = fifo_best_interval(f->design);
    SizingOutcome outcome = size_for_best(f, best, only_best, &beyond, &excess);
    if (outcome != SIZING_PERIODIC || excess <= 0) return outcome;
    if (!only_best) {
        *interval = find_interval(f, best);
        if (*interval > 0) return SIZING_PERIODIC;
        *interval = best;
        outcome = size_fifos(f, best, f->events, false, &beyond, &excess);
    }
    record_beyond(f, EMITHLS_ATTR_EXCESS, &beyond);
    remark_excess(f, &beyond);
    return outcome;
}

/* Whether the given depths work, and how well. */
static bool check_depths(const FifoFitting *f, SteadyState *steady)
{
    const HlsSimOptions options = {.depths = f->depths};
    enum { FRAMES = 4 };
    int64_t events = f->events;
    SizingOutcome outcome = fifo_steady_state(f->design, f->depths, &events, steady, NULL);
    if (outcome == SIZING_PERIODIC) return true;
    if (outcome == SIZING_UNDECIDED)
        return op_error(f->design->top, "has " NO_PERIOD, (long long)f->events);
    int64_t frames = i64_max(FRAMES, steady->frames); /* short ones fill the FIFOs late */
    HlsSim *sim = hls_sim_create(f->design, &options);
    bool ok = (hls_sim_run(sim, frames) && hls_sim_drain(sim)) ||
              hls_sim_explain_deadlock(f->design, sim, &options, frames);
    hls_sim_free(sim);
    return ok;
}

/* A process reports the FIFOs on its die. */
static void set_report(const FifoFitting *f, uint32_t process)
{
    const HlsDesign *design = f->design;
    const Op *func = design->processes.data[process].func;
    const Attr *report = func ? op_attr(func, DFG_ATTR_REPORT) : NULL;
    Cost cost = fifo_process_cost(func);
    for (size_t i = 0; i < f->fifo_count; i++)
        if (fifo_owner(&design->streams.data[design->port_count + i]) == process)
            fifo_costs(&f->fifos[i], 1, &cost);
    if (!report) return;
    for (int k = COST_BRAM18; k <= COST_FF; k++)
        report = attr_dict_set(report, ident_get_c(func->ctx, cost_names[k].key),
                               attr_i64(func->ctx, cost.items[k]));
    op_set_attr((Op *)(uintptr_t)func, DFG_ATTR_REPORT, report);
}

static void set_fifos(const FifoFitting *f)
{
    Context *ctx = f->design->ctx;
    for (uint32_t i = 0; i < f->design->processes.len; i++) set_report(f, i);
    for (size_t i = 0; i < f->fifo_count; i++) {
        Op *op = stream_op(&f->design->streams.data[f->design->port_count + i]);
        op_set_attr(op, DFG_ATTR_DEPTH, attr_i64(ctx, f->fifos[i].depth));
        if (!f->fifos[i].is_in_memory)
            op_set_attr(op, EMITHLS_ATTR_IMPL, attr_string(ctx, fifo_kind_name(f->fifos[i].kind)));
        op_set_attr(op, DFG_ATTR_CAUTIOUS, NULL);
        op_set_attr(op, EMITHLS_ATTR_FIXED, NULL);
        op_set_attr(op, EMITHLS_ATTR_LEAST, NULL);
    }
}

/* Names the first FIFOs that were given less than was found for them. */
static void remark_given(const FifoFitting *f)
{
    enum { SHOWN = 3 };
    StrBuf names = {0};
    size_t count = 0;
    for (uint32_t i = f->design->port_count; i < f->design->streams.len; i++) {
        if (f->wanted[i] <= f->depths[i] || ++count > SHOWN) continue;
        strbuf_add_c(&names, names.len ? ", " : ": ");
        strbuf_add_quoted(&names,
                          op_attr(stream_op(&f->design->streams.data[i]), "name")->u.string);
        strbuf_printf(&names, " has %lld words where sizing finds %lld", (long long)f->depths[i],
                      (long long)f->wanted[i]);
    }
    if (count > SHOWN) strbuf_printf(&names, " and %zu more", count - SHOWN);
    op_remark(f->design->top,
              "the FIFO depths that are given leave too little slack for hardware that is later "
              "than predicted%s",
              names.len ? names.data : "");
    strbuf_free(&names);
}

/* The interval that is kept on all hardware there is slack for; 0: it is not known to be.
 * interval: what the depths were chosen for. Storage rounds them up, so that they may keep a
 * shorter one, as it is found when they are given. */
static int64_t bound_interval(const FifoFitting *f, int64_t interval)
{
    if (f->slack.is_exact) return 0;
    int64_t best = fifo_best_interval(f->design);
    int64_t later = fifo_bound_interval(f->design, f->slack) - best, bound = interval + later;
    for (size_t i = 0; i < COUNT_OF(tried_eighths); i++) {
        int64_t shorter = best * tried_eighths[i] / 8 + later;
        if (shorter < bound && fifo_keeps_slack(f->design, f->slack, f->depths, shorter))
            return shorter;
    }
    if (!f->has_fixed || fifo_keeps_slack(f->design, f->slack, f->depths, bound)) return bound;
    remark_given(f);
    return 0;
}

/* bound: as bound_interval has it. */
static void record_timing(const FifoFitting *f, const SteadyState *steady, int64_t bound)
{
    Context *ctx = f->design->ctx;
    int64_t bits = 0;
    StrBuf slack = {0};
    strbuf_printf(&slack, "%lld%%", (long long)f->slack.permille / 10);
    for (uint32_t i = f->design->port_count; i < f->design->streams.len; i++)
        if (!op_attr(stream_op(&f->design->streams.data[i]), SYS_ATTR_IN_MEMORY))
            bits += f->depths[i] * design_word_bits(&f->design->streams.data[i]);
    const NamedAttr items[] = {
        build_named_attr(ctx, EMITHLS_TIMING_BOUND_INTERVAL, attr_i64(ctx, bound)),
        build_named_attr(ctx, EMITHLS_TIMING_FIFO_SLACK, attr_string(ctx, strbuf_str(&slack))),
        build_named_attr(ctx, EMITHLS_TIMING_CLOCK_MHZ, attr_i64(ctx, f->clock_mhz)),
        build_named_attr(ctx, EMITHLS_TIMING_DEADLOCK_FREE, attr_unit(ctx)),
        build_named_attr(ctx, EMITHLS_TIMING_FIFO_BITS, attr_i64(ctx, bits)),
        build_named_attr(ctx, EMITHLS_TIMING_INTERVAL, attr_i64(ctx, steady->interval)),
        build_named_attr(ctx, EMITHLS_TIMING_LATENCY, attr_i64(ctx, steady->latency)),
    };
    const size_t of_slack = bound > 0 ? 0 : 2;
    op_set_attr((Op *)(uintptr_t)f->design->top, EMITHLS_ATTR_TIMING,
                attr_dict(ctx, items + of_slack, COUNT_OF(items) - of_slack));
    strbuf_free(&slack);
}

/* Where the best interval takes no more than there is, given depths do not allow it. */
static void remark_interval(const FifoFitting *f, int64_t interval, int64_t best)
{
    if (op_attr(f->design->top, EMITHLS_ATTR_SHORTAGE))
        op_remark(f->design->top,
                  "takes %lld cycles from frame to frame: FIFOs for %lld exceed the budget",
                  (long long)interval, (long long)best);
    else
        op_remark(f->design->top,
                  "takes %lld cycles from frame to frame: the FIFO depths that are given are too "
                  "small for %lld",
                  (long long)interval, (long long)best);
}

/* The chosen depths once more, with inputs as fast as they can be. The best interval is known after
 * the first frame: inputs that come earlier delay nothing, and no process can be faster. A network
 * that has not settled within the events keeps the interval that was proven for even inputs. */
static bool prove(const FifoFitting *f, int64_t interval)
{
    SteadyState steady = {.interval = interval};
    int64_t events = f->events, best = fifo_best_interval(f->design);
    SizingOutcome outcome = interval == best
                                ? fifo_first_frame(f->design, f->depths, &steady.latency)
                                : fifo_steady_state(f->design, f->depths, &events, &steady, NULL);
    if (outcome == SIZING_DEADLOCK) return check_depths(f, &steady);
    if (outcome == SIZING_UNDECIDED) {
        steady.interval = interval;
        if (fifo_first_frame(f->design, f->depths, &steady.latency) == SIZING_DEADLOCK)
            return check_depths(f, &steady);
    }
    if (interval > best && steady.interval > best) remark_interval(f, steady.interval, best);
    record_timing(f, &steady, bound_interval(f, interval));
    return true;
}

/* The depths that were there, which nothing is known about. */
static void leave_depths(const FifoFitting *f)
{
    Cost beyond;
    op_remark(f->design->top, "FIFO depths stay unproven: " NO_PERIOD, (long long)f->events);
    for (uint32_t i = 0; i < f->design->streams.len; i++)
        f->depths[i] = f->design->streams.data[i].depth;
    (void)choose_storage(f, true, &beyond);
    record_beyond(f, EMITHLS_ATTR_SHORTAGE, &beyond);
    record_beyond(f, EMITHLS_ATTR_EXCESS, &beyond);
    set_fifos(f);
}

static bool fit(Pass *pass, const FifoFitting *f)
{
    int64_t interval = 0;
    bool best_only = pass_bool(pass, "best-only");
    SteadyState steady;
    if (pass_bool(pass, "keep")) {
        for (uint32_t i = 0; i < f->design->streams.len; i++)
            f->depths[i] = f->design->streams.data[i].depth;
        if (!check_depths(f, &steady)) return false;
        record_timing(f, &steady, 0);
        return true;
    }
    SizingOutcome outcome = choose_depths(f, best_only, &interval);
    if (outcome == SIZING_DEADLOCK)
        return op_error(f->design->top,
                        "deadlocks: processes wait for each other, whatever the FIFO depths");
    if (outcome == SIZING_UNDECIDED) {
        leave_depths(f);
        return true;
    }
    set_fifos(f);
    if (best_only && op_attr(f->design->top, EMITHLS_ATTR_EXCESS))
        return true; /* only the shortage was asked for */
    return prove(f, interval);
}

static bool fit_fifos(Pass *pass, Op *module)
{
    if (!emithls_top(module)) return true;
    FifoFitting f = {.module = module,
                     .events = pass_int(pass, "events"),
                     .clock_mhz = design_clock_mhz(module)};
    if (!fifo_slack_parse(pass_string(pass, "slack"), &f.slack))
        return op_error(module,
                        "has FIFOs for an unknown slack '%.*s'; there are exact, N%% (up to "
                        "1000%%) and default",
                        STR_ARG(pass_string(pass, "slack")));
    f.design = design_create(module, clock_of_module(module, f.clock_mhz));
    if (!f.design) return false;
    f.depths = ARENA_ARRAY(&pass->scratch, int64_t, f.design->streams.len);
    f.wanted = ARENA_ARRAY(&pass->scratch, int64_t, f.design->streams.len);
    f.fifo_count = f.design->streams.len - f.design->port_count;
    f.fifos = ARENA_ARRAY(&pass->scratch, FifoUse, f.fifo_count);
    find_budget(&f);
    f.dies = fifo_dies_create(module, f.design);
    for (uint32_t i = f.design->port_count; i < f.design->streams.len; i++)
        f.has_fixed |= op_attr(stream_op(&f.design->streams.data[i]), EMITHLS_ATTR_FIXED) != NULL;
    bool ok = fit(pass, &f);
    fifo_dies_free(f.dies);
    design_free(f.design);
    return ok;
}

const PassDef pass_fit_fifos = {
    .name = "fit-fifos",
    .summary = "Choose the smallest FIFO depths that keep the best interval, by simulation",
    .anchor = "builtin.module",
    .options = OPTIONS(
        {"keep", OPTION_BOOL, "false", "check the given depths only"},
        {"best-only", OPTION_BOOL, "false",
         "try no longer interval than the best, and prove it only within the budget"},
        {"slack", OPTION_STRING, "default",
         "exact: for the predicted hardware alone; N%: for pipelines up to N % and 8 cycles "
         "deeper, FIFOs and processes later; default: 50%"},
        {"events", OPTION_INT, "16777216", "reads and writes to look at for one interval", 1,
         INT64_MAX}),
    .run = fit_fifos,
};
