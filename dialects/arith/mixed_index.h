/* Lists that mix constants and SSA values, as in [0, %i, 4]: an array<i64> attribute where
 * DIM_DYNAMIC stands for the next operand of a group. */
#ifndef MING_DIALECTS_MIXED_INDEX_H
#define MING_DIALECTS_MIXED_INDEX_H

#include "ir/core/builder.h"

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
