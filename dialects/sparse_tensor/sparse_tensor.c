/* The attributes #sparse_tensor.encoding and #sparse_tensor<slice(…)>: their text, and what the
 * shape of a tensor must satisfy. encoding_map.c reads the map, encoding_verify.c checks the
 * relations between parameters.
 * Tests: lit/dialects/sparse_tensor */
#include "dialects/complex/complex.h"
#include "dialects/sparse_tensor/internal.h"
#include "dialects/sparse_tensor/sparse_tensor.h"
#include "ir/asm/print/print.h"

const char *const encoding_level_format_names[LEVEL_FORMAT_COUNT] = {
    [LEVEL_DENSE] = "dense",
    [LEVEL_BATCH] = "batch",
    [LEVEL_COMPRESSED] = "compressed",
    [LEVEL_SINGLETON] = "singleton",
    [LEVEL_LOOSE_COMPRESSED] = "loose_compressed",
    [LEVEL_STRUCTURED] = "structured",
};
const char *const encoding_level_prop_names[LEVEL_PROP_COUNT] = {"nonunique", "nonordered", "soa"};

int64_t encoding_level_pack(LevelType level)
{
    return (int64_t)level.format << 24 | (int64_t)level.props << 16 | level.m << 8 | level.n;
}

LevelType encoding_level_unpack(int64_t bits)
{
    return (LevelType){(LevelFormat)(bits >> 24), (uint32_t)(bits >> 16) & 0xff,
                       (uint8_t)(bits & 0xff), (uint8_t)(bits >> 8 & 0xff)};
}

enum { SLICE_OFFSET, SLICE_SIZE, SLICE_STRIDE, SLICE_PARAM_COUNT };

/* integer | '?' */
static bool parse_extent(OpParser *p, int64_t *out)
{
    bool present;
    if (!parser_try_int(p, out, &present)) return false;
    if (present)
        return *out >= 0 || parser_error(p, "expect positive value or ? for slice "
                                            "offset/size/stride");
    *out = DIM_DYNAMIC;
    return parser_expect(p, "?");
}

static bool verify_slice(OpParser *p, const int64_t *values)
{
    static const char *const names[] = {"size", "stride"};
    for (int i = SLICE_SIZE; i < SLICE_PARAM_COUNT; i++)
        if (values[i] == 0)
            return parser_error_at(p, parser_symbol_pos(p),
                                   "expect positive value or ? for slice %s", names[i - 1]);
    return true;
}

/* slice ::= '(' extent ',' extent ',' extent ')' */
static const Attr *parse_slice(OpParser *p, const Type *type)
{
    (void)type;
    int64_t values[SLICE_PARAM_COUNT];
    if (!parser_expect(p, "(")) return NULL;
    for (int i = 0; i < SLICE_PARAM_COUNT; i++)
        if ((i > 0 && !parser_expect(p, ",")) || !parse_extent(p, &values[i])) return NULL;
    if (!parser_expect(p, ")") || !verify_slice(p, values)) return NULL;
    const Attr *param = attr_i64_array(parser_ctx(p), values, SLICE_PARAM_COUNT);
    return attr_dialect(parser_ctx(p), &sparse_tensor_slice, &param, 1);
}

static void print_slice(StrBuf *out, const Attr *attr)
{
    for (size_t i = 0; i < SLICE_PARAM_COUNT; i++) {
        int64_t value = dense_array_i64(attr->u.dialect.params[0], i);
        strbuf_add_c(out, i ? ", " : "(");
        if (value == DIM_DYNAMIC)
            strbuf_add_char(out, '?');
        else
            strbuf_add_int(out, value);
    }
    strbuf_add_char(out, ')');
}

const AttrDef sparse_tensor_slice = {.name = "slice",
                                     .dialect = &sparse_tensor_dialect,
                                     .summary = "Offset, size and stride of a dimension's part.",
                                     .parse = parse_slice,
                                     .print = print_slice};

static bool parse_width(OpParser *p, const char *what, const Attr **param)
{
    const Attr *attr = parser_attr(p, NULL);
    if (!attr) return false;
    *param = attr;
    return attr->kind == ATTR_INTEGER ||
           parser_error_at(p, parser_symbol_pos(p), "expected an integral %s bitwidth", what);
}

static bool parse_number(OpParser *p, Str key, const Attr **param)
{
    const Attr *attr = parser_attr(p, NULL);
    if (!attr) return false;
    *param = attr;
    return attr->kind == ATTR_INTEGER || attr->kind == ATTR_FLOAT ||
           attr_is_a(attr, &complex_number) ||
           parser_error_at(p, parser_symbol_pos(p), "expected a numeric value for %.*s",
                           STR_ARG(key));
}

/* entry ::= key '=' value */
static bool parse_entry(OpParser *p, Str key, const Attr **params)
{
    static const char *const keys[] = {"map", "posWidth", "crdWidth", "explicitVal", "implicitVal"};
    size_t which = 0;
    while (which < COUNT_OF(keys) && !str_eq_c(key, keys[which])) which++;
    if (which == COUNT_OF(keys))
        return parser_error_at(p, parser_symbol_pos(p), "unexpected key: %.*s", STR_ARG(key));
    if (!parser_expect(p, "=")) return false;
    switch (which) {
    case 0: return encoding_parse_map(p, params);
    case 1: return parse_width(p, "position", &params[ENC_POS_WIDTH]);
    case 2: return parse_width(p, "index", &params[ENC_CRD_WIDTH]);
    case 3: return parse_number(p, key, &params[ENC_EXPLICIT_VAL]);
    default: return parse_number(p, key, &params[ENC_IMPLICIT_VAL]);
    }
}

/* encoding ::= '<' '{' (entry (',' entry)* ','?)? '}' '>' */
static const Attr *parse_encoding(OpParser *p, const Type *type)
{
    (void)type;
    Context *ctx = parser_ctx(p);
    const Attr *unit = attr_unit(ctx), *zero = attr_i64(ctx, 0), *none = attr_array(ctx, NULL, 0);
    const Attr *params[ENC_PARAM_COUNT] = {
        unit, attr_i64_array(ctx, NULL, 0), unit, zero, zero, unit, unit, none};
    if (!parser_expect(p, "<") || !parser_expect(p, "{")) return NULL;
    Str key;
    while (parser_try_keyword(p, &key)) {
        if (!parse_entry(p, key, params)) return NULL;
        if (!parser_try(p, ",")) break;
    }
    if (!parser_expect(p, "}") || !parser_expect(p, ">")) return NULL;
    if (!encoding_verify(params, parser_loc_at(p, parser_symbol_pos(p)))) return NULL;
    return attr_dialect(ctx, &sparse_tensor_encoding, params, ENC_PARAM_COUNT);
}

static void print_dims(StrBuf *out, const Attr *const *params)
{
    const AffineMap *map = params[ENC_DIM_TO_LVL]->u.map;
    const Attr *slices = params[ENC_SLICES];
    for (uint32_t i = 0; i < map->symbol_count; i++)
        strbuf_printf(out, "%ss%u%s", i ? ", " : "[", i, i + 1 == map->symbol_count ? "]" : "");
    strbuf_add_char(out, '(');
    for (uint32_t i = 0; i < map->dim_count; i++) {
        strbuf_printf(out, "%sd%u", i ? ", " : "", i);
        if (slices->u.array.count == 0) continue;
        strbuf_add_c(out, " : ");
        attr_print(out, slices->u.array.items[i]);
    }
    strbuf_add_char(out, ')');
}

static void print_level(StrBuf *out, LevelType level)
{
    strbuf_add_c(out, encoding_level_format_names[level.format]);
    if (level.format == LEVEL_STRUCTURED) strbuf_printf(out, "[%u, %u]", level.n, level.m);
    const char *separator = "(";
    for (uint32_t i = 0; i < LEVEL_PROP_COUNT; i++) {
        if (!(level.props & 1u << i)) continue;
        strbuf_printf(out, "%s%s", separator, encoding_level_prop_names[i]);
        separator = ", ";
    }
    if (level.props) strbuf_add_char(out, ')');
}

static void print_levels(StrBuf *out, const Attr *const *params)
{
    const AffineMap *map = params[ENC_DIM_TO_LVL]->u.map;
    strbuf_add_char(out, '(');
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (i) strbuf_add_c(out, ", ");
        affine_print(out, map->results[i]);
        strbuf_add_c(out, " : ");
        print_level(out, encoding_level_unpack(dense_array_i64(params[ENC_LEVELS], i)));
    }
    strbuf_add_char(out, ')');
}

static void print_width(StrBuf *out, const char *key, const Attr *width)
{
    if (attr_int_value(width) != 0)
        strbuf_printf(out, ", %s = %lld", key, (long long)attr_int_value(width));
}

static void print_value(StrBuf *out, const char *key, const Attr *value)
{
    if (value->kind == ATTR_UNIT) return;
    strbuf_printf(out, ", %s = ", key);
    attr_print(out, value);
}

static void print_encoding(StrBuf *out, const Attr *attr)
{
    const Attr *const *params = attr->u.dialect.params;
    strbuf_add_c(out, "<{ map = ");
    print_dims(out, params);
    strbuf_add_c(out, " -> ");
    print_levels(out, params);
    print_width(out, "posWidth", params[ENC_POS_WIDTH]);
    print_width(out, "crdWidth", params[ENC_CRD_WIDTH]);
    print_value(out, "explicitVal", params[ENC_EXPLICIT_VAL]);
    print_value(out, "implicitVal", params[ENC_IMPLICIT_VAL]);
    strbuf_add_c(out, " }>");
}

static bool verify_value_type(const Attr *value, const char *which, const Type *elem,
                              const Attr *loc)
{
    if (value->kind == ATTR_UNIT || value->type == elem) return true;
    return diag_error(loc->ctx, loc,
                      "%s value type mismatch between encoding and tensor element type: '%s' != "
                      "'%s'",
                      which, type_str(loc->ctx, value->type), type_str(loc->ctx, elem));
}

static bool is_zero(const Attr *value)
{
    switch (value->kind) {
    case ATTR_INTEGER: return bigint_is_zero(&value->u.integer);
    case ATTR_FLOAT: return attr_float_value(value) == 0.0;
    case ATTR_DIALECT: /* a complex number */
        return is_zero(value->u.dialect.params[0]) && is_zero(value->u.dialect.params[1]);
    default: return true;
    }
}

static bool verify_tensor(const Attr *attr, const Attr *loc, uint32_t rank, const Type *elem)
{
    const Attr *const *params = attr->u.dialect.params;
    const Attr *implicit = params[ENC_IMPLICIT_VAL];
    uint32_t dims = params[ENC_DIM_TO_LVL]->u.map->dim_count;
    if (rank == 0) return diag_error(loc->ctx, loc, "expected non-scalar sparse tensor");
    if (dims != rank)
        return diag_error(loc->ctx, loc,
                          "dimension-rank mismatch between encoding and tensor shape: %u != %u",
                          dims, rank);
    if (!verify_value_type(params[ENC_EXPLICIT_VAL], "explicit", elem, loc) ||
        !verify_value_type(implicit, "implicit", elem, loc))
        return false;
    return is_zero(implicit) || diag_error(loc->ctx, loc, "implicit value must be zero");
}

const AttrDef sparse_tensor_encoding = {.name = "encoding",
                                        .dialect = &sparse_tensor_dialect,
                                        .summary = "How a sparse tensor is stored.",
                                        .parse = parse_encoding,
                                        .print = print_encoding,
                                        .verify_tensor = verify_tensor,
                                        .alias = "sparse"};

static const AttrDef *const ATTR_DEFS[] = {&sparse_tensor_encoding, &sparse_tensor_slice, NULL};

const DialectDef sparse_tensor_dialect = {
    .name = "sparse_tensor",
    .summary = "Encodings of sparse tensors.",
    .attrs = ATTR_DEFS,
    .has_asm_hooks = true,
};
