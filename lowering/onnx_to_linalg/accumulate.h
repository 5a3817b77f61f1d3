/* Sums of products on integers (onnx_to_linalg_sum.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_SUM_H
#define MING_LOWERING_ONNX_TO_LINALG_SUM_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"

typedef struct Range {
    int64_t low, high;
} Range;

/* A sum under construction: first its range, then its value, then what is added. */
typedef struct Sum {
    Lowering *lw;
    Fixed fixed;
    int64_t channels; /* output channels */
    uint32_t axis;    /* their dimension */
    Range *ranges;    /* per channel */
} Sum;

/* A sum of products with operand x, whose ranges are empty. */
Sum sum_create(Lowering *lw, const Fixed *x, int64_t channels, uint32_t axis);
/* Adds x * weight to a channel's range, for any x in x's range; false beyond 64 bits. */
bool sum_add_product(Sum *sum, const Fixed *x, int64_t channel, int64_t weight) MUST_CHECK;
/* Bits of the accumulator: at least those of both operand types. */
uint32_t sum_width(const Sum *sum, const Type *a, const Type *b);
/* The scale of sum.fixed from those of x and the weights, whose scales may differ along the output
 * channels; then sum.fixed.value is set. */
bool sum_set_scale(Sum *sum, const Fixed *x, const FixedConstant *weight) MUST_CHECK;
/* x * 2^exponents[c] along dimension `axis`, whose extent is `channels`. False: diagnosed, or with
 * *done unset the exponents lie too far apart. */
bool onnx_lower_scale_channels(Lowering *lw, Fixed *x, uint32_t axis, int64_t channels, const int *exponents,
                    bool *done) MUST_CHECK;
/* Adds the constant behind operand `index`, times beta: one value per channel or one for all.
 * False: diagnosed. */
bool sum_add_bias(Sum *sum, uint32_t index, double beta) MUST_CHECK;
/* Whether operand `index` is such a constant. */
bool onnx_lower_is_channel_constant(Lowering *lw, uint32_t index, int64_t channels, uint32_t rank,
                         uint32_t axis);

/* sum += x * w in the accumulator's type, integer or float; the body of both. */
Value *onnx_lower_multiply_accumulate(Generic *generic, bool x_unsigned, bool w_unsigned);
const Type *onnx_lower_int_tensor(Lowering *lw, const Type *shape, uint32_t width);
uint32_t onnx_lower_widest(uint32_t width, const Type *a, const Type *b);

#endif
