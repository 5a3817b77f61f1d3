/* Reductions over any set of dimensions, and the nodes that are built of them: softmax and
 * normalizations. Sums, means, maxima and minima of integers stay integers.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-reduce.mir */
#include <math.h>
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/math/math.h"
#include "lowering/onnx_to_linalg/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

/* Dimensions to reduce of a shape. */
typedef struct Axes {
    bool reduced[ONNX_MAX_RANK];
    const Type *shape;
    int64_t terms; /* elements per result */
} Axes;

/* The shape with the reduced dimensions left out. */
static const Type *reduced_type(const Axes *axes, const Type *elem)
{
    int64_t dims[ONNX_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < axes->shape->u.shaped.rank; i++)
        if (!axes->reduced[i]) dims[rank++] = axes->shape->u.shaped.dims[i];
    return type_tensor(elem, dims, rank, NULL);
}

static const AffineMap *kept_map(Context *ctx, const Axes *axes)
{
    const AffineExpr *index[ONNX_MAX_RANK];
    uint32_t rank = axes->shape->u.shaped.rank, kept = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!axes->reduced[i]) index[kept++] = affine_dim(ctx, i);
    return map_get(ctx, rank, 0, kept, index);
}

/* Opens a reduction of x into elements of `elem` that begin with `start`. */
static void open_reduction(OnnxLowering *lw, Generic *g, const Axes *axes, Value *x,
                           const Type *elem, double start)
{
    uint32_t rank = axes->shape->u.shaped.rank;
    *g = (Generic){.loops = rank, .inputs = 1, .input = {x}};
    memcpy(g->is_reduction, axes->reduced, sizeof axes->reduced);
    g->map[0] = map_identity(lw->ctx, rank);
    g->map[1] = kept_map(lw->ctx, axes);
    Value *scalar = lower_build_number(&lw->b, elem, start);
    generic_open(lw, g,
                 lower_build_fill(lw, scalar, lower_build_empty(lw, reduced_type(axes, elem))));
}

/* Joins the elements of x with an operation, of which `start` is the neutral element; float or integer
 * as the type says. */
static Value *reduce(OnnxLowering *lw, const Axes *axes, Value *x, const OpDef *join, double start)
{
    Generic g;
    const Type *elem = type_elem(x->type);
    bool is_reduction = false;
    for (uint32_t i = 0; i < axes->shape->u.shaped.rank; i++) is_reduction |= axes->reduced[i];
    if (!is_reduction) return x;
    open_reduction(lw, &g, axes, x, elem, start);
    return generic_close(&g,
                         build_binary(&g.body, join, elem, generic_arg(&g, 1), generic_arg(&g, 0)));
}

/* An element-wise kernel on x and on what x was reduced to. */
static void open_beside(OnnxLowering *lw, Generic *g, const Axes *axes, Value *const *inputs,
                        uint32_t count)
{
    uint32_t rank = axes->shape->u.shaped.rank;
    *g = (Generic){.loops = rank, .inputs = count};
    for (uint32_t i = 0; i < count; i++) {
        g->input[i] = inputs[i];
        g->map[i] = i == 0 ? map_identity(lw->ctx, rank) : kept_map(lw->ctx, axes);
    }
    g->map[count] = map_identity(lw->ctx, rank);
    generic_open(lw, g, lower_build_empty(lw, inputs[0]->type));
}

/* Applies an operation to x and its reduction, or with a single operand to x. */
static Value *beside(OnnxLowering *lw, const Axes *axes, const OpDef *def, Value *x,
                     Value *reduction)
{
    Generic g;
    Value *inputs[] = {x, reduction};
    const Type *elem = type_elem(x->type);
    open_beside(lw, &g, axes, inputs, 2);
    return generic_close(&g,
                         build_binary(&g.body, def, elem, generic_arg(&g, 0), generic_arg(&g, 1)));
}

/* op(x), or op(x, number) where the number is given. */
static Value *each(OnnxLowering *lw, const OpDef *def, Value *x, const double *number)
{
    Generic g;
    const Type *elem = type_elem(x->type);
    uint32_t rank = x->type->u.shaped.rank;
    g = (Generic){.loops = rank, .inputs = 1, .input = {x}};
    g.map[0] = g.map[1] = map_identity(lw->ctx, rank);
    generic_open(lw, &g, lower_build_empty(lw, x->type));
    Value *arg = generic_arg(&g, 0);
    Value *y =
        number ? build_binary(&g.body, def, elem, arg, lower_build_number(&g.body, elem, *number))
               : build_unary(&g.body, def, elem, arg);
    return generic_close(&g, y);
}

static Value *each_with(OnnxLowering *lw, const OpDef *def, Value *x, double number)
{
    return each(lw, def, x, &number);
}

static void mark(Axes *axes, int64_t axis)
{
    axis += axis < 0 ? axes->shape->u.shaped.rank : 0;
    axes->reduced[axis] = true;
}

static void count_terms(Axes *axes)
{
    axes->terms = 1;
    for (uint32_t i = 0; i < axes->shape->u.shaped.rank; i++)
        axes->terms *= axes->reduced[i] ? axes->shape->u.shaped.dims[i] : 1;
}

static bool find_axes(OnnxLowering *lw, Axes *axes)
{
    const Op *op = lw->node;
    *axes = (Axes){.shape = op_operand(op, 0)->type};
    const Array *list = onnx_operand(op, 1) ? lower_array(lw, op_operand(op, 1)) : NULL;
    if (onnx_operand(op, 1) && !list) return onnx_error(op, "needs a constant list of axes");
    for (int64_t i = 0; list && i < list->count; i++) mark(axes, array_get_i64(list, i));
    bool all = (!list || list->count == 0) && onnx_int(op, "noop_with_empty_axes", 0) == 0;
    for (uint32_t i = 0; all && i < axes->shape->u.shaped.rank; i++) axes->reduced[i] = true;
    count_terms(axes);
    return true;
}

static Value *log_sum_exp(OnnxLowering *lw, const Axes *axes, Value *x)
{
    const double largest = float_largest((int)type_elem(x->type)->kind);
    Value *top = reduce(lw, axes, x, ARITH(MAXIMUMF), -INFINITY);
    /* An infinity less itself is no number. */
    top = each_with(lw, ARITH(MINIMUMF), each_with(lw, ARITH(MAXIMUMF), top, -largest), largest);
    Value *power = each(lw, MATH(EXP), beside(lw, axes, ARITH(SUBF), x, top), NULL);
    Value *sum = each(lw, MATH(LOG), reduce(lw, axes, power, ARITH(ADDF), 0.0), NULL);
    Axes none = {.shape = sum->type};
    return beside(lw, &none, ARITH(ADDF), sum, top);
}

static Value *square(OnnxLowering *lw, Value *x)
{
    Axes none = {.shape = x->type};
    return beside(lw, &none, ARITH(MULF), x, x);
}

static Value *float_reduction(OnnxLowering *lw, const Axes *axes, Value *x)
{
    switch (lw->node->def - onnx_ops) {
    case ONNX_REDUCE_SUM: return reduce(lw, axes, x, ARITH(ADDF), 0.0);
    case ONNX_REDUCE_MEAN:
        return each_with(lw, ARITH(DIVF), reduce(lw, axes, x, ARITH(ADDF), 0.0),
                         (double)axes->terms);
    case ONNX_REDUCE_MAX: return reduce(lw, axes, x, ARITH(MAXIMUMF), -INFINITY);
    case ONNX_REDUCE_MIN: return reduce(lw, axes, x, ARITH(MINIMUMF), INFINITY);
    case ONNX_REDUCE_PROD: return reduce(lw, axes, x, ARITH(MULF), 1.0);
    case ONNX_REDUCE_L1: return reduce(lw, axes, each(lw, MATH(ABSF), x, NULL), ARITH(ADDF), 0.0);
    case ONNX_REDUCE_L2:
        return each(lw, MATH(SQRT), reduce(lw, axes, square(lw, x), ARITH(ADDF), 0.0), NULL);
    case ONNX_REDUCE_SUM_SQUARE: return reduce(lw, axes, square(lw, x), ARITH(ADDF), 0.0);
    case ONNX_REDUCE_LOG_SUM:
        return each(lw, MATH(LOG), reduce(lw, axes, x, ARITH(ADDF), 0.0), NULL);
    default: return log_sum_exp(lw, axes, x);
    }
}

/* Smallest and largest integer of a plain element type. */
static double int_limit(const Type *network, bool largest)
{
    int width = (int)type_width(type_elem(network));
    if (lower_is_unsigned_elem(network)) return largest ? -1.0 : 0.0; /* all ones */
    return largest ? onnx_exact_pow2(width - 1) - 1.0 : -onnx_exact_pow2(width - 1);
}

/* The mean of integers of the network: their sum, which does not overflow in 64 bits or in as many
 * as the elements have, by their number; the fraction is cut off. */
static Value *int_mean(OnnxLowering *lw, const Axes *axes, Value *x, bool is_unsigned)
{
    const Type *own = type_elem(x->type), *wide = type_i(lw->ctx, 64);
    Generic sum, mean;
    open_reduction(lw, &sum, axes, x, wide, 0.0);
    Value *term = lower_build_extend(&sum.body, generic_arg(&sum, 0), wide, is_unsigned);
    Value *total =
        generic_close(&sum, build_binary(&sum.body, ARITH(ADDI), wide, generic_arg(&sum, 1), term));
    generic_elementwise(lw, &mean, &total, 1);
    generic_open(lw, &mean, lower_build_empty(lw, type_with_elem(total->type, own)));
    Value *terms = arith_constant_int(&mean.body, wide, axes->terms > 0 ? axes->terms : 1);
    Value *quotient = build_binary(&mean.body, is_unsigned ? ARITH(DIVUI) : ARITH(DIVSI), wide,
                                   generic_arg(&mean, 0), terms);
    return generic_close(&mean, lower_build_resize(&mean.body, quotient, own));
}

static Value *int_reduction(OnnxLowering *lw, const Axes *axes, Value *x)
{
    const Type *network = op_operand(lw->node, 0)->type;
    bool is_unsigned = lower_is_unsigned_elem(network);
    bool is_wide = type_width(type_elem(network)) > 53;
    const OpDef *def = lw->node->def;
    if (def == ONNX(REDUCE_SUM)) return reduce(lw, axes, x, ARITH(ADDI), 0.0);
    if (def == ONNX(REDUCE_MEAN)) return int_mean(lw, axes, x, is_unsigned);
    if (def == ONNX(REDUCE_PROD)) return reduce(lw, axes, x, ARITH(MULI), 1.0);
    if (def == ONNX(REDUCE_MAX) && !is_wide)
        return reduce(lw, axes, x, is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI),
                      int_limit(network, false));
    if (def == ONNX(REDUCE_MIN) && !is_wide)
        return reduce(lw, axes, x, is_unsigned ? ARITH(MINUI) : ARITH(MINSI),
                      int_limit(network, true));
    onnx_error(lw->node, "is not supported on integers");
    return NULL;
}

static bool is_sum(const Op *op)
{
    return op->def == ONNX(REDUCE_SUM) || op->def == ONNX(REDUCE_MEAN);
}

static bool is_extreme(const Op *op)
{
    return op->def == ONNX(REDUCE_MAX) || op->def == ONNX(REDUCE_MIN);
}

static bool reduce_sum(OnnxLowering *lw, const Axes *axes, const Fixed *x)
{
    Fixed sum = *x;
    if (!i64_mul(x->low < 0 ? x->low : 0, axes->terms, &sum.low) ||
        !i64_mul(x->high > 0 ? x->high : 0, axes->terms, &sum.high))
        return lower_too_wide(lw);
    if (!fixed_divide_scale(&sum, lw->node->def == ONNX(REDUCE_MEAN) ? axes->terms : 1))
        return lower_too_wide(lw);
    uint32_t width =
        onnx_lower_widest(fixed_signed_width(sum.low, sum.high), x->value->type, x->value->type);
    const Type *elem = type_i(lw->ctx, width);
    Generic g;
    open_reduction(lw, &g, axes, x->value, elem, 0.0);
    Value *term = lower_build_extend(&g.body, generic_arg(&g, 0), elem, x->is_unsigned);
    sum.value =
        generic_close(&g, build_binary(&g.body, ARITH(ADDI), elem, generic_arg(&g, 1), term));
    sum.is_unsigned = false;
    sum.value = onnx_lower_build_reshape(lw, sum.value, op_result(lw->node, 0)->type);
    lower_result(lw, &sum);
    return true;
}

static bool reduce_extreme(OnnxLowering *lw, const Axes *axes, const Fixed *x,
                           const QuantizerMirror *mirror)
{
    bool is_max = lw->node->def == ONNX(REDUCE_MAX);
    int width = (int)type_width(type_elem(x->value->type));
    double least = x->is_unsigned ? 0.0 : -onnx_exact_pow2(width - 1);
    double most = x->is_unsigned ? -1.0 : onnx_exact_pow2(width - 1) - 1.0;
    const OpDef *max = x->is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI);
    const OpDef *min = x->is_unsigned ? ARITH(MINUI) : ARITH(MINSI);
    Fixed result = *x;
    result.value = reduce(lw, axes, x->value, is_max ? max : min, is_max ? least : most);
    result.value = onnx_lower_build_reshape(lw, result.value, op_result(lw->node, 0)->type);
    quantizer_mirror_back(lw, mirror, &result);
    lower_result(lw, &result);
    return true;
}

/* A maximum or minimum of integers: those of the quantizer behind, if it can be moved before.
 * *done: whether there are such. */
static bool lower_extreme(OnnxLowering *lw, const Axes *axes, bool *done)
{
    QuantizerMirror mirror;
    const Fixed *operand = is_extreme(lw->node) ? lower_fixed(lw, 0) : NULL;
    *done = operand != NULL;
    if (!operand) return true;
    Fixed x = *operand;
    bool is_moved = quantizer_move_before(lw, axes->reduced, &x, &mirror);
    *done = (is_moved || !x.epilogue) && type_width(type_elem(x.value->type)) <= 53;
    return !*done || reduce_extreme(lw, axes, &x, &mirror);
}

/* The sum, mean, product or extreme of each element alone: a node without axes that says that this
 * means none, or a scalar. */
static bool joins_nothing(const Op *op, const Axes *axes)
{
    for (uint32_t i = 0; i < axes->shape->u.shaped.rank; i++)
        if (axes->reduced[i]) return false;
    return is_sum(op) || is_extreme(op) || op->def == ONNX(REDUCE_PROD);
}

static bool pass_on(OnnxLowering *lw)
{
    const Fixed *x = lower_fixed(lw, 0);
    Value *plain = x ? NULL : lower_plain(lw, 0);
    if (x)
        lower_result(lw, x);
    else if (plain)
        lower_plain_result(lw, 0, plain);
    return x || plain;
}

bool onnx_lower_reduce(OnnxLowering *lw)
{
    Axes axes;
    bool done = false;
    if (!find_axes(lw, &axes)) return false;
    if (joins_nothing(lw->node, &axes)) return pass_on(lw);
    bool has_terms = axes.terms > 0; /* extremes and means of nothing are no integers */
    if (has_terms && !lower_extreme(lw, &axes, &done)) return false;
    if (done) return true;
    const Fixed *x = has_terms ? lower_fixed_bare(lw, 0) : NULL;
    /* The mean of the network's own integers is an integer, whose scale cannot take the divisor. */
    bool is_cut = lw->node->def == ONNX(REDUCE_MEAN) &&
                  !type_is_float(type_elem(op_result(lw->node, 0)->type));
    if (x && x->zero == 0 && is_sum(lw->node) && !is_cut) return reduce_sum(lw, &axes, x);
    Value *plain = lower_plain(lw, 0);
    if (!plain) return false;
    bool is_float = type_is_float(type_elem(plain->type));
    Value *y = is_float ? float_reduction(lw, &axes, plain) : int_reduction(lw, &axes, plain);
    if (y)
        lower_plain_result(
            lw, 0, onnx_lower_build_reshape(lw, y, lower_plain_type(op_result(lw->node, 0)->type)));
    return y != NULL;
}

bool onnx_lower_softmax(OnnxLowering *lw)
{
    Axes axes = {.shape = op_operand(lw->node, 0)->type};
    Value *x = lower_plain(lw, 0);
    if (!x) return false;
    if (axes.shape->u.shaped.rank > 0) mark(&axes, onnx_int(lw->node, "axis", -1));
    Value *top = reduce(lw, &axes, x, ARITH(MAXIMUMF), -INFINITY);
    Value *shifted = beside(lw, &axes, ARITH(SUBF), x, top);
    Value *power = each(lw, MATH(EXP), shifted, NULL);
    Value *sum = reduce(lw, &axes, power, ARITH(ADDF), 0.0);
    Value *y = lw->node->def == ONNX(SOFTMAX)
                   ? beside(lw, &axes, ARITH(DIVF), power, sum)
                   : beside(lw, &axes, ARITH(SUBF), shifted, each(lw, MATH(LOG), sum, NULL));
    lower_plain_result(lw, 0, y);
    return true;
}

/* 1 / sqrt(mean of the squares of x + epsilon) */
static Value *inverse_deviation(OnnxLowering *lw, const Axes *axes, Value *x)
{
    double epsilon = onnx_float(lw->node, "epsilon", 1e-5);
    Value *sum = reduce(lw, axes, square(lw, x), ARITH(ADDF), 0.0);
    Value *variance = each_with(lw, ARITH(DIVF), sum, (double)axes->terms);
    return each(lw, MATH(RSQRT), each_with(lw, ARITH(ADDF), variance, epsilon), NULL);
}

/* (x - mean) / sqrt(variance + epsilon); *mean and *inverse get the mean and the factor. */
static Value *normalize(OnnxLowering *lw, const Axes *axes, Value *x, Value **mean, Value **inverse)
{
    *mean = each_with(lw, ARITH(DIVF), reduce(lw, axes, x, ARITH(ADDF), 0.0), (double)axes->terms);
    Value *centered = beside(lw, axes, ARITH(SUBF), x, *mean);
    *inverse = inverse_deviation(lw, axes, centered);
    return beside(lw, axes, ARITH(MULF), centered, *inverse);
}

/* x * scale + bias along dimension `axis`, or stretched where it is the last ones. */
static Value *scale_and_shift(OnnxLowering *lw, Value *x, bool per_channel)
{
    Value *inputs[3] = {x, lower_plain(lw, 1)};
    bool has_bias = onnx_operand(lw->node, 2) != NULL;
    if (has_bias) inputs[2] = lower_plain(lw, 2);
    if (!inputs[1] || (has_bias && !inputs[2])) return NULL;
    Generic g;
    const Type *elem = type_elem(x->type);
    if (per_channel)
        generic_along(lw, &g, inputs, 2 + has_bias, 1);
    else
        generic_broadcast(lw, &g, inputs, 2 + has_bias, x->type);
    generic_open(lw, &g, lower_build_empty(lw, x->type));
    Value *y = build_binary(&g.body, ARITH(MULF), elem, generic_arg(&g, 0), generic_arg(&g, 1));
    if (has_bias) y = build_binary(&g.body, ARITH(ADDF), elem, y, generic_arg(&g, 2));
    return generic_close(&g, y);
}

/* Groups of channels are normalized as the rows of (N, groups, elements). */
static bool normalize_groups(OnnxLowering *lw)
{
    Value *x = lower_plain(lw, 0), *mean, *inverse;
    int64_t count, groups = onnx_int(lw->node, "num_groups", 1);
    if (!x || !type_element_count(x->type, &count)) return false;
    const int64_t batch = x->type->u.shaped.dims[0];
    const int64_t view[] = {batch, groups, count > 0 ? count / batch / groups : 0};
    Axes axes = {.reduced = {false, false, true}, .shape = type_with_shape(x->type, view, 3)};
    count_terms(&axes);
    Value *rows = onnx_lower_build_reshape(lw, x, axes.shape);
    Value *y = normalize(lw, &axes, rows, &mean, &inverse);
    y = scale_and_shift(lw, onnx_lower_build_reshape(lw, y, x->type), true);
    if (y) lower_plain_result(lw, 0, y);
    return y != NULL;
}

bool onnx_lower_normalization(OnnxLowering *lw)
{
    const Op *op = lw->node;
    if (op->def == ONNX(GROUP_NORMALIZATION)) return normalize_groups(lw);
    Axes axes = {.shape = op_operand(op, 0)->type};
    uint32_t rank = axes.shape->u.shaped.rank;
    bool is_instance = op->def == ONNX(INSTANCE_NORMALIZATION);
    int64_t first = is_instance ? 2 : onnx_int(op, "axis", -1);
    first += first < 0 ? rank : 0;
    for (uint32_t i = (uint32_t)first; i < rank; i++) axes.reduced[i] = true;
    count_terms(&axes);
    Value *x = lower_plain(lw, 0), *mean, *inverse;
    if (!x) return false;
    Value *y = op->def == ONNX(RMS_NORMALIZATION)
                   ? beside(lw, &axes, ARITH(MULF), x, inverse_deviation(lw, &axes, x))
                   : normalize(lw, &axes, x, &mean, &inverse);
    y = scale_and_shift(lw, y, is_instance);
    if (!y) return false;
    lower_plain_result(lw, 0, y);
    if (op->result_count > 1)
        lower_plain_result(lw, 1, onnx_lower_build_reshape(lw, mean, op_result(op, 1)->type));
    if (op->result_count > 2)
        lower_plain_result(lw, 2, onnx_lower_build_reshape(lw, inverse, op_result(op, 2)->type));
    return true;
}
