/* Elements of a tensor at run time: what an interpreter or a constant folder computes with.
 *
 * An element is kept in a native container whatever its type: an integer of N bits in the smallest
 * of 8, 16, 32 or 64 bits that holds it, extended to it by its sign (a signless one too; i1 is 0 or
 * 1 in a byte); index in 64; f64 as double; f32 and every narrower float as float, always a value
 * of its own format. Row-major, without gaps. Integers and floats of more than 64 bits, complex
 * numbers and strings have no array.
 * Tests: test/unit/array_test.c */
#ifndef MING_IR_ARRAY_H
#define MING_IR_ARRAY_H

#include "ir/attr/attr.h"
#include "ir/attr/type.h"

typedef enum ArrayKind {
    ARRAY_I8,
    ARRAY_U8, /* i1 too */
    ARRAY_I16,
    ARRAY_U16,
    ARRAY_I32,
    ARRAY_U32,
    ARRAY_I64,
    ARRAY_U64,
    ARRAY_F32,
    ARRAY_F64
} ArrayKind;

typedef struct Array {
    const Type *type; /* ranked tensor of static shape; rank 0 for a scalar */
    const Type *elem;
    ArrayKind kind;
    uint32_t refs;
    int64_t count; /* elements */
    void *data;    /* owned */
} Array;

/* Whether elements of that type can be kept; *kind then says how. */
bool array_kind_of(const Type *elem, ArrayKind *kind) MUST_CHECK;
size_t array_kind_bytes(ArrayKind kind);
bool array_is_float(const Array *array);

/* A new array of zeros with one reference. type is a static tensor type or a scalar's; NULL if
 * there is no such array. */
Array *array_new(const Type *type) MUST_CHECK;
Array *array_ref(Array *array);
void array_unref(Array *array); /* NULL is fine */
/* An array that only the caller holds: the same one if it is, else a copy; takes the reference. */
Array *array_own(Array *array) MUST_CHECK;
/* The same elements under another static shape of as many elements; takes the reference. */
Array *array_reshape(Array *array, const Type *type) MUST_CHECK;

/* One element as a number. Setting wraps an integer to its width and rounds a float to its
 * format, half to even. */
int64_t array_get_i64(const Array *array, int64_t index);
double array_get_f64(const Array *array, int64_t index);
void array_set_i64(Array *array, int64_t index, int64_t value);
void array_set_f64(Array *array, int64_t index, double value);
/* Copies element `from` of one array to `to` of another of the same element type. */
void array_copy(Array *to_array, int64_t to, const Array *from_array, int64_t from);
/* value wrapped to an integer type (index too), as the containers keep it. */
int64_t array_wrap(const Type *elem, int64_t value);
/* value rounded to a float type of at most 64 bits. */
double array_round(const Type *elem, double value);

/* From dense elements, a present dense resource, or a scalar integer or float attribute; NULL if
 * there is no such array. */
Array *array_from_attr(const Attr *attr) MUST_CHECK;
/* The elements as a dense attribute of the array's type. */
const Attr *array_to_attr(const Array *array);

#endif
