/* Reference interpreter of functions: func, cf, arith, math, tensor, linalg, onnx and what stands
 * beside them, on values that are arrays (ir/attr/array.h; a scalar has rank 0). Integers are exact,
 * floats rounded to their type after every op. A value is freed after its last use.
 *
 *   function ─▶ steps, one per op: operands' slots, what dies, prepared state ─▶ run, run, …
 *
 * Tests: test/unit/interp_test.c, lit/tools/ming-run.mir, test/e2e/run_check.py */
#ifndef MING_SIM_INTERP_H
#define MING_SIM_INTERP_H

#include "ir/attr/array.h"
#include "ir/core/op.h"

typedef struct Interp Interp;

/* Prepares a function and those that it calls; they must stay as they are while the interpreter
 * lives. NULL: one diagnostic names the op or type that cannot be interpreted. */
Interp *interp_create(const Op *func) MUST_CHECK;
void interp_free(Interp *interp);

/* Runs the function: inputs as its arguments, whose references stay the caller's; results get one
 * new reference each, as many as the function returns. False: undefined behaviour, diagnosed at
 * the op, and no results. */
bool interp_run(Interp *interp, Array *const *inputs, Array **results) MUST_CHECK;

/* Told of each op of a run and its results, which stay the interpreter's. */
typedef struct InterpWatch {
    void *user;
    bool (*seen)(void *user, const Op *op, Array *const *results); /* false: diagnosed, ends the run */
} InterpWatch;
void interp_watch(Interp *interp, InterpWatch watch);

#endif
