/* The arith dialect: integer and float arithmetic on scalars, vectors and tensors. */
#ifndef MING_DIALECTS_ARITH_ARITH_H
#define MING_DIALECTS_ARITH_ARITH_H

#include "ir/core/core.h"

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
    CMPI_EQ,
    CMPI_NE,
    CMPI_SLT,
    CMPI_SLE,
    CMPI_SGT,
    CMPI_SGE,
    CMPI_ULT,
    CMPI_ULE,
    CMPI_UGT,
    CMPI_UGE
} CmpiPredicate;
typedef enum CmpfPredicate {
    CMPF_FALSE,
    CMPF_OEQ,
    CMPF_OGT,
    CMPF_OGE,
    CMPF_OLT,
    CMPF_OLE,
    CMPF_ONE,
    CMPF_ORD,
    CMPF_UEQ,
    CMPF_UGT,
    CMPF_UGE,
    CMPF_ULT,
    CMPF_ULE,
    CMPF_UNE,
    CMPF_UNO,
    CMPF_TRUE
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
/* Whether a scalar op takes or gives floats: what costs and latencies differ by. */
bool arith_is_about_floats(const Op *op);
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

/* Lists that mix constants and SSA values, as in [0, %i, 4]: an array<i64> attribute where
 * DIM_DYNAMIC stands for the next operand of a group. */

typedef struct MixedIndex {
    Value *value;     /* NULL: the constant */
    int64_t constant; /* DIM_DYNAMIC if value is set */
} MixedIndex;
typedef VEC(MixedIndex) MixedIndices;

/* Appends the list of an attribute and the operand group that goes with it. */
void mixed_indices_read(const Op *op, const char *static_attr, uint32_t group, MixedIndices *out);
/* Splits a list: constants (DIM_DYNAMIC for values) as array<i64>, values appended to `values`. */
typedef VEC(Value *) ValueList;
const Attr *mixed_indices_split(Context *ctx, const MixedIndex *list, size_t count,
                                ValueList *values);
MixedIndex mixed_constant(int64_t constant);
MixedIndex mixed_value(Value *value);
/* The number an entry stands for, looking through index constants; false if unknown. */
bool mixed_known(MixedIndex index, int64_t *out) MUST_CHECK;
bool mixed_is_zero(MixedIndex index);
/* Turns values that are constants into constants; true if any was. Negative ones stay values
 * unless allowed. */
bool mixed_fold_constants(MixedIndices *list, bool allow_negative);
/* The entry as an SSA value of type index. */
Value *mixed_materialize(Builder *b, MixedIndex index);
/* Same values and constants. */
bool mixed_equal(MixedIndex a, MixedIndex b);

/* array<i64> or array<i32> attribute as numbers. */
typedef VEC(int64_t) IntList;
void mixed_read_int_list(const Op *op, const char *attr, IntList *out);

#endif
