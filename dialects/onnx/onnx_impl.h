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

OnnxInfer onnx_infer_along_axis, onnx_infer_arg_reduction, onnx_infer_arithmetic, onnx_infer_average_pool, onnx_infer_batch_normalization, onnx_infer_bipolar_quant, onnx_infer_cast, onnx_infer_clip, onnx_infer_compare, onnx_infer_concat, onnx_infer_constant, onnx_infer_constant_of_shape, onnx_infer_conv, onnx_infer_conv_integer, onnx_infer_conv_transpose, onnx_infer_depth_to_space, onnx_infer_dequantize, onnx_infer_dropout, onnx_infer_dynamic_quantize, onnx_infer_equal, onnx_infer_expand, onnx_infer_flatten, onnx_infer_float, onnx_infer_gather, onnx_infer_gelu, onnx_infer_gemm, onnx_infer_global_pool, onnx_infer_instance_normalization, onnx_infer_layer_normalization, onnx_infer_logical, onnx_infer_matmul, onnx_infer_matmul_integer, onnx_infer_max_pool, onnx_infer_mod, onnx_infer_multi_threshold, onnx_infer_no_value, onnx_infer_not, onnx_infer_numeric, onnx_infer_pad, onnx_infer_pow, onnx_infer_prelu, onnx_infer_qlinear_conv, onnx_infer_qlinear_matmul, onnx_infer_quant, onnx_infer_quantize, onnx_infer_range, onnx_infer_reduction, onnx_infer_reshape, onnx_infer_resize, onnx_infer_same, onnx_infer_shape_op, onnx_infer_size, onnx_infer_slice, onnx_infer_space_to_depth, onnx_infer_split, onnx_infer_squeeze, onnx_infer_tile, onnx_infer_top_k, onnx_infer_transpose, onnx_infer_trunc, onnx_infer_unsqueeze, onnx_infer_upsample, onnx_infer_variadic, onnx_infer_where;

/* Adds to the message and returns false. */
bool onnx_why(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
