/* The tosa dialect: operators of neural networks on whole tensors, as TensorFlow Lite exports them.
 * Elements are integers (signless, unsigned), quantized types and floats; zero points are
 * attributes.
 *
 * Type functions do not change the op; builders insert at the Builder's point. passes/tosa and
 * lowering/tosa_to_linalg build on this module. TOSA(ID) is the row of an op, which serves as its
 * identity: op->def == TOSA(CONV2D).
 * Tests: lit/dialects/tosa */
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
/* Parameter number `index`; 0 if quant is NULL. */
int64_t tosa_zero_point(const Attr *quant, uint32_t index);

/* A tosa.const with an elements attribute. */
Value *tosa_const(Builder *b, const Attr *value);
/* A reshape to these extents, one of which may be dynamic. `type`, the type of the result, may be
 * more or less static than they are; NULL: the same. */
Value *tosa_reshape(Builder *b, Value *value, const int64_t *dims, uint32_t rank, const Type *type);
/* The border that a pad adds, and its value. */
typedef struct TosaBorder {
    const int64_t *widths; /* before and after each dimension: 2 * rank numbers */
    uint32_t width_bits;   /* of the constant that holds them */
    const Attr *value;     /* a scalar as operand, or NULL */
    const Attr *quant;     /* #tosa.pad_quant, or NULL */
} TosaBorder;
Value *tosa_pad(Builder *b, Value *value, const TosaBorder *border);
/* Gives the value of lower rank leading unit extents by a reshape. False, with nothing built: a
 * rank is not known, or the shapes do not broadcast. */
bool tosa_equalize_ranks(Builder *b, Value **lhs, Value **rhs) MUST_CHECK;
/* Result types that follow from the operands and attributes, unranked if nothing follows. */
const Type *tosa_broadcast_type(const Op *op, const Type *elem); /* of elementwise ops */
const Type *tosa_reduced_type(const Op *op);
const Type *tosa_reshaped_type(const Op *op);
const Type *tosa_concat_type(const Op *op); /* op must have an operand; NULL: diagnosed */
/* Why the op computes nothing on its types of elements, as words behind "op"; NULL: it does, or only
 * moves elements, or they are no plain numbers. */
const char *tosa_refuse_elements(const Op *op);
/* Whether elements are truth values: one bit without a sign, as lowered an i1. */
bool tosa_is_truth(const Type *elem);
/* The integers of a constant operand (such as a permutation or paddings); NULL if it is not
 * constant. */
const Attr *tosa_const_ints(const Value *value);

#endif
