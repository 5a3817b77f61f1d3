/* Rows of options, and how a text becomes a value.
 * Tests: lit/tools/command-line.mir */
#include <string.h>

#include "options/internal.h"

bool flags_wrong(StrBuf *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(why, fmt, args);
    va_end(args);
    return false;
}

void flags_add(Flags *flags, const Flag *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) *vec_push(flags) = rows[i];
}

const Flag *flag_find(const Flag *flags, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_c(name, flags[i].name)) return &flags[i];
    return NULL;
}

bool flag_needs_value(const Flag *flag)
{
    return flag->kind != FLAG_SWITCH && flag->kind != FLAG_OPTIONAL_TEXT &&
           flag->kind != FLAG_OPTIONAL_INT;
}

static bool parse_switch(const char *text, bool *out)
{
    bool yes = !text || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    bool no = text && (strcmp(text, "false") == 0 || strcmp(text, "0") == 0);
    if (yes || no) *out = yes;
    return yes || no;
}

static bool parse_whole(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    if (negative) text++;
    if (*text == '\0') return false;
    int64_t value = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        if (!i64_mul(value, 10, &value) || !i64_add(value, *text - '0', &value)) return false;
    }
    *out = negative ? -value : value;
    return true;
}

/* Items are separated by commas, but for those behind a backslash, which goes. */
static void add_items(Texts *list, char *text)
{
    for (bool more = true; more;) {
        char *to = text, *from = text;
        while (*from && *from != ',') {
            if (from[0] == '\\' && from[1] == ',') from++;
            *to++ = *from++;
        }
        more = *from == ',';
        *to = '\0';
        *vec_push(list) = text;
        text = from + 1;
    }
}

/* Whether the text is one of those in "a|b|c". */
static bool is_choice(const char *choices, const char *text, const char **out)
{
    size_t len = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|'), at += at != NULL) {
        if (strncmp(at, text, len) != 0 || (at[len] != '|' && at[len] != '\0')) continue;
        *out = text;
        return true;
    }
    return false;
}

static bool choice_error(const Flag *flag, const char *value, StrBuf *why)
{
    strbuf_printf(why, "Cannot find option named '%s'! It takes %s", value,
                  strchr(flag->value, '|') ? "one of " : "");
    for (const char *c = flag->value; *c; c++) {
        if (*c == '|')
            strbuf_add_c(why, ", ");
        else
            strbuf_add_char(why, *c);
    }
    return false;
}

static bool set_whole(const Flag *flag, const char *value, StrBuf *why)
{
    bool has_word = strlen(flag->value) > 1;
    if (parse_whole(value, flag->target)) return true;
    return flags_wrong(why, "'%s' value invalid for long argument! It takes a whole number%s%s",
                       value, has_word ? " of " : "", has_word ? flag->value : "");
}

static bool set_unsigned(const Flag *flag, const char *value, StrBuf *why)
{
    int64_t *target = flag->target;
    if (parse_whole(value, target) && *target >= 0 && *target <= UINT32_MAX) return true;
    return flags_wrong(why, "'%s' value invalid for uint argument!", value);
}

static bool has_empty_item(const char *list)
{
    size_t length = 0;
    for (const char *c = list; *c; c++) {
        if (*c == ',' && length == 0) return true;
        bool is_escaped = c[0] == '\\' && c[1] == ',';
        length = *c == ',' ? 0 : length + 1;
        c += is_escaped;
    }
    return length == 0;
}

/* Whether a list of texts, or a text that is a name of something, has an empty one. */
static bool has_empty_text(const Flag *flag, const char *value)
{
    bool is_name = flag->kind == FLAG_OPTIONAL_TEXT ||
                   (flag->kind == FLAG_TEXT && strcmp(flag->value, "text") != 0);
    if (!value) return false;
    return flag->kind == FLAG_TEXTS ? has_empty_item(value) : is_name && !*value;
}

bool flag_set(const Flag *flag, char *value, StrBuf *why)
{
    if (!value && flag_needs_value(flag)) return flags_wrong(why, "requires a value!");
    if (has_empty_text(flag, value))
        return flags_wrong(why, "'%s' is empty or has an empty item! It takes %s", value,
                           flag->value);
    switch (flag->kind) {
    case FLAG_SWITCH:
        if (parse_switch(value, flag->target)) return true;
        return flags_wrong(why, "'%s' is invalid value for boolean argument! Try 0 or 1", value);
    case FLAG_OPTIONAL_INT:
    case FLAG_INT: return set_whole(flag, value ? value : flag->fallback, why);
    case FLAG_UINT: return set_unsigned(flag, value, why);
    case FLAG_CHOICE:
        return is_choice(flag->value, value, flag->target) || choice_error(flag, value, why);
    case FLAG_TEXT: *(const char **)flag->target = value; return true;
    case FLAG_OPTIONAL_TEXT:
        *(const char **)flag->target = value ? value : flag->fallback;
        return true;
    case FLAG_TEXTS: add_items(flag->target, value); return true;
    }
    return false;
}
