/* The lexer of MLIR text: one function per class of tokens, with the grammar above each. Every read
 * is guarded by lex->end, because the source need not be NUL-terminated; a NUL inside the text
 * counts as white space, as upstream.
 * Tests: test/unit/ir/asm/parse/lexer_test.c, lit/ir/asm/parse/parse-errors.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"

enum { LETTER = 1, DIGIT = 2, PUNCT = 4, DASH = 8, BLANK = 16, LIST = 32 };

static const uint8_t class_of[256] = {
    ['0'] = DIGIT,
    ['1'] = DIGIT,
    ['2'] = DIGIT,
    ['3'] = DIGIT,
    ['4'] = DIGIT,
    ['5'] = DIGIT,
    ['6'] = DIGIT,
    ['7'] = DIGIT,
    ['8'] = DIGIT,
    ['9'] = DIGIT,
#define X(lower, upper) [lower] = LETTER, [upper] = LETTER,
    X('a', 'A') X('b', 'B') X('c', 'C') X('d', 'D') X('e', 'E') X('f', 'F') X('g', 'G') X('h', 'H')
        X('i', 'I') X('j', 'J') X('k', 'K') X('l', 'L') X('m', 'M') X('n', 'N') X('o', 'O')
            X('p', 'P') X('q', 'Q') X('r', 'R') X('s', 'S') X('t', 'T') X('u', 'U') X('v', 'V')
                X('w', 'W') X('x', 'X') X('y', 'Y') X('z', 'Z')
#undef X
                    ['_'] = PUNCT,
    ['$'] = PUNCT,
    ['.'] = PUNCT,
    ['-'] = DASH,
    [' '] = BLANK | LIST,
    ['\n'] = BLANK | LIST,
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['\0'] = BLANK,
    [','] = LIST,
    ['['] = LIST,
    [']'] = LIST,
    ['('] = LIST,
    [')'] = LIST,
};

static bool is(char c, int classes)
{
    return class_of[(uint8_t)c] & classes;
}

static bool is_digit(char c)
{
    return is(c, DIGIT);
}

static bool is_alpha(char c)
{
    return is(c, LETTER);
}

static bool is_id_char(char c)
{
    return is(c, LETTER | DIGIT | PUNCT);
}

bool lexer_is_suffix_char(char c)
{
    return is(c, LETTER | DIGIT | PUNCT | DASH);
}

/* A hexadecimal digit's value with this bit set; 0 for any other character. */
#define HEX_DIGIT 0x10
#define X(value) (HEX_DIGIT + (value))
static const uint8_t hex_digits[256] = {
    ['0'] = X(0),  ['1'] = X(1),  ['2'] = X(2),  ['3'] = X(3),  ['4'] = X(4),  ['5'] = X(5),
    ['6'] = X(6),  ['7'] = X(7),  ['8'] = X(8),  ['9'] = X(9),  ['a'] = X(10), ['b'] = X(11),
    ['c'] = X(12), ['d'] = X(13), ['e'] = X(14), ['f'] = X(15), ['A'] = X(10), ['B'] = X(11),
    ['C'] = X(12), ['D'] = X(13), ['E'] = X(14), ['F'] = X(15),
};
#undef X

/* 0..15, or -1. */
static int hex_value(char c)
{
    return (int)hex_digits[(uint8_t)c] - HEX_DIGIT;
}

Lexer lexer_make(Str source)
{
    const char *begin = source.data ? source.data : "";
    return (Lexer){.begin = begin, .end = begin + source.len, .cur = begin};
}

/* The character `ahead` places after the cursor; NUL past the end. */
static char peek(const Lexer *lex, size_t ahead)
{
    return (size_t)(lex->end - lex->cur) > ahead ? lex->cur[ahead] : '\0';
}

static Token form(const Lexer *lex, TokenKind kind, const char *start)
{
    return (Token){kind, {start, (size_t)(lex->cur - start)}};
}

static Token fail(Lexer *lex, const char *at, const char *message)
{
    lex->error = message;
    lex->error_at = at;
    return form(lex, TOK_ERROR, at < lex->cur ? at : lex->cur);
}

/* In rows of equal size, so that the first eight bytes of each may be read as a number. */
static const char keyword_text[][16] = {
#define X(word) #word,
    LEXER_KEYWORDS(X)
#undef X
};

/* Eight bytes as a number that has the same order; compilers turn this into one load. */
static uint64_t prefix_of(const char text[8])
{
    const uint8_t *t = (const uint8_t *)text;
    return (uint64_t)t[0] << 56 | (uint64_t)t[1] << 48 | (uint64_t)t[2] << 40 |
           (uint64_t)t[3] << 32 | (uint64_t)t[4] << 24 | (uint64_t)t[5] << 16 |
           (uint64_t)t[6] << 8 | (uint64_t)t[7];
}

static int compare_keyword(size_t index, uint64_t prefix, Str word)
{
    uint64_t own = prefix_of(keyword_text[index]);
    if (own != prefix) return own < prefix ? -1 : 1;
    if (word.len <= 8) return word.len == 8 && keyword_text[index][8] ? 1 : 0;
    int order = strncmp(keyword_text[index] + 8, word.data + 8, word.len - 8);
    return order == 0 && keyword_text[index][word.len] ? 1 : order;
}

static TokenKind keyword_kind(Str word)
{
    if (word.len >= sizeof(keyword_text[0])) return TOK_BARE;
    char first[8] = {0};
    memcpy(first, word.data, word.len < sizeof(first) ? word.len : sizeof(first));
    uint64_t prefix = prefix_of(first);
    size_t low = 0, high = COUNT_OF(keyword_text);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = compare_keyword(mid, prefix, word);
        if (order == 0) return (TokenKind)(TOK_FIRST_KEYWORD + mid);
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return TOK_BARE;
}

static bool all_digits(const char *text, const char *end)
{
    while (text < end && is_digit(*text)) text++;
    return text == end;
}

/* integer-type ::= ('i' | 'si' | 'ui') digit+ */
static bool is_integer_type(Str word)
{
    const char *end = word.data + word.len;
    if (word.data[0] == 'i') return word.len > 1 && all_digits(word.data + 1, end);
    if (word.data[0] != 's' && word.data[0] != 'u') return false;
    return word.len > 2 && word.data[1] == 'i' && all_digits(word.data + 2, end);
}

/* bare-id ::= (letter | '_') (letter | digit | '_' | '$' | '.')* */
static Token lex_word(Lexer *lex, const char *start)
{
    const char *cur = lex->cur;
    bool dotted = false;
    for (; cur < lex->end && is_id_char(*cur); cur++) dotted |= *cur == '.';
    lex->cur = cur;
    Token tok = form(lex, TOK_BARE, start);
    if (dotted) return tok;
    tok.kind = is_integer_type(tok.text) ? TOK_INTTYPE : keyword_kind(tok.text);
    return tok;
}

TokenKind token_kind_of(const char *spelling)
{
    switch (spelling[0]) {
    case '-': return spelling[1] == '>' ? TOK_ARROW : TOK_MINUS;
    case '%': return TOK_PERCENT;
    case '@': return TOK_AT;
    case '^': return TOK_CARET;
    case '#': return TOK_HASH;
    case '!': return TOK_BANG;
    case '"': return TOK_STRING;
    case ':': return TOK_COLON;
    case ',': return TOK_COMMA;
    case '.': return TOK_ELLIPSIS;
    case '=': return TOK_EQUAL;
    case '>': return TOK_GREATER;
    case '<': return TOK_LESS;
    case '{': return TOK_LBRACE;
    case '}': return TOK_RBRACE;
    case '(': return TOK_LPAREN;
    case ')': return TOK_RPAREN;
    case '[': return TOK_LSQUARE;
    case ']': return TOK_RSQUARE;
    case '+': return TOK_PLUS;
    case '?': return TOK_QUESTION;
    case '*': return TOK_STAR;
    case '|': return TOK_BAR;
    default: return keyword_kind(str_from(spelling));
    }
}

static void skip_digits(Lexer *lex)
{
    while (lex->cur < lex->end && is_digit(*lex->cur)) lex->cur++;
}

/* Reading decimals takes quadratic time. */
#define LEXER_MAX_DIGITS 65536
static const char too_many_digits[] = "integer has more than 65536 decimal digits";

/* integer ::= digit+ | '0x' hex-digit+          ("0xi32" is 0 followed by xi32)
 * float   ::= digit+ '.' digit* (('e' | 'E') ('+' | '-')? digit+)? */
static Token lex_number(Lexer *lex, const char *start)
{
    if (*start == '0' && peek(lex, 0) == 'x') {
        if (hex_value(peek(lex, 1)) < 0) return form(lex, TOK_INT, start);
        lex->cur++;
        while (lex->cur < lex->end && hex_value(*lex->cur) >= 0) lex->cur++;
        return form(lex, TOK_INT, start);
    }
    skip_digits(lex);
    if (peek(lex, 0) != '.') {
        bool is_short = lex->cur - start <= LEXER_MAX_DIGITS;
        return is_short ? form(lex, TOK_INT, start) : fail(lex, start, too_many_digits);
    }
    lex->cur++;
    skip_digits(lex);
    char e = peek(lex, 0), sign = peek(lex, 1);
    if (e != 'e' && e != 'E') return form(lex, TOK_FLOAT, start);
    if (is_digit(sign))
        lex->cur += 2;
    else if ((sign == '-' || sign == '+') && is_digit(peek(lex, 2)))
        lex->cur += 3;
    else
        return form(lex, TOK_FLOAT, start);
    skip_digits(lex);
    return form(lex, TOK_FLOAT, start);
}

bool token_u64(Str digits, uint64_t *out)
{
    uint64_t value = 0;
    if (token_is_hex(digits)) {
        for (size_t i = 2; i < digits.len; i++) {
            if (value >> 60) return false;
            value = value << 4 | (uint64_t)hex_value(digits.data[i]);
        }
        *out = value;
        return true;
    }
    for (size_t i = 0; i < digits.len; i++) {
        uint64_t digit = (uint64_t)(digits.data[i] - '0');
        if (value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit) return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static const char *skip_blanks(const char *cur, const char *end)
{
    while (cur < end && (*cur == ' ' || *cur == '\n')) cur++;
    return cur;
}

/* '-'? digit+ ('.' digit* (('e' | 'E') ('+' | '-')? digit+)?)?, or NULL */
static const char *skip_decimal(const char *cur, const char *end)
{
    if (cur < end && *cur == '-') cur++;
    const char *digits = cur;
    while (cur < end && is_digit(*cur)) cur++;
    if (cur == digits) return NULL;
    if (cur == end || *cur != '.') return cur;
    cur++;
    while (cur < end && is_digit(*cur)) cur++;
    if (cur == end || (*cur != 'e' && *cur != 'E')) return cur;
    cur++;
    if (cur < end && (*cur == '+' || *cur == '-')) cur++;
    digits = cur;
    while (cur < end && is_digit(*cur)) cur++;
    return cur > digits ? cur : NULL;
}

Token lexer_skip_numbers(Lexer *lex, Token comma, size_t *count)
{
    *count = 0;
    while (comma.kind == TOK_COMMA) {
        const char *cur = skip_decimal(skip_blanks(lex->cur, lex->end), lex->end);
        if (cur) cur = skip_blanks(cur, lex->end);
        if (!cur || cur == lex->end || (*cur != ',' && *cur != ']')) break;
        lex->cur = cur + 1;
        comma = form(lex, *cur == ',' ? TOK_COMMA : TOK_RSQUARE, cur);
        ++*count;
    }
    return comma;
}

static bool is_list_char(char c)
{
    return is(c, LIST);
}

bool lexer_small_int(Lexer *lex, bool *negative, uint64_t *value)
{
    const char *cur = lex->cur, *end = lex->end;
    while (cur < end && is_list_char(*cur)) cur++;
    *negative = cur < end && *cur == '-';
    cur += *negative;
    const char *digits = cur;
    *value = 0;
    for (; cur < end && is_digit(*cur); cur++) *value = *value * 10 + (uint64_t)(*cur - '0');
    if (cur == digits || cur - digits > 18 || cur == end || !is_list_char(*cur)) return false;
    lex->cur = cur;
    return true;
}

/* Neither escapes nor line ends: what most strings, and all long ones, are. */
static bool is_plain(const char *text, size_t len)
{
    return !memchr(text, '\\', len) && !memchr(text, '\n', len) && !memchr(text, '\v', len) &&
           !memchr(text, '\f', len);
}

/* string ::= '"' [^"\n\f\v]* '"', with the escapes \" \\ \n \t and \hh */
static Token lex_string(Lexer *lex, const char *start)
{
    const char *quote = memchr(lex->cur, '"', (size_t)(lex->end - lex->cur));
    if (quote && is_plain(lex->cur, (size_t)(quote - lex->cur))) {
        lex->cur = quote + 1;
        return form(lex, TOK_STRING, start);
    }
    while (lex->cur < lex->end) {
        char c = *lex->cur++;
        switch (c) {
        case '"': return form(lex, TOK_STRING, start);
        case '\n':
        case '\v':
        case '\f': return fail(lex, lex->cur - 1, "expected '\"' in string literal");
        case '\\':
            c = peek(lex, 0);
            if (c == '"' || c == '\\' || c == 'n' || c == 't')
                lex->cur++;
            else if (hex_value(c) >= 0 && hex_value(peek(lex, 1)) >= 0)
                lex->cur += 2;
            else
                return fail(lex, lex->cur - 1, "unknown escape in string literal");
            break;
        default: break;
        }
    }
    return fail(lex, lex->end, "expected '\"' in string literal");
}

static char unescape(const char **text)
{
    char c = *(*text)++;
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == '"' || c == '\\') return c;
    int low = hex_value(*(*text)++);
    return (char)(hex_value(c) << 4 | low);
}

Str token_string(Token tok, Arena *arena)
{
    const char *text = tok.text.data, *end = text + tok.text.len;
    if (tok.kind == TOK_AT) text++;
    if (*text != '"') return (Str){text, (size_t)(end - text)};
    text++;
    end--;
    size_t len = (size_t)(end - text);
    if (!memchr(text, '\\', len)) return (Str){text, len};
    char *out = arena_alloc(arena, len);
    size_t n = 0;
    while (text < end) {
        char c = *text++;
        out[n++] = c == '\\' ? unescape(&text) : c;
    }
    return (Str){out, n};
}

bool token_hex_size(Token tok, size_t *size)
{
    size_t len = tok.text.len;
    if (len < 4 || tok.text.data[1] != '0' || tok.text.data[2] != 'x' || len % 2) return false;
    *size = (len - 4) / 2;
    return true;
}

bool token_hex_decode(Token tok, size_t begin, size_t end, uint8_t *out)
{
    const uint8_t *digit = (const uint8_t *)tok.text.data + 3 + 2 * begin;
    unsigned all = HEX_DIGIT;
    for (size_t i = begin; i < end; i++, digit += 2) {
        unsigned high = hex_digits[digit[0]], low = hex_digits[digit[1]];
        all &= high & low;
        *out++ = (uint8_t)(high << 4 | (low & 0xf));
    }
    return all;
}

/* symbol-ref ::= '@' (bare-id | string) */
static Token lex_at(Lexer *lex, const char *start)
{
    char c = peek(lex, 0);
    if (c == '"') {
        lex->cur++;
        Token tok = lex_string(lex, start);
        if (tok.kind != TOK_ERROR) tok.kind = TOK_AT;
        return tok;
    }
    if (!is_alpha(c) && c != '_') {
        return fail(lex, start + 1, "@ identifier expected to start with letter or '_'");
    }
    while (lex->cur < lex->end && is_id_char(*lex->cur)) lex->cur++;
    return form(lex, TOK_AT, start);
}

/* suffix-id ::= digit+ | (letter | punct) (letter | punct | digit)*    punct ::= [$._-] */
static Token lex_prefixed(Lexer *lex, const char *start, TokenKind kind, const char *message)
{
    char c = peek(lex, 0);
    if (is_digit(c)) {
        skip_digits(lex);
    } else if (lexer_is_suffix_char(c)) {
        while (lex->cur < lex->end && lexer_is_suffix_char(*lex->cur)) lex->cur++;
    } else {
        return fail(lex, start, message);
    }
    return form(lex, kind, start);
}

/* Skips white space, NULs and // comments. */
static void skip_blank(Lexer *lex)
{
    for (; lex->cur < lex->end; lex->cur++) {
        char c = *lex->cur;
        if (is(c, BLANK)) continue;
        if (c != '/' || peek(lex, 1) != '/') return;
        while (lex->cur < lex->end && *lex->cur != '\n' && *lex->cur != '\r') lex->cur++;
        if (lex->cur == lex->end) return;
    }
}

static Token lex_punctuation(Lexer *lex, const char *start)
{
    switch (*start) {
    case '-':
        if (peek(lex, 0) != '>') return form(lex, TOK_MINUS, start);
        lex->cur++;
        return form(lex, TOK_ARROW, start);
    case '{':
        if (peek(lex, 0) != '-' || peek(lex, 1) != '#') return form(lex, TOK_LBRACE, start);
        lex->cur += 2;
        return form(lex, TOK_METADATA_BEGIN, start);
    case '.':
        if (peek(lex, 0) != '.' || peek(lex, 1) != '.') {
            return fail(lex, lex->cur, "expected three consecutive dots for an ellipsis");
        }
        lex->cur += 2;
        return form(lex, TOK_ELLIPSIS, start);
    case ':': return form(lex, TOK_COLON, start);
    case ',': return form(lex, TOK_COMMA, start);
    case '}': return form(lex, TOK_RBRACE, start);
    case '(': return form(lex, TOK_LPAREN, start);
    case ')': return form(lex, TOK_RPAREN, start);
    case '[': return form(lex, TOK_LSQUARE, start);
    case ']': return form(lex, TOK_RSQUARE, start);
    case '<': return form(lex, TOK_LESS, start);
    case '>': return form(lex, TOK_GREATER, start);
    case '=': return form(lex, TOK_EQUAL, start);
    case '+': return form(lex, TOK_PLUS, start);
    case '*': return form(lex, TOK_STAR, start);
    case '?': return form(lex, TOK_QUESTION, start);
    case '|': return form(lex, TOK_BAR, start);
    default: return fail(lex, start, "unexpected character");
    }
}

Token lexer_next(Lexer *lex)
{
    skip_blank(lex);
    const char *start = lex->cur;
    if (start == lex->end) return form(lex, TOK_EOF, start);
    char c = *lex->cur++;
    if (is_alpha(c) || c == '_') return lex_word(lex, start);
    if (is_digit(c)) return lex_number(lex, start);
    switch (c) {
    case '%': return lex_prefixed(lex, start, TOK_PERCENT, "invalid SSA name");
    case '^': return lex_prefixed(lex, start, TOK_CARET, "invalid block name");
    case '!': return lex_prefixed(lex, start, TOK_BANG, "invalid type identifier");
    case '#':
        if (peek(lex, 0) == '-' && peek(lex, 1) == '}') {
            lex->cur += 2;
            return form(lex, TOK_METADATA_END, start);
        }
        return lex_prefixed(lex, start, TOK_HASH, "invalid attribute name");
    case '"': return lex_string(lex, start);
    case '@': return lex_at(lex, start);
    default: return lex_punctuation(lex, start);
    }
}
