/* The onnx dialect: one op per ONNX operator, as in the file (the rows of onnx_ops.def document
 * each).
 *
 * Shapes and element types follow from operands and attributes by each row's inference, which the
 * verifier, the importer and onnx-infer-shapes share; values follow from each row's evaluator,
 * which constant folding and the interpreter share. Functions that can fail return false and tell
 * the reason in `why`; they do not emit diagnostics, because only callers know the node's name in
 * its context. import, passes/onnx, lowering/onnx_to_linalg and sim/interp build on this module.
 * ONNX(ID) is the row of an op, which serves as its identity: op->def == ONNX(CONV).
 * Tests: lit/dialects/onnx, lit/import, test/e2e/onnx_cases.py */
#ifndef MING_DIALECTS_ONNX_ONNX_H
#define MING_DIALECTS_ONNX_ONNX_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"

#define OP(ID, ...) ONNX_##ID,
enum {
#include "dialects/onnx/onnx_ops.def"
    ONNX_OP_COUNT
};
#undef OP

extern const OpDef onnx_ops[];
extern const DialectDef onnx_dialect;
#define ONNX(ID) (&onnx_ops[ONNX_##ID])

/* The discardable attribute that holds the name of the op's node in the file. */
#define ONNX_ATTR_NAME "onnx.name"
/* On an op: which tensors of the network its results are, an array of strings. Written by
 * name-tensors, passed on by onnx-decompose, read by onnx_to_linalg. */
#define ONNX_ATTR_TENSORS "onnx.tensors"
/* On ops, arguments: see onnx_range() below. Written by onnx_set_*_ranges(), which calibration
 * calls; read by onnx_range(). */
#define ONNX_ATTR_RANGE "onnx.range"
/* On ops, arguments: bits of the integers that onnx-quantize makes of their results and weights; 0:
 * they stay floats. Written by the driver (--quantize=FILE), removed by the pass. */
#define ONNX_ATTR_WIDTH "onnx.width"

enum { ONNX_MAX_RANK = 32, ONNX_MAX_SPATIAL = ONNX_MAX_RANK - 2 };
/* The largest number of elements of a tensor. No extent, stride or padding may be larger either. */
#define ONNX_MAX_ELEMENTS (INT64_C(1) << 40)

/* Infers the result types of op from the types of its operands and its attributes. They are static
 * if the operands are and everything that the shape depends on is constant, else unranked. results
 * has an entry per result of op. False: why tells what is wrong. */
bool onnx_infer(const Op *op, const Type **results, StrBuf *why) MUST_CHECK;

/* Whether op is a node of the model; constants and what stands for absent operands are not. */
bool onnx_is_node(const Op *op);
/* Whether the operator of that row exists in an ONNX domain ("" is ai.onnx). */
bool onnx_in_domain(const OpDef *def, Str domain);

/* Operand `index` in the order of the row; NULL if it is absent, that is, beyond the last or an
 * onnx.NoValue. */
Value *onnx_operand(const Op *op, uint32_t index);
/* The value of an attribute of a verified op, or `fallback` if the attribute is not given. */
int64_t onnx_int(const Op *op, const char *name, int64_t fallback);
double onnx_float(const Op *op, const char *name, double fallback);
Str onnx_string(const Op *op, const char *name, const char *fallback);

/* The element type for a TensorProto.DataType number, as in Cast's `to`. Integers are signless or
 * unsigned, bool is i1. NULL: strings, and numbers that are no type. */
const Type *onnx_elem_type(Context *ctx, int64_t data_type);

/* Whether the element type has an order, as ArgMax and TopK need it: floats, integers of 8 bits and
 * more; neither bool nor complex numbers. */
bool onnx_elem_is_numeric(const Type *elem);

/* The elements of an onnx.Constant, in whichever of its attributes they are; NULL for other ops. */
const Attr *onnx_constant(const Value *value);
/* An onnx.Constant with that value. */
Value *onnx_build_constant(Builder *b, const Attr *value);
/* Gives a scale and a zero point, where both are there, one shape, as QuantizeLinear and
 * DequantizeLinear want them: one number beside several, or a scalar beside a vector, is expanded. */
void onnx_build_same_shape(Builder *b, Value **scale, Value **zero);

/* Reports an error about a node, "node 'conv1' (Conv): text", at its location. Returns false. */
bool onnx_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The name of the op's node; if it has none, the op's name without the dialect. */
Str onnx_node_name(const Op *op);

/* The geometry of a convolution or pooling with static operand types. A kernel element that lies on
 * padding contributes nothing. Arrays have `spatial` entries. */
typedef struct ConvGeometry {
    uint32_t spatial;
    int64_t batch, group, in_channels, out_channels;     /* pooling: a group per channel */
    int64_t in[ONNX_MAX_SPATIAL], out[ONNX_MAX_SPATIAL]; /* extents */
    int64_t kernel[ONNX_MAX_SPATIAL], stride[ONNX_MAX_SPATIAL], dilation[ONNX_MAX_SPATIAL];
    int64_t low[ONNX_MAX_SPATIAL], high[ONNX_MAX_SPATIAL]; /* padding, auto_pad resolved; of a
                                                              transposed one also negative */
} ConvGeometry;
/* Geometry of Conv, ConvInteger and QLinearConv: for result o, kernel element k meets in[o * stride
 * + k * dilation - low]. False: why tells. */
bool onnx_conv_geometry(const Op *conv, ConvGeometry *out, StrBuf *why) MUST_CHECK;
/* Geometry of ConvTranspose: input i and kernel element k add to out[i * stride + k * dilation -
 * low]. */
bool onnx_conv_transpose_geometry(const Op *conv, ConvGeometry *out, StrBuf *why) MUST_CHECK;
/* Geometry of MaxPool and AveragePool; with ceil_mode the last window may reach beyond the
 * padding. */
bool onnx_pool_geometry(const Op *pool, ConvGeometry *out, StrBuf *why) MUST_CHECK;

/* Parameters of a verified op on a static operand. For a Transpose, perm[i] is the dimension of the
 * input that becomes dimension i of the result. For a Shape, the dimensions from *start to before
 * *end are its result. */
bool onnx_transpose_perm(const Op *op, int64_t *perm, StrBuf *why) MUST_CHECK;
void onnx_shape_bounds(const Op *op, uint32_t *start, uint32_t *end);
/* The dimension of the channels, which a MultiThreshold's data_layout names. False: X does not have
 * it. */
bool onnx_multi_threshold_axis(const Op *op, uint32_t *out) MUST_CHECK;

/* An Einsum: the labels of its indices, one per dimension of a term. Labels are letters, and the
 * dimensions that ellipses stand for. */
enum { EINSUM_MAX_OPERANDS = 8, EINSUM_MAX_LABELS = 52 + ONNX_MAX_RANK };

typedef struct EinsumTerm {
    uint32_t rank;
    uint8_t labels[ONNX_MAX_RANK];
} EinsumTerm;

typedef struct Einsum {
    uint32_t operand_count;
    EinsumTerm terms[EINSUM_MAX_OPERANDS], result;
    int64_t extents[EINSUM_MAX_LABELS]; /* -1: no operand has the label */
} Einsum;
/* Reads an equation for operands of static types. False: why tells. */
bool onnx_einsum(Str equation, const Type *const *types, uint32_t count, Einsum *out, StrBuf *why)
    MUST_CHECK;

/* Evaluation: the values of an op's results from those of its operands, as the ONNX and QONNX
 * specifications define them. The constant folder and the interpreter share it, so that a value
 * known at compile time is the value of every run.
 *
 * Sums of products are accumulated in double, which is exact as long as they stay below 2^53 units
 * of the operands' common grid. Every result is then rounded once to its element type.
 * Tests: test/e2e/onnx_cases.py (the ONNX project's own operator tests) */

/* Whether the operator has an evaluator. */
bool onnx_can_eval(const Op *op);
/* Computes the results of op from one array per operand (NULL: an optional operand that is absent).
 * results has room for op->result_count arrays; the caller gets a reference to each. The types of
 * op need not be static, since the types of the arrays are used; a result of a type that is not has at
 * `most` so many elements. False: why says what is wrong, and no array is returned. */
bool onnx_eval(const Op *op, Array *const *inputs, int64_t most, Array **results, StrBuf *why)
    MUST_CHECK;

/* The linear map that a Resize or Upsample with static types is along one dimension: element o of
 * the result is the sum of weights[o * in + i] times element i, where `in` is the operand's extent.
 * NULL for weights: only checks. inputs are as for onnx_eval; the first is not used. False: why tells
 * what is not supported. */
bool onnx_resize_weights(const Op *op, Array *const *inputs, uint32_t dim, double *weights,
                         StrBuf *why) MUST_CHECK;

/* Quantizers of QONNX: integer ranges, rounding modes, and the parameters of a Quant op.
 *   q = round(clip(x / scale + zero, low, high));  y = (q - zero) * scale
 * Tests: test/unit/dialects/onnx/quant_test.c */

typedef enum Rounding {
    ROUND_HALF_EVEN,
    ROUND_CEIL,
    ROUND_FLOOR,
    ROUND_UP,        /* away from zero */
    ROUND_DOWN,      /* toward zero */
    ROUND_HALF_UP,   /* ties away from zero */
    ROUND_HALF_DOWN, /* ties toward zero */
    ROUNDING_COUNT
} Rounding;

/* The rounding mode of that name, in upper or lower case; HALF_EVEN is called ROUND too. False: no
 * such mode. */
bool onnx_rounding_parse(Str name, Rounding *out) MUST_CHECK;
const char *onnx_rounding_name(Rounding mode);
/* Rounds x to an integer; |x| must be below 2^53. */
int64_t onnx_rounding_apply(Rounding mode, double x);

/* The largest width of a quantizer in bits, because quantizers compute in double, where integers up
 * to 2^53 are exact. */
enum { QUANT_MAX_BITS = 53 };

typedef struct Quantizer {
    const Attr *scales; /* dense elements, each positive and finite */
    int64_t zero;
    uint32_t bits;
    bool is_signed, is_narrow;
    bool is_bipolar; /* signed with one bit: x >= 0 ? 1 : -1, zero and range aside */
    Rounding rounding;
    int64_t low, high; /* range of q */
} Quantizer;

/* Reads the parameters of a Quant op whose scale, zeropt and bitwidth are constants. False: why
 * says what is missing or out of range. */
bool onnx_quantizer(const Op *quant, Quantizer *out, StrBuf *why) MUST_CHECK;
/* The number q - zero for one input of the float type `elem`, in which the quotient is computed. x
 * must not be NaN. */
int64_t onnx_quantizer_apply(const Quantizer *quant, const Type *elem, double scale, double x);

/* One element of a dense attribute as a number, whatever its type. */
double onnx_dense_number(const Attr *dense, int64_t index);
/* The common value of a dense attribute's elements; false if they differ. */
bool onnx_dense_uniform(const Attr *dense, double *out) MUST_CHECK;
/* The exponent with x == 2^*exponent; false if there is none. */
bool onnx_exact_log2(double x, int *exponent) MUST_CHECK;
/* 2^exponent, for -1022 <= exponent <= 1023. */
double onnx_exact_pow2(int exponent);
/* A float is converted to an integer toward zero. A value that int64 cannot hold becomes the
 * nearest one that it can, one that uint64 can its bits, and NaN becomes 0. */
int64_t onnx_to_integer(double x);
/* Takes x apart: x == *mantissa * 2^*exponent with an odd mantissa, or 0 * 2^0. x must be
 * finite. */
void onnx_split_float(double x, int64_t *mantissa, int *exponent);

/* Ranges of activations, which calibration finds and quantization after training uses.
 *   onnx.range = [low, high] of an op with one result, [low0, high0, low1, high1, …] of several;
 *   an argument has it among the attributes of arguments.
 * Tests: lit/passes/onnx/onnx-quantize.mir, lit/passes/onnx/onnx-quantize-invalid.mir */

typedef struct ValueRange {
    double low, high;
} ValueRange;

/* Set one range per result of op, or per argument of a function. */
void onnx_set_result_ranges(Op *op, const ValueRange *ranges);
void onnx_set_arg_ranges(Op *func, const ValueRange *ranges);
/* Sets onnx.width of an argument. */
void onnx_set_arg_width(Op *func, uint32_t index, int64_t bits);
/* Removes all ranges and widths of a function, its arguments and its ops. */
void onnx_clear_ranges(Op *func);

/* The range of a result, or of an argument of func. False: it has none, or one that is not two
 * finite numbers in order. */
bool onnx_range(const Op *func, const Value *value, ValueRange *out) MUST_CHECK;

#endif
