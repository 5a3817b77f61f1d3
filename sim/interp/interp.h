/* Reference interpreter of functions: func, cf, arith, math, tensor, linalg, onnx, tosa and the dfg
 * ops that move elements, on values that are arrays (ir/attr/attr.h; a scalar has rank 0). Integers
 * are exact, floats are rounded to their type after every op, so results are what every lowering
 * must give. A value is freed after its last use.
 *
 *   function ─▶ steps, one per op: operands' slots, what dies, prepared state ─▶ run, run, …
 *
 * Functions are borrowed and must stay as they are while an interpreter lives. Undefined behaviour
 * is diagnosed at its op; nothing is printed or aborted here. The driver and the tools build on
 * it: `ming run`, calibration, quantization reports, --verify-semantics. docs/interpreter.md.
 * Tests: test/unit/sim/interp/interp_test.c, lit/tools/ming-run.mir, test/e2e/run_check.py */
#ifndef MING_SIM_INTERP_INTERP_H
#define MING_SIM_INTERP_INTERP_H

#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "sim/io/io.h"

typedef struct Interp Interp;

/* Prepares a function and those that it calls. The caller frees the interpreter. NULL: one
 * diagnostic names the op or type that cannot be interpreted. */
Interp *interp_create(const Op *func) MUST_CHECK;
void interp_free(Interp *interp);

/* Runs the function. inputs: one array per argument, whose references stay the caller's. results:
 * room for as many arrays as the function returns, each of which gets a new reference. False:
 * undefined behaviour, diagnosed at the op; there are no results then. */
bool interp_run(Interp *interp, Array *const *inputs, Array **results) MUST_CHECK;

/* Limits the ops that one run may execute, so that a loop of cf or recursion ends; 0: no limit. What
 * exceeds it is diagnosed at its function. */
#define INTERP_MAX_STEPS ((int64_t)1 << 26) /* the default; some 10 s of ops on scalars */
void interp_limit_steps(Interp *interp, int64_t steps);
/* Limits the elements of a result whose shape is not that of its type; what exceeds it is diagnosed at its op. */
void interp_limit_arrays(Interp *interp, int64_t elements);

/* A callback after each op of a run. The results stay the interpreter's. */
typedef struct InterpWatch {
    void *user;
    bool (*seen)(void *user, const Op *op,
                 Array *const *results); /* false: diagnosed, ends the run */
} InterpWatch;
void interp_watch(Interp *interp, InterpWatch watch);

/* Calibration: the ranges of a network's activations, from running it on real inputs. onnx-quantize
 * needs them.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct Calibration Calibration;

/* Calibrates a function of onnx ops, which must stay as it is until calibration_finish. NULL:
 * diagnosed. */
Calibration *calibration_create(Op *func) MUST_CHECK;
/* Runs it on one frame, widening the ranges. False: diagnosed; a value that is not finite is
 * told at the op that gives it. */
bool calibration_run(Calibration *calibration, Array *const *inputs) MUST_CHECK;
/* Frees the calibration; if `keep`, first writes the ranges, of at least one run, to the function
 * (dialects/onnx/onnx.h). */
void calibration_finish(Calibration *calibration, bool keep);

/* Quantization noise: compares the activations of a quantized network with those of the float
 * network that it was made from.
 * Tests: lit/driver/quantize.mir, test/e2e/quantize_check.py */

typedef struct QuantNoise QuantNoise;

/* Both functions must stay as they are until quant_noise_free. copies: from values of the quantized
 * one to the values of the float one that they come from. NULL: diagnosed. */
QuantNoise *quant_noise_create(const Op *quantized, const Op *reference, const PtrMap *copies)
    MUST_CHECK;
void quant_noise_free(QuantNoise *noise);
/* Runs both on one frame. False: diagnosed. */
bool quant_noise_run(QuantNoise *noise, Array *const *inputs) MUST_CHECK;
/* A table over all frames: a line per activation that is quantized, named by the node that gives
 * it, with its largest error and the ratio of signal to quantization noise in decibels. */
void quant_noise_print(const QuantNoise *noise, StrBuf *out);

/* Comparing results of what should be one function, where floats may be rounded elsewhere; the rule is
 * in docs/interpreter.md. Arrays are the model's, as a boundary gives them.
 * Tests: test/unit/sim/interp/compare_results_test.c */

/* How far floats of the type may be off, relative to the largest: a step of the type, or 1e-5. */
double compare_tolerance(const Type *elem);
/* A copy of an input whose floats are each off by the tolerance, up or down by the next bits of
 * *state. The caller frees it. False: it is too large. */
bool compare_shift_input(const Npy *input, double tolerance, uint64_t *state, Npy *out) MUST_CHECK;
/* How far each element of a result may be off, relative to the largest of them; the caller frees it.
 * NULL: the result has no floats. */
double *compare_reach(const Npy *result, double tolerance);
/* Elements may be off by as much as in another run, too: of shifted inputs, or with other roundings.
 * reach may be NULL. */
void compare_widen_reach(double *reach, const Npy *result, const Npy *shifted);
/* The first element of b that is another one than in a, or one of COMPARE_*. Elements that are
 * integers, or are dequantized ones (`is_quantized`), have to be equal, but for what roundings decide:
 * by `rounding`, the others by `reach` too. Each is of a; NULL: 0. */
enum { COMPARE_EQUAL = -1, COMPARE_SHAPES_DIFFER = -2 };
int64_t compare_results(const Npy *a, const Npy *b, bool is_quantized, const double *reach,
                        const double *rounding);

/* Translation validation: runs public functions on random inputs before the first pass and after
 * every pass, and names the first pass that changes a result. Inputs depend on nothing but the
 * number of the input, so a failure can be reproduced. A pass may change the boundary (dfg.quant,
 * dfg.layout), because the model's arrays are compared, not the function's. A function that cannot
 * be run gets a remark for each pass.
 * Tests: test/unit/sim/interp/verify_semantics_test.c, lit/tools/verify-semantics.mir */

typedef struct VerifySemantics VerifySemantics;

/* runs: random inputs per function. If it is 0, NULL, which the functions below take too. */
VerifySemantics *verify_semantics_create(int64_t runs);
/* Inputs are of so many frames, because a pass may make one frame of them (batch-images). */
void verify_semantics_take_images(VerifySemantics *verify, int64_t images);
void verify_semantics_free(VerifySemantics *verify);
/* Hooks for the list RunOptions.hooks; NULL, which ends that list, if verify is NULL. */
const PassHooks *verify_semantics_hooks(VerifySemantics *verify);
/* Whether no pass has changed a result so far; differences were diagnosed. */
bool verify_semantics_ok(const VerifySemantics *verify);

#endif
