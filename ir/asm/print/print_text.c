/* Spelling of names and strings: escapes, bare identifiers, symbols, hexadecimal digits, and the
 * two forms of a dialect's type or attribute.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/attributes.mir */
#include <string.h>

#include "ir/asm/print/internal.h"

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

static bool print_is_bare_identifier(Str text)
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
    if (print_is_bare_identifier(name))
        strbuf_add_str(out, name);
    else
        write_string_escaped(out, name);
}

void write_symbol_name(StrBuf *out, Str name)
{
    if (name.len == 0) {
        strbuf_add_c(out, "@<<INVALID EMPTY SYMBOL>>");
        return;
    }
    strbuf_add_char(out, '@');
    write_attr_name(out, name);
}

size_t write_dialect_begin(StrBuf *out, char sigil, Str name_space)
{
    strbuf_add_char(out, sigil);
    strbuf_add_str(out, name_space);
    strbuf_add_char(out, '.');
    return out->len;
}

void write_dialect_end(StrBuf *out, size_t begin)
{
    if (attr_body_is_dotted((Str){out->data + begin, out->len - begin})) return;
    out->data[begin - 1] = '<';
    strbuf_add_char(out, '>');
}

void write_dialect_symbol(StrBuf *out, char sigil, Str name_space, Str body, bool is_dotted)
{
    size_t begin = write_dialect_begin(out, sigil, name_space);
    strbuf_add_str(out, body);
    if (is_dotted) return;
    out->data[begin - 1] = '<';
    strbuf_add_char(out, '>');
}

#define PIECE ((size_t)1 << 16) /* characters that make a call of the sink worth it */

void asm_writer_flush(AsmWriter *w)
{
    if (!w->sink || w->out->len == 0) return;
    if (!w->sink_failed) w->sink_failed = !w->sink->write(w->sink->user, strbuf_str(w->out));
    strbuf_clear(w->out);
}

void asm_writer_pass_on(AsmWriter *w)
{
    if (w->out->len >= PIECE) asm_writer_flush(w);
}

/* The two digits of every byte. */
#define PAIRS(high)                                                                                \
    high "0" high "1" high "2" high "3" high "4" high "5" high "6" high "7" high "8" high "9" high \
         "A" high "B" high "C" high "D" high "E" high "F"
static const char hex_pairs[] =
    PAIRS("0") PAIRS("1") PAIRS("2") PAIRS("3") PAIRS("4") PAIRS("5") PAIRS("6") PAIRS("7")
        PAIRS("8") PAIRS("9") PAIRS("A") PAIRS("B") PAIRS("C") PAIRS("D") PAIRS("E") PAIRS("F");
#undef PAIRS

void write_hex(AsmWriter *w, const uint8_t *data, size_t size)
{
    char text[4096];
    while (size > 0) {
        size_t count = size < sizeof(text) / 2 ? size : sizeof(text) / 2;
        for (size_t i = 0; i < count; i++) memcpy(&text[2 * i], &hex_pairs[2 * data[i]], 2);
        strbuf_add(w->out, text, 2 * count);
        asm_writer_pass_on(w);
        data += count;
        size -= count;
    }
}
