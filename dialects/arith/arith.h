/* The arith dialect: integer and float arithmetic on scalars, vectors and tensors; and lists that
 * mix constants with SSA values (MixedIndex), as the ops of tensor have them for offsets, sizes and
 * strides.
 *
 * Builders insert at the Builder's point and return the new op's result; they do not fold.
 * ARITH(ID) is the row of an op, which serves as its identity: op->def == ARITH(ADDI).
 * Tests: lit/dialects/arith; mixed lists: lit/dialects/tensor */
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

/* Values of the attribute "predicate" of cmpi and cmpf, numbered as upstream numbers them. */
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

/* Bits of the attributes "overflowFlags" and "fastmath", as upstream numbers them. */
enum { OVERFLOW_NSW = 1, OVERFLOW_NUW = 2 };
enum { FASTMATH_NNAN = 2, FASTMATH_NINF = 4, FASTMATH_CONTRACT = 32, FASTMATH_FAST = 127 };

/* The flags in an op's attribute; 0 if the attribute is absent. */
int64_t arith_flags(const Op *op, const char *attr);
/* The attribute for overflow flags. */
const Attr *arith_overflow_attr(Context *ctx, int64_t flags);

/* An arith.constant with a typed attribute as its value. */
Value *arith_constant(Builder *b, const Attr *value);
Value *arith_constant_index(Builder *b, int64_t value);
Value *arith_constant_int(Builder *b, const Type *type, int64_t value);
/* A detached constant, or NULL if the attribute cannot be the value of one. Dialects use it as
 * their materialize hook. */
bool arith_is_about_floats(const Op *op);
/* A detached constant, or NULL if the attribute cannot be one; dialects use it as their
 * materialize hook. */
Op *arith_materialize(Context *ctx, const Attr *value, const Type *type, const Attr *loc);
/* Comparisons, whose results are i1, and select. */
Value *arith_cmpi(Builder *b, CmpiPredicate predicate, Value *lhs, Value *rhs);
Value *arith_cmpf(Builder *b, CmpfPredicate predicate, Value *lhs, Value *rhs);
Value *arith_select(Builder *b, Value *condition, Value *on_true, Value *on_false);

/* The type of a comparison of `type`: i1, or the shaped type with i1 elements. */
const Type *arith_i1_like(const Type *type);
/* Whether a predicate holds for two numbers. */
bool arith_cmpf_holds(CmpfPredicate predicate, double lhs, double rhs);

/* Lists that mix constants and SSA values, as in [0, %i, 4]. An op holds such a list as an
 * array<i64> attribute in which each DIM_DYNAMIC stands for the next operand of a group. */

typedef struct MixedIndex {
    Value *value;     /* NULL: the constant */
    int64_t constant; /* DIM_DYNAMIC if value is set */
} MixedIndex;
typedef VEC(MixedIndex) MixedIndices;

/* Whether the group has a value for each DIM_DYNAMIC of the attribute, which upstream takes for
 * granted; `name` is of the list in the diagnostic. */
bool mixed_indices_verify(Op *op, const char *static_attr, uint32_t group, const char *name)
    MUST_CHECK;
/* Appends the list that an attribute and its operand group make up. */
void mixed_indices_read(const Op *op, const char *static_attr, uint32_t group, MixedIndices *out);
/* Splits a list: returns the constants (DIM_DYNAMIC for values) as array<i64>, and appends the
 * values to `values`. */
typedef VEC(Value *) ValueList;
const Attr *mixed_indices_split(Context *ctx, const MixedIndex *list, size_t count,
                                ValueList *values);
MixedIndex mixed_constant(int64_t constant);
MixedIndex mixed_value(Value *value);
/* The number of an entry, looking through constants; false if it is not known. */
bool mixed_known(MixedIndex index, int64_t *out) MUST_CHECK;
/* Replaces values that are constants by constants; true if there were any. Negative ones stay
 * values unless they are allowed. */
bool mixed_is_zero(MixedIndex index);
/* Turns values that are constants into constants; true if any was. Negative ones stay values
 * unless allowed. */
bool mixed_fold_constants(MixedIndices *list, bool allow_negative);
/* The entry as an SSA value of type index; builds a constant for a number. */
Value *mixed_materialize(Builder *b, MixedIndex index);
/* Whether two entries are known to be equal: the same value, or equal numbers. */
bool mixed_equal(MixedIndex a, MixedIndex b);

/* Appends the numbers of an array<i64> or array<i32> attribute; nothing if it is absent. */
typedef VEC(int64_t) IntList;
void mixed_read_int_list(const Op *op, const char *attr, IntList *out);

#endif
