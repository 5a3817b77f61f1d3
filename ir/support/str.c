/* Strings: comparison of slices (Str) and growing text (StrBuf).
 *
 * A StrBuf keeps one byte more than its text for the final NUL, so that its data can be given to C
 * functions as soon as anything was added.
 * Tests: test/unit/ir/support/support_test.c */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/support/support.h"

Str str_from(const char *cstr)
{
    return (Str){cstr, strlen(cstr)};
}

bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool str_eq_c(Str a, const char *b)
{
    return str_eq(a, str_from(b));
}

int str_cmp(Str a, Str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_starts_with(Str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && str_eq((Str){s.data, len}, (Str){prefix, len});
}

bool str_ends_with(Str s, const char *suffix)
{
    size_t len = strlen(suffix);
    return s.len >= len && (len == 0 || memcmp(s.data + (s.len - len), suffix, len) == 0);
}

size_t str_utf8_length(Str text, size_t at)
{
    unsigned char first = (unsigned char)text.data[at];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 0 || first > 0xf4 || length > text.len - at) return 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text.data[at + i] & 0xc0) != 0x80) return 0;
    unsigned char second = length > 1 ? (unsigned char)text.data[at + 1] : 0;
    bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool surrogate = first == 0xed && second > 0x9f;
    bool too_large = first == 0xf4 && second > 0x8f;
    return overlong || surrogate || too_large ? 0 : length;
}

void strbuf_grow(StrBuf *buf, size_t extra)
{
    if (extra >= SIZE_MAX - buf->len) out_of_memory("growing a text of %zu bytes", buf->len);
    size_t want = buf->len + extra + 1;
    if (want <= buf->cap) return;
    size_t cap = buf->cap < SIZE_MAX / 2 ? buf->cap * 2 : want;
    if (cap < 32) cap = 32;
    if (cap < want) cap = want;
    buf->data = xrealloc(buf->data, cap);
    buf->cap = cap;
}

void strbuf_free(StrBuf *buf)
{
    free(buf->data);
    *buf = (StrBuf){0};
}

void strbuf_clear(StrBuf *buf)
{
    buf->len = 0;
    if (buf->data) buf->data[0] = '\0';
}

void strbuf_add_escaped(StrBuf *buf, Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c < ' ' || c == 0x7f || c == '\\' || c == '\'')
            strbuf_printf(buf, "\\%02X", c);
        else
            strbuf_add_char(buf, (char)c);
    }
}

void strbuf_add_quoted(StrBuf *buf, Str name)
{
    strbuf_add_char(buf, '\'');
    strbuf_add_escaped(buf, name);
    strbuf_add_char(buf, '\'');
}

bool str_is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void strbuf_add_shown(StrBuf *buf, Str text)
{
    enum { BEGIN = 6144, END = 2048 };
    size_t begin = BEGIN, end = text.len - END;
    if (text.len <= BEGIN + END) {
        strbuf_add_str(buf, text);
        return;
    }
    while (begin > 0 && str_is_inside_character(text.data[begin])) begin--;
    while (end < text.len && str_is_inside_character(text.data[end])) end++;
    strbuf_add(buf, text.data, begin);
    strbuf_printf(buf, "... (%zu bytes) ...", end - begin);
    strbuf_add(buf, text.data + end, text.len - end);
}

void strbuf_add_uint(StrBuf *buf, uint64_t value)
{
    char digits[20]; /* of the largest 64-bit number */
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    strbuf_add(buf, digits + at, sizeof(digits) - at);
}

void strbuf_add_int(StrBuf *buf, int64_t value)
{
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        strbuf_add_char(buf, '-');
        magnitude = 0 - magnitude;
    }
    strbuf_add_uint(buf, magnitude);
}

void strbuf_printf(StrBuf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(buf, fmt, args);
    va_end(args);
}

void strbuf_vprintf(StrBuf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    strbuf_grow(buf, 0);
    size_t room = buf->cap - buf->len;
    int written = vsnprintf(buf->data + buf->len, room, fmt, args);
    assert(written >= 0);
    size_t len = (size_t)written;
    if (len >= room) {
        strbuf_grow(buf, len);
        vsnprintf(buf->data + buf->len, len + 1, fmt, again);
    }
    buf->len += len;
    va_end(again);
}

Str strbuf_str(const StrBuf *buf)
{
    return (Str){buf->data ? buf->data : "", buf->len};
}

bool strbuf_fail(StrBuf *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(why, fmt, args);
    va_end(args);
    return false;
}
