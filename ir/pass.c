/* Passes and their options: values are read once, when the pass joins a pipeline, and kept as
 * text, number and list so that accessors only look up.
 *   options = option (space+ option)*
 *   option  = name ["=" value]      value may be in quotes or braces, which nest
 * Tests: test/unit/pass_test.c */
#include "ir/pass.h"

#include <stdlib.h>
#include <string.h>

#include "ir/diag.h"
#include "ir/pass_impl.h"

typedef struct OptionValue {
    bool given;
    Str text;
    int64_t number; /* of bools too */
    const Str *items;
    const int64_t *numbers;
    size_t count;
} OptionValue;

static size_t option_count(const PassDef *def)
{
    size_t count = 0;
    while (def->options && def->options[count].name) count++;
    return count;
}

static size_t stat_count(const PassDef *def)
{
    size_t count = 0;
    while (def->stats && def->stats[count].name) count++;
    return count;
}

/* --- values ----------------------------------------------------------------------- */

static bool parse_number(Str text, int64_t *out)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    size_t at = negative;
    int64_t base = 10, value = 0;
    if (text.len > at + 2 && text.data[at] == '0' && (text.data[at + 1] | 32) == 'x') {
        base = 16;
        at += 2;
    }
    if (at == text.len) return false;
    for (; at < text.len; at++) {
        char c = text.data[at];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base || !mul_i64(value, base, &value)) return false;
        if (!add_i64(value, negative ? -digit : digit, &value)) return false;
    }
    *out = value;
    return true;
}

static bool check_number(Context *ctx, const OptionDef *def, Str text, int64_t *out,
                         const Attr *loc)
{
    if (!parse_number(text, out))
        return emit_error(ctx, loc, "for the --%s option: '%.*s' value invalid for long argument!",
                          def->name, STR_ARG(text));
    if (def->min < def->max && (*out < def->min || *out > def->max))
        return emit_error(ctx, loc, "for the --%s option: '%.*s' is not between %lld and %lld",
                          def->name, STR_ARG(text), (long long)def->min, (long long)def->max);
    return true;
}

static bool set_bool(Context *ctx, const OptionDef *def, OptionValue *value, const Attr *loc)
{
    Str text = value->text;
    bool is_true = text.len == 0 || str_eq_c(text, "true") || str_eq_c(text, "TRUE") ||
                   str_eq_c(text, "True") || str_eq_c(text, "1");
    bool is_false = str_eq_c(text, "false") || str_eq_c(text, "FALSE") ||
                    str_eq_c(text, "False") || str_eq_c(text, "0");
    if (!is_true && !is_false)
        return emit_error(ctx, loc,
                          "for the --%s option: '%.*s' is invalid value for boolean argument! Try "
                          "0 or 1",
                          def->name, STR_ARG(text));
    value->number = is_true;
    value->text = is_true ? STR("true") : STR("false");
    return true;
}

static bool set_string(Context *ctx, const OptionDef *def, OptionValue *value, const Attr *loc)
{
    if (!def->choices) return true;
    for (const char *const *choice = def->choices; *choice; choice++)
        if (str_eq_c(value->text, *choice)) return true;
    return emit_error(ctx, loc, "for the --%s option: Cannot find option named '%.*s'!", def->name,
                      STR_ARG(value->text));
}

/* What closes a delimiter; '\0' if the character opens nothing. */
static char mate_of(char c)
{
    switch (c) {
    case '{': return '}';
    case '[': return ']';
    case '(': return ')';
    case '"':
    case '\'': return c;
    default: return '\0';
    }
}

/* Position after the character at `at` and, if it opens something, after what closes that.
 * Past the end by one when that is missing. */
static size_t skip_nested(Str text, size_t at)
{
    StrBuf mates = {0}; /* a stack */
    do {
        char c = text.data[at++], top = mates.len ? mates.data[mates.len - 1] : '\0';
        bool quoted = top == '"' || top == '\'';
        if (top && c == top)
            mates.len--;
        else if (!quoted && mate_of(c))
            strbuf_add_char(&mates, mate_of(c));
    } while (mates.len && at < text.len);
    bool closed = mates.len == 0;
    strbuf_free(&mates);
    return closed ? at : text.len + 1;
}

static size_t find_comma(Str text, size_t at)
{
    while (at < text.len && text.data[at] != ',') at = skip_nested(text, at);
    return at;
}

static void split_items(Arena *arena, OptionValue *value)
{
    Str text = value->text;
    value->count = 0;
    if (text.len == 0) return;
    size_t count = 1;
    for (size_t at = find_comma(text, 0); at < text.len; at = find_comma(text, at + 1)) count++;
    Str *items = ARENA_ARRAY(arena, Str, count);
    for (size_t at = 0; value->count < count; value->count++) {
        size_t end = find_comma(text, at);
        items[value->count] = (Str){text.data + at, end - at};
        at = end + 1;
    }
    value->items = items;
}

static bool set_list(Context *ctx, Arena *arena, const OptionDef *def, OptionValue *value,
                     const Attr *loc)
{
    split_items(arena, value);
    if (def->kind != OPTION_INT_LIST) return true;
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, value->count);
    for (size_t i = 0; i < value->count; i++)
        if (!check_number(ctx, def, value->items[i], &numbers[i], loc)) return false;
    value->numbers = numbers;
    return true;
}

static bool set_value(Context *ctx, Arena *arena, const OptionDef *def, OptionValue *value,
                      const Attr *loc)
{
    switch (def->kind) {
    case OPTION_BOOL: return set_bool(ctx, def, value, loc);
    case OPTION_INT: return check_number(ctx, def, value->text, &value->number, loc);
    case OPTION_STRING: return set_string(ctx, def, value, loc);
    case OPTION_INT_LIST:
    case OPTION_STRING_LIST: return set_list(ctx, arena, def, value, loc);
    }
    return false;
}

/* --- reading --------------------------------------------------------------------------- */

/* What quotes or braces around a value enclose. */
static Str strip_delimiters(Str text)
{
    if (text.len < 2 || skip_nested(text, 0) != text.len) return text;
    bool enclosed = text.data[0] == '{' || text.data[0] == '"' || text.data[0] == '\'';
    return enclosed ? (Str){text.data + 1, text.len - 2} : text;
}

static bool set_option(Pass *pass, Arena *arena, Str name, Str text, const Attr *loc)
{
    for (size_t i = 0; i < option_count(pass->def); i++) {
        const OptionDef *def = &pass->def->options[i];
        if (!str_eq_c(name, def->name)) continue;
        text = strip_delimiters(text);
        pass->options[i] = (OptionValue){.given = true};
        pass->options[i].text = (Str){arena_copy(arena, text.data, text.len), text.len};
        return set_value(pass->ctx, arena, def, &pass->options[i], loc);
    }
    return emit_error(pass->ctx, loc, "<Pass-Options-Parser>: no such option %.*s", STR_ARG(name));
}

bool pass_parse_options(Pass *pass, Arena *arena, Str text, const Attr *loc)
{
    size_t at = 0;
    while (true) {
        while (at < text.len && is_space(text.data[at])) at++;
        if (at == text.len) return true;
        size_t begin = at;
        while (at < text.len && !is_space(text.data[at]) && text.data[at] != '=') at++;
        Str name = {text.data + begin, at - begin}, value = {text.data + at, 0};
        if (at < text.len && text.data[at] == '=') {
            begin = ++at;
            while (at < text.len && !is_space(text.data[at])) at = skip_nested(text, at);
            if (at > text.len)
                return emit_error(pass->ctx, loc, "for the --%.*s option: unbalanced delimiters in "
                                                  "its value",
                                  STR_ARG(name));
            value = (Str){text.data + begin, at - begin};
        }
        if (!set_option(pass, arena, name, value, loc)) return false;
    }
}

Pass *pass_create(Context *ctx, Arena *arena, const PassDef *def)
{
    Pass *pass = ARENA_NEW(arena, Pass);
    pass->def = def;
    pass->ctx = ctx;
    arena_init(&pass->scratch);
    pass->stats = ARENA_ARRAY(arena, uint64_t, stat_count(def));
    pass->options = ARENA_ARRAY(arena, OptionValue, option_count(def));
    for (size_t i = 0; i < option_count(def); i++) {
        const OptionDef *option = &def->options[i];
        const char *fallback = option->fallback;
        if (!fallback) {
            bool is_scalar = option->kind == OPTION_BOOL || option->kind == OPTION_INT;
            fallback = !is_scalar ? "" : option->kind == OPTION_BOOL ? "false" : "0";
        }
        pass->options[i].text = str_from(fallback);
        bool ok = set_value(ctx, arena, option, &pass->options[i], loc_unknown(ctx));
        if (!ok) panic("pass '%s': bad default of option '%s'", def->name, option->name);
    }
    return pass;
}

void pass_destroy(Pass *pass)
{
    arena_free(&pass->scratch);
}

/* --- printing ----------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const OptionDef *const *da = a, *const *db = b;
    return strcmp((*da)->name, (*db)->name);
}

static void print_text(StrBuf *out, Str text)
{
    bool has_space = false;
    for (size_t i = 0; i < text.len; i++) has_space |= is_space(text.data[i]);
    if (has_space) strbuf_add_char(out, '{');
    strbuf_add_str(out, text);
    if (has_space) strbuf_add_char(out, '}');
}

/* An empty list prints nothing but keeps its separating space, as upstream. */
static void print_value(StrBuf *out, const OptionDef *def, const OptionValue *value)
{
    bool is_list = def->kind == OPTION_INT_LIST || def->kind == OPTION_STRING_LIST;
    if (is_list && value->count == 0) return;
    strbuf_printf(out, "%s=", def->name);
    if (def->kind == OPTION_INT)
        strbuf_add_int(out, value->number);
    else
        print_text(out, value->text);
}

void pass_print_options(const Pass *pass, StrBuf *out)
{
    size_t count = option_count(pass->def);
    if (count == 0) return;
    const OptionDef **sorted = xcalloc(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++) sorted[i] = &pass->def->options[i];
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++) {
        strbuf_add_char(out, i ? ' ' : '{');
        print_value(out, sorted[i], &pass->options[sorted[i] - pass->def->options]);
    }
    strbuf_add_char(out, '}');
    free_ptr((void **)&sorted);
}

/* --- accessors ------------------------------------------------------------------------------ */

static const OptionValue *find_value(const Pass *pass, const char *name)
{
    for (size_t i = 0; i < option_count(pass->def); i++)
        if (strcmp(pass->def->options[i].name, name) == 0) return &pass->options[i];
    panic("pass '%s' has no option '%s'", pass->def->name, name);
}

bool pass_bool(const Pass *pass, const char *option)
{
    return find_value(pass, option)->number != 0;
}

int64_t pass_int(const Pass *pass, const char *option)
{
    return find_value(pass, option)->number;
}

Str pass_string(const Pass *pass, const char *option)
{
    return find_value(pass, option)->text;
}

bool pass_option_given(const Pass *pass, const char *option)
{
    return find_value(pass, option)->given;
}

const Str *pass_list(const Pass *pass, const char *option, size_t *count)
{
    const OptionValue *value = find_value(pass, option);
    *count = value->count;
    return value->items;
}

const int64_t *pass_int_list(const Pass *pass, const char *option, size_t *count)
{
    const OptionValue *value = find_value(pass, option);
    *count = value->count;
    return value->numbers;
}

void pass_count(Pass *pass, const char *stat, uint64_t amount)
{
    for (size_t i = 0; i < stat_count(pass->def); i++) {
        if (strcmp(pass->def->stats[i].name, stat) != 0) continue;
        pass->stats[i] += amount;
        return;
    }
    panic("pass '%s' has no statistic '%s'", pass->def->name, stat);
}

const PassDef *pass_find(const PassTable *table, Str name)
{
    for (size_t i = 0; i < table->count; i++)
        if (str_eq_c(name, table->passes[i]->name)) return table->passes[i];
    return NULL;
}
