/* Text of the page. What comes from a model or a file goes through html_add_text.
 * Tests: test/e2e/report_check.py (hostile names) */
#include <math.h>
#include <string.h>

#include "report/internal.h"

/* Nothing is loaded and nothing runs; the one style is the page's own. */
#define POLICY "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

/* The code point of a character that turns the direction of writing; 0: it does not. They are
 * U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069. */
static unsigned direction_at(Str text, size_t at)
{
    const unsigned char *c = (const unsigned char *)text.data + at;
    size_t left = text.len - at;
    if (left >= 2 && c[0] == 0xd8 && c[1] == 0x9c) return 0x61c;
    if (left < 3 || c[0] != 0xe2) return 0;
    unsigned code = 0x2000 | (c[1] & 0x3fU) << 6 | (c[2] & 0x3fU);
    bool turns = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                 (code >= 0x2066 && code <= 0x2069);
    return turns ? code : 0;
}

/* The text with those characters spelled out. */
static void spell_directions(StrBuf *out, Str text)
{
    for (size_t i = 0; i < text.len;) {
        size_t length = str_utf8_length(text, i);
        unsigned code = length > 1 ? direction_at(text, i) : 0;
        length = length > 0 ? length : 1;
        if (code)
            strbuf_printf(out, "[U+%04X]", code);
        else
            strbuf_add(out, text.data + i, length);
        i += length;
    }
}

void html_add_text(StrBuf *out, Str text)
{
    StrBuf plain = {0};
    spell_directions(&plain, text);
    svg_add_text(out, strbuf_str(&plain));
    strbuf_free(&plain);
}

void html_add_short(StrBuf *out, Str text, size_t most)
{
    StrBuf plain = {0};
    spell_directions(&plain, text);
    svg_add_short_text(out, strbuf_str(&plain), most);
    strbuf_free(&plain);
}

void html_add_name(StrBuf *out, Str name)
{
    strbuf_add_c(out, "<bdi>");
    html_add_text(out, name);
    strbuf_add_c(out, "</bdi>");
}

void html_add_count(StrBuf *out, int64_t value)
{
    char digits[24];
    if (value < 0) {
        strbuf_add_c(out, "\xe2\x80\x93");
        return;
    }
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) strbuf_add_char(out, ',');
        strbuf_add_char(out, digits[i]);
    }
}

void html_add_real(StrBuf *out, double value)
{
    if (value >= 1000)
        html_add_count(out, llround(value));
    else
        strbuf_printf(out, value >= 100 ? "%.4g" : "%.3g", value);
}

void html_add_cell(StrBuf *out, int64_t value)
{
    strbuf_add_c(out, "<td class=\"n\">");
    html_add_count(out, value);
    strbuf_add_c(out, "</td>");
}

void html_add_percent(StrBuf *out, int64_t part, int64_t whole)
{
    if (whole > 0 && part >= 0)
        strbuf_printf(out, "%.1f\xc2\xa0%%", 100.0 * (double)part / (double)whole);
}

void html_add_time(StrBuf *out, double cycles, int64_t clock_mhz)
{
    static const struct {
        double least, unit;
        const char *name;
    } units[] = {{1e6, 1e6, "s"}, {1e3, 1e3, "ms"}, {1, 1, "\xc2\xb5s"}, {0, 1e-3, "ns"}};
    double us = clock_mhz > 0 ? cycles / (double)clock_mhz : 0;
    size_t i = 0;
    while (us < units[i].least) i++;
    strbuf_printf(out, "%.4g\xc2\xa0%s", us / units[i].unit, us > 0 ? units[i].name : "s");
}

void html_begin_page(StrBuf *out, Str title, const char *kind)
{
    strbuf_add_c(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"" POLICY "\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta name=\"generator\" content=\"ming\">\n<title>");
    html_add_text(out, title);
    strbuf_printf(out, " \xe2\x80\x93 %s</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", kind,
                  html_style, html_paper_style);
}

void html_begin_section(StrBuf *out, const char *id, const char *title)
{
    strbuf_printf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

void html_end_section(StrBuf *out)
{
    strbuf_add_c(out, "</section>\n");
}
