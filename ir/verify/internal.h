/* Parts of the verifier, for ir/verify/ only. Each reports what it finds and returns false. */
#ifndef MING_IR_VERIFY_INTERNAL_H
#define MING_IR_VERIFY_INTERNAL_H

#include "ir/verify/verify.h"

/* How many operands, results, regions and successors the row declares, and their segments. */
bool verify_counts(const Op *op) MUST_CHECK;
/* Traits that say where the op stands and what its regions look like. */
bool verify_structural_traits(Op *op) MUST_CHECK;
/* Attributes, operand and result types, regions as the row declares them. */
bool verify_declared(const Op *op) MUST_CHECK;
/* The other traits that hold for the op by itself. */
bool verify_traits(Op *op) MUST_CHECK;
bool verify_symbol(Op *op) MUST_CHECK;
bool verify_function(Op *op) MUST_CHECK;
/* Result types are those that the row's hook infers. */
bool verify_inferred(Op *op) MUST_CHECK;
/* Traits of its regions, once what they hold was verified. */
bool verify_region_traits(Op *op) MUST_CHECK;

#endif
