/* Requantization of one tensor by any function. What the network computes between an integer and
 * the quantizer's integer is, in each channel, a monotone step function. Its thresholds are found
 * by bisection with the reference's own arithmetic, all channels and levels at once, so the result
 * is exact whatever the rounding between. Then the function is written as
 *   clamp(floor((multiplier[c] * q + addend[c]) / 2^shift))
 * if that, perhaps with small corrections, gives every level exactly (requant_affine.c). Else it
 * becomes a table of few integers, a binary search among the level changes, or a count of few
 * thresholds (requant_thresholds.c, requant_bsearch.c). Few levels are compared with their thresholds
 * at once (requant_comparisons.c). A unimodal function is searched on both
 * sides of its extremum; any other one is evaluated on all integers.
 * Tests: lit/lowering/onnx_to_linalg/requant, test/e2e/{import,qdq}_check.py */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "lowering/onnx_to_linalg/requant/internal.h"

static bool is_mirrored(const QuantizerMirror *mirror, int64_t channel)
{
    return mirror->has && mirror->has[mirror->channels == 1 ? 0 : channel];
}

int64_t *requant_levels(Requant *r, const Array *q)
{
    OnnxLowering *lw = r->lw;
    Array *y = epilogue_values(lw, &r->with_quantizer, op_operand(lw->node, 0)->type, q);
    if (!y) return NULL;
    int64_t *levels = xmalloc((size_t)y->count * sizeof *levels);
    double step = fixed_scale(&r->spec->real);
    bool is_float = type_is_float(y->elem);
    int64_t count = y->count / r->channels;
    for (int64_t i = 0; i < y->count; i++) {
        double real = is_float ? array_get_f64(y, i) : 0.0;
        r->is_undefined |= !(fabs(real) < 1e300);
        levels[i] = is_float ? llround(real / step) : array_get_i64(y, i) - r->spec->zero;
        if (is_mirrored(&r->spec->mirror, i / count)) levels[i] = r->spec->mirror.sum - levels[i];
    }
    array_unref(y);
    return levels;
}

Array *requant_candidates(const Requant *r, int64_t count)
{
    const int64_t dims[] = {1, r->channels, count};
    return array_new(type_tensor(type_i(r->lw->ctx, 64), dims, 3, NULL));
}

/* The values of the function before the op that has the extremum, one per channel: the function is
 * monotone on either side of `extremum` in these. NULL: lw->why says. */
static Array *extremum_values(Requant *r, const Array *q)
{
    Fixed before = *r->v;
    Epilogue epilogue = *r->v->epilogue;
    epilogue.last = epilogue.extremum_op->before;
    before.epilogue = &epilogue;
    return epilogue_values(r->lw, &before, op_operand(r->lw->node, 0)->type, q);
}

/* Whether a channel's value is at or above the extremum at one integer for each channel. */
static bool find_above(Requant *r, const int64_t *at, bool *above)
{
    Array *q = requant_candidates(r, 1);
    for (int64_t c = 0; c < r->channels; c++) array_set_i64(q, c, at[c]);
    Array *values = extremum_values(r, q);
    array_unref(q);
    if (!values) return false;
    for (int64_t c = 0; c < r->channels; c++)
        above[c] = array_get_f64(values, c) >= r->v->epilogue->extremum;
    array_unref(values);
    return true;
}

/* One round of bisection between left and right, which differ; false when none moved. */
static bool bisect_extremum(Requant *r, const bool *is_above, bool *above, int64_t *left,
                            int64_t *right, bool *failed)
{
    bool moved = false;
    int64_t *middle = xmalloc((size_t)r->channels * sizeof *middle);
    for (int64_t c = 0; c < r->channels; c++) middle[c] = left[c] + (right[c] - left[c]) / 2;
    *failed = !find_above(r, middle, above);
    for (int64_t c = 0; c < r->channels && !*failed; c++) {
        if (right[c] - left[c] <= 1) continue;
        moved = true;
        *(above[c] == is_above[c] ? &left[c] : &right[c]) = middle[c];
    }
    free_ptr((void **)&middle);
    return moved && !*failed;
}

/* Divides each channel's integers at the extremum of its function. A side on which no integer lies
 * gets the last integer once more. */
static bool find_sides(Requant *r)
{
    Arena *scratch = &r->lw->pass->scratch;
    int64_t *left = ARENA_ARRAY(scratch, int64_t, r->channels);
    int64_t *right = ARENA_ARRAY(scratch, int64_t, r->channels);
    bool *is_above = ARENA_ARRAY(scratch, bool, r->channels);
    bool *above = ARENA_ARRAY(scratch, bool, r->channels), failed = false;
    for (int64_t c = 0; c < r->channels; c++) {
        left[c] = r->v->low;
        right[c] = r->v->high;
    }
    if (!find_above(r, left, is_above) || !find_above(r, right, above)) return false;
    for (int64_t c = 0; c < r->channels; c++)
        left[c] = above[c] == is_above[c] ? r->v->high : left[c];
    while (bisect_extremum(r, is_above, above, left, right, &failed))
        ;
    for (int64_t c = 0; c < r->channels; c++) {
        r->to[2 * c] = left[c];
        r->from[2 * c + 1] = right[c];
    }
    return !failed;
}

static bool find_ends(Requant *r)
{
    Array *q = requant_candidates(r, 2 * r->sides);
    int64_t rows = r->channels * r->sides;
    for (int64_t i = 0; i < rows; i++) {
        array_set_i64(q, 2 * i, r->from[i]);
        array_set_i64(q, 2 * i + 1, r->to[i]);
    }
    int64_t *levels = requant_levels(r, q);
    array_unref(q);
    if (!levels) return false;
    r->least = INT64_MAX;
    r->most = INT64_MIN;
    for (int64_t i = 0; i < rows; i++) {
        int64_t a = levels[2 * i], b = levels[2 * i + 1];
        r->falls[i] = a > b;
        r->low[i] = a < b ? a : b;
        r->high[i] = a < b ? b : a;
        r->least = r->low[i] < r->least ? r->low[i] : r->least;
        r->most = r->high[i] > r->most ? r->high[i] : r->most;
        int64_t rise = r->high[i] - r->low[i];
        r->width = rise > r->width ? rise : r->width;
    }
    free(levels);
    return true;
}

int64_t requant_first(const Requant *r, int64_t row)
{
    return r->falls[row] ? -r->to[row] : r->from[row];
}

int64_t requant_last(const Requant *r, int64_t row)
{
    return r->falls[row] ? -r->from[row] : r->to[row];
}

/* One round of bisection: below[i] < threshold <= at[i] for every level; false when none moved. */
static bool bisect(Requant *r, int64_t *below, Array *q, bool *failed)
{
    bool moved = false;
    for (int64_t i = 0; i < q->count; i++) {
        int64_t c = i / r->width, middle = below[i] + (r->at[i] - below[i]) / 2;
        array_set_i64(q, i, r->falls[c] ? -middle : middle);
    }
    int64_t *levels = requant_levels(r, q);
    *failed = !levels;
    for (int64_t i = 0; levels && i < q->count; i++) {
        int64_t c = i / r->width, middle = below[i] + (r->at[i] - below[i]) / 2;
        if (r->at[i] - below[i] <= 1) continue;
        moved = true;
        if (levels[i] >= r->low[c] + 1 + i % r->width)
            r->at[i] = middle;
        else
            below[i] = middle;
    }
    free(levels);
    return moved;
}

/* Thresholds of all levels; those that a row never reaches stay at its last q. */
static bool find_thresholds(Requant *r)
{
    int64_t count = r->channels * r->sides * r->width;
    int64_t *below = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    r->at = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        below[i] = requant_first(r, i / r->width);
        r->at[i] = requant_last(r, i / r->width);
    }
    Array *q = requant_candidates(r, r->sides * r->width);
    bool failed = false;
    while (count > 0 && bisect(r, below, q, &failed))
        ;
    array_unref(q);
    return !failed;
}

const Type *requant_type(const Requant *r)
{
    uint32_t width = fixed_signed_width(r->least, r->most);
    width -= r->is_unsigned && width > 2;
    return type_with_elem(r->v->value->type, type_i(r->lw->ctx, width));
}

/* A MultiThreshold with several rows of thresholds has one per channel: makes its dimension the
 * epilogue's. False: the epilogue goes along another one. */
static bool join_threshold_rows(Requant *r, Epilogue *epilogue)
{
    const Op *op = r->lw->node;
    uint32_t axis;
    if (op->def != ONNX(MULTI_THRESHOLD)) return true;
    const Array *rows = lower_array(r->lw, op_operand(op, 1));
    if (rows && rows->type->u.shaped.dims[0] == 1) return true;
    if (!rows || !onnx_multi_threshold_axis(op, &axis) ||
        (epilogue->axis != -1 && epilogue->axis != (int)axis))
        return false;
    epilogue->axis = (int)axis;
    epilogue->channels = rows->type->u.shaped.dims[0];
    return true;
}

static bool prepare(Requant *r)
{
    Arena *scratch = &r->lw->pass->scratch;
    const Epilogue *epilogue = r->v->epilogue;
    Epilogue *longer = ARENA_NEW(scratch, Epilogue);
    *longer = epilogue ? *epilogue : (Epilogue){.axis = -1, .channels = 1};
    if (!join_threshold_rows(r, longer) ||
        !(longer->last = epilogue_append_op(r->lw, longer->last, r->lw->node, 0)))
        return false;
    r->with_quantizer = *r->v;
    r->with_quantizer.epilogue = longer;
    r->channels = longer->channels;
    r->axis = longer->axis < 0 ? 0 : longer->axis;
    r->sides = longer->monotonicity == UNIMODAL ? 2 : 1;
    int64_t rows = r->channels * r->sides;
    r->from = ARENA_ARRAY(scratch, int64_t, rows);
    r->to = ARENA_ARRAY(scratch, int64_t, rows);
    r->low = ARENA_ARRAY(scratch, int64_t, rows);
    r->high = ARENA_ARRAY(scratch, int64_t, rows);
    r->falls = ARENA_ARRAY(scratch, bool, rows);
    for (int64_t i = 0; i < rows; i++) {
        r->from[i] = r->v->low;
        r->to[i] = r->v->high;
    }
    return true;
}

static void set_meaning(Requant *r, Fixed *out)
{
    r->is_unsigned = r->spec->real.is_unsigned && r->least >= 0;
    *out = r->spec->real;
    out->is_unsigned = r->is_unsigned;
    out->low = r->least;
    out->high = r->most;
}

/* Of n thresholds and sums of a bits, comparisons take n a / 2 LUTs a lane, a line a product of the
 * sum and additions of the product's width (FINN-R, section 4.2.2). Up to three comparisons are
 * cheaper than a product, one is cheaper than an addition. */
static Value *build_cheapest(Requant *r)
{
    uint32_t comparisons = requant_comparison_count(r);
    Value *line = comparisons != 1 ? requant_build_affine(r, comparisons == 0) : NULL;
    return line || comparisons == 0 ? line : requant_build_comparisons(r);
}

/* The result of a monotone function whose levels and thresholds are known. */
static void build_known(Requant *r, Fixed *out)
{
    set_meaning(r, out);
    r->lw->is_monotone = true;
    out->value = build_cheapest(r);
    if (!out->value && r->most - r->least > MAX_COMPARISONS) {
        LevelChanges changes = {0};
        level_changes_of_rows(r, &changes);
        out->value = requant_build_table(r, &changes);
        if (!out->value) out->value = requant_build_bsearch(r, &changes);
        level_changes_free(&changes);
    }
    if (!out->value) out->value = requant_build_thresholds(r);
}

/* The result of any other function, given by its level changes. False: they are too many, or the
 * function is undefined somewhere. */
static bool build_from_changes(Requant *r, const LevelChanges *changes, Fixed *out)
{
    if (r->is_undefined || changes->list.len > MAX_THRESHOLDS) return false;
    set_meaning(r, out);
    out->value = requant_build_table(r, changes);
    if (!out->value) out->value = requant_build_bsearch(r, changes);
    if (!out->value) out->value = requant_build_level_changes(r, changes);
    return true;
}

/* The thresholds of one channel that only rises, from its first level on; NULL: it falls. */
static int64_t *thresholds_of(OnnxLowering *lw, const LevelChanges *changes, int64_t *most)
{
    int64_t level = changes->base[0], next = 0;
    for (size_t i = 0; i < changes->list.len; i++) {
        if (changes->list.data[i].rise < 0) return NULL;
        level += changes->list.data[i].rise;
    }
    *most = level;
    int64_t *at = ARENA_ARRAY(&lw->pass->scratch, int64_t, level - changes->base[0] + 1);
    for (size_t i = 0; i < changes->list.len; i++)
        for (int64_t k = 0; k < changes->list.data[i].rise; k++)
            at[next++] = changes->list.data[i].q;
    return at;
}

/* Least and most level of one channel. */
static void level_range(const LevelChanges *changes, int64_t *least, int64_t *most)
{
    int64_t level = *least = *most = changes->base[0];
    for (size_t i = 0; i < changes->list.len; i++) {
        level += changes->list.data[i].rise;
        *least = level < *least ? level : *least;
        *most = level > *most ? level : *most;
    }
}

void requant_build_step_function(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec,
                                 const LevelChanges *changes, Fixed *out)
{
    bool falls = false, built = true;
    int64_t from = v->low, to = v->high, least = changes->base[0], most = least;
    Requant r = {.lw = lw,
                 .v = v,
                 .spec = spec,
                 .channels = 1,
                 .sides = 1,
                 .from = &from,
                 .to = &to,
                 .low = &least,
                 .high = &most,
                 .falls = &falls};
    r.at = thresholds_of(lw, changes, &most);
    level_range(changes, &r.least, &r.most);
    r.width = r.most - r.least;
    if (r.at)
        build_known(&r, out);
    else
        built = build_from_changes(&r, changes, out);
    assert(built);
    (void)built;
}

/* Builds the function by evaluating all integers; *exact is unset if they are too many. */
static bool build_tried(Requant *r, Fixed *out, bool *exact)
{
    LevelChanges changes = {0};
    *exact = false;
    if (!requant_is_small(r, MAX_TRIED)) return true;
    bool known = level_changes_of_levels(r, &changes);
    *exact = known && build_from_changes(r, &changes, out);
    level_changes_free(&changes);
    return known || onnx_error(r->lw->node, "%s", r->lw->why.data);
}

/* Builds the function by bisection for where each level begins. */
static bool build_searched(Requant *r, Fixed *out, bool *exact)
{
    *exact = false;
    if ((r->sides == 2 && !find_sides(r)) || !find_ends(r))
        return onnx_error(r->lw->node, "%s", r->lw->why.data);
    if (r->is_undefined || r->channels * r->sides * r->width > MAX_THRESHOLDS) return true;
    if (!find_thresholds(r)) return onnx_error(r->lw->node, "%s", r->lw->why.data);
    *exact = !r->is_undefined;
    if (*exact && r->sides == 1) build_known(r, out);
    if (!*exact || r->sides == 1) return true;
    LevelChanges changes = {0};
    level_changes_of_rows(r, &changes);
    *exact = build_from_changes(r, &changes, out);
    level_changes_free(&changes);
    return true;
}

bool requant_build(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                   bool *exact)
{
    Requant r = {.lw = lw, .v = v, .spec = spec};
    *exact = false;
    if (!prepare(&r)) return true;
    Monotonicity monotonicity = r.with_quantizer.epilogue->monotonicity;
    bool is_tried =
        monotonicity == NOT_MONOTONE || (monotonicity == UNIMODAL && requant_fits_table(&r));
    return is_tried ? build_tried(&r, out, exact) : build_searched(&r, out, exact);
}
