/* Other element types for a module: one or two of the types in its text become others, everywhere or
 * in shapes only, so that the module often verifies still. */
#include <ctype.h>
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "fuzz/mutate.h"

enum { MOST_TYPES = 16, MOST_FUNCTIONS = 64 };

static const char *const integers[] = {"i1",  "i2",  "i3",  "i4",   "i5",   "i7",   "i8",  "i9",
                                       "i16", "i24", "i32", "i33",  "i48",  "i63",  "i64", "i65",
                                       "ui1", "ui4", "ui8", "ui16", "ui32", "ui64", "si8", "index"};
static const char *const floats[] = {"f16",      "bf16",       "f32",         "f64",      "tf32",
                                     "f8E5M2",   "f8E4M3FN",   "f8E8M0FNU",   "f4E2M1FN", "f80",
                                     "f6E3M2FN", "f8E4M3FNUZ", "complex<f32>"};

typedef struct Change {
    Str from;
    const char *to;
} Change;

typedef struct Changes {
    Change items[2];
    size_t count;
    bool in_shapes; /* only behind a dimension or a bracket */
} Changes;

static size_t below(uint64_t *state, size_t limit)
{
    return (size_t)(fuzz_random(state) % limit);
}

static bool is_integer_name(Str word)
{
    size_t at = word.len > 0 && (word.data[0] == 's' || word.data[0] == 'u');
    if (at + 2 > word.len || word.data[at] != 'i') return false;
    for (at++; at < word.len; at++)
        if (!isdigit((unsigned char)word.data[at])) return false;
    return true;
}

static bool is_float_name(Str word)
{
    for (size_t i = 0; i < COUNT_OF(floats); i++)
        if (str_eq(word, str_from(floats[i]))) return true;
    return false;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || memchr("_.$-%#@!^", c, 9);
}

/* Whether a type may begin there: behind an extent, or not inside a name. */
static bool may_begin(Str text, size_t at)
{
    if (at == 0 || !is_name_char(text.data[at - 1])) return true;
    if (text.data[at - 1] != 'x' || at < 2) return false;
    char extent = text.data[at - 2];
    return isdigit((unsigned char)extent) || extent == '?' || extent == '*' || extent == ']';
}

/* The type's name that begins there; empty: none does. */
static Str type_at(Str text, size_t at)
{
    size_t end = at;
    if (!may_begin(text, at)) return STR("");
    while (end < text.len && isalnum((unsigned char)text.data[end])) end++;
    Str word = {text.data + at, end - at};
    if (end < text.len && is_name_char(text.data[end]) && text.data[end] != '-') return STR("");
    return is_integer_name(word) || is_float_name(word) ? word : STR("");
}

/* Behind the string that begins there, or the place itself. */
static size_t skip_string(Str text, size_t at)
{
    if (text.data[at] != '"') return at;
    for (at++; at < text.len && text.data[at] != '"'; at++)
        if (text.data[at] == '\\') at++;
    return at < text.len ? at + 1 : text.len;
}

static size_t find_types(Str text, Str *types)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < MOST_TYPES;) {
        size_t behind = skip_string(text, at), known = 0;
        Str type = behind == at ? type_at(text, at) : STR("");
        while (known < count && !str_eq(types[known], type)) known++;
        if (type.len > 0 && known == count) types[count++] = type;
        at = behind > at ? behind : at + (type.len > 0 ? type.len : 1);
    }
    return count;
}

/* As a rule an integer for an integer, a float for a float. */
static const char *other_type(Str type, uint64_t *state)
{
    bool is_integer = is_integer_name(type) != (fuzz_random(state) % 8 == 0);
    return is_integer ? integers[below(state, COUNT_OF(integers))]
                      : floats[below(state, COUNT_OF(floats))];
}

static bool choose_changes(Str text, uint64_t *state, Changes *out)
{
    Str types[MOST_TYPES];
    size_t count = find_types(text, types);
    if (count == 0) return false;
    *out = (Changes){.count = 1 + below(state, 2), .in_shapes = fuzz_random(state) % 3 == 0};
    for (size_t i = 0; i < out->count; i++) {
        out->items[i].from = types[below(state, count)];
        out->items[i].to = other_type(out->items[i].from, state);
    }
    return true;
}

static Str substitute(const Changes *changes, Str type, bool is_element)
{
    if (changes->in_shapes && !is_element) return type;
    for (size_t i = 0; i < changes->count; i++)
        if (str_eq(type, changes->items[i].from)) return str_from(changes->items[i].to);
    return type;
}

static void print_changed(Str text, const Changes *changes, StrBuf *out)
{
    for (size_t at = 0; at < text.len;) {
        size_t behind = skip_string(text, at);
        Str type = behind == at ? type_at(text, at) : STR("");
        bool is_element = at > 0 && (text.data[at - 1] == 'x' || text.data[at - 1] == '<');
        if (behind == at) behind += type.len > 0 ? type.len : 1;
        if (type.len > 0)
            strbuf_add_str(out, substitute(changes, type, is_element));
        else
            strbuf_add(out, text.data + at, behind - at);
        at = behind;
    }
}

/* Where the functions of the module begin that stand at the beginning of a line. */
static size_t find_functions(Str text, size_t *begins)
{
    static const char key[] = "\nfunc.func ";
    size_t count = 0;
    for (size_t at = 0; at + sizeof key <= text.len && count < MOST_FUNCTIONS; at++)
        if (memcmp(text.data + at, key, sizeof key - 1) == 0) begins[count++] = at + 1;
    return count;
}

/* Appends the module with one of its functions, as a rule, since each of several may be refused. */
static void keep_function(Str text, uint64_t *state, StrBuf *out)
{
    StrBuf lines = {0};
    size_t begins[MOST_FUNCTIONS];
    strbuf_add_char(&lines, '\n');
    strbuf_add_str(&lines, text);
    Str all = strbuf_str(&lines);
    size_t count = find_functions(all, begins);
    if (count < 2 || fuzz_random(state) % 4 == 0) {
        strbuf_add_str(out, text);
    } else {
        size_t chosen = below(state, count);
        size_t end = chosen + 1 < count ? begins[chosen + 1] : all.len;
        strbuf_add(out, all.data + 1, begins[0] - 1);
        strbuf_add(out, all.data + begins[chosen], end - begins[chosen]);
    }
    strbuf_free(&lines);
}

void fuzz_mutate_types(Str text, uint64_t *state, StrBuf *out)
{
    StrBuf kept = {0};
    Changes changes;
    keep_function(text, state, &kept);
    if (choose_changes(strbuf_str(&kept), state, &changes))
        print_changed(strbuf_str(&kept), &changes, out);
    else
        strbuf_add_str(out, strbuf_str(&kept));
    strbuf_free(&kept);
}
