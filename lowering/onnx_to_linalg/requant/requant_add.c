/* Requantization of a sum of two tensors whose scales have different units, as at the end of
 * residual branches. The sum is no integer of any scale; only the quantizer behind it makes
 * integers of it. So the sum, the ops behind it and the quantizer are taken as one function of two
 * integers, which is written as
 *   clamp(floor((m * x + n * y + addend) / 2^shift))
 * if that gives the reference's integer for every pair of values. If only rounding to float32
 * stands in the way, a correction is added before the shift, from a table that is read at the
 * integer that the affine form gives. Else, for instance with an activation between, m * x + n * y
 * is computed so finely that it determines the integer, and its step function is built as that of
 * any quantizer.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-add.mir,
 * test/e2e/import_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/requant/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

enum { MAX_PAIRS = 1 << 20, MAX_SHIFT = 40, MAX_GATED = 32, MAX_CORRECTION_BITS = 16 };

typedef struct RequantAdd {
    OnnxLowering *lw;
    const Fixed *x, *y;
    Op *quantizer;
    const EpilogueOp *last; /* the quantizer, after the nodes between */
    QuantizerSpec spec;
    int64_t x_count, y_count; /* values of each */
    int64_t *levels;          /* [x][y] */
    int64_t least, most;
    bool is_undefined; /* some value is no number */
    int64_t factor_x, factor_y, addend;
    int shift;
    int64_t *corrections;     /* [most - least + 1]; NULL: none */
    uint32_t correction_bits; /* of a correction shifted right by correction_shift */
    int correction_shift;
} RequantAdd;

/* Whether all operands but the first are numbers. */
static bool has_numbers(OnnxLowering *lw, const Op *op)
{
    for (uint32_t i = 1; i < op->operand_count; i++) {
        const Array *number = onnx_operand(op, i) ? lower_array(lw, op_operand(op, i)) : NULL;
        if (onnx_operand(op, i) && (!number || number->count != 1)) return false;
    }
    return true;
}

/* Whether the node works on the value alone, element by element. */
static bool follows(OnnxLowering *lw, const Op *user, const Value *value)
{
    return user->def && user->def->dialect == &onnx_dialect && lower_is_elementwise(user) &&
           op_operand(user, 0) == value && has_numbers(lw, user) &&
           op_result(user, 0)->type == value->type;
}

static bool has_two_uses(const Value *value)
{
    return value->uses && value->uses->next && !value->uses->next->next;
}

/* x * f(x): the deferred op of the Mul, for a value of two uses of which one leads through nodes
 * that work element by element to a Mul by the value itself. NULL: it is no such value. */
static EpilogueOp *gate_step(RequantAdd *j, const Value *value, const Op *first, Op *mul)
{
    const EpilogueOp *gate = j->last;
    const Op *node = first;
    for (; node != mul; node = op_result(node, 0)->uses->owner) {
        bool is_alone = node->result_count == 1 && value_has_one_use(op_result(node, 0));
        const Value *input = gate == j->last ? value : op_result(gate->node, 0);
        if (!is_alone || !follows(j->lw, node, input) ||
            !(gate = epilogue_append_op(j->lw, gate, node, 0)))
            return NULL;
    }
    EpilogueOp *step = epilogue_append_op(j->lw, j->last, mul, op_operand(mul, 0) == value ? 0 : 1);
    if (!step || step->size + gate->size > MAX_GATED) return NULL;
    step->joins = true;
    step->other = gate;
    step->size += gate->size;
    return step;
}

/* The next step: a node that alone uses the value, or x * f(x). */
static EpilogueOp *next_step(RequantAdd *j, const Value *value)
{
    Op *user = value->uses->owner;
    bool is_gate = has_two_uses(value) && user != value->uses->next->owner;
    if (!is_gate) return epilogue_append_op(j->lw, j->last, user, 0);
    Op *other = value->uses->next->owner;
    if (user->def == ONNX(MUL)) return gate_step(j, value, other, user);
    return other->def == ONNX(MUL) ? gate_step(j, value, user, other) : NULL;
}

/* Follows the uses of the sum: nodes that need no other tensor, then quantizers. */
static bool find_steps(RequantAdd *j)
{
    OnnxLowering *lw = j->lw;
    const Value *value = op_result(lw->node, 0);
    while (value->uses) {
        Op *user = value->uses->owner;
        bool is_last = user->def && lower_is_quantizer(user) && quantizer_find(value);
        if (!is_last && !value_has_one_use(value) && !has_two_uses(value)) return false;
        EpilogueOp *step = is_last ? epilogue_append_op(lw, j->last, user, 0) : next_step(j, value);
        if (!step) return false;
        j->last = step;
        if (is_last) j->quantizer = user;
        if (is_last || !(step->joins || follows(lw, user, value))) return is_last;
        value = op_result(step->node, 0);
    }
    return false;
}

static Array *pairs(const RequantAdd *j, bool is_y)
{
    const Fixed *fixed = is_y ? j->y : j->x;
    const int64_t dims[] = {1, 1, j->x_count * j->y_count};
    Array *q = array_new(type_tensor(type_i(j->lw->ctx, 64), dims, 3, NULL));
    for (int64_t i = 0; i < q->count; i++)
        array_set_i64(q, i, fixed->low + (is_y ? i % j->y_count : i / j->y_count));
    const Type *elem = type_elem(op_result(j->lw->node, 0)->type);
    Array *values = epilogue_first(fixed, elem, q);
    array_unref(q);
    return values;
}

static bool find_levels(RequantAdd *j)
{
    OnnxLowering *lw = j->lw;
    Array *inputs[] = {pairs(j, false), pairs(j, true)}, *sum = NULL;
    strbuf_clear(&lw->why);
    bool done = onnx_eval(lw->node, inputs, INT64_MAX, &sum, &lw->why);
    array_unref(inputs[0]);
    array_unref(inputs[1]);
    Array *result = done ? epilogue_apply(lw, j->last, sum) : NULL;
    if (!result) return false;
    double step = fixed_scale(&j->spec.real);
    j->levels = ARENA_ARRAY(&lw->pass->scratch, int64_t, result->count);
    j->least = INT64_MAX;
    j->most = INT64_MIN;
    for (int64_t i = 0; i < result->count; i++) {
        double real = array_is_float(result) ? array_get_f64(result, i) : 0.0;
        int64_t level =
            array_is_float(result) ? llround(real / step) : array_get_i64(result, i) - j->spec.zero;
        j->is_undefined |= !(fabs(real) < 1e300);
        j->levels[i] = level;
        j->least = level < j->least ? level : j->least;
        j->most = level > j->most ? level : j->most;
    }
    array_unref(result);
    return !j->is_undefined;
}

/* x * factor_x + y * factor_y of pair i; false beyond 62 bits, also once the addend is there. */
static bool pair_sum(const RequantAdd *j, int64_t i, int64_t *sum)
{
    int64_t x = j->x->low + i / j->y_count, y = j->y->low + i % j->y_count, a, b, floor;
    return i64_mul(j->factor_x, x, &a) && i64_mul(j->factor_y, y, &b) && i64_add(a, b, sum) &&
           i64_mul(j->levels[i], INT64_C(1) << j->shift, &floor) && *sum > INT64_MIN / 4 &&
           *sum < INT64_MAX / 4 && floor > INT64_MIN / 4 && floor < INT64_MAX / 4;
}

/* Narrows the range *low to *high of what may be added to a sum so that it gives the level. A side
 * on which clamping gives the level anyhow is not narrowed. */
static void narrow(const RequantAdd *j, int64_t level, int64_t sum, int64_t *low, int64_t *high)
{
    int64_t unit = INT64_C(1) << j->shift, floor = level * unit - sum;
    if (level > j->least && floor > *low) *low = floor;
    if (level < j->most && floor + unit - 1 < *high) *high = floor + unit - 1;
}

/* The addends that give the level of every pair with these factors; false: none, then it is one
 * that comes close. */
static bool find_addend(RequantAdd *j)
{
    int64_t low = INT64_MIN, high = INT64_MAX, sum;
    for (int64_t i = 0; i < j->x_count * j->y_count; i++) {
        if (!pair_sum(j, i, &sum)) return false;
        narrow(j, j->levels[i], sum, &low, &high);
    }
    bool is_free = low == INT64_MIN && high == INT64_MAX, fits = low <= high;
    j->addend = is_free ? 0 : low == INT64_MIN ? high : fits ? low : high + (low - high) / 2;
    return fits;
}

/* The factors for the shift; false: they are too large. */
static bool set_factors_by_spec(RequantAdd *j, int shift)
{
    double scale = fixed_scale(&j->spec.real);
    double x = ldexp(fixed_scale(j->x) / scale, shift), y = ldexp(fixed_scale(j->y) / scale, shift);
    j->shift = shift;
    if (fabs(x) > 1e12 || fabs(y) > 1e12) return false;
    j->factor_x = llround(x);
    j->factor_y = llround(j->lw->node->def == ONNX(SUB) ? -y : y);
    return true;
}

static bool fit(RequantAdd *j)
{
    for (int shift = 0; shift <= MAX_SHIFT && set_factors_by_spec(j, shift); shift++)
        if (find_addend(j)) return true;
    return false;
}

/* The level that the affine form gives for a sum with its addend. */
static int64_t affine_level(const RequantAdd *j, int64_t sum)
{
    int64_t unit = INT64_C(1) << j->shift, level = sum >= 0 ? sum / unit : -((-sum - 1) / unit) - 1;
    return level < j->least ? j->least : level > j->most ? j->most : level;
}

/* The number from low to high that ends in the most zeros. */
static int64_t roundest(int64_t low, int64_t high)
{
    if (low <= 0 && high >= 0) return 0;
    for (int64_t unit = INT64_C(1) << 61; unit > 1; unit /= 2) {
        int64_t last = high >= 0 ? high / unit * unit : -((-high + unit - 1) / unit) * unit;
        if (last >= low) return last;
    }
    return low;
}

/* Finds the trailing zeros that all corrections share, and their width without these. */
static void measure_corrections(RequantAdd *j)
{
    int64_t low = 0, high = 0;
    uint64_t bits = 0;
    for (int64_t k = 0; k <= j->most - j->least; k++) {
        low = j->corrections[k] < low ? j->corrections[k] : low;
        high = j->corrections[k] > high ? j->corrections[k] : high;
        bits |= (uint64_t)j->corrections[k];
    }
    for (j->correction_shift = 0; bits != 0 && !(bits >> j->correction_shift & 1);)
        j->correction_shift++;
    int64_t unit = INT64_C(1) << j->correction_shift;
    j->correction_bits = fixed_signed_width(low / unit, high / unit);
}

/* Finds the corrections for these factors and this addend. False: some level would need two. */
static bool find_corrections(RequantAdd *j)
{
    int64_t count = j->most - j->least + 1, sum;
    int64_t *low = xmalloc((size_t)count * sizeof *low),
            *high = xmalloc((size_t)count * sizeof *high);
    bool found = true;
    for (int64_t k = 0; k < count; k++) {
        low[k] = INT64_MIN / 4;
        high[k] = INT64_MAX / 4;
    }
    for (int64_t i = 0; i < j->x_count * j->y_count && found; i++) {
        if (!(found = pair_sum(j, i, &sum))) break;
        sum += j->addend;
        int64_t k = affine_level(j, sum) - j->least;
        narrow(j, j->levels[i], sum, &low[k], &high[k]);
        found = low[k] <= high[k];
    }
    for (int64_t k = 0; k < count && found; k++) j->corrections[k] = roundest(low[k], high[k]);
    free(low);
    free(high);
    return found;
}

/* Finds the form with the narrowest corrections, of these the one with the least shift. */
static bool fit_with_corrections(RequantAdd *j)
{
    int best = -1;
    uint32_t width = MAX_CORRECTION_BITS + 1;
    if (j->most - j->least >= MAX_ROW) return false;
    j->corrections = ARENA_ARRAY(&j->lw->pass->scratch, int64_t, j->most - j->least + 1);
    for (int shift = 0; shift <= MAX_SHIFT && set_factors_by_spec(j, shift); shift++) {
        if (find_addend(j) || !find_corrections(j)) continue;
        measure_corrections(j);
        if (j->correction_bits >= width) continue;
        width = j->correction_bits;
        best = shift;
    }
    if (best < 0 || !set_factors_by_spec(j, best) || find_addend(j) || !find_corrections(j))
        return false;
    measure_corrections(j);
    return true;
}

/* Range of factor * value. */
static void product_range(int64_t factor, const Fixed *v, int64_t *low, int64_t *high)
{
    int64_t a = factor * v->low, b = factor * v->high; /* find_addend saw that they fit */
    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

static Value *scaled(Builder *b, Value *q, const Type *wide, bool is_unsigned, int64_t factor)
{
    bool is_wider = type_width(q->type) > type_width(wide); /* than its numbers need */
    q = is_wider ? lower_build_resize(b, q, wide) : lower_build_extend(b, q, wide, is_unsigned);
    return build_binary(b, ARITH(MULI), wide, q, arith_constant_int(b, wide, factor));
}

static Value *level_of(const RequantAdd *j, Builder *b, Value *q, const Type *wide)
{
    if (j->shift > 0)
        q = build_binary(b, ARITH(SHRSI), wide, q, arith_constant_int(b, wide, j->shift));
    q = build_binary(b, ARITH(MAXSI), wide, q, arith_constant_int(b, wide, j->least));
    return build_binary(b, ARITH(MINSI), wide, q, arith_constant_int(b, wide, j->most));
}

/* The corrections as a constant tensor, without their trailing zeros. */
static Value *correction_table(RequantAdd *j)
{
    OnnxLowering *lw = j->lw;
    int64_t count = j->most - j->least + 1;
    int64_t *rows = ARENA_ARRAY(&lw->pass->scratch, int64_t, count);
    for (int64_t k = 0; k < count; k++)
        rows[k] = j->corrections[k] / (INT64_C(1) << j->correction_shift);
    const Type *type = type_tensor(type_i(lw->ctx, j->correction_bits), &count, 1, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, rows, (size_t)count));
}

/* q plus the correction for its level. */
static Value *add_correction(const RequantAdd *j, Builder *b, Value *table, Value *q,
                             const Type *wide)
{
    Value *place = level_of(j, b, q, wide);
    if (j->least != 0)
        place = build_binary(b, ARITH(SUBI), wide, place, arith_constant_int(b, wide, j->least));
    Value *step = lower_build_extend(b, lower_build_lookup(b, table, place), wide, false);
    if (j->correction_shift > 0)
        step = build_binary(b, ARITH(SHLI), wide, step,
                            arith_constant_int(b, wide, j->correction_shift));
    return build_binary(b, ARITH(ADDI), wide, q, step);
}

/* The type in which no sum, correction or level overflows; NULL: beyond 62 bits. */
static const Type *working_type(const RequantAdd *j)
{
    int64_t x_low, x_high, y_low, y_high, low, high, correction_low = 0, correction_high = 0;
    const int64_t limit = INT64_C(1) << 61;
    product_range(j->factor_x, j->x, &x_low, &x_high);
    product_range(j->factor_y, j->y, &y_low, &y_high);
    for (int64_t k = 0; j->corrections && k <= j->most - j->least; k++) {
        correction_low = j->corrections[k] < correction_low ? j->corrections[k] : correction_low;
        correction_high = j->corrections[k] > correction_high ? j->corrections[k] : correction_high;
    }
    if (!i64_add(x_low, y_low, &low) || !i64_add(x_high, y_high, &high) ||
        !i64_add(low, j->addend < 0 ? j->addend : 0, &low) || !i64_add(low, correction_low, &low) ||
        !i64_add(high, j->addend > 0 ? j->addend : 0, &high) ||
        !i64_add(high, correction_high, &high) || low < -limit || high > limit)
        return NULL;
    low = low < j->least ? low : j->least;
    high = high > j->most ? high : j->most;
    int64_t levels = j->corrections ? j->most - j->least : 0;
    return type_i(j->lw->ctx, fixed_signed_width(low, high > levels ? high : levels));
}

static bool build_kernel(RequantAdd *j, Fixed *out)
{
    OnnxLowering *lw = j->lw;
    const Type *wide = working_type(j);
    if (!wide) return false;
    lw->form = j->corrections ? "moved line" : "line";
    *out = j->spec.real;
    out->is_unsigned &= j->least >= 0;
    out->low = j->least;
    out->high = j->most;
    uint32_t width = fixed_signed_width(j->least, j->most);
    const Type *elem = type_i(lw->ctx, width - (out->is_unsigned && width > 2));
    const Type *type = type_with_elem(op_result(lw->node, 0)->type, elem);
    Value *inputs[] = {j->x->value, j->y->value},
          *table = j->corrections ? correction_table(j) : NULL;
    Generic g;
    generic_broadcast(lw, &g, inputs, 2, type);
    generic_open(lw, &g, lower_build_empty(lw, type));
    Builder *b = &g.body;
    Value *x = scaled(b, generic_arg(&g, 0), wide, j->x->is_unsigned, j->factor_x);
    Value *y = scaled(b, generic_arg(&g, 1), wide, j->y->is_unsigned, j->factor_y);
    Value *q = build_binary(b, ARITH(ADDI), wide, x, y);
    q = build_binary(b, ARITH(ADDI), wide, q, arith_constant_int(b, wide, j->addend));
    if (table) q = add_correction(j, b, table, q, wide);
    out->value = generic_close(&g, lower_build_resize(b, level_of(j, b, q, wide), elem));
    return true;
}

/* Records the result for the nodes between sum and quantizer, too. They need no lowering any more,
 * because their users see values that are on the quantizer's grid already. */
static void record_between(RequantAdd *j, const Fixed *result)
{
    for (const EpilogueOp *step = j->last->before; step; step = step->before)
        lower_record_fixed(j->lw, op_result(step->node, 0), result);
}

/* A value of m * x + n * y and the level it must give. */
typedef struct Point {
    int64_t sum, level;
} Point;

static int compare_points(const void *a, const void *b)
{
    const Point *p = a, *q = b;
    if (p->sum != q->sum) return p->sum < q->sum ? -1 : 1;
    return (p->level > q->level) - (p->level < q->level);
}

/* The points in rising order of the sums by the factors; *changes counts how often the level
 * differs from that of the sum before. False: a sum has two levels. */
static bool sort_points(RequantAdd *j, Point *points, int64_t *changes)
{
    int64_t count = j->x_count * j->y_count;
    *changes = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t x = j->x->low + i / j->y_count, y = j->y->low + i % j->y_count;
        points[i] = (Point){j->factor_x * x + j->factor_y * y, j->levels[i]};
    }
    qsort(points, (size_t)count, sizeof *points, compare_points);
    for (int64_t i = 1; i < count; i++) {
        bool changed = points[i].level != points[i - 1].level;
        if (changed && points[i].sum == points[i - 1].sum) return false;
        *changes += changed;
    }
    return true;
}

static void set_factors(RequantAdd *j, int shift)
{
    double x = fixed_scale(j->x), y = fixed_scale(j->y), most = fmax(x, y);
    if (j->lw->node->def == ONNX(SUB)) y = -y;
    j->factor_x = llround(ldexp(x / most, shift));
    j->factor_y = llround(ldexp(y / most, shift));
}

/* Factors that tell the levels apart with as few changes as the finest do. */
static bool find_factors(RequantAdd *j, Point *points)
{
    int64_t fewest, changes;
    set_factors(j, MAX_SHIFT);
    if (!sort_points(j, points, &fewest)) return false;
    for (j->shift = 4; j->shift <= MAX_SHIFT; j->shift += 2) {
        set_factors(j, j->shift);
        if (sort_points(j, points, &changes) && changes <= fewest) return true;
    }
    return false;
}

static Value *build_sum(RequantAdd *j, int64_t low, int64_t high)
{
    OnnxLowering *lw = j->lw;
    const Type *wide = type_i(lw->ctx, fixed_signed_width(low, high));
    Value *inputs[] = {j->x->value, j->y->value};
    const Type *type = type_with_elem(op_result(lw->node, 0)->type, wide);
    Generic g;
    generic_broadcast(lw, &g, inputs, 2, type);
    generic_open(lw, &g, lower_build_empty(lw, type));
    Value *x = scaled(&g.body, generic_arg(&g, 0), wide, j->x->is_unsigned, j->factor_x);
    Value *y = scaled(&g.body, generic_arg(&g, 1), wide, j->y->is_unsigned, j->factor_y);
    return generic_close(&g, build_binary(&g.body, ARITH(ADDI), wide, x, y));
}

static bool build_two_kernels(RequantAdd *j, Fixed *out)
{
    int64_t count = j->x_count * j->y_count;
    Point *points = xmalloc((size_t)count * sizeof *points);
    bool found = find_factors(j, points);
    if (found) {
        LevelChanges changes = level_changes_create(1);
        Fixed sum = {.unit = 1.0, .divisor = 1};
        sum.low = points[0].sum;
        sum.high = points[count - 1].sum;
        sum.value = build_sum(j, sum.low, sum.high);
        level_changes_begin(&changes, 0, points[0].level);
        for (int64_t i = 1; i < count; i++)
            level_changes_add(&changes, 0, points[i].sum, points[i].level - points[i - 1].level);
        level_changes_end(&changes, 1);
        requant_build_step_function(j->lw, &sum, &j->spec, &changes, out);
        level_changes_free(&changes);
    }
    free(points);
    return found;
}

bool requant_build_add(OnnxLowering *lw, const Fixed *x, const Fixed *y, Fixed *out)
{
    RequantAdd j = {.lw = lw, .x = x, .y = y};
    Op *sum = lw->node;
    if (!find_steps(&j) || (x->high - x->low) >= MAX_PAIRS || (y->high - y->low) >= MAX_PAIRS)
        return false;
    j.x_count = x->high - x->low + 1;
    j.y_count = y->high - y->low + 1;
    lw->node = j.quantizer;
    bool known = quantizer_spec_of(lw, &j.spec);
    lw->node = sum;
    bool has_grid = known && j.spec.has_grid && !j.spec.quant.is_bipolar;
    if (!has_grid || j.x_count * j.y_count > MAX_PAIRS || !find_levels(&j)) return false;
    bool fits = fit(&j) || fit_with_corrections(&j);
    if (!(fits && build_kernel(&j, out)) && !build_two_kernels(&j, out)) return false;
    requant_describe(lw, &(RequantOrigin){j.quantizer, j.last->before, sum, NULL}, &j.spec, out);
    record_between(&j, out);
    return true;
}
