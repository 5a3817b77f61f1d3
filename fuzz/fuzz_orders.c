/* Fuzz targets for passes in random order. The first CHOICES bytes of an input choose one to six
 * passes and their options, the rest is a module. It verifies after each pass, functions that can be
 * run keep their results (--verify-semantics), a pass that refuses has a diagnostic, the text that
 * comes out is read again as the same, and a module of the emithls level is emitted and simulated.
 * A module that begins with "// passes: NAME NAME" gets mostly these, as far as there are such.
 *
 *   fuzz_orders    any passes
 *   fuzz_designs   mostly those of the levels dfg and emithls */
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "ir/pass/pass.h"
#include "ir/verify/verify.h"
#include "sim/interp/interp.h"

enum { CHOICES = 48, MOST_PASSES = 6, MOST_ELEMENTS = 1 << 12, MOST_EVENTS = 1 << 18 };

static const char *const design_passes[] = {
    "add-memory-ports", "apply-folding",   "choose-unroll",   "convert-dfg-to-emithls",
    "fit-fifos",        "load-weights",    "insert-reorders", "convert-linalg-to-dfg",
    "name-layers",      "pin-fifos",       "schedule-hls",    "size-fifos",
    "split-results",    "stream-initials", "canonicalize",    "cse",
};

/* The bytes that choose, one after the other; zeros behind them. */
typedef struct Choices {
    const uint8_t *bytes;
    size_t at;
    bool is_design; /* prefers design_passes */
    Str hints;      /* names of passes between blanks, preferred too */
} Choices;

static uint8_t choose(Choices *c)
{
    return c->at < CHOICES ? c->bytes[c->at++] : 0;
}

static Str next_word(Str *text)
{
    size_t begin = 0, end;
    while (begin < text->len && text->data[begin] == ' ') begin++;
    for (end = begin; end < text->len && text->data[end] != ' ';) end++;
    Str word = {text->data + begin, end - begin};
    *text = (Str){text->data + end, text->len - end};
    return word;
}

/* Those of the first line. */
static Str find_hints(Str text)
{
    static const char key[] = "// passes:";
    const char *end = memchr(text.data, '\n', text.len);
    if (!end || !str_starts_with(text, key)) return STR("");
    return (Str){text.data + sizeof key - 1, (size_t)(end - text.data) - (sizeof key - 1)};
}

/* NULL: there is none. */
static const PassDef *choose_hinted(const Choices *c, uint8_t which)
{
    enum { MOST = 16 };
    const PassDef *passes[MOST];
    size_t count = 0;
    Str left = c->hints;
    for (Str word = next_word(&left); word.len > 0 && count < MOST; word = next_word(&left))
        if ((passes[count] = pass_find(driver_all_passes(), word))) count++;
    return count > 0 ? passes[which % count] : NULL;
}

static const PassDef *choose_pass(Choices *c)
{
    const PassTable *all = driver_all_passes();
    uint8_t weight = choose(c), which = choose(c);
    const PassDef *hinted = weight % 16 < 10 ? choose_hinted(c, which) : NULL;
    if (hinted) return hinted;
    if (c->is_design && weight % 8 > 0)
        return pass_find(all, str_from(design_passes[which % COUNT_OF(design_passes)]));
    return all->passes[which % all->count];
}

static int64_t choose_number(Choices *c, const OptionDef *option)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 5, 20, 100, 1000, 100000, INT64_MAX};
    int64_t number = numbers[choose(c) % COUNT_OF(numbers)];
    if (option->min >= option->max) return number;
    return number < option->min ? option->min : number > option->max ? option->max : number;
}

/* " name=value" for one in four options; those that name files or pipelines are left alone. The
 * budgets of FIFO sizing are small: the default is minutes with sanitizers. */
static void choose_options(Choices *c, const PassDef *def, StrBuf *out)
{
    for (const OptionDef *o = def->options; o && o->name; o++) {
        if (strcmp(o->name, "events") == 0) {
            strbuf_printf(out, " events=%d", choose(c) % 4 ? MOST_EVENTS : choose(c) + 1);
            continue;
        }
        if (choose(c) % 4 > 0) continue;
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

/* A pipeline of random passes, whose text is appended; the caller frees it. */
static Pipeline *make_pipeline(Context *ctx, Choices *c, StrBuf *text)
{
    Pipeline *pipeline = pipeline_create(ctx, driver_all_passes(), "builtin.module");
    StrBuf options = {0};
    for (int left = 1 + choose(c) % MOST_PASSES; left > 0; left--) {
        const PassDef *def = choose_pass(c);
        if (is_left_out(def)) continue;
        strbuf_clear(&options);
        choose_options(c, def, &options);
        strbuf_printf(text, "%s%s{%s}", text->len ? "," : "", def->name,
                      options.len ? options.data : "");
        fuzz_check(pipeline_add(pipeline, def, options.data), "the options are refused",
                   strbuf_str(text));
    }
    strbuf_free(&options);
    return pipeline;
}

static bool is_narrow_float(const Type *type)
{
    const Type *elem = type_is_shaped(type) ? type_elem(type) : type;
    return type_is_float(elem) && type_width(elem) < 32;
}

static bool has_no_narrow_floats(Op *op, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_narrow_float(op_operand(op, i)->type)) return false;
    return true;
}

/* Sums of floats of fewer than 32 bits are rounded elsewhere in linalg, by more than a step. */
static bool is_known_rounding(Op *module)
{
    return strstr(fuzz_first_error().data, "differs at") &&
           !op_walk(module, has_no_narrow_floats, NULL);
}

/* False: a pass refuses. */
static bool run_passes(Op *module, Choices *c)
{
    StrBuf text = {0};
    Pipeline *pipeline = make_pipeline(module->ctx, c, &text);
    VerifySemantics *semantics = verify_semantics_create(1);
    const PassHooks *hooks[] = {verify_semantics_hooks(semantics), NULL};
    size_t errors = diag_error_count(module->ctx);
    bool ok = pipeline_run(pipeline, module, &(RunOptions){.verify_each = false, .hooks = hooks});
    fuzz_check(verify_semantics_ok(semantics) || fuzz_is_known_change() ||
                   is_known_rounding(module),
               "semantics change", strbuf_str(&text));
    fuzz_check(ok || diag_error_count(module->ctx) > errors, "a failure without a diagnostic",
               strbuf_str(&text));
    fuzz_check(!ok || verify_op(module) || fuzz_is_known_change(), "the result does not verify",
               strbuf_str(&text));
    verify_semantics_free(semantics);
    pipeline_free(pipeline);
    strbuf_free(&text);
    return ok && *fuzz_first_error().data == '\0';
}

/* The result's text; false: refused by the parser or a pass. */
static bool transform(FuzzContext *reused, Str text, Choices *c, StrBuf *out)
{
    Context *ctx = fuzz_context_take(reused);
    Op *module = parse_module(ctx, text, FUZZ_SOURCE, NULL);
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
    Choices choices = {.bytes = data, .is_design = is_design, .hints = find_hints(text)};
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
