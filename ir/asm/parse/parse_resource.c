/* Parsing of the section {-# … #-}: the blobs that dense_resource attributes name, and the entries
 * of external tools, which are kept in order to be printed back.
 * Tests: lit/ir/asm/parse/resources.mir, lit/ir/asm/parse/resources-invalid.mir,
 * lit/ir/asm/parse/external-resources.mir */
#include "ir/asm/parse/internal.h"

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

static bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* "0x…" with the alignment first. */
static bool read_blob(OpParser *p, Token tok, ResourceBlob *blob, uint8_t **data)
{
    SrcPos at = tok.text.data;
    size_t size = 0;
    Str key = blob->key->str;
    if (tok.kind != TOK_STRING || !token_hex_size(tok, &size)) goto malformed;
    if (size < ALIGN_BYTES) {
        return parse_fail_at(p, at,
                             "expected hex string blob for key '%.*s' to encode alignment in "
                             "first 4 bytes",
                             STR_ARG(key));
    }
    *data = xmalloc(size);
    if (!parse_hex(p, tok, size, *data)) goto malformed;
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
    const Ident *dialect = user, *key = NULL;
    SrcPos at = p->tok.text.data;
    if (!parse_resource_key(p, &key)) return false;
    if (!str_eq_c(dialect->str, "builtin"))
        return parse_fail_at(p, at, "unknown 'resource' key '%.*s' for dialect '%.*s'",
                             STR_ARG(key->str), STR_ARG(dialect->str));
    if (!parse_token(p, TOK_COLON, "expected ':'")) return false;
    Token value = p->tok;
    if (value.kind == TOK_ERROR) return false;
    parse_advance(p);
    ResourceBlob blob = {.dialect = dialect, .key = key};
    uint8_t *data = NULL;
    bool ok = read_blob(p, value, &blob, &data);
    if (ok)
        context_adopt_resource(p->ctx, &blob, data);
    else
        free_ptr((void **)&data);
    return ok;
}

/* entry ::= key ':' ('true' | 'false' | string); strings that begin with 0x are blobs */
static bool read_external(OpParser *p, Token value, ExternalResource *entry, uint8_t **data)
{
    if (value.kind == KW_true || value.kind == KW_false) {
        entry->kind = EXTERNAL_BOOL;
        entry->truth = value.kind == KW_true;
        return true;
    }
    if (value.kind == TOK_STRING && !str_starts_with(value.text, "\"0x")) {
        entry->kind = EXTERNAL_STRING;
        entry->text = token_string(value, &p->scratch);
        return true;
    }
    if (value.kind != TOK_STRING) {
        return parse_fail_at(p, value.text.data, "expected string value for key '%.*s'",
                             STR_ARG(entry->key->str));
    }
    ResourceBlob blob = {.key = entry->key};
    bool ok = read_blob(p, value, &blob, data);
    entry->kind = EXTERNAL_BLOB;
    entry->align = blob.align;
    entry->size = blob.size;
    entry->data = blob.data;
    return ok;
}

static bool parse_external_resource(OpParser *p, void *user)
{
    const Ident *group = user;
    Str key;
    if (!parse_word_or_string(p, &key)) {
        return parse_fail(p, "expected identifier key for 'external_resources' entry");
    }
    if (!parse_token(p, TOK_COLON, "expected ':'")) return false;
    Token value = p->tok;
    if (value.kind == TOK_ERROR) return false;
    parse_advance(p);
    ExternalResource entry = {.key = ident_get(p->ctx, key)};
    uint8_t *data = NULL;
    bool ok = read_external(p, value, &entry, &data);
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
    const DialectDef *dialect = dialect_lookup(p->ctx, tok.text);
    if (!dialect) {
        return parse_fail_at(p, tok.text.data, "dialect '%.*s' is unknown", STR_ARG(tok.text));
    }
    if (!dialect->has_asm_hooks) {
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
