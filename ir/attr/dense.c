/* Dense elements: construction, detection of splats, and reading of single elements. The storage is
 * the one that upstream prints as hex: row-major, little endian, ceil(width/8) bytes per element
 * (index 8, complex twice its part), i1 packed eight per byte except as part of a complex. Bits
 * above an element's width are zero. A tensor of equal elements is always stored as a splat,
 * because attributes that mean the same must have one address.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/dense.mir */
#include <assert.h>
#include <string.h>

#include "ir/attr/internal.h"

static bool is_i1(const Type *type)
{
    return type->kind == TYPE_INTEGER && type->u.integer.width == 1;
}

/* Bytes of one number; unlike dense_elem_bytes also of i1. */
static uint32_t scalar_bytes(const Type *elem)
{
    return (type_width(elem) + 7) / 8;
}

uint32_t dense_elem_bytes(const Type *elem)
{
    if (elem->kind == TYPE_COMPLEX) return 2 * scalar_bytes(elem->u.shaped.elem);
    return is_i1(elem) ? 0 : scalar_bytes(elem);
}

void dense_copy_elem(uint8_t *to, int64_t at, const uint8_t *from, int64_t index, uint32_t bytes)
{
    if (bytes > 0)
        memcpy(to + at * bytes, from + index * bytes, bytes);
    else if (from[index / 8] >> index % 8 & 1)
        to[at / 8] = (uint8_t)(to[at / 8] | 1u << at % 8);
}

static void store_word(uint8_t *out, uint64_t word, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) out[i] = (uint8_t)(word >> (8 * i));
}

static uint64_t load_word(const uint8_t *data, uint32_t bytes)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < bytes; i++) word |= (uint64_t)data[i] << (8 * i);
    return word;
}

static void store_int(uint8_t *out, const BigInt *value)
{
    const uint64_t *words = bigint_words(value);
    uint32_t bytes = (value->width + 7) / 8;
    for (uint32_t at = 0; at < bytes; at += 8)
        store_word(out + at, words[at / 8], bytes - at < 8 ? bytes - at : 8);
}

BigInt dense_load_int(uint32_t width, const uint8_t *data, uint64_t *words)
{
    uint32_t bytes = (width + 7) / 8;
    for (uint32_t at = 0; at < bytes; at += 8)
        words[at / 8] = load_word(data + at, bytes - at < 8 ? bytes - at : 8);
    if (width % 64) words[width / 64] &= ~(uint64_t)0 >> (64 - width % 64);
    BigInt value = {.width = width};
    if (width <= 64)
        value.u.word = width ? words[0] : 0;
    else
        value.u.words = words;
    return value;
}

void dense_load_float(const Type *elem, const uint8_t *data, uint64_t words[2])
{
    uint32_t bytes = scalar_bytes(elem);
    words[0] = load_word(data, bytes < 8 ? bytes : 8);
    words[1] = bytes > 8 ? load_word(data + 8, bytes - 8) : 0;
}

static void store_float(uint8_t *out, const Type *elem, const uint64_t words[2])
{
    uint32_t bytes = scalar_bytes(elem);
    store_word(out, words[0], bytes < 8 ? bytes : 8);
    if (bytes > 8) store_word(out + 8, words[1], bytes - 8);
}

/* An integer or float attribute, or [re, im]; i1 as one byte. */
static void store_attr(uint8_t *out, const Type *elem, const Attr *value)
{
    if (elem->kind == TYPE_COMPLEX) {
        const Type *part = elem->u.shaped.elem;
        assert(value->kind == ATTR_ARRAY && value->u.array.count == 2);
        store_attr(out, part, value->u.array.items[0]);
        store_attr(out + scalar_bytes(part), part, value->u.array.items[1]);
    } else if (value->kind == ATTR_FLOAT) {
        store_float(out, elem, (const uint64_t[]){value->u.float_bits, value->u.float_high});
    } else {
        assert(value->kind == ATTR_INTEGER);
        store_int(out, &value->u.integer);
    }
}

static int64_t static_count(const Type *type)
{
    int64_t count = 0;
    bool is_static = type_element_count(type, &count);
    assert(is_static);
    (void)is_static;
    return count;
}

static Attr dense_key(const Type *type, const uint8_t *data, size_t size, bool is_splat)
{
    Attr key = {.kind = ATTR_DENSE, .ctx = type->ctx, .type = type};
    key.u.dense.is_splat = is_splat;
    key.u.dense.size = size;
    key.u.dense.data = data;
    return key;
}

static const Attr *dense_intern(const Type *type, const uint8_t *data, size_t size, bool is_splat)
{
    Attr key = dense_key(type, data, size, is_splat);
    return attr_intern(&key);
}

/* Whether `count` packed bits all equal the first one. */
static bool bits_are_equal(const uint8_t *data, size_t count)
{
    uint8_t fill = data[0] & 1 ? 0xff : 0;
    size_t whole = count / 8;
    for (size_t i = 0; i < whole; i++)
        if (data[i] != fill) return false;
    uint8_t mask = (uint8_t)((1u << count % 8) - 1);
    return mask == 0 || (data[whole] & mask) == (fill & mask);
}

/* Without what a text in hexadecimal may have behind the last of its elements, which upstream keeps, so
 * that its text changes when it is read and printed again. `rest`: elements in the last byte, 0: eight. */
static const Attr *dense_of_mixed_bits(const Type *type, const uint8_t *data, size_t size,
                                       size_t rest)
{
    const uint8_t mask = (uint8_t)((1u << rest) - 1);
    if (rest == 0 || (data[size - 1] & ~mask) == 0) return dense_intern(type, data, size, false);
    uint8_t *clean = xcalloc(size, 1);
    memcpy(clean, data, size);
    clean[size - 1] &= mask;
    const Attr *attr = dense_intern(type, clean, size, false);
    free_ptr((void **)&clean);
    return attr;
}

static const Attr *dense_of_bits(const Type *type, const uint8_t *data, size_t size, bool is_splat)
{
    size_t count = (size_t)static_count(type);
    assert(is_splat || size == (count + 7) / 8);
    if (!is_splat && (count == 0 || !bits_are_equal(data, count)))
        return dense_of_mixed_bits(type, data, size, count % 8);
    uint8_t bit = data[0] & 1;
    return dense_intern(type, &bit, 1, true);
}

/* Shifted by one element the data equals itself: all elements are equal. */
static bool is_uniform(const uint8_t *data, size_t size, size_t elem_bytes)
{
    return size > 0 && memcmp(data, data + elem_bytes, size - elem_bytes) == 0;
}

const Attr *attr_dense_raw(const Type *type, const void *data, size_t size, bool is_splat)
{
    const Type *elem = type_elem(type);
    if (is_i1(elem)) return dense_of_bits(type, data, size, is_splat);
    size_t bytes = dense_elem_bytes(elem);
    assert(size == bytes * (is_splat ? 1 : (size_t)static_count(type)));
    if (is_splat || !is_uniform(data, size, bytes)) return dense_intern(type, data, size, is_splat);
    return dense_intern(type, data, bytes, true);
}

/* Data below this is better copied into the arena than kept on the heap. */
enum { ADOPT_FROM = 1 << 16 };

const Attr *attr_dense_adopt(const Type *type, uint8_t *data, size_t size, bool is_splat)
{
    Context *ctx = type->ctx;
    const Type *elem = type_elem(type);
    const Attr *attr;
    if (size < ADOPT_FROM || is_i1(elem) || is_uniform(data, size, dense_elem_bytes(elem))) {
        attr = attr_dense_raw(type, data, size, is_splat);
    } else {
        assert(!is_splat && size == dense_elem_bytes(elem) * (size_t)static_count(type));
        Attr key = dense_key(type, data, size, false);
        attr = attr_intern_owned(&key);
    }
    if (attr->u.dense.data == data)
        *vec_push(&ctx->adopted) = data;
    else
        free_ptr((void **)&data);
    return attr;
}

const Attr *attr_dense_splat(const Type *type, const Attr *value)
{
    const Type *elem = type_elem(type);
    size_t bytes = is_i1(elem) ? 1 : dense_elem_bytes(elem);
    uint8_t *data = xcalloc(bytes ? bytes : 1, 1);
    store_attr(data, elem, value);
    const Attr *attr = attr_dense_raw(type, data, bytes, true);
    free_ptr((void **)&data);
    return attr;
}

const Attr *attr_dense_i64(const Type *type, const int64_t *values, size_t count)
{
    const Type *elem = type_elem(type);
    bool is_packed = is_i1(elem);
    uint32_t width = type_width(elem), bytes = is_packed ? 0 : dense_elem_bytes(elem);
    size_t size = is_packed ? (count + 7) / 8 : count * bytes;
    uint8_t *data = xcalloc(size ? size : 1, 1);
    uint64_t mask = width >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
    for (size_t i = 0; i < count; i++) {
        uint8_t *out = data + i * bytes;
        if (is_packed) {
            data[i / 8] |= (uint8_t)((values[i] & 1) << i % 8);
        } else if (width <= 64) {
            store_word(out, (uint64_t)values[i] & mask, bytes);
        } else {
            BigInt big = bigint_from_i64(&type->ctx->arena, width, values[i]);
            store_int(out, &big);
        }
    }
    const Attr *attr = attr_dense_raw(type, data, size, false);
    free_ptr((void **)&data);
    return attr;
}

const Attr *attr_dense_f64(const Type *type, const double *values, size_t count)
{
    const Type *elem = type_elem(type);
    size_t bytes = dense_elem_bytes(elem), size = count * bytes;
    uint8_t *data = xcalloc(size ? size : 1, 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t words[2];
        float_to_words((int)elem->kind, values[i], words);
        store_float(data + i * bytes, elem, words);
    }
    const Attr *attr = attr_dense_raw(type, data, size, false);
    free_ptr((void **)&data);
    return attr;
}

static bool strings_are_equal(const Str *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!str_eq(items[i], items[0])) return false;
    return count > 0;
}

const Attr *attr_dense_strings(const Type *type, const Str *items, size_t count, bool is_splat)
{
    if (strings_are_equal(items, count)) {
        is_splat = true;
        count = 1;
    }
    Attr key = {.kind = ATTR_DENSE_STRINGS, .ctx = type->ctx, .type = type};
    key.u.dense_strings.is_splat = is_splat;
    key.u.dense_strings.count = count;
    key.u.dense_strings.items = items;
    return attr_intern(&key);
}

const Attr *attr_dense_resource(const Type *type, const Ident *key_name)
{
    Attr key = {.kind = ATTR_DENSE_RESOURCE, .ctx = type->ctx, .type = type};
    key.u.resource.key = key_name;
    return attr_intern(&key);
}

const Attr *attr_sparse(const Type *type, const Attr *indices, const Attr *values)
{
    Attr key = {.kind = ATTR_SPARSE, .ctx = type->ctx, .type = type};
    key.u.sparse.indices = indices;
    key.u.sparse.values = values;
    return attr_intern(&key);
}

int64_t dense_count(const Attr *attr)
{
    return static_count(attr->type);
}

static DenseView resource_view(const Attr *attr)
{
    Context *ctx = attr->ctx;
    DenseView view = {.elem = type_elem(attr->type)};
    const Ident *builtin = ident_get_c(ctx, "builtin");
    const ResourceBlob *blob = context_resource(ctx, builtin, attr->u.resource.key);
    if (!blob) return view;
    view.data = blob->data;
    view.size = blob->size;
    view.is_packed = is_i1(view.elem) && (int64_t)blob->size != dense_count(attr);
    return view;
}

DenseView dense_view(const Attr *attr)
{
    if (attr->kind == ATTR_DENSE_RESOURCE) return resource_view(attr);
    assert(attr->kind == ATTR_DENSE);
    const Type *elem = type_elem(attr->type);
    return (DenseView){attr->u.dense.data, attr->u.dense.size, elem, attr->u.dense.is_splat,
                       is_i1(elem)};
}

bool dense_is_complete(const Attr *attr)
{
    if (attr->kind != ATTR_DENSE) return false;
    DenseView view = dense_view(attr);
    size_t count = (size_t)dense_count(attr), bytes = view.elem->kind == TYPE_COMPLEX
                                                          ? dense_elem_bytes(view.elem)
                                                          : scalar_bytes(view.elem);
    if (view.is_splat || count == 0) return true;
    return view.data &&
           (view.is_packed ? count <= view.size * 8 : bytes == 0 || count <= view.size / bytes);
}

const uint8_t *dense_view_at(const DenseView *view, int64_t index)
{
    size_t bytes =
        view->elem->kind == TYPE_COMPLEX ? dense_elem_bytes(view->elem) : scalar_bytes(view->elem);
    size_t at = view->is_splat ? 0 : (size_t)index * bytes;
    assert(view->data && at + bytes <= view->size);
    return view->data + at;
}

bool dense_view_bit(const DenseView *view, int64_t index)
{
    if (!view->is_packed) return *dense_view_at(view, index) & 1;
    size_t at = view->is_splat ? 0 : (size_t)index;
    assert(view->data && at / 8 < view->size);
    return view->data[at / 8] >> at % 8 & 1;
}

void dense_i64_row(const Attr *attr, int64_t begin, size_t count, int64_t *out)
{
    DenseView view = dense_view(attr);
    uint32_t width = type_width(view.elem), bytes = scalar_bytes(view.elem);
    assert(width <= 64 && !type_is_float(view.elem));
    bool is_unsigned = view.elem->kind == TYPE_INTEGER && view.elem->u.integer.sign == UNSIGNED;
    uint64_t sign = width == 0 || is_unsigned ? 0 : (uint64_t)1 << (width - 1);
    size_t first = view.is_splat ? 0 : (size_t)begin, step = view.is_splat ? 0 : 1;
    assert(width < 2 || first + step * (count - 1) < view.size / bytes);
    if (bytes == 1 && width > 1) { /* weights of most networks: without a loop over bytes */
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)((view.data[first + i * step] ^ sign) - sign);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i * step;
        uint64_t word = 0;
        if (width == 1)
            word = dense_view_bit(&view, (int64_t)at);
        else if (width > 1)
            word = load_word(view.data + at * bytes, bytes);
        out[i] = (int64_t)((word ^ sign) - sign);
    }
}

int64_t dense_i64(const Attr *attr, int64_t index)
{
    int64_t value;
    dense_i64_row(attr, index, 1, &value);
    return value;
}

double dense_f64(const Attr *attr, int64_t index)
{
    DenseView view = dense_view(attr);
    assert(type_is_float(view.elem));
    uint64_t words[2];
    dense_load_float(view.elem, dense_view_at(&view, index), words);
    return float_from_words((int)view.elem->kind, words);
}

/* One number as an attribute. */
static const Attr *load_attr(const Type *elem, const uint8_t *data)
{
    uint64_t few[2] = {0};
    if (type_is_float(elem)) {
        dense_load_float(elem, data, few);
        return attr_float_words(elem, few);
    }
    uint32_t width = type_width(elem);
    uint64_t *words = width <= 128 ? few : xcalloc(bigint_word_count(width), sizeof *words);
    BigInt value = dense_load_int(width, data, words);
    const Attr *attr = attr_bigint(elem, &value);
    if (words != few) free_ptr((void **)&words);
    return attr;
}

const Attr *dense_elem(const Attr *attr, int64_t index)
{
    if (attr->kind == ATTR_DENSE_STRINGS) {
        size_t at = attr->u.dense_strings.is_splat ? 0 : (size_t)index;
        return attr_string(attr->ctx, attr->u.dense_strings.items[at]);
    }
    DenseView view = dense_view(attr);
    if (is_i1(view.elem)) return attr_int(view.elem, dense_view_bit(&view, index));
    const uint8_t *data = dense_view_at(&view, index);
    if (view.elem->kind != TYPE_COMPLEX) return load_attr(view.elem, data);
    const Type *part = view.elem->u.shaped.elem;
    const Attr *parts[] = {load_attr(part, data), load_attr(part, data + scalar_bytes(part))};
    return attr_array(attr->ctx, parts, 2);
}
