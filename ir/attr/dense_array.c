/* Dense arrays, array<i64: 1, 2>: flat lists of numbers without a shape. An i1 takes one byte.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/attributes.mir */
#include <assert.h>

#include "ir/attr/internal.h"

size_t dense_array_elem_bytes(const Type *elem)
{
    return (type_width(elem) + 7) / 8;
}

size_t dense_array_size(const Attr *attr)
{
    return attr->u.dense_array.count * dense_array_elem_bytes(attr->u.dense_array.elem);
}

const Attr *attr_dense_array(const Type *elem, const void *data, size_t count)
{
    Attr key = {.kind = ATTR_DENSE_ARRAY, .ctx = elem->ctx};
    key.u.dense_array.elem = elem;
    key.u.dense_array.count = count;
    key.u.dense_array.data = data;
    return attr_intern(&key);
}

const Attr *attr_i64_array(Context *ctx, const int64_t *values, size_t count)
{
    uint8_t *data = xmalloc(count * 8);
    for (size_t i = 0; i < count; i++)
        for (uint32_t byte = 0; byte < 8; byte++)
            data[8 * i + byte] = (uint8_t)((uint64_t)values[i] >> (8 * byte));
    const Attr *attr = attr_dense_array(type_i(ctx, 64), data, count);
    free_ptr((void **)&data);
    return attr;
}

/* Sizes of operand groups are i32 and asked for all the time: one load. */
static uint64_t load(const uint8_t *data, size_t bytes)
{
    if (bytes == 4)
        return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
               (uint32_t)data[3] << 24;
    uint64_t word = 0;
    for (size_t i = 0; i < bytes && i < sizeof(word); i++) word |= (uint64_t)data[i] << (8 * i);
    return word;
}

bool attr_is_int_array(const Attr *attr)
{
    return attr && attr->kind == ATTR_DENSE_ARRAY && type_is_integer(attr->u.dense_array.elem);
}

int64_t dense_array_i64(const Attr *attr, size_t index)
{
    const Type *elem = attr->u.dense_array.elem;
    assert(attr->kind == ATTR_DENSE_ARRAY && type_is_integer(elem));
    assert(index < attr->u.dense_array.count);
    uint32_t width = elem->u.integer.width;
    size_t bytes = (width + 7) / 8;
    uint64_t word = load(attr->u.dense_array.data + index * bytes, bytes);
    if (width == 0) return 0;
    if (width == 1) return (int64_t)(word & 1);
    if (bytes > sizeof(word)) bytes = sizeof(word);
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    return (int64_t)((word ^ sign) - sign);
}
