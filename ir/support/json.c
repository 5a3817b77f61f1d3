/* JSON text: strings, and a writer that keeps track of commas, colons and line breaks. The writer
 * has no stack: an opening bracket is followed by the first item, whatever follows a closing one
 * comes behind an item, so one bit tells whether a comma is due.
 * Tests: test/unit/ir/support/json_test.c, lit/driver/ming-check-json.test */
#include <assert.h>
#include <stdarg.h>

#include "ir/support/support.h"

void json_add_string(StrBuf *out, Str text)
{
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.data[i];
        size_t length = str_utf8_length(text, i);
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

static void break_line(JsonWriter *w)
{
    strbuf_add_char(w->out, '\n');
    for (uint32_t i = 0; i < w->column; i++) strbuf_add_char(w->out, ' ');
    w->breaks = false;
}

/* What stands between the text so far and a key or value. */
static void add_separator(JsonWriter *w)
{
    if (w->has_key) {
        w->has_key = false;
        return;
    }
    if (w->has_item) strbuf_add_char(w->out, ',');
    if (w->breaks)
        break_line(w);
    else if (w->has_item)
        strbuf_add_char(w->out, ' ');
}

static void begin(JsonWriter *w, char bracket)
{
    add_separator(w);
    strbuf_add_char(w->out, bracket);
    w->has_item = false;
}

static void end(JsonWriter *w, char bracket)
{
    assert(!w->has_key);
    if (w->breaks) break_line(w);
    strbuf_add_char(w->out, bracket);
    w->has_item = true;
}

static void add_value(JsonWriter *w, const char *text)
{
    add_separator(w);
    strbuf_add_c(w->out, text);
    w->has_item = true;
}

void json_write_line(JsonWriter *w, uint32_t column)
{
    w->breaks = true;
    w->column = column;
}

void json_write_key(JsonWriter *w, Str key)
{
    assert(!w->has_key);
    add_separator(w);
    json_add_string(w->out, key);
    strbuf_add_c(w->out, ": ");
    w->has_key = true;
}

void json_begin_object(JsonWriter *w)
{
    begin(w, '{');
}

void json_end_object(JsonWriter *w)
{
    end(w, '}');
}

void json_begin_array(JsonWriter *w)
{
    begin(w, '[');
}

void json_end_array(JsonWriter *w)
{
    end(w, ']');
}

void json_begin_row(JsonWriter *w)
{
    json_write_line(w, 4);
    json_begin_object(w);
}

void json_end_rows(JsonWriter *w)
{
    json_write_line(w, 2);
    json_end_array(w);
    json_write_line(w, 2);
}

void json_write_string(JsonWriter *w, Str value)
{
    add_value(w, "");
    json_add_string(w->out, value);
}

void json_write_int(JsonWriter *w, int64_t value)
{
    add_value(w, "");
    strbuf_add_int(w->out, value);
}

void json_write_bool(JsonWriter *w, bool value)
{
    add_value(w, value ? "true" : "false");
}

void json_write_null(JsonWriter *w)
{
    add_value(w, "null");
}

void json_write_number(JsonWriter *w, const char *fmt, ...)
{
    va_list args;
    add_value(w, "");
    va_start(args, fmt);
    strbuf_vprintf(w->out, fmt, args);
    va_end(args);
}

void json_member_object(JsonWriter *w, const char *key)
{
    json_write_key(w, str_from(key));
    json_begin_object(w);
}

void json_member_array(JsonWriter *w, const char *key)
{
    json_write_key(w, str_from(key));
    json_begin_array(w);
}

void json_member_string(JsonWriter *w, const char *key, Str value)
{
    json_write_key(w, str_from(key));
    json_write_string(w, value);
}

void json_member_int(JsonWriter *w, const char *key, int64_t value)
{
    json_write_key(w, str_from(key));
    json_write_int(w, value);
}

void json_member_bool(JsonWriter *w, const char *key, bool value)
{
    json_write_key(w, str_from(key));
    json_write_bool(w, value);
}

void json_member_count(JsonWriter *w, const char *key, int64_t value)
{
    json_write_key(w, str_from(key));
    if (value < 0)
        json_write_null(w);
    else
        json_write_int(w, value);
}
