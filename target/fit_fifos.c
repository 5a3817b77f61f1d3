/* fit-fifos: the smallest FIFO depths that keep the best interval, by simulation of the processes'
 * accesses (sim/hls_size.h). Where their block RAM does not fit the budget, longer intervals are
 * tried. What was proven is recorded at the top function as emithls.timing.
 * Requires: emithls functions, depths of any kind.
 * Changes: depths, and the block RAM in the reports of the processes that write the FIFOs; with
 * `keep` only emithls.timing, after a check that the given depths do not deadlock.
 * Tests: lit/target/fit-fifos.mir */
#include "dialects/emithls/emithls.h"
#include "ir/builder.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "sim/hls_report.h"
#include "sim/hls_size.h"
#include "target/cost.h"
#include "target/target.h"

enum { DEFAULT_CLOCK_MHZ = 250 };

#define NO_PERIOD "no periodic state within %lld reads and writes"

typedef struct Fitting {
    HlsDesign *design;
    Op *module;
    int64_t *depths;   /* of each stream */
    int64_t *given;    /* room for as many */
    int64_t clock_mhz;
    int64_t events;    /* reads and writes to simulate for one interval */
} Fitting;

static int64_t budget_item(const Op *module, const char *name, int64_t fallback)
{
    const Attr *budget = op_attr(module, "dfg.budget");
    const Attr *item = budget && budget->kind == ATTR_DICT ? attr_dict_get_c(budget, name) : NULL;
    return item && item->kind == ATTR_INTEGER ? attr_int_value(item) : fallback;
}

/* --- block RAM ------------------------------------------------------------------------------- */

static int64_t report_item(const Op *func, const char *name)
{
    const Attr *report = op_attr(func, "report");
    const Attr *item = report ? attr_dict_get_c(report, name) : NULL;
    return item && item->kind == ATTR_INTEGER ? attr_int_value(item) : 0;
}

static bool is_fork(const Op *func)
{
    const Attr *report = op_attr(func, "report");
    const Attr *class = report ? attr_dict_get_c(report, "class") : NULL;
    return class && class->kind == ATTR_STRING && str_eq_c(class->u.string, "fork");
}

static int64_t fifo_bram18(const Fitting *f, uint32_t stream, int64_t depth)
{
    return memory_bram18(hls_word_bits(&f->design->streams.data[stream]), depth);
}

/* Of a process's own memories. A fork has none: its report is an estimate of the FIFOs behind it. */
static int64_t own_bram18(const Fitting *f, uint32_t process)
{
    const HlsProcess *p = &f->design->processes.data[process];
    return p->func && !is_fork(p->func) ? report_item(p->func, "bram18") : 0;
}

static int64_t total_bram18(const Fitting *f)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < f->design->processes.len; i++)
        total += own_bram18(f, i);
    for (uint32_t i = f->design->port_count; i < f->design->streams.len; i++)
        total += fifo_bram18(f, i, f->depths[i]);
    return total;
}

/* --- depths ------------------------------------------------------------------------------------ */

/* What the depths that were there hold at most: the last resort, as the budget reckoned with them. */
static bool take_given_depths(const Fitting *f, int64_t *interval)
{
    HlsSteady steady;
    int64_t events = f->events, *given = f->given;
    for (uint32_t i = 0; i < f->design->streams.len; i++)
        given[i] = f->design->streams.data[i].depth;
    if (hls_steady_state(f->design, given, &events, &steady, f->depths) != HLS_PERIODIC)
        return false;
    for (uint32_t i = 0; i < f->design->streams.len; i++)
        if (f->depths[i] < HLS_MIN_DEPTH)
            f->depths[i] = HLS_MIN_DEPTH;
    *interval = steady.interval;
    return true;
}

/* The shortest interval whose FIFOs fit the budget, of a few. Two in a row that need the same say that
 * it is not the FIFOs that are too large. */
static HlsFate choose_depths(const Fitting *f, int64_t *interval)
{
    static const int64_t eighths[] = {8, 10, 12, 16, 24, 32};
    int64_t best = hls_best_interval(f->design);
    int64_t limit = budget_item(f->module, "bram18", INT64_MAX), before = INT64_MAX;
    for (size_t i = 0; i < COUNT_OF(eighths); i++) {
        int64_t events = i == 0 ? f->events : f->events / 8;
        *interval = best * eighths[i] / 8;
        HlsFate fate = hls_size_fifos(f->design, *interval, &events, f->depths);
        int64_t total = fate == HLS_PERIODIC ? total_bram18(f) : 0;
        if (total <= limit)
            return fate;
        if (total == before)
            break;
        before = total;
    }
    int64_t longest = *interval, events = f->events;
    if (take_given_depths(f, interval) && total_bram18(f) <= limit)
        return HLS_PERIODIC;
    op_remark(f->design->top, "FIFOs that cannot deadlock exceed the %lld BRAM18 of the budget",
              (long long)limit);
    *interval = longest;
    return hls_size_fifos(f->design, *interval, &events, f->depths);
}

/* Whether the given depths work, and how well. */
static bool check_depths(const Fitting *f, HlsSteady *steady)
{
    const HlsSimOptions options = {.depths = f->depths};
    enum { FRAMES = 4 };
    int64_t events = f->events;
    HlsFate fate = hls_steady_state(f->design, f->depths, &events, steady, NULL);
    if (fate == HLS_PERIODIC)
        return true;
    if (fate == HLS_UNDECIDED)
        return op_error(f->design->top, "has " NO_PERIOD, (long long)f->events);
    HlsSim *sim = hls_sim_create(f->design, &options);
    bool ok = hls_sim_run(sim, FRAMES) || hls_explain_deadlock(f->design, sim, &options, FRAMES);
    hls_sim_free(sim);
    return ok;
}

/* --- results -------------------------------------------------------------------------------------- */

static Op *stream_op(const HlsStream *stream)
{
    return (Op *)(uintptr_t)stream->op; /* of the module that the pass changes */
}

static void set_depths(const Fitting *f)
{
    const HlsDesign *design = f->design;
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const Op *func = design->processes.data[i].func;
        int64_t bram18 = own_bram18(f, i);
        for (uint32_t s = design->port_count; s < design->streams.len; s++)
            if (design->streams.data[s].writer == i)
                bram18 += fifo_bram18(f, s, f->depths[s]);
        if (func && op_attr(func, "report"))
            op_set_attr((Op *)(uintptr_t)func, "report",
                        attr_dict_set(op_attr(func, "report"), ident_get_c(func->ctx, "bram18"),
                                      attr_i64(func->ctx, bram18)));
    }
    for (uint32_t s = design->port_count; s < design->streams.len; s++) {
        Op *op = stream_op(&design->streams.data[s]);
        op_set_attr(op, "depth", attr_i64(design->ctx, f->depths[s]));
        op_set_attr(op, "cautious", NULL);
    }
}

static void record_timing(const Fitting *f, const HlsSteady *steady)
{
    Context *ctx = f->design->ctx;
    int64_t bits = 0;
    for (uint32_t i = f->design->port_count; i < f->design->streams.len; i++)
        bits += f->depths[i] * hls_word_bits(&f->design->streams.data[i]);
    const NamedAttr items[] = {
        named_attr(ctx, "clock_mhz", attr_i64(ctx, f->clock_mhz)),
        named_attr(ctx, "fifo_bits", attr_i64(ctx, bits)),
        named_attr(ctx, "interval_cycles", attr_i64(ctx, steady->interval)),
        named_attr(ctx, "latency_cycles", attr_i64(ctx, steady->latency)),
    };
    op_set_attr((Op *)(uintptr_t)f->design->top, "emithls.timing",
                attr_dict(ctx, items, COUNT_OF(items)));
}

/* The chosen depths once more, with inputs as fast as they can be. A network that has not settled by
 * then keeps the interval that was proven for inputs at that pace. */
static bool prove(const Fitting *f, int64_t interval)
{
    HlsSteady steady = {0};
    int64_t events = f->events;
    HlsFate fate = hls_steady_state(f->design, f->depths, &events, &steady, NULL);
    if (fate == HLS_DEADLOCK)
        return check_depths(f, &steady);
    if (fate == HLS_UNDECIDED)
        steady.interval = interval;
    record_timing(f, &steady);
    return true;
}

static bool fit(Pass *pass, const Fitting *f)
{
    int64_t interval = 0;
    HlsSteady steady;
    if (pass_bool(pass, "keep")) {
        for (uint32_t i = 0; i < f->design->streams.len; i++)
            f->depths[i] = f->design->streams.data[i].depth;
        if (!check_depths(f, &steady))
            return false;
        record_timing(f, &steady);
        return true;
    }
    HlsFate fate = choose_depths(f, &interval);
    if (fate == HLS_DEADLOCK)
        return op_error(f->design->top,
                        "deadlocks: processes wait for each other, whatever the FIFO depths");
    if (fate == HLS_UNDECIDED) {
        op_remark(f->design->top, "FIFO depths stay unproven: " NO_PERIOD,
                  (long long)f->events);
        return true;
    }
    set_depths(f);
    return prove(f, interval);
}

static bool fit_fifos(Pass *pass, Op *module)
{
    if (!emithls_top(module))
        return true;
    Fitting f = {.module = module, .events = pass_int(pass, "events"),
                 .clock_mhz = budget_item(module, "clock_mhz", DEFAULT_CLOCK_MHZ)};
    f.design = hls_design_create(module, clock_of_period(1000000 / f.clock_mhz));
    if (!f.design)
        return false;
    f.depths = ARENA_ARRAY(&pass->scratch, int64_t, f.design->streams.len);
    f.given = ARENA_ARRAY(&pass->scratch, int64_t, f.design->streams.len);
    bool ok = fit(pass, &f);
    hls_design_free(f.design);
    return ok;
}

const PassDef pass_fit_fifos = {
    .name = "fit-fifos",
    .summary = "Choose the smallest FIFO depths that keep the best interval, by simulation",
    .anchor = "builtin.module",
    .options = OPTIONS({"keep", OPTION_BOOL, "false", "check the given depths only"},
                       {"events", OPTION_INT, "67108864",
                        "reads and writes to simulate for one interval", 1, INT64_MAX}),
    .run = fit_fifos,
};
