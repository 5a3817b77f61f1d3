/* Chooses a design, and again where FIFOs lack memory.
 *
 *   choose-unroll … fit-fifos ─▶ design
 *     └── again with memory set aside
 *
 * choose-unroll spends what it may, and the FIFOs that its interval needs may not fit beside it.
 * Then fit-fifos says what is short (emithls.shortage), and the design is chosen again with that set
 * aside: with more and more until the FIFOs fit or no design is left, then with amounts between the
 * last two, since twice as much may be far too much. What is set aside the search has not, so with
 * more of it no design is better than the search's last one; one that is as good ends the tries. So
 * does the time limit where there is a design.
 * Tests: lit/driver/ming-compile-reserve.mir, lit/driver/ming-compile-attempts.mir,
 * test/unit/driver/choice_test.c */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/choice/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "target/cost/cost.h"
#include "target/dse/solve/solve.h"

/* Amounts to try: more and more, then in between. */
enum { MAX_TRIES = 7, MAX_REFINEMENTS = 3 };
/* A design that is worse by less than one of so many parts is good enough; one that is worse by more
 * than one of so many parts had too much set aside. Latencies lie closer to each other than intervals. */
enum { CLOSE = 50, CLOSE_LATENCY = 500, FAR = 4 };

StageOptions choice_stages(const Compile *compile, const SearchOptions *search)
{
    return (StageOptions){.compile = compile->options, .search = search, .target = compile->target};
}

int64_t choice_top_number(const Op *module, const char *attr, const char *name)
{
    const Op *top = emithls_top(module);
    return top ? attr_dict_int(op_attr(top, attr), name, 0) : 0;
}

bool choice_is_late(const Compile *compile)
{
    return compile->deadline > 0 && dse_seconds() >= compile->deadline;
}

/* The options with this search's share of the time that is left: half of it, since others may follow,
 * and in whole seconds, at least one. */
static SearchOptions with_share(const Compile *compile, const SearchOptions *search)
{
    SearchOptions shared = *search;
    double left = compile->deadline - dse_seconds();
    if (compile->deadline > 0) shared.time_limit = left > 2 ? (int64_t)(left / 2 + 0.5) : 1;
    return shared;
}

static bool exceeds_budget(const Op *module)
{
    const Op *top = emithls_top(module);
    return top && op_attr(top, EMITHLS_ATTR_EXCESS);
}

/* What the search found at the least, by its objective. */
static int64_t value_of(const Op *design)
{
    return attr_dict_int(op_attr(design, DFG_ATTR_BUDGET), DFG_BUDGET_VALUE, 0);
}

/* Whether FIFOs make frames come slower than is asked for. */
static bool misses_rate(const Op *module, const CompileOptions *options)
{
    int64_t interval = choice_top_number(module, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
    int64_t clock = attr_dict_int(op_attr(module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ, 0);
    return options->search.fps > 0 && interval > clock * 1000000 / options->search.fps;
}

bool driver_asks_latency(const SearchOptions *search)
{
    const char *objective = search->objective;
    return objective &&
           (strcmp(objective, "latency") == 0 || strcmp(objective, "pipeline-latency") == 0);
}

/* Whether one design is to be preferred to another. */
static bool is_better(const Op *module, const Op *other, const CompileOptions *options)
{
    const char *name =
        driver_asks_latency(&options->search) ? EMITHLS_TIMING_LATENCY : EMITHLS_TIMING_INTERVAL;
    if (exceeds_budget(module) != exceeds_budget(other)) return exceeds_budget(other);
    if (misses_rate(module, options) != misses_rate(other, options))
        return misses_rate(other, options);
    int64_t cycles = choice_top_number(module, EMITHLS_ATTR_TIMING, name);
    int64_t others = choice_top_number(other, EMITHLS_ATTR_TIMING, name);
    if (cycles == others) return driver_luts(module) < driver_luts(other);
    return cycles > 0 && (others == 0 || cycles < others); /* 0: not known */
}

static bool is_short(const Op *module)
{
    const Op *top = emithls_top(module);
    return top && op_attr(top, EMITHLS_ATTR_SHORTAGE);
}

/* Sets aside a multiple of the memory that the FIFOs of a design's best interval lack. False: they
 * lack nothing that can be set aside. */
static bool set_aside(const Op *module, int64_t times, SearchOptions *search)
{
    int64_t bram18 = times * choice_top_number(module, EMITHLS_ATTR_SHORTAGE, DFG_COST_BRAM18);
    int64_t lut = times * choice_top_number(module, EMITHLS_ATTR_SHORTAGE, DFG_COST_LUT);
    search->reserved_bram += bram18;
    search->reserved_lut += lut;
    return bram18 > 0 || lut > 0;
}

/* How FIFOs are fitted: with a longer interval if nothing else is possible, or for the best
 * interval only. */
typedef enum Fit { FIT_WHATEVER, FIT_BEST_ONLY } Fit;

static void note_need(const Attr *needs, DseNeed *out)
{
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t least = attr_dict_int(needs, cost_names[k].key, 0);
        if (least > 0) *out = (DseNeed){k, least};
    }
}

/* A design from a copy of the module, or NULL. Its FIFOs are left out if the search finds nothing
 * better than `most`, which is set for FIT_BEST_ONLY. */
static Op *make_design(const Compile *compile, const Op *module, const SearchOptions *search,
                       Fit fit, int64_t most)
{
    Op *design = op_clone(module, NULL);
    StageOptions options = choice_stages(compile, search);
    options.fits_best_only = fit == FIT_BEST_ONLY;
    if (driver_run_stages(design, STAGE_CHOOSE, &options, compile->semantics) &&
        (value_of(design) > most ||
         driver_run_stages(design, STAGES_DESIGN & ~STAGE_CHOOSE, &options, compile->semantics)))
        return design;
    note_need(op_attr(design, DFG_ATTR_NEEDS), compile->need);
    op_erase(design);
    return NULL;
}

/* The same; what there is to say of it waits until it is known whether the design is taken. */
static Op *try_design(const Compile *compile, const Op *module, const SearchOptions *search,
                      Fit fit, int64_t most, DiagHold *messages)
{
    diag_hold_begin(messages, module->ctx);
    Op *design = make_design(compile, module, search, fit, most);
    diag_hold_end(messages);
    return design;
}

/* The best design of some tries, its options, and what there is to say of it. */
typedef struct Best {
    Op *design; /* NULL: there is none yet */
    SearchOptions search;
    DiagHold messages;
} Best;

/* Takes over the design and the messages of a try if they are better; else frees them. */
static void keep_better(const Compile *compile, Best *best, Op *design, const SearchOptions *search,
                        const DiagHold *messages)
{
    Best other = {design, *search, *messages};
    if (!best->design || (design && is_better(design, best->design, compile->options))) {
        other = *best;
        *best = (Best){design, *search, *messages};
    }
    if (other.design) op_erase(other.design);
    diag_hold_free(&other.messages);
}

/* Designs with other and other amounts set aside. */
typedef struct Tries {
    const Compile *compile;
    const Op *module;
    Best *best;
    SearchOptions low, high; /* too little is set aside; enough, or too much for any design */
    bool has_low, has_high;
    int64_t first_value, low_value; /* of the objective: with nothing and with `low` set aside */
    SearchOptions far;              /* the last amount whose design is far from the best */
    bool has_far, takes_far;        /* there is one; it is to be taken */
    bool is_second;                 /* other tries came before, so what is wrong was said */
    bool has_design;                /* the FIFOs of one of these tries fit */
    bool is_broken;                 /* with nothing set aside there is no design */
    bool lacks_luts;                /* FIFOs of some of these designs do */
} Tries;

typedef enum Outcome { OUTCOME_FITS, OUTCOME_SHORT, OUTCOME_NONE } Outcome;

/* Whether nothing better is to be expected than the best design where the search found no less than
 * `least`. Of other tries' designs one that is as good may take more LUTs. For the objective fps any
 * design is good that keeps the rate. */
static bool is_good_enough(const Tries *t, int64_t least)
{
    const char *objective = t->compile->options->search.objective;
    bool is_fps = objective ? strcmp(objective, "fps") == 0 : t->compile->options->search.fps > 0;
    bool is_latency = objective && strcmp(objective, "pipeline-latency") == 0;
    if (!t->best->design || is_fps) return t->best->design != NULL;
    int64_t more = 1 + least / (is_latency ? CLOSE_LATENCY : CLOSE);
    return value_of(t->best->design) < least + (t->has_design ? more : 0);
}

/* The worst that the search may find for FIFOs to be sized, which takes longer than the search. */
static int64_t most_of(const Tries *t)
{
    if (t->best->design) return value_of(t->best->design);
    return t->has_low && !t->takes_far ? t->low_value + t->low_value / FAR : INT64_MAX;
}

/* One try. next gets the amount after it, `times` what its FIFOs lack more. */
static Outcome try_amount(Tries *t, const SearchOptions *amount, int64_t times, SearchOptions *next)
{
    DiagHold messages;
    const int64_t most = most_of(t);
    const SearchOptions search = with_share(t->compile, amount);
    Op *design = try_design(t->compile, t->module, &search, FIT_BEST_ONLY, most, &messages);
    t->is_broken = !design && !t->has_low;
    if (t->is_broken && !t->is_second) diag_hold_report(&messages);
    if (design && value_of(design) > most) {
        t->far = search;
        t->has_far = true;
        op_erase(design);
        design = NULL;
    }
    if (design && !is_short(design)) {
        t->has_design = true;
        keep_better(t->compile, t->best, design, &search, &messages);
        return OUTCOME_FITS;
    }
    diag_hold_free(&messages);
    if (!design) return OUTCOME_NONE;
    t->lacks_luts |= choice_top_number(design, EMITHLS_ATTR_SHORTAGE, DFG_COST_LUT) > 0;
    t->low = *next = search;
    t->low_value = value_of(design);
    if (!t->has_low) t->first_value = t->low_value;
    t->has_low = true;
    bool can_set_aside = set_aside(design, times, next);
    op_erase(design);
    return can_set_aside ? OUTCOME_SHORT : OUTCOME_NONE;
}

/* Sets more and more aside, in growing multiples of what is short, until FIFOs fit or there is no
 * design; in fewer steps where time is up. */
static void find_enough(Tries *t, const SearchOptions *first)
{
    SearchOptions now = *first, next = *first;
    for (int i = 0; i < MAX_TRIES && !t->has_high; i++, now = next) {
        int64_t times = (int64_t)1 << (choice_is_late(t->compile) ? i : i / 2);
        t->has_high = try_amount(t, &now, times, &next) != OUTCOME_SHORT;
        t->high = now;
    }
}

static int64_t half_way(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

/* Tries amounts between too little and enough, while there is time or no design. */
static void refine(Tries *t)
{
    SearchOptions now = t->low, next;
    for (int i = 0; i < MAX_REFINEMENTS && !is_good_enough(t, t->low_value); i++) {
        if (t->best->design && choice_is_late(t->compile)) return;
        now.reserved_bram = half_way(t->low.reserved_bram, t->high.reserved_bram);
        now.reserved_lut = half_way(t->low.reserved_lut, t->high.reserved_lut);
        if (now.reserved_bram == t->low.reserved_bram && now.reserved_lut == t->low.reserved_lut)
            return;
        if (try_amount(t, &now, 1, &next) != OUTCOME_SHORT) t->high = now;
    }
}

static Tries run_tries(const Compile *compile, const Op *module, const SearchOptions *first,
                       bool is_second, Best *best)
{
    Tries t = {.compile = compile, .module = module, .best = best, .is_second = is_second};
    find_enough(&t, first);
    if (t.has_low && t.has_high) refine(&t);
    if (!best->design && t.has_far) {
        const SearchOptions far = t.far;
        t.takes_far = true;
        t.has_high = false;
        find_enough(&t, &far);
    }
    return t;
}

/* The design if it keeps the budget, with what there is to say of it; else NULL: diagnosed. */
static Op *within_budget(const Compile *compile, Op *design, const DiagHold *messages)
{
    StrBuf short_of = {0};
    if (!design || !exceeds_budget(design)) {
        diag_hold_report(messages);
        return design;
    }
    const Op *top = emithls_top(design);
    const Attr *budget = op_attr(design, DFG_ATTR_BUDGET);
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t excess = choice_top_number(design, EMITHLS_ATTR_EXCESS, cost_names[k].key);
        if (excess > 0 && !short_of.data)
            *compile->need = (DseNeed){k, attr_dict_int(budget, cost_names[k].key, 0) + excess};
        if (excess > 0)
            strbuf_printf(&short_of, "%s%lld %s", short_of.len ? " and " : "", (long long)excess,
                          cost_names[k].title);
    }
    op_emit_error(top,
                  "the network does not fit the budget: with FIFOs that cannot deadlock, the "
                  "designs that were found "
                  "need %s more",
                  short_of.data ? short_of.data : "");
    strbuf_free(&short_of);
    op_erase(design);
    return NULL;
}

static void try_slower(const Compile *compile, const Op *module, const SearchOptions *options,
                       Best *best)
{
    DiagHold messages;
    const SearchOptions search = with_share(compile, options);
    Op *design = try_design(compile, module, &search, FIT_WHATEVER, INT64_MAX, &messages);
    keep_better(compile, best, design, &search, &messages);
}

/* Takes the first and the last choice, with longer intervals as FIFOs need them. */
static void try_slower_ones(const Compile *compile, const Op *module, const SearchOptions *last,
                            Best *best)
{
    const SearchOptions *given = &compile->options->search;
    bool is_other =
        last->reserved_bram > given->reserved_bram || last->reserved_lut > given->reserved_lut;
    try_slower(compile, module, given, best);
    if (best->design && is_other && !choice_is_late(compile))
        try_slower(compile, module, last, best);
}

/* Whether other designs are worth a try: there is none, or there is time and the best one is far from
 * what the search found before FIFOs had to fit. */
static bool wants_others(const Tries *t, int64_t least)
{
    return !t->best->design || (!choice_is_late(t->compile) && !is_good_enough(t, least));
}

/* Where FIFOs lack LUTs, designs are tried for FIFOs of LUTRAM. Sums on the way to epilogues of their
 * own take FIFOs, too, so that designs without such are tried where FIFOs cost something. The first
 * choice with an interval that is a little longer than its best may be better than all of these. Folding
 * files may give depths, which no choice changes. */
Op *choice_design(const Compile *compile, const Op *module, SearchOptions *chosen)
{
    const SearchOptions *given = &compile->options->search;
    SearchOptions fused = *given, small = *given;
    Best best = {.design = NULL};
    Tries tries = {.low = *given};
    if (!compile->options->folding) tries = run_tries(compile, module, given, false, &best);
    if (tries.is_broken) return NULL;
    small.small_fifos = "lutram";
    if (tries.lacks_luts && wants_others(&tries, tries.first_value))
        run_tries(compile, module, &small, true, &best);
    fused.epilogues = "fused";
    if (tries.has_low && !given->epilogues && wants_others(&tries, tries.first_value))
        run_tries(compile, module, &fused, true, &best);
    if (!best.design || (tries.has_low && wants_others(&tries, tries.first_value / 8 * 9)))
        try_slower_ones(compile, module, &tries.low, &best);
    *chosen = best.search;
    Op *design = within_budget(compile, best.design, &best.messages);
    diag_hold_free(&best.messages);
    return design;
}
