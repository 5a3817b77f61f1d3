/* Inside of dialects/onnx: what a row says beyond its OpDef, the inference hooks (infer_*.c) and
 * the evaluators (eval_*.c) of all rows, and the helpers that each of the two families shares
 * (infer.c, eval.c). Helpers return false after they have added the reason to `why`; the caller
 * turns it into a diagnostic that names the node. */
#ifndef MING_DIALECTS_ONNX_INTERNAL_H
#define MING_DIALECTS_ONNX_INTERNAL_H

#include "dialects/onnx/onnx.h"

/* A row's inference hook. Fills the result types; false: why tells what is wrong with the op. */
typedef bool OnnxInfer(const Op *op, const Type **results, StrBuf *why);

typedef struct OnnxOperator {
    const char *const *domains; /* NULL-terminated */
    OnnxInfer *infer;
} OnnxOperator;

OnnxInfer onnx_infer_along_axis, onnx_infer_arg_reduction, onnx_infer_arithmetic,
    onnx_infer_average_pool, onnx_infer_batch_normalization, onnx_infer_bipolar_quant,
    onnx_infer_cast, onnx_infer_clip, onnx_infer_compare, onnx_infer_cum_sum, onnx_infer_einsum,
    onnx_infer_gather_elements, onnx_infer_group_normalization, onnx_infer_lrn, onnx_infer_one_hot,
    onnx_infer_trilu, onnx_infer_concat, onnx_infer_constant, onnx_infer_constant_of_shape,
    onnx_infer_conv, onnx_infer_conv_integer, onnx_infer_conv_transpose, onnx_infer_depth_to_space,
    onnx_infer_dequantize, onnx_infer_dropout, onnx_infer_dynamic_quantize, onnx_infer_equal,
    onnx_infer_expand, onnx_infer_flatten, onnx_infer_float, onnx_infer_gather, onnx_infer_gelu,
    onnx_infer_gemm, onnx_infer_global_pool, onnx_infer_instance_normalization,
    onnx_infer_layer_normalization, onnx_infer_logical, onnx_infer_matmul,
    onnx_infer_matmul_integer, onnx_infer_max_pool, onnx_infer_mod, onnx_infer_multi_threshold,
    onnx_infer_no_value, onnx_infer_not, onnx_infer_numeric, onnx_infer_pad, onnx_infer_pow,
    onnx_infer_prelu, onnx_infer_qlinear_conv, onnx_infer_qlinear_matmul, onnx_infer_quant,
    onnx_infer_quantize, onnx_infer_range, onnx_infer_reduction, onnx_infer_reshape,
    onnx_infer_resize, onnx_infer_same, onnx_infer_shape_op, onnx_infer_size, onnx_infer_slice,
    onnx_infer_space_to_depth, onnx_infer_split, onnx_infer_squeeze, onnx_infer_tile,
    onnx_infer_top_k, onnx_infer_transpose, onnx_infer_trunc, onnx_infer_unsqueeze,
    onnx_infer_upsample, onnx_infer_variadic, onnx_infer_where;

/* Adds to the message and returns false. */
bool onnx_why(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The type of an operand; NULL if it is absent. */
const Type *onnx_type(const Op *op, uint32_t index);
/* Whether all operands that are present have static shapes. */
bool onnx_all_static(const Op *op);
/* The name that the row gives to an operand. */
const char *onnx_operand_name(const Op *op, uint32_t index);

typedef enum ElemClass {
    ELEM_NUMERIC, /* floats, and integers of at least 8 bits */
    ELEM_FLOAT,
    ELEM_INTEGER, /* i1 too */
    ELEM_INDEX,   /* i32 or i64 */
    ELEM_BYTE,    /* 8 bits, signless or unsigned */
    ELEM_BOOL
} ElemClass;

/* Check that an operand, if present, has elements of that class, or of that type. */
bool onnx_check_elem(const Op *op, uint32_t index, ElemClass want, StrBuf *why);
bool onnx_check_elem_is(const Op *op, uint32_t index, const Type *elem, StrBuf *why);
/* Checks that an operand, if present and static, has one element. */
bool onnx_check_scalar(const Op *op, uint32_t index, StrBuf *why);
/* Checks that an operand, if present and static, is a vector of `length` elements. */
bool onnx_check_vector(const Op *op, uint32_t index, int64_t length, StrBuf *why);
/* Checks that an operand, if present and static, broadcasts to the shape of `type`, which is
 * static. */
bool onnx_check_broadcast(const Op *op, uint32_t index, const Type *type, StrBuf *why);
/* Checks that an attribute is 0 or 1. */
bool onnx_check_flag(const Op *op, const char *name, StrBuf *why);
/* Checks that an attribute is one of the names; *out is its index. */
bool onnx_check_choice(const Op *op, const char *name, const char *const *choices, size_t count,
                       size_t *out, StrBuf *why);
/* Reads the attribute `axis` and brings it into the range 0 to rank - 1. */
bool onnx_read_axis(const Op *op, int64_t fallback, uint32_t rank, uint32_t *out, StrBuf *why);
/* Reads a list attribute of `count` entries that are at least `least`; without it, all entries are
 * `fallback`. */
bool onnx_read_list(const Op *op, const char *name, uint32_t count, int64_t least, int64_t fallback,
                    int64_t *out, StrBuf *why);

/* Shapes of static types. */

typedef struct OnnxShape {
    uint32_t rank;
    int64_t dims[ONNX_MAX_RANK];
} OnnxShape;

/* The shape of a static type; false: it has more than ONNX_MAX_RANK dimensions. */
bool onnx_shape(const Type *type, OnnxShape *out, StrBuf *why) MUST_CHECK;
/* Broadcasts the shape with that of a static type (numpy's rule). */
bool onnx_broadcast(OnnxShape *io, const Type *type, StrBuf *why) MUST_CHECK;
/* Whether no product of a tensor's extents is more than ONNX_MAX_ELEMENTS, even where it has none
 * because of another extent; true of what is not static. */
bool onnx_is_bounded(const Type *type) MUST_CHECK;

/* The tensor type of a shape; false: it is not bounded. */
bool onnx_make_tensor(const Type *elem, const OnnxShape *shape, const Type **out, StrBuf *why)
    MUST_CHECK;

/* The knowledge about the value of an operand that a shape depends on; WRONG comes with a
 * reason. */
typedef enum OnnxKnown { KNOWN, UNKNOWN, WRONG } OnnxKnown;
/* The beginning of a hook for one input: its shape, and an unranked result of its element type. */
OnnxKnown onnx_begin(const Op *op, const Type **results, OnnxShape *in, StrBuf *why);
/* Reads a vector of at most ONNX_MAX_RANK integers; a scalar counts as a vector of one. */
OnnxKnown onnx_read_ints(const Op *op, uint32_t index, OnnxShape *out, StrBuf *why);
/* Reads dimensions of a tensor, which must be distinct, and brings them into 0 to rank - 1. */
OnnxKnown onnx_read_axes(const Op *op, uint32_t index, uint32_t rank, OnnxShape *out, StrBuf *why);

/* Evaluators (eval_*.c): the values of results from the values of operands. */

/* One evaluation. The results have been allocated with their final types and hold zeros. */
typedef struct Eval {
    const Op *op;
    Array *const *inputs; /* by operand; NULL: absent */
    Array **results;
    StrBuf *why;
} Eval;

/* An evaluator: fills the results. False: it has added the reason to why. */
typedef bool OnnxEval(const Eval *e);

/* The array of an operand in the order of the row; NULL if it is absent. */
Array *onnx_eval_input(const Eval *e, uint32_t index);
/* Dimensions of an array and their number. */
const int64_t *onnx_array_dims(const Array *array);
uint32_t onnx_array_rank(const Array *array);
bool onnx_eval_is(const Eval *e, const char *name,
                  const char *value); /* whether a string attribute has that value */
/* Reads a list of integers from the operand or, if that is absent (or NO_OPERAND), from the
 * attribute. Returns its length, which is 0 without either; at most EVAL_MAX_LIST entries are
 * taken. */
size_t onnx_eval_list(const Eval *e, uint32_t index, const char *name, int64_t *out);
enum { EVAL_MAX_LIST = 2 * ONNX_MAX_RANK };
#define NO_OPERAND UINT32_MAX /* no enumerator: it does not fit an int */
/* Brings an axis into 0 to rank - 1; false if it is out of range. */
bool onnx_eval_axis(const Eval *e, int64_t axis, uint32_t rank, uint32_t *out) MUST_CHECK;
/* Sets flags[d] for the dimensions that the list names. */
bool onnx_eval_axes(const Eval *e, const int64_t *list, size_t count, uint32_t rank, bool *flags)
    MUST_CHECK;
/* The elements as doubles; the caller frees them. */
double *onnx_array_doubles(const Array *array);
/* Partial sums on the way to numbers of y's type: exact, but where the thread rounds otherwise rounded to floats'
 * type, as a pass may round them. */
void onnx_round_partials(const Array *y, double *sums, int64_t count);
/* The scale of a Resize that keeps the ratio of extents: the least or the greatest of what the sizes ask
 * for. */
double onnx_common_scale(const int64_t *in, const int64_t *sizes, uint32_t count, bool is_least);
/* Whether a Resize can make so many elements of a dimension: any number, but of none only none. */
bool onnx_check_resized(int64_t in, int64_t out, StrBuf *why);
/* Whether products of these with 0 are 0. */
bool onnx_all_finite(const double *x, int64_t count);
/* Number of elements of dims[begin .. end). */
int64_t onnx_dims_product(const int64_t *dims, uint32_t begin, uint32_t end);

/* Walking several arrays at once. */

enum { WALK_OPERANDS = 3 };

/* Visits a shape in row-major order and keeps, per operand, the offset of the current element. */
typedef struct OnnxWalk {
    uint32_t rank, operands;
    int64_t dims[ONNX_MAX_RANK], index[ONNX_MAX_RANK];
    int64_t strides[WALK_OPERANDS][ONNX_MAX_RANK];
    int64_t offset[WALK_OPERANDS];
} OnnxWalk;

void onnx_walk_init(OnnxWalk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand that is broadcast to the shape by numpy's rules; operands are numbered from 0. */
void onnx_walk_broadcast(OnnxWalk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand with a stride per dimension and a first offset. */
void onnx_walk_strided(OnnxWalk *walk, const int64_t *strides, int64_t offset);
void onnx_walk_next(OnnxWalk *walk);
/* Row-major strides. */
void onnx_dims_strides(const int64_t *dims, uint32_t rank, int64_t *strides);

/* to[i] = from[the walk's first operand], for the walk's whole shape. */
void onnx_eval_gather(Array *to, const Array *from, OnnxWalk *walk);

/* y[n][oc][..] = sum of x[n][ic][..] * w[oc][ic][..] in double, without bias, where e->op says.
 * x and w hold the elements less their zero points; padding counts as 0. */
bool onnx_conv_sums(const Eval *e, const double *x, const double *w, double *y) MUST_CHECK;
/* c[.., i, j] = sum over k of a[.., i, k] * b[.., k, j], with numpy's rules for vectors and
 * batches. */
void onnx_matmul_sums(const double *a, const Array *a_like, const double *b, const Array *b_like,
                      const Array *c_like, double *c);

/* Rounds half to even, for any double. */
double onnx_round_half_even(double x);

OnnxEval onnx_eval_arg, onnx_eval_batch_norm, onnx_eval_binary, onnx_eval_bipolar_quant,
    onnx_eval_cast, onnx_eval_clip, onnx_eval_compare, onnx_eval_concat, onnx_eval_constant,
    onnx_eval_constant_of_shape, onnx_eval_conv, onnx_eval_conv_integer, onnx_eval_conv_transpose,
    onnx_eval_copy, onnx_eval_cum_sum, onnx_eval_einsum, onnx_eval_gather_elements,
    onnx_eval_group_norm, onnx_eval_lrn, onnx_eval_one_hot, onnx_eval_trilu,
    onnx_eval_depth_to_space, onnx_eval_dequantize, onnx_eval_dropout, onnx_eval_dynamic_quantize,
    onnx_eval_expand, onnx_eval_gather_op, onnx_eval_gemm, onnx_eval_global_pool,
    onnx_eval_instance_norm, onnx_eval_layer_norm, onnx_eval_logic, onnx_eval_matmul,
    onnx_eval_matmul_integer, onnx_eval_max_pool, onnx_eval_average_pool, onnx_eval_multi_threshold,
    onnx_eval_not, onnx_eval_pad, onnx_eval_qlinear_conv, onnx_eval_qlinear_matmul, onnx_eval_quant,
    onnx_eval_quantize, onnx_eval_range, onnx_eval_reduce, onnx_eval_resize, onnx_eval_shape,
    onnx_eval_size, onnx_eval_slice, onnx_eval_softmax, onnx_eval_space_to_depth, onnx_eval_split,
    onnx_eval_tile, onnx_eval_top_k, onnx_eval_transpose, onnx_eval_trunc, onnx_eval_unary,
    onnx_eval_variadic, onnx_eval_where;

#endif
