/* Text of types and attributes of upstream's dialects that ming only carries through. Upstream
 * parses them and prints them anew, and its printers agree on spacing; so the text is taken apart
 * into tokens and put together as they would: no blank inside brackets, one blank behind a comma,
 * elsewhere one blank where there were any. Aliases are written out; symbols of unknown dialects
 * inside are kept as they are, as they are elsewhere.
 * Tests: lit/ir/asm/parse/foreign-dialects.mir, lit/ir/asm/parse/foreign-unknown.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"

static bool is_opening(TokenKind kind)
{
    return kind == TOK_LESS || kind == TOK_LPAREN || kind == TOK_LSQUARE || kind == TOK_LBRACE;
}

static bool is_closing(TokenKind kind)
{
    return kind == TOK_GREATER || kind == TOK_RPAREN || kind == TOK_RSQUARE || kind == TOK_RBRACE;
}

static bool wants_blank(Token before, Token tok)
{
    if (is_opening(before.kind) || is_closing(tok.kind) || tok.kind == TOK_COMMA) return false;
    return before.kind == TOK_COMMA || before.text.data + before.text.len != tok.text.data;
}

static bool has_body(const Lexer *lex)
{
    return lex->cur < lex->end && *lex->cur == '<';
}

/* #name or !name with neither a dot nor a body. */
static bool is_alias(Token tok, const Lexer *lex)
{
    if (tok.kind != TOK_HASH && tok.kind != TOK_BANG) return false;
    return !has_body(lex) && !memchr(tok.text.data, '.', tok.text.len);
}

/* #dialect… or !dialect… that no dialect reads. */
static bool is_unknown(const OpParser *p, Token tok)
{
    if (tok.kind != TOK_HASH && tok.kind != TOK_BANG) return false;
    const char *name = tok.text.data + 1, *dot = memchr(name, '.', tok.text.len - 1);
    Str dialect = {name, dot ? (size_t)(dot - name) : tok.text.len - 1};
    return !dialect_lookup(p->ctx, dialect) && !dialect_lookup_foreign(p->ctx, dialect);
}

/* Continues behind the body that begins here. The text around it was found to be balanced. */
static void skip_body(Lexer *lex)
{
    size_t depth = 0;
    do {
        char c = *lex->cur;
        if (c == '"')
            (void)lexer_next(lex);
        else
            lex->cur += c == '-' && lex->cur[1] == '>' ? 2 : 1;
        depth += c == '<' || c == '[' || c == '(' || c == '{';
        depth -= c == '>' || c == ']' || c == ')' || c == '}';
    } while (depth > 0 && lex->cur < lex->end);
}

static bool write_alias(OpParser *p, StrBuf *out, Token tok)
{
    Str name = {tok.text.data + 1, tok.text.len - 1};
    const Attr *attr = tok.kind == TOK_HASH ? parse_alias_of_attr(p, name) : NULL;
    const Type *type = tok.kind == TOK_BANG ? parse_alias_of_type(p, name) : NULL;
    if (attr) attr_print(out, attr);
    if (type) type_print(out, type);
    return attr || type;
}

/* A sign that builtin syntax has no use for is a token of its own here. */
static bool take_sign(Lexer *lex, Token *tok)
{
    static const char signs[] = ";/$&~`\\.";
    if (tok->text.len == 0 || !memchr(signs, *tok->text.data, sizeof signs - 1)) return false;
    tok->text.len = 1;
    lex->cur = tok->text.data + 1;
    return true;
}

bool parse_foreign_text(OpParser *p, Str body, StrBuf *out)
{
    Lexer lex = lexer_make(body);
    Token before = {.kind = TOK_LESS};
    for (;;) {
        Token tok = lexer_next(&lex);
        if (tok.kind == TOK_EOF) return true;
        if (tok.kind == TOK_ERROR && !take_sign(&lex, &tok))
            return parse_fail(p, "unexpected character in the text before");
        bool is_name = is_alias(tok, &lex);
        if (has_body(&lex) && is_unknown(p, tok)) {
            skip_body(&lex);
            tok.text.len = (size_t)(lex.cur - tok.text.data);
        }
        if (wants_blank(before, tok)) strbuf_add_char(out, ' ');
        if (!is_name)
            strbuf_add_str(out, tok.text);
        else if (!write_alias(p, out, tok))
            return false;
        before = tok;
    }
}
