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
Array *eval_input(const Eval *e, uint32_t index);
/* Dimensions of an array and their number. */
const int64_t *array_dims(const Array *array);
uint32_t array_rank(const Array *array);
bool eval_is(const Eval *e, const char *name, const char *value); /* a string attribute's value */
/* A list of integers from the operand or, where that is absent (NO_OPERAND), from the attribute;
 * gives its length, 0 without either. At most EVAL_MAX_LIST entries are taken. */
size_t eval_list(const Eval *e, uint32_t index, const char *name, int64_t *out);
enum { EVAL_MAX_LIST = 2 * ONNX_MAX_RANK };
#define NO_OPERAND UINT32_MAX /* no enumerator: it does not fit an int */
/* An axis counted from the front, 0 .. rank - 1; false when it is out of range. */
bool eval_axis(const Eval *e, int64_t axis, uint32_t rank, uint32_t *out) MUST_CHECK;
/* Sets flags[d] for the dimensions that the list names. */
bool eval_axes(const Eval *e, const int64_t *list, size_t count, uint32_t rank,
               bool *flags) MUST_CHECK;
/* Elements as doubles; the caller frees them. */
double *array_doubles(const Array *array);
/* Number of elements of dims[begin .. end). */
int64_t dims_product(const int64_t *dims, uint32_t begin, uint32_t end);

/* --- walking several arrays at once ----------------------------------------------------------- */

enum { WALK_OPERANDS = 3 };

/* Visits a shape row by row and keeps, per operand, the offset of the current element. */
typedef struct Walk {
    uint32_t rank, operands;
    int64_t dims[ONNX_MAX_RANK], index[ONNX_MAX_RANK];
    int64_t strides[WALK_OPERANDS][ONNX_MAX_RANK];
    int64_t offset[WALK_OPERANDS];
} Walk;

void walk_init(Walk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand that numpy's rules stretch to the shape; its number counts from 0. */
void walk_broadcast(Walk *walk, const int64_t *dims, uint32_t rank);
/* Adds an operand with a stride per dimension and a first offset. */
void walk_strided(Walk *walk, const int64_t *strides, int64_t offset);
void walk_next(Walk *walk);
/* Row-major strides. */
void dims_strides(const int64_t *dims, uint32_t rank, int64_t *strides);

/* to[i] = from[the walk's first operand], for the walk's whole shape. */
void eval_gather(Array *to, const Array *from, Walk *walk);

/* --- windows ---------------------------------------------------------------------------------- */

/* y[n][oc][..] = sum of x[n][ic][..] * w[oc][ic][..] in double, without bias, where e->op says.
 * x and w hold the elements less their zero points; padding counts as 0. */
bool conv_sums(const Eval *e, const double *x, const double *w, double *y) MUST_CHECK;
/* c[.., i, j] = sum over k of a[.., i, k] * b[.., k, j], with numpy's rules for vectors and
 * batches. */
void matmul_sums(const double *a, const Array *a_like, const double *b, const Array *b_like,
                 const Array *c_like, double *c);

/* --- quantization ----------------------------------------------------------------------------- */

/* Half to even, for any double. */
double round_half_even(double x);

OnnxEval eval_arg, eval_batch_norm, eval_binary, eval_bipolar_quant, eval_cast, eval_clip,
    eval_compare, eval_concat, eval_constant, eval_constant_of_shape, eval_conv,
    eval_conv_integer, eval_conv_transpose, eval_copy, eval_depth_to_space, eval_dequantize,
    eval_dropout, eval_dynamic_quantize, eval_expand, eval_gather_op, eval_gemm, eval_global_pool,
    eval_instance_norm, eval_layer_norm, eval_logic, eval_matmul, eval_matmul_integer,
    eval_max_pool, eval_average_pool, eval_multi_threshold, eval_not, eval_pad, eval_qlinear_conv,
    eval_qlinear_matmul, eval_quant, eval_quantize, eval_range, eval_reduce, eval_resize,
    eval_shape, eval_size, eval_slice, eval_softmax, eval_space_to_depth, eval_split, eval_tile,
    eval_top_k, eval_transpose, eval_trunc, eval_unary, eval_variadic, eval_where;

#endif
