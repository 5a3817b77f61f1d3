/* Conversion of TensorProto to dense elements: raw data, typed fields and data in other files, for
 * all numeric types. Sizes are checked before anything is allocated. Both forms are little endian.
 * Tests: test/unit/import/import_test.c */
#include <assert.h>
#include <string.h>

#include "dialects/onnx/onnx.h"
#include "import/internal.h"

typedef enum Field { FIELD_FLOAT, FIELD_INT32, FIELD_INT64, FIELD_DOUBLE, FIELD_UINT64 } Field;

/* The storage of elements of one TensorProto.DataType, whose type onnx_elem_type gives. */
typedef struct ElemFormat {
    int32_t data_type;
    uint32_t width; /* bits of one number in raw data; bool: 8 */
    Field field;    /* where numbers are that are not in raw data */
    bool is_signed; /* numbers in int32_data may be negative */
    bool is_complex;
} ElemFormat;

static const ElemFormat formats[] = {
    {1, 32, FIELD_FLOAT},
    {2, 8, FIELD_INT32},
    {3, 8, FIELD_INT32, .is_signed = true},
    {4, 16, FIELD_INT32},
    {5, 16, FIELD_INT32, .is_signed = true},
    {6, 32, FIELD_INT32, .is_signed = true},
    {7, 64, FIELD_INT64},
    {9, 8, FIELD_INT32}, /* bool */
    {10, 16, FIELD_INT32},
    {11, 64, FIELD_DOUBLE},
    {12, 32, FIELD_UINT64},
    {13, 64, FIELD_UINT64},
    {14, 32, FIELD_FLOAT, .is_complex = true},
    {15, 64, FIELD_DOUBLE, .is_complex = true},
    {16, 16, FIELD_INT32},
    {17, 8, FIELD_INT32},
    {18, 8, FIELD_INT32},
    {19, 8, FIELD_INT32},
    {20, 8, FIELD_INT32},
    {21, 4, FIELD_INT32},
    {22, 4, FIELD_INT32},
    {25, 2, FIELD_INT32},
    {26, 2, FIELD_INT32},
};

enum { DATA_TYPE_BOOL = 9 };

static const ElemFormat *find_format(int32_t data_type)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (formats[i].data_type == data_type) return &formats[i];
    return NULL;
}

/* Bytes of raw data for `count` elements; numbers of 4 and of 2 bits share a byte. */
static bool raw_size(const ElemFormat *format, int64_t count, size_t *out)
{
    size_t bits, width = format->width * (format->is_complex ? 2 : 1);
    if (!size_mul((size_t)count, width, &bits)) return false;
    *out = (bits + 7) / 8;
    return true;
}

static bool tensor_type(Context *ctx, const Onnx__TensorProto *tensor, const ElemFormat *format,
                        const Type **type, StrBuf *why)
{
    if (tensor->n_dims > UINT32_MAX) return strbuf_fail(why, "has too many dimensions");
    for (size_t i = 0; i < tensor->n_dims; i++)
        if (tensor->dims[i] < 0)
            return strbuf_fail(why, "has the dimension %lld", (long long)tensor->dims[i]);
    *type = type_tensor(onnx_elem_type(ctx, format->data_type), tensor->dims,
                        (uint32_t)tensor->n_dims, NULL);
    int64_t count;
    size_t size;
    if (!type_element_count(*type, &count) || !raw_size(format, count, &size))
        return strbuf_fail(why, "has too many elements");
    return true;
}

/* One bit per bool, as dense elements of i1 are stored. */
static uint8_t *pack_bools(const uint8_t *bytes, size_t count, size_t *size)
{
    *size = (count + 7) / 8;
    uint8_t *packed = xcalloc(*size + 1, 1);
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) packed[i / 8] = (uint8_t)(packed[i / 8] | 1u << i % 8);
    return packed;
}

/* Whether several numbers share a byte. */
static bool is_packed(const ElemFormat *format)
{
    return format->width < 8;
}

/* One byte per number of `width` bits; the low bits of a byte come first. */
static uint8_t *unpack_numbers(const uint8_t *bytes, size_t count, uint32_t width, size_t *size)
{
    size_t each = 8 / width;
    *size = count;
    uint8_t *out = xcalloc(count + 1, 1);
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)((uint32_t)bytes[i / each] >> i % each * width & ((1u << width) - 1));
    return out;
}

static const Attr *from_raw(const ElemFormat *format, const Type *type, const uint8_t *data,
                            size_t size, StrBuf *why)
{
    int64_t count = 0;
    size_t want = 0;
    if (!type_element_count(type, &count) || !raw_size(format, count, &want) || size != want) {
        strbuf_fail(why, "has %zu bytes of data; its shape needs %zu", size, want);
        return NULL;
    }
    if (format->data_type != DATA_TYPE_BOOL && !is_packed(format))
        return attr_dense_raw(type, data, size, false);
    uint8_t *stored = is_packed(format) ? unpack_numbers(data, (size_t)count, format->width, &size)
                                        : pack_bools(data, (size_t)count, &size);
    const Attr *attr = attr_dense_raw(type, stored, size, false);
    free_ptr((void **)&stored);
    return attr;
}

static size_t field_length(const Onnx__TensorProto *tensor, Field field)
{
    switch (field) {
    case FIELD_FLOAT: return tensor->n_float_data;
    case FIELD_INT32: return tensor->n_int32_data;
    case FIELD_INT64: return tensor->n_int64_data;
    case FIELD_DOUBLE: return tensor->n_double_data;
    case FIELD_UINT64: return tensor->n_uint64_data;
    }
    return 0;
}

/* Numbers in a typed field: two per complex element, one per byte of packed elements. */
static size_t field_want(const ElemFormat *format, size_t count)
{
    if (is_packed(format)) return (count * format->width + 7) / 8;
    return format->is_complex ? 2 * count : count;
}

/* Bits of number i, and whether they fit the element. */
static bool field_bits(const Onnx__TensorProto *tensor, const ElemFormat *format, size_t i,
                       uint64_t *bits)
{
    uint32_t width = is_packed(format) ? 8 : format->width;
    if (format->field == FIELD_UINT64) {
        *bits = tensor->uint64_data[i];
        return width == 64 || *bits >> width == 0;
    }
    int64_t number = tensor->int32_data[i];
    int64_t low = format->is_signed ? -(INT64_C(1) << (width - 1)) : 0;
    *bits = (uint64_t)number;
    return number >= low && number < low + (INT64_C(1) << width);
}

/* Little-endian bytes of the numbers, as raw data would have them. */
static bool field_bytes(const Onnx__TensorProto *tensor, const ElemFormat *format, uint8_t *out,
                        size_t length, StrBuf *why)
{
    size_t bytes = is_packed(format) ? 1 : format->width / 8;
    for (size_t i = 0; i < length; i++) {
        uint64_t bits;
        if (!field_bits(tensor, format, i, &bits))
            return strbuf_fail(why, "has an element that does not fit its type");
        for (size_t k = 0; k < bytes; k++) out[i * bytes + k] = (uint8_t)(bits >> 8 * k);
    }
    return true;
}

static const Attr *from_words(const Onnx__TensorProto *tensor, const ElemFormat *format,
                              const Type *type, size_t length, StrBuf *why)
{
    size_t size = length * (is_packed(format) ? 1 : format->width / 8);
    uint8_t *bytes = xmalloc(size);
    const Attr *attr = NULL;
    if (field_bytes(tensor, format, bytes, length, why))
        attr = from_raw(format, type, bytes, size, why);
    free_ptr((void **)&bytes);
    return attr;
}

static const Attr *from_field(const Onnx__TensorProto *tensor, const ElemFormat *format,
                              const Type *type, StrBuf *why)
{
    int64_t count = 0;
    size_t length = field_length(tensor, format->field);
    if (!type_element_count(type, &count) || length != field_want(format, (size_t)count)) {
        strbuf_fail(why, "has %zu numbers; its shape needs %zu", length,
                    field_want(format, (size_t)count));
        return NULL;
    }
    switch (format->field) {
    case FIELD_FLOAT:
        return from_raw(format, type, (const uint8_t *)tensor->float_data, length * 4, why);
    case FIELD_DOUBLE:
        return from_raw(format, type, (const uint8_t *)tensor->double_data, length * 8, why);
    case FIELD_INT64:
        return from_raw(format, type, (const uint8_t *)tensor->int64_data, length * 8, why);
    default: return from_words(tensor, format, type, length, why);
    }
}

static const Attr *from_external(const Onnx__TensorProto *tensor, const ElemFormat *format,
                                 const Type *type, Str folder, StrBuf *why)
{
    uint8_t *data;
    size_t size = 0;
    int64_t count;
    bool fits = type_element_count(type, &count) && raw_size(format, count, &size);
    assert(fits); /* by tensor_type */
    (void)fits;
    if (!import_external_read(tensor, folder, &data, size, why)) return NULL;
    const Attr *attr = from_raw(format, type, data, size, why);
    free_ptr((void **)&data);
    return attr;
}

const Attr *import_tensor(Context *ctx, const Onnx__TensorProto *tensor, Str folder, StrBuf *why)
{
    const ElemFormat *format = find_format(tensor->data_type);
    const Type *type = NULL;
    if (!format) {
        import_no_elem_type(why, tensor->data_type);
        return NULL;
    }
    if (tensor->segment) {
        strbuf_fail(why, "is stored in segments, which is not supported");
        return NULL;
    }
    if (!tensor_type(ctx, tensor, format, &type, why)) return NULL;
    if (tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return from_external(tensor, format, type, folder, why);
    if (tensor->has_raw_data)
        return from_raw(format, type, tensor->raw_data.data, tensor->raw_data.len, why);
    return from_field(tensor, format, type, why);
}
