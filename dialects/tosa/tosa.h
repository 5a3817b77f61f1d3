/* The tosa dialect: whole-tensor operators of neural networks, as TensorFlow Lite exports them.
 * Numbers are integers (signless, unsigned) and floats; zero points stand in attributes. */
#ifndef MING_DIALECTS_TOSA_H
#define MING_DIALECTS_TOSA_H

#include "ir/builder.h"

#define OP(ID, ...) TOSA_##ID,
enum {
#include "dialects/tosa/tosa_ops.def"
    TOSA_OP_COUNT
};
#undef OP

extern const OpDef tosa_ops[];
extern const DialectDef dialect_tosa;
#define TOSA(ID) (&tosa_ops[TOSA_##ID])

/* Zero points: #tosa.unary_quant<input_zp, output_zp>, conv_quant<input_zp, weight_zp>,
 * matmul_quant<a_zp, b_zp>, pad_quant<input_zp>. */
extern const AttrDef tosa_unary_quant, tosa_conv_quant, tosa_matmul_quant, tosa_pad_quant;
int64_t tosa_zero_point(const Attr *quant, uint32_t index); /* 0 when quant is NULL */

/* A constant op for an elements attribute. */
Value *tosa_const(Builder *b, const Attr *value);
/* The integers of a constant operand (a permutation, paddings), or NULL: not constant. */
const Attr *tosa_const_ints(const Value *value);

#endif
