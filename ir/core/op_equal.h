/* Structural equality of ops: name, attributes, types, operands (in any order where the op is
 * commutative), and regions up to the naming of what they define. Locations do not count.
 * Tests: lit/passes/cse.mir */
#ifndef MING_IR_OP_EQUAL_H
#define MING_IR_OP_EQUAL_H

#include "ir/core/opdef.h"

/* Equal for equal ops; depends on addresses, so it must not decide an order. */
uint64_t op_hash(const Op *op);
bool op_equal(const Op *a, const Op *b);
/* The same without operands, successors and what regions hold. */
uint64_t op_header_hash(const Op *op);
bool op_header_equal(const Op *a, const Op *b);

#endif
