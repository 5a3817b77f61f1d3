/* What charts have in common: text that is safe in XML, numbers and ticks of axes.
 * Tests: test/unit/ir/support/svg_test.c */
#include "ir/support/support.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Whether XML 1.0 has a character: no control characters, no U+FFFE and U+FFFF. */
static bool is_xml(Str text, size_t at, size_t length)
{
    const char *c = text.data + at;
    if (length == 1) return (unsigned char)*c >= ' ' && *c != 0x7f;
    return length != 3 || memcmp(c, "\xef\xbf", 2) != 0 || (unsigned char)c[2] < 0xbe;
}

void svg_add_text(StrBuf *out, Str text)
{
    for (size_t i = 0; i < text.len;) {
        char c = text.data[i];
        size_t length = str_utf8_length(text, i);
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            strbuf_printf(out, "&#%d;", c);
        else if (length > 0 && is_xml(text, i, length))
            strbuf_add(out, text.data + i, length);
        else
            strbuf_add_c(out, replacement);
        i += length ? length : 1;
    }
}

/* Place behind so many characters; a byte that is no UTF-8 is one. */
static size_t skip_characters(Str text, size_t count)
{
    size_t at = 0;
    for (; count > 0 && at < text.len; count--) {
        size_t length = str_utf8_length(text, at);
        at += length ? length : 1;
    }
    return at;
}

size_t svg_text_length(Str text, size_t most)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < most; count++)
        at += skip_characters((Str){text.data + at, text.len - at}, 1);
    return count;
}

void svg_add_short_text(StrBuf *out, Str text, size_t most)
{
    size_t count = svg_text_length(text, SIZE_MAX), tail = (most - 1) / 2;
    if (count <= most) {
        svg_add_text(out, text);
        return;
    }
    size_t head = skip_characters(text, most - 1 - tail),
           rest = skip_characters(text, count - tail);
    svg_add_text(out, (Str){text.data, head});
    strbuf_add_c(out, "\xe2\x80\xa6"); /* an ellipsis */
    svg_add_text(out, (Str){text.data + rest, text.len - rest});
}

void svg_add_scaled(StrBuf *out, double value)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t unit = 0;
    while (value >= 1000.0 && unit + 1 < COUNT_OF(units)) {
        value /= 1000.0;
        unit++;
    }
    strbuf_printf(out, "%.4g%s", value, units[unit]);
}

int64_t svg_tick_step(int64_t range, int64_t most)
{
    static const int64_t factors[] = {1, 2, 5};
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10)
        for (size_t i = 0; i < COUNT_OF(factors); i++)
            if (range / (factors[i] * power) < most) return factors[i] * power;
    return INT64_MAX;
}
