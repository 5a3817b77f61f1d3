/* Compares two results of what should be one function, where floats may be rounded elsewhere: a sum
 * in another order, a scale folded into weights.
 *
 * An element may be off by a tolerance of the largest of its result. That is not enough where
 * large numbers cancel, so it may also be off by what its function makes of inputs that are off by
 * as much: measured on the function before the change, not on the one that is judged. Where a quantizer
 * stands behind a rounding, a level may be off that another rounding of the same function moves. A sum
 * near the largest number of its type may pass it on the way in one order and not in another. And what is
 * below the smallest normal number is as good as 0, since hardware flushes it, and a function of several
 * steps loses it.
 * Tests: test/unit/sim/interp/compare_results_test.c, lit/tools/verify-semantics-floats.mir */
#include <float.h>
#include <math.h>
#include <string.h>

#include "sim/interp/interp.h"

/* Tolerances of floats, and of dequantized integers, relative to each. */
static const double FLOAT_TOLERANCE = 1e-5, QUANT_TOLERANCE = 1e-6;

/* Some runs with other roundings find some of how far these carry a number: one that is nothing but
 * roundings, as the logarithm of a sum of 1, may be this many times as far. */
static const double ROUNDING_SPREAD = 16;

double compare_tolerance(const Type *elem)
{
    switch (elem->kind) {
    case TYPE_F16:
    case TYPE_TF32: return 0x1p-10;
    case TYPE_BF16: return 0x1p-7;
    case TYPE_F8E4M3:
    case TYPE_F8E4M3FN:
    case TYPE_F8E4M3FNUZ:
    case TYPE_F8E4M3B11FNUZ: return 0x1p-3;
    case TYPE_F8E5M2:
    case TYPE_F8E5M2FNUZ: return 0x1p-2;
    default: return FLOAT_TOLERANCE;
    }
}

/* A bit of splitmix64. */
static bool random_bit(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (z ^ z >> 27) >> 63;
}

bool compare_shift_input(const Npy *input, double tolerance, uint64_t *state, Npy *out)
{
    if (!npy_init(out, input->kind, input->item, input->dims, input->rank)) return false;
    if (input->count > 0) memcpy(out->data, input->data, (size_t)input->count * input->item);
    for (int64_t i = 0; input->kind == 'f' && i < input->count; i++) {
        double factor = random_bit(state) ? 1 + tolerance : 1 - tolerance;
        npy_set_f64(out, i, npy_get_f64(input, i) * factor);
    }
    return true;
}

static double largest_size(const Npy *npy)
{
    double largest = 0;
    for (int64_t i = 0; i < npy->count; i++) {
        double size = fabs(npy_get_f64(npy, i));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    return largest;
}

static double smallest_normal(uint32_t item)
{
    return item == 8 ? DBL_MIN : item == 4 ? (double)FLT_MIN : 0;
}

double *compare_reach(const Npy *result, double tolerance)
{
    if (result->kind != 'f') return NULL;
    double reach = fmax(tolerance * largest_size(result), smallest_normal(result->item));
    double *out = xcalloc((size_t)result->count + 1, sizeof *out);
    for (int64_t i = 0; i < result->count; i++) out[i] = reach;
    return out;
}

static bool same_shape(const Npy *a, const Npy *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

void compare_widen_reach(double *reach, const Npy *result, const Npy *shifted)
{
    if (!reach || !same_shape(result, shifted)) return;
    for (int64_t i = 0; i < result->count; i++) {
        double distance = fabs(npy_get_f64(result, i) - npy_get_f64(shifted, i));
        if (isfinite(distance) && distance > reach[i]) reach[i] = distance;
    }
}

static bool same_numbers(double a, double b, double tolerance)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance;
}

static double largest_number(uint32_t item)
{
    return item == 2 ? 65504 : item == 4 ? (double)FLT_MAX : DBL_MAX;
}

/* Whether one is infinite, and the other of its sign within a sixteenth of the largest number. */
static bool overflow_in_one(double a, double b, double largest)
{
    if (isnan(a) || isnan(b) || isinf(a) == isinf(b) || signbit(a) != signbit(b)) return false;
    return fabs(isinf(a) ? b : a) >= largest / 16;
}

int64_t compare_results(const Npy *a, const Npy *b, bool is_quantized, const double *reach,
                        const double *rounding)
{
    if (!same_shape(a, b)) return COMPARE_SHAPES_DIFFER;
    bool is_exact = a->kind == b->kind && a->kind != 'f';
    double largest = largest_number(a->item);
    for (int64_t i = 0; i < a->count; i++) {
        double rounded = rounding ? rounding[i] : 0;
        if (is_exact && !(rounded > 0) && npy_get_i64(a, i) != npy_get_i64(b, i)) return i;
        double x = npy_get_f64(a, i);
        double tolerance = is_quantized ? QUANT_TOLERANCE * fabs(x) + rounded
                           : reach      ? fmax(reach[i], ROUNDING_SPREAD * rounded)
                                        : rounded;
        double y = npy_get_f64(b, i);
        bool overflows = reach && !is_quantized && overflow_in_one(x, y, largest);
        if (!same_numbers(x, y, tolerance) && !overflows) return i;
    }
    return COMPARE_EQUAL;
}
