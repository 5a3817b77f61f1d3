/* Ranges of integers: which numbers, read as signed, a value can be. */
#ifndef MING_LOWERING_INT_RANGE_H
#define MING_LOWERING_INT_RANGE_H

#include "ir/core/op.h"

/* lo <= number <= hi */
typedef struct IntRange {
    int64_t lo, hi;
} IntRange;

/* Ranges of the values looked at so far: of tensors, those of all their elements. */
typedef struct IntRanges {
    Arena *arena;
    PtrMap known; /* Value* -> IntRange* */
} IntRanges;

void int_range_init(IntRanges *ranges, Arena *arena);
void int_range_free(IntRanges *ranges);
/* Whether numbers of a type, or a tensor's elements, have ranges: integers of up to 64 bits. */
bool int_range_is_known_for(const Type *type);
/* All numbers of such a type. */
IntRange int_range_of_type(const Type *type);
/* Of a value of such a type: its type's, where nothing better is known. */
IntRange int_range_of_value(IntRanges *ranges, const Value *value);
void int_range_set(IntRanges *ranges, const Value *value, IntRange range);
/* Before an op is erased: its results, and what its body computes. */
void int_range_forget(IntRanges *ranges, const Op *op);
/* Computes the ranges of a linalg.generic's arguments, payload and results. */
void int_range_of_generic(IntRanges *ranges, const Op *generic);
/* Bits of the narrowest signed type that holds the range, at least 2. */
uint32_t int_range_bits(IntRange range);

#endif
