/* What convolutions, pooling and fully_connected share on their way to linalg.
 * Tests: lit/lowering/tosa-to-linalg-named*.mir */
#ifndef MING_LOWERING_TOSA_TO_LINALG_WINDOW_H
#define MING_LOWERING_TOSA_TO_LINALG_WINDOW_H

#include "lowering/tosa_to_linalg/tosa_to_linalg.h"

/* (size + before + after - (dilation * (kernel - 1) + 1)) / stride + 1, at run time. */
typedef struct WindowDim {
    int64_t pad_before, pad_after, stride, dilation;
} WindowDim;
Value *tosa_build_window_extent(Builder *b, Value *size, Value *kernel, const WindowDim *dim);

/* Pads all but the first and last dimension; pad has two counts for each of the others. The input
 * itself when all are 0. */
Value *tosa_build_window_pad(Lower *l, Value *input, const IntList *pad, const Attr *value);

/* The bias along the last dimension of the result, extended to its element type. */
Value *tosa_build_broadcast_bias(Lower *l, Value *bias, Value *empty);

/* A tosa.transpose by a constant permutation. */
Value *tosa_build_transposed(Lower *l, Value *input, const int64_t *order);

/* dense<…> : tensor<Nxi64> or vector<Nxi64> */
const Attr *tosa_lower_window_attr(Context *ctx, const int64_t *values, size_t count, bool is_vector);

#endif
