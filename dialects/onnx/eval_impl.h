/* Shared by the evaluators of onnx operators (eval_*.c). */
#ifndef MING_DIALECTS_ONNX_EVAL_IMPL_H
#define MING_DIALECTS_ONNX_EVAL_IMPL_H

#include "dialects/onnx/eval.h"
#include "dialects/onnx/onnx_impl.h"

/* One evaluation. The results are allocated with their final types and hold zeros. */
typedef struct Eval {
    const Op *op;
    Array *const *inputs; /* by operand; NULL: absent */
    Array **results;
    StrBuf *why;
} Eval;

/* Fills the results; false after adding to why. */
typedef bool OnnxEval(const Eval *e);

/* --- inputs and attributes -------------------------------------------------------------------- */

/* The array of an operand in the row's order; NULL if it is absent. */
Array *onnx_eval_input(const Eval *e, uint32_t index);
/* Dimensions of an array and their number. */
const int64_t *onnx_array_dims(const Array *array);
uint32_t onnx_array_rank(const Array *array);
bool onnx_eval_is(const Eval *e, const char *name, const char *value); /* a string attribute's value */
/* A list of integers from the operand or, where that is absent (NO_OPERAND), from the attribute;
 * gives its length, 0 without either. At most EVAL_MAX_LIST entries are taken. */
size_t onnx_eval_list(const Eval *e, uint32_t index, const char *name, int64_t *out);
enum { EVAL_MAX_LIST = 2 * ONNX_MAX_RANK };
#define NO_OPERAND UINT32_MAX /* no enumerator: it does not fit an int */
/* An axis counted from the front, 0 .. rank - 1; false when it is out of range. */
bool onnx_eval_axis(const Eval *e, int64_t axis, uint32_t rank, uint32_t *out) MUST_CHECK;
/* Sets flags[d] for the dimensions that the list names. */
bool onnx_eval_axes(const Eval *e, const int64_t *list, size_t count, uint32_t rank,
               bool *flags) MUST_CHECK;
/* Elements as doubles; the caller frees them. */
double *onnx_array_doubles(const Array *array);
/* Number of elements of dims[begin .. end). */
int64_t onnx_dims_product(const int64_t *dims, uint32_t begin, uint32_t end);

/* --- walking several arrays at once ----------------------------------------------------------- */

enum { WALK_OPERANDS = 3 };

/* Visits a shape row by row and keeps, per operand, the offset of the current element. */
typedef struct Walk {
    uint32_t rank, operands;
    int64_t dims[ONNX_MAX_RANK], index[ONNX_MAX_RANK];
    int64_t strides[WALK_OPERANDS][ONNX_MAX_RANK];
    int64_t offset[WALK_OPERANDS];
} Walk;

void onnx_walk_init(Walk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand that numpy's rules stretch to the shape; its number counts from 0. */
void onnx_walk_broadcast(Walk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand with a stride per dimension and a first offset. */
void onnx_walk_strided(Walk *walk, const int64_t *strides, int64_t offset);
void onnx_walk_next(Walk *walk);
/* Row-major strides. */
void onnx_dims_strides(const int64_t *dims, uint32_t rank, int64_t *strides);

/* to[i] = from[the walk's first operand], for the walk's whole shape. */
void onnx_eval_gather(Array *to, const Array *from, Walk *walk);

/* --- windows ---------------------------------------------------------------------------------- */

/* y[n][oc][..] = sum of x[n][ic][..] * w[oc][ic][..] in double, without bias, where e->op says.
 * x and w hold the elements less their zero points; padding counts as 0. */
bool onnx_conv_sums(const Eval *e, const double *x, const double *w, double *y) MUST_CHECK;
/* c[.., i, j] = sum over k of a[.., i, k] * b[.., k, j], with numpy's rules for vectors and
 * batches. */
void onnx_matmul_sums(const double *a, const Array *a_like, const double *b, const Array *b_like,
                 const Array *c_like, double *c);

/* --- quantization ----------------------------------------------------------------------------- */

/* Half to even, for any double. */
double onnx_round_half_even(double x);

OnnxEval onnx_eval_arg, onnx_eval_batch_norm, onnx_eval_binary, onnx_eval_bipolar_quant, onnx_eval_cast, onnx_eval_clip,
    onnx_eval_compare, onnx_eval_concat, onnx_eval_constant, onnx_eval_constant_of_shape, onnx_eval_conv,
    onnx_eval_conv_integer, onnx_eval_conv_transpose, onnx_eval_copy, onnx_eval_depth_to_space, onnx_eval_dequantize,
    onnx_eval_dropout, onnx_eval_dynamic_quantize, onnx_eval_expand, onnx_eval_gather_op, onnx_eval_gemm, onnx_eval_global_pool,
    onnx_eval_instance_norm, onnx_eval_layer_norm, onnx_eval_logic, onnx_eval_matmul, onnx_eval_matmul_integer,
    onnx_eval_max_pool, onnx_eval_average_pool, onnx_eval_multi_threshold, onnx_eval_not, onnx_eval_pad, onnx_eval_qlinear_conv,
    onnx_eval_qlinear_matmul, onnx_eval_quant, onnx_eval_quantize, onnx_eval_range, onnx_eval_reduce, onnx_eval_resize,
    onnx_eval_shape, onnx_eval_size, onnx_eval_slice, onnx_eval_softmax, onnx_eval_space_to_depth, onnx_eval_split, onnx_eval_tile,
    onnx_eval_top_k, onnx_eval_transpose, onnx_eval_trunc, onnx_eval_unary, onnx_eval_variadic, onnx_eval_where;

#endif
