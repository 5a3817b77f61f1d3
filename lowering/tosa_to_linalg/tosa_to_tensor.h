/* Between the sources of tosa-to-tensor. */
#ifndef MING_LOWERING_TOSA_TO_TENSOR_H
#define MING_LOWERING_TOSA_TO_TENSOR_H

#include "lowering/tosa_to_linalg/tosa_types.h"

/* tosa.reshape as collapse_shape, expand_shape and casts; a pattern. */
bool tosa_lower_reshape_to_tensor(Rewriter *rw, Op *op, void *user);

#endif
