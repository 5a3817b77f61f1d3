/* Between the sources of convert-onnx-to-linalg: a function per kind of node, as the table in
 * onnx_to_linalg.c calls them. */
#ifndef MING_LOWERING_ONNX_TO_LINALG_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_INTERNAL_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "lowering/onnx_to_linalg/requant/requant.h"
#include "lowering/onnx_to_linalg/values/values.h"

typedef bool LowerNode(OnnxLowering *lw);
LowerNode onnx_lower_arg_extreme, onnx_lower_cast, onnx_lower_clip, onnx_lower_concat,
    onnx_lower_conv, onnx_lower_conv_transpose, onnx_lower_elementwise, onnx_lower_global_pool,
    onnx_lower_matmul, onnx_lower_move, onnx_lower_normalization, onnx_lower_pool,
    onnx_lower_reduce, onnx_lower_relu, onnx_lower_resize, onnx_lower_softmax, onnx_lower_split,
    onnx_lower_top_k;

/* Sums of products on integers (onnx_to_linalg_sum.c). */

typedef struct SumRange {
    int64_t low, high;
} SumRange;

/* A sum under construction: first its range, then its value, then what is added. */
typedef struct Sum {
    OnnxLowering *lw;
    Fixed fixed;
    int64_t channels; /* output channels */
    uint32_t axis;    /* their dimension */
    SumRange *ranges; /* per channel */
} Sum;

/* A sum of products with operand x, whose ranges are empty. */
Sum sum_create(OnnxLowering *lw, const Fixed *x, int64_t channels, uint32_t axis);
/* Adds x * weight to a channel's range, for any x in x's range; false beyond 64 bits. */
bool sum_add_product(Sum *sum, const Fixed *x, int64_t channel, int64_t weight) MUST_CHECK;
/* Bits of the accumulator: at least those of both operand types. */
uint32_t sum_width(const Sum *sum, const Type *a, const Type *b);
/* The scale of sum.fixed from those of x and the weights, whose scales may differ along the output
 * channels; then sum.fixed.value is set. */
bool sum_set_scale(Sum *sum, const Fixed *x, const FixedConstant *weight) MUST_CHECK;
/* x * 2^exponents[c] along dimension `axis`, whose extent is `channels`. False: diagnosed, or with
 * *done unset the exponents lie too far apart. */
bool onnx_lower_scale_channels(OnnxLowering *lw, Fixed *x, uint32_t axis, int64_t channels,
                               const int *exponents, bool *done) MUST_CHECK;
/* Adds the constant behind operand `index`, times beta: one value per channel or one for all.
 * False: diagnosed. */
bool sum_add_bias(Sum *sum, uint32_t index, double beta) MUST_CHECK;
/* Whether operand `index` is such a constant. */
bool onnx_lower_is_channel_constant(OnnxLowering *lw, uint32_t index, int64_t channels,
                                    uint32_t rank, uint32_t axis);

/* sum += x * w in the accumulator's type, integer or float; the body of both. */
Value *onnx_lower_multiply_accumulate(Generic *generic, bool x_unsigned, bool w_unsigned);
const Type *onnx_lower_int_tensor(OnnxLowering *lw, const Type *shape, uint32_t width);
uint32_t onnx_lower_widest(uint32_t width, const Type *a, const Type *b);

/* Tensors with their elements in other places (onnx_to_linalg_move.c); any element type. */

/* The same elements in row-major order under another static shape. */
Value *onnx_lower_build_reshape(OnnxLowering *lw, Value *x, const Type *type);
/* A border of a number; negative widths cut off. */
Value *onnx_lower_build_border(OnnxLowering *lw, Value *x, const int64_t *low, const int64_t *high,
                               double value);
/* Elements of x at offset + i * stride; and x put into those of dest. */
Value *onnx_lower_build_slice(OnnxLowering *lw, Value *x, const Type *type, const int64_t *offsets,
                              const int64_t *strides);
Value *onnx_lower_build_insert(OnnxLowering *lw, Value *x, Value *dest, const int64_t *offsets,
                               const int64_t *strides);

#endif
