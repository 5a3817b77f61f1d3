/* Between insert_reorders.c (the pass), insert_reorders_move.c (ops that only move elements) and
 * insert_reorders_kernel.c (operands and results of kernels). */
#ifndef MING_LOWERING_INSERT_REORDERS_H
#define MING_LOWERING_INSERT_REORDERS_H

#include "ir/core/builder.h"

/* result[i] = source[map(i)], or fill where that is outside; fill may be NULL. The source itself if
 * nothing moves. */
Value *to_dfg_build_reorder(Builder *b, Value *source, const Type *type, const AffineMap *map,
                     const Attr *fill);
/* A constant as a stream: a dfg.merge of nothing else. */
Value *to_dfg_build_stream(Builder *b, Value *constant);
/* Makes a slice, insertion, concatenation or padding a dfg op; true for other ops, too. False:
 * diagnosed. */
bool to_dfg_make_move(Op *op) MUST_CHECK;
/* A reorder of a reorder that nothing else reads becomes one. */
void to_dfg_join_reorders(Op *reorder);
/* Makes every streamed operand of a linalg.generic arrive in the order of its loops, and its result
 * leave in the order in which it is computed. False: diagnosed. */
bool to_dfg_fit_kernel(Op *generic) MUST_CHECK;

#endif
