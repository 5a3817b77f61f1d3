/* Inside of passes/onnx: updating of types, the parts of onnx-fold-constants and onnx-decompose, and
 * the rules of onnx-quantize. */
#ifndef MING_PASSES_ONNX_INTERNAL_H
#define MING_PASSES_ONNX_INTERNAL_H

#include "dialects/onnx/onnx.h"
#include "ir/pass/pass.h"
#include "passes/onnx/passes.h"

/* Types. Gives an onnx op the result types that inference finds; those that it leaves open stay.
 * False: diagnosed. */
bool onnx_update_types(Pass *pass, Op *op) MUST_CHECK;
/* Gives the function the result types of its return op. */
void onnx_update_signature(Pass *pass, Op *func, const Op *ret);

/* Parts of onnx-fold-constants: the state of one run. */
typedef struct Folder {
    Pass *pass;
    int64_t bytes; /* of the constants made so far */
} Folder;

bool onnx_is_quant(const Op *op); /* Quant, IntQuant or BipolarQuant */
/* A quantizer of a constant becomes a DequantizeLinear of integers, if that is exact. False:
 * diagnosed. */
bool onnx_fold_quant(Pass *pass, Op *op) MUST_CHECK;
/* A Transpose, or another change of shape, of a dequantized constant is applied to its integers.
 * False: diagnosed. */
bool onnx_fold_dequantized(Folder *folder, Op *op) MUST_CHECK;

/* Computes an op whose operands are constants, if that is cheap enough, and replaces it. False:
 * diagnosed. */
bool onnx_fold_op(Folder *folder, Op *op) MUST_CHECK;

/* Parts of onnx-decompose: a node that is rewritten, and where its ops go. */
typedef struct Decomposition {
    Builder b;
    Op *op;
} Decomposition;

/* An op with the node's name. Its type is as exact as those of its operands. */
Value *decompose_make(Decomposition *d, const OpDef *def, Value *const *operands, uint32_t count,
                      const Type *elem, const NamedAttr *attrs, uint32_t attr_count);
/* Replaces the node, which has one result. */
void decompose_replace(Decomposition *d, Value *value);
/* Rewrites an Einsum. False, no diagnostic: its shapes are not known. */
bool decompose_einsum(Decomposition *d);

/* Rules of onnx-quantize: where quantizers are put (onnx_quantize_rules.c). */

/* Whether the op belongs to a network that is quantized already. */
bool quantize_is_done(const Op *op);
/* Whether the op is part of what the next quantizer on the path of that operand takes in: each
 * element of its result is computed from one element of the operand and constants. */
bool quantize_follows(const Op *op, const Value *operand);
/* Whether the op's result may wait for quantization: its readers take it as integers of more bits,
 * or are such nodes themselves. Otherwise it must be quantized at once. */
bool quantize_can_wait(const Op *op);
/* Whether the first result holds only elements of operand 0 and zeros. */
bool quantize_only_moves(const Op *op);
/* Whether operand `index`, a constant, becomes integers. *axis is the dimension of the output
 * channels, or -1 if all of it must have one scale. */
bool quantize_is_weight(const Op *op, uint32_t index, int *axis);

#endif
