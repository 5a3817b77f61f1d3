/* Foreign text and numbers as C++. Names and comments of a model may hold anything; the text that
 * is printed here cannot end the comment or string that it stands in.
 * Tests: test/unit/emit/emit_test.c, lit/emit/hostile-names.mir */
#include <math.h>

#include "emit/internal.h"

static bool is_printable(unsigned char c)
{
    return c >= ' ' && c < 0x7f;
}

/* Not ASCII: '?', since compilers warn of some characters. A backslash could join lines, as could
 * the trigraph for it. */
void emit_comment_text(StrBuf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i], before = out->len ? out->data[out->len - 1] : '\0';
        if (c == '\n' || c == '\t' || c == '\r')
            c = ' ';
        else if (!is_printable((unsigned char)c) || c == '\\')
            c = '?';
        bool pair = (before == '*' && c == '/') || (before == '/' && c == '*') ||
                    (before == '?' && c == '?');
        if (pair) strbuf_add_char(out, ' ');
        strbuf_add_char(out, c);
    }
}

void emit_string_literal(StrBuf *out, Str text)
{
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        /* ?? could begin a trigraph */
        if (c == '"' || c == '\\' || c == '?') strbuf_add_char(out, '\\');
        if (is_printable(c))
            strbuf_add_char(out, (char)c);
        else
            strbuf_printf(out, "\\%03o", c);
    }
    strbuf_add_char(out, '"');
}

/* The shortest decimal that reads as that double. A float is widened first: unless a short decimal
 * is exactly it, it gets the digits that tell it from its neighbours. */
static void add_digits(StrBuf *out, double value, int max_digits)
{
    char text[40];
    for (int digits = 1; digits <= max_digits; digits++) {
        double back;
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (float_parse(str_from(text), &back) && back == value) break;
    }
    strbuf_add_c(out, text);
    for (const char *c = text; *c; c++)
        if (*c == '.' || *c == 'e') return;
    strbuf_add_c(out, ".0");
}

uint32_t emit_float_literal(StrBuf *out, double value, bool is_f32)
{
    const char *type = is_f32 ? "float" : "double";
    if (isnan(value)) {
        strbuf_printf(out, "std::numeric_limits<%s>::quiet_NaN()", type);
    } else if (isinf(value)) {
        strbuf_printf(out, "%sstd::numeric_limits<%s>::infinity()", value < 0 ? "-" : "", type);
    } else {
        enum { F32_DIGITS = 9, F64_DIGITS = 17 };
        add_digits(out, value, is_f32 ? F32_DIGITS : F64_DIGITS);
        if (is_f32) strbuf_add_char(out, 'f');
    }
    return isfinite(value) ? 0 : EMIT_NEEDS_LIMITS;
}

void emit_extents(StrBuf *out, const int64_t *extents, size_t count, const char *separator)
{
    for (size_t i = 0; i < count; i++) {
        if (i) strbuf_add_c(out, separator);
        strbuf_add_int(out, extents[i]);
    }
}
