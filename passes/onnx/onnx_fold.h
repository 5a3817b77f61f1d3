/* Shared by onnx-infer-shapes and the sources of onnx-fold-constants. */
#ifndef MING_PASSES_ONNX_FOLD_H
#define MING_PASSES_ONNX_FOLD_H

#include "dialects/onnx/onnx.h"
#include "ir/pass/pass.h"

/* --- onnx_infer_shapes.c ---------------------------------------------------------- */

/* Gives an onnx op the types that its operands say; what they leave open stays. False: diagnosed. */
bool onnx_update_types(Pass *pass, Op *op) MUST_CHECK;
/* The function returns what its return op has. */
void onnx_update_signature(Pass *pass, Op *func, const Op *ret);

/* One run of onnx-fold-constants. */
typedef struct Folder {
    Pass *pass;
    int64_t bytes; /* of the constants made so far */
} Folder;

/* --- onnx_fold_quant.c ------------------------------------------------------------ */

bool onnx_is_quant(const Op *op); /* Quant, IntQuant or BipolarQuant */
/* A quantizer of a constant becomes DequantizeLinear of integers, if that is exact.
 * False: diagnosed. */
bool onnx_fold_quant(Pass *pass, Op *op) MUST_CHECK;
/* A Transpose or change of shape of a dequantized constant is done to its integers.
 * False: diagnosed. */
bool onnx_fold_dequantized(Folder *folder, Op *op) MUST_CHECK;

/* --- onnx_fold_constants.c -------------------------------------------------------- */

/* Computes an op whose operands are constants, if that is cheap enough, and replaces it.
 * False: diagnosed. */
bool onnx_fold_op(Folder *folder, Op *op) MUST_CHECK;

#endif
