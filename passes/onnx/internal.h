/* Shared by onnx-infer-shapes and the sources of onnx-fold-constants. */
#ifndef MING_PASSES_ONNX_INTERNAL_H
#define MING_PASSES_ONNX_INTERNAL_H

#include "dialects/onnx/onnx.h"
#include "ir/pass/pass.h"
#include "passes/onnx/passes.h"

/* Gives an onnx op the types that its operands say; what they leave open stays. False:
 * diagnosed. */
bool onnx_update_types(Pass *pass, Op *op) MUST_CHECK;
/* The function returns what its return op has. */
void onnx_update_signature(Pass *pass, Op *func, const Op *ret);

/* One run of onnx-fold-constants. */
typedef struct Folder {
    Pass *pass;
    int64_t bytes; /* of the constants made so far */
} Folder;

bool onnx_is_quant(const Op *op); /* Quant, IntQuant or BipolarQuant */
/* A quantizer of a constant becomes DequantizeLinear of integers, if that is exact.
 * False: diagnosed. */
bool onnx_fold_quant(Pass *pass, Op *op) MUST_CHECK;
/* A Transpose or change of shape of a dequantized constant is done to its integers.
 * False: diagnosed. */
bool onnx_fold_dequantized(Folder *folder, Op *op) MUST_CHECK;

/* Computes an op whose operands are constants, if that is cheap enough, and replaces it.
 * False: diagnosed. */
bool onnx_fold_op(Folder *folder, Op *op) MUST_CHECK;

/* Where onnx-quantize puts quantizers: inside of passes/onnx/onnx_quantize*.c. */

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
