/* Cost model: cycles and resources of processes, as functions of their plans and of the style in which
 * they are built. docs/cost-model.md states formulas, sources, accuracy and assumptions.
 *
 *   cost.c          processes      cost_arith.c    scalar ops and payloads
 *   memory.c        memories       pipeline*.c     cycles
 *
 * Tests: test/unit/cost_test.c, test/e2e/cost_check.py */
#ifndef MING_TARGET_COST_H
#define MING_TARGET_COST_H

#include "target/cost/memory.h"
#include "schedule/latency.h"

typedef enum CostKind {
    COST_CYCLES, /* of a frame that never waits */
    COST_DSP,    /* DSP48E2 */
    COST_BRAM18, /* RAMB18 */
    COST_URAM,   /* URAM288 */
    COST_LUT,
    COST_FF,
    COST_FILL,   /* cycles from the first word in until one has left, at the process's own pace */
    COST_KINDS
} CostKind;

/* The same numbers by name and by kind. */
union Cost {
    struct {
        int64_t cycles, dsp, bram18, uram, lut, ff, fill;
    };
    int64_t items[COST_KINDS];
};

/* Per kind: its key in reports and budgets, its name in messages. */
typedef struct CostName {
    const char *key, *title;
} CostName;
void cost_add(Cost *sum, const Cost *part);
extern const CostName cost_names[COST_KINDS];

/* What designs are built for. */
typedef struct CostTarget {
    Clock clock;
    bool has_uram;
    bool loads_tables; /* at start-up, rather than with the bitstream */
    bool counts_luts; /* they have a limit: else nothing is moved into LUTs, which would look free */
    int64_t dsp;      /* to spend; 0: not told. Large devices get more in parallel in one process */
} CostTarget;

/* --- scalar ops -------------------------------------------------------------------------- */

/* DSPs of one scalar op. */
int64_t cost_scalar_op_dsp(const Op *op);
/* Adds `times` copies of a scalar op, or of all ops of a generic's payload, to a sum: DSP, LUT, FF. */
void cost_scalar_op(const Op *op, int64_t times, bool lut_products, Clock clock, Cost *sum);
void cost_payload(const Op *generic, int64_t times, bool lut_products, Clock clock, Cost *sum);
/* Whether products of the payload take DSPs that LUTs could replace. */
bool cost_payload_may_use_luts(const Op *generic);

/* Bits of one element of a channel or memory. */
int64_t cost_element_bits(const Type *elem);

/* --- processes ----------------------------------------------------------------------------- */

/* Whether a kernel multiplies in LUTs: its dfg.multiplier, if it came with one, else the style. */
bool cost_multiplies_in_luts(const Op *generic, const Style *style);

/* The switches of a style that make a difference to a plan. */
void cost_compute_choices(const ComputePlan *plan, const CostTarget *target, Style *out);
void cost_window_choices(const WindowPlan *plan, const CostTarget *target, Style *out);
void cost_reorder_choices(const ReorderPlan *plan, const CostTarget *target, Style *out);
void cost_merge_choices(const MergePlan *plan, const CostTarget *target, Style *out);

void cost_compute(const ComputePlan *plan, const Style *style, const CostTarget *target, Cost *out);
void cost_window(const WindowPlan *plan, const Style *style, const CostTarget *target, Cost *out);
void cost_reorder(const ReorderPlan *plan, const Style *style, const CostTarget *target, Cost *out);
void cost_merge(const MergePlan *plan, const Style *style, const CostTarget *target, Cost *out);
void cost_fork(const Type *word, const CostTarget *target, Cost *out);
/* Of the converters between channel ends of words `from` and `to`, by way of `middle` unless NULL. */
void cost_conversion(const Type *from, const Type *middle, const Type *to, const CostTarget *target,
                     Cost *out);

#endif
