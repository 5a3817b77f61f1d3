/* Cost model: cycles and resources of processes and memories, as functions of their plans.
 * docs/cost-model.md states assumptions and sources.
 * Tests: test/unit/cost_test.c */
#ifndef MING_TARGET_COST_H
#define MING_TARGET_COST_H

#include "lowering/plan_move.h"

typedef enum CostKind {
    COST_CYCLES, /* iterations of the pipelined nest times its II, plus its depth */
    COST_DSP,    /* DSP48E2 */
    COST_BRAM18, /* RAMB18 */
    COST_URAM,   /* URAM288 */
    COST_LUT,
    COST_FF,
    COST_KINDS
} CostKind;

/* The same numbers by name and by kind. */
typedef union Cost {
    struct {
        int64_t cycles, dsp, bram18, uram, lut, ff;
    };
    int64_t items[COST_KINDS];
} Cost;

/* Per kind: its key in reports and budgets, its name in messages. */
typedef struct CostName {
    const char *key, *title;
} CostName;
void cost_add(Cost *sum, const Cost *part);
extern const CostName cost_names[COST_KINDS];

/* Cycles between an iteration's first and last stage: read, multiply, add, round, write. */
enum { PIPELINE_DEPTH = 8 };

/* Memories too small to spend a block RAM on: at most 64 words or 1,024 bits. */
bool memory_is_small(int64_t width_bits, int64_t depth);
/* RAMB18 of a memory by the block's real shapes; 0 for small ones, which are LUTRAM. */
int64_t memory_bram18(int64_t width_bits, int64_t depth);
/* "lutram" or "bram". */
Str memory_impl(int64_t width_bits, int64_t depth);
/* DSP48E2 (27 x 18 signed) of a product of two signed operands of these widths. */
int64_t product_dsp(int64_t a_bits, int64_t b_bits);
/* DSPs of one scalar op, and of all of a payload, per element. */
int64_t scalar_op_dsp(const Op *op);
int64_t payload_dsp(const Op *generic);

/* Bits of one element of a channel or memory. */
int64_t element_bits(const Type *elem);

void compute_cost(const ComputePlan *plan, Cost *out);
void window_cost(const WindowPlan *plan, Cost *out);
void reorder_cost(const ReorderPlan *plan, Cost *out);
void merge_cost(const MergePlan *plan, Cost *out);
/* Of the converters between channel ends of words `from` and `to`, by way of `middle` unless NULL. */
void conversion_cost(const Type *from, const Type *middle, const Type *to, Cost *out);
/* Width in bits and depth in words of a window level's history memory. */
void window_memory(const WindowPlan *plan, uint32_t level, int64_t *width, int64_t *depth);

#endif
