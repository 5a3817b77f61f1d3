/* Attributes of zero points: integers with their names, in any order.
 *   quant ::= "<" name "=" integer ("," name "=" integer)* ">"
 * Tests: lit/dialects/tosa/ops.mir, lit/dialects/tosa/invalid.mir */
#include "dialects/tosa/tosa.h"
#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"

#define QUANT_MAX_FIELDS 2

typedef struct QuantSpec {
    const AttrDef *def;
    const char *td_name; /* upstream's record name, for messages */
    const char *fields[QUANT_MAX_FIELDS];
    uint32_t count;
} QuantSpec;

static const QuantSpec UNARY = {
    &tosa_unary_quant, "Tosa_UnaryOpQuantizationAttr", {"input_zp", "output_zp"}, 2};
static const QuantSpec CONV = {
    &tosa_conv_quant, "Tosa_ConvOpQuantizationAttr", {"input_zp", "weight_zp"}, 2};
static const QuantSpec MATMUL = {
    &tosa_matmul_quant, "Tosa_MatMulOpQuantizationAttr", {"a_zp", "b_zp"}, 2};
static const QuantSpec PAD = {&tosa_pad_quant, "Tosa_PadOpQuantizationAttr", {"input_zp"}, 1};

int64_t tosa_zero_point(const Attr *quant, uint32_t index)
{
    return quant ? attr_int_value(quant->u.dialect.params[index]) : 0;
}

/* name "=" integer, of a field not seen before */
static bool parse_field(OpParser *p, const QuantSpec *spec, const Attr **params)
{
    Str name;
    int64_t value;
    if (!parser_keyword(p, &name)) return parser_error(p, "expected a parameter name in struct");
    if (!parser_expect(p, "=")) return false;
    for (uint32_t i = 0; i < spec->count; i++) {
        if (params[i] || !str_eq_c(name, spec->fields[i])) continue;
        if (!parser_int(p, &value))
            return parser_error(p, "failed to parse %s parameter '%s' which is to be a `int64_t`",
                                spec->td_name, spec->fields[i]);
        if (value < INT32_MIN || value > INT32_MAX) /* upstream's lowerings cut it to 32 bits */
            return parser_error(p, "parameter '%s' is a zero point of more than 32 bits",
                                spec->fields[i]);
        params[i] = attr_i64(parser_ctx(p), value);
        return true;
    }
    return parser_error(p, "duplicate or unknown struct parameter name: %.*s", STR_ARG(name));
}

static const Attr *parse_quant(OpParser *p, const QuantSpec *spec)
{
    const Attr *params[QUANT_MAX_FIELDS] = {0};
    if (!parser_expect(p, "<")) return NULL;
    for (uint32_t i = 0; i < spec->count; i++)
        if ((i > 0 && !parser_expect(p, ",")) || !parse_field(p, spec, params)) return NULL;
    if (!parser_expect(p, ">")) return NULL;
    return attr_dialect(parser_ctx(p), spec->def, params, spec->count);
}

static void print_quant(StrBuf *out, const Attr *attr, const QuantSpec *spec)
{
    strbuf_add_char(out, '<');
    for (uint32_t i = 0; i < spec->count; i++)
        strbuf_printf(out, "%s%s = %lld", i ? ", " : "", spec->fields[i],
                      (long long)tosa_zero_point(attr, i));
    strbuf_add_char(out, '>');
}

#define QUANT(NAME, SPEC, SUMMARY)                                                                 \
    static const Attr *parse_##NAME(OpParser *p, const Type *type)                                 \
    {                                                                                              \
        (void)type;                                                                                \
        return parse_quant(p, &(SPEC));                                                            \
    }                                                                                              \
    static void print_##NAME(StrBuf *out, const Attr *attr)                                        \
    {                                                                                              \
        print_quant(out, attr, &(SPEC));                                                           \
    }                                                                                              \
    const AttrDef tosa_##NAME = {.name = #NAME,                                                    \
                                 .dialect = &tosa_dialect,                                         \
                                 .summary = SUMMARY,                                               \
                                 .parse = parse_##NAME,                                            \
                                 .print = print_##NAME};

QUANT(unary_quant, UNARY, "Zero points of an operator's input and output.")
QUANT(conv_quant, CONV, "Zero points of a convolution's input and weights.")
QUANT(matmul_quant, MATMUL, "Zero points of a product's factors.")
QUANT(pad_quant, PAD, "Zero point that padding writes.")
