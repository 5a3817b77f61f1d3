/* Parsing of types. The grammar is written above each function. Shapes are read character by
 * character, because the lexer would read the rest of "4x8x…" as one word again for every extent.
 * Tests: lit/ir/asm/parse/types.mir, lit/ir/asm/parse/types-invalid.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"

bool parse_at_type(const OpParser *p)
{
    switch (p->tok.kind) {
    case TOK_LPAREN:
    case TOK_INTTYPE:
    case TOK_BANG:
    case KW_memref:
    case KW_tensor:
    case KW_complex:
    case KW_tuple:
    case KW_vector:
    case KW_f8E4M3:
    case KW_f8E4M3FN:
    case KW_f8E4M3FNUZ:
    case KW_f8E4M3B11FNUZ:
    case KW_f8E5M2:
    case KW_f8E5M2FNUZ:
    case KW_bf16:
    case KW_f16:
    case KW_tf32:
    case KW_f32:
    case KW_f64:
    case KW_f80:
    case KW_f128:
    case KW_index:
    case KW_none: return true;
    default: return false;
    }
}

static const Type *parse_non_function_type(OpParser *p);

static bool push_type(OpParser *p, void *user)
{
    (void)user;
    const Type *type = parse_type(p);
    if (!type) return false;
    *vec_push(&p->types) = type;
    return true;
}

bool parse_type_list(OpParser *p)
{
    return parse_list(p, LIST_BARE, "", push_type, NULL);
}

bool parse_type_list_parens(OpParser *p)
{
    return parse_list(p, LIST_PAREN, "", push_type, NULL);
}

bool parse_function_results(OpParser *p)
{
    if (parse_at(p, TOK_LPAREN)) return parse_type_list_parens(p);
    const Type *type = parse_non_function_type(p);
    if (!type) return false;
    *vec_push(&p->types) = type;
    return true;
}

/* 'x', which may be glued to what follows it: "xf32". */
static bool parse_x(OpParser *p)
{
    if (!parse_at(p, TOK_BARE) || p->tok.text.data[0] != 'x') {
        return parse_fail_missing(p, "expected 'x' in dimension list");
    }
    parse_reset(p, p->tok.text.data + 1);
    return true;
}

/* Reads an integer token as an extent; "0x4" is 0, x, 4. The token after it is lexed, unless
 * took_x is given and an x follows at once: then that is taken too and *took_x set. */
static bool parse_extent(OpParser *p, int64_t *out, bool *took_x)
{
    Str digits = p->tok.text;
    if (token_is_hex(digits)) digits.len = 1;
    uint64_t extent;
    if (!parse_at(p, TOK_INT) || !token_u64(digits, &extent) || extent > INT64_MAX) {
        return parse_fail(p, "invalid dimension");
    }
    *out = (int64_t)extent;
    const char *next = digits.data + digits.len;
    if (took_x && (*took_x = next < p->lex.end && *next == 'x')) next++;
    parse_reset(p, next);
    return true;
}

static bool parse_dim(OpParser *p, DimList *out, bool allow_dynamic, bool *took_x)
{
    int64_t extent = DIM_DYNAMIC;
    *took_x = false;
    if (parse_at(p, TOK_QUESTION)) {
        if (!allow_dynamic) return parse_fail(p, "expected static shape");
        parse_advance(p);
    } else if (!parse_extent(p, &extent, took_x)) {
        return false;
    }
    *vec_push(out) = extent;
    return true;
}

static bool at_extent(const OpParser *p)
{
    return parse_at(p, TOK_INT) || parse_at(p, TOK_QUESTION);
}

/* dims-with-trailing-x ::= (dim 'x')*      dims ::= (dim ('x' dim)*)?      dim ::= '?' | integer */
bool parse_dims(OpParser *p, DimList *out, bool allow_dynamic, bool trailing_x)
{
    bool took_x = false;
    if (trailing_x) {
        while (at_extent(p)) {
            if (!parse_dim(p, out, allow_dynamic, &took_x)) return false;
            if (!took_x && !parse_x(p)) return false;
        }
        return true;
    }
    if (!at_extent(p)) return true;
    for (;;) {
        if (!parse_dim(p, out, allow_dynamic, &took_x)) return false;
        if (took_x) continue;
        if (!parse_at(p, TOK_BARE) || p->tok.text.data[0] != 'x') return true;
        if (!parse_x(p)) return false;
    }
}

/* '*' 'x' | dims-with-trailing-x, after the '<' */
static bool parse_shape(OpParser *p, DimList *dims, bool *unranked)
{
    *unranked = parse_accept(p, TOK_STAR);
    return *unranked ? parse_x(p) : parse_dims(p, dims, true, true);
}

static bool valid_tensor_elem(const Type *type)
{
    switch (type->kind) {
    case TYPE_COMPLEX:
    case TYPE_VECTOR:
    case TYPE_INTEGER:
    case TYPE_INDEX:
    case TYPE_OPAQUE:
    case TYPE_DIALECT: return true;
    default: return type_is_float(type);
    }
}

/* (',' encoding?)? */
static bool parse_encoding(OpParser *p, const Type *elem, uint32_t rank, const Attr **out)
{
    *out = NULL;
    if (!parse_accept(p, TOK_COMMA) || !parse_at_attr(p)) return true;
    const Attr *attr = parse_attr(p, NULL);
    if (!attr) return false;
    *out = attr;
    const AttrDef *def = attr->kind == ATTR_DIALECT ? attr->u.dialect.def : NULL;
    if (!def || !def->verify_tensor) return true;
    return def->verify_tensor(attr, parser_loc_at(p, p->tok.text.data), rank, elem);
}

/* The part of a tensor type after its shape. */
static const Type *parse_tensor_rest(OpParser *p, const DimList *dims, bool unranked)
{
    SrcPos at = p->tok.text.data;
    const Type *elem = parse_type(p);
    if (!elem) return NULL;
    const Attr *encoding;
    if (!parse_encoding(p, elem, (uint32_t)dims->len, &encoding)) return NULL;
    if (!parse_token(p, TOK_GREATER, "expected '>' in tensor type")) return NULL;
    if (!valid_tensor_elem(elem)) {
        parse_fail_at(p, at, "invalid tensor element type");
        return NULL;
    }
    if (!unranked) return type_tensor(elem, dims->data, (uint32_t)dims->len, encoding);
    if (!encoding) return type_unranked_tensor(elem);
    parse_fail(p, "cannot apply encoding to unranked tensor");
    return NULL;
}

/* tensor-type ::= 'tensor' '<' shape type (',' attribute)? '>' */
static const Type *parse_tensor(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in tensor type")) return NULL;
    DimList dims = p->spare_dims;
    p->spare_dims = (DimList){0};
    dims.len = 0;
    bool unranked;
    const Type *type = NULL;
    if (parse_shape(p, &dims, &unranked)) type = parse_tensor_rest(p, &dims, unranked);
    vec_free(&p->spare_dims);
    p->spare_dims = dims;
    return type;
}

typedef VEC(bool) Flags;

/* vector-dims ::= ((integer | '[' integer ']') 'x')* */
static bool parse_vector_dims(OpParser *p, DimList *dims, Flags *scalable)
{
    while (parse_at(p, TOK_INT) || parse_at(p, TOK_LSQUARE)) {
        bool in_brackets = parse_accept(p, TOK_LSQUARE), took_x = false;
        int64_t extent;
        if (!parse_extent(p, &extent, in_brackets ? NULL : &took_x)) return false;
        *vec_push(dims) = extent;
        *vec_push(scalable) = in_brackets;
        if (in_brackets && !parse_accept(p, TOK_RSQUARE)) {
            return parse_fail_missing(p, "missing ']' closing scalable dimension");
        }
        if (!took_x && !parse_x(p)) return false;
    }
    return true;
}

static bool all_positive(const DimList *dims)
{
    for (size_t i = 0; i < dims->len; i++) {
        if (dims->data[i] <= 0) return false;
    }
    return true;
}

static const bool *flags_if_any(const Flags *flags)
{
    for (size_t i = 0; i < flags->len; i++) {
        if (flags->data[i]) return flags->data;
    }
    return NULL;
}

static const Type *parse_vector_rest(OpParser *p, const DimList *dims, const Flags *scalable)
{
    if (!all_positive(dims)) {
        parse_fail_at(p, p->tok.text.data, "vector types must have positive constant sizes");
        return NULL;
    }
    SrcPos at = p->tok.text.data;
    const Type *elem = parse_type(p);
    if (!elem || !parse_token(p, TOK_GREATER, "expected '>' in vector type")) return NULL;
    if (!type_is_integer(elem) && !type_is_float(elem) && elem->kind != TYPE_INDEX) {
        parse_fail_at(p, at, "vector elements must be int/index/float type");
        return NULL;
    }
    return type_vector(elem, dims->data, (uint32_t)dims->len, flags_if_any(scalable));
}

/* vector-type ::= 'vector' '<' vector-dims type '>' */
static const Type *parse_vector(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in vector type")) return NULL;
    DimList dims = {0};
    Flags scalable = {0};
    const Type *type = NULL;
    if (parse_vector_dims(p, &dims, &scalable)) type = parse_vector_rest(p, &dims, &scalable);
    vec_free(&dims);
    vec_free(&scalable);
    return type;
}

typedef struct MemrefParts {
    const Attr *layout, *space;
    bool unranked;
} MemrefParts;

static bool is_layout(const Attr *attr)
{
    return attr->kind == ATTR_AFFINE_MAP || attr->kind == ATTR_STRIDED_LAYOUT;
}

/* layout | memory-space, the layout first */
static bool parse_memref_part(OpParser *p, void *user)
{
    MemrefParts *parts = user;
    const Attr *attr = parse_attr(p, NULL);
    if (!attr) return false;
    if (!is_layout(attr)) {
        if (parts->space) return parse_fail(p, "multiple memory spaces specified in memref type");
        parts->space = attr;
        return true;
    }
    parts->layout = attr;
    if (parts->unranked) return parse_fail(p, "cannot have affine map for unranked memref type");
    if (parts->space) return parse_fail(p, "expected memory space to be last in memref type");
    return true;
}

static bool is_foreign_in_memory(const Type *type)
{
    const DialectDef *dialect = dialect_lookup_foreign(type->ctx, type->u.opaque.dialect->str);
    return dialect && dialect->types_in_memory;
}

static bool valid_memref_elem(const Type *type)
{
    switch (type->kind) {
    case TYPE_MEMREF:
    case TYPE_UNRANKED_MEMREF:
    case TYPE_COMPLEX:
    case TYPE_VECTOR:
    case TYPE_INTEGER:
    case TYPE_INDEX:
    case TYPE_DIALECT: return true;
    case TYPE_OPAQUE: return is_foreign_in_memory(type);
    default: return type_is_float(type);
    }
}

static bool valid_space(const Attr *space)
{
    if (!space) return true;
    switch (space->kind) {
    case ATTR_INTEGER:
    case ATTR_STRING:
    case ATTR_DICT:
    case ATTR_DIALECT: return true;
    case ATTR_OPAQUE:
        return dialect_lookup_foreign(space->ctx, space->u.opaque.dialect->str) != NULL;
    default: return false;
    }
}

static bool check_memref(OpParser *p, SrcPos at, const MemrefParts *parts, size_t rank)
{
    const Attr *layout = parts->layout;
    if (layout && layout->kind == ATTR_AFFINE_MAP && layout->u.map->dim_count != rank) {
        return parse_fail_at(p, at, "memref layout mismatch between rank and affine map: %zu != %u",
                             rank, layout->u.map->dim_count);
    }
    if (layout && layout->kind == ATTR_STRIDED_LAYOUT && layout->u.layout.rank != rank) {
        return parse_fail_at(p, at, "expected the number of strides to match the rank");
    }
    if (!valid_space(parts->space)) {
        return parse_fail_at(p, at, "unsupported memory space Attribute");
    }
    return true;
}

/* Spaces and layouts that say nothing are left out of the type: 0 and the identity map. */
static const Type *build_memref(const Type *elem, const DimList *dims, const MemrefParts *parts)
{
    const Attr *space = parts->space, *layout = parts->layout;
    if (space && space->kind == ATTR_INTEGER && attr_int_value(space) == 0) space = NULL;
    if (parts->unranked) return type_unranked_memref(elem, space);
    if (layout && layout->kind == ATTR_AFFINE_MAP && map_is_identity(layout->u.map)) layout = NULL;
    return type_memref(elem, dims->data, (uint32_t)dims->len, layout, space);
}

static const Type *parse_memref_rest(OpParser *p, SrcPos start, const DimList *dims,
                                     MemrefParts *parts)
{
    SrcPos at = p->tok.text.data;
    const Type *elem = parse_type(p);
    if (!elem) return NULL;
    if (!valid_memref_elem(elem)) {
        parse_fail_at(p, at, "invalid memref element type");
        return NULL;
    }
    if (!parse_accept(p, TOK_GREATER)) {
        if (!parse_token(p, TOK_COMMA, "expected ',' or '>' in memref type")) return NULL;
        if (parse_at(p, TOK_GREATER)) {
            parse_fail_missing(p, "expected list element");
            return NULL;
        }
        if (!parse_list_until(p, TOK_GREATER, ">", parse_memref_part, parts)) return NULL;
    }
    return check_memref(p, start, parts, dims->len) ? build_memref(elem, dims, parts) : NULL;
}

/* memref-type ::= 'memref' '<' shape type (',' layout)? (',' memory-space)? '>' */
static const Type *parse_memref(OpParser *p)
{
    SrcPos start = p->tok.text.data;
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in memref type")) return NULL;
    DimList dims = {0};
    MemrefParts parts = {0};
    const Type *type = NULL;
    if (parse_shape(p, &dims, &parts.unranked)) type = parse_memref_rest(p, start, &dims, &parts);
    vec_free(&dims);
    return type;
}

/* complex-type ::= 'complex' '<' type '>' */
static const Type *parse_complex(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' in complex type")) return NULL;
    SrcPos at = p->tok.text.data;
    const Type *elem = parse_type(p);
    if (!elem || !parse_token(p, TOK_GREATER, "expected '>' in complex type")) return NULL;
    if (type_is_integer(elem) || type_is_float(elem)) return type_complex(elem);
    parse_fail_at(p, at, "invalid element type for complex");
    return NULL;
}

/* tuple-type ::= 'tuple' '<' (type (',' type)*)? '>' */
static const Type *parse_tuple(OpParser *p)
{
    parse_advance(p);
    size_t base = p->types.len;
    if (!parse_list(p, LIST_ANGLE, " in tuple type", push_type, NULL)) return NULL;
    const Type *type = type_tuple(p->ctx, p->types.data + base, p->types.len - base);
    p->types.len = base;
    return type;
}

/* function-type ::= '(' types? ')' '->' (type | '(' types? ')') */
static const Type *parse_function_type(OpParser *p)
{
    size_t base = p->types.len;
    if (!parse_type_list_parens(p)) return NULL;
    size_t inputs = p->types.len - base;
    if (!parse_token(p, TOK_ARROW, "expected '->' in function type")) return NULL;
    if (!parse_function_results(p)) return NULL;
    const Type *const *types = p->types.data + base;
    const Type *type =
        type_function(p->ctx, types, inputs, types + inputs, p->types.len - base - inputs);
    p->types.len = base;
    return type;
}

/* integer-type ::= ('i' | 'si' | 'ui') width */
static const Type *parse_integer_type(OpParser *p)
{
    Str text = p->tok.text;
    Signedness sign = text.data[0] == 'i' ? SIGNLESS : text.data[0] == 's' ? SIGNED : UNSIGNED;
    size_t prefix = sign == SIGNLESS ? 1 : 2;
    uint64_t width;
    if (!token_u64((Str){text.data + prefix, text.len - prefix}, &width) || width > UINT32_MAX) {
        parse_fail(p, "invalid integer width");
        return NULL;
    }
    if (width > BIGINT_MAX_WIDTH) {
        parse_fail(p, "integer bitwidth is limited to %u bits", BIGINT_MAX_WIDTH);
        return NULL;
    }
    parse_advance(p);
    return type_integer(p->ctx, (uint32_t)width, sign);
}

static const Type *parse_keyword_type(OpParser *p)
{
    TypeKind kind;
    switch (p->tok.kind) {
    case KW_f8E4M3: kind = TYPE_F8E4M3; break;
    case KW_f8E4M3FN: kind = TYPE_F8E4M3FN; break;
    case KW_f8E4M3FNUZ: kind = TYPE_F8E4M3FNUZ; break;
    case KW_f8E4M3B11FNUZ: kind = TYPE_F8E4M3B11FNUZ; break;
    case KW_f8E5M2: kind = TYPE_F8E5M2; break;
    case KW_f8E5M2FNUZ: kind = TYPE_F8E5M2FNUZ; break;
    case KW_bf16: kind = TYPE_BF16; break;
    case KW_f16: kind = TYPE_F16; break;
    case KW_tf32: kind = TYPE_TF32; break;
    case KW_f32: kind = TYPE_F32; break;
    case KW_f64: kind = TYPE_F64; break;
    case KW_f80: kind = TYPE_F80; break;
    case KW_f128: kind = TYPE_F128; break;
    case KW_index: parse_advance(p); return type_index(p->ctx);
    case KW_none: parse_advance(p); return type_none(p->ctx);
    default: parse_fail_missing(p, "expected non-function type"); return NULL;
    }
    parse_advance(p);
    return type_float(p->ctx, kind);
}

static const Type *parse_non_function_type(OpParser *p)
{
    if (parse_at(p, TOK_INTTYPE)) return parse_integer_type(p);
    if (!parse_enter(p)) return NULL;
    const Type *type;
    switch (p->tok.kind) {
    case KW_tensor: type = parse_tensor(p); break;
    case KW_vector: type = parse_vector(p); break;
    case KW_memref: type = parse_memref(p); break;
    case KW_complex: type = parse_complex(p); break;
    case KW_tuple: type = parse_tuple(p); break;
    case TOK_BANG: type = parse_extended_type(p); break;
    default: type = parse_keyword_type(p); break;
    }
    parse_leave(p);
    return type;
}

/* type ::= function-type | non-function-type */
const Type *parse_type(OpParser *p)
{
    if (!parse_at(p, TOK_LPAREN)) return parse_non_function_type(p);
    if (!parse_enter(p)) return NULL;
    const Type *type = parse_function_type(p);
    parse_leave(p);
    return type;
}
