/* Random changes of texts and bytes. A word is a run of letters, digits and what names hold. */
#include <ctype.h>
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "fuzz/mutate.h"

typedef struct Span {
    size_t begin, end;
} Span;

static size_t below(uint64_t *state, size_t limit)
{
    return limit ? (size_t)(fuzz_random(state) % limit) : 0;
}

/* Out = bytes with a span replaced. */
static void replace(Str bytes, Span span, Str with, StrBuf *out)
{
    strbuf_clear(out);
    strbuf_add(out, bytes.data, span.begin);
    strbuf_add_str(out, with);
    strbuf_add(out, bytes.data + span.end, bytes.len - span.end);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '%' || c == '#';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *const extremes[] = {"0",
                                       "65",
                                       "2147483647",
                                       "4294967296",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "-1",
                                       "-9223372036854775808"};

/* The next run of digits at or behind `at`, empty if there is none. */
static Span next_number(Str text, size_t at)
{
    Span span;
    while (at < text.len && !is_digit(text.data[at])) at++;
    for (span.begin = span.end = at; span.end < text.len && is_digit(text.data[span.end]);)
        span.end++;
    return span;
}

size_t fuzz_count_settings(Str text)
{
    size_t count = 0;
    for (Span span = next_number(text, 0); span.begin < text.len;
         span = next_number(text, span.end))
        count++;
    return count * COUNT_OF(extremes);
}

void fuzz_set_number(Str text, size_t which, StrBuf *out)
{
    Span span = next_number(text, 0);
    for (size_t i = which / COUNT_OF(extremes); i > 0; i--) span = next_number(text, span.end);
    strbuf_add(out, text.data, span.begin);
    strbuf_add_c(out, extremes[which % COUNT_OF(extremes)]);
    strbuf_add(out, text.data + span.end, text.len - span.end);
}

static bool is_line(char c)
{
    return c != '\n';
}

/* The run of such characters at or behind a random place; may be empty. */
static Span random_run(Str bytes, bool (*holds)(char), uint64_t *state)
{
    Span span;
    size_t at = below(state, bytes.len);
    while (at < bytes.len && !holds(bytes.data[at])) at++;
    for (span.begin = at; span.begin > 0 && holds(bytes.data[span.begin - 1]);) span.begin--;
    for (span.end = at; span.end < bytes.len && holds(bytes.data[span.end]);) span.end++;
    return span;
}

static Str slice(Str bytes, Span span)
{
    return (Str){bytes.data + span.begin, span.end - span.begin};
}

static Span random_span(Str bytes, uint64_t *state)
{
    enum { LONGEST = 64 };
    size_t begin = below(state, bytes.len);
    size_t length = 1 + below(state, LONGEST);
    return (Span){begin, begin + length < bytes.len ? begin + length : bytes.len};
}

static void change_byte(Str bytes, uint64_t *state, StrBuf *out)
{
    replace(bytes, (Span){0, bytes.len}, bytes, out);
    if (bytes.len > 0) out->data[below(state, bytes.len)] ^= (char)(1 << below(state, 8));
}

static void change_number(Str bytes, uint64_t *state, StrBuf *out)
{
    static const char *const numbers[] = {
        "0",          "1",  "2",  "3",   "4",     "7",          "8",
        "16",         "31", "64", "127", "65536", "2147483648", "9223372036854775807",
        "4294967297", "-1", "-2", "1.5", "1e30",  "0x7FC00000"};
    Span span = random_run(bytes, is_digit, state);
    replace(bytes, span, str_from(numbers[below(state, COUNT_OF(numbers))]), out);
}

/* A word by another one of the input, a line by a line of the other input. */
static void change_word(Str bytes, uint64_t *state, StrBuf *out)
{
    Span span = random_run(bytes, is_word, state), with = random_run(bytes, is_word, state);
    replace(bytes, span, slice(bytes, with), out);
}

static void change_line(Str bytes, Str other, uint64_t *state, StrBuf *out)
{
    Span span = random_run(bytes, is_line, state), with = random_run(other, is_line, state);
    if (fuzz_random(state) % 2) span.end = span.begin;
    replace(bytes, span, slice(other, with), out);
}

static void remove_piece(Str bytes, uint64_t *state, StrBuf *out)
{
    bool is_whole_line = fuzz_random(state) % 2;
    Span span = is_whole_line ? random_run(bytes, is_line, state) : random_span(bytes, state);
    replace(bytes, span, STR(""), out);
}

static void insert_piece(Str bytes, Str from, uint64_t *state, StrBuf *out)
{
    Str piece = slice(from, random_span(from, state));
    size_t at = below(state, bytes.len + 1);
    replace(bytes, (Span){at, at}, piece, out);
}

static void change(Str bytes, Str other, uint64_t *state, StrBuf *out)
{
    switch (fuzz_random(state) % 8) {
    case 0: change_byte(bytes, state, out); break;
    case 1:
    case 2: change_number(bytes, state, out); break;
    case 3:
    case 4: change_word(bytes, state, out); break;
    case 5: change_line(bytes, other, state, out); break;
    case 6: remove_piece(bytes, state, out); break;
    default: insert_piece(bytes, fuzz_random(state) % 2 ? bytes : other, state, out);
    }
}

void fuzz_mutate(Str bytes, Str other, uint64_t *state, StrBuf *out)
{
    StrBuf now = {0}, next = {0};
    strbuf_add_str(&now, bytes);
    for (uint64_t left = 1 + fuzz_random(state) % 4; left > 0; left--) {
        change(strbuf_str(&now), other, state, &next);
        StrBuf changed = next;
        next = now;
        now = changed;
    }
    strbuf_add_str(out, strbuf_str(&now));
    strbuf_free(&now);
    strbuf_free(&next);
}
