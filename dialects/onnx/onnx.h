/* The onnx dialect: one op per ONNX operator, 1:1 with the file (docs: the rows of onnx_ops.def).
 * Shapes and element types follow from operands and attributes by each row's inference, which the
 * verifier, the importer and onnx-infer-shapes share.
 * Tests: lit/dialects/onnx, lit/import */
#ifndef MING_DIALECTS_ONNX_H
#define MING_DIALECTS_ONNX_H

#include "ir/core/builder.h"

#define OP(ID, ...) ONNX_##ID,
enum {
#include "dialects/onnx/onnx_ops.def"
    ONNX_OP_COUNT
};
#undef OP

extern const OpDef onnx_ops[];
extern const DialectDef onnx_dialect;
#define ONNX(ID) (&onnx_ops[ONNX_##ID])

/* Discardable attribute with the name of the op's node in the file. */
#define ONNX_NAME "onnx.name"

enum { ONNX_MAX_RANK = 32, ONNX_MAX_SPATIAL = ONNX_MAX_RANK - 2 };

/* Result types of op from its operands' types and attributes: static wherever the operands' are,
 * and what the shape depends on is constant, else unranked. results has an entry per result of
 * op. False: why tells what is wrong. */
bool onnx_infer(const Op *op, const Type **results, StrBuf *why) MUST_CHECK;

/* Whether the operator of that row exists in an ONNX domain ("" is ai.onnx). */
bool onnx_in_domain(const OpDef *def, Str domain);

/* Operand `index` in the row's order; NULL if it is absent: beyond the last, or an onnx.NoValue. */
Value *onnx_operand(const Op *op, uint32_t index);
/* An attribute of a verified op, or what it means when it is not given. */
int64_t onnx_int(const Op *op, const char *name, int64_t fallback);
double onnx_float(const Op *op, const char *name, double fallback);
Str onnx_string(const Op *op, const char *name, const char *fallback);

/* Element type of a TensorProto.DataType number, as in Cast's `to`; integers are signless or
 * unsigned, bool is i1. NULL: strings, or no such type. */
const Type *onnx_elem_type(Context *ctx, int64_t data_type);

/* Elements of an onnx.Constant in whatever form it has them; NULL for other ops. */
const Attr *onnx_constant(const Value *value);
/* An onnx.Constant with `value`. */
Value *onnx_build_constant(Builder *b, const Attr *value);

/* An error about a node: "node 'conv1' (Conv): text" at its location. Returns false. */
bool onnx_error(const Op *op, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The node's name; the op's name without dialect if it has none. */
Str onnx_node_name(const Op *op);
/* Adds a name from a file to a message, plain or in quotes: escapes what is not printable. */
void onnx_add_escaped(StrBuf *out, Str name);
void onnx_add_quoted(StrBuf *out, Str name);

/* Where the windows of a convolution or pooling with static operand types lie; a kernel element
 * that meets padding meets nothing. Arrays have `spatial` entries. */
typedef struct ConvGeometry {
    uint32_t spatial;
    int64_t batch, group, in_channels, out_channels; /* pooling: a group per channel */
    int64_t in[ONNX_MAX_SPATIAL], out[ONNX_MAX_SPATIAL]; /* extents */
    int64_t kernel[ONNX_MAX_SPATIAL], stride[ONNX_MAX_SPATIAL], dilation[ONNX_MAX_SPATIAL];
    int64_t low[ONNX_MAX_SPATIAL], high[ONNX_MAX_SPATIAL]; /* padding, auto_pad resolved; of a
                                                              transposed one also negative */
} ConvGeometry;
/* Of Conv, ConvInteger and QLinearConv: in[o * stride + k * dilation - low] is what kernel element
 * k meets for result o. False: why tells. */
bool onnx_conv_geometry(const Op *conv, ConvGeometry *out, StrBuf *why) MUST_CHECK;
/* Of ConvTranspose: input i and kernel element k add to out[i * stride + k * dilation - low]. */
bool onnx_conv_transpose_geometry(const Op *conv, ConvGeometry *out, StrBuf *why) MUST_CHECK;
/* Of MaxPool and AveragePool; with ceil_mode the last window may reach beyond the padding. */
bool onnx_pool_geometry(const Op *pool, ConvGeometry *out, StrBuf *why) MUST_CHECK;

/* What the attributes say about a verified op on a static operand: the dimension of the input that
 * is dimension i of a Transpose's result (rank entries); the dimensions from *start to before *end
 * that a Shape gives. */
bool onnx_transpose_perm(const Op *op, int64_t *perm, StrBuf *why) MUST_CHECK;
void onnx_shape_bounds(const Op *op, uint32_t *start, uint32_t *end);
/* The dimension of channels that a MultiThreshold's data_layout names; false: X has none. */
bool onnx_multi_threshold_axis(const Op *op, uint32_t *out) MUST_CHECK;

#endif
