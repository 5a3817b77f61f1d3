/* The parts that the whole text parser uses: tokens, places, messages, lists, and creation and
 * destruction of an OpParser. A message after a lexical error is dropped, because the lexer's own
 * message has been given already.
 * Tests: test/unit/ir/asm/parse/parse_test.c, lit/ir/asm/parse/parse-errors.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"

/* Room from the start, so that "the part from here on" is a pointer even when it is empty. */
static void reserve_stacks(OpParser *p)
{
    enum { ROOM = 32 };
    vec_reserve(&p->operands, ROOM);
    vec_reserve(&p->results, ROOM);
    vec_reserve(&p->types, ROOM);
    vec_reserve(&p->attrs, ROOM);
    vec_reserve(&p->named, ROOM);
    vec_reserve(&p->successors, ROOM);
    vec_reserve(&p->regions, ROOM);
    vec_reserve(&p->result_names, ROOM);
    vec_reserve(&p->refs, ROOM);
}

void parser_open(OpParser *p, Context *ctx, Str text, const Ident *file)
{
    *p = (OpParser){.ctx = ctx, .lex = lexer_make(text), .file = file, .line = 1};
    p->line_start = p->line_seen = p->lex.begin;
    p->placeholder_name = ident_get_c(ctx, "builtin.unrealized_conversion_cast");
    p->default_dialect = STR("builtin");
    arena_init(&p->scratch);
    reserve_stacks(p);
    parse_advance(p);
}

void parser_close(OpParser *p)
{
    arena_free(&p->scratch);
    ptrmap_free(&p->attr_aliases);
    ptrmap_free(&p->type_aliases);
    ptrmap_free(&p->distincts);
    ptrmap_free(&p->late_locs);
    ptrmap_free(&p->bodies);
    parse_name_table_free(&p->values);
    parse_name_table_free(&p->blocks);
    vec_free(&p->value_defs);
    vec_free(&p->block_defs);
    vec_free(&p->scopes);
    vec_free(&p->placeholders);
    vec_free(&p->forward_blocks);
    vec_free(&p->operands);
    vec_free(&p->results);
    vec_free(&p->types);
    vec_free(&p->attrs);
    vec_free(&p->named);
    vec_free(&p->successors);
    vec_free(&p->regions);
    vec_free(&p->result_names);
    vec_free(&p->refs);
    vec_free(&p->spare_refs);
    vec_free(&p->spare_types);
    vec_free(&p->spare_dims);
}

/* Moves the remembered line to the one that holds `at`: linear in the distance, and places are
 * asked for in the order of the text but for a few. */
static void seek_line(OpParser *p, SrcPos at)
{
    const char *newline;
    while (p->line_seen < at &&
           (newline = memchr(p->line_seen, '\n', (size_t)(at - p->line_seen)))) {
        p->line_start = p->line_seen = newline + 1;
        p->line++;
    }
    if (p->line_seen < at) p->line_seen = at;
    while (p->line_start > at) {
        p->line_seen = --p->line_start;
        p->line--;
        while (p->line_start > p->lex.begin && p->line_start[-1] != '\n') p->line_start--;
    }
}

const Attr *parser_loc_at(OpParser *p, SrcPos at)
{
    if (p->fixed_loc) return p->fixed_loc;
    seek_line(p, at);
    return loc_file(p->ctx, p->file, p->line, (uint32_t)(at - p->line_start) + 1);
}

#define PASSED_STEP ((ptrdiff_t)1 << 20)

void parse_passed(OpParser *p, SrcPos place)
{
    if (!p->passed || place - p->passed_place < PASSED_STEP) return;
    seek_line(p, place); /* otherwise the next location would read it again */
    p->passed(p->hook_user, place);
    p->passed_place = place;
}

static bool report(OpParser *p, SrcPos at, const char *fmt, va_list args)
{
    if (p->tok.kind == TOK_ERROR) return false;
    StrBuf text = {0};
    strbuf_vprintf(&text, fmt, args);
    diag_error(p->ctx, parser_loc_at(p, at), "%s", text.data ? text.data : "");
    strbuf_free(&text);
    return false;
}

/* At the end of the text a message moves back onto its last character. */
static SrcPos token_place(const OpParser *p)
{
    SrcPos at = p->tok.text.data;
    return p->tok.kind == TOK_EOF && at > p->lex.begin ? at - 1 : at;
}

bool parse_fail(OpParser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(p, token_place(p), fmt, args);
    va_end(args);
    return false;
}

bool parse_fail_at(OpParser *p, SrcPos at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(p, at, fmt, args);
    va_end(args);
    return false;
}

/* Start of a // comment in [line, end), or `end`. */
static SrcPos before_comment(SrcPos line, SrcPos end)
{
    for (SrcPos c = line; c + 1 < end; c++) {
        if (c[0] == '/' && c[1] == '/') return c;
    }
    return end;
}

/* End of the text before `from`, blanks and comments skipped; `from` if there is none. */
static SrcPos end_of_previous(const OpParser *p, SrcPos from)
{
    SrcPos at = from;
    for (;;) {
        while (at > p->lex.begin && (at[-1] == ' ' || at[-1] == '\t')) at--;
        if (at == p->lex.begin) return from;
        if (at[-1] != '\n' && at[-1] != '\r') return at;
        at--;
        SrcPos line = at;
        while (line > p->lex.begin && line[-1] != '\n' && line[-1] != '\r') line--;
        at = before_comment(line, at);
    }
}

bool parse_fail_missing(OpParser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(p, end_of_previous(p, token_place(p)), fmt, args);
    va_end(args);
    return false;
}

void parse_note_at(OpParser *p, SrcPos at, const char *text)
{
    diag_note(p->ctx, parser_loc_at(p, at), "%s", text);
}

void parse_advance(OpParser *p)
{
    p->tok.kind = TOK_EOF; /* so that a lexical error is reported */
    Token tok = lexer_next(&p->lex);
    if (tok.kind == TOK_ERROR) parse_fail_at(p, p->lex.error_at, "%s", p->lex.error);
    p->tok = tok;
}

void parse_reset(OpParser *p, const char *at)
{
    p->lex.cur = at;
    parse_advance(p);
}

bool parse_at_word(const OpParser *p, const char *word)
{
    return token_is_word(p->tok) && str_eq_c(p->tok.text, word);
}

bool parse_token(OpParser *p, TokenKind kind, const char *message)
{
    return parse_accept(p, kind) || parse_fail_missing(p, "%s", message);
}

/* A region is parsed by three functions whose frames take 2 KB together; 250 of them leave half of
 * a stack of 1 MB, which threads may have. */
enum { REGION_LEVELS = 4 };

bool parse_fits(OpParser *p, uint32_t depth)
{
    if (p->depth + depth > PARSE_MAX_DEPTH) {
        p->is_too_deep = true;
        return parse_fail(p, "nesting is deeper than %d levels, of which a region counts as %d",
                          PARSE_MAX_DEPTH, REGION_LEVELS);
    }
    if (p->depth + depth > p->deepest) p->deepest = p->depth + depth;
    return true;
}

bool parse_enter(OpParser *p)
{
    if (!parse_fits(p, 1)) return false;
    p->depth++;
    p->parsed++;
    return true;
}

bool parse_enter_region(OpParser *p)
{
    if (!parse_fits(p, REGION_LEVELS)) return false;
    p->depth += REGION_LEVELS;
    return true;
}

void parse_leave_region(OpParser *p)
{
    p->depth -= REGION_LEVELS;
}

static bool parse_items(OpParser *p, ParseItem *item, void *user)
{
    do {
        if (!item(p, user)) return false;
    } while (parse_accept(p, TOK_COMMA));
    return true;
}

bool parse_list(OpParser *p, ListKind kind, const char *context, ParseItem *item, void *user)
{
    static const struct {
        TokenKind open, close;
        const char *open_text, *close_text;
    } delimiters[] = {
        [LIST_BARE] = {TOK_EOF, TOK_EOF, "", ""},
        [LIST_PAREN] = {TOK_LPAREN, TOK_RPAREN, "(", ")"},
        [LIST_SQUARE] = {TOK_LSQUARE, TOK_RSQUARE, "[", "]"},
        [LIST_ANGLE] = {TOK_LESS, TOK_GREATER, "<", ">"},
        [LIST_BRACE] = {TOK_LBRACE, TOK_RBRACE, "{", "}"},
    };
    if (kind == LIST_BARE) return parse_items(p, item, user);
    if (!parse_accept(p, delimiters[kind].open)) {
        return parse_fail_missing(p, "expected '%s'%s", delimiters[kind].open_text, context);
    }
    if (parse_accept(p, delimiters[kind].close)) return true;
    if (!parse_items(p, item, user)) return false;
    if (parse_accept(p, delimiters[kind].close)) return true;
    return parse_fail_missing(p, "expected '%s'%s", delimiters[kind].close_text, context);
}

bool parse_list_until(OpParser *p, TokenKind close, const char *spelling, ParseItem *item,
                      void *user)
{
    if (parse_accept(p, close)) return true;
    if (!parse_items(p, item, user)) return false;
    if (parse_accept(p, close)) return true;
    return parse_fail_missing(p, "expected ',' or '%s'", spelling);
}

bool parse_word_or_string(OpParser *p, Str *out)
{
    if (parse_at(p, TOK_STRING))
        *out = token_string(p->tok, context_arena(p->ctx));
    else if (token_is_word(p->tok))
        *out = p->tok.text;
    else
        return false;
    parse_advance(p);
    return true;
}

/* Fits the magnitude of a literal into 64 signed bits. */
static bool signed_value(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool parse_optional_i64(OpParser *p, int64_t *out, bool *present)
{
    *present = true;
    if (parse_at(p, KW_false) || parse_at(p, KW_true)) {
        *out = parse_at(p, KW_true);
        parse_advance(p);
        return true;
    }
    *present = parse_at(p, TOK_INT) || parse_at(p, TOK_MINUS);
    if (!*present) return true;
    bool negative = parse_accept(p, TOK_MINUS);
    Token tok = p->tok;
    if (!parse_token(p, TOK_INT, "expected integer value")) return false;
    uint64_t magnitude;
    if (token_u64(tok.text, &magnitude) && signed_value(magnitude, negative, out)) return true;
    return parse_fail_at(p, tok.text.data, "integer value too large");
}
