/* The inside of the interpreter: steps and evaluators. For the sources of sim/interp only. A step
 * is one op with its operands' slots; an evaluator computes the results of one kind of op. Code of
 * a function and all steps live in the interpreter's arena; an evaluator's state is freed by its
 * `release`. An array is reference counted, and evaluators say below which references they take.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#ifndef MING_SIM_INTERP_INTERNAL_H
#define MING_SIM_INTERP_INTERNAL_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "sim/interp/interp.h"
#include "sim/io/io.h"

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
    InterpWatch watch;    /* seen may be NULL */
    uint32_t depth;       /* of calls */
    int64_t max_steps;    /* ops of a run; 0: no limit */
    int64_t steps;        /* of the present one */
    int64_t max_elements; /* of a result whose type has another shape */
};

struct Evaluator {
    /* Computes an op. inputs[i] is NULL for an absent operand; an evaluator that takes a reference
     * puts NULL in its place. results are NULL at first and get one new reference each. False:
     * diagnosed; the caller drops the results that are there. */
    bool (*eval)(Interp *interp, const InterpStep *step, Array **inputs, Array **results);
    /* Computes what is the same in every run, into step->state; may be NULL. The step's inputs are
     * known by then. False: diagnosed. */
    bool (*prepare)(Interp *interp, InterpStep *step);
    void (*release)(void *state); /* may be NULL */
};

/* The evaluator of an op; NULL: the op is none that the file is for. */
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

/* The code of a function, which is made when it is first asked for. NULL: diagnosed. */
FunctionCode *interp_function_code(Interp *interp, const Op *func) MUST_CHECK;
bool interp_function_run(Interp *interp, const FunctionCode *code, Array *const *inputs,
                         Array **results) MUST_CHECK;

/* The captures of a payload among a step's inputs, in the payload's order. */
struct VmPayload;
Array **interp_step_captures(Interp *interp, const InterpStep *step,
                             const struct VmPayload *payload, Array *const *inputs);
/* A new array of zeros for a result. NULL: diagnosed, it is too large. */
Array *interp_new_array(const Interp *interp, const Op *op, const Type *type) MUST_CHECK;
/* Concatenates arrays of one rank along a dimension. */
bool interp_concat_arrays(Interp *interp, const Op *op, Array *const *inputs, uint32_t count,
                          uint32_t dim, Array **result) MUST_CHECK;

/* The result is input 0 under another shape of as many elements. False: diagnosed. */
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

/* Diagnoses that an op cannot be interpreted, and why. Returns false. */
bool interp_step_unsupported(const Op *op, const char *why);

/* The functions in an op, or the op itself, that are not private and have a body. */
void interp_each_public_function(Op *op, void (*visit)(Op *func, void *user), void *user);
/* The function's name behind those of the modules around it, which may have functions of one name;
 * modules without a name are counted. */
const Ident *interp_function_path(const Op *func);

/* Fewer indices than this, and every integer that may be one stays below them. */
enum { MANY_INDICES = 8 };

/* An array of so many frames for an argument. state: of the generator, which goes on; indices: what
 * numbers that may be indices are below. False: diagnosed, or too large. */
bool interp_random_array(const Boundary *b, uint64_t *state, uint64_t indices, int64_t frames,
                         Npy *out) MUST_CHECK;

#endif
