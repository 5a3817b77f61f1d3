/* The inside of convert-onnx-to-linalg, for the sources of this folder only. Each kind of node has
 * a function that lowers lw->node and records its results (values/values.h); the table in
 * onnx_to_linalg.c calls them. False means that the function has diagnosed at the node.
 * Tests: lit/lowering/onnx_to_linalg */
#ifndef MING_LOWERING_ONNX_TO_LINALG_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_INTERNAL_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "lowering/onnx_to_linalg/requant/requant.h"
#include "lowering/onnx_to_linalg/values/values.h"

typedef bool LowerNode(OnnxLowering *lw);
LowerNode onnx_lower_arg_extreme, onnx_lower_cast, onnx_lower_clip, onnx_lower_concat,
    onnx_lower_conv, onnx_lower_conv_transpose, onnx_lower_cum_sum, onnx_lower_gather,
    onnx_lower_one_hot, onnx_lower_trilu, onnx_lower_elementwise, onnx_lower_global_pool,
    onnx_lower_matmul, onnx_lower_move, onnx_lower_normalization, onnx_lower_pool,
    onnx_lower_reduce, onnx_lower_relu, onnx_lower_resize, onnx_lower_softmax, onnx_lower_split,
    onnx_lower_top_k;

/* Notes in the new body, and in the dictionaries of its arguments, which tensors of the network its
 * values are (note_tensors.c). old: the network's body.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-tensors.mir */
void onnx_lower_note_tensors(OnnxLowering *lw, const Block *old, const Attr **arg_attrs);

/* Accumulation: sums of products on integers (accumulate.c).
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-conv.mir */

typedef struct SumRange {
    int64_t low, high;
} SumRange;

/* A sum under construction. It is made in this order: its ranges, its scale, fixed.value, the
 * bias. Arrays are from the pass's scratch arena. */
typedef struct Sum {
    OnnxLowering *lw;
    Fixed fixed;
    int64_t channels; /* output channels */
    uint32_t axis;    /* their dimension */
    SumRange *ranges; /* per channel */
} Sum;

/* A sum of products with operand x, with empty ranges. */
Sum sum_create(OnnxLowering *lw, const Fixed *x, int64_t channels, uint32_t axis);
/* Adds x * weight to a channel's range, for any x in x's range; false beyond 64 bits. */
bool sum_add_product(Sum *sum, const Fixed *x, int64_t channel, int64_t weight) MUST_CHECK;
/* Bits of the accumulator: those that the ranges need, and at least those of both operand types. */
uint32_t sum_width(const Sum *sum, const Type *a, const Type *b);
/* Sets the scale of sum.fixed from those of x and of the weights, which may differ along the output
 * channels. The caller sets sum.fixed.value next. False: diagnosed. */
bool sum_set_scale(Sum *sum, const Fixed *x, const FixedConstant *weight) MUST_CHECK;
/* Makes x to x * 2^exponents[c] along dimension `axis`, whose extent is `channels`. *done is unset
 * where the exponents lie too far apart; x is as before then. False: diagnosed. */
bool onnx_lower_scale_channels(OnnxLowering *lw, Fixed *x, uint32_t axis, int64_t channels,
                               const int *exponents, bool *done) MUST_CHECK;
/* Adds the constant behind operand `index`, times beta: one value per channel or one for all.
 * False: diagnosed. */
bool sum_add_bias(Sum *sum, uint32_t index, double beta) MUST_CHECK;
/* Whether operand `index` is a constant that sum_add_bias takes. */
bool onnx_lower_is_channel_constant(OnnxLowering *lw, uint32_t index, int64_t channels,
                                    uint32_t rank, uint32_t axis);

/* Builds sum + x * w in the body of a kernel on x and w, in the accumulator's type, integer or
 * float. */
Value *onnx_lower_multiply_accumulate(Generic *generic, bool x_unsigned, bool w_unsigned);
/* A tensor type of this shape with signless integers; the largest of a width and two element
 * widths. */
const Type *onnx_lower_int_tensor(OnnxLowering *lw, const Type *shape, uint32_t width);
uint32_t onnx_lower_widest(uint32_t width, const Type *a, const Type *b);

/* Data movement: tensors of any element type with their elements elsewhere (data_movement.c).
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-move.mir */

/* The same elements in row-major order under another static shape. */
Value *onnx_lower_build_reshape(OnnxLowering *lw, Value *x, const Type *type);
/* Adds a border of a number, `low` and `high` elements wide per dimension; negative widths cut
 * off. */
Value *onnx_lower_build_border(OnnxLowering *lw, Value *x, const int64_t *low, const int64_t *high,
                               double value);
/* The elements of x at offset + i * stride; and dest with x in those places. */
Value *onnx_lower_build_slice(OnnxLowering *lw, Value *x, const Type *type, const int64_t *offsets,
                              const int64_t *strides);
Value *onnx_lower_build_insert(OnnxLowering *lw, Value *x, Value *dest, const int64_t *offsets,
                               const int64_t *strides);

/* Positions and indices (indexing.c).
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-index.mir */

/* How elements of a tensor x are picked. The loops of the maps are those of the result and, as the
 * last one, one along dimension `axis` of x. */
typedef struct OnnxPick {
    uint32_t axis;
    Value *index; /* signed integers: which element along the axis */
    const AffineMap *x_map, *index_map;
    bool is_table; /* none of them is negative */
} OnnxPick;
/* The picked elements as a tensor of that type, by a pass over the axis for each of them. */
Value *onnx_lower_build_pick(OnnxLowering *lw, const OnnxPick *pick, Value *x, const Type *type);

#endif
