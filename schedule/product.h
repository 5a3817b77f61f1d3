/* What a product of integers takes: DSP slices, or LUTs without them. docs/cost-model.md has the
 * sources. Tests: test/unit/cost_test.c */
#ifndef MING_SCHEDULE_PRODUCT_H
#define MING_SCHEDULE_PRODUCT_H

#include "ir/core/op.h"

/* DSP48E2 (27 x 18 signed) of a product of two signed operands of these widths; LUTs of the same
 * product without DSPs. */
int64_t product_dsp(int64_t a_bits, int64_t b_bits);
int64_t product_luts(int64_t a_bits, int64_t b_bits);
/* Signed bits that an integer needs, seen through extensions, products and constants. */
int64_t product_effective_bits(const Value *value);
/* arith.muli or one of the extended products. */
bool product_is(const Op *op);
/* The same figures of such an op. */
int64_t product_dsp_of(const Op *op);
int64_t product_luts_of(const Op *op);
/* Whether it is a product by a constant of several terms, but few: made of shifts and additions. */
bool product_is_sum_of_shifts(const Op *op);

#endif
