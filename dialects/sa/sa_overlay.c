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

enum { UNSIGNED_FLAG = 0x100 }; /* beside the bits of activations */

bool sa_param_is_optional(size_t index)
{
    return sa_overlay_params[index].offset >= offsetof(SaOverlay, pu_kind);
}

void sa_overlay_to_words(const SaOverlay *overlay, uint32_t words[SA_OVERLAY_WORDS])
{
    for (size_t i = 0; i < PARAM_COUNT; i++)
        words[i] =
            *(const uint32_t *)(const void *)((const char *)overlay + sa_overlay_params[i].offset);
    words[ACT] = overlay->act_bits | (overlay->act_is_unsigned ? UNSIGNED_FLAG : 0);
    words[WEIGHT] = overlay->weight_bits;
}

SaOverlay sa_overlay_from_words(const uint32_t words[SA_OVERLAY_WORDS])
{
    SaOverlay overlay = {.act_bits = words[ACT] & ~(uint32_t)UNSIGNED_FLAG,
                         .weight_bits = words[WEIGHT],
                         .act_is_unsigned = (words[ACT] & UNSIGNED_FLAG) != 0};
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

bool sa_is_popcount(const SaOverlay *size)
{
    return size->act_bits <= SA_MOST_PLANES;
}

uint32_t sa_page_words(const SaOverlay *size)
{
    return sa_is_popcount(size) ? SA_POPCOUNT_PAGE_WORDS : SA_PAGE_WORDS;
}

int64_t sa_act_min(const SaOverlay *size)
{
    return size->act_is_unsigned ? 0 : -(INT64_C(1) << (size->act_bits - 1));
}

int64_t sa_act_max(const SaOverlay *size)
{
    return (INT64_C(1) << (size->act_bits - !size->act_is_unsigned)) - 1;
}

bool sa_weight_fits(const SaOverlay *size, int64_t weight)
{
    int64_t limit = INT64_C(1) << (size->weight_bits - 1);
    if (size->weight_bits == 1) return weight == 1 || weight == -1;
    return weight >= -limit && weight < limit;
}

const Type *sa_act_type(Context *ctx, const SaOverlay *size)
{
    return type_integer(ctx, size->act_bits, size->act_is_unsigned ? UNSIGNED : SIGNLESS);
}

const Type *sa_weight_type(Context *ctx, const SaOverlay *size)
{
    return type_i(ctx, size->weight_bits == 1 ? 2 : size->weight_bits);
}

uint32_t sa_stored_bits(uint32_t bits)
{
    return bits == 3 ? 4 : bits;
}

uint64_t sa_weight_code(const SaOverlay *size, int64_t weight)
{
    if (size->weight_bits == 1) return weight > 0;
    return (uint64_t)weight & ((UINT64_C(1) << sa_stored_bits(size->weight_bits)) - 1);
}

bool sa_pu_has(const SaOverlay *size, const Op *op)
{
    static const char *const regs[] = {"dest", "src0", "src1"};
    if (size->pu_kind == SA_PU_ALL) return true;
    for (size_t i = 0; i < COUNT_OF(regs); i++)
        if (sa_int(op, regs[i], 0) >= SA_FEW_PU_REGS) return false;
    return op->def == SA(PU_LOAD) || op->def == SA(PU_THRESHOLD) || op->def == SA(PU_MAX) ||
           op->def == SA(PU_STORE);
}

static const char TYPES_ARE[] = "activations and weights of an overlay must be of type i8 or i16, "
                                "or of ui1, i2, ui2, i3 or ui3 "
                                "with weights of i1, i2 or i3";

/* The two types of an arithmetic. */
static bool are_types(const SaOverlay *size)
{
    bool has_products = (size->act_bits == 8 || size->act_bits == 16) && !size->act_is_unsigned &&
                        (size->weight_bits == 8 || size->weight_bits == 16);
    bool has_planes = size->act_bits >= 2 - (uint32_t)size->act_is_unsigned &&
                      size->act_bits <= SA_MOST_PLANES && size->weight_bits >= 1 &&
                      size->weight_bits <= SA_MOST_PLANES;
    return has_products || has_planes;
}

static const Attr *make(Context *ctx, const int64_t *values, const Attr *loc)
{
    const Attr *params[ALL_PARAMS];
    uint32_t words[SA_OVERLAY_WORDS];
    for (size_t i = 0; i < ALL_PARAMS; i++) words[i] = (uint32_t)values[i];
    const SaOverlay overlay = sa_overlay_from_words(words);
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (values[i] < sa_overlay_params[i].least || values[i] > sa_overlay_params[i].most) {
            diag_error(ctx, loc, "%s of an overlay must be from %lld to %lld, but is %lld",
                       sa_overlay_params[i].name, (long long)sa_overlay_params[i].least,
                       (long long)sa_overlay_params[i].most, (long long)values[i]);
            return NULL;
        }
    }
    if (!is_power_of_two(overlay.rows) || !is_power_of_two(overlay.cols) ||
        !is_power_of_two(overlay.weight_banks)) {
        diag_error(ctx, loc, "rows, cols and weight_banks of an overlay must be powers of two");
        return NULL;
    }
    if (!are_types(&overlay)) {
        diag_error(ctx, loc, "%s", TYPES_ARE);
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

/* name "=" type, of which make() takes the ones that go together */
static bool parse_width(OpParser *p, const char *name, int64_t *out)
{
    const Type *type;
    SrcPos at;
    if (!parser_expect(p, name) || !parser_expect(p, "=")) return false;
    at = parser_pos(p);
    if (!(type = parser_type(p))) return false;
    if (type->kind != TYPE_INTEGER || type_width(type) > 16 || type->u.integer.sign == SIGNED)
        return parser_error_at(p, at, "%s", TYPES_ARE);
    *out = type_width(type) | (type->u.integer.sign == UNSIGNED ? UNSIGNED_FLAG : 0);
    return true;
}

/* (',' name '=' int)* of those that are 1 else, in their order */
static bool parse_optional(OpParser *p, int64_t *values)
{
    size_t next = 0;
    while (parser_try(p, ",")) {
        while (next < PARAM_COUNT &&
               !(sa_param_is_optional(next) && parser_try(p, sa_overlay_params[next].name)))
            next++;
        if (next == PARAM_COUNT)
            return parser_error_at(p, parser_pos(p), "expected a parameter of an overlay");
        if (!parser_expect(p, "=") || !parser_int(p, &values[next++])) return false;
    }
    return true;
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
        if (sa_param_is_optional(i)) {
            values[i] = 1;
            continue;
        }
        if (i > 0 && !parser_expect(p, ",")) return NULL;
        if (!parse_number(p, sa_overlay_params[i].name, &values[i])) return NULL;
    }
    if (!parse_optional(p, values)) return NULL;
    return parser_expect(p, ">") ? make(parser_ctx(p), values, loc) : NULL;
}

static void print_overlay(StrBuf *out, const Attr *attr)
{
    const Attr *const *params = attr->u.dialect.params;
    strbuf_add_char(out, '<');
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (i == TYPES_BEHIND)
            strbuf_printf(out, ", act = %si%lld, weight = i%lld",
                          attr_int_value(params[ACT]) & UNSIGNED_FLAG ? "u" : "",
                          (long long)(attr_int_value(params[ACT]) & ~UNSIGNED_FLAG),
                          (long long)attr_int_value(params[WEIGHT]));
        if (sa_param_is_optional(i) && attr_int_value(params[i]) == 1) continue;
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
