/* Parsing of whole texts: a module with its alias definitions and its resource section, or a single
 * type or attribute. parse_op.c reads ops, parse_region.c regions, parse_names.c resolves names,
 * parse_type.c, parse_attr.c and others read the rest; parser_hooks.c offers the parser to the
 * hooks of ops.
 *
 * A failed parse frees everything that it made: it moves every detached piece into the module and
 * erases the module, which is safe because all uses are then inside it.
 * Tests: lit/ir, test/unit/ir/asm/parse/parse_test.c, fuzz/fuzz_text.c */
#include <string.h>

#include "ir/asm/parse/internal.h"
#include "ir/verify/verify.h"

/* '#' name '=' | '!' name '=' : the name, when it is free */
static const Ident *parse_alias_name(OpParser *p, const PtrMap *aliases, const char *what)
{
    Str text = {p->tok.text.data + 1, p->tok.text.len - 1};
    const Ident *name = ident_get(p->ctx, text);
    if (ptrmap_has(aliases, name)) {
        parse_fail(p, "redefinition of %s alias id '%.*s'", what, STR_ARG(text));
        return NULL;
    }
    if (memchr(text.data, '.', text.len)) {
        parse_fail(p, "%s names with a '.' are reserved for dialect-defined names", what);
        return NULL;
    }
    parse_advance(p);
    if (parse_accept(p, TOK_EQUAL)) return name;
    parse_fail_missing(p, "expected '=' in %s alias definition", what);
    return NULL;
}

/* `before`: what was parsed before the alias's definition. */
static bool add_alias(OpParser *p, PtrMap *aliases, const Ident *name, const void *object,
                      uint64_t before)
{
    if (!object) return false;
    Alias *alias = ARENA_NEW(&p->scratch, Alias);
    *alias = (Alias){object, p->deepest, p->parsed - before};
    ptrmap_put(aliases, name, alias);
    return true;
}

/* attribute-alias ::= '#' name '=' attribute */
static bool parse_attr_alias(OpParser *p)
{
    const Ident *name = parse_alias_name(p, &p->attr_aliases, "attribute");
    const uint64_t before = p->parsed;
    p->deepest = 0;
    return name && add_alias(p, &p->attr_aliases, name, parse_attr(p, NULL), before);
}

/* type-alias ::= '!' name '=' type */
static bool parse_type_alias(OpParser *p)
{
    const Ident *name = parse_alias_name(p, &p->type_aliases, "type");
    const uint64_t before = p->parsed;
    p->deepest = 0;
    return name && add_alias(p, &p->type_aliases, name, parse_type(p), before);
}

/* text ::= (op | attribute-alias | type-alias | '{-#' section '#-}')* */
static bool parse_text(OpParser *p)
{
    for (;;) {
        bool ok;
        switch (p->tok.kind) {
        case TOK_EOF: return true;
        case TOK_ERROR: return false;
        case TOK_HASH: ok = parse_attr_alias(p); break;
        case TOK_BANG: ok = parse_type_alias(p); break;
        case TOK_METADATA_BEGIN: ok = parse_resource_section(p); break;
        default: ok = parse_op(p); break;
        }
        if (!ok) return false;
    }
}

static Op *create_module(OpParser *p)
{
    OpState state = {.name = ident_get_c(p->ctx, "builtin.module"),
                     .loc = loc_file(p->ctx, p->file, 0, 0),
                     .region_count = 1};
    Op *module = op_create(p->ctx, &state);
    p->block = region_add_block(op_region(module, 0));
    return module;
}

/* Moves everything that is not in the module yet into it, to be erased with it. */
static void gather_loose_parts(OpParser *p)
{
    Region *body = op_region(p->module, 0);
    for (size_t i = 0; i < p->regions.len; i++) region_take(body, p->regions.data[i]);
    for (size_t i = 0; i < p->forward_blocks.len; i++) {
        Block *block = p->forward_blocks.data[i];
        if (!block->parent) block_append(block, body);
    }
    for (size_t i = 0; i < p->placeholders.len; i++)
        op_append(p->placeholders.data[i].op, region_entry(body));
}

static bool read_module(OpParser *p)
{
    parse_push_scope(p);
    return parse_text(p) && parse_check_placeholders(p) && parse_resolve_late_locs(p) &&
           parse_pop_scope(p);
}

/* The module just read, unless it is the implicit one around a single other. */
static Op *unwrap(OpParser *p, bool want_single)
{
    Block *body = region_entry(op_region(p->module, 0));
    size_t count = 0;
    FOR_EACH_OP(op, body) count++;
    bool unwraps = count == 1 && (want_single || body->first->name == p->module->name);
    if (!unwraps && !want_single) return p->module;
    Op *single = NULL;
    if (unwraps) {
        single = body->first;
        op_unlink(single);
    } else {
        diag_error(p->ctx, p->module->loc,
                   "source must contain a single top-level operation, found: %zu", count);
    }
    op_erase(p->module);
    return single;
}

Op *parse_module(Context *ctx, Str text, Str buffer_name, const ParseOptions *options)
{
    static const ParseOptions defaults = {0};
    if (!options) options = &defaults;
    diag_add_source(ctx, buffer_name, text);
    OpParser p;
    parser_open(&p, ctx, text, ident_get(ctx, buffer_name));
    p.passed = options->passed;
    p.mentions = options->mentions;
    p.hook_user = options->user;
    p.passed_place = text.data;
    p.module = create_module(&p);
    Op *result = NULL;
    if (read_module(&p)) {
        parse_drop_placeholders(&p);
        if (options->skip_verify || verify_op(p.module)) {
            result = unwrap(&p, options->no_implicit_module);
        } else {
            op_erase(p.module);
        }
    } else {
        gather_loose_parts(&p);
        op_erase(p.module);
    }
    diag_flush(ctx);
    parser_close(&p);
    return result;
}

static void open_text(OpParser *p, Context *ctx, Str text, const Attr *loc)
{
    parser_open(p, ctx, (Str){"", 0}, NULL);
    p->fixed_loc = loc;
    p->lex = lexer_make(text);
    p->line_start = p->line_seen = p->lex.begin;
    parse_advance(p);
}

static bool close_text(OpParser *p, bool ok)
{
    if (ok && !parse_at(p, TOK_EOF)) {
        const char *rest = p->tok.text.data;
        ok = parse_fail(p, "found trailing characters: '%.*s'", (int)(p->lex.end - rest), rest);
    }
    parser_close(p);
    return ok;
}

const Attr *parse_attr_text(Context *ctx, Str text, const Attr *loc)
{
    OpParser p;
    open_text(&p, ctx, text, loc);
    const Attr *attr = parse_attr(&p, NULL);
    return close_text(&p, attr != NULL) ? attr : NULL;
}

const Type *parse_type_text(Context *ctx, Str text, const Attr *loc)
{
    OpParser p;
    open_text(&p, ctx, text, loc);
    const Type *type = parse_type(&p);
    return close_text(&p, type != NULL) ? type : NULL;
}
