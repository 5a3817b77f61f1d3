/* Fixed-point approximation of rising step functions.
 *
 * A rising step function is floor((m * q + b) / 2^s) if and only if b is above
 *   k * 2^s - m * t          for every threshold (k, t), because the level is reached at t,
 * and at or below
 *   k * 2^s - m * (t - 1) - 1, because it is not reached before.
 * So m must satisfy (k - j) / (t_k - t_j + 1) < m / 2^s < (k - j) / (t_k - t_j - 1) for all pairs
 * of thresholds, which bounds the slope. The first shift at which an integer lies between these
 * bounds is tried, and the intervals for b decide. The answer is exact, because it is checked at
 * every threshold.
 * Tests: test/unit/analysis/fixed_point_fit_test.c */
#include <assert.h>
#include <math.h>

#include "analysis/analysis.h"

/* Constraints: level(q) >= k at q, or level(q) <= k at q. */
typedef struct FitBound {
    int64_t k, q;
} FitBound;

static int64_t lower_count(const StepFunction *f)
{
    return f->count + !f->low_is_clamped;
}

/* The first number at which the function must have reached level k. */
static FitBound lower_bound(const StepFunction *f, int64_t i)
{
    if (i < f->count) return (FitBound){f->thresholds[i].level, f->thresholds[i].at + f->late};
    return (FitBound){f->low_level, f->low_q};
}

static int64_t upper_count(const StepFunction *f)
{
    return f->count + !f->high_is_clamped;
}

/* The last number at which the function must not be above level k. */
static FitBound upper_bound(const StepFunction *f, int64_t i)
{
    if (i < f->count)
        return (FitBound){f->thresholds[i].level - 1, f->thresholds[i].at - 1 - f->early};
    return (FitBound){f->high_level, f->high_q};
}

/* Bounds of the slope, real numbers: any pair of a lower bound (k, q) and an upper one (j, p)
 * demands k <= slope * q + b' < j + 1 at p. Of many thresholds only some pairs are looked at; the
 * bounds are then a guess that find_addend checks. */
static void slope_range(const StepFunction *f, double *low, double *high)
{
    const int64_t stride = f->count / 512 + 1;
    *low = -INFINITY;
    *high = INFINITY;
    for (int64_t i = 0; i < lower_count(f); i++) {
        FitBound a = lower_bound(f, i);
        for (int64_t n = i % stride; n < upper_count(f); n += stride) {
            FitBound b = upper_bound(f, n);
            double rise = (double)(a.k - b.k - 1), run = (double)(a.q - b.q);
            if (run > 0 && rise / run > *low) *low = rise / run;
            if (run < 0 && rise / run < *high) *high = rise / run;
        }
    }
}

/* k * 2^shift - m * q */
static bool offset(FitBound bound, int64_t m, int shift, int64_t *out)
{
    int64_t scaled, product;
    return i64_mul(bound.k, INT64_C(1) << shift, &scaled) && i64_mul(m, bound.q, &product) &&
           product != INT64_MIN && i64_add(scaled, -product, out);
}

/* The addend for a multiplier; false if none fits. */
static bool find_addend(const StepFunction *f, int64_t m, int shift, int64_t *addend)
{
    int64_t low = INT64_MIN, high = INT64_MAX, at;
    for (int64_t i = 0; i < lower_count(f); i++) {
        if (!offset(lower_bound(f, i), m, shift, &at)) return false;
        low = at > low ? at : low;
    }
    for (int64_t i = 0; i < upper_count(f); i++) {
        FitBound above = upper_bound(f, i);
        above.k++;
        if (!offset(above, m, shift, &at)) return false;
        high = at - 1 < high ? at - 1 : high;
    }
    bool is_free = low == INT64_MIN && high == INT64_MAX;
    *addend = is_free ? 0 : low == INT64_MIN ? high : low;
    return low <= high;
}

static bool try_multiplier(const StepFunction *f, double m, int shift, FixedPoint *out)
{
    const double limit = 1e15;
    if (!(fabs(m) < limit)) return false;
    *out = (FixedPoint){.multiplier = (int64_t)m, .shift = shift};
    return find_addend(f, out->multiplier, shift, &out->addend);
}

bool fixed_point_fit(const StepFunction *f, FixedPoint *out)
{
    double low, high;
    slope_range(f, &low, &high);
    if (low > high) return false;
    if (isinf(low)) low = isinf(high) ? 0.0 : fmin(high - 1.0, 0.0);
    if (isinf(high)) high = fmax(low + 2.0, 1.0);
    for (int shift = 0; shift <= FIT_MAX_SHIFT; shift++) {
        double first = ceil(ldexp(low, shift)), last = floor(ldexp(high, shift));
        double middle = floor((first + last) / 2.0);
        if (first > last) continue;
        if (try_multiplier(f, middle, shift, out) || try_multiplier(f, first, shift, out) ||
            try_multiplier(f, last, shift, out))
            return true;
    }
    return false;
}

/* The first q at which a rising form reaches the level: (m * q + b) / 2^s >= level. */
static int64_t level_start(const FixedPoint *form, int64_t level)
{
    assert(form->multiplier > 0);
    int64_t m = form->multiplier, rest = level * (INT64_C(1) << form->shift) - form->addend;
    return rest > 0 ? (rest - 1) / m + 1 : -(-rest / m);
}

/* Let the form reach level k at l_k, e_k late, and q lie in [l_k, l_k+1). Then q + e_k+1 reaches
 * l_k+1 exactly if q has reached the threshold to k + 1. It does not reach l_k+2 if no two l are
 * less than e_k+1 apart, and level(q) is k or k + 1 if l_k+1 comes no later than the threshold to
 * k + 2. In the same way for early forms, mirrored. */
bool fixed_point_errors(const StepFunction *f, const FixedPoint *form, int64_t *errors)
{
    int64_t slack = f->late + f->early;
    if (f->count > 0 && slack > 0 && (INT64_C(1) << form->shift) / form->multiplier < slack)
        return false;
    for (int64_t i = 0; i < f->count; i++) {
        const Threshold *own = &f->thresholds[i];
        int64_t start = slack > 0 ? level_start(form, own->level) : own->at;
        if ((i + 1 < f->count && start > own[1].at) || (i > 0 && start < own[-1].at)) return false;
        errors[i] = start > own->at ? start - own->at : own->at - start;
    }
    return true;
}

bool fixed_point_widen(FixedPoint *form, int shift)
{
    int64_t factor = INT64_C(1) << (shift - form->shift);
    form->shift = shift;
    return i64_mul(form->multiplier, factor, &form->multiplier) &&
           i64_mul(form->addend, factor, &form->addend);
}
