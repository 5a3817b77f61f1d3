/* Inside of ir/verify: the checks that the walk in verify.c does for one op. Each reports what it
 * finds and returns false on a failure. */
#ifndef MING_IR_VERIFY_INTERNAL_H
#define MING_IR_VERIFY_INTERNAL_H

#include "ir/verify/verify.h"

/* The numbers of operands, results, regions and successors that the row declares, and segment
 * sizes. */
bool verify_counts(const Op *op) MUST_CHECK;
/* Traits about the place of the op and the structure of its regions. */
bool verify_structural_traits(Op *op) MUST_CHECK;
/* Attributes, types of operands and results, and regions as the row declares them. */
bool verify_declared(const Op *op) MUST_CHECK;
/* The other traits that concern the op by itself. */
bool verify_traits(Op *op) MUST_CHECK;
/* The name and visibility of a symbol; the type, arguments and body of a function. */
bool verify_symbol(Op *op) MUST_CHECK;
bool verify_function(Op *op) MUST_CHECK;
/* The result types are those that the row's hook infers. */
bool verify_inferred(Op *op) MUST_CHECK;
/* Traits of the op's regions, once the ops in them were verified. */
bool verify_region_traits(Op *op) MUST_CHECK;

#endif
