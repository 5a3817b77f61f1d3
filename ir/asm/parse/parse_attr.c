/* Parsing of attributes, except for elements (parse_dense.c), locations (parse_loc.c), and aliases
 * and dialects' attributes (parse_symbol.c). The grammar is written above each function.
 * Tests: lit/ir/asm/parse/attributes.mir, lit/ir/asm/parse/attributes-invalid.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"
#include "ir/support/support.h"

static uint32_t int_width(const Type *type)
{
    return type->kind == TYPE_INDEX ? 64 : type->u.integer.width;
}

/* The top bit is the sign: a literal without sign must not reach it. */
static bool wants_clear_sign(const Type *type)
{
    return type->kind == TYPE_INDEX || type->u.integer.sign == SIGNED;
}

bool parse_int_word(const Type *type, bool negative, uint64_t value, BigInt *out)
{
    uint32_t width = int_width(type);
    if (width == 0 || width > 64) return false;
    uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (value > mask) return false;
    bool sign = negative ? (0 - value) >> (width - 1) & 1 : value >> (width - 1) & 1;
    if (negative ? !sign : sign && wants_clear_sign(type)) return false;
    *out = (BigInt){.width = width, .u.word = (negative ? 0 - value : value) & mask};
    return true;
}

bool parse_int_value(Arena *arena, const Type *type, bool negative, Str digits, BigInt *out)
{
    uint32_t width = int_width(type);
    uint64_t value;
    if (width > 0 && width <= 64)
        return token_u64(digits, &value) && parse_int_word(type, negative, value, out);
    if (!bigint_parse(arena, digits, width, out)) return false;
    if (width == 0) return !negative;
    if (negative) {
        *out = bigint_neg(arena, out);
        return bigint_is_negative(out);
    }
    return !wants_clear_sign(type) || !bigint_is_negative(out);
}

static const Attr *parse_int_attr(OpParser *p, const Type *type, bool negative, Token tok)
{
    SrcPos at = tok.text.data;
    BigInt value;
    if (!type_is_integer(type) && type->kind != TYPE_INDEX) {
        parse_fail_at(p, at, "integer literal not valid for specified type");
    } else if (negative && type_is_integer(type) && type->u.integer.sign == UNSIGNED) {
        parse_fail_at(p, at, "negative integer literal not valid for unsigned integer type");
    } else if (!parse_int_value(&p->scratch, type, negative, tok.text, &value)) {
        parse_fail_at(p, at, "integer constant out of range for attribute");
    } else {
        return attr_bigint(type, &value);
    }
    return NULL;
}

static bool hex_float_words(OpParser *p, const Type *type, bool negative, Token tok,
                            uint64_t words[2])
{
    SrcPos at = tok.text.data;
    if (!token_is_hex(tok.text)) {
        parse_fail_at(p, at, "unexpected decimal integer literal for a floating point value");
        if (!parse_at(p, TOK_ERROR)) {
            parse_note_at(p, at, "add a trailing dot to make the literal a float");
        }
        return false;
    }
    if (negative) {
        return parse_fail_at(p, at, "hexadecimal float literal should not have a leading minus");
    }
    BigInt bits;
    if (!bigint_parse(&p->scratch, tok.text, float_width((int)type->kind), &bits)) {
        return parse_fail_at(p, at, "hexadecimal float constant out of range for type");
    }
    words[0] = bigint_words(&bits)[0];
    words[1] = bigint_word_count(bits.width) > 1 ? bigint_words(&bits)[1] : 0;
    return true;
}

bool parse_float_words(OpParser *p, const Type *type, bool negative, Token tok, uint64_t words[2])
{
    if (tok.kind != TOK_FLOAT) return hex_float_words(p, type, negative, tok, words);
    double value;
    if (!float_parse(tok.text, &value)) {
        return parse_fail_at(p, tok.text.data, "floating point value too large");
    }
    float_to_words((int)type->kind, negative ? -value : value, words);
    return true;
}

static const Attr *parse_float_attr(OpParser *p, const Type *type, bool negative, Token tok)
{
    uint64_t words[2];
    if (!parse_float_words(p, type, negative, tok, words)) return NULL;
    return attr_float_words(type, words);
}

/* number ::= '-'? (integer | float) (':' type)? */
static const Attr *parse_number(OpParser *p, const Type *type)
{
    bool negative = parse_accept(p, TOK_MINUS);
    Token tok = p->tok;
    if (tok.kind != TOK_INT && tok.kind != TOK_FLOAT) {
        parse_fail_missing(p, "expected constant integer or floating point value");
        return NULL;
    }
    parse_advance(p);
    if (!type && parse_accept(p, TOK_COLON)) {
        if (!(type = parse_type(p))) return NULL;
    } else if (!type) {
        type = tok.kind == TOK_INT ? type_i(p->ctx, 64) : type_float(p->ctx, TYPE_F64);
    }
    if (type_is_float(type)) return parse_float_attr(p, type, negative, tok);
    if (tok.kind == TOK_INT) return parse_int_attr(p, type, negative, tok);
    parse_fail(p, "floating point value not valid for specified type");
    return NULL;
}

static bool push_attr(OpParser *p, void *user)
{
    (void)user;
    const Attr *attr = parse_attr(p, NULL);
    if (!attr) return false;
    *vec_push(&p->attrs) = attr;
    return true;
}

/* array ::= '[' (attribute (',' attribute)*)? ']' */
static const Attr *parse_array(OpParser *p)
{
    parse_advance(p);
    size_t base = p->attrs.len;
    if (!parse_list_until(p, TOK_RSQUARE, "]", push_attr, NULL)) return NULL;
    const Attr *attr = attr_array(p->ctx, p->attrs.data + base, p->attrs.len - base);
    p->attrs.len = base;
    return attr;
}

/* Keys of the dictionary being read: searched one by one while few, else in a map. */
typedef struct DictKeys {
    size_t base; /* on p->named */
    PtrMap seen;
} DictKeys;

enum { FEW_KEYS = 16 };

static bool key_is_new(OpParser *p, DictKeys *keys, const Ident *name)
{
    size_t count = p->named.len - keys->base;
    const NamedAttr *items = p->named.data + keys->base;
    if (count < FEW_KEYS) {
        for (size_t i = 0; i < count; i++) {
            if (items[i].name == name) return false;
        }
        return true;
    }
    if (count == FEW_KEYS) {
        for (size_t i = 0; i < count; i++) ptrmap_put(&keys->seen, items[i].name, p);
    }
    return !ptrmap_put(&keys->seen, name, p);
}

/* entry ::= (word | string) ('=' attribute)? */
static bool parse_entry(OpParser *p, void *user)
{
    Str key;
    if (parse_at(p, TOK_STRING))
        key = token_string(p->tok, &p->scratch);
    else if (token_is_word(p->tok))
        key = p->tok.text;
    else
        return parse_fail_missing(p, "expected attribute name");
    if (key.len == 0) return parse_fail(p, "expected valid attribute name");
    const Ident *name = ident_get(p->ctx, key);
    if (!key_is_new(p, user, name)) {
        return parse_fail(p, "duplicate key '%.*s' in dictionary attribute", STR_ARG(key));
    }
    parse_advance(p);
    const Attr *value;
    if (!parse_accept(p, TOK_EQUAL))
        value = attr_unit(p->ctx);
    else if (!(value = parse_attr(p, NULL)))
        return false;
    *vec_push(&p->named) = (NamedAttr){name, value};
    return true;
}

bool parse_attr_entries(OpParser *p)
{
    DictKeys keys = {.base = p->named.len};
    bool ok = parse_list(p, LIST_BRACE, " in attribute dictionary", parse_entry, &keys);
    ptrmap_free(&keys.seen);
    return ok;
}

const Attr *parse_entries_as_dict(OpParser *p, size_t base)
{
    const Attr *dict = attr_dict(p->ctx, p->named.data + base, p->named.len - base);
    p->named.len = base;
    return dict;
}

/* dictionary ::= '{' (entry (',' entry)*)? '}' */
static const Attr *parse_dict(OpParser *p)
{
    size_t base = p->named.len;
    return parse_attr_entries(p) ? parse_entries_as_dict(p, base) : NULL;
}

/* string-attribute ::= string (':' type)? */
static const Attr *parse_string_attr(OpParser *p, const Type *type)
{
    Str text = token_string(p->tok, &p->scratch);
    parse_advance(p);
    if (!type && parse_accept(p, TOK_COLON) && !(type = parse_type(p))) return NULL;
    return type ? attr_typed_string(type, text) : attr_string(p->ctx, text);
}

/* Is this "::"? A single colon is given back. */
static bool parse_double_colon(OpParser *p)
{
    SrcPos at = p->tok.text.data;
    if (!parse_accept(p, TOK_COLON)) return false;
    if (parse_accept(p, TOK_COLON)) return true;
    if (!parse_at(p, TOK_EOF) && !parse_at(p, TOK_ERROR)) parse_reset(p, at);
    return false;
}

static const Ident *parse_symbol_ident(OpParser *p)
{
    const Ident *name = ident_get(p->ctx, token_string(p->tok, &p->scratch));
    parse_advance(p);
    return name;
}

/* symbol-ref ::= '@' name ('::' '@' name)* */
static const Attr *parse_symbol_ref(OpParser *p)
{
    const Ident *root = parse_symbol_ident(p);
    if (!parse_at(p, TOK_COLON)) return attr_symbol(p->ctx, root);
    VEC(const Ident *) names = {0};
    const Attr *attr = NULL;
    *vec_push(&names) = root;
    while (parse_double_colon(p)) {
        if (!parse_at(p, TOK_AT)) {
            parse_fail_at(p, p->tok.text.data, "expected nested symbol reference identifier");
            goto done;
        }
        *vec_push(&names) = parse_symbol_ident(p);
    }
    attr = attr_symbol_nested(p->ctx, names.data, names.len);
done:
    vec_free(&names);
    return attr;
}

/* affine_map<map> */
static const Attr *parse_map_attr(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in affine map")) return NULL;
    const AffineMap *map = parse_affine_map(p);
    if (!map || !parse_token(p, TOK_GREATER, "expected '>' in affine map")) return NULL;
    return attr_map(map);
}

/* affine_set<set> */
static const Attr *parse_set_attr(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in integer set")) return NULL;
    const IntegerSet *set = parse_integer_set(p);
    if (!set || !parse_token(p, TOK_GREATER, "expected '>' in integer set")) return NULL;
    return attr_set(set);
}

static bool parse_stride(OpParser *p, int64_t *out)
{
    *out = DIM_DYNAMIC;
    if (parse_accept(p, TOK_QUESTION)) return true;
    SrcPos at = p->tok.text.data;
    bool negative = parse_accept(p, TOK_MINUS);
    uint64_t value;
    if (!parse_at(p, TOK_INT) || !token_u64(p->tok.text, &value) || value > INT64_MAX) {
        return parse_fail_at(p, at, "expected a 64-bit signed integer or '?'");
    }
    *out = negative ? -(int64_t)value : (int64_t)value;
    parse_advance(p);
    return true;
}

static bool parse_strides(OpParser *p, DimList *strides)
{
    if (parse_at(p, TOK_RSQUARE)) return true;
    do {
        int64_t stride;
        if (!parse_stride(p, &stride)) return false;
        *vec_push(strides) = stride;
    } while (parse_accept(p, TOK_COMMA));
    return true;
}

/* Parses the text behind "strided": "<[strides], offset: n>". */
static bool parse_strided_body(OpParser *p, DimList *strides, int64_t *offset)
{
    if (!parse_token(p, TOK_LESS, "expected '<' after 'strided'")) return false;
    if (!parse_token(p, TOK_LSQUARE, "expected '['") || !parse_strides(p, strides)) return false;
    if (!parse_token(p, TOK_RSQUARE, "expected ']'")) return false;
    if (parse_accept(p, TOK_GREATER)) return true;
    return parse_token(p, TOK_COMMA, "expected ','") &&
           parse_token(p, KW_offset, "expected 'offset' after comma") &&
           parse_token(p, TOK_COLON, "expected ':' after 'offset'") && parse_stride(p, offset) &&
           parse_token(p, TOK_GREATER, "expected '>'");
}

/* strided ::= 'strided' '<' '[' strides? ']' (',' 'offset' ':' stride)? '>' */
static const Attr *parse_strided(OpParser *p)
{
    SrcPos at = p->tok.text.data;
    parse_advance(p);
    DimList strides = {0};
    int64_t offset = 0;
    bool ok = parse_strided_body(p, &strides, &offset);
    for (size_t i = 0; ok && i < strides.len; i++) {
        if (strides.data[i] == 0) ok = parse_fail_at(p, at, "strides must not be zero");
    }
    const Attr *attr = NULL;
    if (ok) attr = attr_strided_layout(p->ctx, offset, strides.data, (uint32_t)strides.len);
    vec_free(&strides);
    return attr;
}

/* The attribute of that number: made at its first mention, the same ever after. */
static const Attr *distinct_of(OpParser *p, SrcPos at, uint64_t id, const Attr *inner)
{
    const void *key = (const void *)(uintptr_t)(id + 1);
    if (id == UINT64_MAX) {
        parse_fail_at(p, at, "distinct ID is too large");
        return NULL;
    }
    const Attr *known = ptrmap_get(&p->distincts, key);
    if (!known) {
        known = attr_distinct(p->ctx, context_next_distinct(p->ctx), inner);
        ptrmap_put(&p->distincts, key, (void *)(uintptr_t)known);
    } else if (known->u.distinct.inner != inner) {
        parse_fail_at(p, at, "referenced attribute does not match previous definition: %s",
                      attr_str(p->ctx, known->u.distinct.inner));
        return NULL;
    }
    return known;
}

/* distinct ::= 'distinct' '[' integer ']' '<' attribute? '>' */
static const Attr *parse_distinct(OpParser *p, const Type *type)
{
    SrcPos at = p->tok.text.data;
    parse_advance(p);
    if (!parse_token(p, TOK_LSQUARE, "expected '[' after 'distinct'")) return NULL;
    Token tok = p->tok;
    if (!parse_token(p, TOK_INT, "expected distinct ID")) return NULL;
    uint64_t id;
    if (!token_u64(tok.text, &id)) {
        parse_fail(p, "expected an unsigned 64-bit integer");
        return NULL;
    }
    if (!parse_token(p, TOK_RSQUARE, "expected ']' to close distinct ID") ||
        !parse_token(p, TOK_LESS, "expected '<' after distinct ID"))
        return NULL;
    if (parse_accept(p, TOK_GREATER)) return distinct_of(p, at, id, attr_unit(p->ctx));
    const Attr *inner = parse_attr(p, type);
    if (!inner) {
        if (!parse_at(p, TOK_EOF) && !p->is_too_deep) parse_fail(p, "expected attribute");
        return NULL;
    }
    if (!parse_token(p, TOK_GREATER, "expected '>' to close distinct attribute")) return NULL;
    return distinct_of(p, at, id, inner);
}

/* 'loc' '(' location ')' */
static const Attr *parse_loc_attr(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LPAREN, "expected '(' in inline location")) return NULL;
    const Attr *loc = parse_loc_body(p);
    return loc && parse_token(p, TOK_RPAREN, "expected ')' in inline location") ? loc : NULL;
}

bool parse_at_attr(const OpParser *p)
{
    switch (p->tok.kind) {
    case TOK_AT:
    case TOK_FLOAT:
    case TOK_INT:
    case TOK_MINUS:
    case TOK_HASH:
    case TOK_STRING:
    case TOK_LBRACE:
    case TOK_LSQUARE:
    case KW_affine_map:
    case KW_affine_set:
    case KW_array:
    case KW_dense:
    case KW_dense_resource:
    case KW_distinct:
    case KW_false:
    case KW_loc:
    case KW_sparse:
    case KW_strided:
    case KW_true:
    case KW_unit: return true;
    default: return parse_at_type(p);
    }
}

static const Attr *parse_word(OpParser *p, const Attr *value)
{
    parse_advance(p);
    return value;
}

static const Attr *parse_type_attr(OpParser *p)
{
    if (!parse_at_type(p)) {
        parse_fail_missing(p, "expected attribute value");
        return NULL;
    }
    const Type *type = parse_type(p);
    return type ? attr_type(type) : NULL;
}

static const Attr *parse_attr_inside(OpParser *p, const Type *type)
{
    switch (p->tok.kind) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_MINUS: return parse_number(p, type);
    case TOK_STRING: return parse_string_attr(p, type);
    case TOK_AT: return parse_symbol_ref(p);
    case TOK_HASH: return parse_extended_attr(p, type);
    case TOK_LSQUARE: return parse_array(p);
    case TOK_LBRACE: return parse_dict(p);
    case KW_affine_map: return parse_map_attr(p);
    case KW_affine_set: return parse_set_attr(p);
    case KW_array: return parse_dense_array(p);
    case KW_dense: return parse_dense(p, type);
    case KW_dense_resource: return parse_dense_resource(p, type);
    case KW_distinct: return parse_distinct(p, type);
    case KW_loc: return parse_loc_attr(p);
    case KW_sparse: return parse_sparse(p, type);
    case KW_strided: return parse_strided(p);
    case KW_true: return parse_word(p, attr_bool(p->ctx, true));
    case KW_false: return parse_word(p, attr_bool(p->ctx, false));
    case KW_unit: return parse_word(p, attr_unit(p->ctx));
    default: return parse_type_attr(p);
    }
}

const Attr *parse_attr(OpParser *p, const Type *type)
{
    if (!parse_enter(p)) return NULL;
    const Attr *attr = parse_attr_inside(p, type);
    parse_leave(p);
    return attr;
}
