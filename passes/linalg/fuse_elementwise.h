/* The pattern sets of linalg-fuse-elementwise-ops, one function per source file.
 * Tests: lit/passes/linalg-fuse-elementwise-ops.mir */
#ifndef MING_PASSES_FUSE_ELEMENTWISE_H
#define MING_PASSES_FUSE_ELEMENTWISE_H

#include "ir/rewrite/rewrite.h"

/* fuse_elementwise.c: a generic takes over the generic that makes one of its inputs. */
void fuse_add_elementwise(PatternSet *set);
/* fuse_constants.c: constants and fills become scalars of the body; inits nobody reads become
 * empty tensors. */
void fuse_add_constants(PatternSet *set);
/* fuse_constants.c: transposes of constants are constants. */
void fuse_add_transpose_constants(PatternSet *set);
/* fuse_operands.c: operands and results that are unused or given twice go. */
void fuse_add_drop_operands(PatternSet *set);
/* fuse_reshape.c: structured ops run on the larger shape of a reshape beside them. */
void fuse_add_reshapes(PatternSet *set);

#endif
