/* Requantization by an affine function per channel,
 *   clamp(floor((m_c * q + b_c) / 2^s)),
 * or, where floating point's own rounding puts single thresholds off every such function, by an
 * affine function of integers with small corrections n:
 *   clamp(floor((m_c * (q + n_c[k]) + b_c) / 2^s)),  k = clamp(floor((m_c * q + b_c) / 2^s)).
 * Corrections have a few bits per channel and level, as a rule one, in a constant table.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant.mir,
 * test/unit/analysis/fixed_point_fit_test.c */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

enum { MAX_CORRECTIONS = 1 << 18, MAX_CORRECTION_BITS = 8 };

typedef struct AffineApprox {
    FixedPoint *of;           /* per channel, all with the same shift */
    int64_t levels;           /* of all channels: most - least + 1 */
    int64_t *corrections;     /* [channels][levels] */
    uint32_t correction_bits; /* 0: no integer is corrected */
    int64_t low, high;        /* range of m * (q + n) + b */
} AffineApprox;

/* Sets the corrections of a channel from the errors at its thresholds. A function that rises with q
 * is late, one that falls is early in -q: both are put right by a larger q. */
static void set_corrections(const Requant *r, int64_t c, const int64_t *errors,
                            AffineApprox *approx)
{
    int64_t *row = approx->corrections + c * approx->levels + r->low[c] - r->least;
    for (int64_t i = 0; i < r->high[c] - r->low[c]; i++) row[i + r->falls[c]] = errors[i];
}

static bool fit_with(const Requant *r, int64_t c, StepFunction *f, int64_t slack,
                     AffineApprox *approx)
{
    f->late = r->falls[c] ? 0 : slack;
    f->early = r->falls[c] ? slack : 0;
    int64_t *errors = xmalloc((size_t)(f->count + 1) * sizeof *errors);
    bool fits = fixed_point_fit(f, &approx->of[c]) && fixed_point_errors(f, &approx->of[c], errors);
    if (fits && approx->corrections) set_corrections(r, c, errors, approx);
    free(errors);
    return fits;
}

/* Fits a channel, with corrections or without, because a steep function may leave no room for them
 * but need none. */
static bool fit_channel(const Requant *r, int64_t c, AffineApprox *approx)
{
    int64_t count = r->high[c] - r->low[c], slack = (INT64_C(1) << approx->correction_bits) - 1;
    Threshold *thresholds = xmalloc((size_t)(count + 1) * sizeof *thresholds);
    for (int64_t i = 0; i < count; i++)
        thresholds[i] = (Threshold){r->low[c] + 1 + i, r->at[c * r->width + i]};
    StepFunction f = {.thresholds = thresholds,
                      .count = count,
                      .low_q = requant_first(r, c),
                      .high_q = requant_last(r, c),
                      .low_level = r->low[c],
                      .high_level = r->high[c],
                      .low_is_clamped = r->low[c] == r->least,
                      .high_is_clamped = r->high[c] == r->most};
    bool fits = fit_with(r, c, &f, slack, approx) || (slack > 0 && fit_with(r, c, &f, 0, approx));
    free(thresholds);
    if (r->falls[c]) approx->of[c].multiplier = -approx->of[c].multiplier;
    return fits;
}

/* The range of the affine functions over all channels. False: beyond 62 bits. */
static bool find_range(const Requant *r, AffineApprox *approx)
{
    const int64_t limit = INT64_C(1) << 62, slack = (INT64_C(1) << approx->correction_bits) - 1;
    approx->low = approx->high = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t a, b, m = approx->of[c].multiplier;
        if (!i64_add(r->v->high, slack, &b) || !i64_mul(m, r->v->low, &a) || !i64_mul(m, b, &b) ||
            !i64_add(a, approx->of[c].addend, &a) || !i64_add(b, approx->of[c].addend, &b))
            return false;
        int64_t least = a < b ? a : b, most = a < b ? b : a;
        approx->low = least < approx->low ? least : approx->low;
        approx->high = most > approx->high ? most : approx->high;
    }
    return approx->low > -limit && approx->high < limit;
}

/* Fits all channels, with the same shift. */
static bool fit_all(const Requant *r, AffineApprox *approx)
{
    int shift = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        if (!fit_channel(r, c, approx)) return false;
        shift = approx->of[c].shift > shift ? approx->of[c].shift : shift;
    }
    for (int64_t c = 0; c < r->channels; c++)
        if (!fixed_point_widen(&approx->of[c], shift)) return false;
    return find_range(r, approx);
}

/* ChannelLines with as few bits of moves as will do. */
static bool find_approx(const Requant *r, AffineApprox *approx)
{
    Arena *scratch = &r->lw->pass->scratch;
    *approx = (AffineApprox){.of = ARENA_ARRAY(scratch, FixedPoint, r->channels),
                             .levels = r->most - r->least + 1};
    if (fit_all(r, approx)) return true;
    if (approx->levels > MAX_CORRECTIONS / r->channels) return false;
    approx->corrections = ARENA_ARRAY(scratch, int64_t, r->channels * approx->levels);
    while (++approx->correction_bits <= MAX_CORRECTION_BITS)
        if (fit_all(r, approx)) return true;
    return false;
}

/* An element-wise kernel under construction on v and per-channel numbers. */
typedef struct AffineKernel {
    const Requant *r;
    const AffineApprox *approx;
    Generic generic;
    const Type *wide;
    Value *inputs[3];
    uint32_t count;
} AffineKernel;

/* A number per channel, which is an input of the kernel if they differ. */
typedef struct Numbers {
    uint32_t input; /* 0: all are equal */
    int64_t same;
} Numbers;

/* Inputs are as narrow as can be. */
static Numbers add_numbers(AffineKernel *k, const int64_t *values)
{
    OnnxLowering *lw = k->r->lw;
    int64_t low = values[0], high = values[0];
    for (int64_t c = 1; c < k->r->channels; c++) {
        low = values[c] < low ? values[c] : low;
        high = values[c] > high ? values[c] : high;
    }
    if (low == high) return (Numbers){.same = low};
    const Type *elem = type_i(lw->ctx, fixed_signed_width(low, high));
    const Type *type = type_tensor(elem, &k->r->channels, 1, NULL);
    k->inputs[k->count] =
        arith_constant(&lw->b, attr_dense_i64(type, values, (size_t)k->r->channels));
    return (Numbers){.input = k->count++};
}

static Value *number(AffineKernel *k, Numbers n, const Type *type)
{
    Builder *b = &k->generic.body;
    return n.input ? lower_build_extend(b, generic_arg(&k->generic, n.input), type, false)
                   : arith_constant_int(b, type, n.same);
}

static Value *clamp(AffineKernel *k, Value *q)
{
    Builder *b = &k->generic.body;
    q = build_binary(b, ARITH(MAXSI), k->wide, q, arith_constant_int(b, k->wide, k->r->least));
    return build_binary(b, ARITH(MINSI), k->wide, q, arith_constant_int(b, k->wide, k->r->most));
}

static Value *level(AffineKernel *k, Value *affine)
{
    Builder *b = &k->generic.body;
    int shift = k->approx->of[0].shift;
    if (shift > 0)
        affine =
            build_binary(b, ARITH(SHRSI), k->wide, affine, arith_constant_int(b, k->wide, shift));
    return clamp(k, affine);
}

/* The corrections as a constant tensor, channel by channel. */
static Value *correction_table(const AffineKernel *k)
{
    OnnxLowering *lw = k->r->lw;
    const AffineApprox *approx = k->approx;
    const int64_t dims[] = {k->r->channels, approx->levels};
    const Type *elem = type_i(lw->ctx, approx->correction_bits);
    int64_t *corrections = ARENA_ARRAY(&lw->pass->scratch, int64_t, dims[0] * dims[1]);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        corrections[i] = array_wrap(elem, approx->corrections[i]);
    const Type *type = type_tensor(elem, dims, 2, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, corrections, (size_t)(dims[0] * dims[1])));
}

/* affine + m * n[level] */
static Value *add_correction(AffineKernel *k, Value *affine, Numbers factor, Value *corrections)
{
    Builder *b = &k->generic.body;
    Context *ctx = k->r->lw->ctx;
    Value *place = level(k, affine), *channel = arith_constant(b, attr_index(ctx, 0));
    if (k->r->least != 0)
        place = build_binary(b, ARITH(SUBI), k->wide, place,
                             arith_constant_int(b, k->wide, k->r->least));
    if (k->r->channels > 1) channel = linalg_index(b, (uint32_t)k->r->axis);
    place = build_unary(b, ARITH(INDEX_CASTUI), type_index(ctx), place);
    Value *operands[] = {corrections, channel, place};
    const Type *elem = type_elem(corrections->type);
    Value *correction = op_result(build(b, TENSOR(EXTRACT), operands, 3, &elem, 1, NULL, 0), 0);
    Value *step = number(k, factor, k->wide);
    if (k->approx->correction_bits == 1)
        step = arith_select(b, correction, step, arith_constant_int(b, k->wide, 0));
    else
        step = build_binary(b, ARITH(MULI), k->wide,
                            lower_build_extend(b, correction, k->wide, true), step);
    return build_binary(b, ARITH(ADDI), k->wide, affine, step);
}

/* The type in which nothing overflows, inputs included. */
static const Type *working_type(const AffineKernel *k)
{
    int64_t low = k->approx->low < k->r->least ? k->approx->low : k->r->least;
    int64_t high = k->approx->high > k->r->most ? k->approx->high : k->r->most;
    uint32_t width = fixed_signed_width(low, high);
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t own = type_width(type_elem(k->inputs[i]->type));
        width = own > width ? own : width;
    }
    return type_i(k->r->lw->ctx, width);
}

static Value *build_approx(Requant *r, const AffineApprox *approx)
{
    OnnxLowering *lw = r->lw;
    lw->form = approx->correction_bits > 0 ? "moved line" : "line";
    int64_t *numbers = ARENA_ARRAY(&lw->pass->scratch, int64_t, r->channels);
    AffineKernel k = {.r = r, .approx = approx, .inputs = {r->v->value}, .count = 1};
    for (int64_t c = 0; c < r->channels; c++) numbers[c] = approx->of[c].multiplier;
    Numbers factor = add_numbers(&k, numbers);
    for (int64_t c = 0; c < r->channels; c++) numbers[c] = approx->of[c].addend;
    Numbers addend = add_numbers(&k, numbers);
    k.wide = working_type(&k);
    Value *corrections = approx->correction_bits > 0 ? correction_table(&k) : NULL;
    const Type *type = requant_type(r);
    generic_along(lw, &k.generic, k.inputs, k.count, (uint32_t)r->axis);
    generic_open(lw, &k.generic, lower_build_empty(lw, type));
    Builder *b = &k.generic.body;
    Value *q = lower_build_extend(b, generic_arg(&k.generic, 0), k.wide, r->v->is_unsigned);
    if (factor.input || factor.same != 1)
        q = build_binary(b, ARITH(MULI), k.wide, q, number(&k, factor, k.wide));
    if (addend.input || addend.same != 0)
        q = build_binary(b, ARITH(ADDI), k.wide, q, number(&k, addend, k.wide));
    if (corrections) q = add_correction(&k, q, factor, corrections);
    return generic_close(&k.generic, lower_build_resize(b, level(&k, q), type_elem(type)));
}

static bool has_products(const Requant *r, const AffineApprox *approx)
{
    for (int64_t c = 0; c < r->channels; c++)
        if (approx->of[c].multiplier != 1) return true;
    return approx->correction_bits > 0;
}

Value *requant_build_affine(Requant *r, bool with_products)
{
    AffineApprox approx;
    if (!find_approx(r, &approx) || (!with_products && has_products(r, &approx))) return NULL;
    return build_approx(r, &approx);
}
