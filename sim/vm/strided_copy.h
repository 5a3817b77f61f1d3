/* Copying boxes of elements between arrays of one element type. */
#ifndef MING_SIM_BOX_H
#define MING_SIM_BOX_H

#include "ir/attr/array.h"

/* One side of a copy: where the box begins and its step along each dimension, in elements. */
typedef struct BoxSide {
    int64_t base;
    int64_t *steps;
} BoxSide;

/* Copies rank-dimensional boxes of those sizes; all of both is inside the arrays. */
void vm_box_copy(Array *to, const BoxSide *to_side, const Array *from, const BoxSide *from_side,
              const int64_t *sizes, uint32_t rank);

/* Elements between neighbours along each dimension of a shape; steps has its rank. */
void vm_row_major_steps(const Type *shape, int64_t *steps);
/* Advances a row-major index; false after the last. */
bool vm_next_index(int64_t *index, const int64_t *sizes, uint32_t rank);
/* Sets one element to another of the same element type. */
void vm_copy_element(Array *to, int64_t to_index, const Array *from, int64_t from_index);

#endif
