/* Quantizers: what their integers mean, and how they are computed (onnx_to_linalg_target.c,
 * _quant.c, _requant.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_REQUANT_REQUANT_H
#define MING_LOWERING_ONNX_TO_LINALG_REQUANT_REQUANT_H

#include "lowering/onnx_to_linalg/values/values.h"

/* A quantizer node: Quant, IntQuant, BipolarQuant, Trunc, MultiThreshold, QuantizeLinear. */
typedef struct QuantizerSpec {
    Fixed real;      /* meaning of its integers: unit, exponent, is_unsigned */
    int64_t zero;    /* of a QuantizeLinear: what its elements have more than the integers */
    bool has_grid;   /* rounds to an even grid as `quant` says; else only its evaluator tells */
    Quantizer quant; /* rounding, range; zero point of a Quant */
    double scale;
} QuantizerSpec;

/* The meaning of lw->node's integers. False: lw->why tells what is not supported. */
bool quantizer_spec_of(OnnxLowering *lw, QuantizerSpec *out) MUST_CHECK;

/* Records the result of lw->node, integers in the network or reals. */
void quantizer_record(OnnxLowering *lw, const QuantizerSpec *spec, const Fixed *real);

/* x >= 0 ? 1 : -1 */
void requant_build_bipolar(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out);
/* Shift, rounding and clamp, for a value of the spec's unit. False: diagnosed. */
bool requant_build_shift(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out)
    MUST_CHECK;
/* Any monotone function (onnx_to_linalg_requant.c): exact fixed-point arithmetic, else thresholds.
 * False: diagnosed; with *exact unset it cannot be done in integers. */
bool requant_build(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                   bool *exact) MUST_CHECK;
/* The quantizer at the end of the steps that alone use the sum or difference at lw->node, on the
 * two fixed operands at once; *out is what it gives. False: there is none, or it is not exact. */
bool requant_build_add(OnnxLowering *lw, const Fixed *x, const Fixed *y, Fixed *out) MUST_CHECK;

/* Lowers lw->node, a quantizer or its inverse. */
bool quantizer_lower(OnnxLowering *lw);
bool quantizer_lower_dequantize(OnnxLowering *lw);

/* The quantizer that all uses of a value apply with the same parameters, looked for behind nodes
 * that only move elements; NULL: none. */
Op *quantizer_find(const Value *value);
/* Lowers a quantizer that stands further down on operand `index` of the node; false: it cannot be
 * done in integers. */
bool quantizer_apply_to_operand(OnnxLowering *lw, uint32_t index, Op *quantizer, Fixed *out)
    MUST_CHECK;
/* The integer that such a quantizer makes of a number; false: none. */
bool quantizer_apply_to_number(OnnxLowering *lw, Op *quantizer, double number, int64_t *out)
    MUST_CHECK;

#endif
