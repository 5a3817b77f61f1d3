/* Conversion of SparseTensorProto to dense elements; elements that it does not list are 0.
 * Tests: test/unit/import/import_test.c, lit/import/sparse.test */
#include "import/internal.h"
#include "ir/attr/attr.h"

/* A sparse tensor is made dense only up to this size: the file need not be large. */
enum { MAX_ELEMENTS = 1 << 26 };

static bool fail(StrBuf *why, const char *text)
{
    strbuf_add_c(why, text);
    return false;
}

static bool dense_type(const Onnx__SparseTensorProto *sparse, const Attr *values, const Type **out,
                       StrBuf *why)
{
    int64_t count;
    if (sparse->n_dims > UINT32_MAX) return fail(why, "has too many dimensions");
    for (size_t i = 0; i < sparse->n_dims; i++)
        if (sparse->dims[i] < 0) return fail(why, "has a negative dimension");
    *out = type_tensor(type_elem(values->type), sparse->dims, (uint32_t)sparse->n_dims, NULL);
    if (!type_element_count(*out, &count) || count > MAX_ELEMENTS)
        return fail(why, "is too large to be stored with its zeros");
    return true;
}

/* The row-major position of value i. Indices are either flat, with shape (values), or have shape
 * (values, rank). */
static bool position_of(const Array *indices, const Array *dense, int64_t i, int64_t *out)
{
    uint32_t rank = dense->type->u.shaped.rank;
    *out = 0;
    if (indices->type->u.shaped.rank == 1) {
        *out = array_get_i64(indices, i);
        return *out >= 0 && *out < dense->count;
    }
    for (uint32_t d = 0; d < rank; d++) {
        int64_t extent = dense->type->u.shaped.dims[d];
        int64_t index = array_get_i64(indices, i * rank + d);
        if (index < 0 || index >= extent) return false;
        *out = *out * extent + index;
    }
    return true;
}

static bool check_indices(const Array *indices, const Array *values, uint32_t rank, StrBuf *why)
{
    const Type *type = indices->type;
    bool fits = type_is_int_width(indices->elem, 64) && values->type->u.shaped.rank == 1 &&
                (type->u.shaped.rank == 1 ||
                 (type->u.shaped.rank == 2 && type->u.shaped.dims[1] == rank)) &&
                type->u.shaped.dims[0] == values->count;
    return fits || fail(why, "has indices that do not fit its values");
}

static bool scatter(const Array *indices, const Array *values, Array *dense, StrBuf *why)
{
    if (!check_indices(indices, values, dense->type->u.shaped.rank, why)) return false;
    for (int64_t i = 0; i < values->count; i++) {
        int64_t at;
        if (!position_of(indices, dense, i, &at)) return fail(why, "has an index out of range");
        if (type_is_float(dense->elem))
            array_set_f64(dense, at, array_get_f64(values, i));
        else
            array_set_i64(dense, at, array_get_i64(values, i));
    }
    return true;
}

const Attr *import_sparse_tensor(Context *ctx, const Onnx__SparseTensorProto *sparse, Str folder,
                                 StrBuf *why)
{
    if (!sparse->values || !sparse->indices) {
        fail(why, "is sparse and has no values or no indices");
        return NULL;
    }
    const Attr *values = import_tensor(ctx, sparse->values, folder, why), *result = NULL;
    const Attr *indices = values ? import_tensor(ctx, sparse->indices, folder, why) : NULL;
    const Type *type;
    if (!indices || !dense_type(sparse, values, &type, why)) return NULL;
    Array *from = array_from_attr(values), *at = array_from_attr(indices);
    Array *dense = array_new(type);
    if (!from || !at || !dense)
        fail(why, "is sparse and has elements of a type that is not supported");
    else if (scatter(at, from, dense, why))
        result = array_to_attr(dense);
    array_unref(from);
    array_unref(at);
    array_unref(dense);
    return result;
}
