/* Runs the passes, and the choice of a design again where FIFOs lack memory.
 *
 *   before the choice ─▶ choose-unroll … fit-fifos ─▶ after it
 *                        └── again with memory set aside ──┘
 *
 * choose-unroll spends what it may, and the FIFOs that its interval needs may not fit beside it.
 * Then fit-fifos says what is short (emithls.shortage), and the design is chosen again with that
 * set aside, some times over; of the designs within the budget the best by the objective stays.
 * Tests: lit/driver/ming-compile-reserve.mir, test/unit/driver/compile_test.c */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "sim/interp/interp.h"
#include "target/cost/cost.h"

/* The options that all runs share. */
typedef struct Compile {
    const CompileOptions *options;
    const DeviceTarget *target;
    VerifySemantics *semantics;
    DseNeed *need; /* of the last design that the budget does not hold */
} Compile;

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

/* Whether one design is to be preferred to another. */
static bool is_better(const Op *module, const Op *other, const CompileOptions *options)
{
    const char *objective = options->search.objective;
    bool is_latency = objective && strcmp(objective, "latency") == 0;
    const char *name = is_latency ? EMITHLS_TIMING_LATENCY : EMITHLS_TIMING_INTERVAL;
    if (exceeds_budget(module) != exceeds_budget(other)) return exceeds_budget(other);
    int64_t cycles = top_number(module, EMITHLS_ATTR_TIMING, name);
    int64_t others = top_number(other, EMITHLS_ATTR_TIMING, name);
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

static StageOptions stage_options(const Compile *compile, const SearchOptions *search)
{
    return (StageOptions){.compile = compile->options, .search = search, .target = compile->target};
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

/* A design from a copy of the module, or NULL. */
static Op *make_design(const Compile *compile, const Op *module, const SearchOptions *search,
                       Fit fit)
{
    Op *design = op_clone(module, NULL);
    StageOptions options = stage_options(compile, search);
    options.fits_best_only = fit == FIT_BEST_ONLY;
    if (driver_run_stages(design, STAGES_DESIGN, &options, compile->semantics)) return design;
    note_need(op_attr(design, DFG_ATTR_NEEDS), compile->need);
    op_erase(design);
    return NULL;
}

/* The same; what there is to say of it waits until it is known whether the design is taken. */
static Op *try_design(const Compile *compile, const Op *module, const SearchOptions *search,
                      Fit fit, DiagHold *messages)
{
    diag_hold_begin(messages, module->ctx);
    Op *design = make_design(compile, module, search, fit);
    diag_hold_end(messages);
    return design;
}

/* Keeps the better one of two designs in *best; its options in *chosen. True: it is the other
 * one. */
static bool keep_better(const Compile *compile, Op **best, Op *other, const SearchOptions *search,
                        SearchOptions *chosen)
{
    bool is_better_one = other && is_better(other, *best, compile->options);
    Op *worse = is_better_one ? *best : other;
    if (is_better_one) {
        *best = other;
        *chosen = *search;
    }
    if (worse) op_erase(worse);
    return is_better_one;
}

/* A try's design if its FIFOs fit. Else NULL, and *search for the next try, which sets aside twice
 * as much more as this one; or *is_over. is_broken: NULL, or told that the first try has no design,
 * which is diagnosed. */
static Op *fitting_design(const Compile *compile, const Op *module, SearchOptions *search,
                          int number, bool *is_over, bool *is_broken)
{
    DiagHold messages;
    Op *design = try_design(compile, module, search, FIT_BEST_ONLY, &messages);
    bool fits = design && !is_short(design), fails = is_broken && !design && number == 0;
    if (fits || fails) diag_hold_report(&messages);
    if (fails) *is_broken = true;
    diag_hold_free(&messages);
    if (fits) return design;
    *is_over = !design || !set_aside(design, (int64_t)1 << number, search);
    if (design) op_erase(design);
    return NULL;
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

/* Makes designs with more and more memory set aside until the FIFOs of one fit at its best interval.
 * NULL: those of none do; *search are the options of the last one. is_broken: as fitting_design. */
static Op *try_designs(const Compile *compile, const Op *module, SearchOptions *search,
                       bool *is_broken)
{
    enum { MAX_TRIES = 6 };
    bool is_over = compile->options->folding != NULL; /* then depths may be given, too */
    for (int i = 0; i < MAX_TRIES && !is_over; i++) {
        Op *design = fitting_design(compile, module, search, i, &is_over, is_broken);
        if (design) return design;
    }
    return NULL;
}

/* The first design whose FIFOs fit at its best interval. Sums on the way to epilogues of their own
 * take FIFOs, too, so that designs without such are tried behind the others. If none fits, takes the
 * better of the first and the last choice, with longer intervals. *chosen gets the options that made
 * the design. NULL: diagnosed. */
static Op *best_design(const Compile *compile, const Op *module, SearchOptions *chosen)
{
    const SearchOptions *given = &compile->options->search;
    SearchOptions last = *given, fused = *given;
    bool is_broken = false;
    fused.epilogues = "fused";
    Op *design = try_designs(compile, module, &last, &is_broken);
    *chosen = design ? last : *given;
    if (!design && !is_broken && !given->epilogues) {
        design = try_designs(compile, module, &fused, NULL);
        if (design) *chosen = fused;
    }
    if (design || is_broken) return design;
    DiagHold messages, others = {0};
    Op *best = try_design(compile, module, given, FIT_WHATEVER, &messages);
    bool is_other =
        last.reserved_bram > given->reserved_bram || last.reserved_lut > given->reserved_lut;
    Op *other = best && is_other ? try_design(compile, module, &last, FIT_WHATEVER, &others) : NULL;
    bool is_first = !keep_better(compile, &best, other, &last, chosen);
    best = within_budget(compile, best, is_first ? &messages : &others);
    diag_hold_free(&messages);
    diag_hold_free(&others);
    return best;
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

static void print_pipeline(const Compile *compile, const SearchOptions *search, bool has_tosa,
                           StrBuf *out)
{
    StageOptions options = stage_options(compile, search);
    options.has_tosa = has_tosa;
    driver_add_stages(out, STAGES_ALL, &options);
}

bool driver_compile(Op **module, const CompileOptions *options, const DeviceTarget *target,
                    StrBuf *pipeline)
{
    SearchOptions chosen = options->search;
    DseNeed need = {0};
    Compile compile = {options, target, verify_semantics_create(options->verify_semantics), &need};
    const bool has_tosa = driver_has_tosa(*module);
    const StageOptions front = stage_options(&compile, &chosen);
    ModelNotes *notes = driver_notes_begin(*module);
    bool is_network = driver_run_stages(*module, STAGES_FRONT, &front, compile.semantics);
    if (is_network) driver_notes_end(notes, *module);
    driver_notes_free(notes);
    Op *design = is_network ? best_design(&compile, *module, &chosen) : NULL;
    verify_semantics_free(compile.semantics);
    if (design) remark_reserve(design, &options->search, &chosen);
    if (is_network && !design && need.least > 0)
        driver_advise(*module, options, target, need.kind, need.least);
    if (pipeline) print_pipeline(&compile, &chosen, has_tosa, pipeline);
    if (!design) return false;
    op_erase(*module);
    *module = design;
    return true;
}
