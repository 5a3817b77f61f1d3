/* Fuzz targets for passes in random order. The first CHOICES bytes of an input choose one to eight
 * passes and their options, the rest is a module. It verifies after each pass, functions that can be
 * run keep their results (--verify-semantics), a pass that refuses has a diagnostic, the text that
 * comes out is read again as the same, and a module of the emithls level is emitted and simulated.
 * A module that begins with "// passes:" gets mostly those that the line names, as far as there are
 * such: names or NAME{OPTIONS} behind tabs.
 *
 *   fuzz_orders    any passes
 *   fuzz_designs   mostly those of the level that the module is at, or that lift it to the next one */
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "dialects/func/func.h"
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "ir/pass/pass.h"
#include "ir/verify/verify.h"
#include "sim/interp/interp.h"

enum { CHOICES = 96, MOST_PASSES = 8, MOST_ELEMENTS = 1 << 12, MOST_EVENTS = 1 << 18 };

typedef enum Level { LEVEL_ONNX, LEVEL_LINALG, LEVEL_DFG, LEVEL_EMITHLS, LEVEL_RTL } Level;

/* Of the levels below that of rtl: passes, and the one that leads to the next level. */
static const struct {
    const char *names, *lifting;
} level_passes[LEVEL_RTL] = {
    {"canonicalize cse onnx-decompose onnx-fold-batch-norm onnx-fold-constants onnx-infer-shapes "
     "onnx-quantize onnx-set-head",
     "convert-onnx-to-linalg"},
    {"analyze-kernels batch-images canonicalize convert-elementwise-to-linalg "
     "convert-to-signless cse encode-levels inline linalg-fold-unit-extent-dims "
     "linalg-fuse-elementwise-ops linalg-generalize-named-ops name-layers name-tensors "
     "narrow-integers normalize-layout simplify-kernels split-batch split-results "
     "stream-initials tosa-to-arith tosa-to-linalg tosa-to-linalg-named",
     "convert-linalg-to-dfg"},
    {"canonicalize chain-kernels choose-unroll cse insert-reorders place-cards record-requantizers "
     "share-windows size-fifos stream-batch-last",
     "convert-dfg-to-emithls"},
    {"add-dma-ports add-memory-ports bound-links canonicalize check-dies connect-cards copy-frames "
     "cross-dies cse fit-fifos load-weights merge-forks prove-loaded schedule-hls split-region "
     "stream-weights",
     "convert-emithls-to-rtl"},
};

/* The bytes that choose, one after the other; zeros behind them. */
typedef struct Choices {
    const uint8_t *bytes;
    size_t at;
    bool is_design; /* prefers the passes of its level */
    Level level;
    Str hints; /* names of passes, preferred too, and their options */
} Choices;

/* A pass and options of it; empty: they are to be chosen. */
typedef struct Choice {
    const PassDef *def;
    Str options;
} Choice;

static uint8_t choose(Choices *c)
{
    return c->at < CHOICES ? c->bytes[c->at++] : 0;
}

static Level level_of(Str text)
{
    if (fuzz_contains(text, "rtl.module")) return LEVEL_RTL;
    if (fuzz_contains(text, "emithls.func")) return LEVEL_EMITHLS;
    if (fuzz_contains(text, "dfg.region")) return LEVEL_DFG;
    return fuzz_contains(text, "onnx.") ? LEVEL_ONNX : LEVEL_LINALG;
}

/* Those of the first line. */
static Str find_hints(Str text)
{
    static const char key[] = "// passes:";
    const char *end = memchr(text.data, '\n', text.len);
    if (!end || !str_starts_with(text, key)) return STR("");
    return (Str){text.data + sizeof key - 1, (size_t)(end - text.data) - (sizeof key - 1)};
}

/* What stands in front of the character, which is left out of the rest, too. */
static Str split_at(Str *text, char c)
{
    const char *end = memchr(text->data, c, text->len);
    Str part = {text->data, end ? (size_t)(end - text->data) : text->len};
    size_t used = end ? part.len + 1 : part.len;
    *text = (Str){text->data + used, text->len - used};
    return part;
}

/* NULL: there is none. */
static Choice choose_hinted(const Choices *c, uint8_t which)
{
    enum { MOST = 24 };
    Choice choices[MOST];
    size_t count = 0;
    for (Str left = c->hints; left.len > 0 && count < MOST;) {
        Str options = split_at(&left, '\t'), name = split_at(&options, '{');
        if (options.len > 0) options.len--; /* the brace */
        choices[count] = (Choice){pass_find(driver_all_passes(), name), options};
        if (choices[count].def) count++;
    }
    return count > 0 ? choices[which % count] : (Choice){NULL, {NULL, 0}};
}

static const PassDef *choose_of_level(const Choices *c, uint8_t which)
{
    Str names = str_from(level_passes[c->level].names), name = {NULL, 0};
    uint32_t count = 0;
    for (Str left = names; left.len > 0; count++) split_at(&left, ' ');
    for (uint32_t i = which % count + 1; i > 0; i--) name = split_at(&names, ' ');
    return pass_find(driver_all_passes(), name);
}

static Choice choose_any(Choices *c)
{
    const PassTable *all = driver_all_passes();
    uint8_t weight = choose(c) % 16, which = choose(c);
    bool has_level = c->is_design && c->level < LEVEL_RTL;
    Choice choice = {NULL, {NULL, 0}};
    if (weight < (has_level ? 4 : 10)) choice = choose_hinted(c, which);
    if (choice.def) return choice;
    if (has_level && weight < 10)
        choice.def = choose_of_level(c, which);
    else if (has_level && weight < 15)
        choice.def = pass_find(all, str_from(level_passes[c->level].lifting));
    else
        choice.def = all->passes[which % all->count];
    return choice;
}

/* Follows what the pass does to the module's level. */
static Choice choose_pass(Choices *c)
{
    Choice choice = choose_any(c);
    if (c->level < LEVEL_RTL && strcmp(choice.def->name, level_passes[c->level].lifting) == 0)
        c->level++;
    return choice;
}

static int64_t choose_number(Choices *c, const OptionDef *option)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 5, 20, 100, 1000, 100000, INT64_MAX};
    int64_t number = numbers[choose(c) % COUNT_OF(numbers)];
    if (option->min >= option->max) return number;
    return number < option->min ? option->min : number > option->max ? option->max : number;
}

/* " name=value" for one in four options; those that name files or pipelines are left alone, and
 * canonicalize's limit of rewrites, which may end it between two that belong together. The budgets of
 * FIFO sizing are small: the default is minutes with sanitizers. */
static void choose_options(Choices *c, const PassDef *def, StrBuf *out)
{
    for (const OptionDef *o = def->options; o && o->name; o++) {
        if (strcmp(o->name, "events") == 0) {
            strbuf_printf(out, " events=%d", choose(c) % 4 ? MOST_EVENTS : choose(c) + 1);
            continue;
        }
        if (choose(c) % 4 > 0 || strcmp(o->name, "max-num-rewrites") == 0) continue;
        if (o->kind == OPTION_BOOL)
            strbuf_printf(out, " %s=%s", o->name, choose(c) & 1 ? "true" : "false");
        if (o->kind == OPTION_INT || o->kind == OPTION_UINT)
            strbuf_printf(out, " %s=%lld", o->name,
                          (long long)(o->kind == OPTION_UINT ? choose(c) : choose_number(c, o)));
        if (o->kind == OPTION_STRING && o->choices) {
            size_t count = 0;
            while (o->choices[count]) count++;
            strbuf_printf(out, " %s=%s", o->name, o->choices[choose(c) % count]);
        }
    }
}

/* The op statistics are printed, and tosa-to-tensor takes over result types that a slice does not
 * have, as upstream's does. */
static bool is_left_out(const PassDef *def)
{
    return strcmp(def->name, "print-op-stats") == 0 || strcmp(def->name, "tosa-to-tensor") == 0;
}

/* A pipeline of random passes, whose text is appended; the caller frees it. NULL: a pass refuses the
 * options, which are those of a test. */
static Pipeline *make_pipeline(Context *ctx, Choices *c, StrBuf *text)
{
    Pipeline *pipeline = pipeline_create(ctx, driver_all_passes(), "builtin.module");
    StrBuf options = {0};
    for (int left = 1 + choose(c) % MOST_PASSES; left > 0; left--) {
        Choice choice = choose_pass(c);
        if (is_left_out(choice.def)) continue;
        strbuf_clear(&options);
        if (choice.options.len > 0 && choose(c) % 2)
            strbuf_add_str(&options, choice.options);
        else
            choose_options(c, choice.def, &options);
        strbuf_printf(text, "%s%s{%s}", text->len ? "," : "", choice.def->name,
                      options.len ? options.data : "");
        bool ok = pipeline_add(pipeline, choice.def, options.data);
        fuzz_check(ok || choice.options.len > 0, "the options are refused", strbuf_str(text));
        if (ok) continue;
        pipeline_free(pipeline);
        pipeline = NULL;
        break;
    }
    strbuf_free(&options);
    return pipeline;
}

/* False: a pass refuses. */
static bool run_passes(Op *module, Choices *c)
{
    StrBuf text = {0};
    Pipeline *pipeline = make_pipeline(module->ctx, c, &text);
    if (!pipeline) {
        strbuf_free(&text);
        return false;
    }
    VerifySemantics *semantics = verify_semantics_create(1);
    bool may_round = fuzz_sums_narrow_floats(module);
    const PassHooks *hooks[] = {verify_semantics_hooks(semantics), NULL};
    size_t errors = diag_error_count(module->ctx);
    bool ok = pipeline_run(pipeline, module, &(RunOptions){.verify_each = false, .hooks = hooks});
    fuzz_check(verify_semantics_ok(semantics) || fuzz_is_known_change(strbuf_str(&text)) ||
                   (may_round && strstr(fuzz_first_error().data, "differs at")),
               "semantics change", strbuf_str(&text));
    fuzz_check(ok || diag_error_count(module->ctx) > errors, "a failure without a diagnostic",
               strbuf_str(&text));
    fuzz_check(!ok || verify_op(module) || fuzz_is_known_change(strbuf_str(&text)),
               "the result does not verify", strbuf_str(&text));
    verify_semantics_free(semantics);
    pipeline_free(pipeline);
    strbuf_free(&text);
    return ok && *fuzz_first_error().data == '\0';
}

/* A network is one function, and most tests have several: leaves the one that a byte chooses, if
 * none is called. */
static void keep_one_function(Op *module, uint8_t which)
{
    uint32_t count = 0, index = 0;
    Block *body = region_entry(op_region(module, 0));
    for (const Op *op = body->first; op; op = op->next) {
        if (op->def != FUNC(FUNC)) return;
        count++;
    }
    for (Op *op = body->first, *next; op; op = next) {
        next = op->next;
        if (index++ != which % count) op_erase(op);
    }
}

/* The result's text; false: refused by the parser or a pass. */
static bool transform(FuzzContext *reused, Str text, Choices *c, StrBuf *out)
{
    Context *ctx = fuzz_context_take(reused);
    Op *module = parse_module(ctx, text, FUZZ_SOURCE, NULL);
    if (module && c->is_design && !fuzz_contains(text, "call"))
        keep_one_function(module, choose(c));
    bool ok = module && fuzz_is_small(module, MOST_ELEMENTS) && run_passes(module, c);
    if (ok) op_print(out, module, &PRINT_DEFAULT);
    if (ok && emithls_top(module)) fuzz_check_design(module);
    if (module) op_erase(module);
    fuzz_context_give_back(reused);
    return ok;
}

static void check_order(const uint8_t *data, size_t size, bool is_design)
{
    static FuzzContext first, second;
    if (size <= CHOICES) return;
    StrBuf result = {0};
    Str text = {(const char *)data + CHOICES, size - CHOICES};
    Choices choices = {
        .bytes = data, .is_design = is_design, .level = level_of(text), .hints = find_hints(text)};
    if (transform(&first, text, &choices, &result)) fuzz_check_text(&second, strbuf_str(&result));
    strbuf_free(&result);
}

void fuzz_orders(const uint8_t *data, size_t size)
{
    check_order(data, size, false);
}

void fuzz_designs(const uint8_t *data, size_t size)
{
    check_order(data, size, true);
}
