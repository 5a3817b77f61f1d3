/* Offsets in bytes and LSP's positions; words of a text.
 * Tests: test/e2e/lsp_check.py */
#include <string.h>

#include "lsp/internal.h"

/* The bytes of the character at an offset, and its units of UTF-16. A byte that is not part of one
 * counts as a character. */
static size_t character(Str text, size_t offset, uint32_t *units)
{
    unsigned char lead = (unsigned char)text.data[offset];
    size_t size = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (lead >= 0xF8) size = 1;
    for (size_t i = 1; i < size; i++)
        if (offset + i >= text.len || ((unsigned char)text.data[offset + i] & 0xC0) != 0x80)
            size = 1;
    *units = size == 4 ? 2 : 1;
    return size;
}

static size_t line_end(Str text, size_t begin)
{
    const char *newline =
        begin < text.len ? memchr(text.data + begin, '\n', text.len - begin) : NULL;
    return newline ? (size_t)(newline - text.data) : text.len;
}

/* The begin of a line, from 0; of one that is not there the text's end. */
static size_t line_begin(Str text, json_int_t line)
{
    size_t begin = 0;
    for (; line > 0; line--) {
        size_t end = line_end(text, begin);
        if (end >= text.len) return text.len;
        begin = end + 1;
    }
    return begin;
}

size_t lsp_offset(Str text, const json_t *position)
{
    json_int_t line = json_integer_value(json_object_get(position, "line"));
    json_int_t column = json_integer_value(json_object_get(position, "character"));
    size_t offset = line_begin(text, line), end = line_end(text, offset);
    while (offset < end && column > 0) {
        uint32_t units;
        offset += character(text, offset, &units);
        column -= units;
    }
    return offset < end ? offset : end;
}

static void move_place(Str text, size_t offset, Place *place)
{
    const char *newline;
    if (offset > text.len) offset = text.len;
    if (offset < place->offset) *place = (Place){0};
    while (place->offset < offset &&
           (newline = memchr(text.data + place->offset, '\n', offset - place->offset)) != NULL)
        *place = (Place){(size_t)(newline - text.data) + 1, place->line + 1, 0};
    while (place->offset < offset) {
        uint32_t units;
        place->offset += character(text, place->offset, &units);
        place->column += units;
    }
}

static json_t *position(Str text, size_t offset, Place *place)
{
    move_place(text, offset, place);
    return json_pack("{s:I, s:I}", "line", place->line, "character", place->column);
}

json_t *lsp_range_from(Str text, Span span, Place *place)
{
    json_t *start = position(text, span.begin, place);
    return json_pack("{s:o, s:o}", "start", start, "end", position(text, span.end, place));
}

json_t *lsp_range(Str text, Span span)
{
    Place place = {0};
    return lsp_range_from(text, span, &place);
}

size_t lsp_offset_of_line(Str text, uint32_t line, uint32_t column)
{
    size_t begin = line_begin(text, line > 0 ? (json_int_t)line - 1 : 0);
    size_t end = line_end(text, begin), offset = begin + (column > 0 ? column - 1 : 0);
    return offset < end ? offset : end;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

static bool is_sigil(char c)
{
    return c == '%' || c == '@' || c == '^' || c == '!' || c == '#';
}

Span lsp_word_at(Str text, size_t offset)
{
    Span span = {offset, offset};
    while (span.begin > 0 && is_word(text.data[span.begin - 1])) span.begin--;
    if (span.begin == offset && offset < text.len && is_sigil(text.data[offset])) span.end++;
    while (span.end < text.len && is_word(text.data[span.end])) span.end++;
    if (span.begin > 0 && is_sigil(text.data[span.begin - 1])) span.begin--;
    return span;
}

Span lsp_token_at(Str text, size_t offset)
{
    Span span = {offset, offset};
    if (offset >= text.len) return span;
    if (text.data[offset] == '"') {
        size_t end = line_end(text, offset);
        span.end++;
        while (span.end < end && text.data[span.end] != '"')
            span.end += text.data[span.end] == '\\' && span.end + 1 < end ? 2 : 1;
        span.end += span.end < end;
        return span;
    }
    if (is_sigil(text.data[offset])) span.end++;
    while (span.end < text.len && is_word(text.data[span.end])) span.end++;
    if (span.end == offset && text.data[offset] != '\n') {
        uint32_t units;
        span.end += character(text, offset, &units);
    }
    return span;
}

json_t *lsp_string(Str text)
{
    StrBuf valid = {0};
    for (size_t i = 0, size; i < text.len; i += size) {
        uint32_t units;
        size = character(text, i, &units);
        char buffer[5] = {0};
        memcpy(buffer, text.data + i, size);
        json_t *one = json_stringn(buffer, size);
        if (one)
            strbuf_add(&valid, buffer, size);
        else
            strbuf_add_c(&valid, "\xEF\xBF\xBD");
        json_decref(one);
    }
    json_t *string = json_stringn(valid.data ? valid.data : "", valid.len);
    strbuf_free(&valid);
    return string;
}
