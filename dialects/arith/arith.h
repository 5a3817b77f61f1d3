/* The arith dialect: integer and float arithmetic on scalars, vectors and tensors. */
#ifndef MING_DIALECTS_ARITH_H
#define MING_DIALECTS_ARITH_H

#include "ir/core/builder.h"

#define OP(ID, ...) ARITH_##ID,
enum {
#include "dialects/arith/arith_ops.def"
    ARITH_OP_COUNT
};
#undef OP

extern const OpDef arith_ops[];
extern const DialectDef arith_dialect;
#define ARITH(ID) (&arith_ops[ARITH_##ID])

extern const AttrDef arith_fastmath, arith_overflow;
/* Constraint of the attribute "fastmath", shared with math. */
extern const AttrConstraint ARITH_ATTR_IS_FASTMATH;

/* Values of cmpi's and cmpf's "predicate". */
typedef enum CmpiPredicate {
    CMPI_EQ, CMPI_NE, CMPI_SLT, CMPI_SLE, CMPI_SGT, CMPI_SGE, CMPI_ULT, CMPI_ULE, CMPI_UGT, CMPI_UGE
} CmpiPredicate;
typedef enum CmpfPredicate {
    CMPF_FALSE, CMPF_OEQ, CMPF_OGT, CMPF_OGE, CMPF_OLT, CMPF_OLE, CMPF_ONE, CMPF_ORD,
    CMPF_UEQ, CMPF_UGT, CMPF_UGE, CMPF_ULT, CMPF_ULE, CMPF_UNE, CMPF_UNO, CMPF_TRUE
} CmpfPredicate;

/* Bits of "overflowFlags" and "fastmath". */
enum { OVERFLOW_NSW = 1, OVERFLOW_NUW = 2 };
enum { FASTMATH_NNAN = 2, FASTMATH_NINF = 4, FASTMATH_CONTRACT = 32, FASTMATH_FAST = 127 };

/* Flags of an op; 0 when the attribute is absent. */
int64_t arith_flags(const Op *op, const char *attr);
const Attr *arith_overflow_attr(Context *ctx, int64_t flags);
const Attr *arith_fastmath_attr(Context *ctx, int64_t flags);

/* A constant op for a typed attribute. */
Value *arith_constant(Builder *b, const Attr *value);
Value *arith_constant_index(Builder *b, int64_t value);
Value *arith_constant_int(Builder *b, const Type *type, int64_t value);
/* A detached constant, or NULL if the attribute cannot be one; dialects use it as their
 * materialize hook. */
Op *arith_materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc);
Value *arith_cmpi(Builder *b, CmpiPredicate predicate, Value *lhs, Value *rhs);
Value *arith_cmpf(Builder *b, CmpfPredicate predicate, Value *lhs, Value *rhs);
Value *arith_select(Builder *b, Value *condition, Value *on_true, Value *on_false);

/* i1, or the shaped type with i1 elements: what a comparison of `type` gives. */
const Type *arith_i1_like(const Type *type);
bool arith_cmpi_holds(CmpiPredicate predicate, const BigInt *lhs, const BigInt *rhs);
bool arith_cmpf_holds(CmpfPredicate predicate, double lhs, double rhs);

#endif
