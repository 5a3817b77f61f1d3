/* Spelling of names and strings: escapes, bare identifiers, symbols, hex, and the two forms of
 * a dialect's type or attribute.
 * Tests: test/unit/attr_test.c, lit/ir/attributes.mir */
#include "ir/print_impl.h"

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
    return is_alpha(c) || (c >= '0' && c <= '9');
}

static const char hex_digits[] = "0123456789ABCDEF";

void write_string_escaped(StrBuf *out, Str text)
{
    strbuf_add_char(out, '"');
    size_t begin = 0; /* of the run that needs no escape */
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') continue;
        strbuf_add(out, text.data + begin, i - begin);
        begin = i + 1;
        strbuf_add_char(out, '\\');
        strbuf_add_char(out, c == '\\' ? '\\' : hex_digits[c >> 4]);
        if (c != '\\') strbuf_add_char(out, hex_digits[c & 15]);
    }
    strbuf_add(out, text.data + begin, text.len - begin);
    strbuf_add_char(out, '"');
}

bool is_bare_identifier(Str text)
{
    if (text.len == 0 || !(is_alpha(text.data[0]) || text.data[0] == '_')) return false;
    for (size_t i = 1; i < text.len; i++) {
        char c = text.data[i];
        if (!is_alnum(c) && c != '_' && c != '$' && c != '.') return false;
    }
    return true;
}

void write_attr_name(StrBuf *out, Str name)
{
    if (is_bare_identifier(name))
        strbuf_add_str(out, name);
    else
        write_string_escaped(out, name);
}

void write_symbol_name(StrBuf *out, Str name)
{
    if (name.len == 0) {
        strbuf_add_c(out, "@\"<<INVALID EMPTY SYMBOL>>\"");
        return;
    }
    strbuf_add_char(out, '@');
    write_attr_name(out, name);
}

bool is_pretty_dialect_symbol(Str body)
{
    if (body.len == 0 || !is_alpha(body.data[0])) return false;
    size_t i = 1;
    while (i < body.len && (is_alnum(body.data[i]) || body.data[i] == '.' || body.data[i] == '_'))
        i++;
    return i == body.len || (body.data[i] == '<' && body.data[body.len - 1] == '>');
}

void write_dialect_symbol(StrBuf *out, char sigil, Str name_space, Str body)
{
    bool is_pretty = is_pretty_dialect_symbol(body);
    strbuf_add_char(out, sigil);
    strbuf_add_str(out, name_space);
    strbuf_add_char(out, is_pretty ? '.' : '<');
    strbuf_add_str(out, body);
    if (!is_pretty) strbuf_add_char(out, '>');
}

void write_hex_string(StrBuf *out, const uint8_t *data, size_t size)
{
    strbuf_add_c(out, "\"0x");
    vec_reserve(out, out->len + 2 * size + sizeof "\"");
    char *to = out->data + out->len;
    for (size_t i = 0; i < size; i++) {
        *to++ = hex_digits[data[i] >> 4];
        *to++ = hex_digits[data[i] & 15];
    }
    out->len += 2 * size;
    strbuf_add_char(out, '"');
}
