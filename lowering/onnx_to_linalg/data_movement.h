/* Tensors with their elements in other places (onnx_to_linalg_move.c); any element type. */
#ifndef MING_LOWERING_ONNX_TO_LINALG_MOVE_H
#define MING_LOWERING_ONNX_TO_LINALG_MOVE_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"

/* The same elements in row-major order under another static shape. */
Value *onnx_lower_build_reshape(Lowering *lw, Value *x, const Type *type);
/* A border of a number; negative widths cut off. */
Value *onnx_lower_build_border(Lowering *lw, Value *x, const int64_t *low, const int64_t *high,
                    double value);
/* Elements of x at offset + i * stride; and x put into those of dest. */
Value *onnx_lower_build_slice(Lowering *lw, Value *x, const Type *type, const int64_t *offsets,
                   const int64_t *strides);
Value *onnx_lower_build_insert(Lowering *lw, Value *x, Value *dest, const int64_t *offsets,
                    const int64_t *strides);

#endif
