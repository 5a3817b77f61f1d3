/* A compute process being lowered. Between dfg_to_emithls_compute.c (the nest),
 * dfg_to_emithls_source.c (where operands come from), dfg_to_emithls_payload.c (scalar code),
 * dfg_to_emithls_reduce.c (accumulators) and dfg_to_emithls_packed.c (products that share
 * multiplications).
 * Tests: lit/lowering/dfg-to-emithls-compute.mir */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_COMPUTE_H
#define MING_LOWERING_DFG_TO_EMITHLS_COMPUTE_H

#include "lowering/dfg_to_emithls/dfg_to_emithls.h"

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

/* A table that a payload reads at places it computes. */
typedef struct Lookup {
    Value *array;        /* [counters of rows ...][lane, if several have rows][places ...] */
    LookupLayout layout;
} Lookup;

typedef struct ComputeLowering {
    Lowering *l;
    Context *ctx;
    ComputePlan plan;
    uint32_t nest_first;                    /* counter of plan.loops[0] */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* of each kernel loop: its unrolled counter, or 0 */
    Value *words[PLAN_MAX_STREAMS];
    int64_t word[PLAN_MAX_STREAMS][2 * DFG_MAX_RANK];
    /* Accumulators, per result of main (dfg_to_emithls_reduce.c): this iteration's, those of others
     * or NULL; and the partial sums in turn of a single one, or NULL. */
    Value *sum[PLAN_MAX_RESULTS], *partial[PLAN_MAX_RESULTS], *turns;
    Source *sources[PLAN_MAX_STAGES + 1];   /* per generic (main first), per input operand */
    PtrMap looked_up;                       /* tensor.extract of a constant -> Lookup* */
    Arena arena;
} ComputeLowering;
/* Whether the main kernel has reduction loops, so that sums are kept. */
bool to_emithls_reduces(const ComputeLowering *c);
/* Counter of plan.loops[i] in the nest. */
const AffineExpr *to_emithls_counter(const ComputeLowering *c, uint32_t i);
/* Position of the current lane in an output word. */
const AffineExpr *to_emithls_output_lane(const ComputeLowering *c);

/* Opens unrolled loops over the factors of the parallel or the reduction loops; c->lane has their
 * counters until the lanes are closed. */
NestMark to_emithls_open_lanes(ComputeLowering *c, bool reduction, const char *name);
void to_emithls_close_lanes(ComputeLowering *c, bool reduction, NestMark mark);

/* Conditions "every such counter is at its first (last) value". */
typedef struct Edge {
    const AffineExpr *exprs[PLAN_MAX_LOOPS];
    bool is_eq[PLAN_MAX_LOOPS];
    uint32_t count;
} Edge;

/* Of plan.loops from `first` on: all, or those that reduce. */
Edge to_emithls_edge(const ComputeLowering *c, uint32_t first, bool reductions_only, bool last);
NestMark to_emithls_open_edge(ComputeLowering *c, const Edge *edge);

/* Fill c->sources and c->looked_up: the constants become tables of the module, laid out as the nest
 * reads them.
 * False: diagnosed. */
bool to_emithls_main_sources(ComputeLowering *c) MUST_CHECK;
bool to_emithls_stage_sources(ComputeLowering *c, uint32_t stage) MUST_CHECK;
/* The loops of generic `which` (0: main) as functions of main's. */
const AffineMap *to_emithls_payload_loops(const ComputeLowering *c, uint32_t which);
/* Number of a table's indices by counters and lanes, and the indices in the current lane. */
uint32_t to_emithls_table_index(const ComputeLowering *c, const TableLayout *layout,
                             const AffineExpr **index);
/* Value of an operand in the current lane. */
Value *to_emithls_load_source(ComputeLowering *c, const Source *s);

/* Payload of element-wise generic `which` (0: main) with `flow` for what the stage before delivers.
 * NULL: diagnosed. */
Value *to_emithls_run_generic(ComputeLowering *c, uint32_t which, Value *flow) MUST_CHECK;
/* Payload of a main kernel that reduces: from its accumulators, one per result, to their next values.
 * False: diagnosed. */
bool to_emithls_run_update(ComputeLowering *c, Value *const *so_far, Value **next) MUST_CHECK;
/* A value of main's payload that does not depend on its accumulators. NULL: diagnosed. */
Value *to_emithls_run_value(ComputeLowering *c, Value *value) MUST_CHECK;
/* The epilogue on a value of main. NULL: diagnosed, or value is NULL. */
Value *to_emithls_run_stages(ComputeLowering *c, Value *value) MUST_CHECK;

/* Declares the memories of a reduction. */
void to_emithls_declare_sums(ComputeLowering *c);
/* Brings every lane's sum up to this iteration. False: diagnosed. */
bool to_emithls_accumulate(ComputeLowering *c) MUST_CHECK;
/* Brings the current lane's sum to where this iteration begins, and puts it away behind it if it waits
 * for its next iteration elsewhere. */
void to_emithls_start_sum(ComputeLowering *c);
void to_emithls_keep_sum(ComputeLowering *c);
Value *to_emithls_load_sum(ComputeLowering *c);
void to_emithls_store_sum(ComputeLowering *c, Value *value);
/* to_emithls_accumulate for products that share multiplications by plan.packing. False: diagnosed. */
bool to_emithls_accumulate_packed(ComputeLowering *c) MUST_CHECK;
/* A lane's result in the last iteration of its reduction. */
Value *to_emithls_total(ComputeLowering *c);

#endif
