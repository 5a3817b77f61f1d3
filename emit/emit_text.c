/* Foreign text and numbers as C++ and JSON. Names and comments of a model may hold anything; what is
 * printed here cannot end the comment or string that it stands in.
 * Tests: test/unit/emit_test.c, lit/emit/hostile-names.mir */
#include "emit/emit_impl.h"

#include <math.h>

static bool is_printable(unsigned char c) { return c >= ' ' && c < 0x7f; }

/* Not ASCII: '?', since compilers warn of some characters. A backslash could join lines, as could the
 * trigraph for it. */
void add_comment_text(StrBuf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i], before = out->len ? out->data[out->len - 1] : '\0';
        if (c == '\n' || c == '\t' || c == '\r')
            c = ' ';
        else if (!is_printable((unsigned char)c) || c == '\\')
            c = '?';
        bool pair = (before == '*' && c == '/') || (before == '/' && c == '*') ||
                    (before == '?' && c == '?');
        if (pair)
            strbuf_add_char(out, ' ');
        strbuf_add_char(out, c);
    }
}

void add_string_literal(StrBuf *out, Str text)
{
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        /* ?? could begin a trigraph */
        if (c == '"' || c == '\\' || c == '?')
            strbuf_add_char(out, '\\');
        if (is_printable(c))
            strbuf_add_char(out, (char)c);
        else
            strbuf_printf(out, "\\%03o", c);
    }
    strbuf_add_char(out, '"');
}

/* Length of the UTF-8 sequence at text[at], 0 if there is none. */
static size_t utf8_length(Str text, size_t at)
{
    unsigned char first = (unsigned char)text.data[at];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 0 || first > 0xf4 || length > text.len - at)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text.data[at + i] & 0xc0) != 0x80)
            return 0;
    unsigned char second = length > 1 ? (unsigned char)text.data[at + 1] : 0;
    bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool surrogate = first == 0xed && second > 0x9f;
    bool too_large = first == 0xf4 && second > 0x8f;
    return overlong || surrogate || too_large ? 0 : length;
}

void add_json_string(StrBuf *out, Str text)
{
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.data[i];
        size_t length = utf8_length(text, i);
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            strbuf_printf(out, "\\u%04x", c);
        else if (length)
            strbuf_add(out, text.data + i, length);
        else
            strbuf_add_c(out, "\\ufffd");
        i += length ? length : 1;
    }
    strbuf_add_char(out, '"');
}

/* The shortest decimal that reads as that double. A float is widened first: unless a short decimal is
 * exactly it, it gets the digits that tell it from its neighbours. */
static void add_digits(StrBuf *out, double value, int max_digits)
{
    char text[40];
    for (int digits = 1; digits <= max_digits; digits++) {
        double back;
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (float_parse(str_from(text), &back) && back == value)
            break;
    }
    strbuf_add_c(out, text);
    for (const char *c = text; *c; c++)
        if (*c == '.' || *c == 'e')
            return;
    strbuf_add_c(out, ".0");
}

void add_float_literal(StrBuf *out, double value, bool is_f32)
{
    const char *type = is_f32 ? "float" : "double";
    if (isnan(value)) {
        strbuf_printf(out, "std::numeric_limits<%s>::quiet_NaN()", type);
    } else if (isinf(value)) {
        strbuf_printf(out, "%sstd::numeric_limits<%s>::infinity()", value < 0 ? "-" : "", type);
    } else {
        enum { F32_DIGITS = 9, F64_DIGITS = 17 };
        add_digits(out, value, is_f32 ? F32_DIGITS : F64_DIGITS);
        if (is_f32)
            strbuf_add_char(out, 'f');
    }
}

void add_extents(StrBuf *out, const int64_t *extents, size_t count, const char *separator)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            strbuf_add_c(out, separator);
        strbuf_add_int(out, extents[i]);
    }
}
