/* Plain lowering of nodes that work element by element (onnx_to_linalg_plain.c, _scalar.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_PLAIN_H
#define MING_LOWERING_ONNX_TO_LINALG_PLAIN_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"

/* The node on plain tensors, with x as operand `index` and the others looked up. NULL:
 * diagnosed. */
Value *build_plain_node(Lowering *lw, uint32_t index, Value *x) MUST_CHECK;
/* The node on given plain tensors, for nodes without operands of their own kind. NULL: diagnosed. */
Value *build_plain_on(Lowering *lw, Value *const *inputs, uint32_t count) MUST_CHECK;
/* Whether the node is element-wise. */
bool lower_is_elementwise(const Op *node);

/* The scalar result of an element-wise node in `type` from its operands' elements. `is_unsigned`
 * tells how the operands' integers are read. NULL: there is no such arithmetic. */
Value *build_scalar(Builder *b, const Op *node, const Type *type, Value *const *args,
                    uint32_t count, bool is_unsigned) MUST_CHECK;
/* Half-even and the other rounding modes on floats. */
Value *build_rounding(Builder *b, Rounding mode, Value *x);
Value *build_float(Builder *b, const Type *type, double value);

#endif
