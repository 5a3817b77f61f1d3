/* Inside of attributes, for ir/ sources only.
 * A constructor fills an Attr on the stack that borrows its arrays and interns it. */
#ifndef MING_IR_ATTR_IMPL_H
#define MING_IR_ATTR_IMPL_H

#include "ir/attr/context_impl.h"

/* The context's attribute equal to key; on a miss a copy that owns its arrays. */
const Attr *attr_intern(const Attr *key);
/* The same for a key whose arrays live as long as the context: a miss keeps them. */
const Attr *attr_intern_owned(const Attr *key);

/* Bytes of one element of array<...>, and of all. */
size_t dense_array_elem_bytes(const Type *elem);
size_t dense_array_size(const Attr *attr);

/* Elements of a dense attribute or of a resource's blob, wherever they lie. */
typedef struct DenseView {
    const uint8_t *data; /* NULL: a resource without blob */
    size_t size;
    const Type *elem;
    bool is_splat; /* data holds one element */
    bool is_packed; /* i1, eight per byte */
} DenseView;
DenseView dense_view(const Attr *attr);
/* The bytes of one element that is not packed. */
const uint8_t *dense_view_at(const DenseView *view, int64_t index);
bool dense_view_bit(const DenseView *view, int64_t index);
/* One integer of `width` bits from its storage; words (little endian) has room for it. */
BigInt dense_load_int(uint32_t width, const uint8_t *data, uint64_t *words);
/* Bits of one float. */
void dense_load_float(const Type *elem, const uint8_t *data, uint64_t words[2]);

#endif
