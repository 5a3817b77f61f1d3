/* How the products of a kernel share multiplications: operands that hold the values of several lanes
 * side by side, and chains of products that are added up before the lanes' sums are taken apart.
 * docs/packing.md derives the conditions.
 * Tests: test/unit/packing_test.c, lit/lowering/packing.mir */
#ifndef MING_LOWERING_PLAN_PACKING_H
#define MING_LOWERING_PLAN_PACKING_H

#include "analysis/payload_range.h"
#include "analysis/kernel.h"

/* Bits of a DSP slice's signed multiplier and of its accumulator. */
typedef struct DspShape {
    int64_t wide, narrow, accumulator;
} DspShape;

/* Fields of both operands of a product: field k of an operand lies `stride` bits above field k - 1.
 * The product of fields i and j begins at bit i * stride[0] + j * stride[1] of the result. */
typedef struct PackingGrid {
    int64_t fields[2], stride[2], bits[2]; /* of the operands; bits: packed, signed */
    int64_t spacing;                       /* from one product to the next */
    int64_t chain;                         /* products that may be added up, at most PACKING_MAX_CHAIN */
} PackingGrid;

/* Longer chains add more to the pipeline's depth than they save in adders. */
enum { PACKING_MAX_FIELDS = 6, PACKING_MAX_CHAIN = 16 };

/* The arrangement of fields[0] x fields[1] products of such operands that allows the longest chain.
 * False: they do not fit one multiplication. */
bool sched_packing_grid(const DspShape *dsp, const PayloadRange *operands, const int64_t *fields,
                  PackingGrid *out) MUST_CHECK;

/* Whether a kernel's integer products are made of LUTs: attribute dfg.multiplier = "lut". */
bool sched_has_lut_products(const Op *main);

/* How a kernel multiplies with its unroll factors: sched_packing in plan.h. */
typedef struct PackingPlan {
    const Op *product;    /* main's arith.muli for DSP slices, which is added to the accumulator, or NULL */
    int64_t bits[2];      /* of its operands, signed */
    int64_t elements[2];  /* values that an operand has in the lanes of an iteration */
    bool is_used;         /* products are chained or packed; else each lane runs main's payload */
    uint32_t loop[2];     /* whose lanes are the fields of an operand; KERNEL_MAX_LOOPS: none */
    PackingGrid grid;
    int64_t chain[KERNEL_MAX_LOOPS]; /* lanes of each reduction loop that follow each other in a chain */
    int64_t chain_length;            /* their product */
    int64_t accumulator;             /* bits of a chain's sum */
    int64_t multiplications;         /* per iteration */
} PackingPlan;

#endif
