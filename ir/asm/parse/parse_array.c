/* Parsing of flat arrays of numbers: array<i64: 1, 2>. The type comes first, so elements are stored
 * directly as they are read.
 * Tests: lit/ir/asm/parse/elements.mir, lit/ir/asm/parse/elements-invalid.mir */
#include "ir/asm/parse/internal.h"

typedef VEC(uint8_t) Bytes;

typedef struct ArrayReader {
    const Type *elem;
    size_t bytes; /* per element */
    size_t count;
    Bytes data;
} ArrayReader;

static void push_words(ArrayReader *reader, const uint64_t *words)
{
    vec_reserve(&reader->data, reader->data.len + reader->bytes);
    parse_store_words(reader->data.data + reader->data.len, words, reader->bytes);
    reader->data.len += reader->bytes;
    reader->count++;
}

static bool parse_array_float(OpParser *p, ArrayReader *reader, bool negative)
{
    if (!parse_at(p, TOK_FLOAT) && !parse_at(p, TOK_INT)) {
        return parse_fail(p, "expected integer or floating point literal");
    }
    uint64_t words[2];
    if (!parse_float_words(p, reader->elem, negative, p->tok, words)) return false;
    push_words(reader, words);
    parse_advance(p);
    return true;
}

static bool parse_array_int(OpParser *p, ArrayReader *reader, bool negative)
{
    Token tok = p->tok;
    if (tok.kind == KW_true || tok.kind == KW_false) {
        if (!type_is_integer(reader->elem) || type_width(reader->elem) != 1) {
            return parse_fail(p, "expected i1 type for 'true' or 'false' values");
        }
        push_words(reader, &(uint64_t){tok.kind == KW_true});
        parse_advance(p);
        return true;
    }
    if (!parse_accept(p, TOK_INT)) return parse_fail(p, "expected integer literal");
    BigInt value;
    if (!parse_int_value(&p->scratch, reader->elem, negative, tok.text, &value)) {
        return parse_fail(p, "integer constant out of range");
    }
    push_words(reader, bigint_words(&value));
    return true;
}

static bool parse_array_element(OpParser *p, void *user)
{
    ArrayReader *reader = user;
    bool negative = parse_accept(p, TOK_MINUS);
    return type_is_float(reader->elem) ? parse_array_float(p, reader, negative)
                                       : parse_array_int(p, reader, negative);
}

static const Type *parse_array_type(OpParser *p)
{
    SrcPos at = p->tok.text.data;
    const Type *elem = parse_type(p);
    if (!elem) {
        if (!parse_at(p, TOK_EOF)) {
            parse_fail_at(p, at, "expected an integer or floating point type");
        }
    } else if (!type_is_integer(elem) && !type_is_float(elem)) {
        parse_fail_at(p, at, "expected integer or float type, got: '%s'", type_str(p->ctx, elem));
    } else if (type_width(elem) != 1 && type_width(elem) % 8 != 0) {
        parse_fail_at(p, at, "element type bitwidth must be a multiple of 8");
    } else {
        return elem;
    }
    return NULL;
}

/* array ::= 'array' '<' type (':' number (',' number)*)? '>' */
const Attr *parse_dense_array(OpParser *p)
{
    parse_advance(p);
    if (!parse_token(p, TOK_LESS, "expected '<' after 'array'")) return NULL;
    const Type *elem = parse_array_type(p);
    if (!elem) return NULL;
    if (parse_accept(p, TOK_GREATER)) return attr_dense_array(elem, "", 0);
    if (!parse_token(p, TOK_COLON, "expected ':' after dense array type")) return NULL;
    ArrayReader reader = {.elem = elem, .bytes = (type_width(elem) + 7) / 8};
    const Attr *attr = NULL;
    if (parse_list(p, LIST_BARE, "", parse_array_element, &reader) &&
        parse_token(p, TOK_GREATER, "expected '>' to close an array attribute"))
        attr = attr_dense_array(elem, reader.data.data, reader.count);
    vec_free(&reader.data);
    return attr;
}
