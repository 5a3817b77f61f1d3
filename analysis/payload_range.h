/* What can be told of a value in a kernel's payload: the numbers it may be, and the loops it changes
 * with. Extensions, sums and constants are seen through; all else may be what its type holds. */
#ifndef MING_LOWERING_PAYLOAD_RANGE_H
#define MING_LOWERING_PAYLOAD_RANGE_H

#include "ir/core/op.h"

typedef struct PayloadRange {
    int64_t low, high; /* read as signed */
    uint32_t loops;    /* bit mask of the kernel's loops */
} PayloadRange;

/* Of an integer used in the body of a linalg.generic. False: the value is none, or wider than 62
 * bits. */
bool payload_range(const Op *generic, const Value *value, PayloadRange *out) MUST_CHECK;
/* Bits of a signed integer type that holds both bounds. */
int64_t payload_range_bits(int64_t low, int64_t high);

#endif
