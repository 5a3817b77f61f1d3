/* Text and checks of the quantized types. The parameters of a type are, in this order:
 *   any         expressed storage signed min max
 *   uniform     the same, scales zero-points (axis if it is per axis)
 *   calibrated  expressed min max
 * The grammar is written above each parser; the wording of messages is upstream's.
 * Tests: lit/dialects/quant/types.mir, lit/dialects/quant/types-invalid.mir */
#include <math.h>

#include "dialects/quant/quant.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/support/support.h"

#define STORAGE_MAX_BITS 32

enum {
    EXPRESSED,      /* type attribute; of none: not given */
    STORAGE,        /* type attribute: an integer type */
    SIGNED_STORAGE, /* i1 */
    MIN,
    MAX, /* of stored values, i64 */
    ANY_PARAMS,
    SCALES = ANY_PARAMS, /* array<f64> */
    ZERO_POINTS,         /* array<i64> of as many */
    AXIS,                /* i64 */
    UNIFORM_PARAMS
};
enum { LOWEST = EXPRESSED + 1, HIGHEST, CALIBRATED_PARAMS }; /* f64 */

typedef struct Quantized {
    const Type *storage, *expressed; /* expressed: NULL if not given */
    bool is_signed, is_per_axis;
    int64_t min, max, axis;
    VEC(double) scales;
    VEC(int64_t) zero_points;
} Quantized;

bool quant_is_type(const Type *type)
{
    return type->kind == TYPE_DIALECT && type->u.dialect.def->dialect == &quant_dialect;
}

const Type *quant_storage(const Type *type)
{
    if (!quant_is_type(type) || type_is_a(type, &quant_calibrated)) return NULL;
    return type->u.dialect.params[STORAGE]->u.type_value;
}

static int64_t default_min(bool is_signed, uint32_t width)
{
    return is_signed ? -((int64_t)1 << (width - 1)) : 0;
}

static int64_t default_max(bool is_signed, uint32_t width)
{
    return ((int64_t)1 << (is_signed ? width - 1 : width)) - 1;
}

/* Digits as a width; too large ones become one that is refused. False: not a number. */
static bool read_width(Str digits, uint32_t *out)
{
    uint32_t width = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') return false;
        width = width > BIGINT_MAX_WIDTH ? width : width * 10 + (uint32_t)(digits.data[i] - '0');
    }
    *out = width;
    return digits.len > 0;
}

/* 'u' width, an unsigned number in a signless integer type */
static const Type *parse_unsigned_storage(OpParser *p)
{
    Str word;
    uint32_t width;
    SrcPos at = parser_pos(p);
    if (!parser_keyword(p, &word)) return NULL;
    if (word.data[0] != 'u')
        parser_error_at(p, at, "illegal storage type prefix");
    else if (!read_width((Str){word.data + 1, word.len - 1}, &width))
        parser_error_at(p, at, "expected storage type width");
    else if (width > BIGINT_MAX_WIDTH)
        parser_error_at(p, at, "illegal storage type size: %u", width);
    else
        return type_i(parser_ctx(p), width);
    return NULL;
}

/* storage-type ::= integer-type | 'u' width */
static bool parse_storage_type(OpParser *p, Quantized *out)
{
    SrcPos at = parser_pos(p);
    if (!parser_try_type(p, &out->storage)) return false;
    if (out->storage) {
        if (!type_is_integer(out->storage))
            return parser_error_at(p, at, "invalid kind of type specified");
        out->is_signed = out->storage->u.integer.sign != UNSIGNED;
    } else if (!(out->storage = parse_unsigned_storage(p))) {
        return false;
    }
    uint32_t width = type_width(out->storage);
    return (width > 0 && width <= STORAGE_MAX_BITS) ||
           parser_error_at(p, at, "illegal storage type size: %u", width);
}

/* storage ::= storage-type ('<' min ':' max '>')? */
static bool parse_storage(OpParser *p, Quantized *out)
{
    if (!parse_storage_type(p, out)) return false;
    uint32_t width = type_width(out->storage);
    int64_t min = default_min(out->is_signed, width), max = default_max(out->is_signed, width);
    out->min = min;
    out->max = max;
    if (!parser_try(p, "<")) return true;
    SrcPos min_at = parser_pos(p);
    if (!parser_int(p, &out->min) || !parser_expect(p, ":")) return false;
    SrcPos max_at = parser_pos(p);
    if (!parser_int(p, &out->max) || !parser_expect(p, ">")) return false;
    if (out->min < min)
        return parser_error_at(p, min_at, "illegal storage type minimum: %lld",
                               (long long)out->min);
    return out->max <= max ||
           parser_error_at(p, max_at, "illegal storage type maximum: %lld", (long long)out->max);
}

static void print_storage(StrBuf *out, const Type *type)
{
    const Attr *const *params = type->u.dialect.params;
    bool is_signed = attr_is_true(params[SIGNED_STORAGE]);
    uint32_t width = type_width(params[STORAGE]->u.type_value);
    int64_t min = attr_int_value(params[MIN]), max = attr_int_value(params[MAX]);
    strbuf_printf(out, "%c%u", is_signed ? 'i' : 'u', width);
    if (min != default_min(is_signed, width) || max != default_max(is_signed, width))
        strbuf_printf(out, "<%lld:%lld>", (long long)min, (long long)max);
}

static const Type *parse_expressed(OpParser *p)
{
    SrcPos at = parser_pos(p);
    const Type *type = parser_type(p);
    if (!type || type_is_float(type)) return type;
    parser_error_at(p, at, "invalid kind of type specified");
    return NULL;
}

static const Type *expressed(const Type *type)
{
    return type->u.dialect.params[EXPRESSED]->u.type_value;
}

static void print_float(StrBuf *out, double value)
{
    float_print(out, TYPE_F64, float_to_bits(TYPE_F64, value));
}

static bool verify_storage(Context *ctx, const Attr *loc, const Attr *const *params, size_t count)
{
    (void)count;
    int64_t min = attr_int_value(params[MIN]), max = attr_int_value(params[MAX]);
    return min < max || diag_error(ctx, loc, "illegal storage min and storage max: (%lld:%lld)",
                                   (long long)min, (long long)max);
}

static void storage_params(Context *ctx, const Quantized *quantized, const Attr **params)
{
    const Type *real = quantized->expressed ? quantized->expressed : type_none(ctx);
    params[EXPRESSED] = attr_type(real);
    params[STORAGE] = attr_type(quantized->storage);
    params[SIGNED_STORAGE] = attr_bool(ctx, quantized->is_signed);
    params[MIN] = attr_i64(ctx, quantized->min);
    params[MAX] = attr_i64(ctx, quantized->max);
}

/* The type of these parameters if its definition accepts them. */
static const Type *checked(OpParser *p, const TypeDef *def, const Attr *const *params, size_t count)
{
    const Attr *loc = parser_loc_at(p, parser_symbol_pos(p));
    if (!def->verify(parser_ctx(p), loc, params, count)) return NULL;
    return type_dialect(parser_ctx(p), def, params, count);
}

/* any ::= '<' storage (':' float-type)? '>' */
static const Type *parse_any(OpParser *p)
{
    Quantized quantized = {0};
    const Attr *params[ANY_PARAMS];
    if (!parser_expect(p, "<") || !parse_storage(p, &quantized)) return NULL;
    if (parser_try(p, ":") && !(quantized.expressed = parse_expressed(p))) return NULL;
    if (!parser_expect(p, ">")) return NULL;
    storage_params(parser_ctx(p), &quantized, params);
    return checked(p, &quant_any, params, ANY_PARAMS);
}

static void print_any(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    print_storage(out, type);
    if (expressed(type)->kind != TYPE_NONE) {
        strbuf_add_char(out, ':');
        type_print(out, expressed(type));
    }
    strbuf_add_char(out, '>');
}

static double scale_at(const Attr *scales, size_t index)
{
    uint64_t bits = 0;
    for (size_t byte = sizeof bits; byte-- > 0;)
        bits = bits << 8 | scales->u.dense_array.data[index * sizeof bits + byte];
    return float_from_bits(TYPE_F64, bits);
}

static bool refuse_scale(Context *ctx, const Attr *loc, double scale)
{
    StrBuf text = {0};
    float_print_scientific(&text, scale);
    (void)diag_error(ctx, loc, "illegal scale: %s", text.data);
    strbuf_free(&text);
    return false;
}

static bool verify_uniform(Context *ctx, const Attr *loc, const Attr *const *params, size_t count)
{
    if (!verify_storage(ctx, loc, params, count)) return false;
    for (size_t i = 0; i < params[SCALES]->u.dense_array.count; i++) {
        double scale = scale_at(params[SCALES], i);
        if (!(scale > 0.0) || isinf(scale)) return refuse_scale(ctx, loc, scale);
    }
    return true;
}

/* parameters ::= scale (':' zero-point)? */
static bool parse_parameters(OpParser *p, Quantized *out)
{
    double *scale = vec_push(&out->scales);
    int64_t *zero_point = vec_push(&out->zero_points);
    *zero_point = 0;
    return parser_float(p, scale) && (!parser_try(p, ":") || parser_int(p, zero_point));
}

/* axis-and-parameters ::= ',' parameters | ':' axis ',' '{' parameters (',' parameters)* '}' */
static bool parse_all_parameters(OpParser *p, Quantized *out)
{
    out->is_per_axis = parser_try(p, ":");
    SrcPos at = parser_pos(p);
    if (out->is_per_axis && !parser_int(p, &out->axis)) return false;
    if (out->axis < INT32_MIN || out->axis > INT32_MAX)
        return parser_error_at(p, at, "integer value too large");
    if (!parser_expect(p, ",")) return false;
    if (!out->is_per_axis) return parse_parameters(p, out);
    if (!parser_expect(p, "{")) return false;
    do {
        if (!parse_parameters(p, out)) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, "}");
}

static const Type *uniform_type(OpParser *p, const Quantized *quantized)
{
    Context *ctx = parser_ctx(p);
    const Attr *params[UNIFORM_PARAMS];
    storage_params(ctx, quantized, params);
    params[SCALES] =
        attr_dense_array(type_float(ctx, TYPE_F64), quantized->scales.data, quantized->scales.len);
    params[ZERO_POINTS] =
        attr_i64_array(ctx, quantized->zero_points.data, quantized->zero_points.len);
    params[AXIS] = attr_i64(ctx, quantized->axis);
    return checked(p, &quant_uniform, params, quantized->is_per_axis ? UNIFORM_PARAMS : AXIS);
}

/* uniform ::= '<' storage ':' float-type axis-and-parameters '>' */
static const Type *parse_uniform(OpParser *p)
{
    Quantized quantized = {0};
    bool ok = parser_expect(p, "<") && parse_storage(p, &quantized) && parser_expect(p, ":") &&
              (quantized.expressed = parse_expressed(p)) && parse_all_parameters(p, &quantized) &&
              parser_expect(p, ">");
    const Type *type = ok ? uniform_type(p, &quantized) : NULL;
    vec_free(&quantized.scales);
    vec_free(&quantized.zero_points);
    return type;
}

static void print_parameters(StrBuf *out, const Type *type, size_t index)
{
    const Attr *const *params = type->u.dialect.params;
    int64_t zero_point = dense_array_i64(params[ZERO_POINTS], index);
    print_float(out, scale_at(params[SCALES], index));
    if (zero_point != 0) strbuf_printf(out, ":%lld", (long long)zero_point);
}

static void print_uniform(StrBuf *out, const Type *type)
{
    const Attr *const *params = type->u.dialect.params;
    bool is_per_axis = type->u.dialect.param_count == UNIFORM_PARAMS;
    strbuf_add_char(out, '<');
    print_storage(out, type);
    strbuf_add_char(out, ':');
    type_print(out, expressed(type));
    if (is_per_axis) strbuf_printf(out, ":%lld", (long long)attr_int_value(params[AXIS]));
    strbuf_add_c(out, is_per_axis ? ", {" : ", ");
    for (size_t i = 0; i < params[SCALES]->u.dense_array.count; i++) {
        if (i) strbuf_add_char(out, ',');
        print_parameters(out, type, i);
    }
    strbuf_add_c(out, is_per_axis ? "}>" : ">");
}

static bool verify_calibrated(Context *ctx, const Attr *loc, const Attr *const *params,
                              size_t count)
{
    (void)count;
    double min = attr_float_value(params[LOWEST]), max = attr_float_value(params[HIGHEST]);
    if (!(max <= min)) return true;
    StrBuf text = {0};
    float_print_scientific(&text, min);
    strbuf_add_char(&text, ':');
    float_print_scientific(&text, max);
    (void)diag_error(ctx, loc, "illegal min and max: (%s)", text.data);
    strbuf_free(&text);
    return false;
}

/* range ::= '<' min ':' max '>' */
static bool parse_range(OpParser *p, double *min, double *max)
{
    return parser_expect(p, "<") && parser_float(p, min) && parser_expect(p, ":") &&
           parser_float(p, max) && parser_expect(p, ">");
}

/* calibrated ::= '<' float-type range '>' */
static const Type *parse_calibrated(OpParser *p)
{
    double min, max;
    if (!parser_expect(p, "<")) return NULL;
    SrcPos at = parser_pos(p);
    const Type *real = parse_expressed(p);
    if (!real || !parse_range(p, &min, &max)) {
        parser_error_at(
            p, at, real ? "calibrated values must be present" : "expecting float expressed type");
        return NULL;
    }
    if (!parser_expect(p, ">")) return NULL;
    const Type *f64 = type_float(parser_ctx(p), TYPE_F64);
    const Attr *params[CALIBRATED_PARAMS] = {attr_type(real), attr_float(f64, min),
                                             attr_float(f64, max)};
    return checked(p, &quant_calibrated, params, CALIBRATED_PARAMS);
}

static void print_calibrated(StrBuf *out, const Type *type)
{
    const Attr *const *params = type->u.dialect.params;
    strbuf_add_char(out, '<');
    type_print(out, expressed(type));
    strbuf_add_char(out, '<');
    print_float(out, attr_float_value(params[LOWEST]));
    strbuf_add_char(out, ':');
    print_float(out, attr_float_value(params[HIGHEST]));
    strbuf_add_c(out, ">>");
}

const TypeDef quant_any = {.name = "any",
                           .dialect = &quant_dialect,
                           .summary = "Stored in some integers, meaning not said.",
                           .parse = parse_any,
                           .print = print_any,
                           .verify = verify_storage};
const TypeDef quant_uniform = {.name = "uniform",
                               .dialect = &quant_dialect,
                               .summary = "Equally spaced reals, by one scale and zero point or "
                                          "those of each index of an axis.",
                               .parse = parse_uniform,
                               .print = print_uniform,
                               .verify = verify_uniform};
const TypeDef quant_calibrated = {.name = "calibrated",
                                  .dialect = &quant_dialect,
                                  .summary = "Reals of a known range, not quantized yet.",
                                  .parse = parse_calibrated,
                                  .print = print_calibrated,
                                  .verify = verify_calibrated};
