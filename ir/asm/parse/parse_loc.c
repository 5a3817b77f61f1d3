/* Parsing of locations, loc(…), and of aliases that are defined after their use. Such an alias is
 * represented by a stand-in location until the text has been read; then the module is walked once
 * and every stand-in is replaced.
 * Tests: lit/ir/asm/parse/locations.mir, lit/ir/asm/parse/locations-invalid.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"

static bool parse_line_number(OpParser *p, uint32_t *out, const char *message)
{
    uint64_t value;
    if (!parse_at(p, TOK_INT) || !token_u64(p->tok.text, &value) || value > UINT32_MAX) {
        return parse_fail_missing(p, "%s", message);
    }
    *out = (uint32_t)value;
    parse_advance(p);
    return true;
}

/* file-location ::= string ':' line ':' column     name-location ::= string ('(' location ')')? */
static const Attr *parse_file_or_name(OpParser *p)
{
    const Ident *name = ident_get(p->ctx, token_string(p->tok, &p->scratch));
    parse_advance(p);
    if (parse_accept(p, TOK_COLON)) {
        uint32_t line = 0, col = 0;
        if (!parse_line_number(p, &line, "expected integer line number in FileLineColLoc") ||
            !parse_token(p, TOK_COLON, "expected ':' in FileLineColLoc") ||
            !parse_line_number(p, &col, "expected integer column number in FileLineColLoc"))
            return NULL;
        return loc_file(p->ctx, name, line, col);
    }
    if (!parse_accept(p, TOK_LPAREN)) return loc_name(name, loc_unknown(p->ctx));
    const Attr *child = parse_loc_body(p);
    if (!child || !parse_token(p, TOK_RPAREN, "expected ')' after child location of NameLoc")) {
        return NULL;
    }
    return loc_name(name, child);
}

/* callsite-location ::= 'callsite' '(' location 'at' location ')' */
static const Attr *parse_callsite(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LPAREN, "expected '(' in callsite location")) return NULL;
    const Attr *callee = parse_loc_body(p);
    if (!callee) return NULL;
    if (!parse_at_word(p, "at")) {
        parse_fail_missing(p, "expected 'at' in callsite location");
        return NULL;
    }
    parse_advance(p);
    const Attr *caller = parse_loc_body(p);
    if (!caller || !parse_token(p, TOK_RPAREN, "expected ')' in callsite location")) return NULL;
    return loc_callsite(callee, caller);
}

static bool push_loc(OpParser *p, void *user)
{
    (void)user;
    const Attr *loc = parse_loc_body(p);
    if (!loc) return false;
    *vec_push(&p->attrs) = loc;
    return true;
}

/* fused-location ::= 'fused' ('<' attribute '>')? '[' (location (',' location)*)? ']' */
static const Attr *parse_fused(OpParser *p)
{
    parse_advance(p);
    const Attr *metadata = NULL;
    if (parse_accept(p, TOK_LESS)) {
        if (!(metadata = parse_attr(p, NULL))) return NULL;
        if (!parse_token(p, TOK_GREATER, "expected '>' after fused location metadata")) return NULL;
    }
    size_t base = p->attrs.len;
    if (!parse_list(p, LIST_SQUARE, " in fused location", push_loc, NULL)) return NULL;
    const Attr *loc = loc_fused(p->ctx, p->attrs.data + base, p->attrs.len - base, metadata);
    p->attrs.len = base;
    return loc;
}

/* #alias of a location */
static const Attr *parse_loc_alias(OpParser *p)
{
    const Attr *attr = parse_extended_attr(p, NULL);
    if (!attr || attr_is_loc(attr)) return attr;
    parse_fail(p, "expected location attribute, but got%s", attr_str(p->ctx, attr));
    return NULL;
}

/* location ::= file-location | name-location | callsite-location | fused-location | 'unknown'
 *            | #alias */
const Attr *parse_loc_body(OpParser *p)
{
    if (!parse_enter(p)) return NULL;
    const Attr *loc = NULL;
    if (parse_at(p, TOK_HASH)) {
        loc = parse_loc_alias(p);
    } else if (parse_at(p, TOK_STRING)) {
        loc = parse_file_or_name(p);
    } else if (parse_at_word(p, "callsite")) {
        loc = parse_callsite(p);
    } else if (parse_at_word(p, "fused")) {
        loc = parse_fused(p);
    } else if (parse_at_word(p, "unknown")) {
        parse_advance(p);
        loc = loc_unknown(p->ctx);
    } else {
        parse_fail_missing(p, "expected location instance");
    }
    parse_leave(p);
    return loc;
}

typedef struct LateLoc {
    Attr stand_in; /* an unknown location of its own */
    const Ident *alias;
    SrcPos at; /* of its first use */
} LateLoc;

/* late_locs maps both ways: alias -> LateLoc, and stand-in (its first member) -> itself. */
static const Attr *late_loc(OpParser *p, const Ident *alias, SrcPos at)
{
    LateLoc *late = ptrmap_get(&p->late_locs, alias);
    if (!late) {
        late = ARENA_NEW(&p->scratch, LateLoc);
        *late = (LateLoc){{.kind = ATTR_LOC_UNKNOWN, .ctx = p->ctx}, alias, at};
        ptrmap_put(&p->late_locs, alias, late);
        ptrmap_put(&p->late_locs, &late->stand_in, late);
    }
    return &late->stand_in;
}

static const Attr *expect_loc(OpParser *p, SrcPos at, const Attr *attr)
{
    if (attr_is_loc(attr)) return attr;
    parse_fail_at(p, at, "expected location, but found '%s'", attr_str(p->ctx, attr));
    return NULL;
}

static const Attr *parse_loc_or_late(OpParser *p)
{
    if (!parse_at(p, TOK_HASH)) return parse_loc_body(p);
    SrcPos at = p->tok.text.data;
    Str name = {at + 1, p->tok.text.len - 1};
    if (memchr(name.data, '.', name.len)) {
        parse_fail_at(p, at, "expected location, but found dialect attribute: '#%.*s'",
                      STR_ARG(name));
        return NULL;
    }
    const Ident *alias = ident_get(p->ctx, name);
    parse_advance(p);
    const Alias *known = ptrmap_get(&p->attr_aliases, alias);
    return known ? expect_loc(p, at, known->object) : late_loc(p, alias, at);
}

bool parse_trailing_loc(OpParser *p, const Attr **out)
{
    if (!parse_accept(p, KW_loc)) return true;
    if (!parse_token(p, TOK_LPAREN, "expected '(' in location")) return false;
    const Attr *loc = parse_loc_or_late(p);
    if (!loc || !parse_token(p, TOK_RPAREN, "expected ')' in location")) return false;
    *out = loc;
    return true;
}

static bool resolve_loc(OpParser *p, const Attr **loc)
{
    if (!*loc || (*loc)->kind != ATTR_LOC_UNKNOWN) return true;
    const LateLoc *late = ptrmap_get(&p->late_locs, *loc);
    if (!late) return true;
    const Alias *alias = ptrmap_get(&p->attr_aliases, late->alias);
    if (!alias) return parse_fail_at(p, late->at, "operation location alias was never defined");
    const Attr *found = expect_loc(p, late->at, alias->object);
    if (found) *loc = found;
    return found != NULL;
}

static bool resolve_locs_of(Op *op, void *user)
{
    OpParser *p = user;
    if (!resolve_loc(p, &op->loc)) return false;
    for (uint32_t i = 0; i < op->region_count; i++) {
        FOR_EACH_BLOCK(block, op_region(op, i)) {
            for (uint32_t a = 0; a < block->arg_count; a++) {
                if (!resolve_loc(p, &block->args[a]->loc)) return false;
            }
        }
    }
    return true;
}

bool parse_resolve_late_locs(OpParser *p)
{
    return p->late_locs.live == 0 || op_walk(p->module, resolve_locs_of, p);
}
