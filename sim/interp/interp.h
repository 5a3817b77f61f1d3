/* Reference interpreter of functions: func, cf, arith, math, tensor, linalg, onnx and what stands
 * beside them, on values that are arrays (ir/attr/attr.h; a scalar has rank 0). Integers are exact,
 * floats rounded to their type after every op. A value is freed after its last use.
 *
 *   function ─▶ steps, one per op: operands' slots, what dies, prepared state ─▶ run, run, …
 *
 * Tests: test/unit/sim/interp/interp_test.c, lit/tools/ming-run.mir, test/e2e/run_check.py */
#ifndef MING_SIM_INTERP_INTERP_H
#define MING_SIM_INTERP_INTERP_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"

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
    bool (*seen)(void *user, const Op *op,
                 Array *const *results); /* false: diagnosed, ends the run */
} InterpWatch;
void interp_watch(Interp *interp, InterpWatch watch);

/* Ranges of a network's activations, from running it on real inputs: what onnx-quantize needs.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct Calibration Calibration;

/* For a function of onnx ops, which must stay as it is until calibration_finish. NULL:
 * diagnosed. */
Calibration *calibration_create(Op *func) MUST_CHECK;
/* Runs it on one frame, widening the ranges. False: diagnosed; a value that is not finite is
 * told at the op that gives it. */
bool calibration_run(Calibration *calibration, Array *const *inputs) MUST_CHECK;
/* Writes the ranges of at least one run to the function (dialects/onnx/onnx.h) if `keep`; frees. */
void calibration_finish(Calibration *calibration, bool keep);

/* What quantization changes: the activations of a quantized network against those of the float
 * network that it was made from.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct QuantNoise QuantNoise;

/* Of two functions that must stay as they are; copies maps values of the quantized one to those of
 * the float one that they come from. NULL: diagnosed. */
QuantNoise *quant_noise_create(const Op *quantized, const Op *reference, const PtrMap *copies)
    MUST_CHECK;
void quant_noise_free(QuantNoise *noise);
/* Runs both on one frame. False: diagnosed. */
bool quant_noise_run(QuantNoise *noise, Array *const *inputs) MUST_CHECK;
/* A table over all frames: a line per activation that is quantized, named by the node that gives
 * it, with its largest error and the ratio of signal to quantization noise in decibels. */
void quant_noise_print(const QuantNoise *noise, StrBuf *out);

/* Translation validation: public functions are run on random inputs before the first pass and
 * after every pass; the first pass that changes a result is named. Inputs depend on nothing but
 * their numbers. A changed boundary (dfg.quant, dfg.layout) is looked through: arrays are compared.
 * What cannot be run is said in a remark for each pass.
 * Tests: test/unit/sim/interp/verify_semantics_test.c, lit/tools/verify-semantics.mir */

typedef struct VerifySemantics VerifySemantics;

/* runs: random inputs per function. NULL, which the others take too, if there are none. */
VerifySemantics *verify_semantics_create(int64_t runs);
void verify_semantics_free(VerifySemantics *verify);
/* For RunOptions.hooks; NULL ends that list. */
const PassHooks *verify_semantics_hooks(VerifySemantics *verify);
/* Whether no pass has changed a result so far; differences were diagnosed. */
bool verify_semantics_ok(const VerifySemantics *verify);

#endif
