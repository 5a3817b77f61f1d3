/* Types under way from tosa: unsigned integers become signless ones of the same width, and
 * builtin.unrealized_conversion_cast joins both where ops of both worlds meet. */
#ifndef MING_LOWERING_TOSA_TYPES_H
#define MING_LOWERING_TOSA_TYPES_H

#include "ir/rewrite/dialect_conversion.h"

/* The scalar or tensor type with signless integers in the place of unsigned ones. */
const Type *tosa_lower_signless(const Type *type);
/* What a value has become, signless; a cast of it if need be. */
Value *tosa_lower_remap(Rewriter *rw, Value *value);
/* builtin.unrealized_conversion_cast */
Value *tosa_lower_cast(Builder *b, const Type *type, Value *value);

#endif
