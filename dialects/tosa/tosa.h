/* The tosa dialect: whole-tensor operators of neural networks, as TensorFlow Lite exports them.
 * Numbers are integers (signless, unsigned) and floats; zero points stand in attributes. */
#ifndef MING_DIALECTS_TOSA_TOSA_H
#define MING_DIALECTS_TOSA_TOSA_H

#include "ir/core/core.h"

#define OP(ID, ...) TOSA_##ID,
enum {
#include "dialects/tosa/tosa_ops.def"
    TOSA_OP_COUNT
};
#undef OP

extern const OpDef tosa_ops[];
extern const DialectDef tosa_dialect;
#define TOSA(ID) (&tosa_ops[TOSA_##ID])

/* Zero points: #tosa.unary_quant<input_zp, output_zp>, conv_quant<input_zp, weight_zp>,
 * matmul_quant<a_zp, b_zp>, pad_quant<input_zp>. */
extern const AttrDef tosa_unary_quant, tosa_conv_quant, tosa_matmul_quant, tosa_pad_quant;
int64_t tosa_zero_point(const Attr *quant, uint32_t index); /* 0 when quant is NULL */

/* A constant op for an elements attribute. */
Value *tosa_const(Builder *b, const Attr *value);
/* A reshape to these extents, one of which may be dynamic; `type` may say more or less of the
 * result than they do, NULL: the same. */
Value *tosa_reshape(Builder *b, Value *value, const int64_t *dims, uint32_t rank, const Type *type);
/* What a pad adds, and with what. */
typedef struct TosaBorder {
    const int64_t *widths; /* before and after, for each dimension */
    uint32_t width_bits;   /* of the constant that holds them */
    const Attr *value;     /* a scalar as operand, or NULL */
    const Attr *quant;     /* #tosa.pad_quant, or NULL */
} TosaBorder;
Value *tosa_pad(Builder *b, Value *value, const TosaBorder *border);
/* Gives the value of lower rank leading ones by a reshape. False, with nothing built: a rank is
 * not known, or they do not broadcast. */
bool tosa_equalize_ranks(Builder *b, Value **lhs, Value **rhs) MUST_CHECK;
/* Result types as the operands and attributes say, unranked where they say nothing. */
const Type *tosa_broadcast_type(const Op *op, const Type *elem); /* of elementwise ops */
const Type *tosa_reduced_type(const Op *op);
const Type *tosa_reshaped_type(const Op *op);
const Type *tosa_concat_type(const Op *op); /* of one operand at least; NULL: diagnosed */
/* The integers of a constant operand (a permutation, paddings), or NULL: not constant. */
const Attr *tosa_const_ints(const Value *value);

#endif
