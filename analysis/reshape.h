/* tensor.expand_shape and tensor.collapse_shape between static shapes. Both keep the row-major
 * order of the elements: the same stream has another shape.
 * Tests: lit/passes/normalize-layout-reshape.mir, lit/lowering/linalg-to-dfg-reshape.mir */
#ifndef MING_PASSES_RESHAPE_H
#define MING_PASSES_RESHAPE_H

#include "ir/core/op.h"

enum { RESHAPE_MAX_RANK = 16 };

typedef struct Reshape {
    bool expands;              /* from narrow to wide, else from wide to narrow */
    const Type *wide, *narrow; /* of the larger and the smaller rank */
    uint32_t group[RESHAPE_MAX_RANK]; /* per wide dimension: narrow dimension it is part of */
} Reshape;

/* False, without diagnostic, for other ops, dynamic or empty shapes, and ranks of 0 or above
 * RESHAPE_MAX_RANK. */
bool reshape_read(const Op *op, Reshape *out) MUST_CHECK;
bool reshape_is(const Op *op); /* that reshape_read can read */
/* What a chain of reshapes starts from; the value itself if no reshape makes it. */
Value *reshape_source(const Value *value);

/* Elements that one step of a wide dimension spans within its group. */
int64_t reshape_step(const Reshape *reshape, uint32_t wide_dim);
/* First dimension of the narrow dimension's group that has an extent above 1, or -1. */
int reshape_outermost(const Reshape *reshape, uint32_t narrow_dim);
/* From the source's index to the result's. */
const AffineMap *reshape_map(const Op *op);
/* The reassociation between two shapes of the same row-major order; NULL if there is none. */
const Attr *reshape_reassociation(const Type *wide, const Type *narrow);

#endif
