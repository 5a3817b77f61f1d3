/* Inside of the interpreter: steps and evaluators. For sim/interp/ only. */
#ifndef MING_SIM_INTERP_INTERNAL_H
#define MING_SIM_INTERP_INTERNAL_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "sim/interp/interp.h"

typedef struct Evaluator Evaluator;
typedef struct FunctionCode FunctionCode;

/* One op of a function. */
typedef struct InterpStep {
    const Op *op;
    const Evaluator *evaluator; /* NULL: a terminator */
    void *state;                /* the evaluator's */
    uint32_t input_count;       /* operands, then captures of the regions */
    const Value *const *values; /* the inputs */
    uint32_t *inputs;           /* their slots */
    bool *dies;                 /* per input: not used after this step */
    uint32_t first_result;      /* slot; the others follow */
} InterpStep;

struct Interp {
    Arena arena;      /* code */
    Arena scratch;    /* of one step */
    PtrMap functions; /* Op* -> FunctionCode* */
    SymbolTables *tables;
    const Op *main;
    InterpWatch watch; /* seen may be NULL */
    uint32_t depth;    /* of calls */
};

struct Evaluator {
    /* Values of an op. inputs[i] is NULL for an absent operand; a reference that is taken is
     * replaced by NULL. results come as NULLs, one new reference is put into each; on failure
     * (diagnosed) those that are there are dropped. */
    bool (*eval)(Interp *interp, const InterpStep *step, Array **inputs, Array **results);
    /* What can be computed once; may be NULL. False: diagnosed. The inputs are known by then. */
    bool (*prepare)(Interp *interp, InterpStep *step);
    void (*release)(void *state); /* may be NULL */
};

/* Evaluator of an op; NULL: not one of that file's. */
const Evaluator *interp_module_evaluator(const OpDef *def);
const Evaluator *interp_onnx_evaluator(const OpDef *def);
const Evaluator *interp_scalar_evaluator(const OpDef *def);
const Evaluator *interp_tensor_evaluator(const OpDef *def);
const Evaluator *interp_slice_evaluator(const OpDef *def);
const Evaluator *interp_linalg_evaluator(const OpDef *def);
const Evaluator *interp_dfg_evaluator(const OpDef *def);
const Evaluator *interp_tosa_evaluator(const OpDef *def);
const Evaluator *interp_tosa_window_evaluator(const OpDef *def); /* of a tosa op */

bool interp_tosa_eval_resize(Interp *interp, const InterpStep *step, Array **inputs,
                             Array **results) MUST_CHECK;

/* Steps of a function, made when it is first asked for. NULL: diagnosed. */
FunctionCode *interp_function_code(Interp *interp, const Op *func) MUST_CHECK;
bool interp_function_run(Interp *interp, const FunctionCode *code, Array *const *inputs,
                         Array **results) MUST_CHECK;

/* The captures of a payload among a step's inputs, in the payload's order. */
struct VmPayload;
Array **interp_step_captures(Interp *interp, const InterpStep *step,
                             const struct VmPayload *payload, Array *const *inputs);
/* Arrays of one rank, one behind the other along a dimension. */
bool interp_concat_arrays(Interp *interp, const Op *op, Array *const *inputs, uint32_t count,
                          uint32_t dim, Array **result) MUST_CHECK;

/* Gives input 0 under another shape of as many elements; else diagnosed. */
bool interp_reshape_input(const InterpStep *step, const Type *type, Array **inputs, Array **results)
    MUST_CHECK;

static inline const int64_t *dims_of(const Array *array)
{
    return array->type->u.shaped.dims;
}

static inline uint32_t rank_of(const Array *array)
{
    return array->type->u.shaped.rank;
}

/* "cannot be interpreted". Returns false. */
bool interp_step_unsupported(const Op *op, const char *why);

#endif
