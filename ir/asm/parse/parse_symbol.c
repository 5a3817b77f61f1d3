/* Parsing of aliases (#map, !type) and of the attributes and types that dialects define
 * (#dialect.name<…>, #dialect<…>, and the same with !).
 *
 * The text of a registered dialect is read by its AttrDef or TypeDef, after which parsing continues
 * behind the balanced brackets. The text of an unknown dialect is kept as it is, that of an
 * upstream dialect whose ops are not implemented with upstream's spacing (parse_foreign.c).
 * Tests: lit/ir/asm/parse/dialect-symbols.mir, lit/ir/asm/parse/attributes-invalid.mir */
#include <ctype.h>
#include <string.h>

#include "ir/asm/parse/internal.h"

/* One #… or !… : #alias, #dialect.data or #dialect<data>. */
typedef struct Symbol {
    Str dialect; /* or the alias */
    Str data;    /* name and body: "name<…>", or what is between the <> */
    SrcPos at;   /* for messages */
    bool is_alias;
} Symbol;

typedef VEC(const char *) Brackets; /* places of those that are open */

static bool fail_unbalanced(OpParser *p, const Brackets *open)
{
    return parse_fail(p, "unbalanced '%c' character in pretty dialect name",
                      *open->data[open->len - 1]);
}

static char opening_of(char close)
{
    switch (close) {
    case '>': return '<';
    case ']': return '[';
    case ')': return '(';
    default: return '{';
    }
}

/* Does the word that ends at `bracket`, and is in the text from `start` on, begin with a sigil? */
static bool begins_symbol_body(const char *start, const char *bracket)
{
    const char *word = bracket;
    while (word > start && lexer_is_suffix_char(word[-1])) word--;
    return word > start && (word[-1] == '#' || word[-1] == '!');
}

/* `close` is behind the bracket that closes the innermost one. The ends of symbols inside of the
 * body are remembered, so that however deep symbols are nested, their text is searched once. */
static bool close_bracket(OpParser *p, Brackets *open, const char *close)
{
    const char *start = open->data[open->len - 1];
    if (*start != opening_of(close[-1])) return fail_unbalanced(p, open);
    open->len--;
    if (*start == '<' && open->len && begins_symbol_body(open->data[0], start))
        ptrmap_put(&p->bodies, start, (void *)(uintptr_t)close);
    return true;
}

/* One character of a body; strings are skipped whole. *cur is behind c. */
static bool skip_body_char(OpParser *p, Brackets *open, char c, const char **cur)
{
    const char *end = p->lex.end;
    switch (c) {
    case '\0': return fail_unbalanced(p, open);
    case '<':
    case '[':
    case '(':
    case '{': *vec_push(open) = *cur - 1; return true;
    case '-': *cur += *cur < end && **cur == '>'; return true;
    case '>':
    case ']':
    case ')':
    case '}': return close_bracket(p, open, *cur);
    case '"':
        parse_reset(p, *cur - 1);
        *cur = p->lex.cur;
        return parse_at(p, TOK_STRING);
    default: return true;
    }
}

/* What is behind the '>' that matches the '<' at `start`; NULL if there is none, which is diagnosed. */
static const char *find_body_end(OpParser *p, const char *start)
{
    const char *cur = start;
    Brackets open = {0};
    bool ok = true;
    do {
        char c = cur < p->lex.end ? *cur : '\0';
        cur++;
        ok = skip_body_char(p, &open, c, &cur);
    } while (ok && open.len);
    vec_free(&open);
    return ok ? cur : NULL;
}

/* The current token is '<': finds the matching '>' and continues behind it. *body includes both. */
static bool parse_symbol_body(OpParser *p, Str *body)
{
    const char *start = p->tok.text.data, *end = ptrmap_get(&p->bodies, start);
    if (!end) {
        ptrmap_free(&p->bodies); /* those of a symbol before */
        if (!(end = find_body_end(p, start))) return false;
    }
    parse_reset(p, end);
    *body = (Str){start, (size_t)(end - start)};
    return true;
}

/* (letter | '_') (letter | digit | '_' | '$')* */
static bool is_namespace(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.data[i];
        bool begins = isalpha((unsigned char)c) || c == '_';
        if (!begins && (i == 0 || (!isdigit((unsigned char)c) && c != '$'))) return false;
    }
    return name.len > 0;
}

/* symbol ::= sigil (alias | dialect '<' body '>' | dialect '.' name ('<' body '>')?) */
static bool parse_symbol(OpParser *p, Symbol *out)
{
    Str name = {p->tok.text.data + 1, p->tok.text.len - 1};
    out->at = p->tok.text.data;
    parse_advance(p);
    const char *dot = memchr(name.data, '.', name.len);
    bool has_body = parse_at(p, TOK_LESS) && p->tok.text.data == name.data + name.len;
    out->is_alias = !dot && !has_body;
    out->dialect = dot ? (Str){name.data, (size_t)(dot - name.data)} : name;
    if (out->is_alias) return true;
    if (!is_namespace(out->dialect))
        return parse_fail_at(p, out->at, "invalid dialect namespace '\"%.*s\"'",
                             STR_ARG(out->dialect));
    Str body = {name.data + name.len, 0};
    if (has_body && !parse_symbol_body(p, &body)) return false;
    if (dot) {
        out->at = dot + 1;
        out->data = (Str){dot + 1, (size_t)(body.data + body.len - dot - 1)};
    } else {
        out->data = (Str){body.data + 1, body.len - 2};
    }
    return true;
}

/* Reading of a symbol's data by its dialect, in the middle of everything else. */
typedef struct Detour {
    SrcPos resume, symbol;
    OpBuild *op;
} Detour;

static Detour detour_begin(OpParser *p, const Symbol *symbol)
{
    Detour detour = {p->tok.text.data, p->symbol, p->op};
    p->op = NULL; /* messages of the hooks are not the op's */
    parse_reset(p, symbol->data.data);
    p->symbol = p->tok.text.data;
    return detour;
}

static void detour_end(OpParser *p, Detour detour)
{
    p->op = detour.op;
    p->symbol = detour.symbol;
    if (!parse_at(p, TOK_ERROR)) parse_reset(p, detour.resume);
}

static const Type *parse_dialect_type(OpParser *p, const DialectDef *dialect)
{
    if (!dialect->types) {
        parse_fail(p, "dialect '%s' provides no type parsing hook", dialect->name);
        return NULL;
    }
    SrcPos at = p->tok.text.data;
    Str name;
    if (!parser_keyword(p, &name)) return NULL;
    for (const TypeDef *const *def = dialect->types; *def; def++) {
        if (str_eq_c(name, (*def)->name)) return (*def)->parse(p);
    }
    if (dialect->unknown_type)
        parse_fail_at(p, at, "%s %.*s", dialect->unknown_type, STR_ARG(name));
    else
        parse_fail_at(p, at, "unknown  type `%.*s` in dialect `%s`", STR_ARG(name), dialect->name);
    return NULL;
}

static const Attr *parse_dialect_attr(OpParser *p, const DialectDef *dialect, const Type *type)
{
    if (!dialect->attrs) {
        parse_fail(p, "dialect '%s' provides no attribute parsing hook", dialect->name);
        return NULL;
    }
    SrcPos at = p->tok.text.data;
    Str name;
    if (!parser_keyword(p, &name)) return NULL;
    for (const AttrDef *const *def = dialect->attrs; *def; def++) {
        if (str_eq_c(name, (*def)->name)) return (*def)->parse(p, type);
    }
    parse_fail_at(p, at, "unknown attribute `%.*s` in dialect `%s`", STR_ARG(name), dialect->name);
    return NULL;
}

/* Counts a use. False: diagnosed. */
static bool expand_alias(OpParser *p, const Alias *alias)
{
    p->parsed += alias->size;
    p->expanded += alias->size;
    return p->expanded <= PARSE_MAX_EXPANDED ||
           parse_fail(p, "aliases stand for more than %llu attributes and types",
                      (unsigned long long)PARSE_MAX_EXPANDED);
}

static const void *find_alias(OpParser *p, const PtrMap *aliases, Str name)
{
    const Alias *alias = ptrmap_get(aliases, ident_get(p->ctx, name));
    if (alias) return parse_fits(p, alias->depth) && expand_alias(p, alias) ? alias->object : NULL;
    parse_fail_missing(p, "undefined symbol alias id '%.*s'", STR_ARG(name));
    return NULL;
}

const Attr *parse_alias_of_attr(OpParser *p, Str name)
{
    return find_alias(p, &p->attr_aliases, name);
}

const Type *parse_alias_of_type(OpParser *p, Str name)
{
    return find_alias(p, &p->type_aliases, name);
}

#define ALLOW_HINT                                                                                 \
    "created with unregistered dialect. If this is intended, please call "                         \
    "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with "     \
    "the MLIR opt tool used"

/* The word that begins the data, behind spaces and comments. */
static Str data_name(const Symbol *symbol)
{
    Str data = symbol->data;
    bool is_comment = false;
    size_t begin = 0, end;
    for (; begin < data.len; begin++) {
        bool begins =
            data.data[begin] == '/' && begin + 1 < data.len && data.data[begin + 1] == '/';
        is_comment = (is_comment && data.data[begin] != '\n') || begins;
        if (!is_comment && !isspace((unsigned char)data.data[begin])) break;
    }
    for (end = begin; end < data.len; end++)
        if (!isalnum((unsigned char)data.data[end]) && data.data[end] != '_') break;
    return (Str){data.data + begin, end - begin};
}

static const AttrDef *foreign_attr_def(const DialectDef *dialect, const Symbol *symbol)
{
    Str name = data_name(symbol);
    for (const AttrDef *const *def = dialect->attrs; def && *def; def++)
        if (str_eq_c(name, (*def)->name)) return *def;
    return NULL;
}

static const Attr *opaque_attr(OpParser *p, const Symbol *symbol, const Type *type)
{
    const Ident *dialect = ident_get(p->ctx, symbol->dialect);
    if (dialect_lookup_foreign(p->ctx, symbol->dialect)) {
        StrBuf text = {0};
        bool ok = parse_foreign_text(p, symbol->data, &text);
        const Attr *attr = ok ? attr_opaque(p->ctx, dialect, strbuf_str(&text), false, type) : NULL;
        strbuf_free(&text);
        return attr;
    }
    if (dialect_allows_unregistered(p->ctx))
        return attr_opaque(p->ctx, dialect, symbol->data, false, type);
    parse_fail_at(p, symbol->at, "#\"%.*s\"<\"%.*s\"> : '%s' attribute " ALLOW_HINT,
                  STR_ARG(symbol->dialect), STR_ARG(symbol->data),
                  type ? type_str(p->ctx, type) : "none");
    return NULL;
}

static const Type *opaque_type(OpParser *p, const Symbol *symbol)
{
    const Ident *dialect = ident_get(p->ctx, symbol->dialect);
    if (dialect_lookup_foreign(p->ctx, symbol->dialect)) {
        StrBuf text = {0};
        bool ok = parse_foreign_text(p, symbol->data, &text);
        const Type *type = ok ? type_opaque(p->ctx, dialect, strbuf_str(&text), false) : NULL;
        strbuf_free(&text);
        return type;
    }
    if (dialect_allows_unregistered(p->ctx))
        return type_opaque(p->ctx, dialect, symbol->data, false);
    parse_fail_at(p, symbol->at, "`!\"%.*s\"<\"%.*s\">` type " ALLOW_HINT, STR_ARG(symbol->dialect),
                  STR_ARG(symbol->data));
    return NULL;
}

static const Attr *parse_symbol_attr(OpParser *p, const Symbol *symbol, const Type *type)
{
    if (parse_accept(p, TOK_COLON) && !(type = parse_type(p))) return NULL;
    const DialectDef *dialect = dialect_of_attrs(p->ctx, symbol->dialect);
    bool is_foreign = dialect && !dialect_lookup(p->ctx, symbol->dialect);
    if (!dialect || (is_foreign && !foreign_attr_def(dialect, symbol)))
        return opaque_attr(p, symbol, type);
    Detour detour = detour_begin(p, symbol);
    const Attr *attr = parse_dialect_attr(p, dialect, type);
    detour_end(p, detour);
    return attr;
}

const Attr *parse_extended_attr(OpParser *p, const Type *type)
{
    Symbol symbol;
    if (!parse_symbol(p, &symbol)) return NULL;
    const Attr *attr = symbol.is_alias ? parse_alias_of_attr(p, symbol.dialect)
                                       : parse_symbol_attr(p, &symbol, type);
    if (!attr || !type || !attr->type || attr->type == type) return attr;
    parse_fail(p, "attribute type different than expected: expected '%s', but got '%s'",
               type_str(p->ctx, type), type_str(p->ctx, attr->type));
    return NULL;
}

const Type *parse_extended_type(OpParser *p)
{
    Symbol symbol;
    if (!parse_symbol(p, &symbol)) return NULL;
    if (symbol.is_alias) return parse_alias_of_type(p, symbol.dialect);
    const DialectDef *dialect = dialect_lookup(p->ctx, symbol.dialect);
    if (!dialect) return opaque_type(p, &symbol);
    Detour detour = detour_begin(p, &symbol);
    const Type *type = parse_dialect_type(p, dialect);
    detour_end(p, detour);
    return type;
}
