/* Shared by the sources of the onnx dialect: what a row says beyond its OpDef, and the rows'
 * inference hooks (infer.c). */
#ifndef MING_DIALECTS_ONNX_IMPL_H
#define MING_DIALECTS_ONNX_IMPL_H

#include "dialects/onnx/onnx.h"

typedef bool OnnxInfer(const Op *op, const Type **results, StrBuf *why);

typedef struct OnnxOperator {
    const char *const *domains; /* NULL-terminated */
    OnnxInfer *infer;
} OnnxOperator;

OnnxInfer onnx_infer_constant, onnx_infer_conv, onnx_infer_dequantize, onnx_infer_global_pool,
    onnx_infer_numeric, onnx_infer_quant, onnx_infer_same;

/* Adds to the message and returns false. */
bool onnx_why(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
