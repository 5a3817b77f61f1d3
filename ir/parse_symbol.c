/* Aliases (#map, !type) and what dialects define: #dialect.name<…>, #dialect<…>, and types
 * alike; then the {-# … #-} section, whose entries name dialects too.
 * A registered dialect's text is read by its TypeDef or AttrDef; after it reading goes on
 * behind the balanced brackets. Other dialects' text is kept as it is.
 * Tests: lit/ir/dialect-symbols.mir, lit/ir/resources.mir, lit/ir/parse-errors.mir */
#include <stdlib.h>
#include <string.h>

#include "ir/parser_impl.h"

/* --- extents of a symbol ---------------------------------------------------------- */

/* One #… or !… : #alias, #dialect.data or #dialect<data>. */
typedef struct Symbol {
    Str dialect; /* or the alias */
    Str data;    /* name and body: "name<…>", or what is between the <> */
    SrcPos at;   /* for messages */
    bool is_alias;
} Symbol;

typedef VEC(char) Brackets;

static bool fail_unbalanced(OpParser *p, const Brackets *open)
{
    return parse_fail(p, "unbalanced '%c' character in pretty dialect name",
                      open->data[open->len - 1]);
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

/* One character of a body; strings are skipped whole. *cur is behind c. */
static bool skip_body_char(OpParser *p, Brackets *open, char c, const char **cur)
{
    const char *end = p->lex.end;
    switch (c) {
    case '\0': return fail_unbalanced(p, open);
    case '<':
    case '[':
    case '(':
    case '{': *vec_push(open) = c; return true;
    case '-': *cur += *cur < end && **cur == '>'; return true;
    case '>':
    case ']':
    case ')':
    case '}':
        if (open->data[open->len - 1] != opening_of(c)) return fail_unbalanced(p, open);
        open->len--;
        return true;
    case '"':
        parse_reset(p, *cur - 1);
        *cur = p->lex.cur;
        return parse_at(p, TOK_STRING);
    default: return true;
    }
}

/* The current token is '<': finds its '>' and goes on behind it. *body includes both. */
static bool parse_symbol_body(OpParser *p, Str *body)
{
    const char *start = p->tok.text.data, *cur = start;
    Brackets open = {0};
    bool ok = true;
    do {
        char c = cur < p->lex.end ? *cur : '\0';
        cur++;
        ok = skip_body_char(p, &open, c, &cur);
    } while (ok && open.len);
    vec_free(&open);
    if (!ok) return false;
    parse_reset(p, cur);
    *body = (Str){start, (size_t)(cur - start)};
    return true;
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

/* --- registered dialects ------------------------------------------------------------- */

/* Reading of a symbol's data by its dialect, in the middle of everything else. */
typedef struct Detour {
    SrcPos resume;
    OpBuild *op;
} Detour;

static Detour detour_begin(OpParser *p, const Symbol *symbol)
{
    Detour detour = {p->tok.text.data, p->op};
    p->op = NULL; /* messages of the hooks are not the op's */
    parse_reset(p, symbol->data.data);
    return detour;
}

static void detour_end(OpParser *p, Detour detour)
{
    p->op = detour.op;
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

/* --- attributes and types ------------------------------------------------------------------ */

static const void *find_alias(OpParser *p, const PtrMap *aliases, Str name)
{
    const Alias *alias = ptrmap_get(aliases, ident_get(p->ctx, name));
    if (alias) return parse_fits(p, alias->depth) ? alias->object : NULL;
    parse_fail_missing(p, "undefined symbol alias id '%.*s'", STR_ARG(name));
    return NULL;
}

#define ALLOW_HINT                                                                                 \
    "created with unregistered dialect. If this is intended, please call "                         \
    "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with "     \
    "the MLIR opt tool used"

static const Attr *opaque_attr(OpParser *p, const Symbol *symbol, const Type *type)
{
    if (context_allows_unregistered(p->ctx)) {
        return attr_opaque(p->ctx, ident_get(p->ctx, symbol->dialect), symbol->data, false, type);
    }
    parse_fail_at(p, symbol->at, "#\"%.*s\"<\"%.*s\"> : '%s' attribute " ALLOW_HINT,
                  STR_ARG(symbol->dialect), STR_ARG(symbol->data),
                  type ? type_str(p->ctx, type) : "none");
    return NULL;
}

static const Attr *parse_symbol_attr(OpParser *p, const Symbol *symbol, const Type *type)
{
    if (parse_accept(p, TOK_COLON) && !(type = parse_type(p))) return NULL;
    const DialectDef *dialect = context_dialect(p->ctx, symbol->dialect);
    if (!dialect) return opaque_attr(p, symbol, type);
    Detour detour = detour_begin(p, symbol);
    const Attr *attr = parse_dialect_attr(p, dialect, type);
    detour_end(p, detour);
    return attr;
}

const Attr *parse_extended_attr(OpParser *p, const Type *type)
{
    Symbol symbol;
    if (!parse_symbol(p, &symbol)) return NULL;
    const Attr *attr = symbol.is_alias ? find_alias(p, &p->attr_aliases, symbol.dialect)
                                       : parse_symbol_attr(p, &symbol, type);
    if (!attr || !type || !attr->type || attr->type == type) return attr;
    parse_fail(p, "attribute type different than expected: expected '%s', but got '%s'",
               type_str(p->ctx, type), type_str(p->ctx, attr->type));
    return NULL;
}

static const Type *opaque_type(OpParser *p, const Symbol *symbol)
{
    if (context_allows_unregistered(p->ctx)) {
        return type_opaque(p->ctx, ident_get(p->ctx, symbol->dialect), symbol->data, false);
    }
    parse_fail_at(p, symbol->at, "`!\"%.*s\"<\"%.*s\">` type " ALLOW_HINT,
                  STR_ARG(symbol->dialect), STR_ARG(symbol->data));
    return NULL;
}

const Type *parse_extended_type(OpParser *p)
{
    Symbol symbol;
    if (!parse_symbol(p, &symbol)) return NULL;
    if (symbol.is_alias) return find_alias(p, &p->type_aliases, symbol.dialect);
    const DialectDef *dialect = context_dialect(p->ctx, symbol.dialect);
    if (!dialect) return opaque_type(p, &symbol);
    Detour detour = detour_begin(p, &symbol);
    const Type *type = parse_dialect_type(p, dialect);
    detour_end(p, detour);
    return type;
}

/* --- resources ------------------------------------------------------------------------------- */

bool parse_resource_key(OpParser *p, const Ident **out)
{
    Str key;
    if (!parse_word_or_string(p, &key)) {
        return parse_fail(p, "expected identifier key for 'resource' entry");
    }
    *out = ident_get(p->ctx, key);
    return true;
}

enum { ALIGN_BYTES = 4 }; /* little endian, before a blob's bytes */

static bool is_power_of_two(uint32_t n) { return (n & (n - 1)) == 0; }

/* "0x…" with the alignment first. */
static bool read_blob(OpParser *p, Token tok, ResourceBlob *blob, uint8_t **data)
{
    SrcPos at = tok.text.data;
    size_t size = 0;
    Str key = blob->key->str;
    if (tok.kind == TOK_ERROR) return false;
    if (tok.kind != TOK_STRING || !token_hex_size(tok, &size)) goto malformed;
    if (size < ALIGN_BYTES) {
        return parse_fail_at(p, at,
                             "expected hex string blob for key '%.*s' to encode alignment in "
                             "first 4 bytes",
                             STR_ARG(key));
    }
    *data = xmalloc(size);
    if (!token_hex_decode(tok, 0, size, *data)) goto malformed;
    for (int i = ALIGN_BYTES - 1; i >= 0; i--) blob->align = blob->align << 8 | (*data)[i];
    if (!is_power_of_two(blob->align)) {
        return parse_fail_at(p, at,
                             "expected hex string blob for key '%.*s' to encode alignment in "
                             "first 4 bytes, but got non-power-of-2 value: %u",
                             STR_ARG(key), blob->align);
    }
    blob->size = size - ALIGN_BYTES;
    blob->data = *data + ALIGN_BYTES;
    return true;
malformed:
    return parse_fail_at(p, at, "expected hex string blob for key '%.*s'", STR_ARG(key));
}

/* entry ::= key ':' string */
static bool parse_dialect_resource(OpParser *p, void *user)
{
    const Ident *dialect = user, *key;
    if (!parse_resource_key(p, &key) || !parse_token(p, TOK_COLON, "expected ':'")) return false;
    Token value = p->tok;
    parse_advance(p);
    ResourceBlob blob = {.dialect = dialect, .key = key};
    uint8_t *data = NULL;
    bool ok = read_blob(p, value, &blob, &data);
    if (ok) context_add_resource(p->ctx, &blob);
    free_ptr((void **)&data);
    return ok;
}

/* entry ::= key ':' ('true' | 'false' | string); strings that begin with 0x are blobs */
static bool parse_external_resource(OpParser *p, void *user)
{
    const Ident *group = user;
    Str key;
    if (!parse_word_or_string(p, &key)) {
        return parse_fail(p, "expected identifier key for 'external_resources' entry");
    }
    if (!parse_token(p, TOK_COLON, "expected ':'")) return false;
    Token value = p->tok;
    parse_advance(p);
    ExternalResource entry = {.key = ident_get(p->ctx, key), .kind = EXTERNAL_BOOL};
    uint8_t *data = NULL;
    bool ok = true;
    if (str_eq(value.text, STR("true"))) {
        entry.truth = true;
    } else if (str_starts_with(value.text, "\"0x")) {
        ResourceBlob blob = {.key = entry.key};
        ok = read_blob(p, value, &blob, &data);
        entry.kind = EXTERNAL_BLOB;
        entry.align = blob.align;
        entry.size = blob.size;
        entry.data = blob.data;
    } else if (value.kind == TOK_STRING) {
        entry.kind = EXTERNAL_STRING;
        entry.text = token_string(value, &p->scratch);
    } else if (!str_eq(value.text, STR("false"))) {
        return parse_fail_at(p, value.text.data, "expected string value for key '%.*s'",
                             STR_ARG(key));
    }
    if (ok) context_add_external(p->ctx, group, &entry);
    free_ptr((void **)&data);
    return ok;
}

/* group ::= name ':' '{' (entry (',' entry)*)? '}' */
static bool parse_resource_group(OpParser *p, void *user)
{
    bool external = *(const bool *)user;
    Token tok = p->tok;
    if (!token_is_word(tok)) {
        return parse_fail(p, "expected identifier key for 'resource' entry");
    }
    parse_advance(p);
    if (!parse_token(p, TOK_COLON, "expected ':'") || !parse_token(p, TOK_LBRACE, "expected '{'")) {
        return false;
    }
    const Ident *name = ident_get(p->ctx, tok.text);
    if (external) {
        return parse_list_until(p, TOK_RBRACE, "}", parse_external_resource,
                                (void *)(uintptr_t)name);
    }
    if (!context_dialect(p->ctx, tok.text)) {
        return parse_fail_at(p, tok.text.data, "dialect '%.*s' is unknown", STR_ARG(tok.text));
    }
    if (!str_eq(tok.text, STR("builtin"))) {
        return parse_fail(p, "unexpected 'resource' section for dialect '%.*s'", STR_ARG(tok.text));
    }
    return parse_list_until(p, TOK_RBRACE, "}", parse_dialect_resource, (void *)(uintptr_t)name);
}

/* section ::= ('dialect_resources' | 'external_resources') ':' '{' group (',' group)* '}' */
static bool parse_section_entry(OpParser *p, void *user)
{
    (void)user;
    Token tok = p->tok;
    if (!token_is_word(tok)) {
        return parse_fail(p, "expected identifier key in file metadata dictionary");
    }
    parse_advance(p);
    if (!parse_token(p, TOK_COLON, "expected ':'")) return false;
    bool external = str_eq(tok.text, STR("external_resources"));
    if (!external && !str_eq(tok.text, STR("dialect_resources"))) {
        return parse_fail_at(p, tok.text.data, "unknown key '%.*s' in file metadata dictionary",
                             STR_ARG(tok.text));
    }
    return parse_token(p, TOK_LBRACE, "expected '{'") &&
           parse_list_until(p, TOK_RBRACE, "}", parse_resource_group, &external);
}

bool parse_resource_section(OpParser *p)
{
    parse_advance(p);
    return parse_list_until(p, TOK_METADATA_END, "#-}", parse_section_entry, NULL);
}
