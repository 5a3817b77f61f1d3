/* Inside of passes/tosa: the patterns of tosa-optional-decompositions, which have several files,
 * and the shape rules of tosa-infer-shapes. */
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
/* The same for strides above 1: each phase of the stride becomes a channel of one conv2d. */
bool tosa_decompose_strided_transpose(Rewriter *rw, Op *op, void *user);

/* Whether all numbers of an op's list attribute are 1. */
bool tosa_all_ones(const Op *op, const char *attr);

/* The type of a result of an op without regions, as its operands and attributes imply it: the
 * present element type with a shape of known or dynamic extents, or unranked. NULL: nothing is
 * implied. */
const Type *tosa_rule_type(const Op *op, uint32_t result);

#endif
