/* A sum of two tensors that no exact form of both takes, in front of a quantizer: of sums of
 * products with a scale per channel, biases and normalizations, whose integers are too many to try
 * in pairs (requant_add.c). It is computed on the quantizer's grid, 2^shift times as fine:
 *   t = m[c] * x + n[c] * y + addend[c],  sum = t * step / 2^shift + error
 * where the error comes from rounding m, n and the addend. It is below 2^-MIN_PRECISION steps; scales
 * that are multiples of the step by a power of two have none. So the level differs from that of
 * the exact sum at most where that lies this close to a threshold, as it does for the reference's
 * floats (docs/integer-folding.md).
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-fine-sum.mir,
 * test/e2e/qdq_check.py */
#include <math.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

enum {
    PRECISION = 16,     /* the error is below 2^-PRECISION steps where the width allows it */
    MIN_PRECISION = 12, /* else there is no such form */
    MAX_WIDTH = 58      /* of t, which quantizers add to */
};

/* An operand as a function of its integers, in steps of the quantizer: factors[c] * q + biases[c]. */
typedef struct Term {
    const Fixed *fixed; /* NULL: a constant, which is all bias */
    int axis;
    int64_t channels;
    double *factors, *biases;
    bool is_exact; /* one factor, a power of two, and no bias */
    int64_t *multipliers;
} Term;

typedef struct FineSum {
    OnnxLowering *lw;
    QuantizerSpec spec;
    Term terms[2];
    int axis; /* of the channels, -1: there are none */
    int64_t channels;
    int shift;
    int64_t *addends;
    int64_t low, high;
} FineSum;

/* Whether a deferred op is a product with, or a sum with, numbers of its channel. */
static bool is_affine_step(const EpilogueOp *step)
{
    if (step->joins) return false;
    switch (step->node->def - onnx_ops) {
    case ONNX_ADD:
    case ONNX_SUB:
    case ONNX_MUL:
    case ONNX_BATCH_NORMALIZATION: return true;
    case ONNX_DIV: return step->operand == 0;
    default: return false;
    }
}

/* The factors and biases of deferred ops, by their values at both ends of a range around 0. */
static bool evaluate_ops(FineSum *s, uint32_t index, Term *term)
{
    const Fixed *x = term->fixed;
    for (const EpilogueOp *step = x->epilogue->last; step; step = step->before)
        if (!is_affine_step(step)) return false;
    int64_t end = x->high > -x->low ? x->high : -x->low;
    if (end < 1) end = 1;
    const int64_t dims[] = {1, term->channels, 3};
    Array *q = array_new(type_tensor(type_i(s->lw->ctx, 64), dims, 3, NULL));
    for (int64_t c = 0; c < term->channels; c++)
        for (int64_t i = 0; i < 3; i++) array_set_i64(q, c * 3 + i, (i - 1) * end);
    strbuf_clear(&s->lw->why);
    Array *values = epilogue_values(s->lw, x, op_operand(s->lw->node, index)->type, q);
    array_unref(q);
    bool fits = values && array_is_float(values);
    for (int64_t c = 0; fits && c < term->channels; c++) {
        double low = array_get_f64(values, c * 3), high = array_get_f64(values, c * 3 + 2);
        term->factors[c] = (high - low) / (2.0 * (double)end);
        term->biases[c] = array_get_f64(values, c * 3 + 1);
    }
    if (values) array_unref(values);
    return fits;
}

/* A constant operand beside one that epilogue_takes. */
static bool find_constant(FineSum *s, uint32_t index, Term *term)
{
    OnnxLowering *lw = s->lw;
    const Array *constant = lower_array(lw, op_operand(lw->node, index));
    if (!constant || !epilogue_takes(lw, 1 - index, &term->axis)) return false;
    double step = fixed_scale(&s->spec.real);
    term->channels = constant->count;
    term->factors = ARENA_ARRAY(&lw->pass->scratch, double, term->channels);
    term->biases = ARENA_ARRAY(&lw->pass->scratch, double, term->channels);
    for (int64_t c = 0; c < term->channels; c++) {
        double bias = array_get_f64(constant, c) / step;
        if (!(fabs(bias) < 1e12)) return false;
        term->factors[c] = 0.0;
        term->biases[c] = index == 1 && lw->node->def == ONNX(SUB) ? -bias : bias;
    }
    return true;
}

/* What operand `index` is in steps. False: its deferred ops do something else to its integers. */
static bool find_term(FineSum *s, uint32_t index, Term *term)
{
    const OnnxLowering *lw = s->lw;
    const Fixed *x = term->fixed;
    if (!x) return find_constant(s, index, term);
    const Epilogue *epilogue = x->epilogue;
    double scale = fixed_scale(x), step = fixed_scale(&s->spec.real);
    bool negates = index == 1 && lw->node->def == ONNX(SUB);
    int exponent;
    term->axis = epilogue ? epilogue->axis : -1;
    term->channels = epilogue ? epilogue->channels : 1;
    if (term->axis >= 0 && op_operand(lw->node, index)->type != op_result(lw->node, 0)->type)
        return false;
    term->factors = ARENA_ARRAY(&lw->pass->scratch, double, term->channels);
    term->biases = ARENA_ARRAY(&lw->pass->scratch, double, term->channels);
    for (int64_t c = 0; c < term->channels; c++) {
        bool has_factors = epilogue && epilogue->factors, has_biases = epilogue && epilogue->biases;
        term->factors[c] = has_factors ? scale * epilogue->factors[c] : scale;
        term->biases[c] = has_biases ? epilogue->biases[c] : 0.0;
    }
    if (epilogue && epilogue->last && !evaluate_ops(s, index, term)) return false;
    for (int64_t c = 0; c < term->channels; c++) {
        term->factors[c] /= negates ? -step : step;
        term->biases[c] /= negates ? -step : step;
        if (!(fabs(term->factors[c]) < 1e12) || !(fabs(term->biases[c]) < 1e12)) return false;
    }
    term->is_exact = !epilogue && fixed_same_unit(x, &s->spec.real) &&
                     onnx_exact_log2(fabs(term->factors[0]), &exponent);
    return true;
}

/* The shift at which the error is below 2^-precision. */
static int fine_shift(const FineSum *s, int precision)
{
    double error = 1.0; /* in halves of t's unit: that of the addend, then those of factors */
    int shift = 0;
    for (int i = 0; i < 2; i++) {
        const Term *term = &s->terms[i];
        int exponent = 0;
        if (term->is_exact && onnx_exact_log2(fabs(term->factors[0]), &exponent)) {
            shift = -exponent > shift ? -exponent : shift;
            continue;
        }
        if (term->fixed)
            error += fmax(fabs((double)term->fixed->low), fabs((double)term->fixed->high));
    }
    bool is_exact = s->terms[0].is_exact && s->terms[1].is_exact;
    int fine = is_exact ? 0 : precision + (int)ceil(log2(error)) - 1;
    return fine > shift ? fine : shift;
}

static int64_t at_channel(const int64_t *numbers, int64_t count, int64_t channel)
{
    return numbers[count > 1 ? channel : 0];
}

/* Adds the range of a term in a channel; false beyond 64 bits. */
static bool widen(const Term *term, int64_t channel, int64_t *low, int64_t *high)
{
    if (!term->fixed) return true;
    int64_t a, b, factor = at_channel(term->multipliers, term->channels, channel);
    if (!i64_mul(factor, term->fixed->low, &a) || !i64_mul(factor, term->fixed->high, &b))
        return false;
    return i64_add(*low, a < b ? a : b, low) && i64_add(*high, a < b ? b : a, high);
}

/* Finds all numbers for the shift; false: t is too wide. */
static bool find_numbers(FineSum *s, int shift)
{
    const double limit = ldexp(1.0, MAX_WIDTH);
    s->shift = shift;
    s->low = s->high = 0;
    for (int i = 0; i < 2; i++) {
        Term *term = &s->terms[i];
        for (int64_t c = 0; c < term->channels; c++) {
            double factor = ldexp(term->factors[c], shift);
            if (!(fabs(factor) < limit)) return false;
            term->multipliers[c] = llround(factor);
        }
    }
    for (int64_t c = 0; c < s->channels; c++) {
        double bias = 0.0;
        for (int i = 0; i < 2; i++) bias += s->terms[i].biases[s->terms[i].channels > 1 ? c : 0];
        bias = ldexp(bias, shift);
        if (!(fabs(bias) < limit)) return false;
        int64_t low = s->addends[c] = llround(bias), high = low;
        if (!widen(&s->terms[0], c, &low, &high) || !widen(&s->terms[1], c, &low, &high))
            return false;
        s->low = low < s->low ? low : s->low;
        s->high = high > s->high ? high : s->high;
    }
    return fixed_signed_width(s->low, s->high) <= MAX_WIDTH;
}

static bool is_same_everywhere(const int64_t *numbers, int64_t count)
{
    for (int64_t c = 1; c < count; c++)
        if (numbers[c] != numbers[0]) return false;
    return true;
}

/* The numbers of the channels as a constant, in as few bits as they take. */
static Value *channel_table(FineSum *s, const int64_t *numbers)
{
    int64_t low = 0, high = 0;
    for (int64_t c = 0; c < s->channels; c++) {
        low = numbers[c] < low ? numbers[c] : low;
        high = numbers[c] > high ? numbers[c] : high;
    }
    const Type *type =
        type_tensor(type_i(s->lw->ctx, fixed_signed_width(low, high)), &s->channels, 1, NULL);
    return arith_constant(&s->lw->b, attr_dense_i64(type, numbers, (size_t)s->channels));
}

/* An element's number: of its channel, or the one of all. input 0: it is in no table. */
static Value *number(Generic *g, uint32_t input, const int64_t *numbers, const Type *wide)
{
    if (input == 0) return arith_constant_int(&g->body, wide, numbers[0]);
    return lower_build_extend(&g->body, generic_arg(g, input), wide, false);
}

/* The product of input `index`, which is of that term. */
static Value *product(Generic *g, uint32_t index, const Term *term, uint32_t place,
                      const Type *wide)
{
    Builder *b = &g->body;
    Value *q = lower_build_extend(b, generic_arg(g, index), wide, term->fixed->is_unsigned);
    if (place == 0 && term->multipliers[0] == 1) return q;
    return build_binary(b, ARITH(MULI), wide, q, number(g, place, term->multipliers, wide));
}

static Value *build_kernel(FineSum *s)
{
    OnnxLowering *lw = s->lw;
    Value *inputs[5];
    uint32_t count = 0, places[3] = {0}, width = fixed_signed_width(s->low, s->high);
    for (int i = 0; i < 2; i++) {
        const Fixed *fixed = s->terms[i].fixed;
        if (!fixed) continue;
        uint32_t own = type_width(type_elem(fixed->value->type)) + fixed->is_unsigned;
        width = own > width ? own : width;
        inputs[count++] = fixed->value;
    }
    uint32_t tensors = count;
    for (int i = 0; i < 3; i++) {
        const int64_t *numbers = i < 2 ? s->terms[i].multipliers : s->addends;
        if (is_same_everywhere(numbers, i < 2 ? s->terms[i].channels : s->channels)) continue;
        inputs[count] = channel_table(s, numbers);
        places[i] = count++;
    }
    const Type *wide = type_i(lw->ctx, width);
    const Type *type = type_with_elem(op_result(lw->node, 0)->type, wide);
    Generic g;
    generic_broadcast(lw, &g, inputs, count, type);
    const AffineExpr *channel = affine_dim(lw->ctx, s->axis >= 0 ? (uint32_t)s->axis : 0);
    for (uint32_t i = tensors; i < count; i++)
        g.map[i] = map_get(lw->ctx, type->u.shaped.rank, 0, 1, &channel);
    generic_open(lw, &g, lower_build_empty(lw, type));
    Builder *b = &g.body;
    Value *sum = NULL;
    for (uint32_t i = 0, input = 0; i < 2; i++) {
        if (!s->terms[i].fixed) continue;
        Value *q = product(&g, input++, &s->terms[i], places[i], wide);
        sum = sum ? build_binary(b, ARITH(ADDI), wide, sum, q) : q;
    }
    if (places[2] != 0 || s->addends[0] != 0)
        sum = build_binary(b, ARITH(ADDI), wide, sum, number(&g, places[2], s->addends, wide));
    return generic_close(&g, sum);
}

/* Whether the node works on the value alone, element by element. */
static bool is_function(OnnxLowering *lw, const Op *node, const Value *value)
{
    bool is_alone = node->def && node->def->dialect == &onnx_dialect &&
                    lower_is_elementwise(node) && op_operand(node, 0) == value &&
                    op_result(node, 0)->type == value->type;
    for (uint32_t i = 1; is_alone && i < node->operand_count; i++)
        is_alone = !onnx_operand(node, i) || lower_array(lw, op_operand(node, i));
    return is_alone;
}

/* The result of x * f(x), for a value of two uses of which one leads through functions of each element
 * to a Mul by the value itself. NULL: it is no such value. */
static const Value *gated(OnnxLowering *lw, const Value *value)
{
    const Use *use = value->uses, *other = use->next;
    if (!other || other->next || use->owner == other->owner) return NULL;
    const Op *mul = use->owner->def == ONNX(MUL) ? use->owner : other->owner;
    const Op *node = mul == use->owner ? other->owner : use->owner;
    for (const Value *x = value; node != mul; node = x->uses->owner) {
        if (!is_function(lw, node, x) || !value_has_one_use(op_result(node, 0))) return NULL;
        x = op_result(node, 0);
    }
    return mul->def == ONNX(MUL) ? op_result(mul, 0) : NULL;
}

/* The quantizer to which sums, functions of each element and nodes that move them alone lead. */
static Op *find_quantizer(OnnxLowering *lw, const Value *value)
{
    for (;;) {
        Op *found = quantizer_find(value);
        if (found || !value->uses) return found;
        const Op *user = value->uses->owner;
        if (!value_has_one_use(value)) {
            if (!(value = gated(lw, value))) return NULL;
            continue;
        }
        bool passes = user->def == ONNX(ADD) || user->def == ONNX(SUB) ||
                      (user->def && quantizer_passes_move(user)) || is_function(lw, user, value);
        if (!passes) return NULL;
        value = op_result(user, 0);
    }
}

static bool find_grid(FineSum *s)
{
    OnnxLowering *lw = s->lw;
    Op *sum = lw->node, *quantizer = find_quantizer(lw, op_result(sum, 0));
    if (!quantizer) return false;
    lw->node = quantizer;
    bool known = quantizer_spec_of(lw, &s->spec);
    lw->node = sum;
    return known && s->spec.has_grid && !s->spec.quant.is_bipolar;
}

static bool find_channels(FineSum *s)
{
    const Term *x = &s->terms[0], *y = &s->terms[1];
    bool differ = x->axis >= 0 && y->axis >= 0 && x->axis != y->axis;
    s->axis = x->axis >= 0 ? x->axis : y->axis;
    s->channels = x->channels > y->channels ? x->channels : y->channels;
    for (int i = 0; i < 2; i++)
        s->terms[i].multipliers = ARENA_ARRAY(&s->lw->pass->scratch, int64_t, s->terms[i].channels);
    s->addends = ARENA_ARRAY(&s->lw->pass->scratch, int64_t, s->channels);
    return !differ;
}

bool requant_build_fine_sum(OnnxLowering *lw, const Fixed *x, const Fixed *y, Fixed *out)
{
    FineSum s = {.lw = lw, .terms = {{.fixed = x}, {.fixed = y}}};
    if (!type_is_float(type_elem(op_result(lw->node, 0)->type)) || !find_grid(&s) ||
        !find_term(&s, 0, &s.terms[0]) || !find_term(&s, 1, &s.terms[1]) || !find_channels(&s))
        return false;
    bool found = false;
    for (int precision = PRECISION; precision >= MIN_PRECISION && !found; precision--)
        found = find_numbers(&s, fine_shift(&s, precision));
    if (!found) return false;
    *out = s.spec.real;
    out->exponent -= s.shift;
    out->is_unsigned = false;
    out->is_fine = true;
    out->low = s.low;
    out->high = s.high;
    out->value = build_kernel(&s);
    return true;
}
