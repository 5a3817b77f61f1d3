/* What tosa ops say about the shapes of their results. */
#ifndef MING_PASSES_TOSA_SHAPE_RULES_H
#define MING_PASSES_TOSA_SHAPE_RULES_H

#include "ir/core/op.h"

/* The shape of a result of an op without regions, with its present element type: ranked with
 * extents known or dynamic, or unranked. NULL: the op says nothing. */
const Type *tosa_rule_type(const Op *op, uint32_t result);

#endif
