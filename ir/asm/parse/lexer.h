/* Tokens of MLIR's text. The lexer never allocates: a token is a slice of the source, which
 * need not be NUL-terminated. Errors are left in the lexer for the parser to report.
 * Tests: test/unit/lexer_test.c, lit/ir/parse-errors.mir */
#ifndef MING_IR_LEXER_H
#define MING_IR_LEXER_H

#include "ir/support/support.h"

/* Words that are no bare identifiers, in order of their bytes (lexer.c searches them). */
#define LEXER_KEYWORDS(X)                                                                          \
    X(affine_map) X(affine_set) X(array) X(attributes) X(bf16) X(ceildiv) X(complex) X(dense)      \
    X(dense_resource) X(distinct) X(f128) X(f16) X(f32) X(f64) X(f80) X(f8E4M3)                    \
    X(f8E4M3B11FNUZ) X(f8E4M3FN) X(f8E4M3FNUZ) X(f8E5M2) X(f8E5M2FNUZ) X(false) X(floordiv) X(for) \
    X(func) X(index) X(loc) X(max) X(memref) X(min) X(mod) X(none) X(offset) X(size) X(sparse)     \
    X(step) X(strided) X(symbol) X(tensor) X(tf32) X(to) X(true) X(tuple) X(type) X(unit)          \
    X(vector)

typedef enum TokenKind {
    TOK_EOF,
    TOK_ERROR,
    TOK_BARE,    /* foo, foo.bar */
    TOK_AT,      /* @foo, @"foo" */
    TOK_HASH,    /* #foo */
    TOK_PERCENT, /* %foo */
    TOK_CARET,   /* ^foo */
    TOK_BANG,    /* !foo */
    TOK_FLOAT,   /* 2.0 */
    TOK_INT,     /* 42, 0x2a */
    TOK_STRING,  /* "foo" with its quotes and escapes */
    TOK_INTTYPE, /* i4, si8, ui16 */
    TOK_ARROW,
    TOK_COLON,
    TOK_COMMA,
    TOK_ELLIPSIS,
    TOK_EQUAL,
    TOK_GREATER,
    TOK_LESS,
    TOK_LBRACE,
    TOK_RBRACE,
    TOK_LPAREN,
    TOK_RPAREN,
    TOK_LSQUARE,
    TOK_RSQUARE,
    TOK_MINUS,
    TOK_PLUS,
    TOK_QUESTION,
    TOK_STAR,
    TOK_BAR,
    TOK_METADATA_BEGIN, /* {-# */
    TOK_METADATA_END,   /* #-} */
    TOK_FIRST_KEYWORD,
    KW_BEFORE_FIRST = TOK_FIRST_KEYWORD - 1,
#define X(word) KW_##word,
    LEXER_KEYWORDS(X)
#undef X
    TOK_KIND_COUNT
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Str text;
} Token;

typedef struct Lexer {
    const char *begin, *end; /* of the source */
    const char *cur;         /* just after the last token */
    const char *error;       /* message of the last TOK_ERROR */
    const char *error_at;
} Lexer;

Lexer lexer_make(Str source);
Token lexer_next(Lexer *lex);

static inline bool token_is_keyword(Token tok) { return tok.kind >= TOK_FIRST_KEYWORD; }
/* Identifier, keyword or integer type: what may stand where a bare word is wanted. */
static inline bool token_is_word(Token tok)
{
    return tok.kind == TOK_BARE || tok.kind == TOK_INTTYPE || token_is_keyword(tok);
}

/* Kind of a fixed spelling (punctuation or keyword); TOK_BARE for any other word. */
TokenKind token_kind_of(const char *spelling);

/* --- long lists of numbers, faster than token by token --------------------------------- */

/* From a comma, the last token: passes over ", number" as long as numbers are decimal and nothing
 * but blanks, a comma or a bracket is around them. *count: how many; the result is the token
 * behind them, the comma itself if there are none. */
Token lexer_skip_numbers(Lexer *lex, Token comma, size_t *count);
/* The next number if it is a decimal integer of at most 18 digits, past brackets and commas. False:
 * it is something else, and nothing is consumed. */
bool lexer_small_int(Lexer *lex, bool *negative, uint64_t *value) MUST_CHECK;

/* --- values of tokens ----------------------------------------------------- */

/* Decimal or 0x digits as a number; false when it does not fit. */
bool token_u64(Str digits, uint64_t *out) MUST_CHECK;
static inline bool token_is_hex(Str digits) { return digits.len > 1 && digits.data[1] == 'x'; }
/* Text of a string token, or of an @ token without the @, unescaped; in `arena` where the
 * spelling itself will not do. */
Str token_string(Token tok, Arena *arena);
/* Bytes of a "0x…" string token: their number, or false if it is none. */
bool token_hex_size(Token tok, size_t *size) MUST_CHECK;
/* Decodes bytes [begin, end) of such a string; false at a digit that is none. */
bool token_hex_decode(Token tok, size_t begin, size_t end, uint8_t *out) MUST_CHECK;

#endif
