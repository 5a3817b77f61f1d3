/* Runs the passes, and the choice of a design again where FIFOs lack memory.
 *
 *   before the choice ─▶ choose-unroll … fit-fifos ─▶ after it
 *                        └── again with memory set aside ──┘
 *
 * choose-unroll spends what it may, and the FIFOs that its interval needs may not fit beside it.
 * Then fit-fifos says what is short (emithls.shortage), and the design is chosen again with that set
 * aside: with more and more until the FIFOs fit or no design is left, then with amounts between the
 * last two, since twice as much may be far too much. What is set aside the search has not, so with
 * more of it no design is better than the search's last one; one that is as good ends the tries.
 * Tests: lit/driver/ming-compile-reserve.mir, lit/driver/ming-compile-attempts.mir,
 * test/unit/driver/compile_test.c */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "sim/interp/interp.h"
#include "target/cost/cost.h"

/* The options that all runs share. */
typedef struct Compile {
    const CompileOptions *options;
    const DeviceTarget *target;
    DeviceTarget *part; /* NULL, or a target of less, owned */
    VerifySemantics *semantics;
    DseNeed *need; /* of the last design that the budget does not hold */
} Compile;

/* Amounts to try: more and more, then in between. */
enum { MAX_TRIES = 7, MAX_REFINEMENTS = 3 };
/* A design that is worse by less than one of so many parts is good enough; one that is worse by more
 * than one of so many parts had too much set aside. Latencies lie closer to each other than intervals. */
enum { CLOSE = 50, CLOSE_LATENCY = 500, FAR = 4 };

static StageOptions stage_options(const Compile *compile, const SearchOptions *search)
{
    return (StageOptions){.compile = compile->options, .search = search, .target = compile->target};
}

/* A number of a dictionary at the top function, 0 without. */
static int64_t top_number(const Op *module, const char *attr, const char *name)
{
    const Op *top = emithls_top(module);
    return top ? attr_dict_int(op_attr(top, attr), name, 0) : 0;
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
    int64_t interval = top_number(module, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
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
    int64_t cycles = top_number(module, EMITHLS_ATTR_TIMING, name);
    int64_t others = top_number(other, EMITHLS_ATTR_TIMING, name);
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
    int64_t bram18 = times * top_number(module, EMITHLS_ATTR_SHORTAGE, DFG_COST_BRAM18);
    int64_t lut = times * top_number(module, EMITHLS_ATTR_SHORTAGE, DFG_COST_LUT);
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
    StageOptions options = stage_options(compile, search);
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
static Outcome try_amount(Tries *t, const SearchOptions *search, int64_t times, SearchOptions *next)
{
    DiagHold messages;
    const int64_t most = most_of(t);
    Op *design = try_design(t->compile, t->module, search, FIT_BEST_ONLY, most, &messages);
    t->is_broken = !design && !t->has_low;
    if (t->is_broken && !t->is_second) diag_hold_report(&messages);
    if (design && value_of(design) > most) {
        t->far = *search;
        t->has_far = true;
        op_erase(design);
        design = NULL;
    }
    if (design && !is_short(design)) {
        t->has_design = true;
        keep_better(t->compile, t->best, design, search, &messages);
        return OUTCOME_FITS;
    }
    diag_hold_free(&messages);
    if (!design) return OUTCOME_NONE;
    t->lacks_luts |= top_number(design, EMITHLS_ATTR_SHORTAGE, DFG_COST_LUT) > 0;
    t->low = *next = *search;
    t->low_value = value_of(design);
    if (!t->has_low) t->first_value = t->low_value;
    t->has_low = true;
    bool can_set_aside = set_aside(design, times, next);
    op_erase(design);
    return can_set_aside ? OUTCOME_SHORT : OUTCOME_NONE;
}

/* Sets more and more aside, in growing multiples of what is short, until FIFOs fit or there is no
 * design. */
static void find_enough(Tries *t, const SearchOptions *first)
{
    SearchOptions now = *first, next = *first;
    for (int i = 0; i < MAX_TRIES && !t->has_high; i++, now = next) {
        t->has_high = try_amount(t, &now, (int64_t)1 << i / 2, &next) != OUTCOME_SHORT;
        t->high = now;
    }
}

static int64_t half_way(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

/* Tries amounts between too little and enough. */
static void refine(Tries *t)
{
    SearchOptions now = t->low, next;
    for (int i = 0; i < MAX_REFINEMENTS && !is_good_enough(t, t->low_value); i++) {
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
        int64_t excess = top_number(design, EMITHLS_ATTR_EXCESS, cost_names[k].key);
        if (excess > 0 && !short_of.data)
            *compile->need = (DseNeed){k, attr_dict_int(budget, cost_names[k].key, 0) + excess};
        if (excess > 0)
            strbuf_printf(&short_of, "%s%lld %s", short_of.len ? " and " : "", (long long)excess,
                          cost_names[k].title);
    }
    op_error(
        top,
        "does not fit the budget: with FIFOs that cannot deadlock, the designs that were found "
        "need %s more",
        short_of.data ? short_of.data : "");
    strbuf_free(&short_of);
    op_erase(design);
    return NULL;
}

static void try_slower(const Compile *compile, const Op *module, const SearchOptions *search,
                       Best *best)
{
    DiagHold messages;
    Op *design = try_design(compile, module, search, FIT_WHATEVER, INT64_MAX, &messages);
    keep_better(compile, best, design, search, &messages);
}

/* Takes the first and the last choice, with longer intervals as FIFOs need them. */
static void try_slower_ones(const Compile *compile, const Op *module, const SearchOptions *last,
                            Best *best)
{
    const SearchOptions *given = &compile->options->search;
    bool is_other =
        last->reserved_bram > given->reserved_bram || last->reserved_lut > given->reserved_lut;
    try_slower(compile, module, given, best);
    if (best->design && is_other) try_slower(compile, module, last, best);
}

/* Where FIFOs lack LUTs, designs are tried for FIFOs of LUTRAM. Sums on the way to epilogues of their
 * own take FIFOs, too, so that designs without such are tried where FIFOs cost something. The first
 * choice with an interval that is a little longer than its best may be better than all of these. Folding
 * files may give depths, which no choice changes. NULL: diagnosed. */
static Op *best_design(const Compile *compile, const Op *module, SearchOptions *chosen)
{
    const SearchOptions *given = &compile->options->search;
    SearchOptions fused = *given, small = *given;
    Best best = {.design = NULL};
    Tries tries = {.low = *given};
    if (!compile->options->folding) tries = run_tries(compile, module, given, false, &best);
    if (tries.is_broken) return NULL;
    small.small_fifos = "lutram";
    if (tries.lacks_luts && !is_good_enough(&tries, tries.first_value))
        run_tries(compile, module, &small, true, &best);
    fused.epilogues = "fused";
    if (tries.has_low && !given->epilogues && !is_good_enough(&tries, tries.first_value))
        run_tries(compile, module, &fused, true, &best);
    if (!best.design || (tries.has_low && !is_good_enough(&tries, tries.first_value / 8 * 9)))
        try_slower_ones(compile, module, &tries.low, &best);
    *chosen = best.search;
    Op *design = within_budget(compile, best.design, &best.messages);
    diag_hold_free(&best.messages);
    return design;
}

/* The pool of several cards may hold a design that no cut brings to the cards; then one is tried for
 * less of it. NULL: diagnosed, as for all of it. */
static Op *design_for_cards(Compile *compile, const Op *module, SearchOptions *chosen)
{
    enum { LESS_PERCENT = 92 };
    const DeviceTarget *whole = compile->target;
    free(compile->part);
    DeviceTarget *part = compile->part = xmalloc(sizeof *part);
    Op *design = NULL;
    DiagHold first = {0};
    DseNeed need = {0};
    const int64_t pieces = whole->device.die_count * compile->options->cards->system.card_count;
    for (int64_t permille = 1000; !design; permille = permille * LESS_PERCENT / 100) {
        DiagHold messages;
        bool is_last = permille * pieces < 1000 * LESS_PERCENT / 100; /* it would fit on one die */
        *part = *whole;
        for (const DriverOption *row = driver_limit_options; row->name; row++) {
            int64_t limit = driver_limit(row, &whole->budget) * permille / 1000;
            memcpy((char *)&part->budget + row->offset, &limit, sizeof limit);
        }
        compile->target = part;
        diag_hold_begin(&messages, module->ctx);
        design = best_design(compile, module, chosen);
        diag_hold_end(&messages);
        if (design) diag_hold_report(&messages);
        if (permille == 1000) {
            first = messages;
            need = *compile->need;
        } else {
            diag_hold_free(&messages);
        }
        if (is_last) break;
    }
    if (!design) diag_hold_report(&first);
    if (!design) *compile->need = need;
    diag_hold_free(&first);
    return design;
}

/* So many cards for several designs, on each of them or on all together, and the options of one. */
typedef struct Tile {
    int64_t cards, designs;
} Tile;

typedef struct Tiling {
    CompileOptions options;
    DriverCards cards;
    DeviceTarget target, taken; /* of one design; of the design that is taken */
} Tiling;

static void divide_cards(Compile *compile, Tiling *tiling, const Compile *whole, Tile tile)
{
    tiling->options = *whole->options;
    tiling->cards = *whole->options->cards;
    tiling->target = *whole->target;
    tiling->options.cards = &tiling->cards;
    driver_take_tile(&tiling->cards, tile.cards, tile.designs, &tiling->target);
    compile->options = &tiling->options;
    compile->target = &tiling->target;
}

/* Percent of what a design may use, of the kind that it uses the most of. */
static int64_t utilization(const Op *design)
{
    const Attr *budget = op_attr(design, DFG_ATTR_BUDGET);
    int64_t most = 0;
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t limit = attr_dict_int(budget, cost_names[k].key, 0);
        if (limit > 0) most = i64_max(most, driver_use(design, k) * 100 / limit);
    }
    return most;
}

/* What is compared of tiles: frames a second for a card, of equal ones all frames. */
static bool is_faster(const Op *design, Tile tile, const Op *other, Tile others)
{
    if (!other) return true;
    int64_t rate = tile.designs * others.cards *
                   top_number(other, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
    int64_t before = others.designs * tile.cards *
                     top_number(design, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
    return rate > before || (rate == before && tile.cards > others.cards);
}

/* The best tile so far, and what there is to say of it. */
typedef struct BestTile {
    Op *design; /* NULL: there is none yet */
    Tile tile;
    int64_t used; /* percent */
    SearchOptions search;
    DiagHold messages;
} BestTile;

enum { MAX_DESIGNS = 64, MAX_WORSE = 3 };

/* A design of a tile; what is wrong with the first tile of all is said. True: it is taken. *share: what it
 * uses, 100 if there is none. */
static bool try_tile(Compile *compile, Tiling *tiling, const Op *module, Tile tile, BestTile *best,
                     int64_t *share)
{
    SearchOptions search = best->search;
    DiagHold messages;
    diag_hold_begin(&messages, module->ctx);
    Op *design = driver_is_spread(compile->options) ? design_for_cards(compile, module, &search)
                                                    : best_design(compile, module, &search);
    diag_hold_end(&messages);
    *share = design ? utilization(design) : 100;
    const bool is_taken = design ? is_faster(design, tile, best->design, best->tile)
                                 : !best->design && tile.designs == 1;
    DiagHold *dropped = is_taken ? &best->messages : &messages;
    Op *erased = is_taken ? best->design : design;
    diag_hold_free(dropped);
    if (erased) op_erase(erased);
    if (!is_taken) return false;
    tiling->taken = *compile->target;
    *best = (BestTile){design, tile, *share, design ? search : best->search, messages};
    return design != NULL;
}

/* One design more on so many cards until they use as much as is asked for, none fits, or several times
 * no more frames come of it. True: they use as much. */
static bool fill_cards(Compile *compile, Tiling *tiling, const Compile *whole, const Op *module,
                       int64_t cards, BestTile *best)
{
    const int64_t most_worse = driver_is_spread(whole->options) ? MAX_WORSE * cards : MAX_WORSE;
    for (int64_t designs = 1, worse = 0; designs <= MAX_DESIGNS && worse < most_worse; designs++) {
        const Tile tile = {cards, designs};
        int64_t share;
        divide_cards(compile, tiling, whole, tile);
        const bool has_design = best->design != NULL;
        worse = try_tile(compile, tiling, module, tile, best, &share) ? 0 : worse + 1;
        if (!best->design && !has_design) return false; /* not even one */
        if (share >= whole->options->cards->min_utilization) return best->used >= share;
    }
    return false;
}

/* Elastic-DF's algorithm 1: with dp for cards that each hold whole designs; else for tiles, whose designs
 * may lie on several cards, of one card, two, and so on. The tile with the most frames for a card is
 * taken. NULL: diagnosed. */
static Op *design_in_tile(Compile *compile, Tiling *tiling, const Op *module, SearchOptions *chosen)
{
    const Compile whole = *compile;
    const bool is_spread = driver_is_spread(compile->options);
    const bool has_fewer = is_spread && compile->options->cards->takes_fewer;
    const int64_t all = compile->options->cards->system.card_count;
    BestTile best = {.search = *chosen};
    bool is_full = false;
    for (int64_t cards = has_fewer ? 1 : all; cards <= all && !is_full; cards++)
        is_full = fill_cards(compile, tiling, &whole, module, cards, &best);
    diag_hold_report(&best.messages);
    diag_hold_free(&best.messages);
    if (!best.design) return NULL;
    divide_cards(compile, tiling, &whole, best.tile);
    compile->target = &tiling->taken;
    *chosen = best.search;
    if (is_spread)
        op_remark(emithls_top(best.design),
                  "%lld designs on %lld of the cards, of which they use %lld %%",
                  (long long)best.tile.designs, (long long)best.tile.cards, (long long)best.used);
    else
        op_remark(emithls_top(best.design), "%lld designs on each card use %lld %% of it",
                  (long long)best.tile.designs, (long long)best.used);
    return best.design;
}

bool driver_is_spread(const CompileOptions *options)
{
    return options->cards && strcmp(options->cards->mode, "dp") != 0;
}

static void remark_reserve(const Op *design, const SearchOptions *first,
                           const SearchOptions *chosen)
{
    if (chosen->reserved_bram > first->reserved_bram)
        op_remark(emithls_top(design), "%lld BRAM18 were set aside for FIFOs",
                  (long long)chosen->reserved_bram);
    if (chosen->reserved_lut > first->reserved_lut)
        op_remark(emithls_top(design), "%lld LUT were set aside for FIFOs",
                  (long long)chosen->reserved_lut);
}

/* A frame of several images is for weights that are read once for all of them. */
static void remark_images(const Op *design, int64_t images)
{
    const Op *top = emithls_top(design);
    if (images > 1 && top && !op_attr(top, EMITHLS_ATTR_STREAMED))
        op_remark(top, "no weights are read from memory, so a frame of %lld images saves nothing",
                  (long long)images);
}

static void print_pipeline(const Compile *compile, const SearchOptions *search, bool has_tosa,
                           StrBuf *out)
{
    StageOptions options = stage_options(compile, search);
    options.has_tosa = has_tosa;
    driver_add_stages(out, STAGES_ALL, &options);
}

/* Whether a pair "name=value" is an option of convert-linalg-to-sa, which checks the value. */
static bool is_overlay_option(Str pair)
{
    const OptionDef *option = pass_convert_linalg_to_sa.options;
    size_t len = 0;
    while (len < pair.len && pair.data[len] != '=') len++;
    if (len + 1 >= pair.len) return false;
    for (size_t i = len + 1; i < pair.len; i++)
        if (!strchr("0123456789iu", pair.data[i])) return false;
    for (; option->name; option++)
        if (str_eq_c((Str){pair.data, len}, option->name)) return true;
    return false;
}

bool driver_overlay_options(const char *text, StrBuf *out, StrBuf *why)
{
    for (;; text++) {
        Str pair = {text, strcspn(text, ",")};
        if (!is_overlay_option(pair))
            return strbuf_fail(
                why,
                "'%.*s' is no size of an overlay, as rows=16 or act=i8 (docs/overlay.md "
                "has all of them)",
                STR_ARG(pair));
        strbuf_printf(out, "%s%.*s", out->len > 0 ? " " : "", STR_ARG(pair));
        text += pair.len;
        if (*text == '\0') return true;
    }
}

bool driver_run_overlay_front(Op *module, const CompileOptions *options)
{
    const StageOptions stages = {.compile = options};
    return driver_run_stages(module, STAGES_OVERLAY & ~(unsigned)STAGE_LAYERS, &stages, NULL);
}

bool driver_compile_overlay(Op *module, const CompileOptions *options, Op **program,
                            StrBuf *pipeline)
{
    StageOptions stages = {.compile = options};
    VerifySemantics *semantics = verify_semantics_create(options->verify_semantics);
    if (pipeline) {
        stages.has_tosa = driver_has_tosa(module);
        driver_add_stages(pipeline, STAGES_OVERLAY, &stages);
    }
    bool ok = driver_run_stages(module, STAGES_OVERLAY, &stages, semantics);
    verify_semantics_free(semantics);
    *program = ok ? op_clone(module, NULL) : NULL;
    if (!ok || driver_run_passes(*program, STR("builtin.module(lower-sa-network)"))) return ok;
    op_erase(*program);
    *program = NULL;
    return false;
}

bool driver_compile(Op **module, const CompileOptions *options, const DeviceTarget *target,
                    StrBuf *pipeline)
{
    if (options->cards && options->cards->options)
        return driver_compile_modes(module, options, pipeline);
    SearchOptions chosen = options->search;
    DseNeed need = {0};
    Compile compile = {options, target, NULL, verify_semantics_create(options->verify_semantics),
                       &need};
    verify_semantics_take_images(compile.semantics, options->images);
    const bool has_tosa = driver_has_tosa(*module);
    const StageOptions front = stage_options(&compile, &chosen);
    ModelNotes *notes = driver_notes_begin(*module);
    bool is_network = driver_run_stages(*module, STAGES_FRONT, &front, compile.semantics);
    if (is_network) driver_notes_end(notes, *module);
    if (is_network) driver_notes_record(notes, *module);
    driver_notes_free(notes);
    Tiling *tiling = xcalloc(1, sizeof *tiling);
    const bool is_tiled = options->cards && options->cards->min_utilization > 0;
    Op *design = !is_network                 ? NULL
                 : is_tiled                  ? design_in_tile(&compile, tiling, *module, &chosen)
                 : driver_is_spread(options) ? design_for_cards(&compile, *module, &chosen)
                                             : best_design(&compile, *module, &chosen);
    verify_semantics_free(compile.semantics);
    if (design) remark_reserve(design, &options->search, &chosen);
    if (design) remark_images(design, options->images);
    if (is_network && !design && need.least > 0)
        driver_advise(*module, options, target, need.kind, need.least);
    if (pipeline) print_pipeline(&compile, &chosen, has_tosa, pipeline);
    free(compile.part);
    free(tiling);
    if (!design) return false;
    op_erase(*module);
    *module = design;
    return true;
}
