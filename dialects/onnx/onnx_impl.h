/* Shared by the sources of the onnx dialect: what a row says beyond its OpDef, the rows' inference
 * hooks (infer_*.c, by family), and what these have in common (infer.c). */
#ifndef MING_DIALECTS_ONNX_IMPL_H
#define MING_DIALECTS_ONNX_IMPL_H

#include "dialects/onnx/onnx.h"

typedef bool OnnxInfer(const Op *op, const Type **results, StrBuf *why);

typedef struct OnnxOperator {
    const char *const *domains; /* NULL-terminated */
    OnnxInfer *infer;
} OnnxOperator;

OnnxInfer onnx_infer_along_axis, onnx_infer_arg_reduction, onnx_infer_arithmetic,
    onnx_infer_average_pool, onnx_infer_batch_normalization, onnx_infer_bipolar_quant,
    onnx_infer_cast, onnx_infer_clip, onnx_infer_compare, onnx_infer_concat, onnx_infer_constant,
    onnx_infer_constant_of_shape, onnx_infer_conv, onnx_infer_conv_integer,
    onnx_infer_conv_transpose, onnx_infer_depth_to_space, onnx_infer_dequantize, onnx_infer_dropout,
    onnx_infer_dynamic_quantize, onnx_infer_equal, onnx_infer_expand, onnx_infer_flatten,
    onnx_infer_float, onnx_infer_gather, onnx_infer_gelu, onnx_infer_gemm, onnx_infer_global_pool,
    onnx_infer_instance_normalization, onnx_infer_layer_normalization, onnx_infer_logical,
    onnx_infer_matmul, onnx_infer_matmul_integer, onnx_infer_max_pool, onnx_infer_mod,
    onnx_infer_multi_threshold, onnx_infer_no_value, onnx_infer_not, onnx_infer_numeric,
    onnx_infer_pad, onnx_infer_pow, onnx_infer_prelu, onnx_infer_qlinear_conv,
    onnx_infer_qlinear_matmul, onnx_infer_quant, onnx_infer_quantize, onnx_infer_range,
    onnx_infer_reduction, onnx_infer_reshape, onnx_infer_resize, onnx_infer_same,
    onnx_infer_shape_op, onnx_infer_size, onnx_infer_slice, onnx_infer_space_to_depth,
    onnx_infer_split, onnx_infer_squeeze, onnx_infer_tile, onnx_infer_top_k, onnx_infer_transpose,
    onnx_infer_trunc, onnx_infer_unsqueeze, onnx_infer_upsample, onnx_infer_variadic,
    onnx_infer_where;

/* Adds to the message and returns false. */
bool onnx_why(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- operands of a hook's op --------------------------------------------------------------- */

/* Type of an operand; NULL if it is absent. */
const Type *onnx_type(const Op *op, uint32_t index);
/* Whether all operands that are present have static shapes. */
bool onnx_all_static(const Op *op);
/* The name the row gives to an operand. */
const char *onnx_operand_name(const Op *op, uint32_t index);

typedef enum ElemClass {
    ELEM_NUMERIC, /* floats, and integers of at least 8 bits */
    ELEM_FLOAT,
    ELEM_INTEGER, /* i1 too */
    ELEM_INDEX,   /* i32 or i64 */
    ELEM_BYTE,    /* 8 bits, signless or unsigned */
    ELEM_BOOL
} ElemClass;

/* An operand, if present, has elements of that class; of that type. */
bool onnx_check_elem(const Op *op, uint32_t index, ElemClass want, StrBuf *why);
bool onnx_check_elem_is(const Op *op, uint32_t index, const Type *elem, StrBuf *why);
/* An operand, if present and static, has one element. */
bool onnx_check_scalar(const Op *op, uint32_t index, StrBuf *why);
/* An operand, if present and static, is a vector of `length` elements. */
bool onnx_check_vector(const Op *op, uint32_t index, int64_t length, StrBuf *why);
/* An operand, if present and static, broadcasts to the shape of `type`, which is static. */
bool onnx_check_broadcast(const Op *op, uint32_t index, const Type *type, StrBuf *why);
/* An attribute that is 0 or 1. */
bool onnx_check_flag(const Op *op, const char *name, StrBuf *why);
/* An attribute that is one of the names; its index. */
bool onnx_check_choice(const Op *op, const char *name, const char *const *choices, size_t count,
                       size_t *out, StrBuf *why);
/* The attribute `axis`, from 0 to rank - 1. */
bool onnx_read_axis(const Op *op, int64_t fallback, uint32_t rank, uint32_t *out, StrBuf *why);
/* A list attribute with `count` entries of at least `least`, or `fallback` throughout. */
bool onnx_read_list(const Op *op, const char *name, uint32_t count, int64_t least,
                    int64_t fallback, int64_t *out, StrBuf *why);

/* --- shapes -------------------------------------------------------------------------------- */

typedef struct Shape {
    uint32_t rank;
    int64_t dims[ONNX_MAX_RANK];
} Shape;

/* The shape of a static type; false: it has too many dimensions. */
bool onnx_shape(const Type *type, Shape *out, StrBuf *why) MUST_CHECK;
/* Stretches the shape so that it and that of a static type agree (numpy's rule). */
bool onnx_broadcast(Shape *io, const Type *type, StrBuf *why) MUST_CHECK;
/* The tensor type; false: it is too large to make sense. */
bool onnx_make_tensor(const Type *elem, const Shape *shape, const Type **out, StrBuf *why)
    MUST_CHECK;

/* Tensors have at most so many elements, and so no extent, stride or padding may be larger. */
#define ONNX_MAX_ELEMENTS (INT64_C(1) << 40)

/* What is known of an operand that a shape depends on. */
typedef enum Known { KNOWN, UNKNOWN, WRONG } Known;
/* What a hook for one input begins with: its shape, and an unranked result of its element type. */
Known onnx_begin(const Op *op, const Type **results, Shape *in, StrBuf *why);
/* A vector of at most ONNX_MAX_RANK integers (a scalar counts as one). WRONG: why tells. */
Known onnx_read_ints(const Op *op, uint32_t index, Shape *out, StrBuf *why);
/* Dimensions of a tensor: distinct, brought into 0 to rank - 1. */
Known onnx_read_axes(const Op *op, uint32_t index, uint32_t rank, Shape *out, StrBuf *why);

#endif
