/* Where onnx-quantize puts quantizers: inside of passes/onnx_quantize*.c. */
#ifndef MING_PASSES_ONNX_QUANTIZE_H
#define MING_PASSES_ONNX_QUANTIZE_H

#include "dialects/onnx/onnx.h"

/* Whether the op belongs to a network that is quantized already. */
bool quantize_is_done(const Op *op);
/* Whether the op on that operand is part of what the next quantizer takes in: it computes each
 * element of its result from one element of the operand and constants. */
bool quantize_follows(const Op *op, const Value *operand);
/* Whether what follows can take the op's result as it is: integers of more bits, or another such
 * node. Else it must be quantized at once. */
bool quantize_can_wait(const Op *op);
/* Whether the first result holds nothing but elements of operand 0 and zeros. */
bool quantize_only_moves(const Op *op);
/* Whether operand `index`, a constant, becomes integers; *axis is the dimension of the output
 * channels, or -1 where all of it must have one scale. */
bool quantize_is_weight(const Op *op, uint32_t index, int *axis);

#endif
