/* Parsing of elements: dense<…>, dense_resource<…>, sparse<…>. A literal precedes its type, so it
 * is read twice: the first time its form and its number of elements are checked, the second time,
 * when the type is known, elements are stored directly. No token is kept, because literals may be
 * huge.
 * Tests: lit/ir/asm/parse/elements.mir, lit/ir/asm/parse/elements-invalid.mir */
#include <string.h>

#include "ir/asm/parse/internal.h"
#include "ir/support/support.h"

#define HEX_STEP ((size_t)1 << 19) /* bytes decoded at a time */

typedef struct DenseLiteral {
    Token start;    /* its first token */
    bool is_string; /* a lone string: hexadecimal data, or one string element */
    bool is_list;
    size_t count; /* numbers or strings in it; a complex element has two */
    DimList dims; /* of nested lists; while reading, a stack of lists' shapes */
} DenseLiteral;

/* element ::= '-'? number | 'true' | 'false' | string | '(' element ',' element ')' */
static bool scan_element(OpParser *p, DenseLiteral *literal)
{
    switch (p->tok.kind) {
    case TOK_LPAREN: {
        if (!parse_enter(p)) return false;
        parse_advance(p);
        bool ok = scan_element(p, literal) &&
                  parse_token(p, TOK_COMMA, "expected ',' between complex elements") &&
                  scan_element(p, literal) &&
                  parse_token(p, TOK_RPAREN, "expected ')' after complex elements");
        parse_leave(p);
        return ok;
    }
    case TOK_MINUS:
        parse_advance(p);
        if (!parse_at(p, TOK_FLOAT) && !parse_at(p, TOK_INT)) {
            return parse_fail(p, "expected integer or floating point literal");
        }
        break;
    case KW_true:
    case KW_false:
    case TOK_FLOAT:
    case TOK_INT:
    case TOK_STRING: break;
    default: return parse_fail(p, "expected element literal of primitive type");
    }
    literal->count++;
    parse_advance(p);
    return true;
}

static bool scan_list(OpParser *p, DenseLiteral *literal);

/* One element of a list whose first one's shape lies at [base, first_end) of the stack. */
static bool scan_item(OpParser *p, DenseLiteral *literal, size_t base, size_t first_end)
{
    DimList *dims = &literal->dims;
    bool is_list = parse_at(p, TOK_LSQUARE);
    if (!(is_list ? scan_list(p, literal) : scan_element(p, literal))) return false;
    size_t rank = first_end - base;
    if (dims->len - first_end != rank ||
        (rank && memcmp(dims->data + base, dims->data + first_end, rank * sizeof(int64_t)) != 0))
        return parse_fail(p, "tensor literal is invalid; ranks are not consistent between "
                             "elements");
    dims->len = first_end;
    return true;
}

static bool scan_items(OpParser *p, DenseLiteral *literal, int64_t *size)
{
    DimList *dims = &literal->dims;
    size_t base = dims->len;
    bool is_list = parse_at(p, TOK_LSQUARE);
    if (!(is_list ? scan_list(p, literal) : scan_element(p, literal))) return false;
    size_t first_end = dims->len, numbers = 0;
    if (!is_list) p->tok = lexer_skip_numbers(&p->lex, p->tok, &numbers);
    literal->count += numbers;
    for (*size = 1 + (int64_t)numbers; parse_accept(p, TOK_COMMA); ++*size) {
        if (!scan_item(p, literal, base, first_end)) return false;
    }
    return true;
}

/* list ::= '[' (item (',' item)*)? ']'     item ::= list | element
 * Leaves the list's shape on the stack. */
static bool scan_list(OpParser *p, DenseLiteral *literal)
{
    if (!parse_enter(p)) return false;
    parse_advance(p);
    DimList *dims = &literal->dims;
    size_t base = dims->len;
    *vec_push(dims) = 0;
    int64_t size = 0;
    if (!parse_accept(p, TOK_RSQUARE)) {
        if (!scan_items(p, literal, &size)) return false;
        if (!parse_token(p, TOK_RSQUARE, "expected ']'")) return false;
    }
    dims->data[base] = size;
    parse_leave(p);
    return true;
}

/* literal ::= list | element, or a string if allowed */
static bool scan_literal(OpParser *p, DenseLiteral *literal, bool allow_string)
{
    literal->start = p->tok;
    literal->is_string = allow_string && parse_at(p, TOK_STRING);
    literal->is_list = parse_at(p, TOK_LSQUARE);
    return literal->is_list ? scan_list(p, literal) : scan_element(p, literal);
}

/* The literal's next number or string, its sign taken off. */
static Token next_element(Lexer *lex, bool *negative)
{
    *negative = false;
    for (;;) {
        Token tok = lexer_next(lex);
        switch (tok.kind) {
        case TOK_MINUS: *negative = true; break;
        case TOK_LSQUARE:
        case TOK_RSQUARE:
        case TOK_LPAREN:
        case TOK_RPAREN:
        case TOK_COMMA: break;
        default: return tok;
        }
    }
}

static Lexer element_lexer(const OpParser *p, const DenseLiteral *literal)
{
    Lexer lex = p->lex;
    lex.cur = literal->start.text.data;
    return lex;
}

void parse_store_words(uint8_t *out, const uint64_t *words, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)(words[i / 8] >> (8 * (i % 8)));
}

static size_t scalar_bytes(const Type *elem)
{
    return (type_width(elem) + 7) / 8;
}

static bool is_i1(const Type *elem)
{
    return elem->kind == TYPE_INTEGER && elem->u.integer.width == 1;
}

static bool int_element(OpParser *p, Arena *arena, const Type *elem, bool negative, Token tok,
                        BigInt *out)
{
    SrcPos at = tok.text.data;
    if (negative && elem->kind == TYPE_INTEGER && elem->u.integer.sign == UNSIGNED) {
        return parse_fail_at(p, at,
                             "expected unsigned integer elements, but parsed negative value");
    }
    switch (tok.kind) {
    case TOK_FLOAT:
        return parse_fail_at(p, at, "expected integer elements, but parsed floating-point");
    case TOK_STRING: return parse_fail_at(p, at, "expected integer elements, but parsed string");
    case KW_true:
    case KW_false:
        if (!type_is_integer(elem) || type_width(elem) != 1) {
            return parse_fail_at(p, at, "expected i1 type for 'true' or 'false' values");
        }
        *out = (BigInt){.width = 1, .u.word = tok.kind == KW_true};
        return true;
    default:
        if (parse_int_value(arena, elem, negative, tok.text, out)) return true;
        return parse_fail_at(p, at, "integer constant out of range for type");
    }
}

static bool float_element(OpParser *p, const Type *elem, bool negative, Token tok,
                          uint64_t words[2])
{
    if (tok.kind == TOK_FLOAT || (tok.kind == TOK_INT && token_is_hex(tok.text))) {
        return parse_float_words(p, elem, negative, tok, words);
    }
    return parse_fail(p, "expected floating-point elements, but parsed integer");
}

/* An integer as most are; false: consumes nothing. */
static bool plain_int(Lexer *lex, const Type *elem, BigInt *out)
{
    const char *begin = lex->cur;
    bool negative, may_be_negative = elem->kind == TYPE_INDEX || elem->u.integer.sign != UNSIGNED;
    uint64_t value;
    if (lexer_small_int(lex, &negative, &value) && (may_be_negative || !negative) &&
        parse_int_word(elem, negative, value, out))
        return true;
    lex->cur = begin;
    return false;
}

static bool next_int(OpParser *p, Lexer *lex, Arena *wide, const Type *elem, BigInt *out)
{
    if (plain_int(lex, elem, out)) return true;
    bool negative;
    Token tok = next_element(lex, &negative);
    return int_element(p, wide, elem, negative, tok, out);
}

static bool read_ints(OpParser *p, const DenseLiteral *literal, const Type *elem, uint8_t *out,
                      bool packed)
{
    Arena wide;
    arena_init(&wide);
    Lexer lex = element_lexer(p, literal);
    size_t bytes = scalar_bytes(elem);
    bool ok = true;
    for (size_t i = 0; i < literal->count; i++) {
        BigInt value;
        ok = next_int(p, &lex, &wide, elem, &value);
        if (!ok) break;
        parse_passed(p, lex.cur);
        if (packed)
            out[i / 8] |= (uint8_t)(value.u.word << (i % 8));
        else
            parse_store_words(out + i * bytes, bigint_words(&value), bytes);
        if (value.width > 64) arena_reset(&wide);
    }
    arena_free(&wide);
    return ok;
}

static bool read_floats(OpParser *p, const DenseLiteral *literal, const Type *elem, uint8_t *out)
{
    Lexer lex = element_lexer(p, literal);
    size_t bytes = scalar_bytes(elem);
    for (size_t i = 0; i < literal->count; i++) {
        bool negative;
        Token tok = next_element(&lex, &negative);
        uint64_t words[2];
        if (!float_element(p, elem, negative, tok, words)) return false;
        parse_passed(p, tok.text.data);
        parse_store_words(out + i * bytes, words, bytes);
    }
    return true;
}

static void add_dims(StrBuf *out, const int64_t *dims, size_t rank)
{
    for (size_t i = 0; i < rank; i++) {
        if (i) strbuf_add_c(out, ", ");
        strbuf_add_int(out, dims[i]);
    }
}

static bool same_shape(const DenseLiteral *literal, const Type *type)
{
    const DimList *dims = &literal->dims;
    return dims->len == type->u.shaped.rank &&
           (dims->len == 0 ||
            memcmp(dims->data, type->u.shaped.dims, dims->len * sizeof(int64_t)) == 0);
}

static bool fail_shape(OpParser *p, SrcPos at, const DenseLiteral *literal, const Type *type)
{
    StrBuf got = {0}, want = {0};
    add_dims(&got, literal->dims.data, literal->dims.len);
    add_dims(&want, type->u.shaped.dims, type->u.shaped.rank);
    strbuf_add_c(&got, "");
    strbuf_add_c(&want, "");
    parse_fail_at(p, at, "inferred shape of elements literal ([%.*s]) does not match type ([%.*s])",
                  STR_ARG(strbuf_str(&got)), STR_ARG(strbuf_str(&want)));
    strbuf_free(&got);
    strbuf_free(&want);
    return false;
}

/* Compares the literal's count with the type's; *is_splat: one element for all. */
static bool check_count(OpParser *p, SrcPos at, const DenseLiteral *literal, const Type *type,
                        bool *is_splat)
{
    int64_t elements;
    if (!type_element_count(type, &elements)) {
        return parse_fail_at(p, at, "type '%s' has too many elements", type_str(p->ctx, type));
    }
    if (literal->is_list && !same_shape(literal, type)) return fail_shape(p, at, literal, type);
    if (literal->count == 0 && elements != 0) {
        return parse_fail_at(p, at, "parsed zero elements, but type ('%s') expected at least 1",
                             type_str(p->ctx, type));
    }
    size_t per_element = type_elem(type)->kind == TYPE_COMPLEX ? 2 : 1;
    *is_splat = !literal->is_list && literal->count == per_element;
    uint64_t want = (uint64_t)elements * per_element;
    if (*is_splat || literal->count == want) return true;
    return parse_fail_at(p, at, "parsed %zu elements, but type ('%s') expected %llu elements",
                         literal->count, type_str(p->ctx, type), (unsigned long long)want);
}

static const Attr *build_numbers(OpParser *p, const DenseLiteral *literal, const Type *type,
                                 bool is_splat)
{
    const Type *elem = type_elem(type);
    bool packed = is_i1(elem);
    if (elem->kind == TYPE_COMPLEX) elem = elem->u.shaped.elem;
    size_t size = packed ? (literal->count + 7) / 8 : literal->count * scalar_bytes(elem);
    uint8_t *data = xcalloc(size ? size : 1, 1);
    bool ok = type_is_float(elem) ? read_floats(p, literal, elem, data)
                                  : read_ints(p, literal, elem, data, packed);
    if (ok) return attr_dense_adopt(type, data, size, is_splat);
    free_ptr((void **)&data);
    return NULL;
}

static const Attr *build_strings(OpParser *p, const DenseLiteral *literal, const Type *type,
                                 bool is_splat)
{
    VEC(Str) items = {0};
    Lexer lex = element_lexer(p, literal);
    const Attr *attr = NULL;
    for (size_t i = 0; i < literal->count; i++) {
        bool negative;
        Token tok = next_element(&lex, &negative);
        if (tok.kind != TOK_STRING) {
            parse_fail_at(p, tok.text.data, "expected string token, got %.*s", STR_ARG(tok.text));
            goto done;
        }
        *vec_push(&items) = token_string(tok, &p->scratch);
    }
    attr = attr_dense_strings(type, items.data, items.len, is_splat);
done:
    vec_free(&items);
    return attr;
}

/* Does the type's data fill that many bytes, or one element's? */
static bool hex_size_fits(const Type *type, size_t size, bool *is_splat)
{
    int64_t elements;
    if (!type_element_count(type, &elements)) return false;
    const Type *elem = type_elem(type);
    if (is_i1(elem)) {
        *is_splat = false;
        return size == ((size_t)elements + 7) / 8;
    }
    size_t bytes = dense_elem_bytes(elem), all;
    *is_splat = size == bytes;
    return *is_splat || (size_mul(bytes, (size_t)elements, &all) && size == all);
}

static bool is_one_byte_splat(const Type *type, const uint8_t *data, size_t size)
{
    return is_i1(type_elem(type)) && size == 1 && (data[0] == 0 || data[0] == 0xff);
}

bool parse_hex(OpParser *p, Token text, size_t size, uint8_t *out)
{
    for (size_t done = 0, step; done < size; done += step) {
        step = size - done < HEX_STEP ? size - done : HEX_STEP;
        if (!token_hex_decode(text, done, done + step, out + done)) return false;
        parse_passed(p, text.text.data + 2 * (done + step));
    }
    return true;
}

/* "0x…": the elements' bytes. */
static const Attr *build_hex(OpParser *p, SrcPos at, const DenseLiteral *literal, const Type *type)
{
    size_t size;
    uint8_t *data = NULL;
    bool is_splat, ok = token_hex_size(literal->start, &size);
    if (ok) {
        data = xmalloc(size);
        ok = parse_hex(p, literal->start, size, data);
    }
    const Attr *attr = NULL;
    if (!ok) {
        parse_fail_at(p, literal->start.text.data,
                      "expected string containing hex digits starting with `0x`");
    } else if (is_one_byte_splat(type, data, size)) {
        attr = attr_dense_raw(type, data, size, true);
    } else if (!hex_size_fits(type, size, &is_splat)) {
        parse_fail_at(p, at, "elements hex data size is invalid for provided type: '%s'",
                      type_str(p->ctx, type));
    } else {
        attr = attr_dense_adopt(type, data, size, is_splat);
        data = NULL;
    }
    free_ptr((void **)&data);
    return attr;
}

static bool is_number_type(const Type *elem)
{
    return type_is_integer(elem) || type_is_float(elem) || elem->kind == TYPE_INDEX ||
           elem->kind == TYPE_COMPLEX;
}

/* The literal as elements of that type; problems of the whole are reported at `at`. */
static const Attr *build_elements(OpParser *p, SrcPos at, const DenseLiteral *literal,
                                  const Type *type)
{
    bool numbers = is_number_type(type_elem(type)), is_splat;
    if (literal->is_string && numbers) return build_hex(p, at, literal, type);
    if (!check_count(p, at, literal, type, &is_splat)) return NULL;
    return numbers ? build_numbers(p, literal, type, is_splat)
                   : build_strings(p, literal, type, is_splat);
}

/* The type given, or read behind a colon: shaped and static. */
static const Type *parse_elements_type(OpParser *p, const Type *type)
{
    if (!type) {
        if (!parse_token(p, TOK_COLON, "expected ':'")) return NULL;
        if (!(type = parse_type(p))) return NULL;
    }
    if (!type_is_shaped(type))
        parse_fail(p, "elements literal must be a shaped type");
    else if (!type_is_static(type))
        parse_fail(p, "elements literal type must have static shape");
    else
        return type;
    return NULL;
}

/* dense ::= 'dense' '<' literal? '>' (':' type)? */
const Attr *parse_dense(OpParser *p, const Type *type)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' after 'dense'")) return NULL;
    DenseLiteral literal = {0};
    const Attr *attr = NULL;
    if (!parse_accept(p, TOK_GREATER)) {
        if (!scan_literal(p, &literal, true)) goto done;
        if (!parse_token(p, TOK_GREATER, "expected '>'")) goto done;
    }
    SrcPos at = p->tok.text.data;
    if (!(type = parse_elements_type(p, type))) goto done;
    attr = build_elements(p, at, &literal, type);
done:
    vec_free(&literal.dims);
    return attr;
}

/* dense-resource ::= 'dense_resource' '<' key '>' (':' type)? */
const Attr *parse_dense_resource(OpParser *p, const Type *type)
{
    SrcPos at = p->tok.text.data;
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' after 'dense_resource'")) return NULL;
    const Ident *key = NULL;
    if (!parse_resource_key(p, &key) || !parse_token(p, TOK_GREATER, "expected '>'")) return NULL;
    if (!type) {
        at = p->tok.text.data;
        if (!parse_token(p, TOK_COLON, "expected ':'")) return NULL;
        if (!(type = parse_type(p))) return NULL;
    }
    if (type_is_shaped(type)) return attr_dense_resource(type, key);
    parse_fail_at(p, at, "`dense_resource` expected a shaped type");
    return NULL;
}

static const Type *tensor_of_dims(const Type *elem, const DimList *dims)
{
    return type_tensor(elem, dims->data, (uint32_t)dims->len, NULL);
}

/* [index, …] of each element must lie in the shape. */
static bool check_sparse_indices(OpParser *p, SrcPos at, const Attr *indices, const Type *type)
{
    int64_t rank = (int64_t)type->u.shaped.rank, count = dense_count(indices);
    const int64_t *dims = type->u.shaped.dims;
    for (int64_t i = 0; i < count; i++) {
        int64_t index = dense_i64(indices, i);
        if (index >= 0 && index < dims[i % rank]) continue;
        StrBuf text = {0};
        for (int64_t d = 0; d < rank; d++) {
            if (d) strbuf_add_c(&text, ", ");
            strbuf_add_uint(&text, (uint64_t)dense_i64(indices, i - i % rank + d));
        }
        parse_fail_at(p, at,
                      "sparse index #%lld is not contained within the value shape, with "
                      "index=[%s], and type='%s'",
                      (long long)(i / rank), text.data, type_str(p->ctx, type));
        strbuf_free(&text);
        return false;
    }
    return true;
}

/* Indices are n × rank, or n for vectors; values n. */
static bool check_sparse(OpParser *p, SrcPos at, const Attr *indices, const Attr *values,
                         const Type *type)
{
    const Type *itype = indices->type, *vtype = values->type;
    uint32_t rank = type->u.shaped.rank, irank = itype->u.shaped.rank;
    const int64_t *idims = itype->u.shaped.dims, *vdims = vtype->u.shaped.dims;
    if (vtype->u.shaped.rank != 1) {
        return parse_fail_at(p, at, "expected 1-d tensor for sparse element values");
    }
    bool ok = idims[0] == vdims[0] && (irank == 2 ? idims[1] == rank : irank == 1 && rank == 1);
    if (ok) return check_sparse_indices(p, at, indices, type);
    StrBuf shape = {0}, ishape = {0}, vshape = {0};
    add_dims(&shape, type->u.shaped.dims, rank);
    add_dims(&ishape, idims, irank);
    add_dims(&vshape, vdims, vtype->u.shaped.rank);
    parse_fail_at(p, at,
                  "expected shape ([%.*s]); inferred shape of indices literal ([%.*s]); inferred "
                  "shape of values literal ([%.*s])",
                  STR_ARG(strbuf_str(&shape)), STR_ARG(strbuf_str(&ishape)),
                  STR_ARG(strbuf_str(&vshape)));
    strbuf_free(&shape);
    strbuf_free(&ishape);
    strbuf_free(&vshape);
    return false;
}

static const Attr *build_sparse(OpParser *p, SrcPos at, DenseLiteral *indices, DenseLiteral *values,
                                const Type *type)
{
    const Type *i64 = type_i(p->ctx, 64), *elem = type_elem(type);
    /* equal indices are printed as one, however many they are */
    int64_t equal[] = {values->is_list ? values->dims.data[0] : 1, type->u.shaped.rank};
    const Type *itype =
        indices->is_list ? tensor_of_dims(i64, &indices->dims) : type_tensor(i64, equal, 2, NULL);
    const Attr *iattr = build_elements(p, indices->start.text.data, indices, itype);
    if (!iattr) return NULL;
    const Type *vtype = values->is_list ? tensor_of_dims(elem, &values->dims)
                                        : type_tensor(elem, itype->u.shaped.dims, 1, NULL);
    const Attr *vattr = build_elements(p, values->start.text.data, values, vtype);
    if (!vattr || !check_sparse(p, at, iattr, vattr, type)) return NULL;
    return attr_sparse(type, iattr, vattr);
}

static const Attr *empty_sparse(OpParser *p, const Type *type)
{
    int64_t dims[] = {0, type->u.shaped.rank};
    const Type *itype = type_tensor(type_i(p->ctx, 64), dims, 2, NULL);
    const Type *vtype = type_tensor(type_elem(type), dims, 1, NULL);
    return attr_sparse(type, attr_dense_raw(itype, "", 0, false),
                       attr_dense_raw(vtype, "", 0, false));
}

static const Attr *parse_sparse_body(OpParser *p, SrcPos at, const Type *type,
                                     DenseLiteral *indices, DenseLiteral *values)
{
    if (!scan_literal(p, indices, false)) return NULL;
    if (!parse_token(p, TOK_COMMA, "expected ','")) return NULL;
    if (!scan_literal(p, values, true)) return NULL;
    if (!parse_token(p, TOK_GREATER, "expected '>'")) return NULL;
    if (!(type = parse_elements_type(p, type))) return NULL;
    return build_sparse(p, at, indices, values, type);
}

/* sparse ::= 'sparse' '<' (literal ',' literal)? '>' (':' type)? */
const Attr *parse_sparse(OpParser *p, const Type *type)
{
    SrcPos at = p->tok.text.data;
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "Expected '<' after 'sparse'")) return NULL;
    if (parse_accept(p, TOK_GREATER)) {
        return (type = parse_elements_type(p, type)) ? empty_sparse(p, type) : NULL;
    }
    DenseLiteral indices = {0}, values = {0};
    const Attr *attr = parse_sparse_body(p, at, type, &indices, &values);
    vec_free(&indices.dims);
    vec_free(&values.dims);
    return attr;
}
