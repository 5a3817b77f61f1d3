/* Tensors at run time: the containers of elements, reference counts, and conversion from and to
 * attributes.
 * Tests: test/unit/ir/attr/array_test.c */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attr/attr.h"
#include "ir/support/support.h"

/* i1 counts: its values are 0 and 1. */
static bool is_unsigned(const Type *elem)
{
    return type_width(elem) == 1 ||
           (elem->kind == TYPE_INTEGER && elem->u.integer.sign == UNSIGNED);
}

bool array_kind_of(const Type *elem, ArrayKind *kind)
{
    uint32_t width = type_width(elem);
    if (width == 0 || width > 64) return false;
    if (type_is_float(elem)) {
        *kind = width == 64 ? ARRAY_F64 : ARRAY_F32;
        return true;
    }
    if (elem->kind != TYPE_INDEX && !type_is_integer(elem)) return false;
    uint32_t size = width <= 8 ? 0 : width <= 16 ? 1 : width <= 32 ? 2 : 3;
    *kind = (ArrayKind)(ARRAY_I8 + 2 * size + is_unsigned(elem));
    return true;
}

size_t array_kind_bytes(ArrayKind kind)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return bytes[kind];
}

bool array_is_float(const Array *array)
{
    return array->kind >= ARRAY_F32;
}

bool array_fits(const Type *type)
{
    ArrayKind kind;
    int64_t count = 1;
    if (!array_kind_of(type_elem(type), &kind)) return false;
    if (type_is_shaped(type) && (!type_is_static(type) || !type_element_count(type, &count)))
        return false;
    return count <= ARRAY_MAX_BYTES / (int64_t)array_kind_bytes(kind);
}

/* Without data. */
static Array *array_frame(const Type *type)
{
    ArrayKind kind;
    int64_t count = 1;
    const Type *elem = type_elem(type);
    bool is_shaped = type_is_shaped(type);
    if (!array_kind_of(elem, &kind)) return NULL;
    if (is_shaped && (!type_is_static(type) || !type_element_count(type, &count))) return NULL;
    if ((uint64_t)count > SIZE_MAX / array_kind_bytes(kind)) return NULL;
    Array *array = xmalloc(sizeof *array);
    array->type = is_shaped ? type : type_tensor(elem, NULL, 0, NULL);
    array->elem = elem;
    array->kind = kind;
    array->refs = 1;
    array->count = count;
    array->data = NULL;
    return array;
}

Array *array_new(const Type *type)
{
    Array *array = array_frame(type);
    if (array) array->data = xcalloc((size_t)array->count, array_kind_bytes(array->kind));
    return array;
}

Array *array_try_new(const Type *type, int64_t most)
{
    Array *array = array_fits(type) ? array_frame(type) : NULL;
    if (!array) return NULL;
    if (array->count > most) {
        free(array);
        return NULL;
    }
    array->data = calloc((size_t)i64_max(array->count, 1), array_kind_bytes(array->kind));
    if (array->data) return array;
    free(array);
    return NULL;
}

Array *array_ref(Array *array)
{
    array->refs++;
    return array;
}

void array_unref(Array *array)
{
    if (!array || --array->refs > 0) return;
    free(array->data);
    free(array);
}

Array *array_own(Array *array)
{
    if (array->refs == 1) return array;
    Array *copy = xmalloc(sizeof *copy);
    size_t size = (size_t)array->count * array_kind_bytes(array->kind);
    *copy = *array;
    copy->refs = 1;
    copy->data = xmalloc(size);
    memcpy(copy->data, array->data, size);
    array_unref(array);
    return copy;
}

Array *array_reshape(Array *array, const Type *type)
{
    array = array_own(array);
    assert(type_elem(type) == array->elem);
    array->type = type;
    return array;
}

int64_t array_get_i64(const Array *array, int64_t index)
{
    switch (array->kind) {
    case ARRAY_I8: return ((const int8_t *)array->data)[index];
    case ARRAY_U8: return ((const uint8_t *)array->data)[index];
    case ARRAY_I16: return ((const int16_t *)array->data)[index];
    case ARRAY_U16: return ((const uint16_t *)array->data)[index];
    case ARRAY_I32: return ((const int32_t *)array->data)[index];
    case ARRAY_U32: return ((const uint32_t *)array->data)[index];
    case ARRAY_I64:
    case ARRAY_U64: return ((const int64_t *)array->data)[index];
    case ARRAY_F32:
    case ARRAY_F64: break;
    }
    assert(false && "a float array");
    return 0;
}

double array_get_f64(const Array *array, int64_t index)
{
    if (array->kind == ARRAY_F32) return (double)((const float *)array->data)[index];
    if (array->kind == ARRAY_F64) return ((const double *)array->data)[index];
    if (array->kind == ARRAY_U64) return (double)((const uint64_t *)array->data)[index];
    return (double)array_get_i64(array, index);
}

int64_t array_wrap(const Type *elem, int64_t value)
{
    uint32_t unused = 64 - type_width(elem);
    uint64_t high = (uint64_t)value << unused;
    return is_unsigned(elem) ? (int64_t)(high >> unused) : (int64_t)high >> unused;
}

static _Thread_local OtherRounding *other_rounding;

void array_round_otherwise(OtherRounding *rounding)
{
    other_rounding = rounding;
}

bool array_rounds_otherwise(void)
{
    return other_rounding != NULL;
}

/* A bit of splitmix64. */
static bool random_bit(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (z ^ z >> 27) >> 63;
}

static bool rounds_up(OtherRounding *rounding, bool is_negative)
{
    switch (rounding->to) {
    case ROUND_TO_SMALLER: return false;
    case ROUND_TO_LARGER: return true;
    case ROUND_TO_ZERO: return is_negative;
    case ROUND_FROM_ZERO: return !is_negative;
    case ROUND_TO_ANY:
    case ROUND_TO_COUNT: break;
    }
    return random_bit(&rounding->state);
}

/* Whether a number goes to the neighbour on its other side than the nearest one. */
static bool rounds_to_other(double value, double nearest)
{
    if (!other_rounding || !isfinite(nearest) || !(nearest > value || nearest < value))
        return false;
    other_rounding->inexact++;
    return rounds_up(other_rounding, value < 0) != (nearest > value);
}

static double round_f32(double value)
{
    double nearest = (double)(float)value;
    if (!rounds_to_other(value, nearest)) return nearest;
    return (double)nextafterf((float)nearest, nearest < value ? INFINITY : -INFINITY);
}

/* To sign and magnitude; the largest number has no neighbour in types without an infinity. */
static double round_narrow(const Type *elem, double value)
{
    int kind = (int)elem->kind;
    double nearest = float_from_bits(kind, float_to_bits(kind, value));
    if (!rounds_to_other(value, nearest)) return nearest;
    bool is_up = nearest < value;
    if (nearest == 0) return copysign(float_neighbour(kind, 0, true), is_up ? 1 : -1);
    double other = float_neighbour(kind, nearest, (nearest > 0) == is_up);
    return isfinite(other) ? other : nearest;
}

double array_round(const Type *elem, double value)
{
    if (elem->kind == TYPE_F64) return value;
    if (elem->kind == TYPE_F32) return round_f32(value);
    return round_narrow(elem, value);
}

void array_set_i64(Array *array, int64_t index, int64_t value)
{
    value = array_wrap(array->elem, value);
    switch (array->kind) {
    case ARRAY_I8:
    case ARRAY_U8: ((uint8_t *)array->data)[index] = (uint8_t)value; return;
    case ARRAY_I16:
    case ARRAY_U16: ((uint16_t *)array->data)[index] = (uint16_t)value; return;
    case ARRAY_I32:
    case ARRAY_U32: ((uint32_t *)array->data)[index] = (uint32_t)value; return;
    case ARRAY_I64:
    case ARRAY_U64: ((uint64_t *)array->data)[index] = (uint64_t)value; return;
    case ARRAY_F32:
    case ARRAY_F64: break;
    }
    assert(false && "a float array");
}

void array_set_f64(Array *array, int64_t index, double value)
{
    value = array_round(array->elem, value);
    if (array->kind == ARRAY_F32)
        ((float *)array->data)[index] = (float)value;
    else if (array->kind == ARRAY_F64)
        ((double *)array->data)[index] = value;
    else
        assert(false && "an integer array");
}

void array_copy(Array *to_array, int64_t to, const Array *from_array, int64_t from)
{
    size_t size = array_kind_bytes(to_array->kind);
    memcpy((char *)to_array->data + (size_t)to * size,
           (const char *)from_array->data + (size_t)from * size, size);
}

static Array *from_scalar(const Attr *attr)
{
    Array *array = array_new(attr->type);
    if (!array) return NULL;
    if (array_is_float(array))
        array_set_f64(array, 0, attr_float_value(attr));
    else
        array_set_i64(array, 0, attr_int_value(attr));
    return array;
}

/* Whether dense elements are stored as the array keeps them. */
static bool is_stored_alike(const Array *array)
{
    return array->elem->kind == TYPE_F32 || array->elem->kind == TYPE_F64 ||
           (type_is_integer(array->elem) &&
            type_width(array->elem) == 8 * array_kind_bytes(array->kind));
}

Array *array_from_attr(const Attr *attr)
{
    if (attr->kind == ATTR_INTEGER || attr->kind == ATTR_FLOAT) return from_scalar(attr);
    if (attr->kind != ATTR_DENSE && attr->kind != ATTR_DENSE_RESOURCE) return NULL;
    ArrayKind kind;
    if (!array_kind_of(attr->type->u.shaped.elem, &kind) || !dense_is_complete(attr)) return NULL;
    Array *array = array_new(attr->type);
    if (array && attr->kind == ATTR_DENSE && !attr->u.dense.is_splat && is_stored_alike(array)) {
        memcpy(array->data, attr->u.dense.data, attr->u.dense.size);
        return array;
    }
    for (int64_t i = 0; array && i < array->count; i++) {
        if (array_is_float(array))
            array_set_f64(array, i, dense_f64(attr, i));
        else
            array_set_i64(array, i, dense_i64(attr, i));
    }
    return array;
}

const Attr *array_to_attr(const Array *array)
{
    size_t count = (size_t)array->count;
    const Attr *attr;
    if (is_stored_alike(array))
        return attr_dense_raw(array->type, array->data, count * array_kind_bytes(array->kind),
                              false);
    if (array_is_float(array)) {
        double *values = xmalloc(count * sizeof *values);
        for (size_t i = 0; i < count; i++) values[i] = array_get_f64(array, (int64_t)i);
        attr = attr_dense_f64(array->type, values, count);
        free(values);
        return attr;
    }
    int64_t *values = xmalloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = array_get_i64(array, (int64_t)i);
    attr = attr_dense_i64(array->type, values, count);
    free(values);
    return attr;
}
