/* Field macros for the rows of <d>_ops.def: one operand, result or attribute each.
 *   .operands = ARGS(ONE("lhs", TYPE_ANY), MANY("rest", TYPE_INDEX_ONLY))
 *   .attrs = ATTRS(REQUIRED("value", ATTR_IS_TYPED), OPTIONAL("doc", ATTR_IS_STRING)) */
#ifndef MING_DIALECTS_TABLE_H
#define MING_DIALECTS_TABLE_H

#include "ir/core/opdef.h"

#define ONE(NAME, TYPE) {.name = (NAME), .type = &(TYPE), .arity = ARITY_ONE}
#define MAYBE(NAME, TYPE) {.name = (NAME), .type = &(TYPE), .arity = ARITY_OPTIONAL}
#define MANY(NAME, TYPE) {.name = (NAME), .type = &(TYPE), .arity = ARITY_VARIADIC}

#define REQUIRED(NAME, ATTR) {.name = (NAME), .attr = &(ATTR)}
#define OPTIONAL(NAME, ATTR) {.name = (NAME), .attr = &(ATTR), .optional = true}
/* Holds the default when not given. */
#define DEFAULTED(NAME, ATTR, TEXT) {.name = (NAME), .attr = &(ATTR), .default_text = (TEXT)}
/* Means the default when not given, but stays absent. */
#define OPTIONAL_DEFAULT(NAME, ATTR, TEXT)                                                         \
    {.name = (NAME), .attr = &(ATTR), .optional = true, .default_text = (TEXT)}

#define BODY(NAME) {.name = (NAME), .single_block = true}
#define BLOCKS(NAME) {.name = (NAME), .any_blocks = true}

#endif
