/* Between the sources of tosa-optional-decompositions: one pattern each. */
#ifndef MING_PASSES_TOSA_INTERNAL_H
#define MING_PASSES_TOSA_INTERNAL_H

#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "passes/tosa/passes.h"

/* conv2d with a 1x1 kernel -> fully_connected on all pixels */
bool tosa_decompose_conv2d(Rewriter *rw, Op *op, void *user);
/* depthwise_conv2d with a 1x1 kernel -> mul */
bool tosa_decompose_depthwise(Rewriter *rw, Op *op, void *user);
/* transpose_conv2d -> conv2d, with the kernel turned round */
bool tosa_decompose_transpose(Rewriter *rw, Op *op, void *user);
/* The same with strides: each phase of the stride is a channel of one conv2d. */
bool tosa_decompose_strided_transpose(Rewriter *rw, Op *op, void *user);

/* All numbers of an op's list attribute are 1. */
bool tosa_all_ones(const Op *op, const char *attr);

/* What tosa ops say about the shapes of their results. */

/* The shape of a result of an op without regions, with its present element type: ranked with
 * extents known or dynamic, or unranked. NULL: the op says nothing. */
const Type *tosa_rule_type(const Op *op, uint32_t result);

#endif
