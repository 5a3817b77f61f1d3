/* Requantization: lowers quantizer nodes to integer arithmetic that gives the same integers as the
 * network's floating point does, for every input, or reports that it cannot.
 *
 *   quantizer.c     what the integers of a node mean, and which of the ways below it takes
 *   quantizer_ahead.c  which quantizer stands behind a node, and how it is applied before the node
 *   requant_shift.c shifts, where the units are equal
 *   requant.c       any other function of one tensor, with its forms (internal.h)
 *   requant_add.c   functions of two tensors, as at the end of residual branches
 *   requant_fine_sum.c  sums that have no exact form
 *   self_join.c     functions in which one tensor meets itself
 *
 * A quantizer is known by a QuantizerSpec, the function before it by the epilogue of its operand
 * (values/values.h). Results are recorded in the OnnxLowering, nothing is owned by the caller. The
 * lowerings of onnx_to_linalg/ build on it. docs/integer-folding.md tells the rules.
 * Tests: lit/lowering/onnx_to_linalg/requant, test/e2e/qdq_check.py, test/e2e/import_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_REQUANT_REQUANT_H
#define MING_LOWERING_ONNX_TO_LINALG_REQUANT_REQUANT_H

#include "lowering/onnx_to_linalg/values/values.h"

/* Channels in which a requantizer gives `sum` less the level instead of the level: `has` for each
 * channel along dimension `axis`, or for all (channels 1, axis -1). NULL: in none. */
typedef struct QuantizerMirror {
    const bool *has;
    int64_t channels, sum;
    int axis;
} QuantizerMirror;

/* A quantizer node: Quant, IntQuant, BipolarQuant, Trunc, MultiThreshold, QuantizeLinear. */
typedef struct QuantizerSpec {
    Fixed real;      /* meaning of its integers: unit, exponent, is_unsigned */
    int64_t zero;    /* of a QuantizeLinear: its elements are the integers plus this */
    bool has_grid;   /* rounds to a uniform grid as `quant` says; else only evaluating it tells */
    Quantizer quant; /* rounding, range; zero point of a Quant */
    double scale;
    QuantizerMirror mirror; /* of a node's own spec none */
} QuantizerSpec;

/* The meaning of the integers of lw->node, a quantizer. False: lw->why tells what is not
 * supported. */
bool quantizer_spec_of(OnnxLowering *lw, QuantizerSpec *out) MUST_CHECK;

/* Records the result of lw->node, whether its elements are integers in the network or reals. */
void quantizer_record(OnnxLowering *lw, const QuantizerSpec *spec, const Fixed *real);

/* The ways to build a quantizer on the integers of v. *out gets the result. */

/* x >= 0 ? 1 : -1, for a bipolar quantizer. */
void requant_build_bipolar(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out);
/* Shift, rounding and clamp, for a value whose unit is that of the spec. False: diagnosed. */
bool requant_build_shift(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out)
    MUST_CHECK;
/* Any function: exact fixed-point arithmetic if there is one, else thresholds, a table or a search
 * (requant.c). *exact is unset where it cannot be done in integers. False: diagnosed. */
bool requant_build(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                   bool *exact) MUST_CHECK;
/* lw->node is a sum or difference. If it is used only by element-wise nodes that end in a
 * quantizer, builds that quantizer as one function of both fixed operands; *out gets its result.
 * False, no diagnostic: there is no such quantizer, or no exact form. */
bool requant_build_add(OnnxLowering *lw, const Fixed *x, const Fixed *y, Fixed *out) MUST_CHECK;
/* lw->node is a sum or difference of floats, x and y its operands with what is deferred of them; NULL
 * is a constant beside the other one, which is_fine. If it is used only by sums, functions of each element
 * and nodes that move elements, which end in a quantizer, builds it in integers of that quantizer's grid, as
 * much finer as makes rounding no worse than that of floats.
 * False, no diagnostic: there is no such quantizer, or the integers would be too wide. */
bool requant_build_fine_sum(OnnxLowering *lw, const Fixed *x, const Fixed *y, Fixed *out)
    MUST_CHECK;

/* Whether lw->node begins a function of operand `index` and constants alone in which that meets itself,
 * and that a quantizer takes in, so that its parts are to be deferred. */
bool requant_joins_itself(OnnxLowering *lw, uint32_t index);

/* Lower lw->node, a quantizer or a DequantizeLinear. False: diagnosed. */
bool quantizer_lower(OnnxLowering *lw);
bool quantizer_lower_dequantize(OnnxLowering *lw);

/* Quantizers that are applied earlier than they stand, so that nodes between work on integers. */

/* The quantizer that all uses of a value apply with the same parameters, looked for behind nodes
 * that only move elements. NULL: there is none. */
Op *quantizer_find(const Value *value);
/* Whether the op moves elements, so that a quantizer behind it may be applied in front of it. */
bool quantizer_passes_move(const Op *op);
/* lw->node takes the maximum or the minimum of x, its operand, over the dimensions `pooled`. If
 * between it and a quantizer there are only functions of constants that rise or fall in each channel,
 * and the quantizer has fewer levels than x integers or x an epilogue, lowers the quantizer on x
 * together with the functions. *x gets the levels; the nodes behind are entered into lw->absorbed;
 * the result of lw->node is to be given to quantizer_mirror_back. False: x is as before. */
bool quantizer_move_before(OnnxLowering *lw, const bool *pooled, Fixed *x, QuantizerMirror *mirror)
    MUST_CHECK;
/* Makes the levels themselves of those in which channels are mirrored. */
void quantizer_mirror_back(OnnxLowering *lw, const QuantizerMirror *mirror, Fixed *x);
/* lw->node moves elements of its first `count` operands, which get integers of a quantizer behind it.
 * Functions between the two that are the same for all elements are applied in front of the node, too.
 * *integer is what they make of *number, which the node puts among the elements; NULL: nothing.
 * Whoever uses the operands calls quantizer_absorb_ahead, which enters the nodes behind into
 * lw->absorbed. False: there is no such quantizer, or no exact form; operands may have changed. */
bool quantizer_apply_ahead(OnnxLowering *lw, Fixed *operands, uint32_t count, const double *number,
                           int64_t *integer) MUST_CHECK;
void quantizer_absorb_ahead(OnnxLowering *lw);
/* Whether such a quantizer leaves fewer numbers than there are in front of the node, or functions are
 * deferred there. */
bool quantizer_narrows(OnnxLowering *lw);

#endif
