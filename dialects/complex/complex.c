/* The attribute #complex.number<:f32 1.0, 0.0> of a complex type.
 * Tests: lit/dialects/sparse_tensor/encoding.mir */
#include "dialects/complex/complex.h"
#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"

/* number ::= '<' ':' type float ',' float '>' */
static const Attr *parse_number(OpParser *p, const Type *type)
{
    (void)type;
    const Attr *params[2];
    const Type *elem;
    if (!parser_expect(p, "<") || !parser_expect(p, ":") || !(elem = parser_type(p))) return NULL;
    if (!type_is_float(elem)) {
        parser_error(p, "element type of the complex attribute must be float like type.");
        return NULL;
    }
    if (!(params[0] = parser_float_of(p, elem)) || !parser_expect(p, ",") ||
        !(params[1] = parser_float_of(p, elem)) || !parser_expect(p, ">"))
        return NULL;
    return attr_dialect_typed(parser_ctx(p), &complex_number, type_complex(elem), params,
                              COUNT_OF(params));
}

static void print_part(StrBuf *out, const Attr *part)
{
    const uint64_t words[] = {part->u.float_bits, part->u.float_high};
    float_print_words(out, (int)part->type->kind, words);
}

static void print_number(StrBuf *out, const Attr *attr)
{
    const Attr *const *params = attr->u.dialect.params;
    strbuf_add_c(out, "<:");
    type_print(out, params[0]->type);
    strbuf_add_char(out, ' ');
    print_part(out, params[0]);
    strbuf_add_c(out, ", ");
    print_part(out, params[1]);
    strbuf_add_char(out, '>');
}

const AttrDef complex_number = {.name = "number",
                                .dialect = &complex_dialect,
                                .summary = "A complex number.",
                                .parse = parse_number,
                                .print = print_number};

static const AttrDef *const ATTR_DEFS[] = {&complex_number, NULL};

const DialectDef complex_dialect = {
    .name = "complex",
    .summary = "Complex numbers.",
    .attrs = ATTR_DEFS,
};
