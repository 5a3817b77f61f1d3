/* A compute process being lowered. Between dfg_to_emithls_compute.c (the nest),
 * dfg_to_emithls_source.c (where operands come from) and dfg_to_emithls_payload.c (scalar code).
 * Tests: lit/lowering/dfg-to-emithls-compute.mir */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_COMPUTE_H
#define MING_LOWERING_DFG_TO_EMITHLS_COMPUTE_H

#include "lowering/dfg_to_emithls.h"

/* How an operand of main or of a stage is obtained for one lane. */
typedef enum SourceKind { SOURCE_STREAM, SOURCE_TABLE, SOURCE_CONSTANT, SOURCE_FLOW } SourceKind;

typedef struct Source {
    SourceKind kind;
    Value *array;         /* word variable or table */
    const AffineMap *map; /* of a stream: its map */
    const int64_t *word;  /* of a stream: extents of a word, one per map result */
    TableLayout layout;   /* of a table */
    const Attr *constant; /* a scalar */
} Source;

typedef struct ComputeLowering {
    Lowering *l;
    Context *ctx;
    ComputePlan plan;
    uint32_t nest_first;                    /* counter of plan.loops[0] */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* of each kernel loop: its unrolled counter, or 0 */
    Value *words[PLAN_MAX_STREAMS];
    int64_t word[PLAN_MAX_STREAMS][2 * DFG_MAX_RANK];
    Value *sum, *partial;                   /* accumulators, NULL for element-wise kernels */
    Source *sources[PLAN_MAX_STAGES + 1];   /* per generic (main first), per input operand */
    PtrMap looked_up;                       /* tensor.extract of a constant -> its table */
    Arena arena;
} ComputeLowering;
/* Whether the main kernel has reduction loops, so that sums are kept. */
bool compute_reduces(const ComputeLowering *c);
/* Counter of plan.loops[i] in the nest. */
const AffineExpr *compute_counter(const ComputeLowering *c, uint32_t i);
/* Position of the current lane in an output word. */
const AffineExpr *compute_output_lane(const ComputeLowering *c);

/* Fill c->sources and c->looked_up: the constants become tables of the module, laid out as the nest reads them.
 * False: diagnosed. */
bool compute_main_sources(ComputeLowering *c) MUST_CHECK;
bool compute_stage_sources(ComputeLowering *c, uint32_t stage) MUST_CHECK;
/* Value of an operand in the current lane. */
Value *compute_load_source(ComputeLowering *c, const Source *s);

/* Payload of generic `which` (0: main) with `flow` for what the stage before delivers and `init`
 * for the output argument. NULL: diagnosed. */
Value *compute_run_generic(ComputeLowering *c, uint32_t which, Value *flow, Value *init) MUST_CHECK;
/* The epilogue on a value of main. NULL: diagnosed, or value is NULL. */
Value *compute_run_stages(ComputeLowering *c, Value *value) MUST_CHECK;

#endif
