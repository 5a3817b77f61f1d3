/* Passes and their options. Option values are read once, when the pass joins a pipeline, and are
 * kept as text, number and list, so that accessors only look them up.
 *   options = option (space+ option)*
 *   option  = name ["=" value]      value may be in quotes or braces, which nest
 * Tests: test/unit/ir/pass/pass_test.c */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pass/internal.h"
#include "ir/pass/pass.h"

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

static bool option_is_list(const OptionDef *def)
{
    return def->kind == OPTION_INT_LIST || def->kind == OPTION_STRING_LIST ||
           def->kind == OPTION_PIPELINE_LIST;
}

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
        if (digit >= base || !i64_mul(value, base, &value)) return false;
        if (!i64_add(value, negative ? -digit : digit, &value)) return false;
    }
    *out = value;
    return true;
}

/* The context in which option values are read. */
typedef struct OptionReader {
    const Pass *pass;
    Arena *arena;
    StrBuf *error; /* why a value is wrong */
} OptionReader;

static bool option_error(const OptionReader *r, const OptionDef *def, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static bool option_error(const OptionReader *r, const OptionDef *def, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_printf(r->error, "for the --%s option: ", def->name);
    strbuf_vprintf(r->error, fmt, args);
    va_end(args);
    return false;
}

static bool set_number(const OptionReader *r, const OptionDef *def, Str text, int64_t *out)
{
    bool is_uint = def->kind == OPTION_UINT;
    if (!parse_number(text, out) || (is_uint && (*out < 0 || *out > UINT32_MAX)))
        return option_error(r, def, "'%.*s' value invalid for %s argument!", STR_ARG(text),
                            is_uint ? "uint" : "long");
    if (def->min < def->max && (*out < def->min || *out > def->max))
        return option_error(r, def, "'%.*s' is not between %lld and %lld", STR_ARG(text),
                            (long long)def->min, (long long)def->max);
    return true;
}

static bool set_bool(const OptionReader *r, const OptionDef *def, OptionValue *value)
{
    Str text = value->text;
    bool is_true = text.len == 0 || str_eq_c(text, "true") || str_eq_c(text, "TRUE") ||
                   str_eq_c(text, "True") || str_eq_c(text, "1");
    bool is_false = str_eq_c(text, "false") || str_eq_c(text, "FALSE") || str_eq_c(text, "False") ||
                    str_eq_c(text, "0");
    if (!is_true && !is_false)
        return option_error(r, def, "'%.*s' is invalid value for boolean argument! Try 0 or 1",
                            STR_ARG(text));
    value->number = is_true;
    value->text = is_true ? STR("true") : STR("false");
    return true;
}

static bool set_string(const OptionReader *r, const OptionDef *def, OptionValue *value)
{
    if (!def->choices) return true;
    for (const char *const *choice = def->choices; *choice; choice++)
        if (str_eq_c(value->text, *choice)) return true;
    return option_error(r, def, "Cannot find option named '%.*s'!", STR_ARG(value->text));
}

/* The character that closes a delimiter; '\0' if the character opens nothing. */
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

static bool set_numbers(const OptionReader *r, const OptionDef *def, OptionValue *value)
{
    int64_t *numbers = ARENA_ARRAY(r->arena, int64_t, value->count);
    for (size_t i = 0; i < value->count; i++)
        if (!set_number(r, def, value->items[i], &numbers[i])) return false;
    value->numbers = numbers;
    return true;
}

/* Each item becomes what its pipeline prints as. */
static bool set_pipelines(const OptionReader *r, OptionValue *value)
{
    Str *items = ARENA_ARRAY(r->arena, Str, value->count);
    for (size_t i = 0; i < value->count; i++) {
        const Pass *pass = r->pass;
        Pipeline *pipeline =
            pipeline_parse_whole(pass->ctx, pass->table, value->items[i], r->error);
        if (!pipeline) return false;
        StrBuf text = {0};
        pipeline_print(pipeline, &text);
        items[i] = (Str){arena_copy(r->arena, text.data, text.len), text.len};
        strbuf_free(&text);
        pipeline_free(pipeline);
    }
    value->items = items;
    return true;
}

static bool set_value(const OptionReader *r, const OptionDef *def, OptionValue *value)
{
    if (option_is_list(def)) split_items(r->arena, value);
    switch (def->kind) {
    case OPTION_BOOL: return set_bool(r, def, value);
    case OPTION_INT:
    case OPTION_UINT: return set_number(r, def, value->text, &value->number);
    case OPTION_STRING: return set_string(r, def, value);
    case OPTION_INT_LIST: return set_numbers(r, def, value);
    case OPTION_PIPELINE_LIST: return set_pipelines(r, value);
    case OPTION_STRING_LIST: return true;
    }
    return false;
}

/* The text inside of the quotes or braces around a value. */
static Str strip_delimiters(Str text)
{
    if (text.len < 2 || skip_nested(text, 0) != text.len) return text;
    bool enclosed = text.data[0] == '{' || text.data[0] == '"' || text.data[0] == '\'';
    return enclosed ? (Str){text.data + 1, text.len - 2} : text;
}

/* Values are printed as they are, so what they hold must not end them early. */
static bool is_printable(const OptionReader *r, const OptionDef *def, Str text)
{
    size_t at = 0;
    if (def->kind == OPTION_PIPELINE_LIST) return true; /* printed anew */
    while (at < text.len && text.data[at] != '"' && text.data[at] != '\'' && text.data[at] != '}')
        at = skip_nested(text, at);
    if (at == text.len) return true;
    return option_error(r, def, "quotes or unbalanced delimiters inside the value '%.*s'",
                        STR_ARG(text));
}

static bool set_option(const OptionReader *r, Str name, Str text)
{
    const Pass *pass = r->pass;
    for (size_t i = 0; i < option_count(pass->def); i++) {
        const OptionDef *def = &pass->def->options[i];
        if (!str_eq_c(name, def->name)) continue;
        text = strip_delimiters(text);
        if (!is_printable(r, def, text)) return false;
        pass->options[i] = (OptionValue){.given = true};
        pass->options[i].text = (Str){arena_copy(r->arena, text.data, text.len), text.len};
        return set_value(r, def, &pass->options[i]);
    }
    strbuf_printf(r->error, "<Pass-Options-Parser>: no such option %.*s\n", STR_ARG(name));
    return false;
}

bool pass_parse_options(Pass *pass, Arena *arena, Str text, StrBuf *error)
{
    const OptionReader reader = {pass, arena, error};
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
            if (at > text.len) {
                strbuf_printf(error, "for the --%.*s option: unbalanced delimiters in its value",
                              STR_ARG(name));
                return false;
            }
            value = (Str){text.data + begin, at - begin};
        }
        if (!set_option(&reader, name, value)) return false;
    }
}

static const char *default_text(const OptionDef *def)
{
    if (def->fallback) return def->fallback;
    if (def->kind == OPTION_BOOL) return "false";
    return def->kind == OPTION_INT || def->kind == OPTION_UINT ? "0" : "";
}

Pass *pass_create(const Pipeline *owner, const PassDef *def)
{
    Pass *pass = ARENA_NEW(owner->arena, Pass);
    pass->def = def;
    pass->ctx = owner->ctx;
    pass->table = owner->table;
    arena_init(&pass->scratch);
    pass->stats = ARENA_ARRAY(owner->arena, uint64_t, stat_count(def));
    pass->options = ARENA_ARRAY(owner->arena, OptionValue, option_count(def));
    StrBuf error = {0};
    const OptionReader reader = {pass, owner->arena, &error};
    for (size_t i = 0; i < option_count(def); i++) {
        pass->options[i].text = str_from(default_text(&def->options[i]));
        if (!set_value(&reader, &def->options[i], &pass->options[i]))
            panic("pass '%s': bad default of option '%s'", def->name, def->options[i].name);
    }
    return pass;
}

void pass_destroy(Pass *pass)
{
    arena_free(&pass->scratch);
}

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

static void print_items(StrBuf *out, const OptionValue *value)
{
    for (size_t i = 0; i < value->count; i++) {
        if (i > 0) strbuf_add_char(out, ',');
        strbuf_add_str(out, value->items[i]);
    }
}

/* An empty list prints nothing but keeps its separating space, as upstream. */
static void print_value(StrBuf *out, const OptionDef *def, const OptionValue *value)
{
    if (option_is_list(def) && value->count == 0) return;
    strbuf_printf(out, "%s=", def->name);
    if (def->kind == OPTION_INT || def->kind == OPTION_UINT)
        strbuf_add_int(out, value->number);
    else if (def->kind == OPTION_PIPELINE_LIST)
        print_items(out, value);
    else
        print_text(out, value->text);
}

/* Options are sorted by name; a pass without any prints no braces. */
void pass_print(const Pass *pass, StrBuf *out)
{
    strbuf_add_c(out, pass->def->name);
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

const char *pass_title(const Pass *pass)
{
    return pass->def->title ? pass->def->title : pass->def->name;
}
