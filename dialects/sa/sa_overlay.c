/* #sa.overlay: what an overlay is made of.
 * Tests: lit/dialects/sa/ops.mir, lit/dialects/sa/invalid.mir */
#include "dialects/sa/internal.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

/* A parameter of the attribute is an i64 in the order of this table, then the widths of activations and
 * weights. */
#define PARAM(FIELD, LEAST, MOST, SUMMARY)                                                         \
    {#FIELD, SUMMARY, offsetof(SaOverlay, FIELD), LEAST, MOST},
const SaParam sa_overlay_params[] = {
#include "dialects/sa/sa_overlay.def"
};
#undef PARAM

enum { PARAM_COUNT = SA_OVERLAY_PARAMS, ACT = PARAM_COUNT, WEIGHT, ALL_PARAMS, TYPES_BEHIND = 2 };

void sa_overlay_to_words(const SaOverlay *overlay, uint32_t words[SA_OVERLAY_WORDS])
{
    for (size_t i = 0; i < PARAM_COUNT; i++)
        words[i] =
            *(const uint32_t *)(const void *)((const char *)overlay + sa_overlay_params[i].offset);
    words[ACT] = overlay->act_bits;
    words[WEIGHT] = overlay->weight_bits;
}

SaOverlay sa_overlay_from_words(const uint32_t words[SA_OVERLAY_WORDS])
{
    SaOverlay overlay = {.act_bits = words[ACT], .weight_bits = words[WEIGHT]};
    for (size_t i = 0; i < PARAM_COUNT; i++)
        *(uint32_t *)(void *)((char *)&overlay + sa_overlay_params[i].offset) = words[i];
    return overlay;
}

SaOverlay sa_overlay(const Attr *attr)
{
    uint32_t words[SA_OVERLAY_WORDS];
    for (size_t i = 0; i < ALL_PARAMS; i++)
        words[i] = (uint32_t)attr_int_value(attr->u.dialect.params[i]);
    return sa_overlay_from_words(words);
}

/* So that a word of `cols` or `rows` elements fills beats of external memory, and one of these
 * numbers divides the other. */
static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool is_element_width(int64_t bits)
{
    return bits == 8 || bits == 16;
}

static const Attr *make(Context *ctx, const int64_t *values, const Attr *loc)
{
    const Attr *params[ALL_PARAMS];
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (values[i] < sa_overlay_params[i].least || values[i] > sa_overlay_params[i].most) {
            diag_error(ctx, loc, "%s of an overlay must be from %lld to %lld, but is %lld",
                       sa_overlay_params[i].name, (long long)sa_overlay_params[i].least,
                       (long long)sa_overlay_params[i].most, (long long)values[i]);
            return NULL;
        }
    }
    if (!is_power_of_two(values[0]) || !is_power_of_two(values[1])) {
        diag_error(ctx, loc, "rows and cols of an overlay must be powers of two");
        return NULL;
    }
    if (!is_element_width(values[ACT]) || !is_element_width(values[WEIGHT])) {
        diag_error(ctx, loc, "activations and weights of an overlay must be of type i8 or i16");
        return NULL;
    }
    for (size_t i = 0; i < ALL_PARAMS; i++) params[i] = attr_i64(ctx, values[i]);
    return attr_dialect(ctx, &sa_attr_overlay, params, ALL_PARAMS);
}

const Attr *sa_overlay_attr(Context *ctx, const SaOverlay *overlay, const Attr *loc)
{
    uint32_t words[SA_OVERLAY_WORDS];
    int64_t values[ALL_PARAMS];
    sa_overlay_to_words(overlay, words);
    for (size_t i = 0; i < ALL_PARAMS; i++) values[i] = words[i];
    return make(ctx, values, loc);
}

/* name "=" integer */
static bool parse_number(OpParser *p, const char *name, int64_t *out)
{
    return parser_expect(p, name) && parser_expect(p, "=") && parser_int(p, out);
}

/* name "=" type */
static bool parse_width(OpParser *p, const char *name, int64_t *out)
{
    const Type *type;
    SrcPos at;
    if (!parser_expect(p, name) || !parser_expect(p, "=")) return false;
    at = parser_pos(p);
    if (!(type = parser_type(p))) return false;
    *out = type->kind == TYPE_INTEGER && type_is_int_width(type, type_width(type))
               ? (int64_t)type_width(type)
               : 0;
    return is_element_width(*out) ||
           parser_error_at(p, at,
                           "activations and weights of an overlay must be of type i8 or i16");
}

/* overlay ::= '<' 'rows' '=' int ',' 'cols' '=' int ',' 'act' '=' type ',' 'weight' '=' type
 *             (',' name '=' int)* '>' in the order of the table */
static const Attr *parse_overlay(OpParser *p, const Type *type)
{
    int64_t values[ALL_PARAMS];
    const Attr *loc = parser_loc(p);
    (void)type;
    if (!parser_expect(p, "<")) return NULL;
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (i == TYPES_BEHIND &&
            !(parser_expect(p, ",") && parse_width(p, "act", &values[ACT]) &&
              parser_expect(p, ",") && parse_width(p, "weight", &values[WEIGHT])))
            return NULL;
        if (i > 0 && !parser_expect(p, ",")) return NULL;
        if (!parse_number(p, sa_overlay_params[i].name, &values[i])) return NULL;
    }
    return parser_expect(p, ">") ? make(parser_ctx(p), values, loc) : NULL;
}

static void print_overlay(StrBuf *out, const Attr *attr)
{
    const Attr *const *params = attr->u.dialect.params;
    strbuf_add_char(out, '<');
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (i == TYPES_BEHIND)
            strbuf_printf(out, ", act = i%lld, weight = i%lld",
                          (long long)attr_int_value(params[ACT]),
                          (long long)attr_int_value(params[WEIGHT]));
        strbuf_printf(out, "%s%s = %lld", i > 0 ? ", " : "", sa_overlay_params[i].name,
                      (long long)attr_int_value(params[i]));
    }
    strbuf_add_char(out, '>');
}

const AttrDef sa_attr_overlay = {.name = "overlay",
                                 .dialect = &sa_dialect,
                                 .summary = "The size of an overlay's array, buffers and numbers.",
                                 .parse = parse_overlay,
                                 .print = print_overlay};
