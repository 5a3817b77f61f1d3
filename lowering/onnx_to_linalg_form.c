/* Monotone step functions per channel as clamp(floor((multiplier[c] * q + addend[c]) / 2^shift)).
 * Tests: lit/lowering/onnx-to-linalg-requant.mir */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg_fit.h"
#include "lowering/onnx_to_linalg_requant.h"

/* --- numbers ---------------------------------------------------------------------------------- */

static bool fit_channel(Requant *r, int64_t c, FixedPoint *out)
{
    int64_t count = r->high[c] - r->low[c];
    Threshold *thresholds = xmalloc((size_t)count * sizeof *thresholds);
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
    bool fits = fit_fixed_point(&f, out);
    free(thresholds);
    if (r->falls[c])
        out->multiplier = -out->multiplier;
    return fits;
}

/* One form per channel, all with the same shift. */
static bool fit_all(Requant *r, FixedPoint *forms)
{
    int shift = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        if (!fit_channel(r, c, &forms[c]))
            return false;
        shift = forms[c].shift > shift ? forms[c].shift : shift;
    }
    for (int64_t c = 0; c < r->channels; c++)
        if (!fit_widen(&forms[c], shift))
            return false;
    return true;
}

/* Range of multiplier * q + addend over all channels; false beyond 62 bits. */
static bool form_range(const Requant *r, const FixedPoint *forms, int64_t *low, int64_t *high)
{
    const int64_t limit = INT64_C(1) << 62;
    *low = *high = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t a, b, m = forms[c].multiplier;
        if (!mul_i64(m, r->v->low, &a) || !mul_i64(m, r->v->high, &b) ||
            !add_i64(a, forms[c].addend, &a) || !add_i64(b, forms[c].addend, &b))
            return false;
        int64_t least = a < b ? a : b, most = a < b ? b : a;
        *low = least < *low ? least : *low;
        *high = most > *high ? most : *high;
    }
    return *low > -limit && *high < limit;
}

/* --- kernel ----------------------------------------------------------------------------------- */

/* A number per channel as a tensor, as narrow as can be; NULL with *same set when all are equal. */
static Value *channel_numbers(Requant *r, const int64_t *values, int64_t *same)
{
    int64_t low = values[0], high = values[0];
    for (int64_t c = 1; c < r->channels; c++) {
        low = values[c] < low ? values[c] : low;
        high = values[c] > high ? values[c] : high;
    }
    *same = low;
    if (low == high)
        return NULL;
    const Type *elem = type_i(r->lw->ctx, signed_width(low, high));
    const Type *type = type_tensor(elem, &r->channels, 1, NULL);
    return arith_constant(&r->lw->b, attr_dense_i64(type, values, (size_t)r->channels));
}

/* An element-wise kernel under construction on v and per-channel numbers. */
typedef struct Kernel {
    Generic generic;
    const Type *wide;
    Value *inputs[3];
    uint32_t count;
} Kernel;

static Value *number(Kernel *k, uint32_t input, int64_t same)
{
    Builder *b = &k->generic.body;
    return input ? build_extend(b, generic_arg(&k->generic, input), k->wide, false)
                 : arith_constant_int(b, k->wide, same);
}

static Value *build_forms(Requant *r, const FixedPoint *forms, int64_t low, int64_t high)
{
    Lowering *lw = r->lw;
    int64_t *numbers = ARENA_ARRAY(&lw->pass->scratch, int64_t, r->channels);
    int64_t multiplier, addend;
    Kernel k = {.inputs = {r->v->value}, .count = 1};
    uint32_t factor = 0, term = 0;
    for (int64_t c = 0; c < r->channels; c++)
        numbers[c] = forms[c].multiplier;
    if ((k.inputs[k.count] = channel_numbers(r, numbers, &multiplier)))
        factor = k.count++;
    for (int64_t c = 0; c < r->channels; c++)
        numbers[c] = forms[c].addend;
    if ((k.inputs[k.count] = channel_numbers(r, numbers, &addend)))
        term = k.count++;
    low = low < r->least ? low : r->least;
    high = high > r->most ? high : r->most;
    uint32_t width = signed_width(low, high);
    for (uint32_t i = 0; i < k.count; i++) {
        uint32_t own = type_width(type_elem(k.inputs[i]->type));
        width = own > width ? own : width;
    }
    const Type *type = requant_type(r);
    k.wide = type_i(lw->ctx, width);
    generic_along(lw, &k.generic, k.inputs, k.count, (uint32_t)r->axis);
    generic_open(lw, &k.generic, build_empty(lw, type));
    Builder *b = &k.generic.body;
    Value *q = build_extend(b, generic_arg(&k.generic, 0), k.wide, r->v->is_unsigned);
    if (factor || multiplier != 1)
        q = build_binary(b, ARITH(MULI), k.wide, q, number(&k, factor, multiplier));
    if (term || addend != 0)
        q = build_binary(b, ARITH(ADDI), k.wide, q, number(&k, term, addend));
    if (forms[0].shift > 0)
        q = build_binary(b, ARITH(SHRSI), k.wide, q, arith_constant_int(b, k.wide, forms[0].shift));
    q = build_binary(b, ARITH(MAXSI), k.wide, q, arith_constant_int(b, k.wide, r->least));
    q = build_binary(b, ARITH(MINSI), k.wide, q, arith_constant_int(b, k.wide, r->most));
    return generic_close(&k.generic, build_resize(b, q, type_elem(type)));
}

Value *build_fixed_point(Requant *r)
{
    FixedPoint *forms = ARENA_ARRAY(&r->lw->pass->scratch, FixedPoint, r->channels);
    int64_t low, high;
    if (!fit_all(r, forms) || !form_range(r, forms, &low, &high))
        return NULL;
    return build_forms(r, forms, low, high);
}
