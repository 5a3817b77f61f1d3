/* Reading, combining and writing of constants' elements. An element is a BigInt of its type's
 * width; index has 64 bits. The bytes of a dense attribute are little endian, i1 packed eight to a
 * byte.
 * Tests: test/unit/dialects/common/const_fold_test.c, lit/dialects/arith/canonicalize.mir */
#include <math.h>
#include <string.h>

#include "dialects/common/common.h"

static bool is_number(const Type *type)
{
    return type_is_integer(type) || type->kind == TYPE_INDEX || type_is_float(type);
}

/* Element `index` of raw dense data. */
static BigInt read_element(Arena *arena, const Attr *attr, int64_t index)
{
    const Type *elem = type_elem(attr->type);
    uint32_t width = type_width(elem);
    const uint8_t *data = attr->u.dense.data;
    if (attr->u.dense.is_splat) index = 0;
    if (width == 1) return bigint_from_i64(arena, 1, data[index / 8] >> (index % 8) & 1);
    uint32_t bytes = dense_elem_bytes(elem);
    uint64_t word = 0;
    if (width <= 64) {
        for (uint32_t i = 0; i < bytes; i++)
            word |= (uint64_t)data[(size_t)index * bytes + i] << (8 * i);
        return bigint_from_words(arena, width, &word);
    }
    uint64_t *words = ARENA_ARRAY(arena, uint64_t, bigint_word_count(width));
    for (uint32_t i = 0; i < bytes; i++)
        words[i / 8] |= (uint64_t)data[(size_t)index * bytes + i] << (8 * (i % 8));
    return bigint_from_words(arena, width, words);
}

static bool scalar_bits(const Attr *attr, BigInt *out)
{
    if (attr->kind == ATTR_INTEGER) {
        *out = attr->u.integer;
        return true;
    }
    uint32_t width = type_width(attr->type);
    if (attr->kind != ATTR_FLOAT || width > 64) return false;
    *out = bigint_from_words(NULL, width, &attr->u.float_bits);
    return true;
}

bool const_splat_bits(const Attr *attr, BigInt *out)
{
    if (!attr) return false;
    if (attr->kind == ATTR_INTEGER || attr->kind == ATTR_FLOAT) return scalar_bits(attr, out);
    if (attr->kind != ATTR_DENSE || !attr->u.dense.is_splat || !is_number(type_elem(attr->type)))
        return false;
    if (type_width(type_elem(attr->type)) <= 64) {
        *out = read_element(NULL, attr, 0);
        return true;
    }
    const Attr *elem = dense_elem(attr, 0);
    return elem && scalar_bits(elem, out);
}

bool const_int(const Attr *attr, BigInt *out)
{
    return attr && attr->type && !type_is_float(type_elem(attr->type)) &&
           const_splat_bits(attr, out);
}

bool const_float(const Attr *attr, double *out)
{
    BigInt bits;
    if (!attr || !attr->type || !type_is_float(type_elem(attr->type)) ||
        !const_splat_bits(attr, &bits) || bits.width > 64)
        return false;
    *out = float_from_bits((int)type_elem(attr->type)->kind, bits.u.word);
    return true;
}

bool const_is_int(const Attr *attr, int64_t value)
{
    BigInt got;
    if (!const_int(attr, &got) || !bigint_fits_i64(&got, true)) return false;
    return got.width == 1 ? bigint_to_u64(&got) == ((uint64_t)value & 1)
                          : bigint_to_i64(&got) == value;
}

bool const_is_all_ones(const Attr *attr)
{
    return const_is_int(attr, -1);
}

static void write_element(uint8_t *data, const Type *elem, int64_t index, const BigInt *value)
{
    if (type_width(elem) == 1) {
        if (!bigint_is_zero(value))
            data[index / 8] = (uint8_t)(data[index / 8] | 1u << (index % 8));
        return;
    }
    uint32_t bytes = dense_elem_bytes(elem);
    const uint64_t *words = bigint_words(value);
    for (uint32_t i = 0; i < bytes; i++)
        data[(size_t)index * bytes + i] = (uint8_t)(words[i / 8] >> (8 * (i % 8)));
}

static size_t data_size(const Type *elem, int64_t count)
{
    return type_width(elem) == 1 ? ((size_t)count + 7) / 8 : (size_t)count * dense_elem_bytes(elem);
}

static bool all_bits_equal(const uint8_t *data, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if ((data[i / 8] >> (i % 8) & 1) != (data[0] & 1)) return false;
    return true;
}

static bool all_equal(const uint8_t *data, const Type *elem, int64_t count)
{
    if (type_width(elem) == 1) return all_bits_equal(data, count);
    size_t bytes = dense_elem_bytes(elem);
    return memcmp(data, data + bytes, (size_t)(count - 1) * bytes) == 0;
}

static const Attr *dense_of(const Type *type, uint8_t *data, int64_t count)
{
    const Type *elem = type_elem(type);
    if (count >= 1 && all_equal(data, elem, count)) {
        if (type_width(elem) == 1) data[0] &= 1;
        return attr_dense_raw(type, data, data_size(elem, 1), true);
    }
    return attr_dense_raw(type, data, data_size(elem, count), false);
}

static const Attr *scalar_of(const Type *type, const BigInt *value)
{
    return type_is_float(type) ? attr_float_bits(type, value->u.word) : attr_bigint(type, value);
}

static const Attr *fold_scalars(const Attr *const *operands, size_t count, const Type *result,
                                LaneFn *fn, const Lane *lane)
{
    BigInt args[FOLD_MAX_OPERANDS], value;
    if (type_is_float(result) && type_width(result) > 64) return NULL;
    for (size_t i = 0; i < count; i++)
        if (!scalar_bits(operands[i], &args[i])) return NULL;
    return fn(lane, args, &value) ? scalar_of(result, &value) : NULL;
}

static const Attr *fold_elements(const Attr *const *operands, size_t count, const Type *result,
                                 LaneFn *fn, const Lane *lane)
{
    int64_t elements;
    bool splat = true;
    if (!type_is_shaped(result) || !type_element_count(result, &elements)) return NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t n;
        if (operands[i]->kind != ATTR_DENSE || !is_number(type_elem(operands[i]->type)) ||
            !type_element_count(operands[i]->type, &n) || n != elements)
            return NULL;
        splat = splat && operands[i]->u.dense.is_splat;
    }
    if (splat && elements > 0) elements = 1;
    uint8_t *data = xcalloc(data_size(lane->result_elem, elements) + 1, 1);
    bool ok = true;
    for (int64_t i = 0; ok && i < elements; i++) {
        BigInt args[FOLD_MAX_OPERANDS], value;
        for (size_t k = 0; k < count; k++) args[k] = read_element(lane->arena, operands[k], i);
        ok = fn(lane, args, &value);
        if (ok) write_element(data, lane->result_elem, i, &value);
    }
    const Attr *attr = ok ? dense_of(result, data, elements) : NULL;
    free_ptr((void **)&data);
    return attr;
}

const Attr *lane_fold_all(const Attr *const *operands, size_t count, const Type *result, LaneFn *fn,
                          const void *user)
{
    for (size_t i = 0; i < count; i++)
        if (!operands[i] || !operands[i]->type) return NULL;
    if (!is_number(type_elem(result))) return NULL;
    Arena scratch;
    arena_init(&scratch);
    Lane lane = {&scratch, type_elem(operands[0]->type), type_elem(result), user};
    const Attr *attr = operands[0]->kind == ATTR_DENSE
                           ? fold_elements(operands, count, result, fn, &lane)
                           : fold_scalars(operands, count, result, fn, &lane);
    arena_free(&scratch);
    return attr;
}

static bool lane_store(const Lane *lane, double value, BigInt *out)
{
    uint64_t bits = float_to_bits((int)lane->result_elem->kind, isnan(value) ? (double)NAN : value);
    *out = bigint_from_words(lane->arena, type_width(lane->result_elem), &bits);
    return true;
}

bool lane_load(const Lane *lane, const BigInt *arg, double *out)
{
    if (arg->width > 64 || type_width(lane->result_elem) > 64) return false;
    *out = float_from_bits((int)lane->arg_elem->kind, arg->u.word);
    return true;
}

/* Sets the quiet bit: the highest of the mantissa. */
static bool lane_quiet(const Lane *lane, const BigInt *arg, BigInt *out)
{
    uint64_t bits = arg->u.word;
    switch (lane->arg_elem->kind) {
    case TYPE_F64: bits |= (uint64_t)1 << 51; break;
    case TYPE_F32: bits |= (uint64_t)1 << 22; break;
    case TYPE_F16: bits |= (uint64_t)1 << 9; break;
    case TYPE_BF16: bits |= (uint64_t)1 << 6; break;
    default: break;
    }
    *out = bigint_from_words(lane->arena, arg->width, &bits);
    return true;
}

bool lane_float1(const Lane *lane, const BigInt *args, BigInt *out, FloatFn1 *fn)
{
    double a;
    if (!lane_load(lane, &args[0], &a)) return false;
    if (isnan(a) && lane->arg_elem == lane->result_elem) return lane_quiet(lane, &args[0], out);
    return lane_store(lane, fn(a), out);
}

bool lane_float2(const Lane *lane, const BigInt *args, BigInt *out, FloatFn2 *fn)
{
    double a, b;
    if (!lane_load(lane, &args[0], &a) || !lane_load(lane, &args[1], &b)) return false;
    if (isnan(a)) return lane_quiet(lane, &args[0], out);
    if (isnan(b)) return lane_quiet(lane, &args[1], out);
    return lane_store(lane, fn(a, b), out);
}

BigInt lane_with_sign(const Lane *lane, const BigInt *value, bool is_negative)
{
    BigInt one = bigint_from_i64(lane->arena, value->width, 1);
    BigInt sign = bigint_shl(lane->arena, &one, value->width - 1);
    BigInt flipped = bigint_xor(lane->arena, value, &sign);
    bool is_zero = bigint_is_zero(value) || bigint_is_zero(&flipped);
    if (is_zero && !float_has_signed_zero((int)lane->arg_elem->kind)) return *value;
    return bigint_is_negative(value) == is_negative ? *value : flipped;
}

/* Stored bits of the significand of an IEEE format; 0: another one. */
static uint32_t stored_mantissa(const Type *type)
{
    switch (type->kind) {
    case TYPE_F64: return 52;
    case TYPE_F32: return 23;
    case TYPE_F16: return 10;
    case TYPE_BF16: return 7;
    default: return 0;
    }
}

bool lane_convert_nan(const Lane *lane, const BigInt *arg, BigInt *out, bool exact)
{
    uint32_t from = stored_mantissa(lane->arg_elem), to = stored_mantissa(lane->result_elem);
    uint32_t width = type_width(lane->arg_elem), to_width = type_width(lane->result_elem);
    if (from == 0 || to == 0) return false;
    uint64_t bits = arg->u.word, quiet = (uint64_t)1 << (from - 1);
    uint64_t payload = bits & (2 * quiet - 1), sign = bits >> (width - 1);
    bool is_cut = to < from && payload & (((uint64_t)1 << (from - to)) - 1);
    if (exact && (!(payload & quiet) || is_cut)) return false;
    payload |= quiet;
    payload = to < from ? payload >> (from - to) : payload << (to - from);
    uint64_t exponent = ((uint64_t)1 << (to_width - 1 - to)) - 1;
    uint64_t result = sign << (to_width - 1) | exponent << to | payload;
    *out = bigint_from_words(lane->arena, to_width, &result);
    return true;
}

/* At most 53 bits of the magnitude, the last one set if anything was cut off: rounding that once
 * more to a narrower float gives what rounding the magnitude itself gives. */
static uint64_t round_to_odd(uint64_t magnitude)
{
    int excess = 0;
    while (magnitude >> 53 >> excess) excess++;
    if (excess == 0) return magnitude;
    uint64_t cut = ((uint64_t)1 << excess) - 1;
    return (magnitude & ~cut) | (magnitude & cut ? cut + 1 : 0);
}

bool lane_from_integer(const Lane *lane, const BigInt *arg, BigInt *out, bool is_signed)
{
    if (arg->width > 64 || type_width(lane->result_elem) > 64) return false;
    bool negative = is_signed && bigint_is_negative(arg);
    uint64_t magnitude = is_signed ? (uint64_t)bigint_to_i64(arg) : bigint_to_u64(arg);
    if (negative) magnitude = 0 - magnitude;
    if (lane->result_elem->kind != TYPE_F64) magnitude = round_to_odd(magnitude);
    double value = (double)magnitude;
    return lane_store(lane, negative ? -value : value, out);
}

bool lane_to_integer(const Lane *lane, double value, BigInt *out, bool is_signed, bool saturate)
{
    uint32_t width = type_width(lane->result_elem);
    if (width == 0 || width > 64) return false;
    double limit = ldexp(1.0, (int)width - (is_signed ? 1 : 0)), low = is_signed ? -limit : 0.0;
    uint64_t max = UINT64_MAX >> (64 - width) >> (is_signed ? 1 : 0), bits;
    if (!saturate && !(value >= low && value < limit)) return false;
    if (isnan(value))
        bits = 0;
    else if (value >= limit)
        bits = max;
    else if (value < low)
        bits = is_signed ? ~max : 0;
    else
        bits = value < 0 ? 0 - (uint64_t)-value : (uint64_t)value;
    *out = bigint_from_i64(lane->arena, width, (int64_t)bits);
    return true;
}

const Attr *const_int_of(const Type *type, const BigInt *value)
{
    if (!type_is_shaped(type)) return attr_bigint(type, value);
    return type_is_static(type) ? attr_dense_splat(type, attr_bigint(type_elem(type), value))
                                : NULL;
}

const Attr *const_zero(const Type *type)
{
    const Type *elem = type_elem(type);
    if (!is_number(elem) || (type_is_shaped(type) && !type_is_static(type))) return NULL;
    const Attr *zero = type_is_float(elem) ? attr_float(elem, 0.0) : attr_int(elem, 0);
    return type_is_shaped(type) ? attr_dense_splat(type, zero) : zero;
}

const Attr *const_from_scalars(const Type *type, const Attr *const *scalars, size_t count)
{
    const Type *elem = type_elem(type);
    uint8_t *data = xcalloc(data_size(elem, (int64_t)count) + 1, 1);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        BigInt value;
        ok = scalar_bits(scalars[i], &value);
        if (ok) write_element(data, elem, (int64_t)i, &value);
    }
    const Attr *attr = ok ? dense_of(type, data, (int64_t)count) : NULL;
    free_ptr((void **)&data);
    return attr;
}
