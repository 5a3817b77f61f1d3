/* Monotone step functions of integers as fixed-point arithmetic. */
#ifndef MING_LOWERING_ONNX_TO_LINALG_FIT_H
#define MING_LOWERING_ONNX_TO_LINALG_FIT_H

#include "ir/support/support.h"

/* level(q) >= level where q >= at; level(q) < level where q < at, both for the q that occur. */
typedef struct Threshold {
    int64_t level, at;
} Threshold;

/* A rising function by its thresholds in ascending order, and what it must not leave at the ends
 * of its domain. A form may reach its levels up to `late` integers after the thresholds or up to
 * `early` before them. */
typedef struct StepFunction {
    const Threshold *thresholds;
    int64_t count;
    int64_t late, early;           /* one of them is 0 */
    int64_t low_q, high_q;         /* the domain */
    int64_t low_level, high_level; /* at its ends */
    bool low_is_clamped, high_is_clamped; /* a lower, higher value there is clamped anyway */
} StepFunction;

/* floor((multiplier * q + addend) / 2^shift) */
typedef struct FixedPoint {
    int64_t multiplier, addend;
    int shift;
} FixedPoint;

enum { FIT_MAX_SHIFT = 46 };

/* The coarsest fixed-point form that gives level(q) for every q of the domain, clamping aside and
 * as late or early as f allows. False: there is none up to FIT_MAX_SHIFT. */
bool fixed_point_fit(const StepFunction *f, FixedPoint *out) MUST_CHECK;
/* What makes up for a form that is late or early: errors[i] becomes the number of integers by which
 * it misses threshold i, such that for every q of the domain, clamping aside,
 *   level(q) = form(q + e), e that of the threshold to level form(q) + 1, if f allows late ones,
 *   level(q) = form(q - e), e that of the threshold to level form(q),     if f allows early ones,
 * and 0 where there is no such threshold. False: errors are as long as steps. */
bool fixed_point_errors(const StepFunction *f, const FixedPoint *form, int64_t *errors) MUST_CHECK;
/* The same form with a larger shift; false on overflow. */
bool fixed_point_widen(FixedPoint *form, int shift) MUST_CHECK;

#endif
