/* Smaller constants for scales in fixed point, a part of narrow-integers.
 *
 * A requantizer as frameworks write it has a 31-bit multiplier, but its argument is a sum of few
 * bits and its result is clamped to even fewer. A multiplier of little more than the result's width
 * therefore mostly gives the same steps. The steps are listed as thresholds, and fixed_point_fit
 * (analysis/analysis.h) finds the form.
 *   (x * m + r) >> s  ->  (x * m' + r') >> s'    for all x in x's range, apart from clamping
 * Tests: lit/passes/linalg/narrow-integers-scale.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "passes/linalg/internal.h"

/* Thresholds that are listed; bits that a multiplier block takes at its narrow side. */
enum { MAX_THRESHOLDS = 4096, NARROW_SIDE = 18 };

/* The ops of (x * m + r) >> s, m > 0. */
typedef struct Scale {
    Op *product, *sum, *shift;
    const Value *x;
    uint32_t m_operand, r_operand;
    int64_t m, r, s;
    IntRange domain; /* of x */
    IntRange levels; /* of the result that matter: others are clamped */
    bool low_is_clamped, high_is_clamped;
} Scale;

static bool is_constant(const Value *value, int64_t *out)
{
    const Op *def = value_def(value);
    if (!def || def->def != ARITH(CONSTANT) || !int_range_is_known_for(value->type)) return false;
    *out = attr_int_value(op_attr(def, "value"));
    return true;
}

/* The op behind operand 1 - *constant of `op`, used nowhere else; the other operand is a
 * constant. */
static Op *before_constant(const Op *op, uint32_t *constant, int64_t *number)
{
    for (uint32_t i = 0; i < 2; i++) {
        Op *def = value_def(op_operand(op, 1 - i));
        if (is_constant(op_operand(op, i), number) && def &&
            value_has_one_use(op_operand(op, 1 - i))) {
            *constant = i;
            return def;
        }
    }
    return NULL;
}

static bool match_product(Scale *s)
{
    for (uint32_t i = 0; i < 2; i++)
        if (is_constant(op_operand(s->product, i), &s->m)) {
            s->m_operand = i;
            s->x = op_operand(s->product, 1 - i);
            return s->m > 0;
        }
    return false;
}

static bool match_scale(Op *op, Scale *out)
{
    uint32_t by;
    *out = (Scale){.shift = op};
    if (op->def != ARITH(SHRSI) || !int_range_is_known_for(op_result(op, 0)->type)) return false;
    out->sum = before_constant(op, &by, &out->s);
    if (!out->sum || by != 1 || out->sum->def != ARITH(ADDI) || out->s < 0 || out->s > 62)
        return false;
    out->product = before_constant(out->sum, &out->r_operand, &out->r);
    return out->product && out->product->def == ARITH(MULI) && match_product(out);
}

static int64_t level_at(const Scale *s, int64_t x)
{
    return (s->m * x + s->r) >> s->s;
}

/* hi - lo. False: beyond 64 bits. */
static bool span_of(IntRange range, int64_t *out)
{
    return range.lo > INT64_MIN && i64_add(range.hi, -range.lo, out);
}

/* Whether nothing overflows, so that the ranges of product and sum are those of exact
 * arithmetic. */
static bool is_exact(const Scale *s)
{
    IntRange whole = int_range_of_type(op_result(s->product, 0)->type);
    if (s->m > whole.hi || s->r < whole.lo || s->r > whole.hi) return false;
    for (int end = 0; end < 2; end++) {
        int64_t product, sum;
        if (!i64_mul(s->m, end ? s->domain.hi : s->domain.lo, &product) ||
            !i64_add(product, s->r, &sum) || product < whole.lo || product > whole.hi ||
            sum < whole.lo || sum > whole.hi)
            return false;
    }
    return true;
}

/* Follows extremes with constants, which cut off levels that need not be kept apart. */
static void follow_clamps(Scale *s)
{
    int64_t bound;
    s->levels = (IntRange){level_at(s, s->domain.lo), level_at(s, s->domain.hi)};
    for (const Op *op = s->shift; value_has_one_use(op_result(op, 0));) {
        const Use *use = op_result(op, 0)->uses;
        op = use->owner;
        bool is_max = op->def == ARITH(MAXSI);
        if ((!is_max && op->def != ARITH(MINSI)) ||
            !is_constant(op_operand(op, 1 - use_index(use)), &bound))
            return;
        if (is_max && bound > s->levels.lo && bound < s->levels.hi) {
            s->levels.lo = bound;
            s->low_is_clamped = true;
        }
        if (!is_max && bound < s->levels.hi && bound > s->levels.lo) {
            s->levels.hi = bound;
            s->high_is_clamped = true;
        }
    }
}

/* The least x that reaches a level above the lowest. */
static int64_t first_at(const Scale *s, int64_t level)
{
    int64_t below = s->domain.lo, at = s->domain.hi;
    while (below + 1 < at) {
        int64_t middle = below + (at - below) / 2;
        *(level_at(s, middle) >= level ? &at : &below) = middle;
    }
    return at;
}

static bool fit_scale(IntRanges *ranges, const Scale *s, FixedPoint *out)
{
    int64_t steps;
    Scale fitted = *s;
    if (!span_of(s->levels, &steps) || steps > MAX_THRESHOLDS) return false;
    Threshold *thresholds = ARENA_ARRAY(ranges->arena, Threshold, (size_t)steps + 1);
    for (int64_t i = 0; i < steps; i++) {
        int64_t level = s->levels.lo + 1 + i;
        thresholds[i] = (Threshold){level, first_at(s, level)};
    }
    StepFunction function = {.thresholds = thresholds,
                             .count = steps,
                             .low_q = s->domain.lo,
                             .high_q = s->domain.hi,
                             .low_level = s->levels.lo,
                             .high_level = s->levels.hi,
                             .low_is_clamped = s->low_is_clamped,
                             .high_is_clamped = s->high_is_clamped};
    if (!fixed_point_fit(&function, out)) return false;
    fitted.m = out->multiplier;
    fitted.r = out->addend;
    return fitted.m > 0 && out->shift < s->s &&
           is_exact(&fitted); /* clamped levels may lie far off */
}

static void set_constant(Op *op, uint32_t operand, int64_t number)
{
    Builder b = builder_before(op);
    op_set_operand(op, operand, arith_constant_int(&b, op_operand(op, operand)->type, number));
}

/* Part of the domain in which levels that matter differ: beyond it the result is clamped. */
static IntRange unclamped_domain(const Scale *s)
{
    IntRange domain = s->domain;
    if (s->low_is_clamped) domain.lo = first_at(s, s->levels.lo + 1) - 1;
    if (s->high_is_clamped) domain.hi = first_at(s, s->levels.hi);
    return domain;
}

/* If neither x nor m fits the narrow side of a multiplier, but x would if it was clamped in front
 * of the product instead of behind it: x * m  ->  min(max(x, first), last) * m */
static void clamp_before(const Scale *s, int64_t m)
{
    Op *product = s->product;
    uint32_t operand = 1 - s->m_operand;
    IntRange domain = unclamped_domain(s);
    if (int_range_bits((IntRange){m, m}) <= NARROW_SIDE ||
        int_range_bits(s->domain) <= NARROW_SIDE || int_range_bits(domain) > NARROW_SIDE)
        return;
    Builder b = builder_before(product);
    Value *x = op_operand(product, operand);
    x = build_binary(&b, ARITH(MAXSI), x->type, x, arith_constant_int(&b, x->type, domain.lo));
    x = build_binary(&b, ARITH(MINSI), x->type, x, arith_constant_int(&b, x->type, domain.hi));
    op_set_operand(product, operand, x);
}

bool narrow_scales(IntRanges *ranges, const Op *generic)
{
    bool changed = false;
    FOR_EACH_OP(op, linalg_body(generic)) {
        Scale scale;
        FixedPoint form;
        int64_t span;
        if (!match_scale(op, &scale)) continue;
        scale.domain = int_range_of_value(ranges, scale.x);
        if (!is_exact(&scale) || !span_of(scale.domain, &span)) continue;
        follow_clamps(&scale);
        bool fits = fit_scale(ranges, &scale, &form);
        clamp_before(&scale, fits ? form.multiplier : scale.m);
        changed = true;
        if (!fits) continue;
        set_constant(scale.product, scale.m_operand, form.multiplier);
        set_constant(scale.sum, scale.r_operand, form.addend);
        set_constant(scale.shift, 1, form.shift);
    }
    return changed;
}
