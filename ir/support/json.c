/* Tests: test/unit/emit/emit_test.c, lit/driver/ming-check-json.test */
#include "ir/support/support.h"

/* Length of the UTF-8 sequence at text[at], 0 if there is none. */
static size_t utf8_length(Str text, size_t at)
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

void json_add_string(StrBuf *out, Str text)
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
