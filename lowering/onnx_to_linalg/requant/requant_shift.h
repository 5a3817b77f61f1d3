/* Quantizers: what their integers mean, and how they are computed (onnx_to_linalg_target.c,
 * _quant.c, _requant.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_QUANT_H
#define MING_LOWERING_ONNX_TO_LINALG_QUANT_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"

/* A quantizer node: Quant, IntQuant, BipolarQuant, Trunc, MultiThreshold, QuantizeLinear. */
typedef struct Target {
    Fixed real;      /* meaning of its integers: unit, exponent, is_unsigned */
    int64_t zero;    /* of a QuantizeLinear: what its elements have more than the integers */
    bool has_grid;   /* rounds to an even grid as `quant` says; else only its evaluator tells */
    Quantizer quant; /* rounding, range; zero point of a Quant */
    double scale;
} Target;

/* The meaning of lw->node's integers. False: lw->why tells what is not supported. */
bool quantizer_spec_of(Lowering *lw, Target *out) MUST_CHECK;

/* Records the result of lw->node, integers in the network or reals. */
void quantizer_record(Lowering *lw, const Target *target, const Fixed *real);

/* x >= 0 ? 1 : -1 */
void requant_build_bipolar(Lowering *lw, const Fixed *v, const Target *target, Fixed *out);
/* Shift, rounding and clamp, for a value of the target's unit. False: diagnosed. */
bool requant_build_shift(Lowering *lw, const Fixed *v, const Target *target, Fixed *out) MUST_CHECK;
/* Any monotone function (onnx_to_linalg_requant.c): exact fixed-point arithmetic, else thresholds.
 * False: diagnosed; with *exact unset it cannot be done in integers. */
bool requant_build(Lowering *lw, const Fixed *v, const Target *target, Fixed *out,
                   bool *exact) MUST_CHECK;
/* The quantizer at the end of the steps that alone use the sum or difference at lw->node, on the
 * two fixed operands at once; *out is what it gives. False: there is none, or it is not exact. */
bool requant_build_add(Lowering *lw, const Fixed *x, const Fixed *y, Fixed *out) MUST_CHECK;

/* Applies steps, the last of which is given, to network values; takes the reference. NULL: why. */
Array *epilogue_apply(Lowering *lw, const Step *last, Array *x) MUST_CHECK;
/* Network values of integers without a chain's steps; q is (1, channels, n). */
Array *epilogue_first(const Fixed *fixed, const Type *elem, const Array *q);

#endif
