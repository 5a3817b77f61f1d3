/* The lexer: kinds and extents of tokens, lexical errors and their places, values of tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ir/asm/parse/internal.h"

static void expect_token(Lexer *lex, TokenKind kind, const char *text)
{
    Token tok = lexer_next(lex);
    assert_int_equal(tok.kind, kind);
    assert_true(str_eq_c(tok.text, text));
}

static void words_and_types(void **state)
{
    (void)state;
    Lexer lex =
        lexer_make(STR("foo a.b _x$1 tensor tensor.dim i32 si8 ui7 i i3x f32 f8E4M3B11FNUZ"));
    expect_token(&lex, TOK_BARE, "foo");
    expect_token(&lex, TOK_BARE, "a.b");
    expect_token(&lex, TOK_BARE, "_x$1");
    expect_token(&lex, KW_tensor, "tensor");
    expect_token(&lex, TOK_BARE, "tensor.dim");
    expect_token(&lex, TOK_INTTYPE, "i32");
    expect_token(&lex, TOK_INTTYPE, "si8");
    expect_token(&lex, TOK_INTTYPE, "ui7");
    expect_token(&lex, TOK_BARE, "i");
    expect_token(&lex, TOK_BARE, "i3x");
    expect_token(&lex, KW_f32, "f32");
    expect_token(&lex, KW_f8E4M3B11FNUZ, "f8E4M3B11FNUZ");
    expect_token(&lex, TOK_EOF, "");
    expect_token(&lex, TOK_EOF, "");
}

static void every_keyword(void **state)
{
    (void)state;
    static const char *const words[] = {
#define X(word) #word,
        LEXER_KEYWORDS(X)
#undef X
    };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        Lexer lex = lexer_make(str_from(words[i]));
        expect_token(&lex, (TokenKind)(TOK_FIRST_KEYWORD + i), words[i]);
        assert_int_equal(token_kind_of(words[i]), TOK_FIRST_KEYWORD + i);
    }
}

static void numbers(void **state)
{
    (void)state;
    Lexer lex = lexer_make(STR("0 42 0x2aG 0xi32 1. 1.5 1.e5 1.5e-3 1.5e 1.5e+ 1e5"));
    expect_token(&lex, TOK_INT, "0");
    expect_token(&lex, TOK_INT, "42");
    expect_token(&lex, TOK_INT, "0x2a");
    expect_token(&lex, TOK_BARE, "G");
    expect_token(&lex, TOK_INT, "0");
    expect_token(&lex, TOK_BARE, "xi32");
    expect_token(&lex, TOK_FLOAT, "1.");
    expect_token(&lex, TOK_FLOAT, "1.5");
    expect_token(&lex, TOK_FLOAT, "1.e5");
    expect_token(&lex, TOK_FLOAT, "1.5e-3");
    expect_token(&lex, TOK_FLOAT, "1.5");
    expect_token(&lex, TOK_BARE, "e");
    expect_token(&lex, TOK_FLOAT, "1.5");
    expect_token(&lex, TOK_BARE, "e");
    expect_token(&lex, TOK_PLUS, "+");
    expect_token(&lex, TOK_INT, "1");
    expect_token(&lex, TOK_BARE, "e5");
}

static void sigils(void **state)
{
    (void)state;
    Lexer lex = lexer_make(STR("%12a %a-b.c$ ^bb0 #map !a.b @f @\"x y\" #-} {-# {"));
    expect_token(&lex, TOK_PERCENT, "%12");
    expect_token(&lex, TOK_BARE, "a");
    expect_token(&lex, TOK_PERCENT, "%a-b.c$");
    expect_token(&lex, TOK_CARET, "^bb0");
    expect_token(&lex, TOK_HASH, "#map");
    expect_token(&lex, TOK_BANG, "!a.b");
    expect_token(&lex, TOK_AT, "@f");
    expect_token(&lex, TOK_AT, "@\"x y\"");
    expect_token(&lex, TOK_METADATA_END, "#-}");
    expect_token(&lex, TOK_METADATA_BEGIN, "{-#");
    expect_token(&lex, TOK_LBRACE, "{");
}

static void punctuation(void **state)
{
    (void)state;
    static const char *const spellings[] = {"->", ":", ",", "...", "=", ">", "<", "{", "}",
                                            "(",  ")", "[", "]",   "-", "+", "?", "*", "|"};
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        Lexer lex = lexer_make(str_from(spellings[i]));
        expect_token(&lex, token_kind_of(spellings[i]), spellings[i]);
        expect_token(&lex, TOK_EOF, "");
    }
}

static void blanks(void **state)
{
    (void)state;
    Lexer lex = lexer_make((Str){" \t\r\n\0// one\n//two\r x // end", 28});
    expect_token(&lex, TOK_BARE, "x");
    expect_token(&lex, TOK_EOF, "");
}

static void expect_error(const char *text, size_t at, const char *message)
{
    Lexer lex = lexer_make(str_from(text));
    Token tok;
    do tok = lexer_next(&lex);
    while (tok.kind != TOK_ERROR && tok.kind != TOK_EOF);
    assert_int_equal(tok.kind, TOK_ERROR);
    assert_string_equal(lex.error, message);
    assert_int_equal(lex.error_at - lex.begin, at);
}

static void errors(void **state)
{
    (void)state;
    expect_error("a &", 2, "unexpected character");
    expect_error("a / b", 2, "unexpected character");
    expect_error("\xc3\xa9", 0, "unexpected character");
    expect_error("..", 1, "expected three consecutive dots for an ellipsis");
    expect_error("% x", 0, "invalid SSA name");
    expect_error("^", 0, "invalid block name");
    expect_error("!<", 0, "invalid type identifier");
    expect_error("# x", 0, "invalid attribute name");
    expect_error("@5", 1, "@ identifier expected to start with letter or '_'");
    expect_error("@", 1, "@ identifier expected to start with letter or '_'");
    expect_error("\"abc", 4, "expected '\"' in string literal");
    expect_error("\"ab\ncd\"", 3, "expected '\"' in string literal");
    expect_error("\"a\\q\"", 2, "unknown escape in string literal");
    expect_error("\"a\\", 2, "unknown escape in string literal");
    expect_error("@\"a", 3, "expected '\"' in string literal");
}

static void strings(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena);
    Lexer lex = lexer_make(STR("\"plain\" \"a\\\"\\\\\\n\\t\\41\\fF\" @name @\"x\\20y\" \"\""));
    assert_true(str_eq_c(token_string(lexer_next(&lex), &arena), "plain"));
    assert_true(str_eq_c(token_string(lexer_next(&lex), &arena), "a\"\\\n\tA\xff"));
    assert_true(str_eq_c(token_string(lexer_next(&lex), &arena), "name"));
    assert_true(str_eq_c(token_string(lexer_next(&lex), &arena), "x y"));
    assert_true(str_eq_c(token_string(lexer_next(&lex), &arena), ""));
    arena_free(&arena);
}

static void hex_strings(void **state)
{
    (void)state;
    size_t size;
    uint8_t bytes[3];
    Token tok = {TOK_STRING, STR("\"0x00fFA5\"")};
    assert_true(token_hex_size(tok, &size));
    assert_int_equal(size, 3);
    assert_true(token_hex_decode(tok, 0, 3, bytes));
    assert_memory_equal(bytes, "\x00\xff\xa5", 3);
    assert_true(token_hex_decode(tok, 1, 2, bytes));
    assert_int_equal(bytes[0], 0xff);
    assert_false(token_hex_size((Token){TOK_STRING, STR("\"0x0\"")}, &size));
    assert_false(token_hex_size((Token){TOK_STRING, STR("\"abcd\"")}, &size));
    assert_false(token_hex_size((Token){TOK_STRING, STR("\"\"")}, &size));
    assert_false(token_hex_decode((Token){TOK_STRING, STR("\"0x0g\"")}, 0, 1, bytes));
}

static void values(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(token_u64(STR("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(token_u64(STR("18446744073709551616"), &value));
    assert_false(token_u64(STR("99999999999999999999"), &value));
    assert_true(token_u64(STR("0xffffffffffffffff"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(token_u64(STR("0x10000000000000000"), &value));
    assert_true(token_u64(STR("007"), &value));
    assert_int_equal(value, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_types), cmocka_unit_test(every_keyword),
        cmocka_unit_test(numbers),         cmocka_unit_test(sigils),
        cmocka_unit_test(punctuation),     cmocka_unit_test(blanks),
        cmocka_unit_test(errors),          cmocka_unit_test(strings),
        cmocka_unit_test(hex_strings),     cmocka_unit_test(values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
