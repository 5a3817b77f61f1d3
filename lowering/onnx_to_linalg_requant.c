/* Quantizers of any scale on integers. What the network computes between an integer and the
 * quantizer's integer is a monotone step function of each channel; its steps are found by bisection
 * with the reference's own arithmetic, all channels and levels at once. Then it is written as
 *   clamp(floor((multiplier[c] * q + addend[c]) / 2^shift))
 * if that gives every step exactly (onnx_to_linalg_fit.c), else as a count of thresholds.
 * Tests: lit/lowering/onnx-to-linalg-requant.mir, test/e2e/import_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg_fit.h"
#include "lowering/onnx_to_linalg_quant.h"

/* Levels are found for that many (channel, level) pairs at most. */
static const int64_t MAX_STEPS = INT64_C(1) << 21;

typedef struct Requant {
    Lowering *lw;
    const Fixed *v;
    Fixed chained;         /* v with the quantizer as the last step */
    const Target *target;
    bool is_unsigned;      /* the result */
    int64_t channels, axis;
    int64_t *low, *high;   /* levels at the ends of v's range, per channel, rising order */
    bool *falls;           /* per channel: levels fall as q grows; then q is negated */
    int64_t least, most;   /* of all levels */
    int64_t width;         /* levels above `least`, at most, in a channel: rows of `at` */
    int64_t *at;           /* [channels][width]: the q or -q where level low[c] + 1 + i begins */
} Requant;

/* --- levels ----------------------------------------------------------------------------------- */

/* The quantizer's integers for an array of candidates; NULL: why says. */
static int64_t *levels_of(Requant *r, const Array *q)
{
    Lowering *lw = r->lw;
    Array *y = chain_values(lw, &r->chained, op_operand(lw->node, 0)->type, q);
    if (!y)
        return NULL;
    int64_t *levels = xmalloc((size_t)y->count * sizeof *levels);
    double step = fixed_scale(&r->target->real);
    for (int64_t i = 0; i < y->count; i++)
        levels[i] = type_is_float(y->elem) ? llround(array_get_f64(y, i) / step)
                                           : array_get_i64(y, i) - r->target->zero;
    array_unref(y);
    return levels;
}

/* A (1, channels, count) array of candidates. */
static Array *candidates(const Requant *r, int64_t count)
{
    const int64_t dims[] = {1, r->channels, count};
    return array_new(type_tensor(type_i(r->lw->ctx, 64), dims, 3, NULL));
}

static bool find_ends(Requant *r)
{
    Array *q = candidates(r, 2);
    for (int64_t c = 0; c < r->channels; c++) {
        array_set_i64(q, 2 * c, r->v->low);
        array_set_i64(q, 2 * c + 1, r->v->high);
    }
    int64_t *levels = levels_of(r, q);
    array_unref(q);
    if (!levels)
        return false;
    r->least = INT64_MAX;
    r->most = INT64_MIN;
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t a = levels[2 * c], b = levels[2 * c + 1];
        r->falls[c] = a > b;
        r->low[c] = a < b ? a : b;
        r->high[c] = a < b ? b : a;
        r->least = r->low[c] < r->least ? r->low[c] : r->least;
        r->most = r->high[c] > r->most ? r->high[c] : r->most;
        int64_t rise = r->high[c] - r->low[c];
        r->width = rise > r->width ? rise : r->width;
    }
    free(levels);
    return true;
}

/* First of the q (or -q) in rising order that may reach a level. */
static int64_t first_q(const Requant *r, int64_t c)
{
    return r->falls[c] ? -r->v->high : r->v->low;
}

static int64_t last_q(const Requant *r, int64_t c)
{
    return r->falls[c] ? -r->v->low : r->v->high;
}

/* One round of bisection: below[i] < threshold <= at[i] for every level; false when none moved. */
static bool bisect(Requant *r, int64_t *below, Array *q, bool *failed)
{
    bool moved = false;
    for (int64_t i = 0; i < q->count; i++) {
        int64_t c = i / r->width, middle = below[i] + (r->at[i] - below[i]) / 2;
        array_set_i64(q, i, r->falls[c] ? -middle : middle);
    }
    int64_t *levels = levels_of(r, q);
    *failed = !levels;
    for (int64_t i = 0; levels && i < q->count; i++) {
        int64_t c = i / r->width, middle = below[i] + (r->at[i] - below[i]) / 2;
        if (r->at[i] - below[i] <= 1)
            continue;
        moved = true;
        if (levels[i] >= r->low[c] + 1 + i % r->width)
            r->at[i] = middle;
        else
            below[i] = middle;
    }
    free(levels);
    return moved;
}

/* Thresholds of all levels; those that a channel never reaches stay at its last q. */
static bool find_thresholds(Requant *r)
{
    int64_t count = r->channels * r->width;
    int64_t *below = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    r->at = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        below[i] = first_q(r, i / r->width);
        r->at[i] = last_q(r, i / r->width);
    }
    Array *q = candidates(r, r->width);
    bool failed = false;
    while (count > 0 && bisect(r, below, q, &failed))
        ;
    array_unref(q);
    return !failed;
}

/* --- fixed point ------------------------------------------------------------------------------ */

static bool fit_channel(Requant *r, int64_t c, FixedPoint *out)
{
    int64_t count = r->high[c] - r->low[c];
    Threshold *thresholds = xmalloc((size_t)count * sizeof *thresholds);
    for (int64_t i = 0; i < count; i++)
        thresholds[i] = (Threshold){r->low[c] + 1 + i, r->at[c * r->width + i]};
    StepFunction f = {.thresholds = thresholds,
                      .count = count,
                      .low_q = first_q(r, c),
                      .high_q = last_q(r, c),
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

static const Type *result_type(const Requant *r)
{
    uint32_t width = signed_width(r->least, r->most);
    width -= r->is_unsigned && width > 2;
    return type_with_elem(r->v->value->type, type_i(r->lw->ctx, width));
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
    const Type *type = result_type(r);
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

/* Fixed-point arithmetic; NULL if there is none. */
static Value *build_fixed_point(Requant *r)
{
    FixedPoint *forms = ARENA_ARRAY(&r->lw->pass->scratch, FixedPoint, r->channels);
    int64_t low, high;
    if (!fit_all(r, forms) || !form_range(r, forms, &low, &high))
        return NULL;
    return build_forms(r, forms, low, high);
}

/* --- thresholds ------------------------------------------------------------------------------- */

static bool any_falls(const Requant *r)
{
    for (int64_t c = 0; c < r->channels; c++)
        if (r->falls[c])
            return true;
    return false;
}

/* Threshold of level least + 1 + i in channel c, in q or -q. */
static int64_t threshold_at(const Requant *r, int64_t c, int64_t i)
{
    int64_t level = r->least + 1 + i;
    if (level <= r->low[c])
        return first_q(r, c);
    if (level > r->high[c])
        return last_q(r, c) + 1;
    return r->at[c * r->width + level - r->low[c] - 1];
}

/* Thresholds as a (channels, levels) tensor wide enough to compare with q. */
static Value *threshold_tensor(Requant *r, int64_t levels)
{
    Lowering *lw = r->lw;
    int64_t count = r->channels * levels;
    int64_t *values = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    int64_t low = r->v->low < -r->v->high ? r->v->low : -r->v->high;
    int64_t high = r->v->high > -r->v->low ? r->v->high : -r->v->low;
    for (int64_t i = 0; i < count; i++) {
        values[i] = threshold_at(r, i / levels, i % levels);
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    const int64_t dims[] = {r->channels, levels};
    uint32_t width = signed_width(low, high), own = type_width(type_elem(r->v->value->type));
    own += r->v->is_unsigned;
    const Type *elem = type_i(lw->ctx, own > width ? own : width);
    return arith_constant(&lw->b, attr_dense_i64(type_tensor(elem, dims, 2, NULL), values,
                                                 (size_t)count));
}

/* 1 where levels rise and -1 where they fall, per channel. */
static Value *direction_tensor(Requant *r)
{
    int64_t *values = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, r->channels);
    for (int64_t c = 0; c < r->channels; c++)
        values[c] = r->falls[c] ? -1 : 1;
    const Type *type = type_tensor(type_i(r->lw->ctx, 2), &r->channels, 1, NULL);
    return arith_constant(&r->lw->b, attr_dense_i64(type, values, (size_t)r->channels));
}

/* least + the number of thresholds that q, or -q, has passed: a reduction over them. */
static Value *build_thresholds(Requant *r)
{
    Lowering *lw = r->lw;
    const Type *type = result_type(r);
    uint32_t rank = type->u.shaped.rank;
    bool has_signs = any_falls(r);
    Value *table = threshold_tensor(r, r->most - r->least);
    Generic g = {.loops = rank + 1, .inputs = 2 + has_signs, .input = {r->v->value, table}};
    const AffineExpr *dims[ONNX_MAX_RANK], *row[2];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = affine_dim(lw->ctx, i);
    row[0] = r->channels == 1 ? affine_const(lw->ctx, 0) : dims[r->axis];
    row[1] = affine_dim(lw->ctx, rank);
    g.is_reduction[rank] = true;
    g.map[0] = g.map[g.inputs] = map_get(lw->ctx, rank + 1, 0, rank, dims);
    g.map[1] = map_get(lw->ctx, rank + 1, 0, 2, row);
    if (has_signs) {
        g.input[2] = direction_tensor(r);
        g.map[2] = map_get(lw->ctx, rank + 1, 0, 1, row);
    }
    generic_open(lw, &g, build_filled(lw, type, r->least));
    Builder *b = &g.body;
    const Type *wide = type_elem(table->type);
    Value *q = build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    if (has_signs)
        q = build_binary(b, ARITH(MULI), wide, q, build_extend(b, generic_arg(&g, 2), wide, false));
    Value *passed = arith_cmpi(b, CMPI_SGE, q, generic_arg(&g, 1));
    Value *step = build_unary(b, ARITH(EXTUI), type_elem(type), passed);
    return generic_close(&g, build_binary(b, ARITH(ADDI), type_elem(type),
                                          generic_arg(&g, g.inputs), step));
}

/* --- the quantizer ---------------------------------------------------------------------------- */

/* Thresholds in several rows belong to the channels, which stand where candidates have them. */
static bool join_threshold_rows(Requant *r, Chain *chain)
{
    const Op *op = r->lw->node;
    uint32_t axis;
    if (op->def != ONNX(MULTI_THRESHOLD))
        return true;
    const Array *rows = lower_array(r->lw, op_operand(op, 1));
    if (rows && rows->type->u.shaped.dims[0] == 1)
        return true;
    if (!rows || !onnx_multi_threshold_axis(op, &axis) || axis != 1 ||
        (chain->axis != -1 && chain->axis != 1))
        return false;
    chain->axis = 1;
    chain->channels = rows->type->u.shaped.dims[0];
    return true;
}

static bool prepare(Requant *r)
{
    Arena *scratch = &r->lw->pass->scratch;
    const Chain *chain = r->v->chain;
    Chain *longer = ARENA_NEW(scratch, Chain);
    Step *step = ARENA_NEW(scratch, Step);
    *longer = chain ? *chain : (Chain){.axis = -1, .channels = 1};
    if (!join_threshold_rows(r, longer))
        return false;
    *step = (Step){.before = longer->last, .node = r->lw->node, .operand = 0};
    longer->last = step;
    r->chained = *r->v;
    r->chained.chain = longer;
    r->channels = longer->channels;
    r->axis = longer->axis < 0 ? 0 : longer->axis;
    r->low = ARENA_ARRAY(scratch, int64_t, r->channels);
    r->high = ARENA_ARRAY(scratch, int64_t, r->channels);
    r->falls = ARENA_ARRAY(scratch, bool, r->channels);
    return true;
}

/* The result of a function whose levels and thresholds are known. */
static void build_known(Requant *r, Fixed *out)
{
    r->is_unsigned = r->target->real.is_unsigned && r->least >= 0;
    *out = r->target->real;
    out->is_unsigned = r->is_unsigned;
    out->value = build_fixed_point(r);
    if (!out->value)
        out->value = build_thresholds(r);
    out->low = r->least;
    out->high = r->most;
}

void build_steps(Lowering *lw, const Fixed *v, const Target *target, int64_t least, int64_t most,
                 int64_t *at, Fixed *out)
{
    bool falls = false;
    Requant r = {.lw = lw, .v = v, .target = target, .channels = 1, .low = &least, .high = &most,
                 .falls = &falls, .least = least, .most = most, .width = most - least, .at = at};
    build_known(&r, out);
}

bool build_requant(Lowering *lw, const Fixed *v, const Target *target, Fixed *out, bool *exact)
{
    Requant r = {.lw = lw, .v = v, .target = target};
    *exact = false;
    if (!prepare(&r))
        return true;
    if (!find_ends(&r))
        return onnx_error(lw->node, "%s", lw->why.data);
    if (r.channels * r.width > MAX_STEPS)
        return true;
    if (!find_thresholds(&r))
        return onnx_error(lw->node, "%s", lw->why.data);
    build_known(&r, out);
    *exact = true;
    return true;
}
