/* Runs the passes, and the choice of a design again where FIFOs lack memory.
 * Tests: lit/driver/ming-compile-reserve.mir */
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "sim/interp/interp.h"
#include "target/cost/cost.h"

/* more: further options of the pass. */
static void add_folding(StrBuf *out, const CompileOptions *options, const char *pass,
                        const char *more)
{
    if (options->folding) strbuf_printf(out, "%s{file=\"%s\"%s},", pass, options->folding, more);
}

/* How fit-fifos is run: where nothing else is said, it falls back to longer intervals. */
static const char whatever_fits[] = "", best_only[] = "{best-only=true}";

static void add_passes_of_design(StrBuf *out, const CompileOptions *options,
                                 const SearchOptions *search, const DeviceTarget *target,
                                 const char *fit_options)
{
    SearchOptions with = *search;
    with.loads_weights = strcmp(options->weights, "load") == 0;
    add_folding(out, options, "apply-folding", with.loads_weights ? " loads-weights=true" : "");
    search_add_pass(out, &with, target);
    strbuf_add_c(out, ",dfg.region(size-fifos),convert-dfg-to-emithls,");
    add_folding(out, options, "pin-fifos", "");
    strbuf_printf(out, "fit-fifos%s", fit_options);
    if (strcmp(options->interface, "m_axi") == 0) strbuf_add_c(out, ",add-memory-ports");
    if (strcmp(options->weights, "load") == 0) strbuf_add_c(out, ",load-weights");
}

static void add_pipeline(StrBuf *out, const CompileOptions *options, const SearchOptions *search,
                         const DeviceTarget *target)
{
    strbuf_add_c(out, "builtin.module(");
    driver_add_front_passes(out, options->top);
    strbuf_add_char(out, ',');
    add_passes_of_design(out, options, search, target, whatever_fits);
    strbuf_add_char(out, ')');
}

void compile_add_pipeline(StrBuf *out, const CompileOptions *options, const DeviceTarget *target)
{
    add_pipeline(out, options, &options->search, target);
}

/* passes: of a builtin.module; the text is freed. */
static bool run_passes(Op *module, StrBuf *passes, VerifySemantics *semantics)
{
    StrBuf text = {0};
    strbuf_printf(&text, "builtin.module(%s)", passes->data);
    Pipeline *pipeline = pipeline_from_text(module->ctx, driver_all_passes(), strbuf_str(&text));
    const PassHooks *hooks[] = {verify_semantics_hooks(semantics), NULL};
    const RunOptions run = {.verify_each = true, .hooks = hooks};
    bool ok = pipeline && pipeline_run(pipeline, module, &run) && verify_semantics_ok(semantics);
    if (pipeline) pipeline_free(pipeline);
    strbuf_free(&text);
    strbuf_free(passes);
    return ok;
}

/* What all runs have in common. */
typedef struct Compile {
    const CompileOptions *options;
    const DeviceTarget *target;
    VerifySemantics *semantics;
} Compile;

/* A number of a dictionary at the top function, 0 without. */
static int64_t top_number(const Op *module, const char *attr, const char *name)
{
    const Op *top = emithls_top(module);
    const Attr *dict = top ? op_attr(top, attr) : NULL;
    const Attr *value = dict && dict->kind == ATTR_DICT ? attr_dict_get_c(dict, name) : NULL;
    return value && value->kind == ATTR_INTEGER ? attr_int_value(value) : 0;
}

static bool exceeds_budget(const Op *module)
{
    const Op *top = emithls_top(module);
    return top && op_attr(top, "emithls.excess");
}

/* Whether one design is to be preferred to another. */
static bool is_better(const Op *module, const Op *other, const CompileOptions *options)
{
    const char *objective = options->search.objective;
    bool is_latency = objective && strcmp(objective, "latency") == 0;
    const char *name = is_latency ? "latency_cycles" : "interval_cycles";
    if (exceeds_budget(module) != exceeds_budget(other)) return exceeds_budget(other);
    int64_t cycles = top_number(module, "emithls.timing", name);
    int64_t others = top_number(other, "emithls.timing", name);
    return cycles > 0 && (others == 0 || cycles < others); /* 0: not known */
}

static bool is_short(const Op *module)
{
    const Op *top = emithls_top(module);
    return top && op_attr(top, "emithls.shortage");
}

/* Sets aside what the FIFOs of a design's best interval lack, some times over. False: nothing that
 * can be. */
static bool set_aside(const Op *module, int64_t times, SearchOptions *search)
{
    int64_t bram18 = times * top_number(module, "emithls.shortage", "bram18");
    int64_t lut = times * top_number(module, "emithls.shortage", "lut");
    search->reserved_bram += bram18;
    search->reserved_lut += lut;
    return bram18 > 0 || lut > 0;
}

/* A design from a copy of the module, or NULL. */
static Op *make_design(const Compile *compile, const Op *module, const SearchOptions *search,
                       const char *fit_options)
{
    StrBuf passes = {0};
    Op *design = op_clone(module, NULL);
    add_passes_of_design(&passes, compile->options, search, compile->target, fit_options);
    if (run_passes(design, &passes, compile->semantics)) return design;
    op_erase(design);
    return NULL;
}

/* A message that waits until it is known whether the design it is about is taken. */
typedef struct Message {
    DiagKind kind;
    const Attr *loc;
    StrBuf text;
} Message;
typedef VEC(Message) Messages;

static void keep_message(Messages *messages, const Diag *diag)
{
    Message *m = vec_push(messages);
    *m = (Message){.kind = diag->kind, .loc = diag->loc};
    strbuf_add(&m->text, diag->text.data, diag->text.len);
}

static void keep_messages(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                          size_t count)
{
    (void)ctx;
    keep_message(user, diag);
    for (size_t i = 0; i < count; i++) keep_message(user, &notes[i]);
}

static void emit_messages(Context *ctx, const Messages *messages)
{
    for (size_t i = 0; i < messages->len; i++) {
        const Message *m = &messages->data[i];
        const char *text = m->text.data ? m->text.data : "";
        switch (m->kind) {
        case DIAG_ERROR: diag_error(ctx, m->loc, "%s", text); break;
        case DIAG_WARNING: diag_warning(ctx, m->loc, "%s", text); break;
        case DIAG_REMARK: diag_remark(ctx, m->loc, "%s", text); break;
        case DIAG_NOTE: diag_note(ctx, m->loc, "%s", text); break;
        }
    }
}

static void free_messages(Messages *messages)
{
    for (size_t i = 0; i < messages->len; i++) strbuf_free(&messages->data[i].text);
    vec_free(messages);
}

static Op *try_design(const Compile *compile, const Op *module, const SearchOptions *search,
                      const char *fit_options, Messages *messages)
{
    Context *ctx = module->ctx;
    DiagHandler *handler;
    void *user;
    diag_flush(ctx);
    diag_set_handler(ctx, keep_messages, messages, &handler, &user);
    Op *design = make_design(compile, module, search, fit_options);
    diag_flush(ctx);
    diag_set_handler(ctx, handler, user, NULL, NULL);
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
 * as much more as this one; or *is_over. */
static Op *fitting_design(const Compile *compile, const Op *module, SearchOptions *search,
                          int number, bool *is_over)
{
    Messages messages = {0};
    Op *design = try_design(compile, module, search, best_only, &messages);
    bool fits = design && !is_short(design), is_broken = !design && number == 0;
    if (fits || is_broken) emit_messages(module->ctx, &messages);
    free_messages(&messages);
    if (fits) return design;
    *is_over = !design || !set_aside(design, (int64_t)1 << number, search);
    if (design) op_erase(design);
    return NULL;
}

/* The design if it keeps the budget, with what there is to say of it; else NULL: diagnosed. */
static Op *within_budget(Op *design, const Messages *messages, Context *ctx)
{
    StrBuf short_of = {0};
    if (!design || !exceeds_budget(design)) {
        emit_messages(ctx, messages);
        return design;
    }
    const Op *top = emithls_top(design);
    for (int k = 0; k < COST_KINDS; k++) {
        int64_t excess = top_number(design, "emithls.excess", cost_names[k].key);
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

/* Designs with more and more memory set aside until one's FIFOs fit at its best interval; else the
 * better of what the first and the last choice can fall back to. *chosen gets the options that made
 * it. NULL: diagnosed. */
static Op *best_design(const Compile *compile, const Op *module, SearchOptions *chosen)
{
    enum { MAX_TRIES = 6 };
    const SearchOptions *given = &compile->options->search;
    size_t errors = diag_error_count(module->ctx);
    SearchOptions last = *given;
    bool is_over = compile->options->folding != NULL; /* then depths may be given, too */
    for (int i = 0; i < MAX_TRIES && !is_over; i++) {
        Op *design = fitting_design(compile, module, &last, i, &is_over);
        if (design) *chosen = last;
        if (design || (i == 0 && is_over && diag_error_count(module->ctx) > errors)) return design;
    }
    Messages messages = {0}, others = {0};
    Op *best = try_design(compile, module, given, whatever_fits, &messages);
    bool is_other =
        last.reserved_bram > given->reserved_bram || last.reserved_lut > given->reserved_lut;
    Op *other =
        best && is_other ? try_design(compile, module, &last, whatever_fits, &others) : NULL;
    bool is_first = !keep_better(compile, &best, other, &last, chosen);
    best = within_budget(best, is_first ? &messages : &others, module->ctx);
    free_messages(&messages);
    free_messages(&others);
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

bool compile_run(Op **module, const CompileOptions *options, const DeviceTarget *target)
{
    StrBuf before = {0}, pipeline = {0};
    SearchOptions chosen = options->search;
    Compile compile = {options, target, verify_semantics_create(options->verify_semantics)};
    driver_add_front_passes(&before, options->top);
    Op *design = run_passes(*module, &before, compile.semantics)
                     ? best_design(&compile, *module, &chosen)
                     : NULL;
    verify_semantics_free(compile.semantics);
    if (design) remark_reserve(design, &options->search, &chosen);
    if (options->dump_pipeline) {
        add_pipeline(&pipeline, options, &chosen, target);
        printf("%s\n", pipeline.data);
    }
    strbuf_free(&pipeline);
    if (!design) return false;
    op_erase(*module);
    *module = design;
    return true;
}
